"""Training: AIF360's and fairlearn's mitigators around CART, beside FATT.

Mitigators pursue equal rates of groups, FATT also equal treatment of similar people;
the table shows both for all of them, on AIF360's own datasets. All get the same
training people, 70 % of all, in several splits. Similar is who differs in the protected
attribute, and in each number by a tenth of its standard deviation.

A mitigator that mixes several trees decides by lot: of a mix we count as fair those
people to whom each of its trees is fair, for then the lot is the same for everybody
similar. What is no tree, or asks for the group before it decides, is not certified.
"""

from __future__ import annotations

import os
import resource
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from benchmarks.output import print_table, progress

RAW = Path("../shared/data/raw")
#: The protected attribute of each dataset: two groups, 1 is privileged.
GROUPS = {"adult": "sex", "german": "sex", "compas": "sex", "bank": "age"}
CART = {"max_depth": 6, "min_samples_leaf": 10, "random_state": 0}
#: What the answers were, and the trees that gave them, if trees alone did.
Answers = tuple[NDArray[Any], list[Any]]


class Case(NamedTuple):
    """A split of a dataset, and the protected attribute."""

    train: Any
    test: Any
    group: str

    @property
    def similarity(self) -> fatt.Similarity:
        """Who is similar to whom."""
        return fatt.Similarity(noise="0.1 sd", vary=[self.group])

    @property
    def groups(self) -> dict[str, Any]:
        """The two groups, as AIF360's algorithms take them."""
        return {
            "unprivileged_groups": [{self.group: 0}],
            "privileged_groups": [{self.group: 1}],
        }


def dataset_of(name: str) -> Any:
    """Return one of AIF360's datasets, whose favorable label is 1, and the other 0."""
    from aif360 import datasets

    from fatt.aif360_ext import read_dataset

    compas = {
        "features_to_drop": ["c_charge_desc"],
        "categorical_features": ["age_cat", "c_charge_degree"],
    }
    cls = getattr(datasets, f"{name.title()}Dataset")
    made = read_dataset(cls, RAW, **(compas if name == "compas" else {}))
    # Some algorithms take any favorable label for 1, and any other for 0.
    made.labels = (made.labels == made.favorable_label).astype(float)
    made.favorable_label, made.unfavorable_label = 1.0, 0.0
    return made


def frame(dataset: Any) -> pd.DataFrame:
    return pd.DataFrame(dataset.features, columns=dataset.feature_names)


def cart(case: Case, weights: Any = None) -> Answers:
    tree = DecisionTreeClassifier(**CART)
    tree.fit(frame(case.train), case.train.labels.ravel(), sample_weight=weights)
    return tree.predict(frame(case.test)), [tree]


def reweighed(case: Case) -> Answers:
    """Weights that make group and label independent."""
    from aif360.algorithms.preprocessing import Reweighing

    return cart(
        case, Reweighing(**case.groups).fit_transform(case.train).instance_weights
    )


def prejudice_removed(case: Case) -> Answers:
    """Fit a linear model that is fined for knowing the group; it runs elsewhere."""
    from aif360.algorithms.inprocessing import PrejudiceRemover

    scaler = StandardScaler().fit(case.train.features)
    scaled = [case.train.copy(), case.test.copy()]
    for one in scaled:
        one.features = scaler.transform(one.features)
    learner = PrejudiceRemover(eta=25, sensitive_attr=case.group).fit(scaled[0])
    return learner.predict(scaled[1]).labels.ravel(), []


def _reduced(case: Case, reduction: Any) -> Any:
    X = frame(case.train)
    return reduction.fit(X, case.train.labels.ravel(), sensitive_features=X[case.group])


def grid(case: Case) -> Answers:
    """Choose the best of ten trees for a trade-off of accuracy and parity."""
    from fairlearn.reductions import DemographicParity, GridSearch

    tree = DecisionTreeClassifier(**CART)
    found = _reduced(case, GridSearch(tree, DemographicParity(), grid_size=10))
    return found.predict(frame(case.test)), [found.predictors_[found.best_idx_]]


