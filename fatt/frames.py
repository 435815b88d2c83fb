"""Columns as a data frame of an installed package, by `narwhals`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from fatt.errors import MissingDependencyError

_KINDS = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, Sequence[Any]], *, like: Any = None) -> Any:
    """Return a data frame with these columns.

    Parameters
    ----------
    columns
        The cells of each column; None where there is nothing.
    like
        A frame of `narwhals` with the wanted kind and index. Default: the first of
        pandas, polars and pyarrow that is installed.

    Raises
    ------
    MissingDependencyError
        If none of them is installed.
    """
    import narwhals as nw

    backend: Any = _installed() if like is None else like.implementation
    frame = nw.from_dict(dict(columns), backend=backend)
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        series = frame.implementation.to_native_namespace().Series
        for name, cells in columns.items():
            if _are_numbered(cells):
                # Without this type pandas makes floats of whole numbers beside gaps.
                native[name] = series(cells, dtype="Int64")
        if like is not None:
            native.index = like.to_native().index
    return native


def _are_numbered(cells: Sequence[Any]) -> bool:
    """Tell whether cells are whole numbers of 64 bits, and some are empty."""
    has_gaps = has_numbers = False
    for cell in cells:
        if cell is None:
            has_gaps = True
        elif isinstance(cell, int) and not isinstance(cell, bool):
            if abs(cell) >= 2**63:
                return False
            has_numbers = True
        else:
            return False
    return has_gaps and has_numbers


def _installed() -> str:
    """Return the first package of data frames that is installed."""
    for name in _KINDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise MissingDependencyError(
        "a table needs pandas, polars or pyarrow: pip install pandas. Without them, "
        "read the entries one by one."
    )
