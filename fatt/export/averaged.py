"""The ensembles that can be exported: trees that average shares of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Categorical, Ensemble
from fatt.ensemble.trees import holds
from fatt.errors import UnsupportedModelError
from fatt.importers import load


def load_averaged(model: Any, what: str) -> Ensemble:
    """Load a model, and refuse it unless its trees average shares of the classes.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    what
        What it would become, for messages.

    Raises
    ------
    UnsupportedModelError
        Unless every leaf holds one number per class, and the class with the largest
        mean over all trees wins; of equals, the first.
    """
    ensemble = load(model).ensemble
    scoring, trees = ensemble.scoring, ensemble.trees
    if (
        len(trees) == 0
        or np.any(trees.targets != -1)
        or scoring.dtype != "float64"
        or any(scoring.base)
        or scoring.divisor != len(trees)
        or ensemble.decision != Argmax()
    ):
        raise UnsupportedModelError(
            f"cannot make {what} of this model: its trees do not average shares of the "
            "classes, as decision trees and forests do. Export it with its own library "
            f"({ensemble.source.library or 'unknown'})."
        )
    return ensemble


def require_plain_numbers(ensemble: Ensemble, what: str) -> None:
    """Refuse columns of numbers that are not just compared with thresholds.

    Raises
    ------
    UnsupportedModelError
        If a column of numbers is split by sets of ranges, or some of its numbers mean
        missing.
    """
    ensemble.require_no_joints(f"{what} made by fatt would not")
    for feature in ensemble.features:
        if isinstance(feature, Categorical):
            continue
        if feature.edges or feature.missing_range is not None:
            raise UnsupportedModelError(
                f"cannot make {what} of this model: column {feature.name!r} is split "
                "by sets of ranges, or has numbers that mean missing. Export the model "
                "with its preparation from its own library."
            )


def spans(ensemble: Ensemble) -> list[tuple[int, int]]:
    """Return for each tree where its nodes start and end."""
    trees = ensemble.trees
    ends = [*trees.roots[1:].tolist(), len(trees.nodes)]
    return list(zip(trees.roots.tolist(), ends, strict=True))


def left_codes(ensemble: Ensemble, node: int) -> NDArray[np.bool_]:
    """Tell which codes of its feature a set split sends to the left."""
    trees = ensemble.trees
    first = int(trees.nodes["subset"][node])
    codes = np.arange(ensemble.features[trees.nodes["feature"][node]].n_codes)
    return holds(trees.words, first, codes)
