"""The laws on real models of all libraries, twins replayed on the library itself.

``FATT_EFFORT=100 pytest tests/laws/test_real_models.py`` tries a hundred times harder.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fatt
from fatt.ensemble import Categorical, Ensemble
from fatt.ensemble.scoring import Cut, Prediction
from fatt.verifier import Verifier
from tests.cases import Case, random_boxes, random_people
from tests.laws.effort import EFFORT
from tests.laws.judge import UNFAIR, assert_right, truths_of

KEPT = Path(__file__).parent.parent / "data" / "models"
FILES = sorted(path.name for path in KEPT.iterdir() if path.suffix != ".npz")


def draw(ensemble: Ensemble, name: str, n_people: int) -> Case:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    people = random_people(ensemble, rng, n_people)
    return Case(ensemble, people, random_boxes(ensemble, people, rng, most_points=2000))


def low_or_high(ensemble: Ensemble, name: str) -> Ensemble:
    """Cut a prediction at a score that occurs, so that it has two labels."""
    people = draw(ensemble, name, 99).people
    middle = float(np.median(ensemble.score_bounds(people).lower))
    return replace(ensemble, classes=("low", "high"), decision=Cut(at=middle))


@pytest.mark.parametrize("name", FILES)
def test_verdicts_on_kept_files_equal_brute_force(name: str) -> None:
    ensemble = fatt.load(KEPT / name, allow_pickle=name.endswith(".pkl")).ensemble
    if isinstance(ensemble.decision, Prediction):
        ensemble = low_or_high(ensemble, name)
    case = draw(ensemble, name, 10 * EFFORT)
    outcomes = Verifier(case.ensemble).verify(case.people, case.boxes, n_jobs=1)
    assert_right(case, outcomes, truths_of(case))


class Real(NamedTuple):
    """A fitted model and the function that gives its labels for an array."""

    model: Any
    predict: Callable[[Any], Any]


def table(n_classes: int, *, gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Few rows of few values, so that leaves are shares of few people and tie."""
    rng = np.random.default_rng(n_classes)
    X = np.round(rng.normal(size=(60, 4)), 1)
    X[:, 3] = rng.integers(0, 7, size=60)
    y = (X[:, 0] + X[:, 1] > 0) + (n_classes - 2) * (X[:, 3] % 3 == 0)
    y = np.where(rng.random(60) < 0.2, rng.integers(0, n_classes, 60), y)
    if gaps:
        X[rng.random(60) < 0.2, 1] = np.nan
    return X, y.astype(int)


def _sklearn(kind: str, n_classes: int, **options: Any) -> Real:
    import sklearn.ensemble
    import sklearn.tree

    X, y = table(n_classes)
    module = sklearn.tree if kind == "DecisionTreeClassifier" else sklearn.ensemble
    model = getattr(module, kind)(random_state=0, **options).fit(X, y)
    return Real(model, model.predict)


def _xgboost(n_classes: int, **options: Any) -> Real:
    import xgboost

    X, y = table(n_classes, gaps=True)
    settings = {"n_estimators": 6, "max_depth": 3, "learning_rate": 0.5, "n_jobs": 1}
    model = xgboost.XGBClassifier(**settings | options).fit(X, y)
    return Real(model, model.predict)


def _lightgbm(n_classes: int, **options: Any) -> Real:
    import lightgbm

    X, y = table(n_classes, gaps=True)
    settings = {"n_estimators": 6, "num_leaves": 6, "min_child_samples": 2}
    quiet = {"verbose": -1, "n_jobs": 1, "min_data_per_group": 1, "cat_smooth": 0.0}
    columns = [3] if options.pop("categories", False) else "auto"
    model = lightgbm.LGBMClassifier(**settings | quiet | options)
    model.fit(X, y, categorical_feature=columns)
    # The wrapper warns about arrays without names; the booster does not.
    booster = model.booster_

    def predict(rows: Any) -> Any:
        found = booster.predict(rows)
        return found.argmax(axis=1) if found.ndim == 2 else (found > 0.5).astype(int)

    return Real(model, predict)


def _catboost(n_classes: int, **options: Any) -> Real:
    catboost = pytest.importorskip("catboost")
    X, y = table(n_classes, gaps=True)
    rows: Any = X
    settings = {"iterations": 6, "depth": 3, "learning_rate": 0.5, "verbose": 0}
    settings |= {"allow_writing_files": False, "thread_count": 1}
    if "one_hot_max_size" in options:
        # Whole numbers as categories, beside numbers.
        settings |= {"cat_features": [3], "max_ctr_complexity": 1}
        rows = in_objects(X)
    model = catboost.CatBoostClassifier(**settings | options).fit(rows, y)

    def predict(rows: Any) -> Any:
        given = in_objects(rows) if "cat_features" in settings else rows
        return np.ravel(model.predict(given))

    return Real(model, predict)


