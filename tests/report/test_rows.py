"""A finding as a row, in every format."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fatt import frames
from fatt.errors import MissingDependencyError
from fatt.report.rows import COLUMNS, to_arrow, to_csv
from tests.report.made import frame, report, variables


def _order() -> list[str]:
    return [feature.name for feature in variables().model.features]


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (frame(), pd.DataFrame),
        (pl.from_pandas(frame()), pl.DataFrame),
        (pa.Table.from_pandas(frame(), preserve_index=False), pa.Table),
    ],
)
def test_the_frame_is_of_the_kind_that_was_verified(table: Any, kind: type) -> None:
    found = report(table).to_frame()
    assert type(found) is kind
    rows = found.to_pylist() if kind is pa.Table else pl.DataFrame(found).to_dicts()
    assert tuple(rows[0]) == COLUMNS
    assert [row["verdict"] for row in rows] == [
        "fair",
        "unfair",
        "unfair",
        "unknown",
        "unfair",
    ]
    assert [row["label"] for row in rows] == ["deny", "deny", "grant", "grant", "grant"]
    assert rows[0]["labels"] == ["deny"]
    assert rows[3]["labels"] == ["deny", "grant"]
    assert [row["twin_label"] for row in rows] == [None, "grant", "deny", None, "deny"]
    assert rows[2]["changes"] == "age 40 → 35"
    assert [row["stopped"] for row in rows] == [None, None, None, "budget", None]
    assert rows[2]["replayed_on"] == "model"


def test_a_pandas_frame_keeps_the_index() -> None:
    assert list(report().to_frame().index) == list("abcde")


def test_a_frame_of_an_array_is_of_an_installed_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    array = frame()[["age", "sex"]].to_numpy()
    some = report(array[:, ::-1] if _order() == ["sex", "age"] else array)
    assert isinstance(some.to_frame(), pd.DataFrame)
    installed = {"pandas": None, "polars": True}
    monkeypatch.setattr(frames.importlib.util, "find_spec", installed.get)
    assert isinstance(some.to_frame(), pl.DataFrame)
    installed["polars"] = None
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        some.to_frame()


def test_the_json_holds_all() -> None:
    some = report()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(some.to_json(), parse_constant=refuse)
    assert list(found) == [
        "format",
        "model",
        "tested",
        "similarity",
        "budget",
        "interrupted",
        "counts",
        "alone",
        "warnings",
        "notes",
        "stopped",
        "asked",
        "fairness",
        "harmed",
        "findings",
        "counterexamples",
    ]
    assert found["format"] == "fatt-report-1"
    assert found["model"]["digest"] == some.people.variables.model.digest
    assert found["model"]["classes"] == ["deny", "grant"]
    assert found["similarity"] == [{"noise": {"age": 5}, "vary": ["sex"]}]
    assert found["budget"]["nodes"] == 100
    assert found["interrupted"] is False
    assert found["counts"] == some.counts
    assert found["fairness"] == {"lower": 0.2, "upper": 0.4}
    assert len(found["findings"]) == 5
    assert found["findings"][3] == {
        "verdict": "unknown",
        "label": "grant",
        "labels": ["deny", "grant"],
        "stopped": "budget",
    }
    assert found["findings"][0]["stopped"] is None
    assert found["stopped"] == {"budget": 1}
    assert found["counterexamples"][0] == {
        "index": 4,
        "label": "grant",
        "twin_label": "deny",
        "individual": {"age": 60, "sex": "M"},
        "twin": {"age": 57, "sex": "M"},
        "changes": {"age": {"before": 60, "after": 57}},
        "replayed_on": "model",
    }


def test_numbers_that_json_lacks() -> None:
    from fatt.verdict import json_value

    assert [json_value(value) for value in (np.inf, -np.inf, np.nan, None, 1.5)] == [
        "inf",
        "-inf",
        None,
        None,
        1.5,
    ]


def test_a_line_of_csv() -> None:
    names = ["Ann", 'Bo "B"', "Cid, jr.", "Dan", "Eve"]
    lines = list(csv.reader(io.StringIO(to_csv(report(), {"who": names}))))
    assert lines == [
        ["who", "row", *COLUMNS, "harm"],
        ["Ann", "0", "fair", "deny", "deny", "", "", "", "", "neither"],
        [
            'Bo "B"',
            "1",
            "unfair",
            "deny",
            "deny | grant",
            "",
            "grant",
            "age 30 → 32, sex M → F",
            "model",
            "harmed",
        ],
        [
            "Cid, jr.",
            "2",
            "unfair",
            "grant",
            "deny | grant",
            "",
            "deny",
            "age 40 → 35",
            "model",
            "would lose",
        ],
        [
            "Dan",
            "3",
            "unknown",
            "grant",
            "deny | grant",
            "budget",
            "",
            "",
            "",
            "unknown",
        ],
        [
            "Eve",
            "4",
            "unfair",
            "grant",
            "deny | grant",
            "",
            "deny",
            "age 60 → 57",
            "model",
            "would lose",
        ],
    ]


def test_every_format_has_the_same_cells() -> None:
    some = report(pa.Table.from_pandas(frame(), preserve_index=False))
    as_frame = some.to_frame().to_pydict()
    as_arrow = to_arrow(some).to_pydict()
    assert as_frame == as_arrow
    lines = list(csv.DictReader(io.StringIO(to_csv(some))))
    for name in COLUMNS:
        cells = [line[name] for line in lines]
        if name == "labels":
            assert [cell.split(" | ") for cell in cells] == as_frame[name]
        else:
            assert cells == ["" if cell is None else cell for cell in as_frame[name]]
    as_json = json.loads(some.to_json())["findings"]
    for name in COLUMNS[:4]:
        assert [finding[name] for finding in as_json] == as_frame[name]


def test_a_part_without_people_has_the_same_types() -> None:
    assert to_arrow(None).schema == to_arrow(report()).schema
    assert to_arrow(None).num_rows == 0
