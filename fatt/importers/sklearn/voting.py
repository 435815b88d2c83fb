"""Votes and means of tree models, where they are sums of leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Decision,
    Ensemble,
    Feature,
    Inputs,
    Label,
    Link,
    Prediction,
    Scoring,
    Trees,
)
from fatt.ensemble.features import strictest
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.sklearn import members
from fatt.importers.sklearn.forests import scale_to_one
from fatt.importers.sklearn.members import check_members
from fatt.importers.sklearn.wrappers import around, read, unfrozen
from fatt.importers.unfitted import unfitted
from fatt.model import Model

# From so many numbers on, NumPy adds those of a single row in another order.
_IN_ORDER = 8

# Weighing, and dividing by the trees and the weights, in the library and here: so many
# times a leaf is rounded beyond the additions, of which there is one more per model.
_ROUNDINGS = 5


def inside(model: Any) -> tuple[Any, ...]:
    """Return the models whose answers are put together."""
    check_members(model)
    found = getattr(model, "estimators_", None)
    if not found:
        raise unfitted(model)
    return tuple(unfrozen(inner) for inner in found)


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a VotingClassifier or VotingRegressor.

    Parameters
    ----------
    model
        The fitted object.
    missing
        Handed to the importers of the models inside.

    Raises
    ------
    UnsupportedModelError
        If what it answers is no sum of leaves, with the reason.
    """
    parts = [read(inner, missing).ensemble for inner in inside(model)]
    if type(model).__name__ == "VotingRegressor":
        return around(model, _mean(model, parts))
    if model.voting != "soft":
        raise UnsupportedModelError(
            "the VotingClassifier counts votes, each of which is a step of a sum, and "
            "no leaf says it. Let the models vote softly (voting='soft')."
        )
    return around(model, _soft(model, parts))


def _soft(model: Any, parts: Sequence[Ensemble]) -> Ensemble:
    """Average the probabilities of trees and forests."""
    classes = _classes(model, parts)
    for part in parts:
        if part.link != Link() or not isinstance(part.decision, Argmax):
            raise UnsupportedModelError(
                f"the VotingClassifier averages the probabilities of a "
                f"{part.source.model}, which are a function of a sum, and the average "
                "of such functions is no sum of leaves. Vote with trees and forests, "
                "or train one forest or boosted model."
            )
    return _averaged(model, parts, classes)


def _mean(model: Any, parts: Sequence[Ensemble]) -> Ensemble:
    """Average the predictions of trees, forests and boosted models."""
    for part in parts:
        if not isinstance(part.decision, Prediction) or part.decision.link != Link():
            raise UnsupportedModelError(
                f"the VotingRegressor averages what a {part.source.model} predicts, "
                "which is a function of a sum, and the average of such functions is no "
                "sum of leaves. Train one forest or boosted model."
            )
    return _averaged(model, parts, ())


def _averaged(
    model: Any, parts: Sequence[Ensemble], classes: tuple[Label, ...]
) -> Ensemble:
    weights, total = _weights(model, len(parts))
    decision: Decision = Argmax() if classes else Prediction()
    link = Link() if classes else None
    if all(_is_tree(part) for part in parts):
        # Weights may add up to less than 1, by which nothing is divided.
        scale = scale_to_one(total)
        scoring = Scoring(
            dtype="float64",
            base=(0.0,) * max(1, len(classes)),
            divisor=total * scale,
            ordered=bool(classes) or len(parts) < _IN_ORDER,
        )
        weighed = [
            _with_values(part, part.trees.values * weight * scale)
            for part, weight in zip(parts, weights, strict=True)
        ]
        return _joined(weighed, classes, scoring, decision, link)
    if any(part.scoring.single for part in parts):
        raise UnsupportedModelError(
            f"the {type(model).__name__} averages numbers of float32 and float64, "
            "whose roundings fatt does not follow. Leave XGBoost's models out."
        )
    shares = [
        weight / (part.scoring.divisor * total)
        for part, weight in zip(parts, weights, strict=True)
    ]
    pairs = list(zip(parts, shares, strict=True))
    scoring = Scoring(
        dtype="float64",
        base=tuple(
            sum(part.scoring.base[output] * share for part, share in pairs)
            for output in range(max(1, len(classes)))
        ),
        ordered=False,
        roundings=len(parts) + _ROUNDINGS,
    )
    weighed = [_with_values(part, part.trees.values * share) for part, share in pairs]
    made = _joined(weighed, classes, scoring, decision, link)
    note = (
        f"The {type(model).__name__} averages sums, and rounds each of them: the last "
        "bits of a score are not followed, and whoever is that close to a tie or a "
        "cut is unknown."
    )
    source = msgspec.structs.replace(made.source, notes=(*made.source.notes, note))
    return replace(made, source=source)


