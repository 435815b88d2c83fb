from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.errors import DataError, SpecError
from fatt.region import (
    Binary,
    Category,
    Integer,
    Number,
    OneHot,
    Ordinal,
    Schema,
    Variables,
)
from fatt.region.kinds import AnyVariable
from tests.probes import candidates, same_bits
from tests.region import town
from tests.strategies import random_ensemble


def random_variables(ensemble: Ensemble, rng: np.random.Generator) -> Variables:
    """Make groups, levels and whole numbers of the numeric columns, by chance."""
    found: list[AnyVariable] = []
    numeric = [f.name for f in ensemble.features if isinstance(f, Numeric)]
    for feature in ensemble.features:
        if isinstance(feature, Categorical):
            found.append(Category(name=feature.name, columns=feature.name))
    while numeric:
        columns = tuple(numeric[: rng.integers(1, 4)])
        numeric = numeric[len(columns) :]
        name = f"variable {columns[0]}"
        kind = int(rng.integers(5)) if len(columns) == 1 else 0
        if kind == 0:
            zero = int(rng.integers(3))
            found.append(
                OneHot(
                    name=name,
                    columns=columns,
                    dropped="none" if zero == 1 else None,
                    accepts_unknown=zero == 2,
                )
            )
        elif kind == 1:
            found.append(Binary(name=name, columns=columns))
        elif kind == 2:
            index = [f.name for f in ensemble.features].index(columns[0])
            pool = candidates(ensemble, index)
            pool = np.unique(pool[np.isfinite(pool)] + 0.0)
            count = min(len(pool), int(rng.integers(2, 90)))
            picked = rng.choice(pool, size=count, replace=False).tolist()
            found.append(
                Ordinal(
                    name=name,
                    columns=columns,
                    levels=tuple(picked[1:]),
                    unknown_value=picked[0] if rng.integers(2) else None,
                )
            )
        else:
            found.append((Integer if kind == 3 else Number)(name=name, columns=columns))
    columns = tuple(feature.name for feature in ensemble.features)
    return Variables(ensemble, Schema(columns=columns, variables=tuple(found)))


def random_values(
    variables: Variables, rng: np.random.Generator, n_rows: int
) -> np.ndarray[Any, Any]:
    values = np.empty((n_rows, len(variables.ensemble.features)))
    for index, feature in enumerate(variables.ensemble.features):
        if isinstance(feature, Categorical):
            pool = np.arange(len(feature.categories) + feature.accepts_unknown) * 1.0
            pool = np.append(pool, [np.nan] * feature.accepts_missing)
        else:
            pool = candidates(variables.ensemble, index)
            if feature.integer:
                pool = np.unique(np.round(pool))
        values[:, index] = rng.choice(pool, size=n_rows)
    return values


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_merged_models_score_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_ensemble(seed)
    variables = random_variables(model, rng)
    merged = variables.ensemble
    values = random_values(variables, rng, 200)
    rows = variables.scatter(values)
    np.testing.assert_array_equal(variables.gather(rows), values)
    np.testing.assert_array_equal(variables.scatter(variables.gather(rows)), rows)
    ours = merged._scores(merged.mark_missing(values))
    theirs = model._scores(model.mark_missing(rows))
    assert same_bits(ours, theirs)
    assert merged.classes == model.classes
    assert merged.decision == model.decision
    assert [f.name for f in merged.features] == [
        v.name for v in variables.schema.variables
    ]


