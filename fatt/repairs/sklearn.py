"""The leaf values of scikit-learn's trees, forests and boosted models."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: What can be repaired, by the names of the types, which `fatt.load` has checked.
_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_BOOSTED = "GradientBoostingClassifier"
_HISTOGRAMS = "HistGradientBoostingClassifier"

NAMES = (*_TREES, *_FORESTS, _BOOSTED, _HISTOGRAMS)


def read(model: Any) -> Floats:
    """Return what each node adds to the scores, of all trees, one row per node."""
    return np.concatenate(list(_tables(model))) * _rate(model)


def write(model: Any, table: Floats) -> Any:
    """Return a copy of the model with other leaf values, as `read` returns them."""
    changed = copy.deepcopy(model)
    start = 0
    for own in _tables(changed):
        new = table[start : start + len(own)]
        # What is not changed stays the same to the last bit, rate or no rate.
        own[:] = np.where(new == own * _rate(model), own, new / _rate(model))
        start += len(own)
    return changed


def _tables(model: Any) -> Iterator[Floats]:
    """Yield the numbers of each tree's nodes, as views of the tree's own memory."""
    name = type(model).__name__
    if name == _HISTOGRAMS:
        for stage in model._predictors:
            for predictor in stage:
                yield predictor.nodes["value"][:, np.newaxis]
        return
    members = [model] if name in _TREES else np.ravel(model.estimators_)
    for member in members:
        yield member.tree_.value[:, 0, :]


def _rate(model: Any) -> float:
    """Return by what a model multiplies its leaves when it adds them up."""
    is_boosted = type(model).__name__ == _BOOSTED
    return float(model.learning_rate) if is_boosted else 1.0
