"""More people than one machine holds: tables in parts, verified by Dask."""

from __future__ import annotations

import functools
import operator
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

import msgspec

from fatt import storage
from fatt.audit.arguments import check_spot_checks, check_types
from fatt.audit.asked import Fair
from fatt.audit.auditor import Auditor
from fatt.audit.part import Part, refuse_shared
from fatt.audit.part_files import Question, Tally, do_part
from fatt.audit.spot_checks import SPOT_CHECKS
from fatt.ensemble import Ensemble
from fatt.errors import DataError, JournalError, MissingDependencyError, SpecError
from fatt.importers import load
from fatt.region import Relation, Schema
from fatt.region.combined import asked, joined
from fatt.region.existence import Together
from fatt.region.inference import Statistics, combinations_in
from fatt.report import Asked, Group
from fatt.report.doubts import refuse_vacuous
from fatt.report.groups import in_order
from fatt.report.parts import Counted, Counts, add_up, group_of
from fatt.verdict import Stopped, Value
from fatt.verifier import Budget

_QUESTION, _SCHEMA, _SUMMARY = "question.json", "schema.json", "summary.json"


def verify_partitions(
    model: Any,
    people: Any,
    *,
    similarity: Relation,
    output: str | Path,
    schema: Schema | None = None,
    by_position: bool = False,
    budget: Budget | None = None,
    groups: Sequence[str | Sequence[str]] = (),
    keep: Sequence[str] = (),
    spot_checks: int = SPOT_CHECKS,
    threshold: float | None = None,
    cuts: Mapping[str, float] | None = None,
    **fair: Unpack[Fair],
) -> PartitionedReport:
    """Verify people part by part on whatever Dask runs on, and write Parquet.

    Neither the people nor the findings need to fit into one machine's memory. Each part
    is one task, and its findings are one file, which appears whole or not at all. If
    the same is run again after any end, parts that are done are not done again. The
    findings are those of `fatt.verify` with the same schema.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes; workers get it whole, and read no file.
    people
        Dask data frame, or what `dask.dataframe.read_parquet` takes: a file, a folder
        or a pattern such as ``"people/*.parquet"``.
    similarity
        Who is similar to whom.
    output
        Folder for the findings, which all workers can write to.
    schema
        What the columns mean. By default it is inferred in a first pass over all
        parts, and kept as ``schema.json`` in the folder.
    by_position
        As in `fatt.Auditor`.
    budget
        Limits of the search for each person.
    groups
        Names to count by; a list of several names counts their intersections.
    keep
        Columns to write beside the findings, such as an id.
    spot_checks
        As in `fatt.verify`, for all parts together; each has the same share.
    threshold, cuts, **fair
        How the model decides, and what is fair, as in `fatt.verify`: tolerance,
        direction, favorable.

    Returns
    -------
    PartitionedReport
        Also kept as ``summary.json`` in the folder, which is written last.

    Raises
    ------
    SpecError
        If an argument names something absent, the budget is one for a whole run, or
        nobody is similar to anybody else.
    DataError
        If the model's library would refuse a row; the message names the part.
    ModelError
        If the model cannot be imported exactly.
    JournalError
        If the folder holds findings about something else, or cannot be written.
    """
    check_types(similarity, schema, budget)
    check_spot_checks(spot_checks)
    refuse_shared(budget)
    model = load(model, threshold=threshold, cuts=cuts)
    parts = _parts(people)
    if schema is None:
        schema = _inferred(model.ensemble, parts, similarity)
    auditor = Auditor(
        model,
        similarity=similarity,
        schema=schema,
        by_position=by_position,
        **fair,
    )
    question = Question(
        part=Part(auditor, keep=keep, budget=budget),
        schema=schema,
        groups=tuple((one,) if isinstance(one, str) else tuple(one) for one in groups),
        spot_checks=spot_checks,
        n_parts=len(parts),
    )
    folder = Path(output)
    names = _prepared(folder, question, len(parts))
    report = PartitionedReport(folder, question, _done(question, parts, folder, names))
    if len(report) > 1 and report.alone == report.counts["fair"] == len(report):
        refuse_vacuous(similarity, schema)
    storage.write(folder / _SUMMARY, report.to_json().encode())
    return report


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedReport(Counted):
    """How many people are treated fairly, by parts whose findings are files.

    Attributes
    ----------
    folder
        Where the findings are: ``part-*.parquet``, in the order of the parts. Columns:
        those that were to be kept, and then as `fatt.Part` has them.
    question
        What was asked about each person.
    tallies
        What was counted in each part.
    """

    folder: Path
    question: Question
    tallies: tuple[Tally, ...]

    def __repr__(self) -> str:
        return (
            f"<PartitionedReport on {len(self):,} people in {len(self.tallies):,} "
            f"parts: {self._in_words()}>"
        )

    @functools.cached_property
    def _total(self) -> Counts:
        return add_up([tally.total for tally in self.tallies])

    @property
    def alone(self) -> int:
        """How many people are similar to nobody else: they are fair for no merit."""
        return sum(tally.alone for tally in self.tallies)

    @property
    def stopped(self) -> dict[str, int]:
        """How many people are unknown for which reason, see `fatt.verdict.Stopped`."""
        sums = {
            str(why): sum(tally.stopped.get(why, 0) for tally in self.tallies)
            for why in Stopped
        }
        return {why: number for why, number in sums.items() if number}

    @property
    def asked(self) -> Asked:
        """How many people the model itself was asked about, in all parts."""
        people, similar, rounded = (
            sum(tally.asked[place] for tally in self.tallies) for place in range(3)
        )
        reasons = dict.fromkeys(tally.reason for tally in self.tallies if tally.reason)
        return Asked(
            people=people,
            similar=similar,
            reason="; ".join(reasons),
            rounded=rounded,
        )

    def by_group(self, *names: str) -> dict[Value | tuple[Value, ...], Group]:
        """Return the counts of groups that were asked for, as `Report.by_group` does.

        Raises
        ------
        SpecError
            If these groups were not asked for.
        """
        if names not in self.question.groups:
            known = "; ".join(", ".join(one) for one in self.question.groups)
            raise SpecError(
                f"groups by {', '.join(names)} were not counted; pass them to "
                f"verify_partitions as groups. Counted: {known or 'none'}."
            )
        place = self.question.groups.index(names)
        found: dict[tuple[Value, ...], list[Counts]] = {}
        for tally in self.tallies:
            for values, counts in tally.groups[place]:
                found.setdefault(values, []).append(counts)
        return {
            values[0] if len(names) == 1 else values: group_of(add_up(found[values]))
            for values in in_order(found)
        }

    def to_json(self) -> str:
        """Return question, counts, bounds and groups as JSON."""
        document = {
            "format": "fatt-partitions-1",
            **self.question.identity(),
            "parts": len(self.tallies),
            "counts": self.counts,
            "alone": self.alone,
            "stopped": self.stopped,
            "asked": asdict(self.asked),
            "fairness": self.fairness._asdict(),
            "groups": [
                {
                    "by": names,
                    "values": [
                        {"value": value, **group._asdict()}
                        for value, group in self.by_group(*names).items()
                    ],
                }
                for names in self.question.groups
            ],
        }
        return msgspec.json.encode(document).decode()


