"""The best of all small trees is the best of all that a slow search tries."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from fatt import FATTClassifier, Similarity
from fatt.train import optimum
from fatt.train.fitness import Limits, Objective
from fatt.train.genome import Genome, is_constant, join, leaf, n_leaves
from fatt.train.kernels import changes
from fatt.train.optimum import best_small_tree, most_worth
from fatt.train.training_set import TrainingSet
from tests.laws.effort import for_seeds
from tests.train import town
from tests.train.cases import Case, random_case
from tests.train.test_kernels import SlowWalk

N_SPLITS = 3


def small_case(seed: int) -> Case:
    """Return a case with so few splits that all trees can be tried."""
    case = random_case(seed, n_people=20)
    people, before = case.people, case.objective.people
    chosen = case.rng.permutation(before.n_splits)[:N_SPLITS]
    splits = [before.splits[split] for split in np.sort(chosen)]
    few = TrainingSet.among(people, splits, split_on_varying=True)
    limits = Limits(
        int(case.rng.integers(2, 5)),
        int(case.rng.integers(1, 4)),
        1 + int(case.rng.integers(3)),
    )
    return case._replace(objective=replace(case.objective, people=few, limits=limits))


class Tried(NamedTuple):
    """A tree, the leaf of each person, and the labels each box reaches, as bits."""

    tree: Genome
    leaf_of: NDArray[np.int64]
    reached: NDArray[np.int64]


class AllTrees:
    """Every tree up to some size, put together from smaller ones."""

    def __init__(self, case: Case) -> None:
        self.case, self.slow = case, SlowWalk(case)
        objective = case.objective
        n_boxes = len(case.people.boxes.person)
        self.left, self.reach = [], []
        for split in range(objective.people.n_splits):
            variable = int(self.slow.nodes[split]["feature"])
            values = case.people.values[:, variable]
            self.left.append(
                np.array([self.slow.is_left(split, value) for value in values])
            )
            sides = [self.slow.reach(split, box) for box in range(n_boxes)]
            self.reach.append(np.array(sides).reshape(-1, 2).T)
        n_people = objective.people.n_people
        nowhere = np.zeros(n_people, dtype=np.int64)
        self.of_size = {
            1: [
                Tried(leaf(label), nowhere, np.full(n_boxes, 1 << label))
                for label in range(objective.people.n_classes)
            ]
        }
        for size in range(2, objective.limits.max_leaves + 1):
            self.of_size[size] = [
                self.joined(split, one, other)
                for first in range(1, size)
                for split in range(objective.people.n_splits)
                for one, other in itertools.product(
                    self.of_size[first], self.of_size[size - first]
                )
            ]

    def joined(self, split: int, one: Tried, other: Tried) -> Tried:
        can_left, can_right = self.reach[split]
        return Tried(
            join(split, one.tree, other.tree),
            np.where(self.left[split], one.leaf_of, other.leaf_of + n_leaves(one.tree)),
            one.reached * can_left | other.reached * can_right,
        )

    def worth(self, tried: Tried) -> int:
        """Return what a tree is worth, leaves paid for."""
        objective, person = self.case.objective, self.case.people.boxes.person
        labels = (-1 - tried.tree[tried.tree < 0])[tried.leaf_of]
        n_people = objective.people.n_people
        reached = np.zeros(n_people, dtype=np.int64)
        np.bitwise_or.at(reached, person, tried.reached)
        unfair = (reached & (reached - 1)) != 0
        worth = objective.priced[np.arange(n_people), labels].sum()
        worth -= objective.cost[unfair].sum()
        return int(worth) - objective.per_leaf * n_leaves(tried.tree)

    def best(self) -> int:
        """Return what the best tree is worth that is allowed and tells people apart."""
        objective, most = self.case.objective, changes.NEVER
        for size, trees in self.of_size.items():
            for tried in trees if size > 1 else ():
                count = np.bincount(tried.leaf_of, minlength=size)
                if (
                    count.min() >= objective.limits.min_leaf
                    and objective.allows(tried.tree)
                    and not is_constant(tried.tree)
                ):
                    most = max(most, self.worth(tried))
        return most


def never() -> bool:
    return False


@for_seeds(24)
def test_the_best_small_tree_is_the_best_of_all(seed: int) -> None:
    case = small_case(seed)
    objective = case.objective
    tried = AllTrees(case)
    best = tried.best()
    found = best_small_tree(
        objective, objective.cost, start=None, is_over=never, is_timed=True
    )
    assert found.upper == best
    if found.tree is None:
        assert best == changes.NEVER
        return
    assert objective.allows(found.tree)
    worth = tried.slow.worth(found.tree)
    assert worth - objective.per_leaf * n_leaves(found.tree) == best
    # To be told costs that are too low makes the bound no lower than it is.
    few = np.where(case.rng.random(len(objective.cost)) < 0.5, objective.cost, 0)
    some = best_small_tree(objective, few, start=None, is_over=never, is_timed=True)
    assert some.upper >= best


@for_seeds(40)
def test_no_tree_is_worth_more_than_the_bound_of_what_it_begins_with(seed: int) -> None:
    case = random_case(seed)
    limits = Limits(optimum.MOST_LEAVES, 2 + seed % 2, 1)
    objective = replace(case.objective, limits=limits)
    search = optimum._Search(objective, objective.cost, None)
    rows = search.prefixes()
    for row in case.rng.permutation(rows)[:200].tolist():
        prefix = optimum._Prefix(*row)
        search.best = changes.NEVER
        search.complete(*search.planted(prefix))
        assert search.best <= prefix.bound


@for_seeds(10)
def test_what_is_not_looked_at_leaves_a_gap(seed: int) -> None:
    case = small_case(seed)
    objective, calls = case.objective, itertools.count()
    limit = int(case.rng.integers(6))
    best = AllTrees(case).best()
    some = best_small_tree(
        objective,
        objective.cost,
        start=None,
        is_over=lambda: next(calls) >= limit,
        is_timed=True,
    )
    assert some.upper >= best


@for_seeds(10)
def test_tables_that_are_too_large_leave_a_gap(seed: int) -> None:
    case = small_case(seed)
    objective: Objective = case.objective
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimum, "_TABLES", 0)
        some = best_small_tree(
            objective, objective.cost, start=None, is_over=never, is_timed=True
        )
    assert some.upper >= AllTrees(case).best()


@for_seeds(5)
def test_blocks_of_people_give_the_same_to_the_bit(seed: int) -> None:
    case = random_case(seed)
    limits = Limits(optimum.MOST_LEAVES, 3, 1)
    objective = replace(case.objective, limits=limits)
    found = []
    for cells in (1, 100, optimum._CELLS):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(optimum, "_CELLS", cells)
            found.append(optimum._Search(objective, objective.cost, None).prefixes())
    assert len(found[0]) > 0
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@for_seeds(10)
def test_no_tree_is_worth_more_than_the_best_label_for_everybody(seed: int) -> None:
    case = small_case(seed)
    objective, tried = case.objective, AllTrees(case)
    assert most_worth(objective, 2) >= tried.best()
    for size, trees in tried.of_size.items():
        assert most_worth(objective, size) >= max(map(tried.worth, trees))


def quick(**parameters: Any) -> FATTClassifier:
    similarity = Similarity(noise={"x0": 0.1})
    return FATTClassifier(similarity, random_state=0, max_bins=8, **parameters)


def test_small_trees_say_how_far_from_the_best_they_are() -> None:
    X, y = town.plain(200)
    for most in (2, 3, 4):
        tree = quick(max_leaves=most, fairness_weight=0.2).fit(X, y)
        assert tree.optimal_gap_ == 0
        worse = min(tree.front_, key=lambda one: one.fitness)
        other = tree.with_tree(worse)
        fitness = tree.front_.select().fitness
        assert other.optimal_gap_ == pytest.approx(fitness - worse.fitness, abs=1e-9)
    groups = np.resize(["a", "b"], 200)
    grouped = quick(max_leaves=3, max_gap=1).fit(X, y, sensitive_features=groups)
    assert grouped.optimal_gap_ is None
    hurried = quick(max_leaves=4, max_seconds=0).fit(X, y)
    assert hurried.optimal_gap_ is not None
    assert hurried.optimal_gap_ > 0


def test_larger_trees_say_how_far_from_the_best_label_for_everybody_they_are() -> None:
    X, y = town.plain(200)
    larger = quick(max_leaves=30, leaf_cost=0.0, fairness_weight=0.2).fit(X, y)
    tree = quick(max_leaves=5, leaf_cost=0.0, fairness_weight=0.2).fit(X, y)
    assert tree.optimal_gap_ is not None
    fitness = [one.front_.select().fitness for one in (tree, larger)]
    assert fitness[0] + tree.optimal_gap_ >= fitness[1] > fitness[0]
    # Where two leaves tell everything, and are fair to all, none is better.
    X[:, 1] = X[:, 1] > 0
    plain = quick().fit(X, X[:, 1])
    assert plain.get_n_leaves() == 2
    assert plain.optimal_gap_ == 0
    bred = quick(algorithm="paper", max_iter=2).fit(X, y)
    assert bred.optimal_gap_ is None
