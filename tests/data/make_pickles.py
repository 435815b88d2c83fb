"""Train small scikit-learn models and keep them as pickles with their answers.

Run inside an environment that holds one version of scikit-learn: ``python
make_pickles.py FOLDER``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

#: From this version on, more than trees and forests is read.
RECENT = (1, 4)


def training_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of few distinct values, the last column of categories, labels, weights."""
    rng = np.random.default_rng(7)
    X = rng.choice([-1.5, -0.1, 0.0, 0.1, 0.3, 1.0, 7.25], (90, 4))
    X[:, 3] = rng.choice([2.0, 3.0, 5.0], 90)
    y = (X[:, 0] > 0).astype(int) + (X[:, 3] > 2) * (X[:, 2] > rng.choice([0, 1], 90))
    return X, np.array(["deny", "ask", "grant"])[y], rng.random(90)


def prepared(model: Any) -> Any:
    """A model behind steps, one of which passes on what is left."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer(
        [
            ("numbers", numbers, [0, 1]),
            ("codes", OneHotEncoder(handle_unknown="ignore"), [3]),
        ],
        remainder="passthrough",
    )
    return make_pipeline(columns, model)


def fitted() -> dict[str, Any]:
    """Each case, fitted."""
    X, y, weights = training_data()
    small = {"max_depth": 4, "random_state": 0}
    binary = y == "deny"
    cases = {
        "tree": DecisionTreeClassifier(**small).fit(X, y, sample_weight=weights),
        "forest": RandomForestClassifier(5, class_weight="balanced", **small).fit(X, y),
        "extra": ExtraTreesClassifier(4, **small).fit(X, y),
        "bagging": BaggingClassifier(
            DecisionTreeClassifier(max_depth=3),
            n_estimators=5,
            max_features=2,
            random_state=0,
        ).fit(X, y),
        "regressor": RandomForestRegressor(4, **small).fit(X, X[:, 0] + binary),
    }
    version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    if version >= RECENT:
        boosting = GradientBoostingClassifier(n_estimators=3, **small)
        cases["boosting"] = boosting.fit(X, binary)
        histograms = HistGradientBoostingClassifier(max_iter=5, **small)
        cases["hist"] = histograms.fit(X, binary)
        cases["pipeline"] = prepared(RandomForestClassifier(3, **small)).fit(X, y)
        cases["boosted-pipeline"] = prepared(clone(boosting)).fit(X, binary)
    return cases


def raw_scores(model: Any, rows: np.ndarray) -> np.ndarray:
    """Return the scores that the answer rests on."""
    if isinstance(model, HistGradientBoostingClassifier):
        return np.ascontiguousarray(model._raw_predict(rows))
    if isinstance(model, RandomForestRegressor):
        return model.predict(rows)[:, np.newaxis]
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, GradientBoostingClassifier):
        return model.decision_function(rows).reshape(len(rows), -1)
    return model.predict_proba(rows)


def main(folder: Path) -> None:
    """Write every case."""
    X, _, _ = training_data()
    rng = np.random.default_rng(8)
    rows = rng.choice(X.ravel(), (60, X.shape[1]))
    rows[20:40] = np.nextafter(rows[20:40], np.inf)
    rows = np.concatenate([X[:20], rows])
    rows[:, 3] = rng.choice([2.0, 3.0, 5.0, 7.0], len(rows))
    for case, model in fitted().items():
        stem = folder / f"pickle-{sklearn.__version__}-{case}"
        joblib.dump(model, f"{stem}.pkl", compress=9)
        np.savez_compressed(
            f"{stem}.npz",
            rows=rows,
            labels=model.predict(rows),
            raw=raw_scores(model, rows),
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
