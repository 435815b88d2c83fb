"""The tests notice when the search or the checker is made wrong.

``make mutants`` tries all of them; here are as many as fit into two minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.mutants import checker, python
from tests.mutants.__main__ import main
from tests.mutants.mutant import ROOT, Fate, Mutant, compiler, fate_of
from tests.mutants.table import MUTANTS

COMPILED = {
    # The multipliers close every part.
    "    bound = target.possible - 1\n    if",
    # The other side of a cut is never looked at.
    "+ domain.word_start + offset] &= rows.sides[",
    # A leaf that loses exactly the slack is dropped.
    "if top - leaves[leaf].value >= bound - possible:",
    # Sums are rounded as another library does.
    "return number",
    # At their own rank people are taken to be outside.
    "n_inside += low[one] < place",
}

#: A few that are compiled, each in some seconds, and a few of the others.
SAMPLE = [
    *(each for each in MUTANTS if each.is_compiled and each.new in COMPILED),
    *python.MUTANTS[::4],
    *checker.MUTANTS[10::40],
]


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len(set(MUTANTS)) == len(MUTANTS) >= 40
    assert sum(each.is_compiled for each in MUTANTS) >= 30
    assert sum(each.is_compiled for each in SAMPLE) == len(COMPILED)


def test_a_compiler_is_found_or_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert compiler() == [str(Path(sys.executable).with_name("zig-cc"))]
    gcc = tmp_path / "gcc"
    gcc.touch(mode=0o755)
    assert compiler() == ["gcc"]
    monkeypatch.setenv("CC", "ccache cc")
    assert compiler() == ["ccache", "cc"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_what_is_changed_stands_in_one_place(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    assert mutant.new not in {mutant.old, text}


@pytest.mark.slow
def test_tests_that_fail_anyway_notice_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = Mutant("fatt/errors.py", "", "", ("tests/there_is_no_such_file.py",))
    monkeypatch.setattr("tests.mutants.__main__.MUTANTS", (mutant,))
    with pytest.raises(RuntimeError, match="fail without any mutant"):
        main([])


@pytest.mark.slow
@pytest.mark.parametrize("mutant", SAMPLE, ids=str)
def test_wrong_versions_are_noticed(mutant: Mutant) -> None:
    assert fate_of(mutant) is Fate.KILLED


@pytest.mark.slow
def test_what_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutants.mutant.PATIENCE", 1)
    tests = ("tests/ensemble/test_floats.py",)
    file, old = "fatt/ensemble/floats.py", "    rounded_up = single"
    # What merely takes long is not taken for endless.
    assert fate_of(Mutant(file, old, f"    pass\n{old}", tests)) is Fate.SURVIVED
    monkeypatch.setattr("tests.mutants.mutant.TIMES", 1)
    new = f"    while single.size >= 0:\n        pass\n{old}"
    assert fate_of(Mutant(file, old, new, tests)) is Fate.ENDLESS
