"""Random tables with every kind of column, and trees for them, to train on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator

from fatt.region import Relation, Schema, Similarity
from fatt.train.fitness import Limits, Objective
from fatt.train.genome import Genome, join, leaf
from fatt.train.people import Labels, People, gather_people
from fatt.train.splits import blank_tree
from fatt.train.training_set import UNITS, TrainingSet

JOBS = ("clerk", "cook", "nurse", "pilot", "smith")


class Case(NamedTuple):
    """Random people, and what is asked about them."""

    people: People
    objective: Objective
    rng: Generator


def table(rng: Generator, n_people: int) -> pd.DataFrame:
    """Return numbers, whole numbers, categories, flags, and cells that are missing."""
    pay = rng.normal(size=n_people).round(1)
    job = rng.choice(JOBS, n_people).astype(object)
    town = rng.integers(3, size=n_people)
    if rng.random() < 0.5:
        pay[rng.random(n_people) < 0.2] = np.nan
        job[rng.random(n_people) < 0.2] = None
    # A relation may name any of them.
    job[: len(JOBS)], town[:3] = JOBS, range(3)
    return pd.DataFrame(
        {
            "pay": pay,
            "age": rng.integers(18, 30, n_people),
            "job": job,
            "sex": np.resize(rng.permutation(["F", "M"]), n_people),
            **{f"town={name}": (town == name).astype(float) for name in range(3)},
        }
    )


def relation(rng: Generator) -> Relation:
    """Return a similarity, or a union of two."""
    found = []
    for _ in range(1 + int(rng.integers(2))):
        vary: dict[str, object] = {"sex": "known"} if rng.random() < 0.5 else {}
        if rng.random() < 0.4:
            vary["job"] = rng.permutation(JOBS)[: rng.integers(1, 5)].tolist()
        if rng.random() < 0.3:
            vary["town"] = "known"
        found.append(
            Similarity(
                noise={
                    "age": int(rng.integers(4)),
                    "pay": float(rng.choice([0.1, 0.5])),
                },
                vary=vary,
                missing=["pay", "job"] if rng.random() < 0.3 else [],
                where={"age": "<= 24"} if rng.random() < 0.3 else None,
            )
        )
    return found[0] if len(found) == 1 else found[0] | found[1]


def random_case(seed: int, *, n_people: int = 24) -> Case:
    """Return people with weights and two or three classes."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + int(rng.integers(2))
    X = table(rng, n_people)
    codes = np.concatenate(
        [np.arange(n_classes), rng.integers(n_classes, size=n_people - n_classes)]
    )
    blank = blank_tree(X, list(X.columns), named=True, classes=tuple(range(n_classes)))
    people = gather_people(
        X,
        Labels(
            np.arange(n_classes),
            codes,
            rng.integers(0 if seed % 2 else 1, 4, n_people) + (codes == 0) * 1.0,
            np.ones(n_classes),
        ),
        blank=blank,
        schema=Schema.infer(blank, X),
        similarity=relation(rng),
        balance=float(rng.random()),
    )
    training_set = TrainingSet.of(
        people, max_bins=int(rng.integers(2, 9)), split_on_varying=bool(seed % 3)
    )
    shares = rng.dirichlet(np.ones(n_classes), n_people)
    worth = people.worth if rng.random() < 0.5 else people.valued(shares)
    objective = Objective(
        training_set,
        np.rint(worth * UNITS).astype(np.int64),
        float(rng.random()),
        float(rng.random() * 3),
        Limits(12, 5, 1 + int(rng.integers(4))),
    )
    return Case(people, objective, rng)


def random_tree(case: Case, depth: int = 4) -> Genome:
    """Return a tree that knows nothing, down to some depth."""
    people, rng = case.objective.people, case.rng
    if depth == 0 or rng.random() < 0.25:
        return leaf(int(rng.integers(people.n_classes)))
    return join(
        int(rng.integers(people.n_splits)),
        random_tree(case, depth - 1),
        random_tree(case, depth - 1),
    )


def full_tree(case: Case, depth: int) -> Genome:
    """Return a tree that knows nothing, with all the leaves of some depth."""
    people, rng = case.objective.people, case.rng
    if depth == 0:
        return leaf(int(rng.integers(people.n_classes)))
    sides = (full_tree(case, depth - 1) for _ in range(2))
    return join(int(rng.integers(people.n_splits)), *sides)
