"""XGBoost: fitted objects, and files of any kind without the xgboost package.

What XGBoost does depends on who asks. `XGBClassifier.predict` reads arrays in place,
takes infinities, stops at the best iteration, and in dart rounds each leaf against the
base margin; `Booster.predict` reads a DMatrix, refuses infinities, and uses all trees.
Objects are imported as their own `predict` computes, and files as the `XGBClassifier`
or `XGBRegressor` that loads them would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Ensemble,
    Inputs,
    Prediction,
    Scoring,
    Source,
)
from fatt.ensemble.ensemble import COUNTED
from fatt.ensemble.floats import FLOAT32_LIMIT
from fatt.errors import Arg, MalformedModelError, SpecError, UnsupportedModelError
from fatt.importers.registry import refuse_replaced
from fatt.importers.versions import check_file, is_installed, note_newer
from fatt.importers.xgboost import binary, live
from fatt.importers.xgboost.answers import (
    LINKS,
    PREDICTIONS,
    Answers,
    base_margin,
    decision,
)
from fatt.importers.xgboost.file import ModelFile, parse
from fatt.importers.xgboost.normal_form import Cells, lay_out, make_features
from fatt.model import Model

_BINARY_NOTE = (
    "The file is of XGBoost's old binary kind, which 3.0 is the last to read: computes "
    "what XGBoost 3.0 answers. Versions before 1.0 wrote their base score rounded "
    "otherwise."
)

#: Up to the best one, all, or so many.
Iteration: TypeAlias = Literal["best", "all"] | int


@dataclass(frozen=True)
class _Caller:
    """Who asks the model for predictions, and how."""

    format: str
    model: str
    # XGBClassifier reads arrays in place.
    in_place: bool
    # The iterations that count.
    iteration: Iteration
    missing: float
    # What its answers are: labels or numbers, or as the objective has it.
    answers: Answers
    notes: tuple[str, ...] = ()
    # XGBClassifier looks at no names in frames of polars and pyarrow.
    by_position: Literal["none", "others"] = "none"


_ANSWERS: dict[str, Answers] = {
    "classifier": "labels",
    "regressor": "numbers",
    "": "either",
}


def read(
    data: bytes, *, missing: float | None, iteration: Iteration | None = None
) -> Model:
    """Read a model file: JSON, UBJSON, or the old binary form.

    Parameters
    ----------
    data
        The bytes of the file.
    missing
        The number that the model takes for missing besides NaN; files do not keep it.
    iteration
        As in `fatt.load`; by default the best, as `XGBClassifier` has it.

    Raises
    ------
    MalformedModelError
        If the file is damaged.
    UnsupportedModelError
        If it is no classifier or regressor made of trees.
    """
    is_binary = not data.lstrip().startswith((b"{", b"["))
    file = binary.parse(data) if is_binary else parse(data)
    predicts = file.saved_by == "regressor" or file.objective in PREDICTIONS
    loader = "XGBRegressor" if predicts else "XGBClassifier"
    version = ".".join(map(str, file.version))
    newer = check_file(
        "XGBoost",
        version,
        at_hand=lambda: is_installed("xgboost", version),
        way_out=f"Install xgboost {version}, or train with a tested version.",
    )
    notes = [
        *newer,
        f"Computes what {loader}.predict answers on arrays after load_model.",
    ]
    if missing is None:
        notes.append(
            "The file does not say which number counts as missing; only NaN does here."
        )
    if is_binary:
        notes.append(_BINARY_NOTE)
    rounds = _rounds(file, iteration)
    notes += _note_iteration(file, iteration or "best")
    if _rounds_against_base(file):
        notes.append(
            "Booster.predict on a DMatrix, and XGBoost since 3.3, round the weights of "
            "dart differently."
        )
    if file.objective == "multi:softprob" and file.n_outputs == 2:
        notes.append(
            "The label is the class with the larger probability; XGBClassifier would "
            "answer a matrix for two classes of multi:softprob."
        )
    caller = _Caller(
        format=f"{file.format} file",
        model=file.booster,
        in_place=True,
        iteration=iteration or "best",
        missing=math.nan if missing is None else missing,
        answers=_ANSWERS[file.saved_by],
        notes=tuple(notes),
    )
    opened = partial(live.open_file, data, version, caller.missing, loader, rounds)
    return Model(_ensemble(file, caller), opened)


def convert(
    model: Any, *, missing: float | None, iteration: Iteration | None = None
) -> Model:
    """Convert a fitted Booster, classifier or regressor.

    Parameters
    ----------
    model
        The fitted object.
    missing
        The number that a Booster's DMatrix is told to take for missing.
    iteration
        As in `fatt.load`; by default that of the object's own `predict`.

    Raises
    ------
    UnsupportedModelError
        If the object is no classifier or regressor made of trees, or not fitted.
    SpecError
        If `missing` contradicts what an XGBClassifier was made with.
    """
    import xgboost

    refuse_replaced(model)
    if type(model) is xgboost.Booster:
        return _of_object(
            model,
            parse(bytes(model.save_raw("ubj"))),
            missing=math.nan if missing is None else missing,
            iteration=iteration,
            answers="either",
        )
    if type(model) in {
        xgboost.XGBClassifier,
        xgboost.XGBRFClassifier,
        xgboost.XGBRegressor,
        xgboost.XGBRFRegressor,
    }:
        return _convert_estimator(model, missing, iteration)
    name = type(model).__name__
    if name == "XGBRanker":
        raise UnsupportedModelError(
            "an XGBRanker ranks rows, and a rank has no meaning for one person: pass "
            "an XGBClassifier or XGBRegressor."
        )
    raise UnsupportedModelError(
        f"cannot import a {type(model).__module__}.{name}: it is no model, or may "
        "predict something else than those that are read. Pass a Booster, "
        "XGBClassifier, XGBRFClassifier, XGBRegressor or XGBRFRegressor."
    )


def on_sparse_rows(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return what reads the dense copy as a model reads sparse rows.

    Cells that are not stored, which are the zeros, are missing.
    """
    zero = (0.0, 0.0)
    if any(f.missing_range not in {None, zero} for f in ensemble.features):
        raise UnsupportedModelError(
            "the XGBoost model takes a number for missing and gets a sparse matrix, in "
            "which zeros are missing too. Fit the pipeline with sparse_output=False in "
            "its encoders."
        )
    features = [
        msgspec.structs.replace(f, missing_range=zero) for f in ensemble.features
    ]
    return replace(ensemble, features=tuple(features))


