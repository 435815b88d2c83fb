"""Boxes with budgets, held to brute force over all cells, with costs of its own.

A few hundred random models; ``python -m tests.laws.test_budgets 5000`` asks thousands,
and ``python -m tests.laws.test_budgets 5000 20000`` goes on from the 20,000th.
"""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.region.boxes import Membership
from fatt.region.costs import COST, COUNT, FREE, LINEAR, SQUARE, STEPS, TABLE, Costs
from fatt.verdict import FAIR, UNFAIR, Findings
from fatt.verifier import Verifier
from fatt.verifier.gears import Gears
from tests.cases import Case, arrays_of, random_case
from tests.laws.gears import NEVER
from tests.laws.rugged import _on_the_edge, rugged_case
from tests.search_oracles import (
    _near_tie,
    as_read,
    goes_left,
    is_member,
    labels_of,
    members,
    possible_of,
)

#: Nothing but branching, until prices and multipliers are added.
BARE = Gears(
    screen=False,
    only_tree=False,
    move_once=False,
    local_sweeps=0,
    restart_at=NEVER,
    quotes=False,
    priced_after=NEVER,
)
GEARS = (
    Gears(),
    BARE,
    replace(BARE, quotes=True),
    replace(BARE, priced_after=0),
    replace(BARE, priced_after=0, priced_sweeps=40, dual_gain=999),
    replace(BARE, quotes=True, priced_after=0, local_sweeps=2, restart_at=2),
    Gears(screen=False, priced_after=3, priced_sweeps=2, dual_gain=1, room=4, ties=1),
    Gears(move_once=False, score_cuts=False, priced_after=2),
)

MOST_POINTS = 1500

Floats = NDArray[np.float64]


def random_costs(case: Case, rng: np.random.Generator) -> Costs:
    """Draw counts, distances, squares and tables, and budgets from 0 to `STEPS`."""
    features = case.ensemble.features
    each = np.zeros((2, len(features)), dtype=COST)
    tables = [np.zeros(0, dtype=np.int64)]
    counts_only = rng.random() < 0.35
    for cost, feature in zip(each.ravel(), [*features, *features], strict=True):
        cost["missing"] = rng.integers(4)
        if counts_only:
            cost["kind"] = COUNT if rng.random() < 0.85 else FREE
            cost["missing"] = 1
        elif not isinstance(feature, Categorical):
            cost["kind"] = rng.choice([FREE, COUNT, LINEAR, LINEAR, SQUARE])
            cost["scale"] = rng.choice([0.5, 1.0, 3.7, 1e3, 2.0**30 / 3])
        else:
            cost["kind"] = rng.choice([FREE, COUNT, TABLE, TABLE])
            if cost["kind"] == TABLE:
                shape = (feature.n_codes, feature.n_codes)
                table = rng.integers(0, 5, shape) * int(rng.choice([1, 1, 7]))
                np.fill_diagonal(table, 0)
                cost["table"] = sum(map(len, tables))
                tables.append(table.ravel())
    count = len(case.boxes)
    rule = rng.integers(-1 if rng.random() < 0.2 else 0, 2, size=count)
    budgets = range(4) if counts_only else [0, 1, 2, 3, 5, 12, 2000, 2**30, STEPS]
    return Costs(
        rule=rule.astype(np.int64),
        most=np.full(count, rng.choice(budgets), dtype=np.int64),
        each=each,
        tables=np.concatenate(tables),
        people=case.people.copy(),
    )


def cost_of(costs: Costs, feature: Any, index: int, rule: int, pair: Any) -> float:
    """Return what one value costs, in Python's own numbers; infinity for too much."""
    cost = costs.each[rule, index]
    own, other = map(float, pair)
    if cost["kind"] == FREE or own == other or (math.isnan(own) and math.isnan(other)):
        return 0
    if math.isnan(own) or math.isnan(other):
        return int(cost["missing"])
    if cost["kind"] == COUNT:
        return int(cost["missing"])
    if cost["kind"] == TABLE:
        place = int(cost["table"]) + int(own) * feature.n_codes + int(other)
        return int(costs.tables[place])
    size = float(cost["scale"]) * abs(other - own)
    size = size * size if cost["kind"] == SQUARE else size
    return math.floor(Fraction(size)) if math.isfinite(size) else math.inf


def total_of(case: Case, box: int, other: Any) -> float:
    """Return what another person costs in a box; nothing if it has no budget."""
    costs = case.boxes.costs
    assert costs is not None
    rule = int(costs.rule[box])
    own = case.people[case.boxes.person[box]]
    if rule < 0:
        return 0
    pairs = zip(own, other, strict=True)
    features = case.ensemble.features
    return sum(
        cost_of(costs, features[index], index, rule, pair)
        for index, pair in enumerate(pairs)
    )


