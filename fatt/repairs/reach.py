"""The leaves that people and all similar people reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.region.boxes import Boxes, code_words
from fatt.repairs import kernels
from fatt.verifier.ranks import forest_of
from fatt.verifier.twins import clip_to_numbers, holes_of


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
