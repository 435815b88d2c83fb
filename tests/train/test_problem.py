"""What the search asks about the training people, however they are ordered."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fatt import Similarity
from fatt.region import Schema
from fatt.train.bits import Target
from fatt.train.candidates import candidates
from fatt.train.changes import Change
from fatt.train.columns import blank_tree
from fatt.train.genome import Genome, depth_of, ends, join, leaf, replace
from fatt.train.order import order_people
from fatt.train.people import People, gather_people
from fatt.train.problem import Problem
from fatt.train.workers import Workers
from tests.train import town

SIMILARITY = town.SIMILARITY | Similarity(noise={"age": 5}, where={"age": "> 40"})


def gather() -> People:
    X, y = town.mixed()
    codes = (y == "paid").astype(np.int64)
    blank = blank_tree(X, list(X.columns), named=True, classes=("late", "paid"))
    return gather_people(
        X,
        codes,
        np.random.default_rng(0).integers(1, 4, len(codes)).astype(np.float64),
        np.ones(2),
        blank=blank,
        schema=Schema.infer(blank, X),
        similarity=SIMILARITY,
        balance=0.3,
    )


PEOPLE = gather()
N_PEOPLE = len(PEOPLE.codes)


def problem_in(order: Any) -> tuple[Problem, Target]:
    splits = candidates(
        PEOPLE.variables, PEOPLE.rows, PEOPLE.boxes, PEOPLE.worth, max_bins=16
    )
    problem = Problem.of(
        PEOPLE.variables,
        PEOPLE.values,
        PEOPLE.boxes,
        splits,
        PEOPLE.weights,
        order=order,
        workers=Workers(1),
    )
    return problem, Target.of(PEOPLE.worth[order])


def random_trees(problem: Problem, count: int) -> Iterator[Genome]:
    rng = np.random.default_rng(1)

    def grow(depth: int) -> Genome:
        if depth == 0 or rng.random() < 0.2:
            return leaf(int(rng.integers(2)))
        split = int(rng.integers(len(problem.splits)))
        return join(split, grow(depth - 1), grow(depth - 1))

    for _ in range(count):
        yield grow(5)


def test_trees_are_worth_what_their_labels_are() -> None:
    problem, target = problem_in(np.arange(N_PEOPLE))
    trees = list(random_trees(problem, 30))
    judged = problem.judge(trees, target)
    people = np.arange(N_PEOPLE)
    for place, tree in enumerate(trees):
        labels = (-1 - tree[tree < 0])[problem.leaf_of(tree)]
        worth = PEOPLE.worth[people, labels].sum()
        unfair = PEOPLE.weights[problem.is_unfair(tree)].sum() / PEOPLE.weights.sum()
        # What labels are worth is rounded to a few bits.
        assert judged.accuracy[place] == pytest.approx(worth, abs=2e-3)
        assert judged.fairness[place] == pytest.approx(1 - unfair)


def test_a_changed_tree_is_judged_as_a_new_one() -> None:
    problem, target = problem_in(np.arange(N_PEOPLE))
    trees = list(random_trees(problem, 40))
    rng = np.random.default_rng(2)
    for tree, part in itertools.pairwise(trees):
        places = rng.integers(len(tree), size=5).tolist()
        end = ends(tree).tolist()
        new = [replace(tree, place, end[place], part) for place in places]
        alone = problem.judge(new, target)
        changes = [Change(place, part) for place in places]
        changed = problem.judge_changes(tree, changes, target)
        assert changed.accuracy.tolist() == alone.accuracy.tolist()
        assert changed.fairness.tolist() == alone.fairness.tolist()


def test_the_order_of_people_changes_no_answer() -> None:
    order = order_people(PEOPLE.values, PEOPLE.codes)
    assert sorted(order.tolist()) == list(range(N_PEOPLE))
    (plain, target), (other, reordered) = (
        problem_in(np.arange(N_PEOPLE)),
        problem_in(order),
    )
    chosen = np.arange(len(plain.splits))[np.newaxis]
    for tree in random_trees(plain, 20):
        first, second = plain.reach(tree), other.reach(tree)
        assert np.array_equal(plain.leaf_of(tree), other.leaf_of(tree))
        assert np.array_equal(plain.is_unfair(tree), other.is_unfair(tree))
        for one, two in zip(
            plain.judge([tree], target), other.judge([tree], reordered), strict=True
        ):
            assert one.tolist() == two.tolist()
        for one, two in zip(
            plain.try_splits(chosen, first.people[:1], first.boxes[:1], target),
            other.try_splits(chosen, second.people[:1], second.boxes[:1], reordered),
            strict=True,
        ):
            assert one.tolist() == two.tolist()


def test_splits_do_at_leaves_what_they_do_to_each_person() -> None:
    problem, target = problem_in(order_people(PEOPLE.values, PEOPLE.codes))
    tree = join(0, leaf(0), leaf(1))
    reached = problem.reach(tree)
    chosen = np.random.default_rng(0).integers(len(problem.splits), size=(2, 9))
    tried = problem.try_splits(chosen, reached.people[1:], reached.boxes[1:], target)
    for row, splits in enumerate(chosen.tolist()):
        here = problem.members(reached.people[1 + row])
        for column, split in enumerate(splits):
            left = here & problem.members(problem.own_left[split])
            assert tried.n_left[row, column] == np.count_nonzero(left)
            worth = PEOPLE.worth[left].sum(axis=0)
            assert tried.worth[row, column] == pytest.approx(worth, abs=2e-3)


def test_ends_and_depth_of_a_tree() -> None:
    tree = join(5, leaf(0), join(3, join(2, leaf(1), leaf(0)), leaf(1)))
    assert ends(tree).tolist() == [7, 2, 7, 6, 5, 6, 7]
    assert depth_of(tree) == 3
    assert depth_of(leaf(0)) == 0


def test_boxes_of_some_people() -> None:
    boxes = PEOPLE.boxes
    chosen = np.array([7, 3, 200])
    some = boxes.of_people(chosen)
    assert len(boxes) > N_PEOPLE
    for place, person in enumerate(chosen):
        mine, theirs = some.person == place, boxes.person == person
        assert np.array_equal(some.lower[mine], boxes.lower[theirs])
        assert np.array_equal(some.codes[mine], boxes.codes[theirs])
