"""The best of all small trees: found, or bounded from above.

Whatever tree has at most four leaves, one of its splits has two leaves with different
labels below it. Without that split it is a *prefix*: a tree with one open leaf. One
pass of `changes.score_changes` tells the best split for the open leaf of a prefix, so
all trees are looked at if all prefixes are. Most need not be: the labels of a prefix
tell what its other leaves are worth, and what people at the open leaf can be worth at
most has a bound (branch and bound, best bound first). What is not looked at within the
budget leaves a gap.

For larger trees there is only what nobody can be worth more than: `most_worth`.

A bound must never be too low. It counts somebody as treated unfairly only if the
prefix alone is unfair to them, and takes for the open leaf the least of what everybody
there is worth with the best label of their own, and of what the best split is worth for
a larger set of people, fairness apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.train.fitness import Objective
from fatt.train.genome import Genome, join, leaf, n_leaves, replace
from fatt.train.kernels import changes

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Matrix = NDArray[np.float64]

#: The largest trees whose best is looked for.
MOST_LEAVES = 4
#: How much is added up at most, where no time is set, and how large tables may become.
_WORK, _TABLES = 5e8, 2e9


class Optimum(NamedTuple):
    """The best small tree that was found, and what none is worth more than.

    Attributes
    ----------
    tree
        The tree; None if there is none at all.
    upper
        In units of fitness, leaves paid for.
    """

    tree: Genome | None
    upper: int


def most_worth(objective: Objective, n_leaves: int) -> int:
    """Return what no tree with so many leaves, or more, is worth more than.

    As if everybody got the label that is worth most to them, and all were treated
    fairly.
    """
    most = objective.priced.max(axis=1).sum()
    return int(most) - n_leaves * objective.per_leaf


def best_small_tree(
    objective: Objective,
    cost: Integers,
    *,
    start: Genome | None,
    is_over: Callable[[], bool],
    is_timed: bool,
) -> Optimum:
    """Look for the best of all trees that the limits of an objective allow.

    Parameters
    ----------
    objective
        What makes a tree better; without a price on gaps, and with at most
        `MOST_LEAVES` leaves.
    cost : ndarray of shape (n_people,)
        What it costs to be unfair to each person, at most; less leaves the bound valid.
    start
        A good tree, if one is known.
    is_over
        Tells when to stop.
    is_timed
        Whether time is what ends the search; else it ends after a fixed amount of work.
    """
    search = _Search(objective, cost, start)
    limits = objective.limits
    search.complete(leaf(0), 0)
    if min(limits.max_leaves, limits.max_depth + 1) < 3 or not search.n_splits:
        return Optimum(search.tree, search.best)
    rows = search.prefixes()
    n_calls = np.inf
    if not is_timed:
        n_calls = _WORK / (objective.people.ranks.own.size * len(search.pairs) + 1)
    for number, at in enumerate(np.argsort(-rows[:, 0], kind="stable").tolist()):
        prefix = _Prefix(*rows[at].tolist())
        if prefix.bound <= search.best:
            break
        if number >= n_calls or is_over():
            return Optimum(search.tree, max(search.beyond, prefix.bound))
        search.complete(*search.planted(prefix))
    return Optimum(search.tree, max(search.best, search.beyond))


class _Prefix(NamedTuple):
    """A tree with an open leaf, and what no tree is worth more than that it begins.

    The shapes are: 0, a leaf beside the open one; 1, a leaf beside another split, with
    a leaf beside the open one; 2, a split with two leaves to the left, and the open
    leaf to the right.
    """

    bound: int
    shape: int
    split: int
    open_left: int
    label: int
    other: int
    other_left: int
    other_label: int


class _Search:
    """A search for the best small tree.

    Attributes
    ----------
    tree, best
        The best tree so far, and what it is worth.
    beyond
        What the trees are worth at most that are too many to look at.
    """

    def __init__(
        self, objective: Objective, cost: Integers, start: Genome | None
    ) -> None:
        self.objective, self.cost = objective, cost
        people, ranks = objective.people, objective.people.ranks
        self.n_splits = people.n_splits
        classes = range(people.n_classes)
        self.pairs = np.array(list(itertools.permutations(classes, 2)), dtype=np.int64)
        self.tree, self.best, self.beyond = start, changes.NEVER, changes.NEVER
        if start is not None:
            alone, _ = self._scores(start, 0, objective.priced, cost, 1)
            self.best = int(alone[-1]) - objective.per_leaf * n_leaves(start)
        # Sums of whole numbers below 2**53 are exact in floats, in any order.
        self.worth = objective.priced.astype(np.float64)
        # Only who has one box is known to reach two leaves with it.
        self.alone = np.where(np.diff(ranks.box_start) == 1, cost, 0).astype(np.float64)
        box = np.minimum(ranks.box_start[:-1], max(0, ranks.low.shape[1] - 1))
        everybody = np.arange(people.n_people)
        self.left = np.zeros((self.n_splits, people.n_people))
        self.reach = np.zeros((2, self.n_splits, people.n_people))
        for split in range(self.n_splits):
            self.left[split] = ranks.goes_left(split, everybody)
            self.reach[:, split] = ranks.reaches(split, box)

    def complete(self, tree: Genome, place: int) -> None:
        """Put the best split at a leaf of a tree, and keep the tree if it is better."""
        objective = self.objective
        least = objective.limits.min_leaf
        _, scores = self._scores(tree, place, objective.priced, self.cost, least)
        if not scores.size:
            return
        pair, split = np.unravel_index(int(np.argmax(scores)), scores.shape)
        if scores[pair, split] == changes.NEVER:
            return
        worth = int(scores[pair, split]) - objective.per_leaf * (n_leaves(tree) + 1)
        if worth > self.best:
            sides = [leaf(int(label)) for label in self.pairs[pair]]
            if objective.people.ranks.flipped[split]:
                sides.reverse()
            self.best = worth
            self.tree = replace(tree, place, join(int(split), *sides))

    def _scores(
        self, tree: Genome, place: int, worth: Integers, cost: Integers, min_leaf: int
    ) -> tuple[Integers, Integers]:
        people = self.objective.people
        alone = np.empty(people.n_classes + 3, dtype=np.int64)
        scores = np.empty((len(self.pairs), people.n_splits), dtype=np.int64)
        traced = people.trace(tree)
        changes.score_changes(
            people.ranks,
            people.rows,
            traced,
            place,
            self.pairs,
            worth,
            cost,
            min_leaf,
            alone,
            scores,
        )
        return alone, scores

    def planted(self, prefix: _Prefix) -> tuple[Genome, int]:
        """Return a prefix as a tree, and the place of its open leaf."""
        closed, nothing = leaf(prefix.label), leaf(0)
        if prefix.shape == 2:
            below = join(prefix.other, closed, leaf(prefix.other_label))
            return join(prefix.split, below, nothing), 4
        rest, place = nothing, 0
        if prefix.shape == 1:
            sides = [nothing, leaf(prefix.other_label)]
            place = 1 if prefix.other_left else 2
            rest = join(prefix.other, *(sides if prefix.other_left else sides[::-1]))
        if prefix.open_left:
            return join(prefix.split, rest, closed), place + 1
        return join(prefix.split, closed, rest), place + 2

    def prefixes(self) -> Integers:
        """Return all prefixes that may begin a better tree, one row each."""
        found = [np.zeros((0, len(_Prefix._fields)), dtype=np.int64)]
        limits = self.objective.limits
        found += self._of_two_leaves()
        if limits.max_leaves > 3:
            if float(self.n_splits) ** 2 * self.left.shape[1] > _TABLES:
                self.beyond = most_worth(self.objective, 4)
            else:
                for sides in itertools.product((True, False), repeat=2):
                    found += self._of_chains(*sides) if limits.max_depth > 2 else ()
                found += self._of_pairs()
        return np.concatenate(found)

    def _rows(
        self,
        shape: int,
        bound: Matrix,
        fits: Flags,
        labels: tuple[int, int],
        sides: tuple[bool, bool],
    ) -> Integers:
        """Return the prefixes of one kind that may begin a better tree."""
        split, other = np.nonzero(fits & (bound > self.best))
        rows = np.empty((len(split), len(_Prefix._fields)), dtype=np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = bound[split, other], shape, split
        rows[:, 3], rows[:, 4], rows[:, 5] = sides[0], labels[0], other
        rows[:, 6], rows[:, 7] = sides[1], labels[1]
        return rows

    def _of_two_leaves(self) -> Iterator[Integers]:
        most, least = self.worth.max(axis=1), self.objective.limits.min_leaf
        paid = 3 * self.objective.per_leaf
        for open_left in (True, False):
            opened = self.left if open_left else 1 - self.left
            count = opened.sum(axis=1)
            fits = (count >= 2 * least) & (opened.shape[1] - count >= least)
            for label, worth in enumerate(self.worth.T):
                bound = (1 - opened) @ worth + opened @ most - paid
                yield self._rows(
                    0,
                    bound[:, np.newaxis],
                    fits[:, np.newaxis],
                    (label, 0),
                    (open_left, False),
                )

    def _of_chains(self, open_left: bool, other_left: bool) -> Iterator[Integers]:
        least, paid = self.objective.limits.min_leaf, 4 * self.objective.per_leaf
        most, few = self.worth.max(axis=1), self.worth.min(axis=1)
        opened = self.left if open_left else 1 - self.left
        second = self.left if other_left else 1 - self.left
        fits = (opened @ second.T >= 2 * least) & (opened @ (1 - second).T >= least)
        fits &= ((1 - opened).sum(axis=1) >= least)[:, np.newaxis]
        # What is best for more people is worth no less, but what these are worth at
        # least is not theirs.
        rest = np.minimum.reduce(
            [
                (opened * most) @ second.T,
                self._best_splits(opened)[:, np.newaxis]
                - (opened * few) @ (1 - second).T,
                self._best_splits(second) - ((1 - opened) * few) @ second.T,
            ]
        )
        beside = self.reach[1 if other_left else 0]
        torn = (self.alone * self.reach[0] * self.reach[1]) @ beside.T
        first = (1 - opened) @ self.worth
        for other_label, worth in enumerate(self.worth.T):
            last = (opened * worth) @ (1 - second).T + rest - paid
            for label in range(self.worth.shape[1]):
                bound = first[:, label, np.newaxis] + last
                if label != other_label:
                    bound -= torn
                labels, sides = (label, other_label), (open_left, other_left)
                yield self._rows(1, bound, fits, labels, sides)

    def _of_pairs(self) -> Iterator[Integers]:
        least, paid = self.objective.limits.min_leaf, 4 * self.objective.per_leaf
        left, right = self.left, 1 - self.left
        fits = (left @ left.T >= least) & (left @ right.T >= least)
        fits &= (right.sum(axis=1) >= 2 * least)[:, np.newaxis]
        # Unfairness counts on the side where somebody is, so that it counts once.
        rest = self._best_splits(right, self.alone * self.reach[1])[:, np.newaxis]
        both = self.reach[0] * self.reach[1]
        torn = (self.alone * left * self.reach[0]) @ both.T
        for label, other_label in self.pairs.tolist():
            bound = (left * self.worth[:, label]) @ left.T + rest - torn - paid
            bound += (left * self.worth[:, other_label]) @ right.T
            yield self._rows(2, bound, fits, (label, other_label), (False, False))

    def _best_splits(self, chosen: Matrix, cost: Matrix | None = None) -> Matrix:
        """Return what the best split is worth at most, for each set of people alone."""
        found = np.zeros(len(chosen))
        for number, row in enumerate(chosen):
            worth = self.objective.priced * row.astype(np.int64)[:, np.newaxis]
            mine = np.zeros(len(row)) if cost is None else cost[number] * row
            _, scores = self._scores(leaf(0), 0, worth, mine.astype(np.int64), 0)
            found[number] = scores.max()
        return found
