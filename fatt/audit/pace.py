"""How many people are taken at a time."""

from __future__ import annotations

from collections.abc import Iterator

from fatt.people import CHUNK
from fatt.verifier.threads import FEW

# Each thread or process gets several chunks, so that none waits for another in the
# end; but a few people are one chunk.
_CHUNKS_EACH = 8


def chunk_size(n_people: int, n_workers: int) -> int:
    """Return how many people make a chunk, if so many threads or processes work."""
    share = -(-n_people // (_CHUNKS_EACH * n_workers))
    return min(CHUNK, max(FEW, share))


class Pace:
    """How many people to take at a time, so that no chunk takes long.

    Parameters
    ----------
    most
        The largest size.
    every
        About how many seconds a chunk may take; None for any time.
    """

    def __init__(self, most: int, every: float | None) -> None:
        self._most, self._every = most, every
        self._size = most if every is None else min(FEW, most)

    def spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield where each chunk starts and stops."""
        while first < last:
            stop = min(first + self._size, last)
            yield first, stop
            first = stop

    def learn(self, count: int, seconds: float) -> None:
        """Choose the next size, now that so many people took so long."""
        if self._every is not None:
            fitting = int(count * self._every / max(seconds, 1e-9))
            self._size = min(self._most, 2 * count, max(1, fitting))
