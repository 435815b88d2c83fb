from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from fatt.ensemble import Categorical, Feature, Inputs, Numeric
from fatt.ensemble.encoding import encode
from fatt.errors import DataError

AGE = Numeric(name="age")
SEX = Categorical(name="sex", categories=("F", "M"))
BOTH = (AGE, SEX)
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def encoded(rows: Any, *features: Feature, **inputs: Any) -> list[list[float]]:
    return encode(rows, features, Inputs(**inputs)).tolist()


@pytest.mark.parametrize("frame", FRAMES)
def test_columns_are_found_by_name_in_any_order(frame: Any) -> None:
    rows = frame({"extra": ["x", "y"], "sex": ["M", "F"], "age": [30, 40]})
    assert encoded(rows, *BOTH) == [[30.0, 1.0], [40.0, 0.0]]


@pytest.mark.parametrize("frame", FRAMES)
def test_nulls_are_missing_and_strangers_are_unknown(frame: Any) -> None:
    rows = frame({"age": [None, 40.5, 1.0], "sex": [None, "M", "X"]})
    result = encode(rows, BOTH, Inputs())
    assert np.array_equal(
        result, [[np.nan, np.nan], [40.5, 1.0], [1.0, 2.0]], equal_nan=True
    )


@pytest.mark.parametrize("frame", FRAMES)
def test_integers_and_booleans_with_nulls(frame: Any) -> None:
    rows = frame({"age": [7, None], "flag": [True, None]})
    result = encode(rows, (AGE, Numeric(name="flag")), Inputs())
    assert np.array_equal(result, [[7, 1], [np.nan, np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1.0, None], dtype="Float32"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([True, None], dtype=object),
        pd.Series([1, None], dtype="int64[pyarrow]"),
    ],
)
def test_every_kind_of_nullable_column(column: pd.Series) -> None:
    result = encode(pd.DataFrame({"age": column}), (AGE,), Inputs())
    assert np.array_equal(result, [[1.0], [np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["F", "M", None], dtype="category"),
        pd.Series(["F", "M", None], dtype="string"),
        pd.Series(["F", "M", np.nan], dtype=object),
        pl.Series(["F", "M", None], dtype=pl.Categorical),
        pl.Series(["F", "M", None], dtype=pl.Enum(["M", "F"])),
    ],
)
def test_every_kind_of_label_column(column: Any) -> None:
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    result = encode(frame({"sex": column}), (SEX,), Inputs())
    assert np.array_equal(result, [[0.0], [1.0], [np.nan]], equal_nan=True)


def test_object_arrays_mix_numbers_and_labels() -> None:
    rows = np.array([[30, "M"], [None, "F"]], dtype=object)
    assert np.array_equal(
        encode(rows, BOTH, Inputs()), [[30, 1], [np.nan, 0]], equal_nan=True
    )


def test_objects_may_be_numpy_scalars() -> None:
    cells = [[np.int64(3), np.str_("M")], [np.float64("nan"), pd.NA], [True, ["M"]]]
    rows = np.empty((3, 2), dtype=object)
    for row, (age, sex) in enumerate(cells):
        rows[row, 0], rows[row, 1] = age, sex
    expected = [[3.0, 1.0], [np.nan, np.nan], [1.0, 2.0]]
    assert np.array_equal(encode(rows, BOTH, Inputs()), expected, equal_nan=True)


def test_numbers_as_categories() -> None:
    kids = Categorical(name="kids", categories=(0, 1, 2))
    rows = pd.DataFrame({"kids": [2.0, 0.0, 0.5]})
    assert encoded(rows, kids) == [[2.0], [0.0], [3.0]]


@pytest.mark.parametrize(
    ("coding", "codes"),
    [("floor", [3.0, 3.0, 0.0, 0.0, 2.0, 3.0]), ("truncate", [3.0, 0, 0, 0, 2, 3])],
)
def test_codes_are_rounded_as_the_library_rounds(
    coding: Any, codes: list[float]
) -> None:
    kids = Categorical(name="kids", categories=(0, 1, 2), coding=coding)
    cells = np.array([[-1.0], [-0.5], [-0.0], [0.9], [2.9], [1e30]])
    assert encode(cells, (kids,), Inputs())[:, 0].tolist() == codes


def test_numbers_read_as_missing() -> None:
    income = Numeric(name="income", missing_range=(-1e-35, 1e-35))
    result = encode(np.array([[0.0], [-0.0], [1e-36], [2.0]]), (income,), Inputs())
    assert np.array_equal(result[:, 0], [np.nan, np.nan, np.nan, 2.0], equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint64, bool])
def test_other_number_types_are_widened(dtype: Any) -> None:
    assert encoded(np.array([[0], [1]], dtype=dtype), AGE) == [[0.0], [1.0]]


