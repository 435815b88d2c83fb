"""What verifying, measuring gaps and measuring radii have in common."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.errors import DataError
from fatt.importers import load
from fatt.region import Boxes, Relation, Schema, Variables
from fatt.region.boxes import boxes
from fatt.report import People
from fatt.report.people import CHUNK
from fatt.verifier import Budget, Outcomes, Verifier

if TYPE_CHECKING:
    from fatt.verifier import Extremes

Matrix = NDArray[np.float64]

#: Told how many people are done, and how many there are.
Progress: TypeAlias = Callable[[int, int], None]


class Chunk(NamedTuple):
    """Some people: rows `start` to `stop`, their values, and where they may move."""

    start: int
    stop: int
    values: Matrix
    boxes: Boxes


class Job:
    """A model, the people it is asked about, and who is similar to whom.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    X
        The people.
    similarity
        Who is similar to whom.
    schema
        What the columns mean; inferred from the model and the people if None.
    budget
        Limits of the search; None for no limits.
    n_jobs
        Number of threads; -1 for all processors, None for one.
    progress
        Told how many people are done, and how many there are.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        similarity: Relation,
        schema: Schema | None,
        budget: Budget | None,
        n_jobs: int | None,
        progress: Progress | None,
    ) -> None:
        ensemble = load(model)
        if schema is None:
            schema = Schema.infer(ensemble, X)
        self.variables = Variables(ensemble, schema)
        self.people = People(X, self.variables)
        self.similarity = similarity
        self.verifier = Verifier(self.variables.ensemble)
        self.budget = Budget() if budget is None else budget
        self._n_jobs = n_jobs
        self._progress = progress
        self._started = time.monotonic()
        self._nodes = 0

    def chunks(self) -> Iterator[Chunk]:
        """Yield the people, some thousands at a time."""
        n_people = len(self.people)
        for start in range(0, n_people, CHUNK):
            yield self._chunk(start, min(start + CHUNK, n_people))

    def _chunk(self, start: int, stop: int) -> Chunk:
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
        return boxes(self.similarity, self.variables, values, scale=scale)

    def search(
        self, values: Matrix, regions: Boxes, done: int | None = None
    ) -> Outcomes:
        """Search the boxes within what is left of the budget.

        Parameters
        ----------
        values : ndarray of shape (n_people, n_variables)
            The people.
        regions
            Where they may move.
        done
            How many people were finished before these; None not to report progress.
        """
        outcomes = self.verifier.verify(
            values,
            regions,
            budget=self.left(),
            n_jobs=self._n_jobs,
            progress=None if done is None else self._progress_from(done),
        )
        self._nodes += int(outcomes.nodes.sum())
        return outcomes

    def extremes(self, chunk: Chunk, output: int) -> Extremes:
        """Find the lowest and the highest of one score among similar people."""
        return self.verifier.extremes(
            chunk.values,
            chunk.boxes,
            output,
            budget=self.left(),
            n_jobs=self._n_jobs,
        )

    def report(self, done: int) -> None:
        """Tell that so many people are done."""
        if self._progress is not None:
            self._progress(done, len(self.people))

    def left(self) -> Budget:
        """Return what is left of the budget."""
        seconds, nodes = self.budget.total_seconds, self.budget.total_nodes
        if seconds is not None:
            seconds = max(0.0, seconds - (time.monotonic() - self._started))
        if nodes is not None:
            nodes = max(0, nodes - self._nodes)
        return msgspec.structs.replace(
            self.budget, total_seconds=seconds, total_nodes=nodes
        )

    def _progress_from(self, start: int) -> Progress | None:
        if self._progress is None:
            return None
        return lambda done, _: self.report(start + done)
