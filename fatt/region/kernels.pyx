"""The compiled steps from the columns of a model to variables.

Tables lie on their side, one row per column, in whatever layout they have.
"""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # What becomes of a variable's columns; see below.
    BY_NUMBER = 0
    BY_LEVEL = 1
    BY_COLUMN = 2
    # So many rows are looked at together, that their columns stay in the cache.
    BLOCK = 256

#: What becomes of a variable's columns: the number itself, the level with the number of
#: the only column, or the level whose column is 1.
NUMBER, LEVEL, COLUMN = BY_NUMBER, BY_LEVEL, BY_COLUMN

# What is counted in the columns of a variable, for each row of a block: cells that are
# 1, missing, or neither of these nor 0; and the places of the columns that are 1.
cdef struct Counts:
    double ones[BLOCK]
    double gaps[BLOCK]
    double others[BLOCK]
    double which[BLOCK]


cdef void _count(
    const double[:, :] table,
    const int64_t* columns,
    int64_t n_columns,
    int64_t start,
    int64_t stop,
    Counts* counts,
) noexcept nogil:
    """Count what is not 0 in columns, and add up the places of those that are 1."""
    cdef int64_t size = stop - start, place, row, column
    cdef double cell, is_one, is_gap, is_zero
    cdef double cells[BLOCK]
    for row in range(size):
        counts.ones[row] = counts.gaps[row] = 0.0
        counts.others[row] = counts.which[row] = 0.0
    for place in range(n_columns):
        # Side by side and without branches they are counted several at a time.
        column = columns[place]
        for row in range(size):
            cells[row] = table[column, start + row]
        for row in range(size):
            cell = cells[row]
            is_one = 1.0 if cell == 1.0 else 0.0
            is_gap = 1.0 if cell != cell else 0.0
            is_zero = 1.0 if cell == 0.0 else 0.0
            counts.ones[row] += is_one
            counts.gaps[row] += is_gap
            counts.others[row] += 1.0 - is_zero - is_one - is_gap
            counts.which[row] += is_one * place


cdef int64_t _numbers(
    const double[:] column,
    int64_t start,
    int64_t stop,
    double low,
    double high,
    bint may_lack,
    double[:] values,
) noexcept nogil:
    """Copy a column; return the first row with a number not allowed, or -1."""
    cdef int64_t row
    cdef double number
    for row in range(start, stop):
        number = column[row]
        if not low <= number <= high and not (may_lack and number != number):
            return row
        values[row] = number
    return -1


cdef int64_t _levels(
    const double[:] column,
    int64_t start,
    int64_t stop,
    double low,
    double high,
    const double[::1] levels,
    bint may_lack,
    double[:] values,
) noexcept nogil:
    """Look up the levels of a column; return the first row without one, or -1."""
    cdef int64_t row, place, code
    cdef double number
    for row in range(start, stop):
        number = column[row]
        if number < low or number > high:
            return row
        code = -1
        for place in range(levels.shape[0]):
            if levels[place] == number:
                code = place
        if code < 0 and not (number != number and may_lack):
            return row
        values[row] = NAN if code < 0 else <double>code
    return -1


cdef int64_t _flags(
    const Counts* counts,
    int64_t start,
    int64_t stop,
    int64_t n_columns,
    int64_t zero,
    bint may_lack,
    double[:] values,
) noexcept nogil:
    """Turn counts of ones into codes; return the first row without one, or -1."""
    cdef int64_t row
    cdef double code
    for row in range(stop - start):
        code = <double>zero if counts.ones[row] == 0 else counts.which[row]
        if counts.ones[row] > 1 or counts.others[row] > 0 or counts.gaps[row] > 0:
            code = -1
        if code < 0 and not (may_lack and counts.gaps[row] == n_columns):
            return start + row
        values[start + row] = NAN if code < 0 else code
    return -1


