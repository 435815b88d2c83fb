"""LightGBM itself: asked for labels; its leaf values read and written."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.importers.lightgbm.text import parse, rewritten
from fatt.model import Live

Floats = NDArray[np.float64]

_LEAVES = re.compile(r"(?m)^leaf_value=(.*)$")
# Where each tree begins in the text; without it LightGBM finds that out by itself.
_SIZES = re.compile(r"(?m)^tree_sizes=.*\n")


@dataclass(frozen=True)
class LightGBM(Live):
    """A fitted `Booster`, `LGBMClassifier` or `LGBMRegressor`.

    Attributes
    ----------
    model
        The fitted object.
    predicts
        Whether a booster predicts numbers, and has no labels.
    coded
        Whether it was trained on labels of which nobody knows the columns, so that
        people are given by codes.
    """

    model: Any
    predicts: bool = False
    coded: bool = False

    def labels(self, table: Any) -> Any:
        """Return what `predict` answers; of a booster with classes, the likeliest."""
        if not self._is_booster or self.predicts:
            return self.model.predict(self._taken(table))
        return np.argmax(self.probabilities(table), axis=1)

    def probabilities(self, table: Any) -> Any:
        """Return the classifier's probabilities, or a booster's."""
        if not self._is_booster:
            return self.model.predict_proba(self._taken(table))
        answers = self.model.predict(self._taken(table))
        if answers.ndim == 1:
            answers = np.column_stack([1.0 - answers, answers])
        return answers

    def scores(self, table: Any) -> Any:
        """Return the raw scores."""
        return self.model.predict(self._taken(table), raw_score=True)

    def _taken(self, table: Any) -> Any:
        """Return a table as LightGBM takes it: as an array, if it holds codes.

        Trained on category columns, it takes frames only with as many of them. If a
        table has more columns than the model, it prints so, even if that is no error.
        """
        found, wanted = np.shape(table)[1], self._booster.num_feature()
        if found != wanted:
            raise ValueError(f"the rows have {found} columns and the model {wanted}")
        return np.asarray(table, dtype=np.float64) if self.coded else table

    def leaves(self) -> Floats:
        """Return what each leaf adds to the score, of all trees that take part.

        The text form holds that exactly.
        """
        lines = _LEAVES.findall(self._booster.model_to_string())
        return np.array(" ".join(lines).split(), dtype=np.float64)[:, np.newaxis]

    def with_leaves(self, values: Floats) -> Any:
        """Return a copy of the model with other leaf values."""
        import lightgbm

        rest = iter(values[:, 0].tolist())

        def other(line: re.Match[str]) -> str:
            count = len(line[1].split())
            return "leaf_value=" + " ".join(repr(next(rest)) for _ in range(count))

        text = _LEAVES.sub(other, _SIZES.sub("", self._booster.model_to_string()))
        booster = lightgbm.Booster(model_str=text)
        if self._is_booster:
            return booster
        changed = copy.deepcopy(self.model)
        changed._Booster = booster
        return changed

    @property
    def _is_booster(self) -> bool:
        return type(self.model).__name__ == "Booster"

    @property
    def _booster(self) -> Any:
        return self.model if self._is_booster else self.model.booster_


def open_file(data: bytes, *, predicts: bool, coded: bool) -> LightGBM:
    """Let LightGBM read a file.

    Some files, or lines in them, make it end the process: it gets a text of our own.
    """
    import lightgbm

    return LightGBM(lightgbm.Booster(model_str=rewritten(parse(data))), predicts, coded)
