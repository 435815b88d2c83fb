"""LightGBM's boosters, classifiers and text files.

Both ways lead through the text format, which holds every number of a model exactly; a
fitted object only adds what no file keeps, such as the class labels.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import (
    Argmax,
    Ensemble,
    Inputs,
    Label,
    Prediction,
    Scoring,
    Source,
)
from fatt.errors import UnsupportedModelError
from fatt.importers.lightgbm import live
from fatt.importers.lightgbm.answers import (
    PREDICTIONS,
    RANKS,
    REFUSED,
    decision,
    objective_of,
)
from fatt.importers.lightgbm.normal_form import (
    UNMATCHED,
    ZERO,
    lay_out,
    read_columns,
    read_forest,
    read_names,
)
from fatt.importers.lightgbm.text import Text, parse
from fatt.importers.registry import plain_label, refuse_missing, refuse_replaced
from fatt.importers.versions import note_newer
from fatt.model import Model

# Arrays of integers become float32.
_INTEGER_LIMIT = 2**24

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
    ensemble = _ensemble(text, None, source, is_file=True)
    return Model(ensemble, partial(live.open_file, data, **_asked(ensemble)))


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted `Booster`, `LGBMClassifier` or `LGBMRegressor`."""
    refuse_missing(missing, "a LightGBM model")
    refuse_replaced(model)
    import lightgbm

    kind, classes = type(model), None
    notes = note_newer("LightGBM", lightgbm.__version__)
    if kind is lightgbm.Booster:
        text = _text_of(model)
        notes += _label_notes(text)
    elif kind in {lightgbm.LGBMClassifier, lightgbm.LGBMRegressor}:
        text = _text_of(_inside(model))
        is_regressor = kind is lightgbm.LGBMRegressor
        _check_objective(model, text, is_regressor)
        classes = () if is_regressor else _classes(model)
    else:
        why = "it may predict something else than LightGBM's own classes"
        raise UnsupportedModelError(
            f"cannot import a lightgbm {kind.__qualname__}: "
            f"{RANKS if kind is lightgbm.LGBMRanker else why}. Pass a Booster, "
            "LGBMClassifier or LGBMRegressor."
        )
    source = Source(
        library="lightgbm",
        version=lightgbm.__version__,
        format="fitted object",
        model=kind.__name__,
        notes=notes,
    )
    ensemble = _ensemble(text, classes, source, is_file=False)
    if classes is not None:
        _check_answers(model, ensemble)
    opened = partial(live.LightGBM, model, **_asked(ensemble))
    return Model(ensemble, opened, given=model)


def _asked(ensemble: Ensemble) -> dict[str, bool]:
    """Tell how the model is asked: whether for numbers, and about codes.

    People are given by codes where nobody knows which columns labels belong to.
    """
    predicts = isinstance(ensemble.decision, Prediction)
    return {"predicts": predicts, "coded": UNMATCHED in ensemble.source.notes}


def _label_notes(text: Text) -> tuple[str, ...]:
    """Return what to say about the labels of a booster, if there are any."""
    return () if objective_of(text)[0] in PREDICTIONS else (_LABEL_NOTE,)


def _check_objective(model: Any, text: Text, is_regressor: bool) -> None:
    name = objective_of(text)[0]
    if name not in REFUSED and (name in PREDICTIONS) != is_regressor:
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


def _text_of(booster: Any) -> Text:
    """Take apart what a booster writes: the iterations that its `predict` uses."""
    refuse_replaced(booster)
    text = parse(booster.model_to_string().encode())
    scale = objective_of(text)[1].get("sigmoid")
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
    known = np.asarray(model.classes_)
    classes = tuple(plain_label(label, "the list of classes") for label in known)
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
    text: Text, classes: tuple[Label, ...] | None, source: Source, *, is_file: bool
) -> Ensemble:
    n_outputs = text.count("num_tree_per_iteration")
    name, decides, link = decision(text, n_outputs)
    n_classes = n_outputs if isinstance(decides, Argmax) else 2
    if isinstance(decides, Prediction):
        n_classes = 0
    if classes is not None and len(classes) != n_classes:
        raise UnsupportedModelError(
            f"the LGBMClassifier has {len(classes)} classes, and its objective {name} "
            f"tells {n_classes} apart; train it with an objective that fits."
        )
    names = read_names(text)
    forest = read_forest(text, len(names))
    columns = read_columns(text, names, forest)
    notes = source.notes + columns.notes
    if is_file and columns.named:
        notes += (_BY_NAME,)
    return Ensemble(
        features=columns.features,
        classes=tuple(range(n_classes)) if classes is None else classes,
        trees=lay_out(forest, columns.features, n_outputs),
        scoring=Scoring(dtype="float64", base=(0.0,) * n_outputs),
        decision=decides,
        link=link,
        # Arrays of objects become float32, and frames take no objects.
        inputs=Inputs(
            named=columns.named,
            integer_limit=_INTEGER_LIMIT,
            objects=False,
            in_arrow=False,
            # A fitted model goes by the order of columns.
            by_position="none" if is_file else "all",
            undeclared=is_file,
        ),
        source=msgspec.structs.replace(source, objective=name, notes=notes),
    )
