"""The training people: what they are, where they may move, what labels are worth.

Tables and weights are checked as scikit-learn does, in all its versions we support.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, validation

from fatt.ensemble import Categorical, Ensemble, Feature
from fatt.errors import DataError
from fatt.region import Boxes, Relation, Schema, Space, Variables, code_words
from fatt.region.inference import refuse_broken_groups

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Since scikit-learn 1.6 these are functions; before, methods of the estimator.
_HAS_FUNCTIONS = hasattr(validation, "_check_n_features")
_FINITE = "ensure_all_finite" if _HAS_FUNCTIONS else "force_all_finite"


@dataclass(frozen=True, eq=False)
class People:
    """The training people.

    Attributes
    ----------
    variables
        A model without splits that reads their columns, in the schema's variables.
    rows, values
        The people, in the columns of the model and in the variables.
    boxes
        Where they may move.
    has_gaps
        Whose boxes are too complicated for the search; see `fatt.train.models`.
    codes
        Their classes.
    weights
        Their weights.
    price : ndarray of shape (n_classes,)
        What a right label of each class is worth, for a weight of 1; together they are
        worth 1.
    """

    variables: Variables
    rows: Matrix
    values: Matrix
    boxes: Boxes
    has_gaps: NDArray[np.bool_]
    codes: NDArray[np.int64]
    weights: Matrix
    price: Matrix

    @cached_property
    def worth(self) -> Matrix:
        """What each label is worth to each person, of shape (n_people, n_classes)."""
        is_right = self.codes[:, np.newaxis] == np.arange(len(self.price))
        return self.valued(is_right)

    def of_people(self, chosen: NDArray[np.int64]) -> People:
        """Return some of the people; what labels are worth to them is 1 again."""
        codes, weights = self.codes[chosen], self.weights[chosen]
        whole = float((weights * self.price[codes]).sum())
        if whole == 0:
            raise DataError(
                "the people who are left to train on, or to judge trees on, all have "
                "weight 0; change validation_fraction."
            )
        return replace(
            self,
            rows=self.rows[chosen],
            values=self.values[chosen],
            boxes=self.boxes.of_people(chosen),
            has_gaps=self.has_gaps[chosen],
            codes=codes,
            weights=weights,
            price=self.price / whole,
        )

    def valued(self, shares: NDArray[Any]) -> Matrix:
        """Tell what labels are worth if each is right with such a probability.

        Parameters
        ----------
        shares : ndarray of shape (n_people, n_classes)
            The probabilities.
        """
        return np.asarray(shares * self.price * self.weights[:, np.newaxis])


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


def gather_people(
    X: Any,
    codes: NDArray[np.int64],
    weights: Matrix,
    class_weights: Matrix,
    *,
    blank: Ensemble,
    schema: Schema,
    similarity: Relation,
    balance: float,
) -> People:
    """Read the training people.

    Parameters
    ----------
    X
        The table.
    codes, weights
        The class and the weight of each person.
    class_weights : ndarray of shape (n_classes,)
        What the people of each class count in addition.
    blank
        A model without splits that reads the table.
    schema
        What its columns mean.
    similarity
        Who is similar to whom.
    balance
        From 0, where everybody counts alike, to 1, where every class does.

    Raises
    ------
    DataError
        If a column has no value at all.
    """
    variables = Variables(blank, schema)
    refuse_broken_groups(similarity, variables, X)
    rows = blank.read(X)
    _refuse_empty(rows, blank)
    values = variables.gather(rows)
    boxes = Space(similarity, variables).boxes(values)
    n_classes = len(class_weights)
    by_class = np.bincount(codes, weights=weights, minlength=n_classes)
    shares = np.where(by_class > 0, 1 / np.count_nonzero(by_class), 0)
    scale = (1 - balance) / by_class.sum() + balance * np.divide(
        shares, by_class, out=np.zeros(n_classes), where=by_class > 0
    )
    price = class_weights * scale
    price /= (weights * price[codes]).sum()
    gaps = _has_gaps(boxes, variables.ensemble.features, len(values))
    return People(variables, rows, values, boxes, gaps, codes, weights, price)


def _refuse_empty(rows: Matrix, blank: Ensemble) -> None:
    empty = np.flatnonzero(np.isnan(rows).all(axis=0))
    if len(empty):
        raise DataError(
            f"column {blank.features[empty[0]].name!r} has no value in any row, so "
            "that nothing can be learnt from it; leave it out."
        )


def _has_gaps(boxes: Boxes, features: tuple[Feature, ...], n_people: int) -> Flags:
    """Tell of each person whether some box is no product of such simple sets.

    Parameters
    ----------
    boxes
        Where the people may move.
    features
        The variables.
    n_people
        Number of people.
    """
    found = np.zeros(len(boxes), dtype=bool)
    start = code_words(features)
    for index, feature in enumerate(features):
        missing = boxes.missing[:, index]
        if isinstance(feature, Categorical):
            codes = boxes.codes[:, start[index] : start[index + 1]]
            size = _count(codes) + missing
            # Nobody reaches a leaf that no box reaches: everything is what any may.
            most = int(_count(np.bitwise_or.reduce(codes, axis=0, keepdims=True))[0])
            found |= (size > 1) & (size < most + missing.any())
        else:
            found |= missing & (boxes.lower[:, index] <= boxes.upper[:, index])
    return np.bincount(boxes.person, weights=found, minlength=n_people) > 0


def _count(codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the members of bit sets, one row each."""
    bits = np.unpackbits(np.ascontiguousarray(codes).view(np.uint8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.int64))
