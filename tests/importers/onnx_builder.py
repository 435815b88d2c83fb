"""A small builder of ONNX graphs around tree operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")


@dataclass
class Leaf:
    """A leaf with its weights, as (target, number) pairs."""

    weights: list[tuple[int, float]]


@dataclass
class Split:
    """A comparison of one column, and where it leads."""

    mode: str
    feature: int
    value: float | list[float]
    true: Split | Leaf
    false: Split | Leaf
    tracks: int = 0


Node = Split | Leaf


def _elem(double: bool) -> int:
    return TensorProto.DOUBLE if double else TensorProto.FLOAT


def _dtype(double: bool) -> Any:
    return np.float64 if double else np.float32


def node_attributes(trees: list[Node], prefix: str) -> dict[str, list[Any]]:
    """Lay trees out as the operators before version 5 store them."""
    names = "treeids nodeids featureids modes values truenodeids falsenodeids"
    nodes: dict[str, list[Any]] = {f"nodes_{name}": [] for name in names.split()}
    nodes["nodes_missing_value_tracks_true"] = []
    weights: dict[str, list[Any]] = {
        f"{prefix}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")
    }

    def add(tree: int, node: Node) -> int:
        ids, modes = nodes["nodes_nodeids"], nodes["nodes_modes"]
        own = nodes["nodes_treeids"].count(tree)
        place = len(ids)
        for column in nodes.values():
            column.append(0)
        nodes["nodes_treeids"][place], ids[place] = tree, own
        nodes["nodes_values"][place] = 0.0
        if isinstance(node, Leaf):
            modes[place] = "LEAF"
            for target, number in node.weights:
                weights[f"{prefix}_treeids"].append(tree)
                weights[f"{prefix}_nodeids"].append(own)
                weights[f"{prefix}_ids"].append(target)
                weights[f"{prefix}_weights"].append(float(number))
            return own
        modes[place] = f"BRANCH_{node.mode}"
        nodes["nodes_featureids"][place] = node.feature
        nodes["nodes_values"][place] = node.value
        nodes["nodes_missing_value_tracks_true"][place] = node.tracks
        nodes["nodes_truenodeids"][place] = add(tree, node.true)
        nodes["nodes_falsenodeids"][place] = add(tree, node.false)
        return own

    for index, tree in enumerate(trees):
        add(index, tree)
    return {**nodes, **weights}


def classifier(
    trees: list[Node],
    labels: list[Any],
    *,
    base: list[float] | None = None,
    transform: str = "NONE",
    double: bool = False,
    n_features: int = 2,
    **changes: Any,
) -> ModelProto:
    """Build a graph of one TreeEnsembleClassifier; `changes` replace attributes."""
    attributes: dict[str, Any] = node_attributes(trees, "class")
    if base is not None:
        attributes["base_values"] = [float(number) for number in base]
    if double:
        for name in ("nodes_values", "class_weights", "base_values"):
            if name in attributes:
                array = np.array(attributes.pop(name), dtype=np.float64)
                attributes[f"{name}_as_tensor"] = numpy_helper.from_array(array)
    is_text = isinstance(labels[0], str)
    attributes["classlabels_strings" if is_text else "classlabels_int64s"] = labels
    attributes["post_transform"] = transform
    attributes.update(changes)
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        **{name: value for name, value in attributes.items() if value is not None},
    )
    kind = TensorProto.STRING if is_text else TensorProto.INT64
    return graph(
        [node],
        [("X", _elem(double), [None, n_features])],
        [("label", kind), ("scores", TensorProto.FLOAT)],
    )


def ensemble(
    trees: list[Split],
    count: int,
    *,
    double: bool = False,
    average: bool = False,
    transform: int = 0,
    cut: float = 0.0,
    **changes: Any,
) -> ModelProto:
    """Build a TreeEnsemble of version 5, with ArgMax or a cut behind it.

    Every leaf must have one weight.
    """
    names = "featureids modes splits truenodeids falsenodeids trueleafs falseleafs"
    nodes: dict[str, list[Any]] = {f"nodes_{name}": [] for name in names.split()}
    nodes["nodes_missing_value_tracks_true"] = []
    leaves: list[tuple[int, float]] = []

    def add(split: Split) -> int:
        place = len(nodes["nodes_modes"])
        for column in nodes.values():
            column.append(0)
        nodes["nodes_featureids"][place] = split.feature
        nodes["nodes_modes"][place] = MODES.index(split.mode)
        nodes["nodes_missing_value_tracks_true"][place] = split.tracks
        nodes["nodes_splits"][place] = split.value
        for side, child in (("true", split.true), ("false", split.false)):
            if isinstance(child, Leaf):
                nodes[f"nodes_{side}leafs"][place] = 1
                nodes[f"nodes_{side}nodeids"][place] = len(leaves)
                leaves.append(child.weights[0])
            else:
                nodes[f"nodes_{side}nodeids"][place] = add(child)
        return place

    roots = [add(tree) for tree in trees]
    dtype = _dtype(double)
    attributes: dict[str, Any] = dict(nodes)
    attributes["nodes_modes"] = _tensor(nodes["nodes_modes"], np.uint8)
    attributes["nodes_splits"] = _tensor(nodes["nodes_splits"], dtype)
    attributes["leaf_targetids"] = [target for target, _ in leaves]
    attributes["leaf_weights"] = _tensor([number for _, number in leaves], dtype)
    attributes["tree_roots"] = roots
    attributes.update(
        n_targets=count,
        aggregate_function=0 if average else 1,
        post_transform=transform,
    )
    attributes.update(changes)
    given = {name: value for name, value in attributes.items() if value is not None}
    trees_node = helper.make_node(
        "TreeEnsemble", ["X"], ["scores"], domain="ai.onnx.ml", **given
    )
    return graph(
        [trees_node, *label_rule(count)],
        [("X", _elem(double), [None, 2])],
        [("label", TensorProto.INT64), ("scores", _elem(double))],
        {"cut": np.array([cut], dtype=dtype)},
        version=5,
    )


def label_rule(n_targets: int) -> list[Any]:
    """Return the nodes that make the label of the scores."""
    if n_targets > 1:
        return [helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0)]
    return [
        helper.make_node("Greater", ["scores", "cut"], ["above"]),
        helper.make_node("Cast", ["above"], ["label"], to=TensorProto.INT64),
    ]


def regressor(
    trees: list[Node], n_targets: int, *, cut: float = 0.0, **changes: Any
) -> ModelProto:
    """Build a TreeEnsembleRegressor, with ArgMax or a cut behind it."""
    attributes = {**node_attributes(trees, "target"), "n_targets": n_targets, **changes}
    node = helper.make_node(
        "TreeEnsembleRegressor", ["X"], ["scores"], domain="ai.onnx.ml", **attributes
    )
    return graph(
        [node, *label_rule(n_targets)],
        [("X", TensorProto.FLOAT, [None, 2])],
        [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)],
        {"cut": np.array([cut], dtype=np.float32)},
    )


def graph(
    nodes: list[Any],
    inputs: list[tuple[str, int, list[int | None]]],
    outputs: list[tuple[str, int]],
    constants: dict[str, NDArray[Any]] | None = None,
    *,
    version: int = 3,
) -> ModelProto:
    """Build a model of nodes."""
    made = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(a, name) for name, a in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def _tensor(values: list[Any], dtype: Any) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype=dtype))
