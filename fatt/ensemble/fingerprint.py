"""Fingerprints of texts: all that a CatBoost model stores of its categories.

A fingerprint is the low half of CityHash64, of version 1.0, over the text in UTF-8. So
a model tells texts apart without knowing them, and what a category is called must be
found out elsewhere: in the table, in the JSON form that was saved with one, or by
guessing. Where all that fails, `stand_in` makes up a text with the same fingerprint,
which the model cannot tell from the true one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_MASK = 2**64 - 1
_K0, _K1 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273
_K2, _K3 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
#: Multiplies in the last step of the hash; odd, so that there is an inverse.
_MUL = 0x9DDFEA08EB382D69
_INVERSE = pow(_MUL, -1, 2**64)
_SHIFT = 47

#: Whole numbers up to here are tried as the texts behind fingerprints.
_GUESSES = 1000


def fingerprint(text: str) -> int:
    """Return the fingerprint of a text, from 0 to 2**32 - 1.

    Parameters
    ----------
    text
        Any text that has a form in UTF-8.

    Examples
    --------
    >>> fingerprint("M")
    1134866413
    """
    return _city_hash(text.encode()) & 0xFFFFFFFF


@functools.lru_cache(maxsize=256)
def codes_by_fingerprint(categories: tuple[str, ...]) -> dict[int, int]:
    """Return the place of each category by its fingerprint."""
    return {fingerprint(text): code for code, text in enumerate(categories)}


def texts_behind(prints: Iterable[int], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return a text for each fingerprint.

    Parameters
    ----------
    prints
        The fingerprints.
    known
        Texts that may be behind them.

    Returns
    -------
    tuple of str
        A known text, else a whole number, else a `stand_in`.
    """
    wanted = list(prints)
    missing = set(wanted)
    found: dict[int, str] = {}
    for candidates in (known, map(str, range(_GUESSES))):
        if missing:
            for text in candidates:
                found.setdefault(fingerprint(text), text)
            missing.difference_update(found)
    return tuple(found[one] if one in found else stand_in(one) for one in wanted)


def stand_in(print_: int) -> str:
    """Make up a text with a given fingerprint.

    The hash of sixteen bytes mixes their halves in steps that can all be undone. So
    the second half is chosen, the free bits of the hash are counted through, and the
    first half is computed, until all of its bytes are plain letters or signs.
    """
    last = int.from_bytes(_ENDING, "little")
    mixed = np.uint64(_rotate(last + 16, 16))
    for start in range(0, 2**32, _BLOCK):
        free = np.arange(start, start + _BLOCK, dtype=np.uint64) << np.uint64(32)
        target = (free | np.uint64(print_)) ^ np.uint64(last)
        first = _undo(_undo(target * np.uint64(_INVERSE)) ^ mixed) ^ mixed
        letters = first.astype("<u8").view(np.uint8).reshape(-1, 8)
        plain = np.flatnonzero(_IS_PLAIN[letters].all(axis=1))
        if len(plain):
            return bytes([*letters[plain[0]].tolist(), *_ENDING]).decode()
    raise AssertionError("some of so many texts are plain")


_ENDING = b"-unnamed"
_BLOCK = 2**13
_IS_PLAIN = np.array(
    [33 <= sign < 127 and chr(sign) not in "\"'\\,;#<>&" for sign in range(256)]
)


def _undo(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Undo one step of the mixing: a shift that is its own inverse, and a product."""
    shifted: NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(_SHIFT))
    return shifted * np.uint64(_INVERSE)


# CityHash64, version 1.0. Lengths up to 16, 32 and 64 bytes have ways of their own.


def _city_hash(data: bytes) -> int:
    size = len(data)
    if size <= 16:
        return _up_to_16(data, size)
    if size <= 32:
        a, b = _word(data, 0) * _K1 & _MASK, _word(data, 8)
        c, d = _word(data, size - 8) * _K2 & _MASK, _word(data, size - 16) * _K0
        return _mix(
            _rotate(a - b, 43) + _rotate(c, 30) + d & _MASK,
            a + _rotate(b ^ _K3, 20) - c + size & _MASK,
        )
    if size <= 64:
        return _up_to_64(data, size)
    return _beyond_64(data, size)


def _up_to_16(data: bytes, size: int) -> int:
    if size > 8:
        first, last = _word(data, 0), _word(data, size - 8)
        return _mix(first, _rotate(last + size, size)) ^ last
    if size >= 4:
        start, end = _word(data, 0, 4), _word(data, size - 4, 4)
        return _mix(size + (start << 3), end)
    if size > 0:
        low = data[0] + (data[size >> 1] << 8)
        high = size + (data[-1] << 2)
        return _fold((low * _K2 ^ high * _K3) & _MASK) * _K2 & _MASK
    return _K2


def _up_to_64(data: bytes, size: int) -> int:
    a = _word(data, 0) + (size + _word(data, size - 16)) * _K0
    front = _quarter(a, _word(data, 24), _word(data, 8), _word(data, 16))
    back = _quarter(
        _word(data, 16) + _word(data, size - 32),
        _word(data, size - 8),
        _word(data, size - 24),
        _word(data, size - 16),
    )
    both = (front[0] + back[1]) * _K2 + (back[0] + front[1]) * _K0
    return _fold(_fold(both & _MASK) * _K0 + front[1] & _MASK) * _K2 & _MASK


def _quarter(a: int, z: int, second: int, third: int) -> tuple[int, int]:
    b, c = _rotate(a + z, 52), _rotate(a, 37)
    a += second
    c += _rotate(a, 7)
    a += third
    return a + z & _MASK, b + _rotate(a, 31) + c & _MASK


def _beyond_64(data: bytes, size: int) -> int:
    x, y = _word(data, 0), _word(data, size - 16) ^ _K1
    z = _word(data, size - 56) ^ _K0
    v = _weak(data, size - 64, size, y)
    w = _weak(data, size - 32, size * _K1, _K0)
    z += _fold(v[1]) * _K1
    x, y = _rotate(z + x, 39) * _K1, _rotate(y, 33) * _K1
    for at in range(0, size - 1 & ~63, 64):
        x = _rotate(x + y + v[0] + _word(data, at + 16), 37) * _K1
        y = _rotate(y + v[1] + _word(data, at + 48), 42) * _K1
        x, y = (x ^ w[1]) & _MASK, (y ^ v[0]) & _MASK
        z = _rotate(z ^ w[0], 33)
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y)
        z, x = x, z
    return _mix(
        _mix(v[0], w[0]) + _fold(y & _MASK) * _K1 + z & _MASK,
        _mix(v[1], w[1]) + x & _MASK,
    )


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    words = [_word(data, at + 8 * place) for place in range(4)]
    a += words[0]
    b = _rotate(b + a + words[3], 21)
    c = a
    a += words[1] + words[2]
    b += _rotate(a, 44)
    return a + words[3] & _MASK, b + c & _MASK


def _mix(u: int, v: int) -> int:
    a = _fold((u ^ v) * _MUL & _MASK)
    return _fold((v ^ a) * _MUL & _MASK) * _MUL & _MASK


def _fold(number: int) -> int:
    return number ^ (number >> _SHIFT)


def _rotate(number: int, by: int) -> int:
    number &= _MASK
    return (number >> by | number << (64 - by)) & _MASK


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")
