"""
Mitigate with FATT, beside AIF360's own algorithms
==================================================

One table for Adult, German and COMPAS. ``--quick`` takes a few hundred people of each.
AIF360 does not bring the raw files along: name their folder with ``--raw``.
"""

# %%
# PrejudiceRemover starts a program of its own, with whatever is called python; and some
# of AIF360's code is older than today's warnings.
import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ["PYTHONWARNINGS"] = "ignore"
warnings.simplefilter("ignore")

import numpy as np
import pandas as pd
from aif360.algorithms.inprocessing import (
    ExponentiatedGradientReduction,
    PrejudiceRemover,
)
from aif360.algorithms.preprocessing import Reweighing
from aif360.datasets import AdultDataset, CompasDataset, GermanDataset
from aif360.metrics import ClassificationMetric
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fatt import Similarity, verify
from fatt.aif360_ext import FATT, read_dataset, schema_of

SIMILARITY = Similarity(noise="0.1 sd", vary=["sex"])
GROUPS = {"unprivileged_groups": [{"sex": 0}], "privileged_groups": [{"sex": 1}]}
CART = {"max_depth": 6, "min_samples_leaf": 10, "random_state": 0}
parser = argparse.ArgumentParser()
parser.add_argument("--raw", default="../shared/data/raw")
parser.add_argument("--quick", action="store_true")
options = parser.parse_args()


def frame(dataset: Any) -> pd.DataFrame:
    return pd.DataFrame(dataset.features, columns=dataset.feature_names)


# %%
# Each way to learn returns labels, and the trees that made them.
def plain(train: Any, test: Any) -> tuple[np.ndarray, list]:
    tree = DecisionTreeClassifier(**CART)
    tree.fit(frame(train), train.labels.ravel(), sample_weight=train.instance_weights)
    return tree.predict(frame(test)), [tree]


def reweighing(train: Any, test: Any) -> tuple[np.ndarray, list]:
    return plain(Reweighing(**GROUPS).fit_transform(train), test)


def prejudice_remover(train: Any, test: Any) -> tuple[np.ndarray, list]:
    scaler = StandardScaler().fit(train.features)
    scaled = [train.copy(), test.copy()]
    for dataset in scaled:
        dataset.features = scaler.transform(dataset.features)
    learner = PrejudiceRemover(eta=25, sensitive_attr="sex").fit(scaled[0])
    return learner.predict(scaled[1]).labels, []


def exponentiated_gradient(train: Any, test: Any) -> tuple[np.ndarray, list]:
    tree = DecisionTreeClassifier(**CART)
    mix = ExponentiatedGradientReduction(tree, "EqualizedOdds", drop_prot_attr=False)
    labels, model = mix.fit(train).predict(test).labels, mix.model.model_
    weighed = zip(model.predictors_, model.weights_, strict=True)
    return labels, [tree for tree, weight in weighed if weight > 0]


def fatt(train: Any, test: Any) -> tuple[np.ndarray, list]:
    effort = {"max_iter": 2} if options.quick else {}
    learner = FATT(similarity=SIMILARITY, seed=0, **GROUPS, **effort).fit(train)
    return learner.predict(test).labels, [learner]


# %%
# A mix of trees is certified to be fair to a person if each of its trees is; what has
# no trees is not certified at all.
def row(learn: Any, train: Any, test: Any) -> list[float | None]:
    start = time.perf_counter()
    labels, trees = learn(train, test)
    seconds = time.perf_counter() - start
    predicted = test.copy()
    predicted.labels = np.reshape(labels, (-1, 1))
    metric = ClassificationMetric(test, predicted, **GROUPS)
    rates = metric.true_positive_rate(), metric.true_negative_rate()
    arguments = {"similarity": SIMILARITY, "schema": schema}
    reports = [verify(tree, frame(test), **arguments) for tree in trees]
    fair = [[one.verdict == "fair" for one in report.findings] for report in reports]
    return [
        metric.accuracy(),
        sum(rates) / 2,
        metric.statistical_parity_difference(),
        metric.equal_opportunity_difference(),
        np.all(fair, axis=0).mean() if fair else None,
        seconds,
    ]


# %%
# Some of AIF360's algorithms take any favorable label for 1, and any other for 0.
simpler = {"features_to_drop": ["c_charge_desc"]}
kinds = {"categorical_features": ["age_cat", "c_charge_degree"]}
datasets = [
    read_dataset(AdultDataset, options.raw),
    read_dataset(GermanDataset, options.raw),
    read_dataset(CompasDataset, options.raw, **simpler, **kinds),
]
heads = "accuracy", "balanced", "parity", "opportunity", "certified", "seconds"
print(f"{'':30}" + "".join(f"{head:>12}" for head in heads))
for dataset in datasets:
    dataset.labels = (dataset.labels == dataset.favorable_label).astype(float)
    dataset.favorable_label, dataset.unfavorable_label = 1.0, 0.0
    name = type(dataset).__name__.removesuffix("Dataset")
    sizes = [400, 600] if options.quick else [0.7]
    train, test, *_ = dataset.split(sizes, shuffle=True, seed=0)
    schema = schema_of(train, model=plain(train, test)[1][0])
    np.random.seed(0)  # noqa: NPY002 (ExponentiatedGradient draws each label from it)
    for learn in (plain, reweighing, prejudice_remover, exponentiated_gradient, fatt):
        values = row(learn, train, test)
        cells = ["-" if value is None else f"{value:.3f}" for value in values]
        print(f"{name:8}{learn.__name__:22}" + "".join(f"{cell:>12}" for cell in cells))
