"""Veritas, asked about the same people and boxes as ours."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Cut, Ensemble
from fatt.region import (
    Boxes,
    Neighbourhood,
    Number,
    OneHot,
    Relation,
    Schema,
    Variables,
)
from fatt.region.kinds import AnyVariable
from fatt.verdict import FAIR, UNFAIR, UNKNOWN

#: Seconds of processor time for one person.
LIMIT = 5.0


class Times(NamedTuple):
    """What one side said, and its milliseconds of processor time for each person."""

    verdicts: list[int]
    each: list[float]
    mean: float

    def cells(self) -> list[str]:
        """Return the share that was solved, the mean, the median and the maximum."""
        solved = 100 * np.mean(np.array(self.verdicts) != UNKNOWN)
        numbers = (self.mean, np.median(self.each), max(self.each))
        return [f"{solved:.0f} %", *(f"{number:.3g}" for number in numbers)]


def pick(boxes: Boxes, people: Any) -> Boxes:
    """Return the boxes of some people, who are then counted from 0."""
    mine = np.isin(boxes.person, people)
    return Boxes(
        np.searchsorted(people, boxes.person[mine]),
        boxes.lower[mine],
        boxes.upper[mine],
        boxes.missing[mine],
        boxes.codes[mine],
    )


class Veritas:
    """Veritas for one relation, and for all classes of one's own when they are needed.

    A variable of several columns that does not vary stays columns: Veritas would need a
    copy of a subtree for every interval of its levels.
    """

    def __init__(
        self, model: Ensemble, schema: Schema, relation: Relation, focal: float
    ) -> None:
        varied = {name for one in relation.alternatives for name, _ in one.vary}
        variables: list[AnyVariable] = []
        for variable in schema.variables:
            if isinstance(variable, OneHot) and variable.name not in varied:
                columns = variable.columns
                variables += [Number(name=name, columns=(name,)) for name in columns]
            else:
                variables.append(variable)
        parted = Schema(columns=schema.columns, variables=tuple(variables))
        self.variables = Variables(model, parted)
        self.ensemble = self.variables.ensemble
        # What does not depend on people is prepared once, as in our auditor.
        self.space = Neighbourhood(relation, self.variables)
        self.focal = focal
        self.peers: dict[int, Any] = {}

    def ask(self, rows: Any) -> Times:
        """Ask about each person."""
        values = self.variables.gather(self.variables.model.read(rows))
        boxes = self.space.boxes(values)
        return self.times(self.ensemble.decide(values), boxes)

    def times(self, labels: NDArray[np.int64], boxes: Boxes) -> Times:
        """Ask about people with these boxes."""
        from tests.veritas_peer import Peer

        verdicts, each = [], []
        for person, own in enumerate(labels.tolist()):
            if own not in self.peers:
                self.peers[own] = Peer(self.ensemble, own, 1 - own, missing=False)
            start = time.process_time()
            verdicts.append(self._verdict(own, pick(boxes, [person])))
            each.append(1000 * (time.process_time() - start))
        return Times(verdicts, each, float(np.mean(each)))

    def _verdict(self, own: int, boxes: Boxes) -> int:
        # Far below any difference of leaves: at a tie the library's rule decides.
        at = -1e-9 if self._wins_ties(1 - own) else 1e-9
        stop = time.process_time() + LIMIT
        for box in range(len(boxes)):
            left = stop - time.process_time()
            answer = self.peers[own].reaches(
                boxes, box, at=at, seconds=left, focal=self.focal
            )
            if answer is None:
                return UNKNOWN
            if answer:
                return UNFAIR
        return FAIR

    def _wins_ties(self, label: int) -> bool:
        decision = self.ensemble.decision
        if isinstance(decision, Cut):
            return label == 1
        assert isinstance(decision, Argmax)
        return (label == 0) == (decision.ties == "first")
