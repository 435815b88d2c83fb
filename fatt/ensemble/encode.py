"""Rows, from an array or any data frame, to the matrix that the trees walk on."""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import ALLOWED, Categorical, Feature, Inputs, Label, Numeric
from fatt.ensemble.table import EXACT, Column, columns_of
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
        _check_type(column, feature, inputs)
        if isinstance(feature, Numeric):
            values = _numbers(column, feature, inputs)
        else:
            values = _codes(column, feature)
        missing = np.isnan(values)
        if isinstance(feature, Numeric):
            missing = np.isnan(_mark_missing(values, feature))
        if not feature.accepts_missing and missing.any():
            why = "the model does not take missing values"
            if inputs.bounds_of == "fatt" and _is_float(feature):
                why = "fatt cannot follow exactly what the model makes of it"
            raise DataError(
                f"row {int(np.argmax(missing))}: column {feature.name!r} is missing, "
                f"and {why}; drop or impute it."
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


class Limits(NamedTuple):
    """The smallest and largest number of each feature, and which may be missing."""

    lower: Matrix
    upper: Matrix
    missing: NDArray[np.bool_]


@functools.lru_cache(maxsize=8)
def limits_of(features: tuple[Feature, ...]) -> Limits | None:
    """Return what numbers are taken; None if there is more to them than that."""
    for feature in features:
        if isinstance(feature, Categorical) or feature.integer:
            return None
        if feature.missing_range is not None:
            return None
    return Limits(
        np.array([feature.lower for feature in features], dtype=np.float64),
        np.array([feature.upper for feature in features], dtype=np.float64),
        np.array([feature.accepts_missing for feature in features], dtype=bool),
    )


class Gaps(NamedTuple):
    """Which columns have numbers that the library reads as missing, and which these."""

    columns: NDArray[np.int64]
    lower: Matrix
    upper: Matrix


def gaps_of(features: Sequence[Feature]) -> Gaps:
    """Return the numbers that the library reads as missing."""
    found = [
        (index, *feature.missing_range)
        for index, feature in enumerate(features)
        if isinstance(feature, Numeric) and feature.missing_range is not None
    ]
    columns, lower, upper = np.array(found, dtype=np.float64).reshape(-1, 3).T
    return Gaps(columns.astype(np.int64), lower, upper)


def mark_missing(matrix: Matrix, gaps: Gaps) -> Matrix:
    """Turn the numbers that the library reads as missing into NaN.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_features)
        What `read` returned.
    gaps
        Which numbers these are.
    """
    if not len(gaps.columns):
        return matrix
    marked, numbers = matrix.copy(), matrix[:, gaps.columns]
    is_gap = (numbers >= gaps.lower) & (numbers <= gaps.upper)
    marked[:, gaps.columns] = np.where(is_gap, np.nan, numbers)
    return marked


def _check_type(column: Column, feature: Feature, inputs: Inputs) -> None:
    """Refuse numbers that the library would read in another precision than the IR."""
    dtype = column.cells.dtype
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise DataError(f"column {feature.name!r} has type {dtype}; pass float64.")
    is_narrow = dtype.kind == "f" and dtype.itemsize < 8
    if not takes_type(dtype, feature):
        raise DataError(
            f"column {feature.name!r} has type {dtype}, in which the model's imputer "
            "cannot hold its number, or refuses to; pass float64."
        )
    if isinstance(feature, Categorical):
        return
    if dtype.kind in "iu" and column.cells.size:
        largest = _largest(column.cells)
        limit = inputs.integer_limit
        if largest > (max(limit, EXACT) if column.in_frame else limit):
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
    """Tell whether the model's imputers take numbers of a type as float64 copies."""
    kinds = {"b": "bool", "u": "unsigned", "i": "signed"}
    if dtype.kind == "f":
        kind = "float64" if dtype == np.float64 else "narrow"
    else:
        kind = kinds.get(dtype.kind, "float64")
    return kind in ALLOWED[feature.number_types]


def _largest(integers: NDArray[Any]) -> int:
    return max(abs(int(integers.min())), abs(int(integers.max())))


def _numbers(column: Column, feature: Numeric, inputs: Inputs) -> Matrix:
    if column.is_numeric:
        numbers = column.cells.astype(np.float64)
        seen = _within_bounds(numbers, feature, inputs.bounds_of)
    else:
        numbers = _objects_to_numbers(column.cells, feature)
        seen = _within_bounds(numbers, feature, inputs.bounds_of)
        if column.is_objects and not inputs.objects:
            raise DataError(
                f"column {feature.name!r} holds Python objects or categories, of which "
                "the model's library may make other numbers; pass float64, in a data "
                "frame if other columns hold labels."
            )
    if feature.integer:
        broken = seen != np.trunc(seen)
        broken &= ~np.isnan(seen)
        if broken.any():
            row = int(np.argmax(broken))
            raise DataError(
                f"row {row}: column {feature.name!r} is {numbers[row]}, and the model "
                "takes whole numbers only."
            )
    return numbers


def _mark_missing(numbers: Matrix, feature: Feature) -> Matrix:
    if feature.missing_range is None:
        return numbers
    low, high = feature.missing_range
    return np.where((numbers >= low) & (numbers <= high), np.nan, numbers)


def _is_float(feature: Feature) -> bool:
    return isinstance(feature, Numeric) and not feature.integer


def _within_bounds(
    numbers: Matrix, feature: Feature, bounds_of: str = "library"
) -> Matrix:
    """Turn the numbers read as missing into NaN; refuse those beyond the bounds."""
    numbers = _mark_missing(numbers, feature)
    refused = (numbers < feature.lower) | (numbers > feature.upper)
    if refused.any():
        row = int(np.argmax(refused))
        raise _beyond_bounds(row, float(numbers[row]), feature, bounds_of)
    return numbers


def _beyond_bounds(
    row: int, value: float, feature: Feature, bounds_of: str = "library"
) -> DataError:
    cell = f"row {row}: column {feature.name!r} is {value}"
    if bounds_of == "fatt":
        return DataError(
            f"{cell}, and fatt cannot follow exactly what the model makes of numbers "
            f"beyond {feature.lower} to {feature.upper}; leave the row out."
        )
    return DataError(
        f"{cell}, which the model's library refuses; it takes {feature.lower} to "
        f"{feature.upper}."
    )


def _objects_to_numbers(cells: NDArray[Any], feature: Numeric) -> Matrix:
    numbers = np.empty(len(cells))
    for row, value in enumerate(cells):
        if value is None:
            numbers[row] = np.nan
            continue
        try:
            # Of the NA of pandas, among Python objects, nobody makes a number.
            if isinstance(value, str | bytes | complex | datetime.date):
                raise TypeError
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, and the model "
                "reads a number there; pass a type of numbers, and NaN where there is "
                "none."
            ) from None
    return numbers


