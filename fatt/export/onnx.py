"""Export trees as an ONNX model with the same answers, bit for bit."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature
from fatt.errors import UnsupportedModelError, needs
from fatt.export.averaged import (
    left_codes,
    load_averaged,
    require_plain_numbers,
    spans,
)

#: A column that the trees read: a feature, and its codes that go left, as bytes.
Key: TypeAlias = tuple[int, bytes]

_SUM = 1


def tree_attributes(
    ensemble: Ensemble, span: tuple[int, int], keys: list[Key]
) -> dict[str, Any]:
    """Return the attributes of the operator that computes the shares of one tree.

    A leaf of the operator adds to one class only, so there is a copy of the tree for
    each class.

    Parameters
    ----------
    ensemble
        The ensemble.
    span
        Where the nodes of the tree start and end.
    keys
        The columns of the operator's input. A column that stands for a set of
        categories is 0 inside the set and 1 outside.
    """
    from onnx import numpy_helper

    start, end = span
    nodes, n_classes = ensemble.trees.nodes[start:end], len(ensemble.classes)
    inner = nodes["feature"] >= 0
    leaves = nodes["leaf"][~inner]
    splits = np.flatnonzero(inner)
    sides = nodes["left"][splits] - start, nodes["right"][splits] - start
    columns = [keys.index(_key(ensemble, start + node)) for node in splits.tolist()]
    if not splits.size:
        # A single leaf is written as a split with both sides leading to it.
        splits, columns = np.zeros(1, dtype=np.int64), [0]
        sides = splits, splits
    # The leaves are numbered backwards: older versions of onnxruntime mistake a root
    # for a leaf if its children, a split and a leaf, have the same number.
    place = np.where(inner, np.cumsum(inner) - 1, len(leaves) - np.cumsum(~inner))
    size = np.where(inner, len(splits), len(leaves))
    copy = np.arange(n_classes)[:, np.newaxis]
    is_set = nodes["subset"][splits] >= 0
    threshold = np.where(is_set, 0.5, nodes["threshold"][splits])
    shares = ensemble.trees.values[leaves[::-1]].T.astype(np.float64)

    def repeat(of_splits: Any) -> NDArray[Any]:
        return np.tile(of_splits, n_classes)

    attributes: dict[str, Any] = {
        "n_targets": n_classes,
        "aggregate_function": _SUM,
        "tree_roots": copy.ravel() * len(splits),
        "nodes_featureids": repeat(columns),
        "nodes_missing_value_tracks_true": repeat(nodes["missing_left"][splits]),
        "leaf_targetids": np.repeat(copy, len(leaves)),
    }
    for name, side in zip(("true", "false"), sides, strict=True):
        attributes[f"nodes_{name}nodeids"] = (place[side] + copy * size[side]).ravel()
        attributes[f"nodes_{name}leafs"] = repeat(~inner[side]).astype(np.int64)
    # Comparisons "at most" have the number 0.
    modes = np.zeros(n_classes * len(splits), dtype=np.uint8)
    tensors = {
        "nodes_modes": modes,
        "nodes_splits": repeat(threshold),
        "leaf_weights": shares.ravel(),
    }
    made = {name: numpy_helper.from_array(array) for name, array in tensors.items()}
    lists = {name: np.asarray(value).tolist() for name, value in attributes.items()}
    return {**lists, **made}


def _key(ensemble: Ensemble, node: int) -> Key:
    record = ensemble.trees.nodes[node]
    codes = left_codes(ensemble, node).tobytes() if record["subset"] >= 0 else b""
    return int(record["feature"]), codes


#: The operator TreeEnsemble, which compares and adds in float64, came with version 5.
_OPSETS = {"": 18, "ai.onnx.ml": 5}
_IR_VERSION = 10
#: Whole numbers from here on are not exact in float64.
_EXACT = 2**53


def to_onnx(model: Any) -> Any:
    """Return an ONNX model with the same labels and probabilities.

    Every column is an input with its name, of the shape ``[rows, 1]``: float64 for
    numbers (NaN for missing), strings for categories, int64 for categories that are
    whole numbers. The outputs are ``label`` and ``probabilities``, with an underscore
    appended if a column has that name.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it: a tree, or trees
        that average shares of the classes.

    Returns
    -------
    onnx.ModelProto
        For onnxruntime 1.21 or newer; `fatt.load` reads it too.

    Raises
    ------
    UnsupportedModelError
        If the model is of another kind, or has categories or classes that are neither
        texts nor whole numbers.
    MissingDependencyError
        If onnx is not installed.

    Notes
    -----
    Inputs, comparisons and sums are float64, so onnxruntime answers what
    `Ensemble.predict` answers for every float64. Pass float32 numbers as float64, which
    is exact. Each tree is one operator, because onnxruntime adds the trees of one
    operator in no fixed order.

    onnxruntime accepts what the ensemble refuses, such as an infinite number. Texts and
    whole numbers cannot be missing in ONNX, so a category cannot be missing. Classes
    such as 1.0 or True become the whole numbers that they equal.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fatt.export import to_onnx
    >>> tree = DecisionTreeClassifier().fit([[20.0], [40.0]], ["deny", "approve"])
    >>> [node.op_type for node in to_onnx(tree).graph.node]
    ['Concat', 'TreeEnsemble', 'ArgMax', 'Gather']
    """
    ensemble = load_averaged(model, "an ONNX model")
    require_plain_numbers(ensemble, "an ONNX model")
    kinds = [_kind(feature) for feature in ensemble.features]
    labels = _labels(ensemble)
    try:
        from onnx import checker, helper
    except ImportError:
        raise needs("onnx", "exporting to ONNX", "onnx") from None
    names = [feature.name for feature in ensemble.features]
    graph = _Graph(names)
    columns = _columns(graph, ensemble)
    table = graph.add("Concat", list(columns.values()), axis=1)
    shares = _mean(graph, ensemble, table, list(columns))
    best = graph.add("ArgMax", [shares], axis=1, keepdims=0)
    label = graph.add("Gather", [graph.constant(labels), best], output="label")
    label_kind = "INT64" if labels.dtype == np.int64 else "STRING"
    inputs = [_tensor(*pair, 1) for pair in zip(names, kinds, strict=True)]
    outputs = [_tensor(label, label_kind), _tensor(shares, "DOUBLE", len(labels))]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "fatt", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid(*pair) for pair in _OPSETS.items()],
        ir_version=_IR_VERSION,
        producer_name="fatt",
    )
    checker.check_model(made)
    return made


def _kind(feature: Feature) -> str:
    """Return the ONNX type of a column."""
    if not isinstance(feature, Categorical):
        return "DOUBLE"
    categories = feature.categories
    if feature.coding == "label" and categories:
        if all(type(category) is str for category in categories):
            return "STRING"
        if all(type(c) is int and abs(c) < _EXACT for c in categories):
            return "INT64"
    raise UnsupportedModelError(
        "cannot make an ONNX model of this model: the categories of column "
        f"{feature.name!r} are {list(categories[:5])}. ONNX takes texts or whole "
        "numbers: turn them into texts before training."
    )


def _labels(ensemble: Ensemble) -> NDArray[Any]:
    """Return the classes as texts, or as the whole numbers that they equal."""
    classes = ensemble.classes
    if all(isinstance(label, str) for label in classes):
        return np.array(classes, dtype=object)
    numbers = [label for label in classes if not isinstance(label, str)]
    if len(numbers) == len(classes) and all(
        abs(number) < _EXACT and number == int(number) for number in numbers
    ):
        return np.array([int(number) for number in numbers], dtype=np.int64)
    raise UnsupportedModelError(
        f"cannot make an ONNX model of this model: its classes are {list(classes)}. "
        "ONNX answers texts or whole numbers: train with such classes."
    )


def _tensor(name: str, kind: str, *width: int) -> Any:
    """Describe an input or output with any number of rows."""
    from onnx import TensorProto, helper

    element = getattr(TensorProto, kind)
    return helper.make_tensor_value_info(name, element, [None, *width])


class _Graph:
    """The operators and constants so far.

    Parameters
    ----------
    names
        The names of the inputs, which are taken.
    """

    def __init__(self, names: list[str]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken = set(names)

    def add(
        self, operator: str, inputs: list[str], *, output: str = "", **attributes: Any
    ) -> str:
        """Add an operator and return the name of its output."""
        from onnx import helper

        is_learned = operator in {"LabelEncoder", "TreeEnsemble"}
        name = self._fresh(output or f"{operator} {len(self.nodes)}")
        self.nodes.append(
            helper.make_node(
                operator,
                inputs,
                [name],
                domain="ai.onnx.ml" if is_learned else "",
                **attributes,
            )
        )
        return name

    def constant(self, array: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        from onnx import numpy_helper

        name = self._fresh(f"constant {len(self.constants)}")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _columns(graph: _Graph, ensemble: Ensemble) -> dict[Key, str]:
    """Return the columns that the trees read, each of float64.

    A column of numbers is read as it is. Each set of categories that a split uses
    becomes a column that is 0 inside the set and 1 outside.
    """
    columns: dict[Key, str] = {}
    nodes = ensemble.trees.nodes
    for index, feature in enumerate(ensemble.features):
        if not isinstance(feature, Categorical):
            columns[index, b""] = feature.name
            continue
        asked = np.flatnonzero(nodes["feature"] == index).tolist()
        sets = [left_codes(ensemble, node) for node in asked]
        # A column that no split uses still has the number of rows.
        for codes in sets or [np.zeros(feature.n_codes, dtype=bool)]:
            key = index, codes.tobytes()
            if key not in columns:
                columns[key] = _outside(graph, feature, codes)
    return columns


def _outside(graph: _Graph, feature: Categorical, codes: NDArray[np.bool_]) -> str:
    """Add the column that is 0 for the categories of a set and 1 for all others."""
    from onnx import TensorProto

    keys = "keys_strings" if _kind(feature) == "STRING" else "keys_int64s"
    *outside, unknown = np.where(codes, 0.0, 1.0).tolist()
    table: dict[str, Any] = {
        keys: list(feature.categories),
        "values_floats": outside,
        "default_float": unknown,
    }
    found = graph.add("LabelEncoder", [feature.name], **table)
    return graph.add("Cast", [found], to=TensorProto.DOUBLE)


def _mean(graph: _Graph, ensemble: Ensemble, table: str, keys: list[Key]) -> str:
    """Add the trees and the mean of their shares; return the name of the mean."""
    name = "probabilities"
    trees = [tree_attributes(ensemble, span, keys) for span in spans(ensemble)]
    if len(trees) == 1:
        return graph.add("TreeEnsemble", [table], output=name, **trees[0])
    shape = graph.constant(np.array([1, -1, len(ensemble.classes)], dtype=np.int64))
    layers = []
    for tree in trees:
        shares = graph.add("TreeEnsemble", [table], **tree)
        layers.append(graph.add("Reshape", [shares, shape]))
    stacked = graph.add("Concat", layers, axis=0)
    axes = graph.constant(np.array([0], dtype=np.int64))
    return graph.add("ReduceMean", [stacked, axes], output=name, keepdims=0)
