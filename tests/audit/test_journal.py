"""Journals: what is done is done, whatever ends a run, and whoever goes on with it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Budget, Ensemble, Schema, Similarity
from fatt.audit import journal as journals
from fatt.audit import verification
from fatt.audit.journal import OLD_MAGIC, Journal
from fatt.errors import DataError, JournalError
from fatt.region import Integer
from fatt.verdict import Findings
from fatt.verifier import Verifier

NOISE = Similarity(noise=0.05)
N_PEOPLE = 300


def rows(count: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(count, 6))


@pytest.fixture(scope="module")
def model() -> Ensemble:
    X = rows(1000, seed=1)
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    return fatt.load(
        RandomForestClassifier(20, max_depth=7, random_state=0).fit(X, y)
    ).ensemble


@pytest.fixture(scope="module")
def undisturbed(model: Ensemble) -> str:
    report = fatt.verify(model, rows(N_PEOPLE), similarity=NOISE)
    assert report.counts["fair"] > 50
    assert report.counts["unfair"] > 20
    return report.to_json()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.journal"


def verify(model: Ensemble, path: Path, **options: Any) -> fatt.Report:
    options = {"similarity": NOISE, **options}
    return fatt.verify(model, rows(N_PEOPLE), journal=path, **options)


def stops(path: Path) -> list[int]:
    """Return how many people are done after each of the findings kept."""
    with contextlib.closing(sqlite3.connect(path)) as base:
        return [stop for (stop,) in base.execute("select stop from findings")]


def change(path: Path, *commands: str) -> None:
    """Change a journal behind our back."""
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        for command in commands:
            base.execute(command)


def test_a_journal_changes_nothing_and_is_not_searched_again(
    model: Ensemble, path: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verify(model, path).to_json() == undisturbed
    kept = path.read_bytes()
    assert len(stops(path)) > 3
    assert stops(path)[-1] == N_PEOPLE
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.setattr(Verifier, "verify", None)
    seen: list[tuple[int, int]] = []
    again = verify(model, path, progress=lambda *state: seen.append(state))
    assert again.to_json() == undisturbed
    assert seen[-1] == (N_PEOPLE, N_PEOPLE)
    assert path.read_bytes() == kept


def test_a_journal_that_ends_early_is_gone_on_with(
    model: Ensemble, path: Path, undisturbed: str
) -> None:
    verify(model, path)
    whole, done = path.read_bytes(), stops(path)
    for number in range(len(done)):
        path.write_bytes(whole)
        change(path, f"delete from findings where number >= {number}")
        seen: list[int] = []
        report = verify(
            model,
            path,
            n_jobs=1 + number % 3,
            progress=lambda some, total, seen=seen: seen.append(some),
        )
        assert report.to_json() == undisturbed
        assert seen[:number] == done[:number]
        assert verify(model, path).to_json() == undisturbed


def assert_noticed(model: Ensemble, path: Path, undisturbed: str) -> bool:
    """Assert that a file is refused and left alone, or that it changed nothing."""
    before = path.read_bytes()
    try:
        report = verify(model, path)
    except JournalError as error:
        told = str(error)
    else:
        told = ""
        assert report.to_json() == undisturbed
    if told:
        assert "is damaged" in told or "is no journal" in told
        assert path.read_bytes() == before
    return bool(told)


def test_no_cut_goes_unnoticed(model: Ensemble, path: Path, undisturbed: str) -> None:
    verify(model, path)
    whole = path.read_bytes()
    draw = random.Random(0)
    cuts = [0, 1, 15, 16, 100, *range(4096, len(whole), 4096)]
    cuts += draw.sample(range(len(whole)), 8)
    refused = 0
    for cut in cuts:
        path.write_bytes(whole[:cut])
        refused += assert_noticed(model, path, undisturbed)
    assert refused >= len(cuts) - 2


def test_no_damage_goes_unnoticed(
    model: Ensemble, path: Path, undisturbed: str
) -> None:
    verify(model, path)
    whole = path.read_bytes()
    draw = random.Random(0)
    refused = 0
    for place in draw.sample(range(len(whole)), 60):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        refused += assert_noticed(model, path, undisturbed)
    # The rest fell where nothing is written.
    assert refused >= 15


@pytest.mark.parametrize(
    "command",
    [
        "delete from findings where number = 1",
        "delete from findings where number = 0",
        "update findings set number = number + 9 where number >= 2",
        "update findings set seconds = seconds + 1 where number = 1",
        "update findings set seconds = 1 where number = 1",
        "update findings set seconds = 'late' where number = 1",
        "update findings set stop = stop + 1 where number = 1",
        "update findings set arrays = null where number = 1",
        "update findings set arrays = x'00' where number = 1",
        "update findings set digest = x'00' where number = 1",
        "delete from about",
        "insert into about select * from about",
        "update about set digest = x'00'",
        "update about set format = 'fatt-journal-1'",
        "drop table findings",
    ],
)
def test_nothing_can_be_left_out_moved_or_changed(
    model: Ensemble, path: Path, command: str
) -> None:
    verify(model, path)
    change(path, "pragma ignore_check_constraints = 1", command)
    damaged = path.read_bytes()
    with pytest.raises(JournalError, match="is damaged after the findings of"):
        verify(model, path)
    assert path.read_bytes() == damaged


def test_two_findings_cannot_change_places(model: Ensemble, path: Path) -> None:
    verify(model, path)
    change(
        path,
        "update findings set number = -1 where number = 1",
        "update findings set number = 1 where number = 2",
        "update findings set number = 2 where number = -1",
    )
    with pytest.raises(JournalError, match="is damaged after the findings of 64"):
        verify(model, path)


def test_a_journal_of_another_form_is_left_untouched(
    model: Ensemble, path: Path
) -> None:
    old = OLD_MAGIC + bytes(range(256)) * 30
    path.write_bytes(old)
    with pytest.raises(JournalError, match="form fatt-journal-1, which earlier"):
        verify(model, path)
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


def test_a_database_of_others_is_left_untouched(model: Ensemble, path: Path) -> None:
    change(path, "create table people (name)", "insert into people values ('Ann')")
    theirs = path.read_bytes()
    with pytest.raises(JournalError, match="is no journal of fatt; name another file"):
        verify(model, path)
    assert path.read_bytes() == theirs
    path.unlink()
    change(path, "pragma application_id = 7")
    theirs = path.read_bytes()
    with pytest.raises(JournalError, match="is no journal of fatt"):
        verify(model, path)
    assert path.read_bytes() == theirs


def test_a_journal_is_for_one_audit_only(
    model: Ensemble, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify(model, path)
    kept = path.read_bytes()
    X = rows(1000, seed=1)
    other = fatt.load(
        RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 0)
    ).ensemble
    with pytest.raises(JournalError, match="is about another model; name another file"):
        verify(other, path)
    with pytest.raises(JournalError, match="has another similarity"):
        verify(model, path, similarity=Similarity(noise=0.06))
    with pytest.raises(JournalError, match="has another budget"):
        verify(model, path, budget=Budget(nodes=10**9))
    bounded = Schema.infer(model, rows(N_PEOPLE)).with_(x0=Integer(name="x0"))
    with pytest.raises(DataError, match="row 0"):
        verify(model, path, schema=bounded)
    schema = Schema.from_ensemble(model)
    with pytest.raises(JournalError, match="is about other variables"):
        verify(model, path, schema=schema)
    schema = Schema.infer(model, rows(N_PEOPLE))
    changed = rows(N_PEOPLE)
    changed[-1, -1] += 1
    for X in (changed, rows(N_PEOPLE)[:-1]):
        with pytest.raises(JournalError, match="is about other people"):
            fatt.verify(model, X, similarity=NOISE, schema=schema, journal=path)
    monkeypatch.setattr(journals, "__version__", "0.0.9")
    with pytest.raises(JournalError, match="was made by another version of fatt"):
        verify(model, path)
    assert path.read_bytes() == kept


def test_other_files_are_left_alone(model: Ensemble, path: Path) -> None:
    path.write_text("age,sex\n17,F\n")
    with pytest.raises(JournalError, match="is no journal of fatt; name another file"):
        verify(model, path)
    assert path.read_text() == "age,sex\n17,F\n"
    with pytest.raises(JournalError, match=r"cannot open .*: Is a directory"):
        verify(model, path.parent)
    with pytest.raises(JournalError, match=r"cannot open .*: No such file"):
        verify(model, path.parent / "absent" / "journal")


def test_two_runs_cannot_share_a_journal(model: Ensemble, path: Path) -> None:
    def second(done: int, total: int) -> None:
        with pytest.raises(JournalError, match="another run is writing"):
            verify(model, path)
        raise KeyboardInterrupt

    assert verify(model, path, progress=second).interrupted


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_done(
    model: Ensemble, path: Path, undisturbed: str, n_jobs: int
) -> None:
    most: list[int] = []
    for _ in range(3):

        def stop(done: int, total: int) -> None:
            if done > max([0, *most]):
                most.append(done)
                raise KeyboardInterrupt

        report = verify(model, path, progress=stop, n_jobs=n_jobs)
        assert report.interrupted
        known = sum(finding.label is not None for finding in report.findings)
        assert known == most[-1]
    assert most == sorted(set(most))
    assert verify(model, path).to_json() == undisturbed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("kind", ["journal", "parts"])
def test_killed_while_it_writes(kind: str, tmp_path: Path) -> None:
    X = rows(4000 if kind == "journal" else 600)
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    forest = RandomForestClassifier(40, max_depth=8, random_state=0).fit(X, y)
    fatt.load(forest).save(tmp_path / "model.fatt")
    people = tmp_path / "people"
    if kind == "journal":
        people = people.with_suffix(".npy")
        np.save(people, X)
    else:
        people.mkdir()
        frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(X.shape[1])])
        for number, part in enumerate(np.array_split(np.arange(len(X)), 12)):
            frame.iloc[part].to_parquet(people / f"{number:02}.parquet", index=False)
    command = [sys.executable, "-m", "tests.audit.killed", kind]
    arguments = [tmp_path / "model.fatt", people, tmp_path, "7"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["killed"] >= 9
    assert counts["partly"] >= 9
    assert all(counts["same"])


def test_a_full_disk(
    model: Ensemble, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def audit() -> str:
        return fatt.verify(model, people, similarity=NOISE, journal=path).to_json()

    # The sizes of chunks, and so the length of a journal, depend on no time then.
    monkeypatch.setattr(verification, "_KEEP_SECONDS", 1e9)
    people = rows(3000)
    undisturbed = audit()
    size = path.stat().st_size
    path.unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    held = 0
    for limit in (10, size // 2, 3 * size // 4):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(
                JournalError,
                match=r"cannot write to .*\. What it holds is kept: make room",
            ):
                audit()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        # What was held is held still.
        done = stops(path) if path.stat().st_size else [0]
        assert held <= done[-1] < len(people)
        held = done[-1]
    assert held > 0
    assert audit() == undisturbed


def test_rows_that_cannot_be_read_are_found_before_anything_is_written(
    model: Ensemble, path: Path
) -> None:
    X = rows(N_PEOPLE)
    X[250, 3] = np.inf
    with pytest.raises(DataError, match="row 250"):
        fatt.verify(model, X, similarity=NOISE, journal=path)
    frame = pd.DataFrame(rows(N_PEOPLE)).astype({2: str})
    with pytest.raises(DataError, match="2"):
        fatt.verify(model, frame, similarity=NOISE, journal=path)
    assert not path.exists()


def test_nodes_of_all_parts_count(model: Ensemble, path: Path) -> None:
    given: dict[str, Any] = {
        "similarity": Similarity(noise=0.5),
        "budget": Budget(total_nodes=30),
    }
    undisturbed = fatt.verify(model, rows(N_PEOPLE), **given)
    assert 0 < undisturbed.counts["unknown"] < N_PEOPLE
    verify(model, path, **given)
    whole = path.read_bytes()
    for number in range(len(stops(path))):
        path.write_bytes(whole)
        change(path, f"delete from findings where number >= {number}")
        report = verify(model, path, n_jobs=2, **given)
        assert report.to_json() == undisturbed.to_json()


def test_seconds_of_all_parts_count(
    model: Ensemble, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    append, search = Journal.append, Verifier.verify

    def later(journal: Journal, found: Findings, seconds: float) -> None:
        append(journal, found, seconds + 990)

    def spy(verifier: Verifier, *given: Any, budget: Budget, n_jobs: int) -> Findings:
        left.append(budget.total_seconds)
        return search(verifier, *given, budget=budget, n_jobs=n_jobs)

    left: list[float | None] = []
    monkeypatch.setattr(Journal, "append", later)
    monkeypatch.setattr(Verifier, "verify", spy)
    verify(model, path, budget=Budget(total_seconds=1000), progress=stop)
    verify(model, path, budget=Budget(total_seconds=1000))
    first, *_, last = left
    assert first is not None
    assert last is not None
    assert first > 990
    assert last < 10
