"""Questions about everybody: what they refuse, and what a stopped search knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)

import fatt
from fatt import Budget, Similarity, Space
from fatt.errors import SpecError
from fatt.region import Integer, Number


def _people(count: int = 300) -> Any:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "income": rng.integers(0, 50, count),
            "sex": rng.integers(0, 2, count),
        }
    )


PEOPLE = _people()
WORTH = PEOPLE["income"] - 0.3 * PEOPLE["age"] + 4 * PEOPLE["sex"]
GRANTED = (WORTH.median() < WORTH).astype(int)


@pytest.fixture(scope="module")
def forest() -> Any:
    model = RandomForestClassifier(40, max_depth=7, random_state=0)
    return model.fit(PEOPLE, GRANTED)


NOISE = Similarity(noise={"age": 3, "income": 5}, vary=["sex"])
SPACE = Space.from_table(PEOPLE)


def test_a_search_that_is_stopped_bounds_the_gap(forest: Any) -> None:
    whole = fatt.largest_gap(forest, SPACE, similarity=NOISE, tolerance=1e-4)
    assert whole.is_closed
    last = np.inf
    for nodes in (0, 30, 300, 3000):
        part = fatt.largest_gap(
            forest, SPACE, similarity=NOISE, tolerance=1e-4, budget=Budget(nodes=nodes)
        )
        assert part.bounds.lower <= whole.bounds.upper
        assert part.bounds.upper >= whole.bounds.lower
        assert part.bounds.upper <= last
        last = part.bounds.upper
    uppers = [upper for _, _, upper in whole.history]
    assert uppers == sorted(uppers, reverse=True)


def test_whoever_stops_a_search_keeps_the_bounds(forest: Any) -> None:
    calls = []

    def stop(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    found = fatt.largest_gap(
        forest, SPACE, similarity=NOISE, tolerance=1e-6, progress=stop
    )
    assert found.interrupted
    whole = fatt.largest_gap(forest, SPACE, similarity=NOISE, tolerance=1e-4)
    assert found.bounds.lower <= whole.bounds.upper
    assert found.bounds.upper >= whole.bounds.lower
    assert found.pair is not None


def test_the_same_question_has_the_same_answer(forest: Any) -> None:
    one, two = (fatt.largest_gap(forest, SPACE, similarity=NOISE) for _ in range(2))
    assert one.bounds == two.bounds
    assert one.pair is not None
    assert two.pair is not None
    assert (one.pair.values == two.pair.values).all()


def test_the_model_itself_is_asked_about_both(forest: Any) -> None:
    found = fatt.largest_gap(forest, SPACE, similarity=NOISE)
    assert found.pair is not None
    assert found.pair.on_model
    table = pd.DataFrame([found.pair.individual, found.pair.twin])[PEOPLE.columns]
    before, after = forest.predict_proba(table)[:, forest.classes_ == found.pair.label]
    assert (before[0], after[0]) == (found.pair.before, found.pair.after)


@pytest.mark.parametrize("is_kept", [True, False])
def test_monotone_constraints_are_proved_or_refuted(is_kept: bool) -> None:
    """As one-sided noise, and a direction of the answer."""
    model = HistGradientBoostingRegressor(
        max_iter=30, monotonic_cst=[0, 1 if is_kept else 0, 0]
    )
    rng = np.random.default_rng(1)
    model.fit(PEOPLE, WORTH + rng.normal(size=len(PEOPLE)) * 10)
    asked: dict[str, Any] = {
        "similarity": Similarity(noise={"income": "+50"}),
        "direction": "not lower",
    }
    gap = fatt.largest_gap(model, SPACE, of="prediction", **asked)
    exists = fatt.exists_unfair(model, SPACE, **asked)
    if is_kept:
        assert gap.bounds.upper == 0
        assert gap.pair is None
        assert exists.proved
        assert str(gap) == "Similar people never differ in their prediction."
        return
    assert gap.bounds.lower > 0
    assert exists.pair is not None
    poorer, richer = exists.pair.values[:, 1]
    assert poorer < richer
    assert exists.pair.after < exists.pair.before


def test_a_gap_of_a_regressor_is_decided_at_its_last_bit() -> None:
    model = GradientBoostingRegressor(n_estimators=20, random_state=0)
    model.fit(PEOPLE, WORTH)
    whole = fatt.largest_gap(
        model, SPACE, similarity=NOISE, of="prediction", tolerance=1e-9
    )
    largest = whole.bounds.lower
    exists = fatt.exists_unfair(model, SPACE, similarity=NOISE, gap=largest)
    assert exists.pair is not None
    beyond = float(np.nextafter(largest, np.inf))
    more = fatt.exists_unfair(model, SPACE, similarity=NOISE, gap=beyond)
    assert more.pair is not None or more.proved


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {
            "similarity": Similarity(noise={"age": "150%"}),
            "space": Space({"age": Integer(lower=-100, upper=100)}),
        },
        "percentages below 100%",
    ),
    ({"tolerance": 0.0}, "tolerance is 0.0"),
    ({"direction": "up"}, "direction is 'up'"),
    ({"of": "odds"}, "of is 'odds'"),
    (
        {"similarity": Similarity(noise={"age": 3}, vary=["sex"], at_most=1)},
        "'at_most', which ties variables together",
    ),
    ({"space": Space({"age": Number(), "income": Integer(lower=0)})}, "no bounds for"),
]


@pytest.mark.parametrize(("asked", "told"), REFUSED)
def test_what_is_refused(forest: Any, asked: dict[str, Any], told: str) -> None:
    asked = {"similarity": NOISE, "space": SPACE, **asked}
    with pytest.raises(SpecError, match=told):
        fatt.largest_gap(forest, asked.pop("space"), **asked)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"gap": -1.0}, "gap is -1.0"),
        ({"between": (0.6, 0.4)}, "between is"),
        ({"gap": 0.1, "between": (0.4, 0.6)}, "two questions"),
    ],
)
def test_questions_of_existence_that_are_refused(
    forest: Any, asked: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        fatt.exists_unfair(forest, SPACE, similarity=NOISE, **asked)


def test_a_regressor_needs_a_gap() -> None:
    model = GradientBoostingRegressor(n_estimators=3).fit(PEOPLE, WORTH)
    with pytest.raises(SpecError, match="gap is 0"):
        fatt.exists_unfair(model, SPACE, similarity=NOISE)
