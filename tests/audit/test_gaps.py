"""`fatt.score_gap`, with every similar person of small models looked at."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Bounds, Similarity
from fatt.audit import run
from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.region import Boxes
from tests.laws.gears import every_gear  # noqa: F401
from tests.worlds import tree

NOISE = Similarity(noise={"x0": 2})
SLACK = 0.125


def points(ensemble: Ensemble, boxes: Boxes, box: int) -> NDArray[np.float64]:
    """One point in each cell of a box over numeric variables."""
    columns = []
    for index in range(len(ensemble.features)):
        low, high = boxes.lower[box, index], boxes.upper[box, index]
        cuts = ensemble.thresholds(index)
        values = [low, *cuts, *np.nextafter(cuts, np.inf), high]
        columns.append([value for value in values if low <= value <= high])
    return np.array(list(itertools.product(*columns)))


def brute_force(some: run.Run, chunk: run.Chunk, output: int) -> Any:
    """Find the lowest and the highest score, and leave some slack in the bounds."""
    ensemble = some.variables.ensemble
    people, boxes = chunk.values, chunk.boxes
    ends = {"low": people.copy(), "high": people.copy()}
    best = np.full((2, len(people)), [[np.inf], [-np.inf]])
    for box, person in enumerate(boxes.person):
        found = points(ensemble, boxes, box)
        scores = ensemble._scores(ensemble.mark_missing(found))[:, output]
        if scores.min() < best[0, person]:
            best[0, person], ends["low"][person] = scores.min(), found[scores.argmin()]
        if scores.max() > best[1, person]:
            best[1, person], ends["high"][person] = scores.max(), found[scores.argmax()]
    return SimpleNamespace(
        lowest=Bounds(best[0] - SLACK, best[0]),
        highest=Bounds(best[1], best[1] + SLACK),
        lowest_at=ends["low"],
        highest_at=ends["high"],
    )


@pytest.fixture(autouse=True)
def _small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.Run, "extremes", brute_force)


def test_a_tree_changes_by_all_or_nothing() -> None:
    gaps = fatt.score_gap(tree(), [[25.0], [34.0], [36.0]], similarity=NOISE)
    assert gaps.lower.tolist() == [0.0, 1.0, 1.0]
    assert gaps.upper.tolist() == [SLACK, 1 + SLACK, 1 + SLACK]
    assert gaps.largest == Bounds(1.0, 1 + SLACK)
    assert gaps[0].changes == {}
    assert gaps[1].bounds == Bounds(1.0, 1 + SLACK)
    assert gaps[1].individual == {"x0": 34.0}
    assert gaps[1].changes["x0"].after > 35
    assert gaps[1].label in {"deny", "grant"}
    assert len(gaps) == 3
    assert gaps[-1].index == gaps[1:][1].index == 2
    assert repr(gaps) == "<3 gaps, the largest 1 to 1.125>"


@pytest.mark.parametrize("of", ["score", "probability"])
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, max_depth=2, random_state=0),
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
        GradientBoostingClassifier(
            loss="exponential", n_estimators=4, max_depth=2, random_state=0
        ),
        HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=4),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'loss', '')}".strip(),
)
def test_the_twin_attains_the_gap_and_nobody_exceeds_the_bound(
    model: Any, of: Any
) -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 3)), 2)
    model.fit(X, X.sum(axis=1) + rng.normal(size=80) / 2 > 0)
    similarity = Similarity(noise=0.3)
    gaps = fatt.score_gap(model, X[:20], similarity=similarity, of=of)
    is_forest = isinstance(model, RandomForestClassifier)
    raw = model.predict_proba if of == "probability" or is_forest else None

    def scores(rows: Any) -> Any:
        if raw is not None:
            return raw(rows)[:, 1]
        return model.decision_function(rows)

    own = scores(X[:20])
    twins = np.array([list(gap.twin.values()) for gap in gaps])
    assert np.all(np.abs(twins - X[:20]) <= 0.3 + 1e-12)
    np.testing.assert_allclose(np.abs(scores(twins) - own), gaps.lower, atol=1e-12)
    assert gaps.lower.max() > 0
    for _ in range(50):
        near = X[:20] + rng.uniform(-0.3, 0.3, size=(20, 3))
        assert np.all(np.abs(scores(near) - own) <= gaps.lower + 1e-12)
    assert np.all(gaps.upper > gaps.lower)
    if of == "score":
        assert np.all(gaps.upper <= gaps.lower + SLACK + 1e-12)


def test_the_score_that_changes_most() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = DecisionTreeClassifier().fit(X, ["a", "a", "b", "c"])
    similarity = Similarity(noise={"x0": 1.1})
    gaps = fatt.score_gap(model, X, similarity=similarity, of="probability")
    assert gaps.lower.tolist() == [0.0, 1.0, 1.0, 1.0]
    assert [gap.label for gap in gaps][1:] == ["a", "a", "b"]


def test_probabilities_that_are_not_known() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = GradientBoostingClassifier(n_estimators=2).fit(
        X, np.digitize(X[:, 0], [-1, 1])
    )
    with pytest.raises(SpecError, match=r"'log_loss'.*two classes.*of='score'"):
        fatt.score_gap(model, X, similarity=Similarity(noise=1), of="probability")
    with pytest.raises(SpecError, match=r"'probablity'.*'probability'"):
        fatt.score_gap(tree(), [[1.0]], similarity=NOISE, of="probablity")  # type: ignore[arg-type]


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.linspace(30, 40, 9)[:, np.newaxis]
    whole = fatt.score_gap(tree(), X, similarity=NOISE)
    monkeypatch.setattr(run, "CHUNK", 4)
    steps: list[int] = []
    parts = fatt.score_gap(
        tree(), X, similarity=NOISE, progress=lambda done, _: steps.append(done)
    )
    assert list(parts) == list(whole)
    assert steps == [4, 8, 9]
