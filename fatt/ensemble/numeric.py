"""Numbers as the library reads them: which it takes, and which mean missing."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature, Inputs, Numeric
from fatt.ensemble.tables import Column
from fatt.errors import DataError

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
