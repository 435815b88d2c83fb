"""What numba keeps on disk is named after the text of all kernels of the trainer."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import numba
import pytest

from fatt.train.kernels import compiled

PACKAGE = Path(compiled.__file__).parent


@pytest.mark.parametrize("name", ["judge", "look", "send", "shape"])
def test_what_is_kept_is_named_after_all(name: str) -> None:
    module = importlib.import_module(f"fatt.train.kernels.{name}")
    kept = [
        each
        for each in vars(module).values()
        if isinstance(each, numba.core.dispatcher.Dispatcher)
        and each.py_func.__module__ == module.__name__
        and each.targetoptions.get("no_cpython_wrapper") is None
    ]
    assert kept
    for each in kept:
        assert each.py_func.__qualname__.endswith(compiled.SOURCES)


def test_a_change_anywhere_changes_the_name(tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "kernels", ignore=skipped)
    assert compiled.digest_of(tmp_path / "kernels") == compiled.SOURCES
    with open(tmp_path / "kernels" / "words.py", "a", encoding="utf-8") as file:
        file.write("# Another line.\n")
    assert compiled.digest_of(tmp_path / "kernels") != compiled.SOURCES
