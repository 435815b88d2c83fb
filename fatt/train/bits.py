"""Sets of people as bits, from numpy's side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

#: How many bits a weight takes if it is not the same for everybody: fine enough that
#: rounding changes no choice that matters, few enough to stay fast.
_BITS = 8


def pack(members: NDArray[np.bool_]) -> Words:
    """Return sets of people as bits.

    Parameters
    ----------
    members : ndarray of shape (..., n_people)
        Who belongs to each set.

    Returns
    -------
    ndarray of shape (..., n_words)
    """
    n_people = members.shape[-1]
    padded = np.zeros((*members.shape[:-1], 64 * -(-n_people // 64)), dtype=bool)
    padded[..., :n_people] = members
    packed = np.packbits(padded, axis=-1, bitorder="little")
    return packed.view("<u8").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Target:
    """What it is worth to give people labels.

    Attributes
    ----------
    planes : ndarray of shape (n_classes, n_bits, n_words)
        For each class and person a binary number, its lowest bit first.
    scale : ndarray of shape (n_classes,)
        What one is worth, for each class.
    """

    planes: Words
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, worth: NDArray[np.float64]) -> Target:
        """Make a target of numbers, rounded unless each class has only one.

        Parameters
        ----------
        worth : ndarray of shape (n_people, n_classes)
            What each label is worth, at least 0.
        """
        parts = [to_binary(column) for column in worth.T]
        n_bits = max(len(part.planes) for part in parts)
        n_words = parts[0].planes.shape[1]
        planes = np.zeros((len(parts), n_bits, n_words), dtype=np.uint64)
        for label, part in enumerate(parts):
            planes[label, : len(part.planes)] = part.planes
        return cls(planes, np.array([part.unit for part in parts]))


class Binary(NamedTuple):
    """A number for each person, as bits.

    Attributes
    ----------
    planes : ndarray of shape (n_bits, n_words)
        The people whose number has each bit, the lowest first.
    unit
        What one is worth.
    total
        The sum of all, in units.
    """

    planes: Words
    unit: float
    total: int


def to_binary(numbers: NDArray[np.float64]) -> Binary:
    """Return numbers, at least 0, as binary ones; small multiples of one are exact."""
    most = float(numbers.max(initial=0.0))
    if most == 0:
        return Binary(pack(np.zeros((1, len(numbers)), dtype=bool)), 0.0, 0)
    unit = float(numbers[numbers > 0].min())
    multiples = np.round(numbers / unit)
    if most / unit >= 2**_BITS or not np.allclose(multiples * unit, numbers, rtol=1e-9):
        unit = most / (2**_BITS - 1)
        multiples = np.round(numbers / unit)
    whole = multiples.astype(np.int64)
    n_bits = max(1, int(whole.max()).bit_length())
    bits = (whole[np.newaxis] >> np.arange(n_bits)[:, np.newaxis]) & 1
    return Binary(pack(bits.astype(bool)), unit, int(whole.sum()))


def unpack(people: Words, n_people: int) -> NDArray[np.bool_]:
    """Tell who belongs to a set."""
    bits = np.unpackbits(people.astype("<u8").view(np.uint8), bitorder="little")
    return bits[:n_people].astype(bool)
