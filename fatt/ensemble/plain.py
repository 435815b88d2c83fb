"""Tables of plain numbers: nothing to read, only to look at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.encode import Limits, limits_of
from fatt.ensemble.features import Feature, Inputs
from fatt.ensemble.table import EXACT, as_frame, numbers_of, places_of

Matrix = NDArray[np.float64]


class Plain:
    """A table in which the library takes every number that lies within limits.

    Such a table is what `fatt.ensemble.encode.read` makes of it, as long as nobody's
    number is beyond the limits: then only `read` knows what that means.

    Attributes
    ----------
    limits
        The smallest and largest number of each feature, and which may be missing.
    """

    def __init__(self, cells: list[NDArray[Any]] | NDArray[Any], limits: Limits):
        self._cells = cells
        self.limits = limits

    def block(self, start: int, stop: int) -> Matrix:
        """Return some rows lying on their side, of shape (n_features, n_rows)."""
        if isinstance(self._cells, np.ndarray):
            return self._cells[start:stop].astype(np.float64, copy=False).T
        block = np.empty((len(self._cells), stop - start))
        for column, cells in zip(block, self._cells, strict=True):
            column[:] = cells[start:stop]
        return block


def plain_of(rows: Any, features: Sequence[Feature], inputs: Inputs) -> Plain | None:
    """Return a table as one of plain numbers; None if there is more to it than that.

    Parameters
    ----------
    rows
        Two-dimensional array, or data frame that `narwhals` knows.
    features
        What the model reads, in order.
    inputs
        How the library reads tables.

    Raises
    ------
    DataError
        If a data frame lacks a column.
    """
    limits = limits_of(tuple(features))
    if limits is None:
        return None
    frame = as_frame(rows)
    cells: Any
    if frame is not None:
        places = places_of(frame, features, inputs)
        cells = [numbers_of(frame[:, place]) for place in places]
        if any(column is None for column in cells):
            return None
        limit, dtypes = max(inputs.integer_limit, EXACT), [c.dtype for c in cells]
    else:
        if type(rows) is not np.ndarray or rows.shape[1:] != (len(features),):
            return None
        cells, limit, dtypes = rows, inputs.integer_limit, [rows.dtype] * len(features)
    if not all(map(_is_taken, dtypes, features, [inputs] * len(features))):
        return None
    # From the limit on integers may have been rounded when they became floats.
    largest = np.nextafter(float(limit), 0.0)
    ends = np.array([largest if dtype.kind in "iu" else np.inf for dtype in dtypes])
    lower, upper = np.maximum(limits.lower, -ends), np.minimum(limits.upper, ends)
    return Plain(cells, Limits(lower, upper, limits.missing))


def _is_taken(dtype: np.dtype[Any], feature: Feature, inputs: Inputs) -> bool:
    """Tell whether numbers of a type give what their float64 copies give."""
    if dtype == np.float64:
        return dtype.isnative
    if dtype == np.float32:
        return dtype.isnative and inputs.float32 and feature.number_types == "any"
    return dtype.kind in "biu" and dtype.isnative and feature.number_types != "float64"
