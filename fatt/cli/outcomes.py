"""Which column of a table holds the true outcomes: its values tell, before its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.cli.init import words_of
from fatt.ensemble import Label
from fatt.errors import DataError
from fatt.people.files import Cells
from fatt.people.typed import numbers_of
from fatt.report.doubts import PREDICTS, association

#: Words in names of columns that often hold outcomes.
_OUTCOMES = {
    *("y", "label", "target", "outcome", "class", "truth", "default", "granted"),
    *("approved", "response", "result", "income", "status", "decision", "risk"),
    *("hired", "admitted", "recid", "churn", "fraud", "survived", "attrition"),
    *("exited", "turnover", "dropout", "repaid", "defaulted", "diagnosis"),
}
#: A column with such a name need tell the answers only so far.
_TELLS_A_LITTLE = 0.1
#: Predictions are this much nearer to an outcome than a constant is, or nearer.
_NEAR = 0.7
#: What people predict the logarithm of, and how much of it 5% are.
LOGARITHMS = {"natural": (np.log, 0.05), "decimal": (np.log10, 0.02)}


class Outcome(NamedTuple):
    """A column that seems to hold the true outcomes.

    Attributes
    ----------
    name
        The column.
    is_coded
        Whether it has other words for them than the model.
    logarithm
        Which of its logarithms the model predicts, of `LOGARITHMS`; empty if none.
    """

    name: str
    is_coded: bool = False
    logarithm: str = ""


def outcome_of(
    columns: Mapping[str, Cells],
    classes: tuple[Label, ...],
    answers: NDArray[np.object_] | None,
) -> Outcome | None:
    """Return the column that most likely holds the true outcomes, if there is one.

    Parameters
    ----------
    columns
        The columns in question.
    classes
        The answers that the model can give; none if it predicts numbers.
    answers
        What it answers the first people; None if that is not known yet.
    """
    if classes:
        return _label(columns, set(map(str, classes)), answers)
    return None if answers is None else _number(columns, answers.astype(np.float64))


def _label(
    columns: Mapping[str, Cells],
    classes: set[str],
    answers: NDArray[np.object_] | None,
) -> Outcome | None:
    """Find the column of labels that tells most of the answers."""
    found: list[tuple[bool, float, Outcome]] = []
    for name, cells in columns.items():
        values = {str(cell) for cell in cells if cell not in (None, "")}
        # Of many answers some might well be the values of any column.
        is_plain = values == classes or (values < classes and len(classes) == 2)
        size = _telling(name, cells, answers)
        if size and (is_plain or len(values) == len(classes)):
            found.append((is_plain, size, Outcome(name, is_coded=not is_plain)))
    return max(found, key=lambda one: one[:2])[2] if found else None


def _telling(name: str, cells: Cells, answers: NDArray[np.object_] | None) -> float:
    """Say how far a column tells the answers; 0 if it need not be about them.

    Where all answers are the same, the name alone tells.
    """
    is_named_so = bool(words_of(name) & _OUTCOMES)
    if answers is None or len(set(answers.tolist())) == 1:
        return float(is_named_so)
    groups = [
        np.unique([*map(str, one)], return_inverse=True)[1]
        for one in (answers, cells[: len(answers)])
    ]
    size = association(*groups)
    return size if size >= (_TELLS_A_LITTLE if is_named_so else PREDICTS) else 0.0


def _number(
    columns: Mapping[str, Cells], answers: NDArray[np.float64]
) -> Outcome | None:
    """Find the column of numbers, or of their logarithms, next to the predictions."""
    ways: dict[str, Callable[[Any], Any]] = {"": np.positive}
    ways |= {name: logarithm for name, (logarithm, _) in LOGARITHMS.items()}
    found: list[tuple[float, Outcome]] = []
    for name, cells in columns.items():
        try:
            values = numbers_of(name, cells[: len(answers)]).values
        except DataError:
            continue
        for way, function in ways.items():
            with np.errstate(all="ignore"):
                truth = function(values)
            known = np.isfinite(truth)
            if known.any():
                always = np.abs(truth[known] - np.median(truth[known])).mean()
                off = np.abs(truth[known] - answers[known]).mean()
                if off < _NEAR * always:
                    found.append((off / always, Outcome(name, logarithm=way)))
    return min(found)[1] if found else None
