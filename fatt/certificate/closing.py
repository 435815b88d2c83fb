"""Why a box is closed: no point in it can have another label.

For a rival class, the lead of a point is the rival's score minus the own one. A tree
adds at most its best leaf, so the sum of the best leaves bounds the lead of all points.
If that is too much, points that could still win are looked for: each of their leaves
loses at most the slack against its tree's best, and they lie where all trees have such
leaves. That is repeated with what is left, until nothing is left or nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.arithmetic import Arithmetic
from fatt.certificate.cells import Cells
from fatt.certificate.similar import Reach, Rule, most_of
from fatt.certificate.spending import Purse, cell_costs
from fatt.certificate.walk import Boxes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Cut(NamedTuple):
    """Parts a box: the cells of an axis up to one, or that cell alone, from the others.

    Attributes
    ----------
    axis, cell
        The axis, and the cell.
    alone
        Whether the cell is parted from all others.
    """

    axis: int
    cell: int
    alone: bool = False


class Part(NamedTuple):
    """A part of a person's box, over the axes on which there is a choice.

    Attributes
    ----------
    first, last : ndarray of int
        On each line the first and the last cell.
    inside : ndarray of bool
        The cells of all sets, side by side.
    """

    first: Integers
    last: Integers
    inside: Flags


@dataclass(frozen=True, eq=False)
class Open:
    """What is left of a box in which a rival may win.

    Attributes
    ----------
    rival
        The class.
    part
        Where it may win.
    alive : ndarray of int
        The leaves of the points at which it may.
    starts : ndarray of int
        Where the leaves of each tree begin among these.
    lead : ndarray of float
        What each of them adds to the lead.
    slack
        By how much the bound exceeds what is needed.
    """

    rival: int
    part: Part
    alive: Integers
    starts: Integers
    lead: Floats
    slack: float


class Prices(NamedTuple):
    """What it costs a person to differ.

    Attributes
    ----------
    rules
        What the similarity says of each variable.
    values : ndarray of shape (n_variables,)
        The person's own values.
    ends
        The smallest and the largest number of each variable.
    """

    rules: Sequence[Rule]
    values: Floats
    ends: Sequence[tuple[float, float]]

    @classmethod
    def of(
        cls, rules: Sequence[Rule], values: Floats, reaches: Sequence[Reach], row: int
    ) -> Prices | None:
        """Return the prices of one of some people; None if there is no budget."""
        if most_of(rules) is None:
            return None
        ends = [(float(reach.low[row]), float(reach.high[row])) for reach in reaches]
        return cls(rules, values[row], ends)


class Question(NamedTuple):
    """Whether a person's label can change in a box.

    Attributes
    ----------
    boxes, box
        The box.
    leaves : ndarray of int
        The leaves that it may reach, sorted.
    own
        The person's class.
    prices
        What it costs to differ; None if only the box counts.
    """

    boxes: Boxes
    box: int
    leaves: Integers
    own: int
    prices: Prices | None = None


class Problem:
    """One box of one person, and the leaves that it reaches, each with its own box.

    Parameters
    ----------
    cells, arithmetic
        The model.
    question
        The person and the box.

    Attributes
    ----------
    lines, sets
        The axes on which there is a choice.
    set_cells, set_starts
        The cells of each set, and where they begin when they stand side by side.
    whole
        The whole box.
    """

    def __init__(
        self, cells: Cells, arithmetic: Arithmetic, question: Question
    ) -> None:
        self._cells, self._arithmetic = cells, arithmetic
        boxes, box, leaves, self._own, prices = question
        self.lines: list[int] = []
        self.sets: list[int] = []
        self.set_cells: list[Integers] = []
        used = _axes_above(cells, leaves)
        for index in np.flatnonzero(used).tolist():
            axis = cells.axes[index]
            members = boxes.cells_of(box, index, axis)
            if len(members) <= 1:
                continue
            if axis.is_line and not boxes.missing[box, index]:
                self.lines.append(index)
            else:
                self.sets.append(index)
                self.set_cells.append(members)
        sizes = [len(members) for members in self.set_cells]
        self.set_starts = np.cumsum([0, *sizes])
        self.whole = Part(
            boxes.first[box, self.lines],
            boxes.last[box, self.lines],
            np.ones(int(self.set_starts[-1]), dtype=bool),
        )
        self._narrow(leaves)
        self._purse = None if prices is None else self._purse_of(prices)

    def _purse_of(self, prices: Prices) -> Purse | None:
        """Return what the cells of all axes on which there is a choice cost."""
        most = most_of(prices.rules)
        if most is None:
            return None
        costs = {
            index: cell_costs(
                self._cells.axes[index],
                prices.rules[index].price,
                float(prices.values[index]),
                prices.ends[index],
            )
            for index in (*self.lines, *self.sets)
        }
        own = [
            int(np.searchsorted(self._cells.axes[index].cuts, prices.values[index]))
            for index in self.lines
        ]
        lines = [(cell, costs[i]) for cell, i in zip(own, self.lines, strict=True)]
        sets = [
            costs[index][cells]
            for index, cells in zip(self.sets, self.set_cells, strict=True)
        ]
        nothing = np.zeros(0, dtype=np.int64)
        beside = np.concatenate([nothing, *sets])
        return Purse(lines, beside, self.set_starts[:-1], most)

    def _asked(self, part: Part, alive: Integers) -> Integers | None:
        """Return what leaves cost in a part; last what the part itself costs."""
        if self._purse is None:
            return None
        return self._purse.asked(
            np.vstack([np.maximum(self._first[alive], part.first), part.first]),
            np.vstack([np.minimum(self._last[alive], part.last), part.last]),
            np.vstack([self._allowed[alive] & part.inside, part.inside]),
        )

    def _narrow(self, leaves: Integers) -> None:
        """Work out the box of each leaf, from the leaf up to the root."""
        cells, split = self._cells, self._cells.split
        line = np.full(len(cells.axes), -1, dtype=np.int64)
        line[self.lines] = np.arange(len(self.lines))
        count = len(leaves)
        first = np.tile(self.whole.first, (count, 1))
        last = np.tile(self.whole.last, (count, 1))
        allowed = np.ones((count, len(self.whole.inside)), dtype=bool)
        rows, node = np.arange(count), cells.node_of_leaf[leaves]
        while True:
            above = cells.parent[node]
            keep = above >= 0
            rows, node, above = rows[keep], node[keep], above[keep]
            if not len(rows):
                break
            is_left = cells.left[above] == node
            axis, at = split.axis[above], split.last[above]
            place = line[axis]
            down = (place >= 0) & is_left
            pick = rows[down], place[down]
            last[pick] = np.minimum(last[pick], at[down])
            up = (place >= 0) & ~is_left
            pick = rows[up], place[up]
            first[pick] = np.maximum(first[pick], at[up] + 1)
            for number, index in enumerate(self.sets):
                mine = np.flatnonzero(axis == index)
                if len(mine):
                    there = cells.sends_left(above[mine], self.set_cells[number])
                    there ^= ~is_left[mine, np.newaxis]
                    allowed[rows[mine], self.span(number)] &= there
            node = above
        self._first, self._last, self._allowed = first, last, allowed
        self._leaves = leaves
        self._tree = cells.tree[cells.node_of_leaf[leaves]]

    def span(self, number: int) -> slice:
        """Return where the cells of a set stand."""
        return slice(int(self.set_starts[number]), int(self.set_starts[number + 1]))

    def leaf_lines(self, alive: Integers) -> tuple[Integers, Integers]:
        """Return the first and the last cell of some leaves on each line."""
        return self._first[alive], self._last[alive]

    def leaf_sets(self, alive: Integers) -> Flags:
        """Tell which cells of the sets some leaves allow."""
        return self._allowed[alive]

    def everything(self) -> Integers:
        """Return the numbers of the leaves that the whole box reaches."""
        return self.meeting(np.arange(len(self._leaves)), self.whole)

    def meeting(self, alive: Integers, part: Part) -> Integers:
        """Return those of some leaves that have a point in a part of the box."""
        meets = np.ones(len(alive), dtype=bool)
        if self.lines:
            first = np.maximum(self._first[alive], part.first)
            meets &= (first <= np.minimum(self._last[alive], part.last)).all(axis=1)
        if self.sets:
            some = self._allowed[alive] & part.inside
            each = np.logical_or.reduceat(some, self.set_starts[:-1], axis=1)
            meets &= each.all(axis=1)
        return alive[meets]

    def parts(self, part: Part, cut: Cut) -> tuple[Part, Part] | None:
        """Return the two sides of a cut; None if it does not cut the part in two."""
        if cut.axis in self.lines:
            place = self.lines.index(cut.axis)
            if cut.alone or not part.first[place] <= cut.cell < part.last[place]:
                return None
            last, first = part.last.copy(), part.first.copy()
            last[place], first[place] = cut.cell, cut.cell + 1
            return part._replace(last=last), part._replace(first=first)
        if cut.axis not in self.sets:
            return None
        number = self.sets.index(cut.axis)
        members, span = self.set_cells[number], self.span(number)
        side = members == cut.cell if cut.alone else members <= cut.cell
        here, there = part.inside.copy(), part.inside.copy()
        here[span] &= side
        there[span] &= ~side
        if not here[span].any() or not there[span].any():
            return None
        return part._replace(inside=here), part._replace(inside=there)

    def first_open(self, part: Part, alive: Integers) -> Open | None:
        """Return the first rival that may win in a part; None if the part is closed."""
        for rival in range(self._arithmetic.n_classes):
            if rival != self._own:
                left = self._exclude(rival, part, alive)
                if left is not None:
                    return left
        return None

    def _exclude(self, rival: int, part: Part, alive: Integers) -> Open | None:
        """Return where a rival may win; None if it can win nowhere."""
        arithmetic = self._arithmetic
        own, other = np.array([self._own]), np.array([rival])
        mine, theirs = arithmetic.outputs(own, other)
        start = float(arithmetic.start(own, other)[0])
        while True:
            asked = self._asked(part, alive)
            if asked is not None and self._purse is not None:
                if asked[-1].sum() > self._purse.most:
                    # Nobody similar is in it.
                    return None
                is_paid = asked[:-1].sum(axis=1) <= self._purse.most
                alive, asked = alive[is_paid], asked[np.append(is_paid, True)]
            tree = self._tree[alive]
            starts = np.flatnonzero(np.diff(tree, prepend=-1))
            if len(starts) < len(self._cells.roots):
                # Some tree has no leaf for it.
                return None
            leaves = self._leaves[alive]
            lead = arithmetic.leads(leaves, own, other)
            best = np.maximum.reduceat(lead, starts)
            masses = [
                np.maximum.reduceat(np.abs(arithmetic.values[leaves, k]), starts).sum()
                for k in (mine[0], theirs[0])
            ]
            bits = arithmetic.last_bit(leaves, (mine[0], theirs[0]))
            needed, error = arithmetic.needed(
                own, other, (np.array(masses[:1]), np.array(masses[1:])), bits
            )
            bound = start + float(best.sum())
            if bound + error[0] < needed[0]:
                return None
            if asked is not None and self._purse is not None:
                spent = self._purse.bound(lead, starts, asked[:-1], asked[-1])
                if start + spent + error[0] < needed[0]:
                    return None
            slack = _up(_up(bound - float(needed[0])) + float(error[0]))
            counts = np.diff(np.append(starts, len(alive)))
            kept = alive[np.repeat(best, counts) - lead <= slack]
            smaller = self._hull(kept, part)
            kept = self.meeting(kept, smaller)
            if len(kept) == len(alive) and _same(smaller, part):
                break
            alive, part = kept, smaller
        if self._is_settled(alive, starts, rival):
            return None
        return Open(rival, part, alive, starts, lead, slack)

    def _hull(self, alive: Integers, part: Part) -> Part:
        """Return the smallest part with all points whose leaves are alive."""
        starts = np.flatnonzero(np.diff(self._tree[alive], prepend=-1))
        first, last, inside = part
        if self.lines:
            low = np.maximum(self._first[alive], first)
            high = np.minimum(self._last[alive], last)
            first = np.minimum.reduceat(low, starts, axis=0).max(axis=0)
            last = np.maximum.reduceat(high, starts, axis=0).min(axis=0)
        if self.sets:
            some = self._allowed[alive] & inside
            each = np.logical_or.reduceat(some, starts, axis=0)
            inside = np.asarray(each.all(axis=0))
        return Part(first, last, inside)

    def _is_settled(self, alive: Integers, starts: Integers, rival: int) -> bool:
        """Tell whether all points have the same scores, and the own class wins."""
        arithmetic = self._arithmetic
        if not arithmetic.is_ordered:
            return False
        leaves = self._leaves[alive]
        values = arithmetic.values[leaves][:, arithmetic.speaking(self._own, rival)]
        low = np.minimum.reduceat(values, starts, axis=0)
        high = np.maximum.reduceat(values, starts, axis=0)
        if not np.array_equal(low, high):
            return False
        return arithmetic.beats(leaves[starts], self._own, rival)


def _axes_above(cells: Cells, leaves: Integers) -> Flags:
    """Tell on which axes the way from the roots to some leaves is split."""
    used = np.zeros(len(cells.axes) + 1, dtype=bool)
    node = cells.parent[cells.node_of_leaf[leaves]]
    while len(node):
        node = np.unique(node[node >= 0])
        used[cells.split.axis[node]] = True
        node = cells.parent[node]
    return used[:-1]


def _up(number: float) -> float:
    return float(np.nextafter(number, np.inf))


def _same(one: Part, other: Part) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
