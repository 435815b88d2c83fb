"""What stands around the trees of an ONNX graph is followed as it is, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fatt
from fatt.errors import FattError, MalformedModelError, UnsupportedModelError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.importers.onnx_builder import Leaf, Split, regressor  # noqa: E402
from tests.importers.test_onnx import agrees, behind, cast_to  # noqa: E402

pytestmark = pytest.mark.onnx

PAIR = np.array([0.3, -1.7], dtype=np.float32)


def constant(**value: Any) -> Any:
    return helper.make_node("Constant", [], ["c"], **value)


def with_constant(op: str, inputs: list[str], node: Any) -> Any:
    model = behind(helper.make_node(op, inputs, ["Z"]))
    model.graph.node.insert(0, node)
    return model


@pytest.mark.parametrize(
    "node",
    [constant(value=numpy_helper.from_array(PAIR)), constant(value_floats=PAIR)],
    ids=["tensor", "list"],
)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("inputs", [["X", "c"], ["c", "X"]], ids=["behind", "before"])
def test_constants_may_be_nodes(op: str, inputs: list[str], node: Any) -> None:
    model = with_constant(op, inputs, node)
    agrees(model, fatt.load(model).ensemble)


@pytest.mark.parametrize(
    ("node", "picked"),
    [(constant(value_ints=[1, 0]), 2), (constant(value_ints=[-1, -2]), 2)],
)
def test_columns_are_picked_by_a_constant_node(node: Any, picked: int) -> None:
    model = behind(helper.make_node("Gather", ["X", "c"], ["Z"], axis=1))
    model.graph.node.insert(0, node)
    read = fatt.load(model).ensemble
    assert len(read.features) == picked
    agrees(model, read)


def test_a_constant_of_one_number_is_a_constant() -> None:
    nodes = [
        helper.make_node("Constant", [], ["n"], value_int=3),
        cast_to(TensorProto.FLOAT, "n", "c"),
    ]
    model = with_constant("Add", ["X", "c"], nodes[1])
    model.graph.node.insert(0, nodes[0])
    agrees(model, fatt.load(model).ensemble)


def scored(*nodes: Any, label: str, kind: int = TensorProto.INT64) -> Any:
    """Return trees with one score, and what makes the label of it."""
    tree = Split("LEQ", 0, 0.5, Leaf([(0, -0.25)]), Leaf([(0, 0.75)]))
    model = regressor([tree], 1, cut=0.25)
    del model.graph.node[1:]
    model.graph.node.extend(nodes)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info(label, kind, None))
    return model


@pytest.mark.parametrize("op", ["Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_a_score_is_compared_and_cast_to_a_label(op: str) -> None:
    model = scored(
        helper.make_node(op, ["scores", "cut"], ["above"]),
        cast_to(TensorProto.BOOL, "above", "still"),
        cast_to(TensorProto.INT32, "still", "short"),
        cast_to(TensorProto.INT64, "short", "label"),
        label="label",
    )
    agrees(model, fatt.load(model).ensemble)


@pytest.mark.parametrize(
    ("nodes", "what"),
    [
        ([helper.make_node("Greater", ["cut", "scores"], ["label"])], "a single score"),
        ([helper.make_node("Greater", ["scores", "two"], ["label"])], "a single score"),
        ([helper.make_node("Greater", ["scores", "nan"], ["label"])], "type or value"),
        ([helper.make_node("Greater", ["scores", "wide"], ["label"])], "type or value"),
        ([cast_to(TensorProto.DOUBLE, "scores", "label")], "casts scores"),
        ([helper.make_node("Reshape", ["scores", "odd"], ["label"])], r"shape \[2, -1"),
        ([helper.make_node("Concat", ["scores", "scores"], ["label"])], "put.*togeth"),
        ([helper.make_node("ArgMax", ["scores"], ["label"], axis=0)], "among scores"),
        ([helper.make_node("Gather", ["two", "scores"], ["label"])], "among labels"),
        ([helper.make_node("ReduceMean", ["scores"], ["label"])], "its options"),
    ],
)
def test_scores_that_cannot_be_followed_are_refused(nodes: Any, what: str) -> None:
    model = scored(*nodes, label="label")
    constants = {
        "two": np.ones(2, dtype=np.float32),
        "nan": np.array([np.nan], dtype=np.float32),
        "wide": np.array([0.5]),
        "odd": np.array([2, -1]),
    }
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in constants.items()
    )
    with pytest.raises((UnsupportedModelError, MalformedModelError), match=what):
        fatt.load(model)


FLOATS = np.ones(2, dtype=np.float32)


@pytest.mark.parametrize(
    ("node", "constants", "what"),
    [
        (helper.make_node("Div", ["c", "X"], ["Z"]), {"c": FLOATS}, "by a column"),
        (helper.make_node("Div", ["X", "c"], ["Z"]), {"c": 0 * FLOATS}, "by zero"),
        (helper.make_node("Add", ["X", "c"], ["Z"]), {"c": np.ones(2)}, "one type"),
        (
            helper.make_node("Add", ["X", "c"], ["Z"]),
            {"c": np.ones((2, 1), dtype=np.float32)},
            "one number per column",
        ),
        (
            helper.make_node("Add", ["X", "c"], ["Z"]),
            {"c": np.float32([1, np.inf])},
            "not finite",
        ),
        (
            helper.make_node("Add", ["X", "c"], ["Z"]),
            {"c": np.ones(3, dtype=np.float32)},
            "3 constants for 2 columns",
        ),
        (
            helper.make_node("Clip", ["X", "c", "d"], ["Z"]),
            {"c": np.float32([2]), "d": np.float32([1])},
            "crossed",
        ),
        (
            helper.make_node("Clip", ["X", "c", "d"], ["Z"]),
            {"c": np.array([1.0]), "d": np.array([2.0])},
            "two constants",
        ),
        (helper.make_node("Flatten", ["X"], ["Z"], axis=0), {}, "mixes people"),
        (
            helper.make_node("Reshape", ["X", "c"], ["Z"]),
            {"c": np.array([2, -1])},
            "2 columns into the shape",
        ),
        (
            helper.make_node("Gather", ["X", "c"], ["Z"], axis=1),
            {"c": np.array([[0]])},
            "number of axes",
        ),
        (
            helper.make_node("Gather", ["X", "c"], ["Z"], axis=1),
            {"c": np.array([2])},
            "beyond the 2",
        ),
        (cast_to(TensorProto.STRING, "X", "Z"), {}, "cast from type 1 to type 8"),
        (
            helper.make_node("ArgMax", ["X"], ["Z"], axis=1, select_last_index=1),
            {},
            "its options",
        ),
    ],
)
def test_steps_that_cannot_be_followed_are_refused(
    node: Any, constants: dict[str, Any], what: str
) -> None:
    with pytest.raises(FattError, match=what):
        fatt.load(behind(node, **constants))
