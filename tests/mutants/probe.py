"""A few hundred models, asked in every gear: quick, and hard to get past.

Not collected with the other tests: the laws say the same of more models.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from fatt.ensemble import ScoreBounds
from fatt.verifier import Budget, Verifier
from fatt.verifier.gears import Gears
from tests.cases import Case, random_case
from tests.laws.gears import BARE, GEARS, some_gears
from tests.laws.judge import UNKNOWN, assert_right, truths_of
from tests.laws.rugged import LEAVES, rugged_case
from tests.laws.test_gears import assert_extremes

FEW = (Gears(), BARE, GEARS["dual at once"])


def ask(case: Case, every: Iterable[Gears]) -> None:
    truths = truths_of(case)
    for gears in every:
        outcomes = Verifier(case.ensemble, gears=gears).verify(case.people, case.boxes)
        assert_right(case, outcomes, truths)
    for gears in FEW:
        assert_extremes(case, gears, truths)


@pytest.mark.parametrize("leaves", LEAVES)
def test_rugged_models(leaves: str) -> None:
    for seed in range(12):
        ask(rugged_case(seed, leaves=leaves), GEARS.values())


def test_long_searches() -> None:
    for seed, leaves in enumerate(("steps", "mixed", "votes")):
        ask(rugged_case(seed + 1, leaves=leaves, large=True), GEARS.values())


def test_searches_that_are_cut_short() -> None:
    """What was found until then is true, and bounds the scores from both sides."""
    for seed in range(60):
        case, budget = rugged_case(seed), Budget(nodes=seed % 4)
        truths = truths_of(case)
        for gears in FEW:
            verifier = Verifier(case.ensemble, gears=gears)
            outcomes = verifier.verify(case.people, case.boxes, budget=budget)
            assert_right(case, outcomes, truths, limited=True)
            found = verifier.extremes(case.people, case.boxes, 0, budget=budget)
            _assert_around(found.lowest, [truth.lowest[0] for truth in truths])
            _assert_around(found.highest, [truth.highest[0] for truth in truths])


def test_a_budget_for_everybody() -> None:
    for seed in range(40):
        case = random_case(seed, n_people=5)
        budget, truths = Budget(total_nodes=seed % 9), truths_of(case)
        for gears in (Gears(), BARE):
            verifier = Verifier(case.ensemble, gears=gears)
            outcomes = verifier.verify(case.people, case.boxes, budget=budget)
            assert_right(case, outcomes, truths, limited=True)
            late = np.cumsum(outcomes.nodes) > budget.total_nodes
            assert (outcomes.verdict[late] == UNKNOWN).all()


@pytest.mark.parametrize("style", ["cancelling", "close", "steps"])
def test_sums_without_order(style: str) -> None:
    for seed in range(60):
        case = random_case(seed, ordered=False, style=style)
        outcomes = Verifier(case.ensemble).verify(case.people, case.boxes)
        assert_right(case, outcomes, truths_of(case))


def test_models_of_any_kind() -> None:
    for seed in range(1000, 1220):
        ask(random_case(seed), (*FEW, *some_gears(seed)[1:2]))


def _assert_around(bounds: ScoreBounds, scores: list[float]) -> None:
    assert (bounds.lower <= np.array(scores)).all()
    assert (bounds.upper >= np.array(scores)).all()
