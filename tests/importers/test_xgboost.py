"""XGBoost models give the library's own labels and margins, bit for bit."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fatt
from fatt.ensemble import Categorical, Cut
from fatt.errors import (
    DataError,
    FattError,
    MalformedModelError,
    SpecError,
    UnsupportedModelError,
)
from fatt.importers.versions import release
from fatt.importers.xgboost import read
from tests.probes import probe_rows, same_bits

xgboost = pytest.importorskip("xgboost")
pytestmark = pytest.mark.xgboost

Document = dict[str, Any]
N_ROWS = 250
OBJECTIVES = [
    "binary:logistic",
    "binary:logitraw",
    "binary:hinge",
    "multi:softprob",
    "multi:softmax",
]


def table(seed: int = 0, n_rows: int = 80) -> tuple[Any, Any, Any]:
    """Rows with few distinct values, two labels, three labels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n_rows, 3)) / 3
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) / 3
    return X, (score > 0).astype(int), np.digitize(score, [-0.4, 0.4])


IS_BEFORE_3_3 = release(xgboost.__version__) < (3, 3)


def classifier(**options: Any) -> Any:
    options = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, **options}
    return xgboost.XGBClassifier(**options)


def ubjson(model: Any) -> bytes:
    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    return bytes(booster.save_raw("ubj"))


def document(model: Any) -> Document:
    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    loaded: Document = json.loads(bytes(booster.save_raw("json")))
    return loaded


def reload(changed: Document) -> tuple[Any, fatt.Ensemble]:
    """Load an edited model in XGBoost and in fatt."""
    raw = json.dumps(changed).encode()
    clf = classifier()
    clf.load_model(bytearray(raw))
    return clf, read(raw, missing=None).ensemble


def margins(clf: Any, rows: Any) -> Any:
    return clf.predict(rows, output_margin=True).reshape(len(rows), -1)


def assert_same(ensemble: fatt.Ensemble, clf: Any, rows: Any) -> None:
    assert same_bits(ensemble.raw_scores(rows), margins(clf, rows))
    np.testing.assert_array_equal(ensemble.predict(rows), clf.predict(rows))


@st.composite
def settings_of_models(draw: st.DrawFn) -> dict[str, Any]:
    objective = draw(st.sampled_from(OBJECTIVES))
    method = draw(st.sampled_from(["hist", "exact", "approx"]))
    options: dict[str, Any] = {
        "objective": objective,
        "tree_method": method,
        "n_estimators": draw(st.integers(1, 6)),
        "max_depth": draw(st.integers(1, 4)),
        "learning_rate": draw(st.sampled_from([0.1, 0.3, 1.0])),
        "missing": draw(st.sampled_from([np.nan, np.nan, -999.0, 0.0])),
    }
    if draw(st.booleans()):
        options["base_score"] = draw(st.floats(0.1, 0.9))
    if draw(st.booleans()):
        options["num_parallel_tree"] = 3
    if draw(st.integers(0, 2)) == 0:
        options |= {"booster": "dart", "rate_drop": 0.5}
    elif method == "hist" and "multi" in objective and draw(st.booleans()):
        options["multi_strategy"] = "multi_output_tree"
    if "multi_strategy" not in options and draw(st.booleans()):
        options["max_delta_step"] = 0.5
    if method != "exact" and draw(st.booleans()):
        options |= {"grow_policy": "lossguide", "max_leaves": 5}
    if draw(st.booleans()):
        metric = "error" if "binary" in objective else "merror"
        options |= {"early_stopping_rounds": 1, "eval_metric": metric}
    if method != "exact" and "multi_strategy" not in options and draw(st.booleans()):
        options |= {
            "enable_categorical": True,
            "feature_types": draw(st.permutations(["q", "c", "c", "q"])),
            "max_cat_to_onehot": draw(st.sampled_from([1, 4, 100])),
        }
    return options


def train(options: dict[str, Any], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(20, 120))
    X = rng.integers(-4, 5, size=(n_rows, 4)) * rng.choice([1.0, 0.1, 1 / 3])
    for index, kind in enumerate(options.get("feature_types", [])):
        if kind == "c":
            X[:, index] = rng.integers(0, rng.choice([3, 9, 40, 100]), size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = options["missing"]
    n_classes = 2 if "binary" in options["objective"] else 3
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows)])
    y = y[:n_rows]
    held_out = {"eval_set": [(X[:9], rng.permutation(y[:9]))], "verbose": False}
    return xgboost.XGBClassifier(**options, n_jobs=1).fit(X, y, **held_out)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(settings_of_models(), st.integers(0, 2**32 - 1))
def test_any_model_is_the_librarys_bit_for_bit(
    options: dict[str, Any], seed: int
) -> None:
    clf = train(options, seed)
    rng = np.random.default_rng(seed)
    ensemble = fatt.load(clf).ensemble
    assert_same(ensemble, clf, probe_rows(ensemble, rng, N_ROWS))

    booster, missing = clf.get_booster(), options["missing"]
    by_matrix = fatt.load(booster, missing=missing).ensemble
    rows = probe_rows(by_matrix, rng, N_ROWS)
    matrix = xgboost.DMatrix(
        rows,
        missing=missing,
        feature_types=options.get("feature_types"),
        enable_categorical=True,
    )
    scores = booster.predict(matrix, output_margin=True).reshape(N_ROWS, -1)
    assert same_bits(by_matrix.raw_scores(rows), scores)

    raw = bytes(booster.save_raw("json"))
    assert read(raw, missing=missing).digest == ensemble.digest
    assert read(ubjson(clf), missing=missing).digest == ensemble.digest


