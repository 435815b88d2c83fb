"""The training people and the splits: everything that a search asks about trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.train.genome import Genome, Outline, n_leaves, outline, sums_below
from fatt.train.kernels import changes, sending, tallies
from fatt.train.people import People
from fatt.train.ranks import Ranks, Rows, rank
from fatt.train.splits import Portable, Split, as_stumps, candidates

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Worth and weights are whole numbers of such parts of the whole, so that their sums
#: are exact.
UNITS = 2**48


class Tally(NamedTuple):
    """What every split would do at a leaf.

    Attributes
    ----------
    inside : ndarray of shape (n_classes, n_splits)
        What each class is worth inside the split.
    n_inside : ndarray of shape (n_splits,)
        How many people are inside.
    torn : ndarray of shape (n_splits,)
        The weight of the boxes that reach both sides.
    """

    inside: Integers
    n_inside: Integers
    torn: Integers


@dataclass(frozen=True, eq=False)
class Traced:
    """A tree, and where it sends the people and those similar to them.

    Attributes
    ----------
    tree
        The tree.
    leaf : ndarray of shape (n_people,)
        At which leaf each person arrives, from 0 on.
    reached : ndarray of shape (n_boxes, n_words)
        Which leaves each box reaches, as bits.
    unfair : ndarray of shape (n_people,)
        Whether the boxes of each person reach several labels.
    """

    tree: Genome
    leaf: Integers
    reached: NDArray[np.uint64]
    unfair: Flags

    @cached_property
    def outline(self) -> Outline:
        """The shape of the tree."""
        return outline(self.tree)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The training people, ranked among the splits that a tree may have.

    Attributes
    ----------
    n_classes
        Number of classes.
    splits
        The splits.
    ranks
        Where people and boxes stand among them.
    weight : ndarray of shape (n_people,)
        The weight of each person in fairness, in units.
    n_left_out
        How many splits were left out because they tear some box of each person.
    """

    n_classes: int
    splits: tuple[Split, ...]
    ranks: Ranks
    weight: Integers
    n_left_out: int = 0

    @classmethod
    def of(
        cls, people: People, *, max_bins: int, split_on_varying: bool
    ) -> TrainingSet:
        """Choose splits, and rank the people among them.

        Parameters
        ----------
        people
            The training people.
        max_bins
            Into how many parts a column is cut at most.
        split_on_varying
            Whether to keep splits of variables that vary freely for all people.
        """
        items = candidates(
            people.variables, people.rows, people.boxes, people.worth, max_bins=max_bins
        )
        return cls.among(people, items, split_on_varying=split_on_varying)

    @classmethod
    def among(
        cls, people: People, items: Sequence[Split], *, split_on_varying: bool
    ) -> TrainingSet:
        """Rank the people among some splits."""
        variables = people.variables
        order, ranks = rank(
            as_stumps(variables, items),
            variables.ensemble.features,
            people.values,
            people.boxes,
        )
        kept = np.ones(len(ranks.row), dtype=bool)
        if not split_on_varying:
            kept = ~ranks.tears_all(people.weights)
        is_kept = kept[ranks.family]
        return cls(
            len(people.price),
            tuple(items[order[place]] for place in np.flatnonzero(is_kept)),
            ranks.of_families(kept),
            in_units(people.weights),
            int(np.count_nonzero(~is_kept)),
        )

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.weight)

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.splits)

    @cached_property
    def rows(self) -> Rows:
        """The ranks once more, person by person."""
        return Rows.of(self.ranks)

    @cached_property
    def _of_boxes(self) -> Integers:
        """The weight of the person of each box."""
        return np.repeat(self.weight, np.diff(self.ranks.box_start))

    def of_people(self, chosen: Integers) -> TrainingSet:
        """Return some of the people, with all the splits."""
        return TrainingSet(
            self.n_classes,
            self.splits,
            self.ranks.of_people(chosen),
            in_units(self.weight[chosen].astype(np.float64)),
        )

    def leaf_of(self, tree: Genome) -> Integers:
        """Return at which leaf of a tree each person arrives, from 0 on."""
        leaf = np.empty(self.n_people, dtype=np.int64)
        sending.send_people(self.ranks, tree, self.n_classes, leaf)
        return leaf

    def trace(self, tree: Genome) -> Traced:
        """Send people and their boxes through a tree."""
        n_boxes, n_words = self.ranks.low.shape[1], -(-n_leaves(tree) // 64)
        reached = np.zeros((n_boxes, n_words), dtype=np.uint64)
        unfair = np.empty(self.n_people, dtype=bool)
        sending.send_boxes(self.ranks, tree, self.n_classes, reached, unfair)
        return Traced(tree, self.leaf_of(tree), reached, unfair)

    def count(self, tree: Genome) -> Integers:
        """Count the people who pass each node of a tree."""
        at_leaves = np.bincount(self.leaf_of(tree), minlength=n_leaves(tree))
        return sums_below(tree, at_leaves)

    def score_changes(
        self,
        traced: Traced,
        place: int,
        pairs: Integers,
        *,
        worth: Integers,
        cost: Integers,
        min_leaf: int,
    ) -> tuple[Integers, Integers]:
        """Tell what a tree is worth after every change at one node.

        The parameters are those of `changes.score_changes`, as are the results.
        """
        alone = np.empty(self.n_classes + 3, dtype=np.int64)
        scores = np.empty((len(pairs), self.n_splits), dtype=np.int64)
        changes.score_changes(
            *(self.ranks, self.rows, traced, place, pairs),
            *(worth, cost, min_leaf, alone, scores),
        )
        return alone, scores

    def tally(self, people: Integers, boxes: Integers, worth: Integers) -> Tally:
        """Tell what every split would do at a leaf.

        Parameters
        ----------
        people, boxes
            Those that reach the leaf.
        worth : ndarray of shape (n_people, n_classes)
            What each label is worth to each person.
        """
        tally = Tally(
            np.empty((self.n_classes, self.n_splits), dtype=np.int64),
            np.empty(self.n_splits, dtype=np.int64),
            np.empty(self.n_splits, dtype=np.int64),
        )
        tallies.tally_splits(self.ranks, people, boxes, worth, self._of_boxes, *tally)
        return tally

    def portable(self, tree: Genome) -> Portable:
        """Return a tree in prefix order with its splits themselves."""
        return tuple(self.splits[code] if code >= 0 else code for code in tree.tolist())


def in_units(numbers: Matrix) -> Integers:
    """Return numbers as parts of their sum, in whole units."""
    return np.asarray(np.rint(numbers * (UNITS / numbers.sum())), dtype=np.int64)