def _convert_estimator(
    model: Any, missing: float | None, iteration: Iteration | None
) -> Model:
    from fatt.importers.unfitted import unfitted

    name = type(model).__name__
    if not model.__sklearn_is_fitted__():
        raise unfitted(model)
    own = model.missing
    if isinstance(own, bool) or not isinstance(own, int | float | np.number):
        raise UnsupportedModelError(
            f"the {name} has missing={own!r}, which is no number."
        )
    if missing is not None and not (
        missing == own or (math.isnan(missing) and math.isnan(own))
    ):
        raise SpecError(
            f"{Arg('missing', missing)} was given for a {name} that has missing={own} "
            "itself; leave the argument out."
        )
    if callable(model.objective):
        raise UnsupportedModelError(
            f"the {name} has an objective of its own, {model.objective!r}, whose "
            "answers XGBoost does not define; use a built-in objective."
        )
    booster = model.get_booster()
    refuse_replaced(booster)
    file = parse(bytes(booster.save_raw("ubj")))
    if model.objective != file.objective:
        raise UnsupportedModelError(
            f"the {name} says its objective is {model.objective!r}, and its booster "
            f"was trained with {file.objective!r}; fit it again."
        )
    predicts = name.endswith("Regressor")
    if not predicts and file.objective == "multi:softprob" and model.n_classes_ == 2:
        raise UnsupportedModelError(
            f"the {name} answers a matrix, not a label, since it has two classes and "
            "the objective multi:softprob; use binary:logistic."
        )
    return _of_object(
        model,
        file,
        missing=float(own),
        iteration=iteration,
        answers="numbers" if predicts else "labels",
    )


def _of_object(
    model: Any,
    file: ModelFile,
    *,
    missing: float,
    iteration: Iteration | None,
    answers: Answers,
) -> Model:
    """Return what a fitted object computes: a Booster, or an estimator around one."""
    import xgboost

    name = type(model).__name__
    is_booster = name == "Booster"
    rounds = _rounds(file, iteration)
    counted: Iteration = iteration or ("all" if is_booster else "best")
    caller = _Caller(
        format="fitted object",
        model=name,
        in_place=not is_booster,
        iteration=counted,
        missing=missing,
        answers=answers,
        notes=(
            *note_newer("XGBoost", xgboost.__version__),
            f"Computes what {name}.predict answers on "
            f"{'a DMatrix' if is_booster else 'arrays'}.",
            *_note_iteration(file, counted),
        ),
        by_position="none" if is_booster else "others",
    )
    opened = partial(live.XGBoost, model, file.objective, missing, rounds)
    return Model(_ensemble(file, caller), opened, given=model)