def is_similar(case: Case, person: int, other: Any) -> bool:
    """Tell whether another lies in a person's box, within its budget."""
    costs = case.boxes.costs
    assert costs is not None
    return any(
        is_member(case.ensemble, case.boxes, box, other)
        and (costs.rule[box] < 0 or total_of(case, box, other) <= costs.most[box])
        for box in np.flatnonzero(case.boxes.person == person)
    )


def cheapest(case: Case, box: int, index: int) -> tuple[list[float], list[float]]:
    """Return the cheapest member of each cell of a variable, and its cost."""
    ensemble, boxes, costs = case.ensemble, case.boxes, case.boxes.costs
    assert costs is not None
    feature = ensemble.features[index]
    own = case.people[boxes.person[box], index]
    values = np.append(members(ensemble, boxes, box, index), own)
    gap = None if isinstance(feature, Categorical) else feature.missing_range
    if gap is not None and not np.isnan(own):
        low = max(gap[0], boxes.lower[box, index])
        high = min(gap[1], boxes.upper[box, index])
        if feature.integer:
            low, high = np.ceil(low), np.floor(high)
        if low <= high:
            values = np.append(values, min(max(own, low), high))
    nodes = np.flatnonzero(ensemble.trees.nodes["feature"] == index)
    left = np.array([goes_left(ensemble, node, values) for node in nodes])
    left = left.reshape(len(nodes), len(values)).astype(bool)
    rule = int(costs.rule[box])
    found: dict[bytes, tuple[float, float]] = {}
    for place, value in enumerate(values):
        price = 0.0
        if rule >= 0:
            price = cost_of(costs, feature, index, rule, (own, value))
        cell = left[:, place].tobytes()
        if cell not in found or price < found[cell][0]:
            found[cell] = (price, value)
    return [value for _, value in found.values()], [cost for cost, _ in found.values()]


@dataclass
class Truth:
    """What brute force finds among those whom a person's budgets allow."""

    labels: set[int]
    is_open: bool
    lowest: float
    highest: float
    n_cut: int


def points_of(case: Case, box: int) -> tuple[Floats, bool]:
    """Return all combinations of cells that can be paid, and whether some cannot."""
    costs = case.boxes.costs
    assert costs is not None
    each = [cheapest(case, box, i) for i in range(len(case.ensemble.features))]
    points = np.array(list(itertools.product(*(values for values, _ in each))))
    if costs.rule[box] < 0:
        return points, False
    # Infinities and large integers: as objects, so that nothing is rounded.
    paid = [
        sum(some) <= costs.most[box]
        for some in itertools.product(*(c for _, c in each))
    ]
    return points[paid], not all(paid)


def truth_of(case: Case, person: int) -> Truth:
    """Score all combinations of cells that can be paid, in all boxes of a person."""
    ensemble = case.ensemble
    truth = Truth(set(), False, math.inf, -math.inf, 0)
    for box in np.flatnonzero(case.boxes.person == person):
        points, is_cut = points_of(case, box)
        truth.n_cut += is_cut
        scores = ensemble._scores(as_read(ensemble, points)).astype(np.float64)
        truth.labels |= set(labels_of(ensemble, points).tolist())
        truth.is_open |= _near_tie(ensemble, scores)
        truth.is_open |= bool((possible_of(ensemble, points).sum(axis=1) > 1).any())
        truth.lowest = min(truth.lowest, scores[:, -1].min())
        truth.highest = max(truth.highest, scores[:, -1].max())
    return truth


def drawn(seed: int) -> Case:
    """Return a random model, people, and boxes with budgets."""
    case = random_case(seed, most_points=MOST_POINTS, scale=1 + seed % 3)
    costs = random_costs(case, np.random.default_rng(seed))
    return replace(case, boxes=replace(case.boxes, costs=costs))


def rugged(seed: int) -> Case:
    """Return a case that the search must branch for.

    The decision lies at the highest score that the budget allows, or beside it.
    """
    rng, case = np.random.default_rng(seed), rugged_case(seed)
    boxes = replace(case.boxes, costs=random_costs(case, rng))
    case = replace(case, boxes=boxes)
    points = np.concatenate([points_of(case, box)[0] for box in range(len(boxes))])
    return replace(case, ensemble=_on_the_edge(rng, case.ensemble, points))


