from __future__ import annotations

import functools
import itertools
import math
import operator
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble, Feature, Numeric
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
from tests.region import town


def numeric_model(*names: str, named: bool = True) -> Ensemble:
    return town.make(tuple(Numeric(name=name) for name in names), named=named)


def infer(frame: dict[str, list[Any]]) -> dict[str, Any]:
    schema = Schema.infer(numeric_model(*frame), pd.DataFrame(frame))
    return {variable.name: variable for variable in schema.variables}


def test_types_of_columns_tell_the_kind() -> None:
    found = infer({"a": [1, 2, 4], "b": [True, False, True], "c": [0.0, 1.0, 1.0]})
    assert found["a"] == Integer(
        name="a", columns="a", sd=float(np.std([1, 2, 4])), seen=(1, 2, 4)
    )
    assert found["b"] == Binary(name="b", columns="b", levels=(False, True))
    # A float column is never taken for binary or whole, whatever it holds.
    assert found["c"] == Number(
        name="c", columns="c", sd=float(np.std([0, 1, 1])), seen=(0, 1)
    )


@pytest.mark.parametrize("kind", ["nullable", "pyarrow", "polars", "arrow"])
def test_gaps_do_not_change_the_kind(kind: str) -> None:
    rows = {"a": [1, None, 4], "b": [True, None, True], "c": [1.0, None, 0.5]}
    names = {"a": "Int16", "b": "boolean", "c": "Float64"}
    if kind == "pyarrow":
        names = {name: f"{rest.lower()}[pyarrow]" for name, rest in names.items()}
        names |= {"b": "bool[pyarrow]", "c": "double[pyarrow]"}
    frame: Any = pd.DataFrame(rows, dtype=object).astype(names)
    if kind == "polars":
        frame = pl.DataFrame(rows)
    elif kind == "arrow":
        frame = pa.table(rows)
    found = Schema.infer(numeric_model(*rows), frame).variables
    # Truth values with gaps are objects to the libraries, in all frames but pandas'.
    truths = Binary if kind in {"nullable", "pyarrow"} else Number
    assert [type(v) for v in found] == [Integer, truths, Number]


def test_values_are_kept_if_they_are_few() -> None:
    rows = {
        "twenty": [float(row % 20) / 8 for row in range(9000)],
        "later": [float(row % 20 if row < 8999 else 99) for row in range(9000)],
        "one": [1.0] * 9000,
        "gaps": [None if row % 3 else row % 2 for row in range(9000)],
        "endless": [
            math.inf if row == 8000 else 1.0 * (row % 2) for row in range(9000)
        ],
    }
    frame = pd.DataFrame(rows, dtype=float)
    whole = Schema.infer(numeric_model(*rows), frame)
    seen = {variable.name: variable.seen for variable in whole.variables}
    assert seen["twenty"] == tuple(number / 8 for number in range(20))
    assert seen["gaps"] == (0, 1)
    assert {seen[name] for name in ("later", "one", "endless")} == {msgspec.UNSET}
    # So do parts of the rows, put together.
    model = numeric_model(*rows)
    parts = [
        Schema.observe(model, frame[start : start + 1000])
        for start in range(0, 9000, 1000)
    ]
    joined = joined_schema(model, parts)
    assert {variable.name: variable.seen for variable in joined.variables} == seen
    kept = joined.with_(gaps=Integer(), twenty=Number(lower=0))
    assert kept.find("gaps").seen == (0, 1)
    assert kept.find("twenty").seen is msgspec.UNSET


def test_the_model_tells_the_kind() -> None:
    features: tuple[Feature, ...] = (
        Numeric(name="a", integer=True),
        Categorical(name="b", categories=("x", "y")),
        Numeric(name="c"),
    )
    expected = (
        Integer(name="a", columns="a"),
        Category(name="b", columns="b"),
        Number(name="c", columns="c"),
    )
    assert Schema.from_ensemble(town.make(features)).variables == expected
    frame = pd.DataFrame({"a": [1.0, 1.0], "b": ["x", "y"], "c": [2.0, np.nan]})
    inferred = Schema.infer(town.make(features), frame).variables
    assert [type(v) for v in inferred] == [Integer, Category, Number]
    assert inferred[2].sd == 0.0  # type: ignore[union-attr]


