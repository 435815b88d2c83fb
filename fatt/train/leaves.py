"""Where people arrive in a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble


def leaves_of(ensemble: Ensemble, encoded: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the leaf of each person in each tree, as an index of the nodes.

    Parameters
    ----------
    ensemble
        The trees; their set splits are on categories.
    encoded : ndarray of shape (n_people, n_columns)
        What `Ensemble.encode` returned.

    Returns
    -------
    ndarray of shape (n_people, n_trees)
    """
    nodes, words = ensemble.trees.nodes, ensemble.trees.words
    place = np.tile(ensemble.trees.roots, (len(encoded), 1))
    people = np.arange(len(encoded))[:, np.newaxis]
    while True:
        node = nodes[place]
        inner = node["feature"] >= 0
        if not inner.any():
            return place
        value = encoded[people, node["feature"]]
        missing = np.isnan(value)
        code = np.where(missing | (node["subset"] < 0), 0, value).astype(np.int64)
        left = value <= node["threshold"]
        if len(words):
            word = words[np.maximum(node["subset"], 0) + code // 64]
            member = (word >> (code % 64).astype(np.uint64)) & np.uint64(1)
            left = np.where(node["subset"] >= 0, member == 1, left)
        left = np.where(missing, node["missing_left"] == 1, left)
        place = np.where(inner, np.where(left, node["left"], node["right"]), place)
