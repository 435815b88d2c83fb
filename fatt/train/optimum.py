"""The best of all small trees: found, or bounded from above.

Whatever tree has at most four leaves, one of its splits has two leaves with different
labels below it. Without that split it is a *prefix*: a tree with one open leaf. One
pass of `changes.score_changes` tells the best split for the open leaf of a prefix, so
all trees are looked at if all prefixes are. Most need not be: the labels of a prefix
tell what its other leaves are worth, and what people at the open leaf can be worth at
most has a bound (branch and bound, best bound first). What is not looked at within the
budget leaves a gap.

For larger trees there is only a bound that every tree keeps: `most_worth`.

A bound must never be too low. It counts a person as treated unfairly only if the
prefix alone is unfair to them. For the open leaf it takes the smaller of two numbers:
what the people there are worth if each gets their own best label, and what the best
split is worth for a larger set of people, without fairness.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.train.fitness import Objective
from fatt.train.genome import Genome, join, leaf, n_leaves, replace
from fatt.train.kernels import changes

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Matrix = NDArray[np.float64]

#: The size of the largest trees among which the best is looked for.
MOST_LEAVES = 4
#: How much is added up at most, where no time is set, and how large tables may become.
_WORK, _TABLES = 5e8, 2e9
#: How many cells are added up at a time.
_CELLS = 2**21
#: The weights that are added up: a person, the best and the worst label, each label.
_COUNT, _MOST, _FEW, _WORTH = range(4)


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

    That is the worth of giving each person the best label and treating all fairly.
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
        most, few = objective.priced.max(axis=1), objective.priced.min(axis=1)
        counts = np.ones(people.n_people)
        # Sums of whole numbers below 2**53 are exact in floats, in any order.
        self.weights = np.column_stack([counts, most, few, objective.priced])
        self.whole = self.weights.sum(axis=0)
        # Only of a person with one box is it known that this box reaches two leaves.
        self.alone = np.where(np.diff(ranks.box_start) == 1, cost, 0).astype(np.float64)
        self.box = np.minimum(ranks.box_start[:-1], max(0, ranks.low.shape[1] - 1))
        self.all_people = np.arange(people.n_people)

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
        return people.score_changes(
            *(people.trace(tree), place, self.pairs),
            worth=worth,
            cost=cost,
            min_leaf=min_leaf,
        )

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
            if float(self.n_splits) ** 2 * len(self.all_people) > _TABLES:
                self.beyond = most_worth(self.objective, 4)
            else:
                for sides in itertools.product((True, False), repeat=2):
                    found += self._of_chains(*sides) if limits.max_depth > 2 else ()
                found += self._of_pairs()
        return np.concatenate(found)

    @cached_property
    def _sums(self) -> Matrix:
        """The weights of those to the left of each split, of shape (n_splits, n)."""
        ranks = self.objective.people.ranks
        sums = [
            ranks.goes_left(split, self.all_people) @ self.weights
            for split in range(self.n_splits)
        ]
        return np.array(sums).reshape(-1, len(self.whole))

    @cached_property
    def _tables(self) -> tuple[Matrix, Matrix]:
        """What two splits do together, added up over a block of people at a time.

        The weights of those to the left of both, of shape (n_splits, n_splits) each;
        and three costs of people: those who reach both sides of the first split and the
        right side of the other; both sides of the first and the left side of the other;
        and those to the left of the first who reach its left side and both sides of the
        other.
        """
        ranks, shape = self.objective.people.ranks, (self.n_splits, self.n_splits)
        together: Matrix = np.zeros((len(self.whole), *shape))
        torn: Matrix = np.zeros((3, *shape))
        size = max(1, _CELLS // self.n_splits)
        for start in range(0, len(self.all_people), size):
            some = self.all_people[start : start + size]
            left: Matrix = np.empty((self.n_splits, len(some)))
            reach: Matrix = np.empty((2, self.n_splits, len(some)))
            for split in range(self.n_splits):
                left[split] = ranks.goes_left(split, some)
                reach[:, split] = ranks.reaches(split, self.box[some])
            for number, weight in enumerate(self.weights[some].T):
                together[number] += (left * weight) @ left.T
            alone, both = self.alone[some], reach[0] * reach[1]
            torn[0] += (alone * both) @ reach[0].T
            torn[1] += (alone * both) @ reach[1].T
            torn[2] += (alone * left * reach[0]) @ both.T
        return together, torn

    def _between(self, weight: int, one_left: bool, other_left: bool) -> Matrix:
        """Return the weight of those who go to these sides of two splits."""
        found: Matrix = self._tables[0][weight]
        sums = self._sums[:, weight]
        if not other_left:
            found = sums[:, np.newaxis] - found
        if not one_left:
            found = (sums if other_left else self.whole[weight] - sums) - found
        return found

    def _side(self, is_left: bool) -> Matrix:
        """Return the weights of those who go to one side of each split."""
        return self._sums if is_left else self.whole - self._sums

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
        least = self.objective.limits.min_leaf
        paid = 3 * self.objective.per_leaf
        for open_left in (True, False):
            opened, closed = self._side(open_left), self._side(not open_left)
            fits = (opened[:, _COUNT] >= 2 * least) & (closed[:, _COUNT] >= least)
            for label, worth in enumerate(closed[:, _WORTH:].T):
                bound = worth + opened[:, _MOST] - paid
                yield self._rows(
                    0,
                    bound[:, np.newaxis],
                    fits[:, np.newaxis],
                    (label, 0),
                    (open_left, False),
                )

    def _of_chains(self, open_left: bool, other_left: bool) -> Iterator[Integers]:
        least, paid = self.objective.limits.min_leaf, 4 * self.objective.per_leaf
        opened, beside = (open_left, other_left), (open_left, not other_left)
        closed = self._side(not open_left)
        fits = (self._between(_COUNT, *opened) >= 2 * least) & (
            self._between(_COUNT, *beside) >= least
        )
        fits &= (closed[:, _COUNT] >= least)[:, np.newaxis]
        # What is best for more people is worth no less, but what these are worth at
        # least is not theirs.
        rest = np.minimum.reduce(
            [
                self._between(_MOST, *opened),
                self._best_splits[open_left][:, np.newaxis]
                - self._between(_FEW, *beside),
                self._best_splits[other_left]
                - self._between(_FEW, not open_left, other_left),
            ]
        )
        torn = self._tables[1][int(other_left)]
        for other_label in range(self.objective.people.n_classes):
            last = self._between(_WORTH + other_label, *beside) + rest - paid
            for label, worth in enumerate(closed[:, _WORTH:].T):
                bound = worth[:, np.newaxis] + last
                if label != other_label:
                    bound -= torn
                labels, sides = (label, other_label), (open_left, other_left)
                yield self._rows(1, bound, fits, labels, sides)

    def _of_pairs(self) -> Iterator[Integers]:
        least, paid = self.objective.limits.min_leaf, 4 * self.objective.per_leaf
        fits = (self._between(_COUNT, True, True) >= least) & (
            self._between(_COUNT, True, False) >= least
        )
        fits &= (self._side(False)[:, _COUNT] >= 2 * least)[:, np.newaxis]
        # Unfairness counts on the side where the person is, so that it counts once.
        rest = self._bounded(False, torn=True)[:, np.newaxis]
        for label, other_label in self.pairs.tolist():
            bound = self._between(_WORTH + label, True, True) + rest
            bound += self._between(_WORTH + other_label, True, False) - paid
            yield self._rows(
                2,
                bound - self._tables[1][2],
                fits,
                (label, other_label),
                (False, False),
            )

    @cached_property
    def _best_splits(self) -> tuple[Matrix, Matrix]:
        """What the best split is worth at most to the right, and left, of each."""
        return self._bounded(False), self._bounded(True)

    def _bounded(self, is_left: bool, *, torn: bool = False) -> Matrix:
        """Return what the best split is worth at most for one side of each split.

        Parameters
        ----------
        is_left
            Which side.
        torn
            Whether people count who reach only this side, and both sides of the best
            split.
        """
        found, ranks = np.zeros(self.n_splits), self.objective.people.ranks
        for split in range(self.n_splits):
            mine = ranks.goes_left(split, self.all_people) == is_left
            cost = np.zeros(len(mine), dtype=np.int64)
            if torn:
                cost += (self.alone * mine * ranks.reaches(split, self.box)[1]).astype(
                    np.int64
                )
            worth = self.objective.priced * mine[:, np.newaxis]
            _, scores = self._scores(leaf(0), 0, worth, cost, 0)
            found[split] = scores.max()
        return found
