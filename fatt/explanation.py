"""Why a person gets an answer: which columns, held fixed, prove it; which flip it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from fatt.audit.asked import Rule
from fatt.audit.auditor import Auditor
from fatt.audit.run import Chunk
from fatt.audit.verification import examined
from fatt.ensemble import Label
from fatt.errors import DataError, SpecError
from fatt.people import People
from fatt.region import Boxes, Relation
from fatt.region.boxes import code_words, lone_boxes
from fatt.report.report import Report
from fatt.verdict import FAIR, UNFAIR, UNKNOWN, Counterexample, Findings, in_words
from fatt.verifier import Budget

#: Of more columns not all sets are tried: the sets found are minimal, not smallest.
_MOST_COLUMNS = 10


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Why a person gets an answer, among all who are similar.

    Attributes
    ----------
    label
        The answer.
    held
        Columns which, held fixed, prove the answer whatever the others do within the
        similarity: without any of them there is no such proof. None if it is not known.
    held_is_smallest
        Whether it is proved that no set of fewer columns proves it.
    flips
        Columns whose change gives another answer: any of them left out, there is no
        such change. None if no similar person gets another answer, or none was found.
    flips_is_smallest
        Whether it is proved that no change of fewer columns does.
    twin
        The person and a similar one in whom only `flips` differ, as the model itself
        confirms.
    """

    label: Label
    held: tuple[str, ...] | None
    held_is_smallest: bool
    flips: tuple[str, ...] | None
    flips_is_smallest: bool
    twin: Counterexample | None

    def __str__(self) -> str:
        answer = in_words(self.label)
        if self.held is None:
            proof = f"It is not known which columns prove {answer}."
        elif not self.held:
            proof = f"Everybody similar gets {answer}."
        else:
            kind = "smallest" if self.held_is_smallest else "minimal"
            proof = (
                f"{', '.join(self.held)} prove {answer} while they stay as they are "
                f"(a {kind} set)."
            )
        if self.flips is None or self.twin is None:
            return proof
        kind = "smallest" if self.flips_is_smallest else "minimal"
        return f"{proof} A {kind} change that flips it: {self.twin.in_words}."


def reasons(
    model: Any,
    x: Any,
    *,
    similarity: Relation,
    schema: Any = None,
    budget: Budget | None = None,
    **rule: Unpack[Rule],
) -> Reasons:
    """Find which columns prove a person's answer, and which flip it.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it.
    x
        The person: a table of one row.
    similarity
        What may change. Columns that it does not name stay as they are.
    schema
        As in `fatt.Auditor`: a `Schema`, or a table of people.
    budget
        As in `fatt.verify`, for each search.
    **rule
        As in `fatt.verify`: threshold, cuts, tolerance, direction, favorable.

    Returns
    -------
    Reasons
        Both sets are minimal: no column can be left out. Of up to ten columns that move
        they are the smallest, if the budget allows; it is told.

    Raises
    ------
    DataError
        If there is not exactly one row.
    SpecError
        As `fatt.verify` raises it.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rows = [[20.0, 0.0], [30.0, 1.0], [40.0, 0.0], [50.0, 1.0]]
    >>> tree = DecisionTreeClassifier().fit(rows, ["deny", "deny", "grant", "grant"])
    >>> near = fatt.Similarity(noise={"x0": 6, "x1": 1})
    >>> print(fatt.reasons(tree, rows[1:2], similarity=near))
    x0 prove deny while they stay as they are (a smallest set). A smallest change that \
flips it: deny → grant   x0 30.0 → 36.0.

    Notes
    -----
    The first set is an abductive explanation, as Marques-Silva and others define it,
    relative to the similarity. Both are proved on the exact model.
    """
    auditor = Auditor(model, similarity=similarity, schema=schema, **rule)
    auditor.require_rule()
    said: list[tuple[object, ...]] = [auditor.variables.schema.exist]
    said += [(*one.exist, *one.follow) for one in similarity.alternatives]
    if any(said):
        raise SpecError(
            "exist and follow tie columns together, and no set of them can be held "
            "fixed on its own yet; leave them out."
        )
    return _Sets(auditor, x, budget).answer()


