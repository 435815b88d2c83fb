"""CatBoost: ``.cbm`` files without the catboost package, fitted objects, JSON files.

A fitted object is read from the ``.cbm`` file that it writes, which holds all that its
`predict` needs; a JSON file from the one that CatBoost writes once it has loaded it.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import msgspec
import numpy as np

from fatt.ensemble import (
    Argmax,
    Categorical,
    Cut,
    Decision,
    Ensemble,
    Inputs,
    Label,
    Link,
    Prediction,
    Scoring,
    Source,
    Trees,
)
from fatt.ensemble.cutoff import above
from fatt.ensemble.table_exp import LEAST
from fatt.errors import UnsupportedModelError
from fatt.importers.catboost import live
from fatt.importers.catboost.file import MAGIC, Floats, ModelFile, parse
from fatt.importers.catboost.flatbuffers import fail
from fatt.importers.catboost.normal_form import lay_out, make_columns
from fatt.importers.registry import refuse_missing, refuse_replaced
from fatt.importers.versions import check_file, is_installed, note_newer
from fatt.model import Model

_BINARY = ("Logloss", "CrossEntropy", "Focal")
_MULTI = ("MultiClass", "MultiClassOneVsAll")
_SEVERAL = ("MultiLogloss", "MultiCrossEntropy")
#: Losses of which a number is predicted: the score itself.
_PREDICTIONS = (
    "RMSE",
    "MAE",
    "Quantile",
    "LogLinQuantile",
    "Expectile",
    "Huber",
    "LogCosh",
    "Lq",
    "MAPE",
    "RMSPE",
    "Poisson",
    "Tweedie",
)
#: Losses whose score is the logarithm of what is expected.
_LOGARITHMS = ("Poisson", "Tweedie")
#: Losses whose probabilities are the logistic function of each score.
_SIGMOID = ("Logloss", "CrossEntropy", "MultiClassOneVsAll")
_LINK = Link(function="sigmoid")
#: Elsewhere CatBoost may take its exponentials from another library.
_IS_KNOWN_HERE = platform.machine() in {"x86_64", "AMD64"}
#: What is made of the score of a regressor, by what CatBoost calls the number.
_NUMBERS: dict[live.Number, Literal["identity", "table exp"]] = {
    "RawFormulaVal": "identity",
    "Exponent": "table exp",
}
_LABEL_TYPES: dict[str, type[Label]] = {
    "Integer": int,
    "Float": float,
    "String": str,
    "Boolean": bool,
}

_CLASS_MEMBERS = {"class_names", "class_to_label", "class_label_type", "classes_count"}

_JSON_NOTE = (
    "The model is what CatBoost itself reads from the JSON file: numbers can be some "
    "units in the last place off those of the model that wrote it, and statistics of "
    "means or of several borders of the target are not written as they are. A .cbm "
    "file has all exactly."
)
_LOGARITHM_NOTE = (
    "The number is the score, the logarithm of what is expected, as CatBoost.predict "
    "answers it; CatBoostRegressor answers its exponential."
)
_EXPONENTIAL_NOTE = (
    "The number is what is expected, as CatBoostRegressor.predict answers it; "
    "CatBoost.predict answers its logarithm, the score: load the file into a CatBoost, "
    "and pass that, to ask about it."
)
_TEXT_NOTE = (
    "The model stores fingerprints of its categories, not their texts. Where nothing "
    "tells the text, one with the same fingerprint is made up, ending in -unnamed."
)


def read(data: bytes, *, missing: float | None) -> Model:
    """Read a ``.cbm`` file, or a JSON file, for which CatBoost is needed."""
    refuse_missing(missing, "a CatBoost file")
    is_json = not data.startswith(MAGIC)
    texts: tuple[str, ...] = ()
    if is_json:
        texts = _texts(data)
        data = live.from_json(data)
    file = parse(data)
    file = replace(file, texts=(*file.texts, *texts))
    notes = check_file(
        "CatBoost",
        file.version,
        at_hand=lambda: is_installed("catboost", file.version),
        way_out=f"Install catboost {file.version}, or train with a tested version.",
    )
    source = Source(
        library="catboost",
        version=file.version,
        format="JSON file" if is_json else "cbm file",
        notes=(*notes, _JSON_NOTE) if is_json else notes,
    )
    # As a CatBoostRegressor into which it is loaded.
    is_exponential = file.loss in _LOGARITHMS and _IS_KNOWN_HERE
    asked: live.Number = "Exponent" if is_exponential else "RawFormulaVal"
    ensemble = _ensemble(file, source, Link(function=_NUMBERS[asked]))
    kind = asked if isinstance(ensemble.decision, Prediction) else None
    return Model(ensemble, partial(live.open_file, data, kind))


def _texts(data: bytes) -> tuple[str, ...]:
    """Return the texts of categories that a JSON file has beside their fingerprints."""
    try:
        told = json.loads(data)["features_info"].get("cat_features_hash") or ()
        return tuple(str(one["value"]) for one in told)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise fail(
            f"it starts neither as a .cbm file does, nor is it such JSON ({error})"
        ) from None


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted `CatBoostClassifier`, `CatBoostRegressor` or `CatBoost`."""
    refuse_missing(missing, "a CatBoost model")
    refuse_replaced(model)
    import catboost

    from fatt.importers.unfitted import unfitted

    name = type(model).__name__
    known = {
        catboost.CatBoost,
        catboost.CatBoostClassifier,
        catboost.CatBoostRegressor,
    }
    if type(model) not in known:
        raise UnsupportedModelError(
            f"cannot import a catboost {type(model).__qualname__}: it ranks, or may "
            "answer something else than CatBoost's own classes. Pass a "
            "CatBoostClassifier, CatBoostRegressor or CatBoost."
        )
    if not model.is_fitted():
        raise unfitted(model)
    notes = note_newer("CatBoost", catboost.__version__)
    file = parse(live.written(model))
    if type(model) is catboost.CatBoost and file.loss not in _PREDICTIONS:
        notes += (
            "CatBoost.predict answers raw scores; the label here is what it answers "
            "with prediction_type='Class'.",
        )
    source = Source(
        library="catboost",
        version=catboost.__version__,
        format="fitted object",
        model=name,
        notes=notes,
    )
    asked = _asked(model, file)
    ensemble = _ensemble(file, source, Link(function=_NUMBERS[asked]))
    if file.categories:
        # It finds columns by name, and takes some for categories by their places.
        inputs = msgspec.structs.replace(ensemble.inputs, by_position="all")
        ensemble = replace(ensemble, inputs=inputs)
    predicts = isinstance(ensemble.decision, Prediction)
    opened = partial(live.CatBoost, model, asked if predicts else None)
    return Model(ensemble, opened, given=model)


