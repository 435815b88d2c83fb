"""Greedy growth of trees that avoid tearing people's boxes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.train.fitness import Limits, Objective
from fatt.train.genome import Genome, join, leaf
from fatt.train.training_set import UNITS, Tally

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]


class Best(NamedTuple):
    """The best split of a leaf: its number, -1 if none is useful, and what it gains."""

    split: int
    gain: float


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf to grow from, with all that growths from there have found out.

    Attributes
    ----------
    objective
        What makes a tree better.
    people, boxes
        Those that reach the leaf.
    worth : ndarray of shape (n_classes,)
        What each class is worth there.
    """

    objective: Objective
    people: Integers
    boxes: Integers
    worth: Integers
    _sides: dict[int, tuple[Leaf, Leaf]] = field(default_factory=dict)

    @classmethod
    def of(cls, objective: Objective, people: Integers, boxes: Integers) -> Leaf:
        """Return the leaf that these reach."""
        return cls(objective, people, boxes, objective.worth[people].sum(axis=0))

    @classmethod
    def of_all(cls, objective: Objective) -> Leaf:
        """Return the leaf that all people reach."""
        ranks = objective.people.ranks
        everywhere = np.arange(ranks.low.shape[1])
        return cls.of(objective, np.arange(objective.people.n_people), everywhere)

    @cached_property
    def label(self) -> int:
        """The class that is worth most there."""
        return int(np.argmax(self.worth))

    @cached_property
    def _tally(self) -> Tally:
        """What each split would do."""
        objective = self.objective
        return objective.people.tally(self.people, self.boxes, objective.worth)

    @cached_property
    def _effects(self) -> tuple[Matrix, Matrix]:
        """How much purer each split makes it, and how many boxes that tears."""
        tally = self._tally
        inside, whole = tally.inside.T / UNITS, self.worth / UNITS
        gain = impurity(whole) - impurity(inside) - impurity(whole - inside)
        others = len(self.people) - tally.n_inside
        least = self.objective.limits.min_leaf
        gain[np.minimum(tally.n_inside, others) < least] = -np.inf
        return gain, tally.torn / UNITS

    def best_split(
        self, *, chosen: Integers | None = None, caution: float = 0.0
    ) -> Best:
        """Return the split that makes the leaf purest.

        Parameters
        ----------
        chosen
            The splits to choose from; all by default.
        caution
            What it costs to tear the boxes of all people.
        """
        if not self.objective.people.n_splits:
            return Best(-1, 0.0)
        purer, torn = self._effects
        gain = purer - caution * torn
        if chosen is None:
            best = int(np.argmax(gain))
        else:
            best = int(chosen[np.argmax(gain[chosen])])
        # Below this, all that is left are errors of rounding.
        return Best(best, float(gain[best])) if gain[best] > 1e-12 else Best(-1, 0.0)

    def sides(self, split: int) -> tuple[Leaf, Leaf]:
        """Return the leaves to the left and to the right of a split."""
        if split not in self._sides:
            objective, ranks = self.objective, self.objective.people.ranks
            goes_left = ranks.goes_left(split, self.people)
            can_left, can_right = ranks.reaches(split, self.boxes)
            left = right = self._tally.inside[:, split]
            if ranks.flipped[split]:
                left = self.worth - right
            else:
                right = self.worth - left
            self._sides[split] = (
                Leaf(objective, self.people[goes_left], self.boxes[can_left], left),
                Leaf(objective, self.people[~goes_left], self.boxes[can_right], right),
            )
        return self._sides[split]


def impurity(worth: Matrix) -> Matrix:
    """Return how mixed the classes are, by Gini's measure times the whole."""
    whole = worth.sum(axis=-1)
    squares = (worth * worth).sum(axis=-1)
    mixed: Matrix = whole - np.divide(
        squares, whole, out=np.zeros_like(whole), where=whole > 0
    )
    return mixed


@dataclass(order=True)
class _Open:
    """A leaf of a tree that grows; the most useful one comes first."""

    rank: tuple[float, int]
    split: int = field(compare=False)
    leaf: Leaf = field(compare=False)
    depth: int = field(compare=False)
    node: int = field(compare=False)


def grow(
    root: Leaf,
    limits: Limits,
    *,
    chosen: Integers | None = None,
    caution: float = 0.0,
) -> Genome:
    """Grow a tree leaf by leaf, always where most is gained.

    Parameters
    ----------
    root
        Where it begins.
    limits
        How large the tree may become.
    chosen
        The splits to choose from; all by default.
    caution
        What it costs to tear the boxes of all people.
    """
    # For each node its split and children, or its label.
    nodes: list[tuple[int, int, int]] = []
    waiting: list[_Open] = []

    def add(one: Leaf, depth: int) -> int:
        nodes.append((-1 - one.label, -1, -1))
        if depth < limits.max_depth:
            split, gain = one.best_split(chosen=chosen, caution=caution)
            if split >= 0:
                rank, node = (-gain, len(nodes)), len(nodes) - 1
                heapq.heappush(waiting, _Open(rank, split, one, depth, node))
        return len(nodes) - 1

    add(root, 0)
    leaves = 1
    while waiting and leaves < limits.max_leaves:
        one = heapq.heappop(waiting)
        left, right = one.leaf.sides(one.split)
        nodes[one.node] = (
            one.split,
            add(left, one.depth + 1),
            add(right, one.depth + 1),
        )
        leaves += 1

    def genome(node: int) -> Genome:
        code, low, high = nodes[node]
        return leaf(-1 - code) if code < 0 else join(code, genome(low), genome(high))

    return genome(0)
