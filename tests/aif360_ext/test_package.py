"""What importing `fatt.aif360_ext` costs and brings."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fatt.aif360_ext
from tests.aif360_ext.made import town


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_importing_it_imports_no_framework_and_says_nothing() -> None:
    done = run("import sys, fatt.aif360_ext; print(*sys.modules)")
    assert not {"aif360", "tensorflow", "pandas", "numpy"} & set(done.stdout.split())
    assert done.stderr == ""
    done = run("import sys, fatt.aif360_ext.sklearn; print(*sys.modules)")
    assert "aif360.sklearn.utils" in done.stdout.split()
    assert not {"aif360.metrics", "tensorflow"} & set(done.stdout.split())
    assert done.stderr == ""


def test_without_aif360() -> None:
    done = run("import sys; sys.modules['aif360'] = None; import fatt.aif360_ext")
    assert done.returncode == 1
    assert (
        "MissingDependencyError: fatt.aif360_ext needs aif360: "
        "pip install 'fatt[aif360]'." in done.stderr
    )


def test_public_names_are_listed_and_found() -> None:
    assert dir(fatt.aif360_ext) == sorted(fatt.aif360_ext.__all__)
    for name in fatt.aif360_ext.__all__:
        assert getattr(fatt.aif360_ext, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'Metric'"):
        _ = fatt.aif360_ext.Metric  # type: ignore[attr-defined]


def test_one_module_knows_what_aif360_calls_the_attributes_of_datasets() -> None:
    people = town()
    names = {name for name in vars(people) if not name.startswith("_")}
    assert {"features", "favorable_label", "protected_attributes"} <= names
    knowing = {
        path.name
        for path in Path(fatt.aif360_ext.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in names
    }
    assert knowing == {"dataset.py"}