REFUSED = [
    (
        np.array([[np.nan]]),
        Numeric(name="age", accepts_missing=False),
        {},
        "is missing",
    ),
    (
        np.array([[3.0]]),
        Numeric(name="age", upper=2.0),
        {},
        "row 0: column 'age' is 3.0",
    ),
    (np.array([[-np.inf]]), Numeric(name="age", lower=-9.0), {}, "refuses"),
    (np.array([["x"]], dtype=object), AGE, {}, "reads a number"),
    (np.array([["1"]]), AGE, {}, "reads a number"),
    (np.array([[2**53 + 1]]), AGE, {}, "rounds; pass the rows as float64"),
    (np.array([[2**24 + 1]]), AGE, {"integer_limit": 2**24}, "16777217"),
    (np.zeros((1, 1), np.float32), AGE, {"float32": False}, "pass float64"),
    (np.zeros((1, 1), np.longdouble), AGE, {}, "pass float64"),
    (pd.DataFrame({"age": np.zeros(1, np.longdouble)}), AGE, {}, "pass float64"),
    (np.zeros((1, 1)).view(np.matrix), AGE, {}, r"pass numpy.asarray\(rows\)"),
    (
        pd.DataFrame({"age": np.array([1, np.nan], dtype="f4")}),
        AGE,
        {"float32": False},
        "pass float64",
    ),
    (
        np.zeros((1, 1), np.int16),
        Numeric(name="age", number_types="float64"),
        {},
        "a step of the model",
    ),
    (
        np.zeros((1, 1), np.float32),
        Categorical(name="age", categories=(0, 1), number_types="wide"),
        {},
        "a step of the model",
    ),
    (np.array([[1.5]]), Numeric(name="age", integer=True), {}, "whole numbers"),
    (np.zeros((1, 1), ">f8"), AGE, {}, "byte order"),
    (np.ma.masked_array(np.zeros((1, 1)), [[True]]), AGE, {}, "masked"),
    ([[1], [1, 2]], AGE, {}, "same length"),
    (np.array([[Decimal("sNaN")]]), AGE, {}, "reads a number"),
    (np.array([[datetime(2020, 1, 1)]]), AGE, {}, "reads a number"),
    (np.array([[datetime(2020, 1, 1)]]), SEX, {}, "no dates"),
    (np.array([[pd.NaT]], dtype=object), SEX, {}, "no dates"),
    (pl.DataFrame({"age": pl.Series([1], dtype=pl.Int128)}), AGE, {}, "Int128"),
    (
        pd.DataFrame({"sex": pd.Categorical([True])}),
        Categorical(name="sex", categories=(0, 1), coding="truncate"),
        {},
        "of the same type",
    ),
    (
        np.array([[2.0**53]]),
        Categorical(name="account", categories=(2**53 + 1, 1)),
        {},
        "beyond 2\\*\\*53",
    ),
    (
        np.array([[2**53 + 1]]),
        Categorical(name="account", categories=(2.0**53, 1.0)),
        {},
        "beyond 2\\*\\*53",
    ),
    (np.zeros(3), AGE, {}, "one row or column of cells"),
    (csr_array(np.eye(1)), AGE, {}, "sparse"),
    (
        pd.DataFrame({"age": pd.array([True, None], dtype="boolean")}).astype(
            "category"
        ),
        AGE,
        {},
        "as categories",
    ),
    (pl.LazyFrame({"age": [1]}), AGE, {}, "lazy"),
    (pd.DataFrame({"agee": [1]}), AGE, {}, "Did you mean 'agee'"),
    (pd.DataFrame({"a": [1], "b": [1]}), AGE, {"named": False}, "by position"),
    (pd.DataFrame({"age": ["old"]}), AGE, {}, "'old'"),
    (pd.DataFrame({"age": pd.to_datetime(["2020-01-01"])}), AGE, {}, "Datetime"),
    (pd.DataFrame({"age": pd.to_datetime([None])}), AGE, {}, "Datetime"),
    (np.array([["NaT"]], dtype="datetime64[s]"), AGE, {}, "datetime64"),
    (np.array([[1j]]), AGE, {}, "complex128"),
    (pl.DataFrame({"age": [2**60, None]}), AGE, {}, "nulls"),
    (pd.DataFrame([[1, 2]], columns=["age", "age"]), AGE, {}, "same name"),
    (pd.DataFrame([[1, 2]], columns=[1, "1"]), Numeric(name="1"), {}, "could be '1'"),
    (
        pd.DataFrame({"a b_c": [1], "a_b c": [2]}),
        Numeric(name="a_b_c"),
        {},
        "could be 'a_b_c'",
    ),
    (
        np.array([["X"]], dtype=object),
        Categorical(name="sex", categories=("F", "M"), accepts_unknown=False),
        {},
        "never saw and refuses; it knows 'F', 'M'",
    ),
    (
        np.array([[None]], dtype=object),
        Categorical(name="sex", categories=("F", "M"), accepts_missing=False),
        {},
        "is missing",
    ),
    (
        pd.DataFrame({"sex": ["F"]}),
        Categorical(name="sex", categories=(0, 1), coding="floor", labelled=False),
        {},
        "does not say which codes",
    ),
]