def _is_missing(value: object) -> bool:
    """Tell whether a cell is None, NaN or NA, which do not equal themselves."""
    if isinstance(value, datetime.date):
        return False
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124
    except TypeError:
        # NA does not even say whether it equals itself.
        return True
    except (ValueError, ArithmeticError):
        return False


def _codes(column: Column, feature: Categorical) -> Matrix:
    if feature.coding == "fingerprint":
        return _codes_of_texts_by_fingerprint(column, feature)
    if feature.codes:
        return _codes_of_words(column, feature)
    by_label = feature.coding == "label" or not column.is_numeric
    if (
        feature.coding == "label"
        and column.is_numeric
        and any(isinstance(category, str) for category in feature.categories)
    ):
        raise DataError(
            f"column {feature.name!r} has type {column.cells.dtype}, and the model "
            "knows texts there, with which most encoders refuse to compare numbers; "
            "pass the column as texts or objects."
        )
    if by_label and not feature.labelled:
        raise DataError(
            f"column {feature.name!r} holds labels, and the model stores only the "
            "codes of its categories; pass the codes that it was trained on."
        )
    if by_label:
        codes = _codes_of_column(column, feature)
    elif column.in_frame and feature.labelled:
        # Numbers in a frame could be labels or codes; the libraries take neither.
        raise DataError(
            f"column {feature.name!r} holds plain numbers, and the model knows "
            "labels; make it a category column of the frame, or pass an array of "
            "codes."
        )
    else:
        codes = _codes_of_numbers(column.cells.astype(np.float64), feature)
    unknown = codes == len(feature.categories)
    # XGBoost takes a label that it does not know for the next one that it knows.
    takes_unknown = feature.accepts_unknown and not (
        by_label and feature.coding == "floor"
    )
    if not takes_unknown and unknown.any():
        row = int(np.argmax(unknown))
        known = ", ".join(repr(category) for category in feature.categories[:20])
        raise DataError(
            f"row {row}: column {feature.name!r} is {column.cells[row]!r}, which the "
            f"model never saw and refuses; it knows {known}."
        )
    return codes


