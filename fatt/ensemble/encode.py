"""Rows, from an array or any data frame, to the matrix that the trees walk on."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature, Inputs, Numeric
from fatt.errors import DataError

Matrix = NDArray[np.float64]


def encode(rows: Any, features: Sequence[Feature], inputs: Inputs) -> Matrix:
    """Turn rows into a float64 matrix of numbers and category codes.

    Missing values become NaN, and so do the numbers that the library reads as missing.

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

    Raises
    ------
    DataError
        If a column is absent, or holds a value that the library would refuse.
    """
    columns = _columns(rows, features, inputs)
    n_rows = len(columns[0]) if columns else 0
    matrix = np.empty((n_rows, len(features)))
    for index, (feature, column) in enumerate(zip(features, columns, strict=True)):
        if isinstance(feature, Numeric):
            matrix[:, index] = _numbers(column, feature, inputs)
        else:
            matrix[:, index] = _codes(column, feature)
    return matrix


def _columns(rows: Any, features: Sequence[Feature], inputs: Inputs) -> list[Any]:
    """Return one array (or narwhals series) per feature."""
    if hasattr(rows, "tocsr"):
        raise DataError(
            "sparse rows are not supported, since libraries differ on what an absent "
            "cell means; pass rows.toarray()."
        )
    if not isinstance(rows, np.ndarray):
        import narwhals as nw

        try:
            native = nw.from_native(rows, pass_through=True)
        except nw.exceptions.DuplicateError as error:
            raise DataError(
                "several columns of the rows have the same name; rename them."
            ) from error
        if isinstance(native, nw.LazyFrame):
            raise DataError("the rows are a lazy frame; pass rows.collect().")
        if isinstance(native, nw.DataFrame):
            return _frame_columns(native, features, inputs)
    array = np.asarray(rows)
    if array.ndim != 2:
        raise DataError(
            f"the rows have {array.ndim} dimension(s); pass a table with one row per "
            "person and one column per feature."
        )
    if array.shape[1] != len(features):
        raise DataError(
            f"the rows have {array.shape[1]} columns and the model reads "
            f"{len(features)}; pass those columns, in the model's order, or a data "
            "frame whose columns are named as the model's."
        )
    return [array[:, index] for index in range(array.shape[1])]


def _frame_columns(
    frame: Any, features: Sequence[Feature], inputs: Inputs
) -> list[Any]:
    if not inputs.named:
        if len(frame.columns) != len(features):
            raise DataError(
                f"the frame has {len(frame.columns)} columns; the model was trained "
                f"without column names and reads {len(features)}, by position."
            )
        return [frame[:, index] for index in range(len(features))]
    names = set(frame.columns)
    for feature in features:
        if feature.name not in names:
            close = difflib.get_close_matches(feature.name, map(str, names), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise DataError(
                f"the rows lack the column {feature.name!r}, which the model reads."
                f"{hint} Columns found: {', '.join(map(str, frame.columns))}."
            )
    return [frame[feature.name] for feature in features]


def _plain(column: Any) -> tuple[NDArray[Any], bool]:
    """Return the column as an array, and whether it holds labels, not numbers."""
    if isinstance(column, np.ndarray):
        return column, column.dtype.kind not in "biuf"
    dtype = column.dtype
    if not dtype.is_numeric() and str(dtype) != "Boolean":
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_list()
        return values, True
    if column.null_count():
        import narwhals as nw

        limit = 2**53
        if dtype.is_integer() and (column.max() > limit or column.min() < -limit):
            raise DataError(
                f"column {column.name!r} holds integers beyond 2**53 and nulls, which "
                "no float64 holds exactly."
            )
        if str(dtype) == "Boolean":
            column = column.cast(nw.Int8)
        column = column.cast(nw.Float64)
    return column.to_numpy(), False


def _numbers(column: Any, feature: Numeric, inputs: Inputs) -> Matrix:
    values, is_objects = _plain(column)
    if not _may_be_numbers(column):
        raise DataError(
            f"column {feature.name!r} has type {column.dtype}, and the model reads "
            "numbers there."
        )
    if is_objects:
        values = _objects_to_numbers(values, feature)
        if not inputs.objects:
            raise DataError(
                f"column {feature.name!r} holds Python objects, among which the "
                "model's preprocessing may not find the missing values; pass float64, "
                "in a data frame if other columns hold labels."
            )
    _check_dtype(values, feature, inputs)
    numbers = _inside(values.astype(np.float64), feature)
    missing = np.isnan(numbers)
    if not feature.accepts_missing and missing.any():
        raise DataError(
            f"row {int(np.argmax(missing))}: column {feature.name!r} is missing, and "
            "the model does not take missing values; drop or impute it."
        )
    return numbers


def _may_be_numbers(column: Any) -> bool:
    """Tell whether a type holds numbers, or things among which numbers may be."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "biufOUS"
    return not column.dtype.is_temporal()


