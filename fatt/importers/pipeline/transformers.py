"""scikit-learn's transformers of single columns, each as the steps it applies.

The arithmetic is scikit-learn's own, in the same order and precision; what an encoder
makes of each category is asked of the fitted encoder itself.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.ensemble.features import NumberTypes
from fatt.errors import UnsupportedModelError
from fatt.importers.pipeline.steps import (
    FINITE_ONLY,
    UNKNOWN,
    AnyStep,
    Flag,
    Lookup,
    Numbers,
    Replace,
    is_nan,
)
from fatt.importers.pullback.columns import ANYTHING, Floats, below, identity
from fatt.importers.sklearn.members import check_members, plain_label


@dataclass
class Work:
    """What a transformer does.

    Attributes
    ----------
    outputs
        For each output column, the input column it is made of and the step between.
    idle
        Input columns without any output, and the step that yet checks their cells.
    sparse
        Whether the output is a sparse matrix.
    narrow
        Whether the output has fewer digits than float64.
    """

    outputs: list[tuple[int, AnyStep]] = field(default_factory=list)
    idle: list[tuple[int, AnyStep]] = field(default_factory=list)
    sparse: bool = False
    narrow: bool = False


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


def work_of(transformer: Any, *, sparse: bool) -> Work:
    """Describe a fitted transformer.

    Parameters
    ----------
    transformer
        Fitted transformer.
    sparse
        Whether it gets a sparse matrix.

    Raises
    ------
    UnsupportedModelError
        If it is of another kind or works in a way that is not supported.
    """
    from sklearn import feature_selection, impute, preprocessing

    on_sparse: dict[type, Callable[..., Work]] = {
        preprocessing.StandardScaler: _standard_scaler,
        preprocessing.MaxAbsScaler: _max_abs_scaler,
        preprocessing.RobustScaler: _robust_scaler,
    }
    on_sparse |= {getattr(feature_selection, name): _selector for name in _SELECTORS}
    others: dict[type, Callable[..., Work]] = {
        preprocessing.MinMaxScaler: _min_max_scaler,
        preprocessing.OneHotEncoder: _encoder,
        preprocessing.OrdinalEncoder: _encoder,
        preprocessing.KBinsDiscretizer: _bins,
        impute.SimpleImputer: _imputer,
        impute.MissingIndicator: _missing_indicator,
    }
    kind = type(transformer)
    if kind not in on_sparse and kind not in others:
        raise _refusal(transformer)
    check_members(transformer)
    if kind in on_sparse:
        return on_sparse[kind](transformer, sparse)
    if sparse:
        raise UnsupportedModelError(
            f"the step {kind.__name__} gets a sparse matrix, which is not supported. "
            "Fit the pipeline with sparse_output=False in the encoder before it."
        )
    return others[kind](transformer)


def _refusal(transformer: Any) -> UnsupportedModelError:
    from sklearn import base, decomposition, preprocessing

    name = type(transformer).__name__
    mixing = (
        decomposition.PCA,
        decomposition.TruncatedSVD,
        preprocessing.PolynomialFeatures,
        preprocessing.Normalizer,
    )
    if isinstance(transformer, mixing):
        why = "it mixes columns, so its output says nothing about one raw column"
    elif not isinstance(transformer, base.BaseEstimator):
        why = "it is no transformer of scikit-learn"
    else:
        why = "its arithmetic is not known to be exact"
    return UnsupportedModelError(
        f"the step {name} is not supported: {why}. Supported are StandardScaler, "
        "MinMaxScaler, RobustScaler, MaxAbsScaler, OneHotEncoder, OrdinalEncoder, "
        "SimpleImputer, KBinsDiscretizer, ColumnTransformer, Pipeline and "
        "'passthrough'; or load the model behind the step, in its own columns."
    )


def _check_finite(*parameters: Any) -> None:
    """Refuse scalers of columns that had no value at all when they were fitted."""
    for numbers in parameters:
        if numbers is not None and not np.isfinite(numbers).all():
            raise UnsupportedModelError(
                "a scaler holds a parameter that is not a finite number, since a "
                "column had no value or huge ones. Drop the column and fit again."
            )


def _scaled(offset: Any, scale: Any, *, sparse: bool, n: int) -> Work:
    """Return ``(x - offset) / scale`` for each column; either may be None."""
    factor = None
    if scale is not None and (np.asarray(scale) == 0).any():
        raise UnsupportedModelError(
            "a scaler divides a column by zero, since its values lie too close "
            "together. Drop the column, or fit it without scaling."
        )
    if sparse and scale is not None:
        # Columns of sparse matrices are multiplied by the reciprocal.
        with np.errstate(over="ignore"):
            scale, factor = None, 1 / scale
    _check_finite(offset, scale, factor)
    work = Work(sparse=sparse)
    for i in range(n):
        function = functools.partial(
            _scale,
            offset=None if offset is None else float(offset[i]),
            scale=None if scale is None else float(scale[i]),
            factor=None if factor is None else float(factor[i]),
        )
        work.outputs.append((i, Numbers(function=function)))
    return work


def _scale(
    numbers: Floats,
    *,
    offset: float | None,
    scale: float | None,
    factor: float | None,
) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        if offset is not None:
            numbers = numbers - offset
        if scale is not None:
            numbers = numbers / scale
        if factor is not None:
            numbers = numbers * factor
    return numbers


def _standard_scaler(scaler: Any, sparse: bool) -> Work:
    offset = scaler.mean_ if scaler.with_mean else None
    scale = scaler.scale_ if scaler.with_std else None
    return _scaled(offset, scale, sparse=sparse, n=scaler.n_features_in_)


def _robust_scaler(scaler: Any, sparse: bool) -> Work:
    offset = scaler.center_ if scaler.with_centering else None
    scale = scaler.scale_ if scaler.with_scaling else None
    return _scaled(offset, scale, sparse=sparse, n=scaler.n_features_in_)


def _max_abs_scaler(scaler: Any, sparse: bool) -> Work:
    work = _scaled(None, scaler.scale_, sparse=sparse, n=scaler.n_features_in_)
    # Older versions have no clip.
    if getattr(scaler, "clip", False):
        work.outputs = [(i, _clipped(step, -1.0, 1.0)) for i, step in work.outputs]
    return work


def _min_max_scaler(scaler: Any) -> Work:
    _check_finite(scaler.scale_, scaler.min_)
    work = Work()
    for i in range(scaler.n_features_in_):
        scale, low = float(scaler.scale_[i]), float(scaler.min_[i])
        step = Numbers(function=functools.partial(_stretch, scale=scale, low=low))
        if scaler.clip:
            step = _clipped(step, *map(float, scaler.feature_range))
        work.outputs.append((i, step))
    return work


def _stretch(numbers: Floats, *, scale: float, low: float) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        return numbers * scale + low


def _clipped(step: AnyStep, low: float, high: float) -> Numbers:
    assert isinstance(step, Numbers)
    inside = step.function
    return Numbers(function=lambda numbers: np.clip(inside(numbers), low, high))


def _bins(binner: Any) -> Work:
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
    work = Work(sparse=binner.encode == "onehot")
    for i, edges in enumerate(binner.bin_edges_):
        inner = edges[1:-1]
        place = functools.partial(_bin, inner=inner)
        if binner.encode == "ordinal":
            work.outputs.append((i, Numbers(function=place, taker=FINITE_ONLY)))
            continue
        # A bin begins at its edge: the cell before ends just below.
        ends = below(inner)
        for number in range(int(binner.n_bins_[i])):
            step = Numbers(
                function=functools.partial(_in_bin, place=place, number=number),
                taker=FINITE_ONLY,
                edges=tuple(ends[max(number - 1, 0) : number + 1].tolist()),
            )
            work.outputs.append((i, step))
    return work


def _bin(numbers: Floats, *, inner: NDArray[Any]) -> Floats:
    return np.searchsorted(inner, numbers, side="right").astype(np.float64)


def _in_bin(
    numbers: Floats, *, place: Callable[[Floats], Floats], number: int
) -> Floats:
    return np.where(place(numbers) == number, 1.0, 0.0)


def _imputer(imputer: Any) -> Work:
    old = _label_or_none(imputer.missing_values, "missing_values of a SimpleImputer")
    keeps_integers = imputer.strategy in {"most_frequent", "constant"}
    work = Work()
    for i, statistic in enumerate(imputer.statistics_):
        if is_nan(statistic) and not imputer.keep_empty_features:
            work.idle.append((i, Replace(old=old, new=0)))
            continue
        # Newer versions cast statistics to the type of the data they were fitted on.
        stored = np.array([statistic], dtype=object)
        stored = stored.astype(getattr(imputer, "_fill_dtype", object))
        new = plain_label(stored.tolist()[0], "a statistic of a SimpleImputer")
        step = Replace(old, new, into_integers=keeps_integers, taken=_taken(imputer))
        work.outputs.append((i, step))
    if imputer.add_indicator:
        check_members(imputer.indicator_)
        work.outputs += [(int(i), Flag(old)) for i in imputer.indicator_.features_]
    return work


def _missing_indicator(indicator: Any) -> Work:
    value = _label_or_none(indicator.missing_values, "missing_values of an indicator")
    # As one array with others, booleans are objects.
    taken: NumberTypes = "number" if indicator.n_features_in_ == 1 else "any"
    found = [int(i) for i in indicator.features_]
    work = Work(sparse=indicator.sparse is True)
    work.outputs = [(i, Flag(value, taken=taken)) for i in found]
    is_strict = indicator.features == "missing-only" and indicator.error_on_new
    for i in set(range(indicator.n_features_in_)) - set(found):
        work.idle.append((i, Flag(value, taken=taken, refused=is_strict)))
    return work


def _selector(selector: Any, sparse: bool) -> Work:
    """Ask a selector for its columns; it looks at the numbers of all."""
    if hasattr(selector, "__sklearn_tags__"):
        takes_nan = selector.__sklearn_tags__().input_tags.allow_nan
    else:  # scikit-learn 1.5
        takes_nan = selector._get_tags()["allow_nan"]
    step = Numbers(function=identity, taker=ANYTHING if takes_nan else FINITE_ONLY)
    work = Work(sparse=sparse)
    for i, is_kept in enumerate(selector.get_support().tolist()):
        (work.outputs if is_kept else work.idle).append((i, step))
    return work


def _taken(imputer: Any) -> NumberTypes:
    """Tell which types of numbers an imputer takes in a column on its own.

    Several columns become one array first, whose type hangs on all of them; objects
    hold all types.
    """
    fitted = np.dtype(imputer._fit_dtype)
    if imputer.n_features_in_ > 1 or fitted.kind == "O":
        return "any"
    if imputer.strategy == "constant":
        written = np.dtype(getattr(imputer, "_fill_dtype", imputer.statistics_.dtype))
        return {"f": "floating", "i": "signed"}.get(written.kind, "number")  # type: ignore[return-value]
    return "number" if imputer.strategy == "most_frequent" else "any"


def _encoder(encoder: Any) -> Work:
    """Ask an encoder what it makes of each category, of unknown and missing cells."""
    columns = [_labels_of(encoder, i) for i in range(len(encoder.categories_))]
    cells = [[*labels, *others.values()] for labels, others in columns]
    work = Work(
        sparse=bool(getattr(encoder, "sparse_output", False)),
        narrow=np.dtype(encoder.dtype) in {np.dtype("f2"), np.dtype("f4")},
    )
    made: dict[int, tuple[int, Lookup]] = {}
    for i, (labels, others) in enumerate(columns):
        places = {label: place for place, label in enumerate(labels)}
        outputs = np.ascontiguousarray(_asked(encoder, cells, i).T)
        start = outputs[:, :1]
        varies = (outputs != start) & ~(np.isnan(outputs) & np.isnan(start))
        # An output that never varies is taken for one of the first column.
        mine = np.flatnonzero(varies.any(axis=1)) if i else range(len(outputs))
        for j in mine:
            known, rest = np.split(outputs[j], [len(labels)])
            step = Lookup(places, known, dict(zip(others, rest.tolist(), strict=True)))
            made[int(j)] = i, step
        idle = Lookup(places, np.zeros(len(labels)), dict.fromkeys(others, 0.0))
        work.idle.append((i, idle))
    work.outputs = [made[j] for j in sorted(made)]
    used = {i for i, _ in work.outputs}
    work.idle = [(i, step) for i, step in work.idle if i not in used]
    return work


def _asked(encoder: Any, cells: list[list[Any]], i: int) -> Floats:
    """Return what an encoder makes of the cells of a column, the others at rest."""
    table = np.empty((len(cells[i]), len(cells)), dtype=object)
    for place, column in enumerate(cells):
        table[:, place] = column if place == i else column[0]
    with warnings.catch_warnings():
        # The encoder may warn of unknown cells and of absent column names: both are
        # meant here.
        warnings.simplefilter("ignore")
        codes = encoder.transform(table)
    dense = codes.toarray() if hasattr(codes, "toarray") else codes
    return np.asarray(dense).astype(np.float64)


def _labels_of(encoder: Any, i: int) -> tuple[list[Label], dict[object, Any]]:
    """Return the labels a column of an encoder knows, and the other cells it takes."""
    name = type(encoder).__name__
    known = [
        _label_or_none(c, f"a category of the {name}") for c in encoder.categories_[i]
    ]
    labels = [label for label in known if label is not None and not is_nan(label)]
    others: dict[object, Any] = {}
    if any(map(is_nan, known)):
        others["nan"] = math.nan
    if None in known:
        others["none"] = None
    if len(others) > 1:
        raise UnsupportedModelError(
            f"the {name} has both None and NaN as categories of its column {i}, and "
            "tables do not tell them apart. Train with one of them."
        )
    if encoder.handle_unknown != "error":
        if any(isinstance(label, str) for label in labels):
            new: Label = max(map(str, labels), key=len) + "?"
        else:
            new = next(n for n in itertools.count() if n not in labels)
        others |= {"nan": math.nan, "none": None, UNKNOWN: new}
    return labels, others


def _label_or_none(value: Any, what: str) -> Label | None:
    """Return a value of a fitted object as a plain label, NaN or None."""
    return None if value is None else plain_label(value, what)
