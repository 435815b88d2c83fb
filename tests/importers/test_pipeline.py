"""Pipelines answer in raw columns what scikit-learn answers, bit for bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.errors import DataError, MalformedModelError, UnsupportedModelError
from tests.probes import candidates, same_bits

pytestmark = [
    pytest.mark.xgboost,
    pytest.mark.lightgbm,
    pytest.mark.filterwarnings("ignore:Found unknown categories"),
    pytest.mark.filterwarnings("ignore:Skipping features without any observed"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:Bins whose width are too small"),
]

ADULT = Path(__file__).parents[2].parent / "shared/data/raw/adult"
NUMBERS = ["age", "hours", "pay"]
WORDS = ["sex", "race"]


def people(rng: np.random.Generator, n: int = 120) -> pd.DataFrame:
    """People with few distinct values, so that ties occur."""
    return pd.DataFrame(
        {
            "age": rng.integers(17, 40, n),
            "hours": rng.choice([0.0, 0.1, 1.5, 20.0, 40.0], n),
            "pay": rng.normal(size=n).round(1) * 1e4,
            "kids": rng.integers(0, 4, n),
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(
                ["black", "white", "other", "rare"], n, p=[0.3, 0.4, 0.28, 0.02]
            ),
        }
    )


def with_gaps(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    frame = frame.copy()
    for name in ("hours", "race"):
        frame.loc[rng.random(len(frame)) < 0.15, name] = np.nan
    return frame


def labels_for(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    score = (
        (frame["age"] - 28) / 8
        + frame["pay"].to_numpy() / 2e4
        + (frame["sex"] == "M")
        + frame["race"].isna()
        + rng.normal(size=len(frame)) * 0.4
    )
    return np.where(score > 0.4, "approve", "deny")


def xgb(**options: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=4, max_depth=4, n_jobs=1, **options)


def lgbm(**options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(
        n_estimators=4, min_child_samples=5, n_jobs=1, verbose=-1, **options
    )


MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=4, random_state=0),
    "histogram": lambda: HistGradientBoostingClassifier(
        max_iter=4, min_samples_leaf=5, random_state=0
    ),
    "xgboost": xgb,
    "lightgbm": lgbm,
}


def library_scores(pipeline: Pipeline, frame: Any) -> np.ndarray:
    """The raw scores of the pipeline's own model on the pipeline's own columns."""
    final, made = pipeline[-1], pipeline[:-1].transform(frame)
    package = type(final).__module__.partition(".")[0]
    if package == "xgboost":
        scores = final.predict(made, output_margin=True)
    elif package == "lightgbm":
        scores = final.predict(made, raw_score=True)
    elif hasattr(final, "decision_function"):
        scores = final.decision_function(made)
    else:
        scores = final.predict_proba(made)
    return scores[:, np.newaxis] if scores.ndim == 1 else scores


def agree(pipeline: Pipeline, ensemble: Ensemble, frame: Any) -> None:
    # Huge numbers overflow inside the library's own checks and casts.
    with np.errstate(all="ignore"):
        scores, labels = library_scores(pipeline, frame), pipeline.predict(frame)
    assert same_bits(ensemble.raw_scores(frame), scores)
    assert ensemble.predict(frame).tolist() == labels.tolist()


def column_of(feature: Any, codes: np.ndarray) -> Any:
    if isinstance(feature, Numeric):
        return codes
    text = any(isinstance(label, str) for label in feature.categories)
    labels = [*feature.categories, "unheard" if text else 77]
    absent = None if feature.missing_as == "none" else np.nan
    cells = [absent if np.isnan(code) else labels[int(code)] for code in codes]
    return pd.Series(cells, dtype=object) if text else np.array(cells, dtype=float)


def probe_frame(ensemble: Ensemble, rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Raw rows whose cells sit at pulled-back thresholds, categories and gaps."""
    columns = {}
    for index, feature in enumerate(ensemble.features):
        values = candidates(ensemble, index)
        codes = np.concatenate([values, rng.choice(values, n)])[:n]
        columns[feature.name] = column_of(feature, rng.permutation(codes))
    return pd.DataFrame(columns)


def is_taken(predict: Callable[[Any], Any], row: pd.DataFrame) -> bool:
    try:
        with np.errstate(all="ignore"):
            predict(row)
    except (DataError, ValueError, TypeError):
        return False
    return True


def same_refusals(pipeline: Pipeline, ensemble: Ensemble, base: pd.DataFrame) -> None:
    """Both take, or both refuse, values beyond the bounds, gaps and new labels."""
    for feature in ensemble.features:
        cells: list[Any] = [np.nan]
        if isinstance(feature, Numeric):
            ends = [feature.lower, feature.upper]
            with np.errstate(over="ignore"):
                ends += [np.nextafter(ends[0], -np.inf), np.nextafter(ends[1], np.inf)]
            cells += sorted({*ends, np.inf, -np.inf})
        elif any(isinstance(label, str) for label in feature.categories):
            cells += ["unheard", None]
        else:
            cells += [77.0, 0.5]
        for cell in cells:
            row = base.iloc[:1].copy()
            row[feature.name] = pd.Series(
                [cell], dtype=object if isinstance(feature, Categorical) else float
            )
            if isinstance(feature, Categorical) and not isinstance(cell, str | None):
                kinds = {type(label) for label in feature.categories}
                row[feature.name] = row[feature.name].astype(
                    object if str in kinds else float
                )
            theirs = is_taken(pipeline.predict, row)
            assert is_taken(ensemble.predict, row) == theirs, (feature, cell)