def test_numbers_in_a_frame_are_neither_labels_nor_codes() -> None:
    town = np.tile([1, 2, 3], 40)
    frame = pd.DataFrame({"town": pd.Categorical(town), "n": np.arange(120.0)})
    clf = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1)
    clf.fit(frame, town == 2)
    ensemble = fatt.load(clf).ensemble
    assert np.array_equal(ensemble.predict(frame), clf.predict(frame))
    codes = frame.assign(town=frame["town"].cat.codes).to_numpy(dtype=float)
    assert np.array_equal(ensemble.predict(codes), clf.predict(frame))
    numbers = frame.astype({"town": int})
    with pytest.raises(ValueError, match="categor"):
        clf.predict(numbers)
    with pytest.raises(DataError, match="'town' holds plain numbers"):
        ensemble.predict(numbers)


def test_random_forest() -> None:
    X, two, _ = table()
    clf = xgboost.XGBRFClassifier(n_estimators=7, max_depth=3, n_jobs=1).fit(X, two)
    ensemble = fatt.load(clf).ensemble
    assert len(ensemble.trees) == 7
    assert ensemble.source.model == "XGBRFClassifier"
    assert_same(ensemble, clf, probe_rows(ensemble, np.random.default_rng(0), N_ROWS))


def test_many_trees_and_threads_keep_the_order() -> None:
    X, _, three = table(n_rows=300)
    clf = classifier(n_estimators=150, max_depth=2, n_jobs=2).fit(X, three)
    ensemble = fatt.load(clf).ensemble
    assert_same(ensemble, clf, probe_rows(ensemble, np.random.default_rng(0), 2000))


def test_the_cut_is_where_the_sigmoid_passes_one_half() -> None:
    X, two, _ = table()
    decision = fatt.load(classifier().fit(X, two)).ensemble.decision
    assert decision == Cut(at=float.fromhex("0x1.800002p-24"))
    empty = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(X, two), 0)
    at = np.float32(decision.at)
    around = np.array([np.nextafter(at, np.float32(0)), at], dtype=np.float32)
    rows = xgboost.DMatrix(np.zeros((2, 3)), base_margin=around)
    assert (empty.predict(rows) > 0.5).tolist() == [False, True]


@pytest.mark.parametrize("objective", ["binary:logistic", "binary:hinge"])
def test_base_scores_are_linked_as_the_library_links_them(objective: str) -> None:
    X, two, _ = table()
    rng = np.random.default_rng(0)
    for score in rng.uniform(0.001, 0.999, size=40):
        clf = classifier(objective=objective, n_estimators=1, base_score=score)
        ensemble = fatt.load(clf.fit(X, two)).ensemble
        assert same_bits(ensemble.raw_scores(X), margins(clf, X))


def around(number: float) -> list[np.float32]:
    """A float32 with its neighbours."""
    single = np.float32(number)
    down, up = np.nextafter(single, np.float32([-np.inf, np.inf]))
    return [down, single, up]


def test_base_scores_near_0_and_1_are_bounded_as_the_library_bounds_them() -> None:
    X, two, _ = table()
    model = document(classifier(n_estimators=1).fit(X, two))
    least = np.float32(1e-6)
    scores = [*around(least), *around(np.float32(1) - least), *around(1e-9)]
    scores += [*around(5e-7), *around(0)[1:], *around(1)[:2], *around(1 - 5e-7)]
    for score in scores:
        model["learner"]["learner_model_param"]["base_score"] = f"[{score:.9E}]"
        clf, ensemble = reload(model)
        assert_same(ensemble, clf, X)
        assert fatt.load(clf).ensemble == ensemble
    model["version"] = [3, 1, 3]
    with pytest.raises(UnsupportedModelError, match=r"3\.2"):
        read(json.dumps(model).encode(), missing=None)
    model["learner"]["learner_model_param"]["base_score"] = "[1E-6]"
    clf, ensemble = reload(model)
    assert_same(ensemble, clf, X)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_alike(label: int) -> None:
    X, two, _ = table()
    options = {"objective": "binary:logistic"}
    matrix = xgboost.DMatrix(X, np.full_like(two, label))
    booster = xgboost.train(options, matrix, 2)
    ensemble = fatt.load(booster).ensemble
    scores = booster.predict(matrix, output_margin=True)
    assert same_bits(ensemble.raw_scores(X)[:, 0], scores)
    assert ensemble.predict(X).tolist() == [label] * len(X)