def test_deviations_leave_out_what_is_missing() -> None:
    model = town.make((Numeric(name="a", missing_range=(-9.0, -9.0)),))
    rows = np.array([[1.0], [3.0], [np.nan], [-9.0]])
    (variable,) = Schema.infer(model, rows).variables
    assert variable == Number(name="a", columns="a", sd=1.0)
    assert infer({"a": [1.0, np.inf]})["a"].sd is None
    assert infer({"a": [np.nan, np.nan]})["a"].sd is None


def test_names_with_equal_signs_make_groups() -> None:
    found = infer(
        {
            "race=a": [1.0, 0.0, 0.0],
            "age": [1.5, 2.5, 3.5],
            "race=b=c": [0.0, 1.0, 1.0],
            "job=x": [1, 0, 0],
            "job=y": [False, True, False],
            "sex=male": [1.0, 0.0, 0.0],
        }
    )
    assert list(found) == ["race", "age", "job", "sex"]
    assert found["race"] == OneHot(
        name="race", columns=("race=a", "race=b=c"), levels=("a", "b=c")
    )
    assert found["job"] == OneHot(
        name="job",
        columns=("job=x", "job=y"),
        levels=("x", "y"),
        dropped="none of these",
    )
    assert found["sex"] == Binary(
        name="sex", columns="sex=male", levels=("not male", "male")
    )


@pytest.mark.parametrize(
    "frame",
    [
        {"r=a": [1.0, 1.0], "r=b": [0.0, 1.0]},
        {"r=a": [1.0, 2.0]},
        {"r=a": [1.0, 0.0], "r=b": [0.0, 0.5]},
        {"r=a": [1.0, 0.0], "r=b": [0.0, np.nan]},
        {"r=a": [1.0, 0.0], "r": [0.5, 0.5]},
        {"=a": [1.0, 0.0], "r=": [0.0, 1.0]},
        {"r=a": [np.nan, np.nan]},
        {"r=a": [], "r=b": []},
    ],
)
def test_columns_that_are_no_group_stay_numbers(frame: dict[str, list[Any]]) -> None:
    frame = {name: [float(x) for x in cells] for name, cells in frame.items()}
    schema = Schema.infer(numeric_model(*frame), pd.DataFrame(frame, dtype=np.float64))
    assert [(v.name, type(v)) for v in schema.variables] == [
        (name, Number) for name in frame
    ]


def test_missing_rows_do_not_break_a_group() -> None:
    found = infer({"r=a": [1.0, 0.0, np.nan], "r=b": [0.0, 1.0, np.nan]})
    assert found["r"] == OneHot(name="r", columns=("r=a", "r=b"), levels=("a", "b"))


def test_a_model_that_reads_zero_as_missing_has_groups_too() -> None:
    features = (
        Numeric(name="r=a", missing_range=(0.0, 0.0)),
        Numeric(name="r=b", missing_range=(0.0, 0.0)),
    )
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    (variable,) = Schema.infer(town.make(features), rows).variables
    assert variable == OneHot(name="r", columns=("r=a", "r=b"), levels=("a", "b"))


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names_come_from_the_frame_if_the_model_has_none(frame_of: Any) -> None:
    model = numeric_model("x0", "x1", named=False)
    frame = frame_of({"age": [1.0, 2.0], "sex=male": [0.0, 1.0]})
    schema = Schema.infer(model, frame)
    assert [v.name for v in schema.variables] == ["age", "sex"]
    features = Variables(model, schema).ensemble.features
    assert [feature.name for feature in features] == ["age", "sex"]


def test_arrays_have_the_models_names() -> None:
    model = numeric_model("age", "sex=male")
    schema = Schema.infer(model, np.array([[30.0, 1.0], [20.0, 0.0]]))
    assert [v.name for v in schema.variables] == ["age", "sex"]
    with pytest.raises(DataError, match="lack the column 'age'"):
        Schema.infer(model, pd.DataFrame({"sex=male": [1.0]}))


