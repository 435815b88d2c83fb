"""LightGBM's boosters, classifiers and text files.

Both ways lead through the text format, which holds every number of a model exactly; a
fitted object only adds what no file keeps, such as the class labels.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import msgspec
import numpy as np

from fatt.ensemble import (
    Argmax,
    Cut,
    Decision,
    Ensemble,
    Inputs,
    Label,
    Link,
    Prediction,
    Scoring,
    Source,
)
from fatt.ensemble.floats import smallest_float
from fatt.errors import UnsupportedModelError
from fatt.importers.lightgbm import live
from fatt.importers.lightgbm.normal_form import (
    UNMATCHED,
    ZERO,
    lay_out,
    read_columns,
    read_forest,
    read_names,
)
from fatt.importers.lightgbm.text import Text, fail, parse
from fatt.importers.registry import refuse_missing, refuse_replaced
from fatt.importers.versions import note_newer
from fatt.model import Model

# Arrays of integers become float32.
_INTEGER_LIMIT = 2**24

_OBJECTIVES = ("binary", "multiclass", "multiclassova", "cross_entropy")
#: What makes a prediction of a score, by the objective.
_PREDICTIONS: dict[str, Literal["identity", "exp"]] = {
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
}
#: What objectives are called since 2.3.
_NEW_NAMES = {"xentropy": "cross_entropy", "xentlambda": "cross_entropy_lambda"}
_RANKS = "it ranks rows, and a rank has no meaning for one person"
_REFUSED = {
    "": "only its author knows what label a score stands for",
    "custom": "only its author knows what label a score stands for",
    "lambdarank": _RANKS,
    "rank_xendcg": _RANKS,
    "cross_entropy_lambda": "it answers an intensity, which LGBMClassifier has no "
    "label for",
}

_UNSET = (None, False, "false")

_LABEL_NOTE = (
    "A Booster answers probabilities, not labels. The label here is the class of "
    "largest probability, as LGBMClassifier answers; classes are numbered from 0."
)
_BY_NAME = (
    "LightGBM takes the columns of a frame by position; fatt finds them by name, and "
    "hands them to LightGBM in the model's order."
)


def read(data: bytes, *, missing: float | None) -> Model:
    """Read a LightGBM text file; the lightgbm package is not needed."""
    refuse_missing(missing, "a LightGBM file")
    text = parse(data)
    source = Source(
        library="lightgbm",
        format=f"text file, format {text.line('version')}",
        model=text.parameter("boosting"),
        notes=_label_notes(text),
    )
    ensemble = _ensemble(text, None, source)
    if ensemble.inputs.named:
        notes = (*ensemble.source.notes, _BY_NAME)
        source = msgspec.structs.replace(ensemble.source, notes=notes)
        ensemble = replace(ensemble, source=source)
    predicts = isinstance(ensemble.decision, Prediction)
    opened = partial(
        live.open_file, data, predicts=predicts, coded=_takes_codes(ensemble)
    )
    return Model(ensemble, opened)


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted `Booster`, `LGBMClassifier` or `LGBMRegressor`."""
    refuse_missing(missing, "a LightGBM model")
    refuse_replaced(model)
    import lightgbm

    source = Source(
        library="lightgbm",
        version=lightgbm.__version__,
        format="fitted object",
        model=type(model).__name__,
        notes=note_newer("LightGBM", lightgbm.__version__),
    )
    if type(model) is lightgbm.Booster:
        text = _text_of(model)
        notes = (*source.notes, *_label_notes(text))
        source = msgspec.structs.replace(source, notes=notes)
        ensemble = _in_order(_ensemble(text, None, source))
        predicts = isinstance(ensemble.decision, Prediction)
        coded = _takes_codes(ensemble)
        opened = partial(live.LightGBM, model, predicts=predicts, coded=coded)
        return Model(ensemble, opened, given=model)
    if type(model) in {lightgbm.LGBMClassifier, lightgbm.LGBMRegressor}:
        text = _text_of(_inside(model))
        is_regressor = type(model) is lightgbm.LGBMRegressor
        _check_objective(model, text, is_regressor)
        classes = () if is_regressor else _classes(model)
        ensemble = _in_order(_ensemble(text, classes, source))
        _check_answers(model, ensemble)
        opened = partial(live.LightGBM, model, coded=_takes_codes(ensemble))
        return Model(ensemble, opened, given=model)
    raise UnsupportedModelError(
        f"cannot import a lightgbm {type(model).__qualname__}: "
        + (
            f"{_RANKS}. "
            if type(model) is lightgbm.LGBMRanker
            else "it may predict something else than LightGBM's own classes. "
        )
        + "Pass a Booster, LGBMClassifier or LGBMRegressor."
    )


