"""Columns that move along and orders, held to all people of a grid, with own code.

A few random questions; ``python -m tests.laws.test_ties 0 2000`` asks two thousand.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.errors import SpecError
from fatt.verdict import FAIR, UNFAIR

COLUMNS = ["a", "b", "c", "d"]

#: Formulas of one column, and how far each moves for a step.
SLOPES = {
    "a + 3": (1.0, "a"),
    "3 - a": (-1.0, "a"),
    "2 * a": (2.0, "a"),
    "-2 * a + 1": (-2.0, "a"),
    "0.5 * a": (0.5, "a"),
    "a / 2": (0.5, "a"),
    "b - 1": (1.0, "b"),
    "5 - b": (-1.0, "b"),
}
#: Formulas that are computed anew, and the same as functions of a and c.
COMPUTED = {
    "a / c": lambda a, c: a / c,
    "c / (a + 100)": lambda a, c: c / (a + 100),
    "a * c": lambda a, c: a * c,
    "a * a": lambda a, _: a * a,
    "(a + 1) * (a + 1) - c": lambda a, c: (a + 1) * (a + 1) - c,
    "a * a * c": lambda a, c: (a * a) * c,
}


class Order(NamedTuple):
    """An order, apart from the package's own."""

    low: str
    sign: str
    high: str
    shift: float

    def text(self) -> str:
        return f"{self.low} {self.sign} {self.high} + {self.shift}"

    def holds(self, row: dict[str, float]) -> bool:
        gap = Fraction(row[self.high]) + Fraction(self.shift) - Fraction(row[self.low])
        return gap > 0 or (gap == 0 and self.sign == "<=")


class Question(NamedTuple):
    """A model, people, and what may move."""

    model: Any
    table: pd.DataFrame
    people: pd.DataFrame
    follow: dict[str, str]
    orders: list[Order]
    noise: dict[str, float]
    step: float
    whole: bool

    @property
    def similarity(self) -> Any:
        orders = [order.text() for order in self.orders]
        return Similarity(noise=self.noise, follow=self.follow, exist=orders)


def question(seed: int) -> Question | None:
    """Draw a question; None if nobody keeps its orders."""
    rng = np.random.default_rng(seed)
    whole = bool(rng.random() < 0.5)
    step, span = (1.0, 5) if whole else (0.125, 12)
    values = rng.integers(-span, span + 1, size=(60, 4)) * step
    follow, orders, moving = _ties(rng, step, whole)
    if follow.get("b") in COMPUTED:
        values[:, 2] = np.where(values[:, 2] == 0, step, values[:, 2])
        values[:, 1] = COMPUTED[follow["b"]](values[:, 0], values[:, 2])
    most = 4 if len(moving) > 2 else 6
    noise = {name: float(rng.integers(1, most)) * step for name in moving}
    table = pd.DataFrame(values, columns=COLUMNS)
    if whole:
        is_ratio = "/" in follow.get("b", "")
        table = table.astype({c: int for c in COLUMNS if c != "b" or not is_ratio})
    label = rng.integers(0, 2 if rng.random() < 0.7 else 3, size=len(table))
    given: dict[str, Any] = {"max_depth": int(rng.integers(2, 6)), "random_state": 0}
    model = [
        DecisionTreeClassifier(**given),
        RandomForestClassifier(int(rng.integers(2, 6)), **given),
        GradientBoostingClassifier(n_estimators=int(rng.integers(2, 6)), **given),
    ][rng.integers(3)].fit(table, label)
    keeps = [
        all(order.holds(row) for order in orders) for row in table.to_dict("records")
    ]
    people = table[keeps][:4]
    if people.empty:
        return None
    return Question(model, table, people, follow, orders, noise, step, whole)


def _ties(
    rng: np.random.Generator, step: float, whole: bool
) -> tuple[dict[str, str], list[Order], list[str]]:
    kind = rng.integers(6)
    slopes = [one for one in SLOPES if "a" in one][: 4 if whole else 6]

    def order(low: str, high: str) -> Order:
        return Order(
            low, str(rng.choice(["<=", "<"])), high, rng.integers(-1, 6) * step
        )

    if kind <= 1:
        follow = {"b": str(rng.choice(slopes))}
        if kind == 0:
            return follow, [], ["a", "c"][: rng.integers(1, 3)]
        return {**follow, "c": str(rng.choice(["b - 1", "5 - b"]))}, [], ["a", "d"]
    if kind == 2:
        formula = str(rng.choice(list(COMPUTED)))
        return {"b": formula}, [], ["a", "d"][: rng.integers(1, 3)]
    if kind == 3:
        tied = [order("a", "d"), order("b", "d")][: rng.integers(1, 3)]
        return {"b": str(rng.choice(slopes))}, tied, ["a", "d"]
    names = rng.permutation(["a", "b", "d"]).tolist()
    tied = [order(names[0], names[1]), order(names[1], names[2])]
    return {}, tied[: rng.integers(1, 3)], [*names, "c"][: 3 + (kind == 5)]


