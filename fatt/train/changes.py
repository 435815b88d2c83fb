"""Changes to a tree, and what they leave as it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.train.bits import Words
from fatt.train.genome import Genome, ends


class Change(NamedTuple):
    """A change to a tree.

    Attributes
    ----------
    place
        The root of the subtree that gives way.
    part
        What takes its place.
    """

    place: int
    part: Genome


class Surroundings(NamedTuple):
    """What a tree does around each of its nodes, however the subtree there may change.

    Attributes
    ----------
    people, boxes
        Who reaches each node, as sets.
    before, behind
        The number of leaves before each node, and before the end of its subtree.
    worth
        What the label of each leaf is worth there.
    reached_before, reached_behind : ndarray of shape (n_leaves + 1, n_classes, n_words)
        The boxes that reach each class before a leaf, and from that leaf on.
    """

    people: Words
    boxes: Words
    before: NDArray[np.int64]
    behind: NDArray[np.int64]
    worth: NDArray[np.float64]
    reached_before: Words
    reached_behind: Words


def surroundings(
    tree: Genome, people: Words, boxes: Words, worth: NDArray[np.float64]
) -> Surroundings:
    """Tell what a tree does around each of its nodes.

    Parameters
    ----------
    tree
        The tree.
    people, boxes
        Who reaches each node.
    worth : ndarray of shape (n_leaves, n_classes)
        What each class is worth at each leaf.
    """
    is_leaf = tree < 0
    n_leaves, n_classes = worth.shape
    leaves, labels = np.arange(n_leaves), -1 - tree[is_leaf]
    before = np.cumsum(is_leaf, dtype=np.int64) - is_leaf
    alone = np.zeros((n_leaves, n_classes, boxes.shape[1]), dtype=np.uint64)
    alone[leaves, labels] = boxes[is_leaf]
    nowhere = np.zeros_like(alone[:1])
    forwards = np.bitwise_or.accumulate(alone, axis=0)
    backwards = np.bitwise_or.accumulate(alone[::-1], axis=0)
    return Surroundings(
        people,
        boxes,
        before,
        np.append(before, n_leaves)[ends(tree)],
        worth[leaves, labels],
        np.concatenate([nowhere, forwards]),
        np.concatenate([backwards[::-1], nowhere]),
    )
