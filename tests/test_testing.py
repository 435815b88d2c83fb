"""The assertion for the tests of people who train models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Budget, Similarity
from fatt.testing import assert_individually_fair

NOISE = Similarity(noise=0.2)


def fitted() -> tuple[RandomForestClassifier, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = X.sum(axis=1) + rng.normal(size=90) > 0
    return RandomForestClassifier(9, random_state=0).fit(X, y), X


def test_enough_is_enough() -> None:
    forest, X = fitted()
    report = fatt.verify(forest, X, similarity=NOISE)
    proved = report.fairness.lower
    assert 0 < proved < 1
    found = assert_individually_fair(forest, X, similarity=NOISE, min_fairness=proved)
    assert found.to_json() == report.to_json()
    with pytest.raises(AssertionError):
        assert_individually_fair(
            forest, X, similarity=NOISE, min_fairness=np.nextafter(proved, 1)
        )


def test_the_failure_shows_the_closest_twins() -> None:
    forest, X = fitted()
    report = fatt.verify(forest, X, similarity=NOISE)
    with pytest.raises(AssertionError) as failure:
        assert_individually_fair(forest, X, similarity=NOISE)
    lines = str(failure.value).splitlines()
    assert lines[0].startswith("Not met (100% required). For ")
    assert lines[1:6] == [f"  {twin}" for twin in report.counterexamples[:5]]
    assert lines[6:] == [f"  and {len(report.counterexamples) - 5} more"]


def test_unknown_is_not_proved() -> None:
    forest, X = fitted()
    with pytest.raises(AssertionError, match="Undecided \\("):
        assert_individually_fair(
            forest, X, similarity=NOISE, min_fairness=0.67, budget=Budget(nodes=0)
        )


def test_rows_in_doubt_prove_nothing() -> None:
    """Rows of a forgotten scaler all lie beyond the thresholds: all get one answer."""
    forest, X = fitted()
    raw = 1000 + 100 * X
    with pytest.raises(AssertionError) as failure:
        assert_individually_fair(forest, raw, similarity=NOISE)
    said = str(failure.value)
    assert said.startswith("in doubt: 100.0000% of the people are proved to be treated")
    assert "These rows may not be prepared as the model's rows were" in said
    assert "pass accept_doubts=True" in said
    found = assert_individually_fair(forest, raw, similarity=NOISE, accept_doubts=True)
    assert found.fairness.lower == 1


def test_half_a_result_does_not_pass() -> None:
    forest, X = fitted()

    def interrupted(done: int, everybody: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assert_individually_fair(
            forest, X, similarity=NOISE, min_fairness=0.0, progress=interrupted
        )
