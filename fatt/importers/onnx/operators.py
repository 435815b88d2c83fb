"""The three tree operators, from their tables to their labels and scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx.attributes import read_ensemble, read_nodes
from fatt.importers.onnx.columns import INTEGERS, Table
from fatt.importers.onnx.forest import LEAF, Forest
from fatt.importers.onnx.labels import TRANSFORMS, Scored, add_up, read_classifier
from fatt.importers.onnx.outcome import Answer, Labels, Scores
from fatt.importers.onnx.proto import DOUBLE, FLOAT, Call, Handler

_AVERAGE, _SUM = 0, 1
_NODES = (
    *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes"),
    *("nodes_values", "nodes_truenodeids", "nodes_falsenodeids", "nodes_hitrates"),
    *("nodes_missing_value_tracks_true", "base_values", "post_transform"),
    *("nodes_values_as_tensor", "nodes_hitrates_as_tensor", "base_values_as_tensor"),
)
_CLASSES = (
    *("class_treeids", "class_nodeids", "class_ids", "class_weights"),
    *("class_weights_as_tensor", "classlabels_strings", "classlabels_int64s"),
)
_TARGETS = (
    *("target_treeids", "target_nodeids", "target_ids", "target_weights"),
    *("target_weights_as_tensor", "n_targets", "aggregate_function"),
)
_LEAVES = (
    *("nodes_featureids", "nodes_modes", "nodes_splits", "nodes_hitrates"),
    *("nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs"),
    *("nodes_falseleafs", "nodes_missing_value_tracks_true", "membership_values"),
    *("leaf_targetids", "leaf_weights", "tree_roots", "n_targets"),
    *("aggregate_function", "post_transform"),
)
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


def _reads(call: Call) -> tuple[Table, bool]:
    """Return the table that a tree operator reads, and whether it holds float64."""
    table = call.input(0)
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
    call.attributes.only(*_NODES, *_CLASSES)
    table, double = _reads(call)
    classifier = read_classifier(call.attributes, double=double)
    _fitting(classifier.forest, table)
    operator = "TreeEnsembleClassifier"
    label = probabilities = None
    if call.wanted[0]:
        label = Labels(Answer(classifier.label(), table, operator))
    if len(call.wanted) > 1 and call.wanted[1]:
        probabilities = Scores(classifier.probabilities(), table, operator)
    return label, probabilities


def _regressor(call: Call) -> tuple[Any, ...]:
    call.attributes.only(*_NODES, *_TARGETS)
    table, double = _reads(call)
    get = call.attributes
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
    call.attributes.only(*_LEAVES)
    table, double = _reads(call)
    if table.kind in INTEGERS:
        raise UnsupportedModelError(f"{call.where}: it does not take integers.")
    get = call.attributes
    forest = read_ensemble(get, double=double)
    transform = get.integer("post_transform", 0)
    if not 0 <= transform < len(TRANSFORMS):
        raise MalformedModelError(f"{call.where}: post_transform is {transform}.")
    _refuse_transform(forest, TRANSFORMS[transform])
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
    ("ai.onnx.ml", "TreeEnsemble"): _ensemble,
    ("ai.onnx.ml", "TreeEnsembleClassifier"): _classifier,
    ("ai.onnx.ml", "TreeEnsembleRegressor"): _regressor,
}
