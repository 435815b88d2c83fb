"""How long to search: limits, what is left of them, and the clock that kernels read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Record
from fatt.errors import SpecError
from fatt.verifier.kernels.records import NOW, STOP

Clock = NDArray[np.int64]

_TICK = 0.002
_NO_LIMIT = 2**61


class Budget(Record, frozen=True, kw_only=True):
    """When to give up, and answer unknown.

    A budget of nodes gives the same answers on every machine; one of seconds does not.

    Attributes
    ----------
    seconds, nodes
        For each person: time, and nodes of the search.
    total_seconds, total_nodes
        For the whole run. People are counted in order: those whom the search would
        reach only after the last node are unknown.

    Examples
    --------
    >>> Budget(seconds=1)
    Budget(seconds=1, nodes=None, total_seconds=None, total_nodes=None)
    """

    seconds: float | None = None
    nodes: int | None = None
    total_seconds: float | None = None
    total_nodes: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise SpecError(f"the budget's {name} is {limit}; pass at least 0.")

    @property
    def is_timed(self) -> bool:
        """Whether the time is limited."""
        return self.seconds is not None or self.total_seconds is not None

    @property
    def limits(self) -> tuple[int, int]:
        """The most nodes and milliseconds for a person, as kernels count them."""
        nodes, seconds, total = self.nodes, self.seconds, self.total_nodes
        return (
            min(
                _NO_LIMIT if nodes is None else nodes,
                # Whoever takes more than all together may take stays unknown.
                _NO_LIMIT if total is None else total + 1,
                _NO_LIMIT,
            ),
            _NO_LIMIT if seconds is None else int(min(seconds * 1000, _NO_LIMIT)),
        )

    def n_in_time(self, nodes: NDArray[np.int64], before: int = 0) -> int:
        """Return how many people come before the last node of the whole run.

        Parameters
        ----------
        nodes : ndarray of shape (n_people,)
            How many each of them took, in order.
        before
            How many were taken before them.
        """
        if self.total_nodes is None:
            return len(nodes)
        left = self.total_nodes - before
        return int(np.searchsorted(np.cumsum(nodes), left, "right"))


class Account:
    """What a run has spent of its budget so far; its time runs from now on.

    Parameters
    ----------
    budget
        The limits of the run.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._nodes, self._started = 0, time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self._started

    @property
    def is_over(self) -> bool:
        """Whether the time of the whole run is over."""
        most = self.budget.total_seconds
        return most is not None and self.seconds >= most

    def set_seconds(self, seconds: float) -> None:
        """Go on where an earlier run of the same people was after so many seconds."""
        self._started = time.monotonic() - seconds

    def spend(self, nodes: NDArray[np.int64]) -> int:
        """Count the nodes of more people, and tell how many of them came in time.

        All behind them are too late for the budget, and must be unknown: then the
        result does not depend on how many people were searched at the same time.
        """
        in_time = self.budget.n_in_time(nodes, self._nodes)
        self._nodes += int(nodes.sum())
        return in_time

    def left(self) -> Budget:
        """Return what is left of the budget."""
        seconds, nodes = self.budget.total_seconds, self.budget.total_nodes
        if seconds is None and nodes is None:
            return self.budget
        if seconds is not None:
            seconds = max(0.0, seconds - self.seconds)
        if nodes is not None:
            nodes = max(0, nodes - self._nodes)
        return msgspec.structs.replace(
            self.budget, total_seconds=seconds, total_nodes=nodes
        )


@contextmanager
def clock_for(budget: Budget) -> Iterator[Clock]:
    """Yield an array in which the milliseconds since now are kept up to date.

    Compiled code cannot ask for the time; it reads this array. The second entry tells
    it to stop, which happens when the total time is over.
    """
    clock = np.zeros(2, dtype=np.int64)
    if not budget.is_timed:
        yield clock
        return
    # Nothing left is over at once, and not when the clock first ticks.
    clock[STOP] = budget.total_seconds is not None and budget.total_seconds <= 0
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
