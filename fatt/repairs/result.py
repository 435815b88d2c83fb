"""What a repair returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.markup import Part, notebook, table, tag
from fatt.report import Report
from fatt.verdict import Bounds, share

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Quality:
    """How good a model is to the people it was asked about.

    Attributes
    ----------
    accuracy
        Share of people who get their true label.
    balanced_accuracy
        The same within each true class, averaged over the classes.
    fairness
        Bounds on the share of people who are treated like all similar people;
        `lower` is proved.
    """

    accuracy: float
    balanced_accuracy: float
    fairness: Bounds

    @classmethod
    def of(
        cls, label: NDArray[np.integer], truth: NDArray[np.int64], fairness: Bounds
    ) -> Quality:
        """Compare labels with the true ones.

        Parameters
        ----------
        label, truth : ndarray of shape (n_people,)
            Positions among the classes.
        fairness
            As in the class.
        """
        is_right = label == truth
        people = np.bincount(truth)
        shares = np.bincount(truth, is_right)[people > 0] / people[people > 0]
        return cls(float(is_right.mean()), float(shares.mean()), fairness)

    def __str__(self) -> str:
        return (
            f"fairness {share(self.fairness)}, accuracy {self.accuracy:.2%}, "
            f"balanced accuracy {self.balanced_accuracy:.2%}"
        )


class Price(NamedTuple):
    """What a repair costs other people in accuracy.

    Attributes
    ----------
    loss
        By how much the accuracy, or the balanced accuracy if that may have fallen more,
        fell.
    error
        Its standard error: how far off it may be, with so few people.
    """

    loss: float
    error: float

    @classmethod
    def of(
        cls, before: NDArray[np.integer], after: NDArray[np.integer], truth: Codes
    ) -> Price:
        """Compare two labels of each person with the true one.

        Parameters
        ----------
        before, after, truth : ndarray of shape (n_people,)
            Positions among the classes.
        """
        lost = (before == truth).astype(np.float64) - (after == truth)
        people = np.bincount(truth)
        classes = [lost[truth == code] for code in np.flatnonzero(people)]
        prices = [
            cls(float(lost.mean()), _error([lost])),
            cls(float(np.mean([mine.mean() for mine in classes])), _error(classes)),
        ]
        return max(prices, key=lambda price: price.most)

    @property
    def most(self) -> float:
        """The loss if it is too low by its standard error."""
        return self.loss + self.error


@dataclass(frozen=True, eq=False, repr=False)
class Repair:
    """A repaired model, and what the repair did.

    Attributes
    ----------
    model
        The repaired model, of the type that was given; the very model that was given
        if nothing helped.
    before, after
        How good the given and the repaired model are to all the people.
    price, price_error
        By how much the accuracy, or the balanced accuracy if that may have fallen more,
        fell for people for whom the change was not made, and the standard error of
        that: each half of the people was judged by leaf values made for the other half.
        Negative if both rose. What `after` says is what the change does to the very
        people it was made for.
    n_changed
        How many leaves have other values; 0 if nothing helped.
    report
        The verification of `model` on all the people.
    """

    model: Any
    before: Quality
    after: Quality
    price: float
    price_error: float
    n_changed: int
    report: Report

    def __repr__(self) -> str:
        n_people = len(self.report.findings)
        lines = [f"<Repair on {n_people:,} people", f" before: {self.before}"]
        if self.n_changed:
            lines += [
                f" after:  {self.after}",
                f" {self.n_changed:,} leaves changed; on other people, expect the "
                f"accuracy to change by {-self.price:+.2%}, give or take "
                f"{self.price_error:.2%}",
            ]
        else:
            lines += [
                " Nothing raised the proved fairness at the price in accuracy that is "
                "allowed: the model is the one given."
            ]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        rows = [_row("before", self.before), _row("after", self.after)]
        head = ("", "proved fair", "accuracy", "balanced accuracy")
        [*_, last] = repr(self).removesuffix(">").split("\n")
        return notebook(
            f"Repair on {len(self.report):,} people",
            table(head, rows, "The model, to these people", numbers=(1, 2, 3)),
            tag("p", last.strip()),
        )


def _row(name: str, quality: Quality) -> list[Part]:
    fairness, accuracy = share(quality.fairness), f"{quality.accuracy:.2%}"
    return [name, fairness, accuracy, f"{quality.balanced_accuracy:.2%}"]


def _error(groups: list[NDArray[np.float64]]) -> float:
    """Return the standard error of the mean of the groups' means."""
    squares = [mine.var() / len(mine) for mine in groups]
    return float(np.sqrt(sum(squares)) / len(groups))
