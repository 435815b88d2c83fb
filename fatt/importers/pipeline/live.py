"""A pipeline itself: asked for labels; the leaf values of its last step."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.model import Live, Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WholePipeline(Live):
    """A fitted `Pipeline`.

    Attributes
    ----------
    pipeline
        The fitted object.
    last
        The model at its end.
    """

    pipeline: Any
    last: Model

    def labels(self, table: Any) -> Any:
        """Return what the pipeline predicts."""
        answers = np.asarray(self.pipeline.predict(table))
        # CatBoost answers several classes in a column.
        return answers.reshape(len(answers))

    def probabilities(self, table: Any) -> Any:
        """Return the pipeline's probabilities."""
        return self.pipeline.predict_proba(table)

    def scores(self, table: Any) -> Any:
        """Return the scores of the last step, on what the others make of the rows."""
        steps = self.pipeline
        while type(steps).__name__ == "Pipeline":
            if len(steps) > 1:
                table = steps[:-1].transform(table)
            steps = steps[-1]
        return self._live.scores(table)

    def leaves(self) -> Floats | None:
        """Return what each leaf of the last step adds to the scores."""
        return self._live.leaves()

    def with_leaves(self, values: Floats) -> Any:
        """Return a copy of the pipeline whose last step has other leaf values."""
        return _with_last(self.pipeline, self._live.with_leaves(values))

    @property
    def _live(self) -> Live:
        return self.last.live


def _with_last(pipeline: Any, model: Any) -> Any:
    """Return a copy of a pipeline with another model at its end."""
    *steps, (name, last) = pipeline.steps
    if type(last).__name__ == "Pipeline":
        model = _with_last(last, model)
    changed = copy.copy(pipeline)
    changed.steps = [*copy.deepcopy(steps), (name, model)]
    return changed