def test_logitraw_decides_at_one_half() -> None:
    X, two, _ = table()
    changed = document(classifier(objective="binary:logitraw").fit(X, two))
    changed["learner"]["learner_model_param"]["base_score"] = "[0E0]"
    tree = changed["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    tree["split_conditions"][leaf] = 0.5
    clf, ensemble = reload(changed)
    assert ensemble.decision == Cut(at=float(np.nextafter(np.float32(0.5), 1)))
    assert_same(ensemble, clf, X)


def test_softmax_rounds_near_ties_to_the_first_class() -> None:
    X, _, three = table()
    changed = document(classifier(n_estimators=1, max_depth=1).fit(X, three))
    changed["learner"]["learner_model_param"]["base_score"] = "[0E0,0E0,0E0]"
    rng = np.random.default_rng(0)
    ties = 0
    for _ in range(60):
        for tree in changed["learner"]["gradient_booster"]["model"]["trees"]:
            near = np.float32(0.5) + rng.integers(-3, 4, size=3) * np.float32(2**-24)
            leaves = np.array(tree["left_children"]) == -1
            conditions = np.where(leaves, near, tree["split_conditions"])
            tree["split_conditions"] = conditions.astype(float).tolist()
        clf, ensemble = reload(changed)
        assert_same(ensemble, clf, X)
        scores = ensemble.raw_scores(X)
        ties += int((scores.argmax(axis=1) != ensemble.predict(X)).sum())
    assert ties


def test_dart_depends_on_who_asks() -> None:
    X, _, three = table()
    clf = classifier(booster="dart", rate_drop=0.5, n_estimators=8, base_score=0.37)
    clf.fit(X, three)
    in_place, by_matrix = fatt.load(clf).ensemble, fatt.load(clf.get_booster()).ensemble
    # Since 3.3 everybody gets what only a DMatrix got before.
    leaves = in_place.trees.values, by_matrix.trees.values
    assert np.array_equal(*leaves) != IS_BEFORE_3_3
    assert_same(in_place, clf, X)
    scores = clf.get_booster().predict(xgboost.DMatrix(X), output_margin=True)
    assert same_bits(by_matrix.raw_scores(X), scores)
    notes = read(ubjson(clf), missing=None).ensemble.source.notes
    assert any("dart" in note for note in notes) == IS_BEFORE_3_3


def test_best_iteration_counts_for_classifiers_and_files_only() -> None:
    X, two, _ = table()
    clf = classifier(n_estimators=40, early_stopping_rounds=3, num_parallel_tree=2)
    clf.fit(X[:50], two[:50], eval_set=[(X[50:], two[50:])], verbose=False)
    used = 2 * (clf.best_iteration + 1)
    booster = clf.get_booster()
    assert len(fatt.load(clf).ensemble.trees) == used < 2 * booster.num_boosted_rounds()
    assert len(fatt.load(booster).ensemble.trees) == 2 * booster.num_boosted_rounds()
    from_file = read(ubjson(clf), missing=None).ensemble
    assert from_file == fatt.load(clf).ensemble
    assert any("best iteration" in note for note in from_file.source.notes)


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_iterations_on_request(booster: str, tmp_path: Path) -> None:
    X, two, _ = table()
    clf = classifier(n_estimators=40, early_stopping_rounds=3, booster=booster)
    clf.fit(X[:50], two[:50], eval_set=[(X[50:], two[50:])], verbose=False)
    plain, path = clf.get_booster(), tmp_path / "model.json"
    clf.save_model(path)
    best, rounds = clf.best_iteration + 1, plain.num_boosted_rounds()
    assert best < rounds
    middle = (best + rounds) // 2
    for iteration, count in (("best", best), ("all", rounds), (middle, middle)):
        for source in (clf, path, plain):
            model = fatt.load(source, iteration=iteration)  # type: ignore[arg-type]
            assert len(model.ensemble.trees) == count
            [told] = model.ensemble.source.counted
            assert str(count) in told
            assert str(rounds) in told
            assert model.ask(X) == model.predict(X).tolist()
            if source is plain:
                matrix = xgboost.DMatrix(X)
                asked = plain.predict(matrix, iteration_range=(0, count))
            else:
                asked = clf.predict_proba(X, iteration_range=(0, count))[:, 1]
            assert same_bits(model.predict_proba(X)[:, 1], asked)
    for source, iteration, reason in (
        (classifier().fit(X, two), "best", "no best iteration"),
        (clf, "last", "'best', 'all', or how many"),
        (clf, 0, "iteration is 0"),
        (clf, True, "iteration is True"),
        (plain, rounds + 1, f"has {rounds} iterations"),
        (path, rounds + 1, f"has {rounds} iterations"),
        (fatt.load(clf), "all", "loaded before"),
    ):
        with pytest.raises(SpecError, match=reason):
            fatt.load(source, iteration=iteration)  # type: ignore[arg-type]


def test_infinities_are_taken_in_place_and_refused_by_a_matrix() -> None:
    X, two, _ = table()
    clf = classifier().fit(X, two)
    edge = float(np.nextafter(2.0**128 - 2.0**103, 0))
    beyond = float(np.nextafter(edge, np.inf))
    rows = np.array([[np.inf, 0, 0], [-np.inf, 0, 0], [beyond, 0, 0], [0, -1e300, 0]])
    assert_same(fatt.load(clf).ensemble, clf, rows)
    booster = clf.get_booster()
    ensemble = fatt.load(booster).ensemble
    for row in rows[:, np.newaxis]:
        with pytest.raises(xgboost.core.XGBoostError, match="inf"):
            booster.predict(xgboost.DMatrix(row))
        with pytest.raises(DataError, match="refuses"):
            ensemble.predict(row)
    taken = np.array([[edge, -edge, np.nan]])
    scores = booster.predict(xgboost.DMatrix(taken), output_margin=True)
    assert same_bits(ensemble.raw_scores(taken)[:, 0], scores)


@pytest.mark.parametrize("missing", [np.inf, -np.inf, 0.1, -999.0])
def test_the_number_for_missing_is_compared_in_float32(missing: float) -> None:
    X, two, _ = table()
    X[::5, 0] = missing
    clf = classifier(missing=missing).fit(X, two)
    ensemble = fatt.load(clf).ensemble
    rows = np.zeros((4, 3))
    rows[:, 0] = [missing, np.float32(missing), np.nextafter(missing, 0), -missing]
    assert_same(ensemble, clf, rows)
    matrix = xgboost.DMatrix(rows, missing=missing)
    if np.isinf(missing):
        by_matrix = fatt.load(clf.get_booster(), missing=missing).ensemble
        scores = clf.get_booster().predict(matrix, output_margin=True)
        assert same_bits(by_matrix.raw_scores(rows)[:, 0], scores)
    assert fatt.load(clf, missing=missing).ensemble == ensemble
    assert read(ubjson(clf), missing=missing).ensemble == ensemble
    assert read(ubjson(clf), missing=None).ensemble != ensemble
    with pytest.raises(SpecError, match="itself"):
        fatt.load(clf, missing=7.0)


def test_a_missing_number_beyond_float32_is_refused() -> None:
    X, two, _ = table()
    with pytest.raises(SpecError, match="float32"):
        fatt.load(classifier().fit(X, two).get_booster(), missing=1e300)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float32])
