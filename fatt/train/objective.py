"""What makes one tree better than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.train.bits import Target
from fatt.train.changes import Change
from fatt.train.genome import Genome, depth_of, n_leaves, tidy
from fatt.train.growth import Limits
from fatt.train.problem import Judged, Problem


@dataclass(frozen=True, eq=False)
class Scored:
    """A tree with what it is worth on the training people.

    Attributes
    ----------
    tree
        The tree.
    accuracy, fairness
        What its labels are worth, and the share of people whom it treats fairly.
    fitness
        The weighted sum of both, minus what its leaves cost.
    """

    tree: Genome
    accuracy: float
    fairness: float
    fitness: float

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return n_leaves(self.tree)


@dataclass(frozen=True, eq=False)
class Objective:
    """A weighted sum of accuracy and fairness, minus what leaves cost.

    Attributes
    ----------
    problem
        The training people.
    target
        What labels are worth.
    fairness_weight
        Weight of fairness; the rest is the weight of accuracy.
    leaf_cost
        What each leaf costs.
    limits
        How large a tree may be.
    """

    problem: Problem
    target: Target
    fairness_weight: float
    leaf_cost: float
    limits: Limits

    def score(self, trees: Sequence[Genome], *, relabel: bool = False) -> list[Scored]:
        """Tell what trees are worth, in their order.

        Parameters
        ----------
        trees
            The trees. If they are relabelled, their labels change in place.
        relabel
            Whether every leaf gets the class that is worth most there.
        """
        judged = self.problem.judge(trees, self.target, relabel=relabel)
        return self._scored(trees, judged)

    def score_changes(
        self, tree: Genome, changes: Sequence[Change], trees: Sequence[Genome]
    ) -> list[Scored]:
        """Tell what a tree is worth after each of several changes, in their order.

        Parameters
        ----------
        tree
            The tree.
        changes
            The changes, of which each is made alone.
        trees
            The trees that come of them.
        """
        judged = self.problem.judge_changes(tree, changes, self.target)
        return self._scored(trees, judged)

    def _scored(self, trees: Sequence[Genome], judged: Judged) -> list[Scored]:
        size = np.array([n_leaves(tree) for tree in trees])
        fitness = self.combine(judged.accuracy, judged.fairness, size)
        return [
            Scored(tree, *numbers)
            for tree, *numbers in zip(
                trees,
                judged.accuracy.tolist(),
                judged.fairness.tolist(),
                fitness.tolist(),
                strict=True,
            )
        ]

    def combine(
        self,
        accuracy: NDArray[np.float64],
        fairness: NDArray[np.float64],
        size: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the fitness of trees."""
        weight = self.fairness_weight
        return (1 - weight) * accuracy + weight * fairness - self.leaf_cost * size

    def worth_of(self, labels: NDArray[np.int64]) -> float:
        """Return what it is worth to give each person a label."""
        classes = np.arange(self.problem.n_classes)
        sets = self.problem.set_of(labels == classes[:, np.newaxis])
        return float(self.problem.value(sets, self.target).diagonal().sum())

    def tidied(self, tree: Genome, *, merge: bool = True) -> Genome:
        """Return a tree without splits that few people or, if asked, no labels need."""
        if len(tree) == 1:
            return tree
        count = self.problem.count(self.problem.reach(tree).people)
        return tidy(tree, count, self.limits.min_leaf, merge=merge)

    def allows(self, tree: Genome) -> bool:
        """Tell whether a tree is small enough."""
        return (
            n_leaves(tree) <= self.limits.max_leaves
            and depth_of(tree) <= self.limits.max_depth
        )
