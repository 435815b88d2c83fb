"""Columns made of one raw column each, and where they change on the raw line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from fatt.ensemble import Categorical, Feature, Inputs, Numeric
from fatt.ensemble.encode import encode
from fatt.ensemble.floats import below_float32, largest_where
from fatt.errors import UnsupportedModelError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    """

    source: int
    function: Callable[[Floats], Floats]
    missing: float = math.nan
    edges: tuple[float, ...] = ()


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


def identity(numbers: Floats) -> Floats:
    """Return numbers as they are: the function of a column not computed with yet."""
    return numbers


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
    if isinstance(taker, Categorical) or taker.missing_range:
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
