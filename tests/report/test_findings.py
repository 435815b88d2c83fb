"""Findings, kept as arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.report import Findings
from fatt.report.findings import pack, unpack
from fatt.verdict import Finding, Verdict


def findings() -> Findings:
    possible = np.array([[1, 0, 0], [1, 0, 1], [1, 1, 1]], dtype=bool)
    return Findings(
        np.array([0, 1, 2], dtype=np.int8),
        np.array([0, 2, -1], dtype=np.int32),
        pack(possible),
        ("low", "middle", "high"),
    )


def test_a_finding_is_in_the_words_of_the_model() -> None:
    fair, unfair, unknown = findings()
    assert fair == Finding(0, Verdict.FAIR, "low", ("low",))
    assert unfair == Finding(1, Verdict.UNFAIR, "high", ("low", "high"))
    assert unknown == Finding(2, Verdict.UNKNOWN, None, ("low", "middle", "high"))


def test_findings_are_a_sequence() -> None:
    some = findings()
    assert len(some) == 3
    assert some[-1] == some[2]
    assert some[1:] == [some[1], some[2]]
    assert [finding.index for finding in reversed(some)] == [2, 1, 0]
    with pytest.raises(IndexError):
        _ = some[3]
    assert repr(some) == "<3 findings>"


@pytest.mark.parametrize("n_classes", [2, 9, 70])
def test_the_kinds_of_findings_are_those_of_each(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    possible = np.zeros((50, n_classes), dtype=bool)
    possible[np.arange(50), rng.integers(n_classes, size=50)] = True
    possible[::3, rng.integers(n_classes, size=2)] = True
    some = Findings(
        rng.integers(3, size=50).astype(np.int8),
        rng.integers(-1, 2, size=50).astype(np.int32),
        pack(possible),
        tuple(range(n_classes)),
    )
    kinds, which = some.kinds()
    for finding, kind in zip(some, which, strict=True):
        assert replace(kinds[kind], index=finding.index) == finding
    assert len({replace(kind, index=0) for kind in kinds}) == len(kinds)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(1, 40), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_packing_loses_nothing(n_classes: int, n_people: int, seed: int) -> None:
    flags = np.random.default_rng(seed).random((n_people, n_classes)) < 0.5
    packed = pack(flags)
    assert packed.nbytes == n_people * -(-n_classes // 8)
    assert np.array_equal(unpack(packed, n_classes), flags)


def test_a_million_people_are_cheap() -> None:
    n_people = 1_000_000
    some = Findings(
        np.zeros(n_people, dtype=np.int8),
        np.zeros(n_people, dtype=np.int32),
        pack(np.ones((n_people, 2), dtype=bool)),
        ("no", "yes"),
    )
    assert some.verdicts.nbytes + some.label.nbytes + some.possible.nbytes == 6_000_000
    assert some[999_999].labels == ("no", "yes")
