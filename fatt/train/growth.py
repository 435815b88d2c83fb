"""Greedy growth: of one leaf, and of a tree that avoids tearing people's boxes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.train.fitness import Limits, Objective
from fatt.train.genome import Genome, join, leaf, leaf_spans, replace
from fatt.train.training_set import UNITS

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

_NOBODY = np.zeros(0, dtype=np.int64)


class Best(NamedTuple):
    """The best split of a leaf: its number, -1 if none is useful, and what it gains."""

    split: int
    gain: float


def best_split(
    objective: Objective,
    people: Integers,
    boxes: Integers,
    *,
    chosen: Integers | None = None,
    caution: float = 0.0,
) -> Best:
    """Return the split that makes a leaf purest.

    Parameters
    ----------
    objective
        What makes a tree better.
    people, boxes
        Who reaches the leaf.
    chosen
        The splits to choose from; all by default.
    caution
        What it costs to tear the boxes of all people.
    """
    if not objective.people.n_splits:
        return Best(-1, 0.0)
    tally = objective.people.tally(people, boxes, objective.worth)
    inside = tally.inside.T / UNITS
    whole = objective.worth[people].sum(axis=0) / UNITS
    gain = impurity(whole) - impurity(inside) - impurity(whole - inside)
    gain -= caution * tally.torn / UNITS
    least = objective.limits.min_leaf
    gain[(tally.n_inside < least) | (len(people) - tally.n_inside < least)] = -np.inf
    if chosen is None:
        best = int(np.argmax(gain))
    else:
        best = int(chosen[np.argmax(gain[chosen])])
    # Below this, all that is left are errors of rounding.
    return Best(best, float(gain[best])) if gain[best] > 1e-12 else Best(-1, 0.0)


def impurity(worth: Matrix) -> Matrix:
    """Return how mixed the classes are, by Gini's measure times the whole."""
    whole = worth.sum(axis=-1)
    squares = (worth * worth).sum(axis=-1)
    mixed: Matrix = whole - np.divide(
        squares, whole, out=np.zeros_like(whole), where=whole > 0
    )
    return mixed


@dataclass(order=True)
class _Leaf:
    """A leaf of a tree that grows; the most useful one comes first."""

    rank: tuple[float, int]
    split: int = field(compare=False)
    people: Integers = field(compare=False)
    boxes: Integers = field(compare=False)
    depth: int = field(compare=False)
    node: int = field(compare=False)


def grow(
    objective: Objective,
    limits: Limits,
    *,
    chosen: Integers | None = None,
    caution: float = 0.0,
    start: Integers | None = None,
) -> Genome:
    """Grow a tree leaf by leaf, always where most is gained.

    Parameters
    ----------
    objective
        What makes a tree better.
    limits
        How large the tree may become.
    chosen
        The splits to choose from; all by default.
    caution
        What it costs to tear the boxes of all people.
    start
        The people to grow the tree for; all by default.
    """
    ranks, worth = objective.people.ranks, objective.worth
    # For each node its split and children, or its label.
    nodes: list[tuple[int, int, int]] = []
    waiting: list[_Leaf] = []

    def add(people: Integers, boxes: Integers, depth: int) -> int:
        label = int(np.argmax(worth[people].sum(axis=0)))
        nodes.append((-1 - label, -1, -1))
        if depth < limits.max_depth:
            split, gain = best_split(
                objective, people, boxes, chosen=chosen, caution=caution
            )
            if split >= 0:
                rank = (-gain, len(nodes))
                place = len(nodes) - 1
                heapq.heappush(waiting, _Leaf(rank, split, people, boxes, depth, place))
        return len(nodes) - 1

    everybody = np.arange(objective.people.n_people)
    everywhere = np.arange(ranks.low.shape[1]) if caution else _NOBODY
    add(everybody if start is None else start, everywhere, 0)
    leaves = 1
    while waiting and leaves < limits.max_leaves:
        one = heapq.heappop(waiting)
        left = ranks.goes_left(one.split, one.people)
        can_left, can_right = ranks.reaches(one.split, one.boxes)
        nodes[one.node] = (
            one.split,
            add(one.people[left], one.boxes[can_left], one.depth + 1),
            add(one.people[~left], one.boxes[can_right], one.depth + 1),
        )
        leaves += 1

    def genome(node: int) -> Genome:
        code, low, high = nodes[node]
        return leaf(-1 - code) if code < 0 else join(code, genome(low), genome(high))

    return genome(0)


def grow_leaf(
    objective: Objective, tree: Genome, place: int, rng: Generator, *, share: float
) -> Genome:
    """Return the tree with one of its leaves split, as purely as a few splits allow.

    Parameters
    ----------
    objective
        What makes a tree better.
    tree
        The tree.
    place
        The leaf.
    rng
        Chooses the splits to try.
    share
        The share of all splits that is tried.
    """
    n_splits = objective.people.n_splits
    if not n_splits:
        return tree
    count = min(n_splits, max(1, round(share * n_splits)))
    chosen = rng.choice(n_splits, size=count, replace=False)
    first, _ = leaf_spans(tree)
    people = np.flatnonzero(objective.people.leaf_of(tree) == first[place])
    split, _ = best_split(objective, people, _NOBODY, chosen=chosen)
    if split < 0:
        return tree
    left = objective.people.ranks.goes_left(split, people)
    low, high = (
        int(np.argmax(objective.worth[side].sum(axis=0)))
        for side in (people[left], people[~left])
    )
    return replace(tree, place, join(split, leaf(low), leaf(high)))


def prune_branch(objective: Objective, tree: Genome, place: int) -> Genome:
    """Return the tree with one of its splits replaced by a leaf."""
    worth = objective.worth_at(tree)[place]
    return replace(tree, place, leaf(int(np.argmax(worth))))
