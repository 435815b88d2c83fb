"""How onnxruntime gets from the scores of a ``TreeEnsembleClassifier`` to a label.

The operator's definition leaves much open; what follows is what onnxruntime does, found
by measurement. A leaf need not have a weight for every class, and a class for which a
row met no weight takes no part in the contest: where that depends on the row and could
change the label, the model is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fatt.ensemble import Argmax, Cut, Decision, Label, Scoring
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx.attributes import read_nodes
from fatt.importers.onnx.forest import Floats, Forest, Integers
from fatt.importers.onnx.proto import Attributes
from fatt.importers.onnx.splits import dense_table, leaf_table

#: Up to this many trees every way of sharing them among threads adds them in order.
_ORDERED_TREES = 3
#: Names of the functions that make other numbers of scores, in order of their codes.
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


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
    """Scores and the rule that makes a label of them."""

    scored: Scored
    decision: Decision
    classes: tuple[Label, ...]
    notes: tuple[str, ...] = ()


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
                f"{forest.where}: a label is made of its probabilities, and these are "
                "not the plain sum of leaves that can be represented. Use the label "
                "of the operator itself."
            )
        base = (0.0,) * forest.n_targets
        scoring = Scoring(dtype="float32", base=base, base_last=True)
        return Scored(forest, table, np.full(1, -1), scoring)


def read_classifier(attributes: Attributes, *, double: bool) -> Classifier:
    """Read a ``TreeEnsembleClassifier``."""
    strings = attributes.strings("classlabels_strings")
    integers = attributes.integers("classlabels_int64s").tolist()
    if strings and integers:
        raise MalformedModelError(
            f"{attributes.where}: the classes have both strings and numbers as labels."
        )
    labels = tuple(strings or integers)
    if len(labels) < 2:
        raise UnsupportedModelError(
            f"{attributes.where}: there are {len(labels)} classes, and a classifier "
            "needs two."
        )
    transform = attributes.string("post_transform", "NONE")
    if transform not in TRANSFORMS:
        raise MalformedModelError(
            f"{attributes.where}: the post_transform {transform!r} is unknown."
        )
    forest = read_nodes(attributes, "class", len(labels), double=double)
    lengths = (0, 1, 2) if len(labels) == 2 else (0, len(labels))
    if len(forest.base) not in lengths:
        raise MalformedModelError(
            f"{attributes.where}: there are {len(forest.base)} base values for "
            f"{len(labels)} classes."
        )
    if not len(forest.weights[0]):
        raise MalformedModelError(f"{attributes.where}: no leaf has a weight.")
    return Classifier(forest, labels, transform)


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


def above(limit: float, scored: Scored) -> Cut:
    """Return the decision for the second class iff the score exceeds the limit."""
    dtype = np.dtype(scored.scoring.dtype).type
    return Cut(at=float(np.nextafter(dtype(limit), dtype(np.inf))))


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
    return Labelled(scored, above(0.5 if positive else 0.0, scored), classes, notes)


def _many(classifier: Classifier) -> Labelled:
    """More than two classes: the largest score wins, the first of equals."""
    forest, labels = classifier.forest, classifier.labels
    if forest.base.size:
        return Labelled(add_up(forest, forest.base), Argmax(), labels)
    present = np.unique(forest.weights[1])
    if len(forest.always_weighted()) < len(present):
        # Zero for a class without weights loses against any positive score.
        if not (forest.weights[2] > 0).all() or not forest.never_bare():
            raise _unclear(classifier)
        return Labelled(add_up(forest, np.zeros(len(labels))), Argmax(), labels)
    # A class without any weight never wins: leave it out.
    node, target, weight = forest.weights
    weights = node, np.searchsorted(present, target), weight
    forest = replace(forest, weights=weights, n_targets=len(present))
    classes = tuple(labels[index] for index in present.tolist())
    return Labelled(add_up(forest, np.zeros(len(present))), Argmax(), classes)


def _unclear(classifier: Classifier) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{classifier.forest.where}: some leaves have no weight for some classes, and "
        "onnxruntime leaves a class without weights out of the contest, so that the "
        "rule for the label depends on the row. Give every leaf a weight, if only 0, "
        "for every class."
    )
