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
from fatt.importers.xgboost.ubjson import Column, Packed, Table, decode

MARKERS = {
    "i1": b"i",
    "u1": b"U",
    "i2": b"I",
    "i4": b"l",
    "i8": b"L",
    "f4": b"d",
    "f8": b"D",
}


def count(number: int) -> bytes:
    return b"L" + struct.pack(">q", number)


def text(string: str) -> bytes:
    return count(len(string.encode())) + string.encode()


def payload(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return np.asarray(value).astype(value.dtype.newbyteorder(">")).tobytes()


def encode(value: Any) -> bytes:
    if isinstance(value, dict):
        inside = b"".join(text(key) + encode(item) for key, item in value.items())
        return b"{" + inside + b"}"
    if isinstance(value, list):
        return b"[#" + count(len(value)) + b"".join(map(encode, value))
    if isinstance(value, str):
        return b"S" + text(value)
    if isinstance(value, np.generic | np.ndarray):
        marker = MARKERS[value.dtype.str[1:]]
        if isinstance(value, np.generic):
            return marker + payload(value)
        return b"[$" + marker + b"#" + count(len(value)) + payload(value)
    return {None: b"Z", True: b"T", False: b"F"}[value]


def plain(value: Any) -> Any:
    """Turn what is written, and what is read, into plain values."""
    if isinstance(value, Packed):
        return np.frombuffer(value.payload, value.dtype).tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def read_table(trees: list[Any]) -> Table:
    table = decode(encode({"trees": trees}), table="trees")["trees"]
    assert isinstance(table, Table)
    return table


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            members |= flat(value, f"{prefix}{key}.")
        else:
            members[prefix + key] = value
    return members


def typed(dtype: str) -> st.SearchStrategy[Any]:
    raw = st.binary(max_size=32).map(lambda b: b[: len(b) // 8 * 8])
    return raw.map(lambda b: np.nan_to_num(np.frombuffer(b, dtype)))


arrays = st.sampled_from(sorted(MARKERS)).flatmap(typed)
numbers = st.integers(-(2**31), 2**31 - 1).map(np.int32) | st.integers(-99, 99).map(
    np.int8
)
scalars = st.one_of(numbers, st.text(max_size=5), st.none(), st.booleans(), arrays)
documents = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=3), inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(documents)
def test_reads_what_was_written(document: Any) -> None:
    assert plain(decode(encode(document), table="trees")) == plain(document)


@pytest.mark.parametrize("dtype", MARKERS)
def test_typed_arrays_stay_bytes(dtype: str) -> None:
    array = np.array([0, 1, 100], dtype=dtype)
    found = decode(encode(array), table="trees")
    assert isinstance(found, Packed)
    assert np.dtype(found.dtype) == array.dtype.newbyteorder(">")
    assert plain(found) == array.tolist()
    assert decode(encode(array[2]), table="trees") == 100


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Trees with the same members, whose sizes and kinds of numbers vary."""
    dtypes = draw(st.lists(st.sampled_from(sorted(MARKERS)), min_size=1, max_size=4))
    trees = []
    for _ in range(draw(st.integers(1, 6))):
        tree: dict[str, Any] = {"id": draw(numbers)}
        for index, dtype in enumerate(dtypes):
            tree[f"a{index}"] = draw(typed(dtype))
        tree["param"] = {"n": draw(st.text(max_size=3)), "deep": {"k": draw(numbers)}}
        trees.append(tree)
    return trees


@settings(max_examples=200, deadline=None, derandomize=True)
@given(tables())
def test_trees_become_columns(trees: list[dict[str, Any]]) -> None:
    table = read_table(trees)
    rows = [flat(tree) for tree in trees]
    assert list(table) == list(rows[0])
    for key, column in table.items():
        assert column.payloads == tuple(payload(row[key]) for row in rows)
        sample = rows[0][key]
        if isinstance(sample, np.ndarray):
            assert np.dtype(column.kind) == sample.dtype.newbyteorder(">")
        else:
            assert column.kind == ("text" if isinstance(sample, str) else "number")


def test_seams_may_change_between_trees() -> None:
    # XGBoost writes the number of a tree as short as it can.
    ids = [np.int8(126), np.int16(127), np.int8(1), np.int32(2**20), np.int32(2**21)]
    trees = [{"id": i, "w": np.arange(k, dtype="f4")} for k, i in enumerate(ids)]
    table = read_table(trees)
    assert table["id"] == Column("number", tuple(payload(i) for i in ids))
    assert [len(raw) // 4 for raw in table["w"].payloads] == [0, 1, 2, 3, 4]


def test_no_trees_make_an_empty_table() -> None:
    assert read_table([]) == {}


TREE = {"w": np.zeros(2, "f4"), "p": {"n": "1"}}
OTHER_TREES = {
    "type": [TREE, TREE | {"w": np.zeros(2, "i4")}],
    "number for array": [TREE, TREE | {"w": np.float32(0)}],
    "more": [TREE, TREE | {"v": np.zeros(2, "f4")}],
    "fewer": [TREE, {"w": TREE["w"]}],
    "order": [TREE, dict(reversed(TREE.items()))],
    "inner key": [TREE, TREE | {"p": {"m": "1"}}],
    "not nested": [TREE, {"w": TREE["w"], "p": "1"}],
    "list": [TREE, TREE | {"w": [np.float32(0)]}],
    "constant": [TREE, TREE | {"w": None}],
    "no object": [TREE, "1"],
    "not even one": [np.int8(1)],
    "empty": [{}],
    "all empty": [{}, {}],
    "dotted": [TREE | {"p.n": "2"}],
}


@pytest.mark.parametrize("case", OTHER_TREES)
def test_trees_with_other_members_are_refused(case: str) -> None:
    with pytest.raises(MalformedModelError, match=r"tree|no text, number"):
        read_table(OTHER_TREES[case])


def test_only_the_named_array_is_a_table() -> None:
    found = decode(encode({"a": [{"w": "1"}], "trees": {"w": "1"}}), table="trees")
    assert found == {"a": [{"w": "1"}], "trees": {"w": "1"}}
    assert type(found["trees"]) is dict


def sample() -> bytes:
    ids = [np.int8(0), np.int8(1), np.int16(2)]
    trees = [TREE | {"id": i, "left": np.arange(k)} for k, i in enumerate(ids)]
    document = {"model": {"trees": trees, "info": [np.int8(1)], "none": None}, "v": "é"}
    return encode(document)


def test_truncation_at_every_byte_is_refused() -> None:
    raw = sample()
    decode(raw, table="trees")
    for end in range(len(raw)):
        with pytest.raises(MalformedModelError):
            decode(raw[:end], table="trees")


def test_any_wrong_byte_is_read_or_refused() -> None:
    raw = sample()
    refused = 0
    for place in range(len(raw)):
        for byte in b"\x00\x01\x7f\x80\xff[{]}$#LlSidZ":
            changed = raw[:place] + bytes([byte]) + raw[place + 1 :]
            with contextlib.suppress(MalformedModelError):
                decode(changed, table="trees")
                continue
            refused += 1
    assert refused > len(raw)


def in_trees(raw: bytes) -> bytes:
    """Put bytes behind a good tree."""
    head = encode({"trees": [TREE]})[:-1]
    return head.replace(b"[#" + count(1), b"[#" + count(2)) + raw + b"}"


def with_array(raw: bytes) -> bytes:
    return in_trees(b"{" + text("w") + raw)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "1 bytes are wanted"),
        (b"{", "1 bytes are wanted"),
        (b"?", "no value starts"),
        (b"N", "no value starts"),
        (b"[$d#" + count(2**62), "bytes are wanted"),
        (b"[$d#" + count(-1), "a length is -1"),
        (b"[$Z#" + count(2**40), "a typed array starts"),
        (b"[$d" + count(1), "a typed array starts"),
        (b"[#" + count(2**40), "claims"),
        (b"[#" + count(-1), "a length is -1"),
        # XGBoost writes neither of these.
        (b"[ZZ]", "begin with its length"),
        (b"[#i\x01Z", "a length is wanted"),
        (b"Si\x01a", "a length is wanted"),
        (b"{i\x01aZ}", "a length is wanted"),
        (b"[#" + count(1) + b"[#" + count(1), "claims"),
        ((b"[#" + count(1)) * 1000, "nested"),
        ((b"{" + text("a")) * 1000, "nested"),
        (b"{" + text("trees") + b"[#" + count(1) + (b"{" + text("a")) * 99, "nested"),
        (b"S" + count(2) + b"\xff\xff", "UTF-8"),
        (b"{" + count(1) + b"\xff" + b"Z}", "UTF-8"),
        (b"{" + (text("a") + b"Z") * 2 + b"}", "twice"),
        (b"ZZ", "ends at byte 1"),
        (b"l\x00\x00", "bytes are wanted"),
        (in_trees(b"Z"), "a tree is no object"),
        (in_trees(b"{" + (text("w") + b"S" + text("")) * 2), "twice"),
        (with_array(b"[$d#" + count(-1)), "a length is -1"),
        (with_array(b"[$d#" + count(2**62)), "bytes are wanted"),
        (with_array(b"[$d#L\x00"), "bytes are wanted"),
        (with_array(b"[$Z#" + count(2)), "a typed array starts"),
        (with_array(b"Si\x01a"), "a length is wanted"),
        (b"{" + text("trees") + b"[#" + count(2**40), "claims"),
        (b"{" + text("trees") + b"[#" + count(-5), "a length is -5"),
        (encode({"trees": [TREE]}) + b"}", "the file has"),
    ],
)
def test_refusals(raw: bytes, reason: str) -> None:
    with pytest.raises(MalformedModelError, match=reason):
        decode(raw, table="trees")
