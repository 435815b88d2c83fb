"""The leaf values of XGBoost models."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError

Floats = NDArray[np.float64]

NAMES = ("Booster", "XGBClassifier", "XGBRFClassifier")


def read(model: Any) -> Floats:
    """Return what each node adds to the score, of all trees, one row per node.

    Raises
    ------
    UnsupportedModelError
        If leaves are weighted once more, or hold several values.
    """
    values = [tree["split_conditions"] for tree in _trees(_content(model))]
    return np.concatenate([*values, []])[:, np.newaxis]


def write(model: Any, table: Floats) -> Any:
    """Return a copy of the model with other leaf values, as `read` returns them."""
    content = _content(model)
    singles = table[:, 0].astype(np.float32).astype(np.float64)
    start = 0
    for tree in _trees(content):
        conditions, is_leaf = tree["split_conditions"], np.array(tree["left_children"])
        for node in np.flatnonzero(is_leaf == -1).tolist():
            conditions[node] = tree["base_weights"][node] = float(singles[start + node])
        start += len(conditions)
    changed = copy.deepcopy(model)
    _booster(changed).load_model(bytearray(json.dumps(content).encode()))
    return changed


def _booster(model: Any) -> Any:
    return model if type(model).__name__ == "Booster" else model.get_booster()


def _content(model: Any) -> Any:
    """Return what the model writes to a JSON file."""
    return json.loads(bytes(_booster(model).save_raw("json")))


def _trees(content: Any) -> list[Any]:
    booster = content["learner"]["gradient_booster"]
    if booster["name"] != "gbtree":
        raise UnsupportedModelError(
            f"the XGBoost model is a {booster['name']}, which weighs its trees once "
            "more when it predicts; fatt.repair changes models of booster='gbtree'."
        )
    trees: list[Any] = booster["model"]["trees"]
    if any(int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in trees):
        raise UnsupportedModelError(
            "the leaves of the XGBoost model hold one value per class; fatt.repair "
            "changes models of multi_strategy='one_output_per_tree'."
        )
    return trees