def _takes_codes(ensemble: Ensemble) -> bool:
    """Tell whether people are given by codes, whose labels nobody knows."""
    return UNMATCHED in ensemble.source.notes


def _label_notes(text: Text) -> tuple[str, ...]:
    """Return what to say about the labels of a booster, if there are any."""
    return () if _objective(text)[0] in _PREDICTIONS else (_LABEL_NOTE,)


def _check_objective(model: Any, text: Text, is_regressor: bool) -> None:
    name = _objective(text)[0]
    if name not in _REFUSED and (name in _PREDICTIONS) != is_regressor:
        kind = type(model).__name__
        raise UnsupportedModelError(
            f"the {kind} has the objective {name[:40]!r}, which is none of its own. "
            f"Pass its booster_, or train the {kind} with another objective."
        )


def on_sparse_rows(ensemble: Ensemble, model: Any) -> Ensemble:
    """Return what reads the dense copy as a model reads sparse rows.

    Tiny numbers are zeros only to dense rows; thresholds lie at their limits. The
    importer moves a threshold at the lower limit just below it, since the limit
    itself is a zero. In sparse rows it is not, and the threshold stays.
    """
    text = parse(model.booster_.model_to_string().encode())
    forest = read_forest(text, len(ensemble.features))
    thresholds = forest.threshold[forest.subset < 0]
    moved = np.nextafter(-ZERO, -np.inf)
    if np.any((np.abs(thresholds) < ZERO) | (thresholds == moved)):
        raise UnsupportedModelError(
            "the LightGBM model splits tiny numbers and gets a sparse matrix, in which "
            "they are not zero. Fit the pipeline with sparse_output=False in its "
            "encoders."
        )
    nodes = ensemble.trees.nodes.copy()
    nodes["threshold"][nodes["threshold"] == moved] = -ZERO
    return replace(ensemble, trees=replace(ensemble.trees, nodes=nodes))


def _in_order(ensemble: Ensemble) -> Ensemble:
    """Let the ensemble insist on the order and types by which a fitted model goes."""
    inputs = msgspec.structs.replace(
        ensemble.inputs, by_position="all", undeclared=False
    )
    return replace(ensemble, inputs=inputs)


def _text_of(booster: Any) -> Text:
    """Take apart what a booster writes: the iterations that its `predict` uses."""
    refuse_replaced(booster)
    text = parse(booster.model_to_string().encode())
    scale = _objective(text)[1].get("sigmoid")
    in_training = getattr(booster, "train_set", None) is not None
    if (
        in_training
        and scale
        and float(booster.params.get("sigmoid", 1)) != float(scale)
    ):
        raise UnsupportedModelError(
            "the Booster still holds its training data, and then computes with all "
            f"digits of its parameter sigmoid, which it writes as {scale}. Save it "
            "with save_model and load the file, or round the parameter."
        )
    return text


