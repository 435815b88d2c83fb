"""Shares: counted ones are true, and intervals hold the truth as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fatt
from fatt import Similarity, Space
from fatt.errors import DataError, SpecError
from fatt.everybody.distributions import distribution_of
from fatt.everybody.share import clopper_pearson, share_of
from fatt.region import Integer, Number, Population
from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from tests.everybody.grid import MOST, SIMILARITY, SPACE, grid, share
from tests.laws.effort import EFFORT, for_seeds


def population(space: Space = SPACE) -> Population:
    auditor = fatt.Auditor(grid(1).model, similarity=SIMILARITY).within(space)
    return space.bind(auditor.variables, SIMILARITY)


@for_seeds(6)
def test_a_counted_share_is_the_share(seed: int) -> None:
    the = grid(seed)
    unfair = the.unfair(1)
    uniform = share(the)
    assert uniform.confidence == 1
    assert uniform.bounds == pytest.approx((unfair.mean(), unfair.mean()), abs=1e-9)
    mass = the.mass()
    truth = mass[unfair].sum()
    found = share(the, Space.from_table(the.table))
    assert found.bounds == pytest.approx((truth, truth), abs=1e-9)
    assert found.seed is None
    for sex, bounds in found.by_group.get("sex", {}).items():
        mine = the.everybody[:, 1] == sex
        truth = mass[unfair & mine].sum() / mass[mine].sum()
        assert bounds == pytest.approx((truth, truth), abs=1e-9)


@for_seeds(3)
def test_a_counted_share_of_some_is_theirs(seed: int) -> None:
    the = grid(seed)
    asked = (the.everybody[:, 0] >= 5) & (the.everybody[:, 3] <= 2)
    # Those who are similar to them may be anybody, also younger.
    truth = the.unfair(1)[asked].mean()
    found = share(the, SPACE.asking({"age": ">= 5", "debt": "<= 2"}))
    assert found.bounds == pytest.approx((truth, truth), abs=1e-9)


@for_seeds(3)
def test_what_varies_alone_is_counted_once(seed: int) -> None:
    the = grid(seed)
    found = share(the, similarity=Similarity(vary={"sex": [0, 1]}))
    unfair = the.unfair(0)
    assert found.bounds == pytest.approx((unfair.mean(), unfair.mean()), abs=1e-9)
    assert set(found.by_group["sex"]) == {0, 1}


@pytest.mark.parametrize("kind", ["marginals", "rows", "uniform"])
def test_a_drawn_share_holds_the_truth(kind: Any) -> None:
    the = grid(7)
    space = Space.from_table(the.table)
    exact = share(the, space, distribution=kind)
    # There is no time to count.
    hurried = {"seconds": 1e-6, "draws": 2000, "confidence": 0.9999}
    found = share(the, space, distribution=kind, **hurried)
    again = share(the, space, distribution=kind, **hurried)
    assert found.bounds == again.bounds
    assert found.confidence == 0.9999
    assert found.bounds.lower <= exact.bounds.upper
    assert exact.bounds.lower <= found.bounds.upper
    assert sum(found.counts.values()) == 2000
    assert found.bounds.upper - found.bounds.lower < 0.1


def test_a_sampler_of_ones_own_is_followed() -> None:
    the = grid(3)
    unfair = the.unfair(1)

    def sampler(rng: np.random.Generator, count: int) -> Any:
        return the.table.sample(count, replace=True, random_state=rng)

    found = share(the, distribution=sampler, draws=2048)
    place = {tuple(row): i for i, row in enumerate(the.everybody.tolist())}
    truth = np.mean([unfair[place[tuple(row)]] for row in the.table.to_numpy()])
    assert found.bounds.lower <= truth <= found.bounds.upper
    assert found.n_distinct <= len(the.table)
    assert found.distribution == "as the given sampler draws them"
    assert "with a confidence of 0.99" in str(found)


def test_an_interval_holds_the_share_as_often_as_it_says() -> None:
    # The truth is a share of a table, and unknown people are on neither side.
    where, held, repeats = population(), 0, 150 * EFFORT
    distribution = distribution_of(where, None, "uniform")

    def judge(values: Any) -> Any:
        unfair = values[:, 0] * 8 + values[:, 3] < 9
        unknown = (values[:, 2] == 3) & (values[:, 3] == 5)
        return np.where(unknown, UNKNOWN, np.where(unfair, UNFAIR, FAIR))

    everybody = grid(1).everybody
    for hidden in (UNFAIR, FAIR):
        verdict = judge(everybody)
        truth = np.where(verdict == UNKNOWN, hidden, verdict) == UNFAIR
        for seed in range(repeats):
            # The number of people is fixed by what there is time for.
            bounds = share_of(
                where,
                judge,
                _Hidden(distribution),  # type: ignore[arg-type]
                confidence=0.9,
                draws=100,
                seconds=1e-9,
                seed=seed,
            ).bounds
            held += bounds.lower <= truth.mean() <= bounds.upper
    assert held >= 0.9 * 2 * repeats - 3 * np.sqrt(0.09 * 2 * repeats)


class _Hidden:
    """A distribution that nobody can count."""

    def __init__(self, inner: Any) -> None:
        self.words, self.draw = inner.words, inner.draw


@pytest.mark.parametrize(
    ("fair", "unfair", "unknown", "bounds"),
    [
        (10, 0, 0, (0, 1 - 0.025**0.1)),
        (0, 10, 0, (0.025**0.1, 1)),
        (0, 0, 10, (0, 1)),
        (0, 0, 0, (0, 1)),
        (0, 5, 5, (0.187086, 1)),
    ],
)
def test_clopper_pearson(fair: int, unfair: int, unknown: int, bounds: Any) -> None:
    found = clopper_pearson(fair, unfair, unknown, 0.95)
    assert found == pytest.approx(bounds, abs=1e-6)


def test_an_interruption_keeps_the_bounds() -> None:
    where, calls = population(), []
    distribution = distribution_of(where, None, "uniform")

    def judge(values: Any) -> Any:
        calls.append(len(values))
        if len(calls) > 2:
            raise KeyboardInterrupt
        return np.full(len(values), FAIR)

    found = share_of(where, judge, distribution)
    assert not found.interrupted  # All fit into one call.
    calls.clear()
    wide = Space({name: Integer(lower=0, upper=40) for name in MOST})
    uniform = distribution_of(population(wide), None, "uniform")
    found = share_of(population(wide), judge, uniform)
    assert found.interrupted
    assert found.counts == {"fair": 8192, "unfair": 0, "unknown": 0}
    # What was not counted may be unfair.
    assert found.bounds.lower == 0
    assert 0.05 < found.bounds.upper < 1
    calls.clear()
    found = share_of(population(wide), judge, _Hidden(uniform))  # type: ignore[arg-type]
    assert found.interrupted
    assert found.counts["fair"] >= found.n_distinct == 8192
    assert 0 < found.bounds.upper < 0.01


def test_each_person_is_asked_once() -> None:
    asked: list[Any] = []

    def judge(values: Any) -> Any:
        asked.append(values)
        return np.full(len(values), UNFAIR)

    where = population()
    share_of(
        where,
        judge,
        _Hidden(distribution_of(where, None, "uniform")),  # type: ignore[arg-type]
        draws=10_000,
    )
    people = np.concatenate(asked[1:])
    assert len(people) == len(np.unique(people, axis=0)) <= 8 * 2 * 4 * 6


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"confidence": 1}, "confidence is 1"),
        ({"confidence": "high"}, "confidence is 'high'"),
        ({"seconds": 0}, "seconds is 0"),
        ({"draws": 0}, "draws is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"distribution": "margins"}, "Did you mean 'marginals'"),
        ({"distribution": "rows"}, "there is no table"),
        ({"similarity": Similarity(noise={"age": 0.5})}, "nobody in this space"),
        ({"similarity": 3}, "similarity is 3"),
        ({"budget": 3}, "budget is 3"),
    ],
)
def test_what_has_no_meaning_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        share(grid(1), **asked)


def test_what_does_not_fit_the_space_is_refused() -> None:
    the = grid(1)
    with pytest.raises(SpecError, match="space is 3"):
        share(the, 3)  # type: ignore[arg-type]
    young = SPACE.asking({"age": "<= 2"})
    old = the.table[the.table["age"] > 5]
    with pytest.raises(SpecError, match="no row of the table has a value of 'age'"):
        share(the, young, people=old)
    with pytest.raises(SpecError, match="no row of the table is one"):
        share(the, young, people=old, distribution="rows")
    open_ended = Space(
        {**dict.fromkeys(MOST, Number()), "age": Integer(lower=0, upper=7)}
    )
    with pytest.raises(SpecError, match="the space has no bounds for 'sex'"):
        share(the, open_ended, similarity=Similarity(noise={"age": 1}))
    with pytest.raises(DataError, match="outside the space: row 1 has age = 9"):
        share(
            the, distribution=lambda _, n: [[9 * (i == 1), 0, 0, 0] for i in range(n)]
        )
    with pytest.raises(DataError, match=r"asked for .* and drew 3"):
        share(the, distribution=lambda _, n: np.zeros((3, 4)))
