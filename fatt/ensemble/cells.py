"""Cells as the library reads them: numbers, and codes of categories.

It takes some numbers, and reads some as missing. Categories it knows by label, by
number, or by text.
"""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature, Inputs, Label, Numeric
from fatt.ensemble.tables import EXACT, Column
from fatt.errors import Arg, DataError

Matrix = NDArray[np.float64]


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


def numbers_of(column: Column, feature: Numeric, inputs: Inputs) -> Matrix:
    """Return a column of numbers as they are; those read as missing stay.

    Raises
    ------
    DataError
        If the library would refuse one.
    """
    if column.is_numeric:
        numbers = column.cells.astype(np.float64)
        seen = within_bounds(numbers, feature, inputs.bounds_of)
    else:
        numbers = _objects_to_numbers(column.cells, feature)
        seen = within_bounds(numbers, feature, inputs.bounds_of)
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


def _objects_to_numbers(cells: NDArray[Any], feature: Numeric) -> Matrix:
    numbers = np.empty(len(cells))
    for row, value in enumerate(cells):
        if value is None:
            numbers[row] = np.nan
            continue
        try:
            # The NA of pandas, among Python objects, is no number to any library.
            if isinstance(value, str | bytes | complex | datetime.date):
                raise TypeError
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, and the model "
                "reads a number there; pass a type of numbers, or the code that stands "
                "for it, and NaN where there is none."
            ) from None
    return numbers


def without_gaps(numbers: Matrix, feature: Feature) -> Matrix:
    """Turn the numbers of one column that the library reads as missing into NaN."""
    if feature.missing_range is None:
        return numbers
    low, high = feature.missing_range
    return np.where((numbers >= low) & (numbers <= high), np.nan, numbers)


def within_bounds(
    numbers: Matrix, feature: Feature, bounds_of: str = "library"
) -> Matrix:
    """Turn the numbers read as missing into NaN; refuse those beyond the bounds."""
    numbers = without_gaps(numbers, feature)
    refused = (numbers < feature.lower) | (numbers > feature.upper)
    if refused.any():
        row = int(np.argmax(refused))
        raise beyond_bounds(row, float(numbers[row]), feature, bounds_of)
    return numbers


def beyond_bounds(
    row: int, value: float, feature: Feature, bounds_of: str = "library"
) -> DataError:
    """Return what to raise about a number that is not taken."""
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


def is_missing(value: object) -> bool:
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


def largest_of(integers: NDArray[Any]) -> int:
    """Return the largest of some integers, without their signs."""
    return max(abs(int(integers.min())), abs(int(integers.max())))


def codes_of(column: Column, feature: Categorical) -> Matrix:
    """Return the code of each cell, and NaN where it is missing.

    Raises
    ------
    DataError
        If the library would refuse one.
    """
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
            f"column {feature.name!r} holds labels, and the model does not say which "
            "codes they have; pass the codes that it was trained on (those of a pandas "
            "column are in its cat.codes)."
        )
    if by_label and feature.coding == "floor":
        _refuse_wide_labels(column, feature)
    if by_label:
        codes = _codes_of_column(column, feature)
    elif column.in_frame and feature.labelled:
        # Numbers in a frame could be labels or codes; the libraries take neither.
        raise DataError(
            f"column {feature.name!r} holds plain numbers, and the model knows labels; "
            "make it a category column of the frame, or pass an array of codes."
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


def _refuse_wide_labels(column: Column, feature: Categorical) -> None:
    """Refuse labels of pandas that XGBoost cuts in the wrong places.

    It counts letters and stores bytes, so that it takes a label beyond ASCII, and all
    that the column lists after it, for others.
    """
    for label in (column.categories or [])[:-1]:
        if not str(label).isascii():
            raise DataError(
                f"column {feature.name!r} lists the category {label!r} before others, "
                "and XGBoost takes all of them for other categories, because of the "
                "letters beyond ASCII. Drop the categories that no row has: "
                f"rows[{feature.name!r}].cat.remove_unused_categories()."
            )


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
        codes[row] = np.nan if place == unknown and is_missing(cell) else place
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
            f"{Arg('codes')} gives no word; it names {known}."
        )
    return codes


def unknown_of(column: Column, feature: Categorical) -> list[Any]:
    """Return the cells of a column that are no category; none if it cannot be read."""
    try:
        codes = codes_of(column, feature)
    except DataError:
        return []
    unknown: list[Any] = column.cells[codes == len(feature.categories)].tolist()
    return unknown


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
        if is_missing(value):
            is_nan = isinstance(value, float | np.floating)
            kind = "none" if value is None else "nan" if is_nan else "other"
            is_meant = feature.missing_as in {"any", kind}
            codes[row] = np.nan if is_meant else len(feature.categories)
        elif (
            isinstance(value, float | np.floating)
            and not feature.lower <= value <= feature.upper
        ):
            raise beyond_bounds(row, float(value), feature)
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
    if feature.of_one_kind and _kind(value) not in map(_kind, feature.categories):
        raise DataError(
            f"row {row}: column {feature.name!r} is {value!r}, of another kind than "
            f"what the model knows there, such as {feature.categories[0]!r}, and its "
            "library would turn one into the other, or not; make the column of the "
            "same type."
        )
    if code < len(feature.categories) and feature.coding != "label":
        known = feature.categories[code]
        if isinstance(known, bool) != isinstance(value, bool | np.bool_):
            # Python takes True for 1, and so do encoders, but not data frames.
            raise DataError(
                f"row {row}: column {feature.name!r} is {value!r}, and the model knows "
                f"{known!r}; make the column of the same type."
            )
    return code


def _kind(label: Any) -> str:
    """Tell texts, truth values and numbers apart."""
    if isinstance(label, bool | np.bool_):
        return "truth"
    return "text" if isinstance(label, str) else "number"


def _check_exact(cells: NDArray[Any], feature: Categorical) -> None:
    """Refuse to compare integers beyond 2**53 with floats, which libraries round."""
    has_long = any(isinstance(c, int) and abs(c) > EXACT for c in feature.categories)
    has_floats = any(isinstance(category, float) for category in feature.categories)
    if (has_long and cells.dtype.kind == "f") or (
        has_floats
        and cells.dtype.kind in "iu"
        and cells.size > 0
        and largest_of(cells) > EXACT
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
        if is_missing(value):
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
    numbers = within_bounds(numbers, feature)
    if feature.coding == "floor":
        with np.errstate(over="ignore"):
            numbers = numbers.astype(np.float32).astype(np.float64)
    codes = np.trunc(numbers)
    negative = numbers < 0 if feature.coding == "floor" else codes < 0
    known = np.isnan(codes) | (~negative & (codes < unknown))
    # Adding zero turns the negative zero that truncation leaves into zero.
    return np.where(known, codes + 0.0, unknown)
