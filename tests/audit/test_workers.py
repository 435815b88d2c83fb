"""People sent to other processes with joblib: the report is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fatt
from fatt import Budget, Similarity
from fatt.audit import workers
from fatt.errors import DataError
from tests.worlds import people

# A worker that has imported much is replaced by a new one, with a warning in a thread
# of loky's own; as an error it would end that thread, and all would wait for ever.
pytestmark = pytest.mark.filterwarnings("ignore:A worker stopped while some jobs")

SIMILARITY = Similarity(noise={"age": 4, "hours": "0.4 sd"}, vary=["sex"])


def pipeline() -> Any:
    table = people(300, seed=1)
    granted = (table["age"] - 40) * (table["hours"] - 35) > 0
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex"]),
        (StandardScaler(), ["age", "hours"]),
    )
    forest = RandomForestClassifier(20, max_depth=6, random_state=0)
    return make_pipeline(columns, forest).fit(table, granted)


@pytest.fixture
def two_processes() -> Iterator[None]:
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield


def test_threads_are_used_unless_processes_are_asked_for() -> None:
    assert not workers.are_wanted()
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert not workers.are_wanted()
    with joblib.parallel_config(n_jobs=2):
        assert not workers.are_wanted()
    with joblib.parallel_config(backend="loky"):
        assert workers.are_wanted()
    nested = joblib.Parallel(2)([joblib.delayed(workers.are_wanted)()])
    assert nested == [False]


def test_the_report_is_the_same() -> None:
    model, table = pipeline(), people(800)
    local = fatt.verify(model, table, similarity=SIMILARITY)
    assert local.counts["unfair"] > 20
    seen: list[int] = []
    with joblib.parallel_config(backend="loky", n_jobs=2):
        report = fatt.verify(
            model,
            table,
            similarity=SIMILARITY,
            progress=lambda done, _: seen.append(done),
        )
    assert report.to_json() == local.to_json()
    assert {case.replayed_on for case in report.counterexamples} == {"model"}
    assert len(seen) > 8
    assert seen == sorted(seen)


@pytest.mark.usefixtures("two_processes")
def test_workers_need_no_file_to_ask_its_model(tmp_path: Path) -> None:
    table = people(300, seed=1).drop(columns="sex")
    model = xgboost.XGBClassifier(n_estimators=10).fit(table, table["age"] > 40)
    path = tmp_path / "model.json"
    model.save_model(path)
    similarity = Similarity(noise={"age": 3})
    report = fatt.verify(path, table, similarity=similarity)
    assert {case.replayed_on for case in report.counterexamples} == {"model"}
    loaded = fatt.load(path)
    path.unlink()
    again = fatt.verify(loaded, table, similarity=similarity)
    assert again.findings.verdict.tolist() == report.findings.verdict.tolist()
    assert {case.replayed_on for case in again.counterexamples} == {"model"}


@pytest.mark.usefixtures("two_processes")
def test_rows_are_counted_from_the_first() -> None:
    table = people(400)
    table.loc[390, "hours"] = np.inf
    schema = fatt.Schema.infer(fatt.load(pipeline()), people(400))
    with pytest.raises(DataError, match="row 390"):
        fatt.verify(pipeline(), table, similarity=SIMILARITY, schema=schema)


@pytest.mark.usefixtures("two_processes")
def test_budgets_of_nodes_and_journals(tmp_path: Path) -> None:
    model, table = pipeline(), people(400)
    given: dict[str, Any] = {
        "similarity": SIMILARITY,
        "budget": Budget(total_nodes=0),
    }
    with joblib.parallel_config(backend="threading"):
        local = fatt.verify(model, table, **given)
    assert 0 < local.counts["unknown"] < len(table)
    path = tmp_path / "journal"

    def stop(done: int, total: int) -> None:
        if done > 100:
            raise KeyboardInterrupt

    part = fatt.verify(model, table, journal=path, progress=stop, **given)
    assert part.interrupted
    report = fatt.verify(model, table, journal=path, **given)
    assert report.to_json() == local.to_json()
