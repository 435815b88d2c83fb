from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical
from fatt.errors import SpecError
from fatt.region import Number, OneHot, Ordinal, Schema, Similarity, Variables
from fatt.region.space import Space


def people(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 90, 200).astype(float),
            "race": rng.choice(["A", "B_x", "C"], 200),
            "sex": rng.choice(["f", "m"], 200),
            "city": rng.choice(
                ["big", "mid", "a1", "r2"], 200, p=[0.5, 0.4, 0.06, 0.04]
            ),
            "size": rng.choice(["S", "M", "L"], 200),
            "flag": rng.choice([True, False], 200),
            "gap": rng.choice(np.array(["p", "q", np.nan], dtype=object), 200),
        }
    )


def decoded(transformer: Any, frame: pd.DataFrame) -> dict[str, list[Any]]:
    """The level of each person by variable, out of the transformed numbers alone."""
    table = transformer.transform(frame)
    table = np.asarray(table.todense() if hasattr(table, "todense") else table)
    labels = np.arange(len(table)) % 2
    model = fatt.load(DecisionTreeClassifier(max_depth=6).fit(table, labels)).ensemble
    variables = Variables(model, Schema.from_transformer(transformer))
    values = variables.gather(model.read(table))
    np.testing.assert_array_equal(variables.scatter(values), model.read(table))
    merged = variables.ensemble
    assert np.array_equal(merged._scores(values), model.raw_scores(table))
    found: dict[str, list[Any]] = {}
    for index, feature in enumerate(merged.features):
        cells = values[:, index]
        if isinstance(feature, Categorical):
            names = [*feature.categories, "unknown"]
            found[feature.name] = [
                None if np.isnan(c) else names[int(c)] for c in cells
            ]
        else:
            found[feature.name] = cells.tolist()
    return found


