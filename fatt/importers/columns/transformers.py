"""scikit-learn's transformers of single columns, each as the steps it applies.

The arithmetic is scikit-learn's own, in the same order and precision; what an encoder
makes of each category is asked of the fitted encoder itself (`encoders`).
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Numeric
from fatt.ensemble.joint import (
    Constant,
    Formula,
    Operation,
    Operator,
    Read,
    evaluate,
    places_of,
)
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import ANYTHING, Floats, below, identity
from fatt.importers.columns.curves import function_step, power_steps, quantile_steps
from fatt.importers.columns.encoders import category_encoder, encoder
from fatt.importers.columns.joints import steps_along
from fatt.importers.columns.steps import (
    FINITE_ONLY,
    AnyStep,
    Arithmetic,
    Mixture,
    Numbers,
    Path,
    Replace,
    Table,
    flag,
    is_nan,
    label_or_none,
)
from fatt.importers.registry import library_of, plain_label
from fatt.importers.sklearn.members import check_members

#: What a class of transformers makes of a table.
Behind: TypeAlias = Callable[[Any, Table], Table]

#: What hands on some columns as they are; `SelectorMixin` does it for all of them.
_SELECTORS = (
    *("SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe"),
    *("GenericUnivariateSelect", "VarianceThreshold", "SelectFromModel", "RFE"),
    *("RFECV", "SequentialFeatureSelector"),
)


def is_passthrough(step: Any) -> bool:
    """Tell whether a step hands on its table as it is."""
    from sklearn.preprocessing import FunctionTransformer

    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    is_identity = type(step) is FunctionTransformer and step.func is None
    return is_identity and not step.validate


def behind(transformer: Any, table: Table, *, is_frame: bool = False) -> Table:
    """Return the table behind a fitted transformer.

    Parameters
    ----------
    transformer
        Fitted transformer.
    table
        The table that it gets.
    is_frame
        Whether it gets a frame of pandas and makes one, which a selector hands on
        without a look.

    Raises
    ------
    UnsupportedModelError
        If it is of another kind or works in a way that is not supported.
    """
    kind = type(transformer)
    if kind.__module__.startswith("category_encoders."):
        return category_encoder(transformer, table)
    require_known(transformer)
    check_members(transformer)
    on_sparse, others = _known()
    if is_frame and on_sparse.get(kind) is _selector:
        return _selected(transformer, ANYTHING, table)
    if table.sparse and kind not in on_sparse:
        raise UnsupportedModelError(
            f"the step {kind.__name__} gets a sparse matrix, which is not supported. "
            "Fit the pipeline with sparse_output=False in the encoder before it."
        )
    return (on_sparse | others)[kind](transformer, table)


@functools.cache
def _known() -> tuple[dict[type, Behind], dict[type, Behind]]:
    """Return what describes steps: those that take sparse matrices, and others."""
    from sklearn import feature_selection, impute, preprocessing

    on_sparse: dict[type, Behind] = {
        preprocessing.StandardScaler: _standard_scaler,
        preprocessing.MaxAbsScaler: _max_abs_scaler,
        preprocessing.RobustScaler: _robust_scaler,
    }
    on_sparse |= {getattr(feature_selection, name): _selector for name in _SELECTORS}
    others: dict[type, Behind] = {
        preprocessing.MinMaxScaler: _min_max_scaler,
        preprocessing.OneHotEncoder: encoder,
        preprocessing.OrdinalEncoder: encoder,
        preprocessing.TargetEncoder: encoder,
        preprocessing.KBinsDiscretizer: _bins,
        preprocessing.Binarizer: _binarizer,
        preprocessing.FunctionTransformer: _function,
        preprocessing.QuantileTransformer: _quantiles,
        preprocessing.PowerTransformer: _powers,
        preprocessing.PolynomialFeatures: _polynomials,
        impute.SimpleImputer: _imputer,
        impute.MissingIndicator: _missing_indicator,
        impute.KNNImputer: _neighbours,
    }
    return on_sparse, others


def require_known(transformer: Any) -> None:
    """Refuse a step of a kind that is not supported, and say why."""
    from sklearn import compose, pipeline

    known = {*itertools.chain(*_known()), compose.ColumnTransformer}
    known |= {pipeline.FeatureUnion, pipeline.Pipeline}
    if type(transformer) not in known:
        raise _refusal(transformer)


#: Why a step of scikit-learn is not supported, by the name of its class.
_MIXES = (
    "it mixes columns, so its output says nothing about one raw column. Make what it "
    "computes columns of the table, and train without it"
)
_REASONS = {
    **dict.fromkeys(
        (
            *("PCA", "IncrementalPCA", "KernelPCA", "TruncatedSVD", "FastICA", "NMF"),
            *("Normalizer", "IterativeImputer"),
            *("LinearDiscriminantAnalysis", "FeatureAgglomeration", "KMeans"),
        ),
        _MIXES,
    ),
    "SplineTransformer": "its polynomials rise and fall, and their rounding is not "
    "known, so that a split cannot be followed. Trees cut a column into pieces "
    "themselves: fit without it, or with KBinsDiscretizer",
    "DictVectorizer": "it reads dicts, and fatt tables. Write the table that it makes, "
    "step.transform(rows) under the names step.feature_names_, and load the model with "
    "these names for its columns; flags such as 'sex=F' are read as one variable. Of "
    "sparse rows XGBoost takes what they leave out for missing: write no zero there",
}


def _refusal(transformer: Any) -> UnsupportedModelError:
    from sklearn import base

    name = type(transformer).__name__
    package = type(transformer).__module__.partition(".")[0]
    if package == "sklearn" and name in _REASONS:
        why = _REASONS[name]
    elif package == "sklearn" and isinstance(transformer, base.BaseEstimator):
        why = "what it computes is not known here"
    else:
        why = f"it is no step of scikit-learn, but of {package!r}, and not known here"
    known = sorted({kind.__name__ for kind in itertools.chain(*_known())})
    return UnsupportedModelError(
        f"the step {name} is not supported: {why}. Supported are {', '.join(known)}, "
        "ColumnTransformer, FeatureUnion, Pipeline, 'passthrough', and encoders of "
        "category_encoders; or load the model behind the step, in its own columns."
    )


def _require_finite(numbers: Any) -> None:
    """Refuse scalers of columns that had no value at all when they were fitted."""
    if not np.isfinite(numbers).all():
        raise UnsupportedModelError(
            "a scaler holds a parameter that is not a finite number, since a "
            "column had no value or huge ones. Drop the column and fit again."
        )


def _scalings(
    scaler: Any,
    *operations: tuple[Operator, Any],
    sparse: bool = False,
    clip: tuple[float, float] | None = None,
) -> list[tuple[Numbers, ...]]:
    """Do operations one after the other, each with a number per column or None."""
    done: list[tuple[Operator, NDArray[Any]]] = []
    for operator, numbers in operations:
        if numbers is None:
            continue
        if operator == "/" and (np.asarray(numbers) == 0).any():
            raise UnsupportedModelError(
                "a scaler divides a column by zero, since its values lie too close "
                "together. Drop the column, or fit it without scaling."
            )
        if operator == "/" and sparse:
            # Columns of sparse matrices are multiplied by the reciprocal.
            with np.errstate(over="ignore"):
                done.append(("*", 1 / numbers))
        else:
            done.append((operator, numbers))
        _require_finite(done[-1][1])
    more = () if clip is None else (_clipped(*map(float, clip)),)
    each = [
        Arithmetic(tuple((one, float(numbers[i])) for one, numbers in done))
        for i in range(scaler.n_features_in_)
    ]
    return [(Numbers(function=one, into_floats=True), *more) for one in each]


def _scaled(table: Table, steps: Sequence[tuple[AnyStep, ...]]) -> Table:
    return table.behind(enumerate(steps), sparse=table.sparse)


def _standard_scaler(scaler: Any, table: Table) -> Table:
    return _scaled(table, _standard(scaler, sparse=table.sparse))


def _standard(scaler: Any, *, sparse: bool = False) -> list[tuple[Numbers, ...]]:
    offset = scaler.mean_ if scaler.with_mean else None
    scale = scaler.scale_ if scaler.with_std else None
    return _scalings(scaler, ("-", offset), ("/", scale), sparse=sparse)


def _robust_scaler(scaler: Any, table: Table) -> Table:
    offset = scaler.center_ if scaler.with_centering else None
    scale = scaler.scale_ if scaler.with_scaling else None
    pairs: tuple[tuple[Operator, Any], ...] = ("-", offset), ("/", scale)
    return _scaled(table, _scalings(scaler, *pairs, sparse=table.sparse))


def _max_abs_scaler(scaler: Any, table: Table) -> Table:
    # Older versions have no clip.
    clip = (-1.0, 1.0) if getattr(scaler, "clip", False) else None
    steps = _scalings(scaler, ("/", scaler.scale_), sparse=table.sparse, clip=clip)
    return _scaled(table, steps)


def _min_max_scaler(scaler: Any, table: Table) -> Table:
    clip = scaler.feature_range if scaler.clip else None
    pairs: tuple[tuple[Operator, Any], ...] = ("*", scaler.scale_), ("+", scaler.min_)
    return table.each(_scalings(scaler, *pairs, clip=clip))


def _clipped(low: float, high: float) -> Numbers:
    # Infinity, which a scaler may have made, as well.
    return Numbers(function=lambda numbers: np.clip(numbers, low, high), taker=ANYTHING)


def _binarizer(binarizer: Any, table: Table) -> Table:
    threshold = float(binarizer.threshold)
    step = Numbers(
        function=lambda numbers: np.where(numbers > threshold, 1.0, 0.0),
        taker=FINITE_ONLY,
    )
    return table.each([(step,)] * binarizer.n_features_in_)


def _bins(binner: Any, table: Table) -> Table:
    if binner.dtype not in {None, np.float64}:
        raise UnsupportedModelError(
            "a KBinsDiscretizer with dtype=float32 rounds the numbers first, which is "
            "not supported. Fit it without dtype."
        )
    if binner.encode not in {"onehot", "onehot-dense", "ordinal"}:
        raise UnsupportedModelError(
            f"a KBinsDiscretizer has encode={binner.encode!r}, which is not known. "
            "Fit it with 'ordinal' or 'onehot-dense'."
        )
    if binner.encode != "ordinal":
        check_members(binner._encoder)
    outputs: list[tuple[int, tuple[Numbers]]] = []
    for i, edges in enumerate(binner.bin_edges_):
        inner = edges[1:-1]
        place = functools.partial(_bin, inner=inner)
        if binner.encode == "ordinal":
            step = Numbers(place, FINITE_ONLY, into_floats=True)
            outputs.append((i, (step,)))
            continue
        # A bin begins at its edge: the cell before ends just below.
        ends = below(inner)
        for number in range(int(binner.n_bins_[i])):
            step = Numbers(
                function=functools.partial(_in_bin, place=place, number=number),
                taker=FINITE_ONLY,
                edges=tuple(ends[max(number - 1, 0) : number + 1].tolist()),
                into_floats=True,
            )
            outputs.append((i, (step,)))
    return table.behind(outputs, sparse=binner.encode == "onehot")


def _bin(numbers: Floats, *, inner: NDArray[Any]) -> Floats:
    return np.searchsorted(inner, numbers, side="right").astype(np.float64)


def _in_bin(
    numbers: Floats, *, place: Callable[[Floats], Floats], number: int
) -> Floats:
    return np.where(place(numbers) == number, 1.0, 0.0)


def _function(transformer: Any, table: Table) -> Table:
    """Follow a function of numpy, column by column."""
    taker = FINITE_ONLY if transformer.validate else ANYTHING
    step = Numbers(function=identity, taker=taker)
    if transformer.func is not None:
        step = function_step(transformer, taker)
    return table.each([(step,)] * transformer.n_features_in_)


def _quantiles(transformer: Any, table: Table) -> Table:
    _require_finite(transformer.quantiles_)
    columns = transformer.quantiles_.T
    return table.each(quantile_steps(transformer, own) for own in columns)


def _powers(transformer: Any, table: Table) -> Table:
    """Follow a power of each column, and the scaler that may stand behind it."""
    _require_finite(transformer.lambdas_)
    powers = [power_steps(transformer, own) for own in transformer.lambdas_]
    if not transformer.standardize:
        return table.each(powers)
    check_members(transformer._scaler)
    scaled = _standard(transformer._scaler)
    return table.each(a + b for a, b in zip(powers, scaled, strict=True))


def _imputer(imputer: Any, table: Table) -> Table:
    old = label_or_none(imputer.missing_values, "missing_values of a SimpleImputer")
    keeps_integers = imputer.strategy in {"most_frequent", "constant"}
    outputs: list[tuple[int, tuple[AnyStep]]] = []
    idle = []
    for i, statistic in enumerate(imputer.statistics_):
        if is_nan(statistic) and not imputer.keep_empty_features:
            idle.append((i, Replace(old=old, new=0)))
            continue
        # Newer versions cast statistics to the type of the data they were fitted on.
        stored = np.array([statistic], dtype=object)
        stored = stored.astype(getattr(imputer, "_fill_dtype", object))
        new = plain_label(stored.tolist()[0], "a statistic of a SimpleImputer")
        outputs.append((i, (Replace(old, new, into_integers=keeps_integers),)))
    if imputer.add_indicator:
        check_members(imputer.indicator_)
        outputs += [(int(i), (flag(old),)) for i in imputer.indicator_.features_]
    return table.behind(outputs, idle)


def _neighbours(imputer: Any, table: Table) -> Table:
    """Follow a `KNNImputer` where a row has no gap: then it hands on all cells."""
    is_plain = is_nan(imputer.missing_values) and not imputer.add_indicator
    if not is_plain or not imputer._valid_mask.all():
        raise UnsupportedModelError(
            "a KNNImputer is followed where rows have no gap, and this one also makes "
            "or drops columns (add_indicator, a column without any value), or fills "
            "other cells than NaN. Fit it without these, or use a SimpleImputer."
        )
    step = Numbers(function=identity, taker=FINITE_ONLY, into_floats=True)
    return table.each([(step,)] * imputer.n_features_in_)


def _missing_indicator(indicator: Any, table: Table) -> Table:
    value = label_or_none(indicator.missing_values, "missing_values of an indicator")
    found = [int(i) for i in indicator.features_]
    others = set(range(indicator.n_features_in_)) - set(found)
    is_strict = indicator.features == "missing-only" and indicator.error_on_new
    return table.behind(
        [(i, (flag(value),)) for i in found],
        [(i, flag(value, refused=is_strict)) for i in others],
        sparse=indicator.sparse is True,
    )


def _selector(selector: Any, table: Table) -> Table:
    """Ask a selector for its columns; it looks at the numbers of all."""
    if hasattr(selector, "__sklearn_tags__"):
        takes_nan = selector.__sklearn_tags__().input_tags.allow_nan
    else:  # scikit-learn 1.5
        takes_nan = selector._get_tags()["allow_nan"]
    return _selected(selector, ANYTHING if takes_nan else FINITE_ONLY, table)


def _selected(selector: Any, taker: Numeric, table: Table) -> Table:
    """Hand on some columns, after a look at all."""
    step = Numbers(function=identity, taker=taker)
    kept = _support(selector)
    return table.behind(
        [(i, (step,)) for i in np.flatnonzero(kept).tolist()],
        [(i, step) for i in np.flatnonzero(~kept).tolist()],
        sparse=table.sparse,
    )


def _support(selector: Any) -> NDArray[np.bool_]:
    """Ask a selector for its columns.

    `SelectFromModel` asks a model in turn, and compiled code follows whatever the trees
    of that model hold: they are checked first, as those of any other model.
    """
    from sklearn.feature_selection import SelectFromModel

    if type(selector) is SelectFromModel:
        if selector.importance_getter != "auto":
            raise UnsupportedModelError(
                f"a SelectFromModel has importance_getter="
                f"{selector.importance_getter!r}, which fatt does not follow. Fit it "
                "with importance_getter='auto'."
            )
        inner = getattr(selector, "estimator_", selector.estimator)
        is_own = type(inner).__module__.startswith("sklearn.")
        if is_own and not isinstance(vars(inner).get("coef_"), np.ndarray):
            library_of(inner).convert(inner, missing=None)
    # A file may ask for any number of threads.
    with joblib.parallel_config(backend="sequential"):
        return np.asarray(selector.get_support())


#: On how many rows formulas are compared with the fitted step.
_TRIED = 400

_PASSED = Numbers(function=identity, taker=FINITE_ONLY)
_COMPUTED_WITH = Numbers(function=Arithmetic(), taker=FINITE_ONLY)


def _polynomials(transformer: Any, table: Table) -> Table:
    """Follow a `PolynomialFeatures`, whose products scikit-learn computes from behind.

    Raises
    ------
    UnsupportedModelError
        If the installed scikit-learn computes them otherwise.
    """
    width = transformer.n_features_in_
    formulas = [
        _product([i for i, power in enumerate(powers) for _ in range(power)])
        for powers in transformer.powers_.tolist()
    ]
    rows = _rows(width)
    with warnings.catch_warnings():
        # It may have been fitted on names.
        warnings.simplefilter("ignore")
        made = transformer.transform(rows)
    wanted = np.array([evaluate(formula, rows) for formula in formulas]).T
    if not np.array_equal(made, wanted, equal_nan=True):
        raise UnsupportedModelError(
            "the installed scikit-learn computes the products of PolynomialFeatures in "
            "a way that is not known here. Make them columns of the table, and train "
            "without it."
        )
    read = {place for formula in formulas for place in places_of(formula)}
    idle = [(i, _PASSED) for i in range(width) if i not in read]
    checked = table.behind([(i, (_COMPUTED_WITH,)) for i in range(width)], idle)
    columns = [_computed(one, table, checked.columns) for one in formulas]
    return Table(columns, idle=checked.idle)


def _product(columns: Sequence[int]) -> Formula:
    if not columns:
        return Constant(1.0)
    first, *others = columns
    read = Read(place=first)
    return Operation(read, "*", _product(others)) if others else read


def _computed(formula: Formula, table: Table, checked: Sequence[Path]) -> Path:
    """Return the column of a product; a power of one column is made by steps."""
    match formula:
        case Constant(value=value):
            step = Numbers(
                function=lambda numbers: np.full_like(numbers, value),
                taker=FINITE_ONLY,
                missing=value,
            )
            return table.columns[0].then(step)
        case Read(place=place):
            return table.columns[place].then(_PASSED)
    places = places_of(formula)
    if len(places) == 1:
        powers = steps_along(formula, places[0], np.ones(places[0] + 1))
        return checked[places[0]].after(
            Numbers(one.function, ANYTHING, edges=one.edges) for one in powers
        )
    mixture = Mixture(formula, tuple(checked))
    if any(isinstance(path.source, Mixture) for path in mixture.read):
        raise UnsupportedModelError(
            "it computes with a column that another step has computed of several. Let "
            "one step compute both (PolynomialFeatures with a higher degree), or make "
            "it a column of the table."
        )
    return Path(mixture)


def _rows(width: int) -> Floats:
    """Return rows of all kinds: small and large numbers, whole ones, zeros."""
    rng = np.random.default_rng(0)
    shape = _TRIED, width
    rows = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 7, size=shape)
    rows = np.where(rng.random(shape) < 0.4, np.rint(rows), rows)
    odd = np.array([0.0, -0.0, 1.0, -1.0, 1e200])
    return np.where(rng.random(shape) < 0.2, rng.choice(odd, size=shape), rows)
