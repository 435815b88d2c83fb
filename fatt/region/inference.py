"""A schema from what a model and its rows say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Feature, Inputs
from fatt.ensemble import Numeric as NumericFeature
from fatt.ensemble.encode import mark_missing, read
from fatt.ensemble.table import Column, columns_of
from fatt.region.kinds import AnyVariable, Binary, Category, Integer, Number, OneHot
from fatt.region.schema import Schema

#: The level of a group of columns that are all 0.
NONE = "none of these"


def from_features(features: Sequence[Feature]) -> Schema:
    """Return the schema of a model's features, one variable each."""
    return Schema(
        columns=tuple(feature.name for feature in features),
        variables=tuple(_of_feature(feature) for feature in features),
    )


def infer(ensemble: Ensemble, X: Any) -> Schema:
    """Return the schema that the names and types of columns tell.

    One column is looked at after the other, so that large tables are never copied.
    """
    columns, _ = columns_of(X, ensemble.features, ensemble.inputs)
    names = _names(ensemble, X)
    taken = set(names)
    variables: dict[str, AnyVariable] = {}
    groups: dict[str, _Group] = {}
    for name, feature, column in zip(names, ensemble.features, columns, strict=True):
        if not isinstance(feature, NumericFeature):
            variables[name] = Category(name=name, columns=(name,))
            continue
        numbers = _numbers(column, feature, ensemble.inputs)
        variables[name] = _of_column(name, feature, column, numbers)
        prefix, _, level = name.partition("=")
        # With a column of the group's own name nobody could tell the two apart.
        if prefix and level and prefix not in taken:
            groups.setdefault(prefix, _Group(len(numbers))).add(name, numbers)
    for prefix, group in groups.items():
        found = group.variable(prefix)
        if found is not None:
            for name in group.names:
                del variables[name]
            variables[prefix] = found
    return Schema(columns=tuple(names), variables=tuple(variables.values()))


def _numbers(
    column: Column, feature: NumericFeature, inputs: Inputs
) -> NDArray[np.float64]:
    """Return the numbers of a column, also those that the model reads as missing."""
    if column.is_numeric:
        return column.cells.astype(np.float64)
    return read(column.cells[:, np.newaxis], (feature,), inputs)[:, 0]


def _names(ensemble: Ensemble, X: Any) -> list[str]:
    """Return the model's names of its columns, or the frame's if it has none."""
    names = [feature.name for feature in ensemble.features]
    given = getattr(X, "columns", None)
    if ensemble.inputs.named or given is None:
        return names
    found = [str(name) for name in getattr(X, "column_names", given)]
    return found if len(set(found)) == len(names) else names


def _of_feature(feature: Feature) -> AnyVariable:
    if not isinstance(feature, NumericFeature):
        return Category(name=feature.name, columns=(feature.name,))
    kind = Integer if feature.integer else Number
    return kind(name=feature.name, columns=(feature.name,))


def _of_column(
    name: str, feature: NumericFeature, column: Column, numbers: NDArray[np.float64]
) -> AnyVariable:
    kind = column.cells.dtype.kind
    if kind == "b":
        return Binary(name=name, columns=(name,), levels=(False, True))
    known = mark_missing(numbers[:, np.newaxis], (feature,))[:, 0]
    known = known[~np.isnan(known)]
    with np.errstate(over="ignore"):
        # The squares of huge numbers are infinite, and then there is no deviation.
        sd = float(np.std(known)) if len(known) and np.isfinite(known).all() else np.inf
    whole = feature.integer or kind in "iu"
    return (Integer if whole else Number)(
        name=name, columns=(name,), sd=sd if np.isfinite(sd) else None
    )


class _Group:
    """Columns named ``variable=level``, seen one after the other."""

    def __init__(self, n_rows: int) -> None:
        self.names: list[str] = []
        self._ones = np.zeros(n_rows, dtype=np.int64)
        self._missing = np.zeros(n_rows, dtype=np.int64)
        self._is_binary = True

    def add(self, name: str, numbers: NDArray[np.float64]) -> None:
        self.names.append(name)
        missing = np.isnan(numbers)
        self._is_binary &= bool(np.all((numbers == 0) | (numbers == 1) | missing))
        self._ones += numbers == 1
        self._missing += missing

    def variable(self, prefix: str) -> Binary | OneHot | None:
        """Return the variable behind the columns, or None if they are not one."""
        missing = self._missing == len(self.names)
        ones = self._ones[~missing]
        if not self._is_binary or np.any(self._missing[~missing]):
            return None
        if not len(ones) or ones.max() > 1:
            return None
        columns = tuple(self.names)
        levels = tuple(name.partition("=")[2] for name in columns)
        if len(columns) == 1:
            pair = (f"not {levels[0]}", levels[0])
            return Binary(name=prefix, columns=columns, levels=pair)
        dropped = NONE if ones.min() == 0 else None
        return OneHot(name=prefix, columns=columns, levels=levels, dropped=dropped)
