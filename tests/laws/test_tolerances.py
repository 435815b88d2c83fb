"""Both ends of every tolerance, through every link, held to all cells of a region.

``FATT_EFFORT=100 pytest tests/laws/test_tolerances.py`` tries a hundred times harder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

import fatt
from fatt.ensemble import Bands, Cuts, Ensemble, Link, Prediction
from fatt.ensemble.allowed import Alike, Allowed
from fatt.ensemble.cutoff import bands, one_output
from fatt.region import Boxes
from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from fatt.verifier import Verifier
from tests.cases import Case, random_case
from tests.laws.effort import for_seeds
from tests.laws.gears import some_gears
from tests.laws.rugged import rugged_case
from tests.oracles import still_fair
from tests.search_oracles import as_read, cells_of, is_member, points_of

Floats = NDArray[np.float64]
Rng = np.random.Generator

_DIRECTIONS: tuple[Any, ...] = (None, None, "not lower", "not higher")
_BOTH = [Link(), Link(function="exp"), Link(function="sigmoid")]
_LINKS = {
    "float32": [*_BOTH, Link(function="two-sided sigmoid")],
    "float64": [
        *_BOTH,
        Link(divisor=7.0),
        Link(function="sigmoid", scale=2.0),
        Link(function="numpy exp"),
        Link(function="numpy expm1"),
        Link(calibration=(-1.7, 0.3)),
        Link(function="sigmoid", calibration=(-3.1, 1.3)),
    ],
}


def _numbers(case: Case, rng: Rng) -> Ensemble:
    """Return a model of one score that predicts a number, often at an end of a link."""
    model = case.ensemble
    if model.n_outputs > 1:
        model = one_output(model, int(rng.integers(model.n_outputs)))
    dtype = model.scoring.dtype
    size = float(rng.choice([1, 1, 1, 8, 0.125, 2.0**-30, 40]))
    values = (model.trees.values * size).astype(dtype)
    base = np.array(model.scoring.base) * size
    if rng.random() < 0.3:
        base = np.array([rng.choice([-100, 88, 700, -3, 17, 0.1])])
    links = _LINKS[dtype]
    return replace(
        model,
        classes=(),
        trees=replace(model.trees, values=values),
        scoring=msgspec.structs.replace(
            model.scoring, base=tuple(base.astype(dtype).astype(float).tolist())
        ),
        decision=Prediction(link=links[rng.integers(len(links))]),
        link=None,
    )


def _tolerance(own: float, others: Floats, rng: Rng) -> Allowed:
    """Return a tolerance at a difference that occurs, or beside it."""
    gaps = np.abs(others - own)
    gaps = gaps[np.isfinite(gaps)]
    limit = float(rng.choice(gaps)) if len(gaps) else 1.0
    limit = [
        limit,
        np.nextafter(limit, np.inf),
        np.nextafter(limit, 0.0),
        limit * float(rng.uniform(0.5, 1.5)),
        float(rng.choice([0.0, 5e-324, 1e300])),
    ][rng.integers(5)]
    relative = bool(rng.random() < 0.3)
    if relative:
        limit = limit / abs(own) if own else 1.0
        if not np.isfinite(limit) or rng.random() < 0.3:
            limit = float(rng.choice([0, 0.5, 1, 2]))
    return Allowed(
        tolerance=float(limit), relative=relative, direction=rng.choice(_DIRECTIONS)
    )


def _region(case: Case, model: Ensemble, person: int) -> tuple[Boxes, Floats]:
    """Return a person's boxes, and a point of each of their cells."""
    boxes = case.boxes.of_people(np.array([person]))
    cells = [cells_of(model, boxes, box) for box in range(len(boxes.person))]
    points = [chunk for each in cells for chunk in points_of(each)]
    return boxes, np.concatenate(points)


def _judge(
    model: Ensemble,
    allowed: Allowed,
    person: Floats,
    region: tuple[Boxes, Floats],
    seed: int,
) -> None:
    boxes, points = region
    own = model.answer(as_read(model, person))[0]
    truth = bool(still_fair(own, model.answer(as_read(model, points)), allowed).all())
    for gears in some_gears(seed):
        found = Verifier(model, allowed=allowed, gears=gears).verify(person, boxes)
        verdict = found.verdict[0]
        assert found.label[0] == own
        assert verdict != FAIR or truth, "a wrong FAIR"
        assert verdict != UNKNOWN or not model.scoring.ordered, "a needless UNKNOWN"
        if verdict == UNFAIR:
            twin = found.twins.everybody()
            assert any(
                is_member(model, boxes, box, twin[0])
                for box in range(len(boxes.person))
            )
            other = model.answer(as_read(model, twin))
            assert not still_fair(own, other, allowed).any(), "the twin is fair"


@for_seeds(50)
def test_every_end_of_every_tolerance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = (rugged_case if rng.random() < 0.5 else random_case)(seed)
    model = _numbers(case, rng)
    with np.errstate(all="ignore"):
        for place in range(len(case.people)):
            person, region = case.people[[place]], _region(case, model, place)
            own = float(model.answer(as_read(model, person))[0])
            others = model.answer(as_read(model, region[1]))
            for _ in range(2):
                allowed = _tolerance(own, others, rng)
                _judge(model, allowed, person, region, seed)


