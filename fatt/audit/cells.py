"""The cells of a file, in the types that a model needs.

A CSV file holds texts only: whether ``1`` is a number, a code or a name is for the
model to say. Python's own reading of numbers is exact to the last bit, which that of
faster readers is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.audit.files import Cell, Cells
from fatt.ensemble import Categorical, Label
from fatt.errors import DataError

_WHOLE = re.compile(r"\s*[-+]?\d+\s*", re.ASCII)
_TRUTHS = {"true": 1.0, "false": 0.0}
#: How programs write that a number is missing.
_GAPS = {"", "na", "n/a", "nan", "null", "none"}
_EXACT = 2**53

#: Whole numbers, truth values, or numbers of any other kind.
Kind: TypeAlias = Literal["whole", "truth", "any"]


class Numbers(NamedTuple):
    """A column of numbers: float64, missing ones NaN, and of what kind they are."""

    values: NDArray[np.float64]
    kind: Kind


def numbers_of(name: str, cells: Cells) -> Numbers:
    """Read a column of numbers.

    Parameters
    ----------
    name
        Name of the column, for the message.
    cells
        Its cells. Empty ones, and words such as ``NA``, are missing.

    Raises
    ------
    DataError
        If a cell is no number.

    Examples
    --------
    >>> numbers_of("age", ["41", "", "17"])
    Numbers(values=array([41., nan, 17.]), kind='whole')
    """
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64)
        return Numbers(values, _kind_of_numbers(cells.dtype.kind in "iu", values))
    # Each different text is read once. (To Python 1 and True are the same, but files
    # with types have columns of one type.)
    table: dict[Cell, float] = {}
    for cell in dict.fromkeys(cells):
        number = _number(cell)
        if number is None:
            raise DataError(
                f"row {cells.index(cell)}: column {name!r} is {cell!r}, and the model "
                "reads a number there; leave the cell empty if it is missing."
            )
        table[cell] = number
    values = np.array([table[cell] for cell in cells], dtype=np.float64)
    known = [cell for cell, number in table.items() if not math.isnan(number)]
    if known and all(map(_is_truth, known)):
        return Numbers(values, "truth")
    truths = [cell for cell in known if _is_truth(cell)]
    if truths:
        raise DataError(
            f"row {cells.index(truths[0])}: column {name!r} is {truths[0]!r}, and "
            "other rows hold numbers there; write 1 for true and 0 for false."
        )
    return Numbers(values, _kind_of_numbers(all(map(_is_whole, known)), values))


def _number(cell: Cell) -> float | None:
    """Return a number, NaN if it is missing, None if the cell is no number."""
    if cell is None:
        return math.nan
    if not isinstance(cell, str):
        return float(cell) if isinstance(cell, int | float) else None
    word = cell.strip().lower()
    if word in _GAPS:
        return math.nan
    if word in _TRUTHS:
        return _TRUTHS[word]
    try:
        # Python also takes 1_000, which to other programs is no number.
        return None if "_" in word else float(word)
    except ValueError:
        return None


def _is_truth(cell: Cell) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in _TRUTHS
    return isinstance(cell, bool)


def _is_whole(cell: Cell) -> bool:
    if isinstance(cell, str):
        return _WHOLE.fullmatch(cell) is not None
    return isinstance(cell, int)


def _kind_of_numbers(are_whole: bool, values: NDArray[np.float64]) -> Kind:
    """Tell the kind; beyond 2**53 floats do not tell whole numbers apart."""
    known = values[~np.isnan(values)]
    is_exact = bool(np.all(np.abs(known) < _EXACT))
    return "whole" if are_whole and is_exact and known.size else "any"


def labels_of(feature: Categorical, cells: Cells) -> list[Any]:
    """Read a column of categories: each text becomes the category it is written as.

    Parameters
    ----------
    feature
        The column, with the categories that the model knows.
    cells
        Its cells. An empty one is missing, unless the empty text is a category.

    Returns
    -------
    list
        Categories, other texts and numbers as they are, and the missing value that the
        model's library knows: NaN or None.

    Examples
    --------
    >>> labels_of(Categorical(name="ward", categories=(1, 2)), ["2", "1"])
    [2, 1]
    """
    missing = None if feature.missing_as == "none" else math.nan
    if isinstance(cells, np.ndarray):
        return list(cells.tolist())
    table: dict[Cell, Any] = {None: missing, "": missing}
    table.update(_spellings(feature.categories))
    has_numbers = any(not isinstance(label, str) for label in feature.categories)
    for cell in dict.fromkeys(cells):
        if cell not in table:
            number = _number(cell) if has_numbers and isinstance(cell, str) else None
            table[cell] = cell if number is None else number
    return [table[cell] if _is_text(cell) else cell for cell in cells]


def _is_text(cell: Cell) -> bool:
    return cell is None or isinstance(cell, str)


def _spellings(categories: Iterable[Label]) -> dict[Cell, Label]:
    """Return the texts that stand for each category in a file of texts."""
    texts: dict[Cell, Label] = {}
    for label in categories:
        texts.setdefault(str(label), label)
        if isinstance(label, bool):
            texts.setdefault(str(label).lower(), label)
        elif isinstance(label, float) and label.is_integer():
            texts.setdefault(str(int(label)), label)
    # A category that is a text stands for itself, whatever else is written so.
    texts.update({label: label for label in categories if isinstance(label, str)})
    return texts
