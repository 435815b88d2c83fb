"""Twins in tables of the very kind that the user passed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label
from fatt.ensemble.tables import places_of, series_of
from fatt.verdict import unknown_label

Matrix = NDArray[np.float64]


def with_changes(rows: Any, before: Matrix, after: Matrix, model: Ensemble) -> Any:
    """Return rows in which the cells that differ between two matrices are replaced.

    All other cells stay as they are. A column keeps its type if that can hold the new
    values; else it becomes float64, or a column of objects.

    Parameters
    ----------
    rows
        Array, or data frame that `narwhals` knows.
    before, after : ndarray of shape (n_rows, n_features)
        What `Ensemble.read` makes of the rows, and what it is to make of the result.
    model
        The model that reads them.
    """
    changed = (before != after) & ~(np.isnan(before) & np.isnan(after))
    if isinstance(rows, np.ndarray):
        return _in_array(rows, changed, after, model)
    import narwhals as nw

    frame = nw.from_native(rows, eager_only=True)
    places = places_of(frame, model.features, model.inputs)
    is_coded = any(isinstance(feature, Categorical) for feature in model.features)
    if not is_coded and _is_float64(rows):
        table = rows.to_numpy().copy()
        row, column = np.nonzero(changed)
        table[row, np.array(places)[column]] = after[row, column]
        return type(rows)(table, index=rows.index, columns=rows.columns, copy=False)
    touched = np.flatnonzero(changed.any(axis=0)).tolist()
    edited = []
    for index, get in zip(
        touched, series_of(frame, [places[i] for i in touched]), strict=True
    ):
        picks = np.flatnonzero(changed[:, index])
        limit = model.inputs.largest_integer(in_frame=True)
        numbers, feature = after[picks, index], model.features[index]
        edited.append(_edited(get(), picks, numbers, feature, limit))
    if frame.implementation.is_pyarrow():
        # What pandas once held there may be another type now.
        return frame.with_columns(*edited).to_native().replace_schema_metadata(None)
    if not frame.implementation.is_pandas_like():
        return frame.with_columns(*edited).to_native()
    native = rows.copy(deep=False)
    for index, column in zip(touched, edited, strict=True):
        native.isetitem(places[index], column)
    return native


def _is_float64(rows: Any) -> bool:
    """Tell whether a data frame is one of pandas, and nothing but a float64 matrix."""
    if type(rows).__module__.partition(".")[0] != "pandas":
        return False
    return all(dtype == np.float64 for dtype in rows.dtypes)


def _in_array(
    rows: NDArray[Any], changed: NDArray[np.bool_], after: Matrix, model: Ensemble
) -> NDArray[Any]:
    is_numeric = rows.dtype.kind in "biuf"
    table = rows.copy() if is_numeric else rows.astype(object)
    touched = np.flatnonzero(changed.any(axis=0)).tolist()
    is_coded = any(isinstance(model.features[index], Categorical) for index in touched)
    if rows.dtype == np.float64 and not is_coded:
        table[changed] = after[changed]
        return table
    for index in touched:
        feature, picks = model.features[index], np.flatnonzero(changed[:, index])
        numbers = after[picks, index]
        if not is_numeric or isinstance(feature, Categorical):
            by_label = (
                isinstance(feature, Categorical)
                and feature.holds_labels
                and not (is_numeric and feature.codes)
            )
            cells = [_cell(feature, number, by_label) for number in numbers.tolist()]
            if any(isinstance(cell, str) for cell in cells):
                # Texts beside whole numbers.
                table, is_numeric = table.astype(object), False
            if not is_numeric:
                table[picks, index] = cells
                continue
            numbers = np.array(cells, dtype=np.float64)
        if not _fits(numbers, table.dtype, model.inputs.integer_limit):
            table = table.astype(np.float64)
        table[picks, index] = numbers
    return table


def _fits(numbers: Matrix, dtype: np.dtype[Any], limit: int) -> bool:
    """Tell whether a type of numbers holds these exactly."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            back = numbers.astype(dtype).astype(np.float64)
        return np.array_equal(back, numbers, equal_nan=True)
    if not np.all(np.isfinite(numbers)) or np.any(np.abs(numbers) > limit):
        return False
    if dtype.kind == "b":
        return bool(np.all((numbers == 0) | (numbers == 1)))
    ends = np.iinfo(dtype)
    inside = (numbers >= ends.min) & (numbers <= ends.max)
    return bool(np.all(inside & (numbers == np.trunc(numbers))))


def _cell(feature: Feature, number: float, by_label: bool) -> Any:
    """Return what to write for a number or code, as a label or as a number."""
    if math.isnan(number):
        is_none = isinstance(feature, Categorical) and feature.missing_as == "none"
        return None if is_none else math.nan
    if not isinstance(feature, Categorical):
        return number
    known = feature.categories
    if feature.codes and not by_label:
        # The table holds what the model itself reads.
        known, by_label = feature.codes, True
    if number < len(known):
        return known[int(number)] if by_label else number
    return _unknown(feature, known) if by_label else float(feature.other_code)


