"""Every verdict is the truth, and without a budget there is always one.

``FATT_EFFORT=100 pytest tests/laws/test_completeness.py`` tries a hundred times harder.
"""

from __future__ import annotations

import numpy as np
import pytest

from fatt.ensemble import Ensemble
from fatt.verifier import Verifier
from tests.cases import STYLES, Case, random_case
from tests.laws.effort import for_seeds
from tests.laws.gears import GEARS
from tests.laws.judge import FAIR, UNFAIR, assert_right, truths_of
from tests.search_oracles import (
    brute_force,
    labels_of,
    leaf_margins,
    margin_weights,
    solve_milp,
)
from tests.veritas_peer import Peer


@pytest.mark.parametrize("style", STYLES)
@for_seeds(120)
def test_verdicts_equal_brute_force(style: str, seed: int) -> None:
    case = random_case(seed, style=style)
    truths = truths_of(case)
    for gears in GEARS.values():
        verifier = Verifier(case.ensemble, gears=gears)
        outcomes = verifier.verify(case.people, case.boxes, n_jobs=1)
        assert_right(case, outcomes, truths)


@for_seeds(100)
def test_sums_without_order_are_decided_beyond_rounding(seed: int) -> None:
    case = random_case(seed, ordered=False)
    truths = truths_of(case)
    for gears in GEARS.values():
        verifier = Verifier(case.ensemble, gears=gears)
        outcomes = verifier.verify(case.people, case.boxes, n_jobs=1)
        assert_right(case, outcomes, truths)


@for_seeds(12)
def test_verdicts_equal_those_of_a_mixed_integer_program(seed: int) -> None:
    case = random_case(seed, n_people=1, most_points=10**9, scale=3)
    _assert_as_margins(case, lambda own, rival: _largest_by_milp(case, own, rival))


@for_seeds(12)
def test_verdicts_equal_those_of_veritas(seed: int) -> None:
    case = random_case(seed, n_people=1, most_points=10**9, scale=3, wide=False)
    _assert_as_margins(case, lambda own, rival: _largest_by_veritas(case, own, rival))


@for_seeds(20)
def test_the_oracles_agree(seed: int) -> None:
    case = random_case(seed, style="steps", n_people=1, most_points=500, wide=False)
    ensemble, own = case.ensemble, int(labels_of(case.ensemble, case.people)[0])
    for rival in set(range(len(ensemble.classes))) - {own}:
        by_program = _largest_by_milp(case, own, rival)
        by_search = _largest_by_veritas(case, own, rival)
        unit = _unit(ensemble, own, rival)
        assert by_program == pytest.approx(by_search, abs=1e-6 * unit)
        found = [
            brute_force(ensemble, case.boxes, box).labels
            for box in range(len(case.boxes))
        ]
        if by_program < -1e-4 * unit:
            assert not any(rival in labels for labels in found)


def _largest_by_milp(case: Case, own: int, rival: int) -> float:
    boxes = range(len(case.boxes))
    return max(solve_milp(case.ensemble, case.boxes, box, own, rival) for box in boxes)


def _largest_by_veritas(case: Case, own: int, rival: int) -> float:
    peer = Peer(case.ensemble, own, rival)
    boxes = range(len(case.boxes))
    return max(peer.largest_margin(case.boxes, box) for box in boxes)


def _unit(ensemble: Ensemble, own: int, rival: int) -> float:
    """How large the terms of the margin are: what is far smaller may be rounding."""
    weights, _ = margin_weights(ensemble, own, rival)
    largest = np.abs(leaf_margins(ensemble, weights)).max(initial=0.0)
    base = np.abs(ensemble.scoring.base).max() * np.abs(weights).max()
    return float(largest * max(1, len(ensemble.trees)) + base)


def _assert_as_margins(case: Case, largest) -> None:  # type: ignore[no-untyped-def]
    """Compare verdicts where the largest margin is clearly not a tie."""
    ensemble, own = case.ensemble, int(labels_of(case.ensemble, case.people)[0])
    decision = ensemble.decision
    if getattr(decision, "link", "") == "sigmoid" or np.isinf(
        getattr(decision, "at", 0.0)
    ):
        # Far from zero the sigmoid makes different scores equal.
        return
    rivals = set(range(len(ensemble.classes))) - {own}
    margins = [largest(own, rival) for rival in rivals]
    units = [_unit(ensemble, own, rival) for rival in rivals]
    pairs = list(zip(margins, units, strict=True))
    for gears in GEARS.values():
        verifier = Verifier(ensemble, gears=gears)
        outcomes = verifier.verify(case.people, case.boxes, n_jobs=1)
        if any(margin > 1e-4 * unit for margin, unit in pairs):
            assert outcomes.verdict[0] == UNFAIR
        elif all(margin < -1e-4 * unit for margin, unit in pairs):
            assert outcomes.verdict[0] == FAIR
