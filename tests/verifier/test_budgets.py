"""Budgets at their borders: small models in which one cost decides."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fatt.ensemble import Categorical, Cut, Ensemble, Numeric
from fatt.region import Boxes
from fatt.region.boxes import Membership
from fatt.region.costs import COST, COUNT, FREE, LINEAR, SQUARE, STEPS, TABLE, Costs
from fatt.verdict import FAIR, UNFAIR, Findings
from fatt.verifier import Verifier
from tests.laws.test_budgets import GEARS, ask, assert_extremes, drawn, truth_of
from tests.verifier.stumps import stumps

INF = math.inf


def asked(
    model: Ensemble,
    own: list[float],
    bounds: tuple[float, float],
    costs: list[tuple[float, int, int, int]],
    most: int,
    **others: Any,
) -> Findings:
    """Ask about one person in a box whose variables all have the same bounds."""
    people = np.array([own])
    boxes = Boxes(
        person=np.zeros(1, dtype=np.int64),
        lower=np.full((1, len(own)), bounds[0]),
        upper=np.full((1, len(own)), bounds[1]),
        missing=np.full((1, len(own)), others.get("missing", False)),
        codes=np.array(others.get("codes", [[]]), dtype=np.uint64),
        costs=Costs(
            rule=np.zeros(1, dtype=np.int64),
            most=np.array([most], dtype=np.int64),
            each=np.array([costs], dtype=COST),
            tables=np.array(others.get("tables", []), dtype=np.int64),
            people=people.copy(),
        ),
    )
    found = Verifier(model).verify(people, boxes)
    if len(found.twins):
        twins = found.twins.everybody()
        inside = Membership(model.features).are_similar(boxes, np.zeros(1, int), twins)
        assert inside.all()
    return found


def sum_of(n: int, **settings: Any) -> Ensemble:
    """A model that answers 1 if at least two of n variables are above their cut."""
    settings = {"thresholds": 0.5, **settings}
    return stumps(
        [(0.0, 1.0)] * n, [0] * n, Cut(at=1.5), dtype="float64", base=(0.0,), **settings
    )


def step(
    threshold: float = 0.5, *, missing_left: bool = False, **feature: Any
) -> Ensemble:
    """A model that answers 1 above a threshold, in two trees that share a variable."""
    settings: Any = {"variables": [0, 0], "dtype": "float64", "base": (0.0,)}
    model = stumps([(0.0, 1.0)] * 2, [0, 0], Cut(at=1.5), **settings)
    nodes = model.trees.nodes.copy()
    is_split = nodes["feature"] >= 0
    nodes["threshold"][is_split] = threshold
    nodes["missing_left"][is_split] = missing_left
    trees = replace(model.trees, nodes=nodes)
    return replace(model, features=(Numeric(name="x0", **feature),), trees=trees)


@pytest.mark.parametrize(("most", "verdict"), [(0, FAIR), (1, FAIR), (2, UNFAIR)])
def test_so_many_variables_may_change(most: int, verdict: int) -> None:
    found = asked(sum_of(4), [0.0] * 4, (0.0, 1.0), [(0.0, COUNT, 1, 0)] * 4, most)
    assert found.verdict.tolist() == [verdict]
    if verdict == UNFAIR:
        assert (found.twins.everybody() != 0).sum() == 2


def test_what_is_free_costs_nothing() -> None:
    costs = [(0.0, FREE, 0, 0), *[(0.0, COUNT, 1, 0)] * 2]
    for most, verdict in ((0, FAIR), (1, UNFAIR)):
        found = asked(sum_of(3), [0.0] * 3, (0.0, 1.0), costs, most)
        assert found.verdict.tolist() == [verdict]


@pytest.mark.parametrize("kind", [LINEAR, SQUARE])
def test_distances_are_those_of_the_nearest_members(kind: int) -> None:
    """Two variables must each go by one half: a sum of 1, a sum of squares of 1/2."""
    size = 2.0**48 if kind == LINEAR else 2.0**24
    need = STEPS if kind == LINEAR else STEPS // 2
    for most, verdict in ((need - 1, FAIR), (need, UNFAIR)):
        found = asked(sum_of(2), [0.0] * 2, (0.0, 1.0), [(size, kind, 0, 0)] * 2, most)
        assert found.verdict.tolist() == [verdict]


def test_tenths_add_up_to_the_limit_in_any_order() -> None:
    """0.3 and 0.7 are within 1, although no float is a tenth."""
    model = sum_of(2, thresholds=[np.nextafter(3.0, 0), np.nextafter(7.0, 0)])
    scale = 0.1 * STEPS
    found = asked(model, [0.0] * 2, (0.0, 9.0), [(scale, LINEAR, 0, 0)] * 2, STEPS)
    assert found.verdict.tolist() == [UNFAIR]
    assert found.twins.everybody().tolist() == [[3.0, 7.0]]


def test_becoming_missing_costs_what_it_costs() -> None:
    for most, verdict in ((2, FAIR), (3, UNFAIR)):
        costs = [(100.0, LINEAR, 3, 0)]
        found = asked(step(), [0.0], (0.0, 1.0), costs, most, missing=True)
        assert found.verdict.tolist() == [verdict]


@pytest.mark.parametrize("integer", [False, True])
def test_a_cut_at_minus_infinity(integer: bool) -> None:
    """The next number is another one, although one more than infinity is the same."""
    for most, verdict in ((0, FAIR), (1, UNFAIR)):
        found = asked(
            step(-INF, integer=integer), [-INF], (-INF, 0.0), [(0.0, COUNT, 1, 0)], most
        )
        assert found.verdict.tolist() == [verdict]


def test_whole_numbers_among_those_that_are_read_as_missing() -> None:
    """Of -0.3 to 0.7 only 0 is whole: 3 away from 3, and not 2.3."""
    gap = (-0.3, 0.7)
    model = step(-5.0, integer=True, missing_range=gap, missing_left=True)
    for most, verdict in ((2, FAIR), (3, UNFAIR)):
        found = asked(model, [3.0], (0.0, 5.0), [(1.0, LINEAR, 0, 0)], most)
        assert found.verdict.tolist() == [verdict]
        if verdict == UNFAIR:
            assert found.twins.everybody().tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("own", "bounds", "scale"),
    [(0.0, (0.0, 1.0), 1e300), (0.0, (0.0, INF), 0.0), (-1e300, (-INF, 1.0), 1e10)],
)
def test_costs_beyond_all_integers(
    own: float, bounds: tuple[float, float], scale: float
) -> None:
    """They are more than any budget; an infinite distance, times nothing, too."""
    threshold = 0.5 if bounds[1] < INF else np.finfo(float).max
    found = asked(step(threshold), [own], bounds, [(scale, LINEAR, 0, 0)], STEPS)
    assert found.verdict.tolist() == [FAIR]


def test_boxes_without_a_budget_stay_boxes() -> None:
    people = np.zeros((2, 4))
    rule = np.array([-1, 0])
    boxes = Boxes(
        person=np.arange(2),
        lower=np.zeros((2, 4)),
        upper=np.ones((2, 4)),
        missing=np.zeros((2, 4), dtype=bool),
        codes=np.zeros((2, 0), dtype=np.uint64),
        costs=Costs(
            rule=rule,
            most=np.zeros(2, dtype=np.int64),
            each=np.full((1, 4), np.array((0.0, COUNT, 1, 0), dtype=COST)),
            tables=np.zeros(0, dtype=np.int64),
            people=people.copy(),
        ),
    )
    found = Verifier(sum_of(4)).verify(people, boxes)
    assert found.verdict.tolist() == [UNFAIR, FAIR]
    # In another order, and one alone.
    for chosen, verdicts in (([1, 0], [FAIR, UNFAIR]), ([0], [UNFAIR])):
        some = np.array(chosen)
        found = Verifier(sum_of(4)).verify(people[some], boxes.of_people(some))
        assert found.verdict.tolist() == verdicts


# ---- Tables.


def codes(n_trees: int) -> Ensemble:
    """A model that answers 1 for the second of three codes; the last is unknown."""
    model = stumps(
        [(0.0, 1.0)] * n_trees,
        [0] * n_trees,
        Cut(at=n_trees - 0.5),
        variables=[0] * n_trees,
        dtype="float64",
        base=(0.0,),
    )
    nodes = model.trees.nodes.copy()
    is_split = nodes["feature"] >= 0
    nodes["subset"] = np.where(is_split, np.cumsum(is_split) - 1, -1)
    nodes["threshold"] = 0.0
    words = np.full(n_trees, 0b101, dtype=np.uint64)
    trees = replace(model.trees, nodes=nodes, words=words)
    feature = Categorical(name="x0", categories=("a", "b"))
    return replace(model, features=(feature,), trees=trees)


def asked_by_table(table: list[int], *, at: int = 0, n_trees: int = 2) -> Findings:
    cost = [(0.0, TABLE, 0, at)]
    given = {"codes": [[7]], "tables": table}
    return asked(codes(n_trees), [1.0], (0.0, 0.0), cost, 1, **given)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_a_table_is_read_by_the_row_of_the_person(n_trees: int) -> None:
    found = asked_by_table([0, 9, 9, 2, 0, 1, 9, 9, 0], n_trees=n_trees)
    assert found.verdict.tolist() == [UNFAIR]
    assert found.twins.everybody().tolist() == [[2.0]]
    found = asked_by_table([0, 1, 1, 2, 0, 2, 1, 1, 0], n_trees=n_trees)
    assert found.verdict.tolist() == [FAIR]


@pytest.mark.parametrize(
    ("table", "at", "what"),
    [
        ([0, 0, 0, 1, 1, 1, 0, 0, 0], 0, "from code 1 to 1"),
        ([0, 0, 0, -1, 0, 1, 0, 0, 0], 0, "from code 1 to 0"),
        ([0] * 9, 1, "no such table"),
        ([0] * 8, 0, "no such table"),
        ([0] * 9, -1, "no such table"),
    ],
)
def test_tables_that_cannot_be_are_refused(
    table: list[int], at: int, what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        asked_by_table(table, at=at)


def test_numbers_have_no_table_and_categories_no_distance() -> None:
    with pytest.raises(ValueError, match="no such table"):
        asked(step(), [0.0], (0.0, 1.0), [(0.0, TABLE, 0, 0)], 1, tables=[0] * 9)
    cost = [(1.0, LINEAR, 0, 0)]
    with pytest.raises(ValueError, match="has codes, no distance"):
        asked(codes(2), [1.0], (0.0, 0.0), cost, 1, codes=[[7]])


# ---- Long searches, drawn: what only thousands of models showed.


@pytest.mark.parametrize(("seed", "place"), [(151, 7), (1507, 5), (1664, 5), (2889, 7)])
def test_dual_ascent_may_drop_the_last_block(seed: int, place: int) -> None:
    """A domain without blocks has no cheapest one."""
    case = drawn(seed)
    truths = [truth_of(case, person) for person in range(len(case.people))]
    assert_extremes(case, Verifier(case.ensemble, gears=GEARS[place]), truths)


@pytest.mark.parametrize("seed", [117, 146, 375, 459])
def test_the_cheapest_point_of_a_smaller_part_need_not_be_paid(seed: int) -> None:
    """Where the best leaves meet, or dual ascent dropped what was cheaper."""
    assert ask(drawn(seed), seed)
