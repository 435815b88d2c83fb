"""The tree operators in their graph, and what is made of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Cut, Scoring
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx.columns import INTEGERS, Table
from fatt.importers.onnx.forest import LEAF, Forest
from fatt.importers.onnx.labels import (
    Labelled,
    Scored,
    above,
    add_up,
    read_classifier,
)
from fatt.importers.onnx.proto import BOOL, DOUBLE, FLOAT, Attributes, Call, Handler
from fatt.importers.onnx.trees import read_ensemble, read_nodes

_AVERAGE, _SUM = 0, 1
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Answer:
    """The label of a tree ensemble and the table that its trees read.

    Attributes
    ----------
    labelled
        The ensemble and its label rule.
    table
        The columns.
    operator
        Name of the tree operator.
    """

    labelled: Labelled
    table: Table
    operator: str


@dataclass(frozen=True)
class Label:
    """A tensor of labels."""

    answer: Answer


@dataclass(frozen=True)
class Scores:
    """A tensor of scores, one row per person; `stacked` if that is its second axis."""

    scored: Scored
    table: Table
    operator: str
    stacked: bool = False


@dataclass(frozen=True)
class Stack:
    """Scores of several ensembles along a first axis."""

    parts: tuple[Scores, ...]


@dataclass(frozen=True)
class Flags:
    """Whether a score reaches a number; `answer` holds 0 and 1 as its classes."""

    answer: Answer


Outcome = Label | Scores | Stack | Flags
OUTCOMES = (Label, Scores, Stack, Flags)


def cast(value: Outcome, after: int, where: str) -> Outcome:
    """Follow a cast of labels, flags or scores."""
    if isinstance(value, Flags) and after in INTEGERS:
        return Label(value.answer)
    if isinstance(value, Label) and after in INTEGERS:
        if not any(isinstance(c, str) for c in value.answer.labelled.classes):
            return value
    elif isinstance(value, Scores):
        if after == (DOUBLE if value.scored.scoring.dtype == "float64" else FLOAT):
            return value
    elif isinstance(value, Flags) and after == BOOL:
        return value
    raise UnsupportedModelError(f"{where}: it casts scores or labels to type {after}.")


def reshape(value: Outcome, shape: list[int], where: str) -> Outcome:
    """Follow a change of shape that keeps one label, or one row of scores, per row."""
    if isinstance(value, Label | Flags) and shape in ([-1], [-1, 1], [0]):
        return value
    if isinstance(value, Scores):
        width = value.scored.n_outputs
        if shape == [1, -1, width]:
            return replace(value, stacked=True)
        if shape == [-1, width]:
            return replace(value, stacked=False)
    raise UnsupportedModelError(
        f"{where}: it changes scores or labels into the shape {shape}."
    )


def stack(values: Sequence[Any], axis: int, where: str) -> Outcome:
    """Follow a concatenation of the scores of several ensembles along a new axis."""
    parts = [v for v in values if isinstance(v, Scores) and v.stacked]
    widths = {part.scored.n_outputs for part in parts}
    if axis != 0 or len(parts) != len(values) or len(widths) != 1:
        raise UnsupportedModelError(
            f"{where}: it puts scores together in a way that cannot be followed."
        )
    return Stack(tuple(parts))


def compare(values: Sequence[Any], name: str, where: str) -> Outcome:
    """Follow the comparison of a single score with a constant."""
    score, limit = values[0], values[1]
    fits = isinstance(score, Scores) and isinstance(limit, np.ndarray)
    if not fits or limit.size != 1 or score.scored.n_outputs != 1:
        raise UnsupportedModelError(
            f"{where}: only a single score can be compared, with one constant."
        )
    number = float(limit.ravel()[0])
    if limit.dtype != np.dtype(score.scored.scoring.dtype) or not np.isfinite(number):
        raise MalformedModelError(f"{where}: the constant has another type or value.")
    strict = name in ("Greater", "LessOrEqual")
    decision = above(number, score.scored) if strict else Cut(at=number)
    classes = (0, 1) if name.startswith("Greater") else (1, 0)
    labelled = Labelled(score.scored, decision, classes)
    return Flags(Answer(labelled, score.table, score.operator))


def winner(value: Outcome, axis: int, last: bool, where: str) -> Outcome:
    """Follow the position of the largest score."""
    if not isinstance(value, Scores) or value.stacked or axis not in (1, -1):
        raise UnsupportedModelError(f"{where}: it does not choose among scores.")
    classes = tuple(range(value.scored.n_outputs))
    decision = Argmax(ties="last" if last else "first")
    return Label(
        Answer(Labelled(value.scored, decision, classes), value.table, value.operator)
    )


def name_classes(value: Outcome, labels: NDArray[Any], where: str) -> Outcome:
    """Follow the choice of a label by the position of its class."""
    if not isinstance(value, Label) or labels.size != max(labels.shape, default=0):
        raise UnsupportedModelError(f"{where}: it does not choose among labels.")
    positions = value.answer.labelled.classes
    names = labels.ravel().tolist()
    chosen = [p for p in positions if isinstance(p, int) and 0 <= p < len(names)]
    if len(chosen) != len(positions):
        raise MalformedModelError(
            f"{where}: {len(names)} labels for the classes {list(positions)}."
        )
    return _renamed(value, tuple(names[p] for p in chosen), where)


def rename(
    value: Outcome, keys: list[Any], values: list[Any], default: Any, where: str
) -> Outcome:
    """Follow a table from labels to labels."""
    if not isinstance(value, Label):
        raise UnsupportedModelError(f"{where}: it looks up scores.")
    table = dict(zip(keys, values, strict=True))
    classes = value.answer.labelled.classes
    return _renamed(value, tuple(table.get(c, default) for c in classes), where)


def _renamed(value: Label, classes: tuple[Any, ...], where: str) -> Label:
    if any(isinstance(label, float) for label in classes):
        raise UnsupportedModelError(f"{where}: it makes floats of labels.")
    labelled = replace(value.answer.labelled, classes=classes, notes=())
    return Label(replace(value.answer, labelled=labelled))


def _mean(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axes", "keepdims", "noop_with_empty_axes")
    axes = call.attributes.integers("axes")
    if len(call.inputs) > 1 and isinstance(call.inputs[1], np.ndarray):
        axes = call.inputs[1].ravel()
    stacked = call.inputs[0]
    if (
        not isinstance(stacked, Stack)
        or axes.tolist() != [0]
        or call.attributes.integer("keepdims", 1)
    ):
        raise UnsupportedModelError(
            f"{call.where}: only the mean of the scores of several ensembles can be "
            "represented."
        )
    return (_merged(stacked.parts),)


def _merged(parts: tuple[Scores, ...]) -> Scores:
    """Return the mean of the scores of several forests as that of one forest."""
    tables: list[Table] = []
    forests, values = [], []
    for part in parts:
        if part.table not in tables:
            tables.append(part.table)
        before = tables[: tables.index(part.table)]
        shift = sum(len(table.columns) for table in before)
        forests.append(
            replace(part.scored.forest, feature=part.scored.forest.feature + shift)
        )
        values.append(part.scored.values)
    columns = tuple(column for table in tables for column in table.columns)
    first = parts[0]
    scoring = Scoring(
        dtype=first.scored.scoring.dtype,
        base=first.scored.scoring.base,
        base_last=True,
        divisor=float(len(parts)),
    )
    joined = _join(forests)
    targets = np.full(joined.n_trees, -1)
    scored = Scored(joined, np.concatenate(values), targets, scoring)
    return Scores(scored, replace(first.table, columns=columns), first.operator)


def _join(forests: list[Forest]) -> Forest:
    """Put the trees of several forests one after the other."""
    sizes = [len(forest.mode) for forest in forests]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
    trees = np.concatenate([[0], np.cumsum([f.n_trees for f in forests])[:-1]])
    pairs = list(zip(forests, starts, strict=True))
    return replace(
        forests[0],
        roots=np.concatenate([f.roots + s for f, s in pairs]),
        mode=np.concatenate([f.mode for f in forests]),
        feature=np.concatenate([f.feature for f in forests]),
        value=np.concatenate([f.value for f in forests]),
        true=np.concatenate([f.true + s for f, s in pairs]),
        false=np.concatenate([f.false + s for f, s in pairs]),
        tracks=np.concatenate([f.tracks for f in forests]),
        members={node + s: m for f, s in pairs for node, m in f.members.items()},
        weights=(
            np.concatenate([f.weights[0] + s for f, s in pairs]),
            np.concatenate([f.weights[1] for f in forests]),
            np.concatenate([f.weights[2] for f in forests]),
        ),
        tree=np.concatenate(
            [
                np.where(f.tree < 0, -1, f.tree + t)
                for f, t in zip(forests, trees.tolist(), strict=True)
            ]
        ),
    )


def _reads(call: Call) -> tuple[Table, bool]:
    """Return the table that a tree operator reads, and whether it holds float64."""
    table = call.inputs[0]
    if not isinstance(table, Table) or table.kind not in {FLOAT, DOUBLE, *INTEGERS}:
        raise UnsupportedModelError(
            f"{call.where}: it does not read a table of numbers."
        )
    if table.rank != 2:
        raise UnsupportedModelError(f"{call.where}: its input is not a plain table.")
    return table, table.kind == DOUBLE


def _fitting(forest: Forest, table: Table) -> Forest:
    inner = forest.mode != LEAF
    used = forest.feature[inner]
    if used.size and (used.min() < 0 or used.max() >= len(table.columns)):
        raise MalformedModelError(
            f"{forest.where}: a node reads a column beyond the {len(table.columns)} "
            "that there are."
        )
    return forest


def _classifier(call: Call) -> tuple[Any, ...]:
    table, double = _reads(call)
    classifier = read_classifier(call.attributes, double=double)
    _fitting(classifier.forest, table)
    operator = "TreeEnsembleClassifier"
    label = probabilities = None
    if call.wanted[0]:
        label = Label(Answer(classifier.label(), table, operator))
    if len(call.wanted) > 1 and call.wanted[1]:
        probabilities = Scores(classifier.probabilities(), table, operator)
    return label, probabilities


def _regressor(call: Call) -> tuple[Any, ...]:
    table, double = _reads(call)
    get: Attributes = call.attributes
    if double:
        raise UnsupportedModelError(
            f"{call.where}: it adds in float64 and rounds to float32 at the end, which "
            "cannot be represented. Use float inputs."
        )
    name = get.string("aggregate_function", "SUM")
    if name not in _AGGREGATES:
        raise MalformedModelError(f"{call.where}: aggregate_function {name!r}.")
    forest = read_nodes(get, "target", get.integer("n_targets", 0), double=False)
    if len(forest.base) not in (0, forest.n_targets):
        raise MalformedModelError(
            f"{call.where}: {len(forest.base)} base values for {forest.n_targets} "
            "targets."
        )
    _refuse_transform(forest, get.string("post_transform", "NONE"))
    scored = _aggregated(_fitting(forest, table), _AGGREGATES.index(name))
    return (Scores(scored, table, "TreeEnsembleRegressor"),)


def _ensemble(call: Call) -> tuple[Any, ...]:
    table, double = _reads(call)
    if table.kind in INTEGERS:
        raise UnsupportedModelError(f"{call.where}: it does not take integers.")
    get: Attributes = call.attributes
    forest = read_ensemble(get, double=double)
    transform = get.integer("post_transform", 0)
    names = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    if not 0 <= transform < len(names):
        raise MalformedModelError(f"{call.where}: post_transform is {transform}.")
    _refuse_transform(forest, names[transform])
    scored = _aggregated(
        _fitting(forest, table), get.integer("aggregate_function", _SUM)
    )
    return (Scores(scored, table, "TreeEnsemble"),)


def _refuse_transform(forest: Forest, name: str) -> None:
    """Refuse functions of the scores, but not those that onnxruntime leaves out."""
    if name == "NONE" or (forest.n_targets == 1 and name != "PROBIT"):
        return
    raise UnsupportedModelError(
        f"{forest.where}: a label is made of scores behind post_transform {name}, "
        "whose rounding cannot be represented. Export it with post_transform NONE: the "
        "largest score stays the largest."
    )


def _aggregated(forest: Forest, how: int) -> Scored:
    if not 0 <= how < len(_AGGREGATES):
        raise MalformedModelError(f"{forest.where}: aggregate_function is {how}.")
    base = forest.base if forest.base.size else np.zeros(forest.n_targets)
    if how == _AVERAGE and base.any():
        raise UnsupportedModelError(
            f"{forest.where}: an average with base values cannot be represented."
        )
    if how not in (_AVERAGE, _SUM):
        raise UnsupportedModelError(
            f"{forest.where}: the aggregate function {_AGGREGATES[how]} is not a sum."
        )
    return add_up(forest, base, average=how == _AVERAGE)


HANDLERS: dict[tuple[str, str], Handler] = {
    ("", "ReduceMean"): _mean,
    ("ai.onnx.ml", "TreeEnsemble"): _ensemble,
    ("ai.onnx.ml", "TreeEnsembleClassifier"): _classifier,
    ("ai.onnx.ml", "TreeEnsembleRegressor"): _regressor,
}
