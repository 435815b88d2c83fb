"""LightGBM models answer the same in `fatt`, to the last bit."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import fatt
from fatt.ensemble import Argmax, Categorical, Cut, Ensemble, Numeric
from fatt.errors import (
    DataError,
    FattError,
    MalformedModelError,
    SpecError,
    UnsupportedModelError,
)
from fatt.importers.lightgbm import convert, read
from fatt.importers.lightgbm.answers import scale_of
from tests.probes import probe_rows, same_bits

lgb = pytest.importorskip("lightgbm")
pytestmark = pytest.mark.lightgbm

ZERO = float(np.float32(1e-35))
QUIET = {"verbose": -1, "num_threads": 1, "min_data_in_bin": 1}


def train(
    params: dict[str, Any],
    X: Any,
    y: Any,
    rounds: int = 4,
    *,
    init_model: Any = None,
    **data: Any,
) -> Any:
    dataset = lgb.Dataset(X, y, params=QUIET | params, **data)
    with warnings.catch_warnings():
        # Some versions remark on parameters that come with the data, too.
        warnings.simplefilter("ignore", UserWarning)
        return lgb.train(QUIET | params, dataset, rounds, init_model=init_model)


def library_labels(booster: Any, rows: Any) -> np.ndarray:
    """The rule of LGBMClassifier, on what the Booster answers."""
    answer = booster.predict(rows, num_threads=1)
    if answer.ndim == 1:
        answer = np.vstack((1.0 - answer, answer)).T
    return np.argmax(answer, axis=1)


def library_scores(model: Any, rows: Any) -> np.ndarray:
    scores = model.predict(rows, raw_score=True, num_threads=1)
    return scores.reshape(len(scores), -1)


def assert_same(ensemble: Ensemble, booster: Any, rows: Any) -> None:
    assert same_bits(ensemble.raw_scores(rows), library_scores(booster, rows))
    assert np.array_equal(ensemble.predict(rows), library_labels(booster, rows))


def data(
    seed: int, n_rows: int = 150, n_columns: int = 4, n_classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Few distinct values, zeros, tiny numbers and gaps, so that ties occur."""
    rng = np.random.default_rng(seed)
    pool = np.array([0.0, -0.0, 1e-36, -1e-36, 1e-35, 1.0, -1.0, 2.5, np.nan, 1e300])
    pool = np.append(pool, rng.normal(size=4))
    X = rng.choice(pool, size=(n_rows, n_columns))
    X[:, -1] = rng.integers(0, rng.choice([3, 70, 450]), n_rows)
    X[rng.random(n_rows) < rng.choice([0.0, 0.1]), -1] = np.nan
    if n_columns > 1:
        X[:, 0] = np.nan_to_num(X[:, 0], nan=0.5)
    y = rng.integers(0, n_classes, n_rows)
    y = np.where(np.nan_to_num(X[:, -1]) % 3 == 1, 0, y)
    y[:n_classes] = np.arange(n_classes)
    return X, y


OBJECTIVES = st.sampled_from(["binary", "multiclass", "multiclassova", "cross_entropy"])
BOOSTINGS: dict[str, dict[str, Any]] = {
    "gbdt": {"boosting": "gbdt"},
    "dart": {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.1},
    "rf": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
    "goss": {"boosting": "goss", "top_rate": 0.3, "other_rate": 0.3},
    "extra": {"extra_trees": True, "monotone_constraints": [1, -1, 0, 0]},
}


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "objective": draw(OBJECTIVES),
        **BOOSTINGS[draw(st.sampled_from(sorted(BOOSTINGS)))],
        "num_leaves": draw(st.sampled_from([2, 4, 31])),
        "min_data_in_leaf": draw(st.sampled_from([1, 10])),
        "min_sum_hessian_in_leaf": 1e-9,
        "learning_rate": draw(st.sampled_from([0.1, 0.3, 1.0])),
        "sigmoid": draw(st.sampled_from([1.0, 0.3, 12.3457, 1.23457e-5])),
        "zero_as_missing": draw(st.booleans()),
        "use_missing": draw(st.booleans()),
        "boost_from_average": draw(st.booleans()),
        "max_bin": draw(st.sampled_from([3, 15, 255])),
        "max_cat_to_onehot": draw(st.sampled_from([1, 4, 1000])),
        "min_data_per_group": 1,
        "cat_smooth": draw(st.sampled_from([0.0, 10.0])),
        "cat_l2": 0.1,
    }


@settings(max_examples=120, deadline=None, derandomize=True)
@given(parameters(), st.booleans(), st.integers(0, 10**6), st.sampled_from([1, 5, 20]))
def test_any_booster(
    params: dict[str, Any], categorical: bool, seed: int, rounds: int
) -> None:
    n_classes = 3 if params["objective"].startswith("multi") else 2
    if n_classes == 3:
        params = params | {"num_class": 3}
    X, y = data(seed, n_classes=n_classes)
    if categorical:
        params.pop("monotone_constraints", None)
    booster = train(params, X, y, rounds, categorical_feature=[3] * categorical)
    ensemble = read(booster.model_to_string().encode(), missing=None).ensemble
    assert ensemble == convert(booster, missing=None).ensemble
    rows = probe_rows(ensemble, np.random.default_rng(seed), 600)
    assert_same(ensemble, booster, np.vstack([rows, X]))


