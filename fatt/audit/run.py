"""One call of an auditor: its people, what it has spent, and who may stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fatt.errors import DataError
from fatt.people import People
from fatt.progress import Progress
from fatt.region import Boxes, Neighbourhood, Relation, Variables
from fatt.region.combined import Combined
from fatt.threads import CHUNK, Pace, chunk_size, in_order, n_threads
from fatt.verdict import Findings, Twins
from fatt.verifier import Budget
from fatt.verifier.budget import Account
from fatt.verifier.joint import NotFollowedError
from fatt.verifier.tied import Search

if TYPE_CHECKING:
    from fatt.verifier import Extremes

Matrix = NDArray[np.float64]
T = TypeVar("T")

_NO_LIMITS = Budget()


class Chunk(NamedTuple):
    """Some people: rows `start` to `stop`, their values, and where they may move.

    Boxes are those of the combined variables, see `Run.combined`.
    """

    start: int
    stop: int
    values: Matrix
    boxes: Boxes

    @property
    def rows(self) -> Sequence[int]:
        """Which rows of the table these are."""
        return range(self.start, self.stop)


@contextmanager
def _of_rows(rows: Sequence[int]) -> Iterator[None]:
    """Say in refusals which row of the table a person is."""
    try:
        yield
    except NotFollowedError as error:
        raise NotFollowedError(rows[error.person], error.reason) from error.__cause__


class Question(NamedTuple):
    """What is asked of every person, prepared.

    Attributes
    ----------
    variables
        How the model reads people.
    similarity
        Who is similar to whom.
    space
        The same, for these variables.
    verifier
        Searches the model.
    """

    variables: Variables
    similarity: Relation
    space: Neighbourhood
    verifier: Search


class Run:
    """People of whom a question is asked, within a budget.

    Parameters
    ----------
    question
        What is asked.
    people
        Of whom.
    budget
        Limits of the search; None for no limits.
    n_jobs
        Number of threads; -1 for all processors, None for one.
    progress
        Told how many people are done, and how many there are.
    """

    def __init__(
        self,
        question: Question,
        people: People,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.variables, self.similarity, self.space, _ = question
        self.people = people
        self.budget = _NO_LIMITS if budget is None else budget
        self.n_jobs = n_jobs
        self._n_threads = n_threads(n_jobs)
        self._progress = progress
        # Whoever stops this run stops no other.
        self.verifier = question.verifier.for_one_run()
        self.account = Account(self.budget)
        self.interrupted = False

    @property
    def combined(self) -> Combined:
        """The variables of the search: those that are tied together are one."""
        return self.space.combined

    def chunks(self) -> Iterator[Chunk]:
        """Yield the people, some thousands at a time."""
        n_people = len(self.people)
        for start in range(0, n_people, CHUNK):
            yield self.chunk(start, min(start + CHUNK, n_people))

    def in_threads(
        self,
        work: Callable[[Chunk, int], T],
        *,
        first: int = 0,
        every: float | None = None,
    ) -> Generator[T, None, None]:
        """Yield what is made of each chunk, in order; the work is done in threads.

        If the user interrupts it, `interrupted` becomes true, and what was begun is
        yielded as it is, the search cut short. A few people need no thread.

        Parameters
        ----------
        work
            Called with a chunk, and the number of threads that it may use itself.
        first
            The row to begin with.
        every
            About how many seconds a chunk may take; by default any time.
        """
        n_people, threads = len(self.people), self._n_threads
        most = chunk_size(n_people, threads)
        if every is None and 0 < n_people - first <= most:
            try:
                yield work(self.chunk(first, n_people), threads)
            except KeyboardInterrupt:
                self.interrupted = True
            return
        inner = -(-threads // max(1, -(-(n_people - first) // most)))
        pace = Pace(most, every)

        def run(start: int, stop: int) -> T:
            begin = time.monotonic()
            made = work(self.chunk(start, stop), inner)
            pace.learn(stop - start, time.monotonic() - begin)
            return made

        spans, stop = pace.spans(first, n_people), self.verifier.stop
        interrupted = yield from in_order(run, spans, threads, stop=stop)
        self.interrupted |= interrupted

    def chunk(self, start: int, stop: int) -> Chunk:
        """Return some people, and where they may move.

        Raises
        ------
        DataError
            If the model's library would refuse a row, or the schema excludes a value.
        """
        values = self.people.values(start, stop)
        try:
            return Chunk(start, stop, values, self.boxes(values))
        except DataError:
            if start:
                # Again from the first row, so that the message counts from there.
                self.boxes(self.people.values(0, stop))
            raise

    def boxes(self, values: Matrix, *, scale: Matrix | None = None) -> Boxes:
        """Return where people with these values may move.

        Parameters
        ----------
        values : ndarray of shape (n_people, n_variables)
            The people.
        scale : ndarray of shape (n_people,), optional
            By how much each person's noise is multiplied.
        """
        return self.space.boxes(values, scale=scale)

    def search(
        self,
        values: Matrix,
        regions: Boxes,
        *,
        rows: Sequence[int],
        n_threads: int | None = None,
    ) -> Findings:
        """Search the boxes within what is left of the budget.

        Parameters
        ----------
        values : ndarray of shape (n_people, n_variables)
            The people.
        regions
            Where they may move.
        rows
            Which rows of the table they are.
        n_threads
            Number of threads; by default all that the run has.
        """
        with _of_rows(rows):
            found = self.verifier.verify(
                self.combined.join(values),
                regions,
                budget=self.account.left(),
                n_jobs=n_threads or self._n_threads,
            )
        self.interrupted |= found.interrupted
        return found if self.combined.is_plain else self._parted(found)

    def _parted(self, found: Findings) -> Findings:
        """Return findings whose twins have all variables again."""
        twins, part = found.twins, self.combined.part
        parted = Twins.of(
            index=twins.index,
            people=part(twins.people),
            twins=part(twins.everybody()),
            label=twins.label,
            twin_label=twins.twin_label,
        )
        return replace(found, twins=parted)

    def extremes(self, chunk: Chunk, output: int) -> Extremes:
        """Find the lowest and the highest of one score among similar people."""
        with _of_rows(chunk.rows):
            found = self.verifier.extremes(
                self.combined.join(chunk.values),
                chunk.boxes,
                output,
                budget=self.account.left(),
                n_jobs=self._n_threads,
            )
        self.account.spend(found.nodes)
        part = self.combined.part
        return replace(
            found,
            lowest_at=part(found.lowest_at),
            highest_at=part(found.highest_at),
        )

    def report(self, done: int) -> None:
        """Tell that so many people are done."""
        if self._progress is not None:
            self._progress(done, len(self.people))
