"""Individual fairness in the manner of `aif360.sklearn`."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from aif360.sklearn.datasets import standardize_dataset
from aif360.sklearn.metrics import difference, intersection
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Budget, Similarity
from fatt.aif360_ext import IndividualFairnessMetric
from fatt.aif360_ext.sklearn import (
    certified_fairness_score,
    individual_unfairness_difference,
    individual_unfairness_ratio,
    make_scorer,
)
from fatt.errors import DataError, SpecError
from fatt.verifier import Verifier
from tests.aif360_ext.made import predicted, town, village

NOISE = Similarity(noise={"age": 3}, vary=["sex"])


def people() -> tuple[Any, Any, Any]:
    """Return people with texts, their labels, and a pipeline that was fitted to them.

    The index holds the sex of each person, and whether a person is young.
    """
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], 250),
            "colour": rng.choice(["blue", "green", "red"], 250),
            "age": rng.integers(18, 70, 250),
        }
    )
    score = table.age + 8 * (table.sex == "male") + rng.normal(0, 9, 250)
    young = pd.Series(np.where(table.age < 30, "young", "old"), name="youth")
    X, y = standardize_dataset(
        table.assign(loan=np.where(score > 46, "yes", "no")),
        prot_attr=["sex", young],
        target="loan",
    )
    encode = make_column_transformer(
        (OneHotEncoder(), ["sex", "colour"]), remainder="passthrough"
    )
    model = make_pipeline(encode, RandomForestClassifier(9, random_state=0))
    return X, y, model.fit(X, y)


def verdicts(X: Any, model: Any) -> Any:
    """Ask the model itself whether the other sex gets the same label."""
    other = X.sex.map({"female": "male", "male": "female"})
    return model.predict(X) == model.predict(X.assign(sex=other))


def test_old_and_new_manner_agree_to_the_bit() -> None:
    dataset = town()
    columns = dataset.feature_names
    X = pd.DataFrame(dataset.features, columns=columns).set_index(
        ["sex", "race"], drop=False
    )
    weight = dataset.instance_weights
    model = RandomForestClassifier(9, random_state=0).fit(X, dataset.labels.ravel())
    labels = model.predict(X)
    for similarity, budget in (
        (Similarity(vary=["sex"]), None),
        (NOISE, None),
        (NOISE, Budget(nodes=1)),
    ):
        old = IndividualFairnessMetric(
            dataset,
            predicted(dataset, labels),
            [{"sex": 0}],
            [{"sex": 1}],
            model=model,
            similarity=similarity,
            budget=budget,
        )
        new = {
            "estimator": model,
            "similarity": similarity,
            "budget": budget,
            "sample_weight": weight,
        }
        score = certified_fairness_score(X, labels, **new)
        assert score == old.individual_fairness()
        assert 0 < score < 1
        group = {"prot_attr": "sex", "priv_group": 1}
        assert (
            individual_unfairness_difference(X, labels, **new, **group)
            == old.individual_unfairness_difference()
        )
        assert (
            individual_unfairness_ratio(X, labels, **new, **group)
            == old.individual_unfairness_ratio()
        )


def test_protected_attributes_in_the_index() -> None:
    X, _, model = people()
    fair = verdicts(X, model)
    assert 0 < fair.sum() < 250
    assert certified_fairness_score(X, estimator=model, prot_attr="sex") == fair.mean()
    men = np.asarray(X.sex == "male")
    expected = (~fair[~men]).mean() - (~fair[men]).mean()
    for prot_attr in ("sex", X.sex, X.sex.to_numpy()):
        found = individual_unfairness_difference(
            X,
            estimator=model,
            prot_attr=prot_attr,
            priv_group="male",
            similarity=Similarity(vary=["sex"]),
        )
        assert found == pytest.approx(expected, abs=1e-15)
    both = individual_unfairness_ratio(
        X,
        estimator=model,
        prot_attr=["sex", "youth"],
        priv_group=("male", "old"),
        similarity=Similarity(vary=["sex"]),
    )
    old_men = men & np.asarray(X.index.get_level_values("youth") == "old")
    assert both == pytest.approx((~fair[~old_men]).mean() / (~fair[old_men]).mean())


def test_groups_by_a_column() -> None:
    X, _, model = people()
    fair, red = verdicts(X, model), np.asarray(X.colour == "red")
    found = individual_unfairness_difference(
        X.reset_index(drop=True),
        estimator=model,
        prot_attr="colour",
        priv_group="red",
        similarity=Similarity(vary=["sex"]),
    )
    assert found == pytest.approx((~fair[~red]).mean() - (~fair[red]).mean())


def test_metrics_of_aif360_around_ours() -> None:
    X, _, model = people()
    arguments = {"estimator": model, "similarity": Similarity(vary=["sex"])}
    ours = individual_unfairness_difference(
        X, prot_attr="sex", priv_group="male", **arguments
    )
    theirs = difference(
        certified_fairness_score, X, prot_attr="sex", priv_group="male", **arguments
    )
    assert ours == pytest.approx(-theirs)
    assert ours != 0
    shares = intersection(certified_fairness_score, X, prot_attr="sex", **arguments)
    report = fatt.verify(
        model, X.reset_index(drop=True), similarity=arguments["similarity"]
    )
    groups = report.by_group("sex")
    assert shares == [group.fairness.lower for group in groups.values()]


def test_a_column_of_zeros_and_ones_has_no_other_values() -> None:
    dataset, _, model = village()
    X = pd.DataFrame(dataset.features, columns=["sex", "age"])
    X = X.set_index("sex", drop=False)
    model = DecisionTreeClassifier().fit(X, model.predict(dataset.features))
    assert certified_fairness_score(X, estimator=model) == 5 / 8
    assert individual_unfairness_difference(X, estimator=model) == 1 / 4
    women = X.loc[0]
    assert certified_fairness_score(women, estimator=model) == 2 / 4


def test_labels_are_checked() -> None:
    X, _, model = people()
    labels = model.predict(X)
    assert certified_fairness_score(X, labels, estimator=model, prot_attr="sex") < 1
    labels[[3, 7]] = ["no" if label == "yes" else "yes" for label in labels[[3, 7]]]
    with pytest.raises(SpecError, match="in 2 of 250 rows, first in row 3"):
        certified_fairness_score(X, labels, estimator=model, prot_attr="sex")
    with pytest.raises(SpecError, match="249 predicted labels for 250 people"):
        certified_fairness_score(X, labels[1:], estimator=model, prot_attr="sex")


def test_what_is_not_known() -> None:
    X, _, model = people()
    with pytest.raises(SpecError, match=r"names 'youth'.* goes together .* 'age'"):
        certified_fairness_score(X, estimator=model)
    with pytest.raises(SpecError, match=r"none of the protected .*\(none is named\)"):
        certified_fairness_score(X.reset_index(drop=True), estimator=model)
    with pytest.raises(SpecError, match="prot_attr names 'gender'"):
        individual_unfairness_difference(X, estimator=model, prot_attr="gender")
    with pytest.raises(DataError, match="sample_weight"):
        certified_fairness_score(
            X, estimator=model, prot_attr="sex", sample_weight=[1, 2]
        )
    nobody = individual_unfairness_difference(
        X, estimator=model, prot_attr="sex", priv_group="other"
    )
    assert math.isnan(nobody)


def test_arrays() -> None:
    dataset, classified, model = village()
    found = individual_unfairness_difference(
        dataset.features,
        classified.labels,
        estimator=model,
        prot_attr=dataset.features[:, 0],
        similarity=Similarity(vary={"x0": [0, 1]}),
        schema=fatt.Schema.infer(fatt.load(model), dataset.features).with_(
            x0=fatt.region.Binary()
        ),
    )
    assert found == 1 / 4


def test_scorers_in_model_selection() -> None:
    X, y, model = people()
    fair = make_scorer(certified_fairness_score, prot_attr="sex")
    even = make_scorer(
        individual_unfairness_difference, prot_attr="sex", priv_group="male"
    )
    assert fair(model, X, y) == certified_fairness_score(
        X, estimator=model, prot_attr="sex"
    )
    assert even(model, X) == -abs(
        individual_unfairness_difference(
            X, estimator=model, prot_attr="sex", priv_group="male"
        )
    )
    assert even(model, X) < 0
    first, last = np.arange(170), np.arange(170, 250)
    depth = "randomforestclassifier__max_depth"
    search = GridSearchCV(
        model,
        {depth: [1, 8]},
        scoring={"accuracy": "accuracy", "fair": fair, "even": even},
        refit="fair",
        cv=[(first, last)],
        error_score="raise",
    ).fit(X, y)
    for place, candidate in enumerate(search.cv_results_["params"]):
        other = clone(model).set_params(**candidate)
        other.fit(X.iloc[first], y.iloc[first])
        share = verdicts(X.iloc[last], other).mean()
        assert search.cv_results_["mean_test_fair"][place] == share
    assert np.unique(search.cv_results_["mean_test_fair"]).size == 2
    assert search.best_score_ == search.cv_results_["mean_test_fair"].max()
    assert np.all(search.cv_results_["mean_test_even"] <= 0)
    assert cross_val_score(model, X, y, scoring=fair, cv=3).shape == (3,)


def test_a_scorer_is_a_value() -> None:
    scorer = make_scorer(certified_fairness_score, similarity=NOISE, prot_attr="sex")
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert scorer != make_scorer(certified_fairness_score, prot_attr="sex")
    assert "prot_attr" in repr(scorer)
    with pytest.raises(SpecError, match="certified_fairness_score or individual_un"):
        make_scorer(individual_unfairness_ratio)


def test_weights_are_routed() -> None:
    X, y, model = people()
    weights = np.random.default_rng(0).integers(1, 9, size=len(X)).astype(float)
    first, last = np.arange(170), np.arange(170, 250)
    model = clone(model)
    model.set_params(randomforestclassifier__random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        forest = model[-1].set_fit_request(sample_weight=False)
        scorer = make_scorer(certified_fairness_score, prot_attr="sex")
        scorer.set_score_request(sample_weight=True)
        found = cross_validate(
            model,
            X,
            y,
            scoring=pickle.loads(pickle.dumps(scorer)),
            cv=[(first, last)],
            params={"sample_weight": weights},
            error_score="raise",
        )
    assert forest is model[-1]
    model.fit(X.iloc[first], y.iloc[first])
    is_fair = verdicts(X.iloc[last], model)
    assert found["test_score"] == [np.average(is_fair, weights=weights[last])]
    assert found["test_score"] != [is_fair.mean()]


def test_an_interrupted_score_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    X, _, model = people()
    monkeypatch.setattr(Verifier, "verify", interrupt)
    with pytest.raises(KeyboardInterrupt):
        certified_fairness_score(X, estimator=model, prot_attr="sex")
