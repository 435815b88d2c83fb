"""scikit-learn models: labels equal and scores bit-equal to the library's own."""

from __future__ import annotations

import copy
import pickle
import platform
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import ensemble as forests
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
)

import fatt
from fatt.ensemble import Categorical, Cut, Ensemble, Numeric
from fatt.errors import (
    DataError,
    MalformedModelError,
    SpecError,
    UnsupportedModelError,
)
from fatt.importers.files import pickles
from tests.probes import probe_rows, same_bits

drawn = settings(max_examples=100, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))


def library_scores(model: Any, rows: Any) -> np.ndarray:
    """The scores that the library's label rests on."""
    if isinstance(model, HistGradientBoostingClassifier):
        return np.ascontiguousarray(model._raw_predict(rows))
    if isinstance(model, GradientBoostingClassifier | AdaBoostClassifier):
        scores = model.decision_function(rows)
        return scores if scores.ndim == 2 else scores[:, np.newaxis]
    return model.predict_proba(rows)


def assert_same(model: Any, rows: Any, found: Ensemble | None = None) -> None:
    found = fatt.load(model).ensemble if found is None else found
    # The library's own check for infinity adds up huge numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        scores, labels = library_scores(model, rows), model.predict(rows)
    assert same_bits(found.raw_scores(rows), scores)
    assert np.array_equal(found.predict(rows), labels)


def assert_same_everywhere(model: Any, seed: int, n_rows: int = 250) -> None:
    found = fatt.load(model).ensemble
    assert_same(model, probe_rows(found, np.random.default_rng(seed), n_rows), found)


def table(
    rng: np.random.Generator, n_rows: int, n_columns: int, missing: bool
) -> np.ndarray:
    """Rows of few distinct values, so that splits and votes tie."""
    values = rng.choice([-1.5, -0.1, 0.0, 0.1, 0.3, 1.0, 7.25], (n_rows, n_columns))
    if missing:
        values[rng.random(values.shape) < 0.2] = np.nan
    return values


def trains_on_missing(kind: type) -> bool:
    return VERSION > (1, 5) or "Extra" not in kind.__name__


def answers(rng: np.random.Generator, n_rows: int, n_classes: int) -> np.ndarray:
    """Random labels, of which every class occurs."""
    y = rng.integers(n_classes, size=n_rows)
    y[:n_classes] = np.arange(n_classes)
    return np.array(["no", "yes", "perhaps", "never"])[y]


growth = st.fixed_dictionaries(
    {
        "criterion": st.sampled_from(["gini", "entropy", "log_loss"]),
        "max_depth": st.sampled_from([None, 1, 2, 4]),
        "max_leaf_nodes": st.sampled_from([None, 2, 5]),
        "min_samples_leaf": st.sampled_from([1, 3]),
        "class_weight": st.sampled_from([None, "balanced"]),
    }
)


@drawn
@given(
    seed=seeds,
    kind=st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier]),
    growth=growth,
    n_classes=st.integers(1, 4),
    missing=st.booleans(),
    weighted=st.booleans(),
)
def test_trees(seed, kind, growth, n_classes, missing, weighted):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 40))
    X = table(rng, n_rows, 3, missing and trains_on_missing(kind))
    weight = rng.choice([0.1, 0.5, 1.0, 3.0], n_rows) if weighted else None
    model = kind(random_state=seed, **growth)
    model.fit(X, answers(rng, n_rows, n_classes), sample_weight=weight)
    assert_same_everywhere(model, seed)


@drawn
@given(
    seed=seeds,
    kind=st.sampled_from([RandomForestClassifier, ExtraTreesClassifier]),
    growth=growth,
    n_trees=st.integers(1, 9),
    n_classes=st.integers(1, 4),
    bootstrap=st.booleans(),
    missing=st.booleans(),
)
def test_forests(seed, kind, growth, n_trees, n_classes, bootstrap, missing):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 40))
    model = kind(n_trees, bootstrap=bootstrap, random_state=seed, **growth)
    X = table(rng, n_rows, 3, missing and trains_on_missing(kind))
    model.fit(X, answers(rng, n_rows, n_classes))
    assert_same_everywhere(model, seed)