# What only the library's own tables show


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from(["gbdt", "dart", "rf", "goss"]))
def test_frames_with_categories(seed: int, boosting: str) -> None:
    rng = np.random.default_rng(seed)
    n = 120
    town = rng.choice(["Ulm", "Bern", "Graz", "Lviv"], n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 40, n),
            "town": pd.Categorical(town),
            "size": pd.Categorical(rng.choice([30, 10, 20], n)),
            "same": pd.Categorical(["x"] * n),
            "pay": rng.choice([0.0, 1.5, np.nan, -2.0], n),
        }
    )
    answer = np.where((town == "Ulm") ^ (frame["age"] > 30), "no", "yes")
    model = lgb.LGBMClassifier(
        n_estimators=5,
        min_child_samples=1,
        min_data_per_group=1,
        cat_smooth=0.0,
        max_cat_to_onehot=int(rng.choice([1, 10])),
        n_jobs=1,
        verbose=-1,
        **BOOSTINGS[boosting],
    ).fit(frame, answer)
    ensemble = convert(model, missing=None).ensemble
    assert ensemble.inputs.named
    assert ensemble.classes == ("no", "yes")
    kinds = {f.name: f.categories for f in ensemble.features if hasattr(f, "coding")}
    assert kinds["town"] == ("Bern", "Graz", "Lviv", "Ulm")
    assert kinds["size"] == (10, 20, 30)
    unseen = frame.copy()
    unseen["town"] = pd.Categorical(rng.choice(["Ulm", "Oslo", None, "Bern"], n))
    unseen["size"] = pd.Categorical(rng.choice([20, 99, 10], n))
    for table in (frame, unseen):
        assert same_bits(ensemble.raw_scores(table), library_scores(model, table))
        assert np.array_equal(ensemble.predict(table), model.predict(table))
    shuffled = frame[["pay", "same", "size", "town", "age"]]
    with pytest.raises(DataError, match=r"The rows have pay, same, .*model has age, "):
        ensemble.raw_scores(shuffled)
    written = read(model.booster_.model_to_string().encode(), missing=None).ensemble
    assert "by position" in written.source.notes[-1]
    assert same_bits(written.raw_scores(shuffled), ensemble.raw_scores(frame))
    codes = frame.assign(**{c: frame[c].cat.codes for c in ("town", "size", "same")})
    array = codes.to_numpy(dtype=float)
    assert same_bits(ensemble.raw_scores(array), library_scores(model.booster_, array))
    with pytest.raises(ValueError, match="categorical_feature do not match"):
        model.predict(codes)
    with pytest.raises(DataError, match="'town' holds plain numbers"):
        ensemble.predict(codes)


def test_ordered_categories_are_codes_that_no_frame_can_give() -> None:
    rng = np.random.default_rng(0)
    grade = pd.Categorical(rng.choice([10, 20, 30], 200), ordered=True)
    frame = pd.DataFrame({"grade": grade, "x": rng.normal(size=200)})
    booster = train({"objective": "binary"}, frame, (grade.codes == 1).astype(int))
    ensemble = convert(booster, missing=None).ensemble
    assert isinstance(ensemble.features[0], Numeric)
    assert "take codes, not labels" in ensemble.source.notes[-1]
    array = np.column_stack([grade.codes, frame["x"]])
    assert same_bits(ensemble.raw_scores(array), library_scores(booster, frame))
    with pytest.raises(DataError, match="'grade'"):
        ensemble.predict(frame)
    words = frame.assign(grade=["low"] * len(frame))
    with pytest.raises(DataError, match=r"'grade' is 'low'.*the code that stands for"):
        ensemble.predict(words)
    # LightGBM itself takes no frame without a category column: it gets an array.
    model = fatt.load(booster)
    coded = frame.assign(grade=grade.codes)
    with pytest.raises(ValueError, match="categorical_feature do not match"):
        booster.predict(coded)
    assert np.array_equal(model.ask(coded), model.ask(array))
    assert np.array_equal(model.ask(coded), model.predict(coded))


