"""A strict reader of UBJSON, the binary JSON in which XGBoost saves its models.

Typed arrays, which hold nearly all of a model, stay the bytes that they are; whoever
needs one makes an array of it with `numpy.frombuffer`. Nothing is allocated that the
file does not pay for with its own bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fatt.errors import MalformedModelError

#: XGBoost nests seven deep.
_DEPTH_LIMIT = 64

_MARKERS = {
    b"i": "b",
    b"U": "B",
    b"I": ">h",
    b"l": ">i",
    b"L": ">q",
    b"d": ">f",
    b"D": ">d",
}
_NUMBERS = {marker: struct.Struct(form) for marker, form in _MARKERS.items()}
_INTEGERS = {marker: _NUMBERS[marker] for marker in (b"i", b"U", b"I", b"l", b"L")}
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


def decode(data: bytes) -> Any:
    """Read a UBJSON document.

    Returns
    -------
    object
        Dictionaries (or `Shaped` objects in their place), lists, strings, numbers and
        `Packed` arrays.

    Raises
    ------
    MalformedModelError
        If the bytes are not exactly one document.
    """
    reader = _Reader(data)
    document = reader.value(0)
    if reader.at != len(data):
        raise MalformedModelError(
            f"the UBJSON document ends at byte {reader.at}, and the file has "
            f"{len(data)}; it is damaged, save the model again."
        )
    return document


class _Reader:
    """A place in the bytes, and the shapes of the objects passed so far.

    The trees of a model are a thousand objects with the same keys. Those with as many
    nodes also have the same bytes between their values, so that one comparison checks
    what would otherwise take fifteen keys, markers and lengths.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        # Where the values of the object being read stand; None outside of such objects.
        self.spans: list[tuple[int, int]] | None = None
        # Shapes by their bytes up to the first value; the last shape had so many.
        self.shapes: dict[bytes, _Shape] = {}
        self.head = 0

    def value(self, depth: int) -> Any:
        """Read the value that starts here."""
        marker = self.data[self.at : self.at + 1]
        self.at += 1
        if marker == b"[":
            return self._array(depth + 1)
        if marker == b"{":
            return self._object(depth + 1)
        if marker == b"S":
            length = self._count()
            return as_text(self._payload(length))
        if marker in _NUMBERS:
            form = _NUMBERS[marker]
            return form.unpack(self._payload(form.size))[0]
        if marker in _CONSTANTS:
            # No value to set apart, so the object's shape cannot be used again.
            self.spans = None
            return _CONSTANTS[marker]
        raise self._broken(f"no value starts with {marker!r}")

    def _object(self, depth: int) -> dict[str, Any]:
        self._check_depth(depth)
        members: dict[str, Any] = {}
        while self.data[self.at : self.at + 1] != b"}":
            key = as_text(self._take(self._count()))
            if key in members:
                raise self._broken(f"the key {key!r} stands twice in one object")
            members[key] = self.value(depth)
        self.at += 1
        return members

    def _array(self, depth: int) -> list[Any] | Packed:
        opening = self.data[self.at : self.at + 3]
        if opening[:1] == b"$":
            kind = opening[1:2]
            if kind not in _NUMBERS or opening[2:] != b"#":
                raise self._broken(f"a typed array starts with {opening!r}")
            self.at += 3
            count = self._count()
            return Packed(_DTYPES[kind], self._payload(count * _NUMBERS[kind].size))
        self._check_depth(depth)
        # The elements may be shaped alike, and then the array itself is not.
        self.spans = None
        if opening[:1] == b"#":
            self.at += 1
            count = self._count()
            if count > len(self.data) - self.at:
                raise self._broken(f"an array claims {count} elements")
            return [self._element(depth) for _ in range(count)]
        elements = []
        while self.data[self.at : self.at + 1] != b"]":
            elements.append(self._element(depth))
        self.at += 1
        return elements

    def _element(self, depth: int) -> Any:
        """Read an element of an array, faster if it is shaped like one before."""
        start = self.at
        marker = self.data[start : start + 1]
        if marker != b"{":
            form = _INTEGERS.get(marker)
            if form is None or len(self.data) - start <= form.size:
                return self.value(depth)
            self.at = start + 1 + form.size
            return form.unpack_from(self.data, start + 1)[0]
        shape = self.shapes.get(self.data[start : start + self.head])
        found = shape.read(self.data, start) if shape else None
        if shape and found is not None:
            self.at += shape.size
            return found
        spans: list[tuple[int, int]] = []
        self.spans = spans
        element = self.value(depth)
        if self.spans is spans and spans:
            self.head = spans[0][0] - start
            shape = _Shape(
                self.data[start : self.at],
                [(first - start, last - start) for first, last in spans],
                element,
            )
            self.shapes[self.data[start : start + self.head]] = shape
            element = shape.read(self.data, start)
        self.spans = None
        return element

    def _count(self) -> int:
        start = self.at + 1
        form = _INTEGERS.get(self.data[self.at : start])
        if form is None or len(self.data) - start < form.size:
            raise self._broken("a length is wanted")
        count: int = form.unpack_from(self.data, start)[0]
        if count < 0:
            raise self._broken(f"a length is {count}")
        self.at = start + form.size
        return count

    def _payload(self, size: int) -> bytes:
        if self.spans is not None:
            self.spans.append((self.at, self.at + size))
        return self._take(size)

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