@pytest.mark.parametrize("n_trees", [2, 3, 4, 5, 6, 7, 8, 10, 12, 16])
def test_forests_tie_exactly_as_the_library_does(n_trees):
    tied = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.integers(3, size=(8, 2)).astype(float)
        y = answers(rng, 8, 2 + seed % 2)
        model = RandomForestClassifier(n_trees, max_depth=1 + seed % 3, random_state=1)
        model.fit(X, y)
        rows = np.array([[a, b] for a in (0, 1, 2) for b in (0, 1, 2)], dtype=float)
        assert_same(model, rows)
        top = np.sort(model.predict_proba(rows), axis=1)
        tied += np.sum(top[:, -1] == top[:, -2])
    assert tied


@drawn
@given(
    seed=seeds,
    member=st.sampled_from([None, DecisionTreeClassifier(), ExtraTreeClassifier()]),
    n_trees=st.integers(1, 9),
    n_classes=st.integers(1, 4),
    share=st.sampled_from([0.3, 0.7, 1.0]),
    again=st.booleans(),
    missing=st.booleans(),
)
def test_bagging(seed, member, n_trees, n_classes, share, again, missing):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(8, 30))
    X = table(rng, n_rows, 4, missing and trains_on_missing(type(member)))
    model = BaggingClassifier(
        member,
        n_estimators=n_trees,
        max_samples=5,
        max_features=share,
        bootstrap_features=again,
        random_state=seed % 2**31,
    )
    model.fit(X, answers(rng, n_rows, n_classes))
    assert_same_everywhere(model, seed)


def test_bagged_trees_that_saw_fewer_classes():
    rng = np.random.default_rng(0)
    X, y = table(rng, 12, 2, False), np.repeat(["a", "b", "c"], 4)
    model = BaggingClassifier(n_estimators=9, max_samples=2, random_state=0)
    # Otherwise a tree is handed all the rows, most of them with weight zero.
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(X, y)
    assert VERSION < (1, 7) or any(len(m.classes_) < 3 for m in model.estimators_)
    assert_same_everywhere(model, 0)


def test_bagging_does_not_look_at_columns_that_no_tree_is_handed():
    rng = np.random.default_rng(1)
    X, y = table(rng, 30, 6, False), answers(rng, 30, 2)
    model = BaggingClassifier(n_estimators=2, max_features=1, random_state=0).fit(X, y)
    found = fatt.load(model).ensemble
    used = {int(columns[0]) for columns in model.estimators_features_}
    for column in range(6):
        rows = X[:3].copy()
        rows[0, column] = np.inf
        if column in used:
            assert_both_refuse(model, rows)
        else:
            assert_same(model, rows, found)


def test_bagging_follows_a_changed_number_of_trees():
    rng = np.random.default_rng(1)
    X, y = table(rng, 30, 3, False), answers(rng, 30, 3)
    model = BaggingClassifier(n_estimators=5, random_state=0).fit(X, y)
    for n_trees in (3, 5, 7):
        model.set_params(n_estimators=n_trees)
        assert_same(model, X)


def votes(**settings: Any) -> AdaBoostClassifier:
    """An AdaBoostClassifier that counts votes, in every version."""
    if "algorithm" in AdaBoostClassifier().get_params() and VERSION < (1, 6):
        settings["algorithm"] = "SAMME"
    return AdaBoostClassifier(**settings)


