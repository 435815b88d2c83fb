"""Several trees, where they beat a single one."""

from __future__ import annotations

import numpy as np
import pytest

import fatt
from fatt import FATTClassifier, Similarity
from tests.train import town

NOISE = Similarity(noise=0.05)


def test_a_vote_is_learnt_by_several_small_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X > 0).sum(axis=1) > 2
    given = {"max_leaves": 4, "max_iter": 3, "random_state": 0}
    alone = FATTClassifier(NOISE, **given).fit(X, y)
    together = FATTClassifier(NOISE, n_trees=7, **given).fit(X, y)
    n_trees = len(together.ensemble_.trees.roots)
    assert 2 <= n_trees <= 7
    assert together.front_.select().fitness > alone.front_.select().fitness
    assert together.accuracy_ > alone.accuracy_ + 0.05
    assert together.accuracy_ == together.score(X, y)
    report = fatt.verify(together, X, similarity=NOISE)
    assert report.fairness == (together.fairness_, together.fairness_)
    assert together.apply(X).shape == (600, n_trees)
    assert np.allclose(together.predict_proba(X).sum(axis=1), 1)
    # All of them together serve as a start for the next training.
    again = FATTClassifier(NOISE, n_trees=7, warm_start=True, **given).fit(X, y)
    assert again.fit(X, y).accuracy_ >= alone.accuracy_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_tree_stays_alone_if_others_do_not_help(n_jobs: int) -> None:
    X, y = town.mixed()
    tree = FATTClassifier(
        town.SIMILARITY, n_trees=3, n_jobs=n_jobs, max_iter=3, random_state=0
    ).fit(X, y)
    alone = FATTClassifier(town.SIMILARITY, max_iter=3, random_state=0).fit(X, y)
    assert tree.front_.select().fitness >= alone.front_.select().fitness
