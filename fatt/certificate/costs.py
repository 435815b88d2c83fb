"""What it costs to differ, straight from what a similarity says.

The search has code of its own for this, in `fatt.region`; none of it is used here.
Costs are whole: of a distance they are steps, 2**48 of which are the limit, and each
variable's are rounded down; where attributes are counted, each is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.columns import Codes, Column, Numbers
from fatt.errors import CertificateError
from fatt.region import Ordinal
from fatt.region.distance import Table, Weight

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: How many steps a limit has.
STEPS = 2**48


@dataclass(frozen=True)
class Price:
    """What differing in a variable costs, and how much all of them may.

    Attributes
    ----------
    weight
        What is said of the variable; None where attributes are counted.
    limit
        The largest distance, or how many attributes may differ.
    norm
        How the costs add up; ``"count"`` where attributes are counted.
    """

    weight: Weight | Table | None
    limit: float
    norm: str

    @property
    def most(self) -> int | None:
        """How much all variables together may cost; None if each stands alone."""
        if self.norm == "linf":
            return None
        return int(self.limit) if self.norm == "count" else STEPS

    @property
    def is_free(self) -> bool:
        """Whether a number may be anything, as far as it goes alone."""
        weight = self.weight
        return isinstance(weight, Weight) and (weight.size == 0 or self.norm == "l0")

    def steps(self, distance: Floats, weight: float = 1.0) -> Integers:
        """Return so many units of difference as steps, at most one beyond the limit."""
        root = 24 if self.norm == "l2" else 48
        with np.errstate(over="ignore", invalid="ignore"):
            scale = np.float64(weight) * 2.0**root / self.limit
            size = np.where(distance == 0, 0.0, scale * distance)
            size = size * size if self.norm == "l2" else size
        inside = size <= STEPS + 1.0
        return np.where(inside, np.floor(np.where(inside, size, 0)), STEPS + 1).astype(
            np.int64
        )

    def per_unit(self, column: Numbers) -> float:
        """Return what one unit of a number costs.

        Raises
        ------
        CertificateError
            If a number has a table, or no standard deviation in which it is counted.
        """
        if not isinstance(self.weight, Weight):
            raise CertificateError(
                f"the similarity has a table of costs for {column.variable.name!r}, "
                "which is a number."
            )
        if not self.weight.unit or self.weight.size == 0:
            return self.weight.size
        if not column.variable.sd:
            raise CertificateError(
                f"the schema has no standard deviation of {column.variable.name!r} "
                "that is larger than 0."
            )
        return self.weight.size / column.variable.sd

    def reach(self, column: Numbers) -> float:
        """Return how far a number may be alone; more than that if costs decide."""
        largest = float(np.finfo(np.float64).max)
        with np.errstate(over="ignore"):
            size = float(np.float64(self.limit) / np.float64(self.per_unit(column)))
        if self.norm != "linf":
            return min(size * (1 + 1e-9), largest)
        if size > largest:
            return largest
        near = float(np.rint(size))
        return near if abs(size - near) <= 1e-12 * near else size

    def of_codes(self, column: Codes) -> Integers:
        """Return what each code costs, in the row of each person's own code.

        Raises
        ------
        CertificateError
            If a category is counted in standard deviations.
        """
        weight, size = self.weight, column.n_codes
        assert weight is not None
        costs = np.full((size, size), np.inf)
        if isinstance(weight, Table):
            for one, other, cost in weight.pairs:
                here, there = column.code(one), column.code(other)
                least = min(cost, costs[here, there])
                costs[here, there] = costs[there, here] = least
        elif weight.unit:
            raise CertificateError(
                f"the similarity counts {column.variable.name!r} in standard "
                "deviations, which is no number."
            )
        elif isinstance(column.variable, Ordinal) and not self.is_free:
            order = [column.code(level) for level in column.variable.levels]
            place = np.arange(len(order))
            away = np.abs(place - place[:, np.newaxis])
            costs[np.ix_(order, order)] = weight.size * away
        else:
            costs[:] = weight.size
        np.fill_diagonal(costs, 0.0)
        return self.steps(costs)


def cost_of(column: Column, price: Price, own: Floats, other: Floats) -> Integers:
    """Return what the values of others cost people with their own values."""
    same = (own == other) | (np.isnan(own) & np.isnan(other))
    absent = np.isnan(own) | np.isnan(other)
    if price.norm == "count":
        return np.where(same, 0, 1)
    if isinstance(column, Codes):
        here, there = (
            np.where(absent, 0, values).astype(np.int64) for values in (own, other)
        )
        return np.where(same | absent, 0, price.of_codes(column)[here, there])
    weight = price.per_unit(column)
    with np.errstate(invalid="ignore", over="ignore"):
        away = np.abs(other - own)
    if price.norm == "l0":
        return np.where(same, 0, price.steps(np.ones(len(own)), weight))
    # Nobody becomes missing by a distance, but whose number is read as missing is.
    return np.where(same | absent, 0, price.steps(np.where(absent, 0.0, away), weight))
