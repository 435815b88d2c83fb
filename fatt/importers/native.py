"""The project's own models: files of ensembles, and fitted `FATTClassifier`s."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fatt.ensemble import Ensemble
from fatt.ensemble.file import from_bytes
from fatt.errors import UnsupportedModelError
from fatt.importers.registry import refuse_missing, refusing_missing
from fatt.model import Live, Model


@dataclass(frozen=True)
class Classifier(Live):
    """A fitted `FATTClassifier`."""

    model: Any

    def labels(self, table: Any) -> Any:
        """Return what the classifier predicts."""
        return self.model.predict(table)

    def probabilities(self, table: Any) -> Any:
        """Return the classifier's probabilities."""
        return self.model.predict_proba(table)

    def scores(self, table: Any) -> Any:
        """Return the classifier's probabilities, which are its scores."""
        return self.model.predict_proba(table)


def read(data: bytes, *, missing: float | None) -> Model:
    """Read an ensemble file."""
    refuse_missing(missing, "an ensemble file")
    return Model(from_bytes(data))


def convert(model: Any, *, missing: float | None) -> Model:
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
    if ensemble is None and name in {"FATT", "FATTClassifier"}:
        from fatt.importers.unfitted import unfitted

        raise unfitted(model)
    if not isinstance(ensemble, Ensemble):
        raise UnsupportedModelError(
            f"cannot import a {name}: pass a FATTClassifier after its fit, or another "
            "fitted model."
        )
    # AIF360's algorithm predicts datasets; the classifier in it takes rows.
    asked = model.model_ if name == "FATT" else model
    return Model(ensemble, partial(Classifier, asked), given=model)


def on_sparse_rows(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return what reads the dense copy as a classifier reads sparse rows.

    Zeros are zeros, and NaN is refused whatever the training data.
    """
    return refusing_missing(ensemble)
