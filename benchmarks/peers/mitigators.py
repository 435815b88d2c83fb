"""Training: AIF360's and fairlearn's mitigators around CART, and FATT.

They pursue equal rates of groups, FATT equal treatment of similar people; the table
shows both for all of them. All get the same training people, and the tree that the
paper tuned. A mitigator that mixes several trees decides by lot: of a mix we count as
fair those people to whom each of its trees is fair, for then the lot is the same for
everybody similar.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

import fatt
from benchmarks import paper
from benchmarks.output import print_table, progress
from benchmarks.paper.setting import TREES, People


class Case(NamedTuple):
    """A data set, and the column of its sensitive attribute."""

    data: str
    people: People
    group: str

    def cart(self) -> DecisionTreeClassifier:
        """Return the paper's CART, not yet fitted."""
        return DecisionTreeClassifier(max_depth=TREES[self.data], random_state=0)


def alone(case: Case) -> list[Any]:
    return [case.cart().fit(case.people.train, case.people.label)]


def reweighed(case: Case) -> list[Any]:
    """Weights that make group and label independent, as AIF360 computes them."""
    from aif360.algorithms.preprocessing import Reweighing
    from aif360.datasets import BinaryLabelDataset

    frame = case.people.train.assign(label=case.people.label)
    data = BinaryLabelDataset(
        df=frame, label_names=["label"], protected_attribute_names=[case.group]
    )
    groups = {"unprivileged_groups": [{case.group: 0}]}
    groups["privileged_groups"] = [{case.group: 1}]
    weights = Reweighing(**groups).fit_transform(data).instance_weights
    fitted = case.cart().fit(case.people.train, case.people.label, weights)
    return [fitted]


def grid(case: Case) -> list[Any]:
    """Choose the best of ten trees for a trade-off of accuracy and parity."""
    from fairlearn.reductions import DemographicParity, GridSearch

    search = GridSearch(case.cart(), DemographicParity(), grid_size=10)
    groups = case.people.train[case.group]
    search.fit(case.people.train, case.people.label, sensitive_features=groups)
    return [search.predictors_[search.best_idx_]]


def gradient(case: Case) -> list[Any]:
    """Mix trees such that their rates are equal in expectation."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    mix = ExponentiatedGradient(case.cart(), DemographicParity(), max_iter=20)
    groups = case.people.train[case.group]
    mix.fit(case.people.train, case.people.label, sensitive_features=groups)
    return [mix.predictors_[index] for index in np.flatnonzero(mix.weights_ > 0)]


def ours(case: Case) -> list[Any]:
    similarity = paper.similarities(case.data)["noise-cat"]
    tree = fatt.FATTClassifier(similarity, random_state=0, n_jobs=2)
    return [tree.fit(case.people.train, case.people.label)]


METHODS: dict[str, Callable[[Case], list[Any]]] = {
    "CART alone": alone,
    "AIF360, Reweighing": reweighed,
    "fairlearn, GridSearch": grid,
    "fairlearn, ExponentiatedGradient": gradient,
    "fatt, FATTClassifier": ours,
}


def fair(case: Case, models: list[Any], relation: str) -> float:
    """Return the share to whom all models are proved fair."""
    everybody = np.ones(len(case.people.test), dtype=bool)
    for model in models:
        report = fatt.verify(
            model,
            case.people.test,
            similarity=paper.similarities(case.data)[relation],
            schema=paper.schema(case.data, fatt.load(model)),
        )
        everybody &= [finding.verdict == "fair" for finding in report.findings]
    return float(everybody.mean())


def parity(labels: NDArray[Any], groups: pd.Series) -> float:
    """Return the difference of the groups' rates."""
    rates = [labels[groups == group].mean() for group in (0, 1)]
    return float(abs(rates[0] - rates[1]))


def compare() -> None:
    """Print the table."""
    lines = []
    for data, group in (("german", "sex"), ("compas", "race")):
        people = paper.people(data)
        column = people.train.columns[people.notes["groups"][group]["columns"][0]]
        case = Case(data, people, column)
        for name, method in METHODS.items():
            start = time.perf_counter()
            models = method(case)
            seconds = time.perf_counter() - start
            # Of a mix, the first tree: a lot would make figures that change.
            labels = models[0].predict(people.test)
            figures = [
                np.mean(labels == people.test_label),
                balanced_accuracy_score(people.test_label, labels),
                parity(labels, people.test[column]),
                fair(case, models, "cat"),
                fair(case, models, "noise-cat"),
            ]
            shown = [f"{100 * figure:.1f}" for figure in figures]
            lines.append([data, name, str(len(models)), *shown, f"{seconds:.1f}"])
            progress(" ".join(lines[-1]))
    titles = ["data", "method", "trees", "accuracy %", "balanced %", "parity gap %"]
    print_table([*titles, "fair, cat %", "fair, noise-cat %", "seconds"], lines)
