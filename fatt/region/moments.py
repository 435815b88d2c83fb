"""Standard deviations that do not depend on how rows are split: exact sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

#: A float is a whole number of these: two to the power of minus so much.
_UNIT = 1074 + 53
#: Up to here the squares of whole numbers can be added a few hundred at a time.
_SMALL = 2.0**26
#: The low half of a 53-bit number.
_HALF, _LOW = 26, 2**26 - 1
#: So many products of halves fit into 64 bits.
_AT_A_TIME = 256


@dataclass(frozen=True)
class Moments:
    """How many numbers there are, their sum and the sum of their squares: exactly.

    Attributes
    ----------
    count
        How many numbers there are.
    total
        Their sum, in units of ``2 ** -1127``.
    squares
        The sum of their squares, in units of ``2 ** -2254``.
    is_finite
        Whether all of them are finite; the sums do not count the others.
    """

    count: int = 0
    total: int = 0
    squares: int = 0
    is_finite: bool = True

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Moments:
        """Return the moments of some numbers, none of which is missing."""
        finite = np.isfinite(numbers)
        count, known = len(numbers), numbers[finite]
        is_finite = len(known) == count
        whole = np.trunc(known)
        if np.array_equal(whole, known) and np.all(np.abs(whole) <= _SMALL):
            small = whole.astype(np.int64)
            total, squares = _sum(small), _sum(small * small)
            return cls(count, total << _UNIT, squares << 2 * _UNIT, is_finite)
        mantissa, exponent = np.frexp(known)
        digits = np.ldexp(mantissa, 53).astype(np.int64)
        total = squares = 0
        for power in np.unique(exponent).tolist():
            same = digits[exponent == power]
            high, low = same >> _HALF, same & _LOW
            shift = power + _UNIT - 53
            total += _sum(same) << shift
            square = (_sum(high * high) << 2 * _HALF) + _sum(low * low)
            square += _sum(high * low) << _HALF + 1
            squares += square << 2 * shift
        return cls(count, total, squares, is_finite)

    def __or__(self, other: Moments) -> Moments:
        """Return the moments of the numbers of both."""
        return Moments(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.is_finite and other.is_finite,
        )

    @property
    def sd(self) -> float | None:
        """The standard deviation; None if there is none, or no float is as large."""
        if not self.count or not self.is_finite:
            return None
        spread = self.count * self.squares - self.total * self.total
        # As many more bits as keep the root exact far beyond a float's.
        extra = max(0, 160 - spread.bit_length())
        root = math.isqrt(spread << 2 * extra)
        try:
            return float(Fraction(root, self.count << extra + _UNIT))
        except OverflowError:
            return None


def _sum(whole: NDArray[np.int64]) -> int:
    """Add up whole numbers, each less than ``2 ** 55``."""
    if not len(whole):
        return 0
    starts = np.arange(0, len(whole), _AT_A_TIME)
    return sum(np.add.reduceat(whole, starts).tolist())
