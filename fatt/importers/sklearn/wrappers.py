"""What all models around other models share."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from fatt.ensemble import Ensemble
from fatt.importers.registry import library_of
from fatt.importers.sklearn.live import ScikitLearn
from fatt.importers.sklearn.members import check_members
from fatt.model import Model


def unfrozen(model: Any) -> Any:
    """Return the model that a FrozenEstimator only keeps from being fitted again."""
    while type(model).__name__ == "FrozenEstimator":
        check_members(model)
        model = model.estimator
    return model


def read(inner: Any, missing: float | None) -> Model:
    """Import a model that stands inside another."""
    return library_of(inner).convert(inner, missing=missing)


def around(model: Any, ensemble: Ensemble, *, hands_out_scores: bool = True) -> Model:
    """Return the model that holds another one.

    Parameters
    ----------
    model
        The fitted object; it is what is asked.
    ensemble
        What it computes, with the source of the model inside.
    hands_out_scores
        Whether what it hands out are these scores.
    """
    source = msgspec.structs.replace(
        ensemble.source, model=f"{type(model).__name__} of {ensemble.source.model}"
    )
    return Model(
        replace(ensemble, source=source),
        partial(ScikitLearn, model),
        given=model,
        hands_out_scores=hands_out_scores,
    )
