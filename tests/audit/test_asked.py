"""Everybody's own answer is asked of the model itself, in the user's own table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Ensemble, Similarity
from fatt.audit import replay
from fatt.audit.run import Run
from fatt.errors import DataError, ReplayError
from tests.audit.posed import posed, read_as
from tests.worlds import AGES, tree

LABELS = ["deny", "deny", "grant", "grant"]
STILL = Similarity(noise={"x0": 0.5})
KEPT = Path(__file__).parents[1] / "data" / "models"


def mutated(model: Ensemble) -> Ensemble:
    """Return a model with the leaves of a tree exchanged."""
    return replace(model, trees=replace(model.trees, values=model.trees.values[::-1]))


class Refuses:
    """A model that refuses rows beyond an age, or more than so many at once."""

    def __init__(self, oldest: float = np.inf, most: int = 1000) -> None:
        self.oldest, self.most = oldest, most

    def predict(self, X: Any) -> Any:
        if np.max(X) > self.oldest or len(X) > self.most:
            raise ValueError("too old\nin line 2")
        return tree().predict(X)


def test_everybody_is_asked_and_counted() -> None:
    report = fatt.verify(tree(), AGES, similarity=STILL)
    assert report.counts["fair"] == 4
    assert report.asked.people == 4
    assert report.asked.reason == ""
    assert str(report.asked).startswith(
        "The model's own library was asked about 4 people"
    )


def test_an_own_answer_that_is_not_ours_ends_the_audit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_as(monkeypatch, mutated)
    words = r"row 0: .*the person gets 'grant', and the model answers 'deny'\. .*bug"
    with pytest.raises(ReplayError, match=words):
        fatt.verify(tree(), AGES, similarity=STILL)


def test_so_does_one_that_no_class_is(monkeypatch: pytest.MonkeyPatch) -> None:
    read_as(monkeypatch, lambda model: replace(model, classes=("deny", "give")))
    with pytest.raises(ReplayError, match=r"row 2: .* answers 'grant', which is none"):
        fatt.verify(tree(), AGES, similarity=STILL)


def test_what_a_journal_kept_is_compared_as_well(tmp_path: Path) -> None:
    path = tmp_path / "audit.journal"
    first = fatt.verify(tree(), AGES, similarity=STILL, journal=path)
    again = fatt.verify(tree(), AGES, similarity=STILL, journal=path)
    assert again.asked == first.asked
    assert again.asked.people == 4
    other = DecisionTreeClassifier().fit(AGES, LABELS[::-1])
    with pytest.raises(ReplayError, match="row 0"):
        fatt.verify(posed(other, tree()), AGES, similarity=STILL, journal=path)


def test_the_last_of_many_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "CHUNK", 3)

    class Almost(Refuses):
        def predict(self, X: Any) -> Any:
            right = {"deny": "grant", "grant": "deny"}
            labels = [right[one] for one in tree().predict(X)]
            return np.where(X[:, 0] == 50, "grant", labels)

    model = posed(Almost(), mutated(fatt.load(tree()).ensemble))
    with pytest.raises(ReplayError, match=r"row 3: .*'deny'.* answers 'grant'"):
        fatt.verify(model, AGES, similarity=STILL)


@pytest.mark.parametrize("chunk", [2, 100])
def test_rows_that_the_library_refuses_get_no_verdict(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(replay, "CHUNK", chunk)
    words = r"row 2: the model's own library refuses this \(ValueError: too old\)"
    with pytest.raises(DataError, match=words):
        fatt.verify(posed(Refuses(oldest=35), tree()), AGES, similarity=STILL)


def test_rows_that_are_refused_together_are_named_together() -> None:
    with pytest.raises(DataError, match="rows 0 to 3: the model's own library refuses"):
        fatt.verify(posed(Refuses(most=3), tree()), AGES, similarity=STILL)


def test_what_we_refuse_ourselves_is_told_in_our_words() -> None:
    with pytest.raises(DataError, match="row 4: column 'x0' is inf"):
        fatt.verify(tree(), [*AGES, [np.inf]], similarity=STILL)


def test_the_table_is_handed_over_as_it_is() -> None:
    table = pd.DataFrame({"age": [20.0, 30, 40, 50], "pay": [1, 2, 3, 4]})
    table.index = pd.Index([7, 7, 3, 1])
    model = DecisionTreeClassifier().fit(table, LABELS)
    seen: list[Any] = []

    class Spy:
        def predict(self, X: Any) -> Any:
            seen.append(X)
            return model.predict(X)

    spy = posed(Spy(), model)
    similarity = Similarity(noise={"age": 0.5})
    fatt.verify(spy, table, similarity=similarity)
    pd.testing.assert_frame_equal(seen[0], table)
    # If the library refuses other columns, or another order: those that it reads.
    seen.clear()
    wider = table.assign(name="x")[["name", "pay", "age"]]
    assert fatt.verify(spy, wider, similarity=similarity).asked.people == 4
    pd.testing.assert_frame_equal(seen[0], wider)
    pd.testing.assert_frame_equal(seen[1], table)
    # The similar people as well.
    assert all([*one.columns] == ["age", "pay"] for one in seen[1:])


@pytest.mark.parametrize(
    "kind",
    [
        np.asarray,
        pd.DataFrame,
        pl.DataFrame,
    ],
)
def test_a_few_people_are_asked_about_in_three_calls(kind: Any) -> None:
    """Everybody, their twins, and people similar to the fair."""
    table = pd.DataFrame(AGES, columns=["x0"])
    model, calls = DecisionTreeClassifier().fit(table, LABELS), []

    class Spy:
        def predict(self, X: Any) -> Any:
            calls.append(len(X))
            return model.predict(np.asarray(X, dtype=float))

    rows = (
        kind(table) if kind is not pl.DataFrame else pl.DataFrame({"x0": table["x0"]})
    )
    similarity = Similarity(noise={"x0": 6})
    auditor = fatt.Auditor(posed(Spy(), model), similarity=similarity)
    report = auditor.verify(rows)
    assert report.counts == {"fair": 2, "unfair": 2, "unknown": 0}
    assert report.findings.twins.on_model.all()
    assert report.asked.people == 4
    assert calls == [4, 2, report.asked.similar]


def test_where_sums_are_not_fixed_either_answer_is_right() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 4)).astype(float)
    y = rng.integers(2, size=300)
    forest = RandomForestClassifier(10, max_depth=2, random_state=0, n_jobs=2)
    forest.fit(X, y)
    ensemble = fatt.load(forest).ensemble
    if ensemble.scoring.ordered:
        pytest.skip("this forest fixes its sums")
    possible = ensemble.possible_labels(X)
    other = np.where(possible.all(axis=1), 1 - ensemble.decide(X), ensemble.decide(X))
    checker = replay.Replay(fatt.load(forest), run_of(forest, X).variables)
    people = run_of(forest, X).people
    checker.compare(people, 0, other, ensemble.decide(X).astype(np.int32))
    wrong = 1 - ensemble.decide(X)
    with pytest.raises(ReplayError, match=f"row {np.argmin(possible.all(axis=1))}:"):
        checker.compare(people, 0, wrong, ensemble.decide(X).astype(np.int32))


def run_of(model: Any, X: Any) -> Run:
    return fatt.Auditor(model, similarity=Similarity(noise=0.5), schema=X).run(X)


def test_without_the_model_itself_nothing_is_asked(tmp_path: Path) -> None:
    ensemble = fatt.load(tree()).ensemble
    asked = fatt.verify(ensemble, AGES, similarity=STILL).asked
    assert asked.people == 0
    assert str(asked) == (
        "The model's own library was not asked: only the model's exact form is here."
    )
    ensemble.save(tmp_path / "tree.fatt")
    asked = fatt.verify(tmp_path / "tree.fatt", AGES, similarity=STILL).asked
    assert (asked.people, asked.reason) == (
        0,
        "only the model's exact form is here",
    )
    answers = KEPT / "xgboost-2.0.3-softprob-vectors.npz"
    with np.load(answers) as kept:
        rows = kept["rows"][:5]
    [path] = set(KEPT.glob(f"{answers.stem}.*")) - {answers}
    asked = fatt.verify(path, rows, similarity=Similarity(noise=0.1)).asked
    assert asked.people == 0
    assert asked.reason.startswith("XGBoost 2.0.3 saved it, and ")


@pytest.mark.lightgbm
def test_a_library_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    options = {"objective": "binary", "verbose": -1, "min_data_in_leaf": 1}
    data = lightgbm.Dataset(np.array(AGES * 10), [0, 0, 1, 1] * 10, params=options)
    lightgbm.train(options, data, 2).save_model(tmp_path / "model.txt")
    similarity = Similarity(noise=0.5)
    asked = fatt.verify(tmp_path / "model.txt", AGES, similarity=similarity).asked
    assert asked.people == 4
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    asked = fatt.verify(tmp_path / "model.txt", AGES, similarity=similarity).asked
    assert (asked.people, asked.reason) == (0, "lightgbm is not installed")


def test_an_interrupted_run_counts_whom_it_reached() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    X = np.linspace(20, 50, 400)[:, np.newaxis]
    report = fatt.verify(tree(), X, similarity=STILL, progress=stop)
    assert report.interrupted
    known = sum(finding.label is not None for finding in report.findings)
    assert 0 < known < 400
    assert report.asked.people == known


@pytest.mark.lightgbm
def test_a_kind_of_frame_that_the_library_does_not_know() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=200)})
    table["ward"] = pd.Categorical(rng.choice(list("NESW"), 200))
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)
    model.fit(table, table["age"] + (table["ward"] == "N") > 0)
    people = pa.Table.from_pandas(table)
    with pytest.raises(lightgbm.basic.LightGBMError, match="dictionary"):
        model.predict(people)
    # It takes the same people as a frame of pandas.
    report = fatt.verify(model, people, similarity=Similarity(vary=["ward"]))
    assert report.asked.people == 200
    assert report.asked.similar > 100
