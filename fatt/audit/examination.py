"""Some people examined: searched, and their twins replayed."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.audit.job import Chunk, Job
from fatt.audit.membership import are_similar
from fatt.audit.replay import BUG, Replay
from fatt.errors import ReplayError
from fatt.report import Twins
from fatt.report.findings import pack
from fatt.verdict import UNFAIR
from fatt.verifier import Budget


@dataclass(frozen=True, eq=False)
class Found:
    """What was found out about some people, rows `start` to `stop`.

    Small, so that it can be kept in a file or sent between processes.

    Attributes
    ----------
    start, stop
        The rows.
    verdict : ndarray of shape (n_people,), int8
        Position of each verdict in `fatt.verdict.VERDICTS`.
    label : ndarray of shape (n_people,), int32
        Position of the person's own label among the model's classes.
    possible : ndarray of shape (n_people, ceil(n_classes / 8)), uint8
        The classes still possible, packed into bits.
    nodes : ndarray of shape (n_people,), int64
        How many nodes the search took.
    twins
        The unfair people and their twins.
    """

    start: int
    stop: int
    verdict: NDArray[np.int8]
    label: NDArray[np.int32]
    possible: NDArray[np.uint8]
    nodes: NDArray[np.int64]
    twins: Twins

    def moved(self, by: int) -> Found:
        """Return the same about rows so much further on."""
        twins = replace(self.twins, index=self.twins.index + by)
        return replace(self, start=self.start + by, stop=self.stop + by, twins=twins)


class Examiner:
    """Searches for counterexamples of the people of a job, and replays them.

    Parameters
    ----------
    job
        The people, and who is similar to whom.
    replay
        Asks the model itself.
    """

    def __init__(self, job: Job, replay: Replay) -> None:
        self._job = job
        self._replay = replay

    def about(self, rows: Any, budget: Budget) -> Examiner:
        """Return an examiner of other people, for whom all is prepared already."""
        other = copy.copy(self)
        other._job = self._job.about(rows, budget)
        return other

    def examine_all(self) -> Found:
        """Find out what can be found out about all people at once, in one thread."""
        return self.examine(self._job.chunk(0, len(self._job.people)), 1)

    def examine(self, chunk: Chunk, n_threads: int) -> Found:
        """Find out what can be found out about some people.

        Parameters
        ----------
        chunk
            The people.
        n_threads
            Number of threads.

        Raises
        ------
        ReplayError
            If the model itself denies a counterexample.
        """
        outcomes = self._job.search(chunk.values, chunk.boxes, n_threads=n_threads)
        unfair = np.flatnonzero(outcomes.verdict == UNFAIR)
        index, people = chunk.start + unfair, chunk.values[unfair]
        twins, label = outcomes.twin[unfair], outcomes.label[unfair]
        twin_label, on_model = label, False
        if unfair.size:
            features = self._job.variables.ensemble.features
            is_similar = are_similar(chunk.boxes, unfair, twins, features)
            if not is_similar.all():
                raise ReplayError(
                    f"row {index[np.argmin(is_similar)]}: the twin that was found is "
                    f"not similar. {BUG}"
                )
            twin_label, on_model = self._replay.twins(
                self._job.people, index, people, twins, label
            )
        return Found(
            start=chunk.start,
            stop=chunk.stop,
            verdict=outcomes.verdict,
            label=outcomes.label.astype(np.int32),
            possible=pack(outcomes.labels),
            nodes=outcomes.nodes,
            twins=Twins.of(
                index=index,
                people=people,
                twins=twins,
                label=label,
                twin_label=twin_label,
                on_model=on_model,
            ),
        )
