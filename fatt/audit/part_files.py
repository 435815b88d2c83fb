"""One part of very many people: verified, written to a file of its own, counted."""

from __future__ import annotations

import functools
import hashlib
import pickle
from pathlib import Path
from typing import Any

import msgspec

from fatt import storage
from fatt.audit.part import Part
from fatt.errors import DataError, JournalError
from fatt.region import Schema
from fatt.report import Report
from fatt.report.parts import Counts
from fatt.verdict import VERDICTS, Value, json_value
from fatt.version import __version__

_KEY = b"fatt"


class Question(msgspec.Struct, frozen=True):
    """What is asked about the people of every part.

    Attributes
    ----------
    part
        Verifies them.
    schema
        What the columns mean.
    groups
        The names by which to count, several for intersections.
    spot_checks, n_parts
        How many people similar to the fair are asked about in all parts together, and
        the number of parts.
    """

    part: Part
    schema: Schema
    groups: tuple[tuple[str, ...], ...]
    spot_checks: int
    n_parts: int

    def identity(self) -> dict[str, Any]:
        """Return what can be compared and kept; findings are equal if this is."""
        auditor = self.part.auditor
        return {
            "fatt": __version__,
            "model": auditor.model.digest,
            "schema": msgspec.json.encode(self.schema).decode(),
            "similarity": auditor.similarity.to_toml(),
            "fair": repr(auditor.allowed),
            "budget": repr(self.part.budget),
            "by": [list(names) for names in self.groups],
            "keep": list(self.part.keep),
            "spot_checks": self.spot_checks,
        }


class Tally(msgspec.Struct, frozen=True):
    """How many people are fair, unfair and unknown: all, and by groups and values.

    Beside them stands how many are similar to nobody else, and how many are unknown for
    which reason; and about how many people, and similar people of the fair, the model
    itself was asked, how many answers differ by rounding, and why it was not asked.
    """

    total: Counts
    alone: int
    stopped: dict[str, int]
    groups: tuple[tuple[tuple[tuple[Value, ...], Counts], ...], ...]
    asked: tuple[int, int, int]
    reason: str


class _Note(msgspec.Struct, frozen=True):
    """What a file of findings says of itself."""

    question: str
    data: str
    tally: Tally


def do_part(question: bytes, number: int, people: Any, path: str) -> Tally:
    """Verify the people of a part, unless a whole file has the answers already.

    Parameters
    ----------
    question
        A pickled `Question`.
    number
        The number of the part, for messages.
    people
        Its people: a data frame of pandas.
    path
        The file to write. It appears whole, or not at all.

    Raises
    ------
    DataError, ModelError, JournalError
        If a row or the model cannot be read, or the file cannot be written.
    """
    import pyarrow

    asked = _opened(question)
    identity = hashlib.sha256(msgspec.json.encode(asked.identity()))
    note = identity.hexdigest(), _digest(people)
    done = _done(path, *note)
    if done is not None:
        return done
    try:
        report = _verified(asked, people, number)
    except DataError as error:
        raise DataError(f"part {number}: {error}") from error
    tally = _tally(asked, report)
    table = pyarrow.table(asked.part.rows(people, report))
    encoded = msgspec.json.encode(_Note(*note, tally))
    _write(table.replace_schema_metadata({_KEY: encoded}), Path(path))
    return tally


@functools.lru_cache(maxsize=2)
def _opened(question: bytes) -> Question:
    """Return a question; who answers it is prepared once in each process."""
    asked: Question = pickle.loads(question)
    return asked


def _verified(asked: Question, people: Any, number: int) -> Report | None:
    first, last = (
        asked.spot_checks * place // asked.n_parts for place in (number, number + 1)
    )
    return asked.part.report(people, spot_checks=last - first)


def _digest(part: Any) -> str:
    """Return a digest of a data frame: names, types, index and cells."""
    from pandas.util import hash_pandas_object

    shape = [[str(name), str(dtype)] for name, dtype in part.dtypes.items()]
    digest = hashlib.sha256(msgspec.json.encode(shape))
    digest.update(hash_pandas_object(part).to_numpy().tobytes())
    return digest.hexdigest()


def _done(path: str, question: str, data: str) -> Tally | None:
    """Return what a file that is whole and answers the same question has counted."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, page_checksum_verification=True)
        note = msgspec.json.decode(table.schema.metadata[_KEY], type=_Note)
    except (OSError, KeyError, TypeError, pa.ArrowException, msgspec.MsgspecError):
        return None
    is_same = (note.question, note.data) == (question, data)
    return note.tally if is_same and len(table) == sum(note.tally.total) else None


def _tally(asked: Question, report: Report | None) -> Tally:
    if report is None:
        return Tally((0, 0, 0), 0, {}, ((),) * len(asked.groups), (0, 0, 0), "")
    groups = []
    for names in asked.groups:
        by_value = report.by_group(*names)
        groups.append(
            tuple(
                (_values(value, names), _counts(group.counts))
                for value, group in by_value.items()
            )
        )
    known = report.asked
    return Tally(
        total=_counts(report.counts),
        alone=report.alone,
        stopped=report.stopped,
        groups=tuple(groups),
        asked=(known.people, known.similar, known.rounded),
        reason=known.reason,
    )


def _values(value: Any, names: tuple[str, ...]) -> tuple[Value, ...]:
    return tuple(map(json_value, (value,) if len(names) == 1 else value))


def _counts(counts: dict[str, int]) -> Counts:
    fair, unfair, unknown = (counts[str(verdict)] for verdict in VERDICTS)
    return fair, unfair, unknown


def _write(table: Any, path: Path) -> None:
    """Write a file beside the place where it belongs, and then move it there."""
    from pyarrow import parquet

    try:
        with storage.draft_of(path) as draft:
            parquet.write_table(table, draft, write_page_checksum=True)
    except OSError as error:
        raise JournalError(
            f"cannot write {path}: {error.strerror or error}. Parts that are done are "
            "kept: see to it, and run the same again."
        ) from error
