"""The model behind predictions: what was applied before it, and is it the right one."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Label
from fatt.errors import SpecError

#: What each of a model's classes is called elsewhere, in the model's order.
Coding: TypeAlias = tuple[Label, ...]


def with_preprocess(model: Any, preprocess: Any) -> Any:
    """Return the model that reads what the transformer reads.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    preprocess
        Fitted scikit-learn transformer whose output the model reads; None if the model
        reads the raw columns.

    Raises
    ------
    SpecError
        If a transformer is given with a file, or with an `Ensemble`.
    """
    if preprocess is None:
        return model
    if isinstance(model, str | os.PathLike | Ensemble):
        raise SpecError(
            f"preprocess is given with the model {model!r}, and a transformer can only "
            "stand before a fitted object. Load the file with its own library, such as "
            "XGBClassifier().load_model(...)."
        )
    from sklearn.pipeline import Pipeline

    return Pipeline([("preprocess", preprocess), ("model", model)])


def codings_of(classes: Coding, labels: Sequence[Label]) -> list[Coding]:
    """Return the ways in which a model's classes may stand for a dataset's labels.

    Libraries that count their classes from 0 make models of 0 and 1 for a dataset with
    the labels 1 and 2. Which is which does not matter to fairness, so both ways are
    taken; more than two classes must be the labels themselves.

    Parameters
    ----------
    classes
        The model's classes.
    labels
        The dataset's labels.

    Examples
    --------
    >>> codings_of((0, 1), [1.0, 2.0])
    [(1.0, 2.0), (2.0, 1.0)]
    >>> codings_of((0, 1), [1.0, 0.0])
    [(0.0, 1.0), (1.0, 0.0)]
    """
    if len(classes) > 2:
        return [classes]
    found = itertools.permutations(labels, len(classes))
    return sorted(found, key=lambda coding: coding != classes)


def refuse_other_labels(
    ensemble: Ensemble, rows: Any, given: NDArray[Any], codings: Sequence[Coding]
) -> None:
    """Raise unless a model gives these labels: verdicts on another one mean nothing.

    Parameters
    ----------
    ensemble
        The model.
    rows
        The people.
    given : ndarray of shape (n_people,)
        The labels that they got.
    codings
        What the model's classes may stand for, the likeliest first.

    Raises
    ------
    SpecError
        If labels differ, with the number of rows in which they do.
    """
    if len(given) != len(rows):
        raise SpecError(
            f"there are {len(given):,} predicted labels for {len(rows):,} people; pass "
            "one label each."
        )
    possible = ensemble.possible_labels(rows)
    differs = [_differs(possible, given, coding) for coding in codings]
    if not all(wrong.any() for wrong in differs):
        return
    is_own = codings[0] == ensemble.classes
    wrong = differs[0] if is_own else min(differs, key=np.count_nonzero)
    raise SpecError(
        f"the model gives other labels than those predicted in {wrong.sum():,} of "
        f"{len(given):,} rows, first in row {int(np.argmax(wrong))}. Pass the model "
        "that made them, together with whatever transformer stood before it, and the "
        "rows for which it made them."
    )


def _differs(
    possible: NDArray[np.bool_], given: NDArray[Any], coding: Coding
) -> NDArray[np.bool_]:
    agrees = np.zeros(len(given), dtype=bool)
    for place, label in enumerate(coding):
        agrees |= possible[:, place] & (given == label)
    return ~agrees
