"""Tables of plain numbers: nothing to read, only to look at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.blocks import Blocks
from fatt.ensemble.encode import Limits, limits_of, takes_type
from fatt.ensemble.features import Feature, Inputs
from fatt.ensemble.table import EXACT, as_frame, numbers_of, places_of, series_of

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

    def __init__(
        self, columns: Sequence[NDArray[Any]] | NDArray[Any], limits: Limits
    ) -> None:
        self._blocks = Blocks(columns)
        self.limits = limits

    def block(self, start: int, stop: int) -> Matrix:
        """Return some rows lying on their side, of shape (n_features, n_rows)."""
        return self._blocks.read(start, stop)


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
    if frame is not None:
        places = places_of(frame, features, inputs)
        found = [numbers_of(get()) for get in series_of(frame, places)]
        columns = [column for column in found if column is not None]
        if len(columns) < len(found):
            return None
        limit = max(inputs.integer_limit, EXACT)
    else:
        if type(rows) is not np.ndarray or rows.shape[1:] != (len(features),):
            return None
        if rows.dtype == np.float64 and rows.dtype.isnative:
            return Plain(rows.T, limits)
        columns, limit = list(rows.T), inputs.integer_limit
    dtypes = [column.dtype for column in columns]
    if not all(map(_is_taken, dtypes, features, [inputs] * len(features))):
        return None
    # From the limit on integers may have been rounded when they became floats.
    largest = np.nextafter(float(limit), 0.0)
    ends = np.array([largest if dtype.kind in "iu" else np.inf for dtype in dtypes])
    lower, upper = np.maximum(limits.lower, -ends), np.minimum(limits.upper, ends)
    return Plain(columns, Limits(lower, upper, limits.missing))


def _is_taken(dtype: np.dtype[Any], feature: Feature, inputs: Inputs) -> bool:
    """Tell whether numbers of a type give what their float64 copies give."""
    if dtype == np.float64:
        return dtype.isnative
    if dtype == np.float32 and not inputs.float32:
        return False
    is_known = dtype == np.float32 or dtype.kind in "biu"
    return is_known and dtype.isnative and takes_type(dtype, feature)