def gradient(case: Case) -> Answers:
    """Mix trees such that their rates are equal in expectation."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    tree = DecisionTreeClassifier(**CART)
    mix = _reduced(case, ExponentiatedGradient(tree, DemographicParity(), max_iter=20))
    labels = mix.predict(frame(case.test), random_state=0)
    return labels, [mix.predictors_[at] for at in np.flatnonzero(mix.weights_ > 0)]


def thresholds(case: Case) -> Answers:
    """Give each group a threshold of its own, or a lot between two."""
    from fairlearn.postprocessing import ThresholdOptimizer

    found = _reduced(
        case,
        ThresholdOptimizer(
            estimator=DecisionTreeClassifier(**CART), predict_method="predict_proba"
        ),
    )
    X = frame(case.test)
    return found.predict(X, sensitive_features=X[case.group], random_state=0), []


def ours(case: Case, max_gap: float | None = 0.1) -> Answers:
    from fatt.aif360_ext import FATT

    learner = FATT(
        **case.groups, similarity=case.similarity, max_gap=max_gap, seed=0
    ).fit(case.train)
    return learner.predict(case.test).labels.ravel(), [learner]


def ours_for_people(case: Case) -> Answers:
    return ours(case, None)


METHODS: dict[str, Callable[[Case], Answers]] = {
    "CART": cart,
    "AIF360, Reweighing": reweighed,
    "AIF360, PrejudiceRemover": prejudice_removed,
    "fairlearn, ExponentiatedGradient": gradient,
    "fairlearn, GridSearch": grid,
    "fairlearn, ThresholdOptimizer": thresholds,
    "fatt, FATT": ours,
    "fatt, FATT with max_gap=None": ours_for_people,
}


def fair(case: Case, trees: list[Any]) -> float:
    """Return the share of people to whom all trees are proved fair."""
    from fatt.aif360_ext import schema_of

    everybody = np.ones(len(case.test.labels), dtype=bool)
    for tree in trees:
        report = fatt.verify(
            tree,
            frame(case.test),
            similarity=case.similarity,
            schema=schema_of(case.train, model=tree),
        )
        everybody &= report.is_fair
    return 100 * float(everybody.mean())


def seconds() -> float:
    """Return the processor time so far, that of other programs it started included."""
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(case: Case, method: Callable[[Case], Answers]) -> list[float]:
    """Return the figures of one method on the test people; NaN for what has none."""
    started = seconds()
    labels, trees = method(case)
    taken = seconds() - started
    truth, group = case.test.labels.ravel(), frame(case.test)[case.group].to_numpy()
    rates = [labels[group == one].mean() for one in (0, 1)]
    leaves = [fatt.load(tree).ensemble.trees.n_leaves for tree in trees]
    return [
        100 * float(np.mean(labels == truth)),
        100 * balanced_accuracy_score(truth, labels),
        100 * abs(rates[0] - rates[1]),
        fair(case, trees) if trees else np.nan,
        sum(leaves) if trees else np.nan,
        taken,
    ]


def _cells(runs: list[list[float]]) -> list[str]:
    """Return medians, with the quarters of splits below and above."""
    cells = []
    for place, column in enumerate(np.array(runs).T):
        low, middle, high = np.percentile(column, [25, 50, 75])
        digits = 0 if place == 4 else 1
        spread = f" ({low:.{digits}f} to {high:.{digits}f})" if len(runs) > 1 else ""
        known = not np.isnan(middle)
        cells.append(f"{middle:.{digits}f}{spread}" if known else "-")
    return cells


def compare(names: Sequence[str], n_splits: int, left_out: Sequence[str]) -> None:
    """Print the table.

    Parameters
    ----------
    names
        The datasets.
    n_splits
        How many splits of each.
    left_out
        Methods that are not tried.
    """
    # PrejudiceRemover starts a program of its own, with whatever is called python.
    os.environ["PATH"] = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    os.environ["PYTHONWARNINGS"] = "ignore"
    warnings.simplefilter("ignore")
    lines = []
    for name in names:
        dataset = dataset_of(name)
        methods = {m: METHODS[m] for m in METHODS if not any(w in m for w in left_out)}
        runs: dict[str, list[list[float]]] = {method: [] for method in methods}
        for number in range(n_splits):
            train, test = dataset.split([0.7], shuffle=True, seed=number)
            case = Case(train, test, GROUPS[name])
            for method, learn in methods.items():
                if not number:
                    # Whatever is imported at the first fit is not counted.
                    few = (
                        train.subset(range(400)) if "Prejudice" not in method else None
                    )
                    if few is not None:
                        learn(case._replace(train=few))
                runs[method].append(measure(case, learn))
                figures = " ".join(f"{figure:.1f}" for figure in runs[method][-1])
                progress(f"{name}, split {number}, {method}: {figures}")
        lines += [[name, method, *_cells(mine)] for method, mine in runs.items()]
    titles = ["data", "method", "accuracy %", "balanced %", "gap of rates %"]
    print_table([*titles, "certified fair %", "leaves", "seconds"], lines)