def test_with_changes_a_variable_and_keeps_what_is_known() -> None:
    schema = town.schema()
    changed = schema.with_(age=Integer(lower=17, upper=90))
    assert changed.find("age") == Integer(
        name="age", columns="age", lower=17, upper=90, sd=2.5
    )
    assert changed.variables[1:] == schema.variables[1:]
    renamed = schema.with_({"sex=male": Binary(levels=["female", "male"])})
    assert renamed.find("sex").levels == ("female", "male")  # type: ignore[union-attr]
    assert schema.with_(age=Number(sd=1.0)).find("age").sd == 1.0  # type: ignore[union-attr]


def test_a_wide_table_takes_no_longer_than_its_columns() -> None:
    """Of 16,000 columns each was once looked for among all of them, for minutes."""
    names = [f"word {place}" for place in range(16_000)]
    kinds = tuple(Number(name=name, columns=(name,)) for name in names)
    begin = time.process_time()
    schema = Schema(columns=tuple(names), variables=kinds)
    whole = schema.with_({name: Integer(lower=0) for name in names})
    assert all(isinstance(whole.find(name), Integer) for name in names)
    # Of the processor, however busy; less than a second is usual.
    assert time.process_time() - begin < 20


def test_with_makes_groups_by_hand() -> None:
    model = numeric_model("age", "white", "black")
    group = OneHot(columns=["white", "black"], dropped="other")
    schema = Schema.from_ensemble(model).with_(race=group)
    assert [v.name for v in schema.variables] == ["age", "race"]
    assert schema.find("black").labels == ("white", "black", "other")  # type: ignore[union-attr]
    with pytest.raises(SpecError, match="some columns of 'race'"):
        schema.with_(white=Binary(columns="white"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"agee": Integer()}, "'agee'. Did you mean 'age'"),
        ({"x": OneHot(columns=["race=X"])}, "'race=X', which does not exist"),
        ({"age": 3}, "write Number"),
        ({"age": Integer(lower=3, upper=2)}, "no value: its bounds are 3 and 2"),
        ({"age": Integer(lower=2.1, upper=2.9)}, "no whole number lies between"),
        ({"age": Number(lower=float("nan"))}, "no value"),
        ({"age": Number(lower=float("inf"))}, "no value"),
        ({"age": Number(sd=-1.0)}, "standard deviation -1.0"),
        ({"age": Ordinal()}, "needs levels, each once; it has none"),
        ({"age": Ordinal(levels=[1, 1])}, "needs levels, each once"),
        ({"age": Ordinal(levels=["a", "b"], values=[1])}, "each level its own number"),
        ({"age": Ordinal(levels=["a", "b"], values=[1, 1])}, "each level its own"),
        (
            {"age": Ordinal(levels=["a"], values=[1], unknown_value=1.0)},
            "each level its own number",
        ),
        ({"age": Binary(levels=[1, 2, 3])}, "has 3 levels"),
        ({"race": OneHot(levels=["A"])}, "2 columns and 1 levels"),
        ({"race": OneHot(dropped="x", accepts_unknown=True)}, "choose one"),
        ({"race": Binary()}, "'race' has 2 columns"),
        ({"other": Number(columns="age"), "income": Number(columns="x")}, "'x'"),
        ({"income": Number(columns="age")}, "several variables have the name 'income'"),
    ],
)
def test_senseless_schemas_are_refused(change: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        town.schema().with_(change)


def test_levels_are_labels() -> None:
    with pytest.raises(SpecError, match="levels is a list"):
        Ordinal(levels="abc")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="None cannot be a level"):
        Ordinal(levels=[1, None])  # type: ignore[arg-type]
    assert Ordinal(levels=list(np.array([1, 2]))).levels == (1, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "kinds", "words"),
    [
        (("a", "b"), [Number(name="a", columns="a")], "'b' belongs to no variable"),
        (
            ("a",),
            [Number(name="a", columns="a"), Number(name="b", columns="a")],
            "'a' belongs to several variables",
        ),
        (("a",), [Number(columns="a")], "has no name"),
    ],
)
def test_every_column_has_one_variable(columns: Any, kinds: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Schema(columns=columns, variables=kinds)


def test_names_find_variables_and_columns() -> None:
    schema = town.schema()
    assert schema.find("race=B") == schema.find("race")
    assert schema.numeric == ("age", "income", "score", "ratio")
    kinds = (Number(name="a", columns="b"), Number(name="b", columns="c"))
    with pytest.raises(SpecError, match="'b' is a variable and also a column of 'a'"):
        Schema(columns=("b", "c"), variables=kinds).find("b")


def test_files_keep_schemas(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    schema = town.schema().with_(
        score=Number(lower=-np.inf, upper=5),
        sex=Binary(levels=(False, True)),
        grade=Ordinal(levels=("low", 2, 2.5), values=(0, 1, 2)),
    )
    schema.save(path)
    again = Schema.read(path)
    assert again == schema
    assert hash(again) == hash(schema)
    assert again.find("sex").levels[1] is True  # type: ignore[union-attr]
    assert [file.name for file in tmp_path.iterdir()] == ["schema.json"]


def test_files_keep_inferred_schemas(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 4], "b": [0.5, 1.5, 1.0], "c=x": [0, 1, 1]})
    schema = Schema.infer(numeric_model(*frame), frame)
    schema = schema.with_(b=Number(lower=np.float32(0.5), upper=np.int64(9)))
    schema.save(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == schema
    assert type(schema.find("a").sd) is float  # type: ignore[union-attr]


def test_a_schema_is_printed_with_a_variable_per_line() -> None:
    first, age, *_, race, _, _ = repr(town.schema()).splitlines()
    assert first == "<Schema"
    assert age == " age: Integer(lower=0, upper=120, sd=2.5)"
    assert race == (
        " race: OneHot(columns=('race=A', 'race=B'), levels=('A', 'B'), "
        "dropped='neither')"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"lower"', '"lowest"'),
        ('"format"', '"formats"'),
        ("fatt-schema-1", "fatt-schema-2"),
        ('"integer"', '"whole"'),
        ('"upper": 120', '"upper": -120'),
        ("{", "["),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "schema.json"
    town.schema().save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(SpecError, match="no schema that fatt can use"):
        Schema.read(path)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_long_tables_are_seen_to_the_end(kind: str) -> None:
    names = ("age", "race=a", "race=b", "job=x", "job=y", "size")
    rng = np.random.default_rng(0)
    rows = np.zeros((70_000, 6))
    rows[:, [0, 5]] = rng.normal(30, 9, size=(70_000, 2))
    rows[:, 1], rows[:, 3] = 1.0, 1.0

    def found() -> dict[str, Any]:
        table = rows if kind == "array" else pd.DataFrame(rows, columns=list(names))
        schema = Schema.infer(numeric_model(*names), table)
        return {variable.name: variable for variable in schema.variables}

    first = found()
    assert list(first) == ["age", "race", "job", "size"]
    assert first["race"].dropped is None
    assert first["age"].sd == pytest.approx(float(np.std(rows[:, 0])), rel=1e-14)
    rows[-1, 1] = 0.0
    assert found()["race"].dropped == "none of these"
    rows[-1, 1:3] = np.nan
    assert found()["race"].dropped is None
    rows[-1, 1] = 1.0
    assert list(found()) == ["age", "race=a", "race=b", "job", "size"]
    rows[-1, 1:3] = 0.5, 0.0
    assert list(found()) == ["age", "race=a", "race=b", "job", "size"]
    rows[-1, 1:3] = 1.0
    assert found()["race=a"].sd == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_the_rows_tell_what_all_rows_tell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    colour, sex = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 70, 60),
            "hours": rng.normal(35, 8, 60),
            "colour=red": colour == 0,
            "colour=blue": colour == 1,
            "sex=male": sex,
            "odd=a": rng.random(60) < 0.05,
            "odd=b": rng.random(60) < 0.05,
        }
    ).astype(dict.fromkeys(("colour=red", "colour=blue", "odd=a", "odd=b"), float))
    table.loc[rng.integers(0, 60, 3), ["colour=red", "colour=blue"]] = np.nan
    table.loc[rng.integers(0, 60, 5), "hours"] = np.nan
    model = numeric_model(*table.columns)
    cuts = [0, *sorted(rng.integers(1, 60, 3).tolist()), 60]
    parts = [
        Schema.observe(model, table.iloc[start:stop])
        for start, stop in itertools.pairwise(cuts)
        if start < stop
    ]
    expected, found = Schema.infer(model, table), joined_schema(model, parts)
    assert found == expected
    assert joined_schema(model, [Schema.observe(model, table)]) == expected