def fitted(
    steps: Any, frame: pd.DataFrame, rng: np.random.Generator, model: Any
) -> Pipeline:
    labels = labels_for(frame, rng)
    if type(model).__module__.startswith("xgboost"):
        labels = (labels == "deny").astype(int)
    return make_pipeline(steps, model).fit(frame, labels)


def check(
    pipeline: Pipeline, rng: np.random.Generator, frame: pd.DataFrame
) -> Ensemble:
    ensemble = fatt.load(pipeline).ensemble
    agree(pipeline, ensemble, frame)
    probes = probe_frame(ensemble, rng, 400)
    agree(pipeline, ensemble, probes)
    return ensemble


SCALERS: list[Callable[[], Any]] = [
    StandardScaler,
    lambda: StandardScaler(with_mean=False),
    lambda: StandardScaler(with_std=False),
    MinMaxScaler,
    lambda: MinMaxScaler((-1, 3), clip=True),
    RobustScaler,
    lambda: RobustScaler(with_centering=False),
    MaxAbsScaler,
    lambda: "passthrough",
]
GAP_FILLERS: list[Callable[[], Any]] = [
    lambda: "passthrough",
    SimpleImputer,
    lambda: SimpleImputer(strategy="median", add_indicator=True),
    lambda: SimpleImputer(strategy="most_frequent"),
    lambda: SimpleImputer(strategy="constant", fill_value=-7.5),
]
BINS: list[Callable[[], Any]] = [
    lambda encode=encode: KBinsDiscretizer(
        4, encode=encode, quantile_method="averaged_inverted_cdf"
    )
    for encode in ("ordinal", "onehot", "onehot-dense")
]
ENCODERS: list[Callable[[], Any]] = [
    lambda: OneHotEncoder(handle_unknown="ignore"),
    lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    lambda: OneHotEncoder(drop="first", handle_unknown="ignore"),
    lambda: OneHotEncoder(drop="if_binary"),
    lambda: OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"),
    lambda: OneHotEncoder(max_categories=2, handle_unknown="warn"),
    lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    lambda: OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=10
    ),
    lambda: OrdinalEncoder(encoded_missing_value=-3),
    OrdinalEncoder,
    lambda: make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
    lambda: make_pipeline(
        SimpleImputer(strategy="constant", fill_value="gap", add_indicator=True),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=9),
        StandardScaler(),
    ),
]


def turn(choices: Any, number: int) -> Any:
    return choices[number % len(choices)]


# Each kind of step and model has its turn; which of them meet is by chance.
@pytest.mark.parametrize("number", range(len(ENCODERS) + 4))
def test_drawn_pipelines_agree(number: int) -> None:
    rng = np.random.default_rng(number)
    frame = people(rng)
    if number % 2:
        frame = with_gaps(frame, rng)
    numbers = make_pipeline(turn(GAP_FILLERS, number)(), turn(SCALERS, number)())
    steps = ColumnTransformer(
        [
            ("words", turn(ENCODERS, number)(), WORDS),
            ("scaled", numbers, ["hours", "pay"]),
            ("binned", turn(BINS, number)(), ["age"]),
            ("coded", turn(ENCODERS[:10], number + 3)(), ["kids"]),
        ],
        remainder=rng.choice(["drop", "passthrough"]),
        sparse_threshold=rng.choice([0.0, 0.3, 1.0]),
    )
    outputs = ["pandas", "default"] if number % 2 else ["default"]
    for output, name in product(outputs, np.roll(sorted(MODELS), number)):
        steps.set_output(transform=output)
        try:
            pipeline = fitted(steps, frame, rng, MODELS[name]())
            break
        except (ValueError, TypeError):
            continue  # scikit-learn refuses the combination
    else:
        pytest.fail("scikit-learn fits no model behind these steps")
    ensemble = check(pipeline, rng, frame)
    if number % 3 == 0:
        same_refusals(pipeline, ensemble, probe_frame(ensemble, rng, 1))


