"""The figures that a page shows beside the verdicts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from fatt.audit.auditor import Auditor
from fatt.ensemble import Label
from fatt.errors import SpecError
from fatt.progress import Progress
from fatt.region import Similarity
from fatt.report import Report
from fatt.report.details import Alone, Causes, Details
from fatt.verdict import FAIR, UNFAIR, Of, Radii, ScoreGaps
from fatt.verifier import Budget

#: Of more people than these, some at equal distances are measured.
_MOST_PEOPLE = 500
#: The limit of each search: far from the data regions grow, and searches with them.
_NODES = 2_000


def measure(
    auditor: Auditor,
    report: Report,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Details:
    """Measure what each attribute changes alone, radii, and gaps between scores.

    Parameters
    ----------
    auditor
        Who made the report.
    report
        What `Auditor.verify` returned.
    n_jobs, progress
        As in `fatt.verify`; the progress is that of each part.

    Returns
    -------
    Details
        If the user interrupts the run, what is measured so far.
    """
    some = np.unique(np.linspace(0, len(report) - 1, _MOST_PEOPLE).round())
    arguments: dict[str, Any] = {
        "budget": Budget(nodes=_NODES),
        "n_jobs": n_jobs,
        "progress": progress,
    }
    measured = some.astype(np.int64)
    people = report.people.take(measured)
    found: dict[str, Any] = {"nodes": _NODES, "rows": measured}
    try:
        found["causes"] = causes(auditor, report, n_jobs=n_jobs, progress=progress)
        found["alone"] = _alone(auditor, report, n_jobs, progress)
        found["gaps"] = _gaps(auditor, people, arguments)
        found["radii"] = _radii(auditor, people, arguments)
    except KeyboardInterrupt:
        found["interrupted"] = True
    return Details(**found)


def causes(
    auditor: Auditor,
    report: Report,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Causes | None:
    """Tell why people are unfair: by what may vary, by noise, or only by both.

    Only the unfair are asked about again: whoever is fair is so with less, too.

    Parameters
    ----------
    auditor
        Who made the report.
    report
        What `Auditor.verify` returned.
    n_jobs, progress
        As in `fatt.verify`.

    Returns
    -------
    Causes or None
        None if nobody is unfair, or the similarity has not both.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts it.
    """
    unfair = np.flatnonzero(report.findings.verdict == UNFAIR)
    halves = [report.similarity.only(varying=varying) for varying in (True, False)]
    if not unfair.size or None in halves:
        return None
    people = report.people.take(unfair)
    effort: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    protected, noise = (
        auditor.with_similarity(half)
        .verify_part(people, budget=report.budget, spot_checks=0, **effort)
        .whole()
        .findings.verdict
        for half in halves
        if half is not None
    )
    is_open = (protected != UNFAIR) & (noise != UNFAIR)
    proved = (protected == FAIR) & (noise == FAIR)
    moves = report.similarity.moves
    return Causes(
        names=tuple(dict.fromkeys(str(move.name) for move in moves if move.varies)),
        protected=int((protected == UNFAIR).sum()),
        noise=int((noise == UNFAIR).sum()),
        either=int(((protected == UNFAIR) & (noise == UNFAIR)).sum()),
        together=int(proved.sum()),
        unknown=int((is_open & ~proved).sum()),
    )


def _gaps(auditor: Auditor, people: Any, arguments: dict[str, Any]) -> ScoreGaps:
    of: Of = "prediction" if auditor.model.ensemble.predicts else "probability"
    try:
        return auditor.score_gap(people, of=of, **arguments)
    except SpecError:
        # Not every model has probabilities; all have scores.
        return auditor.score_gap(people, **arguments)


def _radii(auditor: Auditor, people: Any, arguments: dict[str, Any]) -> Radii | None:
    try:
        return auditor.radius(people, **arguments)
    except SpecError:
        return None


def _alone(
    auditor: Auditor, report: Report, n_jobs: int | None, progress: Progress | None
) -> tuple[Alone, ...]:
    """Verify with one attribute at a time.

    Whoever is treated fairly if all attributes may change, is so if only one may: the
    others alone are asked.
    """
    rest = np.flatnonzero(report.whole().findings.verdict != FAIR)
    parts = report.similarity.parts()
    if not rest.size or len(parts) == 1:
        return tuple(_counted(one, report) for one in parts)
    people = report.people.take(rest)
    return tuple(
        _counted(
            one,
            auditor.with_similarity(one)
            .verify(
                people,
                budget=report.budget,
                n_jobs=n_jobs,
                progress=progress,
                # People similar to these were asked about already.
                spot_checks=0,
            )
            .whole(),
        )
        for one in parts
    )


def _counted(similarity: Similarity, report: Report) -> Alone:
    twins = report.findings.twins
    turns: Counter[tuple[Label | None, Label]]
    if report.findings.classes:
        turns = Counter(
            (case.label, case.twin_label) for case in report.counterexamples
        )
    else:
        # Of predictions there are as many as people.
        lower = int((twins.twin_label < twins.label).sum())
        sides = {"lower": lower, "higher": len(twins) - lower}
        turns = Counter({(None, side): n for side, n in sides.items() if n})
    return Alone(
        name=similarity.title(),
        turns=turns,
        unknown=report.counts["unknown"],
        varies=any(move.varies for move in similarity.moves),
    )
