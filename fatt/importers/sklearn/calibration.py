"""Calibrated classifiers, as far as they are one increasing function of one score."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Argmax, Cut, Link
from fatt.ensemble.cutoff import one_output, turn
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.registry import library_of
from fatt.importers.sklearn.live import ScikitLearn
from fatt.importers.sklearn.members import check_members
from fatt.importers.unfitted import unfitted
from fatt.model import Model


def inside(model: Any) -> Any:
    """Return the model whose answers are calibrated.

    Raises
    ------
    UnsupportedModelError
        If there are several.
    """
    check_members(model)
    found = getattr(model, "calibrated_classifiers_", None)
    if not found:
        raise unfitted(model)
    if len(found) > 1:
        raise UnsupportedModelError(
            f"the CalibratedClassifierCV averages {len(found)} calibrated models, and "
            "the average is no sum of leaves. Train it with ensemble=False, or around "
            "FrozenEstimator of a fitted model."
        )
    check_members(found[0])
    inner = found[0].estimator
    if type(inner).__name__ == "FrozenEstimator":
        check_members(inner)
        inner = inner.estimator
    return inner


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a CalibratedClassifierCV with one calibrator.

    Parameters
    ----------
    model
        The fitted object.
    missing
        Handed to the importer of the model inside.

    Raises
    ------
    UnsupportedModelError
        If it has several, or another than a sigmoid, or several classes.
    """
    inner = inside(model)
    link = Link(calibration=_sigmoid(model))
    ensemble = library_of(inner).convert(inner, missing=missing).ensemble
    rule = ensemble.label_rule
    if len(ensemble.classes) != 2 or (isinstance(rule, Cut) and rule.asked is not None):
        raise UnsupportedModelError(
            "the CalibratedClassifierCV is read around a model of two classes that has "
            "no cut-off of its own, and this one is none."
        )
    if not hasattr(inner, "decision_function"):
        if ensemble.link is None:
            raise UnsupportedModelError(
                f"the CalibratedClassifierCV calibrates the probabilities of a "
                f"{type(inner).__name__}, which fatt does not know."
            )
        link = msgspec.structs.replace(ensemble.link, calibration=link.calibration)
    if isinstance(rule, Argmax):
        ensemble = one_output(ensemble, 1)

    def is_second(scores: Any) -> Any:
        # The first of two equal probabilities wins.
        return link(scores) > 1.0 - link(scores)

    dtype = np.dtype(ensemble.scoring.dtype).type
    source = msgspec.structs.replace(
        ensemble.source, model=f"CalibratedClassifierCV of {ensemble.source.model}"
    )
    made = replace(
        ensemble, decision=Cut(at=turn(is_second, dtype)), link=link, source=source
    )
    return Model(made, partial(ScikitLearn, model), given=model)


def _sigmoid(model: Any) -> tuple[float, float]:
    """Return the slope and the shift of the only calibrator."""
    [calibrated] = model.calibrated_classifiers_
    calibrators = calibrated.calibrators
    if calibrated.method != "sigmoid" or len(calibrators) != 1:
        raise UnsupportedModelError(
            f"the CalibratedClassifierCV calibrates by method={calibrated.method!r} "
            f"with {len(calibrators)} calibrator(s); fatt follows method='sigmoid' "
            "for two classes. Train it so, or pass the model inside with threshold=."
        )
    check_members(calibrators[0])
    slope, shift = float(calibrators[0].a_), float(calibrators[0].b_)
    if not (np.isfinite(slope) and np.isfinite(shift)):
        raise MalformedModelError("a calibrator holds no finite numbers.")
    if slope >= 0:
        raise UnsupportedModelError(
            "the calibrator of the CalibratedClassifierCV turns the order of the "
            "scores around, or makes them all equal: the model inside was wrong more "
            "often than right. Train it anew."
        )
    return slope, shift
