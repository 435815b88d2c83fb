"""What the checker calls closed holds no other label, whoever proposes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from fatt.certificate.cells import Axis
from fatt.certificate.closing import Cut, Part, Problem
from fatt.certificate.columns import Codes
from fatt.certificate.judge import Judge
from fatt.certificate.prover import prove
from fatt.certificate.similar import Reach
from fatt.ensemble import Argmax, Ensemble, Numeric, Scoring, Source, Trees
from fatt.ensemble import Cut as DecisionCut
from fatt.region import Binary, Schema, Similarity
from fatt.verdict import FAIR
from fatt.verifier import Verifier
from tests.cases import STYLES, Case, random_case
from tests.certificate.made import judge_of, ways_of
from tests.laws.effort import for_seeds
from tests.search_oracles import (
    brute_force,
    cells_of,
    labels_of,
    points_of,
    witnessed_labels,
)

POINTS = 300
LARGEST = float(np.finfo(np.float64).max)
#: As XGBoost reads numbers with ``missing=inf``, and whatever else ends at infinity.
ENDLESS = [
    (np.inf, np.inf),
    (-np.inf, -np.inf),
    (LARGEST, np.inf),
    (-np.inf, -LARGEST),
    (0.0, np.inf),
    (-np.inf, 0.0),
    (-np.inf, np.inf),
]
#: The numbers that are read as missing: those of the case, or an infinity with them.
gaps = pytest.mark.parametrize("endless", [False, True])


def small_case(
    seed: int, style: str | None = None, *, endless: bool = False
) -> tuple[Case, np.ndarray]:
    case = random_case(seed, style=style, most_points=POINTS, n_people=2)
    case = with_endless_gaps(case, seed) if endless else case
    return case, labels_of(case.ensemble, case.people)


def with_endless_gaps(case: Case, seed: int) -> Case:
    """Let the model read infinities as missing, and perhaps numbers beside them."""
    rng = np.random.default_rng(seed)
    features = [
        msgspec.structs.replace(
            feature,
            missing_range=ENDLESS[int(rng.integers(len(ENDLESS)))],
            accepts_missing=True,
        )
        if isinstance(feature, Numeric)
        else feature
        for feature in case.ensemble.features
    ]
    return replace(case, ensemble=replace(case.ensemble, features=tuple(features)))


@gaps
@for_seeds(60)
def test_labels_are_those_of_the_ensemble(seed: int, endless: bool) -> None:
    case = random_case(seed, n_people=5, most_points=1)
    case = with_endless_gaps(case, seed) if endless else case
    labels = judge_of(case.ensemble).labels(case.people)
    assert labels.tolist() == labels_of(case.ensemble, case.people).tolist()


@gaps
@pytest.mark.parametrize("style", STYLES)
@for_seeds(15)
def test_proved_boxes_hold_one_label_and_fair_ones_are_proved(
    style: str, seed: int, endless: bool
) -> None:
    case, own = small_case(seed, style, endless=endless)
    outcomes = Verifier(case.ensemble).verify(case.people, case.boxes, n_jobs=1)
    for box, way in enumerate(ways_of(case, own)):
        person = case.boxes.person[box]
        is_fair = outcomes.verdict[person] == FAIR
        proof = prove(way, most_parts=5000 if is_fair else 20)
        if proof is not None:
            truth = brute_force(case.ensemble, case.boxes, box)
            assert truth.witnessed == {own[person]}, "a wrong proof"
        else:
            assert not is_fair, "a fair person without a proof"


@gaps
@for_seeds(60)
def test_no_part_is_closed_wrongly(seed: int, endless: bool) -> None:
    """Cut at random, whatever the person's label is said to be."""
    case, own = small_case(seed, endless=endless)
    rng = np.random.default_rng(seed)
    n_classes = len(case.ensemble.classes)
    said = rng.integers(n_classes, size=len(own)) if rng.random() < 0.5 else own
    for box, way in enumerate(ways_of(case, said)):
        problem = way.problem()
        part, alive = problem.whole, problem.everything()
        for _ in range(int(rng.integers(4))):
            axes = [*problem.lines, *problem.sets]
            if not axes:
                break
            axis = int(rng.choice(axes))
            cell = int(rng.integers(len(problem_cells(problem, axis)) + 1))
            cut = Cut(axis, cell, alone=bool(rng.integers(2)))
            sides = problem.parts(part, cut)
            if sides is not None:
                part = sides[int(rng.integers(2))]
                alive = problem.meeting(alive, part)
        if problem.first_open(part, alive) is None:
            found = labels_in(case, box, problem, part)
            assert found <= {int(said[case.boxes.person[box]])}


def stumps(
    *trees: tuple[Any, Any], dtype: Any, base: float, decision: DecisionCut | Argmax
) -> Ensemble:
    """Trees that part one number at 0: what they add below it and above it."""
    values = np.array(trees, dtype=dtype).reshape(2 * len(trees), -1)
    count = len(trees)
    is_cut = isinstance(decision, DecisionCut)
    return Ensemble(
        features=(Numeric(name="x"),),
        classes=("no", "yes"),
        trees=Trees.lay_out(
            roots=np.arange(count) * 3,
            feature=[0, -1, -1] * count,
            threshold=[0.0] * (3 * count),
            left=[node for tree in range(count) for node in (3 * tree + 1, 0, 0)],
            right=[node for tree in range(count) for node in (3 * tree + 2, 0, 0)],
            missing_left=[False] * (3 * count),
            leaf=[row for tree in range(count) for row in (0, 2 * tree, 2 * tree + 1)],
            values=values,
            targets=[0 if is_cut else -1] * count,
        ),
        scoring=Scoring(dtype=dtype, base=(base,) if is_cut else (base, base)),
        decision=decision,
        source=Source(library="none", model="stumps", format="made up"),
    )