@drawn
@given(
    seed=seeds,
    kind=st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier]),
    depth=st.integers(1, 4),
    n_classes=st.integers(2, 4),
    n_trees=st.integers(1, 15),
    rate=st.sampled_from([0.1, 1.0, 0.07]),
    weighted=st.booleans(),
)
def test_adaboost(seed, kind, depth, n_classes, n_trees, rate, weighted):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(10, 50))
    member = kind(max_depth=depth)
    model = votes(
        estimator=member,
        n_estimators=n_trees,
        learning_rate=rate,
        random_state=seed % 2**31,
    )
    y = answers(rng, n_rows, n_classes)
    weight = rng.choice([0.1, 0.5, 1.0, 3.0], n_rows) if weighted else None
    try:
        model.fit(table(rng, n_rows, 3, False), y, sample_weight=weight)
    except ValueError:  # the first tree is worse than random
        return
    assert_same_everywhere(model, seed)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_of_adaboost_that_tie(n_classes):
    rng = np.random.default_rng(0)
    X, y = table(rng, 60, 3, False), answers(rng, 60, n_classes)
    model = votes(n_estimators=6, random_state=0).fit(X, y)
    model.estimator_weights_[:] = 0.1
    found = fatt.load(model).ensemble
    assert_same(model, X, found)
    scores = np.sort(model.decision_function(X).reshape(60, -1), axis=1)
    assert (scores[:, -1] == (0 if n_classes == 2 else scores[:, -2])).any()


def test_adaboost_whose_trees_were_cut_short():
    rng = np.random.default_rng(0)
    X, y = table(rng, 60, 3, False), answers(rng, 60, 2)
    model = votes(n_estimators=9, random_state=0).fit(X, y)
    model.estimators_ = model.estimators_[:4]
    assert_same(model, X)
    model.estimator_weights_ = model.estimator_weights_[:3]
    with pytest.raises(MalformedModelError, match="4 trees with weights"):
        fatt.load(model)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_adaboost_of_the_smallest_weights(n_classes):
    rng = np.random.default_rng(0)
    X, y = table(rng, 60, 3, False), answers(rng, 60, n_classes)
    model = votes(n_estimators=4, random_state=0).fit(X, y)
    model.estimator_weights_[:] = 1e-307
    assert_same(model, X)
    model.estimator_weights_[:] = 1e-310
    with pytest.raises(UnsupportedModelError, match="Multiply all weights by"):
        fatt.load(model)
    model.estimator_weights_ *= 2.0**100
    assert_same(model, X)


def test_adaboost_is_cut_by_its_score_alone():
    rng = np.random.default_rng(0)
    X, y = table(rng, 60, 3, False), answers(rng, 60, 2)
    model = votes(n_estimators=4, random_state=0).fit(X, y)
    with pytest.raises(SpecError, match="softmax by NumPy, and those"):
        fatt.load(model, threshold=0.5)
    found = fatt.load(model, threshold=0.3, cut_on="score").predict(X)
    assert (found == model.classes_[(model.decision_function(X) >= 0.3) * 1]).all()


def test_adaboost_that_is_no_longer_computed_is_refused():
    X, y = SIMPLE
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    model.algorithm = "SAMME.R"
    with pytest.raises(UnsupportedModelError, match="logarithms of probabilities"):
        fatt.load(model)


@pytest.mark.parametrize(("version", "is_read"), [("1.2.2", False), ("1.3.2", True)])
def test_pickles_of_adaboost_that_added_otherwise(version, is_read):
    X, y = SIMPLE
    model = votes(n_estimators=2).fit(X, y)
    own = sklearn.__version__.encode()
    data = pickle.dumps(model)
    assert len(own) == len(version)
    data = data.replace(own, version.encode())
    if is_read:
        assert_same(model, X, pickles.read(data, missing=None).ensemble)
        return
    with pytest.raises(UnsupportedModelError, match="adds up its votes in another way"):
        pickles.read(data, missing=None)


def test_trees_of_adaboost_that_know_other_classes_are_refused():
    X, y = SIMPLE
    model = votes(n_estimators=2).fit(X, y)
    model.estimators_[0].classes_ = np.array(["left", "right"])
    with pytest.raises(MalformedModelError, match="knows other classes"):
        fatt.load(model)