def test_types_of_arrays(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**31, size=(80, 3)).astype(np.float64)
    clf = classifier().fit(X, rng.integers(2, size=80))
    ensemble = fatt.load(clf).ensemble
    cuts = np.concatenate([ensemble.thresholds(index) for index in range(3)])
    near = np.floor(cuts)[:, np.newaxis] + np.arange(-200, 200, 50)
    rows = rng.choice(near.ravel(), size=(300, 3))
    rows = (rows % 256 if dtype is np.uint8 else rows).astype(dtype)
    assert_same(ensemble, clf, rows)


def test_categories_that_the_model_knows_as_numbers_are_refused() -> None:
    X, two, _ = table()
    ensemble = fatt.load(classifier().fit(pd.DataFrame(X), two)).ensemble
    frame = pd.DataFrame(X).astype({0: "category"})
    with pytest.raises(DataError, match="objects or categories"):
        ensemble.predict(frame)


def test_integers_beyond_float64_are_refused() -> None:
    X, two, _ = table()
    rows = np.array([[2**53 + 1, 0, 0]])
    with pytest.raises(DataError, match="integer"):
        fatt.load(classifier().fit(X, two)).predict(rows)


def test_categories_are_cast_to_float32_first() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(80, 1)).astype(np.float64)
    clf = classifier(enable_categorical=True, feature_types=["c"], max_cat_to_onehot=1)
    clf.fit(X, (X[:, 0] % 2).astype(int))
    codes = np.array([2.9999999999, -1e-320, -1e-40, 8.0, 9.0, 31.0, 32.0, 2.0**24])
    assert_same(fatt.load(clf).ensemble, clf, codes[:, np.newaxis])
    ensemble = fatt.load(clf.get_booster()).ensemble
    assert ensemble.features[0].coding == "floor"
    with pytest.raises(DataError, match="refuses"):
        ensemble.predict(np.array([[np.inf]]))


