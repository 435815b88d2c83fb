"""Training as an algorithm of AIF360."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aif360.algorithms.preprocessing import Reweighing
from aif360.datasets import (
    AdultDataset,
    BinaryLabelDataset,
    CompasDataset,
    GermanDataset,
)
from aif360.metrics import ClassificationMetric
from sklearn.exceptions import NotFittedError

import fatt
from fatt import Similarity
from fatt.aif360_ext import FATT, IndividualFairnessMetric, read_dataset
from fatt.aif360_ext.sklearn import certified_fairness_score
from fatt.errors import DataError, SpecError
from tests.aif360_ext.made import RAW, are_fair, needs_raw_files, town

CODINGS = [(1, 0), (1, 2), (0, 1)]
NOISE = Similarity(noise={"age": 2}, vary=["sex"])


def quick(**parameters: Any) -> Any:
    return FATT(**{"seed": 0, "max_iter": 3} | parameters)


def coded(favorable: int, unfavorable: int) -> Any:
    """Return the people of the town with labels as some dataset codes them."""
    plain = town()
    table = pd.DataFrame(plain.features, columns=plain.feature_names)
    loan = np.where(plain.labels.ravel() == 1, favorable, unfavorable)
    return BinaryLabelDataset(
        df=table.assign(loan=loan, weight=plain.instance_weights),
        label_names=["loan"],
        protected_attribute_names=plain.protected_attribute_names,
        instance_weights_name="weight",
        favorable_label=favorable,
        unfavorable_label=unfavorable,
    )


def check(algorithm: Any, train: Any, test: Any) -> Any:
    """Train and predict, check all that must hold, and return the predictions."""
    before = copy.deepcopy([train, test])
    predicted = algorithm.fit(train).predict(test)
    for old, new in zip(before, [train, test], strict=True):
        assert old == new
        np.testing.assert_array_equal(old.scores, new.scores)
        assert old.metadata.keys() == new.metadata.keys()
    assert predicted.labels.shape == predicted.scores.shape == test.labels.shape
    known = {test.favorable_label, test.unfavorable_label}
    assert set(predicted.labels.ravel()) == known
    is_favorable = predicted.labels == predicted.favorable_label
    assert predicted.scores[is_favorable].min() >= 0.5
    assert predicted.scores[~is_favorable].max() <= 0.5
    assert predicted.scores.max() <= 1
    assert predicted.scores.min() >= 0
    np.testing.assert_array_equal(predicted.features, test.features)
    return predicted


@pytest.mark.parametrize("labels", CODINGS, ids=str)
def test_codings_of_labels(labels: tuple[int, int]) -> None:
    dataset = coded(*labels)
    predicted = check(quick(), dataset, dataset)
    loan = check(quick(), coded(1, 0), coded(1, 0)).labels.ravel() == 1
    assert 0 < loan.sum() < len(loan)
    # How labels are coded changes neither the tree nor the scores.
    np.testing.assert_array_equal(predicted.labels.ravel() == labels[0], loan)
    metric = ClassificationMetric(dataset, predicted, [{"sex": 0}], [{"sex": 1}])
    assert metric.accuracy() > 0.7
    assert metric.selection_rate() == pytest.approx(
        np.average(loan, weights=dataset.instance_weights)
    )


REAL = [
    (AdultDataset, ["race", "sex"], 0.78),
    (GermanDataset, ["sex", "age"], 0.65),
    (CompasDataset, ["sex", "race"], 0.62),
]


@needs_raw_files
@pytest.mark.slow
@pytest.mark.parametrize(("cls", "protected", "least"), REAL, ids=str)
def test_real_datasets(cls: Any, protected: list[str], least: float) -> None:
    dataset = read_dataset(cls, RAW)
    train, test = dataset.split([0.7], shuffle=True, seed=0)
    train = train.subset(range(min(2000, len(train.labels))))
    test = test.subset(range(min(1000, len(test.labels))))
    algorithm = quick()
    predicted = check(algorithm, train, test)
    groups = [{protected[0]: 0}], [{protected[0]: 1}]
    metric = IndividualFairnessMetric(test, predicted, *groups, model=algorithm)
    assert metric.accuracy() > least
    fair = are_fair(lambda rows: asked(algorithm, test, rows), test)
    np.testing.assert_array_equal(metric.report().findings.verdict == 0, fair)
    assert metric.individual_fairness() > 0.95


def asked(algorithm: Any, dataset: Any, rows: Any) -> Any:
    """Return the labels of the algorithm for other features."""
    other = dataset.copy()
    other.features = rows
    return algorithm.predict(other).labels.ravel()


def test_what_is_certified_in_training_is_what_the_metric_finds() -> None:
    dataset = town()
    for similarity in (None, NOISE):
        algorithm = quick(similarity=similarity, fairness_weight=0.1)
        predicted = algorithm.fit_predict(dataset)
        for model in (algorithm, algorithm.model_):
            metric = IndividualFairnessMetric(
                dataset, predicted, model=model, similarity=similarity
            )
            found = metric.individual_fairness()
            assert found == pytest.approx(algorithm.model_.fairness_, abs=1e-12)
        assert fatt.load(algorithm).digest == algorithm.model_.ensemble_.digest


def varied(algorithm: Any) -> Any:
    return algorithm.fit(town(60)).model_.similarity


def test_sensitive_attributes() -> None:
    assert varied(quick()) == Similarity(vary=["sex", "race"])
    assert varied(quick(sensitive_attr="sex")) == Similarity(vary=["sex"])
    both = varied(quick(sensitive_attr=["race", "colour"]))
    assert both == Similarity(vary=["race", "colour"])
    # Groups tell whose rates are compared, not what varies.
    groups: dict[str, Any] = {
        "unprivileged_groups": [{"race": 1}, {"race": 5}],
        "privileged_groups": [{"race": 2}],
    }
    assert varied(quick(**groups)) == Similarity(vary=["sex", "race"])
    assert varied(quick(sensitive_attr="sex", **groups)) == Similarity(vary=["sex"])
    assert varied(quick(similarity=NOISE, **groups)) == NOISE


SEXES: dict[str, Any] = {
    "unprivileged_groups": [{"sex": 0}],
    "privileged_groups": [{"sex": 1}],
}


def unequal(favorable: int, unfavorable: int) -> Any:
    """Return people of whom men have what is asked for far more often."""
    rng = np.random.default_rng(3)
    sex = rng.integers(2, size=900)
    pay = rng.normal(size=900) + sex
    age = rng.normal(size=900)
    good = pay + age + rng.normal(size=900) > 1
    return BinaryLabelDataset(
        df=pd.DataFrame(
            {
                "pay": pay,
                "age": age,
                "sex": sex,
                "loan": np.where(good, favorable, unfavorable),
            }
        ),
        label_names=["loan"],
        protected_attribute_names=["sex"],
        favorable_label=favorable,
        unfavorable_label=unfavorable,
    )


@pytest.mark.parametrize("labels", CODINGS, ids=str)
def test_named_groups_are_brought_together(labels: tuple[int, int]) -> None:
    dataset = unequal(*labels)

    def measured(**parameters: Any) -> Any:
        algorithm = quick(**parameters)
        predicted = algorithm.fit(dataset).predict(dataset)
        metric = ClassificationMetric(dataset, predicted, [{"sex": 0}], [{"sex": 1}])
        return algorithm.model_, metric

    apart = abs(measured()[1].mean_difference())
    assert abs(measured(**SEXES, max_gap=None)[1].mean_difference()) == apart > 0.2
    model, metric = measured(**SEXES)
    assert abs(metric.mean_difference()) == pytest.approx(model.gap_)
    assert model.gap_ < 0.1 == model.max_gap
    # The four fifths, of the favorable label however it is coded.
    model, metric = measured(**SEXES, min_ratio=0.8)
    assert metric.disparate_impact() >= 0.8
    assert model.front_.chosen.ratio == pytest.approx(metric.disparate_impact())
    chances = {"constraint": "true_positive_rate_parity", "max_gap": 0.1}
    model, metric = measured(**SEXES, **chances)
    found = abs(metric.true_positive_rate_difference())
    assert found == pytest.approx(model.gap_)
    assert found < 0.1


def test_groups_that_cannot_be_compared() -> None:
    dataset = unequal(1, 0)
    with pytest.raises(SpecError, match=r"max_gap is 0.05, and there are no groups"):
        quick(max_gap=0.05).fit(dataset)
    with pytest.raises(SpecError, match=r"unprivileged_groups is .* which are sex"):
        quick(**SEXES | {"unprivileged_groups": [{"race": 0}]}).fit(dataset)
    with pytest.raises(DataError, match="no person is in unprivileged_groups"):
        quick(**SEXES | {"unprivileged_groups": [{"sex": 7}]}).fit(dataset)
    with pytest.raises(SpecError, match="Name groups that share no people"):
        quick(**SEXES | {"unprivileged_groups": [{"sex": 1}]}).fit(dataset)
    bred = quick(**SEXES, algorithm="paper").fit(dataset)
    assert bred.model_.max_gap == 1


def test_protected_attributes_have_the_values_of_the_dataset() -> None:
    schema = quick().fit(town()).model_.schema_
    assert schema.find("race").levels == (1, 2, 5)
    assert len(schema.find("colour").columns) == 4


def test_metadata_as_aif360_keeps_it() -> None:
    dataset = town()
    dataset.metadata["source"] = "the town"
    predicted = quick(sensitive_attr="sex").fit(dataset).predict(dataset)
    assert predicted.metadata["transformer"] == "FATT.predict"
    assert predicted.metadata["source"] == "the town"
    assert predicted.metadata["params"] == {
        "sensitive_attr": "sex",
        "unprivileged_groups": None,
        "privileged_groups": None,
        "similarity": None,
        "max_gap": 0.1,
        "seed": 0,
        "max_iter": 3,
    }
    assert predicted.metadata["previous"] == [dataset]
    again = quick(sensitive_attr="sex").fit_predict(dataset)
    assert again.metadata["transformer"] == "FATT.fit_predict"
    np.testing.assert_array_equal(again.scores, predicted.scores)


def test_instance_weights_count() -> None:
    dataset, n_people = town(), 300
    twice = dataset.subset([*range(n_people), *range(n_people)])
    twice.labels[n_people:] = 1 - twice.labels[n_people:]
    light = np.repeat([1, 1e-6], n_people)
    for weights, is_right in ((light, True), (light[::-1], False)):
        twice.instance_weights = weights
        predicted = quick().fit(twice).predict(dataset)
        share = np.mean(predicted.labels == dataset.labels)
        assert share > 0.7 if is_right else share < 0.3
    # AIF360's own weights, of a preprocessing algorithm before ours.
    groups = {"unprivileged_groups": [{"sex": 0}], "privileged_groups": [{"sex": 1}]}
    weighed = Reweighing(**groups).fit_transform(dataset)
    model = quick().fit(weighed).model_
    people = pd.DataFrame(weighed.features, columns=weighed.feature_names)
    shares = model.predict(people) == weighed.labels.ravel()
    assert model.accuracy_ == pytest.approx(
        np.average(shares, weights=weighed.instance_weights)
    )


def test_a_seed_makes_it_reproducible() -> None:
    dataset = town()
    one, two = (quick(seed=7).fit(dataset) for _ in range(2))
    assert one.model_.ensemble_.digest == two.model_.ensemble_.digest
    copied = pickle.loads(pickle.dumps(one))
    assert copied.predict(dataset) == one.predict(dataset)


def test_parameters_of_the_classifier() -> None:
    assert quick(max_leaves=2).fit(town()).model_.get_n_leaves() == 2
    with pytest.raises(SpecError, match="fairness_weight"):
        quick(fairness_weight=2).fit(town())


def test_the_metric_asks_what_the_mitigator_was_trained_for() -> None:
    dataset = town()
    algorithm = quick(sensitive_attr="sex").fit(dataset)
    assert algorithm.similarity_ == Similarity(vary=["sex"])
    labels = algorithm.predict(dataset)
    same = IndividualFairnessMetric(
        dataset, labels, model=algorithm, sensitive_attr="sex"
    )
    assert same.report().similarity == algorithm.similarity_
    assert same.individual_fairness() == pytest.approx(algorithm.model_.fairness_)
    told = r"trained for .*\['sex'\]\), and is asked about .*\['race', 'sex'\]\)"
    for model in (algorithm, algorithm.model_):
        with pytest.warns(UserWarning, match=told):
            IndividualFairnessMetric(dataset, labels, model=model)
    table = pd.DataFrame(dataset.features, columns=dataset.feature_names)
    with pytest.warns(UserWarning, match=told):
        certified_fairness_score(
            table, estimator=algorithm.model_, prot_attr=["sex", "race"]
        )
    with pytest.raises(SpecError, match="sensitive_attr names 'sx'"):
        IndividualFairnessMetric(dataset, labels, model=algorithm, sensitive_attr="sx")
    with pytest.raises(SpecError, match="both sensitive_attr='sex' and a similarity"):
        IndividualFairnessMetric(
            dataset, labels, model=algorithm, sensitive_attr="sex", similarity=NOISE
        )


def test_what_makes_no_sense_is_refused() -> None:
    dataset = town()
    with pytest.raises(SpecError, match=r"sensitive_attr names 'sx'.*sex"):
        quick(sensitive_attr="sx").fit(dataset)
    for one, absent in (("privileged", "unprivileged"), ("unprivileged", "privileged")):
        with pytest.raises(SpecError, match=f"there are no {absent}_groups"):
            quick(**{f"{one}_groups": [{"sex": 1}]})
    for wrong in (0, [], "", [0], ["sex", None]):
        with pytest.raises(SpecError, match=r"sensitive_attr is .*; name one"):
            FATT(sensitive_attr=wrong)
    with pytest.raises(TypeError, match=r"'max_leafs'. Did you mean 'max_leaves'"):
        FATT(max_leafs=3)
    with pytest.raises(TypeError, match=r"no parameter 'random_state'.*'seed'"):
        FATT(random_state=3)
    with pytest.raises(SpecError, match="both sensitive_attr='sex' and a similarity"):
        quick(sensitive_attr="sex", similarity=NOISE)
    with pytest.raises(NotFittedError, match="call fit first"):
        quick().predict(dataset)
    algorithm = quick().fit(dataset)
    with pytest.raises(SpecError, match=r"favorable label is 2.*code both"):
        algorithm.predict(coded(2, 1))
    one = dataset.subset(np.flatnonzero(dataset.labels.ravel() == 1))
    with pytest.raises(DataError, match="only one class"):
        quick().fit(one)
