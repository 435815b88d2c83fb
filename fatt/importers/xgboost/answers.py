"""What XGBoost makes of margins, by the objective; and the margin before any tree."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Decision, Link, Prediction, libm
from fatt.ensemble.cutoff import above, likelier
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.xgboost.file import ModelFile

#: What a model answers: labels or numbers, or as the objective has it.
Answers: TypeAlias = Literal["labels", "numbers", "either"]

_BINARY = ("binary:logistic", "binary:logitraw", "binary:hinge")
_MULTI = ("multi:softprob", "multi:softmax")
#: What makes a probability of a margin, by the objective.
LINKS = {"binary:logistic": Link(function="sigmoid")}
#: What makes a prediction of a margin, by the objective.
PREDICTIONS = {
    "reg:squarederror": Link(),
    "reg:squaredlogerror": Link(),
    "reg:pseudohubererror": Link(),
    "reg:absoluteerror": Link(),
    "reg:quantileerror": Link(),
    "reg:logistic": Link(function="sigmoid"),
    "reg:gamma": Link(function="exp"),
    "reg:tweedie": Link(function="exp"),
    "count:poisson": Link(function="exp"),
}
#: Base scores of `binary:logistic` are kept this far from 0 and 1, since this version.
_LEAST = np.float32(1e-6)
_BOUNDED_SINCE = (3, 2)


def link_of(objective: str) -> Link:
    """Return what makes a probability or a prediction of a margin.

    Parameters
    ----------
    objective
        Its name, as files have it.
    """
    return {**PREDICTIONS, **LINKS}.get(objective, Link())


def decision(file: ModelFile, answers: Answers) -> Decision:
    """Return how a label or a prediction is made of the margins.

    Parameters
    ----------
    file
        What the model file says.
    answers
        What is answered.

    Raises
    ------
    UnsupportedModelError
        If the objective has no such answer.
    """
    objective, n_outputs = file.objective, file.n_outputs
    if answers != "labels" and objective in PREDICTIONS:
        return _prediction(PREDICTIONS[objective], file)
    if answers == "numbers" and objective in LINKS:
        return _prediction(LINKS[objective], file)
    if answers == "numbers" or objective not in _BINARY + _MULTI:
        raise _refusal(objective, answers)
    if (objective in _MULTI) != (n_outputs > 1):
        raise MalformedModelError(
            f"the objective {objective!r} does not fit the number of classes, "
            f"{n_outputs}."
        )
    if objective == "multi:softprob":
        return Argmax(link="softmax")
    if objective == "multi:softmax":
        return Argmax()
    if objective == "binary:logistic":
        return likelier(LINKS[objective], np.float32)
    return above(0.5 if objective == "binary:logitraw" else 0.0, np.float32)


def _refusal(objective: str, answers: Answers) -> UnsupportedModelError:
    """Say why an objective is not read."""
    if objective.startswith(("rank:", "survival:")):
        why = "models of survival are not read"
        if objective.startswith("rank:"):
            why = "a rank has no meaning for one person"
        return UnsupportedModelError(
            f"the objective is {objective!r}, and {why}. fatt reads classifiers and "
            "regressors."
        )
    what, known = "class label", [*_BINARY, *_MULTI]
    if answers == "numbers":
        what, known = "prediction", [*PREDICTIONS]
    elif answers == "either":
        known += PREDICTIONS
    return UnsupportedModelError(
        f"the objective is {objective!r}, which has no {what} of its own; fatt reads "
        f"{', '.join(known)}."
    )


def _prediction(link: Link, file: ModelFile) -> Prediction:
    if file.n_outputs > 1:
        raise MalformedModelError(
            f"the objective {file.objective!r} does not fit the number of classes, "
            f"{file.n_outputs}."
        )
    return Prediction(link=link)


def base_margin(file: ModelFile) -> NDArray[np.float32]:
    """Return the score before any tree, one per output."""
    base = file.base_score
    link = link_of(file.objective)
    if link.function == "sigmoid":
        odds = np.float32(1) / _probability(file) - np.float32(1)
        base = np.array([-libm.log_float32(float(odds))], dtype=np.float32)
    elif link.function == "exp":
        if not base[0] > 0:
            raise MalformedModelError(
                f"the base score is {base[0]}, and the objective {file.objective} "
                "takes its logarithm."
            )
        base = np.array([libm.log_float32(float(base[0]))], dtype=np.float32)
    return np.resize(base, file.n_outputs)


def _probability(file: ModelFile) -> np.float32:
    """Return the base score of a logistic objective as XGBoost bounds it."""
    given = file.base_score[0]
    if not 0 <= given <= 1:
        raise MalformedModelError(
            f"the base score is {given}, which is no probability, as the objective "
            f"{file.objective} needs."
        )
    bounded = np.clip(given, _LEAST, np.float32(1) - _LEAST)
    if bounded != given and file.version < _BOUNDED_SINCE:
        raise UnsupportedModelError(
            f"the base score is {given}, so close to 0 or 1 that XGBoost 3.2 changed "
            "what it means, and an older version wrote the model. Load it in XGBoost "
            "3.2 or newer, save it again, and verify that file."
        )
    return np.float32(bounded)
