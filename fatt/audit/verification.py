"""Verdicts on a model: is every person treated like all similar people."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fatt.audit import workers
from fatt.audit.examination import Examiner, Found
from fatt.audit.job import Job, Progress
from fatt.audit.journal import Journal, identity_of
from fatt.audit.replay import Replay
from fatt.audit.spot_checks import SPOT_CHECKS, check_spot_checks, draw
from fatt.ensemble import Label
from fatt.errors import DataError
from fatt.region import Relation, Schema
from fatt.report import Asked, Counterexamples, Findings, Report, Twins
from fatt.report.findings import pack
from fatt.verdict import FAIR, UNKNOWN
from fatt.verifier import Budget

#: About how much work is lost at most if a run with a journal is killed.
_KEEP_SECONDS = 2.0


def verify(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    sample_weight: Any = None,
    journal: str | Path | None = None,
    spot_checks: int = SPOT_CHECKS,
) -> Report:
    """Prove of each person that all similar people get the same label, or refute it.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it.
    X
        The people: array, or data frame that `narwhals` knows, one row each.
    similarity
        Who is similar to whom.
    schema
        What the columns mean. By default it is inferred from the model and `X`. Then
        bounds are never guessed, but a group of columns such as ``race=White`` has a
        level for all columns 0 only if a row of `X` shows it, and arrays of floats or
        objects know no whole numbers. For few rows, pass a schema that
        `Schema.infer` made from all the data.
    budget
        Limits of the search; those that it does not decide are unknown. By default
        there are none.
    n_jobs
        Number of threads, -1 for all processors; by default one. The result does not
        depend on it. Inside ``joblib.parallel_config(backend=...)`` with a backend of
        processes, such as ``"loky"`` or ``"dask"``, people are sent to its workers, and
        this is their number; by default that which joblib was told.
    progress
        Called with the number of people done and the number of all.
    sample_weight
        Weight of each person in the shares of fair people.
    journal
        File in which findings are kept as they are made. If the run ends early, for
        whatever reason, the same call goes on from there, also with other `n_jobs`, and
        its report is the one of an undisturbed run. Budgets for the whole run count the
        nodes and seconds of all its parts.
    spot_checks
        Where the model's own library is at hand, it is asked for everybody's own
        answer, and for those of so many people at most who are similar to the fair;
        0 for none of these. The same question gives the same people.

    Returns
    -------
    Report
        If the run is interrupted from the keyboard, it holds what is done so far, and
        `Report.interrupted` is true.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent.
    DataError
        If there are no rows, or the model's library refuses one.
    ModelError
        If the model cannot be imported exactly.
    ReplayError
        If the model itself answers otherwise than was found: a bug in `fatt`.
    JournalError
        If the journal is damaged, is about something else, or cannot be written.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ages = [[20.0], [30.0], [40.0], [50.0]]
    >>> tree = DecisionTreeClassifier().fit(ages, ["deny", "deny", "grant", "grant"])
    >>> report = fatt.verify(tree, ages, similarity=fatt.Similarity(noise={"x0": 6}))
    >>> report.counts
    {'fair': 2, 'unfair': 2, 'unknown': 0}
    >>> report.fairness
    Bounds(lower=0.5, upper=0.5)
    >>> print(report.counterexamples[0])
    #2  grant → deny   x0 40.0 → 35.0
    """
    check_spot_checks(spot_checks)
    job = Job(
        model,
        X,
        similarity=similarity,
        schema=schema,
        budget=budget,
        n_jobs=n_jobs,
        progress=progress,
    )
    weight = _weights(sample_weight, len(job.people))
    results = _Results(job)
    replay = Replay(model, job.variables)
    n_asked = n_similar = 0
    try:
        answers = replay.everybody(job.people)
        # Asking is no part of the search, whose seconds may be limited.
        job.set_seconds(0.0)
        examine = _way(job, model, replay, n_jobs)
        with contextlib.closing(_examined(job, examine, journal)) as examined:
            for found in examined:
                if answers is not None:
                    own = answers[found.start : found.stop]
                    replay.compare(job.people, found.start, own, found.label)
                    n_asked = found.stop
                results.keep(found)
                job.report(found.stop)
        n_similar = _spot_check(job, replay, results, spot_checks)
    except KeyboardInterrupt:
        job.interrupted = True
    return Report(
        findings=results.findings(),
        counterexamples=results.counterexamples(),
        people=job.people,
        similarity=similarity,
        budget=job.budget,
        interrupted=job.interrupted,
        sample_weight=weight,
        asked=Asked(people=n_asked, similar=n_similar, reason=replay.reason),
    )


def _spot_check(job: Job, replay: Replay, results: _Results, count: int) -> int:
    """Ask the model about some people similar to the fair; return about how many."""
    if replay.reason:
        return 0
    findings = results.findings()
    drawn = draw(job, np.flatnonzero(findings.verdicts == FAIR), count)
    if drawn is None:
        return 0
    return replay.similar(drawn, findings.label[drawn.index].astype(np.int64))


class _Way(Protocol):
    """Yields what is found about all people from a row on, in order."""

    def __call__(
        self, *, first: int = 0, every: float | None = None
    ) -> Iterator[Found]: ...


def _way(job: Job, model: Any, replay: Replay, n_jobs: int | None) -> _Way:
    """Return where people are examined: in threads, or where joblib was told to."""
    if workers.are_wanted():
        return functools.partial(workers.in_workers, job, model, n_jobs)
    return functools.partial(job.in_threads, Examiner(job, replay).examine)


def _examined(
    job: Job, examine: _Way, path: str | Path | None
) -> Generator[Found, None, None]:
    """Yield what was found about all people, in order: first what a journal keeps."""
    if path is None:
        yield from examine()
        return
    with Journal(path, identity_of(job)) as journal:
        done = 0
        for found, seconds in journal.kept():
            done = found.stop
            job.set_seconds(seconds)
            yield found
        for found in examine(first=done, every=_KEEP_SECONDS):
            # What an interruption cut short is for this report only.
            if not job.interrupted:
                journal.append(found, job.seconds)
            yield found


class _Results:
    """What is known so far; at first nothing is known of anybody."""

    def __init__(self, job: Job) -> None:
        self._job = job
        n_people, n_classes = len(job.people), len(self._classes)
        self._verdicts = np.full(n_people, UNKNOWN, dtype=np.int8)
        self._label = np.full(n_people, -1, dtype=np.int32)
        self._everything = pack(np.ones(n_classes, dtype=bool))
        self._possible = np.tile(self._everything, (n_people, 1))
        self._twins: list[Twins] = []

    @property
    def _classes(self) -> tuple[Label, ...]:
        return self._job.variables.model.classes

    def keep(self, found: Found) -> None:
        """Keep what was found out; chunks come in order."""
        is_late = self._job.spend(found.nodes)
        here = slice(found.start, found.stop)
        self._verdicts[here] = np.where(is_late, UNKNOWN, found.verdict)
        self._label[here] = found.label
        late = is_late[:, np.newaxis]
        self._possible[here] = np.where(late, self._everything, found.possible)
        # The late are the last ones.
        in_time = found.stop - int(is_late.sum())
        self._twins.append(found.twins.before(in_time))

    def findings(self) -> Findings:
        return Findings(self._verdicts, self._label, self._possible, self._classes)

    def counterexamples(self) -> Counterexamples:
        features = self._job.variables.ensemble.features
        twins = Twins.join([Twins.none(len(features)), *self._twins])
        order = twins.closest_first(features, self._spread())
        return Counterexamples(twins, order, features, self._classes)

    def _spread(self) -> NDArray[np.float64]:
        """Return the unit of distance of each variable: its standard deviation."""
        schema = self._job.variables.schema
        names = [feature.name for feature in self._job.variables.ensemble.features]
        deviations = [getattr(schema.find(name), "sd", None) for name in names]
        return np.array([deviation or 1.0 for deviation in deviations])


def _weights(given: Any, n_people: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    try:
        weight = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "sample_weight holds more than numbers; pass numbers."
        ) from None
    if weight.shape != (n_people,):
        raise DataError(
            f"sample_weight has the shape {weight.shape}, and there are {n_people} "
            "people; pass one weight each."
        )
    is_weight = np.isfinite(weight) & (weight >= 0)
    if not is_weight.all():
        row = int(np.argmin(is_weight))
        raise DataError(
            f"row {row}: sample_weight is {weight[row]}; pass finite numbers, at least "
            "0."
        )
    if not weight.any():
        raise DataError("all of sample_weight is 0; somebody must have weight.")
    # Only shares matter, and the sum of the largest floats would be infinite.
    weight /= weight.max()
    weight.setflags(write=False)
    return weight
