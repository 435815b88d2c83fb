"""Tables of plain numbers: nothing to read, only to look at where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.cells import Limits, limits_of
from fatt.ensemble.encoding import takes_type
from fatt.ensemble.features import Feature, Inputs
from fatt.ensemble.tables import as_frame, numbers_of, places_of, series_of

Matrix = NDArray[np.float64]

_FLOAT64 = np.dtype(np.float64)

#: How many cells of a table are looked at at a time, so that they stay in the cache.
_CELLS = 2**17


class Plain:
    """A table in which the library takes every number that lies within limits.

    Such a table is what `fatt.ensemble.encoding.read` makes of it, as long as nobody's
    number is beyond the limits: then only `read` knows what that means.

    Attributes
    ----------
    limits
        The smallest and largest number of each feature, and which may be missing.
    """

    def __init__(self, blocks: Blocks | _Pandas, limits: Limits) -> None:
        self._blocks, self.limits = blocks, limits

    def block(self, start: int, stop: int) -> Matrix:
        """Return some rows lying on their side, of shape (n_features, n_rows)."""
        return self._blocks.read(start, stop)

    def columns(self, places: list[int]) -> Matrix:
        """Return some columns, of shape (n_rows, n_places), by the features' order."""
        size = max(1, _CELLS // len(self.limits.lower))
        starts, n_rows = range(0, len(self._blocks), size), len(self._blocks)
        blocks = (self.block(start, min(start + size, n_rows)) for start in starts)
        return np.concatenate([block[places] for block in blocks], axis=1).T


class PlainReader:
    """Tells tables of plain numbers from others, for one model.

    Parameters
    ----------
    features
        What the model reads, in order.
    inputs
        How the library reads tables.
    """

    def __init__(self, features: Sequence[Feature], inputs: Inputs) -> None:
        self._features, self._inputs = features, inputs
        self._limits = limits_of(tuple(features))
        # The columns of the last frame, and where it has those that the model reads.
        self._seen: tuple[Any, list[int]] | None = None

    def read(self, rows: Any) -> Plain | None:
        """Return a table as one of plain numbers; None if there is more to it.

        Parameters
        ----------
        rows
            Two-dimensional array, or data frame that `narwhals` knows.

        Raises
        ------
        DataError
            If a data frame lacks a column.
        """
        if self._limits is None:
            return None
        if isinstance(rows, np.ndarray):
            return self._of_array(rows, self._limits)
        if is_pandas(rows):
            return self._of_pandas(rows)
        frame = as_frame(rows)
        if frame is None:
            return None
        places = places_of(frame, self._features, self._inputs)
        columns = [numbers_of(get()) for get in series_of(frame, places)]
        known = [column for column in columns if column is not None]
        if len(known) < len(columns):
            return None
        dtypes = [column.dtype for column in known]
        return self._within(Blocks(known), dtypes, in_frame=True)

    def _of_array(self, rows: NDArray[Any], limits: Limits) -> Plain | None:
        if type(rows) is not np.ndarray or rows.shape[1:] != limits.lower.shape:
            return None
        blocks = Blocks(rows.T if rows.dtype == np.float64 else list(rows.T))
        return self._within(blocks, [rows.dtype] * rows.shape[1], in_frame=False)

    def _of_pandas(self, rows: Any) -> Plain | None:
        places, dtypes = self._places(rows), rows.dtypes.tolist()
        wanted = [dtypes[place] for place in places]
        if not all(isinstance(dtype, np.dtype) for dtype in wanted):
            return None
        return self._within(_Pandas(rows, places), wanted, in_frame=True)

    def _within(
        self, blocks: Blocks | _Pandas, dtypes: list[np.dtype[Any]], *, in_frame: bool
    ) -> Plain | None:
        """Return a table with columns of certain types, if all of them are taken."""
        limits = self._limits
        assert limits is not None
        kinds = {dtype: dtype.kind in "iu" for dtype in set(dtypes)}
        if kinds == {_FLOAT64: False}:
            return Plain(blocks, limits)
        if not all(map(_is_taken, dtypes, self._features, repeat(self._inputs))):
            return None
        # From the limit on integers may have been rounded when they became floats.
        limit = self._inputs.largest_integer(in_frame=in_frame)
        largest = np.nextafter(float(limit), 0.0)
        ends = np.array([largest if kinds[dtype] else np.inf for dtype in dtypes])
        lower, upper = np.maximum(limits.lower, -ends), np.minimum(limits.upper, ends)
        return Plain(blocks, Limits(lower, upper, limits.missing))

    def _places(self, rows: Any) -> list[int]:
        """Return where a frame of pandas has each feature."""
        seen = self._seen
        # Rows of one frame share its columns, which never change.
        if seen is None or not seen[0].is_(rows.columns):
            places = places_of(as_frame(rows), self._features, self._inputs)
            self._seen = seen = (rows.columns, places)
        return seen[1]


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


class _Pandas:
    """A frame of pandas that holds numbers, a block of rows at a time.

    Parameters
    ----------
    frame
        The frame.
    places
        Where the columns wanted stand.
    """

    def __init__(self, frame: Any, places: list[int]) -> None:
        self._frame = frame
        self._places = None if places == list(range(frame.shape[1])) else places

    def __len__(self) -> int:
        return len(self._frame)

    def read(self, start: int, stop: int) -> Matrix:
        """Return some rows lying on their side, of shape (n_columns, n_rows)."""
        rows = self._frame
        if (start, stop) != (0, len(rows)):
            rows = rows.iloc[start:stop]
        if self._places is not None:
            rows = rows.iloc[:, self._places]
        return np.asarray(rows.to_numpy(dtype=np.float64)).T


def is_pandas(rows: Any) -> bool:
    """Tell whether rows are a data frame of pandas itself, which need not be here."""
    kind = type(rows)
    is_frame = kind.__name__ == "DataFrame"
    return is_frame and kind.__module__ in {"pandas", "pandas.core.frame"}


def _is_taken(dtype: np.dtype[Any], feature: Feature, inputs: Inputs) -> bool:
    """Tell whether numbers of a type give what their float64 copies give."""
    if dtype == np.float64:
        return dtype.isnative
    if dtype == np.float32 and not inputs.float32:
        return False
    is_known = dtype == np.float32 or dtype.kind in "biu"
    return is_known and dtype.isnative and takes_type(dtype, feature)


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
