"""Who is harmed: denied what a similar person gets; and who would lose it.

No search is needed: the verdicts, the twins' answers and the answers that are still
possible say it. Where they do not, as they may with several classes, it is unknown.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.errors import Arg, SpecError
from fatt.frames import frame_of
from fatt.markup import Markup, names_of, notebook, table, tag
from fatt.report.groups import Key, favorable_label, key_of, members
from fatt.verdict import Bounds, Counterexamples, Value, in_words, json_value, share

if TYPE_CHECKING:
    from fatt.report.report import Report

#: What is known of a person: denied though a similar person is not; would lose the
#: favorable answer as a similar person; neither; not known.
HARMED, LOSING, NEITHER, UNKNOWN = range(4)
STATUS = ("harmed", "would lose", "neither", "unknown")

#: So many groups are shown in a notebook.
_SHOWN_GROUPS = 30


class Side(NamedTuple):
    """People who are denied the favorable answer, or people who get it.

    Attributes
    ----------
    size
        How many people there are.
    found
        How many of them have a similar person on the other side.
    unknown
        Of how many it is not known.
    share
        Bounds on the share of them who have one, weighted if weights were given.
    """

    size: int
    found: int
    unknown: int
    share: Bounds


class Harm(NamedTuple):
    """Who is harmed, and who would lose, of all people or of a group.

    Attributes
    ----------
    denied
        People who do not get the favorable answer; those found are harmed: a similar
        person gets it.
    granted
        People who get it; those found would lose it as a similar person.
    """

    denied: Side
    granted: Side


@dataclass(frozen=True, eq=False, repr=False)
class Harmed:
    """Who is harmed, of the people of a report.

    Attributes
    ----------
    report
        The report.
    favorable
        The answer that people want.
    assumed
        Whether nobody said so: it is the second of two answers.
    """

    report: Report
    favorable: Label
    assumed: bool = False

    @functools.cached_property
    def status(self) -> NDArray[np.int8]:
        """What is known of each person: position in `fatt.report.harm.STATUS`."""
        findings = self.report.findings
        wanted = findings.classes.index(self.favorable)
        gets, possible = findings.label == wanted, findings.labels
        others = np.delete(possible, wanted, axis=1).any(axis=1)
        is_open = np.where(gets, others, possible[:, wanted]) | ~findings.answered
        status = np.where(is_open, UNKNOWN, NEITHER).astype(np.int8)
        twins, rows = findings.twins, findings.twins.index - findings.start
        status[rows[(twins.label != wanted) & (twins.twin_label == wanted)]] = HARMED
        status[rows[(twins.label == wanted) & (twins.twin_label != wanted)]] = LOSING
        return status

    @functools.cached_property
    def total(self) -> Harm:
        """All people: those denied, and those granted."""
        return self._of(np.arange(len(self.report)))

    @property
    def denied(self) -> Side:
        """People who do not get the favorable answer; those found are harmed."""
        return self.total.denied

    @property
    def granted(self) -> Side:
        """People who get the favorable answer; those found would lose it."""
        return self.total.granted

    @property
    def cases(self) -> Counterexamples:
        """The harmed, each with a similar person who gets the favorable answer."""
        return self._cases(lambda twins, wanted: twins.twin_label == wanted)

    @property
    def losses(self) -> Counterexamples:
        """People who would lose the favorable answer, each with the twin."""
        return self._cases(lambda twins, wanted: twins.label == wanted)

    def _cases(self, is_chosen: Callable[[Any, int], Any]) -> Counterexamples:
        found = self.report.counterexamples
        wanted = self.report.findings.classes.index(self.favorable)
        return replace(
            found, order=found.order[is_chosen(found.twins, wanted)[found.order]]
        )

    def _of(self, rows: NDArray[np.int64]) -> Harm:
        findings, weight = self.report.findings, self.report.sample_weight
        wanted = findings.classes.index(self.favorable)
        known = rows[findings.answered[rows]]
        gets = findings.label[known] == wanted
        return Harm(
            _side(self.status, known[~gets], weight, HARMED),
            _side(self.status, known[gets], weight, LOSING),
        )

    def by_group(self, *names: str) -> HarmByGroup:
        """Count the harmed group by group.

        Parameters
        ----------
        *names
            As in `Report.by_group`. By default all sensitive features.

        Returns
        -------
        HarmByGroup
            A mapping by value, or by tuple of values. It has ``to_frame``.

        Raises
        ------
        SpecError
            If there is no such feature, variable or column.
        """
        people = self.report.people
        names = names or tuple(people.sensitive)
        if not names:
            raise SpecError("name at least one variable to group people by.")
        found = members(people, names)
        return HarmByGroup(
            names, {values: self._of(rows) for values, rows in found.items()}
        )

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            The kind that was verified. Columns: ``label``, ``harm`` (``"harmed"``,
            ``"would lose"``, ``"neither"`` or ``"unknown"``), and for the first two
            ``twin_label`` and ``changes`` in words.
        """
        from fatt.report.rows import columns_of

        columns = columns_of(self.report)
        told = columns["twin_label"], columns["changes"]
        is_found = (self.status == HARMED) | (self.status == LOSING)
        twin_label, changes = (
            [cell if is_so else None for cell, is_so in zip(one, is_found, strict=True)]
            for one in told
        )
        made = {
            "label": columns["label"],
            "harm": self.words(),
            "twin_label": twin_label,
            "changes": changes,
        }
        return frame_of(made, like=self.report.people.frame)

    def words(self) -> list[str]:
        """Return what is known of each person, in words."""
        return [STATUS[one] for one in self.status.tolist()]

    def __repr__(self) -> str:
        return f"<Harmed: {self.sentence()}>"

    def sentence(self) -> str:
        """Say who is harmed, and who would lose."""
        answer, (denied, granted) = repr(self.favorable), self.total
        return (
            f"{_counted(denied)} people who do not get {answer} have a similar person "
            f"who gets it{_undecided(denied)}. {_counted(granted)} people who get "
            f"{answer} would lose it as a similar person{_undecided(granted)}."
        )

    def _repr_html_(self) -> str:
        names = self.report.people.sensitive
        return notebook(
            "Who is harmed",
            tag("p", self.sentence()),
            [self.by_group(name).table() for name in names],
        )

    def plain(self) -> dict[str, Any]:
        """Return the counts and what is known of each person, for JSON."""
        return {
            "favorable": json_value(self.favorable),
            "assumed": self.assumed,
            **{name: _plain(side) for name, side in self.total._asdict().items()},
            "people": self.words(),
        }


