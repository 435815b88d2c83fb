"""Similarity in rank space: which cells two similar people may have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Numeric
from fatt.ensemble.trees import pack
from fatt.errors import SpecError
from fatt.region.boxes import Boxes
from fatt.region.kin import Kin
from fatt.verifier.kernels.records import CODES, KIN, ORDERED, Forest
from fatt.verifier.ranks import Variable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Kinship(NamedTuple):
    """How two similar people may differ, as `kernels.pairs` reads it.

    Attributes
    ----------
    kin, relation, allowed
        As `kernels.pairs.collect` takes them.
    is_symmetric
        Whether whoever is similar to somebody has that person as a similar one.
    """

    kin: NDArray[Any]
    relation: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]
    allowed: tuple[NDArray[Any], ...]
    is_symmetric: bool


class _Allowed(NamedTuple):
    """Which cells one person may have: of ordered variables a range, of others a set.

    Missing is the cell behind all.
    """

    cells: Flags
    first: int
    last: int
    missing: bool


def kinship_of(kin: Kin, cells: tuple[Variable, ...], forest: Forest) -> Kinship:
    """Bring who is similar to whom into rank space.

    Parameters
    ----------
    kin
        Who is similar to whom.
    cells
        The cells of each variable.
    forest
        The trees over them.

    Raises
    ------
    SpecError
        If noise of a variable turns back: larger numbers may become smaller ones than
        smaller numbers may.
    """
    count = len(cells)
    records = np.zeros(count, dtype=KIN)
    low: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    high, rows = list(low), [np.zeros(0, dtype=np.uint64)]
    n_ends = n_rows = 0
    is_symmetric = True
    first, last = np.zeros((2, count), np.int64), np.full((2, count), -1, np.int64)
    missing = np.zeros((2, count), dtype=np.bool_)
    codes = np.zeros((2, int(forest.variables["width"].sum())), dtype=np.uint64)
    for index, variable in enumerate(cells):
        both = [
            _allowed(kin, box, index, variable) for box in (kin.asked, kin.everybody)
        ]
        for person, mine in enumerate(both):
            first[person, index], last[person, index] = mine.first, mine.last
            missing[person, index] = mine.missing
            start, width = forest.variables[["set_start", "width"]][index]
            codes[person, start : start + width] = pack(mine.cells[np.newaxis])[0][
                :width
            ]
        if index not in kin.moving:
            is_symmetric &= bool((both[0].cells == both[1].cells).all())
            continue
        record = records[index]
        record["moves"] = 1
        if variable.kind == ORDERED:
            reach = _reach(kin, index, variable, *both)
            record["start"] = n_ends
            record["may_lose"], record["may_miss"] = reach.may_lose, reach.may_miss
            record["is_free"] = reach.is_free(*both)
            is_symmetric &= reach.is_symmetric(*both)
            n_ends += len(reach.low)
            low.append(reach.low)
            high.append(reach.high)
            continue
        similar = _similar(kin, index, variable, *both)
        record["start"] = n_rows
        record["is_free"] = bool(similar[both[0].cells][:, both[1].cells].all())
        is_symmetric &= bool((similar == similar.T).all())
        packed = pack(similar).ravel()
        n_rows += len(packed)
        rows.append(packed)
    return Kinship(
        records,
        (np.concatenate(low), np.concatenate(high), np.concatenate(rows)),
        (first, last, missing, codes),
        is_symmetric,
    )


def _allowed(kin: Kin, box: Boxes, index: int, variable: Variable) -> _Allowed:
    feature = kin.features[index]
    found = np.zeros(variable.n_cells + 1, dtype=bool)
    found[-1] = is_missing = bool(box.missing[0, index])
    if isinstance(feature, Categorical):
        found[:-1] = box.flags(kin.features, index)[0]
        return _Allowed(found, 0, -1, is_missing)
    low, high = box.lower[0, index], box.upper[0, index]
    first, last = 0, -1
    if low <= high:
        first, last = (int(np.searchsorted(variable.cuts, end)) for end in (low, high))
    found[first : last + 1] = True
    return _Allowed(found, first, last, is_missing)


def ends_of(
    kin: Kin, box: Boxes, index: int, variable: Variable, cells: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return the least and the most number of some cells that a box has."""
    feature = kin.features[index]
    assert isinstance(feature, Numeric)
    before = np.append(-np.inf, variable.cuts)[cells]
    after = before + 1.0 if feature.integer else np.nextafter(before, np.inf)
    after = np.where(
        before == -np.inf, -np.inf, np.maximum(after, np.nextafter(before, np.inf))
    )
    least = np.maximum(after, box.lower[0, index])
    most = np.minimum(np.append(variable.cuts, np.inf)[cells], box.upper[0, index])
    return least, most