def _unknown(feature: Categorical, known: tuple[Label, ...]) -> Label:
    """Return a value that is no category: the only one of the table, if known."""
    label = feature.other or unknown_label(known)
    while feature.coding == "fingerprint" and feature.code_of(label) is not None:
        label = f"{label}?"
    return label


def _edited(
    series: Any, picks: NDArray[np.int64], numbers: Matrix, feature: Feature, limit: int
) -> Any:
    """Return a column with other cells in some places; one of pandas as such."""
    import narwhals as nw

    dtype, library = series.dtype, series.implementation
    is_number = dtype.is_numeric() or dtype == nw.Boolean
    has_numbers = is_number or (library.is_pyarrow() and _holds_numbers(series))
    by_label = (
        isinstance(feature, Categorical)
        and not (has_numbers and feature.codes)
        and (feature.holds_labels or (feature.labelled and not is_number))
    )
    cells = [_cell(feature, number, by_label) for number in numbers.tolist()]
    if is_number and any(isinstance(cell, str) for cell in cells):
        # Whole numbers, written out to stand beside texts; truths are 0 and 1.
        whole = series.cast(nw.Int8) if dtype == nw.Boolean else series
        series, is_number, dtype = whole.cast(nw.String), False, nw.String()
    if library.is_pandas_like():
        return _in_pandas(series.to_native(), picks, cells, limit)
    if is_number and not _holds(dtype, cells, limit):
        series, dtype = series.cast(nw.Float64), nw.Float64()
    elif is_number:
        cells = _as_type(dtype, cells).tolist()
    else:
        cells = [None if _is_gap(cell) else cell for cell in cells]
    values = series.to_list()
    for pick, cell in zip(picks.tolist(), cells, strict=True):
        values[pick] = cell
    if isinstance(dtype, nw.Enum) and not set(values) <= {*dtype.categories, None}:
        dtype = nw.String()
    is_coded = dtype == nw.Categorical and not all(
        cell is None or isinstance(cell, str) for cell in values
    )
    if dtype == nw.Categorical and library.is_pyarrow() and None in values:
        # Libraries take a null in a dictionary for its last entry.
        new = nw.new_series(series.name, values, backend=library)
    elif is_coded:
        # Categories are texts to narwhals, and anything to pyarrow.
        new = nw.new_series(series.name, values, backend=library)
        coded = new.to_native().dictionary_encode()
        new = nw.from_native(coded, series_only=True).alias(series.name)
    else:
        new = nw.new_series(series.name, values, dtype, backend=library)
    return new


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    """Return the type of numpy behind a type of numbers of `narwhals`."""
    return np.dtype(str(dtype).lower().replace("boolean", "bool"))


def _as_type(dtype: Any, cells: list[Any]) -> NDArray[Any]:
    """Return numbers that fit a type in that type."""
    return np.array(cells).astype(_numpy_type(dtype))


def _holds_numbers(series: Any) -> bool:
    """Tell whether a column of categories has numbers for them."""
    known = series.drop_nulls().head(1).to_list()
    return bool(known) and isinstance(known[0], int | float)


def _holds(dtype: Any, cells: list[Any], limit: int) -> bool:
    """Tell whether a column of numbers of a frame can hold these cells."""
    if not all(isinstance(cell, int | float) for cell in cells):
        return False
    return _fits(np.array(cells, dtype=np.float64), _numpy_type(dtype), limit)


def _in_pandas(
    series: Any, picks: NDArray[np.int64], cells: list[Any], limit: int
) -> Any:
    """Return a copy of a pandas series with other cells in some places."""
    import narwhals as nw

    series = series.copy()
    dtype = nw.from_native(series, series_only=True).dtype
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
        # What equals a category is written as it, True for 1: pandas holds both apart.
        known = {category: category for category in series.cat.categories}
        cells = [known.get(cell, cell) for cell in cells]
        new = dict.fromkeys(cell for cell in cells if not _is_gap(cell))
        series = series.cat.add_categories([cell for cell in new if cell not in known])
        series.iloc[picks] = cells
        return series
    is_number = dtype.is_numeric() or dtype == nw.Boolean
    # Some libraries take a type of pandas that knows NA, and no NA in it, only NaN.
    makes_na = not isinstance(series.dtype, np.dtype) and any(map(_is_gap, cells))
    if is_number and not makes_na and _holds(dtype, cells, limit):
        # pandas refuses floats in a column of integers.
        series.iloc[picks] = _as_type(dtype, cells)
        return series
    is_numbers = all(isinstance(cell, int | float) for cell in cells)
    if is_number and is_numbers:
        # What pyarrow holds cannot be written to.
        series = series.astype("float64").copy()
    elif dtype != nw.Object and not all(isinstance(cell, str) for cell in cells):
        series = series.astype(object)
    series.iloc[picks] = cells
    return series


def _is_gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
