"""Tables and weights checked as scikit-learn does, in all its versions we support."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, validation

from fatt.errors import DataError

# Since scikit-learn 1.6 these are functions; before, methods of the estimator.
_HAS_FUNCTIONS = hasattr(validation, "_check_n_features")
_FINITE = "ensure_all_finite" if _HAS_FUNCTIONS else "force_all_finite"


def as_numbers_or_objects(X: Any) -> NDArray[Any]:
    """Return rows that are no data frame as an array of numbers, or of objects.

    Raises
    ------
    ValueError, TypeError
        If they are sparse, not two-dimensional, infinite or empty.
    """
    array = check_array(X, dtype=None, **{_FINITE: False})
    if array.dtype.kind in "OUS":
        try:
            # Numbers held as objects are numbers.
            return np.asarray(
                check_array(X, dtype=np.float64, **{_FINITE: "allow-nan"})
            )
        except ValueError:
            return np.asarray(array, dtype=object)
    return np.asarray(check_array(array, dtype=None, **{_FINITE: "allow-nan"}))


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember number and names of the columns, or compare them.

    Parameters
    ----------
    estimator
        Remembers them as ``n_features_in_`` and ``feature_names_in_``.
    X
        Array or data frame.
    reset
        Whether the estimator is being fitted.
    """
    if _HAS_FUNCTIONS:
        validation._check_feature_names(estimator, X, reset=reset)
        validation._check_n_features(estimator, X, reset=reset)
    else:
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)


def check_weights(weights: NDArray[np.float64]) -> None:
    """Raise `DataError` unless weights are at least 0, and some more than that."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise DataError("a weight is negative, infinite or NaN; weights count people.")
    if not (weights > 0).any():
        raise DataError("all weights are zero; give at least one person a weight.")
