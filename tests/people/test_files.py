"""Tables of people in files, whoever wrote them."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical
from fatt.errors import DataError, MissingDependencyError, SpecError
from fatt.people.files import read_csv, read_table
from fatt.people.texts import Texts, split
from fatt.people.typed import labels_of, numbers_of, type_for_model
from tests.cli import town

COLUMNS: dict[str, list[Any]] = {"age": [41, 17], "sex": ["f", "m"]}


def read(folder: Path, data: bytes) -> dict[str, list[Any]]:
    path = folder / "people"
    path.write_bytes(data)
    return {
        name: np.asarray(cells, dtype=object).tolist()
        for name, cells in read_table(str(path)).columns.items()
    }


@pytest.mark.parametrize(
    "data",
    [
        b"age,sex\n41,f\n17,m\n",
        b"\xef\xbb\xbfage;sex\r\n41;f\r\n\r\n17;m",
        b'age\t"sex"\n41\t"f"\n17\tm\n',
    ],
)
def test_csv_of_many_programs(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == {"age": ["41", "17"], "sex": ["f", "m"]}


def test_cells_may_hold_delimiters_quotes_and_lines(tmp_path: Path) -> None:
    found = read(tmp_path, b'name,age\n"Lee, ""A""\nJr.",41\n')
    assert found == {"name": ['Lee, "A"\nJr.'], "age": ["41"]}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_json_lines_have_types_and_gaps(tmp_path: Path, mark: bytes) -> None:
    lines = b'{"age": 41, "sex": "f"}\n\n{"sex": "m", "new": true}\n'
    found = read(tmp_path, mark + lines)
    assert found == {"age": [41, None], "sex": ["f", "m"], "new": [None, True]}


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_parquet_and_arrow(tmp_path: Path, kind: str) -> None:
    gaps: dict[str, list[Any]] = {"hours": [None, 7], "rate": [None, 0.5]}
    table = pa.table(
        {**COLUMNS, **gaps, "town": pa.array(["x", "y"]).dictionary_encode()}
    )
    sink = io.BytesIO()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, sink)
    else:
        new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with new(sink, table.schema) as writer:
            writer.write_table(table)
    found = read(tmp_path, sink.getvalue())
    assert {name: found[name] for name in COLUMNS} == COLUMNS
    assert found["hours"] == [None, 7]
    assert np.isnan(found["rate"][0])
    assert found["town"] == ["x", "y"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b" \n", "is empty; pass a table"),
        (b"age,sex\n41\n", "line 2 has 1 cells, and the header names 2 columns"),
        (b"age,age\n1,2\n", "several columns are named 'age'"),
        (b"age,sex\n41,\xe9\n", "byte 11 is not UTF-8; convert the file"),
        (b'age,sex\n41,"f\n', "is no CSV"),
        (b'{"age": 41}\n{"age": [1]}\n', "line 2 is no JSON object of texts and"),
        (b"[1, 2]\n", "line 1 is no JSON object"),
        (b"PAR1 and no more", "is no whole Parquet file"),
        (b"ARROW1 and no more", "is no whole Arrow file"),
    ],
)
def test_broken_files_are_explained(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path, data)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"PAR1", b"ARROW1", b"{", b"a,b\n"])
)
def test_any_bytes_are_a_table_or_explained(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, start: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(start + data)
    try:
        columns = read_table(str(path)).columns
    except DataError:
        return
    assert len({len(cells) for cells in columns.values()}) <= 1


def test_parquet_without_pyarrow_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fatt\[tables\]'"):
        read(tmp_path, b"PAR1")


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(), min_size=1))
def test_numbers_are_read_to_the_last_bit(numbers: list[float]) -> None:
    found, _ = numbers_of("x", [repr(number) for number in numbers])
    assert np.array_equal(found, np.array(numbers), equal_nan=True)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", ""], "whole"),
        (["1.0", "2"], "any"),
        (["true", "False", "NA"], "truth"),
        (["", "nan"], "any"),
        ([str(2**53 + 1)], "any"),
        ([1, None], "whole"),
        ([True, False], "truth"),
    ],
)
def test_kinds_of_numbers(cells: list[Any], kind: str) -> None:
    assert numbers_of("x", cells).kind == kind


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1", "x"], "row 1: column 'age' is 'x', and the model reads a number"),
        (["1_000"], "row 0: column 'age' is '1_000'"),
        (["1", "true"], "row 1: column 'age' is 'true', and other rows hold numbers"),
    ],
)
def test_cells_that_are_no_numbers_are_explained(cells: list[Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        numbers_of("age", cells)


def test_texts_become_the_categories_they_are_written_as() -> None:
    def labels(categories: tuple[Any, ...], cells: list[Any]) -> list[Any]:
        return labels_of(Categorical(name="x", categories=categories), cells)

    assert labels((1, 2), ["2", "1"]) == [2, 1]
    assert labels((True, False), ["true", "False"]) == [True, False]
    assert labels((1.0, 2.5), ["1", "2.5"]) == [1.0, 2.5]
    assert labels(("1", "2"), ["1", "7"]) == ["1", "7"]
    assert labels(("", "a"), ["", "a"]) == ["", "a"]
    [gap] = labels(("a",), [""])
    assert gap != gap  # noqa: PLR0124 - it is NaN


def test_a_model_without_names_reads_by_position(tmp_path: Path) -> None:
    model, people = town.hard_case(tmp_path)
    ensemble = fatt.load(model).ensemble
    table = read_table(people)
    table.columns["id"] = ["x"] * 40
    with pytest.raises(DataError, match="has 9 columns, and the model, which was tra"):
        type_for_model(table, ensemble)
    typed = type_for_model(table, ensemble, others=["id"])
    assert typed.others == {"id": ["x"] * 40}
    assert np.asarray(typed.table).shape == (40, 8)
    with pytest.raises(SpecError, match=r"has no column 'idd'\. Did you mean 'id'"):
        type_for_model(table, ensemble, ignored=["idd"])
    with pytest.raises(SpecError, match="'id' cannot stand beside them to group"):
        type_for_model(table, ensemble, ignored=["id"], groups=["id"])


def test_a_function_of_the_whole_table_gets_no_groups_beside(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"debt": [1.0, 9, 4, 7], "age": 40, "income": 8})
    steps = FunctionTransformer(np.log1p), DecisionTreeClassifier(random_state=0)
    ensemble = fatt.load(make_pipeline(*steps).fit(rows, [0, 1, 0, 1])).ensemble
    (tmp_path / "people.csv").write_text("sex,income,age,debt\nf,8,40,9\nm,8,41,1\n")
    table = read_table(str(tmp_path / "people.csv"))
    typed = type_for_model(table, ensemble, groups=["age"])
    assert list(typed.table.columns) == ["debt", "age", "income"]
    assert ensemble.predict(typed.table).tolist() == [1, 0]
    with pytest.raises(SpecError, match="'sex' cannot stand beside them to group"):
        type_for_model(table, ensemble, groups=["sex"])


NASTY = [
    "1e5",
    "1",
    "+1",
    "-1",
    "-0",
    "0",
    "00",
    "007",
    "1_000",
    "0x10",
    "nan",
    "NaN",
    "NA",
    "n/a",
    "inf",
    "-inf",
    "Infinity",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "2.2250738585072011e-308",
    "0.1",
    ".5",
    "5.",
    ".",
    "-",
    "e",
    "E",
    "1e",
    "1e+",
    "1.2.3",
    "1-2",
    "--1",
    "e5",
    "0.30000000000000004",
    "123456789012345678901234567890",
    "9007199254740993",
    "1e+05",
    "1E5",
    "1d5",
    "18014398509481985.5",
    "true",
    "True",
    "FALSE",
    "null",
    "None",
    "1,5",
    "\u0661\u0662",
    "\U0001d7cf",
    "é",
    "null",
    "true",
    "false",
]
NASTY += [
    "",
    " ",
    " 1",
    "1 ",
    "\t2",
    "a b",
    '"',
    '""',
    'a"b',
    "a\nb",
    "1\r\n2",
    "a,b;c",
]
PLAIN_TEXTS = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**30), 10**30).map(str),
    st.from_regex(
        r"-?[0-9]{1,25}(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True
    ),
    st.just(""),
)


@st.composite
def csv_files(draw: st.DrawFn) -> bytes:
    """CSV files, some of them broken, as programs of all kinds write them."""
    width = draw(st.integers(1, 4))
    texts = draw(
        st.sampled_from(
            [st.sampled_from(NASTY), PLAIN_TEXTS, st.integers(0, 99).map(str)]
        )
    )
    rows = draw(st.lists(st.lists(texts, min_size=width, max_size=width), max_size=12))
    header = [f"c{place}" for place in range(width)]
    delimiter = draw(st.sampled_from([",", ";", "\t"]))
    quoting = draw(st.sampled_from(["never", "needed", "always"]))

    def written(cell: str) -> str:
        needs = any(mark in cell for mark in (delimiter, '"', "\n", "\r"))
        if quoting == "always" or (quoting == "needed" and needs):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    end = draw(st.sampled_from(["\n", "\r\n", "\n\n", "\r"]))
    lines = [delimiter.join(map(written, row)) for row in [header, *rows]]
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


def outcome(make: Callable[[], Any]) -> Any:
    """What comes out, to the last bit, or what is said instead."""
    try:
        found = make()
    except DataError as error:
        return str(error)
    if hasattr(found, "values"):
        return found.values.tobytes(), found.kind
    return repr(found)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(csv_files())
@example(b"c0,c1\n1,2\n3\n")
@example(b'"c\n0",c1\n1,"2"\n3,4"\n')
@example(b"c0\n" + b"x" * 131_073 + b"\n")
@example(b'c0,c1\n"a"b,1\n')
@example(b'c0,c1\na"b,"c\n')
@example(b'c0,c1\n1,"a\n')
@example(b"c0\n\xef\xbb\xbf\n1\n")
@example(b"c0,c1\n\xef\xbb\xbf1,2\n")
def test_pyarrow_reads_csv_as_python_does(data: bytes) -> None:
    ward = Categorical(name="ward", categories=(1, 2, "a", 0.5, "7"))
    found = []
    for large in (0, len(data) + 1):
        with mock.patch("fatt.people.files._LARGE", large):
            try:
                columns = read_csv(data)
            except DataError as error:
                found.append(str(error))
                continue
        found.append(
            [
                (
                    name,
                    list(cells),
                    outcome(lambda c=cells, n=name: numbers_of(n, c)),
                    outcome(lambda c=cells: labels_of(ward, c)),
                )
                for name, cells in columns.items()
            ]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [("1 22 -3", "whole"), ("1.5 2 1e-3", "any"), ("1 2.0", "any"), ("-0 +7", "whole")],
)
def test_plain_numbers_are_left_to_pyarrow(cells: str, kind: str) -> None:
    """Else the law above would compare Python with itself."""
    data = "a,b\n" + "".join(f'{cell},"x, ""y"" {cell}"\n' for cell in cells.split())
    with mock.patch("fatt.people.files._LARGE", 0):
        columns = read_csv(data.encode())
    texts, others = columns.values()
    assert isinstance(texts, Texts)
    assert isinstance(others, Texts)
    assert texts.numbers() is not None
    assert others.numbers() is None
    assert list(others) == [f'x, "y" {cell}' for cell in cells.split()]
    assert numbers_of("a", texts).kind == kind


@pytest.mark.parametrize(
    "rows", [b"1\r2\r", b"1\0\n", b'1"\n', b'"1" \n', b'x "1"\n', b'"1\n', b"1,2\n"]
)
def test_unusual_rows_are_left_to_python(rows: bytes) -> None:
    assert split(b"a\n" + rows, 2, ",", 1) is None
    assert split(b'a\n"1"\n', 2, ",", 1) is not None


def test_zeros_and_truths_of_typed_files_stay_apart() -> None:
    values = numbers_of("x", [0.0, -0.0, 0, 1.5]).values
    assert np.signbit(values).tolist() == [False, True, False, False]
    # Without a point it is a whole number, which has no sign.
    assert np.signbit(numbers_of("x", ["-0", "7"]).values).tolist() == [False, False]
    assert np.signbit(numbers_of("x", ["-0.0", "7"]).values).tolist() == [True, False]
    with pytest.raises(DataError, match="row 1: column 'x' is True, and other rows"):
        numbers_of("x", [1, True, 0])
