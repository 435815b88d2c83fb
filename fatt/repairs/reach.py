"""The leaves that people reach, they themselves and all similar people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature
from fatt.region.boxes import Boxes, code_words
from fatt.repairs import kernels
from fatt.verifier.ranks import forest_of
from fatt.verifier.twins import clip_to_numbers, holes_of


class Reach(NamedTuple):
    """Leaves by region and tree.

    Attributes
    ----------
    ends : ndarray of shape (n_regions, n_trees)
        Where the leaves of each region in each tree end; the next ones begin there.
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


def points(people: NDArray[np.float64], features: Sequence[Feature]) -> Boxes:
    """Return boxes in which people are alone.

    Parameters
    ----------
    people : ndarray of shape (n_people, n_variables)
        Numbers and category codes, NaN for missing.
    features
        The variables.
    """
    missing = np.isnan(people)
    is_code = np.array([isinstance(feature, Categorical) for feature in features])
    numbers = np.where(is_code, 0.0, people)
    starts = code_words(features)
    codes = np.zeros((len(people), starts[-1]), dtype=np.uint64)
    for index in np.flatnonzero(is_code).tolist():
        who = np.flatnonzero(~missing[:, index])
        code = people[who, index].astype(np.uint64)
        word = starts[index] + (code // 64).astype(np.int64)
        codes[who, word] = np.uint64(1) << code % np.uint64(64)
    nowhere = missing & ~is_code
    return Boxes(
        person=np.arange(len(people)),
        lower=np.where(nowhere, np.inf, numbers),
        upper=np.where(nowhere, -np.inf, numbers),
        missing=missing,
        codes=codes,
    )
