"""Calibrated classifiers, as far as they are one increasing function of one score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import scipy

from fatt.ensemble import Argmax, Cut, Isotonic, Link
from fatt.ensemble.cutoff import likelier, one_output
from fatt.errors import MalformedModelError, SpecError, UnsupportedModelError
from fatt.importers.sklearn.members import check_members
from fatt.importers.sklearn.wrappers import around, read, unfrozen
from fatt.importers.unfitted import unfitted
from fatt.importers.versions import release
from fatt.model import Model

#: Since this version of SciPy a line through float32 numbers weighs both of its ends.
_OTHER_LINES = (1, 18)


def inside(model: Any) -> tuple[Any, ...]:
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
    return (unfrozen(found[0].estimator),)


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
        If it has several, or one that is no sigmoid or isotonic function of the score,
        or several classes.
    """
    [inner] = inside(model)
    link = Link(calibration=_calibrator(model))
    ensemble = read(inner, missing).ensemble
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
        link = msgspec.structs.replace(
            ensemble.link, calibration=link.calibration, other="complement"
        )
    if isinstance(rule, Argmax):
        ensemble = one_output(ensemble, 1)

    try:
        # The first of two equal probabilities wins.
        cut = likelier(link, ensemble.scoring.dtype)
    except SpecError as error:
        raise UnsupportedModelError(
            "the isotonic calibrator of the CalibratedClassifierCV goes up and down by "
            "the last bit at one half, so that its label is no cut of the score. Train "
            "it anew, or with method='sigmoid'."
        ) from error
    return around(
        model,
        replace(ensemble, decision=cut, link=link),
        hands_out_scores=False,
    )


def _calibrator(model: Any) -> tuple[float, float] | Isotonic:
    """Return the only calibrator."""
    [calibrated] = model.calibrated_classifiers_
    calibrators, method = calibrated.calibrators, calibrated.method
    if len(calibrators) != 1 or len(calibrated.classes) != 2:
        raise UnsupportedModelError(
            f"the CalibratedClassifierCV has {len(calibrated.classes)} classes, and "
            "divides the probability of each by the sum of all, which is no function "
            "of one score: fatt reads calibrated models of two classes. Pass the model "
            "inside, whose labels may be others."
        )
    if method not in {"sigmoid", "isotonic"}:
        raise UnsupportedModelError(
            f"the CalibratedClassifierCV calibrates by method={method!r}; fatt follows "
            "'sigmoid' and 'isotonic'. Train it with one of these."
        )
    check_members(calibrators[0])
    return _sigmoid(*calibrators) if method == "sigmoid" else _isotonic(*calibrators)


def _sigmoid(calibrator: Any) -> tuple[float, float]:
    """Return slope and shift."""
    slope, shift = float(calibrator.a_), float(calibrator.b_)
    if not (np.isfinite(slope) and np.isfinite(shift)):
        raise MalformedModelError("a calibrator holds no finite numbers.")
    if slope >= 0:
        raise UnsupportedModelError(
            "the calibrator of the CalibratedClassifierCV turns the order of the "
            "scores around, or makes them all equal: the model inside was wrong more "
            "often than right. Train it anew."
        )
    return slope, shift


def _isotonic(calibrator: Any) -> Isotonic:
    """Return the points between which probabilities are interpolated."""
    x, y = np.asarray(calibrator.X_thresholds_), np.asarray(calibrator.y_thresholds_)
    kinds = {x.dtype, y.dtype, calibrator.X_min_.dtype, calibrator.X_max_.dtype}
    ends = x[:1].tolist() + x[-1:].tolist()
    if (
        calibrator.out_of_bounds != "clip"
        or x.dtype not in (np.float32, np.float64)
        or len(kinds) != 1
        or ends != [calibrator.X_min_, calibrator.X_max_]
    ):
        raise UnsupportedModelError(
            "the isotonic calibrator is none that CalibratedClassifierCV makes: it "
            "does not keep to its ends, or mixes types of numbers."
        )
    single = x.dtype == np.float32
    if single and release(scipy.__version__) >= _OTHER_LINES:
        raise UnsupportedModelError(
            "the isotonic calibrator of the CalibratedClassifierCV computes in "
            f"float32, where SciPy {scipy.__version__} draws lines that go up and down "
            "by last bits, so that no cut of the score is its label. Train it with "
            "method='sigmoid', or run it with SciPy before 1.18."
        )
    made = Isotonic(x=tuple(x.tolist()), y=tuple(y.tolist()), single=single)
    if not made.is_sound():
        raise UnsupportedModelError(
            "the isotonic calibrator does not rise from point to point, or rounds some "
            "probability above 1. Train it anew, or with method='sigmoid'."
        )
    return made