def _codes_of_words(column: Column, feature: Categorical) -> Matrix:
    """Return the codes of cells that hold people's words, or what the model reads."""
    table = {code: place for place, code in reversed([*enumerate(feature.codes)])}
    table.update({word: place for place, word in enumerate(feature.categories)})
    unknown = len(feature.categories)
    cells, places = column.cells, None
    if column.distinct is not None:
        cells, places = column.distinct
    elif column.is_numeric:
        cells, places = np.unique(cells, return_inverse=True)
    codes = np.empty(len(cells))
    for row, cell in enumerate(cells.tolist()):
        try:
            place = table.get(cell, unknown)
        except TypeError:
            place = unknown
        codes[row] = np.nan if place == unknown and _is_missing(cell) else place
    codes = codes if places is None else np.take(codes, places)
    wrong = codes == unknown
    if not feature.accepts_unknown and wrong.any():
        row = int(np.argmax(wrong))
        known = ", ".join(
            f"{code!r} ({word!r})"
            for code, word in [*zip(feature.codes, feature.categories, strict=True)][
                :20
            ]
        )
        raise DataError(
            f"row {row}: column {feature.name!r} is {column.cells[row]!r}, for which "
            f"codes= gives no word; it names {known}."
        )
    return codes


def has_unknown(column: Column, feature: Categorical) -> bool:
    """Tell whether a column has values that are no category; if it can be read."""
    try:
        codes = _codes(column, feature)
    except DataError:
        return False
    return bool((codes == len(feature.categories)).any())


def _codes_of_column(column: Column, feature: Categorical) -> Matrix:
    if column.distinct is None:
        return _codes_of_labels(column.cells, feature)
    texts, places = column.distinct
    # No text is refused here, so no message counts the wrong rows.
    return np.take(_codes_of_labels(texts, feature), places)


def _codes_of_labels(cells: NDArray[Any], feature: Categorical) -> Matrix:
    _check_exact(cells, feature)
    table = {category: code for code, category in enumerate(feature.categories)}
    values = cells.tolist()
    codes = _codes_of_texts(values, feature)
    for row in np.flatnonzero(np.isnan(codes)).tolist():
        value = values[row]
        if isinstance(value, datetime.date):
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}; pass labels or "
                "numbers, no dates."
            )
        if isinstance(value, decimal.Decimal):
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, which encoders "
                "compare in ways of their own; pass float64."
            )
        if _is_missing(value):
            is_nan = isinstance(value, float | np.floating)
            kind = "none" if value is None else "nan" if is_nan else "other"
            is_meant = feature.missing_as in {"any", kind}
            codes[row] = np.nan if is_meant else len(feature.categories)
        elif (
            isinstance(value, float | np.floating)
            and not feature.lower <= value <= feature.upper
        ):
            raise _beyond_bounds(row, float(value), feature)
        else:
            codes[row] = _code(row, value, feature, table)
    return codes


