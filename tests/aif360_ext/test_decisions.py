"""Numbers and cut-offs in the manner of AIF360."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aif360.datasets import RegressionDataset
from aif360.metrics import RegressionDatasetMetric
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import fatt
from fatt import Similarity
from fatt.aif360_ext import (
    IndividualFairnessJSONExplainer,
    IndividualFairnessMetric,
    IndividualFairnessRegressionMetric,
    IndividualFairnessTextExplainer,
)
from fatt.aif360_ext.sklearn import (
    certified_fairness_score,
    individual_unfairness_difference,
    individual_unfairness_ratio,
    make_scorer,
)
from fatt.errors import SpecError
from tests.aif360_ext.made import predicted, town

WOMEN, MEN = [{"sex": 0}], [{"sex": 1}]


def shops(n_people: int = 60) -> Any:
    """Return what people of two sexes pay, a fifth more for women below 40."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n_people),
            "age": rng.integers(18, 80, n_people),
            "town": rng.choice(["hill", "harbour"], n_people),
        }
    )
    young = (table["age"] < 40) & (table["sex"] == "F")
    table["price"] = 100.0 + table["age"] + 40 * young
    return RegressionDataset(
        table.astype(object),
        dep_var_name="price",
        protected_attribute_names=["sex"],
        privileged_classes=[["M"]],
        categorical_features=["town"],
    )


def tree(dataset: Any) -> Any:
    return DecisionTreeRegressor(random_state=0).fit(
        dataset.features, dataset.labels.ravel()
    )


def metric_of(dataset: Any, **arguments: Any) -> Any:
    given = {"model": tree(dataset), "tolerance": 0.1, **arguments}
    return IndividualFairnessRegressionMetric(dataset, WOMEN, MEN, **given)


def test_shares_are_those_of_everybody_asked() -> None:
    dataset = shops()
    dataset.instance_weights = np.arange(1.0, 61.0)
    metric, model = metric_of(dataset), tree(dataset)
    sex = dataset.feature_names.index("sex")
    other = dataset.features.copy()
    other[:, sex] = 1 - other[:, sex]
    gap = np.abs(model.predict(other) - model.predict(dataset.features))
    fair, weight = gap <= 0.1, dataset.instance_weights
    assert 0 < fair.sum() < len(fair)
    assert metric.num_fair() == weight[fair].sum()
    assert metric.num_unfair() == weight[~fair].sum()
    assert metric.num_unknown() == 0
    assert metric.individual_fairness() == pytest.approx(np.average(fair, None, weight))
    women = dataset.protected_attributes.ravel() == 0
    shares = [np.average(~fair[who], None, weight[who]) for who in (women, ~women)]
    assert metric.individual_unfairness(privileged=False) == pytest.approx(shares[0])
    difference = metric.individual_unfairness_difference()
    assert difference == pytest.approx(shares[0] - shares[1])
    assert metric.individual_unfairness_ratio() == pytest.approx(shares[0] / shares[1])
    for case in metric.counterexamples():
        assert case.label == model.predict(dataset.features)[case.index]
        assert abs(case.twin_label - case.label) > 0.1
    assert "at most 0.1" in metric.report().to_html()


def test_what_aif360_computes_stays() -> None:
    dataset = shops()
    metric, plain = metric_of(dataset), RegressionDatasetMetric(dataset, WOMEN, MEN)
    assert isinstance(metric, RegressionDatasetMetric)
    assert metric.num_instances(privileged=True) == plain.num_instances(privileged=True)
    assert metric.discounted_cum_gain(r=10) == plain.discounted_cum_gain(r=10)


def test_directions_shares_and_transformers() -> None:
    dataset = shops()
    both = metric_of(dataset, tolerance="10%")
    lower = metric_of(dataset, tolerance="10%", direction="not lower")
    higher = metric_of(dataset, tolerance="10%", direction="not higher")
    unfair = both.report().is_fair
    assert (
        lower.report().is_fair & higher.report().is_fair
    ).tolist() == unfair.tolist()
    scaler = StandardScaler().fit(dataset.features)
    scaled = DecisionTreeRegressor(random_state=0).fit(
        scaler.transform(dataset.features), dataset.labels.ravel()
    )
    same = metric_of(
        dataset, model=scaled, prepare=scaler, similarity=Similarity(vary=["sex"])
    )
    assert same.individual_fairness() == metric_of(dataset).individual_fairness()


def test_wrong_questions() -> None:
    dataset = shops()
    with pytest.raises(SpecError, match="tolerance=50"):
        metric_of(dataset, tolerance=None)
    with pytest.raises(SpecError, match="at least 0"):
        metric_of(dataset, tolerance=-1)
    label = (dataset.labels.ravel() > 0.5).astype(int)
    classifier = RandomForestClassifier(3, random_state=0).fit(dataset.features, label)
    with pytest.raises(SpecError, match="pass a regressor"):
        metric_of(dataset, model=classifier)
    of_one = fatt.load(classifier).predicting(1)
    assert 0 < metric_of(dataset, model=of_one).individual_fairness() < 1
    with pytest.raises(TypeError, match="RegressionDataset"):
        IndividualFairnessRegressionMetric(town(), model=tree(dataset), tolerance=1)


def _frame() -> tuple[pd.DataFrame, Any]:
    dataset = shops(120)
    frame = pd.DataFrame(dataset.features, columns=dataset.feature_names)
    return frame.set_index("sex", drop=False), dataset.labels.ravel()


