"""People in parts on a cluster: all that one machine finds, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

import fatt
from fatt import Budget, Report, Schema, Similarity
from fatt.audit import PartitionedReport, part_files, verify_partitions
from fatt.errors import DataError, JournalError, SpecError
from fatt.report import Asked
from tests.audit.test_workers import pipeline
from tests.worlds import people

# Dask's own, with the newest pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

SIMILARITY = Similarity(noise={"age": 4, "hours": "0.4 sd"}, vary=["sex"])
N_PARTS = 5
GROUPS = ("sex", ["sex", "district"])


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        yield client


@pytest.fixture
def one_process() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    made = people(600)
    made["district"] = np.random.default_rng(2).choice(["hill", "harbour"], len(made))
    made["id"] = np.arange(1000, 1600)
    return made


@pytest.fixture(scope="module")
def model() -> Any:
    return pipeline()


@pytest.fixture
def files(table: pd.DataFrame, tmp_path: Path) -> str:
    folder = tmp_path / "people"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), N_PARTS)):
        table.iloc[rows].to_parquet(folder / f"{number}.parquet", index=False)
    return str(folder / "*.parquet")


def run(model: Any, given: Any, output: Path, **options: Any) -> PartitionedReport:
    options = {"similarity": SIMILARITY, "groups": GROUPS, "keep": ["id"], **options}
    return verify_partitions(model, given, output=output, **options)


def compare(found: PartitionedReport, model: Any, table: pd.DataFrame) -> Report:
    """Compare with what one process finds, with the same schema."""
    schema = Schema.read(found.folder / "schema.json")
    local = fatt.verify(model, table, similarity=SIMILARITY, schema=schema)
    assert local.counts["unfair"] > 20
    assert found.counts == local.counts
    assert found.fairness == local.fairness
    assert found.by_group("sex") == local.by_group("sex")
    assert found.by_group("sex", "district") == local.by_group("sex", "district")
    names = sorted(found.folder.glob("part-*.parquet"))
    kept = pd.concat([pd.read_parquet(name) for name in names], ignore_index=True)
    expected = local.to_frame().reset_index(drop=True)
    assert kept["id"].tolist() == table["id"].tolist()
    assert kept["verdict"].tolist() == expected["verdict"].tolist()
    assert kept["label"].tolist() == expected["label"].map(str).tolist()
    texts = [[*map(str, labels)] for labels in expected["labels"]]
    assert [[*labels] for labels in kept["labels"]] == texts
    assert kept["stopped"].isna().all()
    unfair = expected["verdict"] == "unfair"
    for name in ("twin_label", "changes", "replayed_on"):
        assert kept[name].notna().tolist() == unfair.tolist()
        assert kept[name][unfair].tolist() == expected[name][unfair].map(str).tolist()
    return local


def test_a_cluster_finds_what_one_process_finds(
    client: Client, model: Any, table: pd.DataFrame, files: str, tmp_path: Path
) -> None:
    found = run(model, files, tmp_path / "out")
    assert len(found) == len(table)
    assert len(found.tallies) == N_PARTS
    compare(found, model, table)
    ours = Schema.read(tmp_path / "out" / "schema.json")
    all_at_once = Schema.infer(fatt.load(model), table)
    assert [type(one) for one in ours.variables] == [
        type(one) for one in all_at_once.variables
    ]
    assert ours.find("hours").sd == pytest.approx(all_at_once.find("hours").sd)
    summary = (tmp_path / "out" / "summary.json").read_text()
    assert summary == found.to_json()


def test_nobody_may_move_in_a_part_but_somebody_must(
    one_process: None, model: Any, table: pd.DataFrame, tmp_path: Path
) -> None:
    ordered = table.sort_values("age", ignore_index=True)
    frame = dd.from_pandas(ordered, npartitions=3)
    young = Similarity(noise={"age": 4}, where={"age": "<= 25"})
    found = verify_partitions(
        model, frame, similarity=young, output=tmp_path / "young", keep=["id"]
    )
    older = int((table["age"] > 25).sum())
    assert found.tallies[2].alone == sum(found.tallies[2].total)
    assert found.alone == json.loads(found.to_json())["alone"] == older < len(table)
    nobody = Similarity(noise={"age": 4}, where={"age": "> 200"})
    with pytest.raises(SpecError, match="nobody in this table has anybody similar"):
        verify_partitions(model, frame, similarity=nobody, output=tmp_path / "nobody")
    assert not (tmp_path / "nobody" / "summary.json").exists()


def test_parts_share_the_spot_checks(
    model: Any, table: pd.DataFrame, tmp_path: Path
) -> None:
    frame = dd.from_pandas(table, npartitions=3)
    found = run(model, frame, tmp_path / "out", spot_checks=100)
    # A few of those that chance draws are equal.
    similar = found.asked.similar
    assert found.asked == Asked(people=len(table), similar=similar)
    assert 90 <= similar <= 100
    document = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert document["asked"] == {
        "people": len(table),
        "similar": similar,
        "reason": "",
        "rounded": 0,
    }
    again = run(model, frame, tmp_path / "out", spot_checks=100)
    assert again.to_json() == found.to_json()
    none = run(model, frame, tmp_path / "none", spot_checks=0)
    assert none.asked == Asked(people=len(table))
    exact = run(fatt.load(model).ensemble, frame, tmp_path / "exact")
    assert (exact.asked.people, exact.asked.similar) == (0, 0)
    assert exact.asked.reason.startswith("only the model's exact form")


def test_joblib_sends_people_to_the_cluster(
    client: Client, model: Any, table: pd.DataFrame
) -> None:
    local = fatt.verify(model, table, similarity=SIMILARITY)
    with joblib.parallel_config(backend="dask"):
        report = fatt.verify(model, table, similarity=SIMILARITY)
    assert report.to_json() == local.to_json()


def test_a_killed_worker_loses_nothing(
    client: Client, model: Any, table: pd.DataFrame, tmp_path: Path
) -> None:
    output, killed = tmp_path / "out", []

    def kill() -> None:
        while not list(output.glob("part-*.parquet")):
            time.sleep(0.005)
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = run(model, dd.from_pandas(table, npartitions=40), output)
    killer.join()
    assert killed
    client.wait_for_workers(2, timeout=120)
    assert killed[0] not in client.run(os.getpid).values()
    compare(found, model, table)


@pytest.mark.usefixtures("one_process")
def test_only_what_is_not_done_is_done_again(
    model: Any,
    table: pd.DataFrame,
    files: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = run(model, files, tmp_path / "out").to_json()
    written = sorted((tmp_path / "out").glob("part-*.parquet"))
    written[0].unlink()
    written[2].write_bytes(written[2].read_bytes()[:-100])
    damaged = bytearray(written[3].read_bytes())
    damaged[40] ^= 1
    written[3].write_bytes(damaged)
    verified: list[int] = []

    def spy(*given: Any) -> Any:
        verified.append(len(given[1]))
        return search(*given)

    search = part_files._verified
    monkeypatch.setattr(part_files, "_verified", spy)
    assert run(model, files, tmp_path / "out").to_json() == first
    assert len(verified) == 3
    # Other people in a part make it a part that is not done.
    changed = table.iloc[120:240].assign(age=30)
    changed.to_parquet(Path(files).parent / "1.parquet", index=False)
    schema = Schema.read(tmp_path / "out" / "schema.json")
    again = run(model, files, tmp_path / "out", schema=schema)
    assert len(verified) == 4
    compare(again, model, pd.concat([table[:120], changed, table[240:]]))


@pytest.mark.usefixtures("one_process")
def test_other_findings_are_not_overwritten(
    model: Any, files: str, tmp_path: Path
) -> None:
    run(model, files, tmp_path / "out")
    for change in ({"similarity": Similarity(vary=["sex"])}, {"groups": ["sex"]}):
        with pytest.raises(JournalError, match="holds findings about something else"):
            run(model, files, tmp_path / "out", **change)
    (Path(files).parent / "4.parquet").unlink()
    schema = Schema.read(tmp_path / "out" / "schema.json")
    with pytest.raises(JournalError, match="holds findings about something else"):
        run(model, files, tmp_path / "out", schema=schema)


@pytest.mark.usefixtures("one_process")
def test_mistakes_name_the_thing_and_the_way_out(
    model: Any, table: pd.DataFrame, files: str, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with pytest.raises(SpecError, match="cannot share a budget for the whole run"):
        run(model, files, output, budget=Budget(total_nodes=5))
    with pytest.raises(DataError, match="the people are a DataFrame; pass a Dask"):
        run(model, table, output)
    with pytest.raises(DataError, match="cannot read the people from"):
        run(model, str(tmp_path / "nobody.parquet"), output)
    assert not output.exists()
    broken = table.assign(hours=table["hours"].where(table.index != 500, np.inf))
    schema = Schema.infer(fatt.load(model), table)
    with pytest.raises(DataError, match="part 4: row 20"):
        run(model, dd.from_pandas(broken, npartitions=5), output, schema=schema)
    assert not (output / "summary.json").exists()
    found = run(model, files, tmp_path / "more", schema=schema)
    with pytest.raises(SpecError, match="groups by age were not counted"):
        found.by_group("age")
    with pytest.raises(TypeError, match="no truth value"):
        bool(found)


@pytest.mark.usefixtures("one_process")
def test_workers_read_no_model_file(
    model: Any, files: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.fatt"
    fatt.load(model).save(path)
    done = part_files.do_part

    def on_another_machine(*given: Any) -> Any:
        path.unlink(missing_ok=True)
        return done(*given)

    monkeypatch.setattr("fatt.audit.partitions.do_part", on_another_machine)
    found = run(path, files, tmp_path / "out")
    assert found.counts == run(model, files, tmp_path / "again").counts


@pytest.mark.usefixtures("one_process")
def test_empty_parts(model: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    frame = dd.from_pandas(table, npartitions=3)
    young = frame[(frame["id"] < 1200) | (frame["id"] >= 1400)]
    found = run(model, young, tmp_path / "out")
    assert [sum(tally.total) for tally in found.tallies] == [200, 0, 200]
    compare(found, model, table[(table["id"] < 1200) | (table["id"] >= 1400)])
