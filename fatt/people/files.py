"""Tables of people in files: CSV, JSON lines, Parquet and Arrow."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.errors import DataError, MissingDependencyError, SpecError, hint
from fatt.people.texts import Texts, split

#: What a file says of one person in one column; None if it says nothing.
Cell: TypeAlias = str | bool | int | float | None
#: A column: cells one by one, or numbers in the type that the file gives them.
Cells: TypeAlias = list[Cell] | Texts | NDArray[Any]

_DELIMITERS = (",", ";", "\t")
_BLOCK = 8192
_UTF_16 = "the file is UTF-16; convert it with iconv -f utf-16 -t utf-8."
_WORKBOOK = (
    "the file is no text but a workbook, such as one of Excel, or an archive; save the "
    "sheet as CSV in UTF-8."
)
#: How files begin that hold tables in another form, and what helps.
_OTHERS = (
    (codecs.BOM_UTF16_LE, _UTF_16),
    (codecs.BOM_UTF16_BE, _UTF_16),
    (b"PK\x03\x04", _WORKBOOK),
    (b"\xd0\xcf\x11\xe0", _WORKBOOK),
    (b"\x1f\x8b", "the file is compressed; unpack it with gunzip."),
)
#: So many bytes show how a text is encoded.
_HEAD = 100
#: Size of a file, in bytes, from which on it pays to import pyarrow for it.
_LARGE = 2**20


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, as they stand there.

    Attributes
    ----------
    name
        Name of the file.
    digest
        SHA-256 of its bytes.
    columns
        The cells of each column, by name.
    """

    name: str
    digest: str
    columns: dict[str, Cells]

    def renamed(self, names: Mapping[str, str]) -> Table:
        """Return the table with other names of some columns.

        Parameters
        ----------
        names
            The new name of each column, such as ``{"Age (years)": "age"}``.

        Raises
        ------
        SpecError
            If there is no such column, or two would have one name.
        """
        for name in names:
            if name not in self.columns:
                raise SpecError(
                    f"rename names the column {name!r}, which {self.name} does not "
                    f"have. {hint(name, self.columns)}"
                )
        columns: dict[str, Cells] = {}
        for name, cells in self.columns.items():
            new = names.get(name, name)
            if new in columns:
                raise SpecError(
                    f"two columns of {self.name} would have the name {new!r}; rename "
                    "the other one too."
                )
            columns[new] = cells
        return replace(self, columns=columns)


def read_table(path: str) -> Table:
    """Read a table of people; what kind of file it is, its first bytes tell.

    Parameters
    ----------
    path
        Path of the file; ``-`` for the standard input.

    Raises
    ------
    DataError
        If the file cannot be read, or is no table.
    MissingDependencyError
        If it is a Parquet or Arrow file and pyarrow is not installed.
    """
    name = "the standard input" if path == "-" else path
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"cannot read the people from {name}: {reason}.") from error
    if not data.strip():
        raise DataError(f"{name} is empty; pass a table with one row per person.")
    try:
        columns = _reader(data)(data)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error
    return Table(name, hashlib.sha256(data).hexdigest(), columns)


def _reader(data: bytes) -> Callable[[bytes], dict[str, Cells]]:
    for start, found in _OTHERS:
        if data.startswith(start):
            raise DataError(found)
    if data.startswith(b"PAR1"):
        return _read_parquet
    if data.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return _read_arrow
    if data.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"{", b"[")):
        return _read_json_lines
    return read_csv


def read_csv(data: bytes) -> dict[str, Cells]:
    """Return the columns of a CSV file, as texts."""
    # ASCII that is written as UTF-16 is UTF-8 as well.
    head = data[:_HEAD]
    if b"\0" in head and not (any(head[::2]) and any(head[1::2])):
        raise DataError(_UTF_16)
    text = _decode(data)
    lines = io.StringIO(text, newline="")
    delimiter = _delimiter(lines.readline())
    lines.seek(0)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = next(rows)
        twice = next((name for name, n in Counter(names).items() if n > 1), None)
        if twice is not None:
            raise DataError(f"several columns are named {twice!r}; rename them.")
        if len(data) >= _LARGE:
            mark = len(data) - len(data.removeprefix(codecs.BOM_UTF8))
            start = mark + len(text[: lines.tell()].encode())
            texts = split(data, start, delimiter, len(names))
            if texts is not None:
                return dict(zip(names, texts, strict=True))
        columns: list[list[Cell]] = [[] for _ in names]
        # Most cells of a column are the same few texts, of which one copy is kept.
        known: dict[str, str] = {}
        for block in _blocks(rows, len(names)):
            for column, cells in zip(columns, zip(*block, strict=True), strict=True):
                column.extend(map(known.setdefault, cells, cells))
    except csv.Error as error:
        raise DataError(f"line {rows.line_num} is no CSV: {error}.") from None
    return dict(zip(names, columns, strict=True))


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte {error.start} is not UTF-8; convert the file, for instance with "
            "iconv -f latin1 -t utf-8."
        ) from None


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _blocks(rows: Any, width: int) -> Iterator[list[list[str]]]:
    """Yield some thousand rows at a time, without empty lines."""
    block: list[list[str]] = []
    for row in rows:
        if len(row) != width:
            if not row:
                continue
            raise DataError(
                f"line {rows.line_num} has {len(row)} cells, and the header names "
                f"{width} columns; give every row one cell per column."
            )
        block.append(row)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _read_json_lines(data: bytes) -> dict[str, Cells]:
    decoder = msgspec.json.Decoder(dict[str, Cell])
    columns: dict[str, list[Cell]] = {}
    n_rows = 0
    lines = data.removeprefix(codecs.BOM_UTF8).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise DataError(
                f"line {number} is no JSON object of texts and numbers ({error}); "
                "write one person per line."
            ) from None
        for name, cell in row.items():
            columns.setdefault(name, [None] * n_rows).append(cell)
        n_rows += 1
        if len(row) < len(columns):
            for cells in columns.values():
                cells.extend([None] * (n_rows - len(cells)))
    return dict(columns)


def _read_parquet(data: bytes) -> dict[str, Cells]:
    _require_pyarrow("Parquet")
    import pyarrow.parquet

    return _columns(lambda: pyarrow.parquet.read_table(io.BytesIO(data)), "Parquet")


def _read_arrow(data: bytes) -> dict[str, Cells]:
    _require_pyarrow("Arrow")
    from pyarrow import ipc

    is_file = data.startswith(b"ARROW1")
    open_ = ipc.open_file if is_file else ipc.open_stream
    return _columns(lambda: open_(data).read_all(), "Arrow")


def _require_pyarrow(kind: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            f"reading {kind} files needs pyarrow: pip install 'fatt[tables]'. CSV and "
            "JSON lines need nothing."
        ) from None


def _columns(read: Callable[[], Any], kind: str) -> dict[str, Cells]:
    import pyarrow

    try:
        table = read()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"this is no whole {kind} file ({error}).") from None
    names = table.column_names
    if len(set(names)) < len(names):
        raise DataError("several columns have the same name; rename them.")
    return {name: _cells(table.column(name)) for name in names}


def _cells(column: Any) -> Cells:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        if not column.null_count:
            return np.asarray(column.to_numpy())
        if pyarrow.types.is_floating(kind):
            return np.asarray(column.to_numpy(), dtype=np.float64)
    return list(column.to_pylist())