def frame_model(labels: list[Any], **options: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    codes = rng.integers(len(labels), size=80)
    frame = pd.DataFrame({"x": rng.integers(-3, 4, size=80) / 3})
    frame["c"] = pd.Categorical.from_codes(codes, labels)
    clf = classifier(enable_categorical=True, max_cat_to_onehot=1, **options)
    return clf.fit(frame, ((codes % 2) ^ (frame["x"] > 0)).astype(int)), frame


@pytest.mark.parametrize("labels", [["red", "a", "", "blue"], [10, 30, 20, 5]])
def test_stored_categories_are_matched_by_label(labels: list[Any]) -> None:
    clf, frame = frame_model(labels)
    for ensemble in (fatt.load(clf).ensemble, read(ubjson(clf), missing=None).ensemble):
        feature = ensemble.features[1]
        assert isinstance(feature, Categorical)
        assert feature.categories == tuple(labels)
        assert_same(ensemble, clf, frame)
        other = frame.copy()
        other["c"] = frame["c"].cat.set_categories(labels[::-1])
        other.loc[0, "c"] = None
        assert_same(ensemble, clf, other)


@pytest.mark.parametrize("unknown", ["purple", "zzz"])
def test_unknown_labels_are_refused(unknown: str) -> None:
    clf, frame = frame_model(["red", "a", "blue"])
    frame["c"] = frame["c"].cat.add_categories([unknown])
    frame.loc[7, "c"] = unknown
    with pytest.raises(DataError, match="row 7"):
        fatt.load(clf).predict(frame)
    # Its own answer is that of the next label in the alphabet, if there is one.
    with pytest.raises(DataError, match="knows"):
        read(ubjson(clf), missing=None).predict(frame)


def test_labels_in_a_wrong_order_are_refused() -> None:
    clf, _ = frame_model(["red", "a", "blue"])
    model = document(clf)
    cats = model["learner"]["gradient_booster"]["model"]["cats"]
    cats["sorted_idx"] = cats["sorted_idx"][::-1]
    with pytest.raises(MalformedModelError, match="sorted_idx"):
        read(json.dumps(model).encode(), missing=None)


def test_labels_that_xgboost_cuts_wrongly_are_not_trusted() -> None:
    clf, frame = frame_model(["blüe", "red", "a"])
    ensemble = fatt.load(clf).ensemble
    assert not ensemble.features[1].labelled
    with pytest.raises(DataError, match="codes"):
        ensemble.predict(frame)
    codes = np.column_stack([frame["x"], frame["c"].cat.codes])
    assert_same(ensemble, clf, codes)


def test_tables_whose_labels_xgboost_cuts_wrongly_are_refused() -> None:
    clf, frame = frame_model(["red", "a", "blue"])
    model = read(ubjson(clf), missing=None)
    other = frame.assign(c=frame["c"].cat.set_categories(["é", "red", "a", "blue"]))
    assert clf.predict(other).tolist() != clf.predict(frame).tolist()
    for asked in (model, fatt.load(clf)):
        with pytest.raises(DataError, match="'c' lists the category 'é' before others"):
            asked.predict(other)
        with pytest.raises(DataError, match="remove_unused_categories"):
            fatt.verify(asked, other, similarity=fatt.Similarity(noise={"x": 1}))
    last = frame.assign(c=frame["c"].cat.set_categories(["blue", "a", "red", "é"]))
    mended = other.assign(c=other["c"].cat.remove_unused_categories())
    # polars counts bytes.
    enum = polars.Enum(["é", "red", "a", "blue"])
    strict = polars.DataFrame({"x": frame["x"].to_numpy(), "c": [*frame["c"]]})
    strict = strict.with_columns(polars.col("c").cast(enum))
    for right in (last, mended, strict):
        assert_same(model.ensemble, clf, right)


def test_labels_are_not_matched_if_a_number_means_missing() -> None:
    clf, frame = frame_model(["red", "blue", "a"], missing=0.0)
    ensemble = fatt.load(clf).ensemble
    assert not ensemble.features[1].labelled
    codes = np.column_stack([frame["x"], frame["c"].cat.codes])
    assert_same(ensemble, clf, codes)


def test_names_come_from_the_model() -> None:
    X, two, _ = table()
    frame = pd.DataFrame(X, columns=["age", "debt", "years"])
    named = fatt.load(classifier().fit(frame, two)).ensemble
    assert [feature.name for feature in named.features] == ["age", "debt", "years"]
    assert named.inputs.named
    shuffled = frame[["years", "age", "debt"]]
    assert same_bits(named.raw_scores(shuffled), named.raw_scores(frame))
    unnamed = fatt.load(classifier().fit(X, two)).ensemble
    assert [feature.name for feature in unnamed.features] == ["f0", "f1", "f2"]
    assert not unnamed.inputs.named


@pytest.mark.parametrize(("method", "sign"), [("hist", 1), ("exact", -1)])
def test_infinite_thresholds(method: str, sign: int) -> None:
    X, two, _ = table()
    X[:, 0] = np.where(two == 1, sign * 3e38, np.nan)
    clf = classifier(tree_method=method).fit(X, two)
    raw = bytes(clf.get_booster().save_raw("json"))
    assert b"[-Infinity" in raw if sign < 0 else b"[Infinity" in raw
    ensemble = read(raw, missing=None).ensemble
    assert read(ubjson(clf), missing=None).digest == ensemble.digest
    assert_same(ensemble, clf, probe_rows(ensemble, np.random.default_rng(0), N_ROWS))


def test_a_negative_zero_keeps_its_sign() -> None:
    X, two, _ = table()
    changed = document(classifier(n_estimators=1, base_score=0.5).fit(X, two))
    tree = changed["learner"]["gradient_booster"]["model"]["trees"][0]
    leaves = np.array(tree["left_children"]) == -1
    tree["split_conditions"] = np.where(leaves, -0.0, tree["split_conditions"]).tolist()
    clf, ensemble = reload(changed)
    assert np.signbit(ensemble.raw_scores(X)).all()
    assert_same(ensemble, clf, X)


def test_files_need_no_xgboost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, two, _ = table()
    clf = classifier().fit(X, two)
    scores = margins(clf, X)
    for suffix in ("json", "ubj"):
        clf.save_model(tmp_path / f"model.{suffix}")
    monkeypatch.setitem(sys.modules, "xgboost", None)
    for suffix in ("json", "ubj"):
        ensemble = fatt.load(tmp_path / f"model.{suffix}").ensemble
        assert same_bits(ensemble.raw_scores(X), scores)
        assert ensemble.source.version == xgboost.__version__


class _Mine(xgboost.XGBClassifier):  # type: ignore[misc]
    pass


def _linear() -> Any:
    X, two, _ = table()
    return classifier(booster="gblinear", max_depth=None).fit(X, two)


def _trained(objective: str, y: Any, **options: Any) -> Any:
    X, _, _ = table()
    return xgboost.train(
        {"objective": objective, **options}, xgboost.DMatrix(X, y(X)), 2
    )


def _square(labels: Any, scores: Any) -> Any:
    return scores - labels, np.ones_like(scores)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (_linear, "gblinear"),
    (xgboost.XGBRegressor, "not fitted"),
    (xgboost.XGBRFRegressor, "not fitted"),
    (xgboost.XGBRanker, "XGBRanker"),
    (_Mine, "a kind of XGBClassifier"),
    (classifier, "not fitted"),
    (lambda: classifier(objective=_square).fit(*table()[:2]), "objective of its own"),
    (lambda: classifier().fit(table()[0], np.eye(3)[table()[2]]), "3 targets"),
    (
        lambda: classifier(objective="multi:softprob", num_class=2).fit(*table()[:2]),
        "matrix",
    ),
    (lambda: _trained("survival:cox", lambda X: X[:, 0] + 2), "models of survival"),
    (
        lambda: classifier(objective="count:poisson").fit(*table()[:2]),
        "no class label",
    ),
    (
        lambda: xgboost.XGBRegressor(objective="binary:hinge").fit(*table()[:2]),
        "no prediction",
    ),
    (
        lambda: xgboost.train(
            {"objective": "binary:logistic"}, xgboost.DMatrix(*table()[:2]), 0
        ),
        "no trees",
    ),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_refused_objects(make: Callable[[], Any], reason: str) -> None:
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(make())


def test_survival_has_no_meaning_here() -> None:
    X, two, _ = table()
    data = xgboost.DMatrix(X)
    data.set_float_info("label_lower_bound", two + 1.0)
    data.set_float_info("label_upper_bound", two + 2.0)
    booster = xgboost.train({"objective": "survival:aft"}, data, 2)
    with pytest.raises(
        UnsupportedModelError, match=r"survival:aft.*models of survival"
    ):
        fatt.load(booster)


def test_two_classes_of_softprob_are_decided_by_the_larger() -> None:
    X, two, _ = table()
    options = {"objective": "multi:softprob", "num_class": 2}
    booster = xgboost.train(options, xgboost.DMatrix(X, two), 3)
    labels = booster.predict(xgboost.DMatrix(X)).argmax(axis=1)
    np.testing.assert_array_equal(fatt.load(booster).predict(X), labels)
    ensemble = read(ubjson(booster), missing=None).ensemble
    np.testing.assert_array_equal(ensemble.predict(X), labels)
    assert any("matrix" in note for note in ensemble.source.notes)


def test_the_file_of_a_ranker_is_refused(tmp_path: Path) -> None:
    X, two, _ = table()
    model = xgboost.XGBRanker(objective="rank:pairwise", n_estimators=1)
    model.fit(X, two, group=[len(X)]).save_model(tmp_path / "model.json")
    with pytest.raises(UnsupportedModelError, match="ranker"):
        fatt.load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'[{"nodeid": 0}]', "dump_model"),
        (b'{"meta": 1}', "no model of XGBoost or CatBoost: it holds 'meta'"),
        (b'{"tree_info": []}', "LightGBM"),
        (b"\x00{}", "neither JSON nor UBJSON"),
    ],
)
def test_other_files_are_named(raw: bytes, reason: str) -> None:
    with pytest.raises(UnsupportedModelError, match=reason):
        read(raw, missing=None)