def _is_tree(part: Ensemble) -> bool:
    """Tell whether each answer is the value of one leaf, to which nothing is done."""
    scoring = part.scoring
    return (
        len(part.trees) == 1
        and not scoring.single
        and not any(scoring.base)
        and scoring.divisor == 1.0
    )


def _classes(model: Any, parts: Sequence[Ensemble]) -> tuple[Label, ...]:
    """Return the labels; the models inside know them by their places."""
    check_members(model.le_)
    classes = members.classes(model)
    if any(part.classes != tuple(range(len(classes))) for part in parts):
        raise MalformedModelError(
            "the models inside of the VotingClassifier answer other classes than it."
        )
    return classes


def _weights(model: Any, count: int) -> tuple[list[float], float]:
    """Return the weight of each model, and what NumPy divides their sum by."""
    given = model._weights_not_none
    if given is None:
        return [1.0] * count, float(count)
    if len(given) != count or not all(0 <= w < math.inf for w in given):
        raise UnsupportedModelError(
            f"the {type(model).__name__} weighs {count} models by {list(given)}; fatt "
            "follows one weight each that is not negative."
        )
    numbers = np.zeros((count, 1, 1))
    _, total = np.average(numbers, axis=0, weights=given, returned=True)
    return [float(weight) for weight in given], float(np.ravel(total)[0])


def _with_values(part: Ensemble, values: NDArray[np.float64]) -> Ensemble:
    """Return a model whose leaves hold other numbers."""
    return replace(part, trees=replace(part.trees, values=values))


def _joined(
    parts: Sequence[Ensemble],
    classes: tuple[Label, ...],
    scoring: Scoring,
    decision: Decision,
    link: Link | None,
) -> Ensemble:
    """Put the trees of all parts into one ensemble.

    If the leaves hold one number, and there are several outputs, each part has one.
    """
    trees = []
    for place, part in enumerate(parts):
        part.require_no_joints("it is one of several that are averaged or vote")
        is_vector = part.trees.values.shape[1] > 1
        output = -1 if is_vector else place % len(scoring.base)
        targets = np.full_like(part.trees.targets, output)
        trees.append(replace(part.trees, targets=targets))
    sources = [part.source for part in parts]
    notes = dict.fromkeys(note for source in sources for note in source.notes)
    return Ensemble(
        features=_shared_features(parts),
        classes=classes,
        trees=Trees.joined(trees),
        scoring=scoring,
        decision=decision,
        link=link,
        inputs=_shared_inputs([part.inputs for part in parts]),
        source=msgspec.structs.replace(
            sources[0],
            model=", ".join(dict.fromkeys(source.model for source in sources)),
            notes=tuple(notes),
        ),
    )


def _shared_features(parts: Sequence[Ensemble]) -> tuple[Feature, ...]:
    """Return the columns, with what all models take."""
    if len({len(part.features) for part in parts}) > 1:
        raise _other_columns()
    shared = []
    for column in zip(*(part.features for part in parts), strict=True):
        takes: dict[str, Any] = {
            "lower": max(feature.lower for feature in column),
            "upper": min(feature.upper for feature in column),
            "accepts_missing": all(feature.accepts_missing for feature in column),
        }
        if not parts[0].inputs.named:
            # Each library numbers columns without names in a way of its own.
            takes["name"] = column[0].name
        narrowed = [msgspec.structs.replace(feature, **takes) for feature in column]
        if any(one != narrowed[0] for one in narrowed):
            raise _other_columns(narrowed[0].name)
        shared.append(narrowed[0])
    return tuple(shared)


def _shared_inputs(inputs: Sequence[Inputs]) -> Inputs:
    """Return how tables are read, if all models read them alike."""
    takes: dict[str, Any] = {
        "integer_limit": min(one.integer_limit for one in inputs),
        "limits_frames": any(one.limits_frames for one in inputs),
        "float32": all(one.float32 for one in inputs),
        "objects": all(one.objects for one in inputs),
        "in_arrow": all(one.in_arrow for one in inputs),
        "undeclared": all(one.undeclared for one in inputs),
        # What one of them refuses, the whole does.
        "by_position": strictest(one.by_position for one in inputs),
    }
    narrowed = [msgspec.structs.replace(one, **takes) for one in inputs]
    if any(one != narrowed[0] for one in narrowed):
        raise _other_columns()
    return narrowed[0]


def _other_columns(name: str = "") -> UnsupportedModelError:
    what = f"the column {name!r}" if name else "their columns"
    return UnsupportedModelError(
        f"the models inside read {what} in different ways, so that they cannot be "
        "joined. Put what prepares the columns in one pipeline around them all."
    )
