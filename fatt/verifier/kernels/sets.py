"""Bit sets in words of 64 bits, at an offset of a flat array."""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import small

ONE = np.uint64(1)

# Multiplied by a power of two, the highest six bits of the pattern tell which one: all
# 64 windows of six bits differ (a de Bruijn sequence).
_PATTERN = np.uint64(0x03F79D71B4CB0A89)
_POSITIONS = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _POSITIONS[(int(_PATTERN) << _bit) % 2**64 >> 58] = _bit


@small
def has(words, start, member):
    """Tell whether a set holds a member."""
    return (words[start + (member >> 6)] >> np.uint64(member & 63)) & ONE != 0


@small
def add(words, start, member):
    """Put a member into a set."""
    words[start + (member >> 6)] |= ONE << np.uint64(member & 63)


@small
def remove(words, start, member):
    """Take a member out of a set."""
    words[start + (member >> 6)] &= ~(ONE << np.uint64(member & 63))


@small
def add_range(words, start, first, last):
    """Put the members from `first` to `last` into a set."""
    for member in range(first, last + 1):
        words[start + (member >> 6)] |= ONE << np.uint64(member & 63)


@small
def copy(source, target):
    """Write an array over the beginning of another: numba would make one in between."""
    for place in range(len(source)):
        target[place] = source[place]


@small
def meets(left, left_start, right, right_start, width):
    """Tell whether two sets have a common member."""
    for offset in range(width):
        if left[left_start + offset] & right[right_start + offset] != 0:
            return True
    return False


@small
def lowest(word):
    """Return the position of the lowest set bit of a word that is not zero."""
    return _POSITIONS[((word & (~word + ONE)) * _PATTERN) >> np.uint64(58)]


@small
def first_from(words, start, width, member):
    """Return the smallest member that is at least `member`; -1 if there is none."""
    place = member >> 6
    if place >= width:
        return -1
    word = words[start + place] >> np.uint64(member & 63)
    if word != 0:
        return member + lowest(word)
    for following in range(place + 1, width):
        word = words[start + following]
        if word != 0:
            return following * 64 + lowest(word)
    return -1
