"""The project's own models: files of ensembles, and fitted `FATTClassifier`s."""

from __future__ import annotations

from typing import Any

from fatt.ensemble import Ensemble
from fatt.ensemble.file import from_bytes
from fatt.errors import UnsupportedModelError
from fatt.importers._refusals import refuse_missing


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
