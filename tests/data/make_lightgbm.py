"""Train small LightGBM models and keep them with what LightGBM answers for them.

Run it inside an environment that holds one version of lightgbm, and pandas; the only
argument is the folder to write to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd

COMMON: dict[str, Any] = {
    "verbose": -1,
    "num_threads": 1,
    "num_leaves": 5,
    "learning_rate": 0.5,
    "min_data_in_leaf": 3,
    "min_data_in_bin": 1,
    "min_data_per_group": 1,
    "cat_smooth": 0.0,
}
CASES: dict[str, dict[str, Any]] = {
    "binary": {"objective": "binary"},
    "dart-zero": {"objective": "binary", "boosting": "dart", "zero_as_missing": True},
    "rf-ova": {
        "objective": "multiclassova",
        "num_class": 3,
        "boosting": "rf",
        "bagging_freq": 1,
        "bagging_fraction": 0.6,
        "sigmoid": 12.3457,
    },
    "goss-multiclass": {"objective": "multiclass", "num_class": 3, "boosting": "goss"},
    "entropy-none": {"objective": "cross_entropy", "use_missing": False},
    "frame": {"objective": "binary", "max_cat_to_onehot": 1},
}
if lgb.__version__ < "2.1":
    # It refused what later versions take.
    COMMON["cat_smooth"] = 1.0
    del CASES["rf-ova"]
SPECIAL = [0.0, -0.0, 1e-36, -1e-36, 1e-35, np.inf, -np.inf, np.nan, 5e-324, 1e300]
CODES = [-1.0, -0.5, 0.5, 2.0**31, 1e20, np.inf, -np.inf, np.nan, 99.0]


def table(rng: np.random.Generator, n_rows: int = 160) -> np.ndarray:
    """Three columns of numbers with gaps, ties and tiny values, and one of codes."""
    pool = np.array([0.0, 1e-36, 1.0, -1.0, 2.5, np.nan, 0.3, -0.7])
    numbers = rng.choice(pool, size=(n_rows, 3))
    numbers[:, 0] = rng.normal(size=n_rows).round(1)
    return np.column_stack([numbers, rng.integers(0, 40, n_rows)])


def probes(text: str, rng: np.random.Generator, n_rows: int = 60) -> np.ndarray:
    """Rows on the thresholds, beside them, and at special values."""
    lines = re.findall(r"^threshold=(.*)$", text, flags=re.MULTILINE)
    cuts = np.array([float(word) for line in lines for word in line.split()])
    cuts = np.unique(cuts[np.isfinite(cuts)])
    beside = [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), SPECIAL]
    numbers = rng.choice(np.concatenate(beside), size=(n_rows, 3))
    codes = rng.choice(np.concatenate([np.arange(42.0), CODES]), size=n_rows)
    return np.column_stack([numbers, codes])


def train(case: str, rng: np.random.Generator) -> lgb.Booster:
    """Train one model."""
    params = {**COMMON, **CASES[case]}
    X = table(rng)
    y = rng.integers(0, params.get("num_class", 2), len(X))
    y = np.where(X[:, 3] % 3 == 1, 0, y)
    if case == "frame":
        names = np.array([f"town {code}" for code in range(40)])
        frame = pd.DataFrame(X[:, :3], columns=["age", "pay", "debt"])
        frame["town"] = pd.Categorical(names[X[:, 3].astype(int)], categories=names)
        data = lgb.Dataset(frame, y, params=params)
    else:
        data = lgb.Dataset(X, y, params=params, categorical_feature=[3])
    return lgb.train(params, data, 4)


def main(folder: Path) -> None:
    """Write each model, some rows, and what LightGBM answers for them."""
    for number, case in enumerate(CASES):
        rng = np.random.default_rng(number)
        booster = train(case, rng)
        name = f"lightgbm-{lgb.__version__}-{case}"
        booster.save_model(str(folder / f"{name}.txt"))
        rows = probes((folder / f"{name}.txt").read_text(encoding="utf-8"), rng)
        chances = booster.predict(rows)
        if chances.ndim == 1:
            chances = np.column_stack([1.0 - chances, chances])
        np.savez_compressed(
            folder / f"{name}.npz",
            rows=rows,
            labels=np.argmax(chances, axis=1),
            raw=booster.predict(rows, raw_score=True).reshape(len(rows), -1),
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
