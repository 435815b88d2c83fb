"""The intermediate representation: one exact form for every tree ensemble."""

import importlib.util

from fatt.ensemble.ensemble import (
    Ensemble,
    Modelled,
    ScoreBounds,
    Source,
    ensemble_of,
)
from fatt.ensemble.features import Categorical, Feature, Inputs, Label, Numeric
from fatt.ensemble.scoring import (
    Argmax,
    Bands,
    Cut,
    CutOff,
    Cuts,
    Decision,
    Isotonic,
    LabelRule,
    Link,
    Prediction,
    Scoring,
)
from fatt.ensemble.trees import NODE, Trees
from fatt.errors import MissingDependencyError

if importlib.util.find_spec("fatt.ensemble.kernels") is None:
    raise MissingDependencyError(
        "the compiled part of fatt is absent, for this copy of it was never built: run "
        "'pip install .' in its folder, with a C compiler at hand, or 'make kernels'."
    )

__all__ = [
    "NODE",
    "Argmax",
    "Bands",
    "Categorical",
    "Cut",
    "CutOff",
    "Cuts",
    "Decision",
    "Ensemble",
    "Feature",
    "Inputs",
    "Isotonic",
    "Label",
    "LabelRule",
    "Link",
    "Modelled",
    "Numeric",
    "Prediction",
    "ScoreBounds",
    "Scoring",
    "Source",
    "Trees",
    "ensemble_of",
]