def _inside(numbers: Matrix, feature: Feature) -> Matrix:
    """Turn the numbers read as missing into NaN; refuse those beyond the bounds."""
    if feature.missing_range is not None:
        low, high = feature.missing_range
        numbers = np.where((numbers >= low) & (numbers <= high), np.nan, numbers)
    refused = (numbers < feature.lower) | (numbers > feature.upper)
    if refused.any():
        row = int(np.argmax(refused))
        raise DataError(
            f"row {row}: column {feature.name!r} is {numbers[row]}, which the model's "
            f"library refuses; it takes {feature.lower} to {feature.upper}."
        )
    return numbers


def _check_dtype(values: NDArray[Any], feature: Numeric, inputs: Inputs) -> None:
    """Refuse numbers that the library reads in another precision than the IR."""
    if values.dtype.kind in "iu" and values.size:
        largest = max(abs(int(values.min())), abs(int(values.max())))
        if largest > inputs.integer_limit:
            raise DataError(
                f"column {feature.name!r} holds the integer {largest}, which the "
                "model's library rounds; pass the rows as float64."
            )
    if values.dtype.kind == "f":
        if values.dtype.itemsize > np.dtype(np.float64).itemsize:
            raise DataError(
                f"column {feature.name!r} has type {values.dtype}; pass float64."
            )
        if values.dtype.itemsize < np.dtype(np.float64).itemsize and not inputs.float32:
            raise DataError(
                f"column {feature.name!r} has type {values.dtype}, in which the "
                "model's preprocessing would compute; pass float64."
            )


def _objects_to_numbers(values: NDArray[Any], feature: Numeric) -> Matrix:
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        if _is_missing(value):
            numbers[row] = np.nan
            continue
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, and the model "
                "reads a number there."
            ) from None
    return numbers


def _codes(column: Any, feature: Categorical) -> Matrix:
    values, is_labels = _plain(column)
    is_frame = not isinstance(column, np.ndarray)
    if feature.coding == "label" or is_labels:
        if not feature.labelled:
            raise DataError(
                f"column {feature.name!r} holds labels, and the model stores only the "
                "codes of its categories; pass the codes that it was trained on."
            )
        codes = _codes_of_labels(values, feature)
    elif is_frame and feature.labelled and feature.coding == "truncate":
        # Numbers in a frame could be labels or codes; LightGBM takes neither.
        raise DataError(
            f"column {feature.name!r} holds plain numbers, and the model knows "
            "labels; make it a category column of the frame, or pass an array of "
            "codes."
        )
    else:
        codes = _codes_of_numbers(values.astype(np.float64), feature)
    missing = np.isnan(codes)
    if not feature.accepts_missing and missing.any():
        raise DataError(
            f"row {int(np.argmax(missing))}: column {feature.name!r} is missing, and "
            "the model does not take missing values there."
        )
    unknown = codes == len(feature.categories)
    # XGBoost takes a label that it does not know for the next one that it knows.
    takes_unknown = feature.accepts_unknown and not (
        is_labels and feature.coding == "floor"
    )
    if not takes_unknown and unknown.any():
        row = int(np.argmax(unknown))
        known = ", ".join(repr(category) for category in feature.categories[:20])
        raise DataError(
            f"row {row}: column {feature.name!r} is {values[row]!r}, which the model "
            f"never saw and refuses; it knows {known}."
        )
    return codes


def _codes_of_labels(values: NDArray[Any], feature: Categorical) -> Matrix:
    unknown = len(feature.categories)
    table = {category: code for code, category in enumerate(feature.categories)}
    codes = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        if _is_missing(value):
            kind = {type(None): "none", float: "nan"}.get(type(value))
            is_meant = feature.missing_as in {"any", kind}
            codes[row] = np.nan if is_meant else unknown
        elif isinstance(value, float) and not feature.lower <= value <= feature.upper:
            raise DataError(
                f"row {row}: column {feature.name!r} is {value}, which the model's "
                f"library refuses; it takes {feature.lower} to {feature.upper}."
            )
        else:
            known = isinstance(value, Hashable) and value in table
            codes[row] = table[value] if known else unknown
    return codes


def _is_missing(value: object) -> bool:
    """Tell whether a cell is None, or NaN, NaT or NA, which do not equal themselves."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124
    except TypeError:
        return True


def _codes_of_numbers(numbers: Matrix, feature: Categorical) -> Matrix:
    unknown = float(len(feature.categories))
    numbers = _inside(numbers, feature)
    if feature.coding == "floor":
        with np.errstate(over="ignore"):
            numbers = numbers.astype(np.float32).astype(np.float64)
    codes = np.trunc(numbers)
    negative = numbers < 0 if feature.coding == "floor" else codes < 0
    known = np.isnan(codes) | (~negative & (codes < unknown))
    # Adding zero turns the negative zero that truncation leaves into zero.
    return np.where(known, codes + 0.0, unknown)
