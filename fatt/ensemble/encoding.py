"""Rows, from an array or any data frame, to the matrix that the trees walk on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.cells import (
    Limits,
    codes_of,
    gaps_of,
    largest_of,
    limits_of,
    mark_missing,
    numbers_of,
    without_gaps,
)
from fatt.ensemble.features import Categorical, Feature, Inputs, Numeric
from fatt.ensemble.tables import Column, columns_of
from fatt.errors import DataError

Matrix = NDArray[np.float64]

#: How many cells of an array are looked at at a time, so that they stay in the cache.
_CELLS = 2**16


def encode(rows: Any, features: Sequence[Feature], inputs: Inputs) -> Matrix:
    """Turn rows into the float64 matrix that the trees walk on.

    As `read`, and the numbers that the library reads as missing become NaN as well.
    """
    return mark_missing(read(rows, features, inputs), gaps_of(features))


def read(rows: Any, features: Sequence[Feature], inputs: Inputs) -> Matrix:
    """Turn rows into a float64 matrix of numbers and category codes.

    Missing values become NaN. Numbers that the library reads as missing stay, so that
    one can tell how far they are from others; `mark_missing` turns them into NaN.

    Parameters
    ----------
    rows
        Two-dimensional array, or data frame that `narwhals` knows (pandas, polars,
        pyarrow, ...). Columns of a frame are found by name and may be in any order.
    features
        What the model reads, in order.
    inputs
        How the library reads tables.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        If the rows are such a matrix already, a read-only view of them.

    Raises
    ------
    DataError
        If a column is absent, or holds a value that the library would refuse.
    """
    if type(rows) is np.ndarray and _is_encoded(rows, features):
        matrix = np.require(rows, requirements=("C", "A")).view()
        matrix.setflags(write=False)
        return matrix
    columns, n_rows = columns_of(rows, features, inputs)
    matrix = np.empty((n_rows, len(features)))
    for index, (feature, make) in enumerate(zip(features, columns, strict=True)):
        column = make()
        _check_frame(column, feature, inputs)
        _check_type(column, feature, inputs)
        if isinstance(feature, Numeric):
            values = numbers_of(column, feature, inputs)
        else:
            values = codes_of(column, feature)
        missing = np.isnan(values)
        if isinstance(feature, Numeric):
            missing = np.isnan(without_gaps(values, feature))
        if not feature.accepts_missing and missing.any():
            is_open = index in {*inputs.open_below, *inputs.open_above}
            raise DataError(
                f"row {int(np.argmax(missing))}: column {feature.name!r} is missing, "
                f"and {why_never_missing(is_open)}; drop or impute it."
            )
        matrix[:, index] = values
    return matrix


def _is_encoded(rows: NDArray[Any], features: Sequence[Feature]) -> bool:
    """Tell whether an array needs no reading: plain numbers that the library takes."""
    limits = limits_of(tuple(features))
    is_plain = rows.dtype == np.float64 and rows.dtype.isnative
    if limits is None or not is_plain or rows.shape[1:] != (len(features),):
        return False
    size = max(1, _CELLS // max(1, len(features)))
    return all(
        _are_taken(rows[start : start + size], limits)
        for start in range(0, len(rows), size)
    )


def _are_taken(rows: Matrix, limits: Limits) -> bool:
    taken = rows >= limits.lower
    taken &= rows <= limits.upper
    if not taken.all():
        taken |= np.isnan(rows) & limits.missing
    return bool(taken.all())


def _check_frame(column: Column, feature: Feature, inputs: Inputs) -> None:
    """Refuse columns of pandas that the library refuses for their type."""
    taken, wanted = inputs.in_arrow or not column.in_arrow, "float"
    if isinstance(feature, Categorical):
        if feature.holds_labels:
            return
        if feature.labelled and not column.is_numeric:
            is_declared = not column.in_pandas or column.categories is not None
            taken, wanted = inputs.undeclared or is_declared, "category"
    if not taken:
        raise DataError(
            f"column {feature.name!r} has type {column.native}, which the model's "
            "library refuses there; pass "
            f"rows.astype({{{feature.name!r}: {wanted!r}}})."
        )


def _check_type(column: Column, feature: Feature, inputs: Inputs) -> None:
    """Refuse numbers that the library would read in another precision than the IR."""
    dtype = column.dtype
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise DataError(f"column {feature.name!r} has type {dtype}; pass float64.")
    is_narrow = dtype.kind == "f" and dtype.itemsize < 8
    if not takes_type(dtype, feature):
        raise DataError(
            f"column {feature.name!r} has type {dtype}, in which a step of the model "
            "would compute or write other numbers; pass the rows .astype(float)."
        )
    if isinstance(feature, Categorical):
        return
    if dtype.kind in "iu" and column.cells.size:
        # Some may be missing, of those that a float64 holds.
        known = column.cells[column.cells == column.cells]
        largest = largest_of(known) if known.size else 0
        if largest > inputs.largest_integer(in_frame=column.in_frame):
            raise DataError(
                f"column {feature.name!r} holds the integer {largest}, which the "
                "model's library rounds; pass the rows as float64."
            )
    if is_narrow and not inputs.float32:
        raise DataError(
            f"column {feature.name!r} has type {dtype}, in which the model's "
            "preprocessing would compute; pass float64."
        )


def takes_type(dtype: np.dtype[Any], feature: Feature) -> bool:
    """Tell whether the model's steps take numbers of a type as float64 copies."""
    is_narrow = dtype.kind == "f" and dtype != np.float64
    is_short = dtype.kind in "biu" and dtype.itemsize < 4
    if feature.number_types == "float64":
        return not (is_narrow or is_short)
    return feature.number_types == "any" or not is_narrow


def why_never_missing(is_open: bool) -> str:
    """Say why a column, with an open end or without one, may not be missing."""
    if is_open:
        return "fatt cannot follow exactly what the model makes of a missing value"
    return "the model takes no missing values there that fatt can follow"
