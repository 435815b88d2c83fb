"""The certificate of a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fatt.certificate import Certificate, TwinChanges, make
from fatt.errors import SpecError
from fatt.threads import CHUNK

if TYPE_CHECKING:
    from fatt.report.report import Report


def certificate_of(
    report: Report, most_boxes: int, progress: Callable[[int, int], None] | None
) -> Certificate:
    """Return the certificate of a report; see `Report.certificate`."""
    if most_boxes < 1:
        raise SpecError(f"most_boxes is {most_boxes}; write a number, at least 1.")
    people, twins = report.people, report.findings.twins
    count = len(people)
    values = [
        people.values(start, min(start + CHUNK, count))
        for start in range(0, count, CHUNK)
    ]
    return make(
        people.variables.model,
        people.variables.schema,
        report.similarity,
        values=np.concatenate(values),
        verdicts=report.findings.verdict,
        labels=report.findings.label.astype(np.int64),
        twins=TwinChanges(np.diff(twins.starts), twins.variables, twins.values),
        most_boxes=most_boxes,
        progress=progress,
    )