@pytest.mark.parametrize("n_codes", [4, 5000])
def test_labels_that_may_be_those_of_another_column(n_codes: int) -> None:
    """As many categorical features as category columns, and not the same ones."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(rng.choice([10, 20, 30], 200), ordered=True),
            "town": pd.Categorical(rng.choice(list("abcde"), 200)),
            "zip": rng.integers(0, n_codes, 200),
        }
    )
    booster = train(
        {"objective": "binary"},
        frame,
        rng.integers(0, 2, 200),
        categorical_feature=["town", "zip"],
    )
    ensemble = convert(booster, missing=None).ensemble
    towns, zips = ensemble.features[1:]
    assert isinstance(towns, Categorical)
    assert isinstance(zips, Categorical)
    assert not towns.labelled
    assert not zips.labelled
    assert "take codes, not labels" in ensemble.source.notes[-1]
    codes = frame.assign(grade=frame["grade"].cat.codes, town=frame["town"].cat.codes)
    assert same_bits(
        ensemble.raw_scores(codes.to_numpy(dtype=float)), library_scores(booster, frame)
    )


def test_large_codes_without_splits_do_not_fit_few_labels() -> None:
    text = constant(1.0, "binary sigmoid:1")
    text = text.replace("feature_infos=none", "feature_infos=-1:0:2000000000")
    text = text.replace("categorical:null", 'categorical:[["a", "b"]]')
    feature = read(text.encode(), missing=None).features[0]
    assert isinstance(feature, Categorical)
    assert not feature.labelled
    fitting = read(text.replace(":2000000000", ":1").encode(), missing=None).ensemble
    assert fitting.features[0] == Categorical(
        name="Column_0", categories=("a", "b"), coding="truncate", labelled=True
    )


def test_codes_without_labels() -> None:
    X, y = data(4)
    booster = train({"objective": "binary"}, X, y, categorical_feature=[3])
    ensemble = convert(booster, missing=None).ensemble
    assert not ensemble.inputs.named
    feature = ensemble.features[3]
    assert isinstance(feature, Categorical)
    assert not feature.labelled
    frame = pd.DataFrame(X)
    assert same_bits(ensemble.raw_scores(frame), library_scores(booster, X))
    frame[3] = pd.Categorical(frame[3])
    with pytest.raises(DataError, match="does not say which codes"):
        ensemble.predict(frame)


def test_categories_in_a_sparse_matrix() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": rng.integers(0, 6, 200),
            "pay": rng.choice([0.0, 1.0, -2.0], 200),
            "sex": rng.choice(["F", "M"], 200),
        }
    )
    steps = ColumnTransformer(
        [
            ("plain", "passthrough", ["town", "pay"]),
            ("sex", OneHotEncoder(), ["sex"]),
        ],
        sparse_threshold=1.0,
    )
    model = lgb.LGBMClassifier(
        n_estimators=3, min_data_per_group=1, cat_smooth=0.0, n_jobs=1, verbose=-1
    )
    pipeline = make_pipeline(steps, model)
    answer = (frame["town"] % 2 == 1) ^ (frame["pay"] > 0)
    pipeline.fit(frame, answer, lgbmclassifier__categorical_feature=[0])
    assert "num_cat=1" in model.booster_.model_to_string()
    towns = [-1.0, 0.0, 1.0, 5.0, 6.0, 0.9, -0.5, -1e-36, np.nan]
    pays = [0.0, ZERO, -ZERO, 1e-36, -1e-36, 1.0, -2.0, np.nan]
    rows = pd.DataFrame(itertools.product(towns, pays), columns=["town", "pay"])
    rows["sex"] = "M"
    expected = library_scores(model, steps.transform(rows))
    assert same_bits(fatt.load(pipeline).raw_scores(rows), expected)


def test_names_lose_their_blanks() -> None:
    X, y = data(1)
    frame = pd.DataFrame(X, columns=["my age", "b", "Größe", "d"])
    model = lgb.LGBMClassifier(n_estimators=2, verbose=-1).fit(frame, y)
    ensemble = convert(model, missing=None).ensemble
    assert [f.name for f in ensemble.features] == ["my_age", "b", "Größe", "d"]
    assert np.array_equal(ensemble.predict(frame), model.predict(frame))
    renamed = frame.rename(columns={"my age": "my_age"})
    assert np.array_equal(ensemble.predict(renamed), model.predict(frame))


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint8",
        "int16",
        "int32",
        "int64",
        "uint64",
        "float16",
        "float32",
    ],
)
def test_dtypes(dtype: str) -> None:
    X = np.random.default_rng(0).integers(0, 5, (200, 3)).astype(dtype)
    booster = train({"objective": "binary"}, X.astype(float), X[:, 0] > X[:, 1])
    ensemble = convert(booster, missing=None).ensemble
    for rows in (X, np.asfortranarray(X), pd.DataFrame(X)):
        assert_same(ensemble, booster, rows)
    if dtype != "float16":  # which LightGBM does not take from polars
        assert_same(ensemble, booster, pl.DataFrame(X))


@pytest.mark.parametrize("dtype", ["int64", "double", "bool"])
@pytest.mark.parametrize("gap", [False, True])
def test_what_pandas_keeps_in_pyarrow_is_refused(dtype: str, gap: bool) -> None:
    X = np.random.default_rng(0).integers(0, 2, (200, 3))
    booster = train({"objective": "binary"}, X.astype(float), X[:, 0] > X[:, 1])
    model = convert(booster, missing=None)
    frame = pd.DataFrame(X, columns=booster.feature_name())
    held = frame.astype({"Column_1": f"{dtype}[pyarrow]"})
    if gap:
        held.loc[3, "Column_1"] = pd.NA
    with pytest.raises(ValueError, match="dtypes must be int, float or bool"):
        booster.predict(held)
    with pytest.raises(DataError, match=r"rows.astype\(\{'Column_1': 'float'\}\)"):
        model.predict(held)
    assert_same(model.ensemble, booster, held.astype({"Column_1": float}))
    for mask in ("Int64", "Float64", "boolean"):
        masked = frame.astype({"Column_1": mask})
        masked.loc[5, "Column_1"] = pd.NA
        assert_same(model.ensemble, booster, masked)


def test_texts_in_a_frame_are_refused_with_the_way_out() -> None:
    rng = np.random.default_rng(0)
    texts = rng.choice(["x", "y"], 200)
    frame = pd.DataFrame({"n": rng.normal(size=200), "t": pd.Categorical(texts)})
    booster = train({"objective": "binary"}, frame, (texts == "x") ^ (frame["n"] > 0))
    raw = frame.astype({"t": str})
    with pytest.raises(ValueError, match="categorical_feature do not match"):
        booster.predict(raw)
    similarity = fatt.Similarity(vary=["t"])
    for table in (raw, frame.astype({"t": object})):
        with pytest.raises(DataError, match=r"rows.astype\(\{'t': 'category'\}\)"):
            fatt.verify(booster, table, similarity=similarity)
    # Rows of a file come as texts.
    model = read(booster.model_to_string().encode(), missing=None)
    assert_same(model.ensemble, booster, frame)
    assert np.array_equal(model.predict(raw), model.predict(frame))


def test_more_columns_than_the_model_has_are_no_alarm(
    capfd: pytest.CaptureFixture[str],
) -> None:
    X, y = data(5)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    booster = train({"objective": "binary"}, frame, y)
    similarity = fatt.Similarity(noise={"c0": 0.1})
    own = fatt.verify(booster, frame, similarity=similarity)
    more = fatt.verify(booster, frame.assign(label=y), similarity=similarity)
    assert more.counts == own.counts
    assert "Fatal" not in capfd.readouterr().out + capfd.readouterr().err
    with pytest.raises(ValueError, match="the rows have 2 columns and the model"):
        fatt.load(booster).ask(frame[["c0", "c1"]])


def test_large_integers_are_rounded_by_the_library() -> None:
    X = 2**24 + np.random.default_rng(0).integers(0, 9, (200, 1))
    booster = train(
        {"objective": "binary", "min_data_in_leaf": 1}, X.astype(float), X[:, 0] % 2
    )
    ensemble = convert(booster, missing=None).ensemble
    assert_same(ensemble, booster, X.astype(float))
    assert not same_bits(
        library_scores(booster, X), library_scores(booster, X.astype(float))
    )
    for rows in (X, X.astype(object)):
        with pytest.raises(DataError, match="float64"):
            ensemble.predict(rows)


def test_threads_do_not_change_sums() -> None:
    X, y = data(5, n_rows=3000)
    booster = train({"objective": "binary"}, X, y, 30)
    ensemble = convert(booster, missing=None).ensemble
    expected = ensemble.raw_scores(X)[:, 0]
    for threads in (1, 2, 5):
        assert same_bits(
            booster.predict(X, raw_score=True, num_threads=threads), expected
        )


# Labels


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [3, -1], [5.0, 2.0], ["a", "b", "c"]]
)
def test_labels_of_classifiers(labels: list[Any]) -> None:
    X, y = data(7, n_classes=len(labels))
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    model.fit(X, np.array(labels)[y])
    ensemble = convert(model, missing=None).ensemble
    assert ensemble.classes == tuple(sorted(labels))
    predicted = ensemble.predict(X)
    assert predicted.dtype.kind == model.predict(X).dtype.kind
    assert np.array_equal(predicted, model.predict(X))
    assert ensemble.source.notes == ()


def test_two_classes_by_softmax() -> None:
    X, y = data(7)
    model = lgb.LGBMClassifier(
        objective="multiclass", num_class=2, n_estimators=3, verbose=-1
    ).fit(X, y)
    ensemble = convert(model, missing=None).ensemble
    assert isinstance(ensemble.decision, Argmax)
    assert np.array_equal(ensemble.predict(X), model.predict(X))


def model_text(tree: str, objective: str = "binary sigmoid:1", header: str = "") -> str:
    """The text of a model with one tree on one feature."""
    tree = f"Tree=0\n{tree}is_linear=0\nshrinkage=1\n\n\n"
    return (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        f"max_feature_idx=0\nobjective={objective}\n{header}feature_names=Column_0\n"
        f"feature_infos=none\ntree_sizes={len(tree)}\n\n{tree}end of trees\n\n"
        "feature_importances:\n\nparameters:\n\nend of parameters\n\n"
        "pandas_categorical:null\n"
    )


def constant(leaf: float, objective: str, header: str = "") -> str:
    """The text of a model with one leaf."""
    tree = (
        "num_leaves=1\nnum_cat=0\nsplit_feature=\nthreshold=\ndecision_type=\n"
        f"left_child=\nright_child=\nleaf_value={leaf!r}\n"
    )
    return model_text(tree, objective, header)


def split(threshold: str, decision: int, words: str = "") -> str:
    """The text of a model with one split, on a number or on a set of 32-bit words."""
    tree = (
        f"num_leaves=2\nnum_cat={int(bool(words))}\nsplit_feature=0\nsplit_gain=1\n"
        f"threshold={threshold}\ndecision_type={decision}\nleft_child=-1\n"
        "right_child=-2\nleaf_value=-1 1\nleaf_weight=1 1\nleaf_count=1 1\n"
        "internal_value=0\ninternal_weight=2\ninternal_count=2\n"
    )
    if words:
        length = len(words.split())
        tree += f"cat_boundaries=0 {length}\ncat_threshold={words}\n"
    return model_text(tree)


@pytest.mark.parametrize("decision", [0, 2, 4, 6, 8, 10])
@pytest.mark.parametrize(
    "threshold",
    [
        "0",
        "-0",
        "1e-36",
        "-1e-36",
        "1.0000000180025095e-35",
        "-1.0000000180025095e-35",
        "1.0000000180025097e-35",
        "-1.0000000180025097e-35",
        "5e-324",
        "-5e-324",
        "inf",
        "-inf",
        "1e+308",
        "0.10000000000000001",
    ],
)
def test_every_kind_of_numeric_split(threshold: str, decision: int) -> None:
    text = split(threshold, decision)
    ensemble = read(text.encode(), missing=None).ensemble
    rows = probe_rows(ensemble, np.random.default_rng(0), 60)
    assert_same(ensemble, lgb.Booster(model_str=text), rows)


@pytest.mark.parametrize("decision", [1, 3, 5, 9, 11])
@pytest.mark.parametrize("words", ["1", "2147483649", "0 0 4294967295", "5 0"])
def test_every_kind_of_category_split(words: str, decision: int) -> None:
    text = split("0", decision, words)
    ensemble = read(text.encode(), missing=None).ensemble
    rows = probe_rows(ensemble, np.random.default_rng(0), 200)
    assert_same(ensemble, lgb.Booster(model_str=text), rows)


def two_splits(thresholds: str, decisions: str) -> bytes:
    """The text of a model with two splits on one feature, and one category set."""
    tree = (
        f"num_leaves=3\nnum_cat=1\nsplit_feature=0 0\nthreshold={thresholds}\n"
        f"decision_type={decisions}\nleft_child=1 -1\nright_child=-2 -3\n"
        "leaf_value=1 2 3\ncat_boundaries=0 1\ncat_threshold=2\n"
    )
    return model_text(tree).encode()


def test_two_splits_cannot_share_a_set() -> None:
    with pytest.raises(MalformedModelError, match="share a category set"):
        read(two_splits("0 0", "1 1"), missing=None)


def test_absurd_codes_are_refused_before_they_take_memory() -> None:
    assert (
        len(read(split("0", 1, "0 " * 999 + "8").encode(), missing=None).ensemble.trees)
        == 1
    )
    with pytest.raises(UnsupportedModelError, match="without gaps"):
        read(split("0", 1, "0 " * 2**17 + "1").encode(), missing=None)


@pytest.mark.parametrize("header", ["", "average_output\n"])
@pytest.mark.parametrize(
    "objective",
    ["cross_entropy"]
    + [f"binary sigmoid:{s}" for s in ("1", "0.3", "12.3457", "1.23457e-05", "2e+30")],
)
def test_the_cut_is_where_the_library_changes_its_mind(
    objective: str, header: str
) -> None:
    ensemble = read(constant(0.0, objective, header).encode(), missing=None).ensemble
    assert isinstance(ensemble.decision, Cut)
    at = ensemble.decision.at
    for leaf in (at, np.nextafter(at, -1), np.nextafter(at, 1), -at, 0.0):
        text = constant(float(leaf), objective, header)
        booster = lgb.Booster(model_str=text)
        assert_same(
            read(text.encode(), missing=None).ensemble, booster, np.zeros((1, 1))
        )
    assert ensemble.predict([[0.0]]).tolist() == [0]


def test_sigmoid_is_read_with_the_roundings_of_the_library() -> None:
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(200):
        text = f"{10 ** rng.uniform(-7, 4):.6g}"
        differ += scale_of(text) != float(text)
        leaf = float(rng.normal() / float(text))
        booster = lgb.Booster(model_str=constant(leaf, f"binary sigmoid:{text}"))
        expected = 1.0 / (1.0 + math.exp(-scale_of(text) * leaf))
        assert booster.predict([[0.0]])[0] == expected
    assert differ > 0


def test_near_ties_of_several_classes() -> None:
    """Leaves one float apart: softmax and sigmoid round many to equal."""
    X, y = data(3, n_classes=3)
    rng = np.random.default_rng(1)
    for objective in ("multiclass", "multiclassova"):
        for header in ("", "average_output\n"):
            params = {"objective": objective, "num_class": 3, "sigmoid": 0.7}
            text = train(params, X, y, 3).model_to_string()
            text = text.replace("feature_names", header + "feature_names", 1)

            def near(found: re.Match[str]) -> str:
                count = len(found[1].split())
                steps = rng.integers(-2, 3, count) * 2.0**-52
                return "leaf_value=" + " ".join(f"{1 + s:.17g}" for s in steps)

            text = fix_sizes(re.sub(r"leaf_value=(.*)", near, text))
            booster = lgb.Booster(model_str=text)
            ensemble = read(text.encode(), missing=None).ensemble
            rows = probe_rows(ensemble, rng, 400)
            assert_same(ensemble, booster, rows)
            assert len(np.unique(ensemble.predict(rows))) > 1


def fix_sizes(text: str) -> str:
    """Write the sizes of changed trees into the header, where LightGBM needs them."""
    body = text[text.index("Tree=0") : text.index("end of trees")]
    trees = re.split(r"(?=^Tree=)", body, flags=re.MULTILINE)[1:]
    sizes = " ".join(str(len(tree.encode())) for tree in trees)
    return re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", text, count=1)


# Iterations, continued and resumed training


@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
def test_best_iteration(boosting: str) -> None:
    X, y = data(8, n_rows=300)
    train_set = lgb.Dataset(X[:150], y[:150])
    booster = lgb.train(
        QUIET | BOOSTINGS[boosting] | {"objective": "binary", "metric": "auc"},
        train_set,
        60,
        valid_sets=[lgb.Dataset(X[150:], y[150:], reference=train_set)],
        callbacks=[lgb.early_stopping(3, verbose=False)],
        keep_training_booster=True,
    )
    assert 0 < booster.best_iteration < booster.current_iteration()
    ensemble = convert(booster, missing=None).ensemble
    assert len(ensemble.trees) == booster.best_iteration
    assert_same(ensemble, booster, X)


@pytest.mark.parametrize("first", [{}, {"use_missing": False}])
def test_continued_training_mixes_missing_types(first: dict[str, Any]) -> None:
    X, y = data(9)
    start = train({"objective": "binary", **first}, np.nan_to_num(X), y)
    for second in ({}, {"zero_as_missing": True}, {"use_missing": False}):
        params = {"objective": "binary", "min_data_in_leaf": 1, **second}
        booster = train(params, X, y, init_model=start)
        assert booster.num_trees() == 8
        ensemble = convert(booster, missing=None).ensemble
        rows = probe_rows(ensemble, np.random.default_rng(0), 800)
        assert_same(ensemble, booster, rows)


def test_zero_and_nan_as_missing_clash() -> None:
    X, y = data(9)
    params = {"objective": "binary", "min_data_in_leaf": 1}
    start = train(params, X, y, 10)
    booster = train(params | {"zero_as_missing": True}, X, y, 10, init_model=start)
    with pytest.raises(UnsupportedModelError, match="takes zero for missing in some"):
        convert(booster, missing=None)


def test_a_feature_both_number_and_category() -> None:
    with pytest.raises(UnsupportedModelError, match="is a number in some splits"):
        read(two_splits("2.5 0", "2 1"), missing=None)


def test_refitted_and_edited_leaves() -> None:
    X, y = data(10)
    booster = train({"objective": "binary"}, X, y).refit(X, 1 - y)
    booster.set_leaf_output(0, 0, 0.1)
    assert_same(convert(booster, missing=None).ensemble, booster, X)


def test_a_booster_in_training() -> None:
    X, y = data(0)
    params = QUIET | {"objective": "binary", "sigmoid": 12.3457, "learning_rate": 0.5}
    booster = lgb.Booster(params, lgb.Dataset(X, y))
    booster.update()
    assert_same(convert(booster, missing=None).ensemble, booster, X)


def test_no_trees() -> None:
    X, y = data(0)
    booster = lgb.Booster(QUIET | {"objective": "binary"}, lgb.Dataset(X, y))
    ensemble = convert(booster, missing=None).ensemble
    assert len(ensemble.trees) == 0
    assert ensemble.raw_scores(X).tolist() == [[0.0]] * len(X)
    assert ensemble.predict(X).tolist() == [0] * len(X)


# Refusals


def rank(X: np.ndarray, y: np.ndarray) -> Any:
    return lgb.LGBMRanker(n_estimators=2, verbose=-1).fit(X, y, group=[len(X)])


class Different(lgb.LGBMClassifier):
    pass


def slope(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return score - y, np.ones_like(score)


REFUSALS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "regressor": (
        lambda X, y: lgb.LGBMRegressor(objective="binary", verbose=-1).fit(X, y),
        "LGBMRegressor",
    ),
    "ranker": (rank, "LGBMRanker"),
    "subclass": (lambda X, y: Different(verbose=-1).fit(X, y), "Different"),
    "custom": (
        lambda X, y: lgb.LGBMClassifier(objective=slope, verbose=-1).fit(X, y),
        r"\(custom\)",
    ),
    "early stop": (
        lambda X, y: lgb.LGBMClassifier(pred_early_stop=True, verbose=-1).fit(X, y),
        "pred_early_stop",
    ),
    "unfitted": (lambda X, y: lgb.LGBMClassifier(), "not fitted"),
    "one class": (
        lambda X, y: lgb.LGBMClassifier(verbose=-1).fit(X, np.zeros(len(y))),
        "alone",
    ),
    "linear": (
        lambda X, y: train({"objective": "binary", "linear_tree": True}, X[:, :1], y),
        "linear trees",
    ),
    "roots": (
        lambda X, y: train({"objective": "regression", "reg_sqrt": True}, X, y),
        "square roots",
    ),
    "lambda": (
        lambda X, y: train({"objective": "cross_entropy_lambda"}, X, y),
        "intensity",
    ),
    "rank": (
        lambda X, y: train({"objective": "lambdarank"}, X, y, group=[len(X)]),
        "ranks rows",
    ),
    "sigmoid in training": (
        lambda X, y: lgb.Booster(
            QUIET | {"objective": "binary", "sigmoid": 1.0000001}, lgb.Dataset(X, y)
        ),
        "writes as 1",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str) -> None:
    X, y = data(2)
    make, message = REFUSALS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make(np.nan_to_num(X), y)
    with pytest.raises(UnsupportedModelError, match=message):
        fatt.load(model).ensemble if type(model) is not Different else convert(
            model, missing=None
        ).ensemble


def test_missing_is_refused() -> None:
    X, y = data(2)
    booster = train({"objective": "binary"}, X, y)
    with pytest.raises(SpecError, match="LightGBM"):
        convert(booster, missing=-1.0)
    with pytest.raises(SpecError, match="LightGBM"):
        read(booster.model_to_string().encode(), missing=-1.0)


# Files


@pytest.fixture(scope="module")
def text() -> str:
    X, y = data(11)
    params = {"objective": "binary", "num_leaves": 4, "min_data_in_leaf": 1}
    params |= {"min_data_per_group": 1, "cat_smooth": 0.0, "cat_l2": 0.0}
    X[:, 3] %= 40
    booster = train(params, X, y, 3, categorical_feature=[3])
    written = booster.model_to_string()
    assert "cat_boundaries" in written
    return str(written)


def test_a_file_is_read_by_load(text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text(text, encoding="utf-8")
    ensemble = fatt.load(path).ensemble
    assert ensemble == read(text.encode(), missing=None).ensemble
    assert ensemble.source.format == "text file, format v4"
    assert ensemble.source.model == "gbdt"
    assert ensemble.source.objective == "binary"
    assert ensemble.classes == (0, 1)
    assert "as LGBMClassifier answers" in ensemble.source.notes[0]


def test_windows_line_ends(text: str) -> None:
    windows = text.replace("\n", "\r\n").encode()
    assert (
        read(windows, missing=None).ensemble
        == read(text.encode(), missing=None).ensemble
    )


def test_unknown_lines_are_refused(text: str) -> None:
    for changed in (
        fix_sizes(text.replace("shrinkage=", "new_key=1\nshrinkage=")),
        text.replace("num_class=", "new_key=2\nnum_class=", 1),
    ):
        with pytest.raises(UnsupportedModelError, match="not known here: 'new_key'"):
            read(changed.encode(), missing=None)


BROKEN = {
    "not the format": ("tree\n", "forest\n", "starts with the line 'tree'"),
    "old version": ("version=v4", "version=v1", "save it again"),
    "no version": ("version=v4\n", "", "save it again"),
    "no end": ("tree_sizes=.*\n((?s:.*))\nend of trees(?s:.*)", r"\1", "cut off"),
    "header twice": ("num_class=1", "num_class=1\nnum_class=1", "same line twice"),
    "line twice": ("\nthreshold=", "\nthreshold=1\nthreshold=", "one too many"),
    "line absent": ("\nleft_child=", "\nleft=", "lacks a line"),
    "wrong number": ("Tree=1", "Tree=7", "tree 1 lacks"),
    "no names": ("feature_names=", "names=", "not known here: 'names'"),
    "absurd count": ("max_feature_idx=3", "max_feature_idx=999999999", "4 feature_na"),
    "endless count": ("max_feature_idx=3", "max_feature_idx=" + "9" * 5000, "no count"),
    "negative count": ("max_feature_idx=3", "max_feature_idx=-1", "no count"),
    "few infos": ("feature_infos=", "feature_infos=none ", "5 feature_infos for 4"),
    "classes": ("num_class=1", "num_class=2", "num_class is 2, and there are 1"),
    "no classes": ("num_class=1\n", "", "no line 'num_class'"),
    "carriage return": ("shrinkage=", "new=\rshrinkage=", "carriage return"),
    "zero byte": ("shrinkage=", "new=\0\nshrinkage=", "zero byte"),
    "joined line": ("\nleaf_value=", "\nnew\nleaf_value=", "lacks a line"),
    "no outputs": ("per_iteration=1", "per_iteration=0", "0 per iteration"),
    "two outputs": ("per_iteration=1", "per_iteration=3", "cannot have 3 trees"),
    "no sigmoid": ("sigmoid:1", "sigma:1", "sigmoid of the objective is ''"),
    "zero sigmoid": ("sigmoid:1", "sigmoid:0", "is zero"),
    "odd sigmoid": ("sigmoid:1", "sigmoid:-1", "'-1'"),
    "leaf is text": ("leaf_value=", "leaf_value=x", "no number"),
    "leaf is nan": (r"leaf_value=\S+", "leaf_value=nan", "no number"),
    "leaf is infinite": (r"leaf_value=\S+", "leaf_value=inf", "not a finite number"),
    "true leaf": (r"leaf_value=\S+ \S+", "leaf_value=true inf", "no number"),
    "leaf overflows": (r"leaf_value=\S+", "leaf_value=1e999", "no number"),
    "underscore": (r"leaf_value=\S+ \S+", "leaf_value=1_0 inf", "no number"),
    "comma": (r"leaf_value=\S+", "leaf_value=1,2", "no number"),
    "brackets": (r"leaf_value=\S+", "leaf_value=1],[2", "no number"),
    "leaf too many": ("leaf_value=", "leaf_value=1 ", "5 numbers in leaf_value"),
    "many leaves": (r"num_leaves=\d+", "num_leaves=2000000000", "are expected"),
    "huge": (r"num_leaves=\d+", "num_leaves=" + "9" * 30, "no whole number"),
    "no leaves": (r"num_leaves=\d+", "num_leaves=0", "no leaf"),
    "negative sets": (r"num_cat=\d+", "num_cat=-1", "negative"),
    "feature": (r"split_feature=\d+", "split_feature=4", "outside the 4 features"),
    "decision": (r"decision_type=\d+", "decision_type=12", "unknown"),
    "child": (r"left_child=\S+", "left_child=3", "outside its tree"),
    "leaf child": (r"left_child=\S+", "left_child=-5", "outside its tree"),
    "cycle": (r"left_child=\S+", "left_child=0", "reached twice"),
    "bounds": (r"cat_boundaries=0 \d+", "cat_boundaries=0 -1", "do not increase"),
    "bounds start": (r"cat_boundaries=0", "cat_boundaries=1", "do not increase"),
    "word": (r"cat_threshold=\d+", "cat_threshold=4294967296", "32 bits"),
    "pandas": ("pandas_categorical:null", "pandas_categorical:[[", "cannot be read"),
    "pandas type": ("pandas_categorical:null", "pandas_categorical:[1]", "cannot be"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case: str, text: str) -> None:
    old, new, message = BROKEN[case]
    changed = re.sub(old, new, text, count=1)
    assert changed != text
    if case not in {"no end", "wrong number"}:
        changed = fix_sizes(changed)
    with pytest.raises((MalformedModelError, UnsupportedModelError), match=message):
        read(changed.encode(), missing=None)


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_counts_of_classes_must_agree(objective: str) -> None:
    X, y = data(11, n_classes=3)
    written = train({"objective": objective, "num_class": 3}, X, y).model_to_string()
    for old, new, message in (
        ("num_class=3", "num_class=1", "num_class is 1, and there are 3 outputs"),
        ("num_class:3", "num_class:2", "does not say num_class:3"),
        (" num_class:3", "", "does not say num_class:3"),
    ):
        changed = written.replace(old, new, 1)
        assert changed != written
        with pytest.raises(MalformedModelError, match=message):
            read(changed.encode(), missing=None)


def test_sizes_must_agree(text: str) -> None:
    edited = text.replace("leaf_value=", "leaf_value=0", 1)
    with pytest.raises(MalformedModelError, match="tree_sizes says"):
        read(edited.encode(), missing=None)
    with pytest.raises(MalformedModelError, match="tree_sizes lists 4 trees"):
        read(text.replace("tree_sizes=", "tree_sizes=9 ").encode(), missing=None)


def test_set_numbers_outside_the_tree(text: str) -> None:
    number = re.search(r"decision_type=(.*)", text)
    assert number is not None
    place = [int(d) & 1 for d in number[1].split()].index(1)
    lines = text.split("\n")
    line = next(i for i, part in enumerate(lines) if part.startswith("threshold="))
    for wrong in ("99", "-1", "inf", "0.5e300"):
        words = lines[line].removeprefix("threshold=").split()
        words[place] = wrong
        changed = [*lines]
        changed[line] = "threshold=" + " ".join(words)
        with pytest.raises(MalformedModelError, match="names a category set"):
            read(fix_sizes("\n".join(changed)).encode(), missing=None)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.data())
def test_damage_behind_the_sizes_never_crashes(text: str, data: st.DataObject) -> None:
    """Change numbers of trees and correct the sizes: words, or a sound model."""
    start, stop = text.index("num_leaves="), text.index("end of trees")
    pieces = re.split(r"([ =\n]+)", text[start:stop])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(1, len(pieces) - 1))
        pieces[place] = data.draw(
            st.sampled_from(
                ["", "0", "1", "-1", "3", "9", "1e9", "inf", "nan", " ", "="]
            )
            | st.sampled_from(pieces)
        )
    changed = fix_sizes(f"{text[:start]}{''.join(pieces)}{text[stop:]}")
    try:
        ensemble = read(changed.encode(), missing=None).ensemble
    except FattError:
        return
    ensemble.predict(np.zeros((2, len(ensemble.features))))


MODELS = Path(__file__).parents[1] / "data" / "models"
KEPT = sorted(MODELS.glob("lightgbm-*.txt"))


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "multiclass"},
        {"objective": lambda y, z: (y, z)},
        {"num_class": 3},
        {"boosting_type": "nonsense"},
        {"learning_rate": -1.0},
        {"predict_disable_shape_check": True},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_parameters_with_which_it_gives_no_labels_are_refused(settings: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = lgb.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, X[:, 0] > 0)
    assert convert(model, missing=None).ensemble
    model.set_params(**settings)
    with pytest.raises(UnsupportedModelError, match=r"LGBMClassifier .*[Ss]et"):
        convert(model, missing=None)
    with pytest.raises(UnsupportedModelError, match=r"LGBMClassifier .*[Ss]et"):
        fatt.load(make_pipeline("passthrough", model))


END = re.compile(rb"(?m)^(?:end of trees|\nfeature importances:)$")


def end_of_trees(data: bytes) -> int:
    """Where the trees end; before 2.2 nothing but the importances says so."""
    found = END.search(data)
    assert found is not None
    return found.start()


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with a line added, doubled, left out, renamed or changed."""
    lines = data.split(b"\n")
    end = data[: end_of_trees(data)].count(b"\n")
    place = int(rng.integers(1, end))
    key, equals, value = lines[place].partition(b"=")
    parts = value.split(b" ")
    some = int(rng.integers(len(parts)))
    odd = [b"", b"7", b"-1", b"1e400", b"x", b"nan", b"0 0", b"99999999999999999999"]
    parts[some] = odd[int(rng.integers(len(odd)))]
    changes = [
        [lines[place], b"new_" + lines[place]],
        [lines[place], lines[place]],
        [],
        [b"new_" + lines[place]],
        [lines[place] + b" "],
        [b" " + lines[place]],
        [lines[place].replace(b" ", b"\t")],
        [key + equals + b" ".join(parts)],
        [key + equals + value.rpartition(b" ")[0]],
    ]
    lines[place : place + 1] = changes[int(rng.integers(len(changes)))]
    return with_sizes(b"\n".join(lines))