class _Shape:
    """The bytes of an object without its values, and where its members stand."""

    def __init__(
        self, sample: bytes, spans: list[tuple[int, int]], element: dict[str, Any]
    ) -> None:
        self.size = len(sample)
        lengths, end = [], 0
        for first, last in spans:
            lengths += [first - end, last - first]
            end = last
        lengths.append(self.size - end)
        self.layout = struct.Struct("".join([f"{length}s" for length in lengths]))
        self.frame = self.layout.unpack(sample)[::2]
        markers = [sample[first - 1 : first] for first, _ in spans]
        self.places = _places(element, iter(enumerate(markers)))

    def read(self, data: bytes, start: int) -> Shaped | None:
        """Return the object at `start`, or None if it has another shape."""
        if len(data) - start < self.size:
            return None
        parts = self.layout.unpack_from(data, start)
        return Shaped(self.places, parts) if parts[::2] == self.frame else None


class _Place(NamedTuple):
    """Which part of an object holds a value, and what the value is made of.

    `kind` is a numpy type for a packed array, a `struct` for a number, ``str``, or the
    places of the members of an object.
    """

    part: int
    kind: Any


class Shaped(Mapping[str, Any]):
    """An object whose values are made of their bytes when somebody asks for them."""

    __slots__ = ("parts", "places")

    def __init__(self, places: dict[str, _Place], parts: tuple[bytes, ...]) -> None:
        self.places = places
        self.parts = parts

    def __getitem__(self, key: str) -> Any:
        part, kind = self.places[key]
        if isinstance(kind, dict):
            return Shaped(kind, self.parts)
        payload = self.parts[part]
        if kind is str:
            return as_text(payload)
        if isinstance(kind, struct.Struct):
            return kind.unpack(payload)[0]
        return Packed(kind, payload)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def _places(
    element: dict[str, Any], markers: Iterator[tuple[int, bytes]]
) -> dict[str, _Place]:
    places = {}
    for key, value in element.items():
        if isinstance(value, dict):
            places[key] = _Place(0, _places(value, markers))
            continue
        index, marker = next(markers)
        kind: Any = _NUMBERS.get(marker)
        if isinstance(value, Packed):
            kind = value.dtype
        elif isinstance(value, str):
            kind = str
        places[key] = _Place(2 * index + 1, kind)
    return places


def payloads(objects: Sequence[Any], *path: str) -> tuple[Any, list[bytes]] | None:
    """Return the bytes of a value that all of several objects hold, without making it.

    Parameters
    ----------
    objects
        What was read.
    path
        The key of the value, behind those of the objects around it.

    Returns
    -------
    tuple and list of bytes, or None
        The one numpy type of packed arrays, or ``str``; and the bytes of each. None if
        the objects do not all hold such a value, in the same place.
    """
    if {type(item) for item in objects} != {Shaped}:
        return None
    places = set()
    for shape in {id(item.places): item.places for item in objects}.values():
        found: Any = shape
        for key in path:
            place = found.get(key, _ABSENT) if isinstance(found, dict) else _ABSENT
            found = place.kind
        places.add((place.part, str(found), found is str))
    if len(places) != 1 or not (found is str or isinstance(found, str)):
        return None
    return found, [item.parts[place.part] for item in objects]


_ABSENT = _Place(0, None)


def as_text(raw: bytes) -> str:
    """Decode a text, or refuse the file."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise MalformedModelError(
            f"a text of the UBJSON document is not UTF-8: {raw[:40]!r}. The file is "
            "damaged; save the model again."
        ) from None
