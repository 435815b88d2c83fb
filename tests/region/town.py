"""A small model with one variable of every kind, and points in its space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fatt.ensemble import (
    Categorical,
    Cut,
    Ensemble,
    Feature,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from fatt.region import (
    Binary,
    Category,
    Integer,
    Number,
    OneHot,
    Ordinal,
    Schema,
    Variables,
)
from fatt.region.kinds import AnyVariable

UNKNOWN = "<unknown>"
CITIES = tuple(f"city {number}" for number in range(70))

FEATURES: tuple[Feature, ...] = (
    Numeric(name="age"),
    Numeric(name="income", lower=-1000.0, upper=1000.0, accepts_missing=False),
    Numeric(name="score", missing_range=(-1.0, -1.0)),
    Numeric(name="ratio", lower=0.0, upper=9.0, missing_range=(math.inf, math.inf)),
    Numeric(name="grade"),
    Categorical(name="size", categories=("L", "M", "S", "other")),
    Categorical(name="city", categories=CITIES),
    Numeric(name="race=A"),
    Numeric(name="race=B"),
    Numeric(name="sex=male"),
    Numeric(name="job x"),
    Numeric(name="job y"),
)

VARIABLES: tuple[AnyVariable, ...] = (
    Integer(name="age", columns="age", lower=0, upper=120, sd=2.5),
    Number(name="income", columns="income", lower=0.0),
    Number(name="score", columns="score", sd=0.5),
    Number(name="ratio", columns="ratio"),
    Ordinal(name="grade", columns="grade", levels=(1, 2, 5), unknown_value=-7.0),
    Ordinal(name="size", columns="size", levels=("S", "M", "L")),
    Category(name="city", columns="city"),
    OneHot(
        name="race", columns=("race=A", "race=B"), levels=("A", "B"), dropped="neither"
    ),
    Binary(name="sex", columns="sex=male", levels=("not male", "male")),
    OneHot(
        name="job", columns=("job x", "job y"), levels=("x", "y"), accepts_unknown=True
    ),
)

NAMES = [variable.name for variable in VARIABLES]

#: The values worth trying; None is missing.
POINTS: dict[str, list[Any]] = {
    "age": [0, 1, 17, 18, 19, 20, 21, 25, 37, 38, 119, 120, None],
    "income": [0.0, 1.0, 18.0, 37.0, 38.5, 499.0, 500.0, 501.0, 997.0, 1000.0],
    "score": [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 30.0, 37.0, math.inf, -math.inf, None],
    "ratio": [0.0, 0.25, 1.0, 8.0, 9.0, math.inf, None],
    "grade": [1, 2, 5, UNKNOWN, None],
    "size": ["S", "M", "L", "other", UNKNOWN, None],
    "city": ["city 0", "city 1", "city 63", "city 64", "city 69", UNKNOWN, None],
    "race": ["A", "B", "neither", None],
    "sex": ["not male", "male", None],
    "job": ["x", "y", UNKNOWN, None],
}


def make(features: tuple[Feature, ...] = FEATURES, *, named: bool = True) -> Ensemble:
    """A model of one leaf: only its columns matter."""
    from fatt.ensemble import Inputs

    return Ensemble(
        features=features,
        classes=(0, 1),
        trees=Trees.lay_out(
            roots=[0],
            feature=[-1],
            threshold=[0.0],
            left=[-1],
            right=[-1],
            missing_left=[False],
            leaf=[0],
            values=[1.0],
            targets=[0],
        ),
        scoring=Scoring(dtype="float64", base=(0.0,)),
        decision=Cut(at=0.5),
        source=Source(library="test"),
        inputs=Inputs(named=named),
    )


def schema() -> Schema:
    return Schema(
        columns=tuple(feature.name for feature in FEATURES), variables=VARIABLES
    )


def variables() -> Variables:
    return Variables(make(), schema())


def encode(points: list[list[Any]], of: Variables) -> np.ndarray[Any, Any]:
    """Turn points into numbers and codes, by the documented meaning of codes."""
    rows = np.empty((len(points), len(NAMES)))
    for row, point in enumerate(points):
        for index, (cell, feature) in enumerate(
            zip(point, of.ensemble.features, strict=True)
        ):
            if cell is None:
                rows[row, index] = np.nan
            elif isinstance(feature, Numeric):
                rows[row, index] = cell
            elif cell == UNKNOWN:
                rows[row, index] = len(feature.categories)
            else:
                rows[row, index] = feature.categories.index(cell)
    return rows
