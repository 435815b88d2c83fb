"""Findings kept in a file as they are made, so that a long audit can be gone on with.

A journal begins with a magic line. Records follow, each of them

- four bytes with the length of what is kept, and four with a checksum of the length;
- what is kept, compressed;
- a digest of that and of the digest before it, so that no record can be lost, moved or
  changed without notice.

The first record says what is audited. Each of the others holds what was found about
some people, in order. Nothing that was written is ever written again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Run
from fatt.ensemble import Label
from fatt.errors import JournalError
from fatt.verdict import Findings
from fatt.version import __version__

MAGIC = b"fatt-journal-1\n"

_HEAD = struct.Struct("<II")
_DIGEST = 16
#: Between two moments at which the disk is made to keep what was written.
_SYNC_SECONDS = 1.0

_WORDS = {
    "fatt": "was made by another version of fatt",
    "model": "is about another model",
    "data": "is about other people",
    "schema": "is about other variables (schema)",
    "similarity": "has another similarity",
    "budget": "has another budget",
}


def identity_of(run: Run) -> dict[str, str]:
    """Return what a run is about; findings of two runs are equal if this is.

    Reads all people, so that rows which nobody can read are found before the search.
    """
    data = hashlib.sha256()
    for chunk in run.chunks():
        data.update(chunk.values.tobytes())
    variables = run.variables
    schema = hashlib.sha256(msgspec.json.encode(variables.schema))
    return {
        "fatt": __version__,
        "model": variables.model.digest,
        "data": f"{len(run.people)} {data.hexdigest()}",
        "schema": schema.hexdigest(),
        "similarity": run.similarity.to_toml(),
        "budget": repr(run.budget),
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
        self._identity, self._classes = identity, classes
        self._synced = 0.0
        self._end, self._chain = 0, MAGIC
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
        except OSError as error:
            raise JournalError(f"cannot open {path}: {error.strerror}.") from error
        try:
            _lock(self._file, self._path)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def kept(self) -> Iterator[tuple[Findings, float]]:
        """Yield what earlier runs found, and how many seconds they had taken by then.

        A record that was not written to its end is dropped.

        Raises
        ------
        JournalError
            If the file is no journal, is damaged, or is about something else.
        """
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            magic = file.read(len(MAGIC))
            if not MAGIC.startswith(magic):
                raise JournalError(
                    f"{self._path} is no journal of fatt; name another file."
                )
            self._end, self._chain = len(MAGIC), MAGIC
            records = self._records(file)
            head = next(records, None)
            if head is not None:
                self._compare(msgspec.json.decode(head))
                for kept in records:
                    record = msgspec.msgpack.decode(kept, type=_Record)
                    arrays = {name: one.array() for name, one in record.arrays.items()}
                    found = Findings.from_arrays(arrays, self._classes, record.start)
                    yield found, record.seconds
        if head is None:
            self._begin()
        else:
            os.ftruncate(self._file, self._end)

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
        self._write(b"", msgspec.msgpack.encode(_encoded(found, seconds)))

    def _begin(self) -> None:
        os.ftruncate(self._file, 0)
        self._end, self._chain = 0, MAGIC
        self._write(MAGIC, msgspec.json.encode(self._identity))

    def _write(self, before: bytes, kept: bytes) -> None:
        body = zlib.compress(kept, 1)
        length = len(body).to_bytes(4, "little")
        chain = _digest(body, self._chain)
        rest = memoryview(
            before + length + zlib.crc32(length).to_bytes(4, "little") + body + chain
        )
        end = self._end + len(rest)
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            now = time.monotonic()
            if now - self._synced > _SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = now
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise self._failed(error) from error
        self._end, self._chain = end, chain

    def _records(self, file: Any) -> Iterator[bytes]:
        """Yield what the records keep, up to the last whole one."""
        while True:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return
            length, check = _HEAD.unpack(head)
            if zlib.crc32(head[:4]) != check:
                if not any(head) and not any(file.read()):
                    # Some disks fill with zeros what a power failure kept from them.
                    return
                raise self._damaged()
            body, chain = file.read(length), file.read(_DIGEST)
            if len(chain) < _DIGEST:
                return
            if _digest(body, self._chain) != chain:
                if not file.read(1):
                    return
                raise self._damaged()
            self._end += _HEAD.size + length + _DIGEST
            self._chain = chain
            yield zlib.decompress(body)

    def _compare(self, identity: dict[str, str]) -> None:
        for name, words in _WORDS.items():
            if identity.get(name) != self._identity[name]:
                raise JournalError(
                    f"{self._path} {words}; name another file, or remove it to start "
                    "anew."
                )

    def _damaged(self) -> JournalError:
        return JournalError(
            f"{self._path} is damaged after byte {self._end}; restore it from a copy, "
            "or remove it to start anew."
        )

    def _failed(self, error: OSError) -> JournalError:
        return JournalError(
            f"cannot write to {self._path}: {error.strerror or error}. What it holds "
            "is kept: see to it, and run the same again."
        )


_BINARY = getattr(os, "O_BINARY", 0)


def _lock(file: int, path: Path) -> None:
    """Keep other runs from writing to the file, where the system can do that."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise JournalError(
            f"another run is writing to {path}; wait for it, or name another file."
        ) from None


def _digest(body: bytes, before: bytes) -> bytes:
    return hashlib.blake2b(body, key=before, digest_size=_DIGEST).digest()


class _Array(msgspec.Struct, frozen=True, array_like=True):
    """An array: its type, its shape, and its bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, array: NDArray[Any]) -> _Array:
        return cls(array.dtype.str, array.shape, array.tobytes())

    def array(self) -> NDArray[Any]:
        return np.frombuffer(self.data, dtype=self.dtype).reshape(self.shape)


class _Record(msgspec.Struct, frozen=True):
    """What was found about some people, as it is written."""

    start: int
    seconds: float
    arrays: dict[str, _Array]


def _encoded(found: Findings, seconds: float) -> _Record:
    arrays = {name: _Array.of(array) for name, array in found.to_arrays().items()}
    return _Record(start=found.start, seconds=seconds, arrays=arrays)
