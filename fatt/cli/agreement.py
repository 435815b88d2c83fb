"""How often a model's answers are those that a column of people tells: the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import NamedTuple

import numpy as np

from fatt.ensemble import Label
from fatt.errors import first
from fatt.report import Report
from fatt.report.doubts import UNFIT


class Agreement(NamedTuple):
    """How people's columns fit the model, and its answers the truth, in sentences."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def agreement(
    report: Report, name: str, truth: Sequence[str], words: Mapping[str, str]
) -> Agreement:
    """Say how often the model is right, and doubt the rows if it seldom is.

    Parameters
    ----------
    report
        What the model answers.
    name
        The column.
    truth
        Its cells. The outcome of whoever has none there is not known.
    words
        The words that some answers of the model were given.
    """
    kinds, which = report.findings.kinds()
    if not any(truth):
        return _not_compared(name, "no outcomes")
    # An interrupted run leaves people without an answer, which is no wrong answer.
    pairs = [
        (kinds[kind].label, cell)
        for kind, cell in zip(which, truth, strict=True)
        if cell and kinds[kind].label is not None
    ]
    if not pairs:
        return Agreement()
    if report.findings.classes:
        return _right(report, name, [(str(a), cell) for a, cell in pairs], words)
    return _near(report, name, pairs)


def _not_compared(name: str, held: str, way_out: str = "") -> Agreement:
    told = f"Column {name!r} holds {held}, so that they were not compared.{way_out}"
    return Agreement((), (told,))


def _right(
    report: Report,
    name: str,
    pairs: Sequence[tuple[str, str]],
    words: Mapping[str, str],
) -> Agreement:
    """Compare answers, of which the column tells the words or the model's own codes."""
    classes = list(map(str, report.findings.classes))
    told = sorted({truth for _, truth in pairs})
    if not set(told) <= set(classes):
        pairs = [(answer, words.get(truth, truth)) for answer, truth in pairs]
        told = sorted({truth for _, truth in pairs})
    if not set(told) <= set(classes):
        pairing = ",".join(map("=".join, zip(classes, told, strict=False)))
        return _not_compared(
            name,
            f"{_listed(told)}, and the model answers {_listed(classes)}",
            " If they mean the same, give the model's answers the words of the "
            f"column; if these stand in the same order: --answers {quote(pairing)}."
            if len(told) == len(classes)
            else "",
        )
    agree = sum(answer == truth for answer, truth in pairs)
    note = (
        f"The model's answer is that of column {name!r} for {agree:,} of "
        f"{len(pairs):,} people ({agree / len(pairs):.1%})."
    )
    [(commonest, most)] = Counter(truth for _, truth in pairs).most_common(1)
    if agree >= most or report.interrupted:
        return Agreement((note,))
    return Agreement(
        (note,),
        (
            f"The model is right about {agree:,} of {len(pairs):,} people by column "
            f"{name!r}; always answering {commonest!r} would be right about "
            f"{most:,}. Perhaps {UNFIT}, or columns or answers are mixed up.",
        ),
    )


def _near(
    report: Report, name: str, pairs: Sequence[tuple[Label | None, str]]
) -> Agreement:
    """Say how far the model's predictions are from a column of numbers."""
    made = np.array([answer for answer, _ in pairs], dtype=np.float64)
    try:
        truth = np.array([cell for _, cell in pairs], dtype=np.float64)
    except ValueError:
        return _not_compared(name, "texts, and the model predicts numbers")
    off, middle = float(np.abs(made - truth).mean()), float(np.median(truth))
    always = float(np.abs(middle - truth).mean())
    note = (
        f"The model's prediction is off column {name!r} by {off:.4g} in the "
        f"mean; always predicting {middle:.6g} would be off by {always:.4g}."
    )
    if not off > always or report.interrupted:
        return Agreement((note,))
    return Agreement((), (f"{note} Perhaps {UNFIT}, or columns are mixed up.",))


def _listed(answers: Sequence[str]) -> str:
    return first([repr(answer) for answer in answers], most=6)
