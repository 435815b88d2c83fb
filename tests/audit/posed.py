"""Models that answer otherwise than they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import fatt
from fatt import Ensemble, Model
from fatt.audit import auditor, questions
from fatt.importers.sklearn.live import ScikitLearn


def posed(answering: Any, read: Any) -> Model:
    """Return one model that is read as another."""
    ensemble = fatt.load(read).ensemble
    return Model(ensemble, partial(ScikitLearn, answering), given=answering)


def read_as(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[Ensemble], Ensemble]
) -> None:
    """Let every model be read as something else."""

    def load(given: Any, **told: Any) -> Model:
        model = fatt.load(given, **told)
        if isinstance(given, Model):
            # It was read before.
            return model
        return replace(model, ensemble=read(model.ensemble))

    for module in (auditor, questions):
        monkeypatch.setattr(module, "load", load)
