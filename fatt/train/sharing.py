"""Work that threads share, when it must end, and how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Protocol, TypeVar

from fatt.train.fitness import Scored

T = TypeVar("T")
R = TypeVar("R")

_WIDTH = 20


class Share(Protocol):
    """Does something for each of several things, in their order or at once."""

    def __call__(self, work: Callable[[T], R], things: Sequence[T]) -> list[R]:
        """Return what comes of each thing, in their order."""
        ...


class Workers:
    """Threads that share pieces of work, in a ``with`` block.

    Parameters
    ----------
    n_threads
        How many there are.
    """

    def __init__(self, n_threads: int) -> None:
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
            self._pool.shutdown(cancel_futures=True)

    def share(self, work: Callable[[T], R], things: Sequence[T]) -> list[R]:
        """Return what comes of each thing, in their order."""
        if self._pool is None:
            return [work(thing) for thing in things]
        return list(self._pool.map(work, things))


class Deadline:
    """Tells when a search has taken long enough, or shall stop at once.

    Parameters
    ----------
    seconds
        How long it may take from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Tell whether the time is over."""
        return time.monotonic() >= self._end

    def stop(self) -> None:
        """Let the time be over now."""
        self._end = -float("inf")


class ProgressBar:
    """Writes one line to standard error, again and again.

    Parameters
    ----------
    is_on
        Whether anything is written.
    """

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._started = time.monotonic()

    def show(self, what: str, done: int, total: int, best: Scored) -> None:
        """Tell how much is done, and what was found."""
        if not self._is_on:
            return
        filled = _WIDTH * done // max(1, total)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        seconds = time.monotonic() - self._started
        sys.stderr.write(
            f"\r{bar} {what} {done}/{total}: accuracy {best.accuracy:.2%}, fairness "
            f"{best.fairness:.2%}, {best.n_leaves} leaves, {seconds:.0f} s\x1b[K"
        )
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._is_on:
            sys.stderr.write("\n")
