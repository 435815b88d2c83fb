"""The report on many people."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from fatt import plots
from fatt.ensemble import Label
from fatt.ensemble.allowed import Allowed
from fatt.errors import Arg, SpecError, UnfairError
from fatt.people import People
from fatt.progress import Progress, watched
from fatt.report import doubts
from fatt.report.groups import Group, Groups, by_group, count, groups_or_all
from fatt.report.harm import Harmed, harmed_of
from fatt.report.sentences import caveats, counted, people_in_words
from fatt.verdict import FAIR, Bounds, Counterexamples, Findings, in_words, share

if TYPE_CHECKING:
    from fatt.certificate import Certificate
    from fatt.region import Relation
    from fatt.report.details import Details, Provenance
    from fatt.report.parts import PartsReport
    from fatt.verifier import Budget


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How many people the model's own library was asked about; its answers stand.

    Attributes
    ----------
    people
        How many of the people.
    similar
        How many people similar to the fair: the spot checks.
    reason
        Why the library was not asked; empty if it was.
    rounded
        How many of the people get another answer than fatt read from the model, since
        the library does not fix how it rounds its sums.
    """

    people: int = 0
    similar: int = 0
    reason: str = ""
    rounded: int = 0

    def __str__(self) -> str:
        if not self.people:
            reason = f": {self.reason}" if self.reason else ""
            return f"The model's own library was not asked{reason}."
        about = people_in_words(self.people)
        if self.similar:
            about += f" and {people_in_words(self.similar)} similar to the fair"
        but = ""
        if self.rounded:
            but = (
                f", but for rounding in {self.rounded:,}. The report states the "
                "library's answers"
            )
        return (
            f"The model's own library was asked about {about}. It gave the answers "
            f"that fatt read from the model{but}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Who is fair, unfair and unknown.

    A report keeps arrays, so that one on a million people is small. It has no truth
    value: ask ``report.fairness.lower >= 0.95``, or call `raise_if_unfair`.

    Attributes
    ----------
    findings
        One finding per person, in order.
    people
        The people, and how the model reads them.
    similarity
        Who counts as similar.
    budget
        The limits of the search.
    interrupted
        Whether the run was interrupted. People not reached are unknown.
    sample_weight : ndarray of shape (n_people,), optional
        Weight of each person in the shares of fair people.
    asked
        How many people the model's own library was asked about.
    allowed
        Which answers of similar people are fair.
    accept_doubts
        Whether somebody looked into the grave warnings.
    """

    findings: Findings
    people: People
    similarity: Relation
    budget: Budget
    interrupted: bool = False
    sample_weight: NDArray[np.float64] | None = None
    asked: Asked = field(default_factory=Asked)
    allowed: Allowed = field(default_factory=Allowed)
    accept_doubts: bool = False

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a report has no truth value; ask report.fairness.lower >= 0.95, or call "
            "report.raise_if_unfair()."
        )

    def __repr__(self) -> str:
        counts = counted(self.counts, self.stopped)
        ended = " (interrupted)" if self.interrupted else ""
        return (
            f"<Report on {len(self):,} people{ended}: {counts}\n"
            f" fairness {share(self.fairness)}, {self.similarity!r}>"
        )

    @staticmethod
    def from_parts(parts: Any) -> PartsReport:
        """Count what `fatt.Part` found, in files that were written by any engine.

        The files are read some rows at a time, so memory does not grow with the people.

        Parameters
        ----------
        parts
            A folder of Parquet files, a list of files, or a data set of pyarrow.

        Returns
        -------
        PartsReport
            It has `counts`, `fairness`, `alone`, `stopped`, `by_group` of the columns
            that were kept, and `unfair`, which yields the rows of unfair people.

        Raises
        ------
        DataError
            If the files cannot be read, or are no findings.
        """
        from fatt.report.parts import PartsReport

        return PartsReport.read(parts)

    def whole(self) -> Self:
        """Return the report, unless the run was interrupted.

        Half a result must not choose a model, pass a test or repair leaves.

        Raises
        ------
        KeyboardInterrupt
            If the run was interrupted.
        """
        if self.interrupted:
            raise KeyboardInterrupt
        return self

    @functools.cached_property
    def total(self) -> Group:
        """Everybody as one group: size, counts and fairness."""
        return count(self.findings.verdict, self.sample_weight)

    @property
    def fairness(self) -> Bounds:
        """The share of fair people, between all and none of the unknown being fair."""
        return self.total.fairness

    @property
    def counts(self) -> dict[str, int]:
        """How many people are ``"fair"``, ``"unfair"`` and ``"unknown"``."""
        return dict(self.total.counts)

    @property
    def stopped(self) -> dict[str, int]:
        """How many people are unknown for which reason, see `fatt.verdict.Stopped`."""
        return {str(why): number for why, number in self.findings.reasons.items()}

    @functools.cached_property
    def counterexamples(self) -> Counterexamples:
        """Each unfair person with a twin, closest first."""
        variables = self.people.variables
        features = variables.ensemble.features
        spreads = [getattr(variables.schema.find(f.name), "sd", None) for f in features]
        spread = np.array([deviation or 1.0 for deviation in spreads])
        twins, classes = self.findings.twins, self.findings.classes
        beside = functools.partial(self.people.beside, twins)
        found = Counterexamples.of(twins, features, classes, spread, beside)
        return replace(found, said=self.people.said)

    @functools.cached_property
    def alone(self) -> int:
        """How many people have nobody similar: they are trivially fair."""
        return doubts.alone(self.people, self.similarity)

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Why the rows may not be those that the model was made for, in sentences."""
        return tuple(doubt.sentence for doubt in self._doubts)

    @functools.cached_property
    def _doubts(self) -> tuple[doubts.Doubt, ...]:
        return doubts.warnings(
            self.people, self.findings, self.similarity, interrupted=self.interrupted
        )

    @property
    def grave_doubts(self) -> tuple[str, ...]:
        """Warnings because of which nothing counts as proven; none if accepted."""
        found = () if self.accept_doubts else self._doubts
        return tuple(doubt.sentence for doubt in found if doubt.is_grave)

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        """What the similarity leaves out, or lets in without saying so, in sentences.

        For example: people who have nobody similar, noise that covers all values of a
        column, attributes that the model does not read, and columns that predict what
        varies but stay fixed.
        """
        return doubts.notes(self.people, self.similarity, self.alone)

    @property
    def is_fair(self) -> NDArray[np.bool_]:
        """Whether each person is proved to be fair; the unknown are not."""
        return np.asarray(self.findings.verdict == FAIR)

    def by_group(self, *names: Any, sensitive_features: Any = None) -> Groups:
        """Count the verdicts group by group.

        Parameters
        ----------
        *names
            Names of sensitive features, of variables, or of any columns of the data
            frame that was verified, whether the model reads them or not. Several make
            intersections. By default all sensitive features. One column or table in
            place of names is taken as ``sensitive_features``.
        sensitive_features
            Attributes of the people from another table, as in `fatt.verify`; by default
            those that it was given.

        Returns
        -------
        Groups
            A mapping by value, or by tuple of values: ``size``, ``counts`` and
            ``fairness``. It has ``to_frame``, ``difference`` and ``ratio``.

        Raises
        ------
        SpecError
            If there is no such feature, variable or column.
        DataError
            If the sensitive features do not have one value per person.

        Examples
        --------
        >>> report.by_group("sex")["F"].fairness.lower     # doctest: +SKIP
        0.913
        """
        for name in names:
            if isinstance(name, list | tuple):
                wanted = ", ".join(f'"{one}"' for one in name)
                raise SpecError(
                    f"by_group takes names, not a {type(name).__name__} of them; write "
                    f"by_group({wanted})."
                )
        if not all(isinstance(name, str) for name in names):
            if len(names) > 1 or sensitive_features is not None:
                raise SpecError(
                    "by_group takes names, or one column or table; put the columns "
                    "into one table, as in sensitive_features=X[['sex', 'race']]."
                )
            [sensitive_features], names = names, ()
        people = self.people.with_sensitive(sensitive_features)
        names = names or tuple(people.sensitive)
        if not names:
            raise SpecError("name at least one variable to group people by.")
        return by_group(people, names, self.findings.verdict, self.sample_weight)

    def harmed(self, favorable: Label | None = None) -> Harmed:
        """Tell who is harmed: people denied what a similar person gets.

        Nothing is searched again. Of two answers the verdicts say all. Of several, it
        is unknown for people whose twin gets a third answer, unless it is proved that
        no similar person gets the favorable one.

        Parameters
        ----------
        favorable
            The answer that people want. Default: the one that the question named, or
            the second of two.

        Returns
        -------
        Harmed
            Counts and shares of those ``denied`` and of those ``granted``, who would
            lose it as a similar person; ``cases`` and ``losses`` with the twins;
            ``by_group``, ``to_frame``.

        Raises
        ------
        SpecError
            If the model never answers so, predicts numbers, or has more than two
            answers and none is named.

        Examples
        --------
        >>> import fatt
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> ages, answers = [[20.0], [30.0], [40.0]], ["deny", "deny", "grant"]
        >>> tree = DecisionTreeClassifier().fit(ages, answers)
        >>> near = fatt.Similarity(noise={"x0": 6})
        >>> harmed = fatt.verify(tree, ages, similarity=near).harmed("grant")
        >>> harmed.denied.found, harmed.denied.size
        (1, 2)
        >>> print(harmed.cases[0])
        #1  deny → grant   x0 30.0 → 36.0
        """
        return harmed_of(self, favorable)

    def plot(self, *names: Any, ax: Any = None) -> Any:
        """Draw who is fair, unfair and unknown, group by group.

        Parameters
        ----------
        *names
            As in `by_group`. Without names and sensitive features, everybody is one
            group.
        ax
            Matplotlib's axes to draw into; by default those of a new figure.

        Returns
        -------
        Axes

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        found = groups_or_all(self, names)
        named = [", ".join(map(in_words, key)) for key, _ in found.rows()]
        return plots.groups(named, [one.counts for _, one in found.rows()], ax=ax)

    def _repr_html_(self) -> str:
        from fatt.report.page import notebook_of

        return notebook_of(self)

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            The kind that was verified. For an array: pandas, polars or pyarrow, the
            first that is installed. Columns: ``verdict``, ``label``, ``labels`` (a list
            of the possible ones), ``stopped`` (why the verdict is unknown), and for
            unfair people ``twin_label``, ``changes`` in words, and ``replayed_on``.

        Raises
        ------
        MissingDependencyError
            If an array was verified and no such package is installed.
        """
        from fatt.report.rows import to_frame

        return to_frame(self)

    def to_json(self, *, favorable: Label | None = None) -> str:
        """Return the report as JSON.

        Parameters
        ----------
        favorable
            The answer that people want, as in `harmed`.

        Returns
        -------
        str
            An object with these keys: ``format`` (``"fatt-report-1"``); ``model``
            (``digest``, ``library``, ``version``, ``kind``, ``classes``, and in words
            the ``decision`` and what is ``fair``, if either was told); ``similarity``;
            ``budget``; ``interrupted``; ``counts``; ``alone`` (how many people have
            nobody similar); ``warnings`` and ``notes`` (sentences); ``stopped`` (how
            many are unknown for which reason); ``asked`` (how many ``people``, and
            people ``similar`` to the fair, the model's own library was asked about, or
            the ``reason`` why it was not); ``fairness`` (``lower`` and ``upper``);
            ``harmed`` (null if the favorable answer is not known: ``favorable``;
            whether that is ``assumed``; ``size``, ``found``, ``unknown``, ``lower`` and
            ``upper`` of those ``denied`` and ``granted``; ``people``: what is known of
            each);
            ``findings`` (``verdict``, ``label``, ``labels`` and ``stopped`` of each
            person, in order); ``counterexamples``, closest first (``index``,
            ``label``, ``twin_label``, ``individual``, ``twin``, ``changes`` with
            ``before`` and ``after``, ``replayed_on``). Missing values are null;
            infinities are the texts ``"inf"`` and ``"-inf"``.
        """
        from fatt.report.rows import to_json

        return to_json(self, favorable)

    def to_html(
        self,
        *,
        groups: Sequence[str] = (),
        ids: Sequence[str] | None = None,
        min_fairness: float | None = None,
        favorable: Label | None = None,
        details: Details | None = None,
        provenance: Provenance | None = None,
        summary: bool = False,
    ) -> str:
        """Return the report as one page that needs nothing else.

        Parameters
        ----------
        groups
            Columns to count by: each on its own, then all together.
        ids
            The name of each person.
        min_fairness
            The required share of fair people.
        favorable
            The answer that people want, for selection rates. Default: the second of
            two classes.
        details
            More figures, from `fatt.audit.measures.measure`.
        provenance
            Where the report comes from: files, digests, command and date.
        summary
            Whether to show only what fits on one printed sheet.

        Returns
        -------
        str
            HTML that has no scripts and loads nothing.
        """
        from fatt.report.page import to_html

        return to_html(
            self,
            groups=groups,
            ids=ids,
            min_fairness=min_fairness,
            favorable=favorable,
            details=details,
            provenance=provenance,
            summary=summary,
        )

    def certificate(
        self,
        *,
        most_boxes: int = 1000,
        progress: Progress | bool | None = None,
    ) -> Certificate:
        """Return evidence for this report that others can check without the search.

        Each fair verdict is proved once more, by a proof that is cheap to check.

        Parameters
        ----------
        most_boxes
            The most boxes that are tried for one person. A person who needs more is
            claimed to be fair without a proof, and counted apart.
        progress
            As in `fatt.verify`.

        Returns
        -------
        Certificate
            It holds people's values: keep it as safe as their data.
        """
        from fatt.certificate import TwinChanges, make

        if most_boxes < 1:
            raise SpecError(f"most_boxes is {most_boxes}; write a number, at least 1.")
        people, twins = self.people, self.findings.twins
        with watched(progress, "proving") as tell:
            return make(
                people.variables.model,
                people.variables.schema,
                self.similarity,
                values=np.concatenate(list(people.chunks())),
                verdicts=self.findings.verdict,
                labels=self.findings.label,
                twins=TwinChanges(np.diff(twins.starts), twins.variables, twins.values),
                most_boxes=most_boxes,
                allowed=self.allowed,
                progress=tell,
            )

    def raise_if_unfair(
        self, min_fairness: float = 1.0, *, accept_doubts: bool = False
    ) -> None:
        """Raise unless a share of people is proved to be fair.

        Parameters
        ----------
        min_fairness
            The share that must be proved.
        accept_doubts
            Whether a proof counts although the rows seem not to be those that the
            model was made for. Say so only after a look at `warnings`.

        Raises
        ------
        UnfairError
            If fewer people are fair, too many are unknown, or the rows are in doubt.
            The error holds the report.
        """
        if not 0 <= min_fairness <= 1:
            raise SpecError(
                f"{Arg('min_fairness')} is {min_fairness}; pass a share from 0 to 1."
            )
        lower, upper = self.fairness
        if lower >= min_fairness:
            if self.grave_doubts and not accept_doubts:
                raise UnfairError(
                    f"in doubt: {lower:.4%} of the people are proved to be treated "
                    f"fairly, but: {' '.join(self.grave_doubts)} If you looked into "
                    f"it, pass {Arg('accept_doubts', True)}.",
                    self,
                )
            return
        counts = self.counts
        found = (
            f"{counts['fair']:,} people are fair, {counts['unfair']:,} unfair, "
            f"{counts['unknown']:,} unknown"
        )
        nearest = ""
        if len(self.counterexamples):
            nearest = f" The nearest twin: {self.counterexamples[0]}."
        if upper < min_fairness:
            raise UnfairError(
                f"refuted: at most {upper:.4%} of the people are treated fairly, "
                f"{min_fairness:.4%} required. {found}.{nearest}",
                self,
            )
        [*_, why] = caveats(self)
        more = " Raise the budget to decide more." if "budget" in self.stopped else ""
        raise UnfairError(
            f"undecided: between {lower:.4%} and {upper:.4%} of the people are treated "
            f"fairly, {min_fairness:.4%} required. {found}. {why}{more}"
            f"{nearest}",
            self,
        )
