"""The nodes of trees in words.

A node names only what is still possible there. A category, or a missing value, that was
sent elsewhere further up is not named again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label, Numeric
from fatt.ensemble.features import names_a_level
from fatt.export.averaged import left_codes

_NUMBER, _CATEGORY = "is any number", "is any category"
#: From this many consecutive whole numbers on, a range is written.
_ROW = 3


@dataclass(frozen=True)
class Split:
    """A question with two answers.

    Attributes
    ----------
    question, otherwise
        What holds for rows that go to `yes`, and for rows that go to `no`.
    yes, no
        The nodes where these go.
    """

    question: str
    otherwise: str
    yes: int
    no: int


@dataclass(frozen=True)
class Leaf:
    """The class that a leaf stands for.

    Attributes
    ----------
    place
        Which of the classes it is.
    share
        Its share in the leaf.
    text
        Both in words.
    """

    place: int
    share: float
    text: str


@dataclass(frozen=True, eq=False)
class Values:
    """What a feature may still be.

    Attributes
    ----------
    low, high
        Numbers above the first, up to the second.
    codes
        The codes of categories, or the cells between the edges of numbers.
    missing
        Whether it may be missing.
    """

    low: float
    high: float
    codes: NDArray[np.bool_]
    missing: bool

    @classmethod
    def of(cls, feature: Feature) -> Values:
        """Return all that a feature may be."""
        codes = np.ones(feature.n_codes, dtype=bool)
        if isinstance(feature, Categorical):
            codes[-1] = feature.accepts_unknown
        return cls(-math.inf, math.inf, codes, feature.accepts_missing)


class Words:
    """What the nodes of an ensemble say.

    Parameters
    ----------
    ensemble
        The ensemble.
    decimals
        Number of decimals of thresholds and shares.
    """

    def __init__(self, ensemble: Ensemble, *, decimals: int = 2) -> None:
        self._ensemble = ensemble
        self._decimals = decimals
        nodes = ensemble.trees.nodes
        inner = np.flatnonzero(nodes["feature"] >= 0)
        self._above = np.full(len(nodes), -1)
        self._above[nodes["left"][inner]] = self._above[nodes["right"][inner]] = inner
        self._flags = {
            index
            for index, feature in enumerate(ensemble.columns)
            if isinstance(feature, Numeric)
            and names_a_level(feature.name)
            and all(0 <= cut < 1 for cut in ensemble.thresholds(index).tolist())
        }

    def is_leaf(self, node: int) -> bool:
        """Tell whether a node is a leaf."""
        return bool(self._ensemble.trees.nodes["feature"][node] < 0)

    def leaf(self, node: int) -> Leaf:
        """Describe a leaf by the class with the largest share, the first of equals."""
        trees = self._ensemble.trees
        shares = trees.values[trees.nodes["leaf"][node]]
        place = int(np.argmax(shares))
        share = float(shares[place])
        percent = f"{share:.{max(self._decimals - 2, 0)}%}"
        return Leaf(
            place, share, f"{_plain(self._ensemble.classes[place])} ({percent})"
        )

    def split(self, node: int) -> Split:
        """Describe a split by what can still be there."""
        record = self._ensemble.trees.nodes[node]
        index = int(record["feature"])
        feature = self._ensemble.columns[index]
        name = _plain(feature.name)
        before = self._values(node, index)
        sides = [self._sent(node, before, is_left=side) for side in (True, False)]
        if isinstance(feature, Categorical):
            told = [_among(feature, side, before) for side in sides]
        elif record["subset"] >= 0:
            told = [(self._cells(feature, side.codes), []) for side in sides]
        else:
            name, told = self._compared(index, sides, float(record["threshold"]))
        left, right = (
            _phrase(name, words, [*extras, *["missing"] * side.missing])
            for (words, extras), side in zip(told, sides, strict=True)
        )
        children = int(record["left"]), int(record["right"])
        if index in self._flags:
            # The question is what a person is, not what a person is not.
            return Split(right, left, *children[::-1])
        return Split(left, right, *children)

    def conditions(self, leaf: int) -> list[str] | None:
        """Return what holds for rows that reach a leaf, feature by feature.

        None if no row can reach it.
        """
        asked: list[int] = []
        for node, _ in self._way(leaf):
            index = int(self._ensemble.trees.nodes["feature"][node])
            if index not in asked:
                asked.append(index)
        found = []
        for index in asked:
            feature, values = self._ensemble.columns[index], self._values(leaf, index)
            name, extras = _plain(feature.name), ["missing"] * values.missing
            if isinstance(feature, Categorical):
                words, others = _among(feature, values, Values.of(feature))
                extras = [*others, *extras]
            elif index in self._flags:
                name, words = self._flag(index, values)
            else:
                words = self._between(feature, values)
            if not words and not extras:
                return None
            told = [words, *extras] if words else [f"is {extras[0]}", *extras[1:]]
            found.append(f"{name} {' or '.join(told)}")
        return found

    def _way(self, node: int) -> Iterator[tuple[int, bool]]:
        """Yield the splits from the root to a node, and whether it goes left there."""
        way = []
        while self._above[node] >= 0:
            above = int(self._above[node])
            left = int(self._ensemble.trees.nodes["left"][above])
            way.append((above, left == node))
            node = above
        yield from reversed(way)

    def _values(self, node: int, index: int) -> Values:
        """Return what a feature may still be when a node is reached."""
        values = Values.of(self._ensemble.columns[index])
        for above, is_left in self._way(node):
            if self._ensemble.trees.nodes["feature"][above] == index:
                values = self._sent(above, values, is_left=is_left)
        return values

    def _sent(self, node: int, values: Values, *, is_left: bool) -> Values:
        """Return what is left of the values on one side of a split."""
        record = self._ensemble.trees.nodes[node]
        missing = values.missing and bool(record["missing_left"]) == is_left
        if record["subset"] >= 0:
            codes = values.codes & (left_codes(self._ensemble, node) == is_left)
            return replace(values, codes=codes, missing=missing)
        threshold = float(record["threshold"])
        if is_left:
            return replace(values, high=min(values.high, threshold), missing=missing)
        return replace(values, low=max(values.low, threshold), missing=missing)

    def _compared(
        self, index: int, sides: list[Values], threshold: float
    ) -> tuple[str, list[tuple[str, list[str]]]]:
        """Describe both sides of a threshold."""
        feature = self._ensemble.columns[index]
        assert isinstance(feature, Numeric)
        name, number = _plain(feature.name), self._number(threshold)
        words = [f"<= {number}", f"> {number}"]
        if index in self._flags:
            name, _, level = name.partition("=")
            words = [f"is not {level}", f"is {level}"]
        elif threshold >= feature.upper:
            words[0] = _NUMBER
        elif feature.integer and math.isfinite(threshold):
            last = math.floor(threshold)
            words = [f"<= {last}", f">= {last + 1}"]
        return name, [
            (text if _has_numbers(feature, side) else "", [])
            for text, side in zip(words, sides, strict=True)
        ]

    def _flag(self, index: int, values: Values) -> tuple[str, str]:
        name, _, level = _plain(self._ensemble.columns[index].name).partition("=")
        if values.low >= values.high:
            return name, ""
        return name, f"is {level}" if values.low > -math.inf else f"is not {level}"

    def _between(self, feature: Numeric, values: Values) -> str:
        """Describe the numbers that a feature may be, in a sentence."""
        if not _has_numbers(feature, values):
            return ""
        if not values.codes.all():
            return self._cells(feature, values.codes)
        low, high = values.low, values.high
        if feature.integer:
            least, most = math.floor(low) + 1 if math.isfinite(low) else low, high
            most = math.floor(high) if math.isfinite(high) else high
            if least == most:
                return f"is {least}"
            parts = [("at least", str(least), low), ("at most", str(most), high)]
        else:
            parts = [
                ("more than", self._number(low), low),
                ("at most", self._number(high), high),
            ]
        told = [
            f"{words} {number}"
            for words, number, end in parts
            if feature.lower < end < feature.upper
        ]
        return f"is {' and '.join(told)}" if told else _NUMBER

    def _cells(self, feature: Numeric, cells: NDArray[np.bool_]) -> str:
        """Describe the cells between the edges that belong to a set."""
        if cells.all():
            return _NUMBER
        steps = np.diff(cells.astype(np.int8), prepend=0, append=0)
        ends = [-math.inf, *feature.edges, math.inf]
        parts = []
        for first, last in zip(
            np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True
        ):
            bounds = (">", ends[first]), ("<=", ends[last])
            parts.append(
                " and ".join(
                    f"{sign} {self._number(end)}"
                    for sign, end in bounds
                    if math.isfinite(end)
                )
            )
        return " or ".join(parts)

    def _number(self, number: float) -> str:
        decimals = self._decimals
        # A number that would look like zero, or be a long row of digits, is shortened.
        if number and not 10**-decimals <= abs(number) < 1e15:
            return f"{number:.{max(decimals, 1)}g}"
        return f"{number:.{decimals}f}"


def _has_numbers(feature: Numeric, values: Values) -> bool:
    if feature.integer and math.isfinite(values.low) and math.isfinite(values.high):
        return math.floor(values.low) < math.floor(values.high)
    return values.low < values.high and values.low < feature.upper


def _plain(label: Label) -> str:
    """Return a name or label with its control characters escaped.

    Names come from the model: a line break must not begin a line that looks like
    another leaf.
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in str(label)
    )


