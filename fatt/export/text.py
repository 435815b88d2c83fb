"""Trees as text: splits and leaves in words that people can read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Label, Numeric
from fatt.export.averaged import left_codes, load_averaged

_NUMBER = "is any number"


@dataclass(frozen=True)
class Split:
    """A question with two answers.

    Attributes
    ----------
    question, otherwise
        What holds for those who go to `yes`, and for those who go to `no`.
    yes, no
        The nodes where they go.
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
        self._flags = {
            index
            for index, feature in enumerate(ensemble.features)
            if isinstance(feature, Numeric)
            and all(feature.name.partition("="))
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
        """Describe a split."""
        record = self._ensemble.trees.nodes[node]
        index = int(record["feature"])
        feature = self._ensemble.features[index]
        name, others = _plain(feature.name), ("", "")
        if isinstance(feature, Categorical):
            codes = left_codes(self._ensemble, node)
            sides = tuple(_among(feature, codes == side) for side in (True, False))
            if feature.accepts_unknown:
                others = ("other", "") if codes[-1] else ("", "other")
        elif record["subset"] >= 0:
            codes = left_codes(self._ensemble, node)
            sides = self._ranges(feature, codes), self._ranges(feature, ~codes)
        elif index in self._flags:
            name, _, level = name.partition("=")
            sides = f"is not {level}", f"is {level}"
        else:
            sides = self._compared(feature, float(record["threshold"]))
        missing = ("missing", "") if record["missing_left"] else ("", "missing")
        if not feature.accepts_missing:
            missing = "", ""
        left, right = (
            _phrase(name, side, [word for word in extras if word])
            for side, *extras in zip(sides, others, missing, strict=True)
        )
        children = int(record["left"]), int(record["right"])
        if index in self._flags:
            # A person is asked for what they are, not for what they are not.
            return Split(right, left, *children[::-1])
        return Split(left, right, *children)

    def _compared(self, feature: Numeric, threshold: float) -> tuple[str, str]:
        if threshold == math.inf:
            return _NUMBER, ""
        if feature.integer and math.isfinite(threshold):
            last = math.floor(threshold)
            return f"<= {last}", f">= {last + 1}"
        number = self._number(threshold)
        return f"<= {number}", f"> {number}"

    def _ranges(self, feature: Numeric, cells: NDArray[np.bool_]) -> str:
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
        # What would be shown as zero, or as a long row of digits, is shown in short.
        if number and not 10**-decimals <= abs(number) < 1e15:
            return f"{number:.{max(decimals, 1)}g}"
        return f"{number:.{decimals}f}"


def _plain(label: Label) -> str:
    """Return a name or label with its control characters spelled out.

    Names come from whoever made the model: a line break must not begin a line of the
    text that looks like another leaf.
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in str(label)
    )


def _among(feature: Categorical, codes: NDArray[np.bool_]) -> str:
    known = zip(feature.categories, codes[:-1].tolist(), strict=True)
    names = [_plain(category) for category, is_in in known if is_in]
    if len(names) == 1:
        return f"is {names[0]}"
    return f"in {{{', '.join(names)}}}" if names else ""


def _phrase(name: str, side: str, extras: list[str]) -> str:
    """Join what a side of a split asks for with what goes there besides."""
    more = " or ".join(extras)
    if not side:
        return f"{name} is {more}" if more else "never"
    return f"{name} {side} (or {more})" if more else f"{name} {side}"


def export_text(model: Any, *, decimals: int = 2) -> str:
    """Return the trees as text that people can read.

    A leaf shows its label and that label's share. Columns such as ``race=White`` that
    are compared with numbers between 0 and 1 are taken for flags, and shown as
    ``race is White``. Where a split sends missing values, and categories that were
    never seen (``other``), stands in brackets.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it: a tree, or trees
        whose shares of the classes are averaged.
    decimals
        Number of decimals of thresholds and shares; shares are shown in percent, so
        that two decimals make whole percents.

    Raises
    ------
    UnsupportedModelError
        If the model is of another kind.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fatt.export import export_text
    >>> X, y = [[20.0], [30.0], [40.0], [50.0]], ["deny", "grant", "deny", "deny"]
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> print(export_text(tree))
    ├── x0 <= 35.00
    │   ├── x0 <= 25.00 → deny (100%)
    │   └── x0 > 25.00 (or missing) → grant (100%)
    └── x0 > 35.00 (or missing) → deny (100%)
    """
    ensemble = load_averaged(model, "a text")
    words = Words(ensemble, decimals=decimals)
    roots = ensemble.trees.roots.tolist()
    texts = ["\n".join(_lines(words, root, "")) for root in roots]
    if len(texts) == 1:
        return texts[0]
    head = f"The label with the largest share wins, on average over {len(texts)} trees."
    trees = [f"Tree {number}\n{text}" for number, text in enumerate(texts, start=1)]
    return "\n\n".join([head, *trees])


def _lines(words: Words, node: int, indent: str) -> Iterator[str]:
    if words.is_leaf(node):
        yield f"{indent}always → {words.leaf(node).text}"
        return
    split = words.split(node)
    for child, condition, branch, bar in (
        (split.yes, split.question, "├── ", "│   "),
        (split.no, split.otherwise, "└── ", "    "),
    ):
        if words.is_leaf(child):
            yield f"{indent}{branch}{condition} → {words.leaf(child).text}"
        else:
            yield f"{indent}{branch}{condition}"
            yield from _lines(words, child, indent + bar)
