"""Train small XGBoost models and keep them with what XGBoost answers.

Run inside an environment that holds one version of xgboost (with scikit-learn, and
with pandas for the models of data frames): ``python make_xgboost.py FOLDER``.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import xgboost

VERSION = tuple(int(part) for part in xgboost.__version__.split(".")[:2])


def table(seed):
    """Three numeric columns with few values and some missing, and one of codes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(120, 4)) / 3
    X[:, 3] = rng.integers(0, 9, size=120)
    X[:, 1][rng.random(120) < 0.2] = np.nan
    noise = rng.normal(size=120) / 2
    score = X[:, 0] + np.nan_to_num(X[:, 1]) + (X[:, 3] % 3 - 1) + noise
    return X, score


def probes(clf, X, missing):
    """Rows at the thresholds, around them, and with the values people forget."""
    rng = np.random.default_rng(1)
    model = json.loads(clf.get_booster().save_raw("json"))["learner"]
    booster = model["gradient_booster"]
    booster = booster.get("gbtree", booster)
    columns = [[np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-320, 1e300, missing]] * 4
    columns = [list(column) for column in columns]
    columns[3] += [*range(10), -1.0, -0.5, 2.9999999999, 2.0**24, 1e20]
    for tree in booster["model"]["trees"]:
        for node, feature in enumerate(tree["split_indices"]):
            cut = np.float32(tree["split_conditions"][node])
            if tree["left_children"][node] != -1 and np.isfinite(cut):
                below = np.nextafter(cut, np.float32(-np.inf))
                middle = (float(cut) + float(below)) / 2
                columns[feature] += [float(cut), float(below), middle]
                columns[feature] += [np.nextafter(float(cut), -np.inf)]
    rows = np.array([[rng.choice(column) for column in columns] for _ in range(80)])
    return np.vstack([X[:20], rows])


def keep(folder, case, suffix, clf, X, missing=np.nan):
    """Write the model, the rows, and XGBoost's labels and margins."""
    name = folder / f"xgboost-{xgboost.__version__}-{case}.{suffix}"
    clf.save_model(name)
    rows = probes(clf, X, missing)
    np.savez_compressed(
        folder / f"{name.stem}.npz",
        rows=rows,
        labels=clf.predict(rows),
        raw=clf.predict(rows, output_margin=True).reshape(len(rows), -1),
        missing=np.float64(missing),
    )


def classifier(**options):
    return xgboost.XGBClassifier(
        **{"n_estimators": 3, "max_depth": 3, "tree_method": "hist", **options}
    )


def make(folder):
    X, score = table(0)
    two, three = (score > 0).astype(int), np.digitize(score, [-0.7, 0.7])
    kinds = {
        "feature_types": ["q", "q", "q", "c"],
        "enable_categorical": True,
    }
    clf = classifier(base_score=0.3, num_parallel_tree=2).fit(X, two)
    keep(folder, "logistic", "ubj", clf, X)
    clf = classifier(objective="binary:hinge", **kinds, max_cat_to_onehot=1)
    keep(folder, "hinge-categories", "json", clf.fit(X, two), X)
    clf = classifier(
        objective="binary:logitraw",
        n_estimators=12,
        early_stopping_rounds=2,
        eval_metric="error",
    )
    clf.fit(X[:80], two[:80], eval_set=[(X[80:], two[80:])], verbose=False)
    keep(folder, "logitraw-stopped", "json", clf, X)
    marked = np.where(np.isnan(X), -999.0, X)
    clf = classifier(missing=-999.0, **kinds, max_cat_to_onehot=100)
    keep(folder, "softprob-missing", "ubj", clf.fit(marked, three), marked, -999.0)
    clf = classifier(objective="multi:softmax", booster="dart", rate_drop=0.5)
    keep(folder, "softmax-dart", "json", clf.fit(X, three), X)
    if VERSION >= (2, 0):
        clf = classifier(multi_strategy="multi_output_tree").fit(X, three)
        keep(folder, "softprob-vectors", "ubj", clf, X)
    if VERSION >= (3, 1):
        make_frame(folder, X, two)


def make_frame(folder, X, y):
    import pandas as pd

    frame = pd.DataFrame({"age": X[:, 0], "debt": X[:, 1], "years": X[:, 2]})
    frame["town"] = pd.Categorical([f"town {code:.0f}" for code in X[:, 3]])
    clf = classifier(enable_categorical=True, max_cat_to_onehot=1).fit(frame, y)
    keep(folder, "logistic-frame", "json", clf, X)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    make(target)
