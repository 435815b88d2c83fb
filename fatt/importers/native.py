"""The project's own models: files of ensembles, and fitted `FATTClassifier`s."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from fatt.ensemble import Ensemble
from fatt.ensemble.file import from_bytes
from fatt.errors import UnsupportedModelError
from fatt.importers.registry import refuse_missing


def read(data: bytes, *, missing: float | None) -> Ensemble:
    """Read an ensemble file."""
    refuse_missing(missing, "an ensemble file")
    return from_bytes(data)


def convert(model: Any, *, missing: float | None) -> Ensemble:
    """Return the trees of a fitted classifier.

    Parameters
    ----------
    model
        Fitted `FATTClassifier`.
    missing
        Not used by such models.

    Raises
    ------
    UnsupportedModelError
        If it is not fitted, or is no model.
    """
    name = type(model).__name__
    refuse_missing(missing, name)
    ensemble = getattr(model, "ensemble_", None)
    if not isinstance(ensemble, Ensemble):
        raise UnsupportedModelError(
            f"cannot import a {name}: pass a FATTClassifier after its fit, or another "
            "fitted model."
        )
    return ensemble


def on_sparse_rows(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return what reads the dense copy as a classifier reads sparse rows.

    Zeros are zeros, and NaN is refused whatever the training data.
    """
    features = [
        msgspec.structs.replace(f, accepts_missing=False) for f in ensemble.features
    ]
    return replace(ensemble, features=tuple(features))