def joined_schema(model: Any, parts: list[Any]) -> Schema:
    return Schema.infer(model, functools.reduce(operator.or_, parts))


def test_parts_with_other_columns_or_types() -> None:
    table = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5, 3.5]})
    model = numeric_model("x0", "x1", named=False)
    renamed = Schema.observe(model, table.rename(columns={"b": "c"}))
    with pytest.raises(DataError, match="columns a, b, and others a, c; give all"):
        joined_schema(model, [Schema.observe(model, table), renamed])
    broken = Schema.observe(model, table.astype({"a": float}))
    assert isinstance(
        joined_schema(model, [Schema.observe(model, table)] * 2).find("a"), Integer
    )
    mixed = joined_schema(model, [Schema.observe(model, table), broken]).find("a")
    assert isinstance(mixed, Number)
    assert not isinstance(mixed, Integer)


def dummies(**options: Any) -> tuple[Ensemble, pd.DataFrame]:
    """People as `pandas.get_dummies` lays them out, and a model that reads them."""
    people = pd.DataFrame({"race": ["A", "B", "C", "A"], "age": [20, 30, 40, 50]})
    table = pd.get_dummies(people, columns=["race"], **options)
    tree = DecisionTreeClassifier(random_state=0).fit(table, [0, 1, 1, 0])
    return fatt.load(tree).ensemble, table


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_one_hot_columns_of_pandas_are_a_variable_if_somebody_says_so(
    dtype: type,
) -> None:
    model, table = dummies(dtype=dtype)
    assert Schema.infer(model, table).find("race_A").name == "race_A"
    race = Schema.infer(model, table, one_hot=["race"]).find("race")
    assert race == OneHot(
        name="race", columns=("race_A", "race_B", "race_C"), levels=("A", "B", "C")
    )
    model, table = dummies(dtype=dtype, drop_first=True)
    race = Schema.infer(model, table, one_hot=["race"]).find("race")
    assert isinstance(race, OneHot)
    assert race.dropped == "none of these"


