"""Individual fairness as a metric of AIF360."""

from __future__ import annotations

import math
import warnings
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aif360.datasets import BinaryLabelDataset
from aif360.datasets.multiclass_label_dataset import MulticlassLabelDataset
from aif360.metrics import ClassificationMetric
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import fatt
from fatt import Budget, Similarity
from fatt.aif360_ext import IndividualFairnessMetric, schema_of
from fatt.errors import SpecError, UnsupportedModelError
from fatt.region import Integer, Number, Ordinal
from fatt.verifier import Verifier
from tests.aif360_ext.made import are_fair, loans, predicted, town, village

WOMEN, MEN = [{"sex": 0}], [{"sex": 1}]
NOISE = Similarity(noise={"age": 4, "income": 2.5}, vary=["sex"])


def metric_of(**arguments: Any) -> Any:
    dataset, classified, model = village()
    return IndividualFairnessMetric(
        dataset, classified, WOMEN, MEN, **{"model": model, **arguments}
    )


def forest(dataset: Any) -> Any:
    model = RandomForestClassifier(15, max_depth=7, random_state=0)
    return model.fit(dataset.features, dataset.labels.ravel())


def test_values_by_hand() -> None:
    metric = metric_of()
    # Rows 1, 2 (women of weight 2 and 3) and 5 (a man of weight 5) are unfair.
    assert [case.index for case in metric.counterexamples()] == [1, 2, 5]
    assert metric.num_unfair() == 10
    assert metric.num_fair() == 10
    assert metric.num_unknown() == 0
    assert metric.individual_fairness() == metric.individual_fairness_upper() == 0.5
    assert metric.individual_fairness(privileged=False) == 5 / 10
    assert metric.individual_fairness(privileged=True) == 5 / 10
    assert metric.num_unfair(privileged=False) == 5
    assert metric.num_unfair(privileged=True) == 5
    assert metric.individual_unfairness_difference() == 0
    assert metric.individual_unfairness_ratio() == 1


def test_values_by_hand_without_weights() -> None:
    dataset, classified, model = village()
    for each in (dataset, classified):
        each.instance_weights = np.ones(8)
    metric = IndividualFairnessMetric(dataset, classified, WOMEN, MEN, model=model)
    assert metric.individual_fairness() == 5 / 8
    assert metric.individual_unfairness(privileged=False) == 2 / 4
    assert metric.individual_unfairness(privileged=True) == 1 / 4
    assert metric.individual_unfairness_difference() == 1 / 4
    assert metric.individual_unfairness_ratio() == 2
    assert metric.difference(metric.individual_fairness) == -1 / 4


def test_a_similarity_in_the_units_of_the_features() -> None:
    metric = metric_of(similarity=Similarity(noise={"age": 2}))
    # The woman of 38 would get a loan with 40.
    assert str(metric.counterexamples()[0]) == "#2  0.0 → 1.0   age 38.0 → 40.0"
    assert metric.individual_fairness() == 17 / 20


def test_a_schema_knows_more() -> None:
    dataset, classified, model = village()
    schema = schema_of(dataset, model=model)
    assert schema.find("sex") == Ordinal(
        name="sex", columns="sex", levels=(0, 1), values=(0, 1)
    )
    assert type(schema.find("age")) is Number
    near = Similarity(noise={"age": 1.7})
    arguments = {"model": model, "similarity": near}
    metric = IndividualFairnessMetric(dataset, classified, **arguments)
    assert [case.index for case in metric.counterexamples()] == [2]
    # In whole years the woman of 38 can only become 39.
    whole = schema.with_(age=Integer(lower=18))
    metric = IndividualFairnessMetric(dataset, classified, **arguments, schema=whole)
    assert metric.individual_fairness() == 1


