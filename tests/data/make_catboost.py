"""Train small CatBoost models of every kind, and keep what CatBoost answers for them.

Run in an environment that holds one version of catboost; the only argument is the
folder to write to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import catboost
import numpy as np

COMMON = {
    "iterations": 4,
    "learning_rate": 0.5,
    "verbose": 0,
    "allow_writing_files": False,
    "thread_count": 1,
    "random_seed": 1,
    "max_ctr_complexity": 1,
    "border_count": 12,
}
CASES: dict[str, dict[str, Any]] = {
    "symmetric": {"depth": 4, "nan_mode": "Max"},
    "depthwise-multi": {"grow_policy": "Depthwise", "depth": 3, "n_classes": 3},
    "lossguide-ova": {
        "grow_policy": "Lossguide",
        "max_leaves": 6,
        "loss_function": "MultiClassOneVsAll",
        "n_classes": 3,
    },
    "categories": {
        "depth": 4,
        "one_hot_max_size": 3,
        "simple_ctr": ["Borders", "Counter"],
        "combinations_ctr": ["Borders", "Counter"],
    },
    "json": {"depth": 4, "one_hot_max_size": 3},
    "json-depthwise": {"grow_policy": "Depthwise", "depth": 3, "n_classes": 3},
}
TEXTS = np.array(["Ulm", "Bern", "Graz", "São Paulo", "", "7", "x" * 33])
SPECIAL = [0.0, -0.0, 1e-45, 3.5e38, -3.5e38, np.inf, -np.inf, np.nan, 1e300]


def table(rng: np.random.Generator, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of numbers, one with gaps, and two of categories."""
    numbers = rng.normal(size=(n_rows, 3)).round(1)
    numbers[rng.random(n_rows) < 0.2, 2] = np.nan
    texts = np.column_stack(
        [rng.choice(["F", "M", "X"], n_rows), rng.choice(TEXTS, n_rows)]
    )
    return numbers, texts


def joined(numbers: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Numbers and texts in one table of objects."""
    return np.hstack([numbers.astype(object), texts.astype(object)])


def probes(
    model: Any, rng: np.random.Generator, n_rows: int = 60
) -> tuple[np.ndarray, np.ndarray]:
    """Rows on the borders, beside them, and at special values."""
    borders = [b for column in model.get_borders().values() for b in column]
    cuts = np.unique(np.array(borders, dtype=np.float32))
    wide = cuts.astype(np.float64)
    up = np.nextafter(cuts, np.float32(np.inf)).astype(np.float64)
    beside = [wide, np.nextafter(wide, -np.inf), np.nextafter(wide, np.inf), up]
    pool = np.concatenate([*beside, (up + wide) / 2, SPECIAL])
    texts = [*TEXTS, "F", "M", "X", "never seen", "100"]
    return rng.choice(pool, size=(n_rows, 3)), rng.choice(texts, size=(n_rows, 2))


def main(folder: Path) -> None:
    """Write each model, some rows, and what CatBoost answers for them."""
    for number, (case, options) in enumerate(CASES.items()):
        rng = np.random.default_rng(number)
        settings = COMMON | options
        n_classes = settings.pop("n_classes", 2)
        numbers, texts = table(rng)
        has_texts = case in ("categories", "json")
        y = (np.nan_to_num(numbers) @ [1, 2, -1] + (texts[:, 0] == "M") > 0).astype(int)
        y += (numbers[:, 0] > 0.7) * (n_classes - 2)
        labels: Any = np.array(["no", "yes", "perhaps"])[y] if n_classes > 2 else y
        X = joined(numbers, texts) if has_texts else numbers
        model = catboost.CatBoostClassifier(**settings)
        model.fit(X, labels, cat_features=[3, 4] if has_texts else None)
        if case == "categories":
            model.set_probability_threshold(0.3)
        form = "json" if case.startswith("json") else "cbm"
        path = folder / f"catboost-{catboost.__version__}-{case}.{form}"
        model.save_model(str(path), format=form)
        if form == "json":
            # Shorter, with every digit as it was.
            path.write_text(re.sub(r"\n *", "", path.read_text()))
        # What is kept is what the file means to the library.
        model = catboost.CatBoostClassifier()
        model.load_model(str(path), format=form)
        rows, words = probes(model, rng)
        asked = joined(rows, words) if has_texts else rows
        kept = {"texts": words} if has_texts else {}
        raw = model.predict(asked, prediction_type="RawFormulaVal")
        answers = model.predict(asked, prediction_type="Class")
        np.savez_compressed(
            path.with_suffix(".npz"),
            rows=rows,
            raw=np.reshape(raw, (len(rows), -1)),
            labels=np.array(np.ravel(answers).tolist()),
            **kept,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
