"""At most so many attributes, and distances, through the public API.

Held to all combinations of cells, with costs of its own. A few dozen random models;
``python -m tests.laws.test_distances 2000`` asks thousands, and
``python -m tests.laws.test_distances 2000 500`` goes on from the 500th.
"""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Schema, Similarity
from fatt.region.kinds import Integer, Number, Ordinal
from fatt.verdict import FAIR, UNFAIR

CITIES = ("north", "south", "west")
_FULL = 2**48


def world(seed: int) -> tuple[Any, pd.DataFrame, Schema]:
    """Return a small model, the people, and a schema of their columns."""
    rng = np.random.default_rng(seed)
    count = 40
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 30, count),
            "pay": rng.choice([0.1, 0.3, 0.7, 1.1, 2.5, 1e3, -0.2], count),
            "sex": rng.integers(0, 2, count),
            "grade": rng.integers(1, 5, count),
            "city": rng.choice(CITIES, count),
        }
    )
    y = rng.integers(0, 2, count) | (X["age"] > 26)
    onehot = make_column_transformer(
        (OneHotEncoder(), ["city"]), remainder="passthrough"
    )
    if seed % 3:
        forest = RandomForestClassifier(
            int(rng.integers(2, 5)), max_depth=3, random_state=seed
        )
    else:
        forest = DecisionTreeClassifier(max_depth=4, random_state=seed)
    model = make_pipeline(onehot, forest).fit(X, y)
    schema = Schema.infer(fatt.load(model), X)
    if rng.random() < 0.4:
        schema = schema.with_({"grade": Ordinal(levels=(1, 2, 3, 4))})
    return model, X.iloc[:8], schema


