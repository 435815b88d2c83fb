"""From the scores of trees to labels, as onnxruntime gets there.

The definition of ``TreeEnsembleClassifier`` leaves much open; what follows is what
onnxruntime does, found by measurement. A leaf need not have a weight for every class,
and a class for which a row met no weight takes no part in the contest: where that
depends on the row and could change the label, the model is refused.

Behind the trees, converters write more operators; `Labels`, `Scores`, `Stack` and
`Flags` are the values that these can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Cut, Decision, Label, Link, Prediction, Scoring
from fatt.ensemble.cutoff import above
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx.forest import (
    Floats,
    Forest,
    Integers,
    dense_table,
    join,
    leaf_table,
)
from fatt.importers.onnx.proto import BOOL, DOUBLE, FLOAT, INT32
from fatt.importers.onnx.tensors import INT32_LIMIT, INTEGERS, Table

#: Up to this many trees every way of sharing them among threads adds them in order.
_ORDERED_TREES = 3


@dataclass(frozen=True)
class Scored:
    """A forest and the matrix of scores that it computes.

    Attributes
    ----------
    forest
        The trees.
    values, targets
        What each node adds if it is a leaf, and to which score; as in `Trees`.
    scoring
        How the leaves are added up.
    """

    forest: Forest
    values: Floats
    targets: Integers
    scoring: Scoring

    @property
    def n_outputs(self) -> int:
        """Number of scores."""
        return len(self.scoring.base)


@dataclass(frozen=True)
class Labelled:
    """Scores and the rules that make a label, and probabilities, of them."""

    scored: Scored
    decision: Decision
    classes: tuple[Label, ...]
    notes: tuple[str, ...] = ()
    link: Link | None = None


@dataclass(frozen=True)
class Classifier:
    """A ``TreeEnsembleClassifier``.

    Attributes
    ----------
    forest
        The trees, with one target per class.
    labels
        The label of each class.
    transform
        Name of the function that makes probabilities of scores.
    """

    forest: Forest
    labels: tuple[Label, ...]
    transform: str

    def label(self) -> Labelled:
        """Return the label output.

        Raises
        ------
        UnsupportedModelError
            If which classes take part in the contest depends on the row.
        """
        if len(self.labels) == 2:
            return _binary(self)
        return _many(self)

    def probabilities(self) -> Scored:
        """Return the output of probabilities, where it is exactly a sum of leaves.

        Raises
        ------
        UnsupportedModelError
            If it is not.
        """
        forest = self.forest
        table = dense_table(forest)
        ids = np.unique(forest.weights[1]).tolist()
        plain = (
            self.transform == "NONE"
            and forest.n_trees == 1
            and not forest.base.size
            and not forest.double
        )
        if plain and ids == [0] and len(self.labels) == 2:
            plain = not (forest.weights[2] < 0).any()
            table[:, 1] = table[:, 0]
            table[:, 0] = np.float32(1.0) - table[:, 1].astype(np.float32)
        elif plain and len(self.labels) == 2:
            plain = 1 in forest.always_weighted()
        if not plain:
            raise UnsupportedModelError(
                "a label is made of its probabilities, and these are "
                "not the plain sum of leaves that can be represented. Use the label "
                "of the operator itself."
            )
        base = (0.0,) * forest.n_targets
        scoring = Scoring(dtype="float32", base=base, base_last=True)
        return Scored(forest, table, np.full(1, -1), scoring)


def add_up(forest: Forest, base: Floats, *, average: bool = False) -> Scored:
    """Return the sums, or the means, of a forest's leaves, with the base added last."""
    values, targets = leaf_table(forest)
    dtype: Literal["float32", "float64"] = "float64" if forest.double else "float32"
    scoring = Scoring(
        dtype=dtype,
        base=tuple(base.tolist()),
        base_last=True,
        divisor=float(forest.n_trees) if average else 1.0,
        ordered=forest.n_trees <= _ORDERED_TREES,
    )
    return Scored(forest, values, targets, scoring)


def _binary(classifier: Classifier) -> Labelled:
    """Two classes: one score is compared with 0 or 0.5."""
    forest, labels = classifier.forest, classifier.labels
    base = forest.base
    one = len(np.unique(forest.weights[1])) == 1
    always = forest.always_weighted()
    second = 1 in always
    first_only = one and forest.weights[1][0] == 0
    if first_only:
        # The base of the first class joins, unless the row meets no weight at all.
        target, start = 0, base[0] if base.size else 0.0
        clear = start == 0 or 0 in always
    elif len(base) == 2:
        # The score of the first class joins the base of the second.
        target, start = 0, base[1]
        clear = not one and second
    else:
        target, start = 1, 0.0
        clear = one or second
    if not clear:
        raise _unclear(classifier)
    scored = add_up(forest.only_target(target), np.array([start]))
    positive = one and not (forest.weights[2] < 0).any()
    notes: tuple[str, ...] = ()
    classes = labels
    if not one and not isinstance(labels[0], str) and labels != (0, 1):
        classes = (0, 1)
        notes = (
            f"onnxruntime answers 0 and 1 for the classes {labels[0]} and {labels[1]}, "
            "because the leaves have weights for both.",
        )
    decision = above(0.5 if positive else 0.0, scored.scoring.dtype)
    return Labelled(scored, decision, classes, notes, _link(classifier))