def _codes_of_texts(values: list[Any], feature: Categorical) -> Matrix:
    """Return the codes of all values that are known texts, NaN for others."""
    categories = enumerate(feature.categories)
    texts = {category: code for code, category in categories if type(category) is str}
    if not texts:
        return np.full(len(values), np.nan)
    try:
        return np.array(list(map(texts.get, values)), dtype=np.float64)
    except TypeError:
        # What has no hash is no label.
        return np.full(len(values), np.nan)


def _code(row: int, value: Any, feature: Categorical, table: dict[Label, int]) -> int:
    try:
        code = table.get(value, len(feature.categories))
    except TypeError:
        # What has no hash is no label.
        return len(feature.categories)
    if code < len(feature.categories) and feature.coding != "label":
        known = feature.categories[code]
        if isinstance(known, bool) != isinstance(value, bool | np.bool_):
            # Python takes True for 1, and so do encoders, but not data frames.
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, and the model knows "
                f"{known!r}; make the column of the same type."
            )
    return code


def _check_exact(cells: NDArray[Any], feature: Categorical) -> None:
    """Refuse to compare integers beyond 2**53 with floats, which libraries round."""
    has_long = any(isinstance(c, int) and abs(c) > EXACT for c in feature.categories)
    has_floats = any(isinstance(category, float) for category in feature.categories)
    if (has_long and cells.dtype.kind == "f") or (
        has_floats
        and cells.dtype.kind in "iu"
        and cells.size > 0
        and _largest(cells) > EXACT
    ):
        raise DataError(
            f"column {feature.name!r} compares integers beyond 2**53 with floats, "
            "which cannot tell them apart; pass the column in the type that the model "
            "was trained on."
        )


def _codes_of_texts_by_fingerprint(column: Column, feature: Categorical) -> Matrix:
    """Return the codes of texts and whole numbers, of which the fingerprint counts."""
    cells = column.cells
    if cells.dtype.kind == "f":
        raise DataError(
            f"column {feature.name!r} has type {cells.dtype}, and CatBoost takes texts "
            "and whole numbers for categories, no floats; pass integers, or the texts "
            "that the model was trained on."
        )
    values, places = column.distinct or (cells, None)
    if column.is_numeric:
        values, places = np.unique(cells, return_inverse=True)
    known: dict[str, float] = {}
    codes = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        if _is_missing(value):
            codes[row] = np.nan
            continue
        text = text_of_category(value)
        if text is None:
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, and the model reads "
                "a category there; pass texts, or whole numbers of 64 bits."
            )
        if text not in known:
            code = feature.code_of(text)
            known[text] = len(feature.categories) if code is None else code
        codes[row] = known[text]
    return codes if places is None else np.take(codes, places)


def text_of_category(value: Any) -> str | None:
    """Return the text that CatBoost makes of a cell; None if it takes no such cell."""
    if isinstance(value, str):
        return value if _is_unicode(value) else None
    if isinstance(value, int | np.integer | np.bool_) and -(2**63) <= value < 2**64:
        return str(int(value))
    return None


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def _codes_of_numbers(numbers: Matrix, feature: Categorical) -> Matrix:
    unknown = float(len(feature.categories))
    numbers = _within_bounds(numbers, feature)
    if feature.coding == "floor":
        with np.errstate(over="ignore"):
            numbers = numbers.astype(np.float32).astype(np.float64)
    codes = np.trunc(numbers)
    negative = numbers < 0 if feature.coding == "floor" else codes < 0
    known = np.isnan(codes) | (~negative & (codes < unknown))
    # Adding zero turns the negative zero that truncation leaves into zero.
    return np.where(known, codes + 0.0, unknown)
