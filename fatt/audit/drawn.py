"""People drawn by chance from where somebody may move, as rows of the user's table.

Little chance is to reach much: choices are spread evenly, numbers lie at thresholds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature
from fatt.people import People
from fatt.people.edits import with_changes
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
    people
        All people.
    index : ndarray of shape (n_drawn,)
        The row of the person to whom each is similar, increasing.
    own, values : ndarray of shape (n_drawn, n_variables)
        The values of the person, and of the one who is similar.
    """

    people: People
    index: Places
    own: Floats
    values: Floats

    @classmethod
    def of(
        cls, people: People, index: Places, own: Floats, values: Floats
    ) -> Drawn | None:
        """Return those who are somebody else, each once; None if there is nobody."""
        rows = np.column_stack([index, values])
        first = {row.tobytes(): place for place, row in enumerate(rows)}
        keep = np.sort(np.array([*first.values()], dtype=np.int64))
        is_same = (values == own) | (np.isnan(values) & np.isnan(own))
        keep = keep[~is_same[keep].all(axis=1)]
        return cls(people, index[keep], own[keep], values[keep]) if keep.size else None

    def __len__(self) -> int:
        return len(self.index)

    @functools.cached_property
    def table(self) -> Any:
        """All of them in one table."""
        variables = self.people.variables
        before, after = map(variables.scatter, (self.own, self.values))
        rows = self.people.take(self.index)
        return with_changes(rows, before, after, variables.model)

    def alone(self, place: int) -> Drawn:
        """Return one of them, whose table has no others."""
        one = slice(place, place + 1)
        own, values = self.own[one], self.values[one]
        return replace(self, index=self.index[one], own=own, values=values)

    def changes(self, place: int) -> str:
        """Say how one of them differs from the person, as far as we can read it."""
        features = self.people.variables.ensemble.features
        own, other = self.own[place], self.values[place]
        changes = changes_between(
            values_of(features, own), values_of(features, other, made_of=own)
        )
        return ", ".join(f"{name} {change}" for name, change in changes.items())


class Reach(NamedTuple):
    """Where people may move: one row for each who is to be drawn.

    Attributes
    ----------
    low, high : ndarray of shape (n_drawn, n_variables)
        The smallest and the largest number; crossed where there is none.
    missing : ndarray of shape (n_drawn, n_variables)
        Whether missing is allowed.
    codes
        By variable, the codes of categories that may change, one row each.
    """

    low: Floats
    high: Floats
    missing: Flags
    codes: dict[int, Flags]


class Axes(NamedTuple):
    """Where the model tells numbers apart, and what numbers there are, by variable.

    Attributes
    ----------
    is_number : ndarray of shape (n_variables,)
        Which variables are numbers; the rest is about these.
    line : ndarray
        All thresholds of all variables, each once, increasing.
    keys, cuts : ndarray
        The thresholds of all variables behind each other, each's own increasing; the
        key counts the variable first, and then the place on the line.
    least, most : ndarray of shape (n_variables,)
        The smallest and largest finite threshold; crossed if there is none.
    whole : ndarray of shape (n_variables,)
        Which are whole.
    gap_low, gap_high : ndarray of shape (n_variables,)
        The numbers that are read as missing; crossed if there are none.
    """

    is_number: Flags
    line: Floats
    keys: Places
    cuts: Floats
    least: Floats
    most: Floats
    whole: Flags
    gap_low: Floats
    gap_high: Floats

    @classmethod
    def of(cls, ensemble: Ensemble) -> Axes:
        """Return the axes of a model."""
        features = ensemble.features
        cuts = [_cuts(ensemble, index, one) for index, one in enumerate(features)]
        finite = [some[np.isfinite(some)] for some in cuts]
        whole = [getattr(feature, "integer", False) for feature in features]
        gaps = [getattr(one, "missing_range", None) or (1.0, 0.0) for one in features]
        line = np.unique(np.concatenate([*cuts, np.empty(0)]))
        keys = [
            index * (len(line) + 1) + np.searchsorted(line, some)
            for index, some in enumerate(cuts)
        ]
        return cls(
            np.array([not isinstance(one, Categorical) for one in features], bool),
            line,
            np.concatenate([*keys, np.empty(0, dtype=np.int64)]),
            np.concatenate([*cuts, np.empty(0)]),
            np.array([some.min(initial=np.inf) for some in finite]),
            np.array([some.max(initial=-np.inf) for some in finite]),
            np.array(whole, dtype=bool),
            *np.array(gaps).reshape(-1, 2).T,
        )

    def between(
        self, index: Places, low: Floats, high: Floats
    ) -> tuple[Places, Places]:
        """Return the first threshold of each range, and the first behind it."""
        start = index * (len(self.line) + 1)
        first = start + np.searchsorted(self.line, low)
        last = start + np.searchsorted(self.line, high, side="right")
        return np.searchsorted(self.keys, first), np.searchsorted(self.keys, last)