def random_similarity(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the arguments of a similarity."""
    if rng.random() < 0.4:
        noise: dict[str, Any] = {
            name: amount
            for name, amount in {"age": 2, "pay": 0.4}.items()
            if rng.random() < 0.8
        }
        vary = [name for name in ("sex", "grade", "city") if rng.random() < 0.6]
        if not noise and not vary:
            vary = ["sex", "city"]
        return {"noise": noise, "vary": vary, "at_most": int(rng.integers(1, 4))}
    distance: dict[str, Any] = {}
    if rng.random() < 0.8:
        distance["age"] = float(rng.choice([0, 0.1, 1 / 3, 0.7, 1]))
    if rng.random() < 0.8:
        distance["pay"] = rng.choice([0.0, 0.5, 2.5, 1e-3, 1 / 7])
    if rng.random() < 0.6:
        distance["sex"] = float(rng.choice([0, 0.3, 0.5, 2]))
    if rng.random() < 0.6:
        distance["grade"] = float(rng.choice([0, 0.2, 1 / 3, 0.5]))
    if rng.random() < 0.6 or not distance:
        distance["city"] = [
            0.4,
            {("north", "south"): 0.3},
            {("north", "south"): 0.3, ("south", "west"): 0.7, ("west", "north"): 1.0},
        ][int(rng.integers(3))]
    said: dict[str, Any] = {
        "distance": distance,
        "limit": float(rng.choice([0.3, 1.0, 1.0, 2.0])),
        "norm": str(rng.choice(["l1", "l1", "l2", "linf", "l0"])),
    }
    if rng.random() < 0.2 and "age" in distance:
        said["noise"] = {"age": 2}
    if rng.random() < 0.2 and "city" not in distance:
        said["vary"] = ["city"]
    return said


class Oracle:
    """All who are similar to a person, cell by cell, straight from the words."""

    def __init__(self, said: dict[str, Any], auditor: fatt.Auditor) -> None:
        self.said, self.variables = said, auditor.variables
        self.ensemble = auditor.variables.ensemble
        self.norm = said.get("norm", "l1")

    def steps(self, weight: float, away: float) -> float:
        """Return what a difference costs by the distance, in whole steps."""
        if weight == 0 or away == 0:
            return 0
        away = 1.0 if self.norm == "l0" else away
        scale = weight * 2.0 ** (24 if self.norm == "l2" else 48) / self.said["limit"]
        size = scale * away
        size = size * size if self.norm == "l2" else size
        return math.floor(Fraction(size)) if math.isfinite(size) else math.inf

    def options(self, index: int, own: float) -> list[tuple[float, float]]:
        """Return the cheapest value of each cell of a variable, and its cost."""
        variable = self.variables.schema.variables[index]
        if isinstance(variable, Number):
            return self._numbers(variable, index, own)
        feature = self.ensemble.features[index]
        labels = feature.categories
        found = [(own, 0.0)]
        for code, label in enumerate(labels):
            if code != own:
                cost = self._exchange(variable, labels[int(own)], label)
                if cost is not None:
                    found.append((float(code), cost))
        return found

    def _exchange(self, variable: Any, own: Any, other: Any) -> float | None:
        """Return what it costs to exchange two categories; None if nobody may."""
        name = variable.name
        if name in self.said.get("vary", []):
            return 1 if "at_most" in self.said else 0
        weight = self.said.get("distance", {}).get(name)
        if weight is None:
            return None
        if isinstance(weight, dict):
            pair = weight.get((own, other), weight.get((other, own)))
            if pair is None:
                return None
            cost = pair
        else:
            cost = weight
            if isinstance(variable, Ordinal) and self.norm != "l0":
                levels = list(variable.levels)
                cost = weight * abs(levels.index(own) - levels.index(other))
        return self.steps(1.0, cost) if self.norm != "l0" else self.steps(cost, 1.0)

    def _numbers(
        self, variable: Any, index: int, own: float
    ) -> list[tuple[float, float]]:
        name, whole = variable.name, isinstance(variable, Integer)
        noise = self.said.get("noise", {}).get(name)
        weight = self.said.get("distance", {}).get(name)
        low, high = -1e300, 1e300
        if noise is not None:
            low, high = own - noise, own + noise
        if name not in self.said.get("vary", []) and noise is None and weight is None:
            return [(own, 0.0)]
        if self.norm == "linf" and weight:
            size = self.said["limit"] / weight
            size = round(size) if abs(size - round(size)) < 1e-12 * size else size
            size = math.floor(size) if whole else size
            low, high = max(low, own - size), min(high, own + size)
        cuts = sorted({*self.ensemble.thresholds(index)})
        starts = [-math.inf, *cuts]
        found = []
        for start, end in zip(starts, [*cuts, math.inf], strict=True):
            first = max(low, float(np.nextafter(start, math.inf)))
            last = min(high, end)
            if whole:
                first, last = (
                    math.ceil(first),
                    math.floor(last) if last < 1e300 else last,
                )
            if first <= last:
                value = min(max(own, first), last)
                found.append((value, self._cost(weight, abs(value - own))))
        return found

    def _cost(self, weight: float | None, away: float) -> float:
        if "at_most" in self.said:
            return float(away > 0)
        return 0 if weight is None else self.steps(weight, away)

    def points(self, person: Any) -> tuple[Any, Any]:
        """Return all combinations of cells, and what each costs."""
        each = [self.options(index, own) for index, own in enumerate(person)]
        values = np.array(list(itertools.product(*([v for v, _ in e] for e in each))))
        costs = [
            sum(some) if self.norm != "linf" else max(some)
            for some in itertools.product(*([c for _, c in e] for e in each))
        ]
        return values, np.array(costs, dtype=object)

    @property
    def most(self) -> float:
        """How much similar people may spend."""
        return float(self.said.get("at_most", _FULL))


def hold(seed: int) -> dict[str, int]:
    """Hold one model and similarity to all combinations; return what was found."""
    rng = np.random.default_rng(seed)
    model, X, schema = world(seed)
    said = random_similarity(rng)
    similarity = Similarity(**said)
    auditor = fatt.Auditor(model, similarity=similarity, schema=schema)
    report = auditor.verify_part(X, spot_checks=200)
    assert not report.counts["unknown"], said
    oracle, people = Oracle(said, auditor), report.people.values(0, len(X))
    gaps, ensemble = auditor.score_gap(X), auditor.variables.ensemble
    # As a box, a distance has no radius of its own.
    radii = auditor.radius(X) if said.get("norm") != "linf" else None
    n_cut = 0
    for row, person in enumerate(people):
        points, costs = oracle.points(person)
        labels = ensemble.answer(points)
        [own] = ensemble.answer(person[np.newaxis])
        can_pay = costs <= oracle.most
        n_cut += not can_pay.all()
        is_fair = bool((labels[can_pay] == own).all())
        assert (report.findings.verdict[row] == FAIR) == is_fair, (said, row)
        scores = ensemble._scores(points).astype(float)
        base = ensemble._scores(person[np.newaxis]).astype(float)
        largest = np.abs(scores[can_pay] - base).max()
        assert gaps.lower[row] <= largest + 1e-9, (said, row)
        assert largest <= gaps.upper[row] + 1e-9, (said, row)
        assert abs(gaps.lower[row] - largest) <= 1e-9, (said, row)
        if radii is not None:
            least = min(costs[labels != own], default=math.inf)
            _hold_radius(radii, row, least, oracle)
    _hold_certificate(report, model, X)
    fair = int((report.findings.verdict == FAIR).sum())
    return {"fair": fair, "unfair": len(X) - fair, "cut": n_cut}


def _hold_radius(radii: Any, row: int, least: float, oracle: Oracle) -> None:
    lower, upper = float(radii.lower[row]), float(radii.upper[row])
    said = (oracle.said, row, lower, upper, least)
    if radii.of == "count":
        assert upper == least, said
        assert lower == (least - 1 if math.isfinite(least) else math.inf), said
        return
    if math.isinf(least):
        # Values that cannot be exchanged, whatever the limit, and all others.
        return
    share = float(least) / _FULL
    share = math.sqrt(share) if oracle.norm == "l2" else share
    near = oracle.said["limit"] * share
    assert lower <= near * (1 + 1e-6) + 1e-12, said
    assert upper >= near * (1 - 1e-6) - 1e-12, said
    assert upper - lower <= 1e-6 * max(upper, 1e-6), said


def _hold_certificate(report: Any, model: Any, X: Any) -> None:
    checked = report.certificate().check(model, X)
    assert checked.unfair == report.counts["unfair"]
    assert checked.fair + checked.claimed == report.counts["fair"]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_all_combinations_of_cells_agree(first: int) -> None:
    """Verdicts, gaps, radii and certificates are true, whatever differs costs."""
    found = [hold(seed) for seed in range(first, first + 20)]
    total = {key: sum(one[key] for one in found) for key in found[0]}
    assert min(total.values()) > 20, total


@pytest.mark.parametrize("seed", range(3))
def test_smaller_questions_keep_people_fair(seed: int) -> None:
    """A smaller limit, a smaller number and one more rule only take people out."""
    model, X, schema = world(seed)
    ball = {"age": 0.25, "pay": 0.5, "city": 0.5, "grade": 0.5}
    chains = [
        [
            Similarity(distance=ball, limit=limit, norm=norm)
            for limit in (0.2, 0.5, 1.0, 1.7)
        ]
        for norm in ("l1", "l2", "linf", "l0")
    ]
    noise = {"age": 3, "pay": 0.5}
    chains += [
        [
            Similarity(noise=noise, vary=["sex", "city"], at_most=most)
            for most in (1, 2, 3, 4)
        ],
        [
            Similarity(distance=ball, limit=1, where={"age": "<= 25"}),
            Similarity(distance=ball, limit=1),
            Similarity(distance=ball, limit=1) | Similarity(vary=["sex"]),
        ],
        # The sum of costs is at least their root mean, and that at least the largest.
        [
            Similarity(distance=ball, limit=1, norm=norm)
            for norm in ("l1", "l2", "linf")
        ],
    ]
    for chain in chains:
        before = None
        for one in chain:
            auditor = fatt.Auditor(model, similarity=one, schema=schema)
            fair = auditor.verify_part(X, spot_checks=0).findings.verdict == FAIR
            assert before is None or (before | ~fair).all(), one
            before = fair


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_at_most_is_a_union_of_boxes(seed: int) -> None:
    """Any two of four attributes are the six boxes in which two may change."""
    model, X, schema = world(seed + 100)
    moves: list[dict[str, Any]] = [
        {"noise": {"age": 3}},
        {"noise": {"pay": 0.6}},
        {"vary": ["sex"]},
        {"vary": ["city"]},
    ]

    def together(some: Any, **more: Any) -> Similarity:
        noise = {k: v for one in some for k, v in one.get("noise", {}).items()}
        vary = [name for one in some for name in one.get("vary", [])]
        return Similarity(noise=noise, vary=vary, **more)

    verdicts = set()
    for most in (1, 2, 3):
        boxes = [together(some) for some in itertools.combinations(moves, most)]
        union = boxes[0]
        for one in boxes[1:]:
            union = union | one
        found = [
            fatt.Auditor(model, similarity=asked, schema=schema).verify_part(X)
            for asked in (together(moves, at_most=most), union)
        ]
        assert np.array_equal(*(each.findings.verdict for each in found))
        verdicts |= {*found[0].findings.verdict.tolist()}
    assert verdicts == {FAIR, UNFAIR}


@pytest.mark.parametrize("seed", [1, 2])
def test_each_alternative_has_a_budget_of_its_own(seed: int) -> None:
    """Whoever is unfair by one of two distances is so by their union, and no others."""
    model, X, schema = world(seed)
    schema = schema.with_({"grade": Ordinal(levels=(1, 2, 3, 4))})
    kinds = [
        Similarity(distance={"city": {("north", "south"): 0.3}, "age": 0.4}),
        Similarity(distance={"grade": 0.4, "city": {("south", "west"): 1}}),
        Similarity(vary=["sex", "grade"], noise={"age": 2}, at_most=1),
        Similarity(noise={"pay": 0.5}),
        # By the largest cost, a pair beyond the limit stays apart.
        Similarity(
            distance={"city": {("north", "south"): 0.3, ("south", "west"): 2}},
            norm="linf",
        ),
        Similarity(vary={"city": ["north", "south"]}),
    ]

    def unfair(asked: Any) -> Any:
        auditor = fatt.Auditor(model, similarity=asked, schema=schema)
        return auditor.verify_part(X).findings.verdict == UNFAIR

    alone = [unfair(one) for one in kinds]
    for one, other in itertools.permutations(range(len(kinds)), 2):
        both = unfair(kinds[one] | kinds[other])
        assert np.array_equal(both, alone[one] | alone[other])
    assert np.array_equal(alone[-2], alone[-1])
    assert 0 < sum(each.sum() for each in alone) < len(kinds) * len(X)


@pytest.mark.xgboost
def test_numbers_that_are_read_as_missing() -> None:
    """Whoever has such a number pays for another one, and their twins are similar."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    gaps = rng.random(90) < 0.3
    X = pd.DataFrame(
        {
            "score": np.where(gaps, -999.0, rng.integers(0, 20, 90)),
            "age": rng.integers(18, 50, 90).astype(float),
        }
    )
    y = (X["score"] > 8) ^ (X["age"] > 30)
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, missing=-999.0)
    model.fit(X, y.astype(int))
    infer = Schema.infer(fatt.load(model), X)
    schema = infer.with_({"score": Number(lower=0.0, upper=30.0)})

    def verdicts(asked: Any) -> Any:
        auditor = fatt.Auditor(model, similarity=asked, schema=schema)
        return auditor.verify_part(X).findings.verdict

    for moves in (
        [{"vary": ["score"]}, {"noise": {"age": 1}}],
        [{"missing": ["score"]}, {"noise": {"age": 2}}],
        [{"noise": {"score": 1200}}, {"noise": {"age": 2}}],
    ):
        noise = {k: v for one in moves for k, v in one.get("noise", {}).items()}
        rest = {k: v for one in moves for k, v in one.items() if k != "noise"}
        one = verdicts(Similarity(noise=noise, **rest, at_most=1))
        either = Similarity(**moves[0]) | Similarity(**moves[1])
        assert np.array_equal(one, verdicts(either))
        assert UNFAIR in one
    # From -999 to 0 it is 999.
    near, far = (
        verdicts(Similarity(distance={"score": 1 / units})) for units in (900, 1010)
    )
    assert (near[gaps] == FAIR).all()
    assert (far[gaps] == UNFAIR).any()


