"""Regressors that learnt a function of the target, and invert it to predict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from fatt.ensemble import Link, Prediction
from fatt.errors import UnsupportedModelError
from fatt.importers.sklearn.members import check_members
from fatt.importers.sklearn.wrappers import around, read, unfrozen
from fatt.importers.unfitted import unfitted
from fatt.model import Model

_Function = Literal["identity", "numpy exp", "numpy expm1"]

#: Around how many numbers, and on how many floats next to each other, a function is
#: tried on this machine.
_PLACES, _FLOATS = 2000, 16


def inside(model: Any) -> tuple[Any, ...]:
    """Return the model whose predictions are transformed."""
    check_members(model)
    if not hasattr(model, "regressor_"):
        raise unfitted(model)
    return (unfrozen(model.regressor_),)


def convert(model: Any, *, missing: float | None) -> Model:
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
    [inner] = inside(model)
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
