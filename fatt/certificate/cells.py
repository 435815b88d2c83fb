"""A model over variables whose values are cells: what the checker walks on.

Between two neighbouring thresholds a model cannot tell numbers apart. Such a cell is
known by its rank; a category by its code; missing is one more cell behind the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.columns import Codes, Column, Numbers, columns_of
from fatt.ensemble import Ensemble, Numeric
from fatt.region import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of one variable.

    Attributes
    ----------
    column
        The variable.
    cuts
        Of numbers, increasing: cell ``i`` is ``(cuts[i - 1], cuts[i]]``.
    size
        Number of cells; the last one is missing.
    hole : ndarray of bool, shape (size,)
        The cells of numbers that the library reads as missing: nobody is in them.
    is_line
        Whether every split is between two neighbouring cells, missing aside.
    """

    column: Column
    cuts: Floats
    size: int
    hole: Flags
    is_line: bool

    @property
    def missing(self) -> int:
        """The cell of missing values."""
        return self.size - 1


class Split(NamedTuple):
    """The splits of all nodes, by node.

    Attributes
    ----------
    axis
        The variable that a node splits; -1 for a leaf.
    last : ndarray
        On a line the last cell that goes left.
    missing_left : ndarray of bool
        Whether missing goes left.
    row : ndarray
        Of the other nodes the row in `words`; -1 on lines.
    words : ndarray of uint64, shape (n_rows, n_words)
        Which cells go left, as bits.
    """

    axis: Integers
    last: Integers
    missing_left: Flags
    row: Integers
    words: NDArray[np.uint64]


