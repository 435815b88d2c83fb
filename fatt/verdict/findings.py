"""What was found about many people, kept as arrays: from the search to the report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.frames import frame_of
from fatt.verdict.person import (
    BUDGET,
    INTERRUPTED,
    REASONS,
    UNKNOWN,
    VERDICTS,
    Finding,
    Stopped,
    answers_of,
)
from fatt.verdict.twins import Twins

T = TypeVar("T")

#: The arrays with one entry per person.
_EACH = ("verdict", "label", "possible", "nodes", "stopped")
#: Stands before the names of the twins' arrays where all stand together.
_TWINS = "twins."


class OnDemand(Sequence[T]):
    """A sequence of which a million entries cost no more than their arrays."""

    @abstractmethod
    def _at(self, place: int) -> T:
        """Make the entry at a place, counted from 0."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(len(self))[index]]
        return self._at(range(len(self))[index])


@dataclass(frozen=True, eq=False, repr=False)
class Findings(OnDemand[Finding]):
    """One finding per person, in order; made when it is looked at.

    The search fills the arrays, workers send them, a journal keeps them, and the report
    and its certificate read them.

    Attributes
    ----------
    verdict : ndarray of shape (n_people,), int8
        Position of each verdict in `fatt.verdict.VERDICTS`.
    label : ndarray of shape (n_people,), int32 or float64
        Position of the person's own label in `classes`; -1 if it was not asked for. If
        there are no classes, the person's own prediction; NaN if it was not asked for.
    possible : ndarray of shape (n_people, ceil(n_classes / 8)), uint8
        The classes still possible, packed into bits by `pack`; none other can occur.
    nodes : ndarray of shape (n_people,), int64
        How many nodes the search took.
    stopped : ndarray of shape (n_people,), uint8
        Why a verdict is unknown: position in `fatt.verdict.REASONS`; else 0.
    twins
        The unfair people and their twins.
    classes
        The model's labels.
    start
        The row of the first person.
    interrupted
        Whether the user ended the search meanwhile.
    """

    verdict: NDArray[np.int8]
    label: NDArray[Any]
    possible: NDArray[np.uint8]
    nodes: NDArray[np.int64]
    stopped: NDArray[np.uint8]
    twins: Twins
    classes: tuple[Label, ...]
    start: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        for name in _EACH:
            getattr(self, name).setflags(write=False)

    @classmethod
    def unreached(
        cls, start: int, stop: int, classes: tuple[Label, ...], n_variables: int
    ) -> Findings:
        """Return what is known of people whom an interrupted run did not reach."""
        count = stop - start
        return cls(
            verdict=np.full(count, UNKNOWN, dtype=np.int8),
            label=np.full(count, -1, np.int32) if classes else np.full(count, np.nan),
            possible=np.tile(_everything(classes), (count, 1)),
            nodes=np.zeros(count, dtype=np.int64),
            stopped=np.full(count, INTERRUPTED, dtype=np.uint8),
            twins=Twins.none(n_variables),
            classes=classes,
            start=start,
        )

    @classmethod
    def join(cls, parts: Sequence[Findings]) -> Findings:
        """Put findings of people behind each other into one; at least one part."""
        if len(parts) == 1:
            return parts[0]
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in _EACH
        }
        return cls(
            **arrays,
            twins=Twins.join([part.twins for part in parts]),
            classes=parts[0].classes,
            start=parts[0].start,
            interrupted=any(part.interrupted for part in parts),
        )

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], classes: tuple[Label, ...], start: int
    ) -> Findings:
        """Return the findings that `to_arrays` took apart."""
        twins = {
            name.removeprefix(_TWINS): array
            for name, array in arrays.items()
            if name.startswith(_TWINS)
        }
        each: dict[str, Any] = {name: arrays[name] for name in _EACH}
        return cls(**each, twins=Twins(**twins), classes=classes, start=start)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, to be kept or sent."""
        each = {name: getattr(self, name) for name in _EACH}
        twins = {f"{_TWINS}{name}": array for name, array in vars(self.twins).items()}
        return {**each, **twins}

    def __len__(self) -> int:
        return len(self.verdict)

    def __repr__(self) -> str:
        return f"<{len(self):,} findings>"

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            Of pandas, polars or pyarrow, whichever is installed. Columns: ``index``,
            ``verdict``, ``label``, ``labels`` (a list of those still possible) and
            ``stopped``. `fatt.Report.to_frame` tells of the twins as well.
        """
        kinds, which = self.kinds()
        return frame_of(
            {
                "index": list(range(self.start, self.stop)),
                "verdict": [str(kinds[kind].verdict) for kind in which],
                "label": [kinds[kind].label for kind in which],
                "labels": [list(kinds[kind].labels) for kind in which],
                "stopped": [kinds[kind].stopped for kind in which],
            }
        )

    @property
    def stop(self) -> int:
        """The row behind the last person."""
        return self.start + len(self)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which people have an answer; an interrupted run leaves some without."""
        return np.asarray(self.label >= 0 if self.classes else ~np.isnan(self.label))

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Which classes similar people may still get, one row per person."""
        return unpack(self.possible, len(self.classes))

    @property
    def reasons(self) -> dict[Stopped, int]:
        """How many people are unknown for which reason; those that occur, in order."""
        counts = np.bincount(self.stopped, minlength=len(REASONS)).tolist()
        return {
            reason: count
            for reason, count in zip(REASONS, counts, strict=True)
            if reason is not None and count
        }

    def _at(self, place: int) -> Finding:
        answer = self.label[place]
        # Nobody asked about whom the run did not reach.
        is_known = bool(answer >= 0) if self.classes else not np.isnan(answer)
        flags = unpack(self.possible[place], len(self.classes))
        return Finding(
            index=self.start + place,
            verdict=VERDICTS[self.verdict[place]],
            label=answers_of(answer[None], self.classes)[0] if is_known else None,
            labels=tuple(self.classes[index] for index in np.flatnonzero(flags)),
            stopped=REASONS[self.stopped[place]],
        )

    def moved(self, by: int) -> Findings:
        """Return the same about people so many rows further on."""
        if not by:
            return self
        return replace(self, start=self.start + by, twins=self.twins.moved(by))

    def with_answers(self, own: NDArray[Any]) -> Findings:
        """Return the same, with what the model itself answers to each person.

        It may be another answer within the rounding that the library does not fix.

        Parameters
        ----------
        own : ndarray of shape (n_people,)
            The answers, as `label` has them.
        """
        if np.array_equal(own, self.label):
            return self
        label = own.astype(self.label.dtype)
        twins = replace(self.twins, label=label[self.twins.index - self.start])
        return replace(self, label=label, twins=twins)

    def late_from(self, row: int) -> Findings:
        """Return the same, where everybody from a row on came after the last node."""
        if row >= self.stop:
            return self
        place = max(0, row - self.start)
        verdict, stopped = self.verdict.copy(), self.stopped.copy()
        possible = self.possible.copy()
        verdict[place:], stopped[place:] = UNKNOWN, BUDGET
        possible[place:] = _everything(self.classes)
        return replace(
            self,
            verdict=verdict,
            stopped=stopped,
            possible=possible,
            twins=self.twins.before(row),
        )

    def kinds(self) -> tuple[list[Finding], list[int]]:
        """Return the different findings, and for each person which of them it is.

        There are few, which makes it cheap to write down a million of them. The index
        of each is that of its first person.
        """
        kind = _distinct(self.possible)
        if self.classes:
            kind = kind * (len(self.classes) + 1) + self.label + 1
        else:
            kind = np.unique(self.label, return_inverse=True)[1]
        kind = kind * len(VERDICTS) + self.verdict
        kind = kind * len(REASONS) + self.stopped
        _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
        return [self[place] for place in first.tolist()], kind.ravel().tolist()


def _everything(classes: tuple[Label, ...]) -> NDArray[np.uint8]:
    return pack(np.ones(len(classes), dtype=bool))


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
