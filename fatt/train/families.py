"""Splits sorted into families, and people and boxes ranked among them.

`fatt.train.kernels` describes both kinds of families.
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
from fatt.train.ranks import INSIDE, OUTSIDE, Ranks, stacked

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

#: A rank, and the two behind the last one, must fit into 16 bits.
_LONGEST = 60_000


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
    """Tell which codes of a variable anybody may have."""
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
