"""A strict reader of UBJSON, the binary JSON in which XGBoost saves its models.

Typed arrays, which hold nearly all of a model, stay the bytes that they are; whoever
needs one makes an array of it with `numpy.frombuffer`. The trees are a thousand objects
with the same members, and are read as one `Table`. Nothing is allocated that the file
does not pay for with its own bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from fatt.errors import MalformedModelError
from fatt.importers.xgboost.members import refuse_mixture

#: XGBoost nests seven deep.
_DEPTH_LIMIT = 64

_NUMBERS = {
    marker: struct.Struct(form)
    for marker, form in {
        b"i": "b",
        b"U": "B",
        b"I": ">h",
        b"l": ">i",
        b"L": ">q",
        b"d": ">f",
        b"D": ">d",
    }.items()
}
_LONG = _NUMBERS[b"L"]
_DTYPES = {
    b"i": "i1",
    b"U": "u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
_CONSTANTS = {b"T": True, b"F": False, b"Z": None}


class Packed(NamedTuple):
    """A typed array: the numpy name of its type, and its bytes."""

    dtype: str
    payload: bytes


class Column(NamedTuple):
    """One member of all objects of a table: its kind, and the bytes of each value.

    `kind` is the numpy name of the type of packed arrays, ``"text"`` or ``"number"``.
    """

    kind: str
    payloads: tuple[bytes, ...]


class Table(dict[str, Column]):
    """Objects with the same members; a member of a member is ``outer.inner``."""


def decode(data: bytes, *, table: str) -> Any:
    """Read a UBJSON document.

    Parameters
    ----------
    data
        The bytes.
    table
        The key of arrays whose elements are objects with the same members.

    Returns
    -------
    object
        Dictionaries, lists, strings, numbers and `Packed` arrays; a `Table` for an
        array named `table`, without columns if the array is empty.

    Raises
    ------
    MalformedModelError
        If the bytes are not exactly one document.
    """
    reader = _Reader(data, table)
    document = reader.value(0)
    if reader.at != len(data):
        raise MalformedModelError(
            f"the UBJSON document ends at byte {reader.at}, and the file has "
            f"{len(data)}; it is damaged, save the model again."
        )
    return document


class _Field(NamedTuple):
    """A member of an object in a table: what it is, and where its bytes stand."""

    name: str
    kind: str
    unit: int
    start: int
    size: int


class _Seam(NamedTuple):
    """The bytes between two payloads, and how long the payload behind them is.

    A unit of 0 says that the payload has `size` bytes. Otherwise its length stands
    between seam and payload, in units of so many bytes.
    """

    between: bytes
    unit: int
    size: int


class _Reader:
    """A place in the bytes."""

    def __init__(self, data: bytes, table: str) -> None:
        self.data = data
        self.table = table
        self.at = 0

    def value(self, depth: int) -> Any:
        """Read the value that starts here."""
        marker = self._take(1)
        if marker == b"[":
            return self._array(depth + 1)
        if marker == b"{":
            return self._object(depth + 1)
        if marker == b"S":
            return as_text(self._take(self._count()))
        if marker in _NUMBERS:
            number = _NUMBERS[marker]
            return number.unpack(self._take(number.size))[0]
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        raise self._broken(f"no value starts with {marker!r}")

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key in self._keys(depth):
            is_table = key == self.table and self._next(2) == b"[#"
            members[key] = self._table(depth) if is_table else self.value(depth)
        return members

    def _keys(self, depth: int) -> Iterator[str]:
        """Read the keys of an object; the caller reads the value behind each."""
        self._check_depth(depth)
        keys: set[str] = set()
        while self._next(1) != b"}":
            key = as_text(self._take(self._count()))
            if key in keys:
                raise self._broken(f"the key {key!r} stands twice in one object")
            keys.add(key)
            yield key
        self.at += 1

    def _array(self, depth: int) -> list[Any] | Packed:
        if self._next(1) == b"$":
            dtype, unit = self._element_type()
            return Packed(dtype, self._take(self._count() * unit))
        self._check_depth(depth)
        return [self.value(depth) for _ in range(self._length())]

    def _length(self) -> int:
        """Read the number of elements of an array, each of which takes some byte."""
        if self._take(1) != b"#":
            raise self._broken("an array does not begin with its length")
        count = self._count()
        if count > len(self.data) - self.at:
            raise self._broken(f"an array claims {count} elements")
        return count

    def _element_type(self) -> tuple[str, int]:
        """Read the type of a typed array's elements; return also their size."""
        opening = self._take(3)
        kind = opening[1:2]
        if kind not in _NUMBERS or opening[2:] != b"#":
            raise self._broken(f"a typed array starts with {opening!r}")
        return _DTYPES[kind], _NUMBERS[kind].size

    def _table(self, depth: int) -> Table:
        """Read an array of objects with the same members.

        The bytes between the payloads of an object mostly stand in the next one again,
        so that one comparison does for a key, a type and a marker.
        """
        self.at += 1
        count = self._length()
        rows: list[list[bytes]] = []
        fields: list[_Field] = []
        while len(rows) < count:
            start = self.at
            found = list(self._fields(depth + 1))
            names = {field.name for field in found}
            if not names or len(names) < len(found):
                raise self._broken("a tree has no members, or one of them twice")
            if fields and [f[:2] for f in found] != [f[:2] for f in fields]:
                refuse_mixture(names, [field.name for field in fields])
                raise self._broken("a tree has other members than the one before")
            fields = found
            seams, tail = self._seams(start, fields)
            self.at = start
            while len(rows) < count and (row := self._row(seams, tail)):
                rows.append(row)
        columns = zip(*rows, strict=True)
        return Table(
            (field.name, Column(field.kind, payloads))
            for field, payloads in zip(fields, columns, strict=True)
        )

    def _fields(self, depth: int, prefix: str = "") -> Iterator[_Field]:
        """Pass over the object that starts here, and tell what it holds."""
        if self._take(1) != b"{":
            raise self._broken("a tree is no object")
        for key in self._keys(depth):
            name = prefix + key
            if self._next(2) == b"{}":
                raise self._broken(f"{name!r} is empty")
            if self._next(1) == b"{":
                yield from self._fields(depth + 1, f"{name}.")
                continue
            marker = self._take(1)
            if marker in _NUMBERS:
                kind, unit, size = "number", 0, _NUMBERS[marker].size
            elif marker == b"S" or (marker == b"[" and self._next(1) == b"$"):
                kind, unit = ("text", 1) if marker == b"S" else self._element_type()
                size = self._count() * unit
            else:
                raise self._broken(f"{name!r} is no text, number or typed array")
            yield _Field(name, kind, unit, self.at, size)
            self._take(size)

    def _seams(self, start: int, fields: list[_Field]) -> tuple[list[_Seam], bytes]:
        """Return the bytes before each payload, and those behind the last one."""
        seams = []
        for field in fields:
            end = field.start - (_LONG.size if field.unit else 0)
            seams.append(_Seam(self.data[start:end], field.unit, field.size))
            start = field.start + field.size
        return seams, self.data[start : self.at]

    def _row(self, seams: list[_Seam], tail: bytes) -> list[bytes] | None:
        """Pass over the object that starts here, and return its payloads.

        Does nothing if the object has other seams, or is cut short.
        """
        data, at, row = self.data, self.at, []
        for between, unit, fixed in seams:
            if not data.startswith(between, at):
                return None
            at += len(between)
            size = fixed
            if unit:
                if len(data) - at < _LONG.size:
                    return None
                size = unit * _LONG.unpack_from(data, at)[0]
                at += _LONG.size
            payload = data[at : at + size]
            if size < 0 or len(payload) < size:
                return None
            row.append(payload)
            at += size
        if not data.startswith(tail, at):
            return None
        self.at = at + len(tail)
        return row

    def _next(self, size: int) -> bytes:
        return self.data[self.at : self.at + size]

    def _count(self) -> int:
        """Read a length, which XGBoost writes and reads with this one marker only."""
        if self._take(1) != b"L":
            raise self._broken("a length is wanted")
        count: int = _LONG.unpack(self._take(_LONG.size))[0]
        if count < 0:
            raise self._broken(f"a length is {count}")
        return count

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise self._broken(f"{size} bytes are wanted and {len(taken)} are left")
        self.at += size
        return taken

    def _check_depth(self, depth: int) -> None:
        if depth > _DEPTH_LIMIT:
            raise self._broken(f"values are nested more than {_DEPTH_LIMIT} deep")

    def _broken(self, what: str) -> MalformedModelError:
        return MalformedModelError(
            f"byte {self.at} of the UBJSON document: {what}. The file is damaged or "
            "cut short; save the model again."
        )


def as_text(raw: bytes) -> str:
    """Decode a text, or refuse the file."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise MalformedModelError(
            f"a text of the UBJSON document is not UTF-8: {raw[:40]!r}. The file is "
            "damaged; save the model again."
        ) from None
