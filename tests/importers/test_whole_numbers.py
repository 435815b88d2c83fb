"""Whole numbers of tables, on their way through steps that hand them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, UnsupportedModelError

pandas = pytest.importorskip("pandas")

DATE = np.array([20240101 + 100 * (i // 28 % 12) + i % 28 for i in range(336)])
DATES = pandas.DataFrame({"date": DATE, "n": np.arange(336) % 5})
TREE = DecisionTreeClassifier(random_state=0)
HANDING_ON = {
    "passes": make_column_transformer(("passthrough", ["date", "n"])),
    "imputes": SimpleImputer(strategy="most_frequent"),
    "selects": VarianceThreshold(),
    "validates": FunctionTransformer(None, validate=True),
    "cuts": FunctionTransformer(np.trunc),
}


def boosted(first: Any, table: Any) -> Any:
    model = LGBMClassifier(
        n_estimators=5,
        min_child_samples=1,
        min_data_in_bin=1,
        max_bin=400,
        verbose=-1,
        n_jobs=1,
    )
    turns = (DATES["date"] >= 20240112) ^ (DATES["date"] >= 20240123)
    return make_pipeline(first, model).fit(table, turns.astype(int))


@pytest.mark.parametrize("kind", HANDING_ON)
@pytest.mark.parametrize("dtype", ["int64", "Int64", "int32"])
def test_integers_that_lightgbm_rounds_behind_a_step_are_refused(
    kind: str, dtype: str
) -> None:
    """It casts arrays of integers to float32, which a frame on its own is not."""
    own = boosted(HANDING_ON[kind], DATES.astype(float))
    model, table = fatt.load(own), DATES.astype(dtype)
    rounded = own.predict(table) != own.predict(DATES.astype(float))
    # A function hands a frame on.
    assert rounded.any() or dtype == "Int64" or kind == "cuts"
    with pytest.raises(DataError, match=r"the integer 2024|has type int"):
        model.predict(table)
    gap = table.astype("Int64")
    gap.loc[0, "n"] = pandas.NA
    with pytest.raises(DataError, match=r"the integer 2024|has type int|is missing"):
        model.predict(gap)


@pytest.mark.parametrize("kind", HANDING_ON)
def test_integers_that_lightgbm_knows_are_taken(kind: str) -> None:
    table = DATES.assign(date=DATES["date"] - 20_000_000)
    own = boosted(HANDING_ON[kind], table.astype(float))
    said = own.predict(table.astype("int64"))
    assert (fatt.load(own).predict(table.astype("int64")) == said).all()


def test_floats_of_a_scaler_have_no_limit() -> None:
    own = boosted(StandardScaler(), DATES)
    assert (fatt.load(own).predict(DATES) == own.predict(DATES)).all()


def test_a_twin_in_a_column_of_integers_is_no_integer_that_is_rounded() -> None:
    """Nobody up to there gets another answer than those beyond."""
    table = DATES.assign(date=DATES["date"] - 20_240_101 + 2**24 - 5)
    own = boosted(VarianceThreshold(), table.astype(float))
    asked = table[:5].astype("int64")
    report = fatt.verify(own, asked, similarity=fatt.Similarity(noise={"date": 500}))
    assert report.counts["unfair"] == len(asked)
    for found in report.counterexamples:
        twin = asked.iloc[[found.index]].assign(date=found.changes["date"].after)
        assert own.predict(twin.astype(float)) != own.predict(asked)[found.index]


COUNTS = pandas.DataFrame({"a": np.arange(100), "b": np.arange(100) % 7})


@pytest.mark.parametrize(
    "step",
    [
        VarianceThreshold(),
        make_union(VarianceThreshold()),
        FunctionTransformer(None, validate=True),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_a_step_that_hands_on_hides_no_function(step: Any, dtype: str) -> None:
    """NumPy's logarithm of a byte has three digits, that of two bytes seven."""
    own = make_pipeline(step, FunctionTransformer(np.log1p), TREE)
    own.fit(COUNTS, COUNTS["a"] >= 30)
    with pytest.raises(DataError, match=f"has type {dtype}, in which a step"):
        fatt.load(own).predict(COUNTS.astype(dtype))


@pytest.mark.parametrize("kind", ["UInt8", "Int8", "boolean", "uint8[pyarrow]"])
@pytest.mark.parametrize("gap", [None, 7])
def test_types_of_columns_with_gaps_count(kind: str, gap: int | None) -> None:
    steps = (FunctionTransformer(np.log1p), HistGradientBoostingClassifier(max_iter=2))
    model = fatt.load(make_pipeline(*steps).fit(COUNTS, COUNTS["a"] >= 30))
    cells = [True, False, None if gap is None else True]
    if kind != "boolean":
        cells = [9, 10, gap]
    rows = pandas.DataFrame({"a": cells, "b": cells}, dtype=kind)
    name = {"boolean": "bool"}.get(kind, kind.lower().removesuffix("[pyarrow]"))
    with pytest.raises(DataError, match=f"'a' has type {name}, in which a step"):
        model.predict(rows)


def test_a_fraction_that_integers_would_round_is_refused() -> None:
    table = COUNTS.astype(float) + 0.5
    table.loc[:9, "a"] = -1
    imputer = SimpleImputer(missing_values=-1, strategy="most_frequent")
    own = make_pipeline(imputer, TREE).fit(table, table["b"] > 3)
    with pytest.raises(UnsupportedModelError, match=r"writes 10.5 in place of -1"):
        fatt.load(own)


@pytest.mark.filterwarnings("ignore:.*downcasting:Warning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["TargetEncoder", "CatBoostEncoder", "WOEEncoder"])
def test_encoders_that_turn_kinds_take_one_kind(name: str) -> None:
    library = pytest.importorskip("category_encoders")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(
        {"owner": rng.integers(0, 2, 200), "age": rng.integers(18, 80, 200)}
    )
    said = (table["owner"] == 1) ^ (table["age"] > 40)
    own = make_pipeline(getattr(library, name)(cols=["owner"]), TREE)
    model = fatt.load(own.fit(table, said.astype(int)))
    assert (model.predict(table) == own.predict(table)).all()
    for cells in (table["owner"] == 1, table["owner"].map(str)):
        for dtype in (None, object):
            with pytest.raises(DataError, match="of another kind than what the model"):
                model.predict(table.assign(owner=cells.astype(dtype or cells.dtype)))