def in_objects(rows: np.ndarray) -> np.ndarray:
    """The last column as whole numbers, which floats are not."""
    given = rows.astype(object)
    given[:, 3] = [int(cell) for cell in rows[:, 3]]
    return given


def _onnx(n_classes: int, **options: Any) -> Real:
    import onnxruntime
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.ensemble import RandomForestClassifier

    X, y = table(n_classes)
    forest = RandomForestClassifier(5, random_state=0, **options).fit(X, y)
    shape = [("rows", FloatTensorType([None, X.shape[1]]))]
    graph = skl2onnx.convert_sklearn(forest, initial_types=shape)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )

    def predict(rows: Any) -> Any:
        with np.errstate(over="ignore"):
            return session.run(None, {"rows": rows.astype(np.float32)})[0]

    return Real(graph, predict)


FOREST = {"n_estimators": 8, "n_jobs": 1}
SOME = {"max_iter": 6, "min_samples_leaf": 2}
CODES = {"feature_types": ["q", "q", "q", "c"], "enable_categorical": True}
BUILDERS: dict[str, Callable[[], Real]] = {
    "tree": lambda: _sklearn("DecisionTreeClassifier", 2),
    "tree3": lambda: _sklearn("DecisionTreeClassifier", 3, max_depth=4),
    "forest": lambda: _sklearn("RandomForestClassifier", 2, **FOREST),
    "forest3": lambda: _sklearn("RandomForestClassifier", 3, max_depth=3, **FOREST),
    "odd forest": lambda: _sklearn("ExtraTreesClassifier", 2, n_estimators=7),
    "boosting": lambda: _sklearn("GradientBoostingClassifier", 2, n_estimators=5),
    "boosting3": lambda: _sklearn("GradientBoostingClassifier", 3, n_estimators=3),
    "histograms": lambda: _sklearn(
        "HistGradientBoostingClassifier", 2, categorical_features=[3], **SOME
    ),
    "histograms3": lambda: _sklearn(
        "HistGradientBoostingClassifier", 3, categorical_features=[3], **SOME
    ),
    "xgboost": lambda: _xgboost(2),
    "xgboost3": lambda: _xgboost(3),
    "xgboost codes": lambda: _xgboost(2, max_cat_to_onehot=1, **CODES),
    "lightgbm": lambda: _lightgbm(2),
    "lightgbm codes": lambda: _lightgbm(2, categories=True),
    "lightgbm3": lambda: _lightgbm(3, categories=True),
    "lightgbm ova": lambda: _lightgbm(3, objective="multiclassova"),
    "catboost": lambda: _catboost(2),
    "catboost3": lambda: _catboost(3, grow_policy="Depthwise"),
    "catboost codes": lambda: _catboost(2, one_hot_max_size=10),
    "catboost statistics": lambda: _catboost(3, one_hot_max_size=2),
    "onnx": lambda: _onnx(2),
    "onnx3": lambda: _onnx(3, max_depth=4),
}


@functools.cache
def build(name: str) -> tuple[Real, Ensemble]:
    real = BUILDERS[name]()
    return real, fatt.load(real.model).ensemble


def as_given(ensemble: Ensemble, rows: np.ndarray) -> np.ndarray:
    """Turn codes back into the numbers that the library reads."""
    rows = rows.copy()
    for index, feature in enumerate(ensemble.features):
        if isinstance(feature, Categorical):
            unseen = 1.0 + max(float(category) for category in feature.categories)
            numbers = np.array([*map(float, feature.categories), unseen])
            known = ~np.isnan(rows[:, index])
            rows[known, index] = numbers[rows[known, index].astype(int)]
    return rows


@pytest.mark.parametrize("name", BUILDERS)
def test_twins_get_another_label_from_the_library(name: str) -> None:
    real, ensemble = build(name)
    case = draw(ensemble, name, 25 * EFFORT)
    outcomes = Verifier(ensemble).verify(case.people, case.boxes, n_jobs=1)
    assert_right(case, outcomes, truths_of(case))
    unfair = outcomes.verdict == UNFAIR
    assert unfair.any(), "no twin was tried"
    own = real.predict(as_given(ensemble, case.people[unfair]))
    twin = real.predict(as_given(ensemble, outcomes.twins.everybody()))
    assert (np.asarray(own) != np.asarray(twin)).all()