@pytest.mark.parametrize("model", sorted(MODELS))
def test_raw_columns_keep_their_names_and_kinds(model: str) -> None:
    rng = np.random.default_rng(0)
    frame = people(rng)
    steps = ColumnTransformer(
        [
            ("numbers", StandardScaler(), NUMBERS),
            ("words", OneHotEncoder(sparse_output=False), ["sex", "race", "kids"]),
        ]
    )
    pipeline = fitted(steps, frame, rng, MODELS[model]())
    ensemble = check(pipeline, rng, frame)
    names = [feature.name for feature in ensemble.features]
    assert names == ["age", "hours", "pay", "kids", "sex", "race"]
    kids, sex = ensemble.features[3:5]
    assert isinstance(kids, Categorical)
    assert kids.categories == (0, 1, 2, 3)
    assert isinstance(sex, Categorical)
    assert sex.categories == ("F", "M")
    assert not sex.accepts_unknown
    assert len(ensemble.trees) == len(fatt.load(pipeline[-1]).ensemble.trees)
    assert "Pipeline" in ensemble.source.model
    with pytest.raises(DataError, match="'sex' is 'X'"):
        ensemble.predict(frame.assign(sex="X"))
    with pytest.raises(DataError, match="float32"):
        ensemble.predict(frame.assign(pay=frame["pay"].astype(np.float32)))


@pytest.mark.parametrize(
    "selection",
    [
        [0, 2],
        ["age", "pay"],
        slice(0, 3),
        slice("age", "pay"),
        [True, False, True, False, False, False],
        make_column_selector(dtype_include="number"),
        [-5, -4],
    ],
)
def test_columns_may_be_chosen_in_any_way(selection: Any) -> None:
    rng = np.random.default_rng(1)
    frame = people(rng)
    steps = ColumnTransformer(
        [("numbers", MinMaxScaler(), selection), ("words", OneHotEncoder(), WORDS)]
    )
    check(fitted(steps, frame, rng, DecisionTreeClassifier()), rng, frame)


def test_columns_that_no_step_reads_are_no_features_of_named_tables() -> None:
    rng = np.random.default_rng(2)
    frame = people(rng).assign(note="free text")
    steps = ColumnTransformer(
        [("numbers", "passthrough", ["pay", "age"]), ("gone", "drop", ["kids"])]
    )
    pipeline = fitted(steps, frame, rng, DecisionTreeClassifier(random_state=0))
    ensemble = check(pipeline, rng, frame)
    assert [feature.name for feature in ensemble.features] == ["age", "pay"]
    agree(pipeline, ensemble, frame.drop(columns=["note", "kids"]))


def test_columns_that_no_step_reads_keep_their_place_in_arrays() -> None:
    rng = np.random.default_rng(3)
    frame = people(rng)
    array = frame.to_numpy(dtype=object)
    steps = ColumnTransformer(
        [("words", OneHotEncoder(), [4]), ("ages", MinMaxScaler(), [0])]
    )
    pipeline = make_pipeline(steps, DecisionTreeClassifier(random_state=0))
    pipeline.fit(array, labels_for(frame, rng))
    ensemble = fatt.load(pipeline).ensemble
    agree(pipeline, ensemble, array)
    assert len(ensemble.features) == array.shape[1]
    assert ensemble.features[5] == Categorical(name="x5", categories=())
    array[0, 5], array[1, 5], array[2, 5] = None, 3.0, "anything"
    agree(pipeline, ensemble, array)


def test_one_raw_column_may_feed_several_steps() -> None:
    rng = np.random.default_rng(4)
    frame = with_gaps(people(rng), rng)
    steps = ColumnTransformer(
        [
            ("bins", BINS[2](), ["age", "kids"]),
            ("scaled", StandardScaler(), ["age", "hours"]),
            ("plain", "passthrough", ["age", "kids"]),
            ("flags", SimpleImputer(add_indicator=True), ["hours"]),
            ("codes", OneHotEncoder(handle_unknown="ignore"), ["kids"]),
        ]
    )
    pipeline = fitted(steps, frame, rng, RandomForestClassifier(10, random_state=0))
    ensemble = check(pipeline, rng, frame)
    assert isinstance(ensemble.features[0], Numeric)
    assert ensemble.features[0].edges
    assert [feature.name for feature in ensemble.features] == ["age", "hours", "kids"]


@pytest.mark.parametrize("flag", [False, True])
def test_numbers_that_stand_for_missing_are_imputed(flag: bool) -> None:
    rng = np.random.default_rng(5)
    frame = people(rng)
    steps = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(
                    SimpleImputer(missing_values=0.1, add_indicator=flag),
                    RobustScaler(),
                ),
                ["hours"],
            ),
            ("others", "passthrough", ["pay"]),
        ]
    )
    pipeline = fitted(steps, frame, rng, RandomForestClassifier(10, random_state=0))
    ensemble = check(pipeline, rng, frame)
    assert ensemble.features[0].edges
    with pytest.raises(DataError, match="'hours' is missing"):
        ensemble.predict(frame.assign(hours=np.nan))


def test_words_that_stand_for_missing_are_imputed() -> None:
    rng = np.random.default_rng(6)
    frame = people(rng)
    frame["race"] = frame["race"].replace("other", "?").astype(object)
    steps = make_pipeline(
        SimpleImputer(missing_values="?", strategy="most_frequent"),
        OneHotEncoder(drop="first"),
    )
    pipeline = fitted(
        ColumnTransformer([("race", steps, ["race"]), ("pay", "passthrough", ["pay"])]),
        frame,
        rng,
        DecisionTreeClassifier(random_state=0),
    )
    ensemble = check(pipeline, rng, frame)
    race = ensemble.features[1]
    assert isinstance(race, Categorical)
    assert race.categories == ("black", "rare", "white", "?")


