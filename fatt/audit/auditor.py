"""The auditor: a model and a similarity, prepared once for any number of people."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from fatt.audit.arguments import (
    check_budget,
    check_max_rules,
    check_n_jobs,
    check_sharing,
    check_similarity,
    check_space,
    check_spot_checks,
    weights_of,
)
from fatt.audit.asked import Checks, Effort, Fair, Gap, Sharing, Unfair
from fatt.audit.confirming import confirmed
from fatt.audit.gaps import gaps_of
from fatt.audit.radii import radii_of
from fatt.audit.replay import Replay
from fatt.audit.run import Question, Run
from fatt.audit.spot_checks import SPOT_CHECKS, SpotChecks
from fatt.audit.verification import examined, verified
from fatt.ensemble import Ensemble, Label, Prediction
from fatt.ensemble.allowed import Allowed, Direction, allowed_of
from fatt.ensemble.tables import as_frame, refuse_positions
from fatt.everybody.distributions import Distribution, distribution_of
from fatt.everybody.existence import Existence, existence_of
from fatt.everybody.gap import LargestGap, largest_gap_of
from fatt.everybody.share import Judge, Share, share_of
from fatt.everybody.where import Regions, regions_of
from fatt.importers import load
from fatt.importers.columns.joints import with_fixed
from fatt.markup import name_of, notebook
from fatt.model import Model
from fatt.people import People
from fatt.progress import Progress, watched
from fatt.region import (
    Neighbourhood,
    Population,
    Relation,
    Schema,
    Space,
    Variables,
)
from fatt.region.combined import refuse_ties
from fatt.region.inference import infer, read_columns, with_seen
from fatt.region.kin import kin_of
from fatt.region.kinds import Ordinal
from fatt.region.one_hot import SuspectGroups
from fatt.region.similarity import narrowed
from fatt.report import Report
from fatt.report.doubts import refuse_unknown, refuse_vacuous
from fatt.threads import CHUNK, n_threads
from fatt.verdict import Findings, Of, Radii, ScoreGaps
from fatt.verifier import Budget, Verifier
from fatt.verifier.joint import JointVerifier
from fatt.verifier.tied import tied

#: How many people of a table a search among everybody starts from, at most.
_KNOWN = 512

#: What an answer may need of compiled code, also what only the unfair do.
_COMPILED = (
    "fatt.ensemble.kernels",
    "fatt.region.kernels",
    "fatt.region.growth",
    "fatt.verifier.kernels.decide",
    "fatt.verifier.kernels.points",
)


#: A person of a space whom so many nodes do not decide is unknown.
JUDGED = Budget(nodes=20_000)
#: A region of a space that so many nodes do not prove to be free of pairs is not.
PROVED = Budget(nodes=2_000)


class _Everybody(NamedTuple):
    """A question about a space, prepared."""

    population: Population
    judge: Judge
    distribution: Distribution
    rest: dict[str, Any]


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
    threshold, cuts
        The cut-off or the bands by which the model decides, as in `fatt.load`, which
        knows more of them.
    tolerance, direction, favorable
        Which answers of similar people are still fair, as in `fatt.verify`.

    Attributes
    ----------
    model
        The model, as `fatt.load` returns it.
    variables
        How the model reads people, with its `schema` and exact `model`.
    similarity
        Who is similar to whom.
    spot_checks
        Draws people similar to the fair, about whom the model itself is asked.
    allowed
        Which answers of similar people are still fair; None of a model that predicts
        numbers, if nothing was said about them.

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
        cuts: Mapping[str, float] | None = None,
        **fair: Unpack[Fair],
    ) -> None:
        check_similarity(similarity)
        check_n_jobs(n_jobs)
        loaded = load(model, threshold=threshold, cuts=cuts)
        if fair.get("tolerance") is not None:
            loaded = loaded.predicting()
        self.allowed = _allowed(loaded.ensemble, **fair)
        self._by_position = by_position or loaded.ensemble.inputs.named
        ensemble = loaded.ensemble
        # Whether nobody said that a column is a number.
        is_inferred = not isinstance(schema, Schema)
        rows = None if isinstance(schema, Schema) else schema
        if schema is None:
            schema = Schema.from_ensemble(ensemble)
        elif is_inferred:
            if not self._by_position:
                refuse_positions(as_frame(rows), loaded.features)
            schema = infer(ensemble, rows, n_threads=n_threads(n_jobs))
        self._prepare(loaded, similarity, schema, is_inferred, rows)

    def _prepare(
        self,
        model: Model,
        similarity: Relation,
        schema: Schema,
        is_inferred: bool,
        rows: Any = None,
    ) -> None:
        if rows is not None:
            schema = with_seen(model.ensemble, schema, rows, similarity)
        self._schema, self.model, self._is_inferred = schema, model, is_inferred
        suspects = self._suspects_of(similarity)
        if rows is not None:
            suspects.learn(functools.partial(read_columns, model.ensemble, rows))
        # Compiled code is loaded now, and not while the first person waits for it.
        for name in _COMPILED:
            importlib.import_module(name)
        self.variables = Variables(model.ensemble, narrowed(schema, similarity))
        self._bind(similarity, None, suspects)
        self._replay = Replay(model, self.variables, self.allowed)

    def _suspects_of(self, similarity: Relation) -> SuspectGroups:
        ensemble, inferred = self.model.ensemble, self._is_inferred
        return SuspectGroups(similarity, self._schema, ensemble, inferred=inferred)

    def _bind(
        self,
        similarity: Relation,
        known: Verifier | JointVerifier | None,
        suspects: SuspectGroups,
    ) -> None:
        self._suspects, variables = suspects, self.variables
        self.similarity = similarity
        space = Neighbourhood(similarity, variables)
        ensemble = space.combined.ensemble
        verifier = known
        if verifier is None or verifier.ensemble is not ensemble:
            verifier = _search_of(ensemble, self.allowed)
        self._verifier = verifier
        search = tied(verifier) if space.has_ties else verifier
        self._question = Question(variables, similarity, space, search)
        self.spot_checks = SpotChecks(variables, similarity)

    def __getstate__(self) -> tuple[Any, ...]:
        # What is prepared is made again: compiled code takes only arrays of its own.
        prepared = self.model, self.similarity, self._schema, self._is_inferred
        return (self._by_position, self.allowed), prepared

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (self._by_position, self.allowed), prepared = state
        self._prepare(*prepared)

    def __repr__(self) -> str:
        source = self.variables.model.source
        return f"<Auditor of a {source.kind} of {source.library}: {self.similarity!r}>"

    def _repr_html_(self) -> str:
        source = self.variables.model.source
        return notebook(
            ["Auditor of a ", name_of(f"{source.kind} of {source.library}")],
            self.similarity.in_html(self.variables.schema),
        )

    def with_similarity(self, similarity: Relation) -> Auditor:
        """Return an auditor of the same model, which shares all else that is prepared.

        Parameters
        ----------
        similarity
            Who is similar to whom.
        """
        check_similarity(similarity)
        other, current = copy.copy(self), self.variables.schema
        wanted = narrowed(self._schema, similarity)
        moving = {name for name, _ in similarity.moving(self._schema)}
        moving |= {one.name for one in wanted.variables if isinstance(one, Ordinal)}
        if any(current.find(name) != wanted.find(name) for name in moving):
            # Other numbers have only the values that are known.
            other._prepare(self.model, similarity, self._schema, self._is_inferred)
        else:
            suspects = self._suspects_of(similarity)
            other._bind(similarity, self._verifier, suspects)
        return other

    def within(self, space: Space) -> Auditor:
        """Return an auditor of the same question, asked about the people of a space.

        Parameters
        ----------
        space
            All people that there can be: they tell the schema.
        """
        check_space(space)
        if space.people is not None and not self._by_position:
            refuse_positions(as_frame(space.people), self.model.features)
        other, schema = copy.copy(self), space.schema_of(self.model)
        if schema == self._schema:
            return other
        is_inferred = space.people is not None
        other._prepare(self.model, self.similarity, schema, is_inferred, space.people)
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
        check_budget(budget)
        check_n_jobs(n_jobs)
        taken = self._taken(people)
        if not self._by_position:
            refuse_positions(taken.frame, self.model.features)
        self._suspects.refuse(taken.cells)
        return Run(
            self._question, taken, budget=budget, n_jobs=n_jobs, progress=progress
        )

    def _taken(self, people: Any) -> People:
        """Return a table as people; these themselves if they are already."""
        is_taken = isinstance(people, People)
        return people if is_taken else People(people, self.variables)

    def verify(self, people: Any, **checks: Unpack[Checks]) -> Report:
        """Prove of each person that all similar people get the same label, or not.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        **checks
            As in `fatt.verify`: budget, n_jobs, progress, sample_weight,
            sensitive_features, journal, spot_checks.

        Returns
        -------
        Report
            As `fatt.verify` returns it.

        Raises
        ------
        DataError
            If the model knows no value of a column, of several people with several.
        SpecError
            If there are several people, and none of them is similar to anybody else.
        """
        taken = self._taken(people)
        refuse_unknown(taken)
        report = self.verify_part(taken, **checks)
        if len(report) > 1 and report.is_fair.all() and self._is_vacuous(report.people):
            refuse_vacuous(self.similarity, self.variables.schema)
        return report

    def are_alone(self, people: People) -> NDArray[np.bool_]:
        """Tell which people have nobody similar: they are trivially fair."""
        space = self._question.space
        return np.concatenate([space.alone(values) for values in people.chunks()])

    def _is_vacuous(self, people: People) -> bool:
        """Tell whether nobody is similar to anybody else; one person can settle it."""
        space, ends = self._question.space, [1, *range(CHUNK, len(people), CHUNK)]
        return all(
            space.alone(people.values(start, end)).all()
            for start, end in itertools.pairwise([0, *ends, len(people)])
        )

    def verify_part(
        self,
        people: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        journal: str | Path | None = None,
        spot_checks: int = SPOT_CHECKS,
        **effort: Unpack[Effort],
    ) -> Report:
        """Verify as `verify` does, but accept rows of which none has a similar row."""
        check_spot_checks(spot_checks)
        self.require_rule()
        with self._asked(people, **effort) as run:
            weight = weights_of(sample_weight, len(run.people))
            known = run.people.with_sensitive(sensitive_features)
            findings, asked = verified(
                self, run, spot_checks=spot_checks, journal=journal
            )
        return Report(
            findings=findings,
            people=known,
            similarity=self.similarity,
            budget=run.budget,
            interrupted=run.interrupted,
            sample_weight=weight,
            asked=asked,
            allowed=self.allowed or Allowed(),
        )

    def score_gap(
        self, people: Any, *, of: Of = "score", **effort: Unpack[Effort]
    ) -> ScoreGaps:
        """Find the largest change of score between each person and all similar people.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        of, **effort
            As in `fatt.score_gap`: budget, n_jobs, progress.

        Returns
        -------
        ScoreGaps
            As `fatt.score_gap` returns them.
        """
        with self._asked(people, **effort) as run:
            return gaps_of(run, of)

    def radius(self, people: Any, **effort: Unpack[Effort]) -> Radii:
        """Find the largest multiple of the noise with which each person is fair.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        **effort
            As in `fatt.radius`: budget, n_jobs, progress.

        Returns
        -------
        Radii
            As `fatt.radius` returns them.
        """
        self.require_rule()
        with self._asked(people, **effort) as run:
            return radii_of(run)

    def unfair_share(self, space: Space, **asked: Unpack[Sharing]) -> Share:
        """Find for which share of all people a similar one gets another answer.

        Parameters
        ----------
        space
            All people that there can be.
        **asked
            As in `fatt.unfair_share`: people, distribution, confidence, seconds, draws,
            seed, budget, n_jobs, progress.

        Returns
        -------
        Share
            As `fatt.unfair_share` returns it.
        """
        with self._everybody(space, asked) as (population, judge, distribution, rest):
            return share_of(
                population, judge, distribution, is_mutual=self._is_mutual, **rest
            )

    def where_unfair(
        self, space: Space, *, max_rules: int = 8, **asked: Unpack[Sharing]
    ) -> Regions:
        """Find where people are treated unfairly, and where it is proved nobody is.

        Parameters
        ----------
        space
            All people that there can be.
        max_rules
            How many regions of either kind there are at most.
        **asked
            As in `fatt.where_unfair`: people, distribution, confidence, seconds, draws,
            seed, budget, n_jobs, progress.

        Returns
        -------
        Regions
            As `fatt.where_unfair` returns them.
        """
        check_max_rules(max_rules)
        with self._everybody(space, asked) as (population, judge, distribution, rest):
            kin_of(
                population
            )  # What is no product is refused before anything is drawn.

            def prove(some: Population) -> bool:
                found = existence_of(some, allowed=self.allowed, budget=PROVED)
                if found.interrupted:
                    raise KeyboardInterrupt
                return found.proved

            return regions_of(
                population, judge, distribution, prove, max_rules=max_rules, **rest
            )

    @contextlib.contextmanager
    def _everybody(self, space: Space, asked: Sharing) -> Iterator[_Everybody]:
        """Yield whom a question about a space is about, how they are drawn and judged.

        The last of it are the arguments that are about nothing of this.
        """
        self.require_rule()
        check_sharing(asked)
        rest: dict[str, Any] = {**asked}
        people, drawn = rest.pop("people", None), rest.pop("distribution", None)
        budget, n_jobs = rest.pop("budget", None), rest.pop("n_jobs", None)
        within = self.within(space)
        what = "a question about a space"
        refuse_ties(self.similarity, within.variables.schema, what)
        population = space.bind(within.variables, self.similarity)
        table = space.people if people is None else people
        distribution = distribution_of(population, table, drawn)
        first = distribution.draw(np.random.default_rng(0), CHUNK)
        if within._question.space.alone(first).all():
            refuse_vacuous(self.similarity, within.variables.schema, where="this space")
        judge = functools.partial(within.judge, budget=budget or JUDGED, n_jobs=n_jobs)
        with watched(rest.pop("progress", None)) as tell:
            yield _Everybody(
                population, judge, distribution, {**rest, "progress": tell}
            )

    def judge(
        self, values: NDArray[np.float64], *, budget: Budget, n_jobs: int | None = None
    ) -> NDArray[Any]:
        """Return the verdicts of people, given in the variables of the schema.

        Parameters
        ----------
        values : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returns.
        budget
            Limits of the search for each of them.
        n_jobs
            As in `fatt.verify`.

        Returns
        -------
        ndarray of shape (n_people,)
            `FAIR`, `UNFAIR` or `UNKNOWN` of `fatt.verdict`.
        """
        search = self._question.verifier.for_one_run()
        boxes = self._question.space.boxes(values)
        found = search.verify(values, boxes, budget=budget, n_jobs=n_jobs)
        if found.interrupted:
            raise KeyboardInterrupt
        return found.verdict

    @property
    def _is_mutual(self) -> bool:
        """Whether two people are treated alike as soon as one of them says so."""
        allowed = self.allowed or Allowed()
        return allowed.tolerance is None and allowed.direction is None

    def largest_gap(
        self,
        space: Space,
        *,
        progress: Progress | bool | None = None,
        **asked: Unpack[Gap],
    ) -> LargestGap:
        """Find the largest difference between two similar people anywhere.

        Parameters
        ----------
        space
            All people that there can be.
        progress, **asked
            As in `fatt.largest_gap`: of, direction, tolerance, budget.

        Returns
        -------
        LargestGap
            As `fatt.largest_gap` returns it.
        """
        check_budget(asked.get("budget"))
        population, within, people = self._population(space)
        with watched(progress) as tell:
            found = largest_gap_of(population, people=people, progress=tell, **asked)
        pair = confirmed(within.model, within.variables, found.pair, space.people)
        return dataclasses.replace(found, pair=pair)

    def exists_unfair(
        self,
        space: Space,
        *,
        progress: Progress | bool | None = None,
        **asked: Unpack[Unfair],
    ) -> Existence:
        """Find two similar people anywhere who are treated differently, if any are.

        Parameters
        ----------
        space
            All people that there can be.
        progress, **asked
            As in `fatt.exists_unfair`: gap, between, direction, budget.

        Returns
        -------
        Existence
            As `fatt.exists_unfair` returns it.
        """
        check_budget(asked.get("budget"))
        population, within, people = self._population(space)
        with watched(progress) as tell:
            found = existence_of(
                population, allowed=self.allowed, people=people, progress=tell, **asked
            )
        pair = confirmed(within.model, within.variables, found.pair, space.people)
        return dataclasses.replace(found, pair=pair)

    def _population(
        self, space: Space
    ) -> tuple[Population, Auditor, NDArray[np.float64] | None]:
        """Return all people of a space, how they are asked, and some who are known."""
        within = self.within(space)
        population = space.bind(within.variables, self.similarity)
        if space.people is None:
            return population, within, None
        known = People(space.people, within.variables)
        return population, within, known.values(0, min(len(known), _KNOWN))

    @contextlib.contextmanager
    def _asked(
        self,
        people: Any,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
        progress: Progress | bool | None = None,
    ) -> Iterator[Run]:
        """Yield people about whom to ask, while a bar is shown if it is wanted."""
        with watched(progress) as tell:
            yield self.run(people, budget=budget, n_jobs=n_jobs, progress=tell)

    def require_rule(self) -> None:
        """Refuse to ask a model that predicts numbers whether they are the same."""
        if self.allowed is None:
            allowed_of(self.model.ensemble, None, None, None)

    def examine(self, people: Any, budget: Budget) -> Findings:
        """Find out what can be found out about some people, in this thread."""
        run = Run(self._question, People(people, self.variables), budget=budget)
        return examined(run, self.replay(), run.chunk(0, len(run.people)), 1)

    def replay(self) -> Replay:
        """Return who asks the model itself about the people of one call."""
        return self._replay.anew()


def _search_of(ensemble: Ensemble, allowed: Allowed | None) -> Verifier | JointVerifier:
    """Return the search of a model over its variables."""
    if ensemble.joints:
        return JointVerifier(ensemble, with_fixed, allowed or Allowed())
    return Verifier(ensemble, allowed=allowed)


def _allowed(
    ensemble: Ensemble,
    *,
    tolerance: float | str | None = None,
    direction: Direction | None = None,
    favorable: Label | None = None,
) -> Allowed | None:
    """Return which answers are still fair; None if only a number's gap can be asked."""
    said = (tolerance, direction, favorable)
    if isinstance(ensemble.decision, Prediction) and said == (None, None, None):
        return None
    return allowed_of(ensemble, *said)
