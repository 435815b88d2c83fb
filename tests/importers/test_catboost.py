"""CatBoost models answer the same in `fatt`, to the last bit."""

from __future__ import annotations

import json
import math
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

import fatt
from fatt.cli import fatt as command
from fatt.ensemble import Categorical, Cut, Ensemble
from fatt.ensemble.fingerprint import fingerprint, stand_in, texts_behind
from fatt.errors import (
    DataError,
    FattError,
    MalformedModelError,
    MissingDependencyError,
    ModelError,
    SpecError,
    UnsupportedModelError,
)
from fatt.importers import catboost as importer
from fatt.importers.catboost import convert, live, read
from fatt.importers.catboost import file as cbm
from fatt.importers.catboost.live import written
from fatt.people.files import read_table
from fatt.people.typed import type_for_model
from fatt.report.rows import to_csv
from tests.probes import probe_rows, same_bits

catboost = pytest.importorskip("catboost")
pytestmark = pytest.mark.catboost

X86 = platform.machine() in {"x86_64", "AMD64"}
ON_X86 = pytest.mark.skipif(not X86, reason="measured there")
QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
TEXTS = ["a", "b", "Ulm", "São Paulo", "", " ", "7", "-1", "nan", "x" * 20, "y" * 70]
NEW = ["never seen", "z" * 40, "100", "a ", "A"]


def people(
    rng: np.random.Generator, n_rows: int, n_categories: int = 2
) -> pd.DataFrame:
    """Numbers with gaps and ties, texts, and whole numbers as categories."""
    pool = np.array([0.0, -0.0, 1.0, -1.0, 2.5, 1e-40, 3.4e38, -np.inf, np.inf, 0.1])
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n_rows).round(1),
            "y": rng.choice(pool, n_rows),
            "gaps": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows)),
        }
    )
    columns = {
        "town": rng.choice(TEXTS, n_rows),
        "code": rng.integers(0, 6, n_rows),
        "sex": rng.choice(["F", "M"], n_rows),
    }
    for name in list(columns)[:n_categories]:
        frame[name] = columns[name]
    return frame


def answers(
    rng: np.random.Generator, frame: pd.DataFrame, n_classes: int
) -> np.ndarray:
    score = frame["x"].to_numpy() + rng.normal(size=len(frame)) / 2
    if "town" in frame:
        score += [len(text) % 3 for text in frame["town"]]
    labels = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    labels[:n_classes] = np.arange(n_classes)
    return labels


def raw_scores(model: Any, table: Any) -> np.ndarray:
    scores = np.asarray(model.predict(table, prediction_type="RawFormulaVal"))
    return scores.reshape(len(table), -1)


def labels_of(model: Any, table: Any) -> list[Any]:
    return np.ravel(model.predict(table, prediction_type="Class")).tolist()


