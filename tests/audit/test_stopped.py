"""Why somebody is unknown: told in the search, and wherever the finding is shown."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Budget, Ensemble, Report, Similarity
from fatt.audit import run
from fatt.ensemble import Argmax, Cut
from fatt.errors import UnfairError
from fatt.report.sentences import caveats
from fatt.verdict import Stopped
from tests.verifier.stumps import stumps

WIDE = Similarity(noise=0.5)


def rows(count: int) -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(count, 6))


@functools.cache
def forest() -> Ensemble:
    X = rows(600)
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0
    model = RandomForestClassifier(20, max_depth=7, random_state=0).fit(X, y)
    return fatt.load(model).ensemble


def assert_told(report: Report, reasons: set[str]) -> None:
    """Assert that the unknown, and nobody else, have one of these reasons."""
    found = {str(finding.stopped) for finding in report.findings if finding.stopped}
    assert found == set(report.stopped) == reasons
    for finding in report.findings:
        assert (finding.stopped is None) == (finding.verdict != "unknown")
    assert sum(report.stopped.values()) == report.counts["unknown"]


def test_no_nodes_at_all() -> None:
    report = fatt.verify(forest(), rows(60), similarity=WIDE, budget=Budget(nodes=0))
    assert report.counts["unknown"] > 5
    assert_told(report, {"budget"})
    unknown = report.counts["unknown"]
    told = f"{unknown} are unknown because the budget ended."
    assert caveats(report)[0].startswith(told)
    assert f"{unknown} unknown ({unknown} budget)" in repr(report)
    assert told in report.to_html()


@pytest.mark.parametrize(
    "budget", [Budget(seconds=0), Budget(total_seconds=0), Budget(total_nodes=0)]
)
def test_other_budgets(budget: Budget) -> None:
    report = fatt.verify(forest(), rows(60), similarity=WIDE, budget=budget)
    assert report.counts["unknown"] > 5
    assert_told(report, {"budget"})


def test_a_total_that_ends_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "chunk_size", lambda n_people, n_workers: 7)
    budget = Budget(total_nodes=4)
    report = fatt.verify(forest(), rows(60), similarity=WIDE, budget=budget)
    assert 0 < report.counts["unknown"] < 60
    assert_told(report, {"budget"})


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "chunk_size", lambda n_people, n_workers: 7)
    report = fatt.verify(forest(), rows(60), similarity=WIDE, progress=stop)
    assert report.interrupted
    assert_told(report, {"interrupted"})
    assert report.findings[59].stopped == Stopped.INTERRUPTED
    assert json.loads(report.to_json())["findings"][59]["stopped"] == "interrupted"
    assert "unknown because the run was interrupted." in caveats(report)[1]


def test_sums_in_no_fixed_order() -> None:
    # 0.1 + 0.2 + 0.3 is 0.6 or a little more; the last leaf settles it.
    leaves = [(0.1, 0.1), (0.2, 0.2), (0.3, 9.0)]
    scoring = {"dtype": "float64", "base": (0.0,), "ordered": False}
    ensemble = stumps(leaves, [0, 0, 0], Cut(at=0.6), **scoring)
    people, stays = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), Similarity(noise=0)
    report = fatt.verify(ensemble, people, similarity=stays)
    assert [finding.stopped for finding in report.findings] == ["order of sums", None]
    # The person's own answer is not fixed, whatever is found beside it.
    report = fatt.verify(ensemble, people, similarity=Similarity(noise=1))
    assert_told(report, {"order of sums"})
    assert report.findings[0].stopped == Stopped.ORDER
    with pytest.raises(UnfairError, match="does not fix the order of its sums") as told:
        report.raise_if_unfair(report.fairness.upper)
    assert "Raise the budget" not in str(told.value)


def test_the_last_bits_of_a_link() -> None:
    leaves = [(37.2, 37.3), (0.0, 1037.0)]
    scoring = {"dtype": "float64", "base": (0.0, 0.0)}
    ensemble = stumps(leaves, [0, 1], Argmax(link="sigmoid"), **scoring)
    report = fatt.verify(ensemble, np.zeros((1, 2)), similarity=Similarity(noise=1))
    assert_told(report, {"tie"})
