"""The leaf values of a model of any library, and the model with other ones."""

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
        What the leaves add to the scores, in the library's order. Some rows may belong
        to no leaf.
    rows : ndarray of shape (n_leaves,)
        For each leaf of the ensemble over the variables, its row of `values`. Steps of
        a pipeline can make one leaf several.

    Raises
    ------
    UnsupportedModelError
        If leaves of this kind of model cannot be changed.
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
                f"the {name} averages probabilities and was loaded with a cut-off. "
                "fatt.repair supports such models only with their own labels: load it "
                "without threshold=."
            )
        if len(self.values) > _MOST:
            raise UnsupportedModelError(
                f"the {name} has {len(self.values):,} nodes. fatt.repair supports at "
                f"most {_MOST:,}: train fewer or smaller trees."
            )
        # Each leaf gets its own number as its value, which identifies it after import.
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
            "fatt.repair needs a fitted model, to return one of the same type, and was "
            "given a file or an exact form. Load the file with its own library, and "
            "pass the fitted model."
        )
    try:
        return model.live
    except NotAtHand as error:
        raise _cannot(type(model.given).__name__) from error


def _require_own_words(model: Model) -> None:
    """Refuse a model that reads or answers differently from its fitted object."""
    try:
        is_own = load(model.given).deciding_like(model) == model
    except SpecError:
        is_own = False
    if not is_own:
        raise UnsupportedModelError(
            f"the {type(model.given).__name__} was loaded with names, codes, answers, "
            "a preparation, a missing number or iterations from outside. A repaired "
            "copy would not have these: pass the fitted model, and people in its own "
            "columns."
        )


def _cannot(name: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"cannot repair a {name}. fatt.repair supports trees, forests and gradient "
        "boosting of scikit-learn, models of XGBoost, LightGBM and CatBoost, and "
        "pipelines that end in one of these. Pass the model that it was made from."
    )