cdef int _check_places(
    const int64_t[::1] starts, int64_t count, int64_t size, str name
) except -1:
    """Refuse starts of something else than `count` runs among `size` entries."""
    cdef int64_t place
    if starts.shape[0] != count + 1 or starts[0] < 0 or starts[count] > size:
        raise ValueError(f"{name} does not part {size} entries into {count} runs")
    for place in range(count):
        if starts[place] > starts[place + 1]:
            raise ValueError(f"{name} goes back at {place}")
    return 0


cdef int _check_columns(
    const int64_t[::1] columns, const int64_t[::1] starts, int64_t n_columns
) except -1:
    """Refuse columns that are not there, and variables without any."""
    cdef int64_t place
    for place in range(columns.shape[0]):
        if not 0 <= columns[place] < n_columns:
            raise ValueError(f"column {columns[place]} is not among the {n_columns}")
    for place in range(starts.shape[0] - 1):
        if starts[place] == starts[place + 1]:
            raise ValueError(f"variable {place} has no column")
    return 0


def gather(
    const double[:, :] table,
    const double[::1] lower,
    const double[::1] upper,
    missing,
    const int64_t[::1] kinds,
    const int64_t[::1] columns,
    const int64_t[::1] starts,
    const double[::1] levels,
    const int64_t[::1] first_levels,
    const int64_t[::1] zeros,
    double[:, ::1] values,
):
    """Fill in the values and codes of variables, NaN where all columns are NaN.

    Parameters
    ----------
    table
        The model's columns, of shape (n_columns, n_rows).
    lower, upper, missing
        The least and largest number of each column, and whether NaN is allowed.
    kinds
        What becomes of each variable's columns.
    columns, starts
        The columns of all variables, and where those of each start.
    levels, first_levels
        The numbers of all levels, in the order of their codes, and where those of each
        variable start.
    zeros
        The code of each variable for columns that are all 0; -1 if there is none.
    values
        What to fill in, of shape (n_rows, n_variables).

    Returns
    -------
    int
        A place, counted along the rows of `values`, of a row that has no level or a
        number that is not allowed there; -1 if there is none.
    """
    cdef const uint8_t[::1] may_be_missing = missing.view(np.uint8)
    cdef int64_t n_variables = kinds.shape[0], n_rows = table.shape[1]
    cdef int64_t n_columns = table.shape[0], wrong = -1, start = 0
    cdef int64_t stop, variable, first, end, column, place
    cdef double low, high
    cdef bint may_lack
    cdef Counts counts
    if not n_columns == lower.shape[0] == upper.shape[0] == may_be_missing.shape[0]:
        raise ValueError("the limits are those of another number of columns")
    if values.shape[0] != n_rows or values.shape[1] != n_variables:
        raise ValueError("values has not one row per person and a column per variable")
    if zeros.shape[0] != n_variables:
        raise ValueError("zeros has not one code per variable")
    _check_places(starts, n_variables, columns.shape[0], "starts")
    _check_columns(columns, starts, n_columns)
    _check_places(first_levels, n_variables, levels.shape[0], "first_levels")
    with nogil:
        while start < n_rows and wrong < 0:
            stop = min(start + BLOCK, n_rows)
            for variable in range(n_variables):
                first, end = starts[variable], starts[variable + 1]
                column = columns[first]
                low, high = lower[column], upper[column]
                may_lack = True
                for place in range(first, end):
                    may_lack = may_lack and may_be_missing[columns[place]] != 0
                if kinds[variable] == BY_NUMBER:
                    wrong = _numbers(
                        table[column],
                        start,
                        stop,
                        low,
                        high,
                        may_lack,
                        values[:, variable],
                    )
                elif kinds[variable] == BY_LEVEL:
                    wrong = _levels(
                        table[column],
                        start,
                        stop,
                        low,
                        high,
                        levels[first_levels[variable] : first_levels[variable + 1]],
                        may_lack,
                        values[:, variable],
                    )
                else:
                    _count(table, &columns[first], end - first, start, stop, &counts)
                    wrong = _flags(
                        &counts,
                        start,
                        stop,
                        end - first,
                        zeros[variable],
                        may_lack,
                        values[:, variable],
                    )
                if wrong >= 0:
                    wrong = wrong * n_variables + variable
                    break
            start = stop
    return wrong


