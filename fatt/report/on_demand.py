"""Sequences that keep arrays, and make an entry only when it is looked at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


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
