"""A made-up bank for ``fatt audit --demo``: a model, and people who want a loan."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Cut, Ensemble, Numeric, Scoring, Source, Trees
from fatt.people.files import Cells, Table

#: What `--demo` audits if no option says otherwise.
NOISE, VARY = ("age=2", "income=5%"), ("sex",)
#: Why nothing else than what is proved about could be asked.
NO_LIBRARY = "the bank is made up, and its model was written for fatt"

_SEXES = ("female", "male")
_DISTRICTS = ("harbour", "hill", "old town")
_FEATURES = (
    Numeric(name="age", accepts_missing=False),
    Numeric(name="income", accepts_missing=False),
    Numeric(name="years_in_job", accepts_missing=False),
    Categorical(
        name="sex",
        categories=_SEXES,
        accepts_missing=False,
        accepts_unknown=False,
    ),
    Categorical(
        name="district",
        categories=_DISTRICTS,
        accepts_missing=False,
        accepts_unknown=False,
    ),
)
_AGE, _INCOME, _YEARS, _SEX, _DISTRICT = range(len(_FEATURES))

#: Each tree asks: is this at most that, or in that set? If so, the first part counts,
#: which asks again or is a score; if not, the second.
_TREES: tuple[Any, ...] = (
    (_INCOME, 31.5, (_YEARS, 3, -1.2, -0.3), (_INCOME, 58.0, 0.4, 1.3)),
    (_AGE, 25, (_INCOME, 40.0, -0.9, -0.1), (_AGE, 61, 0.3, -0.4)),
    (_SEX, {"female"}, (_YEARS, 6, -0.35, 0.1), (_YEARS, 2, 0.05, 0.3)),
    (_DISTRICT, {"harbour"}, (_INCOME, 45.0, -0.5, 0.2), (_AGE, 33, 0.0, 0.25)),
    (_YEARS, 1, (_SEX, {"female"}, -0.5, -0.15), (_INCOME, 27.0, -0.2, 0.2)),
)
_N_PEOPLE = 1_000


def model() -> Ensemble:
    """Return a small boosted model that grants or denies a loan."""
    forest = _Forest()
    roots = [forest.add(tree) for tree in _TREES]
    columns = {name: [node[name] for node in forest.nodes] for name in forest.nodes[0]}
    return Ensemble(
        features=_FEATURES,
        classes=("denied", "granted"),
        trees=Trees.lay_out(
            roots=roots,
            missing_left=[False] * len(forest.nodes),
            values=forest.values,
            targets=[0] * len(roots),
            sets=forest.sets,
            **columns,
        ),
        scoring=Scoring(dtype="float64", base=(0.0,)),
        decision=Cut(at=0.0),
        source=Source(library="fatt", model="demonstration"),
    )


class _Forest:
    """Trees as `Trees.lay_out` takes them, from those that are written above."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.sets: list[NDArray[np.bool_]] = []
        self.values: list[float] = []

    def add(self, tree: Any) -> int:
        """Add a tree, or a leaf, and return the place of its root."""
        place = len(self.nodes)
        node = {"feature": -1, "threshold": 0.0, "left": -1, "right": -1}
        self.nodes.append({**node, "leaf": -1, "subset": -1})
        if isinstance(tree, float):
            self.nodes[place]["leaf"] = len(self.values)
            self.values.append(tree)
            return place
        feature, cut, low, high = tree
        self.nodes[place]["feature"] = feature
        if isinstance(cut, set):
            self.nodes[place]["subset"] = len(self.sets)
            known = {_SEX: _SEXES, _DISTRICT: _DISTRICTS}[feature]
            self.sets.append(np.array([*(label in cut for label in known), False]))
        else:
            self.nodes[place]["threshold"] = float(cut)
        self.nodes[place]["left"] = self.add(low)
        self.nodes[place]["right"] = self.add(high)
        return place


def people() -> Table:
    """Return made-up people, the same ones every time."""
    rng = np.random.default_rng(2021)
    age = rng.integers(18, 80, _N_PEOPLE)
    sex = rng.choice(_SEXES, _N_PEOPLE)
    years = np.minimum(rng.geometric(0.13, _N_PEOPLE) - 1, age - 17)
    income = rng.gamma(6.0, 7.5, _N_PEOPLE) + 0.4 * years + 3.0 * (sex == "male")
    columns: dict[str, Cells] = {
        "age": age,
        "income": income.round(1),
        "years_in_job": years,
        "sex": sex.tolist(),
        "district": rng.choice(_DISTRICTS, _N_PEOPLE).tolist(),
    }
    return Table("people that fatt made up", "", columns)
