"""Between which numbers a computed column stays, whoever is similar.

This is interval arithmetic: each operation is monotone in both of its numbers, with its
rounding, as long as nothing is divided by zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature
from fatt.ensemble.joint import Constant, Formula, Read, combine
from fatt.region.boxes import Boxes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Reach(NamedTuple):
    """Between which numbers a computed column stays, and whether it may be missing."""

    low: Floats
    high: Floats
    missing: Flags

    @classmethod
    def among(cls, ends: Floats, missing: Flags) -> Reach:
        """Return the reach of what lies between numbers, given row by row.

        Where one is no number, nothing is known.
        """
        unknown = np.isnan(ends).any(axis=0)
        low = np.where(unknown, -np.inf, ends.min(axis=0))
        high = np.where(unknown, np.inf, ends.max(axis=0))
        return cls(low, high, missing | unknown)


def reach_of(
    formula: Formula, features: Sequence[Feature], own: Floats, boxes: Boxes
) -> Reach:
    """Return what a formula may make of people and of those similar to them.

    Parameters
    ----------
    formula
        The formula.
    features
        What it reads.
    own : ndarray of shape (n_boxes, n_features)
        The people.
    boxes
        The boxes.
    """
    count = len(boxes)
    match formula:
        case Constant(value=value):
            ends, none = np.full((1, count), value), np.zeros(count, dtype=bool)
            return Reach.among(ends, none)
        case Read(place=place):
            mine, lower, upper = (
                one[:, place] for one in (own, boxes.lower, boxes.upper)
            )
            absent = boxes.missing[:, place] | np.isnan(mine)
            if isinstance(features[place], Categorical):
                codes = formula.of(np.arange(len(formula.table), dtype=np.float64))
                has = boxes.flags(features, place)
                # Categories that nobody similar has count as the first that one has.
                ends = np.where(has, codes, codes[has.argmax(axis=1)][:, np.newaxis]).T
            else:
                # Where no number is similar, the ends are crossed.
                sides = np.where(lower <= upper, [lower, upper, mine], mine)
                ends = formula.of(np.where(np.isnan(sides), 0.0, sides))
            if not math.isnan(formula.missing):
                ends = np.vstack([ends, np.where(absent, formula.missing, ends[0])])
                absent = np.zeros(count, dtype=bool)
            return Reach.among(ends, absent)
    left, right = (
        reach_of(one, features, own, boxes) for one in (formula.left, formula.right)
    )
    ends = np.array(
        [combine(formula.operator, a, b) for a in left[:2] for b in right[:2]]
    )
    if formula.operator == "/":
        ends[:, (right.low <= 0) & (right.high >= 0)] = np.nan
    return Reach.among(ends, left.missing | right.missing)
