"""The graph around the tree operators, followed from the inputs to the label."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx import answers, operators, tree_operators
from fatt.importers.onnx.answers import Answer
from fatt.importers.onnx.proto import (
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    STRING,
    Attributes,
    Call,
    Handler,
    describe,
    refuse_unknown,
    tensor_array,
)
from fatt.importers.onnx.tensors import (
    WIDTH_LIMIT,
    Column,
    Table,
    raw_column,
    refuse_width,
)
from fatt.importers.registry import inside

Value: TypeAlias = Table | NDArray[Any] | answers.Outcome

_DOMAINS = {"": "", "ai.onnx": "", "ai.onnx.ml": "ai.onnx.ml"}
#: The newest operator sets whose operators are known here.
_NEWEST = {"": 26, "ai.onnx.ml": 5}
#: The version of ai.onnx.ml in which one tree operator replaces two.
_RENEWED = 5
#: How many inputs an operator has at most, if not one.
_MOST_INPUTS = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Gather", "Reshape", "ReduceMean"), 2),
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), 2),
    "ArrayFeatureExtractor": 2,
    "Clip": 3,
    "Concat": sys.maxsize,
    "Constant": 0,
}
#: Operators that make each number of several columns, as PCA and linear models do.
_MIXES = {"MatMul", "Gemm", "Normalizer", "LinearClassifier", "LinearRegressor"}
_KINDS = {FLOAT, DOUBLE, INT32, INT64, STRING}
#: Operators that hold graphs themselves.
_NESTS = {"If", "Loop", "Scan"}
#: How many operations may follow each other between the inputs and the trees.
_LENGTH_LIMIT = 100
#: How many columns all tables between the inputs and the trees may have together.
_COLUMN_LIMIT = 2**17


@dataclass(frozen=True)
class Input:
    """One input of the graph: so many columns of one element type."""

    name: str
    kind: int
    width: int
    # Whether the graph takes tables of any width, and `width` is what it reads.
    is_open: bool = False


_HANDLERS: Mapping[tuple[str, str], Handler] = {
    **operators.HANDLERS,
    **tree_operators.HANDLERS,
}


def inputs_of(graph: Any) -> tuple[Input, ...]:
    """Return the inputs of a graph."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = []
    for info in graph.input:
        if info.name in constants:
            continue
        where = f"input {info.name!r}"
        tensor = info.type.tensor_type
        if not info.type.HasField("tensor_type") or tensor.elem_type not in _KINDS:
            raise UnsupportedModelError(
                f"{where}: only tensors of floats, doubles, integers and strings are "
                "supported."
            )
        sizes = [dim.dim_value for dim in tensor.shape.dim]
        is_open = len(sizes) == 2 and not sizes[1]
        width = _width_read(graph, info.name) if is_open else sizes[-1] if sizes else 0
        if len(sizes) != 2 or not 0 < width <= WIDTH_LIMIT:
            raise UnsupportedModelError(
                f"{where}: its shape is not [rows, columns] with a number of columns, "
                f"at most {WIDTH_LIMIT}, that the file or its operators tell. Export "
                "the model with a full shape."
            )
        inputs.append(Input(info.name, tensor.elem_type, width, is_open))
    if not inputs:
        raise MalformedModelError("the graph has no input.")
    if len(inputs) > 1 and any(item.is_open for item in inputs):
        raise UnsupportedModelError(
            "of the graph's several inputs one leaves the number of its columns open. "
            "Export the model with full shapes."
        )
    if len({item.name for item in inputs}) < len(inputs):
        raise MalformedModelError("two inputs of the graph have the same name.")
    with inside("the inputs of the graph"):
        refuse_width(sum(item.width for item in inputs))
    return tuple(inputs)


