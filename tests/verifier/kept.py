"""Questions whose answers are kept byte for byte, and how they are asked.

A file of `tests/data/verdicts` holds an ensemble over variables, people, their boxes,
and what the search answered: verdicts, labels, possible labels, twins and node counts,
under several budgets. Nothing is trained or drawn when the tests run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.ensemble.file import from_bytes, to_bytes
from fatt.region import Boxes
from fatt.verifier import Budget, Verifier
from fatt.verifier.gears import Gears
from tests.cases import arrays_of

FOLDER = Path(__file__).parent.parent / "data" / "verdicts"

BOXES = ("person", "lower", "upper", "missing", "codes")
EXTREMES = ("lowest_at", "highest_at", "nodes")

#: Enough for most, too little for some, and a total that ends in the middle.
BUDGETS = {
    "long": Budget(nodes=2000),
    "short": Budget(nodes=12),
    "total": Budget(nodes=200, total_nodes=60),
}

#: How many people are asked for their extremes, and with which budget.
N_STRETCHED, STRETCH = 4, Budget(nodes=400)

#: Gears that start at once, and gears that stay off, under a budget of their own.
GEARS = {
    "eager": Gears(dual_after=0, restart_at=2),
    "plain": Gears(
        screen=False, only_tree=False, move_once=False, local_sweeps=0, score_cuts=False
    ),
    "narrow": Gears(
        screen=False, dual_after=3, dual_sweeps=2, dual_gain=1, room=4, ties=1
    ),
}
GEARED = Budget(nodes=60)

Arrays = dict[str, NDArray[Any]]


class Question(NamedTuple):
    """An ensemble over variables, people, and where each may move."""

    ensemble: Ensemble
    people: NDArray[np.float64]
    boxes: Boxes

    def to_arrays(self) -> Arrays:
        """Return the arrays from which `read` makes the same question."""
        packed = np.frombuffer(to_bytes(self.ensemble), dtype=np.uint8)
        boxes = {name: getattr(self.boxes, name) for name in BOXES}
        return {"ensemble": packed, "people": self.people, **boxes}


def read(arrays: Any) -> Question:
    """Make the question that `Question.to_arrays` took apart."""
    return Question(
        from_bytes(arrays["ensemble"].tobytes()),
        arrays["people"],
        Boxes(*(arrays[name] for name in BOXES)),
    )


def answers(question: Question, n_jobs: int | None = None) -> Iterator[tuple[str, Any]]:
    """Ask, and yield everything that is answered, by name."""
    verifier = Verifier(question.ensemble)
    people, boxes = question.people, question.boxes
    for name, budget in BUDGETS.items():
        found = verifier.verify(people, boxes, budget=budget, n_jobs=n_jobs)
        for field, array in arrays_of(found).items():
            # How far threads get beyond the end of a total is a matter of chance.
            if field != "nodes" or budget.total_nodes is None:
                yield f"{name}.{field}", array
    for name, gears in GEARS.items():
        shifted = Verifier(question.ensemble, gears=gears)
        found = shifted.verify(people, boxes, budget=GEARED, n_jobs=n_jobs)
        for field, array in arrays_of(found).items():
            yield f"{name}.{field}", array
        yield f"{name}.tally", np.array(shifted.tally)
    few = np.arange(min(N_STRETCHED, len(people)))
    output = len(question.ensemble.scoring.base) - 1
    ends = verifier.extremes(
        people[few], boxes.of_people(few), output, budget=STRETCH, n_jobs=n_jobs
    )
    for field in EXTREMES:
        yield f"extremes.{field}", getattr(ends, field)
    for side in ("lowest", "highest"):
        for field in ("lower", "upper"):
            yield f"extremes.{side}.{field}", getattr(getattr(ends, side), field)


def same_bytes(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Tell whether two arrays agree in type, shape and every bit, signs of zero too."""
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.tobytes() == other.tobytes()
    )
