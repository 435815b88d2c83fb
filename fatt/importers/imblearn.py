"""imbalanced-learn: its pipelines, whose samplers change training rows only.

A sampler takes no part in `predict`: what remains is a pipeline of scikit-learn.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError
from fatt.importers import pipeline
from fatt.importers.registry import refuse_replaced
from fatt.model import Live, Model


@dataclass(frozen=True)
class Resampled(Live):
    """A fitted pipeline of imbalanced-learn.

    Attributes
    ----------
    given
        The fitted object.
    rest
        The pipeline without samplers, of the same fitted steps.
    """

    given: Any
    rest: Model

    def labels(self, table: Any) -> Any:
        """Return what the pipeline predicts."""
        answers = np.asarray(self.given.predict(table))
        # CatBoost answers several classes in a column.
        return answers.reshape(len(answers))

    def probabilities(self, table: Any) -> Any:
        """Return the pipeline's probabilities."""
        return self.given.predict_proba(table)

    def scores(self, table: Any) -> Any:
        """Return the scores of the last step."""
        return self.rest.live.scores(table)

    def leaves(self) -> NDArray[np.float64] | None:
        """Return what each leaf of the last step adds to the scores."""
        return self.rest.live.leaves()

    def with_leaves(self, values: NDArray[np.float64]) -> Any:
        """Return a copy of the pipeline whose last step has other leaf values."""
        changed = copy.copy(self.given)
        last = self.rest.live.with_leaves(values).steps[-1]
        changed.steps = [*copy.deepcopy(self.given.steps[:-1]), last]
        return changed


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted pipeline of imbalanced-learn.

    Parameters
    ----------
    model
        The fitted pipeline.
    missing
        As in `fatt.load`.

    Raises
    ------
    UnsupportedModelError
        If it is another class of imbalanced-learn, or a step cannot be pulled back.
    """
    from sklearn.pipeline import Pipeline

    kind = type(model)
    name = kind.__name__
    if (kind.__module__, name) != ("imblearn.pipeline", "Pipeline"):
        raise UnsupportedModelError(
            f"cannot import an imbalanced-learn {name}: fatt reads its Pipeline, and "
            "does not know what its other models compute. Use a sampler and a model "
            "of scikit-learn, XGBoost, LightGBM or CatBoost in such a Pipeline."
        )
    refuse_replaced(model)
    steps = [step for step in model.steps if not hasattr(step[1], "fit_resample")]
    rest = pipeline.convert(Pipeline(steps), missing=missing)
    return replace(rest, opened=partial(Resampled, model, rest), given=model)