def with_sizes(data: bytes) -> bytes:
    """The file with the sizes of its trees as they are."""
    end = end_of_trees(data)
    starts = [found.start() for found in re.finditer(rb"(?m)^Tree=", data)]
    pairs = itertools.pairwise([*starts, end])
    sizes = b" ".join(b"%d" % (stop - start) for start, stop in pairs)
    return re.sub(rb"tree_sizes=.*", b"tree_sizes=" + sizes, data)


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "as it was": lambda data: data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "some CRLF": lambda data: data.replace(b"\nTree", b"\r\nTree"),
    "trailing blanks": lambda data: data.replace(b"\n", b" \n"),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no last newline": lambda data: data.rstrip(b"\n"),
    "no tail": lambda data: data[: end_of_trees(data)] + b"end of trees\n",
    "no end": lambda data: data[: end_of_trees(data)],
    "no sizes": lambda data: re.sub(rb"tree_sizes=.*\n", b"", data),
    "latin-1 at the end": lambda data: data + b"[data: caf\xe9]\n",
}

WHOLE = ("as it was", "CRLF", "some CRLF", "no tail", "no end", "no sizes")

ASKING = """
import sys
from pathlib import Path
import numpy as np
import fatt
from fatt.model import NotAtHand
asked = read = 0
for line in sys.stdin.read().splitlines():
    path = Path(line)
    try:
        model = fatt.load(path)
    except fatt.errors.FattError:
        continue
    read += 1
    rows = np.random.default_rng(0).normal(scale=3, size=(50, len(model.features)))
    try:
        assert model.ask(rows) == model.predict(rows).tolist(), line
        is_asked = True
    except NotAtHand:
        is_asked = False
    asked += is_asked
    print(path, is_asked, flush=True)
"""


