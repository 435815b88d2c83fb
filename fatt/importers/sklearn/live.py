"""scikit-learn itself: asked for labels; its leaf values read and written."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.model import Live

Floats = NDArray[np.float64]

#: What can be repaired, by the names of the types, which the importer has checked.
_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
_BOOSTED = "GradientBoostingClassifier"
_HISTOGRAMS = "HistGradientBoostingClassifier"


@dataclass(frozen=True)
class ScikitLearn(Live):
    """A fitted tree, forest or boosted model."""

    model: Any

    def labels(self, table: Any) -> Any:
        """Return what the model predicts."""
        return self.model.predict(table)

    def probabilities(self, table: Any) -> Any:
        """Return the model's probabilities."""
        return self.model.predict_proba(table)

    def scores(self, table: Any) -> Any:
        """Return what a boosted model adds up, or what the others average."""
        if hasattr(self.model, "decision_function"):
            return self.model.decision_function(table)
        if hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(table)
        return self.model.predict(table)

    def leaves(self) -> Floats | None:
        """Return what each node adds to the scores, of all trees, one row per node."""
        if self._name not in {*_TREES, *_FORESTS, _BOOSTED, _HISTOGRAMS}:
            return None
        return np.concatenate(list(self._tables(self.model))) * self._rate

    def with_leaves(self, values: Floats) -> Any:
        """Return a copy of the model with other leaf values."""
        changed = copy.deepcopy(self.model)
        start = 0
        for own in self._tables(changed):
            new = values[start : start + len(own)]
            # What is not changed stays the same to the last bit, rate or no rate.
            own[:] = np.where(new == own * self._rate, own, new / self._rate)
            start += len(own)
        return changed

    @property
    def _name(self) -> str:
        return type(self.model).__name__

    @property
    def _rate(self) -> float:
        """By what the model multiplies its leaves when it adds them up."""
        return float(self.model.learning_rate) if self._name == _BOOSTED else 1.0

    def _tables(self, model: Any) -> Iterator[Floats]:
        """Yield the numbers of each tree's nodes, as views of the tree's own memory."""
        if self._name == _HISTOGRAMS:
            for stage in model._predictors:
                for predictor in stage:
                    yield predictor.nodes["value"][:, np.newaxis]
            return
        members = [model] if self._name in _TREES else np.ravel(model.estimators_)
        for member in members:
            yield member.tree_.value[:, 0, :]
