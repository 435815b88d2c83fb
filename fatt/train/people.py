"""The training people: what they are, where they may move, what labels are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.errors import DataError
from fatt.region import Boxes, Relation, Schema, Space, Variables
from fatt.region.flags import refuse_broken_groups
from fatt.train.exact import has_gaps

Matrix = NDArray[np.float64]


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
        Whose boxes are too complicated for the search; see `fatt.train.exact`.
    codes
        Their classes.
    weights
        Their weights.
    worth : ndarray of shape (n_people, n_classes)
        What each label is worth; the right labels are worth 1 together.
    """

    variables: Variables
    rows: Matrix
    values: Matrix
    boxes: Boxes
    has_gaps: NDArray[np.bool_]
    codes: NDArray[np.int64]
    weights: Matrix
    worth: Matrix


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
    worth = np.zeros((len(codes), n_classes))
    worth[np.arange(len(codes)), codes] = weights * (class_weights * scale)[codes]
    worth /= worth.sum()
    gaps = has_gaps(boxes, variables.ensemble.features, len(values))
    return People(variables, rows, values, boxes, gaps, codes, weights, worth)


def _refuse_empty(rows: Matrix, blank: Ensemble) -> None:
    empty = np.flatnonzero(np.isnan(rows).all(axis=0))
    if len(empty):
        raise DataError(
            f"column {blank.features[empty[0]].name!r} has no value in any row, so "
            "that nothing can be learnt from it; leave it out."
        )