@pytest.mark.parametrize(("rows", "feature", "inputs", "message"), REFUSED)
def test_what_the_library_would_not_take_is_refused(
    rows: Any, feature: Feature, inputs: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        encoded(rows, feature, **inputs)


def test_frames_are_taken_by_position_when_the_model_has_no_names() -> None:
    rows = pd.DataFrame([[1.0, 2.0]], columns=["this", "that"])
    features = (Numeric(name="x0"), Numeric(name="x1"))
    assert encoded(rows, *features, named=False) == [[1.0, 2.0]]


def test_frames_may_have_numbers_as_names() -> None:
    rows = pd.DataFrame([[1.0, 2.0]])
    features = (Numeric(name="1"), Numeric(name="0"))
    assert encoded(rows, *features) == [[2.0, 1.0]]


def test_blanks_in_names_may_have_become_underscores() -> None:
    rows = pd.DataFrame({"my age": [1.0], "my_size": [2.0]})
    features = (Numeric(name="my_size"), Numeric(name="my_age"))
    assert encoded(rows, *features) == [[2.0, 1.0]]


def test_lists_keep_numbers_beside_texts() -> None:
    kids = Categorical(name="kids", categories=(1, 2))
    assert encoded([[1, "F"], [2, "M"]], kids, SEX) == [[0.0, 0.0], [1.0, 1.0]]


def test_encoders_take_true_for_one() -> None:
    kids = Categorical(name="kids", categories=(0, 1))
    rows = np.array([[True], [1], [np.True_]], dtype=object)
    assert encoded(rows, kids) == [[1.0], [1.0], [1.0]]


@pytest.mark.parametrize("dtype", ["category", object])
def test_categories_are_no_numbers_to_a_library_that_takes_codes(dtype: Any) -> None:
    rows = pd.DataFrame({"age": pd.Series([10, 20], dtype=dtype)})
    assert encoded(rows, AGE) == [[10.0], [20.0]]
    with pytest.raises(DataError, match="objects or categories"):
        encoded(rows, AGE, objects=False)


def test_a_null_among_booleans_is_what_the_library_sees() -> None:
    none = Categorical(name="flag", categories=(False, True), missing_as="none")
    nan = Categorical(name="flag", categories=(False, True), missing_as="nan")
    cells = [True, None, False]
    for frame, feature in [
        (pl.DataFrame({"flag": cells}), none),
        (pa.table({"flag": cells}), none),
        (pd.DataFrame({"flag": pd.array(cells, dtype="boolean")}), nan),
    ]:
        result = encode(frame, (feature,), Inputs())
        assert np.array_equal(result, [[1.0], [np.nan], [0.0]], equal_nan=True)


@pytest.mark.parametrize("nan", [float("nan"), np.float64("nan"), np.float32("nan")])
def test_every_nan_among_labels_is_missing(nan: Any) -> None:
    sex = Categorical(name="sex", categories=("F", "M"), missing_as="nan")
    rows = np.array([["M"], [nan], [None]], dtype=object)
    result = encode(rows, (sex,), Inputs())
    assert np.array_equal(result, [[1.0], [np.nan], [2.0]], equal_nan=True)


@pytest.mark.parametrize(
    "rows",
    [
        pl.DataFrame({"age": pl.Series([None], dtype=pl.Int64)}),
        pd.DataFrame({"age": pd.array([None], dtype="Int64")}),
    ],
)
def test_columns_of_nulls_only(rows: Any) -> None:
    assert np.isnan(encode(rows, (AGE,), Inputs())).all()


def test_integers_of_frames_are_read_exactly() -> None:
    rows = np.array([[2**24 + 1]])
    with pytest.raises(DataError, match="16777217"):
        encoded(rows, AGE, integer_limit=2**24)
    frame = pd.DataFrame(rows, columns=["age"])
    assert encoded(frame, AGE, integer_limit=2**24) == [[2.0**24 + 1]]


def test_names_of_several_levels_are_joined() -> None:
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    rows = pd.DataFrame([[1.0, 2.0]], columns=columns)
    assert encoded(rows, Numeric(name="a y"), Numeric(name="a x")) == [[2.0, 1.0]]


def test_cells_that_are_no_labels_are_unknown() -> None:
    rows = np.empty((3, 1), dtype=object)
    rows[0, 0], rows[1, 0], rows[2, 0] = np.zeros(2), (1, [2]), {"F"}
    assert encoded(rows, SEX) == [[2.0], [2.0], [2.0]]


def test_tables_without_columns_have_rows() -> None:
    assert encode(np.zeros((5, 0)), (), Inputs()).shape == (5, 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_plain_numbers_are_not_copied_and_not_written_to(order: Any) -> None:
    rows = np.array([[1.0, 2.0], [3.0, np.nan]], order=order)
    result = encode(rows, (AGE, Numeric(name="b")), Inputs())
    assert np.array_equal(result, rows, equal_nan=True)
    assert result.flags.c_contiguous
    assert not result.flags.writeable
    assert rows.flags.writeable
    assert np.shares_memory(result, rows) == (order == "C")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (np.nan, "row 70000: column 'b' is missing"),
        (-1.0, "row 70000: column 'b' is -1.0"),
        (np.inf, "row 70000: column 'b' is inf"),
    ],
)
def test_one_bad_number_in_a_long_array_is_found(number: float, words: str) -> None:
    bounded = Numeric(name="b", lower=0.0, upper=1e300, accepts_missing=False)
    rows = np.ones((70_002, 2))
    rows[70_000, 1] = number
    with pytest.raises(DataError, match=words):
        encode(rows, (AGE, bounded), Inputs())
    rows[:, 1] = 1.0
    rows[70_001, 0] = np.nan
    assert np.array_equal(encode(rows, (AGE, bounded), Inputs()), rows, equal_nan=True)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["M", "X", "F", "M"]),
        pd.Series(["M", "X", "F", "M"], dtype=object),
        pl.Series(["M", "X", "F", "M"]),
        # No Unicode, so that Arrow refuses it.
        pd.Series(["M", "\ud800", "F", "M"], dtype=object),
    ],
)
def test_texts_that_repeat(column: Any) -> None:
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    rows = frame({"sex": column})
    assert encoded(rows, SEX) == [[1.0], [2.0], [0.0], [1.0]]
    known = Categorical(name="sex", categories=("F", "M"), accepts_unknown=False)
    with pytest.raises(DataError, match="row 1: column 'sex'"):
        encoded(rows, known)


