"""Train small scikit-learn models and keep them with their answers.

Run inside an environment that holds one version of scikit-learn, with skops:
``python make_sklearn.py FOLDER``.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import skops.io
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier


def training_data() -> tuple[np.ndarray, np.ndarray]:
    """Rows of few distinct values, the second column of categories, and 3 labels."""
    rng = np.random.default_rng(5)
    X = rng.choice([-1.5, -0.1, 0.0, 0.1, 0.3, 1.0, 7.25], (80, 3))
    X[:, 1] = rng.choice([2.0, 3.0, 5.0, 7.0, 11.0], 80)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 4) * (X[:, 2] > rng.choice([0, 1], 80))
    return X, np.array(["deny", "ask", "grant"])[y]


def models() -> dict[str, tuple[Any, bool, bool]]:
    """Each case: the model, whether it takes NaN, whether it answers yes or no."""
    small = {"max_depth": 3, "random_state": 0}
    return {
        "tree": (DecisionTreeClassifier(**small), True, False),
        "forest": (RandomForestClassifier(5, **small), True, False),
        "extra": (ExtraTreesClassifier(4, **small), False, False),
        "bagging": (
            BaggingClassifier(
                DecisionTreeClassifier(max_depth=3),
                n_estimators=5,
                max_features=2,
                random_state=0,
            ),
            True,
            False,
        ),
        "boosting": (
            GradientBoostingClassifier(n_estimators=3, learning_rate=0.7, **small),
            False,
            True,
        ),
        "boosting3": (
            GradientBoostingClassifier(n_estimators=1, learning_rate=0.7, **small),
            False,
            False,
        ),
        "exponential": (
            GradientBoostingClassifier(
                loss="exponential", n_estimators=2, learning_rate=0.7, **small
            ),
            False,
            True,
        ),
        "hist": (HistGradientBoostingClassifier(max_iter=6, **small), True, True),
        "hist-categories": (
            HistGradientBoostingClassifier(
                max_iter=3, categorical_features=[1], min_samples_leaf=4, **small
            ),
            True,
            False,
        ),
    }


def probes(model: Any, X: np.ndarray, takes_missing: bool) -> np.ndarray:
    """Rows on and beside the thresholds, with missing and unknown values."""
    rng = np.random.default_rng(6)
    rows = rng.choice(X.ravel(), (60, X.shape[1]))
    rows[20:40] = np.nextafter(rows[20:40], np.inf)
    rows[40:50] = (rows[40:50] + rng.choice(X.ravel(), (10, X.shape[1]))) / 2
    if takes_missing:
        rows[rng.random(rows.shape) < 0.1] = np.nan
    return np.concatenate([X[:20], rows])


def raw_scores(model: Any, rows: np.ndarray) -> np.ndarray:
    """Return the scores that the label rests on."""
    if isinstance(model, HistGradientBoostingClassifier):
        return np.ascontiguousarray(model._raw_predict(rows))
    if isinstance(model, GradientBoostingClassifier):
        return model.decision_function(rows).reshape(len(rows), -1)
    return model.predict_proba(rows)


def main(folder: Path) -> None:
    """Write every case."""
    X, y = training_data()
    for case, (model, takes_missing, binary) in models().items():
        model.fit(X, y == "deny" if binary else y)
        rows = probes(model, X, takes_missing)
        stem = folder / f"sklearn-{sklearn.__version__}-{case}"
        skops.io.dump(
            model, f"{stem}.skops", compression=zipfile.ZIP_DEFLATED, compresslevel=9
        )
        np.savez_compressed(
            f"{stem}.npz",
            rows=rows,
            labels=model.predict(rows),
            raw=raw_scores(model, rows),
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
