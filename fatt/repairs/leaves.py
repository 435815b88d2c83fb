"""The leaf values of a model, of whichever library, and a model with other ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.errors import SpecError, UnsupportedModelError
from fatt.importers import load
from fatt.model import Live, Model, NotAtHand
from fatt.region import Schema, Variables

Floats = NDArray[np.float64]

#: Up to here whole numbers are exact in float32, the leaves of XGBoost.
_MOST = 2**24


class Leaves:
    """The leaf values of a fitted model.

    Parameters
    ----------
    model
        The model, made of a fitted object.
    schema
        The variables in which the model is seen.

    Attributes
    ----------
    values : ndarray of shape (n_rows, 1) or (n_rows, n_outputs)
        What the leaves add to the scores, in the order of the library; some rows may
        belong to no leaf.
    rows : ndarray of shape (n_leaves,)
        For each leaf of the ensemble over the variables, its row of `values`. Steps of
        a pipeline can make several leaves of one.

    Raises
    ------
    UnsupportedModelError
        If the leaves of such a model cannot be changed.
    """

    values: Floats
    rows: NDArray[np.int64]

    def __init__(self, model: Model, schema: Schema) -> None:
        model.ensemble.require_no_joints("no repair is computed for such a model")
        self._live = _live(model)
        _require_own_words(model)
        values = self._live.leaves()
        name = type(model.given).__name__
        if values is None:
            raise _cannot(name)
        self.values = values
        if values.shape[1] != model.ensemble.trees.values.shape[1]:
            raise UnsupportedModelError(
                f"the {name} averages probabilities, and decides by a cut-off of one "
                "of them; fatt.repair changes such models only as they decide by "
                "themselves. Load it without threshold=."
            )
        if len(self.values) > _MOST:
            raise UnsupportedModelError(
                f"the {name} has {len(self.values):,} nodes, more than "
                f"the {_MOST:,} that fatt.repair can tell apart; train fewer or "
                "smaller trees."
            )
        # Each leaf gets its own number as its value: wherever it turns up after the
        # import, it can be told by that.
        numbers = np.arange(len(self.values), dtype=np.float64)[:, np.newaxis]
        marked = self.write(np.broadcast_to(numbers, self.values.shape))
        found = Variables(load(marked).ensemble, schema).ensemble.trees.values
        self.rows = np.rint(found[:, 0]).astype(np.int64)

    def write(self, values: Floats) -> Any:
        """Return a copy of the model with other leaf values.

        Parameters
        ----------
        values : ndarray
            One row for each row of `values`.
        """
        return self._live.with_leaves(values)

    def changed(self, values: Floats) -> int:
        """Return how many leaves of the model have other values than before."""
        return int((values != self.values).any(axis=1).sum())

    def fill(self, ensemble: Ensemble, values: Floats) -> Ensemble:
        """Return the ensemble over the variables with other leaf values."""
        trees = ensemble.trees
        table = values[self.rows].astype(trees.values.dtype)
        return replace(ensemble, trees=replace(trees, values=table))


def _live(model: Model) -> Live:
    if model.given is None:
        raise UnsupportedModelError(
            "fatt.repair returns a model of the type it is given, and a file or an "
            "exact form has none: load the file with its own library, and pass the "
            "fitted model."
        )
    try:
        return model.live
    except NotAtHand as error:
        raise _cannot(type(model.given).__name__) from error


def _require_own_words(model: Model) -> None:
    """Refuse a model that reads or answers otherwise than its fitted object does."""
    try:
        is_own = load(model.given).deciding_like(model) == model
    except SpecError:
        is_own = False
    if not is_own:
        raise UnsupportedModelError(
            f"the {type(model.given).__name__} was loaded with names, codes, answers, "
            "a preparation, a missing number or iterations from outside, and a "
            "repaired copy would know nothing of these. Pass fatt.repair the fitted "
            "model, and people in its own columns."
        )


def _cannot(name: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"cannot repair a {name}: fatt.repair changes the leaves of scikit-learn's "
        "trees, forests and gradient boosting, of XGBoost's, LightGBM's and "
        "CatBoost's models, and of pipelines that end in one of them. Pass the model "
        "that it was made from."
    )
