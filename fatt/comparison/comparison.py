"""What a new model changes: answers, verdicts and harm, person by person."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.errors import Arg, SpecError
from fatt.frames import frame_of
from fatt.report import Report
from fatt.report.details import Provenance
from fatt.report.groups import Key, key_of, members, wilson
from fatt.report.harm import HARMED, NEITHER, Harmed, known_harm
from fatt.report.harm import UNKNOWN as NOT_KNOWN
from fatt.verdict import (
    FAIR,
    UNFAIR,
    UNKNOWN,
    VERDICTS,
    Bounds,
    Counterexample,
    Value,
    answers_of,
    in_words,
    json_value,
)

Flags = NDArray[np.bool_]
#: So many people are shown side by side.
SHOWN = 10


class Count(NamedTuple):
    """How many people, at least and at most: the undecided make the difference."""

    least: int
    most: int

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.least:,}"
        return f"{self.least:,} to {self.most:,}"


class Change(NamedTuple):
    """What changes for all people, or for a group.

    Attributes
    ----------
    size
        How many people there are.
    changed
        How many get another answer.
    interval
        An estimate of that share among all people like them: Wilson's, at 95 %.
    newly_unfair, newly_fair
        How many become so.
    unfair_p
        How likely so uneven a split of those who become unfair or fair would be if
        neither were likelier: McNemar's exact test, two-sided. Only decided people
        count.
    gained, lost
        How many get the favorable answer now, and how many no longer; None if it is not
        known which it is.
    answer_p
        The same test for these.
    newly_harmed, no_longer_harmed
        How many are harmed now, and how many no longer; None as before.
    harm_p
        The same test for these.
    """

    size: int
    changed: int
    interval: Bounds
    newly_unfair: Count
    newly_fair: Count
    unfair_p: float
    gained: int | None = None
    lost: int | None = None
    answer_p: float | None = None
    newly_harmed: Count | None = None
    no_longer_harmed: Count | None = None
    harm_p: float | None = None


class Pair(NamedTuple):
    """One person under both models.

    Attributes
    ----------
    row
        The row.
    old, new
        The answers.
    old_verdict, new_verdict
        The verdicts.
    old_case, new_case
        The person and a twin under each model; None if none was found.
    """

    row: int
    old: Label
    new: Label
    old_verdict: str
    new_verdict: str
    old_case: Counterexample | None
    new_case: Counterexample | None

    def __str__(self) -> str:
        turn = f"{in_words(self.old)} → {in_words(self.new)}"
        parts = [f"row {self.row}  {turn}"]
        parts.append(f"{self.old_verdict} → {self.new_verdict}")
        parts += [
            f"{when} twin: {case.in_words}"
            for when, case in (("old", self.old_case), ("new", self.new_case))
            if case is not None
        ]
        return "; ".join(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two models on the same people, under the same question.

    Attributes
    ----------
    old, new
        The report on each.
    favorable
        The answer that people want. Default: the one that the question names, or the
        second of two.

    Raises
    ------
    SpecError
        If the models have other answers.
    """

    old: Report
    new: Report
    favorable: Label | None = None

    def __post_init__(self) -> None:
        ours, theirs = self.old.findings.classes, self.new.findings.classes
        if set(ours) != set(theirs) or len(self.old) != len(self.new):
            raise SpecError(
                f"the old model answers {_named(ours)}, and the new one "
                f"{_named(theirs)}: their answers cannot be compared. Load one "
                "of them with the other's words: "
                f"{Arg('answers', {0: 'no', 1: 'yes'})}."
            )
        if self.favorable is None and len(ours) == 2:
            # The second of each model's own two answers need not be the same.
            harmed = known_harm(self.old, None)
            object.__setattr__(
                self, "favorable", None if harmed is None else harmed.favorable
            )

    def __len__(self) -> int:
        return len(self.old)

    def __repr__(self) -> str:
        return "<Comparison: " + "\n ".join(self.sentences()) + ">"

    @functools.cached_property
    def answers(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The answers of both: places of the old model's labels, or numbers."""
        old, new = self.old.findings, self.new.findings
        if not old.classes:
            return old.label, new.label
        places = np.array([old.classes.index(label) for label in new.classes])
        return old.label.astype(np.int64), places[new.label]

    @functools.cached_property
    def changed(self) -> Flags:
        """Whose answer changes; of predictions, by more than the tolerance."""
        old, new = self.answers
        if self.old.findings.classes:
            return np.asarray(old != new)
        allowed = self.old.allowed
        limit = (allowed.tolerance or 0.0) * (np.abs(old) if allowed.relative else 1.0)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray((old != new) & ~(np.abs(new - old) <= limit))

    @functools.cached_property
    def harmed(self) -> tuple[Harmed, Harmed] | None:
        """Who is harmed by each; None if the favorable answer is not known."""
        if self.favorable is None or not self.old.findings.classes:
            return None
        return self.old.harmed(self.favorable), self.new.harmed(self.favorable)

    @functools.cached_property
    def _is_harmed(self) -> list[NDArray[np.int8]]:
        """Who is harmed by each model; whoever gets the favorable answer is not."""
        assert self.harmed is not None
        found = []
        for one, answers in zip(self.harmed, self.answers, strict=True):
            wanted = self.old.findings.classes.index(one.favorable)
            is_open = (one.status == NOT_KNOWN) & (answers != wanted)
            status = np.where(one.status == HARMED, HARMED, NEITHER)
            found.append(np.where(is_open, NOT_KNOWN, status).astype(np.int8))
        return found

    @functools.cached_property
    def total(self) -> Change:
        """What changes for all people."""
        return self._of(np.arange(len(self)))

    def by_group(self, *names: str) -> Changes:
        """Tell what changes group by group.

        Parameters
        ----------
        *names
            As in `Report.by_group`. By default all sensitive features.

        Raises
        ------
        SpecError
            If there is no such feature, variable or column.
        """
        names = names or tuple(self.new.people.sensitive)
        if not names:
            raise SpecError("name at least one variable to group people by.")
        people = self.new.people
        try:
            found = members(people, names)
        except SpecError:
            # The new model may not read what the old one did.
            found = members(self.old.people, names)
        return Changes(names, {key: self._of(rows) for key, rows in found.items()})

    def _of(self, rows: NDArray[np.int64]) -> Change:
        changed = int(self.changed[rows].sum())
        old, new = self.old.findings.verdict[rows], self.new.findings.verdict[rows]
        worse = _turned(old, new, FAIR, UNFAIR, UNKNOWN)
        better = _turned(old, new, UNFAIR, FAIR, UNKNOWN)
        found: dict[str, Any] = {
            "size": len(rows),
            "changed": changed,
            "interval": wilson(changed, len(rows)) if len(rows) else Bounds(0.0, 1.0),
            "newly_unfair": worse,
            "newly_fair": better,
            "unfair_p": mcnemar(worse.least, better.least),
        }
        if self.harmed is not None:
            wanted = self.old.findings.classes.index(self.favorable)
            own, other = (answers[rows] == wanted for answers in self.answers)
            gained, lost = int((~own & other).sum()), int((own & ~other).sum())
            was, now = (one[rows] for one in self._is_harmed)
            more = _turned(was, now, NEITHER, HARMED, NOT_KNOWN)
            less = _turned(was, now, HARMED, NEITHER, NOT_KNOWN)
            found |= {
                "gained": gained,
                "lost": lost,
                "answer_p": mcnemar(gained, lost),
                "newly_harmed": more,
                "no_longer_harmed": less,
                "harm_p": mcnemar(more.least, less.least),
            }
        return Change(**found)

    def clearest(self, count: int = SHOWN) -> list[Pair]:
        """Return the clearest people for whom something changes, side by side.

        First whoever is newly harmed, then whoever is newly unfair, then the others
        whose answer changes, then whoever becomes fair; in each, the closest twins
        first.

        Parameters
        ----------
        count
            How many at most.
        """
        old, new = self.old.findings.verdict, self.new.findings.verdict
        rank = np.full(len(self), 4)
        rank[(old == UNFAIR) & (new == FAIR)] = 3
        rank[self.changed] = 2
        rank[(old == FAIR) & (new == UNFAIR)] = 1
        if self.harmed is not None:
            before, after = self._is_harmed
            rank[(before == NEITHER) & (after == HARMED)] = 0
        order = np.lexsort((self._nearness, rank))
        chosen = [row for row in order[:count].tolist() if rank[row] < 4]
        return [self.pair(row) for row in chosen]

    @functools.cached_property
    def _nearness(self) -> NDArray[np.int64]:
        """The place of each person in the order of twins, the new model's first."""
        place = np.full(len(self), 2 * len(self))
        for report, more in ((self.old, len(self)), (self.new, 0)):
            cases = report.counterexamples
            rows = cases.twins.index[cases.order]
            place[rows] = np.arange(len(rows)) + more
        return place

    @functools.cached_property
    def _cases(self) -> list[dict[int, int]]:
        """Where the case of each unfair person is, under each model."""
        return [
            {
                int(row): place
                for place, row in enumerate(
                    one.counterexamples.twins.index[one.counterexamples.order]
                )
            }
            for one in (self.old, self.new)
        ]

    def pair(self, row: int) -> Pair:
        """Return one person under both models."""
        reports = (self.old, self.new)
        found = [report.findings[row] for report in reports]
        cases = [
            report.counterexamples[places[row]] if row in places else None
            for report, places in zip(reports, self._cases, strict=True)
        ]
        answers = [
            answers_of(report.findings.label[[row]], report.findings.classes)[0]
            for report in reports
        ]
        before, after = (str(one.verdict) for one in found)
        return Pair(row, answers[0], answers[1], before, after, cases[0], cases[1])

    def _columns(self) -> dict[str, list[Any]]:
        reports = (self.old, self.new)
        old, new = (
            answers_of(one.findings.label, one.findings.classes) for one in reports
        )
        names = [str(verdict) for verdict in VERDICTS]
        verdicts = [
            [names[v] for v in one.findings.verdict.tolist()] for one in reports
        ]
        columns: dict[str, list[Any]] = {
            "old": list(old),
            "new": list(new),
            "changed": self.changed.tolist(),
            "old_verdict": verdicts[0],
            "new_verdict": verdicts[1],
        }
        if self.harmed is not None:
            before, after = self.harmed
            columns |= {"old_harm": before.words(), "new_harm": after.words()}
        return columns

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            The kind that was compared. Columns: ``old`` and ``new`` (the answers),
            ``changed``, ``old_verdict`` and ``new_verdict``; if the favorable answer is
            known, ``old_harm`` and ``new_harm``, as `Harmed.to_frame` has them.
        """
        return frame_of(self._columns(), like=self.new.people.frame)

    def to_csv(self, columns: Mapping[str, list[str]] | None = None) -> str:
        """Return the columns of `to_frame` as CSV, behind others and the row."""
        import csv
        import io

        given, found = dict(columns or {}), self._columns()
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*given, "row", *found])
        cells = [
            [in_words(cell) if name in {"old", "new"} else cell for cell in column]
            for name, column in found.items()
        ]
        writer.writerows(zip(*given.values(), range(len(self)), *cells, strict=True))
        return text.getvalue()

    def to_json(self, groups: tuple[str, ...] = ()) -> str:
        """Return the comparison as JSON: counts, groups, people.

        Parameters
        ----------
        groups
            Columns to count by, each on its own.
        """
        document = {
            "format": "fatt-comparison-1",
            "models": {
                name: one.people.variables.model.digest
                for name, one in (("old", self.old), ("new", self.new))
            },
            "favorable": None if self.favorable is None else json_value(self.favorable),
            "total": _plain(self.total),
            "groups": {
                name: [
                    {"value": json_value(values[0]), **_plain(change)}
                    for values, change in self.by_group(name).rows()
                ]
                for name in groups
            },
            "people": {
                name: [json_value(cell) for cell in column]
                for name, column in self._columns().items()
            },
            "clearest": [str(pair) for pair in self.clearest()],
        }
        return msgspec.json.encode(document).decode()

    def to_html(
        self,
        *,
        groups: tuple[str, ...] = (),
        ids: list[str] | None = None,
        provenance: Provenance | None = None,
    ) -> str:
        """Return the comparison as one page that needs nothing else.

        Parameters
        ----------
        groups
            Columns to count by, each on its own.
        ids
            The name of each person.
        provenance
            Where it comes from.
        """
        from fatt.comparison.page import to_html

        return to_html(self, groups=groups, ids=ids, provenance=provenance)

    def _repr_html_(self) -> str:
        from fatt.comparison.page import notebook_of

        return notebook_of(self)

    def sentences(self) -> list[str]:
        """Say what changes, in sentences."""
        return in_sentences(self.total, self.favorable)


class Changes(Mapping[Key, Change]):
    """What changes in each group: a mapping from the value that its people share.

    Parameters
    ----------
    names
        What people are grouped by.
    found
        The groups by their values, one for each name, in order.
    """

    def __init__(
        self, names: tuple[str, ...], found: Mapping[tuple[Value, ...], Change]
    ) -> None:
        self.names = names
        self._rows = dict(found)
        self._found = {key_of(values): change for values, change in found.items()}

    def __getitem__(self, key: Key) -> Change:
        return self._found[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        lines = [
            f"\n {', '.join(map(in_words, values))}: {change.changed:,} of "
            f"{change.size:,} changed, {change.newly_unfair} newly unfair, "
            f"{change.newly_fair} newly fair"
            for values, change in self.rows()
        ]
        return f"<Changes by {' and '.join(self.names)}{''.join(lines)}>"

    def rows(self) -> list[tuple[tuple[Value, ...], Change]]:
        """Return each group with its values, one for each name."""
        return list(self._rows.items())

    def to_frame(self) -> Any:
        """Return a data frame with one row per group, of the fields of `Change`."""
        columns: dict[str, list[Any]] = {
            name: [values[place] for values in self._rows]
            for place, name in enumerate(self.names)
        }
        plain = [_plain(change) for change in self.values()]
        for name in plain[0] if plain else ():
            columns[name] = [one[name] for one in plain]
        return frame_of(columns)


def in_sentences(change: Change, favorable: Label | None) -> list[str]:
    """Say what changes for some people."""
    low, high = change.interval
    share = change.changed / change.size if change.size else 0.0
    found = [
        f"{change.changed:,} of {change.size:,} people get another answer "
        f"({share:.2%}; of all people like them {low:.2%} to {high:.2%})."
    ]
    if change.gained is not None:
        found.append(
            f"{change.gained:,} get {favorable!r} who did not, and {change.lost:,} no "
            f"longer (p = {change.answer_p:.3g})."
        )
    found.append(
        f"{change.newly_unfair} are newly unfair, and {change.newly_fair} newly fair "
        f"(p = {change.unfair_p:.3g})."
    )
    if change.newly_harmed is not None:
        found.append(
            f"{change.newly_harmed} are newly harmed, and {change.no_longer_harmed} no "
            f"longer (p = {change.harm_p:.3g})."
        )
    return found


def mcnemar(one: int, other: int) -> float:
    """Return how likely so uneven a split is by chance: McNemar's test, exact.

    Parameters
    ----------
    one, other
        How many turned one way, and how many the other.

    Examples
    --------
    >>> mcnemar(0, 5), mcnemar(3, 3)
    (0.0625, 1.0)
    """
    from scipy.special import bdtr

    if one == other:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(one, other), one + other, 0.5)))


def _turned(
    old: NDArray[np.int8], new: NDArray[np.int8], was: int, became: int, open_: int
) -> Count:
    """Count who turned from one state into another, for certain and at most."""
    least = (old == was) & (new == became)
    most = np.isin(old, (was, open_)) & np.isin(new, (became, open_))
    return Count(int(least.sum()), int(most.sum()))


def _plain(change: Change) -> dict[str, Any]:
    """Return the fields of a change, each number on its own."""
    found: dict[str, Any] = {}
    for name, value in change._asdict().items():
        if isinstance(value, tuple):
            first, last = value
            found |= {f"{name}_lower": first, f"{name}_upper": last}
        else:
            found[name] = value
    return found


def _named(classes: tuple[Label, ...]) -> str:
    return " or ".join(map(repr, classes)) if classes else "numbers"