@drawn
@given(
    seed=seeds,
    loss=st.sampled_from(["log_loss", "exponential"]),
    init=st.sampled_from([None, "zero"]),
    n_classes=st.integers(2, 4),
    n_trees=st.integers(1, 12),
    rate=st.sampled_from([0.1, 0.3, 1.0, 0.07]),
    depth=st.integers(1, 4),
    criterion=st.sampled_from(["friedman_mse", "squared_error"]),
    subsample=st.sampled_from([1.0, 0.7]),
)
def test_gradient_boosting(
    seed, loss, init, n_classes, n_trees, rate, depth, criterion, subsample
):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(10, 50))
    model = GradientBoostingClassifier(
        loss=loss,
        init=init,
        n_estimators=n_trees,
        learning_rate=rate,
        max_depth=depth,
        subsample=subsample,
        random_state=seed,
    )
    if VERSION < (1, 9):
        model.set_params(criterion=criterion)
    y = answers(rng, n_rows, n_classes if loss == "log_loss" else 2)
    with warnings.catch_warnings():
        # Random labels can drive the leaves of a sure model to infinity.
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        model.fit(table(rng, n_rows, 3, False), y)
    assert_same_everywhere(model, seed)


def test_gradient_boosting_at_zero_is_the_second_class():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    assert np.all(model.decision_function(X) == 0.0)
    assert fatt.load(model).predict(X).tolist() == [1, 1, 1, 1]
    assert_same(model, X)


def test_hist_at_zero_is_the_first_class():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    assert np.all(model._raw_predict(X) == 0.0)
    assert fatt.load(model).predict(X).tolist() == [0, 0, 0, 0]
    assert_same(model, X)


def test_gradient_boosting_with_a_prior_that_is_clipped():
    X, y = np.arange(1000.0)[:, np.newaxis], np.arange(1000) == 0
    weight = np.where(y, 1e-30, 1.0)
    model = GradientBoostingClassifier(n_estimators=2).fit(X, y, sample_weight=weight)
    assert_same_everywhere(model, 0)


@drawn
@given(
    seed=seeds,
    n_classes=st.integers(1, 4),
    n_trees=st.integers(1, 10),
    rate=st.sampled_from([0.1, 1.0, 0.07]),
    depth=st.sampled_from([None, 1, 3]),
    missing=st.booleans(),
    infinite=st.booleans(),
    stopping=st.booleans(),
    weighted=st.booleans(),
)
def test_hist(
    seed, n_classes, n_trees, rate, depth, missing, infinite, stopping, weighted
):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(12, 60))
    X = table(rng, n_rows, 3, missing)
    if infinite:
        X[rng.random(X.shape) < 0.1] = np.inf
        X[rng.random(X.shape) < 0.1] = -np.inf
    y = answers(rng, n_rows, n_classes)
    model = HistGradientBoostingClassifier(
        max_iter=n_trees,
        learning_rate=rate,
        max_depth=depth,
        min_samples_leaf=2,
        early_stopping=stopping and np.unique(y, return_counts=True)[1].min() > 1,
        random_state=seed,
    )
    weight = rng.choice([0.5, 1.0, 3.0], n_rows) if weighted else None
    with warnings.catch_warnings():
        # Binning takes the middle between -inf and inf.
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        model.fit(X, y, sample_weight=weight)
    assert_same_everywhere(model, seed)


