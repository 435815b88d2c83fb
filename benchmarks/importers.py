"""How long reading and predicting take, beside the libraries' own, in one run.

Run ``make bench``. Every figure is a ratio of medians of interleaved measurements, on
one thread: below 1 we are faster. The models are trained on made-up data of 20 columns.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnxruntime
import skl2onnx
import xgboost
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from threadpoolctl import threadpool_limits

import fatt

ROWS = 100_000
REPEATS = 7


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Return our median seconds, and how many times theirs that is."""
    ours(), theirs()
    mine: list[float] = []
    other: list[float] = []
    for _ in range(REPEATS):
        for call, times in ((ours, mine), (theirs, other)):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return statistics.median(mine), statistics.median(mine) / statistics.median(other)


def loading(
    folder: Path, X: np.ndarray, y: np.ndarray
) -> list[tuple[str, float, float]]:
    """Time reading files of 1,000 trees."""
    boosted = xgboost.XGBClassifier(n_estimators=1000, max_depth=6, n_jobs=2).fit(X, y)
    light = lightgbm.LGBMClassifier(n_estimators=1000, verbose=-1, n_jobs=2).fit(X, y)
    text = folder / "lightgbm.txt"
    light.booster_.save_model(text)
    # Noise and small steps keep all trees deep and full: a file of 25 MB.
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20_000, 20))
    deep = xgboost.XGBClassifier(
        n_estimators=1000, max_depth=12, learning_rate=0.01, n_jobs=2
    ).fit(noise, noise[:, 0] + rng.normal(size=len(noise)) > 0)
    found = []
    for model, name in ((boosted, "6.ubj"), (boosted, "6.json"), (deep, "12.ubj")):
        path = folder / f"1000x{name}"
        model.save_model(path)
        found.append(
            (
                f"load XGBoost {path.name}",
                *ratio(
                    functools.partial(fatt.load, path),
                    functools.partial(xgboost.Booster, model_file=path),
                ),
            )
        )
    found.append(
        (
            "load LightGBM 1000x31 .txt",
            *ratio(lambda: fatt.load(text), lambda: lightgbm.Booster(model_file=text)),
        )
    )
    return found


def predicting(X: np.ndarray, y: np.ndarray) -> list[tuple[str, float, float]]:
    """Time labels of 100,000 rows, after checking that they agree."""
    models = {
        "RandomForest 100, depth 10": RandomForestClassifier(100, max_depth=10),
        "GradientBoosting 100x3": GradientBoostingClassifier(),
        "HistGradientBoosting 100x31": HistGradientBoostingClassifier(),
        "XGBoost 100x6": xgboost.XGBClassifier(n_estimators=100, n_jobs=1),
        "XGBoost 300x6": xgboost.XGBClassifier(n_estimators=300, n_jobs=1),
        "LightGBM 100x31": lightgbm.LGBMClassifier(n_jobs=1, verbose=-1),
    }
    rows = np.resize(X, (ROWS, X.shape[1])) + 0.0
    found = []
    for name, model in models.items():
        fitted = model.fit(X, y)
        ensemble = fatt.load(fitted)
        assert np.array_equal(ensemble.predict(rows), fitted.predict(rows))
        times = ratio(
            functools.partial(ensemble.predict, rows),
            functools.partial(fitted.predict, rows),
        )
        found.append((f"predict {name}", *times))
    found.append(predicting_onnx(models["RandomForest 100, depth 10"], rows))
    return found


def predicting_onnx(forest: Any, rows: np.ndarray) -> tuple[str, float, float]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    single = rows.astype(np.float32)
    graph = skl2onnx.to_onnx(forest, single[:1], options={"zipmap": False})
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    name = session.get_inputs()[0].name
    ensemble = fatt.load(graph)
    assert np.array_equal(
        ensemble.predict(single), session.run(None, {name: single})[0]
    )
    times = ratio(
        lambda: ensemble.predict(single), lambda: session.run(None, {name: single})
    )
    return ("predict ONNX, the same forest", *times)


def main() -> None:
    X, y = make_classification(5000, 20, n_informative=10, random_state=0)
    table = Table("what", "our seconds", "times theirs")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for name, seconds, times in loading(Path(folder), X, y) + predicting(X, y):
            table.add_row(name, f"{seconds:.3f}", f"{times:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
