"""Between boxes of numbers and cells of rank space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.ensemble.cells import gaps_of
from fatt.region.boxes import Boxes

Floats = NDArray[np.float64]


class Holes(NamedTuple):
    """Which numbers the library reads as missing, and the nearest that it does not."""

    columns: NDArray[np.int64]
    low: Floats
    high: Floats
    below: Floats
    above: Floats


def holes_of(ensemble: Ensemble) -> Holes:
    """Return what `clip_to_numbers` needs to know of a model over its variables."""
    columns, low, high = gaps_of(ensemble.features)
    features = [ensemble.features[index] for index in columns.tolist()]
    whole = np.array([feature.integer for feature in features], dtype=bool)
    low, high = (
        np.where(whole, np.ceil(low), low),
        np.where(whole, np.floor(high), high),
    )
    below = np.where(whole, low - 1, np.nextafter(low, -np.inf))
    above = np.where(whole, high + 1, np.nextafter(high, np.inf))
    # Else no whole number is read as missing.
    some = low <= high
    ends = low[some], high[some], below[some], above[some]
    return Holes(columns[some], *ends)


def clip_to_numbers(
    boxes: Boxes, holes: Holes
) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.uint64]]:
    """Return the bounds, missing and codes of boxes, as the trees see them.

    Numbers that the library reads as missing leave the interval, if they lie at its
    end, and missing becomes a member instead.
    """
    columns, low, high, below, above = holes
    if not len(columns):
        return boxes.lower, boxes.upper, boxes.missing, boxes.codes
    lower, upper, missing = boxes.lower.copy(), boxes.upper.copy(), boxes.missing.copy()
    first, last = lower[:, columns], upper[:, columns]
    # Compared with the ends themselves: infinity has no number behind it.
    some = (first <= high) & (last >= low)
    missing[:, columns] |= some
    first, last = (
        np.where(some & (first >= low), above, first),
        np.where(some & (last <= high), below, last),
    )
    empty = first > last
    lower[:, columns] = np.where(empty, np.inf, first)
    upper[:, columns] = np.where(empty, -np.inf, last)
    return lower, upper, missing, boxes.codes
