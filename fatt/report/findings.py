"""The findings of all people, kept as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.report.on_demand import OnDemand
from fatt.verdict import VERDICTS, Finding


@dataclass(frozen=True, eq=False, repr=False)
class Findings(OnDemand[Finding]):
    """One finding per person, in order; made when it is looked at.

    Attributes
    ----------
    verdicts : ndarray of shape (n_people,), int8
        Position of each verdict in `fatt.verdict.VERDICTS`.
    label : ndarray of shape (n_people,), int32
        Position of the person's own label in `classes`; -1 if it was not asked for.
    possible : ndarray of shape (n_people, ceil(n_classes / 8)), uint8
        The classes still possible, packed into bits by `pack`.
    classes
        The model's labels.
    """

    verdicts: NDArray[np.int8]
    label: NDArray[np.int32]
    possible: NDArray[np.uint8]
    classes: tuple[Label, ...]

    def __post_init__(self) -> None:
        for array in (self.verdicts, self.label, self.possible):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __repr__(self) -> str:
        return f"<{len(self):,} findings>"

    def _at(self, place: int) -> Finding:
        label = int(self.label[place])
        flags = unpack(self.possible[place], len(self.classes))
        return Finding(
            index=place,
            verdict=VERDICTS[self.verdicts[place]],
            label=None if label < 0 else self.classes[label],
            labels=tuple(self.classes[index] for index in np.flatnonzero(flags)),
        )

    def kinds(self) -> tuple[list[Finding], list[int]]:
        """Return the different findings, and for each person which of them it is.

        There are few, which makes it cheap to write down a million of them. The index
        of each is that of its first person.
        """
        kind = _distinct(self.possible)
        n_labels = len(self.classes) + 1
        keys = (kind * n_labels + self.label + 1) * len(VERDICTS) + self.verdicts
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        return [self[place] for place in first.tolist()], kind.ravel().tolist()


def _distinct(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return a number for each row, the same for equal rows."""
    width = rows.shape[1]
    if width > 8:
        which = np.unique(rows, axis=0, return_inverse=True)[1]
        return which.ravel().astype(np.int64)
    # Numbers are sorted much faster than rows.
    padded = np.zeros((len(rows), 8), dtype=np.uint8)
    padded[:, :width] = rows
    numbers = padded.view(np.uint64).ravel()
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def pack(labels: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack flags, one per class, into bits."""
    return np.packbits(labels, axis=-1)


def unpack(bits: NDArray[np.uint8], n_classes: int) -> NDArray[np.bool_]:
    """Return the flags that `pack` packed."""
    return np.unpackbits(bits, axis=-1, count=n_classes).astype(bool)
