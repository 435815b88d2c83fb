"""Pull a model behind preprocessing back to the raw columns that people know.

A model that reads transformed columns, each a function of one raw column, is a model on
the raw columns: a split of a scaled column is a split of the raw one at another
threshold, a split of a one-hot column asks whether the raw category is in a set. The
trees keep their number, order, shape and leaves; only their splits are rewritten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Numeric,
    Source,
    Trees,
)
from fatt.ensemble.trees import holds
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import (
    Coded,
    Column,
    Flags,
    Floats,
    Mapped,
    Same,
    above,
    critical_of,
    cuts_by_piece,
    cuts_of,
    identity,
    narrow,
    seen_by,
)

Nodes = NDArray[np.int64]

# How many cells of a table of nodes and codes are computed at once.
_BLOCK = 2**21


def pull_back(
    ensemble: Ensemble,
    *,
    features: Sequence[Feature],
    columns: Sequence[Column],
    inputs: Inputs,
    source: Source,
) -> Ensemble:
    """Rewrite an ensemble on transformed columns as one on raw columns.

    Parameters
    ----------
    ensemble
        The model behind the preprocessing.
    features
        The raw columns, with the values that the preprocessing takes; numeric ones
        without missing range and edges. A raw column that reaches the model as it is,
        and in no other way, gets the kind of the model's own feature.
    columns
        What each feature of `ensemble` is made of, in order.
    inputs
        How the preprocessing reads tables.
    source
        Where the whole model came from.

    Returns
    -------
    Ensemble
        Takes the raw values that the preprocessing and the model both take, and
        computes for them what the model computes for the transformed ones.

    Raises
    ------
    UnsupportedModelError
        If the values that the model refuses cannot be told in the raw columns.
    """
    ensemble.require_no_joints("no preparation before it is followed")
    plain, adopted = _adopt_kinds(ensemble.features, features, columns)
    narrowed = list(adopted)
    for column, inner in zip(plain, ensemble.features, strict=True):
        if not isinstance(column, Same):
            narrowed[column.source] = narrow(narrowed[column.source], column, inner)
    splits = _Splits(ensemble.trees)
    for index, raw in enumerate(narrowed):
        mine = [i for i, column in enumerate(plain) if column.source == index]
        if isinstance(raw, Numeric):
            narrowed[index] = _pull_numeric(ensemble, raw, mine, plain, splits)
        else:
            _pull_codes(ensemble, mine, plain, splits)
    return replace(
        ensemble,
        features=tuple(narrowed),
        trees=splits.lay_out(ensemble.trees),
        inputs=inputs,
        source=source,
    )


def _adopt_kinds(
    inner: Sequence[Feature], features: Sequence[Feature], columns: Sequence[Column]
) -> tuple[list[Column], list[Feature]]:
    """Give raw columns that reach the model unchanged the kind the model knows.

    Where a raw column also reaches it in another way, or twice and the model reads it
    in two ways, the unchanged column is the identity map instead.
    """
    settled, adopted = list(columns), list(features)
    for index, raw in enumerate(features):
        mine = [i for i, column in enumerate(columns) if column.source == index]
        kinds = [
            msgspec.structs.replace(inner[i], name=raw.name)
            for i in mine
            if isinstance(columns[i], Same)
        ]
        is_known = isinstance(raw, Categorical) and all(kind == raw for kind in kinds)
        if not kinds or is_known:
            continue
        if len(kinds) == len(mine) and all(kind == kinds[0] for kind in kinds):
            adopted[index] = _meet(raw, kinds[0])
            continue
        for i in mine:
            if isinstance(columns[i], Same):
                settled[i] = _identity(raw, index, inner[i])
    return settled, adopted


def _meet(raw: Feature, kind: Feature) -> Feature:
    """Return the model's feature, within the raw one's bounds if both are numeric."""
    if not (isinstance(raw, Numeric) and isinstance(kind, Numeric)):
        return kind
    return msgspec.structs.replace(
        kind,
        lower=max(raw.lower, kind.lower),
        upper=min(raw.upper, kind.upper),
        accepts_missing=raw.accepts_missing and kind.accepts_missing,
    )


def _identity(raw: Feature, index: int, inner: Feature) -> Mapped:
    labels = isinstance(inner, Categorical) and any(
        isinstance(category, str) for category in inner.categories
    )
    if labels or not isinstance(raw, Numeric):
        raise UnsupportedModelError(
            f"column {raw.name!r} reaches the model both as labels and through a step "
            "that computes with it, or in two ways that do not agree. Give the steps "
            "a copy of the column each."
        )
    return Mapped(source=index, function=identity)


class _Splits:
    """The splits of all nodes, to be rewritten feature by feature."""

    def __init__(self, trees: Trees) -> None:
        nodes = trees.nodes
        self.feature = nodes["feature"].astype(np.int64)
        self.threshold = nodes["threshold"].copy()
        self.missing_left = nodes["missing_left"].astype(bool)
        self.swapped = np.zeros(len(nodes), dtype=bool)
        self.subset = np.full(len(nodes), -1, dtype=np.int64)
        self.sets: list[Flags] = []

    def add_sets(self, nodes: Nodes, sets: Flags) -> None:
        """Make each node a set split that sends the given codes to the left."""
        self.subset[nodes] = len(self.sets) + np.arange(len(nodes))
        self.sets.extend(sets)

    def copy(self, nodes: Nodes, like: Nodes) -> None:
        """Make each node split as another one of the same feature does."""
        for field in (self.threshold, self.missing_left, self.swapped, self.subset):
            field[nodes] = field[like]

    def lay_out(self, trees: Trees) -> Trees:
        nodes = trees.nodes
        return Trees.lay_out(
            roots=trees.roots,
            feature=self.feature,
            threshold=self.threshold,
            left=np.where(self.swapped, nodes["right"], nodes["left"]),
            right=np.where(self.swapped, nodes["left"], nodes["right"]),
            missing_left=self.missing_left ^ self.swapped,
            leaf=nodes["leaf"],
            values=trees.values,
            targets=trees.targets,
            subset=self.subset,
            sets=self.sets,
        )


def _pull_codes(
    ensemble: Ensemble, mine: list[int], columns: list[Column], splits: _Splits
) -> None:
    """Rewrite the splits of columns made of one raw categorical column."""
    trees = ensemble.trees
    for i in mine:
        column, inner = columns[i], ensemble.features[i]
        if isinstance(column, Same):
            _keep_sets(trees, i, inner, column, splits)
            continue
        assert isinstance(column, Coded)
        values = seen_by(inner, np.append(column.table, column.missing))
        for nodes, first, which in alike(trees, i):
            splits.feature[nodes] = column.source
            for block in blocks(len(first), len(values)):
                some = first[block]
                left = goes_left(trees, some[:, np.newaxis], inner, values)
                splits.add_sets(some, left[:, :-1])
                splits.missing_left[some] = left[:, -1]
            splits.copy(nodes, first[which])


def _pull_numeric(
    ensemble: Ensemble,
    raw: Numeric,
    mine: list[int],
    columns: list[Column],
    splits: _Splits,
) -> Numeric:
    """Rewrite the splits of columns made of one raw numeric column; return its feature.

    A split whose left side is a ray of the raw line becomes a threshold. The others
    become set splits over the cells between all the places where they change sides.
    """
    trees = ensemble.trees
    missing_range = _common_missing_range(raw, mine, columns, ensemble.features)
    jagged: list[Sides] = []
    copies: list[tuple[Nodes, Nodes]] = []
    for i in mine:
        column, inner = columns[i], ensemble.features[i]
        if isinstance(column, Same):
            _keep_sets(trees, i, inner, column, splits)
            continue
        assert isinstance(column, Mapped)
        missing = seen_by(inner, np.array([column.missing]))
        if missing_range is not None:
            assert isinstance(inner, Numeric)
            inner = msgspec.structs.replace(inner, missing_range=None)
        for nodes, first, which in alike(trees, i):
            splits.feature[nodes] = column.source
            splits.missing_left[first] = goes_left(trees, first, inner, missing)
            for sides in sides_of(trees, first, column, raw, inner):
                jagged.append(_straighten(sides, splits))
            copies.append((nodes, first[which]))
    if all(isinstance(columns[i], Same) for i in mine):
        return raw
    edges = np.unique(np.concatenate([[], *map(turns_of, jagged)]))
    for sides in jagged:
        splits.add_sets(sides.nodes, on_cells(sides, edges))
    for nodes, like in copies:
        splits.copy(nodes, like)
    return msgspec.structs.replace(
        raw, missing_range=missing_range, edges=tuple(edges.tolist())
    )


def _keep_sets(
    trees: Trees, i: int, inner: Feature, column: Same, splits: _Splits
) -> None:
    """Keep the splits of a column that is a raw column as it is."""
    nodes = np.flatnonzero(trees.nodes["feature"] == i)
    splits.feature[nodes] = column.source
    with_set = nodes[trees.nodes["subset"][nodes] >= 0]
    for block in blocks(len(with_set), inner.n_codes):
        splits.add_sets(with_set[block], bits(trees, with_set[block], inner.n_codes))


def _common_missing_range(
    raw: Numeric,
    mine: list[int],
    columns: list[Column],
    features: Sequence[Feature],
) -> tuple[float, float] | None:
    """Return the raw numbers read as missing, if all columns agree on them.

    Where they do not, or treat a missing cell otherwise or refuse it, set splits tell
    the cases apart.
    """
    if not raw.accepts_missing:
        return None
    ranges = set()
    for i in mine:
        column, inner = columns[i], features[i]
        if (
            not isinstance(column, Mapped)
            or column.edges
            or not math.isnan(column.missing)
            or not isinstance(inner, Numeric)
            or inner.missing_range is None
        ):
            return None
        cuts = np.append(cuts_of(column, raw, critical_of(inner)), raw.upper)
        values = column.function(np.clip(cuts, raw.lower, raw.upper))
        inside = np.flatnonzero(np.isnan(seen_by(inner, values)))
        if not inside.size or len(inside) <= inside[-1] - inside[0]:
            return None
        low = raw.lower
        if inside[0]:
            low = max(low, float(above(cuts[inside[0] - 1])))
        ranges.add((low, min(float(cuts[inside[-1]]), raw.upper)))
    return ranges.pop() if len(ranges) == 1 else None


def _straighten(sides: Sides, splits: _Splits) -> Sides:
    """Make threshold splits of nodes whose left side is a ray; return the others."""
    nodes, ends, left = sides
    # The last end is infinite: a node that never turns keeps all up to there.
    turns = np.ones_like(left)
    turns[:, :-1] = left[:, :-1] != left[:, 1:]
    simple = turns.sum(axis=1) <= 2
    rows, at = np.flatnonzero(simple), np.argmax(turns[simple], axis=1)
    splits.threshold[nodes[rows]] = np.broadcast_to(ends, left.shape)[rows, at]
    splits.swapped[nodes[rows]] = ~left[rows, 0]
    rest = ends if len(ends) < len(left) else ends[~simple]
    return Sides(nodes[~simple], rest, left[~simple])


def alike(trees: Trees, i: int) -> Iterator[tuple[Nodes, Nodes, Nodes]]:
    """Group the nodes that split a column, so that equal splits are rewritten once.

    Yields
    ------
    nodes : ndarray
        Nodes with sets, or nodes with thresholds and one place for missing values.
    first : ndarray
        Those of them that differ; their thresholds increase.
    which : ndarray
        For each node, the one in `first` that splits as it does.
    """
    nodes = np.flatnonzero(trees.nodes["feature"] == i)
    is_set = trees.nodes["subset"][nodes] >= 0
    missing_left = trees.nodes["missing_left"][nodes] > 0
    if is_set.any():
        yield nodes[is_set], nodes[is_set], np.arange(is_set.sum())
    for group in (nodes[~is_set & missing_left], nodes[~is_set & ~missing_left]):
        if group.size:
            _, first, which = np.unique(
                trees.nodes["threshold"][group], return_index=True, return_inverse=True
            )
            yield group, group[first], which


def blocks(n_nodes: int, width: int) -> list[slice]:
    """Cut a table of nodes into parts of bounded size."""
    step = max(1, _BLOCK // max(width, 1))
    return [slice(start, start + step) for start in range(0, n_nodes, step)]


class Sides(NamedTuple):
    """The raw line, cut for each node into cells on one side of its split.

    Attributes
    ----------
    nodes
        The nodes.
    ends : ndarray of shape (n_nodes, n_cells), or (1, n_cells) if all have the same
        Upper end of each cell, increasing; the last is infinite. Cells may be empty.
    left : ndarray of shape (n_nodes, n_cells)
        Whether the cell goes left.
    """

    nodes: Nodes
    ends: Floats
    left: Flags


def sides_of(
    trees: Trees, nodes: Nodes, column: Mapped, raw: Numeric, inner: Feature
) -> Iterator[Sides]:
    """Cut the raw line for nodes that all have sets, or all increasing thresholds."""
    has_sets = trees.nodes["subset"][nodes[0]] >= 0
    if isinstance(inner, Numeric) and not has_sets:
        # The edges are there for the set splits only.
        inner = msgspec.structs.replace(inner, edges=())
    common = np.append(cuts_of(column, raw, critical_of(inner)), np.inf)
    own = np.empty((0, len(nodes)))
    if not has_sets:
        own = cuts_by_piece(column, raw, trees.nodes["threshold"][nodes])
    for block in blocks(len(nodes), len(common) + len(own)):
        some, ends = nodes[block], common[np.newaxis]
        if len(own):
            shape = (len(some), len(common))
            ends = np.hstack([own[:, block].T, np.broadcast_to(common, shape)])
            ends.sort(axis=1)
        values = column.function(np.clip(ends, raw.lower, raw.upper))
        seen = seen_by(inner, values.ravel()).reshape(values.shape)
        yield Sides(some, ends, goes_left(trees, some[:, np.newaxis], inner, seen))


def turns_of(sides: Sides) -> Floats:
    """Return the ends of cells whose neighbour lies on the other side."""
    turns = sides.left[:, :-1] != sides.left[:, 1:]
    if len(sides.ends) != len(turns):
        turns = turns.any(axis=0, keepdims=True)
    return np.unique(sides.ends[:, :-1][turns])


def on_cells(sides: Sides, edges: Floats) -> Flags:
    """Tell which of the cells between `edges` go left, for each node."""
    tops = np.append(edges, np.inf)
    if len(sides.ends) == 1:
        return sides.left[:, np.searchsorted(sides.ends[0], tops)]
    on_cells = np.zeros((len(sides.left), len(tops)), dtype=bool)
    for row, (own, side) in enumerate(zip(sides.ends, sides.left, strict=True)):
        on_cells[row] = side[np.searchsorted(own, tops)]
    return on_cells


def goes_left(trees: Trees, nodes: Nodes, feature: Feature, seen: Floats) -> Flags:
    """Tell which values, as the trees see them, go left at which nodes of a feature."""
    records: Any = trees.nodes[nodes]
    left = seen <= records["threshold"]
    is_set = records["subset"] >= 0
    if is_set.any():
        numbers = np.where(np.isnan(seen), 0.0, seen)
        if isinstance(feature, Numeric):
            numbers = np.searchsorted(np.array(feature.edges), numbers)
        codes = numbers.astype(np.int64)
        word = trees.words[np.where(is_set, records["subset"] + codes // 64, 0)]
        left = np.where(is_set, word >> (codes % 64).astype(np.uint64) & 1, left)
    return np.asarray(np.where(np.isnan(seen), records["missing_left"], left), bool)


def bits(trees: Trees, nodes: Nodes, n_codes: int) -> Flags:
    """Return the sets of set splits, one row per node."""
    first = trees.nodes["subset"][nodes][:, np.newaxis]
    return holds(trees.words, first, np.arange(n_codes))