def _cuts(ensemble: Ensemble, index: int, feature: Feature) -> Floats:
    if isinstance(feature, Categorical):
        return np.empty(0)
    return np.union1d(ensemble.thresholds(index), feature.edges)


def sample(axes: Axes, reach: Reach, own: Floats, rng: Random) -> Floats:
    """Return the values of people drawn from where each may move.

    Parameters
    ----------
    axes
        All variables.
    reach
        Where each may move.
    own : ndarray of shape (n_drawn, n_variables)
        The values of the people to whom they are to be similar.
    rng
        The source of chance.
    """
    values, known = own.copy(), ~np.isnan(own)
    moves = (reach.missing & known) | (reach.low < reach.high)
    moves |= ~known & axes.is_number & (reach.low <= reach.high)
    others = {
        index: _without(flags, own[:, index]) for index, flags in reach.codes.items()
    }
    for index, flags in others.items():
        moves[:, index] |= flags.any(axis=1)
    changes = choose(moves, rng)
    for index, flags in others.items():
        some = changes[:, index].nonzero()[0]
        if some.size:
            mine = flags[some]
            codes = pick(mine, strata(rng, len(some))).astype(np.float64)
            is_absent = ~mine.any(axis=1) | _by_chance(len(some), rng)
            codes[is_absent & reach.missing[some, index]] = np.nan
            values[some, index] = codes
    cells = np.nonzero(changes & axes.is_number)
    if cells[0].size:
        ends = reach.low[cells], reach.high[cells]
        numbers = draw_numbers(axes, cells[1], ends, own[cells], rng)
        is_absent = (ends[0] > ends[1]) | _by_chance(len(numbers), rng)
        numbers[is_absent & reach.missing[cells]] = np.nan
        values[cells] = numbers
    return values


def within_budget(
    costs: Places, most: Places, own: Floats, values: Floats, rng: Random
) -> Floats:
    """Return values of which only so many differ as can be paid, in any order.

    Parameters
    ----------
    costs : ndarray of shape (n_drawn, n_variables)
        What each value costs.
    most : ndarray of shape (n_drawn,)
        How much may be spent.
    own, values : ndarray of shape (n_drawn, n_variables)
        The values of the people, and those that were drawn.
    rng
        The source of chance.
    """
    order = rng.permuted(np.tile(np.arange(costs.shape[1]), (len(costs), 1)), axis=1)
    rows, spent, found = (
        np.arange(len(costs)),
        np.zeros(len(costs), np.int64),
        own.copy(),
    )
    for index in order.T:
        cost = costs[rows, index]
        is_paid = cost <= most - spent
        spent += np.where(is_paid, cost, 0)
        found[rows[is_paid], index[is_paid]] = values[rows[is_paid], index[is_paid]]
    return found


def _without(flags: Flags, codes: Floats) -> Flags:
    """Return the flags without each row's own code."""
    others = flags.copy()
    known = np.flatnonzero(~np.isnan(codes))
    others[known, codes[known].astype(np.int64)] = False
    return others


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
    share = rng.integers(3, size=(len(moves), 1)) / 2
    chance = np.where(moves, rng.random(moves.shape), 2.0)
    is_one = chance == chance.min(axis=1, keepdims=True)
    return np.asarray(moves & (is_one | (chance < share)))


def _by_chance(count: int, rng: Random) -> Flags:
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
    kind, share = rng.random((2, count))
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = near_low + share * (near_high - near_low)
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
