"""What LightGBM makes of scores, by the objective."""

from __future__ import annotations

import math
import re
from typing import Literal

from fatt.ensemble import Argmax, Decision, Link, Prediction
from fatt.ensemble.cutoff import likelier
from fatt.errors import UnsupportedModelError
from fatt.importers.lightgbm.text import Text, fail

_OBJECTIVES = ("binary", "multiclass", "multiclassova", "cross_entropy")
#: What makes a prediction of a score, by the objective.
PREDICTIONS: dict[str, Literal["identity", "exp"]] = {
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
}
#: What objectives are called since 2.3.
_NEW_NAMES = {"xentropy": "cross_entropy", "xentlambda": "cross_entropy_lambda"}
RANKS = "it ranks rows, and a rank has no meaning for one person"
REFUSED = {
    "": "only its author knows what label a score stands for",
    "custom": "only its author knows what label a score stands for",
    "lambdarank": RANKS,
    "rank_xendcg": RANKS,
    "cross_entropy_lambda": "it answers an intensity, which LGBMClassifier has no "
    "label for",
}


def objective_of(text: Text) -> tuple[str, dict[str, str]]:
    """Return the name of the objective and its parameters."""
    name, *settings = text.header.get("objective", "").split(" ")
    pairs = (setting.partition(":") for setting in settings)
    return _NEW_NAMES.get(name, name), {key: value for key, _, value in pairs}


def decision(text: Text, n_outputs: int) -> tuple[str, Decision, Link | None]:
    """Return the objective, the answer that is made for it, and the probability."""
    name, settings = objective_of(text)
    _refuse_objective(name, settings)
    divisor = _divisor(text, n_outputs)
    is_multiclass = name.startswith("multiclass")
    if (n_outputs > 1) != is_multiclass:
        fail(f"the objective {name} cannot have {n_outputs} trees per iteration")
    if text.count("num_class") != n_outputs:
        fail(
            f"num_class is {text.line('num_class')}, and there are {n_outputs} outputs"
        )
    if is_multiclass and settings.get("num_class") != str(n_outputs):
        fail(f"the objective {name} does not say num_class:{n_outputs}")
    if name in PREDICTIONS:
        made = Link(function=PREDICTIONS[name], divisor=divisor)
        return name, Prediction(link=made), None
    if name == "multiclass":
        return name, Argmax(link="softmax", divisor=divisor), None
    scale = 1.0 if name == "cross_entropy" else scale_of(settings.get("sigmoid", ""))
    link = Link(function="sigmoid", scale=scale, divisor=divisor)
    if is_multiclass:
        return name, Argmax(link="sigmoid", scale=scale, divisor=divisor), link
    return name, likelier(link), link


def _refuse_objective(name: str, settings: dict[str, str]) -> None:
    if name not in _OBJECTIVES and name not in PREDICTIONS:
        reason = REFUSED.get(name, "fatt does not know what it makes of a score")
        raise UnsupportedModelError(
            f"the LightGBM model has the objective {name[:40] or '(custom)'}, and "
            f"{reason}. Objectives with labels: {', '.join(_OBJECTIVES)}; with "
            f"predictions: {', '.join(PREDICTIONS)}."
        )
    if "sqrt" in settings:
        raise UnsupportedModelError(
            "the LightGBM model was trained on square roots (reg_sqrt) and squares its "
            "scores, which fatt does not follow. Train it without reg_sqrt."
        )


def _divisor(text: Text, n_outputs: int) -> float:
    """Return by what the scores are divided: the iterations, if they are averaged."""
    if n_outputs == 0 or text.n_trees % n_outputs:
        fail(f"{text.n_trees} trees cannot be {n_outputs} per iteration")
    n_iterations = text.n_trees // n_outputs
    is_average = "average_output" in text.header
    if is_average and n_iterations == 0:
        fail("it averages trees, and has none")
    return float(n_iterations) if is_average else 1.0


def scale_of(text: str) -> float:
    """Read the parameter of the sigmoid with the roundings of LightGBM's own reader.

    Unlike the numbers of the trees, it is not always read to the nearest float64.
    """
    found = re.fullmatch(
        r"([0-9]{1,15})(?:\.([0-9]{1,15}))?(?:e([+-][0-9]{2,3}))?", text
    )
    if found is None:
        fail(f"the sigmoid of the objective is {text[:40]!r}")
    whole, fraction, exponent = found.groups()
    scale = float(whole)
    if fraction:
        scale += float(fraction) / 10.0 ** len(fraction)
    size = abs(int(exponent or 0))
    factors = (
        [1e50] * (size // 50) + [1e8] * (size % 50 // 8) + [10.0] * (size % 50 % 8)
    )
    power = math.prod(factors, start=1.0)
    scale = scale / power if (exponent or "").startswith("-") else scale * power
    if not scale > 0:
        fail("the sigmoid of the objective is zero")
    return scale
