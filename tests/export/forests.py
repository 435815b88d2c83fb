"""Random trees and forests of the kind that can be exported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fatt.ensemble import (
    Argmax,
    Categorical,
    Ensemble,
    Feature,
    Label,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from tests.strategies import random_trees

#: Classes of every kind that a label may have.
CLASSES: tuple[tuple[Label, ...], ...] = (
    ("deny", "approve"),
    (1, 2),
    (0.0, 1.0),
    (False, True),
    ("low", "middle", "high"),
    (7, -3, 0, 5),
    ("only",),
)


def random_forest(seed: int, *, categories: bool) -> Ensemble:
    """Draw a tree or a forest; with texts and whole numbers as categories if asked."""
    rng = np.random.default_rng(seed)
    features = tuple(
        _feature(rng, f"f{index}", categories) for index in range(rng.integers(1, 6))
    )
    classes = CLASSES[rng.integers(len(CLASSES))]
    drawn = random_trees(rng, features, len(classes), "float64")
    # Shares of few people, so that ties are frequent.
    people = rng.integers(0, 4, size=drawn["values"].shape) + 1e-300
    drawn["values"] = people / people.sum(axis=1, keepdims=True)
    if rng.random() < 0.3:
        drawn["roots"] = drawn["roots"][:1]
    n_trees = len(drawn["roots"])
    return Ensemble(
        features=features,
        classes=classes,
        trees=Trees.lay_out(**drawn, targets=np.full(n_trees, -1)),
        scoring=Scoring(
            dtype="float64", base=(0.0,) * len(classes), divisor=float(n_trees)
        ),
        decision=Argmax(),
        source=Source(library="random"),
    )


def _feature(rng: np.random.Generator, name: str, categories: bool) -> Feature:
    kind = rng.integers(4) if categories else 0
    n_categories = int(rng.integers(1, 150))
    if kind == 1:
        labels: tuple[Label, ...] = tuple(f"c{i}" for i in range(n_categories))
    elif kind == 2:
        labels = tuple(rng.permutation(1000)[:n_categories].tolist())
    else:
        return Numeric(name=name)
    return Categorical(name=name, categories=labels)


def one_tree(ensemble: Ensemble) -> Ensemble:
    """Return the ensemble of the first tree alone."""
    trees = ensemble.trees
    end = trees.roots[1] if len(trees) > 1 else len(trees.nodes)
    nodes = trees.nodes[:end].copy()
    words = trees.words
    later = trees.nodes["subset"][end:]
    if (later >= 0).any():
        words = words[: later[later >= 0][0]].copy()
    values = trees.values[: np.count_nonzero(nodes["feature"] < 0)].copy()
    alone = Trees(
        nodes, trees.roots[:1].copy(), words, values, trees.targets[:1].copy()
    )
    scoring = Scoring(dtype="float64", base=ensemble.scoring.base)
    return replace(ensemble, trees=alone, scoring=scoring)


def stump(feature: Feature, split: Any) -> Ensemble:
    """Return a tree with one split: 80% deny on its left, 90% approve on its right."""
    is_set = isinstance(split, list)
    return Ensemble(
        features=(feature,),
        classes=("deny", "approve"),
        trees=Trees.lay_out(
            roots=[0],
            feature=[0, -1, -1],
            threshold=[0.0 if is_set else split, 0.0, 0.0],
            left=[1, -1, -1],
            right=[2, -1, -1],
            missing_left=[False] * 3,
            leaf=[0, 0, 1],
            values=[[0.8, 0.2], [0.1, 0.9]],
            targets=[-1],
            subset=[0 if is_set else -1, -1, -1],
            sets=[np.array(split)] if is_set else [],
        ),
        scoring=Scoring(dtype="float64", base=(0.0, 0.0)),
        decision=Argmax(),
        source=Source(library="made up"),
    )
