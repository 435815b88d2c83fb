"""The compiled step from the columns of a model to variables.

Imported only when there are levels to look up: numba costs half a second to import.
"""

from __future__ import annotations

import numba
import numpy as np

from fatt.ensemble.kernels import compiled, read_only

#: What becomes of a variable's columns: the number itself, the level with the number of
#: the only column, or the level whose column is 1.
NUMBER, LEVEL, COLUMN = range(3)

_INTEGERS = read_only(numba.int64)
_FLOATS = read_only(numba.float64)


_ROWS = read_only(numba.float64, 2)


# Called by the other kernel only: the rest takes long to compile.
@numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def _only_one(rows, row, columns, first, end, zero):
    """Return which column is 1 while the others are 0; `zero` if all are 0, else -1."""
    ones, zeros, code = 0, 0, zero
    for place in range(first, end):
        cell = rows[row, columns[place]]
        zeros += cell == 0.0
        if cell == 1.0:
            ones += 1
            code = place - first
    return code if ones <= 1 and ones + zeros == end - first else -1


@compiled(
    numba.int64(
        _ROWS,
        _INTEGERS,
        _INTEGERS,
        _INTEGERS,
        _FLOATS,
        _INTEGERS,
        _INTEGERS,
        numba.float64[:, ::1],
    )
)
def gather(rows, kinds, columns, starts, levels, first_levels, zeros, values):
    """Fill in the values and codes of variables, NaN where all columns are NaN.

    Parameters
    ----------
    rows
        The model's columns.
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
        What to fill in.

    Returns
    -------
    int
        The first place, counted along the rows of `values`, that has no level; -1 if
        there is none.
    """
    n_variables = kinds.shape[0]
    for row in range(rows.shape[0]):
        for variable in range(n_variables):
            first, end = starts[variable], starts[variable + 1]
            number = rows[row, columns[first]]
            code = np.int64(-1)
            if kinds[variable] == NUMBER:
                values[row, variable] = number
                continue
            if kinds[variable] == LEVEL:
                begin = first_levels[variable]
                for place in range(begin, first_levels[variable + 1]):
                    if levels[place] == number:
                        code = place - begin
            else:
                code = _only_one(rows, row, columns, first, end, zeros[variable])
            values[row, variable] = code
            if code < 0:
                for place in range(first, end):
                    if not np.isnan(rows[row, columns[place]]):
                        return row * n_variables + variable
                values[row, variable] = np.nan
    return -1
