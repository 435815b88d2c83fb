"""scikit-learn's tree models, chosen by their exact type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fatt.ensemble import Ensemble
from fatt.errors import Arg, MalformedModelError, UnsupportedModelError
from fatt.importers.registry import library_of, refuse_missing, refusing_missing
from fatt.importers.sklearn import calibration, voting
from fatt.importers.sklearn.live import ScikitLearn
from fatt.importers.sklearn.members import check_members
from fatt.importers.sklearn.wrappers import CUT, TRANSFORMED, Wrapper
from fatt.model import Model

_SUPPORTED = (
    "DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier, "
    "ExtraTreesClassifier, BaggingClassifier and AdaBoostClassifier of trees, "
    "GradientBoostingClassifier, HistGradientBoostingClassifier, regressors of all of "
    "them but AdaBoost, votes, cut-offs, calibrators and transformed targets around "
    "these, and pipelines that end in one of them"
)

_SEVERAL = (
    "it combines several models in a way that trees cannot describe exactly. Pass one "
    "of the models inside, or train a forest or a boosted model."
)
_COLUMNS = "it answers several columns of y at once: pass one of the models inside."
_NO_LABEL = "it gives no class labels: pass a classifier."

#: What to do about models that hold tree models, or look like them.
_HINTS = {
    "AdaBoostRegressor": "it answers a weighted median, which is no sum of leaves. "
    "Train a forest or a boosted model.",
    "ClassifierChain": _COLUMNS,
    "FrozenEstimator": "pass its estimator.",
    "IsolationForest": _NO_LABEL,
    "MultiOutputClassifier": _COLUMNS,
    "OneVsOneClassifier": _SEVERAL,
    "OneVsRestClassifier": "it compares what one model per class answers. Train one "
    "model of all classes, or pass one of the models inside, its estimators_.",
    "OutputCodeClassifier": _SEVERAL,
    "RFE": "it chooses columns itself: pass its estimator_ and those columns.",
    "RFECV": "it chooses columns itself: pass its estimator_ and those columns.",
    "RandomTreesEmbedding": _NO_LABEL,
    "SelfTrainingClassifier": "pass its estimator_, which gives the same answers.",
    "StackingClassifier": _SEVERAL,
    "StackingRegressor": _SEVERAL,
}

#: What reads models around others.
_WRAPPERS = {
    "CalibratedClassifierCV": Wrapper(calibration.inside, calibration.convert),
    "FixedThresholdClassifier": CUT,
    "TransformedTargetRegressor": TRANSFORMED,
    "TunedThresholdClassifierCV": CUT,
    "VotingClassifier": Wrapper(voting.inside, voting.convert),
    "VotingRegressor": Wrapper(voting.inside, voting.convert),
}


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted scikit-learn model.

    Parameters
    ----------
    model
        Fitted classifier or pipeline.
    missing
        Reaches the last step of a pipeline, which may be an XGBoost model; no model of
        scikit-learn's own takes it.

    Raises
    ------
    UnsupportedModelError
        If the model is of another type, is not fitted, or answers several questions.

    Notes
    -----
    Forests with ``n_jobs`` None or 1 add up their trees in order, unless the caller's
    own ``joblib.parallel_config`` lets them use several threads.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if _is_search(model):
        best = _best_of(model)
        return library_of(best).convert(best, missing=missing)
    if type(model) in {Pipeline, ColumnTransformer}:
        from fatt.importers.columns import pipelines

        return pipelines.convert(model, missing=missing)
    wrapper = _wrapper_of(model)
    if wrapper is not None:
        return wrapper.convert(model, missing=missing)
    converter = _converter_for(model)
    refuse_missing(missing, f"a scikit-learn {type(model).__name__}")
    check_members(model)
    _check_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise UnsupportedModelError(
            f"the {type(model).__name__} answers {model.n_outputs_} columns of y at "
            "once: train one model per column."
        )
    try:
        ensemble = converter(model)
    except AttributeError as error:
        raise MalformedModelError(
            f"the {type(model).__name__} lacks a part that its library gives it "
            f"({error}). Fit it again."
        ) from error
    return Model(ensemble, partial(ScikitLearn, model), given=model)


def on_sparse_rows(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return what reads the dense copy as a model reads sparse rows.

    Zeros are zeros, and NaN is refused whatever the training data.
    """
    if _is_search(model):
        best = _best_of(model)
        return library_of(best).on_sparse_rows(ensemble, best)
    wrapper = _wrapper_of(model)
    if wrapper is not None:
        for inner in wrapper.inside(model):
            ensemble = library_of(inner).on_sparse_rows(ensemble, inner)
        return ensemble
    return refusing_missing(ensemble)


def _is_search(model: Any) -> bool:
    return type(model).__module__.startswith("sklearn.model_selection._search")


def _best_of(search: Any) -> Any:
    """Return the model that answers for a fitted search."""
    best = getattr(search, "best_estimator_", None)
    if best is None:
        raise UnsupportedModelError(
            f"the {type(search).__name__} holds no model: it was not fitted, or with "
            "refit=False. Pass the model that you fitted with its best parameters."
        )
    return best


def _wrapper_of(model: Any) -> Wrapper | None:
    """Return what reads models of this kind around others, if one does."""
    if not type(model).__module__.startswith("sklearn."):
        return None
    return _WRAPPERS.get(type(model).__name__)


def _converter_for(model: Any) -> Callable[[Any], Ensemble]:
    from sklearn import ensemble, tree

    from fatt.importers.sklearn import boosting, forests

    converters: dict[type, Callable[[Any], Ensemble]] = {
        tree.DecisionTreeClassifier: forests.convert_tree,
        tree.ExtraTreeClassifier: forests.convert_tree,
        ensemble.RandomForestClassifier: forests.convert_forest,
        ensemble.ExtraTreesClassifier: forests.convert_forest,
        ensemble.BaggingClassifier: forests.convert_bagging,
        ensemble.AdaBoostClassifier: forests.convert_adaboost,
        ensemble.GradientBoostingClassifier: boosting.convert_boosting,
        ensemble.HistGradientBoostingClassifier: boosting.convert_histograms,
        tree.DecisionTreeRegressor: forests.convert_tree,
        tree.ExtraTreeRegressor: forests.convert_tree,
        ensemble.RandomForestRegressor: forests.convert_forest,
        ensemble.ExtraTreesRegressor: forests.convert_forest,
        ensemble.BaggingRegressor: forests.convert_bagging,
        ensemble.GradientBoostingRegressor: boosting.convert_boosting,
        ensemble.HistGradientBoostingRegressor: boosting.convert_histograms,
    }
    if type(model) not in converters:
        raise _refusal(model)
    return converters[type(model)]


def _refusal(model: Any) -> UnsupportedModelError:
    name = type(model).__name__
    if name == "DictVectorizer":
        from fatt.importers.columns.transformers import require_known

        require_known(model)
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        return UnsupportedModelError(
            f"a {name} alone predicts nothing. Pass the model, and what stands before "
            f"it as {Arg('prepare')}."
        )
    hint = _HINTS.get(name, f"supported are {_SUPPORTED}.")
    return UnsupportedModelError(f"cannot import a scikit-learn {name}: {hint}")


def _check_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from fatt.importers.unfitted import unfitted

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise unfitted(model) from error
