"""Random pipelines of every library: ours answers what the library answers, to the bit.

Each seed draws a model, what stands before it, and whether it is handed over as it is
or as a file. Rows are people, people with other cells, and numbers at and beside the
thresholds. What the library refuses we refuse, row by row.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, UnsupportedModelError
from tests.laws.effort import for_seeds

NUMBERS = ["age", "pay", "kids"]
TEXTS = ["sex", "race"]

Draw = np.random.Generator


def people(rng: Draw, n: int = 90) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "pay": rng.lognormal(3, 1, n).round(2),
            "kids": rng.integers(0, 4, n).astype(float),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["black", "white", "other"], n),
        }
    )


def pick(rng: Draw, items: list[Any]) -> Any:
    return items[rng.integers(len(items))]


def number_steps(rng: Draw, n_columns: int) -> list[Any]:
    """Draw what happens to columns of numbers: nothing, or up to three steps."""
    k = int(rng.integers(1, n_columns + 1))
    every = [
        lambda: StandardScaler(with_mean=bool(rng.integers(2))),
        lambda: MinMaxScaler(clip=bool(rng.integers(2))),
        RobustScaler,
        MaxAbsScaler,
        lambda: SimpleImputer(strategy=pick(rng, ["mean", "median", "most_frequent"])),
        lambda: SimpleImputer(add_indicator=True),
        lambda: FunctionTransformer(pick(rng, [np.log1p, np.sqrt, np.floor, np.abs])),
        VarianceThreshold,
        lambda: SelectKBest(k=k),
        lambda: SelectPercentile(percentile=60),
        lambda: make_union(StandardScaler(), Binarizer(threshold=20.0)),
        lambda: KBinsDiscretizer(
            3, encode=pick(rng, ["ordinal", "onehot-dense"]), strategy="uniform"
        ),
        lambda: QuantileTransformer(n_quantiles=10),
        PowerTransformer,
    ]
    return [pick(rng, every)() for _ in range(rng.integers(3))]


def text_steps(rng: Draw) -> Any:
    """Draw an encoder of the columns of texts."""
    return pick(
        rng,
        [
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            OneHotEncoder(drop="if_binary", sparse_output=False),
            OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            OrdinalEncoder(),
            TargetEncoder(random_state=0),
        ],
    )


def before(rng: Draw, table: pd.DataFrame) -> list[Any]:
    """Draw what stands before the model."""
    numbers = [name for name in NUMBERS if name in table]
    texts = [name for name in TEXTS if name in table]
    if not texts:
        return number_steps(rng, len(numbers))
    steps = number_steps(rng, len(numbers))
    own = make_pipeline(*steps) if steps else "passthrough"
    parts = [("numbers", own, numbers), ("texts", text_steps(rng), texts)]
    columns = ColumnTransformer([parts[i] for i in rng.permutation(2)])
    return [columns, *([StandardScaler(with_mean=False)] * int(rng.integers(2)))]


def final(rng: Draw, n_classes: int) -> Any:
    """Draw a model."""
    import catboost
    import lightgbm
    import xgboost

    small = {"n_estimators": 4, "max_depth": int(rng.integers(1, 5)), "n_jobs": 1}
    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    # The exponential loss is one of two classes.
    losses = ["log_loss", "exponential"][: 4 - n_classes]
    every = [
        lambda: DecisionTreeClassifier(max_depth=5, random_state=0),
        lambda: RandomForestClassifier(**small, random_state=0),
        lambda: ExtraTreesClassifier(**small, random_state=0),
        lambda: GradientBoostingClassifier(
            n_estimators=4, loss=pick(rng, losses), random_state=0
        ),
        lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4),
        lambda: xgboost.XGBClassifier(**small, booster=pick(rng, ["gbtree", "dart"])),
        lambda: lightgbm.LGBMClassifier(
            **small,
            min_child_samples=4,
            boosting_type=pick(rng, ["gbdt", "dart"]),
            verbose=-1,
        ),
        lambda: catboost.CatBoostClassifier(
            iterations=4,
            depth=3,
            grow_policy=pick(rng, ["SymmetricTree", "Depthwise", "Lossguide"]),
            **quiet,
        ),
    ]
    return pick(rng, every)()


def handed_over(rng: Draw, model: Any, folder: Path) -> Any:
    """Return the model, or the path of a file that it was saved to."""
    import skops.io

    last = model[-1] if isinstance(model, Pipeline) else model
    package = type(last).__module__.partition(".")[0]
    if last is not model and package != "sklearn":
        return model
    if not rng.integers(2):
        return model
    if package == "xgboost":
        path = folder / f"model.{pick(rng, ['json', 'ubj'])}"
        model.save_model(path)
    elif package == "lightgbm":
        path = folder / "model.txt"
        model.booster_.save_model(path)
    elif package == "catboost":
        path = folder / "model.cbm"
        model.save_model(path)
    else:
        path = folder / "model.skops"
        skops.io.dump(model, path)
    return path


def probes(rng: Draw, model: Any, table: pd.DataFrame) -> pd.DataFrame:
    """Return people, people at thresholds, with gaps, and with labels never seen."""
    rows = pd.concat([table, table.sample(60, replace=True, random_state=0)])
    rows = rows.reset_index(drop=True)
    for place, feature in enumerate(model.features):
        cuts = model.ensemble.thresholds(place)
        if feature.name in NUMBERS and len(cuts):
            some = rng.choice(len(table), 20)
            own = rng.choice(cuts, 20)
            beside = [own, np.nextafter(own, -np.inf), np.nextafter(own, np.inf)]
            rows.loc[some, feature.name] = beside[rng.integers(3)]
    rows = rows.reset_index(drop=True)
    for name in table:
        at = rng.choice(len(rows), 4)
        odd: Any = [np.nan, -1.0, 1e9, 0.5] if name in NUMBERS else ["M", "", "x", "F"]
        rows.loc[at, name] = odd
    return rows


def answers(ask: Any, rows: Any) -> Any:
    """Return what is answered, none where the rows are refused."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return np.asarray(ask(rows))
    except (ValueError, DataError):
        return None


