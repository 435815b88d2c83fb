from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fatt
from fatt.audit import Auditor
from fatt.repairs.descent import Task, descend, task_of, undivided
from fatt.repairs.kernels import weigh
from fatt.repairs.leaves import Leaves
from fatt.verdict import FAIR
from tests.repairs.town import MODELS, SIMILARITY, people

KINDS = ["RandomForest", "GradientBoosting", "LightGBM"]


def prepare(kind: str, n_classes: int) -> tuple[Any, Any, Leaves, Task]:
    table, label = people(n_classes=n_classes)
    model = MODELS[kind]().fit(table, label)
    run = Auditor(model, similarity=SIMILARITY, schema=table).run(table)
    leaves = Leaves(fatt.load(model), run.variables.schema)
    rows = run.people.values(0, len(table))
    ensemble = run.variables.ensemble
    task = task_of(ensemble, leaves.rows, rows, label, run.boxes(rows))
    return model, run, leaves, task


def costs(task: Task, label: Any, values: Any) -> tuple[Any, Any]:
    """Return the cost of each region, and the slope of their sum."""
    slope, bend = np.zeros((2, *values.shape))
    args = task.columns, task.base, task.similar, label[task.person], task.steep
    leads = weigh(values, *args, slope, bend)
    return np.logaddexp(0, task.steep * leads), slope


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_slope_is_the_slope_of_the_costs(kind: str, n_classes: int) -> None:
    _, run, leaves, task = prepare(kind, n_classes)
    label = run.variables.ensemble.decide(run.people.values(0, len(run.people)))
    rng = np.random.default_rng(1)
    # Leaves without ties, next to which the worst leaf stays the worst.
    values = leaves.values + rng.normal(size=leaves.values.shape)
    way, step = rng.normal(size=values.shape), 1e-7
    total, slope = costs(task, label, values)
    ahead, _ = costs(task, label, values + step * way)
    assert (ahead - total).sum() / step == pytest.approx(
        (slope * way).sum(), rel=1e-4, abs=1e-4
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_who_is_certainly_treated_alike_is_proved_fair(
    kind: str, n_classes: int
) -> None:
    model, run, leaves, task = prepare(kind, n_classes)
    table, _ = people(n_classes=n_classes)
    label = run.variables.ensemble.decide(run.people.values(0, len(table)))
    report = fatt.verify(model, table, similarity=SIMILARITY)
    args = task.columns, task.base, task.similar, label[task.person], task.steep
    leads = weigh(leaves.values.copy(), *args, *np.zeros((2, *leaves.values.shape)))
    certain = leads < -1e-6
    assert certain.any()
    assert (report.findings.verdict[certain] == FAIR).all()
    assert undivided(task, leaves.values.copy(), label) == np.mean(leads < 0)


@pytest.mark.parametrize("kind", KINDS)
def test_more_weight_leaves_fewer_divided(kind: str) -> None:
    _, run, leaves, task = prepare(kind, 2)
    label = run.variables.ensemble.decide(run.people.values(0, len(run.people)))
    before = leaves.values
    total = [
        costs(task, label, descend(task, before, before, label, weight))[0].sum()
        for weight in (0.0, 1.0, 10.0)
    ]
    assert total[0] > total[1] > total[2]


def test_leaves_of_forests_stay_shares() -> None:
    _, run, leaves, task = prepare("RandomForest", 3)
    label = run.variables.ensemble.decide(run.people.values(0, len(run.people)))
    values = descend(task, leaves.values, leaves.values, label, 10.0)
    assert (values != leaves.values).any()
    assert values.min() >= 0
    np.testing.assert_allclose(values.sum(axis=1), 1)
