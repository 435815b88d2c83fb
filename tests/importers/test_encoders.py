"""Encoders that are tabulated answer as they do themselves, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble
from fatt.errors import DataError, UnsupportedModelError
from tests.importers.test_pipeline import (
    WORDS,
    check,
    people,
    probe_frame,
    same_refusals,
    with_gaps,
)

pytestmark = [
    pytest.mark.xgboost,
    pytest.mark.lightgbm,
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*downcasting:Warning"),
]

TABULATED = [
    *("BackwardDifferenceEncoder", "BaseNEncoder", "BinaryEncoder", "CatBoostEncoder"),
    *("CountEncoder", "GrayEncoder", "HelmertEncoder", "JamesSteinEncoder"),
    *("LeaveOneOutEncoder", "MEstimateEncoder", "OneHotEncoder", "OrdinalEncoder"),
    *("PolynomialEncoder", "QuantileEncoder", "RankHotEncoder", "SumEncoder"),
    *("TargetEncoder", "WOEEncoder"),
]
#: The others have one way with unknown and missing levels each.
EVERY_WAY = {"TargetEncoder", "CountEncoder", "CatBoostEncoder", "BinaryEncoder"}


def outcomes(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    score = frame["pay"] / 2e4 + (frame["sex"] == "M") + rng.normal(size=len(frame)) / 3
    return (score > 0.4).to_numpy().astype(int)


@settings(max_examples=8, deadline=None)
@given(
    smooth=st.sampled_from(["auto", 0.0, 5.0]),
    classes=st.integers(2, 3),
    gaps=st.booleans(),
    numbers=st.booleans(),
    output=st.sampled_from(["default", "pandas"]),
    seed=st.integers(0, 99),
)
def test_target_encoders_of_scikit_learn(
    smooth: Any, classes: int, gaps: bool, numbers: bool, output: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng)
    if gaps:
        frame = with_gaps(frame, rng)
    labels = outcomes(frame, rng) + (classes > 2) * rng.integers(0, 2, len(frame))
    chosen = ["race", "kids"] if numbers else ["race"]
    steps = ColumnTransformer(
        [
            ("target", TargetEncoder(smooth=smooth, random_state=0), chosen),
            ("pay", StandardScaler(), ["pay"]),
        ]
    ).set_output(transform=output)
    pipeline = make_pipeline(steps, DecisionTreeClassifier(random_state=0))
    pipeline.fit(frame, labels)
    ensemble = check(pipeline, rng, frame)
    same_refusals(pipeline, ensemble, probe_frame(ensemble, rng, 1))


def fitted(encoder: Any, frame: pd.DataFrame, rng: np.random.Generator) -> Pipeline:
    model = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4)
    # fit_transform would add what is left out for each person.
    labels = outcomes(frame, rng)
    encoder.fit(frame, labels)
    model.fit(encoder.transform(frame), labels)
    return Pipeline([("encoder", encoder), ("model", model)])


def agree(pipeline: Pipeline, ensemble: Ensemble, frame: pd.DataFrame) -> int:
    """Compare row by row; return how many rows both take."""
    taken = 0
    for row in range(len(frame)):
        one = frame.iloc[row : row + 1]
        try:
            expected = pipeline.decision_function(one)
        except ValueError:
            with pytest.raises(DataError):
                ensemble.predict(one)
            continue
        assert ensemble.raw_scores(one).ravel().tolist() == expected.tolist()
        taken += 1
    return taken


@pytest.mark.parametrize(
    ("name", "way"),
    [
        (name, way)
        for number, name in enumerate(TABULATED)
        for place, way in enumerate(["value", "error", "return_nan"])
        if name in EVERY_WAY or place == number % 3
    ],
)
def test_encoders_of_category_encoders(name: str, way: str) -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(TABULATED.index(name))
    frame = people(rng, 80)[["age", "sex", "race", "pay"]]
    frame.loc[:1, "race"] = "rare"
    if way == "value" and name not in {"CatBoostEncoder", "LeaveOneOutEncoder"}:
        frame.loc[::9, "race"] = np.nan
    encoder = getattr(library, name)(handle_unknown=way, handle_missing=way)
    pipeline = fitted(encoder, frame, rng)
    ensemble = fatt.load(pipeline).ensemble
    assert [feature.name for feature in ensemble.features] == list(frame.columns)
    race = ensemble.features[2]
    assert isinstance(race, Categorical)
    assert set(race.categories) == {"black", "white", "other", "rare"}
    probes = pd.concat([frame[:6], frame[:6]], ignore_index=True)
    probes["sex"] = probes["sex"].astype(object)
    probes["race"] = probes["race"].astype(object)
    probes.loc[6:, "race"] = ["unheard", "", np.nan, None, "rare", "?"]
    assert agree(pipeline, ensemble, probes) >= 6
    agree(pipeline, ensemble, probes.assign(sex="unheard")[:1])


@pytest.mark.parametrize("name", ["TargetEncoder", "BinaryEncoder", "CountEncoder"])
def test_numbers_that_are_categories(name: str) -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(1)
    frame = people(rng, 80)[["kids", "sex", "pay"]]
    pipeline = fitted(getattr(library, name)(cols=["kids", "sex"]), frame, rng)
    ensemble = fatt.load(pipeline).ensemble
    assert ensemble.features[0].categories == (0, 1, 2, 3) or set(
        ensemble.features[0].categories
    ) == {0, 1, 2, 3}
    probes = pd.concat([frame[:8]] * 2, ignore_index=True)
    probes["kids"] = [0, 1, 2, 3, 4, -1, 0.5, np.nan] * 2
    assert agree(pipeline, ensemble, probes) == 16


def test_columns_in_another_order_are_refused() -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(2)
    frame = people(rng, 80)[["age", "sex", "race", "pay"]]
    model = fatt.load(fitted(library.TargetEncoder(), frame, rng))
    with pytest.raises(DataError, match="another order"):
        model.predict(frame[["pay", "sex", "race", "age"]])


def test_a_model_behind_an_encoder_is_audited() -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(3)
    frame = people(rng)[["age", "sex", "race", "pay"]]
    labels = outcomes(frame, rng)
    encoder = library.TargetEncoder(cols=WORDS).fit(frame, labels)
    forest = RandomForestClassifier(8, random_state=0)
    forest.fit(encoder.transform(frame), labels)
    model = fatt.load(forest, prepare=encoder)
    similarity = fatt.Similarity(noise={"age": 2}, vary=["sex"])
    report = fatt.verify(model, frame, similarity=similarity)
    assert report.counts["unfair"] > 0
    for case in report.counterexamples:
        twin = pd.DataFrame([dict(case.twin)])[list(frame.columns)]
        assert forest.predict(encoder.transform(twin))[0] == case.twin_label


def test_what_hangs_on_the_other_rows_is_refused() -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(5)
    frame = people(rng, 80)[["age", "sex", "race", "pay"]]
    frame.loc[::9, "race"] = np.nan
    pipeline = fitted(library.CatBoostEncoder(), frame, rng)
    # What becomes of None depends on whether another row holds a text.
    cells = frame.iloc[[0, 1]].astype({"race": object})
    cells["race"] = pd.Series([None, "black"], index=cells.index, dtype=object)
    beside, alone = (pipeline[0].transform(cells[:n])["race"].iloc[0] for n in (2, 1))
    assert np.isnan(alone)
    assert not np.isnan(beside)
    with pytest.raises(UnsupportedModelError, match=r"of None in 'race'.*with a text"):
        fatt.load(pipeline)
    filled = frame.assign(race=frame["race"].astype(object).fillna("none"))
    pipeline = fitted(library.CatBoostEncoder(), filled, rng)
    assert agree(pipeline, fatt.load(pipeline).ensemble, filled[:20]) == 20


def test_encoders_without_a_table_are_refused_by_name() -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(4)
    frame = people(rng)[["age", "sex", "race", "pay"]]
    labels = outcomes(frame, rng)
    tree = DecisionTreeClassifier(random_state=0)
    hashing = library.HashingEncoder(max_process=1).fit(frame)
    tree.fit(hashing.transform(frame), labels)
    with pytest.raises(
        UnsupportedModelError, match=r"HashingEncoder .*hashes any text"
    ):
        fatt.load(Pipeline([("encoder", hashing), ("tree", tree)]))
    joint = library.TargetEncoder(composite_cols=[("sex", "race")])
    joint.fit(frame, labels)
    tree.fit(joint.transform(frame), labels)
    with pytest.raises(UnsupportedModelError, match="joins columns"):
        fatt.load(Pipeline([("encoder", joint), ("tree", tree)]))
