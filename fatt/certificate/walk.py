"""Boxes of cells, and the leaves that they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.cells import Axis, Cells, pack
from fatt.certificate.columns import Codes
from fatt.certificate.similar import Reach

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Products of cells, one box per row.

    Attributes
    ----------
    first, last : ndarray of shape (n_boxes, n_axes)
        On a line, the first and the last cell of numbers; crossed if there is none.
    missing : ndarray of shape (n_boxes, n_axes)
        On a line, whether missing belongs to it.
    sets : tuple of ndarrays of bool, each of shape (n_boxes, size)
        The cells of each axis that is no line; without columns for lines.
    words : ndarray of uint64, shape (n_boxes, n_axes, n_words)
        The same as bits.
    """

    first: Integers
    last: Integers
    missing: Flags
    sets: tuple[Flags, ...]
    words: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.first)

    def cells_of(self, box: int, index: int, axis: Axis) -> Integers:
        """Return the cells of one box on one axis."""
        if not axis.is_line:
            return np.flatnonzero(self.sets[index][box])
        cells = np.arange(self.first[box, index], self.last[box, index] + 1)
        return np.append(cells, axis.missing) if self.missing[box, index] else cells


def boxes_of(cells: Cells, reaches: list[Reach]) -> Boxes:
    """Return the cells that people may be in."""
    count, n_axes = len(reaches[0].low), len(cells.axes)
    n_words = cells.split.words.shape[1]
    first = np.ones((count, n_axes), dtype=np.int64)
    last = np.zeros((count, n_axes), dtype=np.int64)
    missing = np.zeros((count, n_axes), dtype=bool)
    words = np.zeros((count, n_axes, n_words), dtype=np.uint64)
    sets = []
    for index, (axis, reach) in enumerate(zip(cells.axes, reaches, strict=True)):
        inside = np.zeros((count, 0), dtype=bool)
        if isinstance(axis.column, Codes):
            inside = np.column_stack([reach.codes, reach.missing])
        else:
            some = reach.low <= reach.high
            low = np.searchsorted(axis.cuts, reach.low, side="left")
            high = np.searchsorted(axis.cuts, reach.high, side="left")
            if axis.is_line:
                first[some, index], last[some, index] = low[some], high[some]
                missing[:, index] = reach.missing
            else:
                rank = np.arange(axis.size)
                inside = (rank >= low[:, np.newaxis]) & (rank <= high[:, np.newaxis])
                inside &= some[:, np.newaxis]
                inside[:, -1] = reach.missing | inside[:, axis.hole].any(axis=1)
                inside[:, axis.hole] = False
        if not axis.is_line:
            words[:, index] = pack(inside, n_words)
        sets.append(inside)
    return Boxes(first, last, missing, tuple(sets), words)


def boxes_at(cells: Cells, values: NDArray[np.float64]) -> Boxes:
    """Return the boxes that hold one point each."""
    reaches = []
    for index, axis in enumerate(cells.axes):
        own, codes = values[:, index], np.zeros((len(values), 0), dtype=bool)
        missing = np.isnan(own)
        if isinstance(axis.column, Codes):
            rank = np.arange(axis.column.n_codes)
            codes = np.where(missing, -1.0, own)[:, np.newaxis] == rank
        low, high = np.where(missing, np.inf, own), np.where(missing, -np.inf, own)
        reaches.append(Reach(low, high, missing, codes))
    return boxes_of(cells, reaches)


def leaves_of(cells: Cells, boxes: Boxes) -> tuple[Integers, Integers]:
    """Return the leaves that boxes reach: pairs of a box and a leaf, sorted.

    Each split is asked by itself: a leaf that is reached at every single split may
    still be out of reach. No leaf that is reached is left out.
    """
    split = cells.split
    n_boxes, n_trees = len(boxes), len(cells.roots)
    box = np.repeat(np.arange(n_boxes), n_trees)
    node = np.tile(cells.roots, n_boxes)
    found = []
    while len(node):
        axis = split.axis[node]
        ends = axis < 0
        found.append(box[ends] * len(cells.node_of_leaf) + cells.leaf[node[ends]])
        box, node, axis = box[~ends], node[~ends], axis[~ends]
        to_left, to_right = _sides(cells, boxes, box, node, axis)
        left = cells.left[node]
        box = np.concatenate([box[to_left], box[to_right]])
        node = np.concatenate([left[to_left], left[to_right] + 1])
    if not found:
        return box, node
    pairs = np.sort(np.concatenate(found))
    owner = pairs // len(cells.node_of_leaf)
    return owner, pairs - owner * len(cells.node_of_leaf)


def _sides(
    cells: Cells, boxes: Boxes, box: Integers, node: Integers, axis: Integers
) -> tuple[Flags, Flags]:
    """Tell which boxes have cells to the left of nodes, and which to the right."""
    split = cells.split
    first, last = boxes.first[box, axis], boxes.last[box, axis]
    missing, missing_left = boxes.missing[box, axis], split.missing_left[node]
    at = split.last[node]
    to_left = (first <= np.minimum(at, last)) | (missing & missing_left)
    to_right = (np.maximum(first, at + 1) <= last) | (missing & ~missing_left)
    by_set = np.flatnonzero(split.row[node] >= 0)
    if len(by_set):
        mine = boxes.words[box[by_set], axis[by_set]]
        mask = split.words[split.row[node[by_set]]]
        to_left[by_set] = (mine & mask).any(axis=1)
        to_right[by_set] = (mine & ~mask).any(axis=1)
    return to_left, to_right
