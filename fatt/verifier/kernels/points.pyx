"""Points in given cells, each as near to its person as it can be."""

import numpy as np

from libc.math cimport NAN, ceil, floor, rint
from libc.stdint cimport int32_t, int64_t, uint8_t

from fatt.ensemble.arrays cimport data_of
from fatt.verifier.kernels.boundary cimport check_budget, read_forest, read_spending
from fatt.verifier.kernels.records cimport (
    CODES,
    Cost,
    Forest,
    Spending,
    Variable,
    largest_of,
    smallest_of,
)
from fatt.verifier.kernels.tariff cimport cost_of_missing, cost_of_number

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_FLOAT = np.dtype(np.float64)
_FLAG = np.dtype(np.bool_)


cdef double _near(double own, double low, double high) noexcept nogil:
    """Return the member of an interval that is nearest, with as few digits as the own.

    A person whose number is whole, or has one decimal, gets a twin with such a number,
    where there is one: it reads better than a neighbour of some threshold. Numbers of
    at most four decimals count as written by people; fewer are better.
    """
    cdef double start = own if own == own else 0.0
    cdef double nearest = min(max(start, low), high)
    cdef double chosen = nearest, scale = 1e4, units, short
    while scale >= 1.0:
        if rint(start * scale) / scale == start:
            units = nearest * scale
            short = (ceil(units) if nearest > start else floor(units)) / scale
            if low <= short <= high:
                chosen = short
        scale = scale / 10.0
    return chosen


cdef double _cheapest(
    double own, double low, double high, bint is_whole
) noexcept nogil:
    """Return the member of an interval that is nearest, and so costs least."""
    if is_whole:
        low, high = ceil(low), floor(high)
    return min(max(own if own == own else 0.0, low), high)


def read_cells(forest, people, bounds, which, cells, points, spending=None):
    """Fill in the points in the given cells.

    Parameters
    ----------
    forest
        The cells of each variable.
    people
        One row per point.
    bounds, which
        Lower, upper and missing of all boxes, and in which of them each point is.
    cells
        First and last cell in each variable; -1 where the point does not differ.
    points
        Receives the points; a copy of the people before.
    spending
        As in `Regions`, with a row for each point instead of each person. Where a box
        has a budget, a point costs as little as any in its cells.
    """
    cdef Forest mine
    lower_, upper_, missing_ = bounds
    first_, last_ = cells
    cdef int64_t n_rows = len(people), n_boxes = len(lower_)
    cdef int64_t n_variables, row, index, at, place
    cdef const Variable* variable
    cdef double low, high, nearest
    cdef bint is_missing, is_paid
    cdef Spending paid
    cdef const Cost* cost
    cdef int64_t most
    read_forest(forest, &mine)
    n_variables = mine.n_variables
    shape, boxes = (n_rows, n_variables), (n_boxes, n_variables)
    cdef const double* own = <const double*>data_of(
        people, _FLOAT, shape, False, "people"
    )
    cdef const double* lower = <const double*>data_of(
        lower_, _FLOAT, boxes, False, "lower"
    )
    cdef const double* upper = <const double*>data_of(
        upper_, _FLOAT, boxes, False, "upper"
    )
    cdef const uint8_t* missing = <const uint8_t*>data_of(
        missing_, _FLAG, boxes, False, "missing"
    )
    cdef const int64_t* box = <const int64_t*>data_of(
        which, _INTEGER, (n_rows,), False, "which"
    )
    cdef const int32_t* first = <const int32_t*>data_of(
        first_, _SMALL, shape, False, "first"
    )
    cdef const int32_t* last = <const int32_t*>data_of(
        last_, _SMALL, shape, False, "last"
    )
    read_spending(spending, &mine, n_rows, n_boxes, &paid)
    cdef double* point = <double*>data_of(points, _FLOAT, shape, True, "points")
    for row in range(n_rows):
        if not 0 <= box[row] < n_boxes:
            raise ValueError(f"point {row} is in none of the {n_boxes} boxes")
        if paid.rule != NULL:
            check_budget(&paid, box[row], n_variables)
    with nogil:
        for row in range(n_rows):
            is_paid = paid.rule != NULL and paid.rule[box[row]] >= 0
            for index in range(n_variables):
                at = row * n_variables + index
                place = box[row] * n_variables + index
                if first[at] < 0:
                    continue
                variable = &mine.variables[index]
                is_missing = first[at] == variable.n_cells
                if is_missing and (variable.kind == CODES or missing[place]):
                    point[at] = NAN
                    if not is_paid or variable.missing_low > variable.missing_high:
                        continue
                    # A number that is read as missing may cost less.
                if variable.kind == CODES:
                    point[at] = first[at]
                    continue
                low, high = variable.missing_low, variable.missing_high
                if not is_missing:
                    low = smallest_of(mine.cuts, variable, first[at])
                    high = largest_of(mine.cuts, variable, last[at])
                low, high = max(low, lower[place]), min(high, upper[place])
                if not is_paid:
                    point[at] = _near(own[at], low, high)
                    continue
                nearest = _cheapest(own[at], low, high, variable.is_whole != 0)
                if is_missing and missing[place]:
                    cost = paid.each + paid.rule[box[row]] * n_variables + index
                    most = paid.most[box[row]]
                    if not low <= nearest <= high or cost_of_number(
                        cost, own[at], nearest, most
                    ) >= cost_of_missing(cost, own[at], most):
                        continue
                point[at] = nearest
