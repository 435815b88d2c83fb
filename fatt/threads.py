"""The pool of threads: how many, how much work each gets at a time, and Ctrl-C.

Whoever calls waits beside the threads, and therefore sees a Ctrl-C at once; compiled
code does not. Little work needs no thread at all: that is for the caller to say.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fatt.errors import Arg, SpecError

S = TypeVar("S")
T = TypeVar("T")

#: So many people are one piece of work, for each piece has a price of its own.
FEW = 64
#: More people than this are never taken at a time.
CHUNK = 32_768

# Each thread or process gets several chunks, so that none waits for another in the
# end; but a few people are one chunk.
_CHUNKS_EACH = 8


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: -1 means all processors, None means one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise SpecError(
            f"{Arg('n_jobs')} is 0; pass a number of threads, or -1 for all."
        )
    if n_jobs > 0:
        return n_jobs
    affinity = getattr(os, "sched_getaffinity", None)
    available = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, available + 1 + n_jobs)


def in_order(
    work: Callable[[int, int], T],
    spans: Iterable[tuple[int, int]],
    threads: int,
    *,
    stop: Callable[[], None] = lambda: None,
) -> Generator[T, None, bool]:
    """Yield what is made of each span, in order; the work is done in threads.

    Parameters
    ----------
    work
        Called with the ends of a span.
    spans
        Where each piece of work starts and stops; asked for as they are begun.
    threads
        Number of threads.
    stop
        Called when nothing more is wanted, whatever the reason: makes work that was
        begun end soon.

    Returns
    -------
    bool
        Whether the user interrupted it. What was begun is yielded all the same, as far
        as it got.
    """
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        # Only the main thread sees a Ctrl-C; this one would be idle beside another.
        for span in spans:
            yield work(*span)
        return False
    begun: deque[Future[T]] = deque()
    is_interrupted = False
    with ThreadPoolExecutor(threads) as pool:
        try:
            for span in spans:
                begun.append(pool.submit(work, *span))
                if len(begun) > 2 * threads:
                    begun[0].result()
                    yield begun.popleft().result()
            while begun:
                begun[0].result()
                yield begun.popleft().result()
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            stop()
            for future in begun:
                future.cancel()
    for future in begun:
        if not future.cancelled() and future.exception() is None:
            yield future.result()
    return is_interrupted


def until_done(made: Generator[T, None, bool], after: Callable[[T], None]) -> bool:
    """Take all that `in_order` yields; tell whether the user interrupted it.

    Parameters
    ----------
    made
        What `in_order` returned.
    after
        Called in this thread with each of what was made, in order.
    """
    while True:
        try:
            one = next(made)
        except StopIteration as end:
            return bool(end.value)
        after(one)


def each(
    work: Callable[[S], T],
    things: Sequence[S],
    threads: int,
    *,
    stop: Callable[[], None] = lambda: None,
) -> list[T]:
    """Return what is made of each thing, in order; with several threads, in these.

    Parameters
    ----------
    work
        Called with each thing.
    things
        The things.
    threads
        Number of threads; with one, the caller does the work.
    stop
        As in `in_order`.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupted it, once no thread is at work any more.
    """
    if threads == 1:
        return [work(thing) for thing in things]
    found: list[T] = []
    made = in_order(
        lambda place, _: work(things[place]),
        ((place, place + 1) for place in range(len(things))),
        threads,
        stop=stop,
    )
    if until_done(made, found.append):
        raise KeyboardInterrupt
    return found


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