def _among(
    feature: Categorical, values: Values, before: Values
) -> tuple[str, list[str]]:
    """Describe the categories of one side, and say what else goes there.

    The shorter way is taken: the categories that go there, or "all but" the others.
    "All but" includes unknown categories, so it is taken only if these go there too.
    """
    here, there = values.codes[:-1], before.codes[:-1] & ~values.codes[:-1]
    has_others = bool(values.codes[-1])
    if not there.any() and here.any() and has_others == bool(before.codes[-1]):
        return _CATEGORY, []
    fits = has_others or not before.codes[-1]
    if fits and 0 < np.count_nonzero(there) < np.count_nonzero(here):
        names = _listed(feature, there, before)
        if np.count_nonzero(there) == 1:
            return f"is not {names[0]}", []
        return f"is none of {{{', '.join(names)}}}", []
    others = ["other"] if has_others else []
    names = _listed(feature, here, before)
    if np.count_nonzero(here) == 1:
        return f"is {names[0]}", others
    return f"in {{{', '.join(names)}}}" if names else "", others


def _listed(
    feature: Categorical, codes: NDArray[np.bool_], before: Values
) -> list[str]:
    """Return the names of categories; consecutive whole numbers become ranges."""
    labels = [feature.categories[code] for code in np.flatnonzero(codes).tolist()]
    if not all(type(label) is int for label in labels):
        return [_plain(label) for label in labels]
    gone = {
        label for code, label in enumerate(feature.categories) if not before.codes[code]
    }
    return list(_ranges(sorted(map(int, labels)), gone))


def _ranges(numbers: Sequence[int], gone: set[Label]) -> Iterator[str]:
    """Yield ranges of numbers; numbers that are impossible do not break a range."""
    row: list[int] = []
    for number in [*numbers, None]:
        if row and (
            number is None or any(one not in gone for one in range(row[-1] + 1, number))
        ):
            if len(row) >= _ROW:
                yield f"{row[0]} to {row[-1]}"
            else:
                yield from map(str, row)
            row = []
        if number is not None:
            row.append(number)


def _phrase(name: str, side: str, extras: list[str]) -> str:
    """Join the condition of a side with what else goes there."""
    more = " or ".join(extras)
    if not side:
        return f"{name} is {more}" if more else "never"
    return f"{name} {side} (or {more})" if more else f"{name} {side}"
