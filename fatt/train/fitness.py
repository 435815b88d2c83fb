"""What makes one tree better than another, and the trees that no other beats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fatt.train.genome import (
    Genome,
    depth_of,
    is_constant,
    n_leaves,
    sums_below,
    tidy,
)
from fatt.train.groups import Groups
from fatt.train.training_set import UNITS, Traced, TrainingSet

Integers = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False)
class Scored:
    """A tree with what it is worth on the training people.

    Attributes
    ----------
    tree
        The tree.
    accuracy, fairness
        What its labels are worth, and the share of people treated fairly.
    gap
        How far the rates of groups lie apart; 0 if there are none.
    fitness
        The weighted sum of both, minus what its leaves and the gap cost.
    """

    tree: Genome
    accuracy: float
    fairness: float
    gap: float
    fitness: float

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return n_leaves(self.tree)


@dataclass(frozen=True, eq=False)
class Objective:
    """A weighted sum of accuracy and fairness, minus what leaves and gaps cost.

    Attributes
    ----------
    people
        The training people.
    worth : ndarray of shape (n_people, n_classes)
        What each label is worth to each person, in units.
    fairness_weight
        Weight of fairness; the rest is the weight of accuracy.
    leaf_cost
        How many people more each leaf must get right.
    limits
        How large a tree may be.
    groups
        The groups whose rates are compared, if any.
    gap_price
        How much accuracy the gap between groups costs, if one of them always gets what
        another never gets.
    slope : ndarray of shape (n_people,)
        By how much the gap grows with the positive label of each person.
    """

    people: TrainingSet
    worth: Integers
    fairness_weight: float
    leaf_cost: float
    limits: Limits
    groups: Groups | None = None
    gap_price: float = 0.0
    slope: NDArray[np.float64] | None = None

    @cached_property
    def priced(self) -> Integers:
        """What labels are worth, in units of fitness."""
        rest = 1 - self.fairness_weight
        priced = np.rint(rest * self.worth).astype(np.int64)
        if self.slope is not None:
            assert self.groups is not None
            shift = rest * self.gap_price * self.slope * UNITS
            priced[:, self.groups.positive] -= np.rint(shift).astype(np.int64)
        return np.asarray(priced)

    @cached_property
    def cost(self) -> Integers:
        """What it costs to be unfair to each person, in units of fitness."""
        cost = np.rint(self.fairness_weight * self.people.weight)
        return np.asarray(cost, dtype=np.int64)

    @property
    def per_leaf(self) -> int:
        """What a leaf costs, in units of fitness."""
        rest = 1 - self.fairness_weight
        return round(rest * self.leaf_cost * UNITS / self.people.n_people)

    @property
    def is_one_sided(self) -> bool:
        """Whether all classes but one together count less than one person should."""
        by_class = self.worth.sum(axis=0)
        rest = by_class.sum() - by_class.max()
        return bool(rest < by_class.sum() / self.people.n_people)

    def weighted(self, fairness_weight: float) -> Objective:
        """Return the same with another weight of fairness."""
        return replace(self, fairness_weight=fairness_weight)

    def of_people(self, chosen: Integers) -> Objective:
        """Return the same for a sample of the people."""
        share = len(chosen) / self.people.n_people
        worth = self.worth[chosen]
        scale = self.worth.sum() / worth.sum()
        least = max(1, round(share * self.limits.min_leaf))
        return replace(
            self,
            people=self.people.of_people(chosen),
            worth=np.rint(scale * worth).astype(np.int64),
            leaf_cost=share * self.leaf_cost,
            limits=replace(self.limits, min_leaf=least),
            groups=None if self.groups is None else self.groups.of_people(chosen),
        )

    def labels(self, tree: Genome) -> Integers:
        """Return the label that a tree gives to each person."""
        return np.asarray((-1 - tree[tree < 0])[self.people.leaf_of(tree)])

    def score(self, tree: Genome) -> Scored:
        """Tell what a tree is worth."""
        return self.scored(self.people.trace(tree))

    def scored(self, traced: Traced) -> Scored:
        """Tell what a traced tree is worth."""
        tree = traced.tree
        labels = (-1 - tree[tree < 0].astype(np.int64))[traced.leaf]
        right = int(self.worth[np.arange(len(labels)), labels].sum())
        unfair = int(self.people.weight[traced.unfair].sum())
        gap = 0.0 if self.groups is None else self.groups.spread(labels).gap
        return self.valued(Scored(tree, right / UNITS, 1 - unfair / UNITS, gap, 0.0))

    def valued(self, scored: Scored) -> Scored:
        """Return a tree that was scored with the same people, by this objective."""
        weight = self.fairness_weight
        gain = scored.accuracy - scored.n_leaves * self.leaf_cost / self.people.n_people
        gain -= self.gap_price * scored.gap
        fitness = (1 - weight) * gain + weight * scored.fairness
        return replace(scored, fitness=fitness)

    def score_changes(
        self, traced: Traced, place: int, pairs: Integers
    ) -> tuple[Integers, Integers]:
        """Tell what a tree is worth after every change at one node, leaves apart.

        Parameters
        ----------
        traced
            The tree.
        place
            The node.
        pairs : ndarray of shape (n_pairs, 2)
            What stands inside and outside of a new split; see `changes.score_changes`.

        Returns
        -------
        alone : ndarray of shape (n_parts,)
            What it is worth with each part alone at the node, in units.
        scores : ndarray of shape (n_pairs, n_splits)
            What it is worth with each split and pair.
        """
        return self.people.score_changes(
            *(traced, place, pairs),
            worth=self.priced,
            cost=self.cost,
            min_leaf=self.limits.min_leaf,
        )

    def relabelled(self, tree: Genome) -> Genome:
        """Return a tree whose leaves have the class that is worth most there.

        Among equally good classes a leaf keeps its own, else it gets the first.
        """
        labels = -1 - tree[tree < 0]
        worth = self.worth_at(tree)[tree < 0]
        best = np.argmax(worth, axis=1)
        leaves = np.arange(len(labels))
        is_better = worth[leaves, best] > worth[leaves, labels]
        other = tree.copy()
        other[tree < 0] = -1 - np.where(is_better, best, labels)
        return other

    def worth_at(self, tree: Genome) -> Integers:
        """Return what each class is worth at each node of a tree, in units."""
        leaf_of, count = self.people.leaf_of(tree), n_leaves(tree)
        # Whole numbers below 2**53, which floats hold exactly.
        at_leaves = [np.bincount(leaf_of, mine, count) for mine in self.worth.T]
        return sums_below(tree, np.stack(at_leaves, axis=1).astype(np.int64))

    def tidied(self, tree: Genome, *, merge: bool = True) -> Genome:
        """Return a tree without splits that few people or, if asked, no labels need."""
        if len(tree) == 1:
            return tree
        return tidy(tree, self.people.count(tree), self.limits.min_leaf, merge=merge)

    def allows(self, tree: Genome) -> bool:
        """Tell whether a tree is small enough."""
        return (
            n_leaves(tree) <= self.limits.max_leaves
            and depth_of(tree) <= self.limits.max_depth
        )


class Archive:
    """Keeps the trees that no other beats in accuracy, fairness, size and gap."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Scored] = {}

    def __iter__(self) -> Iterator[Scored]:
        return iter(self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, trees: Iterable[Scored]) -> None:
        """Take in trees, and drop whatever is beaten now."""
        for scored in trees:
            if not is_constant(scored.tree):
                self._kept.setdefault(scored.tree.tobytes(), scored)
        kept = list(self._kept.values())
        worth = np.array([[s.accuracy, s.fairness, -s.n_leaves, -s.gap] for s in kept])
        self._kept = {
            kept[i].tree.tobytes(): kept[i] for i in _unbeaten(worth.reshape(-1, 4))
        }


def _unbeaten(worth: np.ndarray) -> Iterator[int]:
    """Yield the rows that no other row beats, of equal ones the first."""
    for row, mine in enumerate(worth):
        at_least = (worth >= mine).all(axis=1)
        better = at_least & (worth > mine).any(axis=1)
        same = at_least[:row] & (worth[:row] == mine).all(axis=1)
        if not better.any() and not same.any():
            yield row
