"""Chunks of people sent to other processes, here or on other machines, with joblib.

Whoever writes ``with joblib.parallel_config(backend="dask")`` decides where the work
goes. All that a worker needs is in its task, so that a task whose worker dies can be
done by another.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import sys
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fatt.audit.run import Chunk, Run
from fatt.errors import FattError
from fatt.threads import Pace, chunk_size
from fatt.verdict import Findings

if TYPE_CHECKING:
    from fatt.audit.auditor import Auditor


def are_wanted() -> bool:
    """Tell whether the user has sent work to other processes."""
    if "joblib" not in sys.modules:
        return False
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    # All but the old backend "multiprocessing" give results as they come.
    is_lazy = bool(backend.supports_return_generator)
    return is_lazy and not getattr(backend, "supports_sharedmem", False)


class _Answer(NamedTuple):
    """What a worker says of some people, counted from 0, and how long it took."""

    found: Findings | FattError
    seconds: float


def in_workers(
    auditor: Auditor,
    run: Run,
    here: Callable[[Chunk, int], Findings],
    *,
    first: int = 0,
    every: float | None = None,
) -> Generator[Findings, None, None]:
    """Yield what is found about each chunk, in order; the work is done in processes.

    If the user interrupts it, `Run.interrupted` becomes true.

    Parameters
    ----------
    auditor
        Who is asked, in each process.
    run
        The people; its `n_jobs` is the number of processes, None for what joblib was
        told.
    here
        Examines a chunk in this process.
    first
        The row to begin with.
    every
        About how many seconds a chunk may take; by default any time.
    """
    import joblib

    n_people, people = len(run.people), run.people
    n_jobs = run.n_jobs
    if n_jobs is None:
        n_jobs = joblib.parallel.get_active_backend()[1]
    pace = Pace(chunk_size(n_people, joblib.effective_n_jobs(n_jobs)), every)
    question = pickle.dumps(auditor)
    spans: list[tuple[int, int]] = []

    def tasks() -> Iterator[Any]:
        for start, stop in pace.spans(first, n_people):
            spans.append((start, stop))
            # As bytes: Dask would put a table into the memory of one worker, to be lost
            # with it, and look into other things for tasks.
            task = pickle.dumps((people.rows(start, stop), run.account.left()))
            yield joblib.delayed(_answer)(question, task)

    parallel = joblib.Parallel(n_jobs, batch_size=1, return_as="generator")
    try:
        with _ended(parallel(tasks())) as answers:
            for place, (found, seconds) in enumerate(answers):
                start, stop = spans[place]
                pace.learn(stop - start, seconds)
                if isinstance(found, FattError):
                    # Here the message counts from the first row of all.
                    here(run.chunk(start, stop), 1)
                    raise found
                yield found.moved(start)
    except KeyboardInterrupt:
        run.interrupted = True


@contextlib.contextmanager
def _ended(answers: Generator[_Answer, None, None]) -> Iterator[Iterator[_Answer]]:
    """End the work when its answers are not wanted any more."""
    try:
        yield answers
    except BaseException:
        # To close it would make joblib warn that not all is done, as is intended.
        with contextlib.suppress(KeyboardInterrupt):
            answers.throw(KeyboardInterrupt)
        raise


def _answer(question: bytes, task: bytes) -> _Answer:
    import joblib

    begin = time.monotonic()
    found: Findings | FattError
    try:
        # Models that use joblib themselves would ask the cluster, which waits for us.
        with joblib.parallel_config(backend="threading", n_jobs=1):
            found = auditor_of(question).examine(*pickle.loads(task))
    except FattError as error:
        found = error
    return _Answer(found, time.monotonic() - begin)


@functools.lru_cache(maxsize=2)
def auditor_of(question: bytes) -> Auditor:
    """Return who answers a question; made once in each process."""
    auditor: Auditor = pickle.loads(question)
    return auditor
