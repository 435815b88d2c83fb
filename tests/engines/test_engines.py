"""Findings on real engines are those of one process, also if a worker dies."""

from __future__ import annotations

import decimal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fatt
from fatt import Schema, Similarity
from fatt.errors import DataError, FattError, SpecError
from tests.audit.test_workers import people, pipeline
from tests.engines.running import CLUSTERS, ROOT, Engine, wait_for
from tests.engines.slow import Slow

# What the engines say of the newest pandas, and of what they leave open at their end.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

SIMILARITY = Similarity(noise={"age": 4, "hours": "0.4 sd"}, vary=["sex"])
COLUMNS = ["verdict", "label", "stopped", "twin_label", "changes", "replayed_on"]


@pytest.mark.parametrize("name", CLUSTERS)
def test_an_engine_finds_what_one_process_finds(
    name: str,
    model: Any,
    auditor: fatt.Auditor,
    table: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All is asked of one cluster: to start one takes longer than to ask it."""
    traces = tmp_path / "traces"
    traces.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("FATT_TEST_TRACES", str(traces))
    with CLUSTERS[name]() as engine:
        for count in (1, 4):
            check_rows(engine, model, table, count)
        check_files(engine, auditor, table, tmp_path / "found")
        check_refusals(engine, auditor, table)
        check_names_of_rows(engine, auditor, table)
        monkeypatch.setattr(f"fatt.engines.{engine.name}.Part", Slow)
        check_a_death(engine, auditor, table, traces)


@pytest.fixture(scope="module")
def model() -> Any:
    return pipeline()


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    made = people(300)
    made["id"] = np.arange(1000, 1300)
    made["a.note"] = [None, "a", "b"] * 100
    return made


@pytest.fixture(scope="module")
def auditor(model: Any, table: pd.DataFrame) -> fatt.Auditor:
    schema = Schema.infer(fatt.load(model), table)
    return fatt.Auditor(model, similarity=SIMILARITY, schema=schema)


def texts(cells: Any) -> list[str | None]:
    return [None if pd.isna(cell) else str(cell) for cell in cells]


def compare(found: pd.DataFrame, auditor: fatt.Auditor, table: pd.DataFrame) -> None:
    found = found.sort_values("id", ignore_index=True)
    report = auditor.verify(table)
    expected = report.to_frame().reset_index(drop=True)
    assert report.counts["unfair"] > 20
    assert found["id"].tolist() == table["id"].tolist()
    for name in COLUMNS:
        assert texts(found[name]) == texts(expected[name]), name
    labels = [[*map(str, labels)] for labels in expected["labels"]]
    assert [[*labels] for labels in found["labels"]] == labels
    assert found["twin"].notna().tolist() == (~report.is_fair).tolist()
    assert not found["alone"].any()


def check_rows(engine: Engine, model: Any, table: pd.DataFrame, count: int) -> None:
    given = engine.frame(table, count)
    schema = engine.infer_schema(given, model)
    assert schema == Schema.infer(fatt.load(model), table)
    auditor = fatt.Auditor(model, similarity=SIMILARITY, schema=schema)
    found = engine.rows(engine.verify(given, auditor, keep=["id", "a.note"]))
    assert found.columns[:2].tolist() == ["id", "a.note"]
    compare(found, auditor, table)


def check_files(
    engine: Engine, auditor: fatt.Auditor, table: pd.DataFrame, folder: Path
) -> None:
    found = engine.verify(engine.frame(table, 4), auditor, keep=["id", "sex"])
    engine.write(found, folder)
    counted = fatt.Report.from_parts(folder)
    report = auditor.verify(table)
    assert counted.counts == report.counts
    assert counted.fairness == report.fairness
    assert dict(counted.by_group("sex")) == dict(report.by_group("sex"))
    unfair = {case.index + 1000 for case in report.counterexamples}
    assert {row["id"] for row in counted.unfair()} == unfair


def check_a_death(
    engine: Engine, auditor: fatt.Auditor, table: pd.DataFrame, traces: Path
) -> None:
    found = engine.verify(engine.frame(table, 9), auditor, keep=["id"])
    rows: list[pd.DataFrame] = []
    work = threading.Thread(target=lambda: rows.append(engine.rows(found)))
    work.start()
    engine.kill_a_worker(wait_for(traces))
    work.join(120)
    assert len(rows) == 1
    compare(rows[0], auditor, table)
    # What the dead had begun was begun again.
    assert len(list(traces.iterdir())) >= 9


def check_refusals(engine: Engine, auditor: fatt.Auditor, table: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="column 'hours' is read by the model, and"):
        engine.verify(engine.frame(table.drop(columns="hours"), 2), auditor)
    with pytest.raises(
        DataError, match="column 'name' is in keep, and the table has no"
    ):
        engine.verify(engine.frame(table, 2), auditor, keep=["name"])
    renamed = engine.frame(table.rename(columns={"a.note": "label"}), 2)
    with pytest.raises(SpecError, match="keep names 'label', which is also a column"):
        engine.verify(renamed, auditor, keep=["label"])
    if engine.name != "dask":
        cents = table.assign(hours=[decimal.Decimal("1.25")] * len(table))
        with pytest.raises(DataError, match=r"'hours' is of type decimal128.*cast it"):
            engine.verify(engine.frame(cents, 2), auditor)


def check_names_of_rows(
    engine: Engine, auditor: fatt.Auditor, table: pd.DataFrame
) -> None:
    broken = table.assign(hours=table["hours"].where(table["id"] != 1234, np.inf))
    found = engine.verify(engine.frame(broken, 2), auditor, keep=["id"])
    with pytest.raises(Exception, match=r"that with id=1234: row \d+") as caught:
        engine.rows(found)
    assert engine.name != "dask" or isinstance(caught.value, FattError)
