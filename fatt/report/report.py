"""The report on many people."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.ensemble.allowed import Allowed
from fatt.errors import Arg, SpecError, UnfairError
from fatt.people import People
from fatt.progress import Progress, watched
from fatt.report import doubts
from fatt.report.groups import Group, Groups, by_group, count, groups_or_all
from fatt.report.sentences import caveats, counted
from fatt.threads import CHUNK
from fatt.verdict import FAIR, Bounds, Counterexamples, Findings, share

if TYPE_CHECKING:
    from fatt.certificate import Certificate
    from fatt.region import Relation
    from fatt.report.details import Details, Provenance
    from fatt.verifier import Budget


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How many people the model itself was asked about; all its answers were ours.

    Attributes
    ----------
    people
        How many were asked about as they are.
    similar
        How many similar people of the fair were asked about: the spot checks.
    reason
        Why the model itself was not asked; empty if it was.
    """

    people: int = 0
    similar: int = 0
    reason: str = ""

    def __str__(self) -> str:
        if not self.people:
            reason = f": {self.reason}" if self.reason else ""
            return (
                "The answers were not compared with those of the model's own library"
                f"{reason}."
            )
        own = f"The model itself was asked about {_people(self.people)}"
        if not self.similar:
            return f"{own}, and gave the answer that was read from it."
        return (
            f"{own}, and about {_people(self.similar)} similar to the fair; it gave "
            "the answers that were read from it."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Who is treated fairly, who is not, and of whom that is not known.

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
        Whether the run was interrupted; those not reached then are unknown.
    sample_weight : ndarray of shape (n_people,), optional
        Weight of each person in the shares of fair people.
    asked
        How many people the model itself was asked about.
    allowed
        Which answers of similar people are still fair.
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

    @functools.cached_property
    def total(self) -> Group:
        """Everybody as one group: size, counts and fairness."""
        return count(self.findings.verdict, self.sample_weight)

    @property
    def fairness(self) -> Bounds:
        """The share of fair people lies between these; unknown people lie between."""
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
        found = [getattr(variables.schema.find(f.name), "sd", None) for f in features]
        spread = np.array([deviation or 1.0 for deviation in found])
        return Counterexamples.of(
            self.findings.twins, features, self.findings.classes, spread
        )

    @functools.cached_property
    def alone(self) -> int:
        """How many people are similar to nobody else: they are fair for no merit."""
        return doubts.alone(self)

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Why the rows may not be those that the model was made for, in sentences."""
        return tuple(one.sentence for one in doubts.warnings(self))

    @functools.cached_property
    def grave_doubts(self) -> tuple[str, ...]:
        """Warnings for which nothing counts as proven; none if they were accepted."""
        found = () if self.accept_doubts else doubts.warnings(self)
        return tuple(one.sentence for one in found if one.is_grave)

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        """What the similarity leaves out, or lets in without saying so, in sentences.

        Such as people who are similar to nobody else, noise that covers all values of a
        column, attributes that the model does not read, and columns that nearly give
        away what varies and stayed fixed.
        """
        return doubts.notes(self)

    @property
    def is_fair(self) -> NDArray[np.bool_]:
        """Whether each person is proved to be treated fairly; the unknown are not."""
        return np.asarray(self.findings.verdict == FAIR)

    def by_group(self, *names: str, sensitive_features: Any = None) -> Groups:
        """Count the verdicts group by group.

        Parameters
        ----------
        *names
            Names of sensitive features, of variables, or of any columns of the data
            frame that was verified, whether the model reads them or not. Several make
            intersections. By default all sensitive features.
        sensitive_features
            Attributes of the people that stand in another table, as in `fatt.verify`;
            by default those that it was given.

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
            If the sensitive features do not tell one value per person.

        Examples
        --------
        >>> report.by_group("sex")["F"].fairness.lower     # doctest: +SKIP
        0.913
        """
        people = self.people.with_sensitive(sensitive_features)
        names = names or tuple(people.sensitive)
        if not names:
            raise SpecError("name at least one variable to group people by.")
        for name in names:
            if isinstance(name, list | tuple):
                wanted = ", ".join(f'"{one}"' for one in name)
                raise SpecError(
                    f"by_group takes names, not a {type(name).__name__} of them; write "
                    f"by_group({wanted})."
                )
        return by_group(people, names, self.findings.verdict, self.sample_weight)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draw who is fair, unfair and unknown, group by group.

        The short form of `fatt.displays.FairnessDisplay`.

        Parameters
        ----------
        *names
            As in `by_group`; without any, and without sensitive features, everybody is
            drawn together.
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
        from fatt.report import plots

        return plots.groups(groups_or_all(self, names), ax=ax)

    def _repr_html_(self) -> str:
        from fatt.report.page import notebook_of

        return notebook_of(self)

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            Of the kind that was verified; else pandas, polars or pyarrow, whichever is
            installed. Columns: ``verdict``, ``label``, ``labels`` (a list of those
            still possible), ``stopped`` (why the verdict is unknown), and for unfair
            people ``twin_label``, ``changes`` in words, and ``replayed_on``.

        Raises
        ------
        MissingDependencyError
            If an array was verified and no such package is installed.
        """
        from fatt.report.rows import to_frame

        return to_frame(self)

    def to_json(self) -> str:
        """Return the report as JSON.

        Returns
        -------
        str
            An object with ``format`` (``"fatt-report-1"``), ``model`` (its ``digest``,
            ``library``, ``version``, ``kind``, ``classes``, the ``decision`` in words
            if somebody gave it a cut-off, and in words which answers are ``fair`` if
            somebody said so), ``similarity``, ``budget``,
            ``interrupted``, ``counts``, ``alone`` (how many are similar to nobody
            else), ``warnings`` and ``notes`` (sentences), ``stopped`` (how many are
            unknown for which reason), ``asked`` (how many ``people``, and how many
            people ``similar`` to the fair, the model itself was asked about, or the
            ``reason`` why it was not), ``fairness`` (``lower`` and ``upper``),
            ``findings`` (``verdict``, ``label``, ``labels`` and ``stopped`` of each, in
            order) and ``counterexamples``, closest first (``index``, ``label``,
            ``twin_label``, ``individual``, ``twin``, ``changes`` with ``before`` and
            ``after``, ``replayed_on``). Missing values are null, and infinities the
            texts ``"inf"`` and ``"-inf"``.
        """
        from fatt.report.rows import to_json

        return to_json(self)

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
            Columns to count by, each on its own and all together.
        ids
            What people are called, one text each.
        min_fairness
            The share of fair people that is asked for.
        favorable
            The answer that people want, for rates of selection; by default the second
            of two classes.
        details
            More figures, as `fatt.audit.measures.measure` finds them.
        provenance
            Where the report comes from: files, digests, command and date.
        summary
            Whether to say only what fits on one printed sheet.

        Returns
        -------
        str
            HTML without scripts. It loads nothing, and prints well.
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

        Everybody who is fair is proved to be so once more, with proofs that are cheap
        to check.

        Parameters
        ----------
        most_boxes
            How many boxes are tried for one person, at most. Whoever needs more is
            claimed to be fair without a proof, and counted apart.
        progress
            As in `fatt.verify`.

        Returns
        -------
        Certificate
            It holds the values of the people: keep it as safely as these.
        """
        from fatt.certificate import TwinChanges, make

        if most_boxes < 1:
            raise SpecError(f"most_boxes is {most_boxes}; write a number, at least 1.")
        people, twins = self.people, self.findings.twins
        count = len(people)
        values = [
            people.values(start, min(start + CHUNK, count))
            for start in range(0, count, CHUNK)
        ]
        with watched(progress, "proving") as tell:
            return make(
                people.variables.model,
                people.variables.schema,
                self.similarity,
                values=np.concatenate(values),
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
        """Raise unless a share of people is proved to be treated fairly.

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
            If fewer people are treated fairly, if too many are unknown to say, or if
            the rows are in doubt. The report rides on the error.
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
            f"{counts['fair']:,} people are treated fairly, {counts['unfair']:,} "
            f"unfairly, and {counts['unknown']:,} are unknown"
        )
        nearest = ""
        if len(self.counterexamples):
            nearest = f" The nearest twin: {self.counterexamples[0]}."
        if upper < min_fairness:
            raise UnfairError(
                f"refuted: at most {upper:.4%} of the people are treated fairly, and "
                f"{min_fairness:.4%} were asked for: {found}.{nearest}",
                self,
            )
        [*_, why] = caveats(self)
        more = " Raise the budget to decide more." if "budget" in self.stopped else ""
        raise UnfairError(
            f"undecided: between {lower:.4%} and {upper:.4%} of the people are treated "
            f"fairly, and {min_fairness:.4%} were asked for: {found}. {why}{more}"
            f"{nearest}",
            self,
        )


def _people(number: int) -> str:
    return f"{number:,} {'person' if number == 1 else 'people'}"