def _ensemble(file: ModelFile, caller: _Caller) -> Ensemble:
    decides = decision(file, caller.answers)
    base = base_margin(file)
    n_trees = _n_trees(file, caller)
    # A DMatrix refuses infinities unless one of them means missing.
    takes_infinity = caller.in_place or math.isinf(caller.missing)
    cells = Cells(
        missing=caller.missing, limit=math.inf if takes_infinity else FLOAT32_LIMIT
    )
    features, n_codes = make_features(file, cells)
    return Ensemble(
        features=features,
        classes=()
        if isinstance(decides, Prediction)
        else tuple(range(max(file.n_outputs, 2))),
        trees=lay_out(file, n_trees, n_codes, _rounded_leaves(file, caller, base)),
        scoring=Scoring(dtype="float32", base=tuple(base.tolist())),
        decision=decides,
        link=None if isinstance(decides, Prediction) else LINKS.get(file.objective),
        inputs=Inputs(
            named=_are_names(file.feature_names),
            objects=False,
            by_position=caller.by_position,
            undeclared=caller.format != "fitted object",
        ),
        source=Source(
            library="xgboost",
            version=".".join(map(str, file.version)),
            format=caller.format,
            model=caller.model,
            objective=file.objective,
            notes=caller.notes,
        ),
    )


def _are_names(names: list[str]) -> bool:
    """Tell whether columns have names of people's own; XGBoost makes up f0, f1, ..."""
    return bool(names) and names != [f"f{index}" for index in range(len(names))]


def _n_trees(file: ModelFile, caller: _Caller) -> int:
    """Return how many trees take part."""
    ends, iteration = file.round_ends, caller.iteration
    if isinstance(iteration, int):
        return int(ends[iteration - 1])
    if iteration == "all" or file.best_iteration is None:
        return len(file.groups)
    if file.best_iteration >= len(ends):
        raise MalformedModelError(
            f"the best iteration is {file.best_iteration}, and there are only "
            f"{len(ends)} rounds of trees."
        )
    n_trees = int(ends[file.best_iteration])
    if not n_trees:
        raise MalformedModelError(
            "the best iteration comes before all trees: XGBoost up to 3.2 predicts "
            "with none of them or fails, later versions take all. Pass "
            f"{Arg('iteration', 'all')} if all of them count."
        )
    return n_trees


def _rounds(file: ModelFile, iteration: Iteration | None) -> int | None:
    """Return how many iterations a model is asked for; None if as it is by itself."""
    n_rounds = len(file.round_ends)
    if iteration is None:
        return None
    if iteration == "all":
        return n_rounds
    if iteration != "best":
        if iteration > n_rounds:
            raise SpecError(
                f"iteration is {iteration}, and the XGBoost model has {n_rounds} "
                "iterations; write a number up to that, or 'all'."
            )
        return iteration
    if file.best_iteration is None:
        raise SpecError(
            "iteration is 'best', and the XGBoost model has no best iteration: it was "
            "not trained with early stopping. Leave the argument out."
        )
    return file.best_iteration + 1


def _note_iteration(file: ModelFile, iteration: Iteration) -> tuple[str, ...]:
    """Say how many trees count, if some are left out or another caller leaves some."""
    best, ends, n_trees = file.best_iteration, file.round_ends, len(file.groups)
    if isinstance(iteration, int):
        return (
            f"{COUNTED}{ends[iteration - 1]} of {n_trees}, those of the first "
            f"{iteration} iterations, as asked for.",
        )
    if best is None or best >= len(ends) or ends[best] == n_trees:
        return ()
    few = f"up to the best iteration, {best}"
    if iteration == "best":
        return (
            f"{COUNTED}{ends[best]} of {n_trees}, {few}, as for XGBClassifier and "
            f"XGBRegressor. For Booster.predict all count: {Arg('iteration', 'all')}.",
        )
    return (
        f"{COUNTED}all {n_trees}, as for Booster.predict. For XGBClassifier and "
        f"XGBRegressor {ends[best]} count, {few}: {Arg('iteration', 'best')}.",
    )


def _rounds_against_base(file: ModelFile) -> bool:
    """Tell whether weights meet leaves that were added to the base margin before.

    So did the booster dart; since XGBoost 3.3 there is only gbtree.
    """
    return file.booster == "dart"


def _rounded_leaves(
    file: ModelFile, caller: _Caller, base: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return what each node would add to the score if it were a leaf."""
    if len(file.trees.vectors):
        if file.weights is not None:
            raise UnsupportedModelError(
                "the model is a dart whose leaves are vectors, which XGBoost itself "
                "does not predict before version 3.4, and fatt does not read; train "
                "it with multi_strategy='one_output_per_tree'."
            )
        return file.trees.vectors
    leaves = file.trees.condition
    if file.weights is None:
        return leaves
    weights = np.repeat(file.weights, file.trees.sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        if not _rounds_against_base(file):
            return leaves * weights
        # Each tree is added to a start, which is then taken off again: the base margin
        # in place, and zero (which turns a leaf of negative zero into zero) for a
        # DMatrix.
        start = base if caller.in_place else np.zeros_like(base)
        starts = np.repeat(start[file.groups], file.trees.sizes)
        return ((starts + leaves) - starts) * weights
