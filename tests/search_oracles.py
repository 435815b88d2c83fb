"""Slow and independent answers to the verifier's question.

Each oracle takes an ensemble, one box of `Boxes` and, where it needs it, the person's
own class. None shares code with the search. They see a variable as a list of cells:
values of the box such that every other value goes the same way at every node.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from fatt.ensemble import Argmax, Categorical, Cut, Ensemble, Numeric
from fatt.ensemble.scoring import decide
from fatt.region import Boxes, code_words

Floats = NDArray[np.float64]


class Cells(NamedTuple):
    """The cells of one variable within a box: which way each goes at each node."""

    values: Floats
    nodes: NDArray[np.int64]
    left: NDArray[np.bool_]


class Truth(NamedTuple):
    """What brute force finds in a box."""

    labels: frozenset[int]
    #: Labels that the library may answer when it adds up in another order.
    possible: frozenset[int]
    #: Labels that it answers somewhere, whatever its order.
    certain: frozenset[int]
    #: Labels that some order was seen to give.
    witnessed: frozenset[int]
    #: Whether some point lies so near a tie that rounding, in a link or in a sum
    #: without order, could make it one.
    near_tie: bool
    lowest: NDArray[Any]
    highest: NDArray[Any]


def is_member(ensemble: Ensemble, boxes: Boxes, box: int, row: Floats) -> bool:
    """Tell whether a row of raw numbers and codes lies in a box, by its definition."""
    words = code_words(ensemble.features)
    for index, feature in enumerate(ensemble.features):
        value = row[index]
        if math.isnan(value):
            inside = boxes.missing[box, index]
        elif isinstance(feature, Categorical):
            code = int(value)
            word = int(boxes.codes[box, words[index] + code // 64])
            inside = code == value and word >> (code % 64) & 1
        else:
            inside = boxes.lower[box, index] <= value <= boxes.upper[box, index]
            inside = inside and (not feature.integer or value == np.floor(value))
        if not inside:
            return False
    return True


def members(ensemble: Ensemble, boxes: Boxes, box: int, index: int) -> Floats:
    """Return at least one value of each cell of a variable, all members of the box."""
    feature = ensemble.features[index]
    missing = [np.nan] if boxes.missing[box, index] else []
    if isinstance(feature, Categorical):
        first = code_words(ensemble.features)[index]
        words = boxes.codes[box, first:]
        codes = [c for c in range(feature.n_codes) if int(words[c // 64]) >> c % 64 & 1]
        return np.array([*codes, *missing], dtype=np.float64)
    low, high = boxes.lower[box, index], boxes.upper[box, index]
    cuts = np.array([*ensemble.thresholds(index), *feature.edges])
    if feature.missing_range is not None:
        start, end = feature.missing_range
        cuts = np.append(cuts, [np.nextafter(start, -np.inf), end])
    with np.errstate(over="ignore"):
        above = np.nextafter(cuts, np.inf)
    points = np.concatenate([[low, high], cuts, above])
    if feature.integer:
        points = np.concatenate([[low, high], np.floor(cuts), np.floor(cuts) + 1])
    inside = np.unique(points[(points >= low) & (points <= high)])
    return np.append(inside, missing)


def goes_left(ensemble: Ensemble, node: int, values: Floats) -> NDArray[np.bool_]:
    """Tell which raw values of the node's feature go left."""
    nodes, words = ensemble.trees.nodes, ensemble.trees.words
    feature = ensemble.features[nodes["feature"][node]]
    missing = np.isnan(values)
    if isinstance(feature, Numeric) and feature.missing_range is not None:
        missing |= (values >= feature.missing_range[0]) & (
            values <= feature.missing_range[1]
        )
    first = int(nodes["subset"][node])
    if first < 0:
        left = values <= nodes["threshold"][node]
    else:
        filled = np.where(missing, 0.0, values)
        if isinstance(feature, Numeric):
            filled = np.searchsorted(np.array(feature.edges), filled)
        codes = filled.astype(np.int64)
        bits = words[first + codes // 64] >> (codes % 64).astype(np.uint64)
        left = bits & np.uint64(1) != 0
    return np.where(missing, bool(nodes["missing_left"][node]), left)


def cells_of(ensemble: Ensemble, boxes: Boxes, box: int) -> list[Cells]:
    """Return the cells of all variables, each but once."""
    found = []
    for index in range(len(ensemble.features)):
        values = members(ensemble, boxes, box, index)
        nodes = np.flatnonzero(ensemble.trees.nodes["feature"] == index)
        left = np.array([goes_left(ensemble, node, values) for node in nodes])
        left = left.reshape(len(nodes), len(values)).astype(bool)
        if not len(nodes):
            # Nothing is split: all values are alike.
            found.append(Cells(values[:1], nodes, left[:, :1]))
            continue
        _, first = np.unique(left, axis=1, return_index=True)
        first = np.sort(first)
        found.append(Cells(values[first], nodes, left[:, first]))
    return found


def n_points(cells: list[Cells]) -> int:
    return math.prod(len(each.values) for each in cells)


def points_of(cells: list[Cells], chunk: int = 2**14) -> Iterator[Floats]:
    """All combinations of cells, some at a time."""
    product = itertools.product(*(each.values.tolist() for each in cells))
    while block := list(itertools.islice(product, chunk)):
        yield np.array(block, dtype=np.float64).reshape(len(block), len(cells))


def as_read(ensemble: Ensemble, rows: Floats) -> Floats:
    """Turn the numbers that the library reads as missing into NaN."""
    rows = rows.copy()
    for index, feature in enumerate(ensemble.features):
        if isinstance(feature, Numeric) and feature.missing_range is not None:
            low, high = feature.missing_range
            column = rows[:, index]
            column[(column >= low) & (column <= high)] = np.nan
    return rows


def labels_of(ensemble: Ensemble, rows: Floats) -> NDArray[np.int64]:
    """Return the index of the class that the library answers for raw rows."""
    return ensemble.decide(as_read(ensemble, rows))


def brute_force(ensemble: Ensemble, boxes: Boxes, box: int) -> Truth:
    """Score every combination of cells with the library's own arithmetic."""
    labels: set[int] = set()
    possible: set[int] = set()
    certain: set[int] = set()
    witnessed: set[int] = set()
    near = False
    lowest = np.full(ensemble.n_outputs, np.inf)
    highest = np.full(ensemble.n_outputs, -np.inf)
    for points in points_of(cells_of(ensemble, boxes, box)):
        encoded = as_read(ensemble, points)
        labels |= set(ensemble.decide(encoded).tolist())
        may_be = possible_of(ensemble, points)
        possible |= set(np.flatnonzero(may_be.any(axis=0)).tolist())
        certain |= set(np.argmax(may_be[may_be.sum(axis=1) == 1], axis=1).tolist())
        witnessed |= witnessed_labels(ensemble, points)
        scores = ensemble._scores(encoded).astype(np.float64)
        lowest = np.minimum(lowest, scores.min(axis=0))
        highest = np.maximum(highest, scores.max(axis=0))
        near |= _near_tie(ensemble, scores)
    sets = map(frozenset, (labels, possible, certain, labels | witnessed))
    return Truth(*sets, near, lowest, highest)


def possible_of(ensemble: Ensemble, rows: Floats) -> NDArray[np.bool_]:
    """Tell which labels the library may answer for raw rows, whatever its order."""
    encoded, decision = as_read(ensemble, rows), ensemble.decision
    possible = np.zeros((len(rows), len(ensemble.classes)), dtype=bool)
    possible[np.arange(len(rows)), ensemble.decide(encoded)] = True
    if ensemble.scoring.ordered:
        return possible
    low, high = (bound.astype(np.float64) for bound in ensemble._bounds(encoded))
    if isinstance(decision, Cut):
        crosses = (low[:, 0] < decision.at) & (high[:, 0] >= decision.at)
        return possible | crosses[:, np.newaxis]
    if decision.divisor < 0:
        low, high = -high, -low
    return possible | (high >= low.max(axis=1, keepdims=True))


def witnessed_labels(ensemble: Ensemble, rows: Floats) -> set[int]:
    """Add up raw rows in several orders, also in two halves, as threads do."""
    if ensemble.scoring.ordered:
        return set()
    scoring, trees = ensemble.scoring, ensemble.trees
    terms = np.zeros((len(trees), len(rows), ensemble.n_outputs), dtype=scoring.dtype)
    for tree, target in enumerate(trees.targets.tolist()):
        outputs = slice(None) if target < 0 else slice(target, target + 1)
        terms[tree][:, outputs] = trees.values[leaves_of(ensemble, tree, rows)]
    base = np.array(scoring.base, dtype=scoring.dtype)
    rng = np.random.default_rng(len(rows))
    found: set[int] = set()
    for _ in range(12):
        order = rng.permutation(len(trees))
        middle = int(rng.integers(len(trees) + 1))
        parts = [np.zeros_like(terms[0]) if len(trees) else base * 0] * 2
        for place, tree in enumerate(order.tolist()):
            half = int(place >= middle)
            parts[half] = parts[half] + terms[tree]
        scores = parts[0] + parts[1] + base
        scores = np.broadcast_to(scores, (len(rows), len(base)))
        scores = scores / np.dtype(scoring.dtype).type(scoring.divisor)
        found |= set(decide(scores, ensemble.decision).tolist())
    return found


def leaves_of(ensemble: Ensemble, tree: int, rows: Floats) -> NDArray[np.int64]:
    """Return the leaf of one tree that each raw row falls into."""
    nodes = ensemble.trees.nodes
    at = np.full(len(rows), ensemble.trees.roots[tree], dtype=np.int64)
    while len(inner := np.unique(at[nodes["feature"][at] >= 0])):
        for node in inner.tolist():
            here = np.flatnonzero(at == node)
            left = goes_left(ensemble, node, rows[here, nodes["feature"][node]])
            at[here] = np.where(left, nodes["left"][node], nodes["right"][node])
    return np.asarray(nodes["leaf"][at], dtype=np.int64)


def _near_tie(ensemble: Ensemble, scores: Floats) -> bool:
    """Tell whether a link, or another order of summation, could change a label."""
    decision, gap = ensemble.decision, np.zeros(len(scores))
    total = _largest_sum(ensemble) / abs(ensemble.scoring.divisor)
    if not ensemble.scoring.ordered:
        unit = float(np.finfo(ensemble.scoring.dtype).eps)
        # Sums as small as this are below what integers of any scale resolve.
        if total < 1e-290:
            return True
        gap += 8 * (len(ensemble.trees) + 2) * unit * total
    if isinstance(decision, Cut):
        return bool((np.abs(scores[:, 0] - decision.at) < gap).any())
    scores, gap = scores / decision.divisor, gap / abs(decision.divisor)
    if decision.link == "sigmoid":
        # Far from zero the sigmoid is flat, and rounds many scores to the same.
        if abs(decision.scale / decision.divisor) * total > 25:
            return True
        scores = 1 / (1 + np.exp(-decision.scale * scores))
    top = np.sort(scores, axis=1)
    if decision.link != "identity":
        unit = 1e-5 if ensemble.scoring.single else 1e-12
        # Scores far apart in size share no scale in which both are exact.
        gap += unit * np.maximum(1.0, np.abs(top[:, -1])) + 1e-14 * total
    return top.shape[1] > 1 and bool((top[:, -1] - top[:, -2] < gap).any())


def _largest_sum(ensemble: Ensemble) -> float:
    """Return a bound on the absolute terms of any sum."""
    trees, scoring = ensemble.trees, ensemble.scoring
    largest = np.abs(trees.values.astype(np.float64)).max(axis=1)
    leaves = np.flatnonzero(trees.nodes["feature"] < 0)
    first = np.searchsorted(leaves, trees.roots)
    total = np.maximum.reduceat(largest, first).sum() if len(trees) else 0.0
    return float(total + np.abs(scoring.base).max())


def margin_weights(ensemble: Ensemble, own: int, rival: int) -> tuple[Floats, float]:
    """Return weights and a constant: the rival wins where the margin is positive.

    The margin is the constant plus the weighted sum of leaves, in exact arithmetic; at
    zero the rules for ties and rounding decide.
    """
    scoring, decision = ensemble.scoring, ensemble.decision
    weights = np.zeros(ensemble.n_outputs)
    if isinstance(decision, Cut):
        weights[0] = (1.0 if rival == 1 else -1.0) / scoring.divisor
        constant = -decision.at * (1.0 if rival == 1 else -1.0)
    else:
        assert isinstance(decision, Argmax)
        sign = decision.scale if decision.link == "sigmoid" else 1.0
        weights[rival] += 1.0
        weights[own] -= 1.0
        weights *= np.sign(sign) / scoring.divisor / decision.divisor
        constant = 0.0
    return weights, constant + float(weights @ np.array(scoring.base))


def leaf_margins(ensemble: Ensemble, weights: Floats) -> Floats:
    """Return what each leaf adds to the margin."""
    trees = ensemble.trees
    values = trees.values.astype(np.float64)
    if len(trees) and trees.targets[0] < 0:
        return np.asarray(values @ weights)
    leaves = np.flatnonzero(trees.nodes["feature"] < 0)
    tree = np.searchsorted(trees.roots, leaves, side="right") - 1
    return np.asarray(values[:, 0] * weights[trees.targets[tree]])


def solve_milp(
    ensemble: Ensemble,
    boxes: Boxes,
    box: int,
    own: int,
    rival: int,
    *,
    seconds: float = math.inf,
) -> float:
    """Return the largest margin of the rival in the box, by a mixed integer program.

    One boolean per cell of a variable, one number per leaf; of each variable one cell
    is chosen, of each tree one leaf, and the leaves below a side of a node are at most
    the cells that go to that side (Kantchelian and others, 2016).
    """
    cells = cells_of(ensemble, boxes, box)
    nodes = ensemble.trees.nodes
    first_cell = np.cumsum([0, *(len(each.values) for each in cells)])
    n_cells, n_leaves = int(first_cell[-1]), ensemble.trees.n_leaves
    below = _leaves_below(nodes)
    terms: list[tuple[int, int, float]] = []
    bounds: list[tuple[float, float]] = []

    def add(row: list[tuple[int, float]], low: float, high: float) -> None:
        terms.extend((len(bounds), column, factor) for column, factor in row)
        bounds.append((low, high))

    for start, end in itertools.pairwise(first_cell.tolist()):
        add([(cell, 1.0) for cell in range(start, end)], 1.0, 1.0)
    for root in ensemble.trees.roots.tolist():
        add([(n_cells + leaf, 1.0) for leaf in below[root]], 1.0, 1.0)
    for index, each in enumerate(cells):
        for node, left in zip(each.nodes.tolist(), each.left, strict=True):
            for child, there in (("left", left), ("right", ~left)):
                leaves = below[int(nodes[child][node])]
                row = [(n_cells + leaf, 1.0) for leaf in leaves]
                chosen = (first_cell[index] + np.flatnonzero(there)).tolist()
                add(row + [(cell, -1.0) for cell in chosen], -np.inf, 0.0)
    weights, constant = margin_weights(ensemble, own, rival)
    margins = leaf_margins(ensemble, weights)
    # The solver's tolerances are absolute.
    unit = float(np.abs(margins).max(initial=0.0)) or 1.0
    cost = np.concatenate([np.zeros(n_cells), -margins / unit])
    row, column, factor = map(np.array, zip(*terms, strict=True))
    matrix = coo_array((factor, (row, column)), shape=(len(bounds), len(cost)))
    low, high = np.array(bounds).T
    result = milp(
        cost,
        integrality=np.repeat([1, 0], [n_cells, n_leaves]),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), low, high),
        options={"mip_rel_gap": 0.0, "time_limit": seconds},
    )
    if result.status == 1:
        raise TimeoutError(result.message)
    assert result.success, result.message
    return constant - unit * float(result.fun)


def _leaves_below(nodes: NDArray[Any]) -> list[list[int]]:
    below: list[list[int]] = [[] for _ in range(len(nodes))]
    for node in reversed(range(len(nodes))):
        if nodes["feature"][node] < 0:
            below[node] = [int(nodes["leaf"][node])]
        else:
            below[node] = below[nodes["left"][node]] + below[nodes["right"][node]]
    return below