def asked(paths: list[Path]) -> dict[str, bool]:
    """Whether each file that is read is asked of LightGBM, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", ASKING],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = (line.split() for line in done.stdout.splitlines())
    return {Path(name).name: said == "True" for name, said in found if said in TRUTH}


TRUTH = ("True", "False")


def test_no_form_of_a_file_ends_the_process_and_all_that_is_read_is_asked(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(14)
    paths, whole = [], set()
    for kept in KEPT:
        data = kept.read_bytes()
        for number, change in enumerate(FORMS.values()):
            paths.append(tmp_path / f"{kept.stem}-{number}.txt")
            paths[-1].write_bytes(change(data))
            if change in map(FORMS.get, WHOLE):
                whole.add(paths[-1].name)
        for number in range(20):
            paths.append(tmp_path / f"{kept.stem}-damaged-{number}.txt")
            paths[-1].write_bytes(damaged(data, rng))
    found = asked(paths)
    assert whole <= set(found)
    assert [name for name, is_asked in found.items() if not is_asked] == []
    assert any("damaged" in name for name in found)


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_file_without_sizes_or_without_its_end_is_the_same_model(kept: Path) -> None:
    data = kept.read_bytes()
    whole = read(data, missing=None).ensemble
    for form in ("no sizes", "no end"):
        found = read(FORMS[form](data), missing=None).ensemble
        assert np.array_equal(found.trees.nodes, whole.trees.nodes)
        assert np.array_equal(found.trees.values, whole.trees.values)
    with pytest.raises(MalformedModelError, match="cut off"):
        read(FORMS["no sizes"](FORMS["no end"](data)), missing=None)
    # Some trees are not there: the sizes tell.
    cut = data[: data.rindex(b"Tree=")]
    with pytest.raises(MalformedModelError, match="tree_sizes lists"):
        read(cut, missing=None)


def test_lines_without_a_part_in_answers_are_kept_from_lightgbm(tmp_path: Path) -> None:
    # LightGBM counts them, and ends the process if there are too few.
    path = tmp_path / "model.txt"
    data = (MODELS / "lightgbm-4.7.0-binary.txt").read_bytes()
    for key in (b"split_gain", b"leaf_weight", b"internal_value", b"shrinkage"):
        changed = re.sub(rb"(?m)^" + key + rb"=.*", key + b"=x", data, count=1)
        assert changed != data
        path.write_bytes(with_sizes(changed))
        assert asked([path]) == {"model.txt": True}


@pytest.mark.parametrize("kept", KEPT[::6], ids=lambda path: path.stem)
def test_lines_that_nobody_knows_are_refused_by_name(kept: Path) -> None:
    data = kept.read_bytes()
    whole = read(data, missing=None).ensemble
    lines = data.split(b"\n")
    end = data[: end_of_trees(data)].count(b"\n")
    for place in range(1, end + 1):
        more = [*lines[:place], b"left_cat_bitset=1 2", *lines[place:]]
        if lines[place - 1] == b"" and lines[place] == b"":
            # Between the trees LightGBM would read no line at all.
            continue
        with pytest.raises((UnsupportedModelError, MalformedModelError)) as caught:
            read(with_sizes(b"\n".join(more)), missing=None)
        if isinstance(caught.value, UnsupportedModelError):
            assert "'left_cat_bitset'" in str(caught.value)
    for place in range(1, end):
        if not lines[place]:
            continue
        renamed = [*lines[:place], b"x" + lines[place], *lines[place + 1 :]]
        with pytest.raises((UnsupportedModelError, MalformedModelError)):
            read(with_sizes(b"\n".join(renamed)), missing=None)
    extra = data + b"\ncalibration:\n[[1.0, 2.0]]\n"
    with pytest.raises(UnsupportedModelError, match="'calibration:'"):
        read(extra, missing=None)
    assert read(data, missing=None).ensemble == whole