class HarmByGroup(Mapping[Key, Harm]):
    """Who is harmed in each group: a mapping from the value that its people share.

    Parameters
    ----------
    names
        What people are grouped by.
    found
        The groups by their values, one for each name, in order.
    """

    def __init__(
        self, names: tuple[str, ...], found: Mapping[tuple[Value, ...], Harm]
    ) -> None:
        self.names = names
        self._rows = dict(found)
        self._found = {key_of(values): harm for values, harm in found.items()}

    def __getitem__(self, key: Key) -> Harm:
        return self._found[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def rows(self) -> list[tuple[tuple[Value, ...], Harm]]:
        """Return each group with its values, one for each name."""
        return list(self._rows.items())

    def __repr__(self) -> str:
        lines = [
            f"\n {', '.join(map(in_words, values))}: {_counted(harm.denied)} denied "
            f"are harmed, {_counted(harm.granted)} granted would lose"
            for values, harm in self.rows()
        ]
        return f"<Harm by {' and '.join(self.names)}{''.join(lines)}>"

    def _repr_html_(self) -> str:
        return notebook(f"{len(self):,} groups", self.table())

    def table(self) -> Markup:
        """Return the counts of the groups as a table of HTML."""
        rows = [
            [names_of([in_words(v) for v in values], ", "), *map(_counted, harm)]
            for values, harm in self.rows()[:_SHOWN_GROUPS]
        ]
        head = (names_of(self.names, " and "), "denied: harmed", "granted: would lose")
        what = ["Who is harmed, by ", names_of(self.names, " and ")]
        return table(head, rows, what, numbers=(1, 2))

    def to_frame(self) -> Any:
        """Return a data frame with one row per group.

        Returns
        -------
        data frame
            Of pandas, polars or pyarrow, the first that is installed. Columns: one for
            each name; of the people denied ``denied``, ``harmed``, ``harmed_unknown``,
            ``harmed_lower`` and ``harmed_upper``; and the same of those granted, as
            ``granted``, ``losing`` and so on.
        """
        columns: dict[str, list[Any]] = {
            name: [values[place] for values in self._rows]
            for place, name in enumerate(self.names)
        }
        for side, found in (("denied", "harmed"), ("granted", "losing")):
            sides: list[Side] = [getattr(harm, side) for harm in self.values()]
            columns[side] = [one.size for one in sides]
            columns[found] = [one.found for one in sides]
            columns[f"{found}_unknown"] = [one.unknown for one in sides]
            columns[f"{found}_lower"] = [one.share.lower for one in sides]
            columns[f"{found}_upper"] = [one.share.upper for one in sides]
        return frame_of(columns)


def harmed_of(report: Report, favorable: Label | None) -> Harmed:
    """Return who is harmed; see `Report.harmed`."""
    classes = report.findings.classes
    given = report.allowed.favorable if favorable is None else favorable
    if not classes:
        raise SpecError(
            "the model predicts numbers, of which none is favorable as such: ask with "
            f"{Arg('direction', 'not higher')} or {Arg('direction', 'not lower')} who "
            "has a similar person with a better one."
        )
    found = favorable_label(classes, given)
    if found is None:
        raise SpecError(
            "the model has more than two answers: say which one people want, such as "
            f"{Arg('favorable', classes[-1])}."
        )
    return Harmed(report, found, assumed=given is None)


def known_harm(report: Report, favorable: Label | None) -> Harmed | None:
    """Return who is harmed, or None if it is not known which answer people want."""
    classes, given = report.findings.classes, report.allowed.favorable
    if not classes or (favorable is None and given is None and len(classes) != 2):
        return None
    return harmed_of(report, favorable)


def _side(
    status: NDArray[np.int8],
    rows: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    found: int,
) -> Side:
    mine = status[rows]
    is_found, is_open = mine == found, mine == UNKNOWN
    each = np.ones(len(rows)) if weight is None else weight[rows]
    total = float(each.sum())
    bounds = Bounds(0.0, 1.0)
    if total:
        least = float(each[is_found].sum()) / total
        most = float(each[is_found | is_open].sum()) / total
        bounds = Bounds(least, min(1.0, most))
    return Side(len(rows), int(is_found.sum()), int(is_open.sum()), bounds)


def _counted(side: Side) -> str:
    if not side.size:
        return "0 of 0"
    return f"{side.found:,} of {side.size:,} ({share(side.share)})"


def _undecided(side: Side) -> str:
    return f" ({side.unknown:,} undecided)" if side.unknown else ""


def _plain(side: Side) -> dict[str, Any]:
    return {
        "size": side.size,
        "found": side.found,
        "unknown": side.unknown,
        "lower": side.share.lower,
        "upper": side.share.upper,
    }