def probes(ensemble: Ensemble, rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Rows at the borders and beside them, with known and unknown categories."""
    rows = probe_rows(ensemble, rng, n_rows)
    frame = pd.DataFrame(index=range(n_rows))
    for index, feature in enumerate(ensemble.features):
        if isinstance(feature, Categorical):
            texts = [*feature.categories, *TEXTS, *NEW, *map(str, range(8))]
            frame[feature.name] = rng.choice(np.array(texts, dtype=object), n_rows)
        else:
            frame[feature.name] = rows[:, index]
    return frame


def assert_same(ensemble: Ensemble, model: Any, table: Any) -> None:
    assert same_bits(ensemble.raw_scores(table), raw_scores(model, table))
    found = ensemble.predict(table).tolist()
    told = labels_of(model, table)
    assert found == told
    assert {type(label) for label in found} == {type(label) for label in told}
    if ensemble.link is not None:
        chances = np.asarray(model.predict(table, prediction_type="Probability"))
        assert same_bits(ensemble.predict_proba(table), np.ascontiguousarray(chances))


def fit(X: Any, y: Any, **options: Any) -> Any:
    return catboost.CatBoostClassifier(**{**QUIET, **options}).fit(X, y)


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    policy = draw(st.sampled_from(["SymmetricTree", "Depthwise", "Lossguide"]))
    options = {
        "iterations": draw(st.sampled_from([1, 4, 12])),
        "depth": draw(st.sampled_from([1, 2, 4, 6])),
        "grow_policy": policy,
        "loss_function": draw(
            st.sampled_from(
                ["Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"]
            )
        ),
        "learning_rate": draw(st.sampled_from([0.03, 0.5, 1.0])),
        "nan_mode": draw(st.sampled_from(["Min", "Max"])),
        "one_hot_max_size": draw(st.sampled_from([2, 8, 255])),
        "max_ctr_complexity": 1,
        "simple_ctr": draw(
            st.sampled_from(
                [
                    None,
                    ["Borders:Prior=0:Prior=0.5/1", "Counter"],
                    ["Buckets", "BinarizedTargetMeanValue:Prior=0.3/1"],
                    ["Borders:TargetBorderCount=2"],
                ]
            )
        ),
        "border_count": draw(st.sampled_from([1, 5, 254])),
        "random_seed": draw(st.integers(0, 9)),
    }
    if policy == "Lossguide":
        options["max_leaves"] = draw(st.sampled_from([2, 5, 31]))
    if options["simple_ctr"] == ["Borders:TargetBorderCount=2"]:
        options["loss_function"] = "MultiClass"
    # Else a remark is printed that the one does not change the other.
    options["combinations_ctr"] = options["simple_ctr"]
    return {key: value for key, value in options.items() if value is not None}


KINDS = st.sampled_from([int, str, float, bool])
MODELS = Path(__file__).parents[1] / "data" / "models"
KEPT = sorted(
    path for path in MODELS.glob("catboost-1.2.10-*") if path.suffix != ".npz"
)


def saved(model: Any, folder: Path, form: str = "json", pool: Any = None) -> Path:
    path = folder / f"model.{form}"
    model.save_model(str(path), format=form, pool=pool)
    return path


def reloaded(path: Path) -> Any:
    model = catboost.CatBoostClassifier()
    model.load_model(str(path), format=path.suffix[1:])
    return model


@settings(max_examples=60, deadline=None, derandomize=True)
@given(parameters(), st.integers(0, 3), st.integers(0, 10**6), KINDS)
def test_any_model(
    params: dict[str, Any], n_categories: int, seed: int, kind: Any
) -> None:
    rng = np.random.default_rng(seed)
    X = people(rng, 120, n_categories)
    n_classes = 3 if params["loss_function"].startswith("Multi") else 2
    y = answers(rng, X, n_classes)
    if params["loss_function"] == "CrossEntropy":
        y = y.astype(float)
    elif kind is str:
        y = np.array(["no", "yes", "perhaps"])[y]
    elif kind is float:
        y = y + 0.5
    elif kind is bool and n_classes == 2:
        y = y.astype(bool)
    model = fit(X, y, cat_features=list(X.columns[3:]), **params)
    ensemble = convert(model, missing=None).ensemble
    assert ensemble == read(written(model), missing=None).ensemble
    for table in (X, probes(ensemble, rng, 300)):
        assert_same(ensemble, model, table)


# JSON


@settings(max_examples=8, deadline=None, derandomize=True)
@given(parameters(), st.integers(0, 3), st.integers(0, 10**6), st.booleans())
def test_json_is_what_catboost_reads_of_it(
    tmp_path_factory: Any,
    params: dict[str, Any],
    n_categories: int,
    seed: int,
    with_texts: bool,
) -> None:
    rng = np.random.default_rng(seed)
    # It does not write borders that are infinite.
    X = people(rng, 120, n_categories).replace([np.inf, -np.inf], 7.0)
    names = list(X.columns[3:])
    n_classes = 3 if params["loss_function"].startswith("Multi") else 2
    y = answers(rng, X, n_classes)
    model = fit(X, y, cat_features=names, **params)
    pool = catboost.Pool(X, y, cat_features=names) if with_texts else None
    path = saved(model, tmp_path_factory.mktemp("json"), pool=pool)
    ensemble = fatt.load(path).ensemble
    assert "reads from the JSON file" in ensemble.source.notes[0]
    if with_texts:
        known = {text for name in names for text in X[name].astype(str)}
        for feature in ensemble.features[3:]:
            assert set(feature.categories) <= known
    for table in (X, probes(ensemble, rng, 200)):
        assert_same(ensemble, reloaded(path), table)


KEPT_JSON = MODELS / "catboost-1.2.10-json.json"
#: Numbers that CatBoost's reader rounds, or takes for zero.
INEXACT = [
    *("0.30000000000000004", "12345678901234567890.5", "3.14159265358979323846264"),
    *("9.473684210526315", "-973.2517614186191", "4.9e-324", "2.2250738585072014e-308"),
    *("1e-310", "1.5e-400", "1E-7", "-0", "-0.0", "9007199254740993", "1e22", "7"),
]


def test_numbers_are_those_that_catboost_reads(tmp_path: Path) -> None:
    content = json.loads(KEPT_JSON.read_text())
    leaves = content["oblivious_trees"][0]["leaf_values"]
    leaves[: len(INEXACT)] = [f"leaf {place}" for place in range(len(INEXACT))]
    text = json.dumps(content)
    for place, number in enumerate(INEXACT):
        text = text.replace(f'"leaf {place}"', number)
    path = tmp_path / "model.json"
    path.write_text(text)
    told = np.asarray(reloaded(path).get_leaf_values())
    found = fatt.load(path).ensemble.trees.values[:, 0]
    assert same_bits(np.sort(found), np.sort(told))
    pairs = zip(told[: len(INEXACT)], INEXACT, strict=True)
    assert sum(float(one) != float(text) for one, text in pairs) > 2


def test_json_with_tables_that_overwrite_each_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = people(rng, 300)
    y = answers(rng, X, 3)
    ctr = ["Borders:TargetBorderCount=1", "Borders:TargetBorderCount=2"]
    model = fit(
        X,
        y,
        cat_features=["town"],
        iterations=10,
        simple_ctr=ctr,
        combinations_ctr=ctr,
        max_ctr_complexity=1,
        one_hot_max_size=2,
    )
    assert_same(convert(model, missing=None).ensemble, model, X)
    found = fatt.load(saved(model, tmp_path))
    assert_same(found.ensemble, reloaded(tmp_path / "model.json"), X)
    assert "several borders of the target" in found.ensemble.source.notes[0]


def test_json_needs_catboost(monkeypatch: Any) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install catboost.*\.cbm"):
        fatt.load(KEPT_JSON)


def json_with(change: Any) -> bytes:
    content = json.loads(KEPT_JSON.read_text())
    change(content)
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["oblivious_trees"][0]["leaf_values"].pop(), "number of leaves"),
        (
            lambda c: c["oblivious_trees"][0]["splits"][0].update(split_index=10**9),
            "cannot read",
        ),
        (
            lambda c: c["features_info"]["float_features"][0].update(
                flat_feature_index=-7
            ),
            "two of its columns have one place, or one has none",
        ),
        (lambda c: c.update(scale_and_bias=[1, [0, 0]]), "cannot read"),
        (lambda c: c.update(oblivious_trees=7), "outside the table of leaf values"),
        (lambda c: c.pop("features_info"), "features_info"),
        (lambda c: c["features_info"].update(cat_features_hash=[1]), "nor is it such"),
        (
            lambda c: c["model_info"]["class_params"].update(new=1),
            "says 'new' about its classes",
        ),
        (
            lambda c: c["model_info"]["class_params"].update(
                class_to_label=[0], class_names=["0"]
            ),
            "2 classes, and their labels are not as many",
        ),
    ],
)
def test_damaged_json_is_refused_and_ends_nothing(change: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        read(json_with(change), missing=None)


def test_json_that_ends_catboost_or_takes_too_long(monkeypatch: Any) -> None:
    for program, said in (
        ("import os; os.abort()", "cannot read the JSON (it ended)"),
        ("import time; time.sleep(60)", "does not read it in 1 seconds"),
    ):
        monkeypatch.setattr(live, "_CONVERT", program)
        monkeypatch.setattr(live, "_SECONDS", 1 if "sleep" in program else 60)
        with pytest.raises(MalformedModelError, match=re.escape(said)):
            fatt.load(KEPT_JSON)


# Labels


def beside(number: float) -> tuple[float, float, float]:
    return math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)


@pytest.mark.parametrize("threshold", [0.5, 0.3, 0.7312, 1e-9, 0.999999])
def test_the_label_at_the_threshold(threshold: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = people(rng, 60, 0)
    model = fit(X, answers(rng, X, 2), iterations=1, depth=1)
    model.set_probability_threshold(threshold)
    model = reloaded(saved(model, tmp_path, "cbm"))
    model.set_leaf_values(np.zeros(len(model.get_leaf_values())))
    edge = -math.log(1 / threshold - 1)
    seen = set()
    for bias in (*beside(edge), -1e-17, 1e-17):
        model.set_scale_and_bias(1.0, float(bias))
        ensemble = convert(model, missing=None).ensemble
        assert isinstance(ensemble.decision, Cut)
        assert_same(ensemble, model, X[:2])
        seen.update(labels_of(model, X[:2]))
    assert seen == {0, 1}


def test_scale_and_bias(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = people(rng, 90, 1).replace([np.inf, -np.inf], 7.0)
    options = {"iterations": 5, "max_ctr_complexity": 1, "cat_features": ["town"]}
    for n_classes in (2, 3):
        model = fit(X, answers(rng, X, n_classes), **options)
        bias = [0.3, -0.1, 0.05][: 1 if n_classes == 2 else 3]
        for scale in (0.25, 4.0, 1.0, -1.0):
            model.set_scale_and_bias(scale, bias)
            assert_same(convert(model, missing=None).ensemble, model, X)
            path = saved(model, tmp_path)
            assert_same(fatt.load(path).ensemble, reloaded(path), X)
        for wrong, why in ((0.3, r"scale 0\.3.*set_scale"), (2.0**-1060, "too small")):
            model.set_scale_and_bias(wrong, bias)
            with pytest.raises(UnsupportedModelError, match=why):
                convert(model, missing=None)


def test_classes_that_nobody_had(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = people(rng, 90, 0)
    y = np.array([0, 2, 5])[answers(rng, X, 3)]
    model = fit(X, y, iterations=3, loss_function="MultiClass", classes_count=7)
    ensemble = convert(model, missing=None).ensemble
    assert ensemble.classes == (0, 2, 5)
    assert ensemble.predict(X).tolist() == labels_of(model, X)
    scores = raw_scores(model, X)
    assert np.isneginf(scores[:, [1, 3, 4, 6]]).all()
    assert same_bits(ensemble.raw_scores(X), np.ascontiguousarray(scores[:, [0, 2, 5]]))


def test_a_plain_catboost_and_its_note() -> None:
    rng = np.random.default_rng(2)
    X = people(rng, 90, 0)
    model = catboost.CatBoost({**QUIET, "loss_function": "Logloss", "iterations": 3})
    model.fit(X, answers(rng, X, 2))
    loaded = fatt.load(model)
    assert "prediction_type='Class'" in loaded.ensemble.source.notes[-1]
    assert_same(loaded.ensemble, model, X)
    assert loaded.ask(X) == labels_of(model, X)


# Numbers

LOSSES = [
    *("RMSE", "MAE", "Quantile:alpha=0.3", "LogLinQuantile", "Expectile:alpha=0.3"),
    *("Huber:delta=0.5", "LogCosh", "Lq:q=2", "MAPE", "Poisson"),
    "Tweedie:variance_power=1.5",
]


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
@pytest.mark.parametrize("loss", LOSSES)
def test_regressors(loss: str, policy: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(loss))
    X = people(rng, 120, 2).replace([np.inf, -np.inf], 7.0)
    y = np.exp(X["x"] / 2 + (X["town"] == "Ulm")).round(2)
    options = {"loss_function": loss, "grow_policy": policy, "iterations": 6, **QUIET}
    options |= {"cat_features": ["town", "code"], "max_ctr_complexity": 1}
    plain = catboost.CatBoost(options).fit(X, y)
    loaded = fatt.load(plain)
    assert loaded.classes == ()
    assert loaded.ensemble.source.objective == loss.partition(":")[0]
    for table in (X, probes(loaded.ensemble, rng, 150)):
        assert same_bits(loaded.raw_scores(table), raw_scores(plain, table))
        numbers = np.asarray(plain.predict(table))
        assert same_bits(np.asarray(loaded.predict(table)), numbers)
        assert loaded.ask(table) == numbers.tolist()
    for form in ("cbm", "json"):
        path = saved(plain, tmp_path, form)
        read = fatt.load(path)
        assert read.ask(X) == read.predict(X).tolist()
        as_regressor = catboost.CatBoostRegressor().load_model(str(path), form)
        assert read.ask(X) == as_regressor.predict(X).tolist()
    model = catboost.CatBoostRegressor(**options).fit(X, y)
    if loss.startswith(("Poisson", "Tweedie")):
        assert "logarithm" in loaded.ensemble.source.notes[-1]
        if not X86:
            return
    found = fatt.load(model)
    for table in (X, probes(loaded.ensemble, rng, 150)):
        assert same_bits(np.asarray(found.predict(table)), model.predict(table))
        assert found.ask(table) == model.predict(table).tolist()
    gap = fatt.score_gap(
        model, X[:5], similarity=fatt.Similarity(vary=["town"]), of="prediction"
    )
    assert all(one.bounds.lower <= one.bounds.upper for one in gap)


# Columns and categories


def test_frames_go_by_name_and_arrays_by_place() -> None:
    rng = np.random.default_rng(4)
    X = people(rng, 90, 2)
    model = fit(
        X,
        answers(rng, X, 2),
        iterations=5,
        cat_features=["town", "code"],
        max_ctr_complexity=1,
        one_hot_max_size=20,
    )
    ensemble = convert(model, missing=None).ensemble
    # CatBoost takes those at the places of categories for categories.
    turned = X[X.columns[::-1]]
    with pytest.raises(catboost.CatBoostError):
        model.predict(turned)
    with pytest.raises(DataError, match="another order"):
        ensemble.predict(turned)
    written_down = read(written(model), missing=None).ensemble
    assert written_down == ensemble
    assert same_bits(written_down.raw_scores(turned), raw_scores(model, X))
    assert_same(ensemble, model, X.to_numpy(dtype=object))
    numbers = X[["x", "y", "gaps"]].fillna(0)
    unnamed = fit(numbers.to_numpy(), answers(rng, X, 2), iterations=5)
    found = convert(unnamed, missing=None).ensemble
    assert not found.inputs.named
    assert_same(found, unnamed, numbers)
    assert_same(found, unnamed, numbers.set_axis([0, 1, 2], axis=1))
    # CatBoost goes by these names, although it gave them itself.
    for names in (["2", "1", "0"], ["1", "0", "z"], [2, 1, 0]):
        with pytest.raises(DataError, match="other names"):
            found.predict(numbers.set_axis(names, axis=1))


@pytest.mark.parametrize(
    "settings",
    [{"one_hot_max_size": 9}, {"one_hot_max_size": 1, "max_ctr_complexity": 1}],
)
@pytest.mark.parametrize("words", [("True", "False"), ("true", "false")])
def test_booleans_of_a_file(settings: Any, words: Any, tmp_path: Path) -> None:
    """As a text, CatBoost itself would take the word for a level it never saw."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 60, 200), "c": rng.random(200) < 0.5})
    model = fit(X, X["c"] ^ (X["age"] > 50), cat_features=["c"], **settings)
    ensemble = convert(model, missing=None).ensemble
    path = tmp_path / "people.csv"
    texts = X.assign(c=X["c"].map(dict(zip((True, False), words, strict=True))))
    texts.to_csv(path, index=False)
    typed = type_for_model(read_table(str(path)), ensemble)
    assert typed.table["c"].dtype == bool
    assert np.array_equal(ensemble.predict(typed.table), ensemble.predict(X))
    # If the model knows the words, or one is something else, they are texts.
    texts.loc[3, "c"] = "perhaps"
    texts.to_csv(path, index=False)
    kept = type_for_model(read_table(str(path)), ensemble).table["c"].tolist()
    assert kept == texts["c"].tolist()
    spelt = fit(texts, X["c"] ^ (X["age"] > 50), cat_features=["c"], **settings)
    texts[:3].to_csv(path, index=False)
    known = convert(spelt, missing=None).ensemble
    kept = type_for_model(read_table(str(path)), known).table["c"].tolist()
    assert kept == texts["c"][:3].tolist()


def test_cells_of_a_category() -> None:
    X = pd.DataFrame({"t": ["1", "0", "True", "a"] * 20, "x": 0.0})
    y = [0, 1, 2, 3] * 20
    model = fit(X, y, iterations=20, one_hot_max_size=9, cat_features=["t"])
    ensemble = convert(model, missing=None).ensemble
    whole = pd.DataFrame({"t": [1, 0, 1], "x": 0.0})
    for table in (
        X,
        whole,
        whole.astype({"t": bool}),
        whole.astype({"t": "uint8"}),
        whole.astype({"t": "Int64"}),
        whole.astype({"t": object}),
        whole.astype({"t": "category"}),
        X.astype({"t": "category"}),
        X.to_numpy(dtype=object),
        np.array([[1, 0], [0, 0], [2, 0]]),
        pd.DataFrame({"t": [True, "a", 1, np.int8(0), np.str_("a")], "x": 0.0}),
    ):
        assert_same(ensemble, model, table)
    for table in (
        whole.astype({"t": float}),
        np.array([[1.0, 0.0]]),
        pd.DataFrame({"t": ["a", None], "x": 0.0}),
        pd.DataFrame({"t": [1.0, "a"], "x": 0.0}, dtype=object),
        pd.DataFrame({"t": [2**64], "x": 0.0}, dtype=object),
        pd.DataFrame({"t": ["\ud800"], "x": 0.0}, dtype=object),
        pd.DataFrame({"t": [(1, 2)], "x": 0.0}),
    ):
        with pytest.raises(DataError, match="'t'"):
            ensemble.predict(table)
        refusals = (catboost.CatBoostError, TypeError, OverflowError, SystemError)
        with pytest.raises(refusals):
            model.predict(table)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_a_text_is_made_up_for_any_fingerprint(print_: int) -> None:
    text = stand_in(print_)
    assert fingerprint(text) == print_
    assert text.isascii()
    assert text.isprintable()
    assert len(text) == 16


def test_fingerprints_are_those_of_catboost() -> None:
    rng = np.random.default_rng(5)
    letters = np.array([*"aZ09 ~é日😀\n"])
    lengths = [*range(70), 100, 127, 128, 129, 200]
    texts = ["".join(rng.choice(letters, length)) for length in lengths]
    texts = sorted(set(texts))
    X = pd.DataFrame({"t": np.repeat(texts, 3), "x": 0.0})
    y = (np.arange(len(X)) // 3) % 2
    model = fit(X, y, iterations=3, one_hot_max_size=255, depth=6, cat_features=["t"])
    told = model.get_all_params()["one_hot_max_size"]
    assert told == 255
    ensemble = convert(model, missing=None).ensemble
    assert_same(ensemble, model, X)
    pool = catboost.Pool(X, y, cat_features=["t"])
    pairs = hashes_of(model, pool)
    assert {fingerprint(text): text for text in texts} == pairs
    assert texts_behind([fingerprint("x"), fingerprint("7")], ["x"]) == ("x", "7")


def hashes_of(model: Any, pool: Any) -> dict[int, str]:
    """The fingerprints that CatBoost itself writes beside the texts of a pool."""
    with tempfile.TemporaryDirectory() as folder:
        content = json.loads(saved(model, Path(folder), pool=pool).read_text())
    found = content["features_info"]["cat_features_hash"]
    return {one["hash"]: one["value"] for one in found}


def one_hot_model() -> tuple[Any, pd.DataFrame]:
    """A model that asks for one sex, and so stores the fingerprint of one alone."""
    rng = np.random.default_rng(6)
    X = people(rng, 200, 3)
    y = (X["x"] + (X["sex"] == "M") > 0.5).astype(int)
    model = fit(
        X,
        y,
        iterations=4,
        depth=3,
        cat_features=["town", "code", "sex"],
        one_hot_max_size=20,
        max_ctr_complexity=1,
    )
    return model, X


def test_categories_are_called_what_the_table_calls_them(tmp_path: Path) -> None:
    model, X = one_hot_model()
    path = saved(model, tmp_path, "cbm")
    for source in (model, path):
        loaded = fatt.load(source)
        [stored] = loaded.features[-1].categories
        assert stored.endswith("-unnamed")
        assert fingerprint(stored) in (fingerprint("F"), fingerprint("M"))
        similarity = fatt.Similarity(vary=["sex"])
        report = fatt.verify(source, X, similarity=similarity)
        assert report.counts["unfair"] > 0
        for case in report.counterexamples:
            change = case.changes["sex"]
            assert {change.before, change.after} == {"F", "M"}
            assert change.before == X["sex"][case.index]
            assert case.replayed_on == "model"
        assert set(report.by_group("sex")) == {"F", "M"}
        certificate = report.certificate()
        assert certificate.check(path, X).fair == report.counts["fair"]
        # A text that somebody has can be named, known to the model or not.
        named = fatt.Similarity(vary={"sex": ["F", "M"]})
        again = fatt.verify(source, X, similarity=named)
        assert again.counts == report.counts
        assert again.certificate().check(path).fair == report.counts["fair"]
        assert fatt.Schema.infer(loaded, X).find("sex").texts == ("F", "M")
        misspelt = fatt.Similarity(vary={"sex": ["Mael"]})
        with pytest.raises(SpecError, match="'Mael'"):
            fatt.verify(source, X, similarity=misspelt)


def test_many_texts_that_the_model_does_not_know_stay_together() -> None:
    model, X = one_hot_model()
    strange = X.assign(sex=[f"text {i}" for i in range(len(X) - 2)] + ["M", "F"])
    schema = fatt.Schema.infer(fatt.load(model), strange)
    assert len(schema.find("sex").texts) <= 1
    report = fatt.verify(model, strange, similarity=fatt.Similarity(vary=["sex"]))
    for case in report.counterexamples:
        assert case.individual["sex"] == strange["sex"][case.index]


@pytest.mark.parametrize("form", ["pandas", "polars", "array"])
def test_people_keep_the_values_that_the_model_does_not_know(form: str) -> None:
    model, X = one_hot_model()
    strange = X.reset_index(drop=True).astype({"town": object, "sex": object})
    for name in ("town", "sex"):
        strange.loc[::2, name] = [f"{name} {i}" for i in range(0, len(X), 2)]
    table: Any = strange
    similar = fatt.Similarity(vary=["sex"])
    if form == "polars":
        table = pytest.importorskip("polars").from_pandas(strange)
    elif form == "array":
        table = strange.to_numpy(dtype=object)
    report = fatt.verify(model, table, similarity=similar)
    found = report.counterexamples
    assert len({case.individual["sex"] for case in found}) > 5
    for case in found:
        row = strange.iloc[case.index]
        assert case.individual["town"] == case.twin["town"] == row["town"]
        assert case.changes["sex"].before == case.individual["sex"] == row["sex"]
        assert set(case.changes) == {"sex"}
    text = to_csv(report)
    assert all(f",{case.changes_in_words}," in text for case in found)
    assert found.to_frame()["changes"][0] == found[0].changes_in_words
    shown = json.loads(report.to_json())["counterexamples"]
    assert [one["individual"]["town"] for one in shown] == [
        strange["town"].iloc[one["index"]] for one in shown
    ]
    assert "(other)</bdi> → F" not in report.to_html()


@pytest.mark.parametrize("key", ["vary", "where"])
def test_texts_that_the_model_cannot_tell_apart_are_named_together(key: str) -> None:
    """Somebody of town c would else be taken for somebody of town b."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice([*"abcd"], 80), "x": rng.normal(size=80)})
    y = (X["town"] == "a").astype(int)
    options = {"cat_features": [0], "one_hot_max_size": 20}
    model = fit(X, y, iterations=1, depth=1, **options)

    def ask(towns: list[str]) -> fatt.Report:
        said = {"vary": {"town": towns}} if key == "vary" else {"vary": ["town"]}
        if key == "where":
            said["where"] = {"town": towns}
        return fatt.verify(model, X, similarity=fatt.Similarity(**said))

    for towns in (["a", "b"], ["b", "c"]):
        with pytest.raises(SpecError, match=r"names 'b', .* from .*'d'"):
            ask(towns)
    assert ask([*"abcd"]).counts["unfair"] == 80


def test_names_do_not_change_what_is_computed() -> None:
    model, X = one_hot_model()
    ensemble = convert(model, missing=None).ensemble
    *others, sex = ensemble.features
    named = replace(ensemble, features=(*others, sex.named_after(["F", "M"])))
    assert named.features != ensemble.features
    assert named == ensemble
    assert same_bits(named.raw_scores(X), ensemble.raw_scores(X))


def test_whole_numbers_as_categories_in_twins() -> None:
    """A twin's text must stand beside whole numbers, in every kind of table."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 6, 200)
    X = pd.DataFrame({"code": codes, "x": rng.normal(size=200).round(1)})
    y = ((codes % 2 == 1) ^ (X["x"] > 1)).astype(int)
    options = {"cat_features": [0], "one_hot_max_size": 20, "iterations": 4}
    model = fit(X, y, **options)
    similarity = fatt.Similarity(vary=["code"])
    objects = X.to_numpy(dtype=object)
    for table in (X, X.astype({"code": "Int64"}), pl.from_pandas(X), objects):
        report = fatt.verify(model, table, similarity=similarity)
        assert report.counts["unfair"] > 100
        assert {case.replayed_on for case in report.counterexamples} == {"model"}
    flags = X.assign(code=X["code"] > 2)
    model = fit(flags, flags["code"].astype(int), **options)
    for table in (flags, pl.from_pandas(flags)):
        report = fatt.verify(model, table, similarity=similarity)
        assert report.counts["unfair"] == 200
        assert {case.replayed_on for case in report.counterexamples} == {"model"}


def test_the_command_line(tmp_path: Path) -> None:
    model, X = one_hot_model()
    path, table = saved(model, tmp_path, "cbm"), tmp_path / "people.csv"
    finite = X[np.isfinite(X["y"]) & (X["town"].str.strip() != "")]
    finite.to_csv(table, index=False)
    arguments = ["audit", str(path), str(table), "--vary", "sex"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert "sex F → M" in done.output
    shown = CliRunner().invoke(command, ["inspect", str(path)])
    assert "catboost 1.2" in shown.output
    assert "stores fingerprints" in " ".join(shown.output.split())


# Refusals


def counting() -> Any:
    options = {"iterations": 2, "loss_function": "Poisson", **QUIET}
    return catboost.CatBoostRegressor(**options).fit([[0], [1]], [0.0, 1.0])


PLACES = pd.DataFrame({"x": range(3)})


def of_leaves(values: list[float], tmp_path: Path) -> Any:
    """Return a regressor of one tree, whose scores are these numbers, one a row."""
    options = {"iterations": 1, "depth": 2, "loss_function": "Poisson", **QUIET}
    model = catboost.CatBoostRegressor(**options, boost_from_average=False)
    model.fit(PLACES, [1.0, 9.0, 90.0])
    leaf = model.calc_leaf_indexes(PLACES)[:, 0]
    assert len(set(leaf.tolist())) == len(values) == 3
    model.save_model(str(tmp_path / "model.cbm"))
    read = catboost.CatBoostRegressor().load_model(str(tmp_path / "model.cbm"))
    placed = np.zeros(4)
    placed[leaf] = values
    read.set_leaf_values(placed)
    scores = read.predict(PLACES, prediction_type="RawFormulaVal")
    assert scores.tolist() == values
    return read


@ON_X86
def test_exponentials_that_hang_on_where_a_row_stands_are_refused(
    tmp_path: Path,
) -> None:
    """CatBoost computes four at once, and those that are left one by one."""
    model = of_leaves([-709.0, -700.0, 2.0], tmp_path)
    least = PLACES.iloc[[0] * 5]
    assert model.predict(least[:4])[0] > model.predict(least)[4] == 0
    for either in (model, saved(model, tmp_path, "cbm")):
        with pytest.raises(UnsupportedModelError, match="may be below -708"):
            fatt.load(either)
    scores = fatt.load(catboost.CatBoost().load_model(saved(model, tmp_path, "cbm")))
    assert scores.predict(PLACES).tolist() == [-709.0, -700.0, 2.0]
    assert fatt.load(of_leaves([-707.0, -700.0, 2.0], tmp_path)).ask(PLACES)


@ON_X86
def test_no_verdict_is_wrong_where_the_exponential_falls(tmp_path: Path) -> None:
    """A step ends at the first score, whose exponential is larger than the second's."""
    model = of_leaves([0.0038921838752145363, 0.0038921838752145367, 0], tmp_path)
    first, second, own = model.predict(PLACES)
    assert first > second > own
    for reach, wrong in (("0..2", "fair"), ("1..2", "unfair")):
        similarity = fatt.Similarity(noise={"x": reach})
        report = fatt.verify(
            model, PLACES[2:3], similarity=similarity, tolerance=second - own
        )
        assert report.counts[wrong] == 0
    assert first - own > second - own
    with pytest.raises(SpecError, match="go up and down around this threshold"):
        fatt.load(model, cuts={"low": -math.inf, "high": float(second)})


def test_where_its_exponential_is_not_known_the_score_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "_IS_KNOWN_HERE", False)
    options = {"iterations": 2, "loss_function": "Poisson", **QUIET}
    model = catboost.CatBoostRegressor(**options).fit(PLACES, [1.0, 9.0, 90.0])
    with pytest.raises(UnsupportedModelError, match=r"'Exponent'.* does not know on"):
        fatt.load(model)
    loaded = fatt.load(saved(model, tmp_path, "cbm"))
    assert "CatBoostRegressor answers its exp" in loaded.ensemble.source.notes[-1]
    scores = model.predict(PLACES, prediction_type="RawFormulaVal").tolist()
    assert loaded.predict(PLACES).tolist() == loaded.ask(PLACES) == scores


def ranker() -> Any:
    options = {"iterations": 2, "loss_function": "QueryRMSE", **QUIET}
    model = catboost.CatBoostRanker(**options)
    return model.fit([[0], [1], [2]], [0.0, 1.0, 2.0], group_id=[0, 0, 0])


def two_numbers() -> Any:
    options = {"iterations": 2, "loss_function": "MultiRMSE", **QUIET}
    return catboost.CatBoostRegressor(**options).fit([[0], [1]], [[0, 1], [1, 0]])


def uncertain() -> Any:
    options = {"iterations": 2, "loss_function": "RMSEWithUncertainty", **QUIET}
    return catboost.CatBoostRegressor(**options).fit([[0], [1]], [0.0, 1.0])


class Odd(catboost.CatBoostClassifier):
    """May answer something else."""


def joining() -> Any:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (2000, 2)), columns=["town", "job"])
    y = (X["town"] + X["job"]) % 2
    options = {"one_hot_max_size": 2, "max_ctr_complexity": 2}
    return fit(X, y, iterations=20, cat_features=["town", "job"], **options)


