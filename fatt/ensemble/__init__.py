"""The intermediate representation: one exact form for every tree ensemble."""

from fatt.ensemble.ensemble import Ensemble, ScoreBounds, Source
from fatt.ensemble.features import Categorical, Feature, Inputs, Label, Numeric
from fatt.ensemble.scoring import Argmax, Cut, Decision, Scoring
from fatt.ensemble.trees import NODE, Trees

__all__ = [
    "NODE",
    "Argmax",
    "Categorical",
    "Cut",
    "Decision",
    "Ensemble",
    "Feature",
    "Inputs",
    "Label",
    "Numeric",
    "ScoreBounds",
    "Scoring",
    "Source",
    "Trees",
]