def _link(classifier: Classifier) -> Link | None:
    """Return how the probability of the second of two classes is made of its score.

    A single score that is never negative is a probability already, whatever function
    is named; other functions than the logistic one are not followed.
    """
    forest, transform = classifier.forest, classifier.transform
    if forest.double or transform not in {"NONE", "LOGISTIC"}:
        return None
    ids = np.unique(forest.weights[1]).tolist()
    two_bases = len(forest.base) == 2
    if two_bases and len(ids) == 1:
        return None
    if ids == [0] and not (forest.weights[2] < 0).any():
        return Link()
    other: Literal["mirrored", "unknown"] = "unknown"
    if ids == [0] or two_bases:
        other = "mirrored"
    if transform == "NONE":
        return Link(other=other)
    return Link(function="two-sided sigmoid", other=other)


def _many(classifier: Classifier) -> Labelled:
    """More than two classes: the largest score wins, the first of equals."""
    forest, labels = classifier.forest, classifier.labels
    link = Link() if classifier.transform == "NONE" else None
    if forest.base.size:
        return Labelled(add_up(forest, forest.base), Argmax(), labels, link=link)
    present = np.unique(forest.weights[1])
    if len(forest.always_weighted()) < len(present):
        # Zero for a class without weights loses against any positive score.
        if not (forest.weights[2] > 0).all() or not forest.never_bare():
            raise _unclear(classifier)
        scored = add_up(forest, np.zeros(len(labels)))
        return Labelled(scored, Argmax(), labels, link=link)
    # A class without any weight never wins: leave it out.
    node, target, weight = forest.weights
    weights = node, np.searchsorted(present, target), weight
    forest = replace(forest, weights=weights, n_targets=len(present))
    classes = tuple(labels[index] for index in present.tolist())
    if len(classes) < len(labels):
        link = None
    scored = add_up(forest, np.zeros(len(present)))
    return Labelled(scored, Argmax(), classes, link=link)


def _unclear(classifier: Classifier) -> UnsupportedModelError:
    return UnsupportedModelError(
        "some leaves have no weight for some classes, and onnxruntime leaves a class "
        "without weights out of the contest, so that the rule for the label depends on "
        "the row. Give every leaf a weight, if only 0, for every class."
    )


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
class Labels:
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


Outcome = Labels | Scores | Stack | Flags


OUTCOMES = (Labels, Scores, Stack, Flags)


def cast(value: Outcome, after: int) -> Outcome:
    """Follow a cast of labels, flags or scores."""
    if isinstance(value, Flags) and after in INTEGERS:
        return Labels(value.answer)
    if isinstance(value, Labels) and after in INTEGERS:
        _refuse_other_labels(value.answer.labelled.classes, after)
        return value
    if isinstance(value, Flags) and after == BOOL:
        return value
    own = {"float32": FLOAT, "float64": DOUBLE}
    if isinstance(value, Scores) and after == own[value.scored.scoring.dtype]:
        return value
    raise UnsupportedModelError(f"it casts scores or labels to type {after}.")


def _refuse_other_labels(classes: tuple[Any, ...], after: int) -> None:
    """Refuse casts after which a label is another one."""
    if any(isinstance(label, str) for label in classes):
        raise UnsupportedModelError("it casts text to integers.")
    lowest = -INT32_LIMIT - 1
    if after == INT32 and not all(lowest <= c <= INT32_LIMIT for c in classes):
        raise UnsupportedModelError(
            "a label is too large for the type int32, and becomes another."
        )


def reshape(value: Outcome, shape: list[int]) -> Outcome:
    """Follow a change of shape that keeps one label, or one row of scores, per row."""
    if isinstance(value, Labels | Flags) and shape in ([-1], [-1, 1], [0]):
        return value
    if isinstance(value, Scores):
        width = value.scored.n_outputs
        if shape == [1, -1, width]:
            return replace(value, stacked=True)
        if shape == [-1, width]:
            return replace(value, stacked=False)
    raise UnsupportedModelError(f"it changes scores or labels into the shape {shape}.")