def test_columns_that_are_not_one_hot_are_refused() -> None:
    model, table = dummies(dtype=float)
    with pytest.raises(SpecError, match=r"write a list of names: \['race'\]"):
        Schema.infer(model, table, one_hot="race")
    with pytest.raises(SpecError, match=r"no column of numbers is called rac_\.\.\."):
        Schema.infer(model, table, one_hot=["rac"])
    table.loc[0, "race_B"] = 1.0
    with pytest.raises(SpecError, match="race_A, race_B, race_C are no one-hot"):
        Schema.infer(model, table, one_hot=["race"])


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("name", ["race", "race_A"])
def test_one_of_the_columns_of_a_variable_cannot_vary_alone(
    name: str, dtype: type
) -> None:
    model, table = dummies(dtype=dtype)
    similarity = fatt.Similarity(vary=[name])
    words = r"'race_A', 'race_B', 'race_C' look like one variable 'race'.*one_hot="
    with pytest.raises(SpecError, match=words):
        fatt.verify(model, table, similarity=similarity)
    schema = Schema.infer(model, table, one_hot=["race"])
    varied = fatt.Similarity(vary=["race"])
    assert (
        fatt.verify(model, table, similarity=varied, schema=schema).counts["fair"] < 4
    )
    # As a condition a column stands for itself.
    asked = fatt.Similarity(noise={"age": 9}, where={"race_A": 1})
    assert len(fatt.verify(model, table, similarity=asked)) == 4
    # Whoever says that they are flags may vary each.
    flags = {column: Binary() for column in table.columns[1:]}
    schema = Schema.infer(model, table).with_(flags)
    alone = fatt.Similarity(vary=["race_A"])
    assert len(fatt.verify(model, table, similarity=alone, schema=schema)) == 4


