"""`FATTClassifier` among scikit-learn's tools."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fatt
from fatt import FATTClassifier, Similarity
from fatt.errors import SpecError, UnsupportedModelError
from fatt.export import to_sklearn
from fatt.metrics import fairness_scorer
from tests.train import town

NOISE = Similarity(noise=0.1)
X_MIXED, Y_MIXED = town.mixed()
X_PLAIN, Y_PLAIN = town.plain()


def quick(similarity: Any = NOISE, **parameters: Any) -> FATTClassifier:
    parameters = {"max_iter": 3, "random_state": 0} | parameters
    return FATTClassifier(similarity, **parameters)


# scikit-learn casts labels that are no numbers to integers to tell that they are not;
# and with weights of 1000 to 0.0001 for the classes, one label for all is the best.
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:the tree gives every person the same label")
@parametrize_with_checks([quick()])
def test_scikit_learn_finds_nothing_wrong(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("algorithm", ["descent", "paper"])
def test_the_result_does_not_depend_on_the_number_of_threads(algorithm: str) -> None:
    X, y = town.mixed(600)
    one, two, again = (
        quick(town.SIMILARITY, algorithm=algorithm, max_iter=None, n_jobs=n_jobs).fit(
            X, y
        )
        for n_jobs in (1, 2, 3)
    )
    assert one.ensemble_.digest == two.ensemble_.digest == again.ensemble_.digest
    assert one.front_.to_dict() == two.front_.to_dict() == again.front_.to_dict()
    assert one.n_iter_ == two.n_iter_ == again.n_iter_
    other = quick(town.SIMILARITY, algorithm=algorithm, random_state=1).fit(X, y)
    assert other.front_.to_dict() != one.front_.to_dict()


def test_many_people_are_looked_at_in_two_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("training", "search"):
        monkeypatch.setattr(f"fatt.train.{module}.MOST_PEOPLE", 500)
    monkeypatch.setattr("fatt.train.search._SAMPLE", 200)
    X, y = town.mixed(600)
    one, two = (quick(town.SIMILARITY, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert one.front_.to_dict() == two.front_.to_dict()
    assert one.balanced_accuracy_ > 0.75
    leaves = one.apply(X)
    assert np.bincount(leaves)[np.unique(leaves)].min() >= 5
    report = fatt.verify(one, X, similarity=town.SIMILARITY, schema=one.schema_)
    assert report.fairness.lower == one.fairness_


def test_the_global_random_state_can_be_used() -> None:
    fitted = [
        quick(random_state=np.random.RandomState(5)).fit(X_PLAIN, Y_PLAIN)
        for _ in range(2)
    ]
    assert fitted[0].ensemble_.digest == fitted[1].ensemble_.digest


def test_clone_and_pickle() -> None:
    tree = quick(town.SIMILARITY, fairness_weight=0.3).fit(X_MIXED, Y_MIXED)
    assert not hasattr(clone(tree), "ensemble_")
    assert clone(tree).fairness_weight == 0.3
    assert clone(tree).similarity == town.SIMILARITY
    copy = pickle.loads(pickle.dumps(tree))
    assert np.array_equal(copy.predict(X_MIXED), tree.predict(X_MIXED))
    assert copy.front_.to_dict() == tree.front_.to_dict()


def test_in_a_pipeline() -> None:
    pipeline = make_pipeline(StandardScaler(), quick()).fit(X_PLAIN, Y_PLAIN)
    assert pipeline.score(X_PLAIN, Y_PLAIN) > 0.6
    # Verified in the columns before the scaler, like any other model.
    report = fatt.verify(pipeline, X_PLAIN, similarity=Similarity(noise={"x0": 0.1}))
    assert report.counts["unknown"] == 0


def test_in_a_grid_search() -> None:
    search = GridSearchCV(
        quick(town.SIMILARITY),
        {"fairness_weight": [0.1, 0.6], "max_leaves": [3, 10]},
        scoring={
            "right": "balanced_accuracy",
            "fair": fairness_scorer(town.SIMILARITY),
        },
        refit="fair",
        cv=3,
    ).fit(X_MIXED, Y_MIXED)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.get_n_leaves() <= search.best_params_["max_leaves"]


def test_in_calibration_and_bagging() -> None:
    calibrated = CalibratedClassifierCV(quick(town.SIMILARITY), cv=2)
    shares = calibrated.fit(X_MIXED, Y_MIXED).predict_proba(X_MIXED)
    assert shares.shape == (len(X_MIXED), 2)
    assert np.allclose(shares.sum(axis=1), 1)
    bagged = BaggingClassifier(quick(), 3, random_state=0).fit(X_PLAIN, Y_PLAIN)
    assert bagged.score(X_PLAIN, Y_PLAIN) > 0.6


def test_what_trees_tell_about_themselves() -> None:
    tree = quick(town.SIMILARITY, max_leaves=6, max_depth=3).fit(X_MIXED, Y_MIXED)
    assert 2 <= tree.get_n_leaves() <= 6
    assert 1 <= tree.get_depth() <= 3
    assert set(tree.classes_) == {"late", "paid"}
    leaves = tree.apply(X_MIXED)
    assert len(np.unique(leaves)) == tree.get_n_leaves()
    assert (np.bincount(leaves)[np.unique(leaves)] >= 5).all()
    assert tree.hints_.max_depth == tree.get_depth()
    assert tree.hints_.min_samples_leaf == np.bincount(leaves)[np.unique(leaves)].min()
    shares = tree.predict_proba(X_MIXED)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.array_equal(tree.classes_[shares.argmax(axis=1)], tree.predict(X_MIXED))
    for leaf in np.unique(leaves):
        assert len(np.unique(shares[leaves == leaf], axis=0)) == 1


def test_a_tree_of_numbers_tells_what_scikit_learn_s_tree_tells() -> None:
    tree = quick(balance=0.0).fit(X_PLAIN, Y_PLAIN)
    twin = to_sklearn(tree)
    assert tree.n_classes_ == twin.n_classes_ == 2
    assert np.array_equal(tree.decision_path(X_PLAIN).toarray(), _paths(tree))
    passed = tree.decision_path(X_PLAIN)
    assert passed.sum() == twin.decision_path(np.float32(X_PLAIN)).sum()
    log = tree.predict_log_proba(X_PLAIN)
    assert np.allclose(np.exp(log), tree.predict_proba(X_PLAIN))
    # Importances, from the people at each node.
    nodes, counts = tree.ensemble_.trees.nodes, passed.sum(axis=0).A1
    positive = passed[Y_PLAIN == 1].sum(axis=0).A1
    mixed = 2 * positive * (counts - positive) / np.maximum(counts, 1)
    gains = np.zeros(X_PLAIN.shape[1])
    for place, node in enumerate(nodes):
        if node["feature"] >= 0:
            below = mixed[node["left"]] + mixed[node["right"]]
            gains[node["feature"]] += mixed[place] - below
    assert np.allclose(tree.feature_importances_, gains / gains.sum())
    assert tree.feature_importances_.sum() == pytest.approx(1)


def _paths(tree: FATTClassifier) -> Any:
    """Return who passes which node, one step after the other."""
    nodes = tree.ensemble_.trees.nodes
    found = np.zeros((len(X_PLAIN), len(nodes)), dtype=np.int64)
    for person, row in enumerate(X_PLAIN):
        place = 0
        while True:
            found[person, place] = 1
            node = nodes[place]
            if node["feature"] < 0:
                break
            left = row[node["feature"]] <= node["threshold"]
            place = int(node["left"] if left else node["right"])
    return found


def test_a_one_hot_step_with_names_stands_before_the_tree() -> None:
    encoder = OneHotEncoder(sparse_output=False)
    step = make_column_transformer(
        (encoder, ["sex"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    people = X_MIXED.drop(columns="job")
    similarity = Similarity(noise={"age": 2}, vary=["sex"])
    pipeline = make_pipeline(step, quick(similarity)).fit(people, Y_MIXED)
    tree = pipeline[-1]
    assert list(tree.feature_names_in_) == ["sex_F", "sex_M", "age", "income"]
    assert "sex" in [variable.name for variable in tree.schema_.variables]
    # The same person by person, in the columns before and behind the encoder.
    report = fatt.verify(pipeline, people, similarity=similarity)
    assert report.fairness.lower == tree.fairness_
    with pytest.raises(SpecError, match="a training finds 'sex' by itself"):
        make_pipeline(step, quick(Similarity(vary=["sex_F"]))).fit(people, Y_MIXED)
    yearly = people.assign(pay_1=people["age"], pay_2=people["age"] * 2.0)
    with pytest.raises(SpecError, match="vary names 'pay', which is no variable"):
        quick(Similarity(vary=["pay"])).fit(yearly, Y_MIXED)


def test_a_step_that_loses_the_names_is_explained() -> None:
    encoder = OneHotEncoder(sparse_output=False)
    step = make_column_transformer((encoder, ["sex"]), remainder="drop")
    with pytest.raises(SpecError, match=r"'sex', and the table has no names.*set_out"):
        make_pipeline(step, quick(Similarity(vary=["sex"]))).fit(X_MIXED, Y_MIXED)


def test_loading() -> None:
    tree = quick(town.SIMILARITY)
    with pytest.raises(UnsupportedModelError, match="is not fitted; call fit"):
        fatt.load(tree)
    loaded = fatt.load(tree.fit(X_MIXED, Y_MIXED)).ensemble
    assert loaded.source.model == "FATTClassifier"
    assert np.array_equal(loaded.predict(X_MIXED), tree.predict(X_MIXED))
    with pytest.raises(UnsupportedModelError, match="Similarity"):
        fatt.load(town.SIMILARITY)
