"""Training: AIF360's and fairlearn's mitigators around CART, GROOT, and FATT.

Mitigators pursue equal rates of groups, GROOT and FATT equal treatment of similar
people; the table shows both for all of them. All get the same training people, and the
depth that the paper tuned for CART (but FATT, which chooses its own). A mitigator that
mixes several trees decides by lot: of a mix we count as fair those people to whom each
of its trees is fair, for then the lot is the same for everybody similar.
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
from benchmarks.peers import groot

#: The sensitive attribute of each data set, if there are two groups of it.
GROUPS = {"adult": "sex", "compas": "race", "crime": "", "german": "sex"}


class Case(NamedTuple):
    """A data set, and the column of its sensitive attribute."""

    data: str
    people: People
    group: str

    @classmethod
    def of(cls, data: str, group: str) -> Case:
        """Look up the column, if there is one."""
        people = paper.people(data)
        if not group:
            return cls(data, people, "")
        place = people.notes["groups"][group]["columns"][0]
        return cls(data, people, people.train.columns[place])

    def few(self) -> Case:
        """Return a hundred people, for whom everything is imported and compiled."""
        train, label = self.people.train[:100], self.people.label[:100]
        return self._replace(people=self.people._replace(train=train, label=label))

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


def adversarial(case: Case) -> list[Any]:
    return [groot.train(case.people, TREES[case.data])]


def ours(case: Case) -> list[Any]:
    similarity = paper.similarities(case.data)["noise-cat"]
    tree = fatt.FATTClassifier(similarity, random_state=0, n_jobs=2)
    return [tree.fit(case.people.train, case.people.label)]


def ours_as_fair(case: Case) -> list[Any]:
    """Choose of our front the best tree that is as fair as GROOT's, all in training."""
    (rival,), (tree,) = adversarial(case), ours(case)
    trained_on = case.people._replace(test=case.people.train)
    wanted = fair(case._replace(people=trained_on), [rival], "noise-cat")
    return [tree.with_tree(tree.front_.select(min_fairness=wanted))]


#: For two groups.
MITIGATORS: dict[str, Callable[[Case], list[Any]]] = {
    "AIF360, Reweighing": reweighed,
    "fairlearn, GridSearch": grid,
    "fairlearn, ExponentiatedGradient": gradient,
}
#: For any similarity.
TRAINERS: dict[str, Callable[[Case], list[Any]]] = {
    "GROOT": adversarial,
    "fatt, FATTClassifier": ours,
    "fatt, as fair as GROOT": ours_as_fair,
}


def fair(case: Case, models: list[Any], relation: str) -> float:
    """Return the share to whom all models are proved fair."""
    everybody = np.ones(len(case.people.test), dtype=bool)
    for model in models:
        report = fatt.verify(
            model,
            case.people.test,
            similarity=paper.similarities(case.data)[relation],
            schema=paper.schema(case.data, fatt.load(model).ensemble),
            by_position=True,
        )
        everybody &= [finding.verdict == "fair" for finding in report.findings]
    return float(everybody.mean())


def parity(labels: NDArray[Any], groups: pd.Series) -> float:
    """Return the difference of the groups' rates."""
    rates = [labels[groups == group].mean() for group in (0, 1)]
    return float(abs(rates[0] - rates[1]))


def measure(case: Case, models: list[Any]) -> list[str]:
    """Return the figures of one method on the test people."""
    test, truth = case.people.test, case.people.test_label
    # Of a mix, the first tree: a lot would make figures that change.
    labels = models[0].predict(test)
    accuracy, balanced = (
        np.mean(labels == truth),
        balanced_accuracy_score(truth, labels),
    )
    gap = f"{100 * parity(labels, test[case.group]):.1f}" if case.group else ""
    shares = [fair(case, models, relation) for relation in ("cat", "noise-cat")]
    return [
        str(len(models)),
        str(sum(fatt.load(model).ensemble.trees.n_leaves for model in models)),
        f"{100 * accuracy:.1f}",
        f"{100 * balanced:.1f}",
        gap,
        *(f"{100 * share:.1f}" for share in shares),
    ]


def compare() -> None:
    """Print the table."""
    lines = []
    for data, group in GROUPS.items():
        case = Case.of(data, group)
        methods = {"CART alone": alone, **(MITIGATORS if group else {}), **TRAINERS}
        for name, method in methods.items():
            try:
                method(case.few())
            except ModuleNotFoundError as error:
                progress(f"{name} is left out: {error}.")
                continue
            start = time.perf_counter()
            models = method(case)
            seconds = f"{time.perf_counter() - start:.1f}"
            lines.append([data, name, *measure(case, models), seconds])
            progress(" ".join(lines[-1]))
    titles = ["data", "method", "trees", "leaves", "accuracy %", "balanced %"]
    titles += ["parity gap %", "fair, cat %", "fair, noise-cat %", "seconds"]
    print_table(titles, lines)