ENCODERS: dict[str, Any] = {
    "plain": OneHotEncoder(),
    "drop first": OneHotEncoder(drop="first"),
    "drop if binary": OneHotEncoder(drop="if_binary", sparse_output=False),
    "drop named": OneHotEncoder(drop=["B_x", "m", "mid", "M", True, "q"]),
    "ignore": OneHotEncoder(handle_unknown="ignore"),
    "rare": OneHotEncoder(min_frequency=30, handle_unknown="infrequent_if_exist"),
    "rare, drop first": OneHotEncoder(min_frequency=30, drop="first"),
    "ordinal": OrdinalEncoder(encoded_missing_value=-3),
    "rare ordinal": OrdinalEncoder(min_frequency=30, encoded_missing_value=-3),
    "nan ordinal": OrdinalEncoder(),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_levels_are_the_encoders_categories(name: str) -> None:
    frame = people()
    columns = ["race", "sex", "city", "size", "flag", "gap"]
    transformer = ColumnTransformer(
        [("num", StandardScaler(), ["age"]), ("cat", ENCODERS[name], columns)]
    )
    found = decoded(transformer.fit(frame), frame)
    assert list(found) == ["age", *columns]
    for column in columns:
        for truth, level in zip(frame[column], found[column], strict=True):
            if pd.isna(truth):
                assert level == (None if name == "nan ordinal" else "missing")
            elif name.startswith("rare") and truth in {"a1", "r2"}:
                assert level == "infrequent"
            else:
                assert level == truth


def test_unknown_values_have_no_level() -> None:
    frame = people()
    strange = frame.assign(race="Z", size="XL")
    transformer = ColumnTransformer(
        [
            ("a", OneHotEncoder(handle_unknown="ignore"), ["race"]),
            (
                "b",
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                ["size"],
            ),
        ]
    )
    found = decoded(transformer.fit(frame), strange)
    assert set(found["race"]) == {"unknown"}
    assert set(found["size"]) == {"unknown"}
    dropping = ColumnTransformer(
        [("a", OneHotEncoder(handle_unknown="ignore", drop="first"), ["race"])]
    )
    with pytest.warns(UserWarning, match="unknown categories"):
        assert set(decoded(dropping.fit(frame), strange)["race"]) == {"A"}


@pytest.mark.parametrize("number", [np.nan, -3], ids=str)
@pytest.mark.parametrize("words", [["p", "q", None], ["a", "missing", "z"]], ids=str)
def test_only_nan_has_a_number_of_its_own(words: list[Any], number: float) -> None:
    frame = pd.DataFrame({"gap": pd.Series(words * 20, dtype=object)})
    encoder = OrdinalEncoder(encoded_missing_value=number)
    transformer = ColumnTransformer([("c", encoder, ["gap"])]).fit(frame)
    expected = ["missing" if word is None else word for word in words] * 20
    assert decoded(transformer, frame) == {"gap": expected}


def test_a_twin_may_have_the_level_behind_the_word_missing() -> None:
    frame = pd.DataFrame({"gap": ["a", "missing", "z"] * 20})
    transformer = ColumnTransformer([("c", OrdinalEncoder(), ["gap"])]).fit(frame)
    table = transformer.transform(frame)
    model = DecisionTreeClassifier().fit(table, frame["gap"] == "z")
    report = fatt.verify(
        model,
        table[:1],
        similarity=Similarity(vary=["gap"]),
        schema=Schema.from_transformer(transformer),
    )
    assert report.counts["unfair"] == 1


def test_two_categories_are_not_one_level() -> None:
    frame = pd.DataFrame({"gap": pd.Series(["missing", None] * 20, dtype=object)})
    transformer = ColumnTransformer([("c", OrdinalEncoder(), ["gap"])]).fit(frame)
    with pytest.raises(SpecError, match="each once; it has 'missing', 'missing'"):
        Schema.from_transformer(transformer)


def test_a_word_for_missing_stands_beside_nan() -> None:
    frame = pd.DataFrame(
        {"gap": pd.Series(["missing", "p", np.nan] * 20, dtype=object)}
    )
    transformer = ColumnTransformer([("c", OrdinalEncoder(), ["gap"])]).fit(frame)
    assert decoded(transformer, frame) == {"gap": ["missing", "p", None] * 20}


@pytest.mark.parametrize(
    "chosen",
    [["race", "sex"], slice("race", "sex"), slice(1, 3), [1, 2], [-6, -5]],
    ids=str,
)
def test_columns_may_be_chosen_in_any_way(chosen: Any) -> None:
    frame = people()
    transformer = ColumnTransformer([("c", OneHotEncoder(), chosen)]).fit(frame)
    found = decoded(transformer, frame)
    assert found == {"race": frame["race"].tolist(), "sex": frame["sex"].tolist()}


def test_masks_callables_and_the_rest() -> None:
    frame = people()[["age", "race"]]
    transformer = ColumnTransformer(
        [("c", OneHotEncoder(), np.array([False, True]))], remainder="passthrough"
    )
    transformer.fit(frame)
    schema = Schema.from_transformer(transformer)
    assert schema.columns == ("c__race_A", "c__race_B_x", "c__race_C", "remainder__age")
    assert [v.name for v in schema.variables] == ["race", "age"]
    called = ColumnTransformer(
        [("c", OneHotEncoder(), lambda table: ["race"]), ("d", "drop", ["age"])]
    ).fit(frame)
    assert [v.name for v in Schema.from_transformer(called).variables] == ["race"]


def test_pipelines_inside() -> None:
    frame = people()
    steps = ColumnTransformer(
        [
            ("num", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
            (
                "cat",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"),
                    OneHotEncoder(),
                ),
                ["gap", "sex"],
            ),
            ("bins", KBinsDiscretizer(3, encode="onehot-dense"), ["age"]),
            ("scaled", make_pipeline(OrdinalEncoder(), StandardScaler()), ["size"]),
        ]
    ).fit(frame)
    found = Schema.from_transformer(steps).variables
    assert [(type(v), v.name, len(v.columns)) for v in found] == [
        (Number, "age", 1),
        (OneHot, "gap", 2),
        (OneHot, "sex", 2),
        (Number, "bins__age_0.0", 1),
        (Number, "bins__age_1.0", 1),
        (Number, "bins__age_2.0", 1),
        (Number, "size", 1),
    ]


def test_one_column_in_two_steps_gives_two_names() -> None:
    transformer = ColumnTransformer(
        [("a", OneHotEncoder(), ["size"]), ("b", OrdinalEncoder(), ["size"])]
    ).fit(people())
    found = Schema.from_transformer(transformer).variables
    assert [(type(v), v.name) for v in found] == [
        (OneHot, "a__size_L"),
        (Ordinal, "b__size"),
    ]


def test_names_of_columns_and_variables_work() -> None:
    frame = people()
    transformer = ColumnTransformer(
        [("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(), ["race", "sex"])]
    ).set_output(transform="pandas")
    transformer.set_params(c__sparse_output=False)
    table = transformer.fit_transform(frame)
    model = fatt.load(
        DecisionTreeClassifier(max_depth=3).fit(table, frame["flag"])
    ).ensemble
    variables = Variables(model, Schema.from_transformer(transformer))
    values = variables.gather(model.read(table))
    first = Space(Similarity(noise={"age": 0.3}, vary=["race"]), variables).boxes(
        values
    )
    second = Space(
        Similarity(noise={"n__age": 0.3}, vary=["c__race_C"]), variables
    ).boxes(values)
    np.testing.assert_array_equal(first.lower, second.lower)
    np.testing.assert_array_equal(first.codes, second.codes)
    assert first.codes[0, 0] == 0b111


def test_what_is_no_fitted_transformer_is_refused() -> None:
    with pytest.raises(SpecError, match="fitted ColumnTransformer"):
        Schema.from_transformer(ColumnTransformer([("a", OneHotEncoder(), ["x"])]))
    with pytest.raises(SpecError, match="fitted ColumnTransformer"):
        Schema.from_transformer(StandardScaler())