def test_what_an_old_version_left_beside_a_property_hides_nothing() -> None:
    # Pickles of XGBoost before 1.7 bring `classes_` along, which is a property now.
    X, two, _ = table()
    model = classifier().fit(X, two)
    before = model.predict(X)
    vars(model)["classes_"] = np.array(["no", "yes"])
    assert np.array_equal(model.predict(X), before)
    assert np.array_equal(fatt.load(model).predict(X), before)
    vars(model)["predict"] = lambda X: before
    with pytest.raises(UnsupportedModelError, match="predict of this XGBClassifier"):
        fatt.load(model)


@pytest.mark.parametrize("raw", [b"binf\x00\x00", b"\x00\x00\x00\x3f"])
def test_what_is_no_xgboost_model_names_the_way_out(raw: bytes) -> None:
    with pytest.raises(UnsupportedModelError, match=r"save_model\('model.json'\)"):
        read(raw, missing=None)


def test_the_binary_form_in_letters_is_named() -> None:
    with pytest.raises(UnsupportedModelError, match="Base64"):
        read(b"bs64\tAAAA", missing=None)


def _edit(path: str, value: Any) -> Callable[[Document], None]:
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]

    def change(model: Document) -> None:
        holder: Any = model["learner"]
        for key in parents:
            holder = holder[key]
        holder[last] = value

    return change


