"""What numba keeps on disk is named after the text of all kernels."""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path

import numba
import pytest

import fatt
from fatt.ensemble.kernels import SOURCES, digest_of, kernel_files

PACKAGE = Path(fatt.__file__).parent


def test_all_that_is_compiled_counts() -> None:
    makers = re.compile(r"numba\.njit|^@(inner|maker|once|small|kernel|part)$", re.M)
    compiled = {path for path in PACKAGE.rglob("*.py") if makers.search(_text(path))}
    assert len(compiled) > 15
    assert compiled <= set(kernel_files(PACKAGE))


@pytest.mark.parametrize(
    "name",
    [
        "fatt.ensemble.kernels",
        "fatt.region.kernels",
        "fatt.repairs.kernels",
        "fatt.train.kernels.judge",
        "fatt.train.kernels.look",
        "fatt.train.kernels.send",
        "fatt.train.kernels.shape",
        "fatt.verifier.kernels.points",
        "fatt.verifier.kernels.screen",
        "fatt.verifier.kernels.search",
    ],
)
def test_what_is_kept_is_named_after_all(name: str) -> None:
    module = importlib.import_module(name)
    kept = [
        each
        for each in vars(module).values()
        if isinstance(each, numba.core.dispatcher.Dispatcher)
        and each.py_func.__module__ == name
        and each.targetoptions.get("no_cpython_wrapper") is None
    ]
    assert kept
    for each in kept:
        assert each.py_func.__qualname__.endswith(SOURCES)


@pytest.mark.parametrize("part", ["train/kernels/words.py", "verifier/kernels/sets.py"])
def test_a_change_anywhere_changes_the_name(part: str, tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "fatt", ignore=skipped)
    assert digest_of(tmp_path / "fatt") == SOURCES
    with open(tmp_path / "fatt" / part, "a", encoding="utf-8") as file:
        file.write("# Another line.\n")
    assert digest_of(tmp_path / "fatt") != SOURCES


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