def test_imputers_may_drop_columns_and_keep_empty_ones() -> None:
    rng = np.random.default_rng(7)
    frame = people(rng).assign(empty=np.nan)
    for keep in (False, True):
        imputer = SimpleImputer(keep_empty_features=keep, add_indicator=True)
        steps = ColumnTransformer([("all", imputer, ["pay", "empty", "age"])])
        pipeline = fitted(steps, frame, rng, DecisionTreeClassifier(random_state=0))
        ensemble = check(pipeline, rng, frame)
        assert [feature.name for feature in ensemble.features] == [
            "age",
            "pay",
            "empty",
        ]


@pytest.mark.parametrize("model", ["tree", "forest", "boosting", "xgboost", "lightgbm"])
@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_sparse_tables_are_read_as_the_model_reads_them(
    model: str, threshold: float
) -> None:
    # To XGBoost a zero that a sparse matrix does not store is missing.
    rng = np.random.default_rng(8)
    frame = people(rng)
    steps = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), ["sex", "race", "kids"]),
            ("scaled", MinMaxScaler(), ["age", "pay"]),
            ("plain", "passthrough", ["hours"]),
        ],
        sparse_threshold=threshold,
    )
    pipeline = fitted(steps, frame, rng, MODELS[model]())
    assert pipeline[0].sparse_output_ == (threshold > 0)
    check(pipeline, rng, frame)


def test_tiny_numbers_in_sparse_tables_are_not_zero_to_lightgbm() -> None:
    limit = float(np.float32(1e-35))
    frame = pd.DataFrame({"gain": [-1.0, 0.0, 1.0] * 20, "sex": ["F", "M"] * 30})
    steps = ColumnTransformer(
        [("gain", "passthrough", ["gain"]), ("sex", OneHotEncoder(), ["sex"])],
        sparse_threshold=1.0,
    )
    pipeline = make_pipeline(steps, lgbm()).fit(frame, frame["gain"] < 0)
    ensemble = fatt.load(pipeline).ensemble
    tiny = [-limit, limit, -1e-36, 5e-324, 0.0, -2 * limit]
    rows = pd.DataFrame({"gain": tiny, "sex": "M"})
    agree(pipeline, ensemble, rows)
    assert pipeline.predict(rows).tolist() == [True, False, False, False, False, True]


def test_scalers_multiply_sparse_columns() -> None:
    rng = np.random.default_rng(9)
    frame = people(rng)
    steps = make_pipeline(
        ColumnTransformer(
            [("words", OneHotEncoder(), WORDS), ("pay", "passthrough", ["pay", "age"])],
            sparse_threshold=1.0,
        ),
        StandardScaler(with_mean=False),
        MaxAbsScaler(),
    )
    check(fitted(steps, frame, rng, DecisionTreeClassifier(random_state=0)), rng, frame)


def test_xgboost_with_two_kinds_of_missing_numbers_is_refused() -> None:
    rng = np.random.default_rng(10)
    frame = people(rng)
    steps = ColumnTransformer(
        [("words", OneHotEncoder(), WORDS), ("kids", "passthrough", ["kids"])],
        sparse_threshold=1.0,
    )
    pipeline = fitted(steps, frame, rng, xgb(missing=2))
    with pytest.raises(UnsupportedModelError, match="sparse_output=False"):
        fatt.load(pipeline)


@pytest.mark.parametrize("model", ["histogram", "lightgbm", "xgboost"])
def test_pandas_output_hands_on_categories(model: str) -> None:
    rng = np.random.default_rng(11)
    frame = people(rng).astype({"sex": "category", "race": "category"})
    steps = ColumnTransformer(
        [("numbers", StandardScaler(), NUMBERS)], remainder="passthrough"
    ).set_output(transform="pandas")
    options = {"enable_categorical": True} if model == "xgboost" else {}
    final = MODELS[model](**options) if options else MODELS[model]()
    pipeline = fitted(steps, frame, rng, final)
    ensemble = fatt.load(pipeline).ensemble
    agree(pipeline, ensemble, frame)
    sex = ensemble.features[4]
    assert isinstance(sex, Categorical)
    assert sex.name == "sex"
    assert sex.categories == ("F", "M")


def test_categories_of_the_model_may_be_codes_of_an_encoder() -> None:
    rng = np.random.default_rng(12)
    frame = with_gaps(people(rng), rng)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    steps = ColumnTransformer([("words", encoder, WORDS)], remainder="passthrough")
    model = HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=5, categorical_features=[0, 1]
    )
    check(fitted(steps, frame, rng, model), rng, frame)


