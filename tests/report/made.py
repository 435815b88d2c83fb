"""A report made by hand, on a model that reads an age and a sex."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.people import People
from fatt.region import Schema, Similarity, Variables
from fatt.report import Report
from fatt.verdict import BUDGET, Findings, Twins, pack
from fatt.verifier import Budget

AGES = [20, 30, 40, 50, 60]
SEXES = ["F", "M", "F", "M", "M"]
CITIES = ["Ulm", "Ulm", "Bonn", None, "Bonn"]


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {"age": AGES, "sex": SEXES, "city": CITIES}, index=list("abcde")
    )


def variables() -> Variables:
    encode = make_column_transformer(
        (OneHotEncoder(), ["sex"]), ("passthrough", ["age"]), sparse_threshold=0
    )
    model = make_pipeline(encode, DecisionTreeClassifier(random_state=0))
    people = frame()
    model.fit(people, ["deny", "deny", "grant", "grant", "grant"])
    ensemble = fatt.load(model).ensemble
    return Variables(ensemble, Schema.infer(ensemble, people))


def twins(values: Any) -> Twins:
    """Rows 1, 2 and 4 are unfair: their twins differ in 2, 1 and 1 variables."""
    unfair = np.array([1, 2, 4])
    people = values[unfair]
    others = people.copy()
    others[0] += [2, -1]
    others[1, 0] -= 5
    others[2, 0] -= 3
    return Twins.of(
        index=unfair,
        people=people,
        twins=others,
        label=np.array([0, 1, 1]),
        twin_label=np.array([1, 0, 0]),
    ).confirmed(np.array([1, 0, 0]), True)


def report(table: Any = None, **changes: Any) -> Report:
    names = variables()
    people = People(frame() if table is None else table, names)
    found = twins(People(frame(), names).values(0, 5))
    possible = np.array([[1, 0], [1, 1], [1, 1], [0, 1], [1, 1]], dtype=bool)
    possible[3] = True
    arguments: dict[str, Any] = {
        "findings": Findings(
            verdict=np.array([0, 1, 1, 2, 1], dtype=np.int8),
            label=np.array([0, 0, 1, 1, 1], dtype=np.int32),
            possible=pack(possible),
            nodes=np.array([0, 3, 1, 100, 2]),
            stopped=np.array([0, 0, 0, BUDGET, 0], dtype=np.uint8),
            twins=found,
            classes=names.model.classes,
        ),
        "people": people,
        "similarity": Similarity(noise={"age": 5}, vary=["sex"]),
        "budget": Budget(nodes=100),
    }
    return Report(**arguments | changes)