def _parts(people: Any) -> list[Any]:
    """Return the parts, as tasks of Dask that make data frames of pandas."""
    try:
        import dask.dataframe
    except ImportError as error:
        raise MissingDependencyError(
            "people in parts need Dask: pip install 'fatt[dask]'."
        ) from error
    if isinstance(people, str | os.PathLike):
        try:
            people = dask.dataframe.read_parquet(os.fspath(people))
        except OSError as error:
            raise DataError(f"cannot read the people from {people}: {error}") from error
    if not isinstance(people, dask.dataframe.DataFrame):
        raise DataError(
            f"the people are a {type(people).__name__}; pass a Dask data frame, or "
            "where Parquet files are."
        )
    return list(people.to_delayed())


def _inferred(ensemble: Ensemble, parts: list[Any], similarity: Relation) -> Schema:
    """Infer the schema from all parts; never from one alone."""
    import dask

    model = dask.delayed(pickle.dumps(ensemble), pure=True)
    seen = dask.compute(*[dask.delayed(_observe)(model, part) for part in parts])
    statistics = [one for one in seen if one is not None]
    if not statistics:
        raise DataError("there are no rows; pass at least one person.")
    schema = Schema.infer(ensemble, functools.reduce(operator.or_, statistics))
    if not asked(schema, similarity):
        return schema
    question = dask.delayed(pickle.dumps((ensemble, schema, similarity)), pure=True)
    found = dask.compute(*[dask.delayed(_combine)(question, part) for part in parts])
    return msgspec.structs.replace(schema, seen=joined(found))


def _observe(model: bytes, part: Any) -> Statistics | None:
    return Schema.observe(pickle.loads(model), part) if len(part) else None


def _combine(question: bytes, part: Any) -> tuple[Together, ...]:
    """Return the combinations in a part of which the similarity asks."""
    ensemble, schema, similarity = pickle.loads(question)
    if not len(part):
        return ()
    return combinations_in(ensemble, schema, part, similarity)


def _prepared(folder: Path, question: Question, n_parts: int) -> list[str]:
    """Make the folder ready, and return the names of its files.

    A folder with other findings is left alone, for they took long to make.
    """
    names = [f"part-{number:06}.parquet" for number in range(n_parts)]
    identity = msgspec.json.encode(question.identity())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = folder / _QUESTION
        is_other = known.exists() and known.read_bytes() != identity
        stray = {path.name for path in folder.glob("part-*.parquet")} - {*names}
        if is_other or stray:
            raise JournalError(
                f"{folder} holds findings about something else; name another folder, "
                "or remove it to start anew."
            )
        (folder / _SUMMARY).unlink(missing_ok=True)
        for draft in folder.glob(".*.part"):
            # What a run that was killed had begun to write.
            draft.unlink(missing_ok=True)
        storage.write(known, identity)
        question.schema.save(folder / _SCHEMA)
    except OSError as error:
        raise JournalError(f"cannot write to {folder}: {error.strerror}.") from error
    return names


def _done(
    question: Question, parts: list[Any], folder: Path, names: list[str]
) -> tuple[Tally, ...]:
    import dask

    # One task of its own that all others read, and that can be made again.
    asked = dask.delayed(pickle.dumps(question), pure=True)
    tasks = [
        dask.delayed(do_part)(asked, number, part, str(folder / name))
        for number, (part, name) in enumerate(zip(parts, names, strict=True))
    ]
    return tuple(dask.compute(*tasks))
