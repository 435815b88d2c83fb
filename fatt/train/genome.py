"""Trees as arrays of integers in prefix order, and cutting and pasting them.

A split is its number among all splits, followed by its left and its right subtree; a
leaf with class ``c`` is ``-1 - c``. A subtree is thus a slice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Genome = NDArray[np.int32]


def leaf(label: int) -> Genome:
    """Return the tree that gives every person the same label."""
    return np.array([-1 - label], dtype=np.int32)


def join(split: int, left: Genome, right: Genome) -> Genome:
    """Return the tree of a split and two subtrees."""
    return np.concatenate([np.array([split], dtype=np.int32), left, right])


def n_leaves(tree: Genome) -> int:
    """Return the number of leaves."""
    return (len(tree) + 1) // 2


class Outline(NamedTuple):
    """The shape of a tree, as lists, which single nodes are looked up in.

    Attributes
    ----------
    codes
        The nodes.
    end
        Where the subtree of each node ends.
    depth
        The depth of each node; the root has depth 0.
    """

    codes: list[int]
    end: list[int]
    depth: list[int]


def outline(tree: Genome) -> Outline:
    """Return the shape of a tree."""
    codes = tree.tolist()
    end, depth = _ends(codes), [0] * len(codes)
    for place, code in enumerate(codes):
        if code >= 0:
            depth[place + 1] = depth[end[place + 1]] = depth[place] + 1
    return Outline(codes, end, depth)


def ends(tree: Genome) -> NDArray[np.int64]:
    """Return for each node where its subtree ends."""
    return np.array(_ends(tree.tolist()), dtype=np.int64)


def _ends(codes: list[int]) -> list[int]:
    end = list(range(1, len(codes) + 1))
    for place in range(len(codes) - 1, -1, -1):
        if codes[place] >= 0:
            end[place] = end[end[place + 1]]
    return end


def depth_of(tree: Genome) -> int:
    """Return the depth of a tree; a single leaf has depth 0."""
    return max(outline(tree).depth)


def leaf_spans(tree: Genome) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first leaf below each node, and the one behind the last."""
    before = np.concatenate([[0], np.cumsum(tree < 0)])
    return before[:-1], before[ends(tree)]


def sums_below(tree: Genome, at_leaves: NDArray[Any]) -> NDArray[Any]:
    """Return for each node the sum of what its leaves have, one row per leaf."""
    first, last = leaf_spans(tree)
    up_to = np.zeros((len(at_leaves) + 1, *at_leaves.shape[1:]), at_leaves.dtype)
    np.cumsum(at_leaves, axis=0, out=up_to[1:])
    return np.asarray(up_to[last] - up_to[first])


def is_constant(tree: Genome) -> bool:
    """Tell whether all leaves have the same label."""
    labels = tree[tree < 0]
    return bool((labels == labels[0]).all())


def replace(tree: Genome, place: int, by: Genome) -> Genome:
    """Return the tree with another subtree in the place of one."""
    return np.concatenate([tree[:place], by, tree[ends(tree)[place] :]])


def cross(first: Genome, at: int, second: Genome, other: int) -> Genome:
    """Return the first tree with a subtree replaced by one of the second.

    Parameters
    ----------
    first, at
        The tree, and the root of the subtree that gives way.
    second, other
        Another tree, and the root of the subtree that takes its place.
    """
    return replace(first, at, second[other : ends(second)[other]])


def tidy(tree: Genome, count: NDArray[np.int64], least: int, *, merge: bool) -> Genome:
    """Return the tree without splits that few people need.

    Parameters
    ----------
    tree
        The tree.
    count
        How many people reach each node.
    least
        How many must reach a leaf; below that, its sibling takes its people.
    merge
        Whether two leaves of a split with the same label become one.
    """
    finished: list[list[int]] = []
    place_of: list[int] = []
    numbers = tree.tolist()
    for place in range(len(numbers) - 1, -1, -1):
        code = numbers[place]
        if code < 0:
            finished.append([code])
            place_of.append(place)
            continue
        left, at_left = finished.pop(), place_of.pop()
        right, at_right = finished.pop(), place_of.pop()
        if count[at_left] < least:
            finished.append(right)
        elif count[at_right] < least or (merge and left == right):
            finished.append(left)
        else:
            finished.append([code, *left, *right])
        place_of.append(place)
    return np.array(finished[0], dtype=np.int32)
