"""How verdicts hang together: smaller boxes, unions, order and threads.

``FATT_EFFORT=100 pytest tests/laws/test_monotonicity.py`` tries a hundred times harder.
"""

from __future__ import annotations

import numpy as np

from fatt.ensemble import Categorical, Numeric
from fatt.region import Boxes, code_words
from fatt.verdict import Findings
from fatt.verifier import Budget, Verifier
from fatt.verifier.gears import Gears
from tests.cases import Case, arrays_of, join, pick, random_boxes, random_case
from tests.laws.effort import for_seeds
from tests.laws.gears import some_gears
from tests.laws.judge import FAIR, UNFAIR, UNKNOWN


def shrink(case: Case, rng: np.random.Generator) -> Boxes:
    """Return boxes inside the boxes, each still around its person."""
    boxes, features = case.boxes, case.ensemble.features
    words = code_words(features)
    lower, upper = boxes.lower.copy(), boxes.upper.copy()
    missing, codes = boxes.missing.copy(), boxes.codes.copy()
    for box, person in enumerate(boxes.person):
        for index, feature in enumerate(features):
            own = case.people[person, index]
            missing[box, index] &= np.isnan(own) or bool(rng.integers(2))
            if isinstance(feature, Categorical):
                span = slice(words[index], words[index + 1])
                codes[box, span] &= rng.integers(
                    0, 2**64, size=words[index + 1] - words[index], dtype=np.uint64
                )
                if not np.isnan(own):
                    bit = np.uint64(1 << int(own) % 64)
                    codes[box, words[index] + int(own) // 64] |= bit
            elif np.isnan(own):
                lower[box, index], upper[box, index] = np.inf, -np.inf
            else:
                lower[box, index] = _towards(feature, lower[box, index], own, rng)
                upper[box, index] = _towards(feature, upper[box, index], own, rng)
    return Boxes(boxes.person, lower, upper, missing, codes)


def _towards(
    feature: Numeric, end: float, own: float, rng: np.random.Generator
) -> float:
    """Return a number between the end of an interval and one's own, both included."""
    share = float(rng.choice([0.0, 0.5, 1.0]))
    if share in {0.0, 1.0} or not np.isfinite([end, own]).all():
        return end if share == 0.0 else own
    between = own + (end - own) * share
    if feature.integer:
        between = np.ceil(between) if end < own else np.floor(between)
    return float(np.clip(between, min(own, end), max(own, end)))


def verify(case: Case, gears: Gears, boxes: Boxes | None = None) -> Findings:
    boxes = case.boxes if boxes is None else boxes
    return Verifier(case.ensemble, gears=gears).verify(case.people, boxes, n_jobs=1)


@for_seeds(120)
def test_a_smaller_similarity_keeps_fair(seed: int) -> None:
    case = random_case(seed, n_people=6, most_points=10**9, scale=2)
    boxes = shrink(case, np.random.default_rng(seed))
    for gears in some_gears(seed):
        large, small = verify(case, gears).verdict, verify(case, gears, boxes).verdict
        assert (small[large == FAIR] == FAIR).all()
        if case.ensemble.scoring.ordered:
            assert (large[small == UNFAIR] != FAIR).all()


@for_seeds(120)
def test_a_union_is_fair_iff_each_part_is(seed: int) -> None:
    case = random_case(seed, most_points=10**9, scale=2)
    rng = np.random.default_rng(seed)
    parts = [case.boxes] + [
        random_boxes(case.ensemble, case.people, rng, most_points=10**9)
        for _ in range(2)
    ]
    joined = join(parts)
    order = np.argsort(joined.person, kind="stable")
    whole = pick(joined, order, joined.person[order])
    for gears in some_gears(seed):
        union = verify(case, gears, whole).verdict
        verdicts = np.array([verify(case, gears, part).verdict for part in parts])
        expected = np.where(
            (verdicts == UNFAIR).any(axis=0),
            UNFAIR,
            np.where((verdicts == FAIR).all(axis=0), FAIR, UNKNOWN),
        )
        assert union.tolist() == expected.tolist()


def assert_same(left: Findings, right: Findings, of: np.ndarray) -> None:
    """Assert that two runs say the same, to the last bit of the twins."""
    known = arrays_of(right)
    for name, ours in arrays_of(left).items():
        theirs = known[name][of]
        assert np.array_equal(ours, theirs, equal_nan=name == "twin"), name


@for_seeds(30)
def test_neither_threads_nor_order_nor_company_change_an_outcome(seed: int) -> None:
    case = random_case(seed, n_people=12, most_points=10**9, scale=2)
    rng = np.random.default_rng(seed)
    budget = Budget(nodes=int(rng.choice([0, 2, 10**6])))
    gears = some_gears(seed)[rng.integers(4)]
    verifier = Verifier(case.ensemble, gears=gears)
    alone = verifier.verify(case.people, case.boxes, budget=budget, n_jobs=1)
    everybody = np.arange(len(case.people))
    both = verifier.verify(case.people, case.boxes, budget=budget, n_jobs=2)
    assert_same(both, alone, everybody)
    shuffled = rng.permutation(everybody)[: rng.integers(1, len(everybody) + 1)]
    chosen = [np.flatnonzero(case.boxes.person == person) for person in shuffled]
    sizes = [len(boxes) for boxes in chosen]
    boxes = pick(
        case.boxes, np.concatenate(chosen), np.repeat(np.arange(len(sizes)), sizes)
    )
    some = Verifier(case.ensemble, gears=gears).verify(
        case.people[shuffled], boxes, budget=budget, n_jobs=1
    )
    assert_same(some, alone, shuffled)