def _width_read(graph: Any, name: str) -> int:
    """Return how many columns of a table the operators on it read, 0 if none tells."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    tables, told = {name}, 0
    for node in graph.node:
        if not tables & set(node.input):
            continue
        attributes = {one.name: one for one in node.attribute}
        if node.op_type.startswith("TreeEnsemble"):
            ids = np.array(attributes["nodes_featureids"].ints, dtype=np.int64)
            modes = list(attributes["nodes_modes"].strings)
            if len(modes) == len(ids):
                ids = ids[[mode != b"LEAF" for mode in modes]]
            told = max(told, int(ids.max(initial=-1)) + 1)
        elif node.op_type in {"ArrayFeatureExtractor", "Gather"}:
            for other in set(node.input) & set(constants):
                with inside(f"constant {other!r}"):
                    places = tensor_array(constants[other])
                told = max(told, int(np.max(places, initial=-1)) + 1)
        elif node.op_type in {"Cast", "Identity", "Imputer", "Scaler"}:
            tables |= set(node.output)
            for one in attributes.values():
                told = max(told, len(one.floats))
    return told


def follow(model: Any, inputs: tuple[Input, ...]) -> Answer:
    """Follow the graph from its inputs to its label.

    Parameters
    ----------
    model
        The ``ModelProto``.
    inputs
        The graph's inputs; their columns are numbered in order.

    Raises
    ------
    UnsupportedModelError
        If an operator on the way to the label cannot be represented exactly.
    """
    graph = model.graph
    with inside("the model"):
        refuse_unknown(model)
    opsets = _opsets(model)
    target = _label_output(graph, inputs)
    needed, nodes = _needed(graph, target)
    values: dict[str, Value] = {}
    source = 0
    for item in inputs:
        columns = [raw_column(source + i, item.kind) for i in range(item.width)]
        values[item.name] = Table(tuple(columns), item.kind)
        source += item.width
    for tensor in graph.initializer:
        if tensor.name in needed:
            with inside(f"constant {tensor.name!r}"):
                values[tensor.name] = tensor_array(tensor)
    n_columns = 0
    for node in nodes:
        with inside(describe(node)):
            results = _run(node, needed, values, opsets)
            n_columns += _n_columns(results)
            if n_columns > _COLUMN_LIMIT:
                raise UnsupportedModelError(
                    f"the tables up to here have more than {_COLUMN_LIMIT} columns "
                    "together, which is more than is supported."
                )
        values.update(zip(node.output, results, strict=False))
    answer = values.get(target)
    if isinstance(answer, answers.Labels):
        return answer.answer
    if isinstance(answer, answers.Scores):
        return answers.predict(answer, target)
    raise UnsupportedModelError(
        f"the output {target!r} is neither the label nor the prediction of a tree "
        "ensemble."
    )


def refuse_without_trees(model: Any) -> None:
    """Refuse a model without any tree, such as a neural network."""
    operators = dict.fromkeys(node.op_type for node in model.graph.node)
    # What a branch, a loop or a function holds is not looked at.
    if model.functions or any(
        one.startswith("TreeEnsemble") or one in _NESTS for one in operators
    ):
        return
    raise UnsupportedModelError(
        f"the graph holds no trees: it answers by {', '.join(list(operators)[:5])}. It "
        "only prepares rows, or is a neural network or a linear model, which fatt does "
        "not verify; pass the graph that holds the trees."
    )


def _run(
    node: Any, needed: set[str], values: dict[str, Value], opsets: Mapping[str, int]
) -> tuple[Any, ...]:
    """Return what a node makes of its inputs."""
    domain = _DOMAINS.get(node.domain)
    handler = None if domain is None else _HANDLERS.get((domain, node.op_type))
    if handler is None or domain is None:
        known = ", ".join(sorted(op for _, op in _HANDLERS))
        origin = f" of {node.domain!r}" if node.domain else ""
        mixes = " It mixes columns." if node.op_type in _MIXES else ""
        raise UnsupportedModelError(
            f"the operator {node.op_type!r}{origin} stands between the inputs and the "
            f"label and is not supported.{mixes} Make what it computes columns of the "
            f"table, and export the model behind it. Supported are {known}."
        )
    if domain not in opsets:
        raise MalformedModelError("the file names no version of its operators.")
    if domain == "ai.onnx.ml":
        _check_age(node.op_type, opsets[domain])
    if len(node.input) > _MOST_INPUTS.get(node.op_type, 1):
        raise UnsupportedModelError(
            f"its input {node.input[-1]!r} is one more than the operator is "
            "known to have, and may change what it answers."
        )
    absent = [name for name in node.input if name and name not in values]
    if absent:
        raise MalformedModelError(f"its input {absent[0]!r} is not computed before it.")
    call = Call(
        attributes=Attributes(node),
        inputs=tuple(values[name] if name else None for name in node.input),
        wanted=tuple(name in needed for name in node.output),
    )
    return handler(call)


def _check_age(operator: str, version: int) -> None:
    """Refuse tree operators in versions that do not have them."""
    is_old = operator in {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}
    if (is_old and version >= _RENEWED) or (
        operator == "TreeEnsemble" and version < _RENEWED
    ):
        raise UnsupportedModelError(
            f"version {version} of the operators ai.onnx.ml does not have it, "
            "and onnxruntime does not take such a model. Export the model again."
        )


def _n_columns(results: tuple[Any, ...]) -> int:
    """Count the columns that a node makes, each of bounded length."""
    tables = [value for value in results if isinstance(value, Table)]
    columns = [column for table in tables for column in table.columns]
    longest = max((c.length for c in columns if isinstance(c, Column)), default=0)
    if longest > _LENGTH_LIMIT:
        raise UnsupportedModelError(
            f"it follows {_LENGTH_LIMIT} other operations on the same column, "
            "which is more than is supported."
        )
    return len(columns)


def _opsets(model: Any) -> dict[str, int]:
    versions: dict[str, int] = {}
    for item in model.opset_import:
        domain = _DOMAINS.get(item.domain)
        if domain is None:
            continue
        if versions.setdefault(domain, item.version) != item.version:
            raise MalformedModelError(
                f"the file names two versions of the operators {item.domain!r}."
            )
        if not 1 <= item.version <= _NEWEST[domain]:
            raise UnsupportedModelError(
                f"the file uses version {item.version} of the operators "
                f"{item.domain or 'ai.onnx'!r}; versions up to {_NEWEST[domain]} are "
                "known. Export the model for an older version."
            )
    return versions


def _label_output(graph: Any, inputs: tuple[Input, ...]) -> str:
    """Return the name of the one output that holds labels; or of the only output.

    Converters can be told to hand out more integers and strings: the list of all
    classes, which depends on no input, and the leaf of each tree or the path to it,
    which do not depend on the label that the classifier gives.
    """
    labels = [
        info.name
        for info in graph.output
        if info.type.HasField("tensor_type")
        and info.type.tensor_type.elem_type in {INT32, INT64, STRING}
    ]
    classifiers = [n for n in graph.node if n.op_type == "TreeEnsembleClassifier"]
    for starts in (
        {item.name for item in inputs},
        {name for node in classifiers for name in node.output[:1]},
    ):
        if len(labels) > 1:
            reached = _reached(graph, starts)
            labels = [name for name in labels if name in reached] or labels
    if not labels and len(graph.output) == 1:
        return str(graph.output[0].name)
    if len(labels) != 1:
        names = ", ".join(repr(info.name) for info in graph.output)
        raise UnsupportedModelError(
            f"{len(labels) or 'none'} of the outputs {names or '(none)'} hold labels, "
            "that is, integers or strings, and exactly one must. Export a classifier "
            "with its label, or a regressor with its prediction alone."
        )
    return str(labels[0])


def _reached(graph: Any, starts: set[str]) -> set[str]:
    """Return all names that depend on some of the given ones."""
    reached = set(starts)
    for node in graph.node:
        if reached.intersection(node.input):
            reached.update(node.output)
    return reached


def _needed(graph: Any, target: str) -> tuple[set[str], list[Any]]:
    """Return all names that the target depends on, and the nodes that make them."""
    makers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        for name in node.output:
            if name and makers.setdefault(name, index) != index:
                raise MalformedModelError(f"{name!r} is computed by two nodes.")
    needed, used = {target}, set()
    todo = [target]
    while todo:
        index = makers.get(todo.pop(), -1)
        if index < 0 or index in used:
            continue
        used.add(index)
        fresh = {name for name in graph.node[index].input if name} - needed
        needed |= fresh
        todo.extend(fresh)
    return needed, [graph.node[index] for index in sorted(used)]
