"""Findings kept in a file as they are made, so that a long audit can be gone on with.

A journal is a database of SQLite, which keeps what was committed whatever ends a run,
and lets one run at a time write. It holds

- ``about``: the form of the journal, what is audited, and a digest of that;
- ``findings``: what was found about some people after the other, and how many seconds
  the run had taken by then; with a digest of that and of the digest before it, so that
  nothing can be lost, moved or changed without notice. SQLite itself keeps no checksum.

Nothing that was written is ever written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Run
from fatt.certificate.file import digest_of_schema
from fatt.ensemble import Label
from fatt.ensemble.allowed import Allowed
from fatt.errors import Arg, JournalError
from fatt.verdict import Findings
from fatt.version import __version__

FORMAT = "fatt-journal-2"

#: How journals began before they were databases.
OLD_MAGIC = b"fatt-journal-1\n"
_MAGIC = b"SQLite format 3\0"
#: Tells databases of others from ours: "fatt" in ASCII.
_APPLICATION = 0x66617474
_DIGEST = 16
_HEAD = struct.Struct("<qqd")

_TABLES = (
    f"pragma application_id = {_APPLICATION}",
    "create table about (format text, identity blob, digest blob)",
    "create table findings (number integer primary key, start integer, stop integer, "
    "seconds real, arrays blob, digest blob)",
)

_WORDS = {
    "fatt": "was made by another version of fatt",
    "model": "is about another model",
    "data": "is about other people",
    "schema": "is about other variables (schema)",
    "similarity": "has another similarity",
    "budget": "has another budget",
    "fair": "asks for something else (tolerance, direction)",
}


def identity_of(run: Run) -> dict[str, str]:
    """Return what a run is about; findings of two runs are equal if this is.

    Reads all people, so that rows which nobody can read are found before the search.
    """
    data = hashlib.sha256()
    for chunk in run.chunks():
        data.update(chunk.values.tobytes())
    variables, allowed = run.variables, run.verifier.allowed
    return {
        "fatt": __version__,
        "model": variables.model.digest,
        "data": f"{len(run.people)} {data.hexdigest()}",
        "schema": digest_of_schema(variables.schema),
        "similarity": run.similarity.to_toml(),
        "budget": repr(run.budget),
        **({"fair": repr(allowed)} if allowed != Allowed() else {}),
    }


class Journal:
    """A file of findings. First read what it keeps, then append to it.

    Parameters
    ----------
    path
        The file; made if there is none.
    identity
        What the findings are about, as `identity_of` tells.
    classes
        The model's labels.

    Raises
    ------
    JournalError
        If the file is no journal, is damaged, is about something else, is in use, or
        cannot be opened.
    """

    def __init__(
        self, path: str | Path, identity: dict[str, str], classes: tuple[Label, ...]
    ) -> None:
        self._path = Path(path)
        self._classes = classes
        self._number = self._end = 0
        self._chain = b""
        _refuse_others(self._path)
        try:
            # Transactions are begun and ended here, and nobody is waited for.
            self._base = sqlite3.connect(path, timeout=0, isolation_level=None)
        except sqlite3.Error as error:
            raise JournalError(f"cannot open {path}: {error}.") from error
        try:
            # A lock, once taken, is kept until the file is closed.
            self._base.execute("pragma locking_mode = exclusive")
            self._open(identity)
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._base.close()

    def kept(self) -> Iterator[tuple[Findings, float]]:
        """Yield what earlier runs found, and how many seconds they had taken by then.

        Raises
        ------
        JournalError
            If the file is damaged.
        """
        for row in self._rows():
            # What has another type than was written is damaged, whatever it says.
            if [*map(type, row)] != [int, int, int, float, bytes, bytes]:
                raise self._damaged()
            number, start, stop, seconds, body, digest = row
            chain = _digest(_HEAD.pack(start, stop, seconds), body, self._chain)
            if (number, start, digest) != (self._number, self._end, chain):
                raise self._damaged()
            found = Findings.from_arrays(_decoded(body), self._classes, start)
            self._number, self._end, self._chain = number + 1, found.stop, chain
            yield found, seconds

    def append(self, found: Findings, seconds: float) -> None:
        """Keep what was found, whole or not at all.

        Parameters
        ----------
        found
            About the people after those of whom the journal knows.
        seconds
            How long the run has taken so far.

        Raises
        ------
        JournalError
            If it cannot be written. What the journal held before, it holds still.
        """
        body = _encoded(found)
        head = (found.start, found.stop, float(seconds))
        chain = _digest(_HEAD.pack(*head), body, self._chain)
        row = (self._number, *head, body, chain)
        with self._transaction("begin"):
            self._base.execute("insert into findings values (?, ?, ?, ?, ?, ?)", row)
        self._number, self._end, self._chain = self._number + 1, found.stop, chain

    def _open(self, identity: dict[str, str]) -> None:
        """Take the file for this run alone, and see that it is about the same."""
        known = msgspec.json.encode(identity)
        self._chain = _digest(FORMAT.encode(), known, b"")
        with self._transaction("begin exclusive"):
            (tables,) = self._base.execute(
                "select count(*) from sqlite_master"
            ).fetchone()
            (application,) = self._base.execute("pragma application_id").fetchone()
            if (tables, application) == (0, 0):
                for command in _TABLES:
                    self._base.execute(command)
                row = (FORMAT, known, self._chain)
                self._base.execute("insert into about values (?, ?, ?)", row)
                return
            if application != _APPLICATION:
                raise JournalError(_no_journal(self._path))
            rows = self._base.execute("select * from about").fetchall()
        if len(rows) != 1:
            raise self._damaged()
        self._compare(rows[0], identity)

    def _compare(self, row: tuple[Any, ...], identity: dict[str, str]) -> None:
        """See that a journal is whole as far as it says what it is about."""
        form, kept, digest = row
        if [*map(type, row)] != [str, bytes, bytes]:
            raise self._damaged()
        if _digest(form.encode(), kept, b"") != digest:
            raise self._damaged()
        if form != FORMAT:
            raise JournalError(
                f"{self._path} is a journal of the form {form}, and this version of "
                f"fatt writes {FORMAT}; name another file, or remove it to start anew."
            )
        known = msgspec.json.decode(kept)
        for name, words in _WORDS.items():
            if known.get(name) != identity.get(name):
                raise JournalError(
                    f"{self._path} {words}; name another file, or remove it to start "
                    "anew."
                )

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        """Do something as a whole, or not at all."""
        try:
            self._base.execute(begin)
            yield
            self._base.execute("commit")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                self._base.execute("rollback")
            if isinstance(error, sqlite3.Error):
                raise self._failed(error) from error
            raise

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._base.execute(
                "select number, start, stop, seconds, arrays, digest from findings "
                "order by number"
            )
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _damaged(self) -> JournalError:
        return JournalError(
            f"{self._path} is damaged after the findings of {self._end:,} people; "
            "restore it from a copy, or remove it to start anew."
        )

    def _failed(self, error: sqlite3.Error) -> JournalError:
        """Say in our words what SQLite did not do."""
        # The last byte tells what it is about, the others tell more.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_READONLY and os.access(self._path, os.W_OK):
            # The file says so, and not the system.
            return self._damaged()
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return JournalError(
                f"another run is writing to {self._path}; wait for it, or name another "
                "file."
            )
        if code in _NOT_WRITTEN:
            return JournalError(
                f"cannot write to {self._path}: {error}. What it holds is kept: make "
                f"room, and go on with {Arg('journal', str(self._path))}."
            )
        return self._damaged()


#: What SQLite reports if the disk or the system does not do what it should.
_NOT_WRITTEN = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_TOOBIG,
}


def _refuse_others(path: Path) -> None:
    """Raise if a file is no database, so that it is left alone.

    Raises
    ------
    JournalError
        If there is another file, or a journal of the form before.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
    except FileNotFoundError:
        if path.parent.is_dir():
            return
        raise JournalError(f"cannot open {path}: No such file or directory.") from None
    except OSError as error:
        raise JournalError(f"cannot open {path}: {error.strerror}.") from error
    if head.startswith(OLD_MAGIC):
        raise JournalError(
            f"{path} is a journal of the form fatt-journal-1, which earlier versions "
            f"of fatt wrote, and this one writes {FORMAT}; end that audit with the "
            "version that began it, or name another file."
        )
    if head and not _MAGIC.startswith(head):
        raise JournalError(_no_journal(path))


def _no_journal(path: Path) -> str:
    return f"{path} is no journal of fatt; name another file."


def _digest(head: bytes, body: bytes, before: bytes) -> bytes:
    digest = hashlib.blake2b(key=before, digest_size=_DIGEST)
    # The length keeps the two apart.
    digest.update(struct.pack("<q", len(head)) + head)
    digest.update(body)
    return digest.digest()


class _Array(msgspec.Struct, frozen=True, array_like=True):
    """An array: its type, its shape, and its bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def _encoded(found: Findings) -> bytes:
    arrays = {
        name: _Array(array.dtype.str, array.shape, array.tobytes())
        for name, array in found.to_arrays().items()
    }
    return zlib.compress(msgspec.msgpack.encode(arrays), 1)


def _decoded(body: bytes) -> dict[str, NDArray[Any]]:
    arrays = msgspec.msgpack.decode(zlib.decompress(body), type=dict[str, _Array])
    return {
        name: np.frombuffer(one.data, dtype=one.dtype).reshape(one.shape)
        for name, one in arrays.items()
    }
