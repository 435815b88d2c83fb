"""Fairness as a number, and as a scorer in scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Budget, Similarity
from fatt.metrics import fairness_scorer, individual_fairness_score
from fatt.verifier import Verifier

NOISE = Similarity(noise=0.2)


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    return X, (X.sum(axis=1) + rng.normal(size=90) > 0).astype(int)


def test_the_score_is_the_proved_share() -> None:
    X, y = data()
    forest = RandomForestClassifier(9, random_state=0).fit(X, y)
    report = fatt.verify(forest, X, similarity=NOISE)
    score = individual_fairness_score(forest, X, similarity=NOISE)
    assert type(score) is float
    assert score == report.fairness.lower == report.counts["fair"] / 90
    assert 0 < score < 1


def test_the_unknown_do_not_count_as_fair() -> None:
    X, y = data()
    forest = RandomForestClassifier(9, random_state=0).fit(X, y)
    score = individual_fairness_score(
        forest, X, similarity=NOISE, budget=Budget(nodes=0)
    )
    assert score <= individual_fairness_score(forest, X, similarity=NOISE)
    report = fatt.verify(forest, X, similarity=NOISE, budget=Budget(nodes=0))
    assert score == report.fairness.lower < report.fairness.upper


def test_weights() -> None:
    tree = DecisionTreeClassifier().fit([[20.0], [50.0]], [0, 1])
    scorer = fairness_scorer(Similarity(noise={"x0": 2}))
    people = [[25.0], [34.0]]
    assert scorer(tree, people) == 0.5
    assert scorer(tree, people, sample_weight=[3, 1]) == 0.75
    assert scorer(tree, people, [0, 0]) == 0.5


def test_a_scorer_is_a_value() -> None:
    scorer = fairness_scorer(NOISE, budget=Budget(nodes=9))
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)):
        assert copy == scorer
        assert copy.budget == Budget(nodes=9)
    assert "Similarity(noise=0.2)" in repr(scorer)
    assert scorer != fairness_scorer(NOISE)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_model_selection(n_jobs: int) -> None:
    X, y = data()
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 6]},
        scoring={"accuracy": "accuracy", "fairness": fairness_scorer(NOISE)},
        refit="fairness",
        cv=3,
        n_jobs=n_jobs,
        error_score="raise",
    ).fit(X, y)
    found = search.cv_results_["mean_test_fairness"]
    assert found[0] > found[1]
    assert search.best_params_ == {"max_depth": 1}


def test_the_only_scorer() -> None:
    X, y = data()
    tree = DecisionTreeClassifier(random_state=0)
    scores = cross_val_score(tree, X, y, scoring=fairness_scorer(NOISE), cv=3)
    assert scores.shape == (3,)
    assert np.all((scores > 0) & (scores < 1))


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weighted_by_hand(weights: Any) -> list[float]:
    X, y = data()
    scores = []
    for train, test in KFold(3).split(X):
        tree = DecisionTreeClassifier(random_state=0).fit(X[train], y[train])
        chosen = None if weights is None else weights[test]
        scores.append(
            individual_fairness_score(
                tree, X[test], similarity=NOISE, sample_weight=chosen
            )
        )
    return scores


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("request_", "name", "weighted"),
    [(True, "sample_weight", True), ("w", "w", True), (False, "sample_weight", False)],
)
def test_weights_are_routed(request_: Any, name: str, weighted: bool) -> None:
    X, y = data()
    weights = np.random.default_rng(1).integers(1, 9, size=90).astype(float)
    expected = weighted_by_hand(weights if weighted else None)
    assert expected != weighted_by_hand(None if weighted else weights)
    scorer = fairness_scorer(NOISE)
    assert scorer.set_score_request(sample_weight=request_) is scorer
    tree = DecisionTreeClassifier(random_state=0).set_fit_request(sample_weight=False)
    # Somebody has to want the weights, else passing them is an error.
    accuracy = get_scorer("accuracy").set_score_request(sample_weight=name)
    scoring = {"fairness": scorer, "accuracy": accuracy}
    found = cross_validate(
        tree, X, y, scoring=scoring, cv=KFold(3), params={name: weights}
    )
    assert found["test_fairness"].tolist() == expected
    search = GridSearchCV(
        tree, {"max_depth": [None]}, scoring=scoring, cv=KFold(3), refit=False
    ).fit(X, y, **{name: weights})
    splits = [search.cv_results_[f"split{i}_test_fairness"][0] for i in range(3)]
    assert splits == expected
    if weighted:
        alone = cross_validate(
            tree, X, y, scoring=scorer, cv=KFold(3), params={name: weights}
        )
        assert alone["test_score"].tolist() == expected


@pytest.mark.usefixtures("routing")
def test_weights_that_nobody_asked_for_are_an_error() -> None:
    X, y = data()
    tree = DecisionTreeClassifier().set_fit_request(sample_weight=False)
    for scorer in (
        fairness_scorer(NOISE),
        fairness_scorer(NOISE)
        .set_score_request(sample_weight=True)
        .set_score_request(sample_weight=None),
    ):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(
                tree, X, y, scoring=scorer, params={"sample_weight": np.ones(90)}
            )
    with pytest.raises(ValueError, match="no name"):
        fairness_scorer(NOISE).set_score_request(sample_weight="no name")


@pytest.mark.usefixtures("routing")
def test_a_request_is_kept_in_copies() -> None:
    scorer = fairness_scorer(NOISE).set_score_request(sample_weight="w")
    search = clone(GridSearchCV(DecisionTreeClassifier(), {}, scoring=scorer))
    copies = [pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)]
    for copy in [*copies, search.scoring]:
        assert copy == scorer
        assert hash(copy) == hash(scorer)
        assert copy.get_metadata_routing().score.requests == {"sample_weight": "w"}
    assert scorer != fairness_scorer(NOISE)
    # A copy's request is its own.
    copies[0].set_score_request(sample_weight=False)
    assert scorer.weight_request == "w"


def test_without_routing_there_is_no_request() -> None:
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        fairness_scorer(NOISE).set_score_request(sample_weight=True)


@pytest.mark.parametrize("several", [False, True])
def test_weights_without_routing(several: bool) -> None:
    """Newer versions of scikit-learn hand weights to scorers that take them."""
    X, y = data()
    weights = np.random.default_rng(1).integers(1, 9, size=90).astype(float)
    scorer = fairness_scorer(NOISE)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [None]},
        scoring={"fairness": scorer, "accuracy": "accuracy"} if several else scorer,
        refit="fairness" if several else True,
        cv=KFold(3),
        error_score="raise",
    ).fit(X, y, sample_weight=weights)
    name = "fairness" if several else "score"
    for i, (train, test) in enumerate(KFold(3).split(X)):
        tree = DecisionTreeClassifier(random_state=0)
        tree.fit(X[train], y[train], sample_weight=weights[train])
        scores = {
            individual_fairness_score(
                tree, X[test], similarity=NOISE, sample_weight=given
            )
            for given in (None, weights[test])
        }
        assert search.cv_results_[f"split{i}_test_{name}"][0] in scores


def test_an_interrupted_score_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    X, y = data()
    tree = DecisionTreeClassifier().fit(X, y)
    monkeypatch.setattr(Verifier, "verify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        individual_fairness_score(tree, X, similarity=NOISE)
