"""The float line: casts, neighbours and bisection, exact to the last bit.

Libraries compare in float32 or float64, with ``<`` or ``<=``. The IR knows only
``x <= T`` in float64, so each comparison is rewritten here, once, without rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Largest float64 that a cast to float32 does not turn into infinity.
FLOAT32_LIMIT = float(np.nextafter(2.0**128 - 2.0**103, 0.0))


def at_most_float32(limit: ArrayLike) -> Floats:
    """Return the largest float64 ``T`` with ``float32(T) <= limit``, elementwise.

    Thus ``float32(x) <= limit`` is the same as ``x <= T``.
    """
    wide = np.asarray(limit, dtype=np.float64)
    with np.errstate(over="ignore"):
        single = wide.astype(np.float32)
    rounded_up = single.astype(np.float64) > wide
    single = np.where(rounded_up, _step_down(single), single)
    return _largest_that_casts_to(single)


def below_float32(limit: ArrayLike) -> Floats:
    """Return the largest float64 ``T`` with ``float32(T) < limit``, elementwise.

    ``limit`` holds float32 values. Nothing is below minus infinity: the caller must
    not ask for it.
    """
    single = np.asarray(limit, dtype=np.float32)
    return _largest_that_casts_to(_step_down(single))


def _step_down(single: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.nextafter(single, np.float32(-np.inf))


def _largest_that_casts_to(single: NDArray[np.float32]) -> Floats:
    """Return the largest float64 whose cast to float32 is at most `single`."""
    low = single.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        above = np.nextafter(single, np.float32(np.inf)).astype(np.float64)
        # Beyond the largest float32 the cast rounds as if 2**128 were the next one.
        above = np.where(np.isposinf(above), 2.0**128, above)
        low_or_edge = np.where(np.isneginf(low), -(2.0**128), low)
        middle = low_or_edge + (above - low_or_edge) / 2
        # Ties go to the even neighbour: keep the middle only if it casts down.
        keeps = middle.astype(np.float32) <= single
    result = np.where(keeps, middle, np.nextafter(middle, -np.inf))
    return np.asarray(np.where(np.isposinf(low), np.inf, result), dtype=np.float64)


def to_ordinal(values: ArrayLike) -> NDArray[np.int64]:
    """Map floats to integers with the same order and neighbours.

    Both zeros become 0; NaN has no ordinal. float32 keeps its own neighbours, all else
    becomes float64.
    """
    floats = np.asarray(values)
    kind = np.int32 if floats.dtype == np.float32 else np.int64
    if kind is np.int64:
        floats = floats.astype(np.float64, copy=False)
    bits = floats.view(kind).astype(np.int64)
    return np.asarray(np.where(bits >= 0, bits, int(np.iinfo(kind).min) - bits))


def from_ordinal(ordinals: ArrayLike, dtype: Any = np.float64) -> NDArray[Any]:
    """Return the floats of a type with these ordinals; inverse of `to_ordinal`."""
    numbers = np.asarray(ordinals, dtype=np.int64)
    kind = np.int32 if np.dtype(dtype) == np.float32 else np.int64
    bits = np.where(numbers >= 0, numbers, int(np.iinfo(kind).min) - numbers)
    return np.asarray(bits.astype(kind)).view(dtype)


def largest_where(
    holds: Callable[[Floats], NDArray[np.bool_]], count: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Find the largest float64 for which each of `count` conditions holds.

    Parameters
    ----------
    holds
        Takes `count` values, one per condition, and says which conditions hold.
        Each condition, once false, must stay false for all larger values.
    count
        Number of conditions, bisected together.

    Returns
    -------
    largest : ndarray of shape (count,)
        The largest value, from minus to plus infinity, for which the condition holds.
    never : ndarray of shape (count,)
        True where the condition holds nowhere; `largest` means nothing there.
    """
    low = np.full(count, to_ordinal(-np.inf))
    high = np.full(count, to_ordinal(np.inf))
    never = ~holds(from_ordinal(low))
    always = holds(from_ordinal(high))
    low = np.where(always, high, low)
    while np.any(high - 1 > low):
        # The halves are added, not the ends, so that nothing overflows.
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        true = holds(from_ordinal(middle))
        low, high = np.where(true, middle, low), np.where(true, high, middle)
        high = np.where(always, low, high)
    return from_ordinal(low), never


def smallest_float(
    holds: Callable[[float], bool], dtype: type[np.float32] | type[np.float64]
) -> float:
    """Find the smallest finite value of `dtype` for which a condition holds.

    The condition, once true, must stay true for all larger values, and must be true
    for the largest finite value and false for the smallest.
    """

    def fails(numbers: Floats) -> NDArray[np.bool_]:
        return np.array([not holds(float(dtype(numbers[0])))])

    # Numbers beyond the largest float32 become infinite on purpose.
    with np.errstate(over="ignore"):
        last = dtype(largest_where(fails, 1)[0][0])
    return float(np.nextafter(last, dtype(np.inf)))
