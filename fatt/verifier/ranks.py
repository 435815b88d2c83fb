"""Rank space: every variable has finitely many cells, and the search sees only those.

Between two neighbouring thresholds a model cannot tell numbers apart. Such a cell is
known by its rank, a category by its code, and missing is one more cell behind the last.
All questions about floats are settled here, once; the search compares integers and
bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.ensemble.trees import holds, pack, starts_of
from fatt.verifier.kernels.records import (
    AT_THRESHOLD,
    BY_SET,
    CELLS,
    CODES,
    NODE,
    ORDERED,
    VARIABLE,
    Forest,
)


class Variable(NamedTuple):
    """The cells of one variable.

    Attributes
    ----------
    kind
        `ORDERED`, `CODES` (categories) or `CELLS` (numbers that are split by sets or
        have a range that is read as missing).
    cuts
        Increasing; cell ``i`` of a number is ``(cuts[i-1], cuts[i]]``.
    n_cells
        Number of cells, the one for missing not counted.
    hole
        First and last cell whose numbers are read as missing; ``(0, -1)`` if none is.
    """

    kind: int
    cuts: NDArray[np.float64]
    n_cells: int
    hole: tuple[int, int] = (0, -1)


def variables_of(ensemble: Ensemble) -> tuple[Variable, ...]:
    """Return the cells of each feature."""
    return tuple(_variable(ensemble, index) for index in range(len(ensemble.features)))


def _variable(ensemble: Ensemble, index: int) -> Variable:
    feature = ensemble.features[index]
    if isinstance(feature, Categorical):
        return Variable(CODES, np.zeros(0), feature.n_codes)
    cuts = np.append(ensemble.thresholds(index), feature.edges)
    if feature.missing_range is None:
        joined = _whole_cuts(cuts, feature)
        return Variable(CELLS if feature.edges else ORDERED, joined, len(joined) + 1)
    low, high = feature.missing_range
    ends = _whole_cuts(np.array([np.nextafter(low, -np.inf), high]), feature)
    joined = _whole_cuts(np.append(cuts, ends), feature)
    first = 0 if low == -np.inf else int(np.searchsorted(joined, ends[0])) + 1
    last = int(np.searchsorted(joined, ends[-1]))
    return Variable(CELLS, joined, len(joined) + 1, (first, last))


def _whole_cuts(cuts: NDArray[np.float64], feature: Numeric) -> NDArray[np.float64]:
    """Return the distinct cuts; of integers, those at which whole numbers are parted.

    Thus no cell lies between two whole numbers, where nobody can be.
    """
    return np.unique(np.floor(cuts) if feature.integer else cuts)


def forest_of(ensemble: Ensemble, code_start: NDArray[np.int64]) -> Forest:
    """Bring the trees of an ensemble into rank space.

    Parameters
    ----------
    ensemble
        The model, over the variables.
    code_start
        Where the codes of each variable begin in the boxes.
    """
    cells = variables_of(ensemble)
    variables = np.zeros(len(cells), dtype=VARIABLE)
    variables["kind"] = [v.kind for v in cells]
    variables["n_cells"] = [v.n_cells for v in cells]
    variables["hole_first"] = [v.hole[0] for v in cells]
    variables["hole_last"] = [v.hole[1] for v in cells]
    n_cuts = np.array([len(v.cuts) for v in cells], dtype=np.int64)
    variables["cut_start"] = starts_of(n_cuts)
    variables["cut_end"] = starts_of(n_cuts) + n_cuts
    n_words = -(-(variables["n_cells"] + 1) // 64)
    variables["width"] = np.where(variables["kind"] == ORDERED, 0, n_words)
    variables["set_start"] = starts_of(variables["width"])
    variables["code_start"], variables["code_end"] = code_start[:-1], code_start[1:]
    variables["missing_low"] = 1.0
    for variable, feature in zip(variables, ensemble.features, strict=True):
        if isinstance(feature, Numeric):
            variable["is_whole"] = feature.integer
            if feature.missing_range is not None:
                ends = feature.missing_range
                variable["missing_low"], variable["missing_high"] = ends
    nodes = np.zeros(len(ensemble.trees.nodes), dtype=NODE)
    for name in ("threshold", "feature", "left", "leaf", "missing_left"):
        nodes[name] = ensemble.trees.nodes[name]
    nodes["split"], nodes["alone"], masks = _splits(ensemble, cells, variables["width"])
    nodes, roots = _lay_out(nodes, ensemble.trees.roots)
    return Forest(
        nodes=nodes,
        roots=roots,
        variables=variables,
        masks=masks,
        cuts=np.concatenate([np.zeros(0), *(v.cuts for v in cells)]),
    )


def _lay_out(
    nodes: NDArray[Any], roots: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the nodes in the order in which walks come by, and the roots."""
    from fatt.verifier.kernels import reach

    place = reach.depth_first(nodes["left"].copy(), roots.copy())
    laid = np.empty_like(nodes)
    laid[place] = nodes
    laid["left"] = np.where(laid["left"] < 0, -1, place[laid["left"]])
    return laid, place[roots]


