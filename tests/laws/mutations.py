"""Ways to damage a model file, blindly or with an eye for its format."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from typing import Any

import numpy as np

from fatt.ensemble.file import MAGIC

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NUMBERS = [
    b"-1", b"0", b"1", b"2", b"7", b"-0.0", b"3.5", b"1e999", b"-1e999", b"1e39",
    b"nan", b"NaN", b"inf", b"Infinity", b"4294967296", b"2147483647", b"-2147483649",
    b"1e-45", b"99999999999999999999999", b"18446744073709551616", b"", b"abc", b"[]",
    b"null",
]  # fmt: skip
WORDS = [
    b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80", b"\x01\x00\x00\x00", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f",
    b"\x00\x00\x00\x00\x00\x00\xf8\x7f", b"\xff\xff\xff\xff\xff\xff\xff\x7f",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 1, 3, 10**9, 2**31, -(2**40), 2**64, 1.5, 1e300, "", "x", "nan",
    "-1", "1e9", "999999999999", [], {}, [1, 2, 3], ["a"], {"a": 1}, [[]],
]  # fmt: skip


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage a file in one to three places."""
    for _ in range(rng.integers(1, 4)):
        if data.startswith(MAGIC) and rng.random() < 0.9:
            data = _with_checksum(_blindly(data[len(MAGIC) + 32 :], rng))
        elif data.startswith(b"PK\x03\x04") and rng.random() < 0.9:
            data = _inside_zip(data, rng)
        elif data.startswith(b'{"') and rng.random() < 0.7:
            data = _inside_json(data, rng)
        else:
            data = _blindly(data, rng)
    return data


def _blindly(data: bytes, rng: np.random.Generator) -> bytes:
    ways = [_cut, _flip, _overwrite, _delete, _repeat, _renumber, _swap_lines]
    return ways[rng.integers(len(ways))](data, rng)


def _span(data: bytes, rng: np.random.Generator, longest: int) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, min(len(data), start + int(rng.integers(1, longest)))


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data) + 1)]


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.integers(1, 9)):
        if changed:
            changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    start, _ = _span(data, rng, 9)
    word = WORDS[rng.integers(len(WORDS))]
    return data[:start] + word + data[start + len(word) :]


def _delete(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng, 40)
    return data[:start] + data[stop:]


def _repeat(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng, 200)
    return data[:stop] + data[start:]


def _renumber(data: bytes, rng: np.random.Generator) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return _flip(data, rng)
    match = found[rng.integers(len(found))]
    return (
        data[: match.start()]
        + NUMBERS[rng.integers(len(NUMBERS))]
        + data[match.end() :]
    )


def _swap_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    first, second = rng.integers(len(lines), size=2)
    lines[first], lines[second] = lines[second], lines[first]
    if rng.random() < 0.5:
        del lines[first]
    return b"\n".join(lines)


def _with_checksum(payload: bytes) -> bytes:
    return MAGIC + hashlib.sha256(payload).digest() + payload


def _inside_zip(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage one member and pack again, so that the checksums of the archive hold."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return _blindly(data, rng)
    if not members:
        return _blindly(data, rng)
    name = list(members)[rng.integers(len(members))]
    if rng.random() < 0.5 and "schema.json" in members:
        name = "schema.json"
    damage = _inside_json if name.endswith(".json") else _blindly
    members[name] = damage(members[name], rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return packed.getvalue()


def _inside_json(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace, delete or nest a value somewhere in the tree of values."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return _blindly(data, rng)
    here, key = None, None
    value = tree
    while (
        isinstance(value, dict | list)
        and value
        and (here is None or rng.random() < 0.85)
    ):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        here, key = value, keys[rng.integers(len(keys))]
        value = here[key]
    if here is None:
        return _blindly(data, rng)
    choice = rng.random()
    if choice < 0.15:
        del here[key]
    elif choice < 0.25 and isinstance(here, list):
        here.append(value)
    elif choice < 0.3:
        for _ in range(2000):
            value = [value]
        here[key] = value
        return _dump_deep(tree)
    else:
        here[key] = VALUES[rng.integers(len(VALUES))]
    return json.dumps(tree).encode()


def _dump_deep(tree: Any) -> bytes:
    try:
        return json.dumps(tree).encode()
    except RecursionError:
        return b'{"learner":' + b"[" * 100_000
