"""Train small models with an old XGBoost, and keep them with what a later one answers.

Run ``python make_xgboost_old.py FOLDER`` twice: inside an environment with XGBoost 0.90
to 1.6 (it writes binary and JSON files, and rows), then inside one with 3.0, the last
version that reads binary files, for the answers.
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import xgboost

VERSION = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
COMMON = {"max_depth": 3, "eta": 0.6, "nthread": 1}
#: For each case its parameters, and at which scores the classes are cut.
CASES = {
    "logistic": ({"objective": "binary:logistic", "base_score": 0.3}, [0]),
    "pruned": ({"objective": "binary:logistic", "gamma": 2, "max_depth": 5}, [0]),
    "hinge": ({"objective": "binary:hinge"}, [0]),
    "logitraw": ({"objective": "binary:logitraw", "base_score": 0.2}, [0]),
    "softprob": ({"objective": "multi:softprob", "num_class": 3}, [-0.7, 0.7]),
    "dart": (
        {
            "objective": "multi:softmax",
            "num_class": 3,
            "booster": "dart",
            "rate_drop": 0.5,
            "base_score": 0.9,
        },
        [-0.7, 0.7],
    ),
    "poisson": ({"objective": "count:poisson", "base_score": 1.1}, [-1, 0, 1]),
    "linear": ({"objective": "reg:linear", "base_score": 1.25}, [-1, 0, 1]),
    "forest": (
        {"objective": "binary:logistic", "num_parallel_tree": 3, "subsample": 0.7},
        [0],
    ),
}
#: These are written as JSON by versions that can.
IN_JSON = {"logistic", "hinge", "dart"}


def table(rng):
    """Three columns of numbers with few values and some missing, and one of codes."""
    X = rng.randint(-4, 5, size=(120, 4)) / 3.0
    X[:, 3] = rng.randint(0, 9, size=120)
    X[:, 1][rng.rand(120) < 0.2] = np.nan
    noise = rng.randn(120) / 2
    return X, X[:, 0] + np.nan_to_num(X[:, 1]) + (X[:, 3] % 3 - 1) + noise


def probes(booster, rng):
    """Rows at the thresholds, beside them, and with the values people forget."""
    columns = [[np.nan, 0.0, -0.0, 1e-30, 1e30, np.inf, -np.inf] for _ in range(4)]
    for feature, text in re.findall(r"\[f(\d)<([^\]]+)\]", "".join(booster.get_dump())):
        cut = np.float32(text)
        below = np.nextafter(cut, np.float32(-np.inf))
        columns[int(feature)] += [float(cut), float(below)]
        columns[int(feature)] += [np.nextafter(float(cut), -np.inf)]
    return np.array([[rng.choice(column) for column in columns] for _ in range(60)])


def train(folder):
    rng = np.random.RandomState(0)
    for case, (params, cuts) in CASES.items():
        X, score = table(rng)
        y = np.digitize(score, cuts)
        booster = xgboost.train({**COMMON, **params}, xgboost.DMatrix(X, label=y), 3)
        if case == "forest":
            booster.set_attr(best_iteration="1", note="böse \n")
        form = "json" if case in IN_JSON and VERSION >= (1, 0) else "model"
        stem = f"xgboost-{xgboost.__version__}-{case}"
        booster.save_model(str(folder / f"{stem}.{form}"))
        np.savez_compressed(str(folder / f"{stem}.npz"), rows=probes(booster, rng))


def answer(folder):
    for path in folder.glob("xgboost-*.npz"):
        rows = np.load(path)["rows"]
        [name] = set(folder.glob(f"{path.stem}.*")) - {path}
        numbers = path.stem.endswith(("poisson", "linear"))
        loader = xgboost.XGBRegressor if numbers else xgboost.XGBClassifier
        model = loader()
        model.load_model(name)
        labels = model.predict(rows)
        if labels.ndim > 1:
            labels = labels.argmax(axis=1)
        raw = model.predict(rows, output_margin=True).reshape(len(rows), -1)
        np.savez_compressed(
            path, rows=rows, labels=labels, raw=raw, missing=np.float64(np.nan)
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    (answer if VERSION >= (3, 0) else train)(target)
