"""A part answers a batch as `fatt.verify` answers the whole table."""

from __future__ import annotations

import itertools
import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import fatt
from fatt import Budget, Part, Schema, Similarity
from fatt.engines import packed, unpacked
from fatt.errors import DataError, FattError, SpecError
from tests.audit.test_workers import people, pipeline

SIMILARITY = Similarity(noise={"age": 4, "hours": "0.4 sd"}, vary=["sex"])


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(300).assign(id=range(1000, 1300))


@pytest.fixture(scope="module")
def auditor(table: pd.DataFrame) -> fatt.Auditor:
    model = pipeline()
    schema = Schema.infer(fatt.load(model), table)
    return fatt.Auditor(model, similarity=SIMILARITY, schema=schema)


@pytest.fixture(scope="module")
def whole(auditor: fatt.Auditor, table: pd.DataFrame) -> pa.RecordBatch:
    return Part(auditor, keep=["id"])(pa.Table.from_pandas(table))


def test_the_rows_are_those_of_a_report(
    auditor: fatt.Auditor, table: pd.DataFrame, whole: pa.RecordBatch
) -> None:
    report = auditor.verify(table)
    expected = report.to_frame()
    assert whole["verdict"].to_pylist() == expected["verdict"].tolist()
    assert whole["changes"].is_null().to_pylist() == expected["changes"].isna().tolist()
    for case in report.counterexamples:
        twin = json.loads(whole["twin"][case.index].as_py())
        assert twin == dict(case.twin)
    assert whole["id"].to_pylist() == table["id"].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_no_split_and_no_order_changes_a_row(
    auditor: fatt.Auditor, table: pd.DataFrame, whole: pa.RecordBatch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    part = pickle.loads(pickle.dumps(Part(auditor, keep=["id"])))
    shuffled = pa.Table.from_pandas(table).take(rng.permutation(len(table)))
    cuts = [0, *sorted(rng.integers(0, len(table), 6).tolist()), len(table)]
    found = [
        part(batch)
        for start, stop in itertools.pairwise(cuts)
        for batch in shuffled.slice(start, stop - start).to_batches() or [shuffled[:0]]
    ]
    assert {one.schema for one in found} == {whole.schema}
    rows = pa.Table.from_batches(found).sort_by("id")
    assert rows.to_pylist() == whole.to_pylist()


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas])
def test_frames_are_batches_too(
    auditor: fatt.Auditor, table: pd.DataFrame, whole: pa.RecordBatch, make: Any
) -> None:
    part = Part(auditor, keep=["id"])
    assert part(make(table)).to_pylist() == whole.to_pylist()
    assert part(make(table[:0])).to_pylist() == []


def test_gaps_are_bounded_if_asked(auditor: fatt.Auditor, table: pd.DataFrame) -> None:
    found = Part(auditor, score_gap=True)(table[:50])
    gaps = auditor.score_gap(table[:50])
    assert found["gap_lower"].to_pylist() == gaps.lower.tolist()
    assert found["gap_upper"].to_pylist() == gaps.upper.tolist()


def test_it_is_small(auditor: fatt.Auditor) -> None:
    model = pickle.dumps(auditor.model)
    assert len(pickle.dumps(Part(auditor))) < 1.2 * len(model)


def test_people_who_are_alone_are_told(table: pd.DataFrame) -> None:
    model = pipeline()
    young = Similarity(noise={"age": 4}, where={"age": "<= 25"})
    found = Part(fatt.Auditor(model, similarity=young, schema=table))(table)
    assert found["alone"].to_pylist() == (table["age"] > 25).tolist()


def test_findings_in_files_are_counted(
    auditor: fatt.Auditor, table: pd.DataFrame, tmp_path: Any
) -> None:
    part = Part(auditor, keep=["sex"], budget=Budget(nodes=0))
    for start in range(0, 300, 100):
        found = pa.table(part(table[start : start + 100]))
        parquet.write_table(found, tmp_path / f"{start}.parquet")
    report = auditor.verify(table, budget=Budget(nodes=0))
    assert report.stopped
    counted = fatt.Report.from_parts(tmp_path)
    assert len(counted) == 300
    assert counted.counts == report.counts
    assert counted.stopped == report.stopped
    assert counted.alone == report.alone == 0
    assert counted.fairness == report.fairness
    assert dict(counted.by_group("sex")) == dict(report.by_group("sex"))
    assert json.loads(counted.to_json())["counts"] == report.counts
    assert len(list(counted.unfair())) == report.counts["unfair"]
    with pytest.raises(SpecError, match="no column 'age' beside the findings"):
        counted.by_group("age")
    with pytest.raises(TypeError, match="no truth value"):
        bool(counted)


def test_files_that_are_no_findings_are_refused(tmp_path: Any) -> None:
    with pytest.raises(DataError, match="cannot read findings from"):
        fatt.Report.from_parts(tmp_path / "nothing")
    odd = pa.table({"verdict": ["good"], "stopped": [None], "alone": [False]})
    parquet.write_table(odd, tmp_path / "odd.parquet")
    with pytest.raises(DataError, match="hold the verdict 'good', which fatt does"):
        _ = fatt.Report.from_parts(tmp_path / "odd.parquet").counts
    parquet.write_table(odd.drop_columns("alone"), tmp_path / "odd.parquet")
    with pytest.raises(DataError, match="hold no column 'alone', so they are no"):
        fatt.Report.from_parts([tmp_path / "odd.parquet"])


def test_mistakes_are_told(auditor: fatt.Auditor, table: pd.DataFrame) -> None:
    with pytest.raises(SpecError, match="cannot share a budget for the whole run"):
        Part(auditor, budget=Budget(total_seconds=1))
    with pytest.raises(SpecError, match=r"keep is 'id'; write a list of names"):
        Part(auditor, keep="id")
    with pytest.raises(DataError, match="the batch is a dict; pass a record batch"):
        Part(auditor)({"age": [1]})
    nested = pa.schema([("age", pa.int64()), ("hours", pa.list_(pa.float64()))])
    with pytest.raises(DataError, match=r"'sex' is read by the model, and the table"):
        Part(auditor).schema(nested)
    with pytest.raises(DataError, match=r"'hours' is of type list<.*cast it"):
        Part(auditor).schema(nested.append(pa.field("sex", pa.string())))
    broken = table.assign(hours=table["hours"].where(table["id"] != 1234, np.inf))
    with pytest.raises(DataError, match="300 rows, that with id=1234: row 234"):
        Part(auditor, keep=["id"])(broken)


def test_another_fatt_is_refused(
    auditor: fatt.Auditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(Part(auditor))
    assert unpacked(data).auditor.model == auditor.model
    assert unpacked(data) is unpacked(data)
    unpacked.cache_clear()
    monkeypatch.setattr("fatt.engines.__version__", "9.9")
    with pytest.raises(FattError, match=r"driver has fatt .*, and this worker 9\.9"):
        unpacked(data)
