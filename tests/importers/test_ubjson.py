"""The UBJSON reader: what it reads, and that it refuses the rest."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.errors import MalformedModelError
from fatt.importers.xgboost.ubjson import Packed, Shaped, decode, payloads


def count(number: int) -> bytes:
    return b"L" + struct.pack(">q", number)


def text(string: str) -> bytes:
    return count(len(string.encode())) + string.encode()


def encode(value: Any) -> bytes:  # noqa: PLR0911
    if isinstance(value, dict):
        inside = b"".join(text(key) + encode(item) for key, item in value.items())
        return b"{" + inside + b"}"
    if isinstance(value, list):
        return b"[#" + count(len(value)) + b"".join(map(encode, value))
    if isinstance(value, str):
        return b"S" + text(value)
    if isinstance(value, np.ndarray):
        marker = {"f4": b"d", "f8": b"D", "i4": b"l", "i8": b"L", "u1": b"U"}
        letter = marker[value.dtype.str[1:]]
        data = value.astype(value.dtype.newbyteorder(">")).tobytes()
        return b"[$" + letter + b"#" + count(len(value)) + data
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    return b"L" + struct.pack(">q", value)


def plain(value: Any) -> Any:
    """Turn what the reader gives back into plain values."""
    if isinstance(value, Packed):
        return np.frombuffer(value.payload, value.dtype).tolist()
    if isinstance(value, dict | Shaped):
        return {key: plain(value[key]) for key in value}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.none(),
    st.booleans(),
    st.lists(st.integers(0, 255), max_size=4).map(lambda n: np.array(n, dtype="u1")),
    st.lists(st.floats(width=32, allow_nan=False), max_size=4).map(
        lambda n: np.array(n, dtype="f4")
    ),
)
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=3), inner, max_size=4),
        # Objects shaped alike, which take the fast way.
        st.tuples(inner, st.lists(st.integers(0, 99), max_size=6)).map(
            lambda drawn: [{"id": n, "sub": {"v": drawn[0]}} for n in drawn[1]]
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(documents)
def test_reads_what_was_written(document: Any) -> None:
    assert plain(decode(encode(document))) == plain(document)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(documents, st.data())
def test_damaged_bytes_are_read_or_refused(document: Any, data: st.DataObject) -> None:
    raw = bytearray(encode(document))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedModelError):
        plain(decode(bytes(raw)))
    with pytest.raises(MalformedModelError):
        decode(encode(document)[:place])


def test_objects_of_one_shape_are_read_by_it() -> None:
    sizes = [3, 3, 5, 3, 5]
    trees = [
        {"w": np.arange(size, dtype="f4") + index, "id": index, "p": {"n": str(size)}}
        for index, size in enumerate(sizes)
    ]
    found = decode(encode({"trees": trees}))["trees"]
    assert [type(tree) for tree in found] == [Shaped] * 5
    assert plain(found) == plain(trees)
    packed = payloads(found, "w")
    assert packed is not None
    assert packed[0] == ">f4"
    assert [len(payload) // 4 for payload in packed[1]] == sizes
    assert payloads(found, "id") is None
    assert payloads(found, "absent") is None


def test_a_shape_does_not_hide_another_type_behind_the_same_head() -> None:
    trees = [{"a": 1, "b": np.zeros(2, "f4")}, {"a": 1, "b": np.zeros(1, "i8")}]
    found = decode(encode(trees))
    assert plain(found) == plain(trees)
    assert payloads(found, "b") is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "no value starts"),
        (b"{", "a length is wanted"),
        (b"?", "no value starts"),
        (b"[$d#" + count(2**62), "bytes are wanted"),
        (b"[$Z#" + count(2**40), "a typed array starts"),
        (b"[$d" + count(1), "a typed array starts"),
        (b"[#" + count(2**40), "claims"),
        (b"[#" + count(-1), "a length is -1"),
        (b"[" * 100_000, "nested"),
        ((b"{" + text("a")) * 1000, "nested"),
        (b"S" + count(2) + b"\xff\xff", "UTF-8"),
        (b"{" + (text("a") + b"Z") * 2 + b"}", "twice"),
        (b"ZZ", "ends at byte 1"),
        (b"l\x00\x00", "bytes are wanted"),
    ],
)
def test_refusals(raw: bytes, reason: str) -> None:
    with pytest.raises(MalformedModelError, match=reason):
        decode(raw)


def test_a_text_that_is_no_utf8_is_refused_also_in_a_known_shape() -> None:
    raw = encode([{"name": "ab"}, {"name": "cd"}]).replace(b"cd", b"\xff\xff")
    with pytest.raises(MalformedModelError, match="UTF-8"):
        plain(decode(raw))