@pytest.mark.parametrize("absent", [None, np.nan])
def test_none_and_nan_are_two_things_to_encoders(absent: float | None) -> None:
    rng = np.random.default_rng(13)
    frame = people(rng)
    race = frame["race"].astype(object)
    race[rng.random(len(race)) < 0.3] = absent
    steps = ColumnTransformer(
        [("words", OneHotEncoder(handle_unknown="ignore"), ["race"])]
    )
    frame["race"] = pd.Series(race, dtype=object)
    pipeline = fitted(steps, frame, rng, DecisionTreeClassifier(random_state=0))
    ensemble = check(pipeline, rng, frame)
    for other in (None, np.nan, pd.NA):
        rows = frame.assign(race=pd.Series([other] * len(frame), dtype=object))
        agree(pipeline, ensemble, rows)


def test_none_and_nan_together_are_refused() -> None:
    rng = np.random.default_rng(14)
    frame = people(rng)
    race = frame["race"].astype(object)
    race[0], race[1] = None, np.nan
    frame["race"] = race
    steps = ColumnTransformer([("words", OneHotEncoder(), ["race"])])
    pipeline = fitted(steps, frame, rng, DecisionTreeClassifier())
    with pytest.raises(UnsupportedModelError, match="None and NaN"):
        fatt.load(pipeline)


def test_imputers_overlook_none_among_objects() -> None:
    rng = np.random.default_rng(15)
    frame = with_gaps(people(rng), rng)
    steps = ColumnTransformer(
        [("hours", SimpleImputer(strategy="most_frequent"), ["hours"])]
    )
    pipeline = fitted(steps, frame, rng, DecisionTreeClassifier())
    rows = frame.assign(
        hours=frame["hours"].astype(object).where(frame["hours"] > 1, None)
    )
    with pytest.raises(DataError, match="pass float64"):
        fatt.load(pipeline).predict(rows)


def test_polars_frames_and_bool_columns() -> None:
    rng = np.random.default_rng(16)
    frame = people(rng).assign(owner=rng.random(120) < 0.5)
    table = pl.from_pandas(frame)
    steps = ColumnTransformer(
        [
            ("words", OneHotEncoder(), [*WORDS, "owner"]),
            ("numbers", StandardScaler(), ["age", "pay"]),
        ]
    )
    pipeline = make_pipeline(steps, RandomForestClassifier(5, random_state=0))
    pipeline.fit(table, labels_for(frame, rng))
    ensemble = fatt.load(pipeline).ensemble
    agree(pipeline, ensemble, table)
    agree(pipeline, ensemble, frame)
    assert ensemble.features[-1].categories == (False, True)  # type: ignore[union-attr]


def test_nested_pipelines_and_steps_that_do_nothing() -> None:
    rng = np.random.default_rng(17)
    frame = people(rng)
    steps = Pipeline(
        [
            ("nothing", "passthrough"),
            ("identity", FunctionTransformer()),
            (
                "columns",
                ColumnTransformer(
                    [
                        (
                            "a",
                            Pipeline([("b", None), ("c", StandardScaler())]),
                            ["age"],
                        ),
                        ("d", FunctionTransformer(), ["pay"]),
                        ("e", OneHotEncoder(), []),
                    ]
                ),
            ),
            ("again", MinMaxScaler()),
            ("bins", BINS[0]()),
        ]
    )
    check(fitted(steps, frame, rng, DecisionTreeClassifier()), rng, frame)


def test_pipeline_without_any_work_is_its_model() -> None:
    rng = np.random.default_rng(18)
    frame = people(rng)[NUMBERS]
    labels = (frame["pay"] > 0).to_numpy()
    pipeline = make_pipeline("passthrough", DecisionTreeClassifier()).fit(frame, labels)
    assert fatt.load(pipeline).ensemble == fatt.load(pipeline[-1]).ensemble


def test_what_overflows_in_a_scaler_is_refused_as_by_the_model() -> None:
    rng = np.random.default_rng(19)
    frame = people(rng)
    frame["pay"] *= 1e-300
    for model in ("tree", "histogram", "lightgbm", "xgboost"):
        steps = ColumnTransformer([("numbers", StandardScaler(), NUMBERS)])
        pipeline = fitted(steps, frame, rng, MODELS[model]())
        ensemble = check(pipeline, rng, frame)
        same_refusals(pipeline, ensemble, frame)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (PCA(2), "PCA is not supported: it mixes columns"),
        (Normalizer(), "Normalizer is not supported: it mixes columns"),
        (FunctionTransformer(np.exp), "a FunctionTransformer calls exp"),
        (
            ColumnTransformer(
                [("a", MinMaxScaler(), [0])], transformer_weights={"a": 2.0}
            ),
            "transformer_weights",
        ),
        (KBinsDiscretizer(3, dtype=np.float32, quantile_method="linear"), "float32"),
    ],
)
def test_other_steps_are_refused_by_name(steps: Any, message: str) -> None:
    X = np.arange(12.0).reshape(6, 2) % 5
    pipeline = make_pipeline(steps, DecisionTreeClassifier()).fit(X, [0, 1] * 3)
    with pytest.raises(UnsupportedModelError, match=message):
        fatt.load(pipeline)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("sparse", [False, True])
