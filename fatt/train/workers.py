"""Threads that share a piece of work."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

# Handing over work takes as long as going through about so many words of bits.
_WORTHWHILE = 200_000


class Workers:
    """Threads that each do an equal part of a piece of work, in a ``with`` block.

    Parameters
    ----------
    n_threads
        How many there are.
    """

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def share(self, work: Callable[[slice], None], count: int, *, each: int) -> None:
        """Do work on so many things, at once if that is worthwhile.

        Parameters
        ----------
        work
            Called with a slice of the things; the slices are done in any order.
        count
            How many things there are.
        each
            How many words of bits each takes.
        """
        if self._pool is None or count * each < _WORTHWHILE:
            work(slice(0, count))
            return
        cuts = [count * part // self._n_threads for part in range(self._n_threads + 1)]
        parts = [slice(a, b) for a, b in itertools.pairwise(cuts) if a < b]
        for future in [self._pool.submit(work, part) for part in parts]:
            future.result()
