"""The paper's forests, trained again, vote as the paper's tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score

import fatt

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "paper" / "artifact"

# Trees, depth, leaves, accuracy and balanced accuracy of tables 2 to 4.
FORESTS = {
    "adult": (5, 10, 1427, 82.76, 70.29),
    "german": (50, 10, 5743, 76.50, 63.62),
}


@pytest.mark.skipif(not DATA.exists(), reason="the paper's data are not here")
@pytest.mark.parametrize("name", FORESTS)
def test_hard_votes_reproduce_the_paper(name: str) -> None:
    n_trees, depth, n_leaves, accuracy, balanced = FORESTS[name]
    with np.load(DATA / f"{name}.npz") as file:
        data = dict(file)
    forest = RandomForestClassifier(n_trees, max_depth=depth, random_state=0)
    forest.fit(data["X_train"], data["y_train"])
    ensemble = fatt.load(forest).ensemble
    assert ensemble.trees.n_leaves == n_leaves
    votes = ensemble.hard_votes().predict(data["X_test"])
    truth = data["y_test"]
    assert round(100 * np.mean(votes == truth), 2) == accuracy
    assert round(100 * balanced_accuracy_score(truth, votes), 2) == balanced
    assert np.array_equal(
        ensemble.predict(data["X_test"]), forest.predict(data["X_test"])
    )
