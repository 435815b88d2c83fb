"""One cell at a time: a model of the paper, and what is measured of it.

A cell is kept as a line of JSON as soon as it is there, so that a long run can be
interrupted and taken up again.
"""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score

import fatt
from benchmarks.paper import setting, training
from benchmarks.paper.ties import fair_with_ties_apart
from fatt import Budget
from fatt.region import Neighbourhood, Relation, Variables
from fatt.verifier import Verifier

#: Seconds for each person; who is not decided by then is unknown.
BUDGET = Budget(seconds=10)

#: So many people are timed.
TIMED = 1000

#: The forest of health has 2.5 million leaves. Of the test people, who are in random
#: order, only so many are verified for it, and fewer of them timed.
FEWER = {"cat": 10_000, "noise": 10_000, "noise-cat": 1000}
TIMED_OF_FEWER = 100

#: Forests and trees as scikit-learn has them, and with the paper's votes: each tree
#: for all classes that have the most people in its leaf, ties to the positive class.
FIXED = ("forest votes", "forest", "tree votes", "tree")

#: The paper's training and our default, and CART with the hints of either.
TRAINED = ("fatt paper", "hinted paper", "fatt", "hinted")

#: What the relation of a cell is called that measures the model itself.
QUALITY = "quality"

Result = dict[str, Any]


class Cell(NamedTuple):
    """A model of a data set, and the relation it is verified for, or `QUALITY`."""

    data: str
    model: str
    seed: int
    relation: str

    def __str__(self) -> str:
        return f"{self.data}, {self.model}, seed {self.seed}: {self.relation}"


class Results:
    """All cells that were measured, in a file of one line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[Cell, Result] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                *cell, result = json.loads(line)
                self.known[Cell(*cell)] = result

    def keep(self, cell: Cell, result: Result) -> None:
        """Write the cell down at once."""
        self.known[cell] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([*cell, result]) + "\n")

    def of(self, data: str, model: str, relation: str) -> list[Result]:
        """Return what was measured, for each seed."""
        return [
            self.known[cell]
            for cell in sorted(self.known)
            if (cell.data, cell.model, cell.relation) == (data, model, relation)
        ]


def cells_of(data: str, models: dict[str, int], folder: Path) -> Iterator[Cell]:
    """Yield the cells of some models of a data set, for so many seeds of each."""
    relations = [QUALITY, *setting.similarities(data, folder)]
    # Seed by seed, so that a hinted tree comes right after the one that hints.
    for seed in range(max(models.values())):
        for model, n_seeds in models.items():
            if seed < n_seeds:
                yield from (Cell(data, model, seed, name) for name in relations)


def measure(cell: Cell, folder: Path) -> Result:
    """Train the model, if it is not the last one that was trained, and measure."""
    kind = cell.model.removesuffix(" votes")
    model, seconds = trained(cell.data, kind, cell.seed, folder)
    loaded = fatt.load(model).ensemble
    if cell.model.endswith(" votes"):
        model = loaded = loaded.hard_votes()
    people = setting.people(cell.data, folder)
    if cell.relation == QUALITY:
        labels = ask(model, people.test)
        return {
            "accuracy": round(100 * float(np.mean(labels == people.test_label)), 2),
            "balanced": round(
                100 * balanced_accuracy_score(people.test_label, labels), 2
            ),
            "leaves": loaded.trees.n_leaves,
            "seconds": round(seconds, 2),
        }
    similarity = setting.similarities(cell.data, folder)[cell.relation]
    schema = setting.schema(cell.data, loaded, folder)
    n_timed = TIMED
    if (cell.data, kind) == ("health", "forest"):
        people = people._replace(test=people.test[: FEWER[cell.relation]])
        n_timed = TIMED_OF_FEWER
    # The models are fitted to the columns of the table, in its order.
    report = fatt.verify(
        model,
        people.test,
        similarity=similarity,
        schema=schema,
        by_position=True,
        budget=BUDGET,
    )
    variables = Variables(loaded, schema)
    ms = milliseconds(variables, similarity, people.test[:n_timed])
    result = {**report.counts, "ms": round(ms, 4)}
    if cell.relation == "cat":
        result["enumerated"] = enumerate_values(model, people)
    if (cell.model, cell.relation) == ("tree", "noise-cat"):
        result["ties apart"] = fair_with_ties_apart(model, people)
    return result


def milliseconds(variables: Variables, similarity: Relation, rows: Any) -> float:
    """Time the search, for one person in the mean, on one thread."""
    verifier = Verifier(variables.ensemble)
    values = variables.gather(variables.model.read(rows))
    boxes = Neighbourhood(similarity, variables).boxes(values)
    start = time.perf_counter()
    verifier.verify(values, boxes, budget=BUDGET, n_jobs=1)
    return 1000 * (time.perf_counter() - start) / len(values)


def enumerate_values(model: Any, people: setting.People) -> int:
    """Count the people whose label no value of the sensitive attributes changes.

    By asking the model for each value: `cat` is finite, so that this checks us.
    """
    own, constant = ask(model, people.test), np.ones(len(people.test), dtype=bool)
    groups = people.notes["similarity"]["cat"]["columns"]
    values = [
        np.array([[0.0], [1.0]]) if len(group) == 1 else np.eye(len(group))
        for group in groups
    ]
    columns = [column for group in groups for column in group]
    for choice in itertools.product(*values):
        twins = people.test.copy()
        twins.iloc[:, columns] = np.concatenate(choice)
        constant &= ask(model, twins) == own
    return int(constant.sum())


def ask(model: Any, rows: pd.DataFrame) -> NDArray[Any]:
    """Return the model's own labels; most were trained without names of columns."""
    named = hasattr(model, "feature_names_in_")
    return np.asarray(model.predict(rows if named else rows.to_numpy()))


@functools.lru_cache(maxsize=1)
def trained(data: str, model: str, seed: int, folder: Path) -> tuple[Any, float]:
    """Train a model; return also the seconds it took."""
    start = time.perf_counter()
    if model.startswith(("fatt", "hinted")):
        fitted = training.fit(data, model, seed, folder)
    else:
        fitted = setting.fit(data, model, folder)
    return fitted, time.perf_counter() - start
