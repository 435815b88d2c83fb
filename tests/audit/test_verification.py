"""`fatt.verify` from end to end, on models small enough to know the answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Bounds, Budget, Similarity, Verdict, threads
from fatt import people as audited
from fatt.audit import questions, run
from fatt.errors import DataError, ReplayError, SpecError
from fatt.region import Binary, Ordinal
from fatt.verdict import Twins
from fatt.verifier import Verifier
from tests.audit.posed import posed
from tests.worlds import AGES, people, tree

NOISE = Similarity(noise={"x0": 6})


def outcome(table: pd.DataFrame) -> NDArray[Any]:
    score = table["age"] / 10 + table["hours"] / 8 + (table["sex"] == "M")
    return np.where(score > score.median(), "grant", "deny")


def pipeline(model: Any) -> Any:
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex"]),
        (StandardScaler(), ["age", "hours"]),
    )
    table = people(300, seed=1)
    return make_pipeline(columns, model).fit(table, outcome(table))


MODELS = [
    DecisionTreeClassifier(max_depth=5, random_state=0),
    RandomForestClassifier(8, max_depth=4, random_state=0),
    GradientBoostingClassifier(n_estimators=8, random_state=0),
    HistGradientBoostingClassifier(max_iter=8, random_state=0),
]


def test_a_tree() -> None:
    report = fatt.verify(tree(), AGES, similarity=NOISE)
    assert report.counts == {"fair": 2, "unfair": 2, "unknown": 0}
    assert report.fairness == Bounds(0.5, 0.5)
    assert [finding.verdict for finding in report.findings] == [
        Verdict.FAIR,
        Verdict.UNFAIR,
        Verdict.UNFAIR,
        Verdict.FAIR,
    ]
    assert [finding.labels for finding in report.findings] == [
        ("deny",),
        ("deny", "grant"),
        ("deny", "grant"),
        ("grant",),
    ]
    assert [case.index for case in report.counterexamples] == [2, 1]
    assert str(report.counterexamples[0]) == "#2  grant → deny   x0 40.0 → 35.0"
    assert {case.replayed_on for case in report.counterexamples} == {"model"}
    assert not report.interrupted


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_twin_is_similar_and_the_pipeline_gives_it_another_label(
    model: Any,
) -> None:
    fitted, table = pipeline(model), people()
    similarity = Similarity(noise={"age": 2, "hours": 1.5}, vary=["sex"])
    report = fatt.verify(fitted, table, similarity=similarity)
    assert report.counts["fair"] > 0
    assert report.counts["unfair"] > 0
    own = fitted.predict(table)
    for case in report.counterexamples:
        row = table.iloc[case.index]
        assert case.individual == row.to_dict()
        assert case.replayed_on == "model"
        twin = pd.DataFrame([case.twin])
        assert fitted.predict(twin)[0] == case.twin_label != case.label
        assert own[case.index] == case.label
        assert abs(case.twin["age"] - row["age"]) <= 2
        assert isinstance(case.twin["age"], int)
        assert row["hours"] - 1.5 <= case.twin["hours"] <= row["hours"] + 1.5
        assert case.twin["sex"] in {"F", "M"}
    labels = [finding.label for finding in report.findings]
    assert labels == own.tolist()


def test_every_kind_of_table_gives_the_same_report() -> None:
    fitted, table = pipeline(MODELS[1]), people()
    similarity = Similarity(noise={"age": 2}, vary=["sex"])
    expected = fatt.verify(fitted, table, similarity=similarity).to_json()
    schema = fatt.Schema.infer(fatt.load(fitted), table)
    categories = table.astype({"sex": "category"})
    wider = table.assign(name="somebody")[["name", "hours", "sex", "age"]]
    for other in (
        pl.from_pandas(table),
        pa.Table.from_pandas(table),
        categories,
        wider,
        table.astype({"hours": np.float64, "age": np.int8}),
    ):
        report = fatt.verify(fitted, other, similarity=similarity, schema=schema)
        assert report.to_json() == expected


def test_an_array_is_named_for_a_model_that_wants_names() -> None:
    fitted, table = pipeline(MODELS[0]), people()
    ensemble = fatt.load(fitted)
    schema = fatt.Schema.infer(ensemble, table)
    array = table[[feature.name for feature in ensemble.features]].to_numpy()
    similarity = Similarity(noise={"age": 2}, vary=["sex"])
    report = fatt.verify(fitted, array, similarity=similarity, schema=schema)
    assert report.counts == fatt.verify(fitted, table, similarity=similarity).counts
    with pytest.raises(ValueError, match="string"):
        fitted.predict(array)
    assert {case.replayed_on for case in report.counterexamples} == {"model"}
    assert report.asked.people == len(array)


def test_an_ensemble_is_replayed_on_itself() -> None:
    loaded = fatt.load(tree())
    report = fatt.verify(loaded.ensemble, AGES, similarity=NOISE)
    assert {case.replayed_on for case in report.counterexamples} == {"ensemble"}
    report = fatt.verify(loaded, AGES, similarity=NOISE)
    assert {case.replayed_on for case in report.counterexamples} == {"model"}


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_columns_that_are_one_variable(kind: str) -> None:
    rng = np.random.default_rng(0)
    race = rng.choice(["Asian", "Black", "White"], 200)
    table = pd.DataFrame(
        {f"race={name}": (race == name).astype(float) for name in np.unique(race)}
    )
    table["sex=male"] = rng.integers(2, size=200)
    table["age"] = rng.integers(18, 70, size=200)
    score = table["age"] + 20 * table["race=White"] + 10 * table["sex=male"]
    model = DecisionTreeClassifier(max_depth=5).fit(table, score > 60)
    schema = fatt.Schema.infer(fatt.load(model), table)
    people: Any = table
    if kind != "pandas":
        people = pl.from_pandas(table) if kind == "polars" else table.to_numpy()
    similarity = Similarity(vary=["race", "sex"])
    report = fatt.verify(model, people, similarity=similarity, schema=schema)
    assert report.counts["unfair"] > 5
    assert report.counts["fair"] > 5
    for case in report.counterexamples:
        assert set(case.individual) == {"race", "sex", "age"}
        assert case.individual["race"] == race[case.index]
        assert set(case.changes) <= {"race", "sex"}
        assert case.replayed_on == "model"
    assert set(report.by_group("race")) == set(race)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, table = pipeline(MODELS[2]), people()
    similarity = Similarity(noise={"age": 2}, vary=["sex"])
    expected = fatt.verify(fitted, table, similarity=similarity)
    steps: list[tuple[int, int]] = []
    for module in (run, threads, audited):
        monkeypatch.setattr(module, "CHUNK", 7)
    report = fatt.verify(
        fitted,
        table,
        similarity=similarity,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert report.to_json() == expected.to_json()
    assert report.by_group("sex") == expected.by_group("sex")
    assert steps == sorted(steps)
    assert steps[-1] == (60, 60)
    assert len({done for done, _ in steps}) >= 9


def test_rows_are_counted_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "CHUNK", 2)
    rows = [*AGES, [30.0], [np.inf]]
    with pytest.raises(DataError, match="row 5"):
        fatt.verify(tree(), rows, similarity=NOISE, schema=schema_of_ages())
    whole = schema_of_ages(upper=45.0)
    with pytest.raises(DataError, match="row 3"):
        fatt.verify(tree(), AGES, similarity=NOISE, schema=whole)


def schema_of_ages(**bounds: float) -> fatt.Schema:
    from fatt.region import Number

    return fatt.Schema.infer(fatt.load(tree()), AGES).with_(x0=Number(**bounds))


def test_an_interrupted_run_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "CHUNK", 2)
    calls = []

    def stop(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return search(*args, **kwargs)

    search = Verifier.verify
    monkeypatch.setattr(Verifier, "verify", stop)
    report = fatt.verify(tree(), AGES, similarity=NOISE)
    assert report.interrupted
    assert report.counts == {"fair": 1, "unfair": 1, "unknown": 2}
    assert report.fairness == Bounds(0.25, 0.75)
    assert [case.index for case in report.counterexamples] == [1]
    assert report.findings[3].label is None
    assert report.findings[3].labels == ("deny", "grant")
    assert report.to_frame()["label"].tolist()[:2] == ["deny", "deny"]


def test_a_search_that_says_it_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Verifier.verify

    def stop(*args: Any, **kwargs: Any) -> Any:
        return replace(search(*args, **kwargs), interrupted=True)

    monkeypatch.setattr(Verifier, "verify", stop)
    with pytest.raises(KeyboardInterrupt):
        fatt.radius(tree(), AGES, similarity=NOISE)


def test_a_search_that_is_under_way_stops_when_the_user_interrupts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 12))
    model = RandomForestClassifier(60, random_state=0).fit(X, X.sum(axis=1) > 0)
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.append(done)
        os.kill(os.getpid(), signal.SIGINT)

    report = fatt.verify(
        model, X, similarity=Similarity(noise=0.6), n_jobs=2, progress=stop
    )
    assert report.interrupted
    assert len(seen) == 1
    assert 0 < report.counts["unknown"] < len(X)
    assert report.counts["unfair"] == len(report.counterexamples)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_people_who_would_take_for_ever_can_be_interrupted(n_jobs: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = rng.integers(2, size=400)
    model = RandomForestClassifier(200, random_state=0).fit(X, y)
    similarity = Similarity(noise=0.2)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    # So many that a fast machine is not done before it is interrupted.
    many = np.tile(X, (25, 1))
    report = fatt.verify(model, many, similarity=similarity, n_jobs=n_jobs)
    assert report.interrupted
    assert report.counts["unknown"] > 0
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_threads_and_chunks_do_not_show_in_a_budget_for_all(
    monkeypatch: pytest.MonkeyPatch, n_jobs: int
) -> None:
    fitted, table = pipeline(MODELS[1]), people()
    similarity = Similarity(noise={"age": 9, "hours": 9}, vary=["sex"])

    def limited(total: int | None, n_jobs: int) -> fatt.Report:
        budget = Budget(total_nodes=total)
        return fatt.verify(
            fitted, table, similarity=similarity, budget=budget, n_jobs=n_jobs
        )

    expected = [limited(total, 1).to_json() for total in (0, 30, 100)]
    assert len(set(expected)) == 3
    for module in (run, threads, audited):
        monkeypatch.setattr(module, "CHUNK", 7)
    assert [limited(total, n_jobs).to_json() for total in (0, 30, 100)] == expected


def test_the_number_of_threads_does_not_show() -> None:
    fitted, table = pipeline(MODELS[1]), people()
    similarity = Similarity(noise={"age": 2, "hours": 1}, vary=["sex"])
    one, two = (
        fatt.verify(fitted, table, similarity=similarity, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert one.to_json() == two.to_json()


def test_a_budget_of_nothing_leaves_all_that_is_not_plain_unknown() -> None:
    fitted, table = pipeline(MODELS[1]), people()
    similarity = Similarity(noise={"age": 2, "hours": 3}, vary=["sex"])
    report = fatt.verify(
        fitted, table, similarity=similarity, budget=Budget(total_nodes=0)
    )
    assert report.counts["unknown"] > 0
    full = fatt.verify(fitted, table, similarity=similarity)
    assert report.fairness.lower <= full.fairness.lower
    assert full.fairness.upper <= report.fairness.upper
    for some, all_ in zip(report.findings, full.findings, strict=True):
        assert set(some.labels) >= set(all_.labels) or some.verdict != "unknown"


def test_weights() -> None:
    report = fatt.verify(tree(), AGES, similarity=NOISE, sample_weight=[3, 1, 0, 0])
    assert report.fairness == Bounds(0.75, 0.75)
    for weights, message in (
        ([1, 2], "shape"),
        ([1, 1, 1, -1], "row 3"),
        ([1, np.nan, 1, 1], "row 1"),
        ([0, 0, 0, 0], "somebody"),
        (["a", "b", "c", "d"], "more than numbers"),
    ):
        with pytest.raises(DataError, match=message):
            fatt.verify(tree(), AGES, similarity=NOISE, sample_weight=weights)


def test_nobody_and_nonsense() -> None:
    with pytest.raises(DataError, match="no rows"):
        fatt.verify(tree(), np.empty((0, 1)), similarity=NOISE)
    empty = people().iloc[:0]
    for table in (empty, pl.from_pandas(empty)):
        with pytest.raises(DataError, match="no rows"):
            fatt.verify(pipeline(MODELS[0]), table, similarity=Similarity(vary=["sex"]))
    with pytest.raises(SpecError, match="x1"):
        fatt.verify(tree(), AGES, similarity=Similarity(noise={"x1": 1}))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"similarity": {"noise": {"x0": 1}}}, r"write Similarity\(\.\.\.\)"),
        ({"budget": 1.0}, r"1\.0 \(float\); write Budget\(seconds=1\.0\)"),
        ({"budget": {"seconds": 2}}, r"write Budget\(seconds=1\.0\)"),
        ({"schema": {"x0": "integer"}}, r"\(dict\); write Schema\.infer"),
        ({"n_jobs": "2"}, r"'2' \(str\); write a number of threads"),
        ({"n_jobs": True}, "write a number of threads"),
    ],
)
def test_wrong_types_are_told_what_to_write(given: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        fatt.verify(tree(), AGES, **{"similarity": NOISE, **given})


def test_labels_that_are_numbers_are_told_as_numbers() -> None:
    model = DecisionTreeClassifier().fit(AGES, [0, 0, 1, 1])
    similarity = Similarity(noise={"x0": 1})
    for label in ("1", 2):
        with pytest.raises(SpecError, match="There are: 0, 1"):
            fatt.verify(
                model,
                AGES,
                similarity=similarity,
                direction="not lower",
                favorable=label,
            )


def races(*rows: list[float]) -> tuple[DecisionTreeClassifier, pd.DataFrame]:
    """A model that reads a group of flags, and people."""
    columns = ["race=A", "race=B", "age"]
    good = [[1, 0, 30], [0, 1, 40], [0, 0, 50], [1, 0, 60]]
    frame = pd.DataFrame(good, columns=columns)
    model = DecisionTreeClassifier(random_state=0).fit(frame, [0, 0, 1, 1])
    return model, pd.DataFrame([*good, *rows], columns=columns)


@pytest.mark.parametrize("key", ["race", "race=A"])
def test_a_row_that_breaks_a_group_is_named(key: str) -> None:
    similarity = Similarity(vary=[key])
    model, good = races()
    assert len(fatt.verify(model, good, similarity=similarity)) == 4
    model, bad = races([1, 0, 20], [1, 1, 20], [1, 1, 30])
    words = rf"vary names '{key}'.*in row 5 'race=A' and 'race=B' are 1\. Drop"
    with pytest.raises(SpecError, match=words):
        fatt.verify(model, bad, similarity=similarity)
    # The same with a schema from bad rows, even for good people.
    schema = fatt.Schema.infer(fatt.load(model), bad)
    with pytest.raises(SpecError, match="the schema has each as a number"):
        fatt.verify(model, good, similarity=similarity, schema=schema)
    # Noise for all numbers does not mean flags, unless somebody calls them numbers.
    everything = Similarity(noise=1)
    with pytest.raises(SpecError, match=r"noise is for all numbers.*in row 5 'race=A'"):
        fatt.verify(model, bad, similarity=everything)
    assert len(fatt.verify(model, bad, similarity=everything, schema=schema)) == 7
    model, gap = races([np.nan, 0, 20])
    with pytest.raises(SpecError, match="in row 4 'race=A' is missing"):
        fatt.verify(model, gap, similarity=similarity)


def test_columns_that_are_said_to_be_flags_or_are_numbers_are_no_group() -> None:
    model, bad = races([1, 1, 20])
    fatt.verify(model, bad, similarity=Similarity(noise={"age": 1}))
    schema = fatt.Schema.infer(fatt.load(model), bad)
    flags = schema.with_({"race=A": Binary(), "race=B": Binary()})
    similarity = Similarity(vary=["race=A"])
    report = fatt.verify(model, bad, similarity=similarity, schema=flags)
    assert len(report) == 5
    model, numbers = races([7, 2, 20])
    assert len(fatt.verify(model, numbers, similarity=similarity)) == 5


def test_whole_labels_stay_whole_in_a_frame() -> None:
    X = np.array(AGES)
    model = DecisionTreeClassifier().fit(X, [3, 3, 5, 5])
    frame = fatt.verify(model, X, similarity=NOISE).to_frame()
    assert frame["twin_label"].dtype == "Int64"
    assert frame["twin_label"].isna().tolist() == [True, False, False, True]
    assert frame["twin_label"][1:3].tolist() == [5, 3]
    assert list(frame.columns[2:5]) == ["labels", "stopped", "twin_label"]


def test_missing_values_may_change_and_are_none() -> None:
    X = np.array([[20.0], [30.0], [np.nan], [50.0]])
    model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    similarity = Similarity(noise={"x0": 1}, missing=["x0"])
    report = fatt.verify(model, X, similarity=similarity)
    first = {case.index: case for case in report.counterexamples}[0]
    assert first.individual == {"x0": 20.0}
    assert first.twin == {"x0": None}
    assert first.replayed_on == "model"


def test_a_wrong_search_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Verifier.verify

    def wrong(*args: Any, **kwargs: Any) -> Any:
        found = search(*args, **kwargs)
        label = found.label[:1].astype(np.int64)
        twins = Twins.of(
            index=np.array([0]),
            people=np.array([AGES[0]]),
            twins=np.array([[twin]]),
            label=label,
            twin_label=1 - label,
        )
        return replace(found, twins=twins)

    monkeypatch.setattr(Verifier, "verify", wrong)
    twin = 40.0
    with pytest.raises(ReplayError, match=r"row 0: .* is not similar.*bug in fatt"):
        fatt.verify(tree(), AGES, similarity=NOISE)
    twin = 21.0
    with pytest.raises(ReplayError, match=r"row 0: .* own label, 'deny'.*bug in fatt"):
        fatt.verify(tree(), AGES, similarity=NOISE)


def test_a_wrong_import_is_found_out() -> None:
    class Other(DecisionTreeClassifier):
        def predict(self, X: Any, check_input: bool = True) -> Any:
            return np.where(np.asarray(X)[:, 0] <= 33, "deny", "grant")

    liar = Other().fit(AGES, ["deny", "deny", "grant", "grant"])
    with pytest.raises(ReplayError, match=r"row 2: .* the twin gets 'deny'.*'grant'"):
        fatt.verify(posed(liar, tree()), AGES, similarity=NOISE)


def test_an_audit_of_a_file_imports_no_framework(tmp_path: Path) -> None:
    fatt.load(tree()).save(tmp_path / "tree.fatt")
    code = (
        "import sys, numpy as np, fatt\n"
        f"path = {str(tmp_path / 'tree.fatt')!r}\n"
        "report = fatt.verify(path, np.array([[25.0], [34.0]]), "
        "similarity=fatt.Similarity(noise={'x0': 2}))\n"
        "assert report.counts['unfair'] == 1\n"
        "assert not {'pandas', 'sklearn', 'xgboost'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_module_of_the_function_is_not_in_its_way() -> None:
    assert fatt.verify is questions.verify


def test_noise_in_deviations_of_equal_rows_is_refused() -> None:
    tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
    with pytest.raises(SpecError, match="standard deviation is 0"):
        fatt.verify(tree, [[29.0]], similarity=Similarity(noise={"x0": "2 sd"}))


def test_huge_weights_are_weights() -> None:
    tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
    report = fatt.verify(
        tree,
        [[20.0], [29.0], [31.0]],
        similarity=Similarity(noise={"x0": 3}),
        sample_weight=[1e308, 1e308, 0.0],
    )
    assert report.fairness == (0.5, 0.5)


def test_a_value_may_become_missing() -> None:
    nan = float("nan")
    X, y = [[2], [0], [nan], [-3], [3], [nan], [1], [0]], [0, 1, 0, 0, 1, 1, 0, 0]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    report = fatt.verify(tree, [[3.0]], similarity=Similarity(missing=["x0"]))
    assert report.counts["unfair"] == 1
    assert report.counterexamples[0].twin["x0"] is None


@pytest.mark.lightgbm
def test_a_level_that_the_library_rounds_to_another_is_refused() -> None:
    import lightgbm

    rounded = 2**24 + 1
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [rng.integers(rounded - 1, rounded + 1, 400), np.arange(400) % 2]
    )
    label = (rows[:, 0] == rounded) | (rows[:, 1] == 1)
    model = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=1, verbose=-1)
    model.fit(rows.astype(float), label)
    schema = fatt.Schema.from_ensemble(fatt.load(model))
    code, sex = (variable.name for variable in schema.variables)
    schema = schema.with_({code: Ordinal(levels=(rounded - 1, rounded)), sex: Binary()})
    # LightGBM takes whole numbers for float32, in which these two are the same.
    with pytest.raises(DataError, match=f"holds the integer {rounded}"):
        fatt.verify(model, rows, similarity=fatt.Similarity(vary=[sex]), schema=schema)
