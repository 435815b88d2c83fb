"""Kernels in threads: blocks of people, a clock that compiled code can read, Ctrl-C."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fatt.errors import SpecError
from fatt.verifier.budget import Budget
from fatt.verifier.kernels.records import NOW, STOP

Clock = NDArray[np.int64]

#: So many people are one piece of work, for each piece has a price of its own.
FEW = 64

_TICK = 0.002

# People per call of a kernel: few, so that no thread waits for another in the end.
_BLOCK = 4096
_BLOCKS_PER_THREAD = 8


@contextmanager
def clock_for(budget: Budget) -> Iterator[Clock]:
    """Yield an array in which the milliseconds since now are kept up to date.

    Compiled code cannot ask for the time; it reads this array. The second entry tells
    it to stop, which happens when the total time is over.
    """
    clock = np.zeros(2, dtype=np.int64)
    if budget.seconds is None and budget.total_seconds is None:
        yield clock
        return
    over = threading.Event()
    begin = time.monotonic()

    def tick() -> None:
        while not over.wait(_TICK):
            elapsed = time.monotonic() - begin
            clock[NOW] = int(elapsed * 1000)
            if budget.total_seconds is not None and elapsed >= budget.total_seconds:
                clock[STOP] = 1

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield clock
    finally:
        over.set()
        ticker.join()


def run_in_threads(
    run: Callable[[int, int], None],
    count: int,
    clock: Clock,
    *,
    n_jobs: int | None = None,
    after: Callable[[int], None] | None = None,
) -> bool:
    """Run over people in blocks; tell whether the user interrupted it.

    The threads work beside this one, which therefore sees a Ctrl-C at once.

    Parameters
    ----------
    run
        Called with the first person of a block, and the one behind its last.
    count
        Number of people.
    clock
        What the compiled code reads; set to stop when no block is wanted any more.
    n_jobs
        Number of threads; -1 for all processors, by default one.
    after
        Called in this thread with the number of people who are done, in order.
    """
    threads = n_threads(n_jobs)
    size = max(1, min(_BLOCK, -(-count // (_BLOCKS_PER_THREAD * threads))))
    begins = range(0, count, size)
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        # Only the main thread sees a Ctrl-C; here it would be idle beside another.
        for begin in begins:
            run(begin, min(begin + size, count))
            if after is not None:
                after(min(begin + size, count))
        return False
    with ThreadPoolExecutor(threads) as pool:
        blocks = [pool.submit(run, begin, min(begin + size, count)) for begin in begins]
        try:
            for begin, block in zip(begins, blocks, strict=True):
                block.result()
                if after is not None:
                    after(min(begin + size, count))
        except KeyboardInterrupt:
            return True
        finally:
            clock[STOP] = 1
            for block in blocks:
                block.cancel()
    return False


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: -1 means all processors, None means one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise SpecError("n_jobs is 0; pass a number of threads, or -1 for all.")
    if n_jobs > 0:
        return n_jobs
    affinity = getattr(os, "sched_getaffinity", None)
    available = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, available + 1 + n_jobs)
