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
    """How good a model is on some people.

    Attributes
    ----------
    accuracy
        Share of people who get their true label.
    balanced_accuracy
        The same within each true class, averaged over the classes.
    fairness
        Bounds on the share of fair people; `lower` is proved.
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
    """The loss of accuracy on other people.

    Attributes
    ----------
    loss
        The loss of accuracy or of balanced accuracy, whichever may be larger.
    error
        Its standard error.
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
        """The loss plus its standard error."""
        return self.loss + self.error


@dataclass(frozen=True, eq=False, repr=False)
class Repair:
    """A repaired model, and what the repair did.

    Attributes
    ----------
    model
        The repaired model, of the type that was given. The given model if nothing
        helped.
    before, after
        How good the given and the repaired model are on all the people.
    price, price_error
        The estimated loss on other people of accuracy or of balanced accuracy,
        whichever may be larger, and its standard error. Each half of the people was
        judged by leaf values made for the other half. Negative if both rose. `after` is
        about the people for whom the change was made.
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
                f" {self.n_changed:,} leaves changed; expected change of accuracy on "
                f"other people: {-self.price:+.2%} ± {self.price_error:.2%}",
            ]
        else:
            lines += [
                " Nothing raised the proved fairness within max_accuracy_loss: the "
                "model is the given one."
            ]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        rows = [_row("before", self.before), _row("after", self.after)]
        head = ("", "proved fair", "accuracy", "balanced accuracy")
        [*_, last] = repr(self).removesuffix(">").split("\n")
        return notebook(
            f"Repair on {len(self.report):,} people",
            table(head, rows, "The model on these people", numbers=(1, 2, 3)),
            tag("p", last.strip()),
        )


def _row(name: str, quality: Quality) -> list[Part]:
    fairness, accuracy = share(quality.fairness), f"{quality.accuracy:.2%}"
    return [name, fairness, accuracy, f"{quality.balanced_accuracy:.2%}"]


def _error(groups: list[NDArray[np.float64]]) -> float:
    """Return the standard error of the mean of the groups' means."""
    squares = [mine.var() / len(mine) for mine in groups]
    return float(np.sqrt(sum(squares)) / len(groups))
