"""Splits sorted into families, and people and boxes ranked among them.

`fatt.train.kernels` describes both kinds of families, and what the ranks are for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Trees
from fatt.ensemble.trees import n_words
from fatt.region import Boxes

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

#: What a box reaches of a split, as bits.
INSIDE, OUTSIDE, BOTH = 1, 2, 3

#: A rank, and the two behind the last one, must fit into 16 bits.
_LONGEST = 60_000


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
            # The members of other families stay where they are, unused.
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
            The person of each box.
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
        """Tell of each family whether all its splits tear some box of each person.

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


@dataclass
class _Family:
    """A family of splits, and their thresholds, sets or single codes."""

    variable: int
    inside: bool
    is_chain: bool
    flipped: bool
    splits: list[int] = field(default_factory=list)
    sides: list[Any] = field(default_factory=list)


def rank(
    stumps: Trees,
    features: tuple[Feature, ...],
    values: Matrix,
    boxes: Boxes,
) -> tuple[list[int], Ranks]:
    """Sort splits into families, and rank people and boxes among them.

    Parameters
    ----------
    stumps
        Every split as a tree of its own, over the variables.
    features
        The variables.
    values : ndarray of shape (n_people, n_variables)
        The people.
    boxes
        Where they may move.

    Returns
    -------
    order
        The splits, family by family.
    ranks
        The ranks, by the numbers of the splits in that order.
    """
    codes = [_codes(boxes, features, place) for place in range(len(features))]
    families = _families(
        stumps, [_possible(*one) for one in zip(features, codes, strict=True)]
    )
    # For each family; the last two for each family of singles.
    own: list[Integers] = []
    low: list[Integers] = []
    high: list[Integers] = []
    row: list[int] = []
    first: list[Integers] = []
    members: list[Integers] = []
    for family in families:
        given = values[:, family.variable], boxes, codes[family.variable]
        row.append(-1 if family.is_chain else len(first))
        if family.is_chain:
            ranked = _rank_in_chain(family, *given)
        else:
            ranked, begin, mine = _rank_among_singles(family, *given)
            first.append(begin + sum(map(len, members)))
            members.append(mine)
        for found, numbers in zip((own, low, high), ranked, strict=True):
            found.append(numbers)
    sizes = [len(family.splits) for family in families]
    ranks = Ranks(
        start=np.cumsum([0, *sizes], dtype=np.int64),
        row=np.array(row, dtype=np.int64),
        family=np.repeat(np.arange(len(families), dtype=np.int64), sizes),
        flipped=np.repeat([family.flipped for family in families], sizes).astype(bool),
        own=stacked(own, len(values), np.uint16),
        low=stacked(low, len(boxes), np.uint16),
        high=stacked(high, len(boxes), np.uint16),
        member_start=stacked(first, len(boxes) + 1, np.int64),
        members=np.concatenate([np.zeros(0), *members]).astype(np.uint16),
        box_start=boxes.starts(len(values)),
    )
    return [split for family in families for split in family.splits], ranks


class _Codes(NamedTuple):
    """The codes that boxes hold of a variable, box by box."""

    box: Integers
    code: Integers


def _codes(boxes: Boxes, features: tuple[Feature, ...], place: int) -> _Codes:
    if not isinstance(features[place], Categorical):
        nothing = np.zeros(0, dtype=np.int64)
        return _Codes(nothing, nothing)
    return _Codes(*boxes.flags(features, place).nonzero())


def _possible(feature: Feature, codes: _Codes) -> Flags:
    """Tell which codes of a variable occur in any box."""
    size = feature.n_codes if isinstance(feature, Categorical) else 0
    return np.bincount(codes.code, minlength=size) > 0


