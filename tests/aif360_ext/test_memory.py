"""Many metrics leave no memory behind, though AIF360 remembers every result."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from sklearn.tree import DecisionTreeClassifier

from fatt.aif360_ext import IndividualFairnessMetric
from tests.aif360_ext.made import predicted, town

PAGE = 4096
MEGABYTE = 2**20


def memory() -> int:
    """Return how much memory the process holds, in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_200_metrics_of_20_000_people() -> None:
    dataset = town(20_000)
    model = DecisionTreeClassifier(max_depth=5, random_state=0)
    model.fit(dataset.features, dataset.labels.ravel())
    classified = predicted(dataset, model.predict(dataset.features))

    def measure() -> float:
        metric = IndividualFairnessMetric(
            dataset, classified, [{"sex": 0}], [{"sex": 1}], model=model
        )
        metric.average_odds_difference()
        metric.individual_unfairness_difference()
        return float(metric.individual_fairness())

    expected = [measure() for _ in range(10)]
    before = memory()
    found = [measure() for _ in range(200)]
    grown = memory() - before
    assert set(found) == set(expected)
    # A report alone holds several hundred kilobytes.
    assert grown < 20 * MEGABYTE
