"""The leaf values of a model, of whichever library, and a model with other ones."""

from __future__ import annotations

import copy
import importlib
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.errors import UnsupportedModelError
from fatt.importers import load
from fatt.region import Schema, Variables

Floats = NDArray[np.float64]

_LIBRARIES = ("sklearn", "xgboost", "lightgbm")
#: Up to here whole numbers are exact in float32, the leaves of XGBoost.
_MOST = 2**24


class Library(Protocol):
    """A module that reads and writes the leaf values of one library's models."""

    NAMES: tuple[str, ...]

    def read(self, model: Any) -> Floats:
        """Return what each leaf adds to the scores, one row per leaf."""
        ...

    def write(self, model: Any, table: Floats) -> Any:
        """Return a copy of the model with other leaf values."""
        ...


class Leaves:
    """The leaf values of a fitted model.

    Parameters
    ----------
    model
        The fitted model, or a pipeline that ends in one.
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

    def __init__(self, model: Any, schema: Schema) -> None:
        self._model = model
        final = _final(model)
        self._library = _library_of(final)
        self.values = self._library.read(final)
        if len(self.values) > _MOST:
            raise UnsupportedModelError(
                f"the {type(final).__name__} has {len(self.values):,} nodes, more than "
                f"the {_MOST:,} that fatt.repair can tell apart; train fewer or "
                "smaller trees."
            )
        # Each leaf gets its own number as its value: wherever it turns up after the
        # import, it can be told by that.
        numbers = np.arange(len(self.values), dtype=np.float64)[:, np.newaxis]
        marked = self.write(np.broadcast_to(numbers, self.values.shape))
        found = Variables(load(marked), schema).ensemble.trees.values
        self.rows = np.rint(found[:, 0]).astype(np.int64)

    def write(self, values: Floats) -> Any:
        """Return a copy of the model with other leaf values.

        Parameters
        ----------
        values : ndarray
            One row for each row of `values`.
        """
        return _with_final(
            self._model, self._library.write(_final(self._model), values)
        )

    def changed(self, values: Floats) -> int:
        """Return how many leaves of the model have other values than before."""
        return int((values != self.values).any(axis=1).sum())

    def fill(self, ensemble: Ensemble, values: Floats) -> Ensemble:
        """Return the ensemble over the variables with other leaf values."""
        trees = ensemble.trees
        table = values[self.rows].astype(trees.values.dtype)
        return replace(ensemble, trees=replace(trees, values=table))


def _final(model: Any) -> Any:
    """Return the model, or the last step of a pipeline."""
    return _final(model.steps[-1][1]) if _is_pipeline(model) else model


def _with_final(model: Any, final: Any) -> Any:
    """Return the model, or a copy of the pipeline with another last step."""
    if not _is_pipeline(model):
        return final
    changed = copy.copy(model)
    *steps, (name, last) = model.steps
    changed.steps = [*copy.deepcopy(steps), (name, _with_final(last, final))]
    return changed


def _is_pipeline(model: Any) -> bool:
    return type(model).__name__ == "Pipeline"


def _library_of(model: Any) -> Library:
    package = type(model).__module__.partition(".")[0]
    name = type(model).__name__
    if package in _LIBRARIES:
        library = cast(Library, importlib.import_module(f"fatt.repairs.{package}"))
        if name in library.NAMES:
            return library
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        raise UnsupportedModelError(
            "fatt.repair returns a model of the type it is given, and a path has none: "
            "load the file with its own library, and pass the fitted model."
        )
    raise UnsupportedModelError(
        f"cannot repair a {name}: fatt.repair changes the leaves of scikit-learn's "
        "trees, forests and gradient boosting, of XGBoost's and LightGBM's models, and "
        "of pipelines that end in one of them. Pass the model that it was made from."
    )
