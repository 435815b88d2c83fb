"""Several columns of a model made into one categorical feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Numeric, Trees
from fatt.ensemble.trees import n_words, starts_of
from fatt.errors import SpecError, hint
from fatt.region.amounts import from_to
from fatt.region.kinds import (
    AnyVariable,
    Binary,
    Category,
    Integer,
    Number,
    OneHot,
    Ordinal,
)

Matrix = NDArray[np.float64]


class Merge(NamedTuple):
    """One variable, and the model's columns behind it.

    Attributes
    ----------
    feature
        The variable as the trees see it.
    columns : ndarray of shape (n_columns,)
        Indices of the model's columns.
    table : ndarray of shape (n_codes, n_columns), or None
        What stands in the columns for each code, NaN where nothing does. None if the
        variable is a column as it is.
    """

    feature: Feature
    columns: NDArray[np.int64]
    table: Matrix | None = None


def merge_columns(
    variable: AnyVariable, columns: Sequence[int], model: Ensemble
) -> Merge:
    """Return the variable as a feature, checked against the model's columns."""
    places = np.array(columns, dtype=np.int64)
    features = [model.features[column] for column in columns]
    numeric = [feature for feature in features if isinstance(feature, Numeric)]
    first = features[0]
    if isinstance(first, Categorical) and isinstance(variable, Category | Ordinal):
        if isinstance(variable, Ordinal):
            _check_categories(variable, first)
        return Merge(msgspec.structs.replace(first, name=variable.name), places)
    if len(numeric) < len(features) or isinstance(variable, Category):
        found = "numbers" if numeric else "categories"
        raise SpecError(
            f"variable {variable.name!r} is a {type(variable).__name__}, and the model "
            f"reads {found} in column {first.name!r}."
        )
    if isinstance(variable, Number):
        low, high = variable.bounds
        if low > numeric[0].upper or high < numeric[0].lower:
            raise SpecError(
                f"variable {variable.name!r} is {from_to(low, high)}, and what the "
                f"model's library takes is "
                f"{from_to(numeric[0].lower, numeric[0].upper)}; correct the schema."
            )
        integer = numeric[0].integer or isinstance(variable, Integer)
        renamed = msgspec.structs.replace(
            numeric[0], name=variable.name, integer=integer
        )
        return Merge(renamed, places)
    return Merge(*_merge_levels(variable, places, numeric))


def _check_categories(variable: Ordinal, feature: Categorical) -> None:
    for level in variable.levels:
        if level not in feature.categories:
            raise SpecError(
                f"variable {variable.name!r} has the level {level!r}, which the model "
                f"does not know. {hint(level, feature.categories)}"
            )


def _merge_levels(
    variable: Binary | Ordinal | OneHot,
    places: NDArray[np.int64],
    features: Sequence[Numeric],
) -> tuple[Categorical, NDArray[np.int64], Matrix]:
    patterns, unknown = variable.patterns(), variable.unknown()
    nothing = np.full(len(places), np.nan)
    table = np.vstack([patterns, nothing if unknown is None else unknown])
    for feature, column in zip(features, table.T, strict=True):
        numbers = column[~np.isnan(column) & ~_reads_missing(feature, column)]
        taken = (feature.lower <= numbers) & (numbers <= feature.upper)
        if feature.integer:
            taken &= numbers == np.trunc(numbers)
        if not taken.all():
            raise SpecError(
                f"a level of variable {variable.name!r} has the number "
                f"{numbers[~taken][0]} in column {feature.name!r}, which the model's "
                "library refuses."
            )
    merged = Categorical(
        name=variable.name,
        categories=variable.labels,
        accepts_missing=all(feature.accepts_missing for feature in features),
        accepts_unknown=unknown is not None,
    )
    return merged, places, table


def _reads_missing(feature: Numeric, numbers: Matrix) -> NDArray[np.bool_]:
    if feature.missing_range is None:
        return np.zeros(len(numbers), dtype=bool)
    low, high = feature.missing_range
    return (low <= numbers) & (numbers <= high)


def merge_trees(model: Ensemble, merges: Sequence[Merge]) -> Trees:
    """Return the trees with splits on variables.

    A split on a column of a variable becomes the set of the levels that it sends left.
    Nodes, leaves and their order stay.
    """
    trees = model.trees
    n_features = len(model.features)
    owner = np.full(n_features + 1, -1, dtype=np.int64)
    sizes = np.array([n_words(feature.n_codes) for feature in model.features] + [0])
    columns: dict[int, Matrix] = {}
    for index, merge in enumerate(merges):
        owner[merge.columns] = index
        if merge.table is not None:
            sizes[merge.columns] = n_words(merge.feature.n_codes)
            columns.update(zip(merge.columns.tolist(), merge.table.T, strict=True))
    merged = np.zeros(n_features + 1, dtype=bool)
    merged[list(columns)] = True

    # A leaf has the feature -1, the last entry of these arrays.
    feature = trees.nodes["feature"]
    is_set = (trees.nodes["subset"] >= 0) | merged[feature]
    places = np.flatnonzero(is_set)
    starts = starts_of(sizes[feature[places]])
    words = np.zeros(int(sizes[feature[places]].sum()), dtype=np.uint64)
    order = np.argsort(feature[places], kind="stable")
    ends = np.cumsum(np.bincount(feature[places], minlength=n_features))
    for index, mine in enumerate(np.split(order, ends[:-1])):
        split = trees.nodes[places[mine]]
        if index in columns:
            numeric = model.features[index]
            assert isinstance(numeric, Numeric)
            packed = pack(_goes_left(trees, numeric, split, columns[index]))
        else:
            packed = trees.words[split["subset"][:, np.newaxis] + range(sizes[index])]
        words[starts[mine][:, np.newaxis] + np.arange(sizes[index])] = packed

    nodes = trees.nodes.copy()
    nodes["feature"] = owner[feature]
    nodes["subset"] = -1
    nodes["subset"][places] = starts
    nodes["threshold"][places] = 0.0
    return replace(trees, nodes=nodes, words=words)


def _goes_left(
    trees: Trees, feature: Numeric, split: NDArray[Any], numbers: Matrix
) -> NDArray[np.bool_]:
    """Tell which of the numbers each node sends left, of shape (n_nodes, n_numbers)."""
    left = numbers <= split["threshold"][:, np.newaxis]
    is_set = split["subset"] >= 0
    if is_set.any():
        cells = np.searchsorted(feature.edges, numbers)
        word = trees.words[split["subset"][is_set, np.newaxis] + cells // 64]
        left[is_set] = (word >> (cells % 64).astype(np.uint64)) & np.uint64(1)
    missing = _reads_missing(feature, numbers)
    left[:, missing] = split["missing_left"][:, np.newaxis] == 1
    # No row has the code without a number.
    left[:, np.isnan(numbers)] = False
    return left


def pack(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return bit sets, one per row, as words."""
    padded = np.zeros((len(members), 64 * n_words(members.shape[1])), dtype=bool)
    padded[:, : members.shape[1]] = members
    packed = np.packbits(padded, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64)
