"""Shares of fair and unfair people, of everybody or of a group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.report import Report
from fatt.verdict import FAIR, UNFAIR, UNKNOWN


class Shares(NamedTuple):
    """Weighted shares; all are NaN for nobody, or for people without weight.

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
    who: NDArray[np.bool_] | None = None,
) -> Shares:
    """Return the shares of fair and unfair people, added up as AIF360 does.

    Parameters
    ----------
    report
        The verdicts.
    weight : ndarray of shape (n_people,)
        Weight of each person.
    who : ndarray of shape (n_people,), optional
        Who belongs to the group; by default everybody.
    """
    mine = np.ones(len(weight), dtype=bool) if who is None else who
    verdicts = report.findings.verdicts
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
