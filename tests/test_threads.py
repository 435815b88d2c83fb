"""The pool of threads: everything in order, nothing lost, and Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from fatt.errors import SpecError
from fatt.threads import CHUNK, FEW, Pace, chunk_size, in_order, n_threads, until_done


def spans(count: int, size: int = 3) -> list[tuple[int, int]]:
    return [(first, min(first + size, count)) for first in range(0, count, size)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_whoever_is_done_first(threads: int) -> None:
    last_may_go = threading.Event()

    def work(first: int, last: int) -> tuple[int, int]:
        if threads > 1 and first == 0:
            # The first waits until another has been done.
            assert last_may_go.wait(30)
        last_may_go.set()
        return first, last

    found: list[tuple[int, int]] = []
    assert not until_done(in_order(work, spans(40), threads), found.append)
    assert found == spans(40)


def test_work_is_asked_for_as_it_is_begun() -> None:
    asked: list[int] = []

    def many() -> Iterator[tuple[int, int]]:
        for number in range(1000):
            asked.append(number)
            yield number, number + 1

    made = in_order(lambda first, last: first, many(), 2)
    assert next(made) == 0
    assert len(asked) < 10
    made.close()
    assert len(asked) < 10


def test_an_error_comes_through_and_stops_the_others() -> None:
    stopped = threading.Event()

    def work(first: int, last: int) -> int:
        if first == 3:
            raise ValueError("the second")
        if first > 3:
            assert stopped.wait(30)
        return first

    made = in_order(work, spans(30), 2, stop=stopped.set)
    assert next(made) == 0
    with pytest.raises(ValueError, match="the second"):
        next(made)
    assert stopped.is_set()


def test_ctrl_c_keeps_what_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()

    def work(first: int, last: int) -> int:
        if first == 3:
            # As a Ctrl-C would, wherever the caller waits.
            raise KeyboardInterrupt
        if first > 3:
            assert stopped.wait(30)
        return first

    found: list[int] = []
    assert until_done(in_order(work, spans(30), 2, stop=stopped.set), found.append)
    assert found[0] == 0
    assert 3 not in found
    assert found == sorted(found)
    assert stopped.is_set()


def test_beside_other_threads_one_thread_is_this_one() -> None:
    seen: list[threading.Thread] = []

    def work(first: int, last: int) -> None:
        seen.append(threading.current_thread())

    def caller() -> None:
        until_done(in_order(work, spans(9), 1), lambda _: None)

    thread = threading.Thread(target=caller)
    thread.start()
    thread.join()
    assert seen == [thread] * 3


def test_how_many_threads() -> None:
    assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) >= 1
    assert n_threads(-1000) == 1
    with pytest.raises(SpecError, match="n_jobs is 0"):
        n_threads(0)


def test_how_many_people_at_a_time() -> None:
    assert chunk_size(1, 1) == chunk_size(10, 4) == FEW
    assert chunk_size(10**8, 2) == CHUNK
    assert chunk_size(16_000, 2) == 1000
    pace = Pace(1000, None)
    assert list(pace.spans(5, 2500)) == [(5, 1005), (1005, 2005), (2005, 2500)]
    pace = Pace(1000, 2.0)
    taken = pace.spans(0, 10_000)
    assert next(taken) == (0, FEW)
    pace.learn(FEW, 0.001)
    assert next(taken) == (FEW, 3 * FEW)
    pace.learn(2 * FEW, 128.0)
    assert next(taken) == (3 * FEW, 3 * FEW + 2)
    pace.learn(2, 1e9)
    assert next(taken) == (3 * FEW + 2, 3 * FEW + 3)
