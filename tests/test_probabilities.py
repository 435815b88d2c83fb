"""What a model gives as probabilities: ours and the library's are the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from catboost import CatBoostClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Link
from fatt.ensemble.scoring import sigmoid
from fatt.errors import MalformedModelError, SpecError
from tests.repairs.town import (
    MODELS,
    QUIET,
    SMALL,
    boosters,
    in_words,
    people,
    pipeline,
)

TABLE, LABEL = people()


def lightgbm_with(**settings: Any) -> Any:
    return lightgbm.LGBMClassifier(n_estimators=8, **QUIET, **settings)


KINDS: dict[str, Callable[[], Any]] = {
    **MODELS,
    "Bagging": lambda: BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), random_state=0
    ),
    "exponential": lambda: GradientBoostingClassifier(
        loss="exponential", n_estimators=8, **SMALL
    ),
    "XGBoost steep": lambda: xgboost.XGBClassifier(
        n_estimators=60, learning_rate=2.0, max_depth=6, n_jobs=1, reg_lambda=0
    ),
    "LightGBM scale": lambda: lightgbm_with(sigmoid=0.3),
    "LightGBM entropy": lambda: lightgbm_with(objective="cross_entropy"),
    "LightGBM forest": lambda: lightgbm_with(
        boosting_type="rf", bagging_freq=1, bagging_fraction=0.6
    ),
    "CatBoost": lambda: CatBoostClassifier(
        iterations=8, depth=3, verbose=False, random_seed=0, allow_writing_files=False
    ),
    "FATT": lambda: fatt.FATTClassifier(
        similarity=fatt.Similarity(vary=["sex"]), random_state=0
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_two_classes(kind: str) -> None:
    fitted = KINDS[kind]().fit(TABLE, LABEL)
    model = fatt.load(fitted)
    ours, asked = model.predict_proba(TABLE), model.ask_proba(TABLE)
    given = fitted.predict_proba(TABLE)
    assert ours.dtype == given.dtype
    assert np.array_equal(asked, given)
    assert np.array_equal(ours, given)


@pytest.mark.parametrize("kind", ["XGBoost", "LightGBM"])
def test_boosters_and_files(kind: str, tmp_path: Path) -> None:
    booster = boosters()[kind]
    path = tmp_path / ("model.json" if kind == "XGBoost" else "model.txt")
    booster.save_model(path)
    for model in (fatt.load(booster), fatt.load(path)):
        ours = model.predict_proba(TABLE)
        assert ours.shape == (len(TABLE), 2)
        assert np.array_equal(ours, model.ask_proba(TABLE))
        assert np.ptp(ours) > 0


@pytest.mark.parametrize(
    "kind", ["DecisionTree", "RandomForest", "LightGBM one against the rest"]
)
def test_several_classes(kind: str) -> None:
    table, label = people(n_classes=4)
    made = MODELS.get(kind, lambda: lightgbm_with(objective="multiclassova"))
    fitted = made().fit(table, label)
    model = fatt.load(fitted)
    given = fitted.predict_proba(table)
    assert np.array_equal(model.predict_proba(table), given)
    assert np.array_equal(model.ask_proba(table), given)


def test_a_pipeline() -> None:
    fitted = pipeline().fit(in_words(TABLE), LABEL)
    model = fatt.load(fitted)
    given = fitted.predict_proba(in_words(TABLE))
    assert np.array_equal(model.predict_proba(in_words(TABLE)), given)
    assert np.array_equal(model.ask_proba(in_words(TABLE)), given)


@pytest.mark.parametrize("file", ["skl-tree", "skl-scaled"])
def test_onnx(file: str) -> None:
    path = Path(__file__).parent / f"data/models/onnx-1.31.1-{file}.onnx"
    with np.load(path.with_suffix(".npz")) as kept:
        rows = kept["rows"]
    model = fatt.load(path)
    asked = model.ask_proba(rows)
    assert np.array_equal(model.predict_proba(rows), asked)
    assert np.allclose(asked.sum(axis=1), 1)


def test_the_link_is_kept_and_is_no_part_of_the_digest(tmp_path: Path) -> None:
    model = fatt.load(KINDS["LightGBM scale"]().fit(TABLE, LABEL))
    assert model.link == Link(function="sigmoid", scale=0.3)
    model.save(tmp_path / "model.fatt")
    again = fatt.load(tmp_path / "model.fatt")
    assert again.link == model.link
    bare = fatt.load(KINDS["LightGBM"]().fit(TABLE, LABEL)).ensemble
    assert replace(bare, link=None).digest == bare.digest
    for link in (Link(scale=0.0), Link(scale=np.nan), Link(divisor=0.5)):
        with pytest.raises(MalformedModelError, match="of a link"):
            replace(bare, link=link)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_link_never_decreases(dtype: Any) -> None:
    """It is flat and steep in places; a cut is found by bisection."""
    rng = np.random.default_rng(0)
    for start in [-90.0, -20.0, -1.0, 0.0, 1e-8, 0.5, 17.0, 40.0, *rng.normal(size=9)]:
        line = [dtype(start)]
        for _ in range(400):
            line.append(np.nextafter(line[-1], dtype(np.inf)))
        linked = Link(function="sigmoid")(np.array(line, dtype=dtype))
        assert linked.dtype == dtype
        assert np.all(np.diff(linked) >= 0)
    far = np.array([-np.inf, np.inf], dtype=dtype)
    ends = Link(function="sigmoid")(far).tolist()
    assert ends[1] == 1.0
    assert ends[0] < 1e-38
    assert sigmoid(-800.0) == 0.0


def test_who_gives_none_says_so() -> None:
    table, label = people(n_classes=3)
    for fitted in (
        HistGradientBoostingClassifier(max_iter=2).fit(table, label),
        xgboost.XGBClassifier(n_estimators=2, objective="binary:hinge").fit(
            TABLE, LABEL
        ),
        lightgbm_with().fit(table, label),
    ):
        with pytest.raises(SpecError, match="has no probabilities that fatt knows"):
            fatt.load(fitted).predict_proba(table)
