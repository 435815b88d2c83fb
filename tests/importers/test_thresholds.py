"""scikit-learn's classifiers with a cut-off of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fatt
from fatt.errors import SpecError, UnsupportedModelError
from tests.repairs.town import MODELS, people

TABLE, LABEL = people(150)


def assert_same(fitted: Any) -> fatt.Model:
    model = fatt.load(fitted)
    expected = fitted.predict(TABLE).tolist()
    assert model.predict(TABLE).tolist() == model.ask(TABLE) == expected
    return model


@pytest.mark.parametrize("kind", MODELS)
def test_a_fixed_threshold(kind: str) -> None:
    inner = MODELS[kind]().fit(TABLE, LABEL)
    given = inner.predict_proba(TABLE)
    some = np.unique(given[:, 1])[[0, 1, -2, -1]]
    for pos_label in (None, 1, 0):
        for number in [
            *some,
            *np.nextafter(some, some.dtype.type(0)),
            "auto",
            0.5,
            0.3,
        ]:
            fixed = FixedThresholdClassifier(
                FrozenEstimator(inner), threshold=number, pos_label=pos_label
            )
            # Comparisons with a plain number, and with one of float64, differ.
            assert_same(fixed.fit(TABLE, LABEL))
            if number != "auto":
                assert_same(fixed.set_params(threshold=float(number)))
                assert_same(
                    fixed.set_params(threshold=min(np.float64(number) + 1e-12, 1.0))
                )
    report = fatt.verify(fixed, TABLE, similarity=fatt.Similarity(noise=0.1))
    assert report.asked.people == len(TABLE)
    assert sum(report.counts.values()) == len(TABLE)


@pytest.mark.parametrize("kind", ["RandomForest", "GradientBoosting", "XGBoost"])
def test_a_tuned_threshold(kind: str) -> None:
    for scoring in ("balanced_accuracy", "f1"):
        tuned = TunedThresholdClassifierCV(MODELS[kind](), scoring=scoring, cv=2)
        model = assert_same(tuned.fit(TABLE, LABEL))
        assert "TunedThresholdClassifierCV of" in model.ensemble.source.model
    with pytest.raises(NotFittedError):
        fatt.load(TunedThresholdClassifierCV(MODELS[kind]()))


@pytest.mark.parametrize("kind", ["GradientBoosting", "HistGradientBoosting"])
def test_a_cut_of_the_score(kind: str) -> None:
    inner = MODELS[kind]().fit(TABLE, LABEL)
    scores = np.unique(inner.decision_function(TABLE))
    for number in [0.1, "auto", scores[3], np.nextafter(scores[3], 9.0), scores[-1]]:
        fixed = FixedThresholdClassifier(
            inner, threshold=number, response_method="decision_function"
        )
        assert_same(fixed.fit(TABLE, LABEL))
    backwards = FixedThresholdClassifier(
        inner, threshold=0.1, response_method="decision_function", pos_label=0
    ).fit(TABLE, LABEL)
    with pytest.raises(UnsupportedModelError, match="the score of 1"):
        fatt.load(backwards)


@pytest.mark.parametrize("kind", ["RandomForest", "XGBoost", "LightGBM"])
def test_in_and_around_pipelines(kind: str) -> None:
    around = FixedThresholdClassifier(
        make_pipeline(StandardScaler(), MODELS[kind]()), threshold=0.4
    )
    assert_same(around.fit(TABLE, LABEL))
    cut = FixedThresholdClassifier(MODELS[kind](), threshold=0.4)
    assert_same(make_pipeline(StandardScaler(), cut).fit(TABLE, LABEL))


def test_one_cut_off_is_enough() -> None:
    fixed = FixedThresholdClassifier(MODELS["LightGBM"](), threshold=0.4)
    fixed.fit(TABLE, LABEL)
    assert fatt.load(fixed, threshold=0.4) == fatt.load(fixed)
    with pytest.raises(SpecError, match="decides already"):
        fatt.load(fixed, threshold=0.5)