def see_groups(
    const double[:, :] table,
    const int64_t[::1] columns,
    const int64_t[::1] starts,
    is_variable,
    int64_t[::1] least,
    int64_t[::1] most,
):
    """Look at some rows of groups of columns that may be variables.

    Parameters
    ----------
    table
        Columns, of shape (n_columns, n_rows).
    columns, starts
        The columns of all groups, and where those of each start.
    is_variable
        Becomes false for a group that holds more than 0, 1 and rows of gaps only.
    least, most
        The least and the most ones of each group in a row that is not missing.
    """
    cdef uint8_t[::1] still = is_variable.view(np.uint8)
    cdef int64_t n_groups = still.shape[0], n_rows = table.shape[1], start = 0
    cdef int64_t stop, group, row, first, size, ones
    cdef Counts counts
    if not n_groups == least.shape[0] == most.shape[0]:
        raise ValueError("least and most have not one entry per group")
    _check_places(starts, n_groups, columns.shape[0], "starts")
    _check_columns(columns, starts, table.shape[0])
    with nogil:
        while start < n_rows:
            stop = min(start + BLOCK, n_rows)
            for group in range(n_groups):
                if not still[group]:
                    continue
                first, size = starts[group], starts[group + 1] - starts[group]
                _count(table, &columns[first], size, start, stop, &counts)
                for row in range(stop - start):
                    ones = <int64_t>counts.ones[row]
                    if counts.others[row] + counts.gaps[row] == 0:
                        least[group] = min(least[group], ones)
                        most[group] = max(most[group], ones)
                    elif counts.gaps[row] != size:
                        still[group] = False
            start = stop


def scatter(
    const double[:, :] values,
    const int64_t[::1] columns,
    const int64_t[::1] starts,
    const double[::1] cells,
    const int64_t[::1] first_cells,
    double[:, ::1] rows,
):
    """Fill in the columns of a model from the values and codes of variables.

    Parameters
    ----------
    values
        The variables, of shape (n_rows, n_variables).
    columns, starts
        The columns of all variables, and where those of each start.
    cells, first_cells
        What stands in the columns of a variable for each of its codes, behind each
        other, and where those of each variable start; nothing for numbers.
    rows
        What to fill in, of shape (n_rows, n_columns).
    """
    cdef int64_t n_rows = values.shape[0], n_variables = values.shape[1]
    cdef int64_t row, variable, first, size, begin, place, at, wrong = -1
    cdef double value, cell
    if rows.shape[0] != n_rows:
        raise ValueError("rows and values are those of different people")
    _check_places(starts, n_variables, columns.shape[0], "starts")
    _check_columns(columns, starts, rows.shape[1])
    _check_places(first_cells, n_variables, cells.shape[0], "first_cells")
    with nogil:
        for row in range(n_rows):
            for variable in range(n_variables):
                first, size = starts[variable], starts[variable + 1] - starts[variable]
                begin, value = first_cells[variable], values[row, variable]
                if begin == first_cells[variable + 1]:
                    rows[row, columns[first]] = value
                    continue
                at = begin
                if value == value:
                    if not 0 <= value < 9e15:
                        wrong = variable
                        break
                    at = begin + <int64_t>value * size
                    if at + size > first_cells[variable + 1]:
                        wrong = variable
                        break
                for place in range(size):
                    cell = cells[at + place] if value == value else value
                    rows[row, columns[first + place]] = cell
            if wrong >= 0:
                break
    if wrong >= 0:
        raise ValueError(f"variable {wrong} of person {row} has a code beyond its last")
