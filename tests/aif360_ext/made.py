"""Small datasets and models for the tests, and a slow judge of fairness."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aif360.datasets import BinaryLabelDataset
from sklearn.tree import DecisionTreeClassifier

RAW = Path(__file__).parents[2] / ".." / "shared" / "data" / "raw"

needs_raw_files = pytest.mark.skipif(
    not RAW.is_dir(), reason="the raw files of AIF360's datasets are not there"
)


def village() -> tuple[Any, Any, Any]:
    """Return eight people, the labels they get, and the model that gives them.

    Men are granted a loan from the age of 30, women from that of 40: whoever is between
    30 and 40 gets another label than the same person of the other sex.
    """
    table = pd.DataFrame(
        {
            "sex": [0, 0, 0, 0, 1, 1, 1, 1],
            "age": [25, 35, 38, 60, 20, 33, 45, 50],
            "loan": [0, 1, 0, 1, 0, 1, 1, 0],
            "weight": [1, 2, 3, 4, 1, 5, 1, 3],
        }
    )
    dataset = BinaryLabelDataset(
        df=table,
        label_names=["loan"],
        protected_attribute_names=["sex"],
        instance_weights_name="weight",
    )
    model = loans()
    return dataset, predicted(dataset, model.predict(dataset.features)), model


def loans() -> Any:
    """Return the model of the village, whose columns are sex and age."""
    people = [(sex, age) for sex in (0, 1) for age in range(20, 60)]
    labels = [age >= (30 if sex else 40) for sex, age in people]
    return DecisionTreeClassifier().fit(
        np.array(people, dtype=float), np.array(labels, dtype=float)
    )


def town(n_people: int = 300, seed: int = 0) -> Any:
    """Return people of two sexes, three races and four colours, with random weights."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["blue", "green", "grey", "red"], n_people)
    table = pd.DataFrame(
        {
            "sex": rng.integers(0, 2, n_people),
            "race": rng.choice([1, 2, 5], n_people),
            "age": rng.integers(18, 80, n_people),
            "income": rng.normal(30, 9, n_people).round(1),
            "weight": rng.integers(1, 5, n_people) / 3,
        }
    )
    flags = pd.get_dummies(pd.Series(colour, name="colour"), prefix="colour")
    table = table.join(flags.rename(columns=lambda name: name.replace("_", "=")))
    noise = rng.normal(0, 15, n_people)
    score = table.age + table.income + 9 * table.sex - 4 * table.race + noise
    table["loan"] = (score > score.median()).astype(int)
    return BinaryLabelDataset(
        df=table,
        label_names=["loan"],
        protected_attribute_names=["sex", "race"],
        instance_weights_name="weight",
    )


def predicted(dataset: Any, labels: Any) -> Any:
    """Return a dataset with other labels, as people make it who use AIF360."""
    copy = dataset.copy(deepcopy=True)
    copy.labels = np.asarray(labels, dtype=float).reshape(-1, 1)
    return copy


def are_fair(predict: Any, dataset: Any) -> Any:
    """Ask a model about each person with all values of the protected attributes."""
    own = predict(dataset.features)
    fair = np.ones(len(own), dtype=bool)
    names = dataset.protected_attribute_names
    places = [dataset.feature_names.index(name) for name in names]
    values = [
        np.union1d(*both)
        for both in zip(
            dataset.privileged_protected_attributes,
            dataset.unprivileged_protected_attributes,
            strict=True,
        )
    ]
    for chosen in itertools.product(*values):
        twins = dataset.features.copy()
        twins[:, places] = chosen
        fair &= predict(twins) == own
    return fair