def people(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    race = pd.Series(rng.choice(["a", "b", "c"], n_rows), name="race")
    frame = pd.get_dummies(race, prefix="race", prefix_sep="=", dtype=float)
    frame.insert(1, "age", rng.integers(17, 90, n_rows))
    frame["sex=male"] = rng.integers(2, size=n_rows).astype(float)
    frame["income"] = rng.normal(size=n_rows)
    frame["job=x"] = (rng.random(n_rows) < 0.3) * 1.0
    frame["job=y"] = (rng.random(n_rows) < 0.5) * (1 - frame["job=x"])
    return frame


def labels(frame: pd.DataFrame) -> Any:
    rng = np.random.default_rng(1)
    return (
        frame["race=a"] * frame["income"]
        + frame["sex=male"]
        + frame["age"] / 50
        + rng.normal(size=len(frame))
        > 1.5
    ).astype(int)


def model_of(kind: str, frame: pd.DataFrame) -> Any:
    if kind == "forest":
        model: Any = RandomForestClassifier(12, random_state=0)
    elif kind == "histogram":
        model = HistGradientBoostingClassifier(max_iter=20)
    else:
        import xgboost

        # Zeros are missing: half of the patterns go the way of missing values.
        missing = 0.0 if kind == "xgboost, 0 missing" else np.nan
        model = xgboost.XGBClassifier(n_estimators=20, missing=missing)
    return model.fit(frame, labels(frame))


KINDS = [
    "forest",
    "histogram",
    pytest.param("xgboost", marks=pytest.mark.xgboost),
    pytest.param("xgboost, 0 missing", marks=pytest.mark.xgboost),
]


@pytest.mark.parametrize("kind", KINDS)
def test_real_models_score_alike(kind: str) -> None:
    frame = people(500)
    model = fatt.load(model_of(kind, frame)).ensemble
    variables = Variables(model, Schema.infer(model, frame))
    merged = variables.ensemble
    assert [f.name for f in merged.features] == ["race", "age", "sex", "income", "job"]
    assert [isinstance(f, Categorical) for f in merged.features] == [
        True,
        False,
        True,
        False,
        True,
    ]
    fresh = people(300, seed=3)
    values = variables.gather(model.read(fresh))
    ours = merged._scores(merged.mark_missing(values))
    assert same_bits(ours, model.raw_scores(fresh))
    np.testing.assert_array_equal(variables.scatter(values), model.read(fresh))
    # Trees split on the columns, or the test tells nothing.
    assert (merged.trees.nodes["subset"] >= 0).sum() > 10


def test_nothing_to_merge_changes_nothing() -> None:
    model = random_ensemble(5)
    assert Variables(model, Schema.from_ensemble(model)).ensemble is model


def test_patterns_and_codes() -> None:
    variables = town.variables()
    rows = np.zeros((4, len(town.FEATURES)))
    columns = [f.name for f in town.FEATURES]
    rows[:, columns.index("grade")] = [1, 5, -7, np.nan]
    a, b = columns.index("race=A"), columns.index("race=B")
    rows[:, [a, b]] = [[1, 0], [0, 1], [0, 0], [np.nan, np.nan]]
    rows[:, columns.index("sex=male")] = [0, 1, 1, np.nan]
    x, y = columns.index("job x"), columns.index("job y")
    rows[:, [x, y]] = [[1, 0], [0, 1], [0, 0], [0, 0]]
    values = variables.gather(rows)
    by_name = dict(zip(town.NAMES, values.T.tolist(), strict=True))
    np.testing.assert_equal(by_name["grade"], [0.0, 2.0, 3.0, np.nan])
    np.testing.assert_equal(by_name["race"], [0.0, 1.0, 2.0, np.nan])
    np.testing.assert_equal(by_name["sex"], [0.0, 1.0, 1.0, np.nan])
    np.testing.assert_equal(by_name["job"], [0.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(variables.scatter(values), rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grade": 3.0}, "row 1: column 'grade' is 3.0, which is no level"),
        ({"race=A": 1.0, "race=B": 1.0}, "row 1: .*'race' .*race=A, race=B"),
        ({"race=A": 0.5}, "row 1: .*'race'"),
        ({"race=A": np.nan}, "row 1: .*'race'"),
        ({"sex=male": 2.0}, "row 1: column 'sex=male' is 2.0"),
    ],
)
def test_rows_without_a_level_are_refused(
    changes: dict[str, float], words: str
) -> None:
    columns = [f.name for f in town.FEATURES]
    rows = np.zeros((3, len(columns)))
    rows[:, columns.index("grade")] = 1
    for name, number in changes.items():
        rows[1, columns.index(name)] = number
    with pytest.raises(DataError, match=words):
        town.variables().gather(rows)


def test_all_zero_needs_a_level() -> None:
    model = town.make((Numeric(name="a"), Numeric(name="b")))
    schema = Schema(
        columns=("a", "b"), variables=(OneHot(name="v", columns=("a", "b")),)
    )
    with pytest.raises(DataError, match="not 0 are none"):
        Variables(model, schema).gather(np.zeros((1, 2)))


@pytest.mark.parametrize("takes", [True, False])
def test_a_group_is_missing_only_if_all_columns_may_be(takes: bool) -> None:
    features = (Numeric(name="a"), Numeric(name="b", accepts_missing=takes))
    group = OneHot(name="v", columns=("a", "b"))
    schema = Schema(columns=("a", "b"), variables=(group,))
    (feature,) = Variables(town.make(features), schema).ensemble.features
    assert feature.accepts_missing == takes


@pytest.mark.parametrize(
    ("features", "kinds", "words"),
    [
        (
            (Numeric(name="a"), Numeric(name="c")),
            [Number(name="a", columns="a"), Number(name="b", columns="b")],
            "'b', which the model does not have",
        ),
        (
            (Numeric(name="a"), Numeric(name="b"), Numeric(name="c")),
            [Number(name="a", columns="a"), Number(name="b", columns="b")],
            "reads the column 'c', which the schema lacks",
        ),
        (
            (Numeric(name="a"), Categorical(name="b", categories=("x",))),
            [Number(name="a", columns="a"), Number(name="b", columns="b")],
            "'b' is a Number, and the model reads categories",
        ),
        (
            (Numeric(name="a"), Numeric(name="b", upper=9.0)),
            [Number(name="a", columns="a"), Number(name="b", columns="b", lower=10)],
            "'b' is at least 10, and what the model's library takes is at most 9",
        ),
        (
            (Numeric(name="a"), Numeric(name="b")),
            [Number(name="a", columns="a"), Category(name="b", columns="b")],
            "'b' is a Category, and the model reads numbers",
        ),
        (
            (Numeric(name="a"), Categorical(name="b", categories=("x",))),
            [OneHot(name="v", columns=("a", "b"))],
            "'v' is a OneHot",
        ),
        (
            (Numeric(name="a"), Categorical(name="b", categories=("big", "small"))),
            [
                Number(name="a", columns="a"),
                Ordinal(name="b", columns="b", levels=("smal", "big")),
            ],
            "level 'smal'.*Did you mean 'small'",
        ),
        (
            (Numeric(name="a"), Numeric(name="b")),
            [
                Number(name="a", columns="a"),
                Ordinal(name="b", columns="b", levels=("low", "high")),
            ],
            "add values=",
        ),
        (
            (Numeric(name="a"), Numeric(name="b", upper=2.0)),
            [
                Number(name="a", columns="a"),
                Ordinal(name="b", columns="b", levels=(1, 2, 3)),
            ],
            "3.0 in column 'b', which the model's library refuses",
        ),
    ],
)
def test_schemas_that_do_not_fit(features: Any, kinds: Any, words: str) -> None:
    schema = Schema(columns=("a", "b"), variables=tuple(kinds))
    with pytest.raises(SpecError, match=words):
        Variables(town.make(features), schema)


def test_columns_count_by_position_if_the_model_has_no_names() -> None:
    model = town.make((Numeric(name="x0"), Numeric(name="x1")), named=False)
    kinds = (Number(name="age", columns="age"), Binary(name="sex", columns="s"))
    variables = Variables(model, Schema(columns=("s", "age"), variables=kinds))
    assert [f.name for f in variables.ensemble.features] == ["sex", "age"]
    assert variables.gather(np.array([[1.0, 30.0]])).tolist() == [[1.0, 30.0]]
    with pytest.raises(SpecError, match="1 columns and the model reads 2"):
        Variables(model, Schema(columns=("s",), variables=kinds[1:]))