@pytest.mark.parametrize("dtype", [int, float])
@pytest.mark.parametrize("told", ["people", "schema", "nothing"])
def test_noise_for_all_numbers_makes_nobody_of_two_races(
    dtype: type, told: str
) -> None:
    model, table = dummies(dtype=dtype)
    schema = {"people": table, "schema": Schema.infer(model, table), "nothing": None}
    words = "noise is for all numbers, .*'race_A', 'race_B', 'race_C' look like one"
    for noise in (1, "5 sd", "+200%"):
        similarity = fatt.Similarity(noise=noise)
        if told == "nothing" and noise == "5 sd":
            continue
        with pytest.raises(SpecError, match=words):
            fatt.Auditor(model, similarity=similarity, schema=schema[told]).verify(
                table
            )
    # Columns that do not move, or are no flags, are no people of two races.
    similarity = fatt.Similarity(noise=0.5)
    if dtype is int:
        halves = table.assign(age=table["age"] + 0.5)
        assert len(fatt.verify(model, halves, similarity=similarity)) == 4
    table["race_A"] = [3, 1, 0, 0]
    similarity = fatt.Similarity(noise=1)
    words = "'race_B', 'race_C' look like one variable 'race'"
    with pytest.raises(SpecError, match=words):
        fatt.verify(model, table, similarity=similarity)
    flags = {"race_B": Binary(), "race_C": Binary()}
    said = Schema.infer(model, table).with_(flags)
    assert len(fatt.verify(model, table, similarity=similarity, schema=said)) == 4


@pytest.mark.parametrize("inferred", [False, True])
def test_noise_for_all_numbers_tears_no_group_without_a_schema(inferred: bool) -> None:
    rows = pd.DataFrame({"race=A": [1.0, 0, 1], "race=B": [0, 1.0, 1], "age": 3.0})
    tree = DecisionTreeClassifier(random_state=0).fit(rows, [0, 1, 1])
    auditor = fatt.Auditor(
        tree,
        similarity=fatt.Similarity(noise=1),
        schema=rows[:2] if inferred else None,
    )
    if inferred:
        assert len(auditor.verify(rows[:2])) == 2
        return
    with pytest.raises(SpecError, match="not one variable 'race'"):
        auditor.verify(rows)


@pytest.mark.parametrize("rows", [slice(0, 1), slice(0, 9, 3), slice(None)], ids=str)
def test_rows_of_one_level_do_not_hide_the_other(rows: slice) -> None:
    table = pd.DataFrame({"sex_F": [0, 1, 1] * 3, "sex_M": [1, 0, 0] * 3, "age": 3.0})
    tree = DecisionTreeClassifier(random_state=0).fit(table, table["sex_M"])
    alone = fatt.Similarity(vary=["sex_M"])
    with pytest.raises(SpecError, match="'sex_F', 'sex_M' look like one variable"):
        fatt.verify(tree, table[rows], similarity=alone)
    auditor = fatt.Auditor(tree, similarity=alone)
    with pytest.raises(SpecError, match="'sex_F', 'sex_M' look like one variable"):
        auditor.verify(table[rows])
    # Who has two of them shows that they are no levels, and nobody has one.
    both = pd.concat([table, table[:1].assign(sex_F=1)])
    assert len(fatt.verify(tree, both, similarity=alone)) == 10
    auditor = fatt.Auditor(tree, similarity=alone, schema=both)
    assert len(auditor.verify(table[rows])) == len(table[rows])
    none = table.assign(sex_F=0, sex_M=0)
    assert len(fatt.verify(tree, none, similarity=alone)) == 9


