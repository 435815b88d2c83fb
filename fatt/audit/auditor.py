"""The auditor: a model and a similarity, prepared once for any number of people."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import reprlib
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fatt.audit import workers
from fatt.audit.gaps import Of, ScoreGaps, gaps_of
from fatt.audit.radii import Radii, radii_of
from fatt.audit.replay import Replay
from fatt.audit.run import Chunk, Progress, Question, Run
from fatt.audit.spot_checks import SPOT_CHECKS, check_spot_checks, draw
from fatt.ensemble import Ensemble
from fatt.ensemble.table import as_frame, refuse_positions
from fatt.errors import DataError, SpecError
from fatt.importers import load
from fatt.model import Model
from fatt.people import People
from fatt.region import Relation, Schema, Space, Variables
from fatt.region.amounts import is_number
from fatt.region.flags import SuspectGroups, refuse_broken_groups
from fatt.region.inference import infer
from fatt.region.similarity import moved_by, narrowed
from fatt.report import Asked, Report
from fatt.report.doubts import stand_ins
from fatt.threads import n_threads
from fatt.verdict import FAIR, Findings
from fatt.verifier import Budget, Verifier

#: What an answer may need of compiled code, also what only the unfair do.
_COMPILED = (
    "fatt.ensemble.kernels",
    "fatt.region.kernels",
    "fatt.region.growth",
    "fatt.verifier.kernels.decide",
)
#: About how much work is lost at most if a run with a journal is killed.
_KEEP_SECONDS = 2.0


class Auditor:
    """A question about people, prepared once and asked as often as you like.

    What does not depend on the people is done when the auditor is made: the model is
    read, its thresholds are ranked, the similarity is bound to its variables, and all
    compiled code is loaded. One person then costs a fraction of a millisecond.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it.
    similarity
        Who is similar to whom.
    schema
        What the columns mean: a `Schema`, or a table of people from whom it is
        inferred, the more the better. By default the model alone tells. Whatever needs
        rows is unknown then, such as standard deviations, or which columns are flags of
        one variable.
    n_jobs
        Number of threads in which a table is read; -1 for all processors, by default
        one.
    by_position
        Whether a model without names of columns may take those of a data frame in
        their order, whatever their names. By default that is refused; the other way
        is `fatt.load(model, columns=[...])`.
    threshold
        The cut-off by which the model decides, as in `fatt.load`, which knows more of
        them.

    Attributes
    ----------
    model
        The model, as `fatt.load` returns it.
    variables
        How the model reads people, with its `schema` and exact `model`.
    similarity
        Who is similar to whom.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, or needs what only rows can
        tell.
    DataError
        If the schema is to be inferred from rows that the model's library refuses.
    ModelError
        If the model cannot be imported exactly.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ages = [[20.0], [30.0], [40.0], [50.0]]
    >>> tree = DecisionTreeClassifier().fit(ages, ["deny", "deny", "grant", "grant"])
    >>> auditor = fatt.Auditor(tree, similarity=fatt.Similarity(noise={"x0": 6}))
    >>> auditor.verify([[20.0]]).counts
    {'fair': 1, 'unfair': 0, 'unknown': 0}
    >>> print(auditor.verify([[40.0]]).counterexamples[0])
    #0  grant → deny   x0 40.0 → 35.0

    Notes
    -----
    An auditor can be pickled, and used by several threads at the same time. It holds
    the model as it was: a model that is fitted anew, or a file that is written anew,
    needs a new auditor.
    """

    def __init__(
        self,
        model: Any,
        *,
        similarity: Relation,
        schema: Schema | Any = None,
        n_jobs: int | None = None,
        by_position: bool = False,
        threshold: float | None = None,
    ) -> None:
        _check_similarity(similarity)
        _check_n_jobs(n_jobs)
        loaded = load(model, threshold=threshold)
        self._by_position = by_position or loaded.ensemble.inputs.named
        ensemble = loaded.ensemble
        is_inferred = schema is not None and not isinstance(schema, Schema)
        if schema is None:
            schema = Schema.from_ensemble(ensemble)
        elif is_inferred:
            rows = schema
            if not self._by_position:
                refuse_positions(as_frame(rows), loaded.features)
            schema = infer(ensemble, rows, n_threads=n_threads(n_jobs))
            variables = Variables(ensemble, schema)
            refuse_broken_groups(similarity, variables, rows, inferred=True)
        self._prepare(loaded, similarity, schema, is_inferred)

    def _prepare(
        self,
        model: Model,
        similarity: Relation,
        schema: Schema,
        is_inferred: bool,
    ) -> None:
        # Compiled code is loaded now, and not while the first person waits for it.
        for name in _COMPILED:
            importlib.import_module(name)
        self._schema = schema
        self.variables = Variables(model.ensemble, narrowed(schema, similarity))
        self.model, self._is_inferred = model, is_inferred
        self._bind(similarity, Verifier(self.variables.ensemble))
        self._replay = Replay(model, self.variables)

    def _bind(self, similarity: Relation, verifier: Verifier) -> None:
        variables = self.variables
        self.similarity = similarity
        space = Space(similarity, variables)
        self._question = Question(variables, similarity, space, verifier)
        self._suspects = SuspectGroups(
            similarity, self._schema, variables.model, inferred=self._is_inferred
        )

    def __getstate__(self) -> tuple[Any, ...]:
        # What is prepared is made again: compiled code takes only arrays of its own.
        prepared = self.model, self.similarity, self._schema, self._is_inferred
        return self._by_position, prepared

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._by_position, prepared = state
        self._prepare(*prepared)

    def __repr__(self) -> str:
        source = self.variables.model.source
        return f"<Auditor of a {source.model} of {source.library}: {self.similarity!r}>"

    def with_similarity(self, similarity: Relation) -> Auditor:
        """Return an auditor of the same model, which shares all else that is prepared.

        Parameters
        ----------
        similarity
            Who is similar to whom.
        """
        _check_similarity(similarity)
        other, current = copy.copy(self), self.variables.schema
        finite = {one.name for one in current.variables} - {
            one.name for one in self._schema.variables if one in current.variables
        }
        if moved_by(similarity, self._schema) & finite or (
            narrowed(current, similarity) != current
        ):
            # Other numbers have only the values that were seen.
            other._prepare(self.model, similarity, self._schema, self._is_inferred)
        else:
            other._bind(similarity, self._question.verifier)
        return other

    def __copy__(self) -> Auditor:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def run(
        self,
        people: Any,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Run:
        """Return people about whom to ask; the parameters are those of `verify`."""
        _check_budget(budget)
        _check_n_jobs(n_jobs)
        taken = People(people, self.variables)
        if not self._by_position:
            refuse_positions(taken.frame, self.model.features)
        self._suspects.refuse(taken.cells)
        return Run(
            self._question, taken, budget=budget, n_jobs=n_jobs, progress=progress
        )

    def verify(
        self,
        people: Any,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        sample_weight: Any = None,
        journal: str | Path | None = None,
        spot_checks: int = SPOT_CHECKS,
    ) -> Report:
        """Prove of each person that all similar people get the same label, or not.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        budget, n_jobs, progress, sample_weight, journal, spot_checks
            As in `fatt.verify`.

        Returns
        -------
        Report
            As `fatt.verify` returns it.
        """
        check_spot_checks(spot_checks)
        _ = self.model.ensemble.label_rule
        run = self.run(people, budget=budget, n_jobs=n_jobs, progress=progress)
        weight = _weights(sample_weight, len(run.people))
        known: list[Findings] = []
        replay = self._replay.anew()
        n_asked = n_similar = 0
        try:
            if journal is None and run.is_short and not workers.are_wanted():
                told = _together(run, replay, spot_checks)
                if told is not None:
                    return self._report(run, weight, *told)
                # Something is not as was found: asked piece by piece, it shows what.
                run, replay = run.anew(), self._replay.anew()
            answers = replay.everybody(run.people)
            # Asking is no part of the search, whose seconds may be limited.
            run.account.set_seconds(0.0)
            examine = self._way(run, replay, n_jobs)
            with contextlib.closing(_examined(run, examine, journal)) as examined:
                for found in examined:
                    if answers is not None:
                        own = answers[found.start : found.stop]
                        replay.compare(run.people, found.start, own, found.label)
                        n_asked = found.stop
                    known.append(_in_time(run, found))
                    run.report(found.stop)
            n_similar = _spot_check(run, replay, known, spot_checks)
        except KeyboardInterrupt:
            run.interrupted = True
        asked = Asked(people=n_asked, similar=n_similar, reason=replay.reason)
        return self._report(run, weight, _of_everybody(run, known), asked)

    def _report(
        self,
        run: Run,
        weight: NDArray[np.float64] | None,
        findings: Findings,
        asked: Asked,
    ) -> Report:
        return Report(
            findings=findings,
            people=run.people,
            similarity=self.similarity,
            budget=run.budget,
            interrupted=run.interrupted,
            sample_weight=weight,
            asked=asked,
        )

    def score_gap(
        self,
        people: Any,
        *,
        of: Of = "score",
        budget: Budget | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> ScoreGaps:
        """Find the largest change of score between each person and all similar people.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        of, budget, n_jobs, progress
            As in `fatt.score_gap`.

        Returns
        -------
        ScoreGaps
            As `fatt.score_gap` returns them.
        """
        run = self.run(people, budget=budget, n_jobs=n_jobs, progress=progress)
        return gaps_of(run, of)

    def radius(
        self,
        people: Any,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Radii:
        """Find the largest multiple of the noise with which each person is fair.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        budget, n_jobs, progress
            As in `fatt.radius`.

        Returns
        -------
        Radii
            As `fatt.radius` returns them.
        """
        _ = self.model.ensemble.label_rule
        run = self.run(people, budget=budget, n_jobs=n_jobs, progress=progress)
        return radii_of(run)

    def examine(self, people: Any, budget: Budget) -> Findings:
        """Find out what can be found out about some people, in this thread."""
        run = Run(self._question, People(people, self.variables), budget=budget)
        return examined(run, self._replay.anew(), run.chunk(0, len(run.people)), 1)

    def _way(self, run: Run, replay: Replay, n_jobs: int | None) -> _Way:
        """Return where people are examined: in threads, or where joblib was told to."""
        here = functools.partial(examined, run, replay)
        if workers.are_wanted():
            return functools.partial(workers.in_workers, self, run, here, n_jobs)
        return functools.partial(run.in_threads, here)


def auditor_of(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None,
    n_jobs: int | None = None,
    by_position: bool = False,
    threshold: float | None = None,
) -> Auditor:
    """Return an auditor for certain people, who tell the schema if there is none."""
    _check_similarity(similarity)
    _check_schema(schema)
    known = X if schema is None else schema
    model = load(model, threshold=threshold)
    try:
        return Auditor(
            model,
            similarity=similarity,
            schema=known,
            n_jobs=n_jobs,
            by_position=by_position,
        )
    except SpecError:
        if schema is not None:
            # What is absent may be a group of columns that the schema tears apart.
            refuse_broken_groups(similarity, Variables(model.ensemble, schema), X)
        _refuse_unread(similarity, model.ensemble, schema, X)
        raise


def _refuse_unread(
    similarity: Relation, ensemble: Ensemble, schema: Schema | None, X: Any
) -> None:
    """Say of a name that it is a column of the table which the model does not read."""
    frame = as_frame(X)
    if frame is None or not ensemble.inputs.named:
        return
    variables = Variables(ensemble, infer(ensemble, X) if schema is None else schema)
    known = {*variables.schema.columns, *(v.name for v in variables.schema.variables)}
    for name in similarity.names:
        if name not in known and name in frame.columns:
            raise SpecError(
                f"the model does not read the column {name!r} of this table, so that "
                "it cannot matter on its own; vary what stands for it. "
                + stand_ins(People(X, variables), name)
            )


def verify(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    by_position: bool = False,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    sample_weight: Any = None,
    journal: str | Path | None = None,
    spot_checks: int = SPOT_CHECKS,
    threshold: float | None = None,
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
    by_position
        As in `fatt.Auditor`: whether a model without names of columns may take those
        of a data frame in their order.
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
    threshold
        The cut-off by which the model decides: the second of its two classes where
        ``predict_proba(X)[:, 1] >= threshold``. By default the label is that of the
        model itself. `fatt.load` knows more of cut-offs.

    Returns
    -------
    Report
        If the run is interrupted from the keyboard, it holds what is done so far, and
        `Report.interrupted` is true.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, nobody is similar to
        anybody else, or the threshold contradicts the one that the model was loaded
        with.
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
    auditor = auditor_of(
        model,
        X,
        similarity=similarity,
        schema=schema,
        n_jobs=n_jobs,
        by_position=by_position,
        threshold=threshold,
    )
    report = auditor.verify(
        X,
        budget=budget,
        n_jobs=n_jobs,
        progress=progress,
        sample_weight=sample_weight,
        journal=journal,
        spot_checks=spot_checks,
    )
    refuse_vacuous(report)
    return report


def refuse_vacuous(report: Report) -> None:
    """Raise if nobody in a table is similar to anybody else.

    An auditor may be asked about some people to whom the similarity says nothing; of
    all people that is a mistake.

    Raises
    ------
    SpecError
        If so. What is fair then is fair because nothing was asked.
    """
    counts = report.counts
    if counts["fair"] == len(report) and report.alone == len(report):
        words = report.similarity.describe(report.people.variables.schema)
        said = " ".join(words.split("\n"))
        raise SpecError(
            "nobody in this table is similar to anybody else, so that all would count "
            "as fair and nothing be proved: a condition that nobody meets, noise below "
            "the step of whole numbers, or a value that a condition holds fixed. "
            f"{said}."
        )


def score_gap(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    of: Of = "score",
    schema: Schema | None = None,
    by_position: bool = False,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> ScoreGaps:
    """Find the largest change of score between each person and all similar people.

    Parameters
    ----------
    model, X, similarity, schema, by_position, n_jobs, progress
        As in `fatt.verify`.
    of
        ``"score"`` for the raw scores that the label rests on, see
        `Ensemble.raw_scores`; ``"probability"`` for what `Model.predict_proba` gives;
        ``"prediction"`` for the number that a regressor predicts.
    budget
        As in `fatt.verify`, for each score.

    Returns
    -------
    ScoreGaps
        Of several scores, the change of the one that changes most.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, or probabilities are asked
        of a model whose scores are not known to give any.
    DataError
        If there are no rows, or the model's library would refuse one.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> gaps = fatt.score_gap(
    ...     tree, [[25.0], [34.0]], similarity=fatt.Similarity(noise={"x0": 2}))
    >>> gaps[0].bounds, gaps[1].bounds
    (Bounds(lower=0.0, upper=0.0), Bounds(lower=1.0, upper=1.0))

    Notes
    -----
    For a library without a fixed order of summation the scores are those in the order
    of the trees; its own differ in their last bits.
    """
    auditor = auditor_of(
        model,
        X,
        similarity=similarity,
        schema=schema,
        n_jobs=n_jobs,
        by_position=by_position,
    )
    return auditor.score_gap(X, of=of, budget=budget, n_jobs=n_jobs, progress=progress)


def radius(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    by_position: bool = False,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Radii:
    """Find the largest multiple of the noise for which each person is treated fairly.

    Parameters
    ----------
    model, X, similarity, schema, by_position, n_jobs, progress
        As in `fatt.verify`. Only the amounts in `noise` grow and shrink: what may vary,
        and ranges of interchangeable numbers, stay as they are.
    budget
        As in `fatt.verify`, for each multiple that is tried; totals are for all.

    Returns
    -------
    Radii
        Exact to the last bit where the budget suffices.

    Raises
    ------
    SpecError
        If the similarity or schema names something absent, or there is no noise that
        could grow.
    DataError
        If there are no rows, or the model's library would refuse one.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[20.0], [50.0]], ["deny", "grant"])
    >>> noise = fatt.Similarity(noise={"x0": 2})
    >>> radii = fatt.radius(tree, [[25.0], [31.0]], similarity=noise)
    >>> [f"{one.bounds.lower:.5f}" for one in radii]
    ['5.00000', '2.00000']

    Notes
    -----
    A larger multiple only adds similar people, so once unfair, always unfair; and it
    changes what the trees can tell apart at finitely many multiples only. All float64
    multiples are bisected, and the search runs only for those that the trees tell apart
    from both ends.
    """
    auditor = auditor_of(
        model,
        X,
        similarity=similarity,
        schema=schema,
        n_jobs=n_jobs,
        by_position=by_position,
    )
    return auditor.radius(X, budget=budget, n_jobs=n_jobs, progress=progress)


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
    found = run.search(chunk.values, chunk.boxes, n_threads=n_threads)
    found = found.moved(chunk.start)
    if not len(found.twins):
        return found
    index, people = found.twins.index, found.twins.people
    twins, label = found.twins.everybody(), found.twins.label
    replay.require_similar(chunk.boxes, chunk.start, index - chunk.start, twins)
    told = replay.twins(run.people, index, people, twins, label)
    return replace(found, twins=found.twins.confirmed(*told))


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


def _together(run: Run, replay: Replay, count: int) -> tuple[Findings, Asked] | None:
    """Examine a few people, and ask the model itself about all of them in one call.

    Parameters
    ----------
    run
        The people.
    replay
        Asks the model.
    count
        About how many people similar to the fair it is asked at most.

    Returns
    -------
    findings, asked
        None if the model answers or refuses what was not expected.
    """
    run.account.set_seconds(0.0)
    chunk = run.chunk(0, len(run.people))
    found = _in_time(run, run.search(chunk.values, chunk.boxes))
    if len(found.twins):
        twins, index = found.twins.everybody(), found.twins.index
        replay.require_similar(chunk.boxes, 0, index, twins)
    drawn = None
    if replay.is_at_hand:
        drawn = draw(run, np.flatnonzero(found.verdict == FAIR), count)
    told = replay.together(run.people, found, drawn)
    if told is None:
        return None
    if len(found.twins):
        found = replace(found, twins=found.twins.confirmed(*told))
    run.report(found.stop)
    if replay.reason:
        return found, Asked(reason=replay.reason)
    n_similar = 0 if drawn is None else len(drawn.index)
    return found, Asked(people=len(found), similar=n_similar)


def _spot_check(run: Run, replay: Replay, known: list[Findings], count: int) -> int:
    """Ask the model about some people similar to the fair; return about how many."""
    if replay.reason:
        return 0
    findings = _of_everybody(run, known)
    drawn = draw(run, np.flatnonzero(findings.verdict == FAIR), count)
    if drawn is None:
        return 0
    return replay.similar(drawn, findings.label[drawn.index].astype(np.int64))


class _Way(Protocol):
    """Yields what is found about all people from a row on, in order."""

    def __call__(
        self, *, first: int = 0, every: float | None = None
    ) -> Iterator[Findings]: ...


def _examined(
    run: Run, examine: _Way, path: str | Path | None
) -> Generator[Findings, None, None]:
    """Yield what was found about all people, in order: first what a journal keeps."""
    if path is None:
        yield from examine()
        return
    from fatt.audit.journal import Journal, identity_of

    classes = run.variables.model.classes
    with Journal(path, identity_of(run), classes) as journal:
        done = 0
        for found, seconds in journal.kept():
            done = found.stop
            run.account.set_seconds(seconds)
            yield found
        for found in examine(first=done, every=_KEEP_SECONDS):
            # What an interruption cut short is for this report only.
            if not run.interrupted:
                journal.append(found, run.account.seconds)
            yield found


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


def check_types(similarity: Any, schema: Any, budget: Any) -> None:
    """Raise a SpecError that shows what to write, if an argument is something else."""
    _check_similarity(similarity)
    _check_schema(schema)
    _check_budget(budget)


def _check_similarity(similarity: Any) -> None:
    if not isinstance(similarity, Relation):
        raise SpecError(
            f"similarity is {_shown(similarity)}; write Similarity(...), such as "
            "Similarity(noise={'age': 3}, vary=['sex'])."
        )


def _check_schema(schema: Any) -> None:
    if not isinstance(schema, Schema | None):
        raise SpecError(
            f"schema is {_shown(schema)}; write Schema.infer(fatt.load(model), X), "
            "and .with_(age=Integer(lower=17)) for what you know better."
        )


def _check_budget(budget: Any) -> None:
    if not isinstance(budget, Budget | None):
        seconds = budget if is_number(budget) else 1.0
        raise SpecError(
            f"budget is {_shown(budget)}; write Budget(seconds={seconds}), or "
            "Budget(nodes=...)."
        )


def _check_n_jobs(n_jobs: Any) -> None:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer | None):
        raise SpecError(
            f"n_jobs is {_shown(n_jobs)}; write a number of threads such as 2, or -1 "
            "for all processors."
        )


def _shown(value: Any) -> str:
    """Show a value briefly, with its type."""
    return f"{reprlib.repr(value)}, a {type(value).__name__}"
