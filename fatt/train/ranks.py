"""Where people and boxes stand among the splits: the ranks that the kernels read.

`fatt.train.kernels` describes what they are for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

#: What a box reaches of a split, as bits.
INSIDE, OUTSIDE, BOTH = 1, 2, 3


class Ranks(NamedTuple):
    """Where people and boxes stand among the splits, as the kernels read it.

    Attributes
    ----------
    start : ndarray of shape (n_families + 1,)
        The first split of each family, and the number of all.
    row : ndarray of shape (n_families,)
        The row of `member_start` of a family of singles; -1 for a chain.
    family : ndarray of shape (n_splits,)
        The family of each split.
    flipped : ndarray of shape (n_splits,)
        Whether the inside of each is its right side.
    own : ndarray of shape (n_families, n_people)
        The rank of each person: from which split of a chain on they are inside; or at
        which single, or the number of all if at none, or one more if at all.
    low, high : ndarray of shape (n_families, n_boxes)
        From which split of a chain on a box reaches the inside, and from which on no
        longer the outside; or what it reaches of other singles, and of its own, as
        bits: 1 for the inside and 2 for the outside.
    member_start : ndarray of shape (n_singles, n_boxes + 1)
        Where the own singles of each box start among the members.
    members
        The own singles of all boxes.
    box_start : ndarray of shape (n_people + 1,)
        The first box of each person, and the number of all.
    """

    start: Integers
    row: Integers
    family: Integers
    flipped: Flags
    own: NDArray[np.uint16]
    low: NDArray[np.uint16]
    high: NDArray[np.uint16]
    member_start: Integers
    members: NDArray[np.uint16]
    box_start: Integers

    def of_people(self, chosen: Integers) -> Ranks:
        """Return the ranks of some people, who are numbered anew in that order."""
        count = np.diff(self.box_start)[chosen]
        start = np.cumsum([0, *count], dtype=np.int64)
        boxes = np.arange(start[-1]) + np.repeat(
            self.box_start[chosen] - start[:-1], count
        )
        first, members, total = [], [], 0
        for row in self.member_start:
            sizes = np.diff(row)[boxes]
            begin = np.cumsum([0, *sizes], dtype=np.int64)
            taken = np.arange(begin[-1]) + np.repeat(row[boxes] - begin[:-1], sizes)
            members.append(self.members[taken])
            first.append(begin + total)
            total += int(begin[-1])
        return self._replace(
            own=np.ascontiguousarray(self.own[:, chosen]),
            low=np.ascontiguousarray(self.low[:, boxes]),
            high=np.ascontiguousarray(self.high[:, boxes]),
            member_start=stacked(first, len(boxes) + 1, np.int64),
            members=np.concatenate([self.members[:0], *members]),
            box_start=start,
        )

    def of_families(self, kept: Flags) -> Ranks:
        """Return the ranks among the splits of some families."""
        if kept.all():
            return self
        sizes = np.diff(self.start)[kept]
        row, start = self.row[kept], self.member_start
        return self._replace(
            start=np.cumsum([0, *sizes], dtype=np.int64),
            row=np.where(row < 0, -1, np.cumsum(row >= 0) - 1),
            family=np.repeat(np.arange(len(row)), sizes),
            flipped=self.flipped[kept[self.family]],
            own=self.own[kept],
            low=self.low[kept],
            high=self.high[kept],
            # The members of others stay where they are, and nobody asks for them.
            member_start=start[row[row >= 0]],
        )

    def goes_left(self, split: int, people: Integers) -> Flags:
        """Tell which people go to the left of a split."""
        family = int(self.family[split])
        place, rank = split - self.start[family], self.own[family, people]
        if self.row[family] < 0:
            inside = rank <= place
        else:
            size = self.start[family + 1] - self.start[family]
            inside = (rank == place) | (rank == size + 1)
        return np.asarray(inside != self.flipped[split])

    def reaches(self, split: int, boxes: Integers) -> tuple[Flags, Flags]:
        """Tell which boxes reach the left, and which the right side of a split."""
        family = int(self.family[split])
        place = split - self.start[family]
        low, high = self.low[family, boxes], self.high[family, boxes]
        if self.row[family] < 0:
            inside, outside = low <= place, high > place
        else:
            start = self.member_start[self.row[family]]
            mine = self.members[start[0] : start[-1]] == place
            # How many of the members before each box are this single.
            before = np.concatenate([[0], np.cumsum(mine)])[start - start[0]]
            reached = np.where(before[boxes + 1] > before[boxes], high, low)
            inside, outside = (reached & INSIDE) > 0, (reached & OUTSIDE) > 0
        return (outside, inside) if self.flipped[split] else (inside, outside)

    def is_still(self, family: int, person: Integers) -> bool:
        """Tell whether no box crosses a split of a family: all are where people are.

        Parameters
        ----------
        family
            The family.
        person : ndarray of shape (n_boxes,)
            Whose each box is.
        """
        own, low, high = self.own[family][person], self.low[family], self.high[family]
        row = self.row[family]
        if row < 0:
            return bool(((low == high) & (low == own)).all())
        size = self.start[family + 1] - self.start[family]
        start = self.member_start[row]
        is_inside = np.diff(start)
        alike = low == np.where(own == size + 1, INSIDE, OUTSIDE)
        alike &= (is_inside == 0) | (high == INSIDE)
        return bool(
            (alike & (is_inside == (own < size))).all()
            and (self.members[start[0] : start[-1]] == own[own < size]).all()
        )

    def tears_all(self, weights: Matrix) -> Flags:
        """Tell of each family whether all its splits tear some box of everybody.

        Parameters
        ----------
        weights
            The weights of the people; those of weight 0 do not count.
        """
        person = np.repeat(np.arange(len(weights)), np.diff(self.box_start))
        found = np.zeros(len(self.row), dtype=bool)
        for family, row in enumerate(self.row.tolist()):
            size = self.start[family + 1] - self.start[family]
            low, high = self.low[family], self.high[family]
            if row < 0:
                torn = (low == 0) & (high == size)
            else:
                own = np.diff(self.member_start[row])
                torn = ((high == BOTH) | (own == 0)) & ((low == BOTH) | (own == size))
            everywhere = np.bincount(person[torn], minlength=len(weights)) > 0
            found[family] = everywhere[weights > 0].all()
        return found


class Rows(NamedTuple):
    """The ranks once more, person by person: a pass over all families reads them so.

    Attributes
    ----------
    order : ndarray of shape (n_families,)
        The families: first those that no box crosses, because similar people are where
        the person is; then the other chains; then the other singles.
    n_still
        How many families no box crosses.
    own : ndarray of shape (n_people, n_families)
        The rank of each person, in that order.
    ends : ndarray of shape (n_boxes, n_crossed, 2)
        Both ranks of each box, in the other chains.
    """

    order: Integers
    n_still: int
    own: NDArray[np.uint16]
    ends: NDArray[np.uint16]

    @classmethod
    def of(cls, ranks: Ranks) -> Rows:
        """Arrange ranks anew."""
        person = np.repeat(np.arange(ranks.own.shape[1]), np.diff(ranks.box_start))
        kind = np.where(ranks.row < 0, 1, 2)
        for family in range(len(kind)):
            if ranks.is_still(family, person):
                kind[family] = 0
        order = np.argsort(kind, kind="stable")
        crossed = order[kind[order] == 1]
        ends = np.stack([ranks.low[crossed].T, ranks.high[crossed].T], axis=-1)
        return cls(
            order,
            int((kind == 0).sum()),
            np.ascontiguousarray(ranks.own[order].T),
            np.ascontiguousarray(ends),
        )


def stacked(rows: list[NDArray[Any]], width: int, dtype: Any) -> NDArray[Any]:
    """Return rows as an array, also if there are none."""
    return np.array(rows, dtype=dtype).reshape(len(rows), width)