class Cells:
    """A model over the variables of a schema.

    Parameters
    ----------
    model
        The model.
    schema
        The variables behind its columns.

    Attributes
    ----------
    axes
        The variables.
    split
        The splits of all nodes.
    left : ndarray
        The left child of each node; the right one stands next to it. -1 for leaves.
    parent : ndarray
        The node above each node.
    roots, leaf, tree : ndarray
        The root of each tree, the leaf number and the tree of each node.
    """

    def __init__(self, model: Ensemble, schema: Schema) -> None:
        self.model = model
        columns = columns_of(model, schema)
        self.axes = tuple(_axis(model, column) for column in columns)
        nodes = model.trees.nodes
        self.left = nodes["left"].astype(np.int64)
        self.leaf = nodes["leaf"].astype(np.int64)
        self.roots = model.trees.roots
        sizes = np.diff(np.append(self.roots, len(nodes)))
        self.tree = np.repeat(np.arange(len(self.roots)), sizes)
        self.parent = np.full(len(nodes), -1, dtype=np.int64)
        inner = np.flatnonzero(self.left >= 0)
        self.parent[self.left[inner]] = inner
        self.parent[nodes["right"][inner]] = inner
        self.node_of_leaf = np.flatnonzero(self.left < 0)
        self.split = self._splits()

    def _splits(self) -> Split:
        nodes = self.model.trees.nodes
        owner = np.full(len(self.model.features) + 1, -1, dtype=np.int64)
        for index, axis in enumerate(self.axes):
            owner[list(axis.column.columns)] = index
        axis_of = owner[nodes["feature"]]
        last = np.full(len(nodes), -1, dtype=np.int64)
        row = np.full(len(nodes), -1, dtype=np.int64)
        parts: list[NDArray[np.uint64]] = []
        n_words = max([1, *(_n_words(a.size) for a in self.axes if not a.is_line)])
        count = 0
        for index, axis in enumerate(self.axes):
            mine = np.flatnonzero(axis_of == index)
            if axis.is_line:
                assert isinstance(axis.column, Numbers)
                at = nodes["threshold"][mine]
                at = np.floor(at) if axis.column.integer else at
                last[mine] = np.searchsorted(axis.cuts, at, side="left")
            else:
                parts.append(pack(self._goes_left(mine, axis), n_words))
                row[mine] = count + np.arange(len(mine))
                count += len(mine)
        words = np.concatenate([np.zeros((0, n_words), dtype=np.uint64), *parts])
        return Split(axis_of, last, nodes["missing_left"] == 1, row, words)

    def _goes_left(self, mine: Integers, axis: Axis) -> Flags:
        """Tell which cells of a variable each of its nodes sends left."""
        nodes, column = self.model.trees.nodes[mine], axis.column
        left = np.zeros((len(mine), axis.size), dtype=bool)
        left[:, -1] = nodes["missing_left"] == 1
        for place, feature in enumerate(column.columns):
            here = np.flatnonzero(nodes["feature"] == feature)
            if isinstance(column, Numbers):
                # The largest number of a cell stands for all of them.
                numbers = np.append(axis.cuts, np.inf)
            elif column.numbers is not None:
                numbers = column.numbers[:, place]
            else:
                codes = np.arange(axis.size - 1)
                left[here, :-1] = self._in_set(nodes["subset"][here], codes)
                continue
            left[here, :-1] = self._numbers_left(nodes[here], feature, numbers)
        return left

    def _numbers_left(self, nodes: Any, feature: int, numbers: Floats) -> Flags:
        """Tell which numbers each of some nodes sends left."""
        numeric = self.model.features[feature]
        assert isinstance(numeric, Numeric)
        left = numbers <= nodes["threshold"][:, np.newaxis]
        by_set = nodes["subset"] >= 0
        edges = np.array(numeric.edges, dtype=np.float64)
        cells = np.searchsorted(edges, numbers, side="left")
        left[by_set] = self._in_set(nodes["subset"][by_set], cells)
        absent = np.isnan(numbers)
        if numeric.missing_range is not None:
            low, high = numeric.missing_range
            absent |= (numbers >= low) & (numbers <= high)
        to_left = nodes["missing_left"][:, np.newaxis] == 1
        return np.asarray(np.where(absent, to_left, left))

    def _in_set(self, first: Integers, codes: Integers) -> Flags:
        """Tell which codes are in the sets that start at certain words."""
        word = self.model.trees.words[first[:, np.newaxis] + codes // 64]
        return bits_of(word, codes)

    def sends_left(self, nodes: Integers, cells: Integers) -> Flags:
        """Tell which cells some nodes of one variable send left.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_cells)
        """
        split = self.split
        axis = self.axes[split.axis[nodes[0]]]
        if not axis.is_line:
            words = split.words[split.row[nodes]][:, cells // 64]
            return bits_of(words, cells)
        left = cells <= split.last[nodes, np.newaxis]
        is_missing = cells == axis.missing
        return np.where(is_missing, split.missing_left[nodes, np.newaxis], left)

    def to_columns(self, values: Floats) -> Floats:
        """Return what the model's columns hold for people with these values."""
        rows = np.empty((len(values), len(self.model.features)))
        for index, axis in enumerate(self.axes):
            column, mine = axis.column, values[:, index]
            if isinstance(column, Numbers) or column.numbers is None:
                rows[:, column.columns[0]] = mine
                continue
            absent = np.isnan(mine)
            cells = column.numbers[np.where(absent, 0, mine).astype(np.int64)]
            cells[absent] = np.nan
            rows[:, list(column.columns)] = cells
        return rows


def _axis(model: Ensemble, column: Column) -> Axis:
    if isinstance(column, Codes):
        size = column.n_codes + 1
        return Axis(column, np.zeros(0), size, np.zeros(size, dtype=bool), False)
    nodes = model.trees.nodes
    mine = (nodes["feature"] == column.columns[0]) & (nodes["subset"] < 0)
    cuts = np.append(nodes["threshold"][mine], column.edges)
    low, high = column.gap
    if low <= high:
        cuts = np.append(cuts, [np.nextafter(low, -np.inf), high])
    # Whole numbers are parted where their floors are; no cell is without any.
    cuts = np.unique(np.floor(cuts) if column.integer else cuts)
    size = len(cuts) + 2
    hole = np.zeros(size, dtype=bool)
    if low <= high:
        hole[:-1] = column.reads_missing(np.append(cuts, np.inf))
    is_line = not column.edges and not low <= high
    return Axis(column, cuts, size, hole, is_line)


def _n_words(size: int) -> int:
    return -(-size // 64)


def bits_of(words: NDArray[np.uint64], places: Integers) -> Flags:
    """Tell which bits are set, given the words in which they are."""
    return np.asarray((words >> (places % 64).astype(np.uint64)) & np.uint64(1) == 1)


def pack(flags: Flags, n_words: int) -> NDArray[np.uint64]:
    """Return flags, one row each, as the bits of words."""
    padded = np.zeros((len(flags), 64 * n_words), dtype=bool)
    padded[:, : flags.shape[1]] = flags
    packed = np.packbits(padded, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64)
