"""The training people: from what `fit` is given to where they may move, and what for.

Tables, labels and weights are checked as scikit-learn does, in all its versions we
support.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validation,
)
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from fatt.ensemble import Categorical, Ensemble, Feature
from fatt.ensemble.tables import as_frame
from fatt.errors import DataError, SpecError
from fatt.people.sensitive import grouped
from fatt.region import Boxes, Neighbourhood, Relation, Schema, Variables
from fatt.region.combined import refuse_ties
from fatt.region.inference import refuse_broken_groups
from fatt.region.one_hot import flags_of

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Whether scikit-learn is 1.6 or newer.
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
        Whether boxes are too complicated for the search; see `fatt.train.models`.
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


def read_table(estimator: Any, X: Any, *, is_new: bool = False) -> Any:
    """Check a table as scikit-learn does, and return it in the type it has.

    Parameters
    ----------
    estimator
        Remembers number and names of the columns, ``n_features_in_`` and
        ``feature_names_in_``, or compares them.
    X
        Array or data frame.
    is_new
        Whether the estimator is being fitted.

    Raises
    ------
    ValueError, TypeError
        If rows that are no data frame are sparse, not two-dimensional, infinite or
        empty.
    """
    if hasattr(X, "tocsr") or as_frame(X) is None:
        X = _as_numbers_or_objects(X)
    # Since scikit-learn 1.6 these are functions; before, methods of the estimator.
    if _HAS_FUNCTIONS:
        validation._check_feature_names(estimator, X, reset=is_new)
        validation._check_n_features(estimator, X, reset=is_new)
    else:
        estimator._check_feature_names(X, reset=is_new)
        estimator._check_n_features(X, reset=is_new)
    return X


def _as_numbers_or_objects(X: Any) -> NDArray[Any]:
    """Return rows that are no data frame as an array of numbers, or of objects."""
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


class Labels(NamedTuple):
    """The labels, and what people count.

    Attributes
    ----------
    classes
        The labels, each once.
    codes, weights
        The class and the weight of each person.
    class_weights : ndarray of shape (n_classes,)
        What the people of each class count in addition.
    """

    classes: NDArray[Any]
    codes: NDArray[np.int64]
    weights: Matrix
    class_weights: Matrix


def read_labels(X: Any, y: Any, sample_weight: Any, class_weight: Any) -> Labels:
    """Check the labels and the weights.

    Parameters
    ----------
    X
        The table.
    y, sample_weight
        The label and the weight of each person.
    class_weight
        What the people of each class count, as in scikit-learn.

    Raises
    ------
    DataError
        If nothing can be learnt from them.
    """
    if y is None:
        raise DataError(
            "requires y to be passed, but the target y is None: pass the labels."
        )
    labels = column_or_1d(y, warn=True)
    if labels.dtype == object:
        _refuse_missing(labels)
    check_classification_targets(labels)
    check_consistent_length(X, labels)
    classes, codes = np.unique(labels, return_inverse=True)
    weights = validation._check_sample_weight(sample_weight, X, dtype=np.float64)
    _check_weights(weights)
    if len(np.unique(codes[weights > 0])) < 2:
        raise DataError(
            "the labels hold only one class, so that there is nothing to learn; "
            "pass people of at least two classes."
        )
    by_class = compute_class_weight(class_weight, classes=classes, y=labels)
    _check_weights(by_class)
    return Labels(classes, codes.astype(np.int64), weights, by_class)


def _refuse_missing(labels: NDArray[Any]) -> None:
    """Raise `DataError` if a label is missing."""
    place, values = grouped(labels)
    if None in values:
        raise DataError(
            f"row {int(np.argmax(place == values.index(None)))}: the label is missing; "
            "leave out rows without a label."
        )


def _check_weights(weights: NDArray[np.float64]) -> None:
    """Raise `DataError` unless weights are at least 0, and some more than that."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise DataError("a weight is negative, infinite or NaN; weights count people.")
    if not (weights > 0).any():
        raise DataError("all weights are zero; give at least one person a weight.")


def hold_out(codes: NDArray[np.int64], fraction: Any, rng: Generator) -> Flags:
    """Tell which people are held out of the training: a share of each class.

    Parameters
    ----------
    codes
        The classes of the people.
    fraction
        The share; None if no one is held out.
    rng
        Chooses the people.

    Raises
    ------
    SpecError
        If it is no share, or holds out no one.
    """
    is_held = np.zeros(len(codes), dtype=bool)
    if fraction is None:
        return is_held
    if not isinstance(fraction, Real) or not 0 < float(fraction) < 1:
        raise SpecError(
            f"validation_fraction is {fraction!r}; it must be a number between 0 and "
            "1, such as 0.2."
        )
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    steps = np.floor(float(fraction) * np.arange(len(codes) + 1))
    is_held[order[np.diff(steps) > 0]] = True
    if not is_held.any():
        raise SpecError(
            f"validation_fraction is {fraction!r}, which holds out none of "
            f"{len(codes)} people; hold out more."
        )
    return is_held


def schema_of(X: Any, blank: Ensemble, names: Iterable[str]) -> Schema:
    """Infer what the columns of a table mean.

    Parameters
    ----------
    X
        The table.
    blank
        A model that reads its columns.
    names
        Variables that are asked about. One that is no column may be a family of one-hot
        columns, such as ``sex_F`` and ``sex_M`` for `sex`.
    """
    schema, families = Schema.infer(blank, X), list[str]()
    known = {*schema.columns, *(variable.name for variable in schema.variables)}
    for name in dict.fromkeys(names):
        if name not in known and flags_of(name, schema.columns):
            # If these are no one-hot columns, the name is simply not known.
            with contextlib.suppress(SpecError):
                schema = Schema.infer(blank, X, one_hot=[*families, name])
                families.append(name)
    return schema


def gather_people(
    X: Any,
    labels: Labels,
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
    labels
        What people are, and what they count.
    blank
        A model without splits that reads the table.
    schema
        What its columns mean.
    similarity
        Who is similar to whom.
    balance
        From 0, where people count alike, to 1, where classes do.

    Raises
    ------
    DataError
        If a column has no value at all.
    """
    _, codes, weights, class_weights = labels
    variables = Variables(blank, schema)
    refuse_broken_groups(similarity, variables, X)
    rows = blank.read(X)
    _refuse_empty(rows, blank)
    values = variables.gather(rows)
    refuse_ties(similarity, schema, "FATTClassifier")
    boxes = Neighbourhood(similarity, variables).boxes(values)
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
    # What may be spent in a box leaves out some of its corners.
    found = np.zeros(len(boxes), dtype=bool)
    if boxes.costs is not None:
        found = boxes.costs.rule >= 0
    for index, feature in enumerate(features):
        missing = boxes.missing[:, index]
        if isinstance(feature, Categorical):
            codes = boxes.flags(features, index)
            size = codes.sum(axis=1) + missing
            # Only values that some box holds can matter: those are everything.
            most = int(codes.any(axis=0).sum())
            found |= (size > 1) & (size < most + missing.any())
        else:
            found |= missing & (boxes.lower[:, index] <= boxes.upper[:, index])
    return np.bincount(boxes.person, weights=found, minlength=n_people) > 0