def test_computed_columns_keep_budgets() -> None:
    """A product of two columns is followed as one of them moves and costs."""
    rng = np.random.default_rng(0)
    columns = {"a": (1, 20), "b": (1, 9), "c": (0, 30)}
    X = pd.DataFrame({k: rng.integers(*v, 90) * 1.0 for k, v in columns.items()})
    X["d"] = rng.integers(0, 4, 90)
    y = X["a"] * X["b"] + X["c"] + 3 * X["d"] > 75
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    work = make_column_transformer((products, ["a", "b"]), remainder="passthrough")
    forest = RandomForestClassifier(4, max_depth=4, random_state=0)
    model = make_pipeline(work, forest).fit(X, y)
    assert fatt.load(model).ensemble.joints
    moves = [{"noise": {"a": 2}}, {"noise": {"c": 4}}, {"vary": ["d"]}]
    either = Similarity(**moves[0])
    for one in moves[1:]:
        either = either | Similarity(**one)
    asked = Similarity(noise={"a": 2, "c": 4}, vary=["d"], at_most=1)
    found = [
        fatt.Auditor(model, similarity=each, schema=X).verify(X).findings.verdict
        for each in (asked, either)
    ]
    assert np.array_equal(*found)
    ball = Similarity(distance={"a": 1 / 4, "c": 1 / 6, "d": 0.5}, limit=1)
    auditor = fatt.Auditor(model, similarity=ball, schema=X)
    verdict, radii = auditor.verify(X).findings.verdict, auditor.radius(X)
    assert np.array_equal(verdict == FAIR, radii.lower >= 1)
    assert np.array_equal(verdict == UNFAIR, radii.upper <= 1)
    assert {FAIR, UNFAIR} == {*verdict.tolist()}


def test_training_and_repair_know_what_may_be_spent() -> None:
    """What training says of its tree is what an audit of it finds."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {"age": rng.integers(18, 60, 120), "pay": rng.integers(0, 40, 120)}
    )
    y = (X["age"] + X["pay"] + rng.normal(0, 8, 120)) > 60
    ball = Similarity(distance={"age": 1 / 6, "pay": 1 / 4})
    tree = fatt.FATTClassifier(similarity=ball, random_state=0, max_iter=5).fit(X, y)
    report = fatt.verify(tree, X, similarity=ball, schema=tree.schema_)
    box = Similarity(noise={"age": 6, "pay": 4})
    wider = fatt.verify(tree, X, similarity=box, schema=tree.schema_)
    assert report.fairness.lower >= wider.fairness.lower
    assert tree.fairness_ == pytest.approx(report.fairness.lower)


def main(count: int = 200, first: int = 0) -> None:
    """Ask so many models; print how many people there were."""
    total = {"fair": 0, "unfair": 0, "cut": 0}
    for seed in range(first, first + count):
        try:
            found = hold(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
        total = {key: total[key] + found[key] for key in total}
        if seed % 50 == 49:
            sys.stderr.write(f"{seed + 1}: {total}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
