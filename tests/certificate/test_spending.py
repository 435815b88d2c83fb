"""Certificates of people with budgets: forged ones are refused."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Similarity
from fatt.certificate import Certificate
from fatt.certificate.cells import Axis
from fatt.certificate.columns import Numbers
from fatt.certificate.costs import Price, cost_of
from fatt.certificate.file import digest_of_similarity, sealed
from fatt.certificate.judge import Judge
from fatt.certificate.prover import prove
from fatt.certificate.spending import Purse, cell_costs
from fatt.errors import CertificateError
from fatt.region import Number
from fatt.region.distance import Weight
from fatt.verdict import UNFAIR


def town() -> tuple[Any, pd.DataFrame]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 60, 120),
            "pay": rng.normal(30, 8, 120).round(1),
            "area": rng.integers(0, 4, 120),
        }
    )
    y = (X["age"] + X["pay"] + 9 * (X["area"] == 2) + rng.normal(0, 4, 120)) > 70
    forest = RandomForestClassifier(8, max_depth=4, random_state=0)
    return forest.fit(X, y), X


MODEL, PEOPLE = town()
AREA = {(0, 1): 0.3, (1, 2): 0.6}
BALL = {"age": 1 / 8, "pay": 1 / 5, "area": AREA}
LIMIT = Similarity(distance=BALL, limit=1)
COUNT = Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=1)


def certified(similarity: Similarity) -> Certificate:
    report = fatt.verify(MODEL, PEOPLE, similarity=similarity)
    assert 10 < report.counts["fair"] < 110
    certificate = report.certificate()
    assert certificate.counts["claimed"] == 0
    checked = certificate.check(MODEL, PEOPLE, similarity=similarity)
    assert checked.fair == report.counts["fair"]
    return certificate


def forged(certificate: Certificate, similarity: Similarity) -> Certificate:
    """Return the certificate with another similarity, and all digests right."""
    text = similarity.to_toml()
    contents = certificate.contents
    about = msgspec.structs.replace(
        contents.about, similarity=digest_of_similarity(text)
    )
    changed = msgspec.structs.replace(contents, similarity=text, about=about)
    return Certificate.of(sealed(changed))


@pytest.mark.parametrize(
    ("honest", "other"),
    [
        # A larger limit, a number, another norm, a lower cost: more people are similar.
        (LIMIT, Similarity(distance=BALL, limit=2)),
        (LIMIT, Similarity(distance=BALL, limit=1, norm="l2")),
        (LIMIT, Similarity(distance=BALL, limit=1, norm="linf")),
        (LIMIT, Similarity(distance={**BALL, "age": 1 / 30}, limit=1)),
        (LIMIT, Similarity(distance={**BALL, "age": 0}, limit=1)),
        (LIMIT, Similarity(distance={**BALL, "area": 0.1}, limit=1)),
        (COUNT, Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=2)),
        (COUNT, Similarity(noise={"age": 4, "pay": 3}, vary=["area"])),
        # A smaller one: some twins are no longer similar.
        (LIMIT, Similarity(distance=BALL, limit=0.4)),
        (LIMIT, Similarity(distance={**BALL, "age": 1}, limit=1)),
        (
            Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=2),
            Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=1),
        ),
    ],
)
def test_another_limit_cost_or_number_is_refused(
    honest: Similarity, other: Similarity
) -> None:
    certificate = certified(honest)
    with pytest.raises(CertificateError, match="person"):
        forged(certificate, other).check(MODEL, PEOPLE)
    with pytest.raises(CertificateError, match="another similarity"):
        certificate.check(MODEL, PEOPLE, similarity=other)


def test_what_is_checked_is_told() -> None:
    said = certified(LIMIT).check(MODEL).similarity
    assert "'age' may differ, each unit for 0.125" in said
    assert "'area' may be exchanged: 0 and 1 for 0.3 and 1 and 2 for 0.6" in said
    assert "of these costs their sum is at most 1" in said
    said = certified(COUNT).check(MODEL).similarity
    assert "and at most 1 of these at the same time" in said


@pytest.mark.parametrize("honest", [LIMIT, COUNT])
def test_a_twin_beyond_the_limit_is_refused(honest: Similarity) -> None:
    report = fatt.verify(MODEL, PEOPLE, similarity=honest)
    unfair = PEOPLE[report.findings.verdict == UNFAIR]
    schema = report.people.variables.schema
    kept = fatt.verify(MODEL, unfair, similarity=honest, schema=schema).certificate()
    assert kept.counts["unfair"] == len(unfair)
    nearer = Similarity(distance={**BALL, "pay": 3}, limit=0.05)
    for other in (nearer, nearer.with_limit(0.01)):
        assert isinstance(other, Similarity)
        with pytest.raises(CertificateError, match="is not similar"):
            forged(kept, other).check(MODEL, unfair)


@pytest.mark.parametrize("norm", ["l1", "l2", "l0", "count"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_proved_of_the_unfair(norm: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked: Any = COUNT
    if norm == "count":
        noise = {"age": int(rng.integers(2, 9)), "pay": 3}
        asked = Similarity(noise=noise, vary=["area"], at_most=int(rng.integers(1, 3)))
    elif norm == "l0":
        asked = Similarity(
            distance={"age": 1, "pay": 2, "area": AREA}, limit=2, norm=norm
        )
    else:
        # At exactly what the twins cost, and one step less.
        asked = Similarity(distance={**BALL, "age": 1 / 8}, norm=norm)
    auditor = fatt.Auditor(MODEL, similarity=asked, schema=PEOPLE)
    some = PEOPLE.iloc[rng.permutation(120)[:40]]
    relations = [asked] * 2
    if asked.distance is not None:
        radii = auditor.radius(some)
        limits = np.sort(radii.upper[np.isfinite(radii.upper) & (radii.upper > 0)])[5:7]
        relations = [asked.with_limit(float(limit)) for limit in limits]
    n_unfair = 0
    for one in relations:
        other = auditor.with_similarity(one)
        report = other.verify(some)
        judge = Judge(other.variables.model, other.variables.schema, one)
        rows = np.flatnonzero(report.findings.verdict == UNFAIR)
        values = report.people.values(0, len(some))[rows]
        for ways in judge.around(values, report.findings.label[rows].astype(np.int64)):
            assert None in [prove(way, 300) for way in ways]
            n_unfair += 1
    assert n_unfair


def bought(lead: Any, starts: Any, asked: Any, most: int) -> float:
    """Return the best sum of leads that can be paid, by trying all levels."""
    levels = [np.unique(asked[:, axis]) for axis in range(asked.shape[1])]
    best = -np.inf
    for chosen in itertools.product(*levels):
        if sum(chosen) <= most:
            can_pay = (asked <= np.array(chosen)).all(axis=1)
            best = max(
                best,
                np.maximum.reduceat(np.where(can_pay, lead, -np.inf), starts).sum(),
            )
    return float(best)


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_what_can_be_bought_is_bounded(first: int) -> None:
    exact = 0
    for seed in range(first, first + 100):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 5, size=rng.integers(1, 5))
        starts = np.cumsum([0, *sizes[:-1]])
        n_axes = int(rng.integers(1, 4))
        cheapest = rng.integers(0, 2, n_axes)
        asked = cheapest + rng.integers(0, 4, (sizes.sum(), n_axes)) * (
            rng.random((sizes.sum(), n_axes)) < 0.6
        )
        lead = rng.integers(-5, 9, sizes.sum()).astype(float)
        purse = Purse([], np.zeros(0, np.int64), np.zeros(0, np.int64), 5)
        bound = purse.bound(lead, starts, asked, cheapest)
        best = bought(lead, starts, np.vstack([asked, cheapest])[:-1], 5)
        assert best <= bound
        # Not only true, but of use: no more than if everything could be paid.
        assert bound <= np.maximum.reduceat(lead, starts).sum() + 1e-6 + 40
        exact += bound <= best + 1e-6
    assert exact > 20


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("norm", ["l1", "l2", "count"])
def test_cells_cost_no_more_than_their_members(whole: bool, norm: str) -> None:
    rng = np.random.default_rng(3)
    none = (1.0, 0.0)
    column = Numbers(
        Number(name="x", columns=("x",)), (0,), -50.0, 50.0, whole, none, True, (), none
    )
    for _ in range(200):
        cuts = np.unique(rng.integers(-20, 20, 4).astype(float))
        axis = Axis(column, cuts, len(cuts) + 2, np.zeros(len(cuts) + 2, bool), True)
        own = float(rng.integers(-30, 30)) + (0 if whole else 0.25)
        price = Price(None if norm == "count" else Weight(0.3), 2.0, norm)
        costs = cell_costs(axis, price, own, (own - 9.0, own + 9.0))
        values = rng.uniform(own - 9, own + 9, 60)
        values = np.round(values) if whole else values
        cells = np.searchsorted(cuts, values)
        mine = cost_of(column, price, np.full(60, own), values)
        assert (costs[cells] <= mine).all()
        here = int(np.searchsorted(cuts, own))
        assert costs[here] == 0
        assert (np.diff(costs[here:-1]) >= 0).all()
        assert (np.diff(costs[: here + 1]) <= 0).all()
        # The nearest member of the next cell costs just that.
        if here < len(cuts):
            nearest = cuts[here] + 1 if whole else np.nextafter(cuts[here], np.inf)
            if nearest <= own + 9:
                one = cost_of(column, price, np.array([own]), np.array([nearest]))
                assert costs[here + 1] == one[0]
