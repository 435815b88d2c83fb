"""Slow evaluators that share no code with the package's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.ensemble.allowed import Allowed


def leaf_row(ensemble: Ensemble, tree: int, row: list[Any]) -> int:
    """Walk one row of people's values through one tree, as the docstrings define it."""
    nodes = ensemble.trees.nodes
    node = nodes[ensemble.trees.roots[tree]]
    while node["feature"] >= 0:
        feature = ensemble.features[node["feature"]]
        left = _goes_left(ensemble, node, feature, row[node["feature"]])
        node = nodes[node["left"] if left else node["right"]]
    return int(node["leaf"])


def _goes_left(ensemble: Ensemble, node: Any, feature: Any, cell: Any) -> bool:
    if _is_missing(feature, cell):
        return bool(node["missing_left"])
    if node["subset"] < 0:
        return bool(cell <= node["threshold"])
    if isinstance(feature, Categorical):
        known = cell in feature.categories
        code = feature.categories.index(cell) if known else len(feature.categories)
    else:
        code = sum(cell > edge for edge in feature.edges)
    word = int(ensemble.trees.words[node["subset"] + code // 64])
    return bool(word >> (code % 64) & 1)


def _is_missing(feature: Any, cell: Any) -> bool:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    if isinstance(feature, Numeric) and feature.missing_range is not None:
        low, high = feature.missing_range
        return bool(low <= cell <= high)
    return False


def raw_scores(
    ensemble: Ensemble, row: list[Any], order: list[int] | None = None
) -> np.ndarray[Any, Any]:
    """Add up leaves one by one in the real dtype, in the given order of trees."""
    scoring, trees = ensemble.scoring, ensemble.trees
    number = np.dtype(scoring.dtype).type
    base = np.array(scoring.base, dtype=scoring.dtype)
    scores = np.zeros_like(base) if scoring.base_last else base.copy()
    for tree in order or range(len(trees)):
        values = trees.values[leaf_row(ensemble, tree, row)]
        target = trees.targets[tree]
        outputs = range(len(scores)) if target < 0 else [target]
        for output, value in zip(outputs, values, strict=True):
            scores[output] = number(scores[output] + number(value))
    if scoring.base_last:
        scores = scores + base
    return scores / number(scoring.divisor)


def still_fair(
    own: Any, others: np.ndarray[Any, Any], allowed: Allowed
) -> np.ndarray[Any, Any]:
    """Tell which answers are like the own one, as the documentation says.

    Parameters
    ----------
    own, others
        Predictions, or the places of labels in their order.
    allowed
        The rule; labels have none, or a direction.
    """
    limit = allowed.tolerance or 0.0
    if allowed.relative:
        limit = limit * abs(own)
    fair = np.abs(others - own) <= limit
    if allowed.direction == "not lower":
        fair |= others > own
    if allowed.direction == "not higher":
        fair |= others < own
    return np.asarray(fair | (others == own))