@drawn
@given(
    seed=seeds,
    n_classes=st.integers(2, 3),
    n_categories=st.integers(1, 40),
    where=st.sampled_from([[0], [1], [2], [0, 2], [1, 2], [0, 1, 2]]),
    missing=st.booleans(),
)
def test_hist_with_numbered_categories(seed, n_classes, n_categories, where, missing):
    rng = np.random.default_rng(seed)
    n_rows = 120
    X = table(rng, n_rows, 3, missing)
    numbers = rng.choice(np.arange(-5.0, 90.0, 0.5), n_categories, replace=False)
    X[:, where] = rng.choice(numbers, (n_rows, len(where)))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = answers(rng, n_rows, n_classes)
    model = HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=2, categorical_features=where
    ).fit(X, y)
    found = fatt.load(model).ensemble
    kinds = [isinstance(feature, Categorical) for feature in found.features]
    assert np.flatnonzero(kinds).tolist() == where
    rows = probe_rows(found, rng, 250)
    odd = np.array([-7.0, 3.25, 255.0, 256.0, 1e300, -0.0])
    for column in where:
        known = np.append(found.features[column].categories, odd)
        codes = np.nan_to_num(rows[:, column]).astype(int)
        values = known[codes % len(known)]
        rows[:, column] = np.where(np.isnan(rows[:, column]), np.nan, values)
    assert_same(model, rows, found)


@drawn
@given(
    seed=seeds,
    n_classes=st.integers(2, 3),
    n_categories=st.integers(1, 30),
    missing=st.booleans(),
    first=st.booleans(),
)
def test_hist_with_named_categories(seed, n_classes, n_categories, missing, first):
    rng = np.random.default_rng(seed)
    n_rows = 100
    names = [f"group {index}" for index in rng.permutation(n_categories)]
    cells = np.array(names, dtype=object)[rng.integers(n_categories, size=n_rows)]
    if missing:
        cells[rng.random(n_rows) < 0.2] = None
    frame = pd.DataFrame(table(rng, n_rows, 2, missing), columns=["age", "hours"])
    frame.insert(0 if first else 1, "group", pd.Categorical(cells))
    model = HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=2, categorical_features=["group"]
    )
    model.fit(frame, answers(rng, n_rows, n_classes))
    found = fatt.load(model).ensemble
    assert [feature.name for feature in found.features] == list(frame.columns)
    rows = pd.DataFrame(probe_rows(found, rng, 250), columns=list(frame.columns))
    known = [*found.features[list(frame.columns).index("group")].categories, "who?"]
    rows["group"] = pd.Categorical(
        [None if np.isnan(code) else known[int(code)] for code in rows["group"]]
    )
    assert_same(model, rows, found)
    assert_same(model, rows.astype({"group": object}), found)


def test_trees_split_at_nan():
    """Some versions leave NaN as the threshold of a split off of missing values."""
    X = np.array([[0.0], [1.0], [2.0], [np.nan]])
    model = DecisionTreeClassifier(random_state=0).fit(X, ["a", "a", "b", "c"])
    for node in np.flatnonzero(model.tree_.children_left >= 0):
        changed = copy.deepcopy(model)
        changed.tree_.threshold[node] = np.nan
        assert np.isnan(changed.tree_.threshold[node])
        assert_same(changed, np.append(X, [[-1.0], [1e30]], axis=0))


def test_hist_with_as_many_categories_as_there_can_be():
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(255.0), 4)[:, np.newaxis]
    model = HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=1, categorical_features=[0]
    ).fit(X, answers(rng, len(X), 2))
    found = fatt.load(model).ensemble
    rows = np.append(np.arange(-3.0, 300.0), np.nan)[:, np.newaxis]
    assert_same(model, rows, found)


def test_hist_from_dtype_in_any_frame_and_column_order():
    rng = np.random.default_rng(3)
    cells = rng.choice(["a", "b", "c"], 80)
    frame = pd.DataFrame({"x": rng.random(80), "g": pd.Categorical(cells)})
    frame["vip"] = pd.Categorical(rng.random(80) < 0.5)
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=8, min_samples_leaf=2
    ).fit(frame, np.where(cells == "b", frame["x"] > 0.5, frame["vip"]))
    found = fatt.load(model).ensemble
    assert found.classes == (False, True)
    assert found.features[2] == Categorical(
        name="vip",
        categories=(False, True),
        lower=-np.finfo(float).max,
        upper=np.finfo(float).max,
    )
    assert_same(model, frame, found)
    turned = pl.from_pandas(frame.astype({"vip": bool}))[["vip", "g", "x"]]
    assert np.array_equal(found.predict(turned), model.predict(frame))


