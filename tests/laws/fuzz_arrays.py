"""Load files of fitted objects whose arrays hold what no training writes.

Run as ``python -m tests.laws.fuzz_arrays FOLDER DRAFTS SHARE``; prints what happened as
JSON. A crash shows in how the process ends. Each array of each file is damaged in each
way, one at a time; of these files every SHARE-th is loaded.
"""

from __future__ import annotations

import io
import json
import signal
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import skops.io
from numpy.typing import NDArray
from sklearn import ensemble, feature_selection, impute, preprocessing
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fatt.importers.files.skops import TRUSTED, checked
from tests.laws.fuzz import outcome, time_is_up

#: Absurd indices and numbers, each as far as the type of an array can say it.
NUMBERS = [-1, -2, 1, 7, 10**6, 2**31 - 1, 2**44, -(2**62), np.nan, -np.inf, 1e300]


def made() -> dict[str, Any]:
    """Return models of the kinds that hold arrays of their own."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 4)), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    whole = np.nan_to_num(X)
    text = rng.choice(["a", "b", "c", "rare"], (80, 2), p=[0.4, 0.3, 0.25, 0.05])
    mixed = pd.DataFrame({"x": whole[:, 0], "g": text[:, 0], "h": text[:, 1]})
    y = np.where(whole[:, 0] + whole[:, 1] > 0, "yes", "no")
    small = {"max_depth": 2, "random_state": 0}
    tree = DecisionTreeClassifier(**small)
    forest = ensemble.RandomForestClassifier(3, **small)
    boosted = ensemble.GradientBoostingClassifier(n_estimators=2, **small)
    numbers = [
        preprocessing.StandardScaler(),
        preprocessing.MinMaxScaler(clip=True),
        preprocessing.RobustScaler(),
        preprocessing.KBinsDiscretizer(3, encode="ordinal"),
        preprocessing.QuantileTransformer(n_quantiles=9),
        preprocessing.PowerTransformer(),
        preprocessing.PolynomialFeatures(2),
        feature_selection.SelectKBest(k=2),
        feature_selection.SelectFdr(alpha=0.9),
        feature_selection.VarianceThreshold(),
        feature_selection.RFE(tree, n_features_to_select=2),
        feature_selection.SelectFromModel(LogisticRegression(), threshold="median"),
        feature_selection.SelectFromModel(tree, threshold="median"),
        feature_selection.SelectFromModel(forest, threshold="median"),
        feature_selection.SelectFromModel(boosted, threshold="median"),
    ]
    texts = [
        preprocessing.OneHotEncoder(min_frequency=10, handle_unknown="ignore"),
        preprocessing.OrdinalEncoder(max_categories=3),
        preprocessing.TargetEncoder(),
    ]
    models = {
        type(step).__name__ + str(place): make_pipeline(step, tree).fit(whole, y)
        for place, step in enumerate(numbers)
    }
    for step in texts:
        columns = ColumnTransformer(
            [("texts", step, ["g", "h"])], remainder="passthrough", sparse_threshold=0
        )
        models[type(step).__name__] = make_pipeline(columns, tree).fit(mixed, y)
    filled = impute.SimpleImputer(add_indicator=True)
    models["SimpleImputer"] = make_pipeline(filled, tree).fit(X, y)
    alone: list[Any] = [
        ensemble.RandomForestRegressor(2, **small),
        ensemble.HistGradientBoostingRegressor(max_iter=2, max_depth=2),
        ensemble.VotingRegressor([("a", DecisionTreeRegressor(**small))]),
        TransformedTargetRegressor(
            DecisionTreeRegressor(**small), transformer=preprocessing.StandardScaler()
        ),
    ]
    of_labels: list[Any] = [
        tree,
        ensemble.VotingClassifier([("a", tree), ("b", forest)], voting="soft"),
        ensemble.AdaBoostClassifier(tree, n_estimators=3, random_state=0),
        ensemble.BaggingClassifier(tree, 2, max_features=0.5, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=2, max_depth=2),
        FixedThresholdClassifier(forest, threshold=0.3),
        boosted,
    ]
    models |= {type(m).__name__: m.fit(whole, whole[:, 0]) for m in alone}
    models |= {type(m).__name__: m.fit(whole, y) for m in of_labels}
    for method in ("isotonic", "sigmoid"):
        around = CalibratedClassifierCV(FrozenEstimator(boosted), method=method)
        models[method] = around.fit(whole, y)
    return models


def damaged(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield what an array could become, one damage at a time."""
    fields = array.dtype.names or (None,)
    for field in fields:
        for number in NUMBERS:
            for place in (0, -1, slice(None)):
                one = array.copy()
                part = one if field is None else one[field]
                if part.dtype.kind not in "biuf" or not part.size:
                    continue
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    part.reshape(-1)[place] = np.array(number).astype(part.dtype)
                yield one
    if array.ndim:
        yield array[:0]
        yield array[:-1]
        yield np.concatenate([array, array])
    yield array[np.newaxis]
    yield np.zeros(array.shape, dtype=np.int8)
    yield np.full(array.shape, np.nan)
    yield np.full(array.shape, "?")
    yield np.zeros((), dtype=array.dtype)


def files(data: bytes) -> Iterator[bytes]:
    """Yield the skops file with one of its arrays damaged."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, content in members.items():
        if not name.endswith(".npy"):
            continue
        for array in damaged(np.load(io.BytesIO(content))):
            stream, packed = io.BytesIO(), io.BytesIO()
            np.save(stream, array)
            with zipfile.ZipFile(packed, "w") as archive:
                for member, old in members.items():
                    new = stream.getvalue() if member == name else old
                    archive.writestr(member, new)
            yield packed.getvalue()


def pickled(data: bytes) -> bytes | None:
    """Return the same object as joblib writes it, if skops can build it safely."""
    stream = io.BytesIO()
    try:
        joblib.dump(skops.io.loads(checked(data), trusted=TRUSTED), stream)
    except Exception:
        return None
    return stream.getvalue()


def main(folder: Path, drafts: Path, share: int) -> None:
    """Damage all files, load some, and print the outcomes."""
    originals = {path.name: path.read_bytes() for path in folder.glob("*1.9*.skops")}
    originals |= {name: skops.io.dumps(model) for name, model in made().items()}
    signal.signal(signal.SIGPROF, time_is_up)
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    wrong = []
    for name in sorted(originals):
        for number, data in enumerate(files(originals[name])):
            if number % share:
                continue
            for suffix, content in ((".skops", data), (".joblib", pickled(data))):
                if content is None:
                    continue
                path = drafts / f"draft{suffix}"
                path.write_bytes(content)
                result = outcome(path, allow_pickle=True)
                counts[f"{suffix} {result}"] += 1
                if result not in {"refused", "imported"}:
                    wrong.append({"file": name, "number": number, "got": result})
    print(json.dumps({"counts": counts, "wrong": wrong[:20]}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