def _families(stumps: Trees, possible: list[Flags]) -> list[_Family]:
    nodes = stumps.nodes[stumps.roots]
    found: dict[tuple[Any, ...], list[_Family]] = {}

    def put(like: _Family, split: int, side: Any, fits: Callable[[Any], bool]) -> None:
        alike = found.setdefault(
            (like.variable, like.inside, like.is_chain, like.flipped), []
        )
        # Most fit into the newest.
        family = next((one for one in reversed(alike) if fits(one.sides)), like)
        if family is like:
            alike.append(family)
        family.splits.append(split)
        family.sides.append(side)

    def has_room(sides: list[Any]) -> bool:
        return len(sides) < _LONGEST

    for split in np.argsort(nodes["threshold"], kind="stable").tolist():
        node = nodes[split]
        if node["subset"] < 0:
            chain = _Family(
                int(node["feature"]), bool(node["missing_left"]), True, False
            )
            put(chain, split, float(node["threshold"]), has_room)
    sets = {
        split: _set_of(stumps, nodes[split], possible[nodes[split]["feature"]])
        for split in np.flatnonzero(nodes["subset"] >= 0).tolist()
    }
    for split in sorted(sets, key=lambda split: int(sets[split].sum())):
        left, node = sets[split], nodes[split]
        variable, missing_left = int(node["feature"]), bool(node["missing_left"])
        right = possible[variable] & ~left
        if left.sum() == 1 or right.sum() == 1:
            flipped = bool(left.sum() != 1)
            code = int(np.argmax(right if flipped else left))
            single = _Family(variable, missing_left != flipped, False, flipped)
            put(single, split, code, partial(_lacks, code))
        else:
            chain = _Family(variable, missing_left, True, False)
            put(
                chain,
                split,
                left,
                partial(_fits_into, left),
            )
    return [family for alike in found.values() for family in alike]


def _lacks(code: int, sides: list[Any]) -> bool:
    return code not in sides


def _fits_into(left: Flags, sides: list[Any]) -> bool:
    return len(sides) < _LONGEST and not (sides[-1] & ~left).any()


def _set_of(stumps: Trees, node: Any, possible: Flags) -> Flags:
    """Return which of the possible codes go to the left of a set split."""
    first = int(node["subset"])
    words = stumps.words[first : first + n_words(len(possible))].astype("<u8")
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return bits[: len(possible)].astype(bool) & possible


def _rank_in_chain(
    family: _Family, values: Matrix, boxes: Boxes, codes: _Codes
) -> tuple[Integers, Integers, Integers]:
    """Return the ranks of people, and the two ranks of boxes."""
    size, missing = len(family.splits), np.isnan(values)
    if isinstance(family.sides[0], float):
        own = np.searchsorted(family.sides, values)
        lower, upper = boxes.lower[:, family.variable], boxes.upper[:, family.variable]
        is_number = lower <= upper
        # In most columns nothing may change.
        is_fixed = np.array_equal(lower, values) and np.array_equal(upper, values)
        ends = [
            own if is_fixed else np.searchsorted(family.sides, end)
            for end in (lower, upper)
        ]
        low, high = np.where(is_number, ends[0], size), np.where(is_number, ends[1], 0)
    else:
        # A code is inside from the first set on that holds it.
        of_code = size - np.sum(family.sides, axis=0)
        own = of_code[np.where(missing, 0, values).astype(np.int64)]
        low, high = np.full(len(boxes), size), np.zeros(len(boxes), dtype=np.int64)
        np.minimum.at(low, codes.box, of_code[codes.code])
        np.maximum.at(high, codes.box, of_code[codes.code])
    may_miss = boxes.missing[:, family.variable]
    if family.inside:
        return np.where(missing, 0, own), np.where(may_miss, 0, low), high
    return np.where(missing, size, own), low, np.where(may_miss, size, high)


def _rank_among_singles(
    family: _Family, values: Matrix, boxes: Boxes, codes: _Codes
) -> tuple[tuple[Integers, Integers, Integers], Integers, Integers]:
    """Return the ranks of people and boxes, and the own singles of boxes."""
    size, missing = len(family.splits), np.isnan(values)
    of_code = np.full(int(max(codes.code, default=0)) + 1, size)
    of_code[family.sides] = np.arange(size)
    own = of_code[np.where(missing, 0, values).astype(np.int64)]
    own[missing] = size + 1 if family.inside else size
    count = np.bincount(codes.box, minlength=len(boxes))
    may_miss = boxes.missing[:, family.variable]
    lost_inside, lost_outside = may_miss & family.inside, may_miss & (not family.inside)
    low = INSIDE * lost_inside + OUTSIDE * ((count > 0) | lost_outside)
    high = INSIDE + OUTSIDE * ((count > 1) | lost_outside)
    single = of_code[codes.code]
    known = single < size
    begin = np.searchsorted(codes.box[known], np.arange(len(boxes) + 1))
    return (own, low, high), begin, single[known]
