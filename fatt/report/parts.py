"""Reports on more people than one memory holds: their findings lie in files."""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import msgspec

from fatt.errors import DataError, MissingDependencyError, SpecError, hint
from fatt.report.groups import Group, Groups, in_order, share_of_fair
from fatt.report.sentences import counted
from fatt.verdict import VERDICTS, Bounds, Stopped, Value, json_value

#: How many people are fair, unfair and unknown.
Counts: TypeAlias = tuple[int, int, int]

_ONE = {str(verdict): place for place, verdict in enumerate(VERDICTS)}


def add_up(counts: Sequence[Counts]) -> Counts:
    """Return the counts of all together."""
    fair, unfair, unknown = (sum(some) for some in zip((0, 0, 0), *counts, strict=True))
    return fair, unfair, unknown


def group_of(counts: Counts) -> Group:
    """Return people as a group."""
    named = dict(zip(map(str, VERDICTS), counts, strict=True))
    return Group(sum(counts), named, share_of_fair(*counts))


class Counted(ABC):
    """What is known of people of whom only counts are at hand."""

    @property
    @abstractmethod
    def _total(self) -> Counts: ...

    @property
    @abstractmethod
    def alone(self) -> int:
        """How many people have nobody similar: they are trivially fair."""

    @property
    @abstractmethod
    def stopped(self) -> dict[str, int]:
        """How many people are unknown for which reason, see `fatt.verdict.Stopped`."""

    def __len__(self) -> int:
        return sum(self._total)

    def __bool__(self) -> NoReturn:
        raise TypeError("a report has no truth value; ask report.fairness.lower.")

    @property
    def counts(self) -> dict[str, int]:
        """How many people are ``"fair"``, ``"unfair"`` and ``"unknown"``."""
        return group_of(self._total).counts

    @property
    def fairness(self) -> Bounds:
        """The share of fair people lies between these; unknown people lie between."""
        return group_of(self._total).fairness

    def _in_words(self) -> str:
        return counted(self.counts, self.stopped)


@dataclass(frozen=True, eq=False, repr=False)
class PartsReport(Counted):
    """Who is fair, unfair and unknown, counted from Parquet files of findings.

    The files are read some rows at a time, so memory does not grow with the people.

    Attributes
    ----------
    dataset
        The files, as a data set of pyarrow.
    """

    dataset: Any

    @classmethod
    def read(cls, parts: Any) -> PartsReport:
        """Read findings, as `fatt.Report.from_parts` does."""
        try:
            from pyarrow import ArrowException
            from pyarrow import dataset as files
        except ImportError as error:
            raise MissingDependencyError(
                "findings in files need pyarrow: pip install 'fatt[tables]'."
            ) from error
        if isinstance(parts, str | os.PathLike):
            parts = os.fspath(parts)
        elif not isinstance(parts, files.Dataset):
            parts = [os.fspath(part) for part in parts]
        try:
            found = files.dataset(parts, format="parquet")
            names = list(found.schema.names)
        except (OSError, ArrowException) as error:
            raise DataError(f"cannot read findings from {parts}: {error}") from error
        for name in ("verdict", "stopped", "alone"):
            if name not in names:
                raise DataError(
                    f"the files hold no column {name!r}, so they are no findings; pass "
                    "the folder that the engine wrote what fatt.Part returned to."
                )
        return cls(found)

    def __repr__(self) -> str:
        return f"<PartsReport on {len(self):,} people: {self._in_words()}>"

    @functools.cached_property
    def _kinds(self) -> dict[tuple[Value, ...], int]:
        return self._count("verdict", "stopped", "alone")

    @functools.cached_property
    def _total(self) -> Counts:
        return add_up([_counts(kind[0], many) for kind, many in self._kinds.items()])

    @property
    def alone(self) -> int:
        """How many people have nobody similar: they are trivially fair."""
        return sum(many for (_, _, alone), many in self._kinds.items() if alone)

    @property
    def stopped(self) -> dict[str, int]:
        """How many people are unknown for which reason, see `fatt.verdict.Stopped`."""
        sums = {
            str(why): sum(many for kind, many in self._kinds.items() if kind[1] == why)
            for why in Stopped
        }
        return {why: number for why, number in sums.items() if number}

    def by_group(self, *names: str) -> Groups:
        """Count the verdicts group by group, by columns that were kept.

        Raises
        ------
        SpecError
            If there is no such column beside the findings.
        """
        known = self.dataset.schema.names
        for name in names:
            if name not in known:
                raise SpecError(
                    f"there is no column {name!r} beside the findings to group people "
                    f"by; name it in keep. {hint(name, known)}"
                )
        if not names:
            raise SpecError("name at least one column to group people by.")
        found: dict[tuple[Value, ...], list[Counts]] = {}
        for (*values, verdict), many in self._count(*names, "verdict").items():
            found.setdefault(tuple(values), []).append(_counts(verdict, many))
        return Groups(
            names,
            {
                values[0] if len(names) == 1 else values: group_of(
                    add_up(found[values])
                )
                for values in in_order(found)
            },
        )

    def unfair(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of unfair people, as they are read."""
        from pyarrow import dataset as files

        is_unfair = files.field("verdict") == "unfair"
        for batch in self.dataset.to_batches(filter=is_unfair):
            yield from batch.to_pylist()

    def to_json(self) -> str:
        """Return counts and bounds as JSON."""
        document = {
            "format": "fatt-parts-1",
            "counts": self.counts,
            "alone": self.alone,
            "stopped": self.stopped,
            "fairness": self.fairness._asdict(),
        }
        return msgspec.json.encode(document).decode()

    def _count(self, *names: str) -> dict[tuple[Value, ...], int]:
        """Count the rows by what some columns hold, some rows at a time."""
        import pyarrow as pa

        found: dict[tuple[Value, ...], int] = {}
        for batch in self.dataset.to_batches(columns=list(names)):
            counted = (
                pa.table(batch).group_by(list(names)).aggregate([([], "count_all")])
            )
            for row in counted.to_pylist():
                values = tuple(json_value(row[name]) for name in names)
                found[values] = found.get(values, 0) + row["count_all"]
        return found


def _counts(verdict: Value, many: int) -> Counts:
    if verdict not in _ONE:
        raise DataError(
            f"the files hold the verdict {verdict!r}, which fatt does not write; pass "
            "files of findings only."
        )
    fair, unfair, unknown = (
        many * (place == _ONE[str(verdict)]) for place in range(len(_ONE))
    )
    return fair, unfair, unknown
