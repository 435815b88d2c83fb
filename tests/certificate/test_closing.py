"""What the checker calls closed holds no other label, whoever proposes it."""

from __future__ import annotations

import numpy as np
import pytest

from fatt.certificate.cells import Axis
from fatt.certificate.closing import Cut, Part, Problem
from fatt.certificate.columns import Codes
from fatt.certificate.prover import prove
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


def small_case(seed: int, style: str | None = None) -> tuple[Case, np.ndarray]:
    case = random_case(seed, style=style, most_points=POINTS, n_people=2)
    return case, labels_of(case.ensemble, case.people)


@for_seeds(60)
def test_labels_are_those_of_the_ensemble(seed: int) -> None:
    case = random_case(seed, n_people=5, most_points=1)
    labels = judge_of(case.ensemble).labels(case.people)
    assert labels.tolist() == labels_of(case.ensemble, case.people).tolist()


@pytest.mark.parametrize("style", STYLES)
@for_seeds(15)
def test_proved_boxes_hold_one_label_and_fair_ones_are_proved(
    style: str, seed: int
) -> None:
    case, own = small_case(seed, style)
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


@for_seeds(60)
def test_no_part_is_closed_wrongly(seed: int) -> None:
    """Cut at random, whatever the person's label is said to be."""
    case, own = small_case(seed)
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
