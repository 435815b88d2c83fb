"""Twins in tables of the user's own kind: what is written is what the model reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from fatt.ensemble.encoding import encode
from fatt.ensemble.plain import PlainReader
from fatt.people.edits import with_changes
from tests.strategies import random_trees

CITIES = ("Bonn", "Köln", "Ulm")
FEATURES: tuple[Feature, ...] = (
    Numeric(name="age"),
    Numeric(name="hours"),
    Numeric(name="flag"),
    Categorical(name="city", categories=CITIES),
    Categorical(name="level", categories=(1, 2, 3)),
)
Matrix = NDArray[np.float64]


def model(features: tuple[Feature, ...] = FEATURES, **inputs: Any) -> Ensemble:
    drawn = random_trees(np.random.default_rng(0), features, 2, "float64")
    return Ensemble(
        features=features,
        classes=("no", "yes"),
        trees=Trees.lay_out(**drawn, targets=np.full(len(drawn["roots"]), -1)),
        scoring=Scoring(dtype="float64", base=(0.0, 0.0)),
        decision=Argmax(),
        inputs=Inputs(**inputs),
        source=Source(library="random"),
    )


def people() -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "name": ["Ann", "Bob", "Cid", "Dan"],
            "level": [1, 2, 3, 2],
            "flag": [True, False, True, False],
            "city": ["Bonn", "Ulm", "Köln", "Ulm"],
            "hours": [1.5, 2.5, 3.5, 4.5],
            "age": [20, 30, 40, 50],
        },
        index=[3, 1, 4, 1],
    )
    return table.astype({"city": object})


def plain(table: pd.DataFrame) -> pd.DataFrame:
    return table.reset_index(drop=True)


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "objects": lambda table: table,
    "text": lambda table: table.astype({"city": "str"}),
    "categories": lambda table: table.astype({"city": "category", "level": "category"}),
    "small": lambda table: table.astype({"age": "int8", "hours": "float32"}),
    "nullable": lambda table: table.convert_dtypes(),
    "arrow in pandas": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda table: pl.from_pandas(plain(table)),
    "polars categories": lambda table: pl.from_pandas(plain(table)).with_columns(
        pl.col("city").cast(pl.Categorical)
    ),
    "polars enum": lambda table: pl.from_pandas(plain(table)).with_columns(
        pl.col("city").cast(pl.Enum(["Ulm", "Köln", "Bonn"]))
    ),
    "arrow": lambda table: pa.Table.from_pandas(plain(table)),
    "arrow of nullable": lambda table: pa.Table.from_pandas(
        plain(table).convert_dtypes()
    ),
    "arrow categories": lambda table: pa.Table.from_pandas(
        plain(table).astype({"city": "category", "level": "category"})
    ),
    "array": lambda table: table[[f.name for f in FEATURES]].to_numpy(),
}

POOLS = [
    [20.0, 21.0, 20.5, -3.0, 300.0, np.nan, 1e300],
    [1.5, 2.0, float(np.float32(0.1)), 0.1, np.nan, np.inf],
    [0.0, 1.0, 0.5, np.nan],
    [0.0, 1.0, 2.0, 3.0, np.nan],
    [0.0, 1.0, 2.0, 3.0, np.nan],
]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_the_model_reads_the_twins(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, reader = KINDS[kind](people()), model()
    before = reader.read(table)
    after = before.copy()
    for place, pool in enumerate(POOLS):
        picks = rng.random(len(before)) < 0.4
        after[picks, place] = rng.choice(pool, picks.sum())
    twins = with_changes(table, before, after, reader)
    assert type(twins) is type(table)
    np.testing.assert_array_equal(reader.read(twins), after)
    np.testing.assert_array_equal(reader.read(table), before)
    if not isinstance(table, np.ndarray):
        assert list(pd_columns(twins)) == list(pd_columns(table))
    if isinstance(table, pa.Table):
        # In the types that the twins have, whatever pandas once held there.
        cells = twins.to_pandas()["age"].astype(float)
        np.testing.assert_array_equal(cells, after[:, 0])
    if isinstance(table, pd.DataFrame):
        assert list(twins.index) == list(table.index)
        assert twins["name"].tolist() == table["name"].tolist()


def pd_columns(table: Any) -> Any:
    return table.column_names if isinstance(table, pa.Table) else table.columns


def test_numbers_in_a_dictionary_stay_numbers_beside_words() -> None:
    coded = (Categorical(name="race", categories=("w", "b", "c"), codes=(0, 1, 2)),)
    table = pa.Table.from_pandas(
        pd.DataFrame({"race": [0.0, 1.0, 0.0]}).astype("category")
    )
    reader, after = model(coded), np.array([[0.0], [1.0], [2.0]])
    twins = with_changes(table, reader.read(table), after, reader)
    np.testing.assert_array_equal(reader.read(twins), after)


def test_types_stay_if_they_can_hold_the_twins() -> None:
    reader = model()
    for kind in ("objects", "categories", "small", "text"):
        table = KINDS[kind](people())
        before = reader.read(table)
        after = before.copy()
        after[0] = [21.0, 2.25, 0.0, 1.0, 2.0]
        twins = with_changes(table, before, after, reader)
        assert twins.dtypes.tolist() == table.dtypes.tolist()
        assert twins["age"].tolist() == [21, 30, 40, 50]
        assert twins["city"].tolist() == ["Köln", "Ulm", "Köln", "Ulm"]


def test_types_grow_if_they_cannot() -> None:
    reader = model()
    table = KINDS["small"](people())
    before = reader.read(table)
    after = before.copy()
    after[0, :2] = 20.5, 0.1
    twins = with_changes(table, before, after, reader)
    assert twins["age"].dtype == twins["hours"].dtype == np.float64
    assert twins["flag"].dtype == table["flag"].dtype


def test_a_number_that_equals_a_category_is_written_as_it() -> None:
    features = (Categorical(name="flag", categories=(0.0, 1.0)),)
    table = pd.DataFrame({"flag": [True, False]}).astype("category")
    reader = model(features)
    before, after = reader.read(table), np.array([[0.0], [1.0]])
    twins = with_changes(table, before, after, reader)
    assert twins["flag"].dtype == table["flag"].dtype
    assert twins["flag"].tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["Float64", "Float32", "double[pyarrow]"])
def test_what_becomes_missing_is_nan_and_not_na(dtype: str) -> None:
    reader = model()
    table = people().astype({"hours": dtype})
    before = reader.read(table)
    after = before.copy()
    after[0, 1] = np.nan
    twins = with_changes(table, before, after, reader)
    # Pipelines take such a column as long as there is no NA in it.
    assert twins["hours"].dtype == np.float64
    np.testing.assert_array_equal(reader.read(twins), after)


def test_a_category_that_the_table_lacks_is_added() -> None:
    reader = model()
    table = people().iloc[1:].astype({"city": "category"})
    before = reader.read(table)
    after = before.copy()
    after[0, 3] = 0.0
    twins = with_changes(table, before, after, reader)
    assert twins["city"].dtype.name == "category"
    assert twins["city"].tolist() == ["Bonn", "Köln", "Ulm"]


@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "uint8", "float32", "float64", "bool"]
)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_arrays_of_numbers(dtype: str, seed: int) -> None:
    features: tuple[Feature, ...] = (
        Numeric(name="a"),
        Numeric(name="b"),
        Categorical(name="c", categories=(0, 1, 2), coding="floor", labelled=False),
    )
    reader = model(features, integer_limit=2**24)
    rng = np.random.default_rng(seed)
    table = rng.integers(3, size=(5, 3)).astype(dtype)
    before = reader.read(table)
    after = before.copy()
    for place in range(2):
        picks = rng.random(5) < 0.4
        pool = [0.0, 1.0, 7.0, -1.0, 0.1, 2.0**30, np.nan][: rng.integers(1, 8)]
        after[picks, place] = rng.choice(pool, picks.sum())
    after[:, 2] = rng.integers(3, size=5)
    twins = with_changes(table, before, after, reader)
    assert twins.dtype in {np.dtype(dtype), np.dtype(np.float64)}
    np.testing.assert_array_equal(reader.read(twins), after)
    changed = (before != after) & ~(np.isnan(before) & np.isnan(after))
    if not changed.any():
        assert twins.dtype == table.dtype


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_wide_frame_is_not_looked_through_for_each_column(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    for name in ("columns", "schema", "__getitem__"):
        own = getattr(nw.DataFrame, name)
        look = own.fget if isinstance(own, property) else own

        def counted(*given: Any, look: Any = look) -> Any:
            looks.append(look)
            return look(*given)

        new = property(counted) if isinstance(own, property) else counted
        monkeypatch.setattr(nw.DataFrame, name, new)
    counts = []
    for width in (3, 30):
        looks.clear()
        features = tuple(Numeric(name=f"x{place}") for place in range(width))
        rows = frame({feature.name: [1.0, 2.0] for feature in features})
        assert encode(rows, features, Inputs()).tolist() == [
            [1.0] * width,
            [2.0] * width,
        ]
        plain = PlainReader(features, Inputs()).read(rows)
        assert plain is not None
        before, after = np.ones((2, width)), np.full((2, width), 3.0)
        changed = with_changes(rows, before, after, model(features))
        assert encode(changed, features, Inputs()).tolist() == [[3.0] * width] * 2
        counts.append(len(looks))
    assert counts[0] == counts[1] > 0
