"""How much a rival can gain if only so much may be spent on differing.

Every cell of a person's box has a least cost. A leaf that asks for more than the budget
is out of reach. Of the others each gains something over the best leaf of its tree that
asks for nothing; what it gains is split among the axes that it moves. So whoever moves
some axes gains at most the sum of what these are worth in all trees, and what can be
bought for the budget is bounded at any price of a unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.cells import Axis
from fatt.certificate.columns import Codes
from fatt.certificate.costs import Price, cost_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: How many prices are tried.
_PRICES = 48


def cell_costs(
    axis: Axis, price: Price | None, own: float, ends: tuple[float, float]
) -> Integers:
    """Return the least cost of each cell of an axis; never more than it is.

    Parameters
    ----------
    axis
        The cells of a variable.
    price
        What it costs to differ; None if that costs nothing.
    own
        The person's value.
    ends
        The smallest and the largest number that the person may have.
    """
    costs = np.zeros(axis.size, dtype=np.int64)
    if price is None:
        return costs
    column, is_counted = axis.column, price.norm == "count"
    if isinstance(column, Codes):
        others = np.arange(column.n_codes, dtype=np.float64)
        is_absent = np.isnan(own)
    else:
        cuts, step = axis.cuts, np.nextafter(axis.cuts, np.inf)
        if column.integer:
            step = np.maximum(step, cuts + 1)
        low = np.maximum(np.append(-np.inf, step), ends[0])
        high = np.minimum(np.append(cuts, np.inf), ends[1])
        others = np.clip(0.0 if np.isnan(own) else own, low, np.maximum(low, high))
        is_absent = np.isnan(own) or bool(column.reads_missing(np.array([own]))[0])
    mine = np.full(len(others), own)
    costs[: len(others)] = cost_of(column, price, mine, others)
    costs[-1] = is_counted and not is_absent
    return costs


@dataclass(frozen=True, eq=False)
class Purse:
    """What the cells of a problem cost, and how much may be spent in all.

    Attributes
    ----------
    lines
        For each line the person's own cell, and what each cell costs.
    sets : ndarray of int64
        What the cells of all sets cost, side by side.
    set_starts : ndarray of int64
        Where the cells of each set begin.
    most
        The budget.
    """

    lines: list[tuple[int, Integers]]
    sets: Integers
    set_starts: Integers
    most: int

    def asked(self, first: Integers, last: Integers, inside: Flags) -> Integers:
        """Return the least cost of boxes on each axis: lines first, and then sets.

        Parameters
        ----------
        first, last : ndarray of shape (n_boxes, n_lines)
            The ends of the boxes on the lines.
        inside : ndarray of shape (n_boxes, n_cells)
            Their cells on the sets.
        """
        found = np.zeros((len(first), len(self.lines) + len(self.set_starts)), np.int64)
        for place, (own, costs) in enumerate(self.lines):
            # Costs never fall away from the person's own cell.
            nearest = np.minimum(np.maximum(own, first[:, place]), last[:, place])
            found[:, place] = costs[nearest]
        if len(self.set_starts):
            most = np.where(inside, self.sets, np.iinfo(np.int64).max // 2**14)
            least = np.minimum.reduceat(most, self.set_starts, axis=1)
            found[:, len(self.lines) :] = least
        return found

    def bound(
        self, lead: Floats, starts: Integers, asked: Integers, cheapest: Integers
    ) -> float:
        """Return a bound on the sum of the leads of leaves that can be paid together.

        Parameters
        ----------
        lead : ndarray of shape (n_leaves,)
            What each leaf adds.
        starts : ndarray of shape (n_trees,)
            Where the leaves of each tree begin.
        asked : ndarray of shape (n_leaves, n_axes)
            The least cost of each leaf.
        cheapest : ndarray of shape (n_axes,)
            The least cost of the part, which is paid in any case.
        """
        over = asked - cheapest
        moved = over > 0
        n_moved = moved.sum(axis=1)
        still = np.maximum.reduceat(np.where(n_moved == 0, lead, -np.inf), starts)
        # Where every leaf moves something, all of them gain over the worst.
        base = np.where(np.isinf(still), np.minimum.reduceat(lead, starts), still)
        tree = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(lead))))
        gain = np.maximum(lead - base[tree], 0.0)
        total, mass = float(base.sum()), float(np.abs(base).sum() + gain.sum())
        left = float(self.most - int(cheapest.sum()))
        axes = [
            _worth(gain[some] / n_moved[some], over[some, axis], tree[some])
            for axis in np.flatnonzero(moved.any(axis=0)).tolist()
            for some in [np.flatnonzero(moved[:, axis])]
        ]
        if not axes:
            return _rounded_up(total, mass)
        costs = np.concatenate([cost for cost, _ in axes]).astype(np.float64)
        worth = np.concatenate([gained for _, gained in axes])
        begin = np.cumsum([0, *(len(cost) for cost, _ in axes[:-1])])
        highest = float((worth / costs).max())
        best = np.inf
        low, high = 0.0, highest
        for _ in range(_PRICES):
            # The bound is convex in the price.
            one, two = low + (high - low) / 3, high - (high - low) / 3
            at_one, at_two = (
                left * price
                + float(
                    np.maximum(
                        np.maximum.reduceat(worth - price * costs, begin), 0
                    ).sum()
                )
                for price in (one, two)
            )
            best = min(best, at_one, at_two)
            low, high = (low, two) if at_one <= at_two else (one, high)
        return _rounded_up(total + best, mass + best + left * highest)


def _worth(gain: Floats, over: Integers, tree: Integers) -> tuple[Integers, Floats]:
    """Return the costs on one axis, and what can be gained there at most for each."""
    levels = np.unique(over)
    place = np.searchsorted(levels, over)
    _, row = np.unique(tree, return_inverse=True)
    table = np.zeros((int(row.max()) + 1, len(levels)))
    np.maximum.at(table, (row, place), gain)
    return levels, np.maximum.accumulate(table, axis=1).sum(axis=0)


def _rounded_up(number: float, mass: float) -> float:
    """Return more than the number may be off by, of so many sums of so much mass."""
    return float(np.nextafter(number + 1e-11 * mass, np.inf))
