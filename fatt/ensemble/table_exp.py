"""CatBoost's exponential, which looks up the powers of two between 1 and 2 in a table.

A number is taken apart into steps of ``log(2) / 2048`` and a rest, whose exponential is
a polynomial (this is ``expd`` of S. Mitsunari's fmath). Along one step it never
decreases, since each rounding keeps the order: the rest falls by more than the
polynomial's other terms are rounded. From one step to the next it may go down by some
last bits.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BITS = 11
_STEPS = (1 << _BITS) / math.log(2.0)
_STEP = 1 / _STEPS
#: Added to a number of steps, it is rounded to a whole one, which its last bits hold.
_WHOLE = float(3 << 51)
#: Below the first number the exponential is 0, from the second on infinite.
_LEAST, _MOST = -708.39641853226408, 709.78271289338397
#: Of scores below, CatBoost makes 0 or the smallest number, as a row happens to stand
#: among others: it computes four at once, and what is left one by one.
LEAST = -708.0
#: Where one step ends, it goes down by less than this share, and so many floats turn.
FALL = 2.0**-48


@functools.cache
def _table() -> NDArray[np.uint64]:
    """Return the digits of the powers of two, without their exponents."""
    size = 1 << _BITS
    powers = np.array([math.pow(2.0, i / size) for i in range(size)])
    return powers.view(np.uint64) & np.uint64((1 << 52) - 1)


def table_exp(numbers: Floats) -> Floats:
    """Return the exponential of each number as CatBoost computes it."""
    with np.errstate(all="ignore"):
        shifted = numbers * _STEPS + _WHOLE
        bits = shifted.view(np.uint64)
        digits = _table()[(bits & np.uint64((1 << _BITS) - 1)).astype(np.int64)]
        power = (bits + np.uint64(1023 << _BITS)) >> np.uint64(_BITS) << np.uint64(52)
        rest = (shifted - _WHOLE) * _STEP - numbers
        cubic = (3.0000000027955394 - rest) * (rest * rest) * 0.16666666685227835064
        made = (cubic - rest + 1.0) * (power | digits).view(np.float64)
    made = np.where(numbers <= _LEAST, 0.0, made)
    return np.where(numbers >= _MOST, np.inf, made)


def is_at_end(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which numbers may lie so near the end of a step that it goes down there."""
    steps = np.abs(numbers.astype(np.float64)) * _STEPS
    from_middle = np.abs(steps - np.rint(steps))
    near = 2 * FALL * _STEPS + steps * np.finfo(np.float64).eps
    return np.asarray(from_middle >= 0.5 - near)
