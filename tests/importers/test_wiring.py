"""Steps that only re-wire columns: selectors, unions, remainders, indicators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, UnsupportedModelError
from tests.importers.test_pipeline import (
    MODELS,
    WORDS,
    check,
    fitted,
    labels_for,
    people,
    probe_frame,
    same_refusals,
    with_gaps,
)

pytestmark = [
    pytest.mark.xgboost,
    pytest.mark.lightgbm,
    pytest.mark.filterwarnings("ignore:Found unknown categories"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:Features .* are constant"),
    pytest.mark.filterwarnings("ignore:invalid value encountered"),
]

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
SELECTORS: dict[str, Callable[[], Any]] = {
    "best": lambda: SelectKBest(k=3),
    "percentile": lambda: SelectPercentile(percentile=60),
    "fpr": lambda: SelectFpr(alpha=0.4),
    "fdr": lambda: SelectFdr(alpha=0.4),
    "fwe": lambda: SelectFwe(alpha=0.4),
    "generic": lambda: GenericUnivariateSelect(mode="k_best", param=2),
    "variance": lambda: VarianceThreshold(0.01),
    "model": lambda: SelectFromModel(TREE, threshold="median"),
    "elimination": lambda: RFE(TREE, n_features_to_select=3),
    "elimination_cv": lambda: RFECV(TREE, cv=2),
    "sequential": lambda: SequentialFeatureSelector(TREE, n_features_to_select=2, cv=2),
}


def columns(*, sparse: bool, narrow: bool = False) -> ColumnTransformer:
    return ColumnTransformer(
        [
            (
                "words",
                OneHotEncoder(
                    handle_unknown="ignore",
                    sparse_output=sparse,
                    dtype=np.float32 if narrow else np.float64,
                ),
                WORDS,
            ),
            ("scaled", MaxAbsScaler(), ["pay"]),
        ],
        remainder="passthrough",
        sparse_threshold=1.0 if sparse else 0.0,
    )


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_selectors_hand_on_what_they_chose(name: str) -> None:
    number = sorted(SELECTORS).index(name)
    rng = np.random.default_rng(number)
    frame = people(rng)
    sparse = number % 2 == 1
    steps = make_pipeline(columns(sparse=sparse, narrow=True), SELECTORS[name]())
    model = MODELS[sorted(MODELS)[number % len(MODELS)]]()
    pipeline = fitted(steps, frame, rng, model)
    ensemble = check(pipeline, rng, frame)
    same_refusals(pipeline, ensemble, probe_frame(ensemble, rng, 1))


@pytest.mark.parametrize("union", ["default", "pandas"])
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("before", ["default", "pandas"])
def test_a_selector_does_not_look_at_a_frame_of_pandas(
    before: str, output: str, union: str
) -> None:
    pytest.importorskip("polars" if output == "polars" else "pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    own = make_pipeline(
        FeatureUnion([("scaled", StandardScaler().set_output(transform=before))]),
        SelectKBest(k=2),
        HistGradientBoostingClassifier(max_iter=3),
    )
    own[0].set_output(transform=union)
    own[1].set_output(transform=output)
    own.fit(table, (table["a"] > 0) * 1)
    model = fatt.load(own)
    gaps = table.where(rng.random(table.shape) > 0.2)
    try:
        answers = own.predict_proba(gaps)
    except ValueError:
        with pytest.raises(DataError, match="takes no missing values"):
            model.predict_proba(gaps)
    else:
        assert (union, output) != ("default", "default")
        assert (model.predict_proba(gaps) == answers).all()


def test_what_a_selector_drops_is_yet_looked_at() -> None:
    rng = np.random.default_rng(5)
    frame = people(rng)[["age", "hours", "pay"]]
    steps = SelectKBest(k=1)
    pipeline = make_pipeline(steps, TREE).fit(frame, frame["pay"] > 0)
    ensemble = fatt.load(pipeline).ensemble
    assert [feature.name for feature in ensemble.features] == ["age", "hours", "pay"]
    same_refusals(pipeline, ensemble, frame)
    with pytest.raises(DataError, match="'hours'"):
        ensemble.predict(frame.assign(hours=np.nan))


PARTS: dict[str, Callable[[], Any]] = {
    "all": lambda: SimpleImputer(strategy="median"),
    "imputed": lambda: SimpleImputer(add_indicator=True),
    "scaled": lambda: make_pipeline(SimpleImputer(), StandardScaler()),
    "flags": lambda: MissingIndicator(features="all"),
    "new flags": lambda: MissingIndicator(error_on_new=False),
    "sparse flags": lambda: MissingIndicator(features="all", sparse=True),
    "passed": lambda: "passthrough",
    "dropped": lambda: "drop",
    "chosen": lambda: make_pipeline(SimpleImputer(), SelectKBest(k=1)),
}


@settings(max_examples=20, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(sorted(PARTS)[1:]), min_size=1, max_size=3, unique=True
    ),
    output=st.sampled_from(["default", "pandas"]),
    name=st.sampled_from(["histogram", "xgboost", "lightgbm", "tree"]),
    rest=st.sampled_from(["passthrough", "drop", "scaled"]),
    seed=st.integers(0, 99),
)
def test_unions_stand_side_by_side(
    parts: list[str], output: str, name: str, rest: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = with_gaps(people(rng), rng)
    labels = np.where(labels_for(frame, rng) == "deny", 1, 0)
    frame = frame.drop(columns="race")
    parts = [*parts, "all"]
    union = FeatureUnion([(part, PARTS[part]()) for part in parts])
    steps = ColumnTransformer(
        [
            ("union", union, ["hours", "pay"]),
            ("words", OrdinalEncoder(), ["sex"]),
        ],
        remainder=StandardScaler() if rest == "scaled" else rest,
    )
    if "sparse flags" not in parts:
        steps.set_output(transform=output)
    pipeline = make_pipeline(steps, MODELS[name]()).fit(frame, labels)
    ensemble = check(pipeline, rng, frame)
    same_refusals(pipeline, ensemble, probe_frame(ensemble, rng, 1))


def test_a_union_is_the_first_step_of_arrays() -> None:
    rng = np.random.default_rng(2)
    frame = with_gaps(people(rng), rng)
    table = frame[["age", "hours", "pay"]].to_numpy(dtype=np.float64)
    union = FeatureUnion([("as is", "passthrough"), ("flags", MissingIndicator())])
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3)
    pipeline = make_pipeline(union, model).fit(table, frame["hours"].isna())
    ensemble = fatt.load(pipeline).ensemble
    assert len(ensemble.features) == 3
    assert ensemble.predict(table).tolist() == pipeline.predict(table).tolist()
    # No age was missing in training: then the indicator refuses it.
    table[0, 0] = np.nan
    for asked in (pipeline, ensemble):
        with pytest.raises(ValueError, match=r"missing|x0"):
            asked.predict(table[:1])


@pytest.mark.parametrize("strict", [True, False])
def test_indicators_of_words(strict: bool) -> None:
    rng = np.random.default_rng(3)
    frame = with_gaps(people(rng), rng)
    union = FeatureUnion(
        [
            ("flags", MissingIndicator(error_on_new=strict)),
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
        ]
    )
    steps = ColumnTransformer([("words", union, WORDS)])
    forest = RandomForestClassifier(5, random_state=0)
    pipeline = fitted(steps, frame, rng, forest)
    ensemble = check(pipeline, rng, frame[frame["sex"].notna()])
    sex = next(f for f in ensemble.features if f.name == "sex")
    assert sex.accepts_missing == (not strict)
    same_refusals(pipeline, ensemble, probe_frame(ensemble, rng, 1))


def test_numbers_that_mean_missing_in_an_indicator() -> None:
    rng = np.random.default_rng(4)
    frame = people(rng)[["age", "kids", "pay"]]
    for features, new in (("all", True), ("missing-only", False)):
        flags = MissingIndicator(missing_values=0, features=features, error_on_new=new)
        union = FeatureUnion([("flags", flags), ("as is", "passthrough")])
        pipeline = make_pipeline(union, TREE).fit(frame, frame["kids"] == 0)
        ensemble = check(pipeline, rng, frame)
        same_refusals(pipeline, ensemble, frame)
    union = FeatureUnion([("flags", MissingIndicator(missing_values=0))])
    pipeline = make_pipeline(union, TREE).fit(frame, frame["kids"] == 0)
    with pytest.raises(UnsupportedModelError, match="error_on_new=False"):
        fatt.load(pipeline)


def test_weights_of_a_union_are_refused() -> None:
    frame = people(np.random.default_rng(6))[["age", "pay"]]
    union = FeatureUnion([("as is", "passthrough")], transformer_weights={"as is": 2})
    pipeline = make_pipeline(StandardScaler(), union, TREE)
    pipeline.fit(frame, frame["pay"] > 0)
    with pytest.raises(UnsupportedModelError, match="FeatureUnion has transformer_w"):
        fatt.load(pipeline)


def test_a_union_is_audited_in_raw_columns() -> None:
    rng = np.random.default_rng(7)
    frame = people(rng)
    steps = make_pipeline(columns(sparse=True), SelectKBest(k=4))
    pipeline = fitted(steps, frame, rng, RandomForestClassifier(8, random_state=0))
    similarity = fatt.Similarity(noise={"age": 2}, vary=["sex"])
    report = fatt.verify(pipeline, frame, similarity=similarity)
    for case in report.counterexamples:
        twin = pd.DataFrame([dict(case.twin)])[frame.columns.tolist()]
        assert pipeline.predict(twin)[0] == case.twin_label