def test_arithmetic_on_narrow_codes_is_refused(dtype: Any, sparse: bool) -> None:
    # scikit-learn would compute in float32.
    rng = np.random.default_rng(21)
    frame = people(rng)[["race"]]
    encoder = OneHotEncoder(dtype=dtype) if sparse else OrdinalEncoder(dtype=dtype)
    labels = rng.integers(0, 2, len(frame))
    later = StandardScaler(with_mean=False)
    pipeline = make_pipeline(encoder, later, DecisionTreeClassifier())
    if dtype == np.float32 or not sparse:
        pipeline.fit(frame, labels)
        message = "'standardscaler': it computes.*without dtype"
        with pytest.raises(UnsupportedModelError, match=message):
            fatt.load(pipeline)
    if dtype == np.float32:
        alone = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame, labels)
        agree(alone, fatt.load(alone).ensemble, frame)


def test_whole_codes_may_be_computed_with() -> None:
    rng = np.random.default_rng(22)
    frame = people(rng)
    coded = make_pipeline(OrdinalEncoder(dtype=np.int8), StandardScaler())
    steps = ColumnTransformer([("words", coded, WORDS), ("pay", "passthrough", [2])])
    check(fitted(steps, frame, rng, RandomForestClassifier(5)), rng, frame)


def test_unknown_numbers_that_become_missing_are_imputed() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan] * 20})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    imputed = make_pipeline(encoder, SimpleImputer(strategy="most_frequent"))
    steps = ColumnTransformer([("s", StandardScaler(), ["a"]), ("o", imputed, ["a"])])
    model = RandomForestClassifier(20, random_state=0)
    pipeline = make_pipeline(steps, model).fit(frame, [0, 1, 1, 0] * 20)
    ensemble = check(pipeline, np.random.default_rng(23), frame)
    rows = pd.DataFrame({"a": [1.0, 1.5, 2.0, 2.5, 9.0, -3.0]})
    agree(pipeline, ensemble, rows)


def test_codes_may_be_imputed() -> None:
    rng = np.random.default_rng(31)
    frame = with_gaps(people(rng), rng)
    steps = make_pipeline(OrdinalEncoder(), SimpleImputer(strategy="most_frequent"))
    columns = ColumnTransformer([("race", steps, ["race", "sex"])])
    pipeline = fitted(columns, frame, rng, RandomForestClassifier(5, random_state=0))
    check(pipeline, rng, frame)


@pytest.mark.parametrize("encoder", [None, OneHotEncoder])
def test_statistics_that_the_columns_type_cannot_hold_are_refused(encoder: Any) -> None:
    """The imputer writes 2.5 into a column of integers as 2; float32 rounds 0.1."""
    rng = np.random.default_rng(24)
    for old, most in ((-1, 2.5), (np.nan, 0.1)):
        values = rng.choice([old, most, most, most, 2, 3, 4], (200, 1))
        imputer = SimpleImputer(missing_values=old, strategy="most_frequent")
        steps = [imputer, *([encoder(handle_unknown="ignore")] if encoder else [])]
        model = DecisionTreeClassifier(random_state=0)
        pipeline = make_pipeline(*steps, model).fit(values, values[:, 0] == most)
        if old == -1:
            with pytest.raises(UnsupportedModelError, match=r"writes 2\.5 in place of"):
                fatt.load(pipeline)
            continue
        ensemble = fatt.load(pipeline).ensemble
        agree(pipeline, ensemble, values)
        with pytest.raises(DataError, match=r"float32, in which .*\.astype\(float\)"):
            ensemble.predict(np.float32([[0.1], [4]]))


@pytest.mark.parametrize("strategy", ["mean", "most_frequent"])
def test_statistics_that_fit_are_taken_in_integers(strategy: str) -> None:
    rng = np.random.default_rng(25)
    values = rng.choice([-1, 3, 3, 5, 6], (200, 1))
    imputer = SimpleImputer(missing_values=-1, strategy=strategy)
    model = DecisionTreeClassifier(random_state=0)
    pipeline = make_pipeline(imputer, model).fit(values, values[:, 0] < 4)
    agree(pipeline, fatt.load(pipeline).ensemble, values)


def test_small_integers_that_cannot_hold_a_statistic_are_refused() -> None:
    values = np.array([[-1.0], [300.0], [300.0], [1.0], [44.0]] * 9)
    imputer = SimpleImputer(missing_values=-1, strategy="most_frequent")
    model = DecisionTreeClassifier(random_state=0)
    pipeline = make_pipeline(imputer, model).fit(values, values[:, 0] > 100)
    ensemble = fatt.load(pipeline).ensemble
    agree(pipeline, ensemble, values)
    with pytest.raises(DataError, match="int8"):
        ensemble.predict(np.array([[-1], [44]], dtype=np.int8))


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[D]", "timedelta64[ns]"])
def test_dates_are_refused_by_name(kind: str) -> None:
    # Those in nanoseconds would become plain integers.
    dates = np.array([1, 2, 3] * 10).astype(kind)
    labels = np.array([0, 1, 1] * 10)
    coded = make_pipeline(OneHotEncoder(), DecisionTreeClassifier())
    with pytest.raises(UnsupportedModelError, match="strings, numbers and booleans"):
        fatt.load(coded.fit(dates[:, np.newaxis], labels))
    numbers = labels[:, np.newaxis].astype(float)
    for values in (dates, dates.astype(object) if "D" in kind else dates):
        model = DecisionTreeClassifier().fit(numbers, labels)
        model.classes_ = np.unique(values)
        with pytest.raises(UnsupportedModelError, match="list of classes"):
            fatt.load(model)


