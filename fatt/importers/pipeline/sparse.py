"""What models make of a sparse matrix, written as if it were a dense one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Ensemble
from fatt.errors import UnsupportedModelError
from fatt.importers.pullback import below


def on_sparse_matrix(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return the ensemble that reads the dense copy as its model reads the sparse rows.

    Parameters
    ----------
    ensemble
        What the model makes of dense rows.
    model
        The fitted model.
    """
    package = type(model).__module__.partition(".")[0]
    if package == "xgboost":
        return _xgboost(ensemble)
    if package == "lightgbm":
        return _lightgbm(ensemble, model)
    # Zeros are zeros to scikit-learn, and NaN is refused whatever the training data.
    return _with_features(ensemble, accepts_missing=False)


def _with_features(ensemble: Ensemble, **changes: Any) -> Ensemble:
    return replace(
        ensemble,
        features=tuple(
            msgspec.structs.replace(feature, **changes) for feature in ensemble.features
        ),
    )


def _xgboost(ensemble: Ensemble) -> Ensemble:
    """Cells that are not stored, which are the zeros, are missing."""
    zero = (0.0, 0.0)
    if any(f.missing_range not in {None, zero} for f in ensemble.features):
        raise UnsupportedModelError(
            "the XGBoost model takes a number for missing and gets a sparse matrix, in "
            "which zeros are missing too. Fit the pipeline with sparse_output=False in "
            "its encoders."
        )
    return _with_features(ensemble, missing_range=zero)


def _lightgbm(ensemble: Ensemble, model: Any) -> Ensemble:
    """Tiny numbers are zeros only to dense rows; thresholds lie at their limits.

    The importer moves a threshold at the lower limit just below it, since the limit
    itself is a zero. In sparse rows it is not, and the threshold stays.
    """
    from fatt.importers.lightgbm.normal_form import ZERO, read_forest
    from fatt.importers.lightgbm.text import parse

    text = parse(model.booster_.model_to_string().encode())
    forest = read_forest(text, len(ensemble.features))
    thresholds = forest.threshold[forest.subset < 0]
    moved = below(-ZERO)
    if np.any((np.abs(thresholds) < ZERO) | (thresholds == moved)):
        raise UnsupportedModelError(
            "the LightGBM model splits tiny numbers and gets a sparse matrix, in which "
            "they are not zero. Fit the pipeline with sparse_output=False in its "
            "encoders."
        )
    nodes = ensemble.trees.nodes.copy()
    nodes["threshold"][nodes["threshold"] == moved] = -ZERO
    return replace(ensemble, trees=replace(ensemble.trees, nodes=nodes))
