"""Every finding as a row of CSV, which needs no package of data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fatt.verdict import Counterexample, in_words

if TYPE_CHECKING:
    from fatt.report.report import Report

_COLUMNS = ("row", "verdict", "label", "labels", "twin_label", "changes", "replayed_on")


def to_csv(report: Report, columns: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return one line per person.

    Parameters
    ----------
    report
        The report.
    columns
        More columns to show first, such as ids.

    Returns
    -------
    str
        The columns given, then the number of the row, counted from 0, the verdict, the
        label, the labels still possible, and of unfair people the twin's label, the
        changes in words, and what confirmed them.
    """
    given = dict(columns or {})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*given, *_COLUMNS])
    cases = {case.index: case for case in report.counterexamples}
    kinds, which = report.findings.kinds()
    for row, kind in enumerate(which):
        finding = kinds[kind]
        writer.writerow(
            [
                *(cells[row] for cells in given.values()),
                row,
                str(finding.verdict),
                "" if finding.label is None else in_words(finding.label),
                " ".join(map(in_words, finding.labels)),
                *_twin(cases.get(row)),
            ]
        )
    return text.getvalue()


def _twin(case: Counterexample | None) -> tuple[str, str, str]:
    if case is None:
        return "", "", ""
    return in_words(case.twin_label), case.changes_in_words, case.replayed_on
