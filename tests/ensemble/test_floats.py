from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.ensemble import floats

ANY = st.floats(allow_nan=False)
SINGLE = st.floats(allow_nan=False, width=32)


def casts_to(x: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float64(x).astype(np.float32))


@settings(max_examples=2000, derandomize=True, deadline=None)
@given(ANY)
def test_at_most_float32_is_the_last_value_that_casts_low_enough(limit: float) -> None:
    largest = float(floats.at_most_float32(limit))
    assert casts_to(largest) <= limit
    if largest < math.inf:
        assert casts_to(math.nextafter(largest, math.inf)) > limit


@settings(max_examples=2000, derandomize=True, deadline=None)
@given(SINGLE.filter(lambda x: x > -math.inf))
def test_below_float32_is_the_last_value_that_casts_below(limit: float) -> None:
    largest = float(floats.below_float32(limit))
    assert casts_to(largest) < limit
    assert casts_to(math.nextafter(largest, math.inf)) >= limit


@settings(max_examples=500, derandomize=True, deadline=None)
@given(ANY, ANY)
def test_ordinals_keep_order_and_come_back(a: float, b: float) -> None:
    first, second = floats.to_ordinal([a, b])
    assert (first < second) == (a < b)
    assert np.array_equal(floats.from_ordinal([first, second]), [a, b])


@settings(max_examples=300, derandomize=True, deadline=None)
@given(ANY)
def test_ordinals_count_neighbours(a: float) -> None:
    if a < math.inf:
        step = floats.to_ordinal(math.nextafter(a, math.inf)) - floats.to_ordinal(a)
        assert step == 1


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=5))
def test_largest_where_finds_each_limit(limits: list[float]) -> None:
    wanted = np.array(limits)
    found, never = floats.largest_where(lambda x: x <= wanted, len(wanted))
    assert np.array_equal(found, wanted)
    assert not never.any()


def test_largest_where_tells_what_never_holds() -> None:
    found, never = floats.largest_where(
        lambda x: np.stack([x[0] < -np.inf, x[1] <= 3.0, x[2] == x[2]]), 3
    )
    assert never.tolist() == [True, False, False]
    assert found[1:].tolist() == [3.0, np.inf]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.floats(min_value=-1e300, max_value=1e300))
def test_smallest_float_finds_the_limit(limit: float) -> None:
    assert floats.smallest_float(lambda x: x >= limit, np.float64) == limit


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.floats(min_value=-(2.0**100), max_value=2.0**100, width=32))
def test_smallest_float_searches_float32(limit: float) -> None:
    assert floats.smallest_float(lambda x: x >= limit, np.float32) == limit


def test_the_float32_limit_is_the_last_that_stays_finite() -> None:
    assert np.isfinite(casts_to(floats.FLOAT32_LIMIT))
    assert np.isinf(casts_to(math.nextafter(floats.FLOAT32_LIMIT, math.inf)))
