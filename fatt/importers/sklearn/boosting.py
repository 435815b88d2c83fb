"""scikit-learn's gradient boosting: of trees, and of histograms."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Categorical,
    Cut,
    Decision,
    Ensemble,
    Feature,
    Label,
    Link,
    Numeric,
    Prediction,
    Scoring,
    Trees,
)
from fatt.ensemble.cutoff import above
from fatt.ensemble.trees import join_children, starts_of
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.sklearn import members
from fatt.importers.sklearn.forests import all_columns, bounded, lay_out, table_of
from fatt.importers.sklearn.members import check_hist_nodes, check_members

# Processors on which scikit-learn's compiled `score += rate * leaf` rounds twice.
# Elsewhere compilers may fuse the two steps, and round once.
_ROUNDS_TWICE = {"x86_64", "amd64"}

#: The losses whose link is the identity.
_REGRESSION = ("squared_error", "absolute_error", "huber", "quantile")


def convert_boosting(model: Any) -> Ensemble:
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
        scale = 2.0 if model.loss == "exponential" else 1.0
        link = Link(function="sigmoid", scale=scale) if n_outputs == 1 else None
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


# Integers become float64 as everywhere in numpy, however large they are.
_ANY_INTEGER = 2**64 - 1

# The encoder of the categories takes any number but infinity.
_LARGEST = float(np.finfo(np.float64).max)

# A set of categories is a row of so many 32-bit words.
_WORDS = 8


def convert_histograms(model: Any) -> Ensemble:
    """Convert a HistGradientBoostingClassifier or HistGradientBoostingRegressor."""
    check_members(model._bin_mapper)
    if getattr(model, "_in_fit", False):
        raise UnsupportedModelError(
            f"the training of the {type(model).__name__} was interrupted, and until it "
            "ends the model takes rows for numbers of bins. Fit it again."
        )
    table = _Table.of(model)
    base = np.asarray(model._baseline_prediction)
    if base.dtype != np.float64 or base.ndim != 2 or len(base) != 1:
        raise MalformedModelError("the baseline is no row of float64 numbers.")
    classes: tuple[Label, ...] = ()
    decision: Decision
    link = None
    if type(model).__name__ == "HistGradientBoostingRegressor":
        decision = Prediction(link=_link(model))
    else:
        classes = members.classes(model)
        is_binary = len(classes) == 2
        decision = above(0.0) if is_binary else Argmax()
        link = Link(function="sigmoid") if is_binary else None
    return Ensemble(
        features=table.features,
        classes=classes,
        trees=_lay_out(model._predictors, base.shape[1], table),
        scoring=Scoring(dtype="float64", base=tuple(base[0].tolist())),
        decision=decision,
        link=link,
        inputs=members.inputs(model, integer_limit=_ANY_INTEGER),
        source=members.source(model, objective=str(model.loss)),
    )


def _link(model: Any) -> Link:
    """Return how a regressor makes a prediction, by its loss."""
    from sklearn._loss import link

    kind = type(model._loss.link)
    if kind is link.IdentityLink:
        return Link()
    if kind is link.LogLink:
        return Link(function="numpy exp")
    raise UnsupportedModelError(
        f"the HistGradientBoostingRegressor has the loss {model.loss!r} with a "
        f"{kind.__name__}, which fatt does not know."
    )


@dataclass(frozen=True)
class _Table:
    """The columns, and the order in which the trees see them.

    Attributes
    ----------
    features
        The columns as users know them.
    order
        For each column that the trees see, which of `features` it is: the categorical
        ones come first.
    n_categories
        Number of categories of each of `features`, 0 for numeric ones.
    """

    features: tuple[Feature, ...]
    order: NDArray[np.int64]
    n_categories: NDArray[np.int64]

    @classmethod
    def of(cls, model: Any) -> _Table:
        names = members.feature_names(model)
        features: list[Feature] = [Numeric(name=name) for name in names]
        is_categorical = np.zeros(len(names), dtype=bool)
        if model._preprocessor is not None:
            is_categorical = np.asarray(model.is_categorical_, dtype=bool)
            columns = np.flatnonzero(is_categorical)
            encoder = _encoder(model._preprocessor)
            if is_categorical.shape != (len(names),) or len(columns) != len(
                encoder.categories_
            ):
                raise MalformedModelError(
                    "the categories do not fit the categorical columns."
                )
            for column, values in zip(columns, encoder.categories_, strict=True):
                features[column] = Categorical(
                    name=names[column],
                    categories=_categories(values, names[column]),
                    lower=-_LARGEST,
                    upper=_LARGEST,
                )
        return cls(
            features=tuple(features),
            order=np.argsort(~is_categorical, kind="stable"),
            n_categories=np.array(
                [
                    len(f.categories) if isinstance(f, Categorical) else 0
                    for f in features
                ]
            ),
        )


def _encoder(preprocessor: Any) -> Any:
    """Return the encoder that numbers the categories and makes unknown ones missing."""
    from sklearn.preprocessing import OrdinalEncoder

    check_members(preprocessor)
    for _, part, _ in preprocessor.transformers_:
        if not isinstance(part, str):
            check_members(part)
    encoder = preprocessor.named_transformers_["encoder"]
    if (
        type(encoder) is not OrdinalEncoder
        or encoder.handle_unknown != "use_encoded_value"
        or not np.isnan(encoder.unknown_value)
        or not np.isnan(encoder.encoded_missing_value)
    ):
        raise MalformedModelError("the encoder of the categories was tampered with.")
    return encoder


def _categories(values: Any, name: str) -> tuple[Label, ...]:
    known = values.tolist()
    # A missing value in the training data is listed last, and is no category.
    if known and isinstance(known[-1], float) and np.isnan(known[-1]):
        values = values[:-1]
    if any(value is None for value in known):
        raise UnsupportedModelError(
            f"column {name!r}: the model takes None for a category of its own, and "
            "data frames take it for a missing value. Train it with NaN, or with a "
            "string such as 'none'."
        )
    return members.labels(values, f"the list of categories of column {name!r}")


def _lay_out(stages: Any, n_outputs: int, table: _Table) -> Trees:
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    predictors = [predictor for stage in stages for predictor in stage]
    if any(len(stage) != n_outputs for stage in stages) or any(
        type(predictor) is not TreePredictor for predictor in predictors
    ):
        raise MalformedModelError(f"not every stage holds {n_outputs} tree(s).")
    if not predictors:
        raise MalformedModelError("the boosted model holds no tree.")
    counts = [_check_predictor(predictor) for predictor in predictors]
    nodes = np.concatenate([predictor.nodes for predictor in predictors])
    inner = nodes["is_leaf"] == 0
    feature = np.full(len(nodes), -1, dtype=np.int64)
    feature[inner] = _columns(nodes["feature_idx"][inner].astype(np.int64), table)
    splits = np.flatnonzero(inner & (nodes["is_categorical"] != 0))
    subset = np.full(len(nodes), -1, dtype=np.int64)
    subset[splits] = np.arange(len(splits))
    return Trees.lay_out(
        roots=starts_of(counts),
        feature=feature,
        threshold=nodes["num_threshold"],
        left=join_children(nodes["left"], inner, counts),
        right=join_children(nodes["right"], inner, counts),
        missing_left=nodes["missing_go_to_left"] != 0,
        leaf=np.arange(len(nodes)),
        values=nodes["value"].astype(np.float64),
        targets=np.tile(np.arange(n_outputs), len(stages)),
        subset=subset,
        sets=_sets(predictors, nodes, splits, feature, table),
    )


def _check_predictor(predictor: Any) -> int:
    """Check the arrays of a tree, and return how many nodes it has."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    check_members(predictor)
    nodes, words = predictor.nodes, predictor.raw_left_cat_bitsets
    check_hist_nodes(nodes)
    if (
        nodes.dtype != PREDICTOR_RECORD_DTYPE
        or nodes.ndim != 1
        or words.dtype != np.uint32
        or words.shape[1:] != (_WORDS,)
    ):
        raise MalformedModelError("a tree's arrays have another type or shape.")
    return len(nodes)