def test_functions_take_cut_offs_and_tolerances() -> None:
    frame, price = _frame()
    forest = RandomForestClassifier(9, max_depth=5, random_state=0)
    forest.fit(frame, price > 0.5)
    asked: dict[str, Any] = {"estimator": forest, "prot_attr": "sex"}
    similarity = Similarity(vary=["sex"])
    for rule in (
        {"threshold": 0.7},
        {"tolerance": 0.1},
        {"direction": "not lower", "favorable": True},
    ):
        report = fatt.verify(
            forest,
            frame.reset_index(drop=True),
            similarity=similarity,
            schema=fatt.Schema.infer(fatt.load(forest), frame),
            **rule,
        )
        fair = report.is_fair
        assert certified_fairness_score(frame, **asked, **rule) == fair.mean()
        women = (frame["sex"] == 0).to_numpy()
        shares = [(~fair[who]).mean() for who in (women, ~women)]
        difference = individual_unfairness_difference(frame, **asked, **rule)
        assert difference == pytest.approx(shares[0] - shares[1])
        ratio = individual_unfairness_ratio(frame, **asked, **rule)
        if shares[1]:
            assert ratio == pytest.approx(shares[0] / shares[1])
        else:
            assert ratio == np.inf
    made = forest.predict_proba(frame)[:, 1]
    own = np.sort(made[(made > 0.5) & (made < 1)])[-1]
    cut = made > own
    certified_fairness_score(frame, cut, threshold=np.nextafter(own, 1), **asked)
    with pytest.raises(SpecError, match=r"other labels .*threshold="):
        certified_fairness_score(frame, cut, **asked)


def test_functions_cut_off_the_label_that_the_metric_does() -> None:
    dataset = town()
    coded = np.where(dataset.labels == 1, 1.0, 2.0)
    dataset.labels, dataset.unfavorable_label = coded, 2.0
    frame = pd.DataFrame(dataset.features, columns=dataset.feature_names)
    frame = frame.set_index(["sex", "race"], drop=False)
    forest = RandomForestClassifier(9, max_depth=5, random_state=0)
    forest.fit(frame.to_numpy(), coded.ravel())
    similarity = Similarity(vary=["sex"])
    given: dict[str, Any] = {
        "estimator": forest,
        "similarity": similarity,
        "sample_weight": dataset.instance_weights,
        "threshold": 0.7,
    }
    groups: dict[str, Any] = {"prot_attr": "sex", "priv_group": 1}
    found = []
    for label in (1.0, 2.0):
        chance = forest.predict_proba(frame.to_numpy())[:, int(label) - 1]
        labels = np.where(chance >= 0.7, label, 3 - label)
        dataset.favorable_label, dataset.unfavorable_label = label, 3 - label
        metric = IndividualFairnessMetric(
            dataset,
            predicted(dataset, labels),
            WOMEN,
            MEN,
            model=forest,
            similarity=similarity,
            threshold=0.7,
        )
        asked = {**given, "pos_label": label}
        fair = certified_fairness_score(frame, labels, **asked)
        assert fair == metric.individual_fairness()
        assert (
            individual_unfairness_difference(frame, labels, **asked, **groups)
            == metric.individual_unfairness_difference()
        )
        assert (
            individual_unfairness_ratio(frame, labels, **asked, **groups)
            == metric.individual_unfairness_ratio()
        )
        arguments = {
            name: asked[name] for name in ("similarity", "threshold", "pos_label")
        }
        scorer = make_scorer(certified_fairness_score, **arguments)
        weight = dataset.instance_weights
        assert scorer(forest, frame, sample_weight=weight) == fair
        found.append(fair)
    assert found[0] != found[1]
    # As in AIF360 it is 1 where nothing is said.
    assert certified_fairness_score(frame, **given) == found[0]
    for wrong in (0, "good"):
        with pytest.raises(SpecError, match=f"pos_label is {wrong!r}.*never answers"):
            certified_fairness_score(frame, **given, pos_label=wrong)


def test_functions_compare_predictions() -> None:
    frame, price = _frame()
    forest = RandomForestRegressor(9, max_depth=5, random_state=0).fit(frame, price)
    asked: dict[str, Any] = {"estimator": forest, "tolerance": 0.1, "prot_attr": "sex"}
    made = forest.predict(frame)
    assert 0 < certified_fairness_score(frame, made, **asked) < 1
    with pytest.raises(SpecError, match="in 1 of 120 rows, first in row 3"):
        certified_fairness_score(frame, np.where(np.arange(120) == 3, 0, made), **asked)


def test_grid_search_of_regressors() -> None:
    frame, price = _frame()
    search = GridSearchCV(
        DecisionTreeRegressor(random_state=0),
        {"max_depth": [1, 6]},
        scoring=make_scorer(certified_fairness_score, prot_attr="sex", tolerance=0.1),
        cv=2,
    )
    search.fit(frame, price)
    assert search.best_params_ == {"max_depth": 1}
    assert search.best_score_ == 1


def test_explainers_of_numbers_do_not_speak_of_labels() -> None:
    metric = metric_of(shops())
    text = IndividualFairnessTextExplainer(metric)
    as_json = IndividualFairnessJSONExplainer(metric)
    told = [
        text.individual_fairness(),
        text.individual_unfairness(),
        text.counterexamples(),
        as_json.individual_fairness(),
        as_json.num_fair(),
        as_json.counterexamples(),
    ]
    assert "no similar person gets a prediction that is too far away" in told[0]
    for one in told[3:]:
        words = json.loads(one)
        told += [words["message"], words["description"]]
    assert not [one for one in told if re.search(r"(same|another) label|{another", one)]
