from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble, Label, Numeric
from fatt.errors import MissingDependencyError, UnsupportedModelError
from fatt.export import to_onnx
from tests.export.forests import random_forest, stump
from tests.probes import probe_rows, same_bits

pytestmark = pytest.mark.onnx
onnxruntime = pytest.importorskip("onnxruntime")

N_ROWS = 500


def run(model: Any, table: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the labels and the probabilities that onnxruntime answers."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    label, probabilities = (output.name for output in session.get_outputs())
    return list(session.run([label, probabilities], table))


def table_of(ensemble: Ensemble, rows: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return rows of numbers and codes as the inputs of the exported model."""
    table: dict[str, NDArray[Any]] = {}
    for feature, cells in zip(ensemble.features, rows.T, strict=True):
        column: NDArray[Any] = cells
        if isinstance(feature, Categorical):
            is_text = isinstance(feature.categories[0], str)
            unknown: Label = "never seen" if is_text else -1
            known = (*feature.categories, unknown)
            column = np.array([known[code] for code in cells.astype(int).tolist()])
        table[feature.name] = column[:, np.newaxis]
    return table


def askable(ensemble: Ensemble, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave out missing categories, about which one cannot ask in ONNX."""
    columns = [isinstance(feature, Categorical) for feature in ensemble.features]
    return rows[~np.isnan(rows[:, columns]).any(axis=1)]


@pytest.mark.parametrize("seed", range(25))
def test_onnxruntime_answers_the_same_bit_for_bit(seed: int) -> None:
    ensemble = random_forest(seed, categories=True)
    rows = probe_rows(ensemble, np.random.default_rng(seed), N_ROWS)
    rows = askable(ensemble, rows)
    model = to_onnx(ensemble)
    labels, shares = run(model, table_of(ensemble, rows))
    scores = ensemble._scores(rows)
    assert same_bits(shares, scores)
    expected = [ensemble.classes[place] for place in ensemble.decide(rows)]
    assert labels.tolist() == expected


@pytest.mark.parametrize("seed", range(25))
def test_what_is_loaded_again_agrees(seed: int) -> None:
    ensemble = random_forest(seed, categories=True)
    rows = probe_rows(ensemble, np.random.default_rng(seed), N_ROWS)
    rows = askable(ensemble, rows)
    again = fatt.load(to_onnx(ensemble)).ensemble
    assert [f.name for f in again.features] == [f.name for f in ensemble.features]
    table = table_of(ensemble, rows)
    columns = [column[:, 0].tolist() for column in table.values()]
    people = np.array(list(zip(*columns, strict=True)), dtype=object)
    expected = [ensemble.classes[place] for place in ensemble.decide(rows)]
    assert again.predict(people).tolist() == expected


@pytest.mark.parametrize(
    "given",
    [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(7, max_depth=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_scikit_learn_at_all_their_thresholds(given: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    given.fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
    ensemble = fatt.load(given).ensemble
    rows = probe_rows(ensemble, np.random.default_rng(0), 2 * N_ROWS)
    labels, shares = run(to_onnx(given), table_of(ensemble, rows))
    assert same_bits(shares, given.predict_proba(rows))
    assert (labels == given.predict(rows)).all()


def test_a_column_may_have_the_name_of_an_output() -> None:
    for name in ("label", "probabilities", "Concat 0", "constant 0"):
        model = to_onnx(stump(Numeric(name=name), 30.0))
        labels, _ = run(model, {name: np.array([[30.0], [31.0]])})
        assert labels.tolist() == ["deny", "approve"]
        assert fatt.load(model).predict([[30.0], [31.0]]).tolist() == labels.tolist()


def test_whole_numbers_are_labels() -> None:
    ensemble = replace(stump(Numeric(name="age"), 30.0), classes=(1.0, 2.0))
    labels, _ = run(to_onnx(ensemble), {"age": np.array([[30.0], [31.0]])})
    assert labels.dtype == np.int64
    assert labels.tolist() == [1, 2]


@pytest.mark.parametrize("classes", [(0.5, 1.5), (0.0, math.inf), ("a", 1)])
def test_other_labels_are_refused(classes: tuple[Label, ...]) -> None:
    ensemble = replace(stump(Numeric(name="age"), 30.0), classes=classes)
    with pytest.raises(UnsupportedModelError, match="its classes are"):
        to_onnx(ensemble)


@pytest.mark.parametrize(
    "race",
    [
        Categorical(name="race", categories=("Black", 1)),
        Categorical(name="race", categories=(0.5, 1.5)),
        Categorical(name="race", categories=(0, 1), coding="floor"),
    ],
)
def test_other_categories_are_refused_by_name(race: Categorical) -> None:
    with pytest.raises(UnsupportedModelError, match="of column 'race' are"):
        to_onnx(stump(race, [True, False, False]))


def test_numbers_that_are_read_as_missing_are_refused_by_name() -> None:
    age = Numeric(name="age", missing_range=(-1.0, -1.0))
    with pytest.raises(UnsupportedModelError, match="'age' is split by sets"):
        to_onnx(stump(age, 30.0))


def test_margins_are_refused() -> None:
    model = GradientBoostingClassifier(n_estimators=2).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(UnsupportedModelError, match="cannot make an ONNX model"):
        to_onnx(model)


def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = stump(Numeric(name="age"), 30.0)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"fatt\[onnx\]"):
        to_onnx(ensemble)
