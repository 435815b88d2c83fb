"""The comparisons of ONNX trees, rewritten as splits of the normal form."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Numeric, Trees
from fatt.ensemble.floats import at_most_float32, below_float32
from fatt.errors import UnsupportedModelError
from fatt.importers.onnx.forest import (
    EQ,
    GT,
    GTE,
    LEAF,
    LT,
    MEMBER,
    NEQ,
    Floats,
    Forest,
    Integers,
)

#: How many cells the set splits of one model may have together.
_CELL_LIMIT = 2**26


def lay_out(
    forest: Forest,
    features: tuple[Feature, ...],
    *,
    raw: bool,
    values: Floats,
    targets: Integers,
) -> tuple[tuple[Feature, ...], Trees]:
    """Bring a forest into the normal form.

    Parameters
    ----------
    forest
        The forest.
    features
        The columns that it reads.
    raw
        Whether the columns are cast to the forest's own type on the way; if not,
        they have values of that type already.
    values
        What each node adds to the scores if it is a leaf.
    targets
        As in `Trees`.

    Returns
    -------
    features
        The columns, with the edges that set splits need.
    trees
        The trees.
    """
    single = raw and not forest.double
    strict = np.isin(forest.mode, (LT, GTE))
    threshold = np.where(strict, _below(forest.value, single), forest.value)
    if single:
        threshold = np.where(strict, threshold, at_most_float32(forest.value))
    # Nothing is below minus infinity: such a split sends everything the other way.
    never = strict & np.isneginf(forest.value)
    threshold[never] = np.inf
    swapped = np.isin(forest.mode, (GTE, GT)) ^ never
    is_set = np.isin(forest.mode, (EQ, NEQ, MEMBER))
    # A missing value differs from every number.
    missing_true = forest.tracks | (forest.mode == NEQ)
    edged, subset, sets = _sets(forest, features, np.flatnonzero(is_set), single)
    return edged, Trees.lay_out(
        roots=forest.roots,
        feature=np.where(forest.mode == LEAF, -1, forest.feature),
        threshold=threshold,
        left=np.where(swapped, forest.false, forest.true),
        right=np.where(swapped, forest.true, forest.false),
        missing_left=missing_true ^ swapped,
        leaf=np.arange(len(forest.mode)),
        values=values.astype(forest.dtype),
        targets=targets,
        subset=subset,
        sets=sets,
    )


def leaf_table(forest: Forest) -> tuple[Floats, Integers]:
    """Return what each node adds if it is a leaf, and the targets of the trees.

    One column if each tree adds to one target only, else one column per target.
    """
    node, target, weight = forest.weights
    targets = np.zeros(forest.n_trees, dtype=np.int64)
    reached = forest.tree[node] >= 0
    node, target, weight = node[reached], target[reached], weight[reached]
    targets[forest.tree[node]] = target
    if np.array_equal(targets[forest.tree[node]], target):
        column = np.zeros((len(forest.mode), 1))
        column[node, 0] = weight
        return column, targets
    return dense_table(forest), np.full(forest.n_trees, -1)


def dense_table(forest: Forest) -> Floats:
    """Return the weights as a table with a row per node and a column per target."""
    node, target, weight = forest.weights
    if len(forest.mode) * forest.n_targets > 2**22 + 64 * len(node):
        raise UnsupportedModelError(
            f"{forest.where}: {len(forest.mode)} nodes with {forest.n_targets} scores "
            "each are more than can be represented."
        )
    table = np.zeros((len(forest.mode), forest.n_targets))
    table[node, target] = weight
    return table


def _below(limits: Floats, single: bool) -> Floats:
    """Return the largest number that, cast if `single`, is below each limit."""
    if single:
        return below_float32(limits)
    return np.nextafter(limits, -np.inf)


def _sets(
    forest: Forest, features: tuple[Feature, ...], nodes: Integers, single: bool
) -> tuple[tuple[Feature, ...], Integers, list[NDArray[np.bool_]]]:
    """Cut the lines of the features where equalities hold; return cells that hold.

    The number ``v`` is the cell between the largest number below it and itself.
    """
    subset = np.full(len(forest.mode), -1, dtype=np.int64)
    subset[nodes] = np.arange(len(nodes))
    sets: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)] * len(nodes)
    edged = list(features)
    room = _CELL_LIMIT
    for index in np.unique(forest.feature[nodes]).tolist():
        mine = nodes[forest.feature[nodes] == index].tolist()
        asked = [forest.members.get(node, forest.value[[node]]) for node in mine]
        values = np.unique(np.concatenate(asked))
        if np.isneginf(values[0]):
            raise UnsupportedModelError(
                f"{forest.where}: a node asks whether a number is minus infinity."
            )
        tops = at_most_float32(values) if single else values
        edges = np.unique(np.concatenate([_below(values, single), tops]))
        edges = edges[np.isfinite(edges)]
        room -= len(mine) * (len(edges) + 1)
        if room < 0:
            raise UnsupportedModelError(
                f"{forest.where}: the equalities on column {features[index].name!r} "
                "are too many to be represented."
            )
        feature = features[index]
        assert isinstance(feature, Numeric)
        edged[index] = msgspec.structs.replace(feature, edges=tuple(edges.tolist()))
        for node, members in zip(mine, asked, strict=True):
            holds = np.zeros(len(edges) + 1, dtype=bool)
            ends = at_most_float32(members) if single else members
            holds[np.searchsorted(edges, ends)] = True
            sets[subset[node]] = holds ^ (forest.mode[node] == NEQ)
    return tuple(edged), subset, sets