def test_a_column_of_the_variable_s_name_does_not_hide_its_flags() -> None:
    female = np.arange(9) % 2
    table = pd.DataFrame({"sex": 1 - female, "sex_F": female, "sex_M": 1 - female})
    tree = DecisionTreeClassifier(random_state=0).fit(table, female)
    alone = fatt.Similarity(vary=["sex_M"])
    words = "'sex_F', 'sex_M' look like one variable 'sex'.*OneHot in the schema"
    with pytest.raises(SpecError, match=words):
        fatt.verify(tree, table, similarity=alone)
    flags = {column: Binary() for column in ("sex_F", "sex_M")}
    schema = Schema.infer(fatt.load(tree).ensemble, table).with_(flags)
    assert len(fatt.verify(tree, table, similarity=alone, schema=schema)) == 9


@pytest.mark.parametrize(
    "names",
    [
        ["race-white", "race-black", "race-asian"],
        ["race.white", "race.black", "race.asian"],
        ["raceWhite", "raceBlack", "raceAsian"],
        ["white", "black", "asian"],
        ["white_race", "black_race", "asian_race"],
    ],
    ids=str,
)
def test_noise_for_all_numbers_knows_flags_by_their_rows(names: list[str]) -> None:
    rng = np.random.default_rng(0)
    race, table = rng.integers(3, size=200), pd.DataFrame(index=range(200))
    for at in range(40):
        table[f"owns{at}"] = (rng.random(200) < 0.1 + at / 50).astype(float)
    for at, name in enumerate(names):
        table.insert(17 * at, name, (race == at).astype(float))
    table["age"] = rng.normal(40, 10, 200)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(table, race > 0)
    similarity = fatt.Similarity(noise="1 sd")
    words = ", ".join(map(repr, names)) + " look like flags of one variable"
    with pytest.raises(SpecError, match=f"noise is for all numbers, .*{words}"):
        fatt.verify(model, table, similarity=similarity)
    plain = Schema.infer(fatt.load(model).ensemble, table)
    with pytest.raises(SpecError, match=words):
        fatt.verify(model, table, similarity=similarity, schema=plain)
    said = plain.with_({name: Binary() for name in names})
    report = fatt.verify(model, table[:9], similarity=similarity, schema=said)
    assert len(report) == 9
    # What somebody names is what somebody wants, and a row of two is no variable.
    named = fatt.Similarity(noise={"age": 1})
    assert len(fatt.verify(model, table[:9], similarity=named)) == 9
    table.loc[0, names] = 1.0
    assert len(fatt.verify(model, table, similarity=similarity)) == 200


@pytest.mark.parametrize("name", ["sex", "own_sex"])
def test_a_schema_may_call_flags_with_equal_signs_numbers(name: str) -> None:
    female = np.arange(40) % 2
    table = pd.DataFrame({f"{name}=F": female, f"{name}=M": 1 - female}).astype(float)
    tree = DecisionTreeClassifier(random_state=0).fit(table, female)
    schema = Schema.from_ensemble(fatt.load(tree).ensemble)
    given = {"similarity": fatt.Similarity(noise=1), "schema": schema}
    assert fatt.verify(tree, table, **given).counts["unfair"] == 40
    # But one of them alone is not moved.
    alone = fatt.Similarity(vary=[f"{name}=F"])
    with pytest.raises(SpecError, match=f"are not one variable '{name}'"):
        fatt.verify(tree, table, similarity=alone, schema=schema)


def amounts(dtype: type) -> tuple[Ensemble, pd.DataFrame]:
    """People whose levels are comparisons, as in public tables on credit."""
    levels = ["lt_0", "0_lt=_x_lt_200", "gt=_200", "gt=_900", "<=_0", "none"]
    people = pd.DataFrame({"saved": levels * 2, "age": range(20, 44, 2)})
    table = pd.get_dummies(people, columns=["saved"], dtype=dtype)
    tree = DecisionTreeClassifier(random_state=0).fit(table, [0, 1, 1, 0, 0, 1] * 2)
    return fatt.load(tree).ensemble, table


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_columns_with_equal_signs_may_be_levels_of_what_pandas_made(
    dtype: type,
) -> None:
    model, table = amounts(dtype)
    schema = Schema.infer(model, table, one_hot=["saved"])
    assert [variable.name for variable in schema.variables] == ["age", "saved"]
    assert schema.find("saved").columns == tuple(table.columns[1:])
    varied = fatt.Similarity(vary=["saved"])
    report = fatt.verify(model, table, similarity=varied, schema=schema)
    assert report.counts["unfair"] > 0


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("name", ["saved_0_lt", "saved_0_lt=_x_lt_200", "saved_<=_0"])
def test_a_lone_column_with_an_equal_sign_is_no_way_around_its_siblings(
    name: str, dtype: type
) -> None:
    model, table = amounts(dtype)
    alone = fatt.Similarity(vary=[name])
    with pytest.raises(SpecError, match="look like one variable 'saved'"):
        fatt.verify(model, table, similarity=alone)
    schema = Schema.infer(model, table).with_({name: Binary()})
    assert len(fatt.verify(model, table, similarity=alone, schema=schema)) == 12


