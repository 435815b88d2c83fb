"""A model in a pickle beside other things: a dict or tuple with names of columns.

What is left aside is told. Where something might stand before the model, such as a
scaler, the file is refused, since rows that were never scaled would get a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fatt.errors import Arg, UnsupportedModelError, first
from fatt.importers.registry import PACKAGES

_CUT = re.compile(r"thresh|cut_?-?off", re.IGNORECASE)
#: How deep things may lie in one another.
_DEPTH = 3


@dataclass(frozen=True)
class Bundle:
    """What a pickle holds.

    Attributes
    ----------
    model
        The one model.
    names
        All lists of texts, one of which may name the columns.
    notes
        What to tell people.
    """

    model: Any
    names: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()

    def columns(self, count: int) -> tuple[str, ...] | None:
        """Return the names of the columns, if exactly one list fits their number."""
        fitting = {names for names in self.names if len(names) == count}
        return fitting.pop() if len(fitting) == 1 else None


def unpack(content: Any) -> Bundle:
    """Find the one model in what a pickle holds.

    Raises
    ------
    UnsupportedModelError
        If there is none, or several, or something that may stand before it.
    """
    kind = type(content).__name__
    if _texts(content):
        raise UnsupportedModelError(
            f"the pickle holds {len(content)} texts, and no model. If they "
            "name the columns of a model, pass that, and these as "
            f"{Arg('columns')}; on the command line in a text file, one in a line."
        )
    if isinstance(content, float | np.floating):
        raise UnsupportedModelError(
            f"the pickle holds the number {content}, and no model. If decisions are "
            f"made there, pass the model with {Arg('threshold', content)}."
        )
    if not isinstance(content, dict | tuple | list):
        return Bundle(content)
    items = _items(content)
    models = [(key, value) for key, value in items if _is_model(value)]
    if not models and any(True for _ in _steps_in(content)):
        way = f"this as {Arg('prepare')}"
        steps = [_described(key, value) for key, value in items if is_step(value)]
        if only_step(content) is None and steps:
            way = (
                f"{' and '.join(steps[:5])} as {Arg('prepare')}, in the order in which "
                "they work; on the command line out of files of their own, which "
                "joblib.dump writes"
            )
        raise UnsupportedModelError(
            f"the pickle holds a {kind} of what stands before a model: "
            f"{_listed(items)}. Pass the model, and {way}."
        )
    if len(models) != 1:
        found = "no model that fatt knows" if not models else "several models"
        shown = ", ".join(_described(key, value) for key, value in items[:8])
        raise UnsupportedModelError(
            f"the pickle holds a {kind} with {found}: {shown or 'nothing'}. Pass the "
            f"model that decides, out of the {kind}."
        )
    [(place, model)] = models
    others = [(key, value) for key, value in items if value is not model]
    steps = [
        _described(key, step) for key, value in others for step in _steps_in(value)
    ]
    if steps:
        raise UnsupportedModelError(
            f"the pickle holds a {kind} with {_described(place, model)} and also "
            f"{', '.join(steps[:5])}, which may stand before the model. Load "
            f"the {kind}, save each of them in a file of its own, and pass the model "
            f"with {Arg('prepare', ...)}."
        )
    notes = _aside(kind, place, model, others)
    names = (_texts(value) for _, value in others)
    return Bundle(model, tuple(filter(None, names)), notes)


def _items(content: Any) -> list[tuple[Any, Any]]:
    if isinstance(content, dict):
        return list(content.items())
    return list(enumerate(content))


def _is_model(value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    return package in PACKAGES and hasattr(value, "predict")


def is_step(value: Any) -> bool:
    """Tell whether something transforms tables, not the labels of one column."""
    is_fitted = hasattr(value, "transform") and not isinstance(value, type)
    return is_fitted and type(value).__name__ != "LabelEncoder"


def only_step(content: Any) -> tuple[Any, tuple[str, ...]] | None:
    """Return the one step in a dict that holds no codes of columns, and what to tell.

    Such a dict may also hold names of columns, or a threshold; of another dict in it
    nobody knows whether it does something to the rows as well.
    """
    if not isinstance(content, dict):
        return None
    if any(isinstance(value, dict) for value in content.values()):
        return None
    found = [(k, v) for k, v in content.items() if any(True for _ in _steps_in(v))]
    if len(found) != 1 or not is_step(found[0][1]):
        return None
    [(place, step)] = found
    others = [(key, value) for key, value in content.items() if value is not step]
    return step, _aside("dict", place, step, others)


def _aside(
    kind: str, place: Any, taken: Any, others: list[tuple[Any, Any]]
) -> tuple[str, ...]:
    """Tell what is read of several things, and of a threshold that is among them."""
    left = f"; left aside are {_listed(others)}." if others else "."
    read = (
        f"The file holds a {kind}, of which the {type(taken).__name__} at {place!r} is "
        f"read{left}"
    )
    return read, *_cuts(others)


def is_aside(key: Any, value: Any) -> bool:
    """Tell whether what stands beside codes says nothing of what becomes of a cell."""
    is_number = isinstance(value, int | float | np.number)
    is_cut = is_number and _CUT.search(str(key)) is not None
    return isinstance(value, str) or _texts(value) is not None or is_cut


def left_aside(others: list[tuple[Any, Any]]) -> tuple[str, ...]:
    """Tell what a preparation holds beside codes, and of a threshold among it."""
    if not others:
        return ()
    return f"Of the preparation are left aside {_listed(others)}.", *_cuts(others)


def _cuts(others: list[tuple[Any, Any]]) -> list[str]:
    return [
        f"The file also holds {key!r}, {value}: if decisions are made there, say so "
        f"with {Arg('threshold', value)}."
        for key, value in others
        if _CUT.search(str(key)) and isinstance(value, int | float | np.number)
    ]


def _steps_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield all that transforms rows, also deeper inside; frames do not."""
    if isinstance(value, type) or hasattr(value, "iloc"):
        return
    if hasattr(value, "transform"):
        yield value
    elif isinstance(value, dict | tuple | list) and depth < _DEPTH:
        for _, inner in _items(value):
            yield from _steps_in(inner, depth + 1)


def _texts(value: Any) -> tuple[str, ...] | None:
    """Return a list of different texts, if the value is one."""
    if isinstance(value, str | dict | bytes) or not hasattr(value, "__len__"):
        return None
    if hasattr(value, "columns"):
        return None  # a frame, which goes through its names
    try:
        texts = tuple(value)
    except TypeError:
        return None
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    return tuple(map(str, texts)) if len(set(texts)) == len(texts) else None


def _described(key: Any, value: Any) -> str:
    return f"{key!r} ({type(value).__name__})"


def _listed(items: list[tuple[Any, Any]]) -> str:
    return first([_described(key, value) for key, value in items], most=8)
