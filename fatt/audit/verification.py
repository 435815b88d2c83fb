"""People verified: searched, their twins confirmed, the model itself asked."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fatt.audit import workers
from fatt.audit.replay import Replay
from fatt.audit.run import Chunk, Run
from fatt.report import Asked
from fatt.verdict import FAIR, Findings

if TYPE_CHECKING:
    from fatt.audit.auditor import Auditor

#: About how much work is lost at most if a run with a journal is killed.
_KEEP_SECONDS = 2.0


def verified(
    auditor: Auditor, run: Run, *, spot_checks: int, journal: str | Path | None
) -> tuple[Findings, Asked]:
    """Find out about everybody, and ask the model itself.

    Parameters
    ----------
    auditor
        Whose question it is.
    run
        The people. If the user interrupts it, `Run.interrupted` becomes true, and
        those not reached are unknown.
    spot_checks
        About how many people similar to the fair the model itself is asked at most.
    journal
        File in which findings are kept.
    """
    known: list[Findings] = []
    n_people = n_similar = rounded = 0
    replay = auditor.replay()
    try:
        answers = replay.everybody(run.people)
        # Asking is no part of the search, whose seconds may be limited.
        run.account.set_seconds(0.0)
        way = _way(auditor, run, replay)
        made = way() if journal is None else _kept_and_found(run, way, journal)
        with contextlib.closing(made) as everybody:
            for searched in everybody:
                found = searched
                if answers is not None:
                    own = answers[found.start : found.stop]
                    rounded += replay.compare(run.people, found.start, own, found.label)
                    found = found.with_answers(own)
                    n_people = found.stop
                known.append(_in_time(run, found))
                run.report(found.stop)
        n_similar = _spot_check(auditor, run, replay, known, spot_checks)
    except KeyboardInterrupt:
        run.interrupted = True
    asked = Asked(
        people=n_people, similar=n_similar, reason=replay.reason, rounded=rounded
    )
    return _of_everybody(run, known), asked


def examined(run: Run, replay: Replay, chunk: Chunk, n_threads: int) -> Findings:
    """Find out what can be found out about some people.

    Parameters
    ----------
    run
        All people, and who is similar to whom.
    replay
        Asks the model itself.
    chunk
        Some of the people.
    n_threads
        Number of threads.

    Raises
    ------
    ReplayError
        If the model itself denies a counterexample.
    """
    found = run.search(chunk.values, chunk.boxes, rows=chunk.rows, n_threads=n_threads)
    found = found.moved(chunk.start)
    if not len(found.twins):
        return found
    index, people = found.twins.index, found.twins.people
    twins, label = found.twins.everybody(), found.twins.label
    replay.require_similar(
        run.combined, chunk.boxes, chunk.start, index - chunk.start, twins
    )
    twin_label, on_model = replay.twins(run.people, index, people, twins, label)
    if not on_model and np.array_equal(twin_label, found.twins.twin_label):
        return found
    return replace(found, twins=found.twins.confirmed(twin_label, on_model))


def _in_time(run: Run, found: Findings) -> Findings:
    """Count what the search took, and leave unknown who came after the last node."""
    return found.late_from(found.start + run.account.spend(found.nodes))


def _of_everybody(run: Run, known: list[Findings]) -> Findings:
    """Return what is known, in order; of those not reached, nothing is."""
    done, n_people = known[-1].stop if known else 0, len(run.people)
    if done < n_people:
        variables = run.variables
        classes, n_variables = variables.model.classes, len(variables.ensemble.features)
        known = [*known, Findings.unreached(done, n_people, classes, n_variables)]
    return Findings.join(known)


def _spot_check(
    auditor: Auditor, run: Run, replay: Replay, known: list[Findings], count: int
) -> int:
    """Ask the model about some people similar to the fair; return about how many."""
    if replay.reason:
        return 0
    findings = _of_everybody(run, known)
    fair = np.flatnonzero(findings.verdict == FAIR)
    drawn = auditor.spot_checks.draw(run, fair, count)
    if drawn is None:
        return 0
    return replay.similar(drawn, findings.label[drawn.index])


class _Way(Protocol):
    """Yields what is found about all people from a row on, in order."""

    def __call__(
        self, *, first: int = 0, every: float | None = None
    ) -> Generator[Findings, None, None]: ...


def _way(auditor: Auditor, run: Run, replay: Replay) -> _Way:
    """Return where people are examined: in threads, or where joblib was told to."""
    here = functools.partial(examined, run, replay)
    if workers.are_wanted():
        return functools.partial(workers.in_workers, auditor, run, here)
    return functools.partial(run.in_threads, here)


def _kept_and_found(
    run: Run, way: _Way, path: str | Path
) -> Generator[Findings, None, None]:
    """Yield what was found about all people, in order: first what a journal keeps."""
    from fatt.audit.journal import Journal, identity_of

    classes = run.variables.model.classes
    with Journal(path, identity_of(run), classes) as journal:
        done = 0
        for found, seconds in journal.kept():
            done = found.stop
            run.account.set_seconds(seconds)
            yield found
        for found in way(first=done, every=_KEEP_SECONDS):
            # What an interruption cut short is for this report only.
            if not run.interrupted:
                journal.append(found, run.account.seconds)
            yield found
