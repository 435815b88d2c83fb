"""Between boxes of numbers and cells of rank space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Numeric
from fatt.region.boxes import Boxes
from fatt.verifier.kernels.records import NUMBERS

Floats = NDArray[np.float64]


def clip_to_numbers(
    boxes: Boxes, features: Sequence[Feature]
) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.uint64]]:
    """Return the bounds, missing and codes of boxes, as the trees see them.

    Numbers that the library reads as missing leave the interval, if they lie at its
    end, and missing becomes a member instead.
    """
    lower, upper, missing = boxes.lower, boxes.upper, boxes.missing
    for index, feature in enumerate(features):
        if not isinstance(feature, Numeric) or feature.missing_range is None:
            continue
        if lower is boxes.lower:
            lower, upper, missing = lower.copy(), upper.copy(), missing.copy()
        low, high = feature.missing_range
        below, above = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        if feature.integer:
            below, above = np.ceil(low) - 1, np.floor(high) + 1
            if above - below < 2:
                # No whole number is read as missing.
                continue
        some = (lower[:, index] < above) & (upper[:, index] > below)
        missing[:, index] |= some
        starts_inside = some & (lower[:, index] > below)
        ends_inside = some & (upper[:, index] < above)
        lower[starts_inside, index] = above
        upper[ends_inside, index] = below
        empty = lower[:, index] > upper[:, index]
        lower[empty, index], upper[empty, index] = np.inf, -np.inf
    return lower, upper, missing, boxes.codes


def numbers_of(features: Sequence[Feature]) -> NDArray[Any]:
    """Return what `read_cells` needs to know of the numbers of each variable."""
    numbers = np.zeros(len(features), dtype=NUMBERS)
    numbers["missing_low"] = 1.0
    for number, feature in zip(numbers, features, strict=True):
        if isinstance(feature, Numeric):
            number["is_whole"] = feature.integer
            if feature.missing_range is not None:
                number["missing_low"], number["missing_high"] = feature.missing_range
    return numbers