def test_hist_refuses_none_as_a_category():
    X = np.array([["a", 0.0], ["b", 1.0], [None, 2.0]] * 10, dtype=object)
    y = np.array([0, 1, 1] * 10)
    model = HistGradientBoostingClassifier(categorical_features=[0]).fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"'x0'.*None.*NaN"):
        fatt.load(model)


def assert_both_refuse(model: Any, rows: Any) -> None:
    found = fatt.load(model).ensemble
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="Input"):
        model.predict(rows)
    with pytest.raises(DataError):
        found.predict(rows)


SIMPLE = (np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 5.0]]), [0, 1, 0, 1])


@pytest.mark.parametrize("value", [np.inf, -np.inf, 3.5e38, -3.4028236e38, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        ExtraTreeClassifier(),
        RandomForestClassifier(2),
        BaggingClassifier(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2),
    ],
)
def test_both_refuse_what_float32_cannot_hold(model, value):
    model.fit(*SIMPLE)
    assert_both_refuse(model, np.array([[0.0, 0.0], [value, 1.0]]))


def test_both_take_the_largest_numbers_that_round_into_float32():
    found = fatt.load(DecisionTreeClassifier().fit(*SIMPLE)).ensemble
    assert isinstance(found.features[0], Numeric)
    edge = found.features[0].upper
    beyond = np.nextafter(edge, np.inf)
    assert_same(DecisionTreeClassifier().fit(*SIMPLE), np.array([[edge, -edge]]))
    assert_both_refuse(DecisionTreeClassifier().fit(*SIMPLE), np.array([[beyond, 0.0]]))


def test_both_refuse_missing_values():
    rows = np.array([[np.nan, 1.0]])
    assert_both_refuse(GradientBoostingClassifier(n_estimators=2).fit(*SIMPLE), rows)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(monotonic_cst=[1, 0]),
        ExtraTreeClassifier(),
        DecisionTreeClassifier(splitter="random"),
        RandomForestClassifier(3, monotonic_cst=[1, 0]),
        ExtraTreesClassifier(3),
        BaggingClassifier(DecisionTreeClassifier(monotonic_cst=[1, 0])),
    ],
)
def test_missing_values_are_taken_where_the_installed_version_takes_them(model):
    """Versions differ; what they do not take, fatt does not take either."""
    model.fit(*SIMPLE)
    rows = np.array([[np.nan, 1.0], [1.0, np.nan]])
    try:
        model.predict(rows)
    except ValueError:
        assert_both_refuse(model, rows)
    else:
        assert_same(model, rows)


def test_both_refuse_infinity_in_a_category():
    X = np.array([[1.0], [2.0], [3.0]] * 10)
    model = HistGradientBoostingClassifier(categorical_features=[0])
    model.fit(X, [0, 1, 1] * 10)
    assert_both_refuse(model, np.array([[np.inf]]))


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, BaggingClassifier])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32])
def test_tables_of_other_types_give_the_same(kind, dtype):
    rng = np.random.default_rng(0)
    X = rng.choice([0, 1, 2**24 + 1, 2**52 + 3, 2**53], (200, 3)).astype(dtype)
    model = kind(random_state=0).fit(X, answers(rng, 200, 3))
    assert_same(model, X)
    assert_same(model, X.astype(np.float64))


