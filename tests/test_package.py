"""What `import fatt` costs and brings."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fatt
from tests.mutants.mutant import installed_for_development

FRAMEWORKS = ["sklearn", "xgboost", "lightgbm", "onnx", "pandas", "numpy"]


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


@pytest.mark.parametrize(
    "code",
    ["import fatt; fatt.verify", "import sys; from fatt.cli import main; main()"],
)
def test_a_copy_that_was_never_built_says_so_in_a_sentence(
    tmp_path: Path, code: str
) -> None:
    # The kernels of another Python are as good as none.
    left = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(fatt.__file__).parent, tmp_path / "fatt", ignore=left)
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", "--demo"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "MESONPY_EDITABLE_SKIP": installed_for_development(),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr.splitlines()
    assert done.returncode
    assert "the compiled part of fatt is absent" in said[-1]
    assert "pip install ." in said[-1]
    if "main" in code:
        assert len(said) == 1


def test_the_version_has_one_home() -> None:
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = [line for line in changes.splitlines() if line.startswith("## ")]
    newest = next(title for title in titles if title != "## Unreleased")
    assert newest == f"## {fatt.__version__}"
    assert (root / "fatt" / "VERSION").read_text("utf-8").strip() == fatt.__version__
    literal = f'"{fatt.__version__}"'
    sources = [*(root / "fatt").rglob("*.py"), root / "meson.build"]
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    assert not [path.name for path in texts if literal in texts[path]]


def test_no_module_uses_what_another_keeps_to_itself() -> None:
    found = []
    root = Path(fatt.__file__).parent
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text())
        modules = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("fatt"):
                modules.update(alias.asname or alias.name for alias in node.names)
                parts = [*str(node.module).split("."), *(a.name for a in node.names)]
                found += [(path.name, part) for part in parts if is_private(part)]
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                    if name in modules and is_private(attribute):
                        found.append((path.name, f"{name}.{attribute}"))
    assert not found


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")