TREE = "gradient_booster.model.trees.0"
MALFORMED = {
    "cycle": (f"{TREE}.left_children.1", 1),
    "two parents": (f"{TREE}.left_children.2", 3),
    "child beyond": (f"{TREE}.left_children.0", 10**6),
    "child before": (f"{TREE}.left_children.0", -2),
    "right child": (f"{TREE}.right_children.0", 4),
    "feature beyond": (f"{TREE}.split_indices.0", 99),
    "threshold": (f"{TREE}.split_conditions.0", float("nan")),
    "halfway": (f"{TREE}.split_conditions.0", 1 + 2.0**-24),
    "not a number": (f"{TREE}.split_conditions.0", "1"),
    "nested": (f"{TREE}.split_conditions.0", [1.0]),
    "huge integer": (f"{TREE}.split_indices.0", 10**30),
    "boolean child": (f"{TREE}.left_children", [True]),
    "flag": (f"{TREE}.default_left.0", 2),
    "list": (f"{TREE}.default_left", {}),
    "too short": (f"{TREE}.split_indices", [0]),
    "no nodes": (f"{TREE}.tree_param.num_nodes", "0"),
    "nodes": (f"{TREE}.tree_param.num_nodes", "-7"),
    "tree": (TREE, 7),
    "set without node": (f"{TREE}.split_type.0", 1),
    "tree info": ("gradient_booster.model.tree_info.0", 1),
    "negative info": ("gradient_booster.model.tree_info.0", -1),
    "short info": ("gradient_booster.model.tree_info", [0]),
    "rounds": ("gradient_booster.model.iteration_indptr", [0, 3, 2, 4]),
    "rounds end": ("gradient_booster.model.iteration_indptr.1", 2**40),
    "number of trees": ("gradient_booster.model.gbtree_model_param.num_trees", "5"),
    "best iteration": ("attributes.best_iteration", "4"),
    "no iteration": ("attributes.best_iteration", "-1"),
    "classes": ("learner_model_param.num_class", "3"),
    "class count": ("learner_model_param.num_class", "1e3"),
    "targets": ("learner_model_param.num_target", "0"),
    "base score": ("learner_model_param.base_score", "[1.0000001E0]"),
    "negative base score": ("learner_model_param.base_score", "[-1E-9]"),
    "trees": ("gradient_booster.model.trees", {"left_children": [[-1]]}),
    "parameters": (f"{TREE}.tree_param", ["num_nodes"]),
    "no parameters": (f"{TREE}.tree_param", {}),
    "base scores": ("learner_model_param.base_score", "[5E-1,5E-1]"),
    "no base score": ("learner_model_param.base_score", "[]"),
    "infinite base": ("learner_model_param.base_score", "inf"),
    "names": ("feature_names", ["a"]),
    "same names": ("feature_names", ["a", "a", "b"]),
    "types": ("feature_types", [1, 2, 3]),
    "objective": ("objective", "binary:logistic"),
    "encoders": ("gradient_booster.model.cats.enc", [{}]),
    "learner": ("gradient_booster", []),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files(case: str) -> None:
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    read(json.dumps(model).encode(), missing=None)
    _edit(*MALFORMED[case])(model)
    with pytest.raises(MalformedModelError):
        read(json.dumps(model).encode(), missing=None)


BASE_SCORES = ["", "1_0", "+0.5", " 0.5 ", "0.5\n", "0x1p-1", "nan", "1E999"]
BASE_SCORES += ["[[0.5]]", "[0.5", "0.5]", "[0.5,]", "[ 0.5]", "[5E-1]x"]
BASE_SCORES += ["\uff10.\uff15", "\u0660"]


@pytest.mark.parametrize("text", BASE_SCORES)
def test_base_scores_that_xgboost_does_not_write(text: str) -> None:
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    _edit("learner_model_param.base_score", text)(model)
    with pytest.raises(MalformedModelError, match="base score"):
        read(json.dumps(model).encode(), missing=None)


@pytest.mark.parametrize("text", ["5E-1", "0.5", "5e-01", "[5.0E-1]"])
def test_base_scores_of_all_versions(text: str) -> None:
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    _edit("learner_model_param.base_score", text)(model)
    clf, ensemble = reload(model)
    assert_same(ensemble, clf, X)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("key", ["split_type", "leaf_weights"])
def test_trees_with_different_members_are_refused(key: str, index: int) -> None:
    X, _, three = table()
    clf = classifier(tree_method="hist", multi_strategy="multi_output_tree")
    model = document(clf.fit(X, three))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][index]
    del tree[key]
    kind = UnsupportedModelError if key == "leaf_weights" else MalformedModelError
    with pytest.raises(kind, match=r"of one kind|other members"):
        read(json.dumps(model).encode(), missing=None)