def test_integers_that_scikit_learn_rounds_once_are_refused():
    # As float64 first, the number would be rounded down twice.
    number = 2**54 + 2**30 + 1
    once, twice = np.float32(np.int64(number)), np.float32(np.float64(number))
    assert once != twice
    X = np.array([[float(twice)], [float(once)]])
    model = DecisionTreeClassifier().fit(X, ["twice", "once"])
    assert model.predict(np.array([[number]])) == ["once"]
    with pytest.raises(DataError, match="pass the rows as float64"):
        fatt.load(model).predict(np.array([[number]]))


def test_hist_reads_large_integers_as_float64():
    X = np.array([[2**53 + 1, 0], [2**60 + 1, 1], [2**53 + 3, 0], [2**62, 1]] * 10)
    model = HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=5)
    model.fit(X, [0, 1, 1, 0] * 10)
    assert_same(model, X)
    assert_same(model, X.astype(np.uint64))
    assert_same(model, pd.DataFrame({"a": X[:, 0], "b": X[:, 1] / 2}).to_numpy())


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [False, True], [-1.0, 2.0], ["no", "yes"], np.array([3, 9], dtype="u1")],
)
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3),
        BaggingClassifier(),
        GradientBoostingClassifier(),
        HistGradientBoostingClassifier(),
    ],
)
def test_classes_keep_their_kind(model, labels):
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = np.array(labels)[(X[:, 0] > 0.5).astype(int)]
    found = fatt.load(model.fit(X, y)).ensemble
    assert [type(label) for label in found.classes] == [
        type(label) for label in np.array(labels).tolist()
    ]
    assert_same(model, X, found)


def test_names_come_from_the_model():
    frame = pd.DataFrame(SIMPLE[0], columns=["age", "hours"])
    model = DecisionTreeClassifier(random_state=0).fit(frame, SIMPLE[1])
    found = fatt.load(model).ensemble
    assert [feature.name for feature in found.features] == ["age", "hours"]
    assert found.inputs.named
    assert_same(model, frame, found)
    swapped = frame[["hours", "age"]]
    assert np.array_equal(found.predict(swapped), model.predict(frame))
    unnamed = fatt.load(DecisionTreeClassifier().fit(*SIMPLE)).ensemble
    assert [feature.name for feature in unnamed.features] == ["x0", "x1"]
    assert not unnamed.inputs.named


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(20, n_jobs=2, max_depth=3, random_state=0),
        ExtraTreesClassifier(20, n_jobs=-1, max_depth=3, random_state=0),
        BaggingClassifier(
            DecisionTreeClassifier(max_depth=3), 20, n_jobs=2, random_state=0
        ),
    ],
)
def test_parallel_forests_have_no_order(model):
    rng = np.random.default_rng(0)
    X = table(rng, 60, 3, False)
    found = fatt.load(model.fit(X, answers(rng, 60, 3))).ensemble
    assert not found.scoring.ordered
    assert "n_jobs=1" in found.source.notes[0]
    lower, upper = found.score_bounds(X)
    scores = model.predict_proba(X)
    assert np.all(lower <= scores)
    assert np.all(scores <= upper)
    possible = found.possible_labels(X)
    chosen = np.searchsorted(model.classes_, model.predict(X))
    assert possible[np.arange(len(X)), chosen].all()


def test_parallel_forests_whose_order_cannot_matter():
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 3)), answers(rng, 50, 3)
    pure = RandomForestClassifier(30, n_jobs=2, bootstrap=False).fit(X, y)
    assert fatt.load(pure).ensemble.scoring.ordered
    assert_same(pure, X)
    pair = RandomForestClassifier(2, n_jobs=2, max_depth=2).fit(X, y)
    assert fatt.load(pair).ensemble.scoring.ordered
    assert_same(pair, X)


def test_boosting_is_unordered_where_processors_fuse(monkeypatch):
    model = GradientBoostingClassifier(n_estimators=5).fit(*SIMPLE)
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    found = fatt.load(model).ensemble
    assert not found.scoring.ordered
    assert "arm64" in found.source.notes[0]