@for_seeds(40)
def test_every_end_of_every_band(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = (rugged_case if rng.random() < 0.5 else random_case)(seed)
    model = _numbers(case, rng)
    with np.errstate(all="ignore"):
        place = int(rng.integers(len(case.people)))
        person, region = case.people[[place]], _region(case, model, place)
        scores = model._scores(as_read(model, region[1]))[:, 0]
        assert isinstance(model.decision, Prediction)
        occur = model.decision.link(scores)
        some = rng.choice([0.5, *occur[np.isfinite(occur)]], 2).tolist()
        ends = sorted({np.nextafter(x, rng.choice([x, -9e9, 9e9])) for x in some})
        asked = Cuts(
            names=("lowest", *(f"from {end}" for end in ends)),
            ends=(-np.inf, *ends),
            strict=bool(rng.integers(2)),
        )
        banded = bands(model, asked)
        assert isinstance(banded.decision, Bands)
        # Compared by the library's own numbers.
        over = np.greater if asked.strict else np.greater_equal
        expected = np.sum([over(occur, occur.dtype.type(end)) for end in ends], axis=0)
        assert np.array_equal(banded.answer(as_read(banded, region[1])), expected)
        for direction in ("not lower", "not higher", None):
            allowed = Allowed(direction=direction)
            if banded.scoring.ordered:
                _judge(banded, allowed, person, region, seed)


def test_a_larger_tolerance_keeps_every_score_that_was_near() -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for dtype, links in _LINKS.items():
            model = _of_one_leaf(dtype)
            own = rng.normal(size=200) * rng.choice([1, 20, 300], 200)
            own = own.astype(dtype).astype(np.float64)
            for link in links:
                model = replace(model, decision=Prediction(link=link))
                for relative in (False, True):
                    inner = None
                    for limit in (0.0, 1e-12, 1e-3, 0.3, 1.0, 2.0, 1e9):
                        allowed = Allowed(tolerance=limit, relative=relative)
                        found = Alike(model, allowed).intervals(own, own, own)
                        low = np.nan_to_num(found.below, nan=-np.inf)
                        high = np.nan_to_num(found.above, nan=np.inf)
                        assert np.all((low <= own) & (own < high))
                        if inner is not None:
                            assert np.all((low <= inner[0]) & (inner[1] <= high))
                        inner = low, high


def _of_one_leaf(dtype: str) -> Ensemble:
    case = random_case(0)
    made = _numbers(case, np.random.default_rng(0))
    scoring = msgspec.structs.replace(made.scoring, dtype=dtype, base=(0.0,))
    trees = replace(made.trees, values=made.trees.values.astype(dtype))
    return replace(made, trees=trees, scoring=scoring)


@pytest.mark.parametrize("tolerance", [0.0, 1e-26, 1e-300])
def test_probabilities_that_are_all_but_certain(tolerance: float) -> None:
    """Next to 0 and 1 the ends of an interval are most floats apart."""
    from sklearn.ensemble import GradientBoostingClassifier

    X = np.arange(12.0)[:, np.newaxis]
    model = GradientBoostingClassifier(n_estimators=4, learning_rate=40.0, max_depth=2)
    model.fit(X, X[:, 0] % 5 > 1)
    given = model.predict_proba(X)[:, 1]
    assert {0.0, 1.0} & set(given.tolist())
    report = fatt.verify(
        model, X, similarity=fatt.Similarity(noise={"x0": 1}), tolerance=tolerance
    )
    cuts = fatt.load(model).ensemble.thresholds(0)
    near = np.concatenate([cuts, np.nextafter(cuts, np.inf), X[:, 0]])
    for finding, (own,), mine in zip(report.findings, X, given, strict=True):
        around = near[np.abs(near - own) <= 1]
        others = model.predict_proba(around[:, np.newaxis])[:, 1]
        fair = bool((np.abs(others - mine) <= tolerance).all())
        assert finding.verdict == ("fair" if fair else "unfair")


@pytest.mark.parametrize("direction", ["not lower", "not higher"])
def test_directions_of_sums_without_order(direction: Any) -> None:
    """Also where one side of an interval has no end, which was a crash."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import RandomForestRegressor

    X = np.random.default_rng(0).integers(0, 6, (60, 2)).astype(float)
    forest = RandomForestRegressor(5, n_jobs=2, random_state=0)
    model = TransformedTargetRegressor(forest, func=np.log, inverse_func=np.exp)
    model.fit(X, np.exp(X[:, 0] / 3) + 0.1 * X[:, 1])
    similarity = fatt.Similarity(noise=1)
    report = fatt.verify(
        model, X[:10], similarity=similarity, tolerance="150%", direction=direction
    )
    # Nothing positive is lower by more than all of it.
    if direction == "not lower":
        assert report.counts["fair"] == 10
    assert report.counts["unknown"] == 0