def joining_without_names() -> Any:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (2000, 2)).astype(str)
    y = (X[:, 0].astype(int) + X[:, 1].astype(int)) % 2
    options = {"one_hot_max_size": 2, "max_ctr_complexity": 2}
    return fit(X, y, iterations=20, cat_features=[0, 1], **options)


def several_labels() -> Any:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (50, 2))
    return fit(rng.normal(size=(50, 2)), y, iterations=2, loss_function="MultiLogloss")


def with_text() -> Any:
    X = pd.DataFrame({"t": ["good day", "bad night", "good night"] * 20, "x": 0.0})
    return fit(X, [0, 1, 1] * 20, iterations=2, text_features=["t"])


def replaced() -> Any:
    model = fit([[0.0], [1.0]] * 10, [0, 1] * 10, iterations=2)
    model.predict = lambda X: np.zeros(len(X))
    return model


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (ranker, "CatBoostRanker.*ranks"),
        (two_numbers, "MultiRMSE and has 2 outputs"),
        (uncertain, "RMSEWithUncertainty and has 2 outputs"),
        (catboost.CatBoostClassifier, "not fitted; call fit"),
        (lambda: Odd(iterations=2, **QUIET).fit([[0], [1]], [0, 1]), "Odd"),
        (joining, r"joins '(town|job)' and '(town|job)'.*max_ctr_complexity=1"),
        (joining_without_names, "joins column (0|1) and column (0|1)"),
        (several_labels, "MultiLogloss.*several labels"),
        (with_text, "reads texts"),
        (replaced, "predict of this CatBoostClassifier was replaced"),
    ],
)
def test_refusals_say_why(make: Any, said: str) -> None:
    with pytest.raises(UnsupportedModelError, match=said):
        fatt.load(make())


