"""No similar person ever contradicts a verdict, whatever the budget.

``FATT_EFFORT=100 pytest tests/laws/test_soundness.py`` tries a hundred times harder.
"""

from __future__ import annotations

import numpy as np
import pytest

from fatt.ensemble import Categorical
from fatt.verifier import Budget, Verifier
from tests.cases import Case, arrays_of, random_case, values_near
from tests.laws.effort import for_seeds
from tests.laws.gears import some_gears
from tests.laws.judge import FAIR, UNFAIR, assert_right, assert_twin, truths_of
from tests.search_oracles import is_member, labels_of, members, witnessed_labels


def samples(case: Case, box: int, rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw members: at random, at thresholds and beside them, any category, missing."""
    person = case.people[case.boxes.person[box]]
    rows = np.tile(person, (count, 1))
    for index, feature in enumerate(case.ensemble.features):
        pool = members(case.ensemble, case.boxes, box, index)
        if not isinstance(feature, Categorical):
            near = values_near(case.ensemble, index, rng)
            low, high = case.boxes.lower[box, index], case.boxes.upper[box, index]
            pool = np.append(pool, near[(near >= low) & (near <= high)])
        moves = rng.random(count) < 0.8
        rows[moves, index] = rng.choice(pool, size=int(moves.sum()))
    return rows


@for_seeds(100)
def test_no_similar_person_contradicts_a_verdict(seed: int) -> None:
    case = random_case(seed, most_points=10**9, scale=3)
    rng = np.random.default_rng(seed)
    budget = Budget(nodes=int(rng.choice([0, 1, 3, 300])))
    found = [
        Verifier(case.ensemble, gears=gears).verify(
            case.people, case.boxes, budget=budget, n_jobs=1
        )
        for gears in some_gears(seed)
    ]
    twins = [arrays_of(outcomes)["twin"] for outcomes in found]
    own = labels_of(case.ensemble, case.people)
    for box, person in enumerate(case.boxes.person.tolist()):
        rows = samples(case, box, rng, 200)
        assert is_member(case.ensemble, case.boxes, box, rows[0])
        seen = np.unique(labels_of(case.ensemble, rows))
        witnessed = witnessed_labels(case.ensemble, rows)
        for outcomes, twin in zip(found, twins, strict=True):
            assert outcomes.labels[person, seen].all()
            if outcomes.verdict[person] == FAIR:
                assert witnessed <= {own[person]}
            if outcomes.verdict[person] == UNFAIR:
                assert_twin(case, person, twin[person], int(own[person]))


@pytest.mark.parametrize("nodes", [0, 1, 3])
@for_seeds(100)
def test_a_budget_costs_verdicts_but_not_truth(nodes: int, seed: int) -> None:
    case = random_case(seed)
    truths = truths_of(case)
    for gears in some_gears(seed):
        outcomes = Verifier(case.ensemble, gears=gears).verify(
            case.people, case.boxes, budget=Budget(nodes=nodes), n_jobs=1
        )
        assert_right(case, outcomes, truths, limited=True)


@for_seeds(40)
def test_no_budget_for_the_whole_run_either(seed: int) -> None:
    case = random_case(seed, n_people=5)
    rng = np.random.default_rng(seed)
    budget = Budget(total_nodes=int(rng.integers(0, 9)))
    truths = truths_of(case)
    for gears in some_gears(seed):
        outcomes = Verifier(case.ensemble, gears=gears).verify(
            case.people, case.boxes, budget=budget, n_jobs=1
        )
        assert_right(case, outcomes, truths, limited=True)


@for_seeds(20)
def test_no_time_at_all_is_a_budget_too(seed: int) -> None:
    case = random_case(seed)
    outcomes = Verifier(case.ensemble).verify(
        case.people, case.boxes, budget=Budget(seconds=0.0), n_jobs=1
    )
    assert_right(case, outcomes, truths_of(case), limited=True)
