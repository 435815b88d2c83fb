"""Chance, so that little of it reaches much: even choices, numbers at thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Numeric

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Random = np.random.Generator

#: How often something that may be missing is, if it is drawn.
_SHARE_OF_MISSING = 0.15


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