def test_division_by_zero_is_refused() -> None:
    rng = np.random.default_rng(26)
    X = rng.normal(size=(100, 1))
    scaler = RobustScaler(quantile_range=(0, 100), unit_variance=True)
    pipeline = make_pipeline(scaler, MODELS["histogram"]())
    with np.errstate(all="ignore"):
        pipeline.fit(X, X[:, 0] > 0)
    assert scaler.scale_[0] == 0
    with pytest.raises(UnsupportedModelError, match=r"'robustscaler'.*by zero"):
        fatt.load(pipeline)


def test_infinity_that_an_encoder_refuses_is_refused() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 20})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    steps = ColumnTransformer([("p", "passthrough", ["a"]), ("o", encoder, ["a"])])
    pipeline = make_pipeline(steps, MODELS["histogram"]()).fit(frame, [0, 1] * 40)
    ensemble = fatt.load(pipeline).ensemble
    for cell in (np.inf, -np.inf, np.nan, 9.0):
        row = pd.DataFrame({"a": [cell]})
        assert is_taken(ensemble.predict, row) == is_taken(pipeline.predict, row), cell


def test_labels_that_are_imputed_and_dropped_are_checked() -> None:
    rng = np.random.default_rng(30)
    frame = people(rng)
    imputer = SimpleImputer(strategy="most_frequent").set_output(transform="pandas")
    filled = Pipeline(
        [("fill", imputer), ("drop", ColumnTransformer([("none", "drop", ["race"])]))]
    )
    steps = ColumnTransformer(
        [
            ("gone", filled, ["race"]),
            ("coded", OneHotEncoder(handle_unknown="ignore"), ["race"]),
            ("pay", "passthrough", ["pay"]),
        ],
        sparse_threshold=0,
    )
    pipeline = fitted(steps, frame, rng, DecisionTreeClassifier(random_state=0))
    check(pipeline, rng, frame)


def test_a_pipeline_may_end_in_a_pipeline() -> None:
    rng = np.random.default_rng(27)
    frame = people(rng)[NUMBERS]
    labels = (frame["pay"] > 0).to_numpy()
    # The inner pipeline knows its columns by name and leaves one out.
    some = ColumnTransformer([("pay", MinMaxScaler(), ["pay", "age"])])
    last = make_pipeline(some, DecisionTreeClassifier(random_state=0))
    scaler = StandardScaler().set_output(transform="pandas")
    nested = make_pipeline(scaler, make_pipeline("passthrough", last))
    nested.fit(frame, labels)
    ensemble = fatt.load(nested).ensemble
    assert ensemble.predict(frame).tolist() == nested.predict(frame).tolist()
    scores = nested.predict_proba(frame)
    assert same_bits(ensemble.raw_scores(frame), scores)


def test_refusals_name_the_way_to_the_step() -> None:
    rng = np.random.default_rng(28)
    frame = people(rng)
    inner = Pipeline([("zero", "passthrough"), ("mix", PCA(1))])
    steps = ColumnTransformer([("money", inner, ["age", "pay"])])
    pipeline = fitted(steps, frame, rng, DecisionTreeClassifier())
    path = "step 'columntransformer': transformer 'money': step 'mix': the step PCA"
    with pytest.raises(UnsupportedModelError, match=path):
        fatt.load(pipeline)


def test_thousands_of_categories_are_read_in_seconds() -> None:
    # One column is both a number and one-hot encoded: all its splits share its line.
    rng = np.random.default_rng(29)
    X = np.concatenate([np.arange(1000), rng.integers(0, 1000, 1000)])[:, np.newaxis]
    steps = ColumnTransformer(
        [
            ("codes", OneHotEncoder(handle_unknown="ignore"), [0]),
            ("number", StandardScaler(), [0]),
        ]
    )
    model = RandomForestClassifier(3, max_features=0.3, random_state=0)
    pipeline = make_pipeline(steps, model).fit(X, rng.integers(0, 2, len(X)))
    start = time.process_time()
    ensemble = fatt.load(pipeline).ensemble
    assert time.process_time() - start < 10
    agree(pipeline, ensemble, X)


