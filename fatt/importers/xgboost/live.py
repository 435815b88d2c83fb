"""XGBoost itself: asked for labels; its leaf values read and written."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError
from fatt.importers.versions import release
from fatt.model import Live, NotAtHand

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class XGBoost(Live):
    """A fitted `Booster`, classifier or regressor.

    Attributes
    ----------
    model
        The fitted object.
    objective
        Its objective, which says what a booster's answers are.
    missing
        The number that a booster's tables are told to take for missing.
    rounds
        How many iterations count; None for as many as the model takes by itself.
    """

    model: Any
    objective: str
    missing: float
    rounds: int | None = None

    def labels(self, table: Any) -> Any:
        """Return what `predict` answers; labels, where a booster has none."""
        if not self._is_booster:
            return self.model.predict(table, **self._how)
        answers = self._ask_booster(table)
        if self.objective == "multi:softprob":
            return np.argmax(answers, axis=1)
        if self.objective in {"binary:logistic", "binary:logitraw"}:
            return (answers > np.float32(0.5)).astype(np.int64)
        if self.objective.startswith(("multi:", "binary:")):
            return answers.astype(np.int64)
        return answers

    def probabilities(self, table: Any) -> Any:
        """Return the classifier's probabilities, or a booster's."""
        if not self._is_booster:
            return self.model.predict_proba(table, **self._how)
        answers = self._ask_booster(table)
        return np.column_stack([1.0 - answers, answers])

    def scores(self, table: Any) -> Any:
        """Return the margins."""
        if not self._is_booster:
            return self.model.predict(table, output_margin=True, **self._how)
        return self._ask_booster(table, output_margin=True)

    def _ask_booster(self, table: Any, **how: Any) -> Any:
        import xgboost

        names: dict[str, Any] = {}
        if isinstance(table, np.ndarray):
            names = {
                "feature_names": self.model.feature_names,
                "feature_types": self.model.feature_types,
            }
        matrix = xgboost.DMatrix(
            table, missing=self.missing, enable_categorical=True, **names
        )
        return self.model.predict(matrix, **self._how, **how)

    def leaves(self) -> Floats:
        """Return what each node adds to the score, of all trees, one row per node.

        Raises
        ------
        UnsupportedModelError
            If leaves are weighted once more, or hold several values.
        """
        values = [tree["split_conditions"] for tree in _trees(self._content())]
        return np.concatenate([*values, []])[:, np.newaxis]

    def with_leaves(self, values: Floats) -> Any:
        """Return a copy of the model with other leaf values."""
        content = self._content()
        singles = values[:, 0].astype(np.float32).astype(np.float64)
        start = 0
        for tree in _trees(content):
            conditions, weights = tree["split_conditions"], tree["base_weights"]
            is_leaf = np.array(tree["left_children"]) == -1
            for node in np.flatnonzero(is_leaf).tolist():
                conditions[node] = weights[node] = float(singles[start + node])
            start += len(conditions)
        changed = copy.deepcopy(self.model)
        booster = changed if self._is_booster else changed.get_booster()
        booster.load_model(bytearray(json.dumps(content).encode()))
        return changed

    @property
    def _how(self) -> dict[str, Any]:
        return {} if self.rounds is None else {"iteration_range": (0, self.rounds)}

    @property
    def _is_booster(self) -> bool:
        return type(self.model).__name__ == "Booster"

    def _content(self) -> Any:
        """Return what the model writes to a JSON file."""
        booster = self.model if self._is_booster else self.model.get_booster()
        return json.loads(bytes(booster.save_raw("json")))


def open_file(
    data: bytes, version: str, missing: float, loader: str, rounds: int | None
) -> XGBoost:
    """Let XGBoost read a file.

    Parameters
    ----------
    data
        The bytes of the file.
    version
        The version that wrote it.
    missing
        The number that it takes for missing.
    loader
        Name of the class that loads it.
    rounds
        As in `XGBoost`.

    Raises
    ------
    NotAtHand
        If another release is installed: some files make that kill the process.
    """
    import xgboost

    installed = str(xgboost.__version__)
    if release(version) != release(installed):
        raise NotAtHand(
            f"XGBoost {version or 'of another version'} saved it, and {installed} is "
            "installed"
        )
    model = getattr(xgboost, loader)(enable_categorical=True, missing=missing)
    model.load_model(bytearray(data))
    return XGBoost(model, "", missing, rounds)


def _trees(content: Any) -> list[Any]:
    booster = content["learner"]["gradient_booster"]
    # Since XGBoost 3.3 a dart is a gbtree with weights, in one of two places.
    weighted = booster.get("weight_drop") or booster.get("model", {}).get("weight_drop")
    if booster["name"] != "gbtree" or weighted:
        raise UnsupportedModelError(
            "the XGBoost model is a dart, which weighs its trees once more when it "
            "predicts; fatt.repair changes models without dropout."
        )
    trees: list[Any] = booster["model"]["trees"]
    if any(int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in trees):
        raise UnsupportedModelError(
            "the leaves of the XGBoost model hold one value per class; fatt.repair "
            "changes models of multi_strategy='one_output_per_tree'."
        )
    return trees
