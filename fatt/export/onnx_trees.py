"""One tree as the attributes of ONNX's operator ``TreeEnsemble``."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.export.averaged import left_codes

#: A column that the trees read: a feature, and as bytes which of its codes go left.
Key: TypeAlias = tuple[int, bytes]

_SUM = 1


def tree_attributes(
    ensemble: Ensemble, span: tuple[int, int], keys: list[Key]
) -> dict[str, Any]:
    """Return the attributes of the operator that computes the shares of one tree.

    A leaf of the operator adds to one class only: there is a copy of the tree for each.

    Parameters
    ----------
    ensemble
        The ensemble.
    span
        Where the nodes of the tree start and end.
    keys
        The columns of the operator's input. A column that stands for a set of
        categories is 0 inside the set and 1 outside.
    """
    from onnx import numpy_helper

    start, end = span
    nodes, n_classes = ensemble.trees.nodes[start:end], len(ensemble.classes)
    inner = nodes["feature"] >= 0
    leaves = nodes["leaf"][~inner]
    splits = np.flatnonzero(inner)
    sides = nodes["left"][splits] - start, nodes["right"][splits] - start
    columns = [keys.index(_key(ensemble, start + node)) for node in splits.tolist()]
    if not splits.size:
        # A single leaf is written as a split that leads to it either way.
        splits, columns = np.zeros(1, dtype=np.int64), [0]
        sides = splits, splits
    # The leaves are numbered backwards: older versions of onnxruntime take a root for a
    # leaf if its children, one a split and one a leaf, have the same number.
    place = np.where(inner, np.cumsum(inner) - 1, len(leaves) - np.cumsum(~inner))
    size = np.where(inner, len(splits), len(leaves))
    copy = np.arange(n_classes)[:, np.newaxis]
    is_set = nodes["subset"][splits] >= 0
    threshold = np.where(is_set, 0.5, nodes["threshold"][splits])
    shares = ensemble.trees.values[leaves[::-1]].T.astype(np.float64)

    def repeat(of_splits: Any) -> NDArray[Any]:
        return np.tile(of_splits, n_classes)

    attributes: dict[str, Any] = {
        "n_targets": n_classes,
        "aggregate_function": _SUM,
        "tree_roots": copy.ravel() * len(splits),
        "nodes_featureids": repeat(columns),
        "nodes_missing_value_tracks_true": repeat(nodes["missing_left"][splits]),
        "leaf_targetids": np.repeat(copy, len(leaves)),
    }
    for name, side in zip(("true", "false"), sides, strict=True):
        attributes[f"nodes_{name}nodeids"] = (place[side] + copy * size[side]).ravel()
        attributes[f"nodes_{name}leafs"] = repeat(~inner[side]).astype(np.int64)
    # Comparisons "at most" have the number 0.
    modes = np.zeros(n_classes * len(splits), dtype=np.uint8)
    tensors = {
        "nodes_modes": modes,
        "nodes_splits": repeat(threshold),
        "leaf_weights": shares.ravel(),
    }
    made = {name: numpy_helper.from_array(array) for name, array in tensors.items()}
    lists = {name: np.asarray(value).tolist() for name, value in attributes.items()}
    return {**lists, **made}


def _key(ensemble: Ensemble, node: int) -> Key:
    record = ensemble.trees.nodes[node]
    codes = left_codes(ensemble, node).tobytes() if record["subset"] >= 0 else b""
    return int(record["feature"]), codes