def test_words_read_as_numbers_are_refused_by_name() -> None:
    frame = pd.DataFrame({"zip": ["1", "2", "3", "1"], "age": [1.0, 2.0, 3.0, 4.0]})
    steps = ColumnTransformer(
        [
            ("coded", OneHotEncoder(), ["zip"]),
            ("read", StandardScaler(), ["zip", "age"]),
        ]
    )
    pipeline = make_pipeline(steps, DecisionTreeClassifier()).fit(frame, [0, 1, 0, 1])
    with pytest.raises(UnsupportedModelError, match="'zip' is read both as numbers"):
        fatt.load(pipeline)


def test_pipelines_that_predict_nothing_are_refused() -> None:
    X = [[0.0], [1.0]]
    with pytest.raises(UnsupportedModelError, match="only transforms"):
        fatt.load(make_pipeline(StandardScaler(), "passthrough").fit(X))
    with pytest.raises(UnsupportedModelError, match="alone predicts nothing"):
        fatt.load(ColumnTransformer([("a", MinMaxScaler(), [0])]).fit(np.array(X)))
    with pytest.raises(UnsupportedModelError, match="fit"):
        fatt.load(make_pipeline(StandardScaler(), DecisionTreeClassifier()))
    tree = DecisionTreeClassifier().fit(X, [0, 1])
    unfitted = ColumnTransformer([("a", MinMaxScaler(), [0])])
    unfitted.n_features_in_ = 1
    with pytest.raises(MalformedModelError, match=r"ColumnTransformer.*not fitted"):
        fatt.load(make_pipeline(unfitted, tree))


@pytest.mark.skipif(
    not (ADULT / "adult.data").exists(), reason="the adult data is not at hand"
)
def test_adult_in_raw_columns() -> None:
    frame = pd.read_csv(
        ADULT / "adult.data", header=None, skipinitialspace=True, na_values="?"
    ).rename(columns=str)
    income = frame.pop("14")
    numbers = frame.select_dtypes("number").columns.tolist()
    words = frame.columns.drop(numbers).tolist()
    steps = ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("words", OneHotEncoder(handle_unknown="ignore"), words),
        ]
    )
    pipeline = make_pipeline(
        steps, RandomForestClassifier(20, max_depth=12, random_state=0)
    )
    train, test = frame[:8000], frame[8000:]
    ensemble = fatt.load(pipeline.fit(train, income[:8000])).ensemble
    assert [feature.name for feature in ensemble.features] == list(frame)
    agree(pipeline, ensemble, test)


@pytest.mark.parametrize("strategy", ["most_frequent", "median", "constant"])
def test_integers_behind_an_imputer_are_ordinary(strategy: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"zip": rng.choice([10115, 20095, 80331], 60)})
    y = (frame["zip"] == 10115).astype(int)
    for encoder in (OneHotEncoder(handle_unknown="ignore"), "passthrough"):
        imputer = SimpleImputer(strategy=strategy)
        model = make_pipeline(imputer, encoder, DecisionTreeClassifier()).fit(frame, y)
        ensemble = fatt.load(model).ensemble
        assert np.array_equal(ensemble.predict(frame), model.predict(frame))


def test_nullable_booleans_are_numbers_to_an_encoder() -> None:
    rng = np.random.default_rng(0)
    flags = pd.array(rng.random(80) < 0.5, dtype="boolean")
    flags[rng.random(80) < 0.3] = pd.NA
    frame = pd.DataFrame({"flag": flags})
    y = frame["flag"].isna().to_numpy().astype(int)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame, y)
    assert np.array_equal(fatt.load(model).predict(frame), model.predict(frame))


@pytest.mark.parametrize("output", ["default", "pandas"])
@pytest.mark.parametrize("fitted", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("strategy", ["mean", "most_frequent", "constant"])
@pytest.mark.parametrize("between", [(), (StandardScaler(),), (SimpleImputer(),)])
def test_imputers_take_all_types_of_numbers(
    strategy: str, fitted: str, between: Any, output: str
) -> None:
    """The library refuses booleans and, of a constant, some whole numbers."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, 60)
    imputer = SimpleImputer(strategy=strategy)
    model = make_pipeline(imputer, *between, DecisionTreeClassifier())
    model.set_output(transform=output)
    train = pd.DataFrame({"x": values.astype(fitted)})
    ensemble = fatt.load(model.fit(train, values)).ensemble
    for kind in ["f8", "f4", "i8", "i4", "i1", "u8", "u4", "u1", "bool"]:
        rows = pd.DataFrame({"x": values.astype(kind)})
        for table in (rows, rows[:1], pl.from_pandas(rows)):
            try:
                expected = model.predict(table).tolist()
            except ValueError:
                continue
            if kind == "f4":
                # Then the steps would compute in float32, which is refused.
                continue
            assert ensemble.predict(table).tolist() == expected


def test_an_imputer_of_several_columns_takes_them_together() -> None:
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"a": rng.integers(0, 5, 60), "b": rng.normal(size=60)})
    imputer = SimpleImputer(strategy="constant", fill_value=0)
    model = make_pipeline(imputer, DecisionTreeClassifier())
    model.fit(numbers, numbers["a"] > 2)
    ensemble = fatt.load(model).ensemble
    assert ensemble.predict(numbers).tolist() == model.predict(numbers).tolist()