def stack(values: Sequence[Any], axis: int) -> Outcome:
    """Follow a concatenation of the scores of several ensembles along a new axis."""
    parts = [v for v in values if isinstance(v, Scores) and v.stacked]
    widths = {part.scored.n_outputs for part in parts}
    if axis != 0 or len(parts) != len(values) or len(widths) != 1:
        raise UnsupportedModelError(
            "it puts scores together in a way that cannot be followed."
        )
    if len({id(part.scored.forest) for part in parts}) < len(parts):
        raise UnsupportedModelError("it repeats the scores of an ensemble.")
    return Stack(tuple(parts))


def compare(values: Sequence[Any], name: str) -> Outcome:
    """Follow the comparison of a single score with a constant."""
    score, limit = values[0], values[1]
    fits = isinstance(score, Scores) and isinstance(limit, np.ndarray)
    if not fits or limit.size != 1 or score.scored.n_outputs != 1:
        raise UnsupportedModelError(
            "only a single score can be compared, with one constant."
        )
    number = float(limit.ravel()[0])
    if limit.dtype != np.dtype(score.scored.scoring.dtype) or not np.isfinite(number):
        raise MalformedModelError("the constant has another type or value.")
    strict = name in ("Greater", "LessOrEqual")
    decision = above(number, score.scored.scoring.dtype) if strict else Cut(at=number)
    classes = (0, 1) if name.startswith("Greater") else (1, 0)
    labelled = Labelled(score.scored, decision, classes)
    return Flags(Answer(labelled, score.table, score.operator))


def predict(value: Scores, output: str) -> Answer:
    """Take the only score for what the model predicts."""
    if value.stacked or value.scored.n_outputs != 1:
        raise UnsupportedModelError(
            f"the output {output!r} holds {value.scored.n_outputs} numbers for each "
            "row, and fatt reads models that predict one. Export one model per number."
        )
    labelled = Labelled(value.scored, Prediction(), ())
    return Answer(labelled, value.table, value.operator)


def winner(value: Outcome, axis: int, last: bool) -> Outcome:
    """Follow the position of the largest score."""
    if not isinstance(value, Scores) or value.stacked or axis not in (1, -1):
        raise UnsupportedModelError("it does not choose among scores.")
    classes = tuple(range(value.scored.n_outputs))
    decision = Argmax(ties="last" if last else "first")
    return Labels(
        Answer(Labelled(value.scored, decision, classes), value.table, value.operator)
    )


def name_classes(value: Outcome, labels: NDArray[Any]) -> Outcome:
    """Follow the choice of a label by the position of its class."""
    if not isinstance(value, Labels) or labels.shape[-1:] != (labels.size,):
        raise UnsupportedModelError("it does not choose among labels.")
    positions = value.answer.labelled.classes
    names = labels.ravel().tolist()
    chosen = [p for p in positions if isinstance(p, int) and 0 <= p < len(names)]
    if len(chosen) != len(positions):
        raise MalformedModelError(
            f"{len(names)} labels for the classes {list(positions)}."
        )
    return _renamed(value, tuple(names[p] for p in chosen))


def rename(value: Outcome, keys: list[Any], values: list[Any], default: Any) -> Outcome:
    """Follow a table from labels to labels."""
    if not isinstance(value, Labels):
        raise UnsupportedModelError("it looks up scores.")
    table = dict(zip(keys, values, strict=True))
    classes = value.answer.labelled.classes
    if type(keys[0]) is not type(classes[0]):
        raise MalformedModelError("its keys have another type than labels.")
    return _renamed(value, tuple(table.get(c, default) for c in classes))


def _renamed(value: Labels, classes: tuple[Any, ...]) -> Labels:
    if any(isinstance(label, float) for label in classes):
        raise UnsupportedModelError("it makes floats of labels.")
    if len(set(classes)) < len(classes):
        raise UnsupportedModelError("it gives the same label to several classes.")
    labelled = replace(value.answer.labelled, classes=classes, notes=())
    return Labels(replace(value.answer, labelled=labelled))


def mean(value: Outcome) -> Outcome:
    """Follow the mean of the scores of several ensembles, as that of one forest."""
    if not isinstance(value, Stack):
        raise UnsupportedModelError(
            "only the mean of the scores of several ensembles can be represented."
        )
    parts = value.parts
    widths = {part.scored.values.shape[1] for part in parts}
    if len(widths) > 1 or not all(_is_one_leaf(part.scored) for part in parts):
        raise UnsupportedModelError(
            "only the mean of single trees, without base values, can be represented."
        )
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
    targets = np.concatenate([part.scored.targets for part in parts])
    scored = Scored(join(forests), np.concatenate(values), targets, scoring)
    return Scores(scored, replace(first.table, columns=columns), first.operator)


def _is_one_leaf(scored: Scored) -> bool:
    """Tell whether each score is the weight of one leaf, to which nothing is added."""
    alone = scored.targets.tolist() in ([-1], list(range(scored.n_outputs)))
    return alone and not any(scored.scoring.base) and scored.scoring.divisor == 1.0
