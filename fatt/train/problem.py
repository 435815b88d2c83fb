"""Everything that a search for a tree asks about the training people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.region import Boxes, code_words
from fatt.region.variables import Variables
from fatt.train import kernels
from fatt.train.bits import Target, Words, pack, to_binary, unpack
from fatt.train.candidates import Splits
from fatt.train.genome import Genome
from fatt.train.workers import Workers

Matrix = NDArray[np.float64]


class Judged(NamedTuple):
    """What trees are worth.

    Attributes
    ----------
    accuracy
        What their labels are worth by the target; 1 if all are right.
    fairness
        The share of people whom they treat fairly.
    """

    accuracy: Matrix
    fairness: Matrix


class Tried(NamedTuple):
    """What splits do at a leaf.

    Attributes
    ----------
    worth : ndarray of shape (n_splits, n_classes)
        What each class is worth on the left.
    n_left : ndarray of shape (n_splits,)
        Number of people on the left.
    torn : ndarray of shape (n_splits,)
        Share of all people who reach both sides.
    """

    worth: Matrix
    n_left: NDArray[np.int64]
    torn: Matrix


class Reached(NamedTuple):
    """Who reaches each node of a tree, as sets.

    Attributes
    ----------
    people, boxes
        One set per node.
    """

    people: Words
    boxes: Words


@dataclass(frozen=True, eq=False)
class Problem:
    """The training people, and what every split does to them and their boxes.

    Attributes
    ----------
    n_people, n_classes
        Numbers of people and of classes.
    splits
        The splits that a tree may have.
    own_left, can_left, can_right
        For each split the people who go left, and the boxes that reach either side.
    everyone
        The set of all people.
    weights, total
        Weight of the people in fairness, as binary numbers, and of all together.
    workers
        The threads that judge trees.
    """

    n_people: int
    n_classes: int
    splits: Splits
    own_left: Words
    can_left: Words
    can_right: Words
    everyone: Words
    weights: Words
    total: int
    workers: Workers

    @classmethod
    def of(
        cls,
        variables: Variables,
        values: Matrix,
        boxes: Boxes,
        splits: Splits,
        weights: Matrix,
        *,
        workers: Workers,
    ) -> Problem:
        """Work out what every split does.

        Parameters
        ----------
        variables
            The variables of the people.
        values : ndarray of shape (n_people, n_variables)
            The people.
        boxes
            Where they may move.
        splits
            The splits that a tree may have.
        weights : ndarray of shape (n_people,)
            Weight of each person.
        workers
            The threads that do the work.
        """
        n_people, n_splits = len(values), len(splits)
        n_words = -(-n_people // 64)
        planes = _planes(boxes, n_people)
        own_left = np.zeros((n_splits, n_words), dtype=np.uint64)
        can_left = np.zeros((n_splits, n_words * len(planes)), dtype=np.uint64)
        can_right = np.zeros_like(can_left)
        nodes = splits.stumps.nodes[splits.stumps.roots]
        words = splits.stumps.words
        columns = np.ascontiguousarray(values.T)
        code_start = code_words(variables.ensemble.features)
        sides = [
            tuple(
                np.ascontiguousarray(part[chosen].T)
                for part in (boxes.lower, boxes.upper, boxes.missing, boxes.codes)
            )
            for chosen in planes
        ]

        def send(part: slice) -> None:
            kernels.send_people(nodes[part], words, columns, own_left[part])
            for plane, (lower, upper, missing, codes) in enumerate(sides):
                kernels.send_boxes(
                    nodes[part],
                    words,
                    lower,
                    upper,
                    missing,
                    codes,
                    code_start,
                    plane * n_words,
                    can_left[part],
                    can_right[part],
                )

        workers.share(send, n_splits, each=n_words)
        heavy = to_binary(weights)
        return cls(
            n_people=n_people,
            n_classes=variables.ensemble.n_outputs,
            splits=splits,
            own_left=own_left,
            can_left=can_left,
            can_right=can_right,
            everyone=pack(np.ones(n_people, dtype=bool)),
            weights=heavy.planes,
            total=heavy.total,
            workers=workers,
        )

    def judge(
        self, trees: Sequence[Genome], target: Target, *, relabel: bool = False
    ) -> Judged:
        """Tell what trees are worth.

        Parameters
        ----------
        trees
            The trees. If they are relabelled, their labels change in place.
        target
            What labels are worth.
        relabel
            Whether every leaf gets the class that is worth most there.
        """
        sizes = np.array([0, *map(len, trees)])
        starts = np.cumsum(sizes)
        joined = np.concatenate(trees) if len(trees) else np.zeros(0, np.int32)
        gain, unfair = np.zeros(len(trees)), np.zeros(len(trees), dtype=np.int64)

        def judge(part: slice) -> None:
            kernels.judge(
                joined,
                np.ascontiguousarray(starts[part.start : part.stop + 1]),
                self.own_left,
                self.can_left,
                self.can_right,
                self.everyone,
                target.planes,
                target.scale,
                self.weights,
                relabel,
                gain[part],
                unfair[part],
            )

        size = len(joined) // max(1, len(trees))
        self.workers.share(judge, len(trees), each=size * self.can_left.shape[1])
        if relabel:
            for tree, start in zip(trees, starts.tolist(), strict=False):
                tree[:] = joined[start : start + len(tree)]
        return Judged(gain, 1 - unfair / self.total)

    def reach(self, tree: Genome) -> Reached:
        """Tell who reaches each node of a tree."""
        people = np.empty((len(tree), self.own_left.shape[1]), dtype=np.uint64)
        boxes = np.empty((len(tree), self.can_left.shape[1]), dtype=np.uint64)
        kernels.spread(
            tree,
            self.own_left,
            self.can_left,
            self.can_right,
            self.everyone,
            people,
            boxes,
        )
        return Reached(people, boxes)

    def is_unfair(self, tree: Genome) -> NDArray[np.bool_]:
        """Tell whom a tree treats unfairly: whose boxes reach several labels."""
        boxes = self.reach(tree).boxes
        n_labels = np.zeros(self.n_people, dtype=np.int64)
        for label in np.unique(tree[tree < 0]):
            reached = np.bitwise_or.reduce(boxes[tree == label], axis=0)
            planes = reached.reshape(-1, len(self.everyone))
            n_labels += unpack(np.bitwise_or.reduce(planes, axis=0), self.n_people)
        return n_labels > 1

    def count(self, people: Words) -> NDArray[np.int64]:
        """Count the people of sets."""
        count = np.zeros(len(people), dtype=np.int64)
        kernels.count_people(people, count)
        return count

    def value(self, people: Words, target: Target) -> Matrix:
        """Tell what each class is worth in sets of people, one row per set."""
        worth = np.zeros((len(people), self.n_classes))
        kernels.value_classes(people, target.planes, target.scale, worth)
        return worth

    def try_splits(
        self,
        chosen: NDArray[np.int64],
        people: Words,
        boxes: Words,
        target: Target,
    ) -> Tried:
        """Tell what splits would do at a leaf.

        Parameters
        ----------
        chosen
            The splits to try.
        people, boxes
            Who reaches the leaf, as `reach` tells.
        target
            What labels are worth.
        """
        worth = np.zeros((len(chosen), self.n_classes))
        n_left = np.zeros(len(chosen), dtype=np.int64)
        torn = np.zeros(len(chosen), dtype=np.int64)

        def attempt(part: slice) -> None:
            kernels.try_splits(
                chosen[part],
                people,
                boxes,
                self.own_left,
                self.can_left,
                self.can_right,
                target.planes,
                target.scale,
                self.weights,
                worth[part],
                n_left[part],
                torn[part],
            )

        self.workers.share(attempt, len(chosen), each=self.can_left.shape[1])
        return Tried(worth, n_left, torn / self.total)


def _planes(boxes: Boxes, n_people: int) -> list[NDArray[np.int64]]:
    """Return the first box of each person, the second, and so on; the last again."""
    count = np.bincount(boxes.person, minlength=n_people)
    start = np.cumsum(count) - count
    return [start + np.minimum(number, count - 1) for number in range(int(count.max()))]