def scores(model: Any, rows: Any) -> Any:
    """Return the raw scores of a fitted model, in the way of its library."""
    last = model[-1] if isinstance(model, Pipeline) else model
    before = model[:-1].transform(rows) if isinstance(model, Pipeline) else rows
    match type(last).__module__.partition(".")[0]:
        case "xgboost":
            return last.predict(before, output_margin=True)
        case "lightgbm":
            return last.predict(before, raw_score=True)
        case "catboost":
            return last.predict(before, prediction_type="RawFormulaVal")
    if hasattr(last, "decision_function"):
        return last.decision_function(before)
    return last.predict_proba(before)


@for_seeds(50)
def test_what_the_library_answers_is_what_we_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = people(rng)
    if rng.integers(2):
        table = table[NUMBERS]
    answer = (table["age"] > 45) ^ (table["pay"] > 25) ^ (rng.random(len(table)) < 0.1)
    n_classes = int(rng.integers(2, 4))
    if n_classes > 2:
        answer = answer + (table["kids"] > 1)
    steps, last = before(rng, table), final(rng, n_classes)
    own = make_pipeline(*steps, last) if steps else last
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            own.fit(table, answer.astype(int))
        except ValueError:
            # A root of what a scaler made negative, before a model without gaps.
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                model = fatt.load(handed_over(rng, own, Path(folder)))
            except UnsupportedModelError as error:
                # A curve so flat that rounding hides whether it grows.
                if "hardly changes" not in str(error):
                    raise
                return
    rows = probes(rng, model, table)
    asked = 0
    for part in [rows.iloc[i : i + 1] for i in range(0, len(rows), 3)] + [table]:
        theirs = answers(own.predict, part)
        ours = answers(model.predict, part)
        assert (theirs is None) == (ours is None), part
        if theirs is None:
            continue
        asked += 1
        assert theirs.ravel().tolist() == ours.tolist(), part
        wanted = answers(lambda table: scores(own, table), part)
        assert np.array_equal(model.raw_scores(part).ravel(), wanted.ravel()), part
    assert asked > 20


@for_seeds(12)
def test_what_onnxruntime_answers_is_what_we_answer(seed: int) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    rng = np.random.default_rng(seed)
    table = people(rng)[NUMBERS].to_numpy(np.float32)
    answer = (table[:, 0] > 45) ^ (table[:, 1] > 25)
    steps = [
        [],
        [StandardScaler()],
        [MinMaxScaler()],
        [SimpleImputer()],
        [SelectKBest(k=2)],
    ]
    small = {"max_depth": 3, "random_state": 0}
    models = [
        DecisionTreeClassifier(**small),
        RandomForestClassifier(4, **small),
        GradientBoostingClassifier(n_estimators=3, **small),
    ]
    own = make_pipeline(*pick(rng, steps), pick(rng, models)).fit(table, answer * 1)
    options = {id(own[-1]): {"zipmap": False}}
    graph = skl2onnx.to_onnx(own, table[:1], options=options)
    model = fatt.load(graph)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    rows = np.repeat(table, 2, axis=0)
    for place in range(table.shape[1]):
        cuts = model.ensemble.thresholds(place).astype(np.float32)
        if len(cuts):
            own_cuts = rng.choice(cuts, 20)
            side = np.float32(pick(rng, [-np.inf, np.inf]))
            rows[rng.choice(len(rows), 20), place] = own_cuts
            rows[rng.choice(len(rows), 20), place] = np.nextafter(own_cuts, side)
    theirs = session.run(["label"], {session.get_inputs()[0].name: rows})[0]
    assert model.predict(rows).tolist() == theirs.tolist()
