"""GROOT: greedy trees that expect an adversary who moves people before the tree does.

``groot-trees`` 0.0.17 needs a NumPy below 2, hence an environment of its own::

    python3 -m venv .venv-groot
    .venv-groot/bin/pip install -e '.[aif360]' fairlearn groot-trees 'numpy<2'
    .venv-groot/bin/python -m benchmarks.train --paired 30

Its adversary is given what the similarity allows: the noise on each number, and
sensitive columns that move at will.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.paper.setting import People
from fatt.ensemble import Cut, Ensemble, Numeric, Scoring, Source, Trees


def train(people: People, depth: int) -> Ensemble:
    """Train a tree for noise-cat; return what its `predict` computes, bit for bit."""
    from groot.model import GrootTreeClassifier

    given = people.notes["similarity"]
    adversary: list[Any] = [""] * people.train.shape[1]
    for column in given["noise"]["columns"]:
        adversary[column] = given["noise"]["epsilon"]
    for column in (column for group in given["cat"]["columns"] for column in group):
        adversary[column] = "<>"
    tree = GrootTreeClassifier(
        max_depth=depth, attack_model=adversary, random_state=0
    ).fit(people.train.to_numpy(), people.label)
    ensemble = ensemble_of(tree.compiled_root_, list(people.train.columns))
    for rows in (people.train, people.test):
        assert np.array_equal(ensemble.predict(rows), tree.predict(rows.to_numpy()))
    return ensemble


def ensemble_of(tree: Any, columns: list[str]) -> Ensemble:
    """Read the arrays that GROOT predicts with.

    Numbers are compared in float64 with thresholds rounded to float32, and a leaf says
    1 if its float32 value is above 0.
    """
    return Ensemble(
        features=tuple(Numeric(name=name, accepts_missing=False) for name in columns),
        classes=(0, 1),
        trees=Trees.lay_out(
            roots=[0],
            feature=tree.features,
            threshold=tree.thresholds.astype(np.float64),
            left=tree.left_ids,
            right=tree.right_ids,
            missing_left=np.zeros(len(tree.features), dtype=bool),
            leaf=np.arange(len(tree.features)),
            values=tree.values.astype(np.float64),
            targets=[0],
        ),
        scoring=Scoring(dtype="float64", base=(0.0,)),
        decision=Cut(at=float(np.nextafter(0.0, 1.0))),
        source=Source(library="groot-trees", format="fitted object"),
    )