def _splits(
    ensemble: Ensemble, variables: tuple[Variable, ...], width: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64]]:
    """Return each node's rank or first mask word and who goes alone, and all masks."""
    nodes = ensemble.trees.nodes
    split = np.full(len(nodes), -1, dtype=np.int32)
    alone = np.where(nodes["subset"] < 0, AT_THRESHOLD, BY_SET).astype(np.int32)
    masks: list[NDArray[np.uint64]] = []
    n_words = 0
    for index, variable in enumerate(variables):
        mine = np.flatnonzero(nodes["feature"] == index)
        if variable.kind == ORDERED:
            feature = ensemble.features[index]
            assert isinstance(feature, Numeric)
            at = nodes["threshold"][mine]
            if feature.integer:
                at = np.floor(at)
            split[mine] = np.searchsorted(variable.cuts, at)
        elif len(mine):
            left = _left_cells(ensemble, index, variable, mine)
            split[mine] = n_words + np.arange(len(mine)) * width[index]
            masks.append(pack(left).ravel())
            if variable.kind == CODES:
                alone[mine] = _alone(left[:, :-1])
            n_words += len(mine) * int(width[index])
    return split, alone, np.concatenate([np.zeros(0, dtype=np.uint64), *masks])


def _alone(left: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Tell for each set of categories which of them goes its own way."""
    n_left = left.sum(axis=1)
    to_left, to_right = 2 * left.argmax(axis=1), 2 * left.argmin(axis=1) + 1
    is_one = [n_left == 1, n_left == left.shape[1] - 1]
    return np.select(is_one, [to_left, to_right], BY_SET)


def _left_cells(
    ensemble: Ensemble, index: int, variable: Variable, mine: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell for each node which cells of its variable go left, missing last."""
    nodes, words = ensemble.trees.nodes[mine], ensemble.trees.words
    feature = ensemble.features[index]
    left = np.zeros((len(mine), variable.n_cells + 1), dtype=bool)
    left[:, -1] = nodes["missing_left"]
    # One member of each cell stands for all: its upper end, or infinity for the last.
    members = np.append(variable.cuts, np.inf)
    codes = np.arange(variable.n_cells)
    if isinstance(feature, Numeric):
        codes = np.searchsorted(np.array(feature.edges, dtype=np.float64), members)
    is_set = nodes["subset"] >= 0
    if is_set.any():
        first = nodes["subset"][is_set, np.newaxis]
        left[is_set, :-1] = holds(words, first, codes)
    left[~is_set, :-1] = members <= nodes["threshold"][~is_set, np.newaxis]
    first_hole, last_hole = variable.hole
    left[:, first_hole : last_hole + 1] = left[:, -1:]
    return left
