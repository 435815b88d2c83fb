"""Points in given cells, each as near to its person as it can be."""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import kernel, small
from fatt.verifier.kernels.records import CODES

#: Numbers of at most four decimals count as written by people; fewer are better.
_SCALES = (1e4, 1e3, 1e2, 1e1, 1.0)


@small
def _near(own, low, high):
    """Return the member of an interval that is nearest, with as few digits as the own.

    A person whose number is whole, or has one decimal, gets a twin with such a number,
    where there is one: it reads better than a neighbour of some threshold.
    """
    start = own if own == own else 0.0
    nearest = min(max(start, low), high)
    chosen = nearest
    for scale in _SCALES:
        if np.rint(start * scale) / scale == start:
            units = nearest * scale
            short = (np.ceil(units) if nearest > start else np.floor(units)) / scale
            if low <= short <= high:
                chosen = short
    return chosen


@small
def _lowest(cuts, variable, first, is_whole):
    """Return the smallest number of a cell."""
    if first == 0:
        return -np.inf
    below = cuts[min(variable.cut_start + first, variable.cut_end) - 1]
    after = np.nextafter(below, np.inf)
    # Of integers the cuts are whole, and the next number is the next whole one.
    return max(after, below + 1.0) if is_whole else after


@kernel
def read_cells(forest, numbers, people, bounds, which, cells, points):
    """Fill in the points in the given cells.

    Parameters
    ----------
    forest
        The cells of each variable.
    numbers : ndarray of `NUMBERS`
        What numbers each variable has.
    people
        One row per point.
    bounds, which
        Lower, upper and missing of all boxes, and in which of them each point is.
    cells
        First and last cell in each variable; -1 where the point does not differ.
    points
        Receives the points; a copy of the people before.
    """
    variables, cuts = forest.variables, forest.cuts
    lower, upper, missing = bounds
    first, last = cells
    for row in range(first.shape[0]):
        box = which[row]
        for index in range(first.shape[1]):
            if first[row, index] < 0:
                continue
            variable, number = variables[index], numbers[index]
            is_missing = first[row, index] == variable.n_cells
            if is_missing and (variable.kind == CODES or missing[box, index]):
                points[row, index] = np.nan
                continue
            if variable.kind == CODES:
                points[row, index] = first[row, index]
                continue
            low, high = number.missing_low, number.missing_high
            if not is_missing:
                low = _lowest(cuts, variable, first[row, index], number.is_whole != 0)
                end = variable.cut_start + last[row, index]
                high = cuts[end] if end < variable.cut_end else np.inf
            low, high = max(low, lower[box, index]), min(high, upper[box, index])
            points[row, index] = _near(people[row, index], low, high)
