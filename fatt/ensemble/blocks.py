"""Columns of numbers, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Blocks:
    """Columns of numbers that lie wherever they lie, seen as one table.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n_rows,), or ndarray
        The columns, at least one; or all of them, of shape (n_columns, n_rows).
    """

    def __init__(self, columns: Sequence[NDArray[Any]] | NDArray[Any]) -> None:
        self._columns: Sequence[NDArray[Any]] = ()
        if isinstance(columns, np.ndarray):
            self._matrix: NDArray[Any] | None = columns.view()
            self._matrix.setflags(write=False)
        else:
            self._columns = columns
            self._matrix = _matrix_of(columns)

    def __len__(self) -> int:
        matrix = self._matrix
        return len(self._columns[0]) if matrix is None else int(matrix.shape[1])

    @property
    def need_copies(self) -> bool:
        """Whether the columns do not lie side by side in one array."""
        return self._matrix is None

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return some rows lying on their side, of shape (n_columns, n_rows)."""
        if self._matrix is not None:
            return self._matrix[:, start:stop].astype(np.float64, copy=False)
        block = np.empty((len(self._columns), stop - start))
        for line, column in zip(block, self._columns, strict=True):
            line[:] = column[start:stop]
        return block


def _matrix_of(columns: Sequence[NDArray[Any]]) -> NDArray[Any] | None:
    """Return columns that lie at equal distances in one array as a view of that."""
    first = columns[0]
    addresses = [column.__array_interface__["data"][0] for column in columns]
    step = addresses[1] - addresses[0] if len(columns) > 1 else 0
    for place, column in enumerate(columns):
        is_next = (
            column.base is first.base is not None
            and column.dtype == first.dtype
            and column.shape == first.shape
            and column.strides == first.strides
            and addresses[place] == addresses[0] + place * step
        )
        if not is_next:
            return None
    return np.lib.stride_tricks.as_strided(
        first,
        (len(columns), len(first)),
        (step, *first.strides),
        writeable=False,
    )
