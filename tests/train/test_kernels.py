"""What the kernels tell about trees is what a slow walk through them tells.

The slow walk knows no ranks and no families: it asks every split about every person,
and about every value that a box allows.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fatt.ensemble import Categorical
from fatt.region import code_words
from fatt.train.descent import Known, best_change, descend
from fatt.train.fitness import Limits, Scored
from fatt.train.genome import (
    Genome,
    depth_of,
    ends,
    is_constant,
    join,
    leaf,
    leaf_spans,
    n_leaves,
    replace,
)
from fatt.train.growth import Leaf, grow
from fatt.train.kernels import sending
from fatt.train.kernels.changes import NEVER, score_changes
from fatt.train.splits import as_stumps
from fatt.train.training_set import UNITS
from tests.laws.effort import for_seeds
from tests.train.cases import Case, full_tree, random_case, random_tree

Sides = tuple[bool, bool]


class SlowWalk:
    """Everything about one case, asked of the splits themselves."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.people, self.set = case.people, case.objective.people
        self.features = case.people.variables.ensemble.features
        stumps = as_stumps(case.people.variables, self.set.splits)
        self.nodes, self.words = stumps.nodes[stumps.roots], stumps.words
        self.boxes: list[list[int]] = [[] for _ in range(self.set.n_people)]
        for box, person in enumerate(case.people.boxes.person.tolist()):
            self.boxes[person].append(box)
        self.reach = functools.cache(self._reach)

    def is_left(self, split: int, value: float) -> bool:
        node = self.nodes[split]
        if np.isnan(value):
            return bool(node["missing_left"])
        if node["subset"] < 0:
            return bool(value <= node["threshold"])
        word = int(self.words[node["subset"] + int(value) // 64])
        return bool(word >> (int(value) % 64) & 1)

    def values_of(self, variable: int, box: int) -> list[float]:
        """Return all that a box allows; of numbers the ends tell it all."""
        boxes = self.people.boxes
        values = [np.nan] if boxes.missing[box, variable] else []
        feature = self.features[variable]
        if not isinstance(feature, Categorical):
            low, high = boxes.lower[box, variable], boxes.upper[box, variable]
            return [*values, low, high] if low <= high else values
        start = code_words(self.features)[variable]
        for code in range(feature.n_codes):
            word = int(boxes.codes[box, start + code // 64])
            if word >> (code % 64) & 1:
                values.append(float(code))
        return values

    def _reach(self, split: int, box: int) -> Sides:
        variable = int(self.nodes[split]["feature"])
        sides = {self.is_left(split, x) for x in self.values_of(variable, box)}
        return True in sides, False in sides

    def leaf_of(self, tree: Genome, person: int) -> int:
        """Return the node where somebody arrives."""
        end, place = ends(tree), 0
        while tree[place] >= 0:
            variable = int(self.nodes[tree[place]]["feature"])
            value = self.people.values[person, variable]
            place = place + 1 if self.is_left(tree[place], value) else end[place + 1]
        return int(place)

    def leaves(self, tree: Genome, box: int) -> set[int]:
        """Return all leaves that a box reaches, numbered from left to right."""
        end, number, found, waiting = ends(tree), np.cumsum(tree < 0) - 1, set(), [0]
        while waiting:
            place = waiting.pop()
            if tree[place] < 0:
                found.add(int(number[place]))
                continue
            left, right = self.reach(int(tree[place]), box)
            waiting += [place + 1] * left + [int(end[place + 1])] * right
        return found

    def labels(self, tree: Genome, person: int) -> set[int]:
        """Return all labels that somebody's boxes reach."""
        labels = (-1 - tree[tree < 0]).tolist()
        boxes = self.boxes[person]
        return {labels[at] for box in boxes for at in self.leaves(tree, box)}

    def worth(self, tree: Genome) -> int:
        """Return what a tree is worth, its leaves apart."""
        objective, total = self.case.objective, 0
        for person in range(self.set.n_people):
            label = -1 - int(tree[self.leaf_of(tree, person)])
            total += int(objective.priced[person, label])
            if len(self.labels(tree, person)) > 1:
                total -= int(objective.cost[person])
        return total

    def here(self, tree: Genome, place: int) -> list[int]:
        """Return who passes a node."""
        last = ends(tree)[place]
        everyone = range(self.set.n_people)
        return [i for i in everyone if place <= self.leaf_of(tree, i) < last]


def bits_of(words: np.ndarray) -> set[int]:
    """Return which bits of a row of words are set."""
    return {
        64 * at + bit
        for at, word in enumerate(words.tolist())
        for bit in range(64)
        if word >> bit & 1
    }


def for_cases(count: int) -> Callable[[Any], Any]:
    def decorate(test: Callable[[Case], None]) -> Any:
        @for_seeds(count)
        def run(seed: int) -> None:
            case = random_case(seed)
            if case.objective.people.n_splits:
                test(case)

        run.__name__ = test.__name__  # type: ignore[attr-defined]
        return run

    return decorate


def changes(case: Case, tree: Genome, place: int) -> tuple[Any, list[Genome]]:
    """Return all pairs of parts, and the parts, for a node."""
    n_classes, end = case.objective.people.n_classes, ends(tree)
    parts = [leaf(label) for label in range(n_classes)]
    numbers = list(range(n_classes))
    if tree[place] >= 0:
        middle = end[place + 1]
        parts += [tree[place + 1 : middle], tree[middle : end[place]]]
        numbers += [n_classes, n_classes + 1]
    else:
        parts += [leaf(0), leaf(0)]
    parts.append(tree[place : end[place]])
    numbers.append(n_classes + 2)
    pairs = np.array(list(itertools.product(numbers, repeat=2)), dtype=np.int64)
    return pairs, parts


@for_cases(60)
def test_every_change_is_worth_what_the_changed_tree_is(case: Case) -> None:
    slow, people = SlowWalk(case), case.objective.people
    tree = random_tree(case)
    place = int(case.rng.integers(len(tree)))
    pairs, parts = changes(case, tree, place)
    # Two parts are scored together with the same two exchanged.
    pairs = case.rng.permutation(pairs)[:2]
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    traced = people.trace(tree)
    alone, scores = case.objective.score_changes(traced, place, pairs)
    for part, found in zip(parts, alone.tolist(), strict=True):
        if found == NEVER:
            assert tree[place] < 0
        else:
            assert found == slow.worth(replace(tree, place, part))
    assert (alone == NEVER).sum() == (2 if tree[place] < 0 else 0)
    here, least = slow.here(tree, place), case.objective.limits.min_leaf
    for (inner, outer), row in zip(pairs.tolist(), scores, strict=True):
        for split in case.rng.permutation(people.n_splits)[:6].tolist():
            left, right = parts[inner], parts[outer]
            if people.ranks.flipped[split]:
                left, right = right, left
            new = replace(tree, place, join(split, left, right))
            variable = int(slow.nodes[split]["feature"])
            n_left = sum(
                slow.is_left(split, case.people.values[i, variable]) for i in here
            )
            if min(n_left, len(here) - n_left) < least:
                assert row[split] == NEVER
            else:
                assert row[split] == slow.worth(new)


@for_cases(60)
def test_trees_are_scored_as_the_walk_says(case: Case) -> None:
    slow, people = SlowWalk(case), case.objective.people
    tree = random_tree(case)
    leaves = np.flatnonzero(tree < 0)
    everyone = range(people.n_people)
    at = [slow.leaf_of(tree, person) for person in everyone]
    assert leaves[people.leaf_of(tree)].tolist() == at
    unfair = np.array([len(slow.labels(tree, person)) > 1 for person in everyone])
    traced = people.trace(tree)
    assert traced.unfair.tolist() == unfair.tolist()
    assert leaves[traced.leaf].tolist() == at
    for box in range(len(case.people.boxes.person)):
        assert slow.leaves(tree, box) == bits_of(traced.reached[box])
    count = [len(slow.here(tree, place)) for place in range(len(tree))]
    assert people.count(tree).tolist() == count
    scored = case.objective.score(tree)
    labels = -1 - tree[at]
    worth = case.objective.worth[np.arange(people.n_people), labels].sum()
    assert scored.accuracy == worth / UNITS
    assert scored.fairness == 1 - people.weight[unfair].sum() / UNITS
    fitness = slow.worth(tree) - case.objective.per_leaf * n_leaves(tree)
    constant = case.objective.fairness_weight
    assert scored.fitness == pytest.approx(fitness / UNITS + constant, abs=1e-9)


@for_cases(4)
def test_leaves_are_told_apart_whatever_their_number(case: Case) -> None:
    slow, people = SlowWalk(case), case.objective.people
    tree = full_tree(case, depth=7)
    assert n_leaves(tree) > 64
    traced = people.trace(tree)
    for box in case.rng.permutation(len(traced.reached))[:8].tolist():
        assert bits_of(traced.reached[box]) == slow.leaves(tree, box)
    # Of the last leaf, and of a split whose leaves are in two words.
    wide = np.flatnonzero((leaf_spans(tree)[0] < 64) & (leaf_spans(tree)[1] > 64))
    for place in (len(tree) - 1, int(wide[-1])):
        alone, _ = case.objective.score_changes(traced, place, np.zeros((0, 2), int))
        assert alone[-1] == slow.worth(tree)
        assert alone[0] == slow.worth(replace(tree, place, leaf(0)))


@for_cases(40)
def test_splits_do_at_a_leaf_what_they_do_to_each_person(case: Case) -> None:
    slow, people = SlowWalk(case), case.objective.people
    n_boxes = len(case.people.boxes.person)
    here = np.flatnonzero(case.rng.random(people.n_people) < 0.6)
    near = np.flatnonzero(case.rng.random(n_boxes) < 0.6)
    tally = people.tally(here, near, case.objective.worth)
    for split in case.rng.permutation(people.n_splits)[:12].tolist():
        variable = int(slow.nodes[split]["feature"])
        left = np.array(
            [slow.is_left(split, x) for x in case.people.values[here, variable]], bool
        )
        assert people.ranks.goes_left(split, here).tolist() == left.tolist()
        inside = left != people.ranks.flipped[split]
        assert tally.n_inside[split] == inside.sum()
        worth = case.objective.worth[here[inside]].sum(axis=0)
        assert tally.inside[:, split].tolist() == worth.tolist()
        reached = [slow.reach(split, box) for box in near.tolist()]
        for mine, theirs in zip(
            people.ranks.reaches(split, near), zip(*reached, strict=True), strict=True
        ):
            assert mine.tolist() == list(theirs)
        torn = [all(sides) for sides in reached]
        weight = people.weight[case.people.boxes.person[near]]
        assert tally.torn[split] == weight[torn].sum()


@for_cases(30)
def test_the_best_change_is_the_best_of_all(case: Case) -> None:
    tree = random_tree(case, depth=2)
    # Often there is room for one leaf more, and often not.
    limits = Limits(
        n_leaves(tree) + int(case.rng.integers(2)),
        depth_of(tree) + int(case.rng.integers(2)),
        case.objective.limits.min_leaf,
    )
    objective = dataclasses.replace(case.objective, limits=limits)
    place = int(case.rng.integers(len(tree)))
    pairs, parts = changes(case, tree, place)
    traced = objective.people.trace(tree)
    alone, scores = objective.score_changes(traced, place, pairs)

    def fitness(new: Genome, worth: int) -> float:
        if is_constant(new):
            return -np.inf
        return worth - objective.per_leaf * n_leaves(new)

    possible = [
        fitness(replace(tree, place, part), worth)
        for part, worth in zip(parts, alone.tolist(), strict=True)
        if worth != NEVER
    ]
    now = possible[-1]
    n_classes = objective.people.n_classes
    for (inner, outer), row in zip(pairs.tolist(), scores, strict=True):
        is_stump = inner < n_classes and outer < n_classes and inner != outer
        if is_stump or {inner, outer} == {n_classes, n_classes + 1}:
            split = int(np.argmax(row))
            new = replace(tree, place, join(split, parts[inner], parts[outer]))
            if row[split] != NEVER and objective.allows(new):
                possible.append(fitness(new, int(row[split])))
    change = best_change(objective, traced, place)
    if change is None:
        assert max(possible) == now
        return
    new = change.apply(tree)
    slow = SlowWalk(case)
    assert fitness(new, slow.worth(new)) == max(possible) > now
    # Nodes that stay keep their numbers.
    numbers = np.array(change.follow(list(range(len(tree)))))
    assert len(numbers) == len(new)
    kept = numbers >= 0
    assert (tree[numbers[kept]] == new[kept]).all()
    outside = np.r_[0:place, ends(tree)[place] : len(tree)]
    assert set(outside) <= set(numbers[kept].tolist())


@for_cases(20)
def test_descents_that_share_what_they_know_end_where_each_ends_alone(
    case: Case,
) -> None:
    objective = case.objective
    shared: Known = {}
    for seed in range(3):
        start = random_tree(case, depth=3)
        paths: list[list[Scored]] = [[], []]
        alone: Known = {}
        n_passes = [
            descend(
                objective,
                start,
                np.random.default_rng(seed),
                passes=50,
                is_over=lambda: False,
                found=path,
                known=known,
            )
            for path, known in zip(paths, (alone, shared), strict=True)
        ]
        trees = [[one.tree.tolist() for one in path] for path in paths]
        assert trees[0] == trees[1]
        assert n_passes[0] == n_passes[1]
    for (tree, place), change in shared.items():
        traced = objective.people.trace(np.frombuffer(tree, dtype=np.int32))
        assert best_change(objective, traced, place) == change


@for_cases(20)
def test_growths_that_share_a_leaf_grow_what_each_grows_alone(case: Case) -> None:
    objective = case.objective
    root = Leaf.of_all(objective)
    for split in range(objective.people.n_splits):
        for side in root.sides(split):
            worth = objective.worth[side.people].sum(axis=0)
            assert side.worth.tolist() == worth.tolist()
    for caution in (0.0, 0.1, 0.8):
        tree = grow(root, objective.limits, caution=caution)
        alone = grow(Leaf.of_all(objective), objective.limits, caution=caution)
        assert np.array_equal(tree, alone)


@for_cases(20)
def test_no_change_leaves_everybody_with_one_label(case: Case) -> None:
    alike = random_tree(case, depth=3)
    alike[alike < 0] = -1
    change = best_change(case.objective, case.objective.people.trace(alike), 0)
    # There is none if no split leaves enough people on both sides.
    if change is not None:
        assert not is_constant(change.apply(alike))


@for_cases(20)
def test_some_of_the_people_stand_where_they_stood(case: Case) -> None:
    chosen = case.rng.permutation(case.objective.people.n_people)[:17]
    few = case.objective.of_people(chosen)
    for _ in range(3):
        tree = random_tree(case)
        assert np.array_equal(
            few.people.leaf_of(tree), case.objective.people.leaf_of(tree)[chosen]
        )
        assert np.array_equal(
            few.people.trace(tree).unfair,
            case.objective.people.trace(tree).unfair[chosen],
        )


def test_broken_trees_are_refused() -> None:
    case = random_case(2)
    ranks, n_splits = case.objective.people.ranks, case.objective.people.n_splits
    leaves = np.zeros(case.objective.people.n_people, dtype=np.int64)
    for codes in ([], [0, -1], [-1, -1], [n_splits, -1, -1], [-9]):
        with pytest.raises(ValueError, match=r"tree|node"):
            sending.send_people(ranks, np.array(codes, dtype=np.int32), 2, leaves)


def test_rows_that_do_not_fit_the_ranks_are_refused() -> None:
    people = random_case(2).objective.people
    traced, worth = people.trace(leaf(0)), np.zeros((people.n_people, 2), np.int64)
    rows = people.rows
    wrong = {
        "as many rows as families": rows._replace(order=rows.order[:-1]),
        "is none of": rows._replace(order=rows.order + 1),
        "no chain, or no singles": rows._replace(order=rows.order[::-1].copy()),
        "fewer rows than": rows._replace(n_still=len(rows.order) + 1),
        "own has the shape": rows._replace(own=rows.own[:-1]),
        "ends has the shape": rows._replace(ends=rows.ends[:-1]),
    }
    alone, scores = np.empty(5, np.int64), np.empty((0, people.n_splits), np.int64)
    pairs, unfair = np.empty((0, 2), np.int64), np.zeros(people.n_people, np.int64)
    for said, given in wrong.items():
        with pytest.raises(ValueError, match=said):
            score_changes(
                people.ranks, given, traced, 0, pairs, worth, unfair, 1, alone, scores
            )
    few = dataclasses.replace(traced, unfair=traced.unfair[:-1])
    with pytest.raises(ValueError, match="is_unfair has the shape"):
        score_changes(
            people.ranks, rows, few, 0, pairs, worth, unfair, 1, alone, scores
        )
