"""What is asked in either manner of AIF360: which model, which labels, what share.

Nothing here knows how AIF360 calls anything: `fatt.aif360_ext.dataset` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Label
from fatt.errors import SpecError
from fatt.importers import load
from fatt.model import Model
from fatt.report import Report
from fatt.verdict import FAIR, UNFAIR, UNKNOWN

#: What each of a model's classes is called elsewhere, in the model's order.
Coding: TypeAlias = tuple[Label, ...]


def load_with(
    model: Any,
    prepare: Any,
    threshold: float | None = None,
    favorable: Any = None,
) -> Model:
    """Load the model that reads what stands before it.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    prepare, threshold
        As in `fatt.load`.
    favorable
        The label that is cut off, if the model answers it; else its second class is.
    """
    loaded = load(model, prepare=prepare)
    if threshold is None:
        return loaded
    # A model of more than two classes may have several favorable ones.
    is_one = isinstance(favorable, str | int | float) and favorable in loaded.classes
    pos_label = favorable if is_one else None
    return loaded.deciding(threshold=threshold, pos_label=pos_label)


def codings_of(classes: Coding, labels: Sequence[Label]) -> list[Coding]:
    """Return the ways in which a model's classes may stand for a dataset's labels.

    Libraries that count their classes from 0 make models of 0 and 1 for a dataset with
    the labels 1 and 2. Which is which does not matter to fairness, so both ways are
    taken, and the classes themselves, for a dataset may have other labels than it says.
    More than two classes must be the labels themselves.

    Parameters
    ----------
    classes
        The model's classes.
    labels
        The dataset's labels.

    Examples
    --------
    >>> codings_of((0, 1), [1.0, 2.0])
    [(1.0, 2.0), (2.0, 1.0), (0, 1)]
    >>> codings_of((0, 1), [1.0, 0.0])
    [(0.0, 1.0), (1.0, 0.0)]
    """
    if len(classes) > 2:
        return [classes]
    found = itertools.permutations(labels, len(classes))
    ordered = sorted(found, key=lambda coding: coding != classes)
    return ordered if classes in ordered else [*ordered, classes]


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
    if not ensemble.classes:
        lower, upper = ensemble.prediction_bounds(rows)
        differs = [~((lower <= given) & (given <= upper))]
    else:
        possible = ensemble.possible_labels(rows)
        differs = [_differs(possible, given, coding) for coding in codings]
    if not all(wrong.any() for wrong in differs):
        return
    is_own = codings[0] == ensemble.classes
    wrong = differs[0] if is_own else min(differs, key=np.count_nonzero)
    raise SpecError(
        f"the model gives other labels than those predicted in {wrong.sum():,} of "
        f"{len(given):,} rows, first in row {int(np.argmax(wrong))}. Pass the model "
        "that made them, together with whatever transformer stood before it or the "
        "cut-off, threshold=, and the rows for which it made them."
    )


def _differs(
    possible: NDArray[np.bool_], given: NDArray[Any], coding: Coding
) -> NDArray[np.bool_]:
    agrees = np.zeros(len(given), dtype=bool)
    for place, label in enumerate(coding):
        agrees |= possible[:, place] & (given == label)
    return ~agrees


class Shares(NamedTuple):
    """Weighted shares; all are NaN for no people, or for people without weight.

    Attributes
    ----------
    fair
        Share of people who are proved to be treated fairly.
    fair_upper
        Share of people who are not proved to be treated unfairly.
    unfair
        Share of people who are proved to be treated unfairly.
    """

    fair: np.float64
    fair_upper: np.float64
    unfair: np.float64


def shares(
    report: Report,
    weight: NDArray[np.float64],
    group: NDArray[np.bool_] | None = None,
) -> Shares:
    """Return the shares of fair and unfair people, added up as AIF360 does.

    Parameters
    ----------
    report
        The verdicts.
    weight : ndarray of shape (n_people,)
        Weight of each person.
    group : ndarray of shape (n_people,), optional
        Which people count; by default all.
    """
    mine = np.ones(len(weight), dtype=bool) if group is None else group
    verdicts = report.findings.verdict
    fair, unfair, unknown = (
        np.sum(weight[mine & (verdicts == verdict)], dtype=np.float64)
        for verdict in (FAIR, UNFAIR, UNKNOWN)
    )
    total = np.sum(weight[mine], dtype=np.float64)
    upper = np.minimum(1.0, ratio(fair + unknown, total))
    return Shares(ratio(fair, total), np.float64(upper), ratio(unfair, total))


def ratio(numerator: np.float64, denominator: np.float64) -> np.float64:
    """Divide without a warning: by zero it is infinite, and zero by zero is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.float64(np.divide(numerator, denominator))