def _columns(seen: NDArray[np.int64], table: _Table) -> NDArray[np.int64]:
    if seen.size and (seen.min() < 0 or seen.max() >= len(table.order)):
        raise MalformedModelError(
            f"a node splits on a column outside the {len(table.order)} that there are."
        )
    return table.order[seen]


def _sets(
    predictors: list[Any],
    nodes: NDArray[Any],
    splits: NDArray[np.int64],
    feature: NDArray[np.int64],
    table: _Table,
) -> list[NDArray[np.bool_]]:
    """Return, for each category split, which codes go left.

    Unknown categories go where missing values go.
    """
    sizes = [len(predictor.raw_left_cat_bitsets) for predictor in predictors]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owner = np.repeat(np.arange(len(predictors)), [len(p.nodes) for p in predictors])
    words = np.concatenate([predictor.raw_left_cat_bitsets for predictor in predictors])
    octets = words.astype("<u4").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little") != 0
    sets = []
    for node in splits:
        n_categories = table.n_categories[feature[node]]
        index = int(nodes["bitset_idx"][node])
        if not 0 < n_categories <= bits.shape[1] or index >= sizes[owner[node]]:
            raise MalformedModelError("a category split does not fit its column.")
        chosen = bits[starts[owner[node]] + index, :n_categories]
        sets.append(np.append(chosen, nodes["missing_go_to_left"][node] != 0))
    return sets
