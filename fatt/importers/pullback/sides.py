"""Which values go left at the splits of a made column, on the raw line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Numeric, Trees
from fatt.importers.pullback.columns import (
    Flags,
    Floats,
    Mapped,
    critical_of,
    cuts_by_piece,
    cuts_of,
    seen_by,
)

Nodes = NDArray[np.int64]

# How many cells of a table of nodes and codes are computed at once.
_BLOCK = 2**21


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
    codes = np.arange(n_codes)
    word = trees.words[trees.nodes["subset"][nodes][:, np.newaxis] + codes // 64]
    return np.asarray(word >> (codes % 64).astype(np.uint64) & 1, dtype=bool)
