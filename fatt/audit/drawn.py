"""People made from others: drawn by chance, as rows of the user's own kind of table.

Little chance is to reach much: choices are spread evenly, numbers lie at thresholds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.columns import Codes, Column
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.ensemble.tables import places_of
from fatt.people import People
from fatt.people.edits import with_changes
from fatt.region import Variables
from fatt.verdict import changes_between, values_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Random = np.random.Generator

#: How often something that may be missing is, if it is drawn.
_SHARE_OF_MISSING = 0.15


@dataclass(frozen=True, eq=False)
class Drawn:
    """People similar to others, in the user's own kind of table.

    Attributes
    ----------
    index : ndarray of shape (n_drawn,)
        The row of the person to whom each is similar, increasing.
    make
        Makes a table of some of them, given their places.
    own, values : ndarray of shape (n_drawn, n_variables)
        The values of the person, and of the one who is similar.
    """

    index: Places
    make: Callable[[Places], Any]
    own: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.index)

    @functools.cached_property
    def table(self) -> Any:
        """All of them in one table."""
        return self.make(np.arange(len(self)))

    def alone(self, place: int) -> Drawn:
        """Return one of them, in a table of its own."""
        one = np.array([place])
        return Drawn(
            self.index[one],
            lambda places: self.make(one[places]),
            self.own[one],
            self.values[one],
        )

    def changes(self, place: int, variables: Variables) -> str:
        """Say how one of them differs from the person, as far as we can read it."""
        features = variables.ensemble.features
        own, other = self.own[place], self.values[place]
        changes = changes_between(
            values_of(features, own), values_of(features, other, made_of=own)
        )
        return ", ".join(f"{name} {change}" for name, change in changes.items())


class Drafts:
    """People in the making: each begins as the person to whom it is to be similar.

    Attributes
    ----------
    columns
        The columns behind each variable.
    index : ndarray of shape (n_drawn,)
        The row of that person.
    own, values : ndarray of shape (n_drawn, n_variables)
        That person's values, and the values that are written.
    donor : ndarray of shape (n_drawn, n_variables)
        From which row the cells of each variable are taken.
    seen : ndarray of shape (n_drawn, n_variables)
        What these cells, or the values that are written, mean to us.
    """

    def __init__(self, index: Places, own: Floats, columns: tuple[Column, ...]) -> None:
        self.index, self.own, self.columns = index, own, columns
        self.values, self.seen = own.copy(), own.copy()
        self.donor = np.repeat(index[:, np.newaxis], own.shape[1], axis=1)

    def write(self, who: Places, index: int | Places, values: Floats) -> None:
        """Give some of them a value, all in one variable or each in one."""
        self.values[who, index] = self.seen[who, index] = values

    def take(self, who: Places, index: int, rows: Places, values: Floats) -> None:
        """Give some of them the cells of others, who have these values."""
        self.donor[who, index] = rows
        self.seen[who, index] = values

    def drawn(self, people: People, variables: Variables) -> Drawn | None:
        """Return those who are somebody else, each once."""
        taken = self.donor != self.index[:, np.newaxis]
        # Cells that mean the same to us are the same, unless we do not know them.
        known = [
            len(one.labels) if isinstance(one, Codes) else np.inf
            for one in self.columns
        ]
        is_unknown = taken & (self.seen >= np.array(known))
        is_other = ~_equal(self.seen, self.own) | is_unknown
        key = np.where(is_unknown, -1.0 - self.donor, self.seen)
        rows = np.column_stack([self.index, is_unknown, key])
        first = {row.tobytes(): place for place, row in enumerate(rows)}
        keep = np.sort(np.array([*first.values()], dtype=np.int64))
        keep = keep[is_other[keep].any(axis=1)]
        if not keep.size:
            return None

        def make(places: Places) -> Any:
            some = keep[places]
            table = self._exchanged(people, variables.model, some)
            before, after = map(variables.scatter, (self.own[some], self.values[some]))
            return with_changes(table, before, after, variables.model)

        return Drawn(self.index[keep], make, self.own[keep], self.seen[keep])

    def _exchanged(self, people: People, model: Ensemble, keep: Places) -> Any:
        """Return rows of the user's table, with cells of others as they stand there."""
        index, donor = self.index[keep], self.donor[keep]
        rows = people.take(index)
        taken = (donor != index[:, np.newaxis]).any(axis=0)
        columns = [
            (place, donor[:, variable])
            for variable in np.flatnonzero(taken).tolist()
            for place in self.columns[variable].columns
        ]
        if people.frame is None:
            for column, row in columns:
                rows[:, column] = people.table[row, column]
            return rows
        places = places_of(people.frame, model.features, model.inputs)
        for column, row in columns:
            rows = _with_column(people, rows, places[column], row)
        return rows


