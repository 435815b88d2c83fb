"""How long budgets take: at most so many attributes, and distances with a limit.

Run ``python -m benchmarks.similarity`` from the repository root. Each question is asked
beside the box with the same outer bounds, in one process on one thread, and all people
in one call: what counts is the ratio. Numbers are in standard deviations, as the paper
scales them. The result is Markdown: how many are fair and unknown, the milliseconds of
processor time for each person, the nodes, and the ratio to the box.

``--people 200`` asks more people, ``--case crime-forest`` only the models whose names
contain the word, ``--seconds 1`` gives up on a person sooner.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import fatt
from benchmarks import paper
from benchmarks.output import print_table, progress
from benchmarks.paper.setting import fit
from fatt.region import Boxes, Neighbourhood, Number, Schema, Similarity, Variables
from fatt.region.costs import COST, COUNT, LINEAR, SQUARE, STEPS, Costs
from fatt.verifier import Budget, Verifier

MODELS = (
    ("crime", "forest"),
    ("crime", "xgb100"),
    ("crime", "lgbm100"),
    ("adult", "forest100"),
    ("adult", "xgb300"),
    ("adult", "lgbm100"),
)
TITLES = ["model", "question", "fair", "unknown", "ms", "nodes", "ratio"]

#: Each question is asked so often; the fastest counts.
ROUNDS = 3


class World:
    """A model, some people, and boxes around them."""

    def __init__(self, name: str, kind: str, n_people: int) -> None:
        ensemble = fatt.load(_model(name, kind)).ensemble
        data = paper.people(name)
        self.variables = Variables(ensemble, Schema.infer(ensemble, data.train))
        self.verifier = Verifier(self.variables.ensemble)
        self.people = self.variables.gather(ensemble.read(data.test[:n_people]))
        self.numbers = data.notes["numeric"]["names"]
        every = self.variables.schema.variables
        self.categories = [
            one.name
            for one in every
            if one.name not in self.numbers and not isinstance(one, Number)
        ]

    def boxes(self, noise: float, vary: list[str]) -> Boxes:
        """Return the boxes that noise on all numbers, and some categories, allow."""
        similarity = Similarity(noise=dict.fromkeys(self.numbers, noise), vary=vary)
        return Neighbourhood(similarity, self.variables).boxes(self.people)

    def costs(
        self, boxes: Boxes, names: list[str], most: int, kind: int, scale: float
    ) -> Costs:
        """Return one budget for all boxes: named variables cost something."""
        every = self.variables.schema.variables
        each = np.zeros((1, len(every)), dtype=COST)
        for place, variable in enumerate(every):
            if variable.name in names:
                each[0, place] = (scale, kind, 1, 0)
        return Costs(
            rule=np.zeros(len(boxes), dtype=np.int64),
            most=np.full(len(boxes), most, dtype=np.int64),
            each=each,
            tables=np.zeros(0, dtype=np.int64),
            people=self.people.copy(),
        )

    def questions(self) -> Iterator[tuple[str, Boxes, bool]]:
        """Yield what is asked, and whether it is a box that others are compared to."""
        for noise, vary in ((0.3, []), (0.3, self.categories)):
            box = self.boxes(noise, vary)
            title = f"{noise} sd" + " and categories" * bool(vary)
            yield title, box, True
            for most in (1, 2, 3):
                named = [*self.numbers, *vary]
                costs = self.costs(box, named, most, COUNT, 0.0)
                yield f"at most {most} of {title}", replace(box, costs=costs), False
        for noise in (0.3, 1.0):
            box = self.boxes(noise, [])
            yield f"{noise} sd", box, True
            for norm, kind, steps in (("l1", LINEAR, 2.0**48), ("l2", SQUARE, 2.0**24)):
                costs = self.costs(box, self.numbers, STEPS, kind, steps / noise)
                yield f"{norm} of {noise} sd", replace(box, costs=costs), False


def _model(name: str, kind: str) -> Any:
    if kind != "forest100":
        return fit(name, kind)
    data = paper.people(name)
    forest = RandomForestClassifier(100, max_depth=10, random_state=0, n_jobs=2)
    forest.fit(data.train.to_numpy(), data.label)
    # Trained by two threads, asked by one: then sums have an order.
    forest.n_jobs = None
    return forest


def measure(world: World, boxes: Boxes, seconds: float) -> tuple[float, Any]:
    """Return the milliseconds for each person, and what was found."""
    least = np.inf
    for _ in range(ROUNDS):
        begin = time.process_time()
        found = world.verifier.verify(
            world.people, boxes, budget=Budget(seconds=seconds)
        )
        spent = time.process_time() - begin
        least = min(least, spent)
        if spent > seconds:
            break
    return 1000 * float(least) / len(world.people), found


def main() -> None:
    """Measure the models that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--case", default="")
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    lines = []
    for name, kind in MODELS:
        if options.case not in f"{name}-{kind}":
            continue
        world, base = World(name, kind, options.people), 1.0
        for title, boxes, is_box in world.questions():
            each, found = measure(world, boxes, options.seconds)
            base = each if is_box else base
            counts = np.bincount(found.verdict, minlength=3) / len(world.people)
            lines.append(
                [
                    f"{name}-{kind}",
                    title,
                    f"{100 * counts[0]:.0f} %",
                    f"{100 * counts[2]:.0f} %",
                    f"{each:.3g}",
                    str(int(found.nodes.sum())),
                    f"{each / base:.3g}",
                ]
            )
            progress(" ".join(lines[-1]))
    print_table(TITLES, lines)


if __name__ == "__main__":
    main()