def grid(asked: Question, own: dict[str, float]) -> list[dict[str, float]]:
    """Return all similar people of a grid, and those at the ends of cells."""
    axes = []
    for name in COLUMNS:
        far = asked.noise.get(name, 0.0) if name not in asked.follow else 0.0
        is_fine = not asked.whole and len(asked.noise) < 3
        size = asked.step / 8 if is_fine else asked.step
        count = round(far / size)
        axes.append([own[name] + place * size for place in range(-count, count + 1)])
    if asked.follow.get("b") in COMPUTED and not asked.whole:
        axes[0] = sorted({*axes[0], *_ends(asked, own)})
    found = []
    for values in itertools.product(*axes):
        row = dict(zip(COLUMNS, values, strict=True))
        for name, formula in sorted(asked.follow.items()):
            if formula in COMPUTED:
                row[name] = float(COMPUTED[formula](row["a"], row["c"]))
            else:
                slope, leader = SLOPES[formula]
                row[name] = own[name] + slope * (row[leader] - own[leader])
        if all(order.holds(row) for order in asked.orders):
            found.append(row)
    return found


def _ends(asked: Question, own: dict[str, float]) -> set[float]:
    """Return where a computed column crosses thresholds, and the floats beside."""
    function = COMPUTED[asked.follow["b"]]
    trees = np.ravel(getattr(asked.model, "estimators_", [asked.model]))
    cuts = {
        float(cut)
        for tree in trees
        for cut, place in zip(tree.tree_.threshold, tree.tree_.feature, strict=True)
        if place == 1
    }
    low, high = own["a"] - asked.noise["a"], own["a"] + asked.noise["a"]
    found = set[float]()
    for cut in cuts:
        for pair in itertools.pairwise(np.linspace(low, high, 17).tolist()):
            first, last = pair
            side = function(first, own["c"]) <= cut
            if side == (function(last, own["c"]) <= cut):
                continue
            while math.nextafter(first, last) != last:
                middle = (first + last) / 2
                middle = (
                    middle if first < middle < last else math.nextafter(first, last)
                )
                if (function(middle, own["c"]) <= cut) == side:
                    first = middle
                else:
                    last = middle
            found |= {first, last}
    return {one for one in found if low <= one <= high}


def check(seed: int) -> int:
    """Ask one question; return of how many people everything was right."""
    asked = question(seed)
    if asked is None:
        return 0
    auditor = fatt.Auditor(asked.model, similarity=asked.similarity, schema=asked.table)
    report = auditor.verify_part(asked.people, spot_checks=50)
    gaps = auditor.score_gap(asked.people)
    is_complete = asked.whole or len(asked.noise) < 3
    for place, own in enumerate(asked.people.to_dict("records")):
        others = pd.DataFrame(grid(asked, own))
        mine = asked.people.iloc[[place]]
        [label], labels = asked.model.predict(mine), asked.model.predict(others)
        verdict, is_fair = report.findings.verdict[place], (labels == label).all()
        assert verdict in {FAIR, UNFAIR}, seed
        assert is_fair or verdict == UNFAIR, seed
        assert not is_complete or is_fair == (verdict == FAIR), seed
        if not isinstance(asked.model, GradientBoostingClassifier):
            before = asked.model.predict_proba(mine)
            gap = np.abs(asked.model.predict_proba(others) - before).max()
            lower, upper = gaps.lower[place], gaps.upper[place]
            assert gap <= upper + 1e-9, seed
            assert not is_complete or lower - 1e-9 <= gap, seed
    for case in report.counterexamples:
        _require_tied(asked, case, seed)
    return len(asked.people)


def _require_tied(asked: Question, case: Any, seed: int) -> None:
    """Check a twin: what moved, by how much, and all ties."""
    own, twin = (dict(one) for one in (case.individual, case.twin))
    for name in COLUMNS:
        if name not in asked.follow:
            assert abs(twin[name] - own[name]) <= asked.noise.get(name, 0.0), seed
    for name, formula in asked.follow.items():
        if formula in COMPUTED:
            assert twin[name] == COMPUTED[formula](twin["a"], twin["c"]), seed
        else:
            slope, leader = SLOPES[formula]
            moved = own[name] + slope * (twin[leader] - own[leader])
            assert twin[name] == moved, seed
    assert all(order.holds(twin) for order in asked.orders), seed


# The last one crosses so many floats that their number has no integer of 64 bits.
@pytest.mark.parametrize("seed", [*range(15), 1066])
def test_verdicts_are_those_of_all_people_of_a_grid(seed: int) -> None:
    check(seed)


def test_a_column_that_moves_along_still_meets_its_condition() -> None:
    age = np.arange(20, 60)
    table = pd.DataFrame({"age": age, "born": 2026 - age})
    model = DecisionTreeClassifier(random_state=0).fit(table, table.born > 1990)
    follow = {"born": "2026 - age"}
    old = Similarity(noise={"age": 5}, follow=follow, where={"born": "<= 1990"})
    assert fatt.verify(model, table, similarity=old).is_fair.all()
    anybody = Similarity(noise={"age": 5}, follow=follow)
    assert (~fatt.verify(model, table, similarity=anybody).is_fair).sum() == 10


def test_what_another_alternative_lets_be_missing_is_refused() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan], "b": [2.0, 3.0, 4.0]})
    model = HistGradientBoostingClassifier(min_samples_leaf=1).fit(table, [0, 1, 0])
    ordered = Similarity(noise={"b": 1}, exist=["a <= b"])
    with pytest.raises(SpecError, match="missing names 'a'"):
        fatt.verify(model, table, similarity=ordered | Similarity(missing=["a"]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first, last = map(int, sys.argv[1:3])
    sys.stdout.write(f"{sum(map(check, range(first, last)))} people\n")
