"""Exact fairness where going through a tree split by split is too cautious.

The search asks of every split alone which sides a box reaches. That is exact as long as
what a box allows of a variable is an interval, one value, or everything: a box that
reaches all the sides on the way to a leaf then reaches the leaf. It may not if a
variable is, say, a number from 3 to 5 or missing, or one of two categories of three.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature
from fatt.region import Boxes, Variables, code_words
from fatt.verdict import FAIR
from fatt.verifier import Verifier

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]


def has_gaps(boxes: Boxes, features: tuple[Feature, ...], n_people: int) -> Flags:
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


def confirm(
    unfair: Flags,
    suspects: Flags,
    make_tree: Callable[[], Variables],
    values: Matrix,
    boxes: Boxes,
) -> Flags:
    """Return whom a tree treats unfairly, where those with gaps may be treated fairly.

    Parameters
    ----------
    unfair
        Whom the search takes to be treated unfairly.
    suspects
        Whose boxes have gaps.
    make_tree
        Called if anybody is in doubt; returns the tree.
    values : ndarray of shape (n_people, n_variables)
        The people.
    boxes
        Where they may move.
    """
    chosen = np.flatnonzero(unfair & suspects)
    if not len(chosen):
        return unfair
    exact = unfair.copy()
    verifier = Verifier(make_tree().ensemble)
    verdict = verifier.verify(values[chosen], boxes.of_people(chosen)).verdict
    exact[chosen] = verdict != FAIR
    return exact


def _count(codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the members of bit sets, one row each."""
    bits = np.unpackbits(np.ascontiguousarray(codes).view(np.uint8), axis=1)
    return np.asarray(bits.sum(axis=1, dtype=np.int64))
