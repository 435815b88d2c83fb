"""Columns made of one raw column each: the algebra of all preprocessing.

A column starts as a raw column and passes steps, each of which computes with one number
at a time (`Step`). What comes out is a function of the raw number (`Mapped`) that is
monotone between known edges, or a number per category (`Coded`). Both say which raw
values the steps take, and where on the raw line a split changes sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fatt.ensemble import Categorical, Feature, Inputs, Numeric
from fatt.ensemble.encoding import encode
from fatt.ensemble.floats import (
    below_float32,
    from_ordinal,
    largest_where,
    to_ordinal,
)
from fatt.errors import UnsupportedModelError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: How far, in units in the last place, a rounded function may be from the true one.
#: NumPy's tests hold its logarithms and powers to 4 of them, and the source of scipy
#: says 7 of its normal quantile.
_ULPS = 64
#: How many errors apart two values are surely in order: one for each, and for what
#: more it may be of numbers between them.
_SLACK = 4
#: How many numbers around a cut are tried out.
_TRIED = 2**20
#: Of the last units that are finite.
_HUGE = 2.0**1023


@dataclass(frozen=True)
class Same:
    """A column that is a raw column as it is, of numbers or of categories.

    Attributes
    ----------
    source
        Index of the raw feature.
    """

    source: int


@dataclass(frozen=True)
class Mapped:
    """A column of numbers computed from one raw numeric column.

    Attributes
    ----------
    source
        Index of the raw feature, a `Numeric`.
    function
        Takes an array of raw numbers of any shape and returns the column's,
        elementwise; NaN where the column is missing. Called only with numbers within
        the raw feature's bounds.
    missing
        What a missing raw cell becomes; NaN if it stays missing.
    edges
        Increasing. Within each cell ``(edges[i-1], edges[i]]`` the function is
        monotone, in either direction, or NaN throughout; without edges it is so
        everywhere.
    before, last
        If the function is monotone but for rounding: its last step, and the column
        before it.
    """

    source: int
    function: Callable[[Floats], Floats]
    missing: float = math.nan
    edges: tuple[float, ...] = ()
    before: Mapped | None = None
    last: Step | None = None


@dataclass(frozen=True)
class Coded:
    """A column of numbers looked up by the code of one raw categorical column.

    Attributes
    ----------
    source
        Index of the raw feature, a `Categorical`.
    table
        The number for each category and, at the end, for an unknown one; NaN where
        the column is missing.
    missing
        What a missing raw cell becomes; NaN if it stays missing.
    """

    source: int
    table: Floats
    missing: float = math.nan


Column: TypeAlias = Same | Mapped | Coded


#: Takes every number, and missing ones.
ANYTHING = Numeric(name="")


@dataclass(frozen=True)
class Step:
    """What is done to a column of numbers, one number at a time.

    Attributes
    ----------
    function, edges, missing
        As in `Mapped`, of the numbers that the step gets.
    taker
        Which numbers the step takes.
    error
        How far its values may be from those of a function that is monotone in each
        cell, such as the true logarithm; None if it is so itself, to the last bit.
    """

    function: Callable[[Floats], Floats]
    taker: Feature = ANYTHING
    missing: float = math.nan
    edges: tuple[float, ...] = ()
    error: Callable[[Floats], Floats] | None = None

    def of(self, numbers: Floats) -> Floats:
        """Return what becomes of numbers."""
        here = ~np.isnan(numbers)
        result = np.full(numbers.shape, self.missing)
        result[here] = self.function(numbers[here])
        return result

    def after(self, column: Mapped, raw: Numeric) -> tuple[Mapped, Numeric]:
        """Return the column behind this step, and what is left of the raw feature.

        Raises
        ------
        UnsupportedModelError
            If the raw numbers that are left are no interval.
        """
        if self.taker is not ANYTHING:
            narrowed = narrow(raw, column, self.taker)
            assert isinstance(narrowed, Numeric)
            raw = narrowed
        edges: tuple[float, ...] = column.edges
        if self.edges:
            edges = tuple(cuts_of(column, raw, np.array(self.edges)).tolist())
        before = column.function

        def function(numbers: Floats) -> Floats:
            return self.of(before(numbers))

        is_rounded = self.error is not None or column.before is not None
        after = Mapped(
            source=column.source,
            function=function,
            missing=float(self.of(np.array([column.missing]))[0]),
            edges=tuple(edge for edge in edges if math.isfinite(edge)),
            before=column if is_rounded else None,
            last=self if is_rounded else None,
        )
        return after, raw


def follow(source: int, steps: Iterable[Step], raw: Numeric) -> tuple[Mapped, Numeric]:
    """Send a raw column of numbers through steps.

    Parameters
    ----------
    source, raw
        The raw feature and its index.
    steps
        The steps.

    Returns
    -------
    column : Mapped
        The column behind the last step.
    raw : Numeric
        The raw feature, without the numbers that some step refuses.
    """
    column = Mapped(source=source, function=identity)
    for step in steps:
        column, raw = step.after(column, raw)
    return column, raw


def identity(numbers: Floats) -> Floats:
    """Return numbers as they are: the function of a column not computed with yet."""
    return numbers


def around(numbers: ArrayLike) -> tuple[float, ...]:
    """Return the edges that give each number a cell of its own."""
    own = np.asarray(numbers, dtype=np.float64)
    return tuple(np.unique(np.concatenate([own, below(own)])).tolist())


def table_of(keys: Floats, values: Floats, other: float) -> Callable[[Floats], Floats]:
    """Return what looks numbers up among distinct keys; the edges are `around` them.

    Parameters
    ----------
    keys, values : ndarray of shape (n_keys,)
        The keys, in any order, and what each becomes.
    other
        What all other numbers become.
    """
    order = np.argsort(keys)
    keys, values = keys[order], values[order]

    def function(numbers: Floats) -> Floats:
        if not len(keys):
            return np.full_like(numbers, other)
        place = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
        return np.where(keys[place] == numbers, values[place], other)

    return function


def narrow(feature: Feature, column: Mapped | Coded, taker: Feature) -> Feature:
    """Return the raw feature without the values whose image `taker` refuses.

    Parameters
    ----------
    feature
        The raw feature.
    column
        The column made of it.
    taker
        The feature of a model, or of another transformer, that reads the column.

    Raises
    ------
    UnsupportedModelError
        If the values left over are no interval, or lack a known category.
    """
    takes_missing = feature.accepts_missing and bool(
        takes(taker, np.array([column.missing]))[0]
    )
    if isinstance(column, Coded):
        assert isinstance(feature, Categorical)
        taken = takes(taker, column.table)
        if not taken[:-1].all():
            category = feature.categories[int(np.argmin(taken))]
            raise UnsupportedModelError(
                f"column {feature.name!r}: the model refuses what the preprocessing "
                f"makes of the category {category!r}, so it cannot be told which "
                "values the column may have."
            )
        return msgspec.structs.replace(
            feature,
            accepts_missing=takes_missing,
            accepts_unknown=feature.accepts_unknown and bool(taken[-1]),
        )
    assert isinstance(feature, Numeric)
    if _takes_all(feature, column, taker):
        return msgspec.structs.replace(feature, accepts_missing=takes_missing)
    cuts = cuts_of(column, feature, critical_of(taker))
    ends = np.append(cuts, feature.upper)
    taken = takes(taker, column.function(np.clip(ends, feature.lower, feature.upper)))
    first, last = int(np.argmax(taken)), len(taken) - 1 - int(np.argmax(taken[::-1]))
    if not taken[first : last + 1].all():
        raise UnsupportedModelError(
            f"column {feature.name!r}: the model refuses what the preprocessing makes "
            "of some numbers between others that it takes, or of all of them; such a "
            "column cannot be described."
        )
    lowest = -np.inf if first == 0 else float(above(cuts[first - 1]))
    return msgspec.structs.replace(
        feature,
        lower=max(feature.lower, lowest),
        upper=min(feature.upper, float(ends[last])),
        accepts_missing=takes_missing,
    )


def _takes_all(feature: Numeric, column: Mapped, taker: Feature) -> bool:
    """Fast path: tell whether every number is taken."""
    if isinstance(taker, Categorical) or taker.missing_range or column.before:
        return False
    # A monotone function lies between its values at the ends.
    ends = np.concatenate(pieces(column.edges, feature.lower, feature.upper))
    return bool(takes(taker, column.function(ends)).all())


def cuts_of(column: Mapped, raw: Numeric, critical: Floats) -> Floats:
    """Cut the raw line where the column's pieces end or its value passes a number.

    Between two cuts the column stays within one of the cells that `critical`, which is
    increasing, makes of its own line.
    """
    pulled = cuts_by_piece(column, raw, critical)
    return np.unique(np.concatenate([column.edges, pulled.ravel()]))


def cuts_by_piece(column: Mapped, raw: Numeric, critical: Floats) -> Floats:
    """Return where the column passes each number, in each of its monotone pieces.

    Parameters
    ----------
    column, raw
        The column and the raw feature it is made of.
    critical
        The numbers, increasing.

    Returns
    -------
    ndarray of shape (n_passes, n_critical)
        Up to such a place the column is at most the number, and greater behind, or the
        other way round. Minus infinity fills up what is passed less often than others.

    Raises
    ------
    UnsupportedModelError
        If the floats that rounding could put on either side are too many.
    """
    if column.before is None or column.last is None:
        return _passes(_whole(column), _last_pieces(column, raw), critical)
    # A step at a time, since each has its own roundings.
    passes = _passes(column.last, _last_pieces(column, raw), critical)
    if not passes.size:
        return passes
    # Minus infinity as well: what a scaler made it of may be finite.
    wanted, place = np.unique(passes, return_inverse=True)
    cuts = cuts_by_piece(column.before, raw, wanted)
    return _packed(cuts[:, place.reshape(passes.shape)].reshape(-1, len(critical)))


def _passes(step: Step, pieces: tuple[Floats, Floats], critical: Floats) -> Floats:
    """Return where a step passes each number, in each of its monotone pieces."""
    lows, highs = pieces
    firsts, lasts = step.function(lows), step.function(highs)
    begins = np.searchsorted(critical, np.minimum(firsts, lasts))
    stops = np.searchsorted(critical, np.maximum(firsts, lasts))
    passing = np.flatnonzero(begins < stops)
    cuts = np.full((len(passing), len(critical)), -np.inf)
    for row, piece in enumerate(passing.tolist()):
        passed = slice(begins[piece], stops[piece])
        cuts[row, passed] = _cut_piece(
            step.function, lows[piece], highs[piece], critical[passed]
        )
    if step.error is None:
        return cuts
    with np.errstate(over="ignore"):
        slack = _SLACK * np.maximum(step.error(firsts), step.error(lasts))
        nearest = np.searchsorted(critical, np.minimum(firsts, lasts) - slack)
        furthest = np.searchsorted(critical, np.maximum(firsts, lasts) + slack, "right")
    tried: list[tuple[int, float, int]] = []
    for piece in np.flatnonzero(~np.isnan(firsts)).tolist():
        [own] = cuts[passing == piece] if piece in passing else [cuts[:0].ravel()]
        between = range(begins[piece], stops[piece])
        tried += [(place, own[place], piece) for place in between]
        # Numbers as close to its ends as rounding goes may be passed there.
        more = [*range(nearest[piece], begins[piece])]
        more += range(stops[piece], furthest[piece])
        ends = lows[piece], highs[piece]
        tried += [(place, end, piece) for place in more for end in ends]
    places, pieces_of = (np.array([one[i] for one in tried], dtype=int) for i in (0, 2))
    which, turns = _turns(
        step,
        np.array([at for _, at, _ in tried], dtype=np.float64),
        critical[places],
        lows[pieces_of],
        highs[pieces_of],
    )
    order = np.argsort(places[which], kind="stable")
    places, turns = places[which][order], turns[order]
    rows = np.arange(len(places)) - np.searchsorted(places, places)
    found = np.full((rows.max(initial=-1) + 1, len(critical)), -np.inf)
    found[rows, places] = turns
    return found


def _whole(column: Mapped) -> Step:
    """Return all that is done to the raw column as one step."""
    return Step(column.function, edges=column.edges)


def _packed(cuts: Floats) -> Floats:
    """Return the cuts of each number in as few rows as will do."""
    cuts = np.sort(cuts, axis=0)
    return cuts[np.isfinite(cuts).any(axis=1)]


def pieces(edges: tuple[float, ...], low: float, high: float) -> tuple[Floats, Floats]:
    """Return both ends of the cells between edges, from `low` to `high`."""
    lows = np.maximum(np.concatenate([[-np.inf], above(edges)]), low)
    highs = np.minimum(np.append(edges, np.inf), high)
    return lows[lows <= highs], highs[lows <= highs]


def _last_pieces(column: Mapped, raw: Numeric) -> tuple[Floats, Floats]:
    """Return both ends of the monotone pieces of a column's last step."""
    if column.before is None or column.last is None:
        return pieces(column.edges, raw.lower, raw.upper)
    low, high = _reach(column.before, raw)
    # Raw numbers that the step refuses are left out already.
    taker = column.last.taker
    low, high = max(low, taker.lower), min(high, taker.upper)
    return pieces(column.last.edges, low, high)


