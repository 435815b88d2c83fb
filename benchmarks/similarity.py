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
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import fatt
from benchmarks import paper
from benchmarks.output import print_table, progress
from benchmarks.paper.setting import fit
from fatt.region import (
    Boxes,
    Neighbourhood,
    Number,
    Relation,
    Schema,
    Similarity,
    Variables,
)
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

    def boxes(self, similarity: Relation) -> Boxes:
        """Return where the people may move, and how much they may spend."""
        return Neighbourhood(similarity, self.variables).boxes(self.people)

    def questions(self) -> Iterator[tuple[str, Relation, bool]]:
        """Yield what is asked, and whether it is a box that others are compared to."""
        for noise, vary in ((0.3, []), (0.3, self.categories)):
            title = f"{noise} sd" + " and categories" * bool(vary)
            box = Similarity(noise=dict.fromkeys(self.numbers, noise), vary=vary)
            yield title, box, True
            for most in (1, 2, 3):
                some = Similarity(**box.plain() | {"at_most": most})
                yield f"at most {most} of {title}", some, False
        for limit in (0.3, 1.0):
            box = Similarity(noise=dict.fromkeys(self.numbers, limit))
            yield f"{limit} sd", box, True
            distance = dict.fromkeys(self.numbers, 1)
            for norm in ("l1", "l2"):
                ball = Similarity(distance=distance, limit=limit, norm=norm)
                yield f"{norm} of {limit} sd", ball, False


def _model(name: str, kind: str) -> Any:
    if kind != "forest100":
        return fit(name, kind)
    data = paper.people(name)
    forest = RandomForestClassifier(100, max_depth=10, random_state=0, n_jobs=2)
    forest.fit(data.train.to_numpy(), data.label)
    # Trained by two threads, asked by one: then sums have an order.
    forest.n_jobs = None
    return forest


def measure(world: World, similarity: Relation, seconds: float) -> tuple[float, Any]:
    """Return the milliseconds for each person, and what was found."""
    least = np.inf
    for _ in range(ROUNDS):
        begin = time.process_time()
        boxes = world.boxes(similarity)
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
        for title, similarity, is_box in world.questions():
            each, found = measure(world, similarity, options.seconds)
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
