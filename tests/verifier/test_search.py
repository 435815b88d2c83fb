"""What once went wrong, or nearly did."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import (
    Argmax,
    Cut,
    Ensemble,
    Numeric,
    Prediction,
    Scoring,
    Source,
    Trees,
)
from fatt.ensemble.allowed import Allowed
from fatt.errors import SpecError
from fatt.region import Boxes
from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from fatt.verifier import Budget, Verifier
from tests.laws.gears import every_gear  # noqa: F401
from tests.verifier.stumps import corners, cube, stumps, verify_corner

TINY32 = 2.0**-149
TINY64 = 2.0**-1000
TWO = {"dtype": "float64", "base": (0.0, 0.0)}


def test_where_the_sigmoid_is_flat_two_scores_tie() -> None:
    rule = Argmax(link="sigmoid")
    ensemble = stumps([(0.0, 37.2), (1037.0, 1036.0)], [0, 1], rule, **TWO)
    outcomes, labels = verify_corner(ensemble, [0.0, 0.0])
    assert labels == {0, 1}
    assert outcomes.verdict[0] == UNFAIR


def test_what_only_the_last_bits_of_a_link_decide_is_no_twin() -> None:
    rule = Argmax(link="sigmoid")
    ensemble = stumps([(37.2, 37.3), (0.0, 1037.0)], [0, 1], rule, **TWO)
    outcomes, labels = verify_corner(ensemble, [0.0, 0.0])
    assert labels == {0}
    assert outcomes.verdict[0] in {FAIR, UNKNOWN}


@pytest.mark.parametrize(
    ("dtype", "step", "divisor"), [("float32", TINY32, 7.0), ("float64", TINY64, 1e24)]
)
def test_a_division_may_underflow(dtype: str, step: float, divisor: float) -> None:
    leaves = [(0.0, step), (2 * step, 2 * step), (0.0, 64 * step)]
    scoring = {"dtype": dtype, "base": (0.0, 0.0), "divisor": divisor}
    ensemble = stumps(leaves, [0, 1, 1], Argmax(), **scoring)
    outcomes, labels = verify_corner(ensemble, [0.0, 0.0, 1.0])
    assert labels == {0, 1}
    assert outcomes.verdict[0] == UNFAIR


def test_a_division_may_underflow_at_a_cut() -> None:
    leaves = [(0.0, TINY32), (4 * TINY32, 4 * TINY32)]
    scoring = {"dtype": "float32", "base": (0.0,), "divisor": 7.0}
    ensemble = stumps(leaves, [0, 0], Cut(at=TINY32), **scoring)
    for corner in corners(ensemble).tolist():
        outcomes, labels = verify_corner(ensemble, corner)
        assert outcomes.verdict[0] == (UNFAIR if len(labels) > 1 else FAIR)


def test_where_only_missing_is_left_no_number_is_reached() -> None:
    tree = Trees.lay_out(
        roots=[0],
        feature=[0, 0, -1, -1, -1],
        threshold=[2.0, 1.0, 0.0, 0.0, 0.0],
        left=[1, 3, -1, -1, -1],
        right=[2, 4, -1, -1, -1],
        missing_left=[True, True, False, False, False],
        leaf=[0, 0, 0, 1, 2],
        values=[0.0, 0.0, 1.0],
        targets=[0],
    )
    ensemble = Ensemble(
        features=(Numeric(name="x"),),
        classes=(0, 1),
        trees=tree,
        scoring=Scoring(dtype="float64", base=(0.0,)),
        decision=Cut(at=0.5),
        source=Source(library=""),
    )
    three = np.array([[3.0]])
    box = Boxes(
        np.array([0]),
        three,
        three.copy(),
        np.array([[True]]),
        np.zeros((1, 0), dtype=np.uint64),
    )
    assert Verifier(ensemble).verify(three, box).verdict[0] == FAIR


def test_leaves_that_hold_all_of_one_output_count() -> None:
    scoring = {"dtype": "float64", "base": (0.0,)}
    ensemble = stumps([(0.0, 1.0), (0.0, 1.0)], [-1, -1], Cut(at=1.5), **scoring)
    outcomes, _ = verify_corner(ensemble, [0.0, 0.0])
    assert outcomes.verdict[0] == UNFAIR
    found = Verifier(ensemble).extremes(np.zeros((1, 2)), cube(2), 0)
    assert found.highest.lower[0] == found.highest.upper[0] == 2
    assert found.lowest.lower[0] == found.lowest.upper[0] == 0


@pytest.mark.parametrize(
    ("dtype", "digits", "first"),
    [("float64", 53, 1.0), ("float32", 24, 1.0), ("float32", 24, 1.5)],
)
def test_bounds_on_scores_hold_in_every_box(
    dtype: str, digits: int, first: float
) -> None:
    """The second box holds less than the first, until the library rounds it up."""
    large = 2.0**digits + 2
    leaves = [(0.0, large), (0.0, 1.0), (first, -large)]
    scoring = {"dtype": dtype, "base": (0.0,)}
    ensemble = stumps(leaves, [0, 0, 0], Cut(at=0.0), **scoring)
    ends = np.array([[0.0] * 3, [1.0] * 3])
    boxes = Boxes(
        np.zeros(2, dtype=np.int64),
        ends,
        ends.copy(),
        np.zeros(ends.shape, dtype=bool),
        np.zeros((2, 0), dtype=np.uint64),
    )
    found = Verifier(ensemble).extremes(ends[:1], boxes, 0)
    scores = ensemble._scores(ends)[:, 0]
    assert found.highest.upper[0] >= scores.max()
    assert found.lowest.lower[0] <= scores.min()


def test_the_leaves_of_an_only_tree_tell_all_labels() -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    report = fatt.verify(tree, [[0.0]], similarity=fatt.Similarity(noise=5))
    assert report.findings[0].labels == (0, 1, 2)


@pytest.mark.parametrize("total", [0, 1, 3])
def test_a_total_of_nodes_means_the_same_in_all_threads(total: int) -> None:
    unit = 2.0**-53
    leaves = [(0.0, 1.0), (1 + 20 * unit,) * 2, (0.0, 0.5), (0.0, 0.25)]
    ensemble = stumps(leaves, [0, 1, 0, 0], Argmax(link="softmax"), **TWO)
    people, budget = np.zeros((40, 4)), Budget(total_nodes=total)
    one, *others = (
        Verifier(ensemble).verify(people, cube(4, 40), budget=budget, n_jobs=n_jobs)
        for n_jobs in (1, 2, 4)
    )
    for other in others:
        np.testing.assert_array_equal(one.verdict, other.verdict)
        np.testing.assert_array_equal(one.labels, other.labels)


@pytest.mark.parametrize("n_classes", [2, 3, 70])
def test_many_classes_and_hundreds_of_cells(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X, y = rng.normal(size=(600, 2)), rng.integers(n_classes, size=600)
    ensemble = fatt.load(RandomForestClassifier(5, random_state=0).fit(X, y)).ensemble
    people, wide = X[:8], rng.choice([0.02, 0.1, 0.4], size=(8, 1))
    boxes = Boxes(
        np.arange(8),
        people - wide,
        people + wide,
        np.zeros(people.shape, dtype=bool),
        np.zeros((8, 0), dtype=np.uint64),
    )
    outcomes = Verifier(ensemble).verify(people, boxes)
    most = 0
    for person in range(8):
        axes = []
        for index in range(2):
            cuts, low = ensemble.thresholds(index), boxes.lower[person, index]
            inside = cuts[(cuts >= low) & (cuts < boxes.upper[person, index])]
            axes.append(np.append(low, np.nextafter(inside, np.inf)))
            most = max(most, len(axes[-1]))
        labels = set(ensemble.decide(np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)))
        assert outcomes.verdict[person] == (UNFAIR if len(labels) > 1 else FAIR)
        assert labels <= set(np.flatnonzero(outcomes.labels[person]))
    # Sets of this many cells take several words.
    assert most > 64


@pytest.mark.parametrize("top", [1, 63, 64, 100, 127, 128, 150])
def test_the_only_twin_may_lie_in_any_of_many_cells(top: int) -> None:
    """Up to the top each cell gains one, behind it each loses one.

    A set of so many cells takes three words: the first, a whole one, and the last.
    """
    n = 160
    leaves = [(0.0, 1.0) if at < top else (1.0, 0.0) for at in range(n)]
    ensemble = stumps(
        leaves,
        [0] * n,
        Cut(at=float(n)),
        variables=[0] * n,
        thresholds=np.arange(n) + 0.5,
        dtype="float64",
        base=(0.0,),
    )
    person, boxes = np.zeros((1, 1)), replace(cube(1), upper=np.full((1, 1), n + 0.0))
    outcomes = Verifier(ensemble).verify(person, boxes)
    assert outcomes.verdict[0] == UNFAIR
    assert top - 0.5 < outcomes.twins.twin(0)[0] <= top + 0.5
    found = Verifier(ensemble).extremes(person, boxes, 0)
    assert found.highest.lower[0] == found.highest.upper[0] == n
    assert found.lowest.lower[0] == found.lowest.upper[0] == min(top, n - top)


@pytest.mark.parametrize("own", [0.0, 1.0])
@pytest.mark.parametrize(
    ("tolerance", "verdict"), [(1.0, FAIR), (float(np.nextafter(1.0, 0.0)), UNFAIR)]
)
def test_one_tree_keeps_both_ends_of_a_tolerance(
    own: float, tolerance: float, verdict: int
) -> None:
    ensemble = stumps([(0.0, 1.0)], [0], Cut(at=0.5), dtype="float64", base=(0.0,))
    number = replace(ensemble, classes=(), decision=Prediction())
    verifier = Verifier(number, allowed=Allowed(tolerance=tolerance))
    assert verifier.verify(np.array([[own]]), cube(1)).verdict[0] == verdict


@pytest.mark.parametrize("is_below", [False, True])
def test_the_first_look_reaches_a_leaf_at_the_very_end_of_the_box(
    is_below: bool,
) -> None:
    """The box begins at a threshold, of a root or below where it first parts."""
    inner = Trees.lay_out(
        roots=[0, 5],
        feature=[0 if is_below else 1, 1, -1, -1, -1, 0, -1, -1],
        threshold=[0.5, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
        left=[1, 3, -1, -1, -1, 6, -1, -1],
        right=[2, 4, -1, -1, -1, 7, -1, -1],
        missing_left=np.zeros(8, dtype=bool),
        leaf=[0, 0, 0, 1, 0, 0, 2, 2],
        values=np.array([-10.0, 10.0, -1.0]),
        targets=[0, 0],
    )
    plain = stumps(
        [(0.0, 0.0), (0.0, 0.0)], [0, 0], Cut(at=0.0), dtype="float64", base=(0.0,)
    )
    ensemble = replace(plain, trees=inner)
    boxes = replace(cube(2), lower=np.array([[0.0, 0.5]]))
    outcomes = Verifier(ensemble).verify(np.ones((1, 2)), boxes)
    assert outcomes.verdict[0] == UNFAIR
    assert outcomes.twins.twin(0)[1] == 0.5


def test_no_threads_and_no_time_are_refused() -> None:
    ensemble = stumps([(0.0, 1.0)], [0], Cut(at=0.5), dtype="float64", base=(0.0,))
    with pytest.raises(SpecError, match="n_jobs is 0"):
        Verifier(ensemble).verify(np.zeros((1, 1)), cube(1), n_jobs=0)
    with pytest.raises(SpecError, match="seconds"):
        Budget(seconds=-1)


@pytest.mark.parametrize("ties", ["first", "last"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("link", "score", "most"),
    [
        ("softmax", 1.0, 40),
        ("softmax", 2.0**-10, 2**14),
        ("sigmoid", 5.0, 400),
        ("sigmoid", 20.0, 2**27),
    ],
)
def test_links_merge_scores_that_are_close(
    link: Any, score: float, most: int, dtype: str, ties: Any
) -> None:
    """A class that comes near, but not up to the other, may win a tie of the link."""
    unit, seen = float(np.spacing(np.dtype(dtype).type(score))), set()
    steps = np.unique(np.geomspace(1, most, 40).astype(int))
    for step in [*(-steps).tolist(), 0, *steps.tolist()]:
        near = score + step * unit
        leaves = [(score, score), (0.0, near)]
        scoring = {"dtype": dtype, "base": (0.0, 0.0)}
        rule = Argmax(link=link, ties=ties)
        ensemble = stumps(leaves, [0, 1], rule, **scoring)
        outcomes, labels = verify_corner(ensemble, [0.0, 0.0])
        own = int(outcomes.label[0])
        assert labels <= set(np.flatnonzero(outcomes.labels[0]))
        if outcomes.verdict[0] == FAIR:
            assert labels == {own}
        elif outcomes.verdict[0] == UNFAIR:
            assert len(labels) > 1
        seen.add(len(labels))
    assert seen == {1, 2}


@pytest.mark.parametrize(("dtype", "digits"), [("float32", 24), ("float64", 53)])
def test_large_leaves_round_small_ones_where_they_are_reached(
    dtype: str, digits: int
) -> None:
    """At one corner two large leaves cancel, and what lies between them is rounded."""
    large = 2.0**digits + 2
    leaves = [(0.0, large), (0.0, 1.0), (0.0, -large)]
    scoring = {"dtype": dtype, "base": (0.0,)}
    ensemble = stumps(leaves, [0] * 3, Cut(at=2.0), variables=[0, 1, 0], **scoring)
    for corner in corners(ensemble).tolist():
        outcomes, labels = verify_corner(ensemble, corner)
        assert labels == {0, 1}
        assert outcomes.verdict[0] == UNFAIR


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_an_infinity_that_is_read_as_missing_is_no_number(infinity: float) -> None:
    """As XGBoost reads it with ``missing=inf``: it goes where no such number goes."""
    is_left = infinity > 0
    leaves = [(0.0, -10.0) if is_left else (-10.0, 0.0), (0.0, 2.0)]
    ensemble = stumps(leaves, [0, 0], Cut(at=1.0), dtype="float64", base=(0.0,))
    nodes = ensemble.trees.nodes.copy()
    nodes["missing_left"] = is_left & (nodes["feature"] >= 0)
    features = (
        Numeric(name="x0", missing_range=(infinity, infinity)),
        ensemble.features[1],
    )
    ensemble = replace(
        ensemble, features=features, trees=replace(ensemble.trees, nodes=nodes)
    )
    person = np.array([[infinity, 0.0]])
    boxes = Boxes(
        np.zeros(1, dtype=np.int64),
        person.copy(),
        np.array([[infinity, 1.0]]),
        np.zeros((1, 2), dtype=bool),
        np.zeros((1, 0), dtype=np.uint64),
    )
    found = Verifier(ensemble).verify(person, boxes)
    assert found.label.tolist() == [0]
    assert found.verdict.tolist() == [UNFAIR]
