"""scikit-learn's gradient boosting, but not that of histograms."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Cut,
    Decision,
    Ensemble,
    Label,
    Link,
    Prediction,
    Scoring,
)
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.sklearn import members
from fatt.importers.sklearn.forests import all_columns, bounded, lay_out, table_of
from fatt.importers.sklearn.members import check_members

# Processors on which scikit-learn's compiled `score += rate * leaf` rounds twice.
# Elsewhere compilers may fuse the two steps, and round once.
_ROUNDS_TWICE = {"x86_64", "amd64"}

#: The losses whose link is the identity.
_REGRESSION = ("squared_error", "absolute_error", "huber", "quantile")


def convert(model: Any) -> Ensemble:
    """Convert a GradientBoostingClassifier or GradientBoostingRegressor."""
    stages = np.asarray(model.estimators_, dtype=object)
    if stages.ndim != 2 or not stages.size:
        raise MalformedModelError("the boosted model holds no table of trees.")
    n_outputs = stages.shape[1]
    classes: tuple[Label, ...] = ()
    decision: Decision = Prediction()
    link = None
    if type(model).__name__ == "GradientBoostingRegressor":
        base = _constant(model, n_outputs)
    else:
        classes = members.classes(model)
        base = _base(model, n_outputs)
        decision = Cut(at=0.0) if n_outputs == 1 else Argmax()
        link = _link(model) if n_outputs == 1 else None
    parts = stages.ravel().tolist()
    rate = float(model.learning_rate)
    ordered = platform.machine().lower() in _ROUNDS_TWICE
    notes = () if ordered else (_fused_note(),)
    return Ensemble(
        features=tuple(
            bounded(name, accepts_missing=False)
            for name in members.feature_names(model)
        ),
        classes=classes,
        trees=lay_out(
            [_regressor(part).tree_ for part in parts],
            columns=[all_columns(model)] * len(parts),
            values=[rate * table_of(part) for part in parts],
            targets=np.tile(np.arange(n_outputs), len(stages)).tolist(),
        ),
        scoring=Scoring(dtype="float64", base=base, ordered=ordered),
        decision=decision,
        link=link,
        inputs=members.inputs(model),
        source=members.source(model, objective=str(model.loss), notes=notes),
    )


def _link(model: Any) -> Link:
    """Return how a model of two classes makes probabilities."""
    return Link(function="sigmoid", scale=2.0 if model.loss == "exponential" else 1.0)


def _regressor(member: Any) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    if type(member) is not DecisionTreeRegressor:
        raise MalformedModelError(
            f"the boosted model holds a {type(member).__name__} in place of a tree."
        )
    check_members(member)
    return member


def _base(model: Any, n_outputs: int) -> tuple[float, ...]:
    """Return what the sum starts from, before the first tree."""
    from sklearn.dummy import DummyClassifier

    init = model.init_
    if isinstance(init, str) and init == "zero":
        return (0.0,) * n_outputs
    if type(init) is not DummyClassifier or init.strategy != "prior":
        raise UnsupportedModelError(
            f"the GradientBoostingClassifier starts from a {type(init).__name__}, "
            "whose answers no tree describes. Train it with the default init=None, or "
            "with init='zero'."
        )
    check_members(init)
    prior = np.asarray(init.class_prior_, dtype=np.float64)
    if prior.shape != (len(model.classes_),):
        raise MalformedModelError("the prior has not one probability per class.")
    return _linked(prior, type(model._loss), n_outputs)


def _constant(model: Any, n_outputs: int) -> tuple[float, ...]:
    """Return what the sum of a regressor starts from, whose losses have no link."""
    from sklearn.dummy import DummyRegressor

    init = model.init_
    if isinstance(init, str) and init == "zero":
        return (0.0,) * n_outputs
    if type(init) is not DummyRegressor:
        raise UnsupportedModelError(
            f"the GradientBoostingRegressor starts from a {type(init).__name__}, whose "
            "answers no tree describes. Train it with the default init=None, or with "
            "init='zero'."
        )
    check_members(init)
    if model.loss not in _REGRESSION:
        raise UnsupportedModelError(
            f"the GradientBoostingRegressor has the loss {model.loss!r}; fatt knows "
            f"{', '.join(_REGRESSION)}."
        )
    constant = np.ravel(init.constant_).astype(np.float64)
    if constant.shape != (1,):
        raise MalformedModelError("the regressor does not start from one number.")
    return (float(constant[0]),)


class _Prior:
    """Answers the same probabilities for every row."""

    def __init__(self, prior: NDArray[np.float64]) -> None:
        self.prior = prior

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.ones((len(X), 1)) * self.prior


def _linked(
    prior: NDArray[np.float64], loss: type[Any], n_outputs: int
) -> tuple[float, ...]:
    """Turn probabilities into raw scores as the installed scikit-learn does.

    Its clipping has changed over time and its logarithms are those of scipy and numpy,
    so its own function is called, on one row.
    """
    from sklearn._loss.loss import (
        ExponentialLoss,
        HalfBinomialLoss,
        HalfMultinomialLoss,
    )
    from sklearn.ensemble._gb import _init_raw_predictions

    if loss is HalfMultinomialLoss:
        fresh = loss(n_classes=len(prior))
    elif loss in {HalfBinomialLoss, ExponentialLoss}:
        fresh = loss()
    else:
        raise UnsupportedModelError(
            f"the GradientBoostingClassifier has the loss {loss.__name__}; fatt knows "
            "log_loss and exponential."
        )
    raw = _init_raw_predictions(np.zeros((1, 1)), _Prior(prior), fresh, True)
    if raw.shape != (1, n_outputs):
        raise MalformedModelError("the loss does not fit the number of trees a stage.")
    return tuple(float(score) for score in raw[0])


def _fused_note() -> str:
    return (
        f"On this processor ({platform.machine()}) scikit-learn may round scores "
        "differently in their last bits; score_bounds says how far they can be off."
    )