@pytest.mark.parametrize("name", ["age<=30", "age>=30", "age!=30"])
def test_comparisons_are_columns_of_their_own(name: str) -> None:
    found = infer({name: [1.0, 0.0], f"{name}5": [0.0, 1.0]})
    assert [(one.name, type(one)) for one in found.values()] == [
        (name, Number),
        (f"{name}5", Number),
    ]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("drop_first", [False, True])
def test_the_names_of_one_hot_columns_change_no_verdict(
    seed: int, drop_first: bool
) -> None:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 60),
            "home_town": rng.choice(list("ABCDE"), 60),
            "age": rng.integers(18, 60, 60),
        }
    )
    label = (people["age"] > 38) ^ (rng.random(60) < 0.1)
    reports = []
    for separator, one_hot in (("=", []), ("_", ["sex", "home_town"])):
        table = pd.get_dummies(people, prefix_sep=separator, drop_first=drop_first)
        tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=seed)
        tree.fit(table, label)
        schema = Schema.infer(fatt.load(tree).ensemble, table, one_hot=one_hot)
        similarity = fatt.Similarity(noise={"age": 1}, vary=["sex", "home_town"])
        report = fatt.verify(tree, table, similarity=similarity, schema=schema)
        reports.append(report.to_frame())
    pd.testing.assert_frame_equal(*reports)
    assert set(reports[0]["verdict"]) == {"fair", "unfair"}


def test_many_variables_are_given_at_once_as_one_after_another() -> None:
    names = [f"w{place}" for place in range(3000)]
    numbers = [Number(name=name, columns=name, sd=1.5) for name in names]
    schema = Schema(columns=names, variables=numbers)
    kinds = {name: Integer(lower=place) for place, name in enumerate(names[:40])}
    kinds["pair"] = OneHot(levels=("a", "b"), columns=("w50", "w51"))
    kinds["w52"] = Number(name="w52", columns=("w52",), lower=0)
    expected = schema
    for name, kind in kinds.items():
        expected = expected.with_({name: kind})
    assert schema.with_(kinds) == expected
    assert expected.find("w51").name == "pair"
    assert expected.find("w7") == Integer(name="w7", columns=("w7",), lower=7, sd=1.5)
    # In a second or two, where each used to cost as much as all.
    whole = schema.with_(dict.fromkeys(names, Integer()))
    assert all(isinstance(variable, Integer) for variable in whole.variables)
    with pytest.raises(SpecError, match="would take some columns of 'pair'"):
        schema.with_({**kinds, "w51": Number(columns=("w51",))})


@pytest.mark.parametrize(
    "variable",
    [
        Number(name="x\ud800", columns="a"),
        Binary(name="x", columns="a", levels=("no", "\udc00")),
        OneHot(name="x", columns="a", levels=("no",), dropped="\udc00"),
    ],
)
def test_names_that_no_file_can_hold_are_refused(variable: AnyVariable) -> None:
    with pytest.raises(SpecError, match="half a surrogate pair"):
        Schema(columns=("a",), variables=(variable,))


def test_a_model_that_was_not_read_is_refused() -> None:
    fitted = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    for given in (fitted, [[0.0]]):
        with pytest.raises(SpecError, match=r"pass fatt\.load\(model\)"):
            Schema.infer(given, [[0.0]])
