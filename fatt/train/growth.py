"""Greedy growth of one tree, which may avoid splits that tear people's boxes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.train.bits import Target, Words
from fatt.train.genome import Genome, join, leaf
from fatt.train.problem import Problem

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """How large a tree may become.

    Attributes
    ----------
    max_leaves, max_depth
        Largest number of leaves and depth.
    min_leaf
        Smallest number of training people at a leaf.
    """

    max_leaves: int
    max_depth: int
    min_leaf: int


@dataclass
class _Node:
    """A node of the tree that grows; a leaf as long as it has no split."""

    label: int
    depth: int
    people: Words
    boxes: Words
    best: int = -1
    split: int = -1
    left: _Node | None = None
    right: _Node | None = None

    def genome(self) -> Genome:
        """Return the subtree in prefix order."""
        if self.left is None or self.right is None:
            return leaf(self.label)
        return join(self.split, self.left.genome(), self.right.genome())


def impurity(worth: Matrix) -> Matrix:
    """Return how mixed the classes are, by Gini's measure times the whole."""
    whole = worth.sum(axis=-1)
    squares = (worth * worth).sum(axis=-1)
    mixed: Matrix = whole - np.divide(
        squares, whole, out=np.zeros_like(whole), where=whole > 0
    )
    return mixed


def best_splits(
    problem: Problem,
    target: Target,
    people: Words,
    boxes: Words,
    *,
    chosen: NDArray[np.int64],
    min_leaf: int,
    caution: float = 0.0,
) -> tuple[NDArray[np.int64], Matrix]:
    """Return the split that makes each leaf purest, and how much it gains.

    Parameters
    ----------
    problem
        The training people.
    target
        What labels are worth.
    people, boxes
        Who reaches each leaf.
    chosen : ndarray of shape (n_leaves, n_splits)
        The splits to choose from at each leaf.
    min_leaf
        Smallest number of people on each side.
    caution
        What it costs to tear the boxes of all people.

    Returns
    -------
    split
        The number of the split at each leaf; -1 if none gains anything.
    gain
        What it gains; 0 if there is none.
    """
    if not chosen.size:
        return np.full(len(chosen), -1), np.zeros(len(chosen))
    whole = problem.value(people, target)[:, np.newaxis]
    count = problem.count(people)[:, np.newaxis]
    tried = problem.try_splits(chosen, people, boxes, target)
    after = impurity(tried.worth) + impurity(whole - tried.worth)
    gain = impurity(whole) - after - caution * tried.torn
    gain[(tried.n_left < min_leaf) | (count - tried.n_left < min_leaf)] = -np.inf
    best = np.argmax(gain, axis=1)
    rows = np.arange(len(chosen))
    # Below this, all that is left are errors of rounding.
    useful = gain[rows, best] > 1e-12
    return (
        np.where(useful, chosen[rows, best], -1),
        np.where(useful, gain[rows, best], 0.0),
    )


def grow(
    problem: Problem,
    target: Target,
    limits: Limits,
    *,
    chosen: NDArray[np.int64],
    caution: float = 0.0,
    start: Words | None = None,
) -> Iterator[Genome]:
    """Grow a tree leaf by leaf, always where most is gained; yield it at every size.

    Parameters
    ----------
    problem
        The training people.
    target
        What labels are worth.
    limits
        How large the tree may become.
    chosen
        The splits to choose from.
    caution
        What it costs to tear the boxes of all people.
    start
        The people to grow the tree for; all by default.
    """
    root = problem.reach(leaf(0))
    people = root.people[0] if start is None else start
    top = _node(problem, target, people, root.boxes[0], 0)
    waiting: list[tuple[float, int, _Node]] = []
    n_leaves = 1

    def enqueue(node: _Node) -> None:
        if node.depth >= limits.max_depth:
            return
        best, gain = best_splits(
            problem,
            target,
            node.people[np.newaxis],
            node.boxes[np.newaxis],
            chosen=chosen[np.newaxis],
            min_leaf=limits.min_leaf,
            caution=caution,
        )
        node.best = int(best[0])
        if node.best >= 0:
            rank = n_leaves * 2 + len(waiting)
            heapq.heappush(waiting, (-float(gain[0]), rank, node))

    enqueue(top)
    yield top.genome()
    while waiting and n_leaves < limits.max_leaves:
        _, _, node = heapq.heappop(waiting)
        split = node.split = node.best
        own = problem.own_left[split]
        node.left = _node(
            problem,
            target,
            node.people & own,
            node.boxes & problem.can_left[split],
            node.depth + 1,
        )
        node.right = _node(
            problem,
            target,
            node.people & ~own,
            node.boxes & problem.can_right[split],
            node.depth + 1,
        )
        n_leaves += 1
        enqueue(node.left)
        enqueue(node.right)
        yield top.genome()


def _node(
    problem: Problem, target: Target, people: Words, boxes: Words, depth: int
) -> _Node:
    worth = problem.value(people[np.newaxis], target)[0]
    return _Node(int(np.argmax(worth)), depth, people, boxes)
