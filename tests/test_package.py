"""What `import fatt` costs and brings."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fatt

FRAMEWORKS = ["sklearn", "xgboost", "lightgbm", "onnx", "pandas", "numba", "numpy"]


def run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_importing_the_package_imports_no_framework() -> None:
    loaded = run("import sys, fatt; print(*sys.modules)").split()
    assert not set(FRAMEWORKS) & set(loaded)


def test_importing_the_importers_imports_no_framework_but_numpy() -> None:
    loaded = run("import sys, fatt; fatt.load; print(*sys.modules)").split()
    assert not set(FRAMEWORKS) - {"numpy"} & set(loaded)


def test_public_names_are_listed_and_found() -> None:
    assert dir(fatt) == sorted(fatt.__all__)
    for name in fatt.__all__:
        assert getattr(fatt, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        _ = fatt.laod  # type: ignore[attr-defined]


def test_the_version_has_one_home() -> None:
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = next(line for line in changes.splitlines() if line.startswith("## "))
    assert newest == f"## {fatt.__version__}"
    assert (root / "fatt" / "VERSION").read_text("utf-8").strip() == fatt.__version__
    literal = f'"{fatt.__version__}"'
    sources = [*(root / "fatt").rglob("*.py"), root / "meson.build"]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    assert not [path.name for path in texts if literal in texts[path]]
