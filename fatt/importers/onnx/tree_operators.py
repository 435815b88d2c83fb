"""The three tree operators: their attributes as one forest, their labels and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx.answers import (
    Answer,
    Classifier,
    Labels,
    Scored,
    Scores,
    add_up,
)
from fatt.importers.onnx.forest import (
    EQ,
    GT,
    GTE,
    LEAF,
    LEQ,
    LT,
    MEMBER,
    NEQ,
    Floats,
    Forest,
    Integers,
    checked,
    in_range,
)
from fatt.importers.onnx.proto import DOUBLE, FLOAT, Attributes, Call, Handler
from fatt.importers.onnx.tensors import INTEGERS, Table

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
    *("nodes_falseleafs", "nodes_missing_value_tracks_true"),
    *("leaf_targetids", "leaf_weights", "tree_roots", "n_targets"),
    *("aggregate_function", "post_transform"),
)
#: Names of the functions that make other numbers of scores, in order of their codes.
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")

_MODES = {
    "BRANCH_LEQ": LEQ,
    "BRANCH_LT": LT,
    "BRANCH_GTE": GTE,
    "BRANCH_GT": GT,
    "BRANCH_EQ": EQ,
    "BRANCH_NEQ": NEQ,
    "LEAF": LEAF,
}
_ID_LIMIT = 2**31


def _reads(call: Call) -> tuple[Table, bool]:
    """Return the table that a tree operator reads, and whether it holds float64."""
    table = call.input(0)
    if not isinstance(table, Table) or table.kind not in {FLOAT, DOUBLE, *INTEGERS}:
        raise UnsupportedModelError("it does not read a table of numbers.")
    if table.rank != 2:
        raise UnsupportedModelError("its input is not a plain table.")
    return table, table.kind == DOUBLE


def _fitting(forest: Forest, table: Table) -> Forest:
    inner = forest.mode != LEAF
    used = forest.feature[inner]
    if used.size and (used.min() < 0 or used.max() >= len(table.columns)):
        raise MalformedModelError(
            f"a node reads a column beyond the {len(table.columns)} that there are."
        )
    return forest


def _classifier(call: Call) -> tuple[Any, ...]:
    call.attributes.only(*_NODES, *_CLASSES)
    table, double = _reads(call)
    classifier = _read_classifier(call.attributes, double=double)
    _fitting(classifier.forest, table)
    operator = "TreeEnsembleClassifier"
    label = probabilities = None
    if call.wanted[0]:
        label = Labels(Answer(classifier.label(), table, operator))
    if len(call.wanted) > 1 and call.wanted[1]:
        probabilities = Scores(classifier.probabilities(), table, operator)
    return label, probabilities


def _read_classifier(attributes: Attributes, *, double: bool) -> Classifier:
    """Read a ``TreeEnsembleClassifier``."""
    strings = attributes.strings("classlabels_strings")
    integers = attributes.integers("classlabels_int64s").tolist()
    if strings and integers:
        raise MalformedModelError(
            "the classes have both strings and numbers as labels."
        )
    labels = tuple(strings or integers)
    if len(labels) < 2:
        raise UnsupportedModelError(
            f"there are {len(labels)} classes, and a classifier needs two."
        )
    transform = attributes.string("post_transform", "NONE")
    if transform not in _TRANSFORMS:
        raise MalformedModelError(f"the post_transform {transform!r} is unknown.")
    forest = _read_nodes(attributes, "class", len(labels), double=double)
    lengths = (0, 1, 2) if len(labels) == 2 else (0, len(labels))
    if len(forest.base) not in lengths:
        raise MalformedModelError(
            f"there are {len(forest.base)} base values for {len(labels)} classes."
        )
    if not len(forest.weights[0]):
        raise MalformedModelError("no leaf has a weight.")
    return Classifier(forest, labels, transform)


def _regressor(call: Call) -> tuple[Any, ...]:
    call.attributes.only(*_NODES, *_TARGETS)
    table, double = _reads(call)
    get = call.attributes
    if double:
        raise UnsupportedModelError(
            "it adds in float64 and rounds to float32 at the end, which "
            "cannot be represented. Use float inputs."
        )
    name = get.string("aggregate_function", "SUM")
    if name not in _AGGREGATES:
        raise MalformedModelError(f"aggregate_function {name!r}.")
    forest = _read_nodes(get, "target", get.integer("n_targets", 0), double=False)
    if len(forest.base) not in (0, forest.n_targets):
        raise MalformedModelError(
            f"{len(forest.base)} base values for {forest.n_targets} targets."
        )
    _refuse_transform(forest, get.string("post_transform", "NONE"))
    scored = _aggregated(_fitting(forest, table), _AGGREGATES.index(name))
    return (Scores(scored, table, "TreeEnsembleRegressor"),)


def _ensemble(call: Call) -> tuple[Any, ...]:
    call.attributes.only(*_LEAVES)
    table, double = _reads(call)
    if table.kind in INTEGERS:
        raise UnsupportedModelError("it does not take integers.")
    get = call.attributes
    forest = _read_ensemble(get, double=double)
    transform = get.integer("post_transform", 0)
    if not 0 <= transform < len(_TRANSFORMS):
        raise MalformedModelError(f"post_transform is {transform}.")
    _refuse_transform(forest, _TRANSFORMS[transform])
    scored = _aggregated(
        _fitting(forest, table), get.integer("aggregate_function", _SUM)
    )
    return (Scores(scored, table, "TreeEnsemble"),)


def _refuse_transform(forest: Forest, name: str) -> None:
    """Refuse functions of the scores, but not those that onnxruntime leaves out."""
    if name == "NONE" or (forest.n_targets == 1 and name != "PROBIT"):
        return
    raise UnsupportedModelError(
        f"a label is made of scores behind post_transform {name}, "
        "whose rounding cannot be represented. Export it with post_transform NONE: the "
        "largest score stays the largest."
    )


def _aggregated(forest: Forest, how: int) -> Scored:
    if not 0 <= how < len(_AGGREGATES):
        raise MalformedModelError(f"aggregate_function is {how}.")
    base = forest.base if forest.base.size else np.zeros(forest.n_targets)
    if how == _AVERAGE and base.any():
        raise UnsupportedModelError(
            "an average with base values cannot be represented."
        )
    if how not in (_AVERAGE, _SUM):
        raise UnsupportedModelError(
            f"the aggregate function {_AGGREGATES[how]} is not a sum."
        )
    return add_up(forest, base, average=how == _AVERAGE)


def _read_nodes(
    attributes: Attributes, prefix: str, n_targets: int, *, double: bool
) -> Forest:
    """Read a ``TreeEnsembleClassifier`` or ``TreeEnsembleRegressor``.

    Parameters
    ----------
    attributes
        Attributes of the operator.
    prefix
        ``"class"`` or ``"target"``.
    n_targets
        Number of classes or targets.
    double
        Whether the operator's input is float64.
    """
    get = attributes.integers
    trees, nodes = get("nodes_treeids"), get("nodes_nodeids")
    mode = _modes(attributes.strings("nodes_modes"))
    values = _numbers(attributes, "nodes_values", double)
    feature = get("nodes_featureids")
    true, false = get("nodes_truenodeids"), get("nodes_falsenodeids")
    tracks = get("nodes_missing_value_tracks_true")
    if not tracks.size:
        tracks = np.zeros_like(nodes)
    arrays = (trees, nodes, mode, values, feature, true, false, tracks)
    _same_length("nodes_*", *arrays)
    owner = get(f"{prefix}_treeids"), get(f"{prefix}_nodeids")
    targets = get(f"{prefix}_ids")
    weights = _numbers(attributes, f"{prefix}_weights", double)
    _same_length(f"{prefix}_*", targets, *owner, weights)

    find = _finder(trees, nodes)
    inner = mode != LEAF
    starts = np.flatnonzero(np.diff(trees, prepend=-1))
    if len(np.unique(trees)) != len(starts):
        raise MalformedModelError("the nodes of a tree are not together.")
    forest = Forest(
        roots=starts,
        mode=mode,
        feature=feature,
        value=values,
        true=find(trees, np.where(inner, true, nodes)),
        false=find(trees, np.where(inner, false, nodes)),
        tracks=tracks == 1,
        members={},
        weights=(find(*owner), targets, weights),
        n_targets=n_targets,
        base=_numbers(attributes, "base_values", double),
        double=double,
    )
    forest = checked(forest)
    if (forest.tree < 0).any():
        raise MalformedModelError(
            "a tree has several roots, or its root is not its first node."
        )
    return forest


def _read_ensemble(attributes: Attributes, *, double: bool) -> Forest:
    """Read a ``TreeEnsemble``, in which leaves are apart from the other nodes."""
    get = attributes.integers
    mode = _mode_numbers(attributes)
    splits = _tensor(attributes, "nodes_splits", double)
    feature = get("nodes_featureids")
    children = get("nodes_truenodeids"), get("nodes_falsenodeids")
    is_leaf = get("nodes_trueleafs") != 0, get("nodes_falseleafs") != 0
    tracks = get("nodes_missing_value_tracks_true")
    if not tracks.size:
        tracks = np.zeros_like(feature)
    _same_length("nodes_*", feature, mode, splits, *children, *is_leaf, tracks)
    targets = get("leaf_targetids")
    weights = _tensor(attributes, "leaf_weights", double)
    _same_length("leaf_*", targets, weights)
    roots = get("tree_roots")
    in_range(roots, len(mode))
    _refuse_lone_leaves(roots, children, is_leaf)
    for ids, leaf in zip(children, is_leaf, strict=True):
        in_range(ids[leaf], len(weights))
        in_range(ids[~leaf], len(mode))

    # Several nodes may point to the same leaf: each side of each node gets its own.
    own = len(mode) + np.arange(2 * len(mode)).reshape(2, -1)
    node = np.concatenate([own[0][is_leaf[0]], own[1][is_leaf[1]]])
    leaves = np.concatenate([children[0][is_leaf[0]], children[1][is_leaf[1]]])

    def widen(array: NDArray[Any], fill: Any) -> NDArray[Any]:
        return np.concatenate([array, np.full(own.size, fill, dtype=array.dtype)])

    return checked(
        Forest(
            roots=roots,
            mode=widen(mode, LEAF),
            feature=widen(feature, 0),
            value=widen(splits, 0.0),
            true=widen(np.where(is_leaf[0], own[0], children[0]), 0),
            false=widen(np.where(is_leaf[1], own[1], children[1]), 0),
            tracks=widen(tracks == 1, False),
            members={},
            weights=(node, targets[leaves], weights[leaves]),
            n_targets=attributes.integer("n_targets", 0),
            base=np.zeros(0),
            double=double,
        )
    )


def _mode_numbers(attributes: Attributes) -> Integers:
    """Return the modes of a ``TreeEnsemble``, which are numbers."""
    modes = attributes.tensor("nodes_modes")
    if modes is None or modes.dtype != np.uint8:
        raise MalformedModelError("nodes_modes is no tensor of small numbers.")
    mode = modes.ravel().astype(np.int64)
    if mode.size and mode.max() >= MEMBER:
        raise UnsupportedModelError(
            f"a node has the mode {mode.max()}; fatt reads 0 to "
            f"{MEMBER - 1}. Write membership in a set ({MEMBER}) as equalities."
        )
    return mode


def _refuse_lone_leaves(
    roots: Integers,
    children: tuple[Integers, Integers],
    is_leaf: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> None:
    """Refuse trees of one leaf, unless onnxruntime reads the leaf that is meant.

    Such a tree is a node with one leaf on both sides; onnxruntime reads the leaf at
    the position of the node.
    """
    alone = (children[0] == children[1]) & is_leaf[0] & is_leaf[1]
    if (alone[roots] & (children[0][roots] != roots)).any():
        raise UnsupportedModelError(
            "a tree is a single leaf, for which onnxruntime reads the number "
            "of another leaf. Give the tree a split, or add its number elsewhere."
        )


def _modes(names: list[str]) -> Integers:
    unknown = sorted(set(names) - set(_MODES))
    if unknown:
        raise UnsupportedModelError(f"the node mode {unknown[0]!r} is unknown.")
    return np.array([_MODES[name] for name in names], dtype=np.int64)


def _numbers(attributes: Attributes, name: str, double: bool) -> Floats:
    """Return a list of numbers that is given as floats or as a tensor."""
    if f"{name}_as_tensor" not in attributes:
        return attributes.floats(name).astype(np.float64)
    if name in attributes and attributes.floats(name).size:
        raise MalformedModelError(f"{name} is given twice.")
    return _tensor(attributes, f"{name}_as_tensor", double)


def _tensor(attributes: Attributes, name: str, double: bool) -> Floats:
    array = attributes.tensor(name)
    if array is None:
        return np.zeros(0)
    if array.dtype != (np.float64 if double else np.float32):
        raise MalformedModelError(
            f"{name} has the type {array.dtype}, which is not the "
            "type of the operator's input; onnxruntime does not take such a model."
        )
    return array.ravel().astype(np.float64)


def _same_length(what: str, *arrays: NDArray[Any]) -> None:
    lengths = sorted({len(array) for array in arrays})
    if len(lengths) > 1:
        raise MalformedModelError(
            f"the attributes {what} have different lengths: {lengths}."
        )


def _finder(trees: Integers, nodes: Integers) -> Any:
    """Return a function that finds the positions of nodes given by their two ids."""

    def keys(tree: Integers, node: Integers) -> Integers:
        for ids in (tree, node):
            if ids.size and (ids.min() < 0 or ids.max() >= _ID_LIMIT):
                raise MalformedModelError("a tree or node id is out of range.")
        return tree * _ID_LIMIT + node

    if nodes.size and nodes.max() >= len(nodes):
        raise MalformedModelError(
            f"there is a node id {nodes.max()}, but only {len(nodes)} nodes; "
            "onnxruntime does not take such a model."
        )
    known = keys(trees, nodes)
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise MalformedModelError("a tree has two nodes with the same id.")

    def find(tree: Integers, node: Integers) -> Integers:
        wanted = keys(tree, node)
        places = np.searchsorted(ordered, wanted)
        places[places == len(ordered)] = 0
        absent = ordered[places] != wanted if len(ordered) else wanted >= 0
        if absent.any():
            raise MalformedModelError(
                f"tree {tree[absent][0]} has no node {node[absent][0]}, to "
                "which a node or a weight points."
            )
        return np.asarray(order[places], dtype=np.int64)

    return find


HANDLERS: dict[tuple[str, str], Handler] = {
    ("ai.onnx.ml", "TreeEnsemble"): _ensemble,
    ("ai.onnx.ml", "TreeEnsembleClassifier"): _classifier,
    ("ai.onnx.ml", "TreeEnsembleRegressor"): _regressor,
}