class Cautious(RandomForestClassifier):
    """A subclass that answers something else."""

    __module__ = "sklearn.ensemble._forest"

    def predict(self, X):
        return super().predict(X)[::-1]


TREE = DecisionTreeClassifier()


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
@pytest.mark.parametrize("where", ["alone", "in a pipeline"])
def test_a_search_answers_as_its_best_model(search, where):
    X, y = SIMPLE
    X, y = np.tile(X, (6, 1)), y * 6
    more = {"n_iter": 2} if search is RandomizedSearchCV else {}
    own = search(TREE, {"max_depth": [1, 2]}, cv=2, **more)
    if where == "in a pipeline":
        encoder = OneHotEncoder(handle_unknown="ignore")
        own = make_pipeline(encoder, own)
    own.fit(X, y)
    model = fatt.load(own)
    assert model.predict(X).tolist() == model.ask(X) == own.predict(X).tolist()


REFUSED = [
    (Cautious(2), "Cautious"),
    (forests.AdaBoostRegressor(n_estimators=2), "AdaBoostRegressor"),
    (CalibratedClassifierCV(TREE, cv=2), "CalibratedClassifierCV averages 2"),
    (FixedThresholdClassifier(LogisticRegression()), "LogisticRegression"),
    (TunedThresholdClassifierCV(LogisticRegression(), cv=2), "LogisticRegression"),
    (GridSearchCV(TREE, {"max_depth": [1]}, cv=2, refit=False), "refit=False"),
    (forests.AdaBoostClassifier(RandomForestClassifier(2)), "holds a RandomForest"),
    (
        forests.VotingClassifier([("t", LogisticRegression())]),
        "cannot import a scikit-learn LogisticRegression",
    ),
    (forests.StackingClassifier([("t", TREE)], cv=2), "StackingClassifier"),
    (OneVsRestClassifier(TREE), "one model per class"),
    (forests.IsolationForest(n_estimators=2), "IsolationForest.*labels"),
    (LogisticRegression(), "LogisticRegression.*supported are"),
    (BaggingClassifier(LogisticRegression(), 2), "holds a LogisticRegression"),
    (
        GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2),
        "starts from a LogisticRegression",
    ),
    (
        GradientBoostingClassifier(
            init=DummyClassifier(strategy="uniform"), n_estimators=2
        ),
        "starts from a DummyClassifier",
    ),
]


@pytest.mark.parametrize(("model", "message"), REFUSED)
def test_refused_by_name(model, message):
    X, y = SIMPLE
    model.fit(np.tile(X, (6, 1)), y * 6)
    with pytest.raises(UnsupportedModelError, match=message):
        fatt.load(model)


@pytest.mark.parametrize("model", [TREE, HistGradientBoostingClassifier()])
def test_unfitted_models_are_refused(model):
    with pytest.raises(UnsupportedModelError, match="is not fitted; call fit"):
        fatt.load(clone(model))


@pytest.mark.parametrize("model", [TREE, RandomForestClassifier(2)])
def test_several_answers_at_once_are_refused(model):
    X, y = SIMPLE
    with pytest.raises(UnsupportedModelError, match="answers 2 columns of y"):
        fatt.load(clone(model).fit(X, np.c_[y, y]))


def test_the_missing_argument_is_refused():
    with pytest.raises(SpecError, match="DecisionTreeClassifier"):
        fatt.load(DecisionTreeClassifier().fit(*SIMPLE), missing=-1.0)


def test_decisions_are_those_of_the_library():
    boosted = fatt.load(
        GradientBoostingClassifier(n_estimators=1).fit(*SIMPLE)
    ).ensemble
    assert boosted.decision == Cut(at=0.0)
    hist = fatt.load(HistGradientBoostingClassifier(max_iter=1).fit(*SIMPLE)).ensemble
    assert hist.decision == Cut(at=float(np.nextafter(0.0, 1.0)))
