from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import tree as sklearn_tree
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.errors import UnsupportedModelError
from fatt.export import to_sklearn
from tests.export.forests import one_tree, random_forest, stump
from tests.probes import probe_rows, same_bits

N_ROWS = 500


def people(ensemble: Ensemble, seed: int) -> pd.DataFrame:
    """Draw rows that scikit-learn takes, rounded to what it compares."""
    rows = probe_rows(ensemble, np.random.default_rng(seed), N_ROWS)
    with np.errstate(over="ignore"):
        rounded = rows.astype(np.float32).astype(np.float64)
    names = [feature.name for feature in ensemble.features]
    return pd.DataFrame(rounded[~np.isinf(rounded).any(axis=1)], columns=names)


@pytest.mark.parametrize("seed", range(25))
def test_random_trees_answer_the_same(seed: int) -> None:
    ensemble = random_forest(seed, categories=False)
    model = to_sklearn(ensemble)
    rows = people(ensemble, seed)
    assert len(rows) > N_ROWS / 20
    # scikit-learn adds up a whole table to find out whether all of it is finite.
    with np.errstate(over="ignore", invalid="ignore"):
        shares, labels = model.predict_proba(rows), model.predict(rows)
    assert same_bits(shares, ensemble.raw_scores(rows))
    assert labels.tolist() == ensemble.predict(rows).tolist()
    # Read back, it computes the same function.
    again = fatt.load(model).ensemble
    assert same_bits(again.raw_scores(rows), shares)
    assert again.classes == ensemble.classes


@pytest.mark.parametrize(
    "given",
    [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(7, max_depth=4, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_scikit_learn_come_back_the_same(given: Any) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    given.fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
    model = to_sklearn(given)
    assert type(model) is type(given)
    ensemble = fatt.load(given).ensemble
    assert fatt.load(model).ensemble == ensemble
    rows = probe_rows(ensemble, np.random.default_rng(0), N_ROWS)
    frame = pd.DataFrame(rows, columns=X.columns)
    assert same_bits(model.predict_proba(frame), given.predict_proba(frame))
    assert (model.predict(frame) == given.predict(frame)).all()
    assert model.feature_names_in_.tolist() == X.columns.tolist()


def test_the_structure_is_scikit_learns_own() -> None:
    ensemble = one_tree(random_forest(3, categories=False))
    model = to_sklearn(ensemble)
    assert model.get_n_leaves() == ensemble.trees.n_leaves
    assert model.get_depth() == ensemble.trees.depths()[0]
    names = [feature.name for feature in ensemble.features]
    text = sklearn_tree.export_text(model, feature_names=names)
    assert text.count("class: ") == ensemble.trees.n_leaves
    rows = people(ensemble, 3)
    leaves = model.apply(rows)
    nodes = ensemble.trees.nodes
    assert (nodes["feature"][leaves] == -1).all()
    assert same_bits(
        ensemble.trees.values[nodes["leaf"][leaves]], ensemble.raw_scores(rows)
    )


def test_it_survives_pickle() -> None:
    model = to_sklearn(stump(Numeric(name="age"), 30.0))
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(pd.DataFrame({"age": [30.0, 31.0]})).tolist() == [
        "deny",
        "approve",
    ]


def test_labels_of_several_kinds_stay_what_they_are() -> None:
    tree = DecisionTreeClassifier().fit([[1.0], [2.0]], np.array(["a", "b"], object))
    assert to_sklearn(tree).predict([[1.0]]).tolist() == ["a"]


def test_categories_are_refused_by_name() -> None:
    race = Categorical(name="race", categories=("Black", "White"))
    ensemble = stump(race, [True, False, False])
    with pytest.raises(UnsupportedModelError, match=r"'race' holds categor.*one-hot"):
        to_sklearn(ensemble)


def test_sets_of_ranges_are_refused_by_name() -> None:
    X = np.arange(40.0)[:, np.newaxis]
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    y = np.arange(40) // 10 % 2
    model = make_pipeline(bins, DecisionTreeClassifier(random_state=0)).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="'x0' is split by sets"):
        to_sklearn(model)