def test_a_number_for_missing_is_refused() -> None:
    with pytest.raises(SpecError, match="CatBoost"):
        fatt.load(KEPT[0], missing=0.0)


def test_a_newer_version_is_refused_unless_it_is_at_hand(monkeypatch: Any) -> None:
    def newer(content: Any) -> None:
        info = content["model_info"]
        told = info["catboost_version_info"]
        info["catboost_version_info"] = told.replace("v1.2.10", "v1.9.0")

    with pytest.raises(UnsupportedModelError, match=r"CatBoost 1\.9\.0.*Install"):
        read(json_with(newer), missing=None)
    monkeypatch.setattr(catboost, "__version__", "1.9.3")
    found = read(json_with(newer), missing=None).ensemble
    assert "CatBoost 1.9.0 is newer" in found.source.notes[0]


# Damaged files


def test_truncation_at_every_byte_is_refused() -> None:
    for path in KEPT:
        data = path.read_bytes()
        for end in range(5, len(data) - 1, 7):
            with pytest.raises(ModelError):
                read(data[:end], missing=None)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_files_are_read_or_refused(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(KEPT))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 4))
        if data.draw(st.booleans()):
            content[at] = data.draw(st.integers(0, 255))
        else:
            word = data.draw(st.sampled_from([0, 1, 2**16, 2**31, 2**32 - 1]))
            content[at // 4 * 4 : at // 4 * 4 + 4] = word.to_bytes(4, "little")
    try:
        ensemble = read(bytes(content), missing=None).ensemble
    except FattError:
        return
    ensemble.validate()


def test_what_catboost_dies_of_is_refused() -> None:
    """Each ends the process of CatBoost, or answers otherwise, when it is loaded."""
    path = MODELS / "catboost-1.2.10-depthwise-multi.cbm"
    file = cbm.parse(path.read_bytes())
    [border] = file.numbers[0].borders[:1].tolist()
    data = path.read_bytes()
    place = data.index(np.float32(border).tobytes())
    swapped = data[:place] + np.float32(9e9).tobytes() + data[place + 4 :]
    with pytest.raises(MalformedModelError, match="increase"):
        read(swapped, missing=None)
    with pytest.raises(MalformedModelError, match="bytes follow"):
        read(data + b"\0", missing=None)


def test_a_file_needs_no_catboost(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['catboost'] = None\n"
        "import numpy as np, fatt\n"
        "for path in sys.argv[1:]:\n"
        "    model = fatt.load(path)\n"
        "    assert len(model.classes) > 1\n"
        "    try:\n"
        "        model.live\n"
        "    except Exception as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *(str(p) for p in KEPT if p.suffix == ".cbm")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.splitlines()) == {"catboost is not installed"}


def test_categories_behind_fingerprints_get_no_words_from_outside() -> None:
    """With words for some, cells of the others were read as unknown."""
    rng = np.random.default_rng(0)
    X = people(rng, 100)
    model = fatt.load(fit(X, answers(rng, X, 2), cat_features=["town"], iterations=3))
    known = next(f for f in model.features if f.name == "town")
    assert isinstance(known, Categorical)
    with pytest.raises(SpecError, match="fingerprints only"):
        fatt.load(model, codes={"town": {known.categories[0]: "Home"}})


@pytest.mark.parametrize("package", ["sklearn.pipeline", "imblearn.pipeline"])
def test_several_classes_at_the_end_of_a_pipeline(package: str) -> None:
    """CatBoost answers them in a column, which scikit-learn hands on."""
    library = pytest.importorskip(package)
    rows = np.random.default_rng(0).normal(size=(90, 2))
    model = catboost.CatBoostClassifier(
        iterations=3, thread_count=1, verbose=0, allow_writing_files=False
    )
    own = library.Pipeline([("scaler", StandardScaler()), ("model", model)])
    own.fit(rows, (rows[:, 0] > 0) * 1 + (rows[:, 1] > 0))
    assert own.predict(rows).shape == (90, 1)
    report = fatt.verify(own, rows[:9], similarity=fatt.Similarity(noise=0.1))
    assert report.asked.people == 9
