"""Findings, kept as arrays."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fatt.verdict import (
    BUDGET,
    INTERRUPTED,
    REASONS,
    UNFAIR,
    UNKNOWN,
    Finding,
    Findings,
    Stopped,
    Twins,
    Verdict,
    pack,
    unpack,
)


def made(
    verdict: Any, label: Any, labels: Any, classes: tuple[Any, ...], **more: Any
) -> Findings:
    """Findings whose unfair people have a twin one further in the only variable."""
    verdict = np.array(verdict, dtype=np.int8)
    who = np.flatnonzero(verdict == UNFAIR)
    people = who[:, np.newaxis].astype(np.float64)
    given: dict[str, Any] = {
        "verdict": verdict,
        "label": np.array(label, dtype=np.int32),
        "possible": pack(np.array(labels, dtype=bool)),
        "nodes": np.arange(len(verdict)),
        "stopped": np.where(verdict == UNKNOWN, BUDGET, 0).astype(np.uint8),
        "twins": Twins.of(
            index=who,
            people=people,
            twins=people + 1,
            label=np.zeros(len(who), dtype=np.int64),
            twin_label=np.ones(len(who), dtype=np.int64),
        ),
        "classes": classes,
    }
    return Findings(**given | more)


def findings() -> Findings:
    labels = [[1, 0, 0], [1, 0, 1], [1, 1, 1]]
    return made([0, 1, 2], [0, 2, -1], labels, ("low", "middle", "high"))


def assert_same(one: Findings, other: Findings) -> None:
    assert list(one) == list(other)
    arrays = other.to_arrays()
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(array, arrays[name], name)
        assert array.dtype == arrays[name].dtype, name


def test_a_finding_is_in_the_words_of_the_model() -> None:
    fair, unfair, unknown = findings()
    assert fair == Finding(0, Verdict.FAIR, "low", ("low",))
    assert unfair == Finding(1, Verdict.UNFAIR, "high", ("low", "high"))
    assert unknown == Finding(
        2, Verdict.UNKNOWN, None, ("low", "middle", "high"), Stopped.BUDGET
    )


def test_findings_are_a_sequence() -> None:
    some = findings()
    assert len(some) == 3
    assert some[-1] == some[2]
    assert some[1:] == [some[1], some[2]]
    assert [finding.index for finding in reversed(some)] == [2, 1, 0]
    with pytest.raises(IndexError):
        _ = some[3]
    assert repr(some) == "<3 findings>"


def test_rows_are_counted_from_the_first_person() -> None:
    some = findings().moved(40)
    assert (some.start, some.stop) == (40, 43)
    assert [finding.index for finding in some] == [40, 41, 42]
    assert some.twins.index.tolist() == [41]
    assert findings().moved(0).twins.index.tolist() == [1]


def test_reasons_are_counted_in_order() -> None:
    some = made([2, 0, 2, 2, 1], [0] * 5, np.ones((5, 2)), ("no", "yes"))
    stopped = np.array([4, 0, 1, 4, 0], dtype=np.uint8)
    assert list(replace(some, stopped=stopped).reasons.items()) == [
        (Stopped.ORDER, 1),
        (Stopped.INTERRUPTED, 2),
    ]
    assert made([0], [0], [[1, 0]], ("no", "yes")).reasons == {}


def test_whoever_comes_too_late_is_unknown() -> None:
    some = made([0, 1, 1, 0], [0, 0, 1, 1], np.eye(2)[[0, 0, 1, 1]], ("no", "yes"))
    late = some.moved(10).late_from(12)
    assert [str(finding.verdict) for finding in late] == [
        "fair",
        "unfair",
        "unknown",
        "unknown",
    ]
    assert [finding.stopped for finding in late] == [None, None, "budget", "budget"]
    assert [finding.label for finding in late] == ["no", "no", "yes", "yes"]
    assert late[2].labels == ("no", "yes")
    assert late.twins.index.tolist() == [11]
    assert some.late_from(4) is some


def test_of_those_not_reached_nothing_is_known() -> None:
    rest = Findings.unreached(7, 9, ("a", "b", "c"), 2)
    assert list(rest) == [
        Finding(row, Verdict.UNKNOWN, None, ("a", "b", "c"), Stopped.INTERRUPTED)
        for row in (7, 8)
    ]
    assert (rest.stopped == INTERRUPTED).all()
    assert len(rest.twins) == 0


def test_arrays_hold_everything() -> None:
    some = findings().moved(5)
    again = Findings.from_arrays(some.to_arrays(), some.classes, some.start)
    assert_same(again, some)
    assert_same(pickle.loads(pickle.dumps(some)), some)


def random_findings(rng: np.random.Generator, count: int, n_classes: int) -> Findings:
    labels = rng.random((count, n_classes)) < 0.5
    verdict = rng.integers(3, size=count)
    stopped: NDArray[np.int64] = rng.integers(1, len(REASONS), size=count)
    return made(
        verdict,
        rng.integers(-1, n_classes, size=count),
        labels,
        tuple(range(n_classes)),
        stopped=np.where(verdict == UNKNOWN, stopped, 0).astype(np.uint8),
    )


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_joined_parts_are_the_whole(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    parts: list[Findings] = []
    for size in sizes:
        start = parts[-1].stop if parts else 0
        parts.append(random_findings(rng, size, 3).moved(start))
    whole = Findings.join(parts)
    assert [*whole] == [finding for part in parts for finding in part]
    assert (
        whole.twins.index.tolist() == np.flatnonzero(whole.verdict == UNFAIR).tolist()
    )


@pytest.mark.parametrize("n_classes", [2, 9, 70])
def test_the_kinds_of_findings_are_those_of_each(n_classes: int) -> None:
    some = random_findings(np.random.default_rng(0), 300, n_classes)
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
    some = made(
        np.zeros(n_people),
        np.zeros(n_people),
        np.ones((n_people, 2)),
        ("no", "yes"),
    )
    assert sum(array.nbytes for array in some.to_arrays().values()) < 15_100_000
    assert some[999_999].labels == ("no", "yes")