def _inside(model: Any) -> Any:
    """Return the booster of a fitted model."""
    from fatt.importers.unfitted import unfitted

    booster, name = getattr(model, "_Booster", None), type(model).__name__
    if booster is None:
        raise unfitted(model)
    if model.get_params().get("pred_early_stop") not in _UNSET:
        raise UnsupportedModelError(
            f"the {name} leaves out trees when it predicts, because of its "
            "parameter pred_early_stop. Unset it: set_params(pred_early_stop=False)."
        )
    if model.get_params().get("predict_disable_shape_check") not in _UNSET:
        raise UnsupportedModelError(
            f"the {name} takes tables of more columns than it knows, and reads "
            "the first ones, because of its parameter predict_disable_shape_check. "
            "Unset it: set_params(predict_disable_shape_check=False)."
        )
    return booster


def _classes(model: Any) -> tuple[Label, ...]:
    """Return the labels of a fitted classifier."""
    classes = tuple(np.asarray(model.classes_).tolist())
    for label in classes:
        if not isinstance(label, Label):
            raise UnsupportedModelError(
                f"the class label {label!r} is neither text, number nor boolean; train "
                "the LGBMClassifier on labels that are."
            )
    if len(classes) == 1:
        raise UnsupportedModelError(
            f"the LGBMClassifier was trained on the class {classes[0]!r} alone, and "
            "there is nothing to decide."
        )
    return classes


def _check_answers(model: Any, ensemble: Ensemble) -> None:
    """Ask the model about one row.

    All its parameters go into each prediction, so that after `set_params` it may refuse
    every row, or answer scores instead of labels or predictions.
    """
    name = type(model).__name__
    row = np.zeros((1, len(ensemble.features)))
    way_out = "Set its parameters back to those of its fit, or fit it again."
    try:
        with warnings.catch_warnings():
            # On the names of columns, which an array does not have.
            warnings.simplefilter("ignore")
            answer = np.asarray(model.predict(row))
    except Exception as error:  # libraries raise what they like
        raise UnsupportedModelError(
            f"the {name} refuses to predict with the parameters that it has "
            f"now ({' '.join(str(error).split())}). {way_out}"
        ) from error
    if isinstance(ensemble.decision, Prediction):
        what, fits = "other numbers", np.array_equal(answer, ensemble.predict(row))
    else:
        what = "no labels"
        fits = answer.shape == (1,) and answer.tolist()[0] in ensemble.classes
    if not fits:
        raise UnsupportedModelError(
            f"the {name} answers {what} with the parameters that it has now, "
            f"{answer.tolist()}. {way_out}"
        )


def _ensemble(
    text: Text, classes: tuple[Label, ...] | None, source: Source
) -> Ensemble:
    n_outputs = text.count("num_tree_per_iteration")
    name, decision, link = _decision(text, n_outputs)
    n_classes = n_outputs if isinstance(decision, Argmax) else 2
    if isinstance(decision, Prediction):
        n_classes = 0
    if classes is not None and len(classes) != n_classes:
        raise UnsupportedModelError(
            f"the LGBMClassifier has {len(classes)} classes, and its objective {name} "
            f"tells {n_classes} apart; train it with an objective that fits."
        )
    names = read_names(text)
    forest = read_forest(text, len(names))
    columns = read_columns(text, names, forest)
    return Ensemble(
        features=columns.features,
        classes=tuple(range(n_classes)) if classes is None else classes,
        trees=lay_out(forest, columns.features, n_outputs),
        scoring=Scoring(dtype="float64", base=(0.0,) * n_outputs),
        decision=decision,
        link=link,
        # Arrays of objects become float32, and frames take no objects.
        inputs=Inputs(
            named=columns.named,
            integer_limit=_INTEGER_LIMIT,
            objects=False,
            in_arrow=False,
        ),
        source=msgspec.structs.replace(
            source, objective=name, notes=source.notes + columns.notes
        ),
    )


