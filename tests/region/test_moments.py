"""Moments are exact, so that parts of rows say what all rows say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatt.region.moments import Moments

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**30), 2**30).map(float)


@given(st.one_of(st.lists(FLOATS, max_size=30), st.lists(WHOLE, max_size=600)))
def test_sums_are_those_of_fractions(numbers: list[float]) -> None:
    found = Moments.of(np.array(numbers, dtype=np.float64))
    assert found.count == len(numbers)
    assert Fraction(found.total, 2**1127) == sum(map(Fraction, numbers))
    squares = sum(Fraction(number) ** 2 for number in numbers)
    assert Fraction(found.squares, 2**2254) == squares


@given(st.lists(FLOATS, min_size=1, max_size=30), st.integers(0, 30))
def test_parts_say_what_all_say(numbers: list[float], cut: int) -> None:
    whole = np.array(numbers)
    parts = Moments.of(whole[:cut]) | Moments.of(whole[cut:])
    assert parts == Moments.of(whole)
    backwards = Moments.of(whole[cut:][::-1]) | Moments.of(whole[:cut])
    assert backwards.sd == Moments.of(whole).sd


@pytest.mark.parametrize(
    ("numbers", "sd"),
    [
        ([1.0, 3.0], 1.0),
        ([0.1] * 7, 0.0),
        ([5e-324, 0.0, 1e-323], None),
        ([1e300, 1e300 + 1e286], 5e285),
        ([1e300, -1e300], 1e300),
        ([], None),
        ([1.0, np.inf], None),
    ],
)
def test_deviations(numbers: list[float], sd: float | None) -> None:
    found = Moments.of(np.array(numbers)).sd
    if sd is None and numbers and np.isfinite(numbers).all():
        # Between the two smallest floats, and so one of them.
        assert found in {5e-324, 1e-323}
    elif sd is None or sd in {0.0, 1.0}:
        assert found == sd
    else:
        assert found == pytest.approx(sd, rel=1e-2)


def test_no_float_holds_the_deviation_of_the_largest() -> None:
    largest = np.finfo(np.float64).max
    assert Moments.of(np.array([largest, -largest])).sd == largest


def test_deviations_agree_with_numpy() -> None:
    rng = np.random.default_rng(0)
    for numbers in (rng.normal(size=5000), rng.integers(0, 90, 5000) * 1.0):
        assert Moments.of(numbers).sd == pytest.approx(numbers.std(), rel=1e-12)
