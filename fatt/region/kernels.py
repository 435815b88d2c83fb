"""The compiled steps from the columns of a model to variables.

Imported only when there are levels or many rows to look at: numba costs half a second
to import. Tables lie on their side, one row per column, in whatever layout they have.
"""

from __future__ import annotations

import numba
import numpy as np

from fatt.ensemble.kernels import compiled, read_only

#: What becomes of a variable's columns: the number itself, the level with the number of
#: the only column, or the level whose column is 1.
NUMBER, LEVEL, COLUMN = range(3)

# So many rows are looked at together, that their columns stay in the cache.
_BLOCK = 256

_INTEGERS = read_only(numba.int64)
_FLOATS = read_only(numba.float64)
_FLAGS = read_only(numba.boolean)
_TABLE = numba.types.Array(numba.float64, 2, "A", readonly=True)

# What is counted in the columns of a variable, for each row of a block: cells that are
# 1, missing, or neither of these nor 0; and the places of the columns that are 1.
_ONES, _GAPS, _OTHERS, _WHICH = range(4)


# For functions that only the other kernels call: the rest takes long to compile.
_inner = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_inner
def _count(table, columns, first, end, start, stop, counts, cells):
    """Count what is not 0 in columns, and add up the places of those that are 1."""
    size = stop - start
    counts[:, :size] = 0.0
    for place in range(first, end):
        # Side by side and without branches they are counted several at a time.
        column = table[columns[place], start:stop]
        for row in range(size):
            cells[row] = column[row]
        for row in range(size):
            cell = cells[row]
            is_one = 1.0 if cell == 1.0 else 0.0
            is_gap = 1.0 if cell != cell else 0.0
            is_zero = 1.0 if cell == 0.0 else 0.0
            counts[_ONES, row] += is_one
            counts[_GAPS, row] += is_gap
            counts[_OTHERS, row] += 1.0 - is_zero - is_one - is_gap
            counts[_WHICH, row] += is_one * (place - first)


@_inner
def _numbers(table, column, start, stop, low, high, may_lack, values):
    """Copy a column; return the first row with a number not allowed, or -1."""
    for row in range(start, stop):
        number = table[column, row]
        if not low <= number <= high and not (may_lack and number != number):
            return row
        values[row] = number
    return -1


@_inner
def _levels(table, column, start, stop, low, high, levels, may_lack, values):
    """Look up the levels of a column; return the first row without one, or -1."""
    for row in range(start, stop):
        number = table[column, row]
        if number < low or number > high:
            return row
        code = -1
        for place in range(len(levels)):
            if levels[place] == number:
                code = place
        is_gap = number != number
        if code < 0 and not (is_gap and may_lack):
            return row
        values[row] = np.nan if code < 0 else code
    return -1


@_inner
def _flags(counts, start, stop, n_columns, zero, may_lack, values):
    """Turn counts of ones into codes; return the first row without one, or -1."""
    for row in range(stop - start):
        ones, gaps = counts[_ONES, row], counts[_GAPS, row]
        code = zero if ones == 0 else counts[_WHICH, row]
        if ones > 1 or counts[_OTHERS, row] > 0 or gaps > 0:
            code = -1
        if code < 0 and not (may_lack and gaps == n_columns):
            return start + row
        values[start + row] = np.nan if code < 0 else code
    return -1


@compiled(
    numba.int64(
        _TABLE,
        _FLOATS,
        _FLOATS,
        _FLAGS,
        _INTEGERS,
        _INTEGERS,
        _INTEGERS,
        _FLOATS,
        _INTEGERS,
        _INTEGERS,
        numba.float64[:, ::1],
    )
)
def gather(
    table,
    lower,
    upper,
    missing,
    kinds,
    columns,
    starts,
    levels,
    first_levels,
    zeros,
    values,
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
    n_variables, n_rows = kinds.shape[0], table.shape[1]
    counts, cells = np.empty((4, _BLOCK)), np.empty(_BLOCK)
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        for variable in range(n_variables):
            first, end = starts[variable], starts[variable + 1]
            column, mine = columns[first], values[:, variable]
            low, high = lower[column], upper[column]
            may_lack = True
            for place in range(first, end):
                may_lack &= missing[columns[place]]
            if kinds[variable] == NUMBER:
                wrong = _numbers(table, column, start, stop, low, high, may_lack, mine)
            elif kinds[variable] == LEVEL:
                known = levels[first_levels[variable] : first_levels[variable + 1]]
                wrong = _levels(
                    table, column, start, stop, low, high, known, may_lack, mine
                )
            else:
                _count(table, columns, first, end, start, stop, counts, cells)
                zero = zeros[variable]
                wrong = _flags(counts, start, stop, end - first, zero, may_lack, mine)
            if wrong >= 0:
                return wrong * n_variables + variable
    return -1


@compiled(
    numba.void(
        _TABLE,
        _INTEGERS,
        _INTEGERS,
        numba.boolean[::1],
        numba.int64[::1],
        numba.int64[::1],
    )
)
def see_groups(table, columns, starts, is_variable, least, most):
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
    counts, cells = np.empty((4, _BLOCK)), np.empty(_BLOCK)
    for start in range(0, table.shape[1], _BLOCK):
        stop = min(start + _BLOCK, table.shape[1])
        for group in range(len(is_variable)):
            if not is_variable[group]:
                continue
            first, end = starts[group], starts[group + 1]
            _count(table, columns, first, end, start, stop, counts, cells)
            for row in range(stop - start):
                ones = counts[_ONES, row]
                if counts[_OTHERS, row] + counts[_GAPS, row] == 0:
                    least[group] = min(least[group], ones)
                    most[group] = max(most[group], ones)
                elif counts[_GAPS, row] != end - first:
                    is_variable[group] = False


@compiled(
    numba.void(
        _TABLE,
        _INTEGERS,
        _INTEGERS,
        _FLOATS,
        _INTEGERS,
        numba.float64[:, ::1],
    )
)
def scatter(values, columns, starts, cells, first_cells, rows):
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
    for row in range(values.shape[0]):
        for variable in range(values.shape[1]):
            first, end = starts[variable], starts[variable + 1]
            begin, value = first_cells[variable], values[row, variable]
            if begin == first_cells[variable + 1]:
                rows[row, columns[first]] = value
                continue
            for place in range(first, end):
                cell = value
                if value == value:
                    cell = cells[
                        begin + np.int64(value) * (end - first) + place - first
                    ]
                rows[row, columns[place]] = cell
