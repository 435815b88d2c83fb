"""Importers: files and fitted models of any library become a `Model`."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fatt.ensemble import Ensemble, Label
from fatt.errors import (
    Arg,
    MalformedModelError,
    ModelError,
    SpecError,
    UntrustedModelError,
)
from fatt.importers.files.foreign import folder, refuse_foreign
from fatt.importers.naming import Answers, Codes, Rename, with_names
from fatt.importers.registry import HEAD, format_of, library_of
from fatt.model import Model

__all__ = ["load"]


def load(
    model: Any,
    *,
    missing: float | None = None,
    allow_pickle: bool = False,
    columns: Sequence[str] | None = None,
    rename: Rename | None = None,
    codes: Codes | None = None,
    answers: Answers | None = None,
    iteration: Literal["best", "all"] | int | None = None,
    prepare: Any = None,
    threshold: float | None = None,
    strict: bool = False,
    cut_on: Literal["probability", "score"] = "probability",
    pos_label: Label | None = None,
    cuts: Mapping[str, float] | None = None,
) -> Model:
    """Import a tree model exactly.

    Parameters
    ----------
    model
        Path of a model file, or a fitted object: a scikit-learn tree, forest, boosted
        model or pipeline, an XGBoost, LightGBM or CatBoost model, an ONNX model, or
        an `Ensemble`. A `Model` is returned as it is.
    missing
        The number that an XGBoost model takes for missing, besides NaN. Its files do
        not keep it; `XGBClassifier` objects do, and need no argument.
    allow_pickle
        Whether a pickle or joblib file may be loaded. Loading one runs whatever code
        its author put inside: say yes only for files that you made yourself.
    columns
        Names of the columns of a model that has none, in its order. (``Column_0`` and
        ``f0`` are no names.) Tables are then read by name.
    rename
        What the model calls some columns of the table, such as ``{"Age (years)":
        "age"}``. Similarities and reports use the model's names.
    codes
        The words for the codes of some columns, such as ``{"race": {1: "White", 4:
        "Black"}}``. Tables may hold either, reports show the words.
    answers
        The words for some answers, such as ``{0: "denied", 1: "granted"}``.
    iteration
        Which iterations of an XGBoost model count: up to the ``"best"`` one of early
        stopping, ``"all"``, or a number: so many, from the first on. By default those
        that its own `predict` takes: a `Booster` all, `XGBClassifier` up to the best,
        and so do files.
    prepare
        What stands before the model, so that people and similarities are in raw
        columns: a fitted transformer of scikit-learn, ``{column: {text: code}}`` (or a
        fitted ``LabelEncoder`` for a column, or its ``{"classes": [...]}``), the path
        of a pickle or JSON file with one of these, or a list of them in the order in
        which they work. A transformer
        that knows its columns by name may change some of the model's and leave the
        others alone. What it makes is handed to the model dense.
    threshold
        The cut-off by which the model decides, in place of its own label: class
        `pos_label` where ``predict_proba(X)`` of it ``>= threshold``, as NumPy 2
        compares them, to the last bit.
    strict
        Whether the probability must be larger than `threshold`.
    cut_on
        ``"probability"``, or ``"score"`` for the raw score; see `Model.raw_scores`.
    pos_label
        The class that is cut off, by default the second of two. Of several classes,
        the others are then one: ``"not ..."``.
    cuts
        The bands by which the model decides, in place of its own label: names in order,
        each with its lower end, such as ``{"approve": 0.0, "review": 0.14, "decline":
        0.365}``. Cut is the probability of `pos_label`, or its score, or the number
        that a regressor predicts (where the first band begins at ``-inf``).

    Returns
    -------
    Model
        Predicts what the library predicts, bit for bit.

    Raises
    ------
    ModelError
        If the file cannot be read at all; the others are kinds of it.
    UnsupportedModelError
        If the model computes something that cannot be represented exactly.
    UntrustedModelError
        If the file is a pickle and `allow_pickle` is false.
    MalformedModelError
        If the file is damaged.
    MissingDependencyError
        If the format needs a package that is not installed.
    SpecError
        If `missing` is given for a model that takes no such number, a name for what
        has one or does not exist, or a cut-off that the model cannot decide by.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import fatt
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> model = fatt.load(forest)
    >>> bool((model.raw_scores(X) == forest.predict_proba(X)).all())
    True
    """
    loaded = with_names(
        _loaded(model, missing, allow_pickle, iteration), columns=columns
    )
    if prepare is not None:
        # By its name: it knows scikit-learn, which whoever checks proofs need not have.
        preparation = importlib.import_module("fatt.importers.columns.preparation")
        loaded = preparation.with_preparation(
            loaded, prepare, allow_pickle=allow_pickle
        )
        if columns is not None and not loaded.ensemble.inputs.named:
            # What stands before the model knows no names either.
            loaded = with_names(loaded, columns=columns)
    named = with_names(loaded, rename=rename, codes=codes, answers=answers)
    if cuts is not None:
        if threshold is not None:
            raise SpecError(
                f"threshold is {threshold!r}, and cuts are {cuts!r}: a model decides "
                "by the one or the other."
            )
        return named.deciding_by(
            cuts, strict=strict, cut_on=cut_on, pos_label=pos_label
        )
    if threshold is not None:
        return named.deciding(
            threshold=threshold, strict=strict, cut_on=cut_on, pos_label=pos_label
        )
    if strict or cut_on != "probability" or pos_label is not None:
        raise SpecError(
            f"strict, cut_on and {Arg('pos_label')} tell about a cut-off, and there is "
            f"none; add {Arg('threshold')}, such as {Arg('threshold', 0.12)}, or "
            f"{Arg('cuts')}."
        )
    return named


def _loaded(
    model: Any, missing: float | None, allow_pickle: bool, iteration: Any
) -> Model:
    is_count = isinstance(iteration, int) and not isinstance(iteration, bool)
    if iteration not in (None, "best", "all") and not (is_count and iteration > 0):
        raise SpecError(
            f"iteration is {iteration!r}; write 'best', 'all', or how many iterations "
            "count, such as 59."
        )
    # What only one library takes is handed to that one alone.
    more = {} if iteration is None else {"iteration": iteration}
    if isinstance(model, Model | Ensemble):
        _refuse_iteration(iteration, "an exact form that was loaded before")
        return model if isinstance(model, Model) else Model(model)
    if not isinstance(model, str | os.PathLike):
        if type(model).__module__.partition(".")[0] != "xgboost":
            _refuse_iteration(iteration, f"a {type(model).__name__}")
        return library_of(model).convert(model, missing=missing, **more)
    path = Path(model)
    data = _bytes_of(path)
    try:
        refuse_foreign(path.name, data[:HEAD])
        kind = format_of(path.name, data[:HEAD])
    except ModelError as error:
        raise type(error)(f"{path}: {error}") from error
    if kind.runs_code and not allow_pickle:
        raise UntrustedModelError(
            f"{path} is a pickle, plain or compressed, and loading one runs whatever "
            "code its author put inside. Ask for a .skops, .json, .txt, .cbm or .onnx "
            "file; or, if you made this file yourself, pass "
            f"{Arg('allow_pickle', True)} instead."
        )
    if kind.module != "xgboost":
        _refuse_iteration(iteration, f"the file {path}")
    try:
        read = kind.library().read(data, missing=missing, **more)
    except ModelError as error:
        raise type(error)(f"{path}: {error}") from error
    return replace(read, file_digest=hashlib.sha256(data).hexdigest())


def _bytes_of(path: Path) -> bytes:
    """Return what a model file holds."""
    if path.is_dir():
        raise folder(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise ModelError(f"cannot read the model file {path}: {reason}.") from error
    if not data:
        raise MalformedModelError(f"the model file {path} is empty.")
    return data


def _refuse_iteration(iteration: Any, what: str) -> None:
    if iteration is not None:
        raise SpecError(
            f"{Arg('iteration', iteration)} was given for {what}; only XGBoost's own "
            "files and models take it. Leave the argument out."
        )
