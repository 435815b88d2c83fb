"""Ensembles of stumps: tree i splits variable i at one half, or another elsewhere."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fatt.ensemble import Ensemble, Numeric, Scoring, Source, Trees
from fatt.region import Boxes
from fatt.verdict import Findings
from fatt.verifier import Verifier


def stumps(
    leaves: list[tuple[float, float]],
    targets: list[int],
    decision: Any,
    *,
    variables: list[int] | None = None,
    thresholds: ArrayLike = 0.5,
    **scoring: Any,
) -> Ensemble:
    """An ensemble whose trees give the first leaf at 0 and the second at 1."""
    n = len(leaves)
    at = np.broadcast_to(thresholds, n)
    split = list(range(n)) if variables is None else variables
    trees = Trees.lay_out(
        roots=3 * np.arange(n),
        feature=np.array([[variable, -1, -1] for variable in split]).ravel(),
        threshold=np.outer(at, [1.0, 0.0, 0.0]).ravel(),
        left=np.array([[3 * tree + 1, -1, -1] for tree in range(n)]).ravel(),
        right=np.array([[3 * tree + 2, -1, -1] for tree in range(n)]).ravel(),
        missing_left=np.zeros(3 * n, dtype=bool),
        leaf=np.array([[0, 2 * tree, 2 * tree + 1] for tree in range(n)]).ravel(),
        values=np.array(leaves, dtype=scoring["dtype"]).ravel(),
        targets=targets,
    )
    return Ensemble(
        features=tuple(Numeric(name=f"x{index}") for index in range(max(split) + 1)),
        classes=tuple(range(max(2, len(scoring["base"])))),
        trees=trees,
        scoring=Scoring(**scoring),
        decision=decision,
        source=Source(library=""),
    )


def cube(n_variables: int, people: int = 1) -> Boxes:
    """Boxes in which every variable is anything from 0 to 1."""
    lower = np.zeros((people, n_variables))
    return Boxes(
        np.arange(people),
        lower,
        lower + 1,
        np.zeros(lower.shape, dtype=bool),
        np.zeros((people, 0), dtype=np.uint64),
    )


def corners(ensemble: Ensemble) -> np.ndarray:
    """All points of the cube that the stumps tell apart."""
    n = len(ensemble.features)
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def verify_corner(ensemble: Ensemble, corner: list[float]) -> tuple[Findings, set[int]]:
    """What the search says of a corner in the cube, and the labels that occur there."""
    person = np.array([corner])
    outcomes = Verifier(ensemble).verify(person, cube(len(corner)))
    return outcomes, set(ensemble.decide(corners(ensemble)).tolist())