def _equal(values: Floats, others: Floats) -> Flags:
    return np.asarray((values == others) | (np.isnan(values) & np.isnan(others)))


def _with_column(people: People, rows: Any, place: int, donor: Places) -> Any:
    import narwhals as nw

    frame = people.frame
    assert frame is not None
    if frame.implementation.is_pandas_like():
        rows = rows.copy(deep=False)
        cells = frame.to_native().iloc[donor, place]
        cells.index = rows.index
        rows.isetitem(place, cells)
        return rows
    cells = frame[:, place][donor.tolist()]
    return nw.from_native(rows, eager_only=True).with_columns(cells).to_native()


def strata(rng: Random, count: int) -> Floats:
    """Return numbers from 0 to 1 in any order, evenly spread: all choices come up."""
    return (rng.permutation(count) + rng.random(count)) / max(1, count)


def pick(flags: Flags, share: Floats) -> Places:
    """Return of each row the place of one of its flags: the first at 0, the last at 1.

    Rows without any give 0.
    """
    number = flags.sum(axis=1)
    rank = np.minimum((share * number).astype(np.int64), number - 1)
    return np.asarray((np.cumsum(flags, axis=1) > rank[:, np.newaxis]).argmax(axis=1))


def choose(moves: Flags, rng: Random) -> Flags:
    """Choose what changes of what may: all of it, half of it, or one thing."""
    share = rng.choice([1.0, 0.5, 0.0], size=(len(moves), 1))
    chance = np.where(moves, rng.random(moves.shape), 2.0)
    is_one = chance == chance.min(axis=1, keepdims=True)
    return np.asarray(moves & (is_one | (chance < share)))


class Axes(NamedTuple):
    """Where the model tells numbers apart, and what numbers there are, by variable.

    Attributes
    ----------
    is_number : ndarray of shape (n_variables,)
        Which variables are numbers; the rest is about these.
    cuts : ndarray
        The thresholds of all variables behind each other, each's own increasing.
    starts : ndarray of shape (n_variables + 1,)
        Where those of each begin.
    least, most : ndarray of shape (n_variables,)
        The smallest and largest finite threshold; crossed if there is none.
    whole : ndarray of shape (n_variables,)
        Which are whole.
    gap_low, gap_high : ndarray of shape (n_variables,)
        The numbers that are read as missing; crossed if there are none.
    """

    is_number: Flags
    cuts: Floats
    starts: Places
    least: Floats
    most: Floats
    whole: Flags
    gap_low: Floats
    gap_high: Floats

    @classmethod
    def of(cls, ensemble: Ensemble) -> Axes:
        """Return the axes of a model."""
        features = ensemble.features
        is_number = [not isinstance(feature, Categorical) for feature in features]
        cuts = [
            np.union1d(ensemble.thresholds(index), feature.edges)
            if isinstance(feature, Numeric)
            else np.empty(0)
            for index, feature in enumerate(features)
        ]
        finite = [some[np.isfinite(some)] for some in cuts]
        gaps = [
            getattr(feature, "missing_range", None) or (1.0, 0.0)
            for feature in features
        ]
        return cls(
            np.array(is_number, dtype=bool),
            np.concatenate([*cuts, np.empty(0)]),
            np.cumsum([0, *map(len, cuts)], dtype=np.int64),
            np.array([some.min(initial=np.inf) for some in finite]),
            np.array([some.max(initial=-np.inf) for some in finite]),
            np.array([getattr(one, "integer", False) for one in features], dtype=bool),
            *np.array(gaps).reshape(-1, 2).T,
        )

    def between(
        self, index: Places, low: Floats, high: Floats
    ) -> tuple[Places, Places]:
        """Return the first threshold of each range, and the first behind it."""
        first, last = np.zeros((2, len(index)), dtype=np.int64)
        for one in np.unique(index).tolist():
            mine, start = index == one, self.starts[one]
            cuts = self.cuts[start : self.starts[one + 1]]
            first[mine] = start + np.searchsorted(cuts, low[mine])
            last[mine] = start + np.searchsorted(cuts, high[mine], side="right")
        return first, last


