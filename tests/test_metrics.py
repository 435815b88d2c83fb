"""Fairness as a number, and as a scorer in scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
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


def test_an_interrupted_score_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    X, y = data()
    tree = DecisionTreeClassifier().fit(X, y)
    monkeypatch.setattr(Verifier, "verify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        individual_fairness_score(tree, X, similarity=NOISE)
