"""FlatBuffers, as far as CatBoost's files need them: tables read with every check.

A table begins with the distance to its list of fields, which says where in the table
each field stands (0 if nowhere: then it has its default). Texts, lists and other tables
stand elsewhere, at a distance that the field holds.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError

#: Lists may overlap in a damaged file, so that a small one could fill the memory.
_SHARED = 4


def fail(reason: str) -> MalformedModelError:
    """Return the error for a damaged file."""
    return MalformedModelError(f"the CatBoost file is damaged: {reason}.")


class Buffer:
    """The bytes of one FlatBuffer.

    Parameters
    ----------
    data
        The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._left = _SHARED * len(data)

    def root(self, name: str, n_fields: int) -> Table:
        """Return the outermost table."""
        return Table(self, self.follow(0), name, n_fields)

    def unpack(self, form: str, at: int) -> Any:
        """Read one number."""
        if not 0 <= at <= len(self.data) - struct.calcsize(form):
            raise fail("a place lies beyond its end")
        return struct.unpack_from(form, self.data, at)[0]

    def follow(self, at: int) -> int:
        """Return the place to which the distance at another place leads."""
        return at + int(self.unpack("<I", at))

    def take(self, at: int, size: int) -> bytes:
        """Read some bytes."""
        self._left -= size
        if not 0 <= at <= len(self.data) - size or self._left < 0:
            raise fail("a list reaches beyond its end")
        return self.data[at : at + size]


class Table:
    """One table.

    Parameters
    ----------
    buffer
        The bytes around it.
    at
        Where it begins.
    name
        What it is called in messages.
    n_fields
        How many fields of such a table are known. A field beyond them is refused, since
        it may change the answer.
    """

    def __init__(self, buffer: Buffer, at: int, name: str, n_fields: int) -> None:
        self._buffer, self._at = buffer, at
        start = at - int(buffer.unpack("<i", at))
        size = int(buffer.unpack("<H", start))
        if size < 4 or size % 2:
            raise fail("a table has no list of fields")
        self._fields = [
            int(buffer.unpack("<H", start + place)) for place in range(4, size, 2)
        ]
        beyond = [place for place in self._fields[n_fields:] if place]
        if beyond:
            raise UnsupportedModelError(
                f"the CatBoost file has a field in its {name} that fatt does not know "
                f"(number {self._fields.index(beyond[0], n_fields)}), as a newer "
                "version may write. Save the model with a tested version of catboost."
            )

    def has(self, field: int) -> bool:
        """Tell whether a field is there."""
        return field < len(self._fields) and self._fields[field] != 0

    def number(self, field: int, form: str, default: Any) -> Any:
        """Read a number."""
        if not self.has(field):
            return default
        return self._buffer.unpack(f"<{form}", self._at + self._fields[field])

    def text(self, field: int) -> str:
        """Read a text; empty if there is none."""
        return self._text(self._place(field)) if self.has(field) else ""

    def texts(self, field: int) -> list[str]:
        """Read a list of texts."""
        return [self._text(place) for place in self._places(field)]

    def table(self, field: int, name: str, n_fields: int) -> Table:
        """Return a table within this one."""
        if not self.has(field):
            raise fail(f"its {name} is absent")
        return Table(self._buffer, self._place(field), name, n_fields)

    def tables(self, field: int, name: str, n_fields: int) -> list[Table]:
        """Return a list of tables."""
        return [
            Table(self._buffer, place, name, n_fields) for place in self._places(field)
        ]

    def array(self, field: int, dtype: DTypeLike) -> NDArray[Any]:
        """Read a list of numbers or records."""
        kind = np.dtype(dtype)
        if not self.has(field):
            return np.zeros(0, dtype=kind)
        at = self._place(field)
        count = int(self._buffer.unpack("<I", at))
        return np.frombuffer(self._buffer.take(at + 4, count * kind.itemsize), kind)

    def _place(self, field: int) -> int:
        return self._buffer.follow(self._at + self._fields[field])

    def _places(self, field: int) -> list[int]:
        if not self.has(field):
            return []
        at = self._place(field)
        count = int(self._buffer.unpack("<I", at))
        self._buffer.take(at + 4, 4 * count)
        return [self._buffer.follow(at + 4 + 4 * index) for index in range(count)]

    def _text(self, at: int) -> str:
        size = int(self._buffer.unpack("<I", at))
        try:
            return self._buffer.take(at + 4, size).decode()
        except UnicodeDecodeError:
            raise fail("a text is no Unicode") from None