@pytest.mark.parametrize("last", [5, 0.5, True, ("M",)])
def test_an_object_far_behind_texts_is_read_as_in_a_short_column(last: object) -> None:
    """narwhals calls a column of objects texts if its first hundred are."""
    ward = Categorical(name="ward", categories=("M", 5, 0.5), coding="label")
    cells = ["M"] * 150 + [last]
    rows = pd.DataFrame({"ward": pd.Series(cells, dtype=object)})
    assert encoded(rows, ward)[-1:] == encoded(rows[-2:], ward)[-1:]


@pytest.mark.parametrize("encoding", ["mask", "encode"])
def test_nulls_in_a_dictionary_of_pyarrow_are_refused(encoding: str) -> None:
    """scikit-learn takes such a null for the last entry of the dictionary."""
    features = (Categorical(name="town", categories=("Bonn", "Ulm")),)
    towns = pa.array(["Bonn", None, "Ulm"])
    coded = pa.table({"town": towns.dictionary_encode(null_encoding=encoding)})
    with pytest.raises(DataError, match=r"row 1: column 'town'.*value_type"):
        encode(coded, features, Inputs())
    column = coded["town"]
    plain = pa.table({"town": column.cast(column.type.value_type)})
    result = encode(plain, features, Inputs())[:, 0]
    assert np.array_equal(result, [0, np.nan, 1], equal_nan=True)


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT])
def test_the_na_of_pandas_among_objects_is_no_number(missing: object) -> None:
    table = pd.DataFrame({"age": pd.Series([1.0, missing], dtype=object)})
    with pytest.raises(DataError, match=r"row 1: column 'age'.*NaN"):
        encode(table, (Numeric(name="age"),), Inputs())


def test_numbers_are_no_labels_where_the_model_knows_texts() -> None:
    features = (Categorical(name="town", categories=("Bonn", "Ulm")),)
    for cells in ([0, 1], [np.nan, np.nan], [True, False]):
        with pytest.raises(DataError, match="knows texts there"):
            encode(pd.DataFrame({"town": cells}), features, Inputs())


def test_decimals_are_neither_labels_nor_missing() -> None:
    features = (Categorical(name="level", categories=(1, 2)),)
    table = pl.DataFrame({"level": [Decimal(1), None, Decimal(2)]})
    with pytest.raises(DataError, match=r"row 0: column 'level'.*pass float64"):
        encode(table, features, Inputs())


def test_complex_numbers_are_refused() -> None:
    table = pd.DataFrame({"level": [1 + 0j, 2 + 0j]})
    for feature in (Numeric(name="level"), Categorical(name="level", categories=(1,))):
        with pytest.raises(DataError, match="complex128; pass float64"):
            encode(table, (feature,), Inputs())
