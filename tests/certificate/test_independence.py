"""The checker shares no compiled code with the search, which contracts cannot see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import fatt.certificate

PACKAGE = Path(fatt.certificate.__file__).parent


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_of_the_checker_names_a_kernel() -> None:
    paths = sorted(PACKAGE.glob("*.py"))
    assert len(paths) > 8
    for path in paths:
        for name in imported(path):
            assert "kernels" not in name.split("."), (path.name, name)
            assert not name.startswith("fatt.verifier"), (path.name, name)