@pytest.mark.parametrize(
    "make",
    [
        DecisionTreeClassifier(max_depth=6, random_state=0),
        RandomForestClassifier(15, max_depth=7, random_state=0),
        XGBClassifier(n_estimators=15, max_depth=4),
        LGBMClassifier(n_estimators=15, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_verdicts_against_the_model_itself(make: Any) -> None:
    dataset = town()
    model = make.fit(dataset.features, dataset.labels.ravel())
    classified = predicted(dataset, model.predict(dataset.features))
    metric = IndividualFairnessMetric(dataset, classified, WOMEN, MEN, model=model)

    def predict(rows: Any) -> Any:
        with warnings.catch_warnings():
            # LightGBM gave names to the columns itself.
            warnings.simplefilter("ignore", UserWarning)
            return model.predict(rows)

    fair = are_fair(predict, dataset)
    assert 0 < fair.sum() < len(fair)
    verdicts = [str(finding.verdict) for finding in metric.report().findings]
    assert verdicts == np.where(fair, "fair", "unfair").tolist()
    weights, women = dataset.instance_weights, dataset.features[:, 0] == 0
    assert metric.num_fair() == weights[fair].sum()
    assert metric.num_unfair(privileged=False) == weights[women & ~fair].sum()
    assert metric.individual_fairness() == weights[fair].sum() / weights.sum()
    assert {case.replayed_on for case in metric.counterexamples()} == {"model"}


def test_the_unknown_lie_between_the_bounds() -> None:
    dataset = town()
    model = forest(dataset)
    classified = predicted(dataset, model.predict(dataset.features))
    arguments = {"model": model, "similarity": NOISE, "budget": Budget(nodes=2)}
    metric = IndividualFairnessMetric(dataset, classified, **arguments)
    report, total = metric.report(), metric.num_instances()
    assert metric.report() is report
    assert 0 < metric.num_unknown() < total
    bounds = metric.individual_fairness(), metric.individual_fairness_upper()
    assert bounds == pytest.approx(report.fairness)
    assert bounds[0] == metric.num_fair() / total < bounds[1]
    assert metric.individual_unfairness() == metric.num_unfair() / total
    for each in (dataset, classified):
        each.instance_weights = np.ones(300)
    metric = IndividualFairnessMetric(dataset, classified, **arguments)
    bounds = metric.individual_fairness(), metric.individual_fairness_upper()
    assert bounds == metric.report().fairness


def test_inherited_metrics_are_those_of_aif360() -> None:
    dataset = town()
    model = forest(dataset)
    classified = predicted(dataset, model.predict(dataset.features))
    ours = IndividualFairnessMetric(dataset, classified, WOMEN, MEN, model=model)
    theirs = ClassificationMetric(dataset, classified, WOMEN, MEN)
    names = [name for name in dir(theirs) if is_public_method(theirs, name)]
    assert len(names) > 60
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            expected, found = getattr(theirs, name)(), getattr(ours, name)()
        np.testing.assert_equal(found, expected, err_msg=name)


def is_public_method(metric: Any, name: str) -> bool:
    takes_arguments = {"difference", "ratio", "rich_subgroup"}
    return not name.startswith("_") and (
        callable(getattr(metric, name)) and name not in takes_arguments
    )


@pytest.mark.parametrize(
    ("favorable", "unfavorable"), [(1, 0), (1, 2), (0, 1), (-1, 3)]
)
@pytest.mark.parametrize("coding", ["labels", "1 is favorable", "0 is favorable"])
def test_codings_of_labels(favorable: int, unfavorable: int, coding: str) -> None:
    plain, _, _ = village()
    loan = plain.labels.ravel() == 1
    table = pd.DataFrame(plain.features, columns=plain.feature_names)
    dataset = BinaryLabelDataset(
        df=table.assign(loan=np.where(loan, favorable, unfavorable)),
        label_names=["loan"],
        protected_attribute_names=["sex"],
        favorable_label=favorable,
        unfavorable_label=unfavorable,
    )
    classes = {
        "labels": (unfavorable, favorable),
        "1 is favorable": (0, 1),
        "0 is favorable": (1, 0),
    }[coding]
    old = loans()
    people = np.array([(sex, age) for sex in (0, 1) for age in range(20, 60)], float)
    answers = np.where(old.predict(people) == 1, classes[1], classes[0])
    model = DecisionTreeClassifier().fit(people, answers)
    labels = np.where(
        model.predict(dataset.features) == classes[1], favorable, unfavorable
    )
    metric = IndividualFairnessMetric(
        dataset, predicted(dataset, labels), WOMEN, MEN, model=model
    )
    assert metric.individual_unfairness_difference() == 1 / 4
    assert metric.num_pred_positives() == 4
    labels[[0, 3]] = labels[[3, 0]]
    # If the classes are the labels, they are compared as they are.
    differs = model.predict(dataset.features) != labels
    number = differs.sum() if {*classes} == {favorable, unfavorable} else 2
    with pytest.raises(SpecError, match=rf"in {number} of 8 rows, first in row \d"):
        IndividualFairnessMetric(dataset, predicted(dataset, labels), model=model)


def test_several_classes() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 5, (90, 2)), columns=["sex", "age"])
    table["sex"] %= 2
    table["loan"] = (table.age + table.sex) % 3
    dataset = MulticlassLabelDataset(
        df=table,
        label_names=["loan"],
        protected_attribute_names=["sex"],
        favorable_label=[2.0],
        unfavorable_label=[0.0, 1.0],
    )
    model = DecisionTreeClassifier().fit(dataset.features, dataset.labels.ravel())
    labels = model.predict(dataset.features)
    metric = IndividualFairnessMetric(dataset, predicted(dataset, labels), model=model)
    assert metric.individual_fairness() == 0
    assert metric.num_pred_positives() == (labels == 2).sum()
    with pytest.raises(SpecError, match="in 90 of 90 rows"):
        IndividualFairnessMetric(
            dataset, predicted(dataset, (labels + 1) % 3), model=model
        )


def test_another_model_is_refused() -> None:
    dataset = town()
    model, other = forest(dataset), forest(town(seed=1))
    labels = model.predict(dataset.features)
    number = int((other.predict(dataset.features) != labels).sum())
    assert number > 0
    with pytest.raises(SpecError, match=rf"in {number} of 300 rows, first in row"):
        IndividualFairnessMetric(dataset, predicted(dataset, labels), model=other)


def test_what_two_datasets_differ_in_is_named() -> None:
    dataset, given, model = village()
    turned = dataset.subset([3, 2, 1, 0])
    heavier = predicted(dataset, given.labels)
    heavier.instance_weights = 2 * heavier.instance_weights
    older = predicted(dataset, given.labels)
    older.features = older.features + np.array([[0, 0]] * 5 + [[0, 1]] * 3)
    renamed = predicted(dataset, given.labels)
    renamed.feature_names = ["sex", "years"]
    for true, other, told in (
        (dataset, given.subset([4, 5, 6]), "the first has 8 people and the second 3"),
        (dataset.subset([0, 1, 2, 3]), turned, "features differ in 4 of 4 rows, first"),
        (dataset, heavier, "instance_weights differ in 8 of 8 rows, first in row 0"),
        (dataset, older, "features differ in 3 of 8 rows, first in row 5. Pass the"),
        (dataset, renamed, "scores: feature_names is not the same. Pass"),
    ):
        with pytest.raises(SpecError, match=told):
            IndividualFairnessMetric(true, other, model=model)


@pytest.mark.parametrize("favorable", [1.0, 0.0])
@pytest.mark.parametrize("scaler", [None, StandardScaler()])
def test_a_cut_off_of_the_favorable_label(favorable: float, scaler: Any) -> None:
    dataset = town()
    dataset.favorable_label, dataset.unfavorable_label = favorable, 1 - favorable
    features = dataset.features
    if scaler is not None:
        features = scaler.fit_transform(features)
    model = RandomForestClassifier(15, max_depth=7, random_state=0)
    model.fit(features, dataset.labels.ravel())
    chances = model.predict_proba(features)[:, int(favorable)]
    labels = np.where(chances >= 0.3, favorable, 1 - favorable)
    classified = predicted(dataset, labels)
    given: dict[str, Any] = {"model": model, "prepare": scaler, "similarity": NOISE}
    metric = IndividualFairnessMetric(dataset, classified, threshold=0.3, **given)
    verified = model if scaler is None else make_pipeline(scaler, model)
    cut = fatt.load(verified, threshold=0.3, pos_label=favorable)
    schema = schema_of(dataset, model=verified)
    report = fatt.verify(cut, dataset.features, similarity=NOISE, schema=schema)
    verdicts = metric.report().findings.verdict
    np.testing.assert_array_equal(verdicts, report.findings.verdict)
    with pytest.raises(SpecError, match="the model gives other labels"):
        IndividualFairnessMetric(dataset, classified, **given)
    if scaler is None:
        same = IndividualFairnessMetric(dataset, classified, model=cut)
        assert same.num_unknown() == 0


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_a_preparation_keeps_raw_units(scaler: Any) -> None:
    dataset = town()
    scaler = scaler.fit(dataset.features)
    scaled = scaler.transform(dataset.features)
    model = XGBClassifier(n_estimators=15).fit(scaled, dataset.labels.ravel())
    classified = predicted(dataset, model.predict(scaled))
    metric = IndividualFairnessMetric(
        dataset, classified, model=model, prepare=scaler, similarity=NOISE
    )
    pipeline = make_pipeline(scaler, model)
    schema = schema_of(dataset, model=pipeline)
    assert schema == schema_of(dataset, model=model, prepare=scaler)
    report = fatt.verify(pipeline, dataset.features, similarity=NOISE, schema=schema)
    verdicts = metric.report().findings.verdict
    np.testing.assert_array_equal(verdicts, report.findings.verdict)
    assert 0 < metric.individual_fairness() < 1
    for case in metric.counterexamples():
        changes = case.changes
        assert changes.keys() <= {"age", "income", "sex"}
        if "age" in changes:
            assert abs(changes["age"].after - changes["age"].before) <= 4
    with pytest.raises(SpecError, match="the model gives other labels"):
        IndividualFairnessMetric(dataset, classified, model=model)


def test_features_that_were_scaled_in_the_dataset() -> None:
    dataset = town()
    raw = dataset.copy(deepcopy=True)
    dataset.features = StandardScaler().fit_transform(dataset.features)
    model = forest(dataset)
    metric = IndividualFairnessMetric(
        dataset, predicted(dataset, model.predict(dataset.features)), model=model
    )
    race = metric.report().people.variables.schema.find("race")
    assert isinstance(race, Ordinal)
    assert race.levels == (1, 2, 5)
    scaler = StandardScaler().fit(raw.features)
    fair = are_fair(lambda rows: model.predict(scaler.transform(rows)), raw)
    assert metric.num_fair() == dataset.instance_weights[fair].sum()
    assert not fair.all()


def test_a_value_that_the_dataset_does_not_tell_counts() -> None:
    dataset, classified, model = village()
    men = [4, 5, 6, 7]
    table = pd.DataFrame(dataset.features[men], columns=["sex", "age"])
    only_men = BinaryLabelDataset(
        df=table.assign(loan=dataset.labels[men]),
        label_names=["loan"],
        protected_attribute_names=["sex"],
    )
    labels = predicted(only_men, classified.labels[men])
    metric = IndividualFairnessMetric(only_men, labels, model=model)
    assert metric.num_unfair() == 1
    # Scaled columns: only the dataset knows what a woman would be, and it does not say.
    both = dataset.subset(men)
    both.features = both.features * [2, 1]
    model = DecisionTreeClassifier().fit([[0, 33], [2, 33]], [0.0, 1.0])
    labels = predicted(both, model.predict(both.features))
    metric = IndividualFairnessMetric(both, labels, model=model)
    assert metric.report().counts["unfair"] == 4


def test_a_protected_attribute_of_one_hot_columns() -> None:
    dataset = town()
    table = pd.DataFrame(dataset.features, columns=dataset.feature_names)
    coloured = BinaryLabelDataset(
        df=table.assign(loan=dataset.labels),
        label_names=["loan"],
        protected_attribute_names=["colour=red"],
    )
    model = DecisionTreeClassifier(random_state=0).fit(
        coloured.features, coloured.labels.ravel()
    )
    labels = predicted(coloured, model.predict(coloured.features))
    metric = IndividualFairnessMetric(coloured, labels, model=model)
    assert metric.report().similarity == Similarity(vary=["colour"])
    assert len(metric.counterexamples()) > 0
    for case in metric.counterexamples():
        assert case.changes.keys() == {"colour"}


def test_labels_that_are_not_those_which_the_dataset_names() -> None:
    # As the old German data in AIF360's own tests: labels 0 and 1, and 2 is said.
    dataset, _, model = village()
    dataset.unfavorable_label = 2.0
    labels = predicted(dataset, model.predict(dataset.features))
    metric = IndividualFairnessMetric(dataset, labels, model=model)
    assert metric.individual_fairness() == 0.5


def test_a_model_that_knows_its_columns_by_name() -> None:
    dataset = town()
    table = pd.DataFrame(dataset.features, columns=dataset.feature_names)
    model = XGBClassifier(n_estimators=15)
    model.fit(table[["age", "sex", "income"]], dataset.labels.ravel())
    labels = predicted(dataset, model.predict(table[["age", "sex", "income"]]))
    with pytest.warns(UserWarning, match="'race' does not vary"):
        metric = IndividualFairnessMetric(dataset, labels, model=model)
    assert metric.report().similarity == Similarity(vary=["sex"])
    assert 0 < metric.individual_fairness() < 1
    model.fit(table[["age", "income"]], dataset.labels.ravel())
    labels = predicted(dataset, model.predict(table[["age", "income"]]))
    with pytest.raises(
        SpecError, match=r"none of the protected attributes \('sex', 'race'\)"
    ):
        IndividualFairnessMetric(dataset, labels, model=model)


def test_a_transformer_that_hides_the_protected_attributes() -> None:
    dataset = town()
    hide = make_column_transformer(("passthrough", [2, 3])).fit(dataset.features)
    rows = hide.transform(dataset.features)
    model = DecisionTreeClassifier().fit(rows, dataset.labels.ravel())
    labels = predicted(dataset, model.predict(rows))
    metric = IndividualFairnessMetric(dataset, labels, model=model, prepare=hide)
    assert metric.individual_fairness() == 1


def test_a_model_file(tmp_path: Any) -> None:
    dataset = town()
    model = XGBClassifier(n_estimators=5).fit(dataset.features, dataset.labels.ravel())
    path = tmp_path / "loans.json"
    model.save_model(path)
    labels = predicted(dataset, model.predict(dataset.features))
    of_file = IndividualFairnessMetric(dataset, labels, model=path)
    of_model = IndividualFairnessMetric(dataset, labels, model=model)
    assert of_file.individual_fairness() == of_model.individual_fairness() < 1
    # Also behind a scaler.
    scaler = StandardScaler().fit(dataset.features)
    rows = scaler.transform(dataset.features)
    model = XGBClassifier(n_estimators=5).fit(rows, dataset.labels.ravel())
    model.save_model(path)
    labels = predicted(dataset, model.predict(rows))
    metrics = [
        IndividualFairnessMetric(dataset, labels, model=one, prepare=scaler)
        for one in (path, model)
    ]
    assert metrics[0].num_unfair() == metrics[1].num_unfair() > 0


def test_groups_that_are_not_given_or_empty() -> None:
    dataset, classified, model = village()
    metric = IndividualFairnessMetric(dataset, classified, model=model)
    with pytest.raises(AttributeError, match="'privileged_groups' was not provided"):
        metric.individual_fairness(privileged=True)
    nobody = [{"sex": 7}]
    metric = IndividualFairnessMetric(dataset, classified, WOMEN, nobody, model=model)
    assert math.isnan(metric.individual_fairness(privileged=True))
    assert math.isnan(metric.individual_fairness_upper(privileged=True))
    assert math.isnan(metric.individual_unfairness_difference())
    assert metric.num_fair(privileged=True) == 0


def test_ratios_of_nothing() -> None:
    dataset, classified, model = village()
    # The only unfairly treated man goes: all are women then.
    keep = [0, 1, 2, 3, 4, 6, 7]
    some, labels = dataset.subset(keep), classified.subset(keep)
    metric = IndividualFairnessMetric(some, labels, WOMEN, MEN, model=model)
    assert metric.individual_unfairness_ratio() == math.inf
    some, labels = dataset.subset([0, 4]), classified.subset([0, 4])
    metric = IndividualFairnessMetric(some, labels, WOMEN, MEN, model=model)
    assert math.isnan(metric.individual_unfairness_ratio())
    assert metric.individual_unfairness_difference() == 0


def test_what_cannot_be_imported_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="cannot import"):
        metric_of(model=object())


def test_an_interrupted_run_gives_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    metric = metric_of()
    with monkeypatch.context() as patch:
        patch.setattr(Verifier, "verify", interrupt)
        with pytest.raises(KeyboardInterrupt):
            metric.individual_fairness()
    assert metric.individual_fairness() == 0.5


def test_a_metric_is_freed_whatever_it_was_asked() -> None:
    dataset, classified, model = village()
    metric = IndividualFairnessMetric(dataset, classified, WOMEN, MEN, model=model)
    for name in dir(metric):
        if is_public_method(metric, name) and name != "consistency":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                getattr(metric, name)()
    metric.difference(metric.base_rate)
    kept = [weakref.ref(metric), weakref.ref(metric.report())]
    del metric
    assert [reference() for reference in kept] == [None, None]
