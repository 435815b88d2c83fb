"""Columns made of one raw column each: the algebra of all preprocessing.

A column starts as a raw column and passes steps, each of which computes with one number
at a time (`Step`). What comes out is a function of the raw number (`Mapped`) that is
monotone between known edges, or a number per category (`Coded`). From both can be told
which raw values the steps take, and where on the raw line a split changes sides.
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
#: NumPy's tests hold its logarithms to 4 of them.
_ULPS = 64
#: How many numbers around a cut are tried out.
_TRIED = 2**20
#: Beyond any logarithm or root, and of a unit in the last place that is finite.
_HUGE = 2.0**1000


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
    rounded
        If the function is monotone but for the rounding of one step, what that step
        makes of raw numbers: within `_ULPS` units in the last place of a function that
        is monotone in each cell. What follows is monotone to the last bit.
    """

    source: int
    function: Callable[[Floats], Floats]
    missing: float = math.nan
    edges: tuple[float, ...] = ()
    rounded: Callable[[Floats], Floats] | None = None


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
    is_rounded
        Whether the function is monotone only but for its rounding, as in `Mapped`.
    """

    function: Callable[[Floats], Floats]
    taker: Feature = ANYTHING
    missing: float = math.nan
    edges: tuple[float, ...] = ()
    is_rounded: bool = False

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
        before, rounded = column.function, column.rounded

        def function(numbers: Floats) -> Floats:
            return self.of(before(numbers))

        if self.is_rounded and rounded is not None:
            raise UnsupportedModelError(
                "it computes with what a logarithm or root before it has rounded, and "
                "of both together nobody knows whether they grow with the raw "
                "numbers. Trees ask for the order alone: fit without one of them."
            )
        after = Mapped(
            source=column.source,
            function=function,
            missing=float(self.of(np.array([column.missing]))[0]),
            edges=tuple(edge for edge in edges if math.isfinite(edge)),
            rounded=function if self.is_rounded else rounded,
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
    """Tell quickly, if it is plain to see, that no number needs to be refused."""
    if isinstance(taker, Categorical) or taker.missing_range or column.rounded:
        return False
    # A monotone function lies between its values at the ends.
    ends = np.concatenate(_pieces(column, feature))
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
    ndarray of shape (n_pieces, n_critical)
        In the piece the column is at most the number up to here and greater behind,
        or the other way round; minus infinity if it is all on one side. Pieces in
        which the column passes no number are left out.
    """
    lows, highs = _pieces(column, raw)
    firsts, lasts = column.function(lows), column.function(highs)
    begins = np.searchsorted(critical, np.minimum(firsts, lasts))
    stops = np.searchsorted(critical, np.maximum(firsts, lasts))
    passing = np.flatnonzero(begins < stops)
    cuts = np.full((len(passing), len(critical)), -np.inf)
    for row, piece in enumerate(passing.tolist()):
        passed = slice(begins[piece], stops[piece])
        cuts[row, passed] = _cut_piece(
            column.function, lows[piece], highs[piece], critical[passed]
        )
    if column.rounded is not None:
        for piece in np.flatnonzero(~np.isnan(firsts)).tolist():
            [own] = cuts[passing == piece] if piece in passing else [np.empty(0)]
            ends = lows[piece], highs[piece]
            between = slice(begins[piece], stops[piece])
            _check_rounding(column, ends, critical, between, own[between])
    return cuts


def _pieces(column: Mapped, raw: Numeric) -> tuple[Floats, Floats]:
    """Return both ends of the column's monotone pieces within the raw bounds."""
    starts = np.concatenate([[-np.inf], above(column.edges)])
    lows = np.maximum(starts, raw.lower)
    highs = np.minimum(np.append(column.edges, np.inf), raw.upper)
    return lows[lows <= highs], highs[lows <= highs]


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


def _check_rounding(
    column: Mapped,
    ends: tuple[float, float],
    critical: Floats,
    between: slice,
    cuts: Floats,
) -> None:
    """Try out that a rounded piece passes numbers at these cuts, and no others.

    Where the rounded step is further from its value at a cut than twice its error, all
    numbers beyond are on their side. All between are tried; and so at both ends, where
    the next numbers might be passed as well.

    Raises
    ------
    UnsupportedModelError
        If it turns back somewhere, or the numbers to be tried are too many.
    """
    assert column.rounded is not None
    start, stop = between.start, between.stop
    beyond = [*critical[max(start - 1, 0) : start], *critical[stop : stop + 1]]
    tried = [(end, beyond, False) for end in ends]
    tried += [(cut, [critical[start + i]], True) for i, cut in enumerate(cuts)]
    for at, numbers, is_cut in tried:
        near = _unsure_of(column.rounded, at, ends)
        values = column.function(near)
        for number in numbers:
            turned = (values <= number) ^ ((near <= at) & is_cut)
            if turned.any() and not turned.all():
                raise _refusal(f"goes to and fro near {at:g} on this machine")


def _unsure_of(
    rounded: Callable[[Floats], Floats], at: float, ends: tuple[float, float]
) -> Floats:
    """Return all numbers of which rounding leaves open on which side of one they are.

    The first and the last of them are surely on their side, and all beyond.
    """
    place, low, high = (int(to_ordinal(one)) for one in (at, *ends))
    own = rounded(np.array([at]))[0]
    if np.isinf(own):
        # Infinity is never rounded: it is that of numbers beyond all, or a pole.
        return np.array([at])
    found = []
    for sign, end in ((-1, low), (1, high)):
        step, other = 1, place
        while abs(other - end) > 0:
            other = min(max(place + sign * step, low), high)
            value = rounded(from_ordinal([other]))[0]
            error = _ULPS * np.spacing(min(max(abs(own), abs(value)), _HUGE))
            if value != own and abs(value - own) > 2 * error:
                break
            if step > _TRIED:
                raise _refusal(f"hardly changes near {at:g}")
            step *= 2
        found.append(other)
    return from_ordinal(np.arange(found[0], found[1] + 1))


def _refusal(what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"the function of a step {what}, so that nobody knows whether what it makes "
        "grows with the raw numbers. Trees ask for the order alone: fit without it."
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
