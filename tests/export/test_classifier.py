"""The exports of a tree that `FATTClassifier` made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fatt
from fatt.errors import UnsupportedModelError
from fatt.export import export_text, plot_tree, to_onnx, to_sklearn

N_PEOPLE = 200


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    race = np.array(["Asian", "Black", "White"])[rng.integers(3, size=N_PEOPLE)]
    table = pd.DataFrame(
        {
            "race": race,
            "income": rng.normal(size=N_PEOPLE).round(1),
            "age": rng.integers(18, 70, size=N_PEOPLE).astype(float),
        }
    )
    merit = table["income"] + (table["age"] - 40) / 20 + (race == "White") * 0.7
    return table, np.array(["deny", "grant"])[(merit > 0).astype(int)]


def fit(table: pd.DataFrame, label: Any) -> Any:
    similarity = fatt.Similarity(noise={"age": 1})
    # The fairness counts for little, so that the tree has some splits.
    classifier = fatt.FATTClassifier(
        similarity=similarity, fairness_weight=0.01, random_state=0
    )
    return classifier.fit(table, label)


def test_a_tree_with_categories(people: tuple[pd.DataFrame, Any]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    import matplotlib as mpl

    mpl.use("Agg")
    table, label = people
    classifier = fit(table, label)
    n_leaves = classifier.get_n_leaves()
    assert n_leaves > 2
    text = export_text(classifier)
    assert text == export_text(fatt.load(classifier))
    assert text.count(" → ") == n_leaves
    nodes = [t for t in plot_tree(classifier).texts if t.get_bbox_patch()]
    assert len(nodes) == 2 * n_leaves - 1
    model = to_onnx(classifier)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    rows = {name: table[[name]].to_numpy() for name in table.columns}
    labels, shares = session.run(None, rows)
    assert (labels == classifier.predict(table)).all()
    assert (shares == classifier.predict_proba(table)).all()
    assert (fatt.load(model).predict(table) == labels).all()


def test_a_tree_of_numbers_in_scikit_learn(people: tuple[pd.DataFrame, Any]) -> None:
    table, label = people
    plain = pd.get_dummies(table, prefix_sep="=", dtype=float)
    classifier = fit(plain, label)
    model = to_sklearn(classifier)
    assert model.get_n_leaves() == classifier.get_n_leaves()
    assert (model.predict(plain) == classifier.predict(plain)).all()
    assert (model.predict_proba(plain) == classifier.predict_proba(plain)).all()


def test_categories_are_refused_by_scikit_learn(
    people: tuple[pd.DataFrame, Any],
) -> None:
    with pytest.raises(UnsupportedModelError, match="'race' holds categories"):
        to_sklearn(fit(*people))
