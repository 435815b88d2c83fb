"""Hundreds and thousands of trees, beside a mixed integer program.

``FATT_EFFORT=10 pytest tests/laws/test_large_models.py`` asks about ten times as many.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt.ensemble import Ensemble
from fatt.region import Boxes
from fatt.verdict import FAIR, UNFAIR
from fatt.verifier import Verifier
from tests.laws.effort import EFFORT
from tests.laws.gears import GEARS
from tests.search_oracles import labels_of, leaf_margins, margin_weights, solve_milp

N_FEATURES = 8
N_FREE = 4


def data(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(count, N_FEATURES)), 1)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=count) / 2 > 0
    return X, y.astype(int)


def forest(n_trees: int) -> Any:
    X, y = data(600, seed=1)
    return RandomForestClassifier(n_trees, max_depth=5, random_state=0).fit(X, y)


def boosted(n_trees: int) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    X, y = data(600, seed=1)
    model = lightgbm.LGBMClassifier(
        n_estimators=n_trees, num_leaves=6, learning_rate=0.02, n_jobs=1, verbose=-1
    )
    return model.fit(X, y)


def on_the_border(ensemble: Ensemble, count: int) -> tuple[np.ndarray, Boxes]:
    """Return people of whom it is open whether they are treated alike, and boxes."""
    X, _ = data(4000, seed=2)
    scores = ensemble._scores(X).astype(np.float64)
    lead = scores[:, 0] - (scores[:, 1] if scores.shape[1] > 1 else 0.0)
    order = np.argsort(np.abs(lead - np.median(lead) * (scores.shape[1] == 1)))
    rng = np.random.default_rng(3)
    people = X[rng.choice(order[:1500], size=count, replace=False)]
    noise = np.zeros(people.shape)
    for row in noise:
        row[rng.choice(N_FEATURES, size=N_FREE, replace=False)] = rng.choice([0.1, 0.3])
    boxes = Boxes(
        np.arange(count),
        people - noise,
        people + noise,
        np.zeros(people.shape, dtype=bool),
        np.zeros((count, 0), dtype=np.uint64),
    )
    return people, boxes


@pytest.mark.parametrize(
    ("model", "count"),
    [
        pytest.param(lambda: forest(200), 5, id="forest of 200"),
        pytest.param(
            lambda: boosted(1500), 5, id="1500 boosted", marks=pytest.mark.lightgbm
        ),
    ],
)
def test_verdicts_equal_those_of_a_mixed_integer_program(
    model: Any, count: int
) -> None:
    seen = compare(fatt.load(model()).ensemble, count * EFFORT)
    assert sum(seen.values()) >= count * EFFORT // 2


def compare(
    ensemble: Ensemble, count: int, *, seconds: float = 20.0
) -> dict[tuple[int, bool], int]:
    """Compare with the program where it ends; count the verdicts that it confirms."""
    people, boxes = on_the_border(ensemble, count)
    names = ("defaults", "dual at once", "no local search")
    found = [
        Verifier(ensemble, gears=GEARS[name]).verify(people, boxes) for name in names
    ]
    for other in found[1:]:
        assert other.verdict.tolist() == found[0].verdict.tolist()
    own, seen = labels_of(ensemble, people), dict.fromkeys((FAIR, UNFAIR), 0)
    for person in range(count):
        mine, rival = int(own[person]), 1 - int(own[person])
        begin = time.monotonic()
        try:
            margin = solve_milp(ensemble, boxes, person, mine, rival, seconds=seconds)
        except TimeoutError:
            continue
        weights, _ = margin_weights(ensemble, mine, rival)
        largest = float(np.abs(leaf_margins(ensemble, weights)).max())
        if abs(margin) < 1e-5 * largest:
            # Nearer to a tie than the program can tell.
            continue
        expected = UNFAIR if margin > 0 else FAIR
        took = time.monotonic() - begin
        assert found[0].verdict[person] == expected, (person, margin, took)
        seen[expected] += 1
    return seen
