"""What is said of one person."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatt.verdict import VERDICTS, Bounds, Change, Counterexample, Finding, Verdict


def case(individual: dict, twin: dict) -> Counterexample:
    return Counterexample(
        index=17,
        label="approve",
        twin_label="deny",
        individual=individual,
        twin=twin,
        replayed_on="model",
    )


def test_a_verdict_is_its_word() -> None:
    assert Verdict.FAIR == "fair"
    assert f"{Verdict.UNKNOWN}" == "unknown"
    assert [str(verdict) for verdict in VERDICTS] == ["fair", "unfair", "unknown"]


def test_bounds_name_their_ends() -> None:
    bounds = Bounds(0.25, 0.5)
    assert repr(bounds) == "Bounds(lower=0.25, upper=0.5)"
    lower, upper = bounds
    assert (bounds.lower, bounds.upper) == (lower, upper) == (0.25, 0.5)


def test_a_counterexample_reads_well() -> None:
    pair = case(
        {"age": 41, "sex": "F", "income": 10.5, "job": None},
        {"age": 43, "sex": "M", "income": 10.5, "job": "cook"},
    )
    words = "age 41 → 43, sex F → M, job missing → cook"
    assert str(pair) == f"#17  approve → deny   {words}"
    assert pair.changes_in_words == words


def test_changes_hold_only_what_differs() -> None:
    pair = case(
        {"age": 41, "sex": "F", "job": None}, {"age": 43, "sex": "F", "job": None}
    )
    assert pair.changes == {"age": Change(41, 43)}
    assert pair.changes["age"].after == 43


def test_numbers_keep_the_digits_that_tell_them_apart() -> None:
    pair = case({"x": 35.0}, {"x": 35.00000000000001})
    assert pair.changes_in_words == "x 35.0 → 35.00000000000001"


def test_true_is_another_category_than_one() -> None:
    assert case({"x": True}, {"x": 1}).changes == {"x": Change(True, 1)}


def test_findings_and_counterexamples_do_not_change() -> None:
    finding = Finding(index=0, verdict=Verdict.FAIR, label=1, labels=(1,))
    with pytest.raises(AttributeError):
        finding.label = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        case({}, {}).index = 2  # type: ignore[misc]


@given(st.lists(st.floats(-9, 9), min_size=3, max_size=3))
def test_comparisons_of_bounds_are_true_only_if_proved(numbers: list[float]) -> None:
    lower, upper, other = sorted(numbers[:2]) + numbers[2:]
    bounds = Bounds(lower, upper)
    for at in (other, np.float64(other), Bounds(other, other)):
        assert (bounds >= at) is (lower >= other)
        assert (bounds > at) is (lower > other)
        assert (bounds <= at) is (upper <= other)
        assert (bounds < at) is (upper < other)
        assert (at <= bounds) is (lower >= other)
        assert (at > bounds) is (upper < other)
    assert bounds == (lower, upper)
    for odd in ("0.9", None, (0.9, 0.9)):
        with pytest.raises(TypeError, match="compare them with a number"):
            _ = bounds >= odd


@pytest.mark.parametrize(
    ("lower", "upper", "spec", "text"),
    [
        (0.931, 0.931, ".1%", "93.1%"),
        (0.99999, 0.99999, ".1%", "99.9%"),
        (0.93101, 0.93109, ".1%", "93.1% to 93.2%"),
        (0.29, 0.1 + 0.2, ".2%", "29.00% to 30.00%"),
        (1.0, 1.0, ".0%", "100%"),
        (2.0, math.inf, ".3g", "2 to inf"),
    ],
)
def test_bounds_are_written_so_that_they_claim_no_more(
    lower: float, upper: float, spec: str, text: str
) -> None:
    assert format(Bounds(lower, upper), spec) == text
    assert f"{Bounds(lower, upper)}" == repr(Bounds(lower, upper))