def assert_right(case: Case, found: Findings, truths: list[Truth]) -> None:
    """Assert that verdicts and labels are true, and twins similar within the budget."""
    ensemble, ordered = case.ensemble, case.ensemble.scoring.ordered
    twins, own = arrays_of(found)["twin"], labels_of(ensemble, case.people)
    inside = Membership(ensemble.features)
    for person, truth in enumerate(truths):
        verdict = int(found.verdict[person])
        labels = set(np.flatnonzero(found.labels[person]).tolist())
        assert not ordered or truth.labels <= labels, "a label that occurs is excluded"
        if verdict == FAIR:
            assert not ordered or truth.labels == {int(own[person])}, "a wrong FAIR"
        elif verdict == UNFAIR:
            twin = twins[person]
            assert is_similar(case, person, twin), "the twin is not similar"
            who = np.array([person])
            assert inside.are_similar(case.boxes, who, twin[np.newaxis]).all()
            assert labels_of(ensemble, twin[np.newaxis])[0] != own[person]
        else:
            assert truth.is_open, "UNKNOWN without a reason"


def assert_membership(case: Case, rng: np.random.Generator) -> None:
    """Assert that any values of a box, paid or not, are known for what they are."""
    inside = Membership(case.ensemble.features)
    n_boxes = np.bincount(case.boxes.person)
    for box, person in enumerate(case.boxes.person):
        # Numbers that are read as missing may be in another box as missing.
        for _ in range(4 if n_boxes[person] == 1 else 0):
            other = case.people[person].copy()
            for index in range(len(other)):
                if rng.random() < 0.5:
                    values = members(case.ensemble, case.boxes, box, index)
                    other[index] = rng.choice(values)
            who, rows = np.array([person]), other[np.newaxis]
            [similar] = inside.are_similar(case.boxes, who, rows)
            assert similar == is_similar(case, person, other)


def assert_extremes(case: Case, verifier: Verifier, truths: list[Truth]) -> None:
    """Assert that the lowest and highest last scores are those of brute force."""
    output = case.ensemble.n_outputs - 1
    found = verifier.extremes(case.people, case.boxes, output)
    for person, truth in enumerate(truths):
        low, high = truth.lowest, truth.highest
        room = 1e-9 * max(abs(low), abs(high))
        lower, upper = found.lowest.lower[person], found.lowest.upper[person]
        assert lower <= low <= upper + room, "the lowest"
        lower, upper = found.highest.lower[person], found.highest.upper[person]
        assert lower - room <= high <= upper, "the highest"
        for point in (found.lowest_at[person], found.highest_at[person]):
            assert is_similar(case, person, point), "the point is not similar"


def ask(case: Case, seed: int) -> list[tuple[int, Truth]]:
    """Hold one model to brute force in every gear; return verdicts and truths."""
    if case.ensemble.joints:
        return []
    truths = [truth_of(case, person) for person in range(len(case.people))]
    assert_membership(case, np.random.default_rng(seed))
    for place, gears in enumerate(GEARS):
        verifier = Verifier(case.ensemble, gears=gears)
        found = verifier.verify(case.people, case.boxes)
        assert_right(case, found, truths)
        # The largest margin needs a proof, also where the answer differs.
        if case.ensemble.scoring.ordered and (seed + place) % 3 == 0:
            assert_extremes(case, verifier, truths)
    return list(zip(found.verdict.tolist(), truths, strict=True))


@pytest.mark.parametrize("first", range(0, 240, 20))
def test_budgets_are_kept(first: int) -> None:
    """No verdict is wrong, whatever differs costs, and whatever gear comes first."""
    seeds = range(first, first + 20)
    found = [each for seed in seeds for each in ask(drawn(seed), seed)]
    verdicts = {verdict for verdict, _ in found}
    assert {FAIR, UNFAIR} <= verdicts
    # The budget, and not the box alone, says who is similar.
    assert sum(truth.n_cut > 0 for _, truth in found) > len(found) // 8


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_budgets_are_kept_at_the_edge(first: int) -> None:
    """One point that can be paid decides, or none."""
    for seed in range(first, first + 20):
        ask(rugged(seed), seed)


def main(count: int = 360, first: int = 0) -> None:
    """Ask so many models of each kind; print how many people there were."""
    people = cut = 0
    for seed in range(first, first + count):
        for draw in (drawn, rugged):
            try:
                found = ask(draw(seed), seed)
            except AssertionError as error:
                raise AssertionError(f"{draw.__name__}, seed {seed}") from error
            people += len(found)
            cut += sum(truth.n_cut > 0 for _, truth in found)
        if seed % 100 == 99:
            told = f"{seed + 1}: {people} people, {cut} with less than a box\n"
            sys.stderr.write(told)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
