"""Numbers and codes of the trees, turned back into what people wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Numeric
from fatt.verdict import Value

#: Stands for every category that the model never saw: it cannot tell them apart.
OTHER = "(other)"


def value_of(feature: Feature, number: float) -> Value:
    """Return what a number or code means to people; None if it is missing.

    Examples
    --------
    >>> from fatt.ensemble import Categorical, Numeric
    >>> value_of(Categorical(name="sex", categories=("F", "M")), 1.0)
    'M'
    >>> value_of(Numeric(name="age", integer=True), 41.0)
    41
    """
    if math.isnan(number):
        return None
    if isinstance(feature, Numeric):
        is_whole = feature.integer and math.isfinite(number)
        return int(number) if is_whole else float(number)
    code = int(number)
    return feature.categories[code] if code < len(feature.categories) else OTHER


def values_of(
    features: Sequence[Feature], row: NDArray[np.float64]
) -> dict[str, Value]:
    """Return a row of numbers and codes as people know it, by name."""
    return {
        feature.name: value_of(feature, number)
        for feature, number in zip(features, row.tolist(), strict=True)
    }


def json_value(value: Value) -> Value:
    """Return a value that JSON can hold: infinities become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