def _reach(column: Mapped, raw: Numeric) -> tuple[float, float]:
    """Return numbers between which the column stays; no interval if it has none."""
    step = column.last or _whole(column)
    values = step.function(np.concatenate(_last_pieces(column, raw)))
    values = values[~np.isnan(values)]
    if not len(values):
        return math.inf, -math.inf
    slack = _SLACK * step.error(values) if step.error else np.zeros(len(values))
    with np.errstate(over="ignore"):
        return float((values - slack).min()), float((values + slack).max())


def _cut_piece(
    function: Callable[[Floats], Floats], low: float, high: float, wanted: Floats
) -> Floats:
    """Find where a piece passes numbers between its values at both ends."""
    if function is identity:
        return wanted
    first, last = function(np.array([low, high]))

    def holds(numbers: Floats) -> Flags:
        at_most = function(np.clip(numbers, low, high)) <= wanted
        return np.asarray(at_most if first < last else ~at_most, dtype=bool)

    return largest_where(holds, len(wanted))[0]


def _turns(
    step: Step, at: Floats, numbers: Floats, lows: Floats, highs: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Return where a rounded step passes numbers, each close to one place.

    Where its values are further from the number than its error allows, all beyond are
    on their side. All floats between are tried.

    Parameters
    ----------
    step
        The step.
    at : ndarray of shape (n_places,)
        Where it passes a number, or an end of a piece.
    numbers : ndarray of shape (n_places,)
        The number.
    lows, highs : ndarray of shape (n_places,)
        The ends of the piece.

    Returns
    -------
    which : ndarray of shape (n_turns,)
        Close to which of the places.
    turns : ndarray of shape (n_turns,)
        The last float on one side.
    """
    place, first, last = (to_ordinal(one) for one in (at, lows, highs))
    low, high = place, np.minimum(place + 1, last)
    # Infinity is never rounded: it is that of numbers beyond all, or a pole.
    unsure, reach = np.isfinite(numbers), 1
    while unsure.any():
        if reach > _TRIED:
            raise _refusal(f"hardly changes near {at[unsure][0]:g}")
        settled = np.ones(len(at), dtype=bool)
        low = np.where(unsure, np.maximum(place - reach, first), low)
        high = np.where(unsure, np.minimum(place + 1 + reach, last), high)
        for end, limit in ((low, first), (high, last)):
            is_sure = _is_beyond(step, from_ordinal(end), numbers) | (end == limit)
            settled &= is_sure
        unsure &= ~settled
        reach *= 2
    found: list[tuple[int, Floats]] = [(0, np.empty(0))]
    for i, (start, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        tried = from_ordinal(np.arange(start, stop + 1))
        at_most = step.function(tried) <= numbers[i]
        found.append((i, tried[:-1][at_most[:-1] != at_most[1:]]))
    which = [np.full(len(turns), i, dtype=np.int64) for i, turns in found]
    return np.concatenate(which), np.concatenate([turns for _, turns in found])


def _is_beyond(step: Step, at: Floats, numbers: Floats) -> Flags:
    """Tell where values lie further from numbers than rounding could put them."""
    assert step.error is not None
    values = step.function(at)
    errors = np.maximum(step.error(values), step.error(numbers))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.abs(values - numbers) > _SLACK * errors)


def last_units(values: Floats) -> Floats:
    """Return what a function of a numeric library may be off by, generously."""
    return np.asarray(_ULPS * np.spacing(np.minimum(np.abs(values), _HUGE)))


def _refusal(what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the function of a step {what}, so that the order of its values is not "
        "known. Trees ask for the order alone: fit without it."
    )


def critical_of(feature: Feature) -> Floats:
    """Return the upper ends of the cells within which a feature's splits see no change.

    Increasing. Thresholds come on top of these.
    """
    ends: list[Any] = [below(feature.lower), feature.upper]
    if feature.missing_range is not None:
        low, high = feature.missing_range
        ends += [below(low), high]
    if isinstance(feature, Numeric):
        ends += feature.edges
    elif feature.coding == "label":
        numbers = [float(c) for c in feature.categories if not isinstance(c, str)]
        ends += [*numbers, *below(numbers)]
    else:
        # Codes begin at whole numbers, or where the cast to float32 rounds to one.
        whole = np.arange(0.0, len(feature.categories) + 1)
        ends += [-1.0, *below(whole), *below_float32(whole)]
    return np.unique(np.array(ends, dtype=np.float64))


def seen_by(feature: Feature, values: Floats) -> Floats:
    """Return what the trees see of numbers in a feature: NaN, numbers or codes."""
    lenient = msgspec.structs.replace(
        feature, lower=-math.inf, upper=math.inf, accepts_missing=True
    )
    if isinstance(lenient, Categorical):
        if any(isinstance(category, str) for category in lenient.categories):
            raise UnsupportedModelError(
                f"the steps make numbers of column {feature.name!r}, in which the "
                "model knows texts, and it refuses to compare the two. Fit the "
                "pipeline as a whole."
            )
        lenient = msgspec.structs.replace(lenient, accepts_unknown=True)
    return encode(values[:, np.newaxis], (lenient,), Inputs())[:, 0]


def takes(feature: Feature, values: Floats) -> Flags:
    """Tell which numbers a feature takes."""
    seen = seen_by(feature, values)
    taken = (values >= feature.lower) & (values <= feature.upper)
    if isinstance(feature, Categorical) and not feature.accepts_unknown:
        taken &= seen != len(feature.categories)
    return np.where(np.isnan(seen), feature.accepts_missing, taken)


def below(numbers: ArrayLike) -> Floats:
    """Return the largest float64 below each number; minus infinity stays."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(np.asarray(numbers, dtype=np.float64), -np.inf)


def above(numbers: ArrayLike) -> Floats:
    """Return the smallest float64 above each number; plus infinity stays."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(np.asarray(numbers, dtype=np.float64), np.inf)