@pytest.mark.parametrize("form", ["json", "ubj"])
def test_vectors_and_single_values_in_turn_are_refused_for_what_they_are(
    form: str,
) -> None:
    X, _, three = table()

    class InTurn(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            kinds = ("multi_output_tree", "one_output_per_tree")
            model.set_param({"multi_strategy": kinds[epoch % 2]})
            return False

    params = {"objective": "multi:softprob", "num_class": 3, "tree_method": "hist"}
    booster = xgboost.train(params, xgboost.DMatrix(X, three), 3, callbacks=[InTurn()])
    with pytest.raises(UnsupportedModelError, match="multi_strategy"):
        read(bytes(booster.save_raw(form)), missing=None)


def test_thresholds_written_halfway_between_two_float32() -> None:
    # They are the shortest texts of even float32, and no float32 themselves.
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    for text, threshold in [(772476000, 772476032), (16777217, 16777216)]:
        tree["split_conditions"][0] = float(text)
        clf, ensemble = reload(model)
        rows = np.repeat(X[:1], 5, axis=0)
        beside = [threshold + step for step in (-64, -1, 0, 1, 64)]
        rows[:, tree["split_indices"][0]] = beside
        assert_same(ensemble, clf, rows)
        assert float(np.float32(threshold)) in [
            float(np.float32(np.nextafter(cut, np.inf)))
            for cut in ensemble.trees.nodes["threshold"]
        ]


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_a_best_iteration_before_all_trees(booster: str) -> None:
    # XGBoost takes no tree then (3.2), or fails (3.2, dart), or takes all (3.4).
    X, two, _ = table()
    model = document(classifier(booster=booster).fit(X, two))
    within = "gbtree." * (booster == "dart" and IS_BEFORE_3_3)
    _edit(f"gradient_booster.{within}model.iteration_indptr", [0, 0, 4])(model)
    _edit("attributes.best_iteration", "1")(model)
    clf, ensemble = reload(model)
    assert len(ensemble.trees) == 4
    assert_same(ensemble, clf, X)
    _edit("attributes.best_iteration", "0")(model)
    raw = json.dumps(model).encode()
    with pytest.raises(MalformedModelError, match="before all trees"):
        read(raw, missing=None)
    assert len(read(raw, missing=None, iteration="all").ensemble.trees) == 4


LEAVES = [float("nan"), float("inf"), -1e39]


@pytest.mark.parametrize("value", LEAVES)
def test_leaf_values_are_finite(value: float) -> None:
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["split_conditions"][tree["left_children"].index(-1)] = value
    with pytest.raises(MalformedModelError):
        read(json.dumps(model).encode(), missing=None)


SETS = {
    "segment": ("categories_segments.0", 1, MalformedModelError),
    "size": ("categories_sizes.0", 0, MalformedModelError),
    "huge size": ("categories_sizes.0", 2**62, MalformedModelError),
    "node": ("categories_nodes.0", 999, MalformedModelError),
    "leaf": ("categories_nodes.0", -1, MalformedModelError),
    "short": ("categories_nodes", [], MalformedModelError),
    "negative": ("categories.0", -1, MalformedModelError),
    "huge code": ("categories.0", 2**23, UnsupportedModelError),
    "both ways": ("split_type.0", 0, UnsupportedModelError),
}


@pytest.mark.parametrize("case", SETS)
def test_malformed_category_sets(case: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(80, 1)).astype(np.float64)
    clf = classifier(enable_categorical=True, feature_types=["c"], max_cat_to_onehot=1)
    model = document(clf.fit(X, (X[:, 0] % 2).astype(int)))
    path, value, error = SETS[case]
    _edit(f"{TREE}.{path}", value)(model)
    with pytest.raises(error):
        read(json.dumps(model).encode(), missing=None)


def test_deleted_nodes_are_left_out() -> None:
    X, two, _ = table()
    clf = classifier(tree_method="exact", gamma=2.0, max_depth=6, n_estimators=3)
    model = document(clf.fit(X, two))
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    assert any(tree["tree_param"]["num_deleted"] != "0" for tree in trees)
    ensemble = fatt.load(clf).ensemble
    assert len(ensemble.trees.nodes) < sum(len(t["parents"]) for t in trees)
    assert_same(ensemble, clf, probe_rows(ensemble, np.random.default_rng(0), N_ROWS))


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b'{"learner": 7}',
        b'{"learner": {"a": NaN}}',
        b'{"a":' * 100_000,
        b'{"a":[NaN,' + b"[" * 100_000,
        b'{"\xff": 1}',
        b"{L",
        b"{}\x00",
    ],
)
def test_documents_that_are_no_model(raw: bytes) -> None:
    with pytest.raises(MalformedModelError):
        read(raw, missing=None)


def test_huge_claims_cost_nothing() -> None:
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    for path in ("num_feature", "num_class", "num_target"):
        changed = copy.deepcopy(model)
        _edit(f"learner_model_param.{path}", "2000000000")(changed)
        with pytest.raises(FattError):
            read(json.dumps(changed).encode(), missing=None)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_files_are_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from(_samples())))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place] = data.draw(st.sampled_from([0, 1, 127, 255, 48, 57, 91, 123]))
    raw = raw[: data.draw(st.sampled_from([len(raw), len(raw) // 2]))]
    with contextlib.suppress(FattError):
        read(bytes(raw), missing=None)


def _samples() -> list[bytes]:
    folder = Path(__file__).parent.parent / "data" / "models"
    files = sorted([*folder.glob("xgboost-*.json"), *folder.glob("xgboost-*.ubj")])
    assert files
    return [file.read_bytes() for file in files]


@pytest.mark.parametrize("missing", [-999.0, 0.5, -1.0])
def test_labels_stay_if_no_code_can_be_missing(missing: float) -> None:
    frame = pd.DataFrame(
        {"k": pd.Categorical(list("abc") * 50), "f": np.arange(150) % 5 * 1.0}
    )
    clf = classifier(enable_categorical=True, missing=missing)
    clf.fit(frame, np.arange(150) % 2)
    ensemble = fatt.load(clf).ensemble
    assert np.array_equal(ensemble.predict(frame), clf.predict(frame))
    margins = clf.predict(frame, output_margin=True)
    assert np.array_equal(ensemble.raw_scores(frame)[:, 0], margins)
