"""Classifiers around others that decide by a cut-off of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fatt.ensemble import Ensemble
from fatt.errors import SpecError, UnsupportedModelError
from fatt.importers.sklearn.members import check_members
from fatt.importers.sklearn.wrappers import around, read, unfrozen
from fatt.importers.unfitted import unfitted
from fatt.model import Model


def inside(model: Any) -> tuple[Any, ...]:
    """Return the model whose probabilities are cut."""
    check_members(model)
    return (unfrozen(getattr(model, "estimator_", model.estimator)),)


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a FixedThresholdClassifier or TunedThresholdClassifierCV.

    Parameters
    ----------
    model
        The fitted object.
    missing
        Handed to the importer of the model inside.

    Raises
    ------
    UnsupportedModelError
        If the model inside is not read, or is cut in a way that it does not know.
    """
    name, [inner] = type(model).__name__, inside(model)
    found = read(inner, missing)
    threshold, pos_label = _rule(model)
    cut_on, of = _answer(model, inner, found.ensemble)
    if threshold == "auto":
        threshold = 0.5 if cut_on == "probability" else 0.0
    try:
        cut = found.deciding(
            threshold=_plain(threshold, found.ensemble),
            cut_on=cut_on,
            pos_label=pos_label if pos_label is not None else of,
        )
    except SpecError as error:
        raise UnsupportedModelError(f"the {name} cannot be read: {error}") from error
    return around(model, cut.ensemble)


def _rule(model: Any) -> tuple[Any, Any]:
    """Return the threshold, and the label of the class that is cut off."""
    if type(model).__name__ == "FixedThresholdClassifier":
        return model.threshold, model.pos_label
    if not hasattr(model, "best_threshold_"):
        raise unfitted(model)
    return model.best_threshold_, model._curve_scorer._get_pos_label()


def _answer(model: Any, inner: Any, ensemble: Ensemble) -> tuple[Any, Any]:
    """Return what is cut, and the class that is meant if none is named."""
    method = model.response_method
    if len(ensemble.classes) != 2:
        raise UnsupportedModelError(
            f"the {type(model).__name__} holds a model of {len(ensemble.classes)} "
            "classes, and cuts between two."
        )
    if method in {"auto", "predict_proba"}:
        return "probability", ensemble.classes[1]
    if method == "decision_function" and hasattr(inner, "decision_function"):
        return "score", ensemble.classes[1]
    raise UnsupportedModelError(
        f"the {type(model).__name__} has response_method={method!r}, which the "
        f"{type(inner).__name__} does not answer."
    )


def _plain(threshold: Any, ensemble: Ensemble) -> Any:
    """Return the plain number that cuts as the given one does.

    Of numbers in NumPy's float64, unlike plain ones, comparisons are in float64.
    """
    if not ensemble.scoring.single or not isinstance(threshold, np.float64):
        return threshold
    single = np.float32(threshold)
    if single < threshold:
        single = np.nextafter(single, np.float32(math.inf))
    return float(single)
