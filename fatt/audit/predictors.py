"""The model itself, asked for labels: what its own library answers for a table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble
from fatt.importers.lightgbm.text import parse, rewritten
from fatt.importers.registry import HEAD, format_of

Matrix = NDArray[np.float64]

#: Takes a table, and gives a label per row.
Predict: TypeAlias = Callable[[Any], Any]


class NotAtHand(Exception):  # noqa: N818
    """Says why a model itself cannot be asked."""


@dataclass(frozen=True)
class Predictor:
    """A model itself, which answers for rows.

    Attributes
    ----------
    predict
        Gives a label per row of a table.
    is_given
        Whether it is the very object that the user passed. Then what it refuses, its
        library refuses; a model that was read from a file may only want another form.
    """

    predict: Predict
    is_given: bool


_ONNX_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}
#: Of what a library raises, so many characters are told.
_LONGEST = 200
#: Why nothing can be asked of an `Ensemble`, nor of a file that holds one.
_EXACT_FORM = "what was passed is its exact form, not the model itself"
_ONNX_LABELS = {"tensor(int32)", "tensor(int64)", "tensor(string)"}


def predictor_of(model: Any, ensemble: Ensemble) -> Predictor:
    """Return how to ask a model for its labels.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    ensemble
        What it made of the model.

    Raises
    ------
    NotAtHand
        For an `Ensemble`, for files that hold no model of their own (or whose objects
        are not to be trusted), and if the model's library is not installed or does not
        take the model, for instance because the file is too old for it.
    """
    if isinstance(model, Ensemble):
        raise NotAtHand(_EXACT_FORM)
    is_file = isinstance(model, str | os.PathLike)
    try:
        of = _of_file(Path(model), ensemble) if is_file else _of_object(model, ensemble)
    except NotAtHand:
        raise
    except ImportError as error:
        raise NotAtHand(f"{error.name or error} is not installed") from error
    except Exception as error:  # libraries raise what they like
        raise NotAtHand(f"its library does not take it ({in_short(error)})") from error
    return Predictor(of, is_given=not is_file)


def in_short(error: Exception) -> str:
    """Return what a library raised, in a line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:_LONGEST]}".rstrip(": .")


def _of_file(path: Path, ensemble: Ensemble) -> Predict:
    data = path.read_bytes()
    match format_of(path.name, data[:HEAD]).module:
        case "xgboost":
            import xgboost

            saved, installed = ensemble.source.version, str(xgboost.__version__)
            if _release(saved) != _release(installed):
                # Some files of other versions make it kill the process.
                raise NotAtHand(
                    f"XGBoost {saved or 'of another version'} saved it, and "
                    f"{installed} is installed"
                )
            classifier = xgboost.XGBClassifier(enable_categorical=True)
            classifier.load_model(bytearray(data))
            return cast(Predict, classifier.predict)
        case "lightgbm":
            import lightgbm

            # Some files, or lines in them, make it end the process.
            text = rewritten(parse(data))
            return _of_lightgbm(lightgbm.Booster(model_str=text))
        case "onnx":
            return _of_onnx(data, ensemble)
        case "skops":
            raise NotAtHand("a skops file is read, and none of its objects is run")
    raise NotAtHand(_EXACT_FORM)


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _of_object(model: Any, ensemble: Ensemble) -> Predict:
    package = type(model).__module__.partition(".")[0]
    match package, type(model).__name__:
        case "xgboost", "Booster":
            return _of_xgboost(model, ensemble.source.objective)
        case "lightgbm", "Booster":
            return _of_lightgbm(model)
        case "onnx", _:
            return _of_onnx(model.SerializeToString(), ensemble)
        case "fatt", "FATT":
            # Its own predict takes datasets of AIF360; the classifier in it takes rows.
            model = model.model_
    return cast(Predict, model.predict)


def _of_xgboost(booster: Any, objective: str) -> Predict:
    import xgboost

    def predict(table: Any) -> Any:
        names: dict[str, Any] = {}
        if isinstance(table, np.ndarray):
            names = {
                "feature_names": booster.feature_names,
                "feature_types": booster.feature_types,
            }
        matrix = xgboost.DMatrix(table, enable_categorical=True, **names)
        answers = booster.predict(matrix)
        if objective == "multi:softprob":
            return np.argmax(answers, axis=1)
        if objective in {"binary:logistic", "binary:logitraw"}:
            return (answers > np.float32(0.5)).astype(np.int64)
        return answers.astype(np.int64)

    return predict


def _of_lightgbm(booster: Any) -> Predict:
    def predict(table: Any) -> Any:
        answers = booster.predict(table)
        if answers.ndim == 1:
            answers = np.column_stack([1.0 - answers, answers])
        return np.argmax(answers, axis=1)

    return predict


def _of_onnx(data: bytes, ensemble: Ensemble) -> Predict:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        data, options, providers=["CPUExecutionProvider"]
    )
    outputs = [o.name for o in session.get_outputs() if o.type in _ONNX_LABELS]
    if len(outputs) != 1:
        raise NotAtHand(f"it has {len(outputs)} outputs of labels")

    def predict(table: Any) -> Any:
        matrix = ensemble.read(table)
        feed, start = {}, 0
        for item in session.get_inputs():
            stop = start + item.shape[1]
            cells = matrix[:, start:stop]
            if item.type in _ONNX_TYPES:
                with np.errstate(over="ignore"):
                    feed[item.name] = cells.astype(_ONNX_TYPES[item.type])
            else:
                feed[item.name] = _texts(ensemble, start, cells)
            start = stop
        return np.ravel(session.run(outputs, feed)[0])

    return predict


def _texts(ensemble: Ensemble, start: int, codes: Matrix) -> NDArray[Any]:
    """Return the labels of columns of codes."""
    texts = np.empty(codes.shape, dtype=object)
    for place, column in enumerate(codes.T):
        feature = ensemble.features[start + place]
        assert isinstance(feature, Categorical)
        unknown = "?" + "".join(map(str, feature.categories))
        known = [*map(str, feature.categories), unknown]
        texts[:, place] = [known[int(code)] for code in column]
    return texts
