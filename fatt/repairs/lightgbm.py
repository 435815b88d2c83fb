"""The leaf values of LightGBM models, which their text form holds exactly."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NAMES = ("Booster", "LGBMClassifier")

_LEAVES = re.compile(r"(?m)^leaf_value=(.*)$")
# Where each tree begins in the text; without it LightGBM finds that out by itself.
_SIZES = re.compile(r"(?m)^tree_sizes=.*\n")


def read(model: Any) -> Floats:
    """Return what each leaf adds to the score, of all trees that take part."""
    lines = _LEAVES.findall(_booster(model).model_to_string())
    return np.array(" ".join(lines).split(), dtype=np.float64)[:, np.newaxis]


def write(model: Any, table: Floats) -> Any:
    """Return a copy of the model with other leaf values, as `read` returns them."""
    import lightgbm

    values = iter(table[:, 0].tolist())

    def other(line: re.Match[str]) -> str:
        count = len(line[1].split())
        return "leaf_value=" + " ".join(repr(next(values)) for _ in range(count))

    text = _LEAVES.sub(other, _SIZES.sub("", _booster(model).model_to_string()))
    booster = lightgbm.Booster(model_str=text)
    if type(model) is lightgbm.Booster:
        return booster
    changed = copy.deepcopy(model)
    changed._Booster = booster
    return changed


def _booster(model: Any) -> Any:
    return model if type(model).__name__ == "Booster" else model.booster_
