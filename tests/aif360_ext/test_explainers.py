"""What the metric's numbers mean, in words and as JSON."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from aif360.metrics import ClassificationMetric

from fatt import Budget
from fatt.aif360_ext import (
    IndividualFairnessJSONExplainer,
    IndividualFairnessMetric,
    IndividualFairnessTextExplainer,
)
from tests.aif360_ext.made import predicted, town, village

OURS = [
    name
    for name in dir(IndividualFairnessMetric)
    if not name.startswith("_") and not hasattr(ClassificationMetric, name)
]


def metric_of(budget: Budget | None = None) -> Any:
    dataset, classified, model = village()
    return IndividualFairnessMetric(
        dataset, classified, [{"sex": 0}], [{"sex": 1}], model=model, budget=budget
    )


def calls(name: str) -> list[dict[str, Any]]:
    """Return the arguments with which a method can be called."""
    method = getattr(IndividualFairnessMetric, name)
    if "privileged" not in inspect.signature(method).parameters:
        return [{}]
    return [{"privileged": group} for group in (None, True, False)]


def test_the_new_methods_are_found() -> None:
    assert len(OURS) == 10
    assert {"individual_fairness", "report", "counterexamples"} <= set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_every_new_method_is_explained(name: str) -> None:
    metric = metric_of()
    text, as_json = (
        explainer(metric)
        for explainer in (
            IndividualFairnessTextExplainer,
            IndividualFairnessJSONExplainer,
        )
    )
    for arguments in calls(name):
        words = getattr(text, name)(**arguments)
        value = getattr(metric, name)(**arguments)
        if name not in {"report", "counterexamples"}:
            assert words.endswith(f": {value}")
        group = {None: "instances", True: " privileged", False: " unprivileged"}
        if "privileged" in arguments:
            assert group[arguments["privileged"]] in words
        told = json.loads(getattr(as_json, name)(**arguments))
        assert told["message"] == words
        assert list(told)[:2] == ["metric", "message"]
        assert list(told)[-2:] == ["description", "ideal"]


def test_the_numbers_behind_it() -> None:
    explainer = IndividualFairnessJSONExplainer(metric_of())
    told = json.loads(explainer.individual_fairness(privileged=False))
    assert told["numFair"] == told["numUnfair"] == 5
    assert told["numInstances"] == 10
    told = json.loads(explainer.individual_unfairness_ratio())
    assert told["numUnfairPrivileged"] == told["numUnfairUnprivileged"] == 5
    case = json.loads(explainer.counterexamples())["counterexamples"][0]
    assert case["index"] == 1
    assert case["changes"] == {"sex": {"before": 0, "after": 1}}
    report = json.loads(explainer.report())["report"]
    assert report["counts"] == {"fair": 5, "unfair": 3, "unknown": 0}


def test_words() -> None:
    explainer = IndividualFairnessTextExplainer(metric_of())
    assert explainer.counterexamples() == (
        "Counterexamples (an instance and a similar person who gets another label; 3 "
        "closest of 3):\n"
        "#1  0.0 → 1.0   sex 0 → 1\n"
        "#2  0.0 → 1.0   sex 0 → 1\n"
        "#5  1.0 → 0.0   sex 1 → 0"
    )
    assert "- 'sex' may be anything\n<Report on 8 people" in explainer.report()


def test_undecided_people_are_mentioned() -> None:
    dataset = town(60)
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(15, random_state=0)
    model.fit(dataset.features, dataset.labels.ravel())
    classified = predicted(dataset, model.predict(dataset.features))
    metric = IndividualFairnessMetric(
        dataset,
        classified,
        [{"sex": 0}],
        [{"sex": 1}],
        model=model,
        budget=Budget(total_nodes=0),
    )
    assert metric.num_unknown() > 0
    words = IndividualFairnessTextExplainer(metric).individual_unfairness_difference()
    assert words.endswith(
        f"({metric.num_unknown()} undecided instances are not counted)"
    )


def test_inherited_explanations() -> None:
    metric = metric_of()
    text = IndividualFairnessTextExplainer(metric)
    assert text.accuracy() == f"Classification accuracy (ACC): {metric.accuracy()}"
    told = json.loads(IndividualFairnessJSONExplainer(metric).disparate_impact())
    assert told["metric"] == "Disparate Impact"
