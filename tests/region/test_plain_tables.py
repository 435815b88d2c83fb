"""Tables of plain numbers are not copied, and yet read as all other tables are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.ensemble import Ensemble, Inputs, Numeric
from fatt.ensemble.plain import Blocks
from fatt.errors import DataError
from fatt.people import People
from fatt.region import Schema, Variables
from fatt.region.inference import infer
from tests.region import town
from tests.region.test_variables import random_variables

TYPES = ["float64", "float64", "float32", ">f8", "int64", "int8", "uint64", "bool"]
CELLS = [0.0, 1.0, 1.0, 0.0, -0.0, 2.0, -1.0, 0.5, 2.0**24, 2.0**24 + 2, 2.0**53, 1e300]


def random_model(rng: np.random.Generator) -> Ensemble:
    """A model of plain numbers, with the limits that libraries have."""
    features = tuple(
        Numeric(
            name=f"c{index % 3}={index}",
            lower=[-np.inf, 0.0, -1e38][rng.integers(3)],
            upper=[np.inf, 1.0, 1e38][rng.integers(3)],
            accepts_missing=bool(rng.integers(2)),
        )
        for index in range(rng.integers(1, 7))
    )
    inputs = Inputs(
        named=bool(rng.integers(2)),
        float32=bool(rng.integers(2)),
        integer_limit=[2**24, 2**53][rng.integers(2)],
    )
    return replace(town.make(features), inputs=inputs)


def random_column(rng: np.random.Generator, dtype: str, n_rows: int) -> Any:
    few = rng.integers(1, len(CELLS) + 1)
    column = rng.choice(CELLS[:few], size=n_rows)
    if np.dtype(dtype).kind == "f":
        column[rng.random(n_rows) < rng.choice([0.0, 0.0, 0.2, 1.0])] = np.nan
    with np.errstate(invalid="ignore", over="ignore"):
        return column.astype(dtype)


def random_table(rng: np.random.Generator, model: Ensemble) -> Any:
    """Return a table in one of the layouts that tables have."""
    n_rows, names = int(rng.integers(1, 40)), [one.name for one in model.features]
    if rng.integers(2):
        dtype = str(rng.choice(TYPES))
        columns = [random_column(rng, dtype, 2 * n_rows) for _ in names]
        table = np.array(columns).T
        rows = [np.ascontiguousarray(table), table, table[::-1]][rng.integers(3)]
        rows = rows[:: rng.integers(1, 3)]
        if rng.integers(2):
            rows.setflags(write=False)
        return pd.DataFrame(rows, columns=names) if rng.integers(2) else rows
    types = rng.choice(TYPES, size=len(names))
    columns = [random_column(rng, dtype, n_rows) for dtype in types]
    order = rng.permutation(len(names)) if model.inputs.named else range(len(names))
    cells = {names[place]: columns[place] for place in order}
    if rng.integers(2) and ">f8" not in types:
        return pl.DataFrame(cells)
    return pd.DataFrame(cells)


def told(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except DataError as error:
        return str(error)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_plain_tables_are_read_as_all_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    variables, rows = random_variables(model, rng), random_table(rng, model)
    left = told(lambda: People(rows, variables).values(0, len(rows)))
    right = told(lambda: variables.gather(model.read(rows)))
    np.testing.assert_array_equal(left, right)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_schemas_do_not_depend_on_where_columns_lie(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = replace(random_model(rng), inputs=Inputs(named=True))
    rows = random_table(rng, model)
    if type(rows) is np.ndarray and not rows.dtype.isnative:
        # An array of another byte order is refused, whatever it holds.
        rows = rows.astype(np.float64)
    names = [one.name for one in model.features]
    apart = pd.DataFrame(
        {
            name: np.array(rows[:, place] if type(rows) is np.ndarray else rows[name])
            for place, name in enumerate(names)
        }
    )
    threads = int(rng.integers(1, 5))
    assert told(lambda: Schema.infer(model, rows)) == told(
        lambda: infer(model, apart, n_threads=threads)
    )


@pytest.mark.parametrize(
    "columns",
    [
        list(np.arange(12.0).reshape(3, 4)),
        list(np.arange(12.0).reshape(4, 3).T),
        list(np.arange(12.0).reshape(3, 4)[::-1, ::2]),
    ],
)
def test_columns_side_by_side_are_not_copied(columns: list[Any]) -> None:
    blocks = Blocks(columns)
    assert not blocks.need_copies
    read = blocks.read(1, 2)
    assert np.shares_memory(read, columns[0])
    np.testing.assert_array_equal(read, np.array(columns)[:, 1:2])
    assert not read.flags.writeable


def test_columns_at_unequal_distances_are_copied() -> None:
    table = np.arange(20.0).reshape(5, 4)
    for columns in (
        [table[0], table[1], table[3]],
        [table[0], table[1], np.arange(4.0)],
        [table[0, :2], table[1, 2:], table[3, 1:3]],
        [table[0], table[1].view(np.int64)],
        [np.arange(4.0), np.arange(4.0)],
    ):
        blocks = Blocks(columns)
        assert blocks.need_copies
        np.testing.assert_array_equal(blocks.read(0, 2), [c[:2] for c in columns])


def test_each_frame_is_read_by_its_own_columns() -> None:
    model = replace(town.make((Numeric(name="a"), Numeric(name="b"))), inputs=Inputs())
    variables = Variables(model, Schema.from_ensemble(model))
    frame = pd.DataFrame({"a": [1.0, 3.0], "b": [2.0, 4.0]})
    others = {
        "rows of it": frame.iloc[1:],
        "the other way": frame[["b", "a"]],
        "more columns": frame.assign(c="text")[["c", "b", "a"]],
        "as it was": frame,
        "other numbers": frame.astype({"b": np.int8}),
        "renamed": frame.rename(columns={"a": "b", "b": "a"}),
    }
    for name, rows in others.items():
        people = People(rows, variables)
        expected = rows[["a", "b"]].to_numpy(dtype=np.float64)
        np.testing.assert_array_equal(people.values(0, len(people)), expected, name)
        np.testing.assert_array_equal(people.cells([1]), expected[:, 1:], name)
    frame.columns = ["b", "a"]
    people = People(frame, variables)
    assert people.values(0, 2).tolist() == [[2.0, 1.0], [4.0, 3.0]]
    with pytest.raises(DataError, match="lack the column 'b'"):
        People(frame[["a"]], variables).values(0, 2)
