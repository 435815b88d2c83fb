"""`fatt.radius`: the largest multiple of the noise that keeps a person fair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Bounds, Budget, Similarity, Verdict
from fatt.audit import run
from fatt.errors import SpecError
from fatt.region import Integer, Relation, Variables
from fatt.region.neighbourhood import Neighbourhood
from fatt.verdict import VERDICTS
from fatt.verifier import Verifier
from tests.laws.gears import every_gear  # noqa: F401
from tests.worlds import tree

MAX = float(np.finfo(np.float64).max)


def verdicts(
    model: Any, X: Any, similarity: Relation, scale: Any, schema: Any = None
) -> list[str]:
    """Verdicts at given multiples, without any bisection."""
    ensemble = fatt.load(model).ensemble
    variables = Variables(ensemble, schema or fatt.Schema.infer(ensemble, X))
    people = variables.gather(ensemble.read(X))
    regions = Neighbourhood(similarity, variables).boxes(
        people, scale=np.minimum(scale, MAX)
    )
    found = Verifier(variables.ensemble).verify(people, regions)
    return [str(VERDICTS[code]) for code in found.verdict]


def test_the_exact_threshold() -> None:
    noise = Similarity(noise={"x0": 2})
    low, high, far = fatt.radius(tree(), [[31.0], [36.0], [-1e9]], similarity=noise)
    # The largest number that becomes 35 in float32, in which the tree compares.
    (cut,) = fatt.load(tree()).ensemble.thresholds(0)
    assert 31 + 2 * low.bounds.lower <= cut < 31 + 2 * low.bounds.upper
    # The cut itself is already on the other side.
    assert 36 - 2 * high.bounds.lower > cut >= 36 - 2 * high.bounds.upper
    assert -1e9 + 2 * far.bounds.lower <= cut < -1e9 + 2 * far.bounds.upper
    for one in (low, high, far):
        assert one.bounds.upper == np.nextafter(one.bounds.lower, np.inf)
    assert [one.at_zero for one in (low, high, far)] == [Verdict.FAIR] * 3
    assert [one.index for one in (low, high, far)] == [0, 1, 2]


def test_one_sided_noise_never_reaches() -> None:
    radii = fatt.radius(tree(), [[31.0]], similarity=Similarity(noise={"x0": "-1"}))
    assert radii[0].bounds == Bounds(np.inf, np.inf)
    assert repr(radii) == "<1 radii: 1 are fair at every multiple>"


def test_whole_numbers_move_in_steps() -> None:
    schema = fatt.Schema.infer(fatt.load(tree()).ensemble, [[31.0]]).with_(x0=Integer())
    noise = Similarity(noise={"x0": 3})
    (radius,) = fatt.radius(tree(), [[31.0]], similarity=noise, schema=schema)
    # 35 gets the same label, 36 another: 5 years, which are 5/3 of 3.
    assert radius.bounds.lower == pytest.approx(5 / 3)
    assert 3 * radius.bounds.lower < 5 <= 3 * radius.bounds.upper
    assert radius.bounds.upper == np.nextafter(radius.bounds.lower, 2)


def test_whole_multiples_of_whole_numbers() -> None:
    # 33 and the largest float below 3 add up to 36.
    X = np.array([[33], [30]])
    (near, far) = fatt.radius(tree(), X, similarity=Similarity(noise={"x0": 1}))
    assert near.bounds == Bounds(np.nextafter(3, 0), 3.0)
    assert far.bounds == Bounds(np.nextafter(6, 0), 6.0)


@pytest.mark.parametrize(
    "similarity",
    [
        Similarity(vary=["x0"]),
        Similarity(noise={"x0": "20..30"}),
        Similarity(noise=0) | Similarity(missing=["x0"]),
    ],
)
def test_without_noise_nothing_grows(similarity: Relation) -> None:
    with pytest.raises(SpecError, match="name a number in noise"):
        fatt.radius(tree(), [[31.0]], similarity=similarity)


def test_unfair_without_any_noise() -> None:
    X = [[0.0, 20.0], [1.0, 20.0], [0.0, 50.0], [1.0, 50.0]]
    model = DecisionTreeClassifier().fit(X, [0, 1, 1, 1])
    similarity = Similarity(noise={"x1": 1}, vary=["x0"])
    radii = fatt.radius(model, X, similarity=similarity)
    assert radii[0].bounds == Bounds(0.0, 0.0)
    assert radii[0].at_zero == Verdict.UNFAIR
    # With x0 free, the cut at 35 is 15 away.
    assert radii[2].bounds.lower == pytest.approx(15)
    assert radii[2].at_zero == Verdict.FAIR


def test_a_budget_of_nothing_proves_nothing_false() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = RandomForestClassifier(7, random_state=0).fit(X, X.sum(axis=1) > 0)
    noise = Similarity(noise=0.1)
    exact = fatt.radius(model, X, similarity=noise)
    some = fatt.radius(model, X, similarity=noise, budget=Budget(nodes=0))
    assert np.all(some.lower <= exact.lower)
    assert np.all(some.upper >= exact.upper)
    assert np.all(some.lower <= some.upper)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_radii_of_forests(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(30, 3)), int(rng.integers(0, 4)))
    y = rng.integers(3, size=30)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    noise = {
        "x0": float(rng.choice([0.1, 1.0, 1 / 3])),
        "x1": str(rng.choice(["5%", "+0.5", "0.2 sd"])),
    }
    vary = ["x2"] if rng.random() < 0.3 else []
    similarity: Relation = Similarity(noise=noise, vary=vary)
    if rng.random() < 0.3:
        similarity = similarity | Similarity(noise={"x2": 0.5})
    radii = fatt.radius(model, X, similarity=similarity)
    at_lower = verdicts(model, X, similarity, radii.lower)
    at_upper = verdicts(model, X, similarity, radii.upper)
    for lower, upper, one in zip(at_lower, at_upper, radii, strict=True):
        if one.at_zero == Verdict.UNFAIR:
            assert one.bounds == Bounds(0.0, 0.0)
            assert lower == "unfair"
        elif one.bounds.upper == np.inf:
            assert one.bounds.lower == np.inf
            assert lower == "fair"
        else:
            assert one.bounds.upper == np.nextafter(one.bounds.lower, np.inf)
            assert (lower, upper) == ("fair", "unfair")


def test_radii_are_a_sequence_and_chunks_do_not_show(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.linspace(20, 50, 13)[:, np.newaxis]
    noise = Similarity(noise={"x0": 2})
    whole = fatt.radius(tree(), X, similarity=noise)
    assert len(whole) == 13
    assert whole[-1] == whole[12]
    assert whole[11:] == [whole[11], whole[12]]
    assert repr(whole) == (
        "<13 radii: 0 are fair at every multiple; the median of the others is at least "
        "3.75>"
    )
    monkeypatch.setattr(run, "CHUNK", 4)
    steps: list[int] = []
    parts = fatt.radius(
        tree(), X, similarity=noise, progress=lambda done, _: steps.append(done)
    )
    assert list(parts) == list(whole)
    assert steps == [4, 8, 12, 13]