def by_chance(count: int, rng: Random) -> Flags:
    """Tell who has nothing there, of those who may."""
    return np.asarray(rng.random(count) < _SHARE_OF_MISSING)


def draw_numbers(
    axes: Axes,
    index: Places,
    ends: tuple[Floats, Floats],
    own: Floats,
    rng: Random,
) -> Floats:
    """Return a number between two ends: anywhere, at an end, or at a threshold.

    Parameters
    ----------
    axes
        All variables.
    index, own : ndarray of shape (n_numbers,)
        Of which variable each number is to be, and that of the person.
    ends
        The smallest and the largest that it may be.
    rng
        The source of chance.
    """
    low, high = ends
    count = len(own)
    near_low, near_high = _within_reach(axes, index, ends, own)
    kind = rng.random(count)
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = near_low + rng.random(count) * (near_high - near_low)
    numbers = np.where(kind < 0.1, low, np.where(kind > 0.9, high, numbers))
    first, last = axes.between(index, low, high)
    at = (kind > 0.1) & (kind < 0.6) & (first < last)
    whole = axes.whole[index]
    if at.any():
        place = first + (strata(rng, count) * (last - first)).astype(np.int64)
        numbers[at] = _beside(axes.cuts[place[at]], whole[at], rng)
    numbers = np.where(whole, np.rint(numbers), numbers)
    numbers = np.clip(numbers, np.minimum(low, high), np.maximum(low, high))
    # Nobody has a number that only stands for missing.
    is_gap = (numbers >= axes.gap_low[index]) & (numbers <= axes.gap_high[index])
    return np.where(is_gap, own, numbers)


def _within_reach(
    axes: Axes, index: Places, ends: tuple[Floats, Floats], own: Floats
) -> tuple[Floats, Floats]:
    """Cut what has no end down to where the model tells numbers apart."""
    known = np.where(np.isfinite(own), own, 0.0)
    least = np.minimum(axes.least[index], known)
    most = np.maximum(axes.most[index], known)
    with np.errstate(over="ignore"):
        beyond = most - least + 1.0
        least = np.maximum(least - beyond, -1e300)
        most = np.minimum(most + beyond, 1e300)
    return np.clip(ends[0], least, most), np.clip(ends[1], least, most)


def _beside(cuts: Floats, whole: Flags, rng: Random) -> Floats:
    """Return thresholds or neighbours: in float64, in float32, or whole numbers."""
    kind = rng.integers(5, size=len(cuts))
    with np.errstate(over="ignore"):
        single = cuts.astype(np.float32)
        wide = np.nextafter(single, np.float32(np.inf) * (1 - 2 * (kind % 2)))
        below, above = np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)
    near = np.choose(kind, [cuts, below, above, *2 * [wide.astype(np.float64)]])
    return np.where(whole, np.floor(cuts) + kind % 2, near)