class _Reach(NamedTuple):
    """How far each cell of an ordered variable goes.

    The first and the last similar cell of each cell, missing last; crossed if there is
    none. Then whether a number may become missing, and whether missing may stay so.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    may_lose: bool
    may_miss: bool

    def is_free(self, mine: _Allowed, other: _Allowed) -> bool:
        """Tell whether all cells that two people may have are similar."""
        low, high = self.low[mine.cells], self.high[mine.cells]
        has_numbers = other.first <= other.last
        if has_numbers and not ((low <= other.first) & (high >= other.last)).all():
            return False
        is_number = mine.first <= mine.last
        return not other.missing or (
            (self.may_lose or not is_number) and (self.may_miss or not mine.missing)
        )

    def is_symmetric(self, mine: _Allowed, other: _Allowed) -> bool:
        """Tell whether who is similar to somebody has that person as a similar one."""
        if not (mine.cells == other.cells).all():
            return False
        if mine.missing:
            lost = self.low[-1] <= mine.first and mine.last <= self.high[-1]
            none = self.low[-1] > self.high[-1]
            if mine.first <= mine.last and not (lost if self.may_lose else none):
                return False
        cells = np.arange(mine.first, mine.last + 1)
        low, high = self.low[cells], self.high[cells]
        first = mine.first + np.searchsorted(high, cells)
        last = mine.first - 1 + np.searchsorted(low, cells, side="right")
        return bool((first == low).all() and (last == high).all())


def _reach(
    kin: Kin, index: int, variable: Variable, mine: _Allowed, other: _Allowed
) -> _Reach:
    """Return how far each cell of an ordered variable goes.

    The ends of the cells tell all: a number lies in its own interval, and the ends of
    intervals rise with the numbers. So the intervals of a cell have no gap.
    """
    low = np.arange(variable.n_cells + 1)
    high = low.copy()
    # What is missing may be similar to no number.
    low[-1], high[-1] = variable.n_cells, -1
    lower, upper = kin.everybody.lower[0, index], kin.everybody.upper[0, index]
    may_lose = may_miss = False
    if mine.first <= mine.last:
        numbers = np.arange(mine.first, mine.last + 1)
        ends = ends_of(kin, kin.asked, index, variable, numbers)
        around = [kin.around(index, end) for end in ends]
        least = np.minimum(*(boxes.lower[:, index] for boxes in around))
        most = np.maximum(*(boxes.upper[:, index] for boxes in around))
        if (np.diff(least) < 0).any() or (np.diff(most) < 0).any():
            raise SpecError(
                f"noise of {kin.features[index].name!r} is so large that larger "
                "numbers may become smaller ones than smaller numbers may; questions "
                "about everybody take percentages below 100%."
            )
        if index in kin.rounded:
            # What is rounded twice may be off by a last bit: then a few pairs too many.
            room = 2 * np.spacing(np.maximum(*map(np.abs, ends)))
            least = np.minimum.accumulate((least - room)[::-1])[::-1]
            most = np.maximum.accumulate(most + room)
        low[numbers], high[numbers] = (
            np.searchsorted(variable.cuts, np.maximum(least, lower)),
            np.searchsorted(variable.cuts, np.minimum(most, upper)),
        )
        lost = around[0].missing[:, index]
        assert lost.all() == lost.any()
        may_lose = bool(lost.any()) and other.missing
    if mine.missing:
        boxes = kin.around(index, np.array([np.nan]))
        may_miss = bool(boxes.missing[0, index]) and other.missing
        least = max(boxes.lower[0, index], lower)
        most = min(boxes.upper[0, index], upper)
        if least <= most:
            low[-1], high[-1] = np.searchsorted(variable.cuts, [least, most])
    return _Reach(low, high, may_lose, may_miss)


def _similar(
    kin: Kin, index: int, variable: Variable, mine: _Allowed, other: _Allowed
) -> Flags:
    """Tell which cells of two people hold a similar pair, those for missing last."""
    n_cells = variable.n_cells
    similar = np.zeros((n_cells + 1, n_cells + 1), dtype=bool)
    own = np.flatnonzero(mine.cells)
    numbers = own[own < n_cells]
    if variable.kind == CODES:
        boxes = kin.around(index, np.where(own == n_cells, np.nan, own.astype(float)))
        similar[own, :-1] = boxes.flags(kin.features, index)
        similar[own, -1] = boxes.missing[:, index]
        return np.asarray(similar & other.cells)
    # Both ends of each cell of numbers; missing is its own end.
    values = list(ends_of(kin, kin.asked, index, variable, numbers))
    for cells, end in [(numbers, end) for end in values] + [
        (own[own == n_cells], np.full(int(mine.missing), np.nan))
    ]:
        boxes = kin.around(index, end)
        room = 2 * np.spacing(np.abs(end)) if index in kin.rounded else 0.0
        first = np.searchsorted(variable.cuts, boxes.lower[:, index] - room)
        last = np.searchsorted(variable.cuts, boxes.upper[:, index] + room)
        place = np.arange(n_cells)
        is_some = boxes.lower[:, index] <= boxes.upper[:, index]
        inside = (first[:, np.newaxis] <= place) & (place <= last[:, np.newaxis])
        similar[cells, :-1] |= is_some[:, np.newaxis] & inside
        similar[cells, -1] |= boxes.missing[:, index]
    # Numbers that the library reads as missing are missing.
    hole = slice(variable.hole[0], variable.hole[1] + 1)
    similar[:, hole] |= similar[:, -1:]
    return np.asarray(similar & other.cells)