class _Sets:
    """The searches around one person with some columns that may change."""

    def __init__(self, auditor: Auditor, x: Any, budget: Budget | None) -> None:
        self._auditor, self._budget = auditor, budget
        self._run = auditor.run(x, budget=budget)
        people: People = self._run.people
        if len(people) != 1:
            raise DataError(
                f"x has {len(people):,} rows; pass the row of one person, such as "
                "people[17:18]."
            )
        self._people = people
        self._values = people.values(0, 1)
        self._features = auditor.variables.ensemble.features
        self._boxes = self._run.boxes(self._values)
        moves = self._boxes.moves(self._values, self._features).any(axis=0)
        self._moving: tuple[int, ...] = tuple(np.flatnonzero(moves).tolist())
        self._known: dict[frozenset[int], int] = {}

    def verdict(self, columns: frozenset[int]) -> int:
        """Tell whether the answer stays if only these columns change."""
        if columns not in self._known:
            found = self._run.search(self._values, self.within(columns), rows=[0])
            self._known[columns] = int(found.verdict[0])
        return self._known[columns]

    def within(self, columns: frozenset[int]) -> Boxes:
        """Return the boxes in which only these columns change."""
        boxes, own = self._boxes, self._values[self._boxes.person]
        alone, words = lone_boxes(own, self._features), code_words(self._features)
        arrays: dict[str, Any] = {
            name: getattr(alone, name).copy()
            for name in ("lower", "upper", "missing", "codes")
        }
        for index in columns:
            for name in ("lower", "upper", "missing"):
                arrays[name][:, index] = getattr(boxes, name)[:, index]
            span = slice(int(words[index]), int(words[index + 1]))
            arrays["codes"][:, span] = boxes.codes[:, span]
        return replace(boxes, **arrays)

    def answer(self) -> Reasons:
        """Find both sets."""
        everything = frozenset(self._moving)
        held, held_is_smallest = self._found(FAIR)
        flips, flips_is_smallest = self._found(UNFAIR)
        found = self._replayed(everything if flips is None else flips)
        report = Report(
            findings=found,
            people=self._people,
            similarity=self._auditor.similarity,
            budget=self._budget or Budget(),
        )
        label = report.findings[0].label
        assert label is not None
        return Reasons(
            label=label,
            held=None if held is None else self._names(everything - held),
            held_is_smallest=held_is_smallest,
            flips=None if flips is None else self._names(flips),
            flips_is_smallest=flips_is_smallest,
            twin=None if flips is None else report.counterexamples[0],
        )

    def _replayed(self, columns: frozenset[int]) -> Findings:
        """Search once more, and ask the model itself about the twin."""
        replay = self._auditor.replay()
        replay.everybody(self._people)
        run = self._auditor.run(self._people.table, budget=self._budget)
        return examined(run, replay, Chunk(0, 1, self._values, self.within(columns)), 1)

    def _found(self, wanted: int) -> tuple[frozenset[int] | None, bool]:
        """Return which columns may change for a verdict: as many or as few as can be.

        For FAIR as many as can be, for UNFAIR as few; and whether that is proved.
        """
        smallest = self._smallest(wanted)
        if smallest is not None:
            return smallest
        return self._minimal(wanted), False

    def _smallest(self, wanted: int) -> tuple[frozenset[int], bool] | None:
        """Try all sets; None if there are too many, or none has the verdict."""
        if len(self._moving) > _MOST_COLUMNS:
            return None
        is_sure = True
        for columns in _by_size(self._moving, large_first=wanted == FAIR):
            verdict = self.verdict(columns)
            if verdict == wanted:
                return columns, is_sure or not self._is_better_open(columns, wanted)
            is_sure = is_sure and verdict != UNKNOWN
        return None

    def _is_better_open(self, columns: frozenset[int], wanted: int) -> bool:
        """Tell whether a set that would be better is unknown."""
        size = len(columns)
        return any(
            verdict == UNKNOWN
            and (len(one) > size if wanted == FAIR else len(one) < size)
            for one, verdict in self._known.items()
        )

    def _minimal(self, wanted: int) -> frozenset[int] | None:
        """Add or leave out one column after the other, as long as the verdict stays."""
        everything = frozenset(self._moving)
        columns = frozenset[int]() if wanted == FAIR else everything
        if self.verdict(columns) != wanted:
            return None
        for index in self._moving:
            other = columns ^ {index}
            if self.verdict(other) == wanted:
                columns = other
        return columns

    def _names(self, columns: frozenset[int]) -> tuple[str, ...]:
        return tuple(self._features[index].name for index in sorted(columns))


def _by_size(columns: Sequence[int], *, large_first: bool) -> Iterator[frozenset[int]]:
    """Yield all sets, the large or the small ones first."""
    sizes = range(len(columns) + 1)
    for size in reversed(sizes) if large_first else sizes:
        yield from map(frozenset, itertools.combinations(columns, size))