LARGE = 2.0**24


@pytest.mark.parametrize(
    "model",
    [
        # Exactly at the cut is the other class.
        stumps((0.5, 0.0), dtype="float64", base=0.0, decision=DecisionCut(at=0.5)),
        stumps((0.25, 0.5), dtype="float64", base=0.0, decision=DecisionCut(at=0.5)),
        # Two small numbers are lost in float32, one after the other.
        stumps(
            (1.0, 4.0),
            (1.0, 1.0),
            dtype="float32",
            base=LARGE,
            decision=DecisionCut(at=LARGE + 1),
        ),
        # What differs before the link is a tie behind it, and the first class wins.
        stumps(
            ((40.0, 41.0), (0.0, 50.0)),
            dtype="float64",
            base=0.0,
            decision=Argmax(link="sigmoid"),
        ),
        stumps(
            ((0.0, 1e-9), (0.0, 1.0)),
            dtype="float32",
            base=0.0,
            decision=Argmax(link="softmax"),
        ),
    ],
)
def test_a_hair_decides(model: Ensemble) -> None:
    own, other = labels_of(model, np.array([[1.0], [-1.0]]))
    assert own != other
    nothing = np.zeros((1, 0), dtype=bool)
    ends = np.array([-1.0]), np.array([1.0])
    reach = Reach(*ends, np.zeros(1, dtype=bool), nothing)
    (way,) = judge_of(model).look([reach], np.array([own]))
    assert not way.is_closed
    assert prove(way, 50) is None
    problem = way.problem()
    assert problem.first_open(problem.whole, problem.everything()) is not None


def test_a_level_may_be_a_number_that_is_read_as_missing() -> None:
    model = stumps((0.0, 1.0), dtype="float64", base=0.0, decision=DecisionCut(at=0.5))
    feature = Numeric(name="x", missing_range=(0.0, 0.0))
    model = replace(model, features=(feature,))
    schema = Schema.from_ensemble(model).with_(x=Binary(levels=("no", "yes")))
    judge = Judge(model, schema, Similarity(vary=["x"]))
    # Missing goes right, and so does 0, although it is not above the threshold.
    assert model.predict([[-1.0], [0.0], [1.0]]).tolist() == ["no", "yes", "yes"]
    assert judge.labels(np.array([[0.0], [1.0]])).tolist() == [1, 1]


@for_seeds(40)
def test_a_cut_loses_nobody(seed: int) -> None:
    """Each cell of the axis is on one side, and the other axes stay as they are."""
    case, own = small_case(seed)
    rng = np.random.default_rng(seed)
    for way in ways_of(case, own):
        problem = way.problem()
        part = problem.whole
        for axis in [*problem.lines, *problem.sets] * 2:
            before = members_of(problem, part)
            for cell in problem_cells(problem, axis):
                for alone in (False, True):
                    sides = problem.parts(part, Cut(axis, cell, alone))
                    if sides is None:
                        continue
                    one, other = (members_of(problem, side) for side in sides)
                    assert one[axis]
                    assert other[axis]
                    assert sorted(one.pop(axis) + other.pop(axis)) == before[axis]
                    rest = {
                        name: cells for name, cells in before.items() if name != axis
                    }
                    assert one == other == rest
                    if rng.random() < 0.2:
                        part, before = sides[1], members_of(problem, sides[1])


def members_of(problem: Problem, part: Part) -> dict[int, list[int]]:
    """The cells of a part on each axis on which there is a choice."""
    found = {
        axis: list(range(int(first), int(last) + 1))
        for axis, first, last in zip(problem.lines, part.first, part.last, strict=True)
    }
    for number, axis in enumerate(problem.sets):
        inside = part.inside[problem.span(number)]
        found[axis] = problem.set_cells[number][inside].tolist()
    return found


def problem_cells(problem: Problem, axis: int) -> range:
    """The cells of an axis that a cut may name."""
    if axis in problem.lines:
        return range(int(problem.whole.last[problem.lines.index(axis)]) + 1)
    return range(int(problem.set_cells[problem.sets.index(axis)].max()) + 1)


def labels_in(case: Case, box: int, problem: Problem, part: Part) -> set[int]:
    """The labels of all points of a part, by brute force."""
    found: set[int] = set()
    axes = judge_of(case.ensemble).cells.axes
    for points in points_of(cells_of(case.ensemble, case.boxes, box)):
        inside = np.ones(len(points), dtype=bool)
        for place, index in enumerate(problem.lines):
            cell = cells_in(axes[index], points[:, index])
            inside &= (cell >= part.first[place]) & (cell <= part.last[place])
        for number, index in enumerate(problem.sets):
            cell = cells_in(axes[index], points[:, index])
            kept = problem.set_cells[number][part.inside[problem.span(number)]]
            inside &= np.isin(cell, kept)
        if inside.any():
            found |= set(labels_of(case.ensemble, points[inside]).tolist())
            found |= witnessed_labels(case.ensemble, points[inside])
    return found


def cells_in(axis: Axis, values: np.ndarray) -> np.ndarray:
    """The cell of each value; NaN is missing."""
    absent = np.isnan(values)
    known = np.where(absent, 0.0, values)
    if isinstance(axis.column, Codes):
        cells = known.astype(np.int64)
    else:
        cells = np.searchsorted(axis.cuts, known, side="left")
        absent |= axis.column.reads_missing(values)
    return np.where(absent, axis.missing, cells)