def on_sparse_rows(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return what reads the dense copy as a model reads sparse rows: just the same."""
    return ensemble


def _asked(model: Any, file: ModelFile) -> live.Number:
    """Return the kind of number that `predict` of a fitted model answers."""
    import catboost

    if type(model) is not catboost.CatBoostRegressor or file.loss not in _PREDICTIONS:
        return "RawFormulaVal"
    told = model._get_default_prediction_type()
    is_known = told in _NUMBERS and _IS_KNOWN_HERE
    if not (is_known or told == "RawFormulaVal"):
        raise UnsupportedModelError(
            f"the CatBoostRegressor was trained with {file.loss} and predicts "
            f"{str(told)[:40]!r}, which fatt does not know on {platform.machine()}. "
            "Pass a CatBoost with the same trees, which predicts the score."
        )
    number: live.Number = told
    return number


def _ensemble(file: ModelFile, source: Source, link: Link) -> Ensemble:
    values, bias = _outputs(file)
    classes, decision = _decision(file)
    if isinstance(decision, Prediction):
        decision = Prediction(link=link)
    features, splits = make_columns(file)
    trees = lay_out(file, splits, features, values)
    if link.function == "table exp" and _least_score(trees, bias) < LEAST:
        raise UnsupportedModelError(
            f"the CatBoost model predicts exponentials of scores that may be below "
            f"{LEAST:.0f}, of which CatBoost makes 0 or a tiny number, as the row "
            "happens to stand among others. Pass a CatBoost with the same trees, which "
            "predicts the score."
        )
    # Columns without names are called by their numbers.
    named = any(f.name != str(place) for place, f in enumerate(features))
    has_categories = any(isinstance(feature, Categorical) for feature in features)
    return Ensemble(
        features=features,
        classes=classes,
        trees=trees,
        scoring=Scoring(dtype="float64", base=bias, base_last=any(bias)),
        decision=decision,
        inputs=Inputs(named=named),
        link=_LINK if file.loss in _SIGMOID else None,
        source=msgspec.structs.replace(
            source,
            objective=file.loss,
            notes=source.notes
            + (_TEXT_NOTE,) * has_categories
            + _note_on_number(file, link),
        ),
    )


def _least_score(trees: Trees, bias: Sequence[float]) -> float:
    """Return a number that no score is below, but for roundings."""
    nodes, values = trees.nodes, trees.values[:, 0]
    if not len(trees):
        return bias[0]
    made = np.where(nodes["feature"] < 0, values[nodes["leaf"]], math.inf)
    return bias[0] + float(np.minimum.reduceat(made, trees.roots).sum())


def _note_on_number(file: ModelFile, link: Link) -> tuple[str, ...]:
    if file.loss not in _LOGARITHMS:
        return ()
    return (_LOGARITHM_NOTE if link == Link() else _EXPONENTIAL_NOTE,)


def _outputs(file: ModelFile) -> tuple[Floats, tuple[float, ...]]:
    """Return the values of the leaves and the bias, of the classes that there are."""
    if len(file.bias) != file.values.shape[1]:
        raise fail("it has another number of biases than of outputs")
    scale = file.scale
    if not math.isfinite(scale) or not all(map(math.isfinite, file.bias)):
        raise fail("its scale or bias is no number")
    fraction, _ = math.frexp(scale)
    if abs(fraction) != 0.5:
        raise UnsupportedModelError(
            f"the CatBoost model multiplies its sum by the scale {scale}, and rounds "
            "once more than fatt follows; only powers of two change no digit. Set it "
            "to 1 with set_scale_and_bias."
        )
    values = file.values * scale
    if np.any((values == 0) != (file.values == 0)) or np.any(
        values / scale != file.values
    ):
        raise UnsupportedModelError(
            f"the CatBoost model multiplies its sum by the scale {scale}, which makes "
            "numbers too small or too large. Set it to 1 with set_scale_and_bias."
        )
    return values, file.bias


def _decision(file: ModelFile) -> tuple[tuple[Label, ...], Decision]:
    """Return the classes, and how CatBoost chooses among them."""
    loss, n_outputs = file.loss, file.n_outputs
    if loss in _SEVERAL:
        raise UnsupportedModelError(
            f"the CatBoost model was trained with {loss} and gives each row several "
            "labels at once; verify a model for each label by itself."
        )
    if loss in _PREDICTIONS and n_outputs == 1:
        return (), Prediction()
    if loss not in _BINARY + _MULTI:
        raise UnsupportedModelError(
            f"the CatBoost model was trained with the loss {loss[:40] or '(unknown)'} "
            f"and has {n_outputs} outputs, of which fatt knows no answer. Losses with "
            f"labels: {', '.join(_BINARY + _MULTI)}; with one number: "
            f"{', '.join(_PREDICTIONS)}."
        )
    if loss in _BINARY and n_outputs != 1:
        raise fail(f"the loss {loss} has {n_outputs} outputs")
    labels = _labels(file)
    if n_outputs == 1:
        return labels, _cut(file)
    return labels, Argmax()


def _cut(file: ModelFile) -> Cut:
    """Return the rule that takes the second class.

    The score must be greater than the one that has the probability of the threshold.
    """
    told = str(file.info.get("binclass_probability_threshold", "0.5"))
    try:
        threshold = float(told)
    except ValueError:
        threshold = math.nan
    if not 0 < threshold < 1:
        raise fail(f"its probability threshold is {told[:40]!r}")
    return above(-math.log(1 / threshold - 1))


def _labels(file: ModelFile) -> tuple[Label, ...]:
    """Return the labels of the classes that the scores stand for."""
    told = file.said("class_params") or file.said("multiclass_params")
    if not told.keys() <= _CLASS_MEMBERS:
        unknown = min(told.keys() - _CLASS_MEMBERS)
        raise UnsupportedModelError(
            f"the CatBoost file says {unknown[:40]!r} about its classes, which fatt "
            "does not know. Save the model with a tested version of catboost."
        )
    count = max(2, file.n_outputs)
    kind = _LABEL_TYPES.get(str(told.get("class_label_type")))
    try:
        names, places = _class_names(file, told, count)
        labels = [_label(names[place], kind) for place in places]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError):
        raise fail("its classes have no labels") from None
    if len(labels) != count or places != sorted(set(places)) or places[0] < 0:
        raise fail(f"it has {count} classes, and their labels are not as many in order")
    return tuple(labels)


def _class_names(
    file: ModelFile, told: dict[str, Any], count: int
) -> tuple[Sequence[Any], list[int]]:
    """Return the names of all classes, and for each score which of them it is of.

    There may be more classes than scores, if nobody in the training data had them.
    """
    places = [int(place) for place in told.get("class_to_label") or range(count)]
    if told.get("class_names"):
        return list(told["class_names"]), places
    if told.get("classes_count"):
        return range(int(told["classes_count"])), places
    if told:
        return places, list(range(len(places)))
    options = file.said("params").get("data_processing_options") or {}
    return list(options.get("class_names") or range(count)), places


def _label(name: Any, kind: type[Label] | None) -> Label:
    if kind is bool and isinstance(name, str):
        return {"True": True, "False": False, "1": True, "0": False}[name]
    label = name if kind is None else kind(name)
    if not isinstance(label, Label):
        raise TypeError
    return label
