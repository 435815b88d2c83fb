"""Leaf values with which fewer regions are divided.

The score of a class at a point is the sum of one leaf per tree. In a region, a rival
leads the class that ought to win by at most the sum of its largest lead in each tree.
If that sum is negative, the region is undivided: all points in it get one label. With
``cost(lead) = log(1 + exp(steep · lead))``, the leaves move down the slope of

    sum over people of cost(lead over the true class)
    + sum over people of (steep · change of the scores)² / 8
    + weight · sum over regions of cost(largest lead over the class of the person),

which is convex in the leaf values. The first line keeps the model accurate. The second
keeps it from learning the labels of these people by heart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Cut, Ensemble
from fatt.region import Boxes
from fatt.region.boxes import code_words, lone_boxes
from fatt.repairs import kernels
from fatt.verifier.ranks import forest_of
from fatt.verifier.twins import clip_to_numbers, holes_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: How steep the costs are in shares of classes, which lie between 0 and 1. Margins of
#: boosted models are log odds, and used as they are.
_STEEP = 8.0
_N_STEPS = 50
#: The length of the first step, relative to one that cannot overshoot, and after how
#: many more steps it is halved. Where the worst leaf changes from step to step, only
#: ever shorter steps converge.
_STRIDE, _HALVED_AFTER = 3.0, 5


class Reach(NamedTuple):
    """Leaves by region and tree.

    Attributes
    ----------
    ends : ndarray of shape (n_regions, n_trees)
        Where the leaves of each region and tree end. The next ones begin there.
    leaves : ndarray of shape (n,)
        The leaves, as rows of a table of values.
    """

    ends: NDArray[np.int64]
    leaves: NDArray[np.int64]


def reach_of(ensemble: Ensemble, boxes: Boxes, rows: NDArray[np.int64]) -> Reach:
    """Find the leaves that boxes reach.

    Parameters
    ----------
    ensemble
        The model, over the variables.
    boxes
        The regions.
    rows
        For each leaf of the ensemble its row in the table of values.
    """
    forest = forest_of(ensemble, code_words(ensemble.features))
    depth = int(ensemble.trees.depths().max(initial=0))
    clipped = clip_to_numbers(boxes, holes_of(ensemble))
    regions = tuple(map(np.ascontiguousarray, clipped))
    ends = np.empty((len(boxes), len(forest.roots)), dtype=np.int64)
    leaves = kernels.collect(forest, regions, depth, ends)
    return Reach(ends, rows[leaves])


class Task(NamedTuple):
    """A model and people, as the descent sees them.

    Attributes
    ----------
    columns : ndarray of shape (n_classes, n_trees)
        The column of the leaf values that a tree adds to a class; -1 for none.
    base : ndarray of shape (n_classes,)
        The base score of each class.
    steep
        The factor that makes log odds of scores.
    is_shares
        Whether each leaf holds the shares of the classes.
    own
        The leaves of the people themselves.
    truth : ndarray of shape (n_people,)
        The true class of each person.
    similar
        The leaves of all similar people, by region.
    person : ndarray of shape (n_regions,)
        The person of each region.
    """

    columns: NDArray[np.int64]
    base: Floats
    steep: float
    is_shares: bool
    own: Reach
    truth: Codes
    similar: Reach
    person: Codes


def task_of(
    ensemble: Ensemble, rows: Codes, people: Floats, truth: Codes, boxes: Boxes
) -> Task:
    """Describe how leaves add up to labels, and which people reach which leaf.

    Parameters
    ----------
    ensemble
        The model, over the variables.
    rows
        For each leaf of the ensemble its row in the table of values.
    people : ndarray of shape (n_people, n_variables)
        The people.
    truth : ndarray of shape (n_people,)
        The true class of each person.
    boxes
        Where they may move.
    """
    targets, scoring = ensemble.trees.targets, ensemble.scoring
    classes = np.arange(len(ensemble.classes))[:, np.newaxis]
    base = np.array(scoring.base) * scoring.divisor
    is_vector = bool(np.all(targets == -1)) and len(scoring.base) > 1
    if isinstance(ensemble.decision, Cut):
        # The first class stands for the cut, which the only score must reach.
        base = np.array([0.0, base[0] - ensemble.decision.at * scoring.divisor])
        columns = np.where(classes == 1, 0, -1) + 0 * targets
    elif is_vector:
        columns = classes + 0 * targets
    else:
        columns = np.where(targets == classes, 0, -1)
    # Other leaves hold margins of all classes.
    is_shares = is_vector and bool(np.all(ensemble.trees.values >= 0))
    steep = _STEEP if is_shares else 1.0
    return Task(
        columns=np.ascontiguousarray(columns, dtype=np.int64),
        base=base,
        steep=steep / scoring.divisor,
        is_shares=is_shares,
        own=reach_of(ensemble, lone_boxes(people, ensemble.features), rows),
        truth=truth,
        similar=reach_of(ensemble, boxes, rows),
        person=boxes.person,
    )


def descend(
    task: Task, before: Floats, start: Floats, label: Codes, weight: float
) -> Floats:
    """Return leaf values with which fewer regions are divided.

    Parameters
    ----------
    task
        The model and people.
    before : ndarray of shape (n_rows, n_columns)
        The leaf values of the given model.
    start : ndarray of shape (n_rows, n_columns)
        Where to begin.
    label : ndarray of shape (n_people,)
        The class of each person, which all similar people should get.
    weight
        The cost of a divided region, relative to a wrong label.

    Notes
    -----
    Each leaf takes its own Newton step, with a bound on the curvature. A person has one
    leaf in each tree, so the steps are divided by the number of trees.
    """
    n_trees = task.columns.shape[1]
    values, unit = start.copy(), task.steep**2 / 4
    for step in range(_N_STEPS):
        # Without other pulls a leaf stays near its value before.
        pulls = np.stack([unit * (values - before), np.full_like(values, unit)])
        _weigh(task, task.own, task.truth, values, pulls)
        _hold(task, values - before, pulls)
        apart = np.zeros_like(pulls)
        _weigh(task, task.similar, label[task.person], values, apart)
        slope, bend = pulls + weight * apart
        values -= _STRIDE / (1 + step / _HALVED_AFTER) / n_trees * slope / bend
        if task.is_shares:
            changed = (values != before).any(axis=1)
            values[changed] = np.maximum(values[changed], 0.0)
            values[changed] /= values[changed].sum(axis=1, keepdims=True)
    return values


def undivided(task: Task, values: Floats, label: Codes) -> float:
    """Return the share of regions that is proved undivided.

    Parameters
    ----------
    task
        The model and people.
    values : ndarray of shape (n_rows, n_columns)
        The leaf values.
    label : ndarray of shape (n_people,)
        The class of each person.
    """
    pulls = np.zeros((2, *values.shape))
    leads = _weigh(task, task.similar, label[task.person], values, pulls)
    return float(np.mean(leads < 0))


def _weigh(
    task: Task, reach: Reach, label: Codes, values: Floats, pulls: Floats
) -> Floats:
    """Add the cost of rivals' leads to the pulls; return the largest leads."""
    args = task.columns, task.base, reach, label, task.steep
    return np.asarray(kernels.weigh(values, *args, *pulls))


def _hold(task: Task, moved: Floats, pulls: Floats) -> None:
    """Add the cost of changed scores to the pulls."""
    unit, (slope, bend) = task.steep**2 / 4, pulls
    leaves = task.own.leaves.reshape(task.own.ends.shape)
    for columns in task.columns:
        trees = np.flatnonzero(columns >= 0)
        if not trees.size:
            continue
        column, mine = columns[trees[0]], leaves[:, trees]
        change = np.repeat(moved[mine, column].sum(axis=1), len(trees))
        slope[:, column] += unit * np.bincount(mine.ravel(), change, len(slope))
        bend[:, column] += unit * np.bincount(mine.ravel(), minlength=len(bend))
