"""No gear of the search changes a verdict, and each of them is really entered.

``FATT_EFFORT=100 pytest tests/laws/test_gears.py`` tries a hundred times harder.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fatt.verifier import Budget, Verifier
from fatt.verifier.gears import Gears
from tests.cases import Case, random_case
from tests.laws.effort import for_seeds
from tests.laws.gears import BARE, GEARS
from tests.laws.judge import FAIR, UNFAIR, assert_right, truths_of
from tests.laws.rugged import LEAVES, rugged_case
from tests.search_oracles import Truth, labels_of

#: What a search in this gear must have entered, somewhere among the cases.
ENTERED = {
    "defaults": {"moved_once", "restarted", "dual_ascents", "dual_closed"},
    "local search, but no single moves": {"restarted", "filtered"},
    "any cut": {"unscored"},
    "dual at once": {"dual_ascents", "dual_closed"},
    "dual at once, one sweep": {"dual_ascents", "dual_closed"},
    "dual at once, no sweep": {"dual_ascents", "filtered"},
    "dual at once, every sweep": {"dual_ascents", "dual_closed"},
    "dual at once, any cut": {"dual_ascents", "dual_closed", "unscored"},
    "dual late": {"dual_ascents", "dual_closed"},
    "no room": {"grew"},
}

#: And what it must never have.
AVOIDED = {
    "no first look": {"screened", "walked"},
    "no local search": {"moved_once", "restarted"},
    "nothing but branching": {
        "screened",
        "walked",
        "moved_once",
        "restarted",
        "dual_ascents",
    },
    "any cut": {"filtered", "dual_ascents"},
    "dual at once": {"moved_once", "restarted", "screened"},
}


@pytest.mark.parametrize("leaves", LEAVES)
@for_seeds(25)
def test_no_gear_changes_a_verdict(leaves: str, seed: int) -> None:
    case = rugged_case(seed, leaves=leaves)
    truths = truths_of(case)
    for gears in GEARS.values():
        outcomes = Verifier(case.ensemble, gears=gears).verify(case.people, case.boxes)
        assert_right(case, outcomes, truths)


@for_seeds(40)
def test_no_gear_changes_the_extremes_of_a_score(seed: int) -> None:
    case = rugged_case(seed) if seed % 2 else random_case(seed)
    truths = truths_of(case)
    for gears in GEARS.values():
        assert_extremes(case, gears, truths)


def assert_extremes(case: Case, gears: Gears, truths: list[Truth]) -> None:
    verifier = Verifier(case.ensemble, gears=gears)
    for output in range(case.ensemble.n_outputs):
        found = verifier.extremes(case.people, case.boxes, output)
        lowest = np.array([truth.lowest[output] for truth in truths])
        highest = np.array([truth.highest[output] for truth in truths])
        assert (found.lowest.lower <= lowest).all()
        assert (found.highest.upper >= highest).all()
        assert (found.lowest.upper >= lowest).all()
        assert (found.highest.lower <= highest).all()
        spread = 1e-4 * _size(case)
        np.testing.assert_allclose(found.lowest.upper, lowest, rtol=0, atol=spread)
        np.testing.assert_allclose(found.highest.lower, highest, rtol=0, atol=spread)
        np.testing.assert_allclose(found.lowest.lower, lowest, rtol=0, atol=spread)
        np.testing.assert_allclose(found.highest.upper, highest, rtol=0, atol=spread)


def _size(case: Case) -> float:
    """What rounding in a sum is small against."""
    ensemble = case.ensemble
    largest = float(np.abs(ensemble.trees.values).max(initial=0.0))
    base = float(np.abs(ensemble.scoring.base).max())
    size = (largest * len(ensemble.trees) + base) / abs(ensemble.scoring.divisor)
    # The smallest floats have an absolute error instead of a relative one.
    return max(size, 1e6 * float(np.finfo(ensemble.scoring.dtype).smallest_subnormal))


@pytest.fixture(scope="module")
def long_cases() -> list[tuple[Case, Truth]]:
    cases = [
        rugged_case(seed, leaves=leaves, large=True)
        for seed, leaves in enumerate(("steps", "rough", "votes", "tiny", "mixed") * 2)
    ]
    return [(case, truths_of(case)[0]) for case in cases]


@pytest.mark.parametrize("name", GEARS)
def test_long_searches_end_in_the_truth(
    name: str, long_cases: list[tuple[Case, Truth]]
) -> None:
    tally: Counter[str] = Counter()
    nodes, verdicts = [], set()
    for case, truth in long_cases:
        verifier = Verifier(case.ensemble, gears=GEARS[name])
        outcomes = verifier.verify(case.people, case.boxes)
        assert_right(case, outcomes, [truth])
        tally.update(verifier.tally._asdict())
        nodes.append(int(outcomes.nodes[0]))
        verdicts.add(int(outcomes.verdict[0]))
    assert verdicts >= {FAIR, UNFAIR}
    assert max(nodes) > (50 if GEARS[name].dual_after < 10 else 200)
    for gear in ENTERED.get(name, set()):
        assert tally[gear] > 0, gear
    for gear in AVOIDED.get(name, set()):
        assert tally[gear] == 0, gear


def test_long_searches_are_cut_short_without_a_lie(
    long_cases: list[tuple[Case, Truth]],
) -> None:
    for case, truth in long_cases:
        for gears in (Gears(), BARE, GEARS["dual at once"], GEARS["any cut"]):
            verifier = Verifier(case.ensemble, gears=gears)
            for nodes in (3, 20, 70):
                budget = Budget(nodes=nodes)
                outcomes = verifier.verify(case.people, case.boxes, budget=budget)
                assert_right(case, outcomes, [truth], limited=True)


def test_one_tree_is_walked_or_searched() -> None:
    """The only model whose leaves tell all has two ways to its verdicts."""
    walked = searched = 0
    for seed in range(400):
        case = random_case(seed)
        if len(case.ensemble.trees) != 1:
            continue
        verifiers = [Verifier(case.ensemble), Verifier(case.ensemble, gears=BARE)]
        one, other = (each.verify(case.people, case.boxes) for each in verifiers)
        is_linked = getattr(case.ensemble.decision, "link", "identity") != "identity"
        if case.ensemble.scoring.ordered and not is_linked:
            assert one.verdict.tolist() == other.verdict.tolist()
        assert one.label.tolist() == labels_of(case.ensemble, case.people).tolist()
        walked += verifiers[0].tally.walked
        searched += int(other.nodes.sum())
        assert verifiers[1].tally.walked == 0
    assert walked > 20
    assert searched > 20
