"""Between boxes of numbers and cells of rank space: clip boxes, read twins back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Numeric
from fatt.region.boxes import Boxes
from fatt.verifier.ranks import Variable

Floats = NDArray[np.float64]

#: Numbers of at most four decimals count as written by people; fewer are better.
_SCALES = (1e4, 1e3, 1e2, 1e1, 1.0)


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


def read_cells(  # noqa: PLR0913, PLR0917
    people: Floats,
    boxes: Boxes,
    which: NDArray[np.int64],
    cells: tuple[NDArray[np.int32], NDArray[np.int32]],
    features: Sequence[Feature],
    variables: Sequence[Variable],
) -> Floats:
    """Return points in the given cells, each as near to its person as it can be.

    Parameters
    ----------
    people
        One row per point.
    boxes, which
        The boxes, and in which of them each point is.
    cells
        First and last cell in each variable; -1 where the point does not differ.
    features, variables
        What the model reads, and its cells.
    """
    first, last = cells
    points = people.copy()
    for index, (feature, variable) in enumerate(zip(features, variables, strict=True)):
        who = np.flatnonzero(first[:, index] >= 0)
        if not len(who):
            continue
        is_missing = first[who, index] == variable.n_cells
        if isinstance(feature, Categorical):
            values = np.where(is_missing, np.nan, first[who, index])
        else:
            box = which[who]
            low, high = boxes.lower[box, index], boxes.upper[box, index]
            own = people[who, index]
            values = _near(
                own,
                *_ends(
                    variable, feature, first[who, index], last[who, index], low, high
                ),
            )
            if feature.missing_range is not None:
                values = np.where(
                    is_missing,
                    _missing(own, feature.missing_range, low, high),
                    values,
                )
            values = np.where(is_missing & boxes.missing[box, index], np.nan, values)
        points[who, index] = values
    return points


def _ends(  # noqa: PLR0913, PLR0917
    variable: Variable,
    feature: Numeric,
    first: NDArray[np.int32],
    last: NDArray[np.int32],
    low: Floats,
    high: Floats,
) -> tuple[Floats, Floats]:
    """Return the smallest and largest member of a range of cells within bounds."""
    below = np.append(-np.inf, variable.cuts)[np.minimum(first, len(variable.cuts))]
    above = np.append(variable.cuts, np.inf)[np.minimum(last, len(variable.cuts))]
    # Of integers the cuts are whole, and the next number is the next whole one.
    after = np.nextafter(below, np.inf)
    if feature.integer:
        after = np.maximum(after, below + 1)
    after = np.where(first == 0, -np.inf, after)
    return np.maximum(after, low), np.minimum(above, high)


def _near(own: Floats, low: Floats, high: Floats) -> Floats:
    """Return the member of an interval that is nearest, with as few digits as the own.

    A person whose number is whole, or has one decimal, gets a twin with such a number,
    where there is one: it reads better than a neighbour of some threshold.
    """
    start = np.where(np.isnan(own), 0.0, own)
    nearest = np.clip(start, low, high)
    chosen = nearest
    for scale in _SCALES:
        with np.errstate(over="ignore", invalid="ignore"):
            units = nearest * scale
            short = np.where(nearest > start, np.ceil(units), np.floor(units)) / scale
            is_short = np.round(start * scale) / scale == start
        chosen = np.where(is_short & (short >= low) & (short <= high), short, chosen)
    return chosen


def _missing(
    own: Floats, missing_range: tuple[float, float], low: Floats, high: Floats
) -> Floats:
    """Return the nearest of the numbers in a box that the library reads as missing."""
    least, most = missing_range
    return _near(own, np.maximum(least, low), np.minimum(most, high))
