"""Models of scikit-learn around another one: cut-offs and transformed targets.

What all wrappers share stands first; calibrators and votes have files of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from fatt.ensemble import Ensemble, Link, Prediction
from fatt.errors import SpecError, UnsupportedModelError
from fatt.importers.registry import library_of
from fatt.importers.sklearn.live import ScikitLearn
from fatt.importers.sklearn.members import check_members
from fatt.importers.unfitted import unfitted
from fatt.model import Model

_Function = Literal["identity", "numpy exp", "numpy expm1"]

#: Around how many numbers, and on how many floats next to each other, a function is
#: tried on this machine.
_PLACES, _FLOATS = 2000, 16


class Wrapper(NamedTuple):
    """How a class of models around others is read.

    Attributes
    ----------
    inside
        Returns the models inside.
    convert
        Reads a fitted one; `missing` is handed to the importers of the models inside.
    """

    inside: Callable[[Any], tuple[Any, ...]]
    convert: Callable[..., Model]


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


def _inside_cut(model: Any) -> tuple[Any, ...]:
    """Return the model whose probabilities are cut."""
    check_members(model)
    return (unfrozen(getattr(model, "estimator_", model.estimator)),)


def _convert_cut(model: Any, *, missing: float | None) -> Model:
    """Convert a FixedThresholdClassifier or TunedThresholdClassifierCV.

    Parameters
    ----------
    model
        The fitted object.
    missing
        Handed to the importer of the model inside.

    Raises
    ------
    UnsupportedModelError
        If the model inside is not read, or is cut in a way that it does not know.
    """
    name, [inner] = type(model).__name__, _inside_cut(model)
    found = read(inner, missing)
    threshold, pos_label = _rule(model)
    cut_on, of = _answer(model, inner, found.ensemble)
    if threshold == "auto":
        threshold = 0.5 if cut_on == "probability" else 0.0
    try:
        cut = found.deciding(
            threshold=_plain(threshold, found.ensemble),
            cut_on=cut_on,
            pos_label=pos_label if pos_label is not None else of,
        )
    except SpecError as error:
        raise UnsupportedModelError(f"the {name} cannot be read: {error}") from error
    return around(model, cut.ensemble)


def _rule(model: Any) -> tuple[Any, Any]:
    """Return the threshold, and the label of the class that is cut off."""
    if type(model).__name__ == "FixedThresholdClassifier":
        return model.threshold, model.pos_label
    if not hasattr(model, "best_threshold_"):
        raise unfitted(model)
    return model.best_threshold_, model._curve_scorer._get_pos_label()


def _answer(model: Any, inner: Any, ensemble: Ensemble) -> tuple[Any, Any]:
    """Return what is cut, and the class that is meant if none is named."""
    method = model.response_method
    if len(ensemble.classes) != 2:
        raise UnsupportedModelError(
            f"the {type(model).__name__} holds a model of {len(ensemble.classes)} "
            "classes, and cuts between two."
        )
    if method in {"auto", "predict_proba"}:
        return "probability", ensemble.classes[1]
    if method == "decision_function" and hasattr(inner, "decision_function"):
        return "score", ensemble.classes[1]
    raise UnsupportedModelError(
        f"the {type(model).__name__} has response_method={method!r}, which the "
        f"{type(inner).__name__} does not answer."
    )


def _plain(threshold: Any, ensemble: Ensemble) -> Any:
    """Return the plain number that cuts as the given one does.

    Of numbers in NumPy's float64, unlike plain ones, comparisons are in float64.
    """
    if not ensemble.scoring.single or not isinstance(threshold, np.float64):
        return threshold
    single = np.float32(threshold)
    if single < threshold:
        single = np.nextafter(single, np.float32(math.inf))
    return float(single)


def _inside_transformed(model: Any) -> tuple[Any, ...]:
    """Return the model whose predictions are transformed."""
    check_members(model)
    if not hasattr(model, "regressor_"):
        raise unfitted(model)
    return (unfrozen(model.regressor_),)


def _convert_transformed(model: Any, *, missing: float | None) -> Model:
    """Convert a TransformedTargetRegressor.

    Parameters
    ----------
    model
        The fitted object.
    missing
        Handed to the importer of the model inside.

    Raises
    ------
    UnsupportedModelError
        If its inverse function is none that is known, or goes down somewhere.
    """
    [inner] = _inside_transformed(model)
    function = _function(model)
    ensemble = read(inner, missing).ensemble
    decision = ensemble.decision
    if not isinstance(decision, Prediction) or getattr(model, "_training_dim", 1) != 1:
        raise UnsupportedModelError(
            "the TransformedTargetRegressor does not transform one number per row: "
            "pass one around a regressor of one column of y."
        )
    if function == "identity":
        return around(model, ensemble)
    if decision.link != Link():
        raise UnsupportedModelError(
            f"the TransformedTargetRegressor transforms what a {ensemble.source.model} "
            "predicts, which is a function of a sum already. Train it with the squared "
            "error."
        )
    link = Link(function=function)
    _check_rising(link, np.dtype(ensemble.scoring.dtype).type)
    return around(model, replace(ensemble, decision=Prediction(link=link)))


def _function(model: Any) -> _Function:
    """Return the function that turns predictions back."""
    transformer = model.transformer_
    kind = type(transformer).__name__
    if kind == "FunctionTransformer":
        check_members(transformer)
        known: list[tuple[Any, _Function]] = [
            (None, "identity"),
            (np.exp, "numpy exp"),
            (np.expm1, "numpy expm1"),
        ]
        for function, name in known:
            if transformer.inverse_func is function and not transformer.inv_kw_args:
                return name
        kind = getattr(transformer.inverse_func, "__name__", "function of its own")
    raise UnsupportedModelError(
        f"the TransformedTargetRegressor turns predictions back by a {kind}; fatt "
        "follows numpy.exp and numpy.expm1 (inverse_func=numpy.exp). If what the model "
        "inside predicts is what you use, pass its regressor_."
    )


def _check_rising(link: Link, dtype: Any) -> None:
    """Refuse a function that goes down by a last bit where this machine is asked."""
    rng = np.random.default_rng(0)
    near_zero = rng.normal(size=_PLACES // 2) * 10.0 ** -rng.integers(
        0, 18, _PLACES // 2
    )
    numbers = np.concatenate([rng.uniform(-80, 88, _PLACES // 2), near_zero])
    line = [numbers.astype(dtype)]
    for _ in range(_FLOATS):
        line.append(np.nextafter(line[-1], dtype(np.inf)))
    if np.any(np.diff(link(np.array(line)), axis=0) < 0):
        raise UnsupportedModelError(
            f"NumPy's {link.function.removeprefix('numpy ')} goes down by a last bit "
            "between some numbers on this machine, and a proof needs that it does not. "
            "Pass the model inside (regressor_) and its own predictions."
        )


#: Classifiers around others that decide by a cut-off of their own.
CUT = Wrapper(_inside_cut, _convert_cut)
#: Regressors that learnt a function of the target, and invert it to predict.
TRANSFORMED = Wrapper(_inside_transformed, _convert_transformed)