def _objective(text: Text) -> tuple[str, dict[str, str]]:
    """Return the name of the objective and its parameters."""
    name, *settings = text.header.get("objective", "").split(" ")
    pairs = (setting.partition(":") for setting in settings)
    return _NEW_NAMES.get(name, name), {key: value for key, _, value in pairs}


def _decision(text: Text, n_outputs: int) -> tuple[str, Decision, Link | None]:
    """Return the objective, the answer that is made for it, and the probability."""
    name, settings = _objective(text)
    _refuse_objective(name, settings)
    divisor = _divisor(text, n_outputs)
    is_multiclass = name.startswith("multiclass")
    if (n_outputs > 1) != is_multiclass:
        fail(f"the objective {name} cannot have {n_outputs} trees per iteration")
    if text.count("num_class") != n_outputs:
        fail(
            f"num_class is {text.line('num_class')}, and there are {n_outputs} outputs"
        )
    if is_multiclass and settings.get("num_class") != str(n_outputs):
        fail(f"the objective {name} does not say num_class:{n_outputs}")
    if name in _PREDICTIONS:
        made = Link(function=_PREDICTIONS[name], divisor=divisor)
        return name, Prediction(link=made), None
    if name == "multiclass":
        return name, Argmax(link="softmax", divisor=divisor), None
    scale = 1.0 if name == "cross_entropy" else _scale(settings.get("sigmoid", ""))
    link = Link(function="sigmoid", scale=scale, divisor=divisor)
    if is_multiclass:
        return name, Argmax(link="sigmoid", scale=scale, divisor=divisor), link

    def is_second(score: float) -> bool:
        probability = float(link(np.array([score]))[0])
        return probability > 1.0 - probability

    return name, Cut(at=smallest_float(is_second, np.float64)), link


def _refuse_objective(name: str, settings: dict[str, str]) -> None:
    if name not in _OBJECTIVES and name not in _PREDICTIONS:
        reason = _REFUSED.get(name, "fatt does not know what it makes of a score")
        raise UnsupportedModelError(
            f"the LightGBM model has the objective {name[:40] or '(custom)'}, and "
            f"{reason}. Objectives with labels: {', '.join(_OBJECTIVES)}; with "
            f"predictions: {', '.join(_PREDICTIONS)}."
        )
    if "sqrt" in settings:
        raise UnsupportedModelError(
            "the LightGBM model was trained on square roots (reg_sqrt) and squares its "
            "scores, which fatt does not follow. Train it without reg_sqrt."
        )


def _divisor(text: Text, n_outputs: int) -> float:
    """Return by what the scores are divided: the iterations, if they are averaged."""
    if n_outputs == 0 or text.n_trees % n_outputs:
        fail(f"{text.n_trees} trees cannot be {n_outputs} per iteration")
    n_iterations = text.n_trees // n_outputs
    is_average = "average_output" in text.header
    if is_average and n_iterations == 0:
        fail("it averages trees, and has none")
    return float(n_iterations) if is_average else 1.0


def _scale(text: str) -> float:
    """Read the parameter of the sigmoid with the roundings of LightGBM's own reader.

    Unlike the numbers of the trees, it is not always read to the nearest float64.
    """
    found = re.fullmatch(
        r"([0-9]{1,15})(?:\.([0-9]{1,15}))?(?:e([+-][0-9]{2,3}))?", text
    )
    if found is None:
        fail(f"the sigmoid of the objective is {text[:40]!r}")
    whole, fraction, exponent = found.groups()
    scale = float(whole)
    if fraction:
        scale += float(fraction) / 10.0 ** len(fraction)
    size = abs(int(exponent or 0))
    factors = (
        [1e50] * (size // 50) + [1e8] * (size % 50 // 8) + [10.0] * (size % 50 % 8)
    )
    power = math.prod(factors, start=1.0)
    scale = scale / power if (exponent or "").startswith("-") else scale * power
    if not scale > 0:
        fail("the sigmoid of the objective is zero")
    return scale
