"""Everything that a search for a tree asks about the training people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.region import Boxes, code_words
from fatt.region.variables import Variables
from fatt.train.bits import Target, Words, pack, to_binary, unpack
from fatt.train.candidates import Splits
from fatt.train.changes import Change, surroundings
from fatt.train.genome import Genome, leaf
from fatt.train.kernels import judge, look, send
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
    """What splits do at leaves.

    Attributes
    ----------
    worth : ndarray of shape (n_leaves, n_splits, n_classes)
        What each class is worth on the left.
    n_left : ndarray of shape (n_leaves, n_splits)
        Number of people on the left.
    torn : ndarray of shape (n_leaves, n_splits)
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
    order
        The person of each bit in a set.
    splits
        The splits that a tree may have.
    own_left, can_left, can_right
        For each split the people who go left, and the boxes that reach either side.
    tears
        Whether any box reaches both sides of each split.
    everyone
        The set of all people.
    weights, total
        Weight of the people in fairness, as binary numbers, and of all together.
    workers
        The threads that judge trees.
    """

    n_people: int
    n_classes: int
    order: NDArray[np.int64]
    splits: Splits
    own_left: Words
    can_left: Words
    can_right: Words
    tears: NDArray[np.bool_]
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
        order: NDArray[np.int64],
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
        order : ndarray of shape (n_people,)
            The order of the people in sets; see `fatt.train.order`.
        workers
            The threads that do the work.
        """
        n_people, n_splits = len(values), len(splits)
        boxes = boxes.of_people(order)
        n_words = -(-n_people // 64)
        planes = _planes(boxes, n_people)
        own_left = np.zeros((n_splits, n_words), dtype=np.uint64)
        can_left = np.zeros((n_splits, n_words * len(planes)), dtype=np.uint64)
        can_right = np.zeros_like(can_left)
        tears = np.zeros(n_splits, dtype=bool)
        nodes = splits.stumps.nodes[splits.stumps.roots]
        words = splits.stumps.words
        columns = np.ascontiguousarray(values[order].T)
        code_start = code_words(variables.ensemble.features)
        sides = [
            tuple(
                np.ascontiguousarray(part[chosen].T)
                for part in (boxes.lower, boxes.upper, boxes.missing, boxes.codes)
            )
            for chosen in planes
        ]

        def send_all(part: slice) -> None:
            send.send_people(nodes[part], words, columns, own_left[part])
            for plane, (lower, upper, missing, codes) in enumerate(sides):
                send.send_boxes(
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
            tears[part] = (can_left[part] & can_right[part]).any(axis=1)

        workers.share(send_all, n_splits, each=n_words)
        heavy = to_binary(weights[order])
        return cls(
            n_people=n_people,
            n_classes=variables.ensemble.n_outputs,
            order=order,
            splits=splits,
            own_left=own_left,
            can_left=can_left,
            can_right=can_right,
            tears=tears,
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
        whole = [Change(0, tree) for tree in trees]
        return self.judge_changes(leaf(0), whole, target, relabel=relabel)

    def judge_changes(
        self,
        tree: Genome,
        changes: Sequence[Change],
        target: Target,
        *,
        relabel: bool = False,
    ) -> Judged:
        """Tell what a tree is worth after each of several changes.

        Parameters
        ----------
        tree
            The tree.
        changes
            The changes, of which each is made alone. If they are relabelled, the labels
            of the new parts change in place.
        target
            What labels are worth.
        relabel
            Whether every leaf of the new parts gets the class that is worth most there.
        """
        gain = np.zeros(len(changes))
        unfair = np.zeros(len(changes), dtype=np.int64)
        if not changes:
            return Judged(gain, gain)
        reached = self.reach(tree)
        worth = self.value(reached.people[tree < 0], target)
        around = surroundings(tree, *reached, worth)
        parts = np.concatenate([change.part for change in changes])
        starts = np.cumsum([0, *(len(change.part) for change in changes)])
        places = np.array([change.place for change in changes])

        def judge_some(some: slice) -> None:
            judge.judge(
                parts,
                starts[some.start : some.stop + 1],
                places[some],
                *around,
                self.own_left,
                self.can_left,
                self.can_right,
                target.planes,
                target.scale,
                self.weights,
                relabel,
                gain[some],
                unfair[some],
            )

        each = len(parts) // len(changes) * self.can_left.shape[1]
        self.workers.share(judge_some, len(changes), each=each)
        if relabel:
            for change, start in zip(changes, starts.tolist(), strict=False):
                change.part[:] = parts[start : start + len(change.part)]
        return Judged(gain, 1 - unfair / self.total)

    def reach(self, tree: Genome) -> Reached:
        """Tell who reaches each node of a tree."""
        people = np.empty((len(tree), self.own_left.shape[1]), dtype=np.uint64)
        boxes = np.empty((len(tree), self.can_left.shape[1]), dtype=np.uint64)
        look.spread(
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
        for code in np.unique(tree[tree < 0]):
            reached = np.bitwise_or.reduce(boxes[tree == code], axis=0)
            planes = reached.reshape(-1, len(self.everyone))
            n_labels += self.members(np.bitwise_or.reduce(planes, axis=0))
        return n_labels > 1

    def leaf_of(self, tree: Genome) -> NDArray[np.int64]:
        """Return for each person at which leaf of a tree they arrive, from 0 on."""
        number = np.zeros(self.n_people, dtype=np.int64)
        people = self.reach(tree).people[tree < 0]
        look.number_people(people, self.order, number)
        return number

    def set_of(self, members: NDArray[np.bool_]) -> Words:
        """Return people as sets, one row per set."""
        return pack(members[..., self.order])

    def members(self, people: Words) -> NDArray[np.bool_]:
        """Tell who belongs to a set."""
        found = np.empty(self.n_people, dtype=bool)
        found[self.order] = unpack(people, self.n_people)
        return found

    def count(self, people: Words) -> NDArray[np.int64]:
        """Count the people of sets."""
        count = np.zeros(len(people), dtype=np.int64)
        look.count_people(people, count)
        return count

    def value(self, people: Words, target: Target) -> Matrix:
        """Tell what each class is worth in sets of people, one row per set."""
        worth = np.zeros((len(people), self.n_classes))
        look.value_classes(people, target.planes, target.scale, worth)
        return worth

    def try_splits(
        self,
        chosen: NDArray[np.int64],
        people: Words,
        boxes: Words,
        target: Target,
    ) -> Tried:
        """Tell what splits would do at leaves.

        Parameters
        ----------
        chosen : ndarray of shape (n_leaves, n_splits)
            The splits to try at each leaf.
        people, boxes
            Who reaches each leaf, as `reach` tells.
        target
            What labels are worth.
        """
        worth = np.zeros((chosen.size, self.n_classes))
        n_left = np.zeros(chosen.size, dtype=np.int64)
        torn = np.zeros(chosen.size, dtype=np.int64)

        def attempt(part: slice) -> None:
            look.try_splits(
                part.start,
                part.stop,
                chosen.ravel(),
                people,
                boxes,
                self.own_left,
                self.can_left,
                self.can_right,
                self.tears,
                target.planes,
                target.scale,
                self.weights,
                worth,
                n_left,
                torn,
            )

        self.workers.share(attempt, chosen.size, each=self.can_left.shape[1])
        return Tried(
            worth.reshape(*chosen.shape, self.n_classes),
            n_left.reshape(chosen.shape),
            torn.reshape(chosen.shape) / self.total,
        )


def _planes(boxes: Boxes, n_people: int) -> list[NDArray[np.int64]]:
    """Return the first box of each person, the second, and so on; the last again."""
    count = np.bincount(boxes.person, minlength=n_people)
    start = np.cumsum(count) - count
    return [start + np.minimum(number, count - 1) for number in range(int(count.max()))]
