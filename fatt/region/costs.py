"""What it costs to differ, and how much similar people may spend: budgets of boxes.

A cost is an integer: 0 at the person's own value, and never less farther away from it.
Somebody is similar who lies in the box and whose costs add up to at most the budget.
Integers have no rounding, so the order of the sum does not matter.

Distances are counted in steps, `STEPS` of which are the limit: a number costs
``floor(scale * |value - own|)`` in floats, or the floor of the square of that. Costs
are rounded down, so everybody within the limit in real numbers is similar. Nobody is
similar who is beyond it by more than one step for each variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature

#: What a value costs: nothing; as much for any other one; by distance; by the square of
#: the distance; what a table says.
FREE, COUNT, LINEAR, SQUARE, TABLE = range(5)

#: How many steps a limit on distances has.
STEPS = 2**48

#: The costs of a variable: its kind, the factor of a distance, what it costs to become
#: missing or to be no longer missing (where values are counted, to be any other), and
#: where its table begins, row by row: the row of the person's own code counts.
COST = np.dtype(
    [
        ("scale", np.float64),
        ("kind", np.int64),
        ("missing", np.int64),
        ("table", np.int64),
    ]
)


@dataclass(frozen=True, eq=False)
class Budget:
    """How much one alternative of a similarity lets people spend, and on what.

    Attributes
    ----------
    most
        How much.
    each : ndarray of `COST`, shape (n_variables,)
        What it costs to differ.
    tables : ndarray of int64
        The tables of costs between codes, one behind the other.
    """

    most: int
    each: NDArray[np.void]
    tables: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Costs:
    """How much may be spent in each box, and on what.

    Attributes
    ----------
    rule : ndarray of int64, shape (n_boxes,)
        Which row of `each` holds for the box; -1 for a box without a budget.
    most : ndarray of int64, shape (n_boxes,)
        How much may be spent in it, at least 0.
    each : ndarray of `COST`, shape (n_rules, n_variables)
        What it costs to differ in a variable, by each rule.
    tables : ndarray of int64
        The tables of costs between categories, one behind the other. A table has a row
        and a column for each code of the variable, unknown ones included, and zeros on
        its diagonal.
    people : ndarray of float64, shape (n_people, n_variables)
        The people themselves, numbers that the library reads as missing included.
    """

    rule: NDArray[np.int64]
    most: NDArray[np.int64]
    each: NDArray[np.void]
    tables: NDArray[np.int64]
    people: NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    def of(self, boxes: NDArray[np.int64], people: NDArray[np.int64]) -> Costs:
        """Return the costs of some boxes, which are those of some people."""
        return replace(
            self,
            rule=self.rule[boxes],
            most=self.most[boxes],
            people=self.people[people],
        )

    def spent(
        self,
        features: Sequence[Feature],
        boxes: NDArray[np.int64],
        people: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return what others cost, by the definition: without the search.

        Parameters
        ----------
        features
            The variables.
        boxes, people : ndarray of int64, shape (n_cases,)
            The box by whose rule each case is counted, and its person.
        values : ndarray of shape (n_cases, n_variables)
            The other of each case.

        Returns
        -------
        ndarray of int64
            0 where the box has no budget. Each variable counts at most one more than
            the budget, so that sums fit.
        """
        each = self.each_spent(features, boxes, people, values)
        return np.asarray(each.sum(axis=1))

    def each_spent(
        self,
        features: Sequence[Feature],
        boxes: NDArray[np.int64],
        people: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return what others cost in each variable; the parameters are as in `spent`.

        Returns
        -------
        ndarray of int64, shape (n_cases, n_variables)
        """
        rule, most = self.rule[boxes], self.most[boxes]
        spent = np.zeros(values.shape, dtype=np.int64)
        for index, feature in enumerate(features):
            if (self.each["kind"][:, index] == FREE).all():
                continue
            own, other = self.people[people, index], values[:, index]
            cost = self.each[rule, index]
            mine = self._of_variable(feature, cost, own, other, most)
            spent[:, index] = np.where(rule < 0, 0, np.minimum(mine, most + 1))
        return spent

    def with_fixed(self, numbers: NDArray[np.float64]) -> Costs:
        """Return the costs with more variables, numbers that stay as they are.

        Parameters
        ----------
        numbers : ndarray of shape (n_people, n_more)
            The numbers of the people.
        """
        free = np.zeros((len(self.each), numbers.shape[1]), dtype=COST)
        return replace(
            self,
            each=np.hstack([self.each, free]),
            people=np.hstack([self.people, numbers]),
        )

    def _of_variable(
        self,
        feature: Feature,
        cost: NDArray[np.void],
        own: NDArray[np.float64],
        other: NDArray[np.float64],
        most: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return what one variable costs in each case."""
        kind = cost["kind"]
        with np.errstate(invalid="ignore", over="ignore"):
            size = cost["scale"] * np.abs(other - own)
            size = np.where(kind == SQUARE, size * size, size)
        # Infinities, and what is larger than any integer, are beyond the budget.
        far = ~(size <= most + 1.0)
        found = np.floor(np.where(far, 0.0, size)).astype(np.int64)
        found[far] = most[far] + 1
        gap, lost = np.isnan(own), np.isnan(other)
        if isinstance(feature, Categorical):
            named = np.flatnonzero((kind == TABLE) & ~gap & ~lost)
            place = cost["table"][named] + own[named].astype(np.int64) * feature.n_codes
            found[named] = self.tables[place + other[named].astype(np.int64)]
        found = np.where(gap | lost | (kind == COUNT), cost["missing"], found)
        same = (own == other) | (gap & lost)
        return np.where((kind == FREE) | same, 0, found)
