"""What nobody here follows, and what the format may hold some day, is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fatt
from fatt.errors import DataError, FattError, UnsupportedModelError

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.importers.onnx_builder import (  # noqa: E402
    Leaf,
    Split,
    classifier,
    ensemble,
    graph,
    regressor,
)

pytestmark = pytest.mark.onnx

MANY = settings(max_examples=60, deadline=None, derandomize=True)
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.25, 3.0]])


def tree() -> Split:
    return Split("LEQ", 0, 0.5, Leaf([(0, 1.0)]), Leaf([(1, 1.0)]))


def full_tree() -> Split:
    """A tree with a weight for each class in each leaf, as a classifier needs."""
    leaves = Leaf([(0, 1.0), (1, 0.0)]), Leaf([(0, 0.0), (1, 1.0)])
    return Split("LEQ", 0, 0.5, *leaves)


def scaled() -> Any:
    """A graph with a constant and several operators before the trees."""
    nodes = [
        helper.make_node("Sub", ["X", "middle"], ["Y"]),
        helper.make_node("Identity", ["Y"], ["Z"]),
        *classifier([full_tree()], [0, 1]).graph.node,
    ]
    nodes[-1].input[0] = "Z"
    return graph(
        nodes,
        [("X", TensorProto.FLOAT, [None, 2])],
        [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)],
        {"middle": np.array([0.5, 0.0], dtype=np.float32)},
    )


MODELS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: classifier([full_tree()], [0, 1]),
    "regressor": lambda: regressor([tree()], 2),
    "ensemble": lambda: ensemble([tree()], 2),
    "scaled": scaled,
}
KINDS = st.sampled_from(sorted(MODELS))


def answers(model: Any) -> list[Any] | None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        found = session.run(["label"], {"X": ROWS.astype(np.float32)})[0]
    except Exception:
        return None
    return list(np.ravel(found).tolist())


def refused(model: Any, name: str) -> None:
    """The model is refused with the name of what is not known, as file and object."""
    for form in (model, onnx.ModelProto.FromString(model.SerializeToString())):
        with pytest.raises(UnsupportedModelError, match=re.escape(name)):
            fatt.load(form)


def nodes_to_the_label(model: Any) -> list[Any]:
    return list(model.graph.node)


@pytest.mark.parametrize("kind", MODELS)
def test_the_models_themselves_are_read(kind: str) -> None:
    model = MODELS[kind]()
    assert fatt.load(model).predict(ROWS).tolist() == answers(model)


@MANY
@given(kind=KINDS, data=st.data())
def test_attributes_that_nobody_knows(kind: str, data: Any) -> None:
    model = MODELS[kind]()
    node = data.draw(st.sampled_from(nodes_to_the_label(model)))
    value = data.draw(st.sampled_from([1, 0.5, b"x", [1, 2], [0.5], ["a"]]))
    node.attribute.append(helper.make_attribute("new_thing", value))
    refused(model, "'new_thing'")


@MANY
@given(kind=KINDS, data=st.data())
def test_an_attribute_with_another_name(kind: str, data: Any) -> None:
    """Whatever is read by another name must not fall back to a default."""
    model = MODELS[kind]()
    nodes = [node for node in nodes_to_the_label(model) if node.attribute]
    attribute = data.draw(
        st.sampled_from([a for node in nodes for a in node.attribute])
    )
    attribute.name += "_v2"
    with pytest.raises(FattError):
        fatt.load(model)


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "com.microsoft", "new.domain"])
@pytest.mark.parametrize("kind", MODELS)
def test_operators_that_nobody_knows(kind: str, domain: str) -> None:
    model = MODELS[kind]()
    new = helper.make_node("Renew", ["X"], ["renewed"], domain=domain)
    first = model.graph.node[0]
    first.input[0] = "renewed"
    nodes = [new, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.opset_import.append(helper.make_opsetid("new.domain", 1))
    refused(model, "'Renew'")


@pytest.mark.parametrize("kind", MODELS)
def test_one_input_more(kind: str) -> None:
    for place in range(len(MODELS[kind]().graph.node)):
        model = MODELS[kind]()
        node = model.graph.node[place]
        while len(node.input) < 3:
            node.input.append("X")
        refused(model, "'X'")


@MANY
@given(kind=KINDS, domain=st.sampled_from(["", "ai.onnx.ml"]), step=st.integers(-4, 40))
def test_other_operator_sets(kind: str, domain: str, step: int) -> None:
    """Read as onnxruntime answers, or refused; never another answer."""
    model = MODELS[kind]()
    for item in model.opset_import:
        if item.domain == domain:
            item.version = max(1, item.version + step)
    expected = answers(model)
    if expected is None:
        with pytest.raises(UnsupportedModelError, match="version"):
            fatt.load(model)
    else:
        assert fatt.load(model).predict(ROWS).tolist() == expected


def unknown_field(number: int, wire: int) -> bytes:
    """A field of a later format: a number, or bytes."""
    key = number * 8 + wire
    encoded = bytearray()
    while key > 127:
        encoded.append(key % 128 + 128)
        key //= 128
    encoded.append(key)
    return bytes(encoded) + (b"\x01" if wire == 0 else b"\x02hi")


def parts_of(model: Any) -> dict[str, Any]:
    parts = {"model": model, "graph": model.graph, "input": model.graph.input[0]}
    parts["type"] = model.graph.input[0].type
    parts["shape"] = model.graph.input[0].type.tensor_type.shape
    parts["opset"] = model.opset_import[0]
    for place, node in enumerate(model.graph.node):
        parts[f"node {place}"] = node
        for attribute in node.attribute:
            parts[f"attribute {place} {attribute.name}"] = attribute
            if attribute.HasField("t"):
                parts[f"tensor {place} {attribute.name}"] = attribute.t
    if len(model.graph.node) == 4:
        parts["constant"] = model.graph.initializer[0]
    return parts


@settings(MANY, max_examples=120)
@given(
    kind=KINDS,
    number=st.integers(200, 5000),
    wire=st.sampled_from([0, 2]),
    data=st.data(),
)
def test_fields_of_a_later_format(kind: str, number: int, wire: int, data: Any) -> None:
    model = MODELS[kind]()
    parts = parts_of(model)
    part = parts[data.draw(st.sampled_from(sorted(parts)))]
    part.MergeFromString(unknown_field(number, wire))
    refused(model, f"field {number}")


def _functions(model: Any) -> None:
    body = [helper.make_node("Neg", ["a"], ["b"])]
    opsets = [helper.make_opsetid("", 18)]
    model.functions.append(
        helper.make_function("own", "Turn", ["a"], ["b"], body, opsets)
    )


def _sparse(model: Any) -> None:
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(
            numpy_helper.from_array(np.ones(1, np.float32), "cut"),
            numpy_helper.from_array(np.zeros(1, np.int64), "places"),
            [1],
        )
    )


def _quantized(model: Any) -> None:
    model.graph.quantization_annotation.add(tensor_name="X")


def _trained(model: Any) -> None:
    model.training_info.add()


def _overload(model: Any) -> None:
    model.graph.node[0].overload = "fast"


def _reference(model: Any) -> None:
    model.graph.node[-1].attribute.append(
        onnx.AttributeProto(name="axis", type=2, ref_attr_name="outer")
    )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_functions, "functions"),
        (_sparse, "sparse_initializer"),
        (_quantized, "quantization_annotation"),
        (_trained, "training_info"),
        (_overload, "overload"),
        (_reference, "ref_attr_name"),
    ],
)
def test_parts_of_the_format_that_nobody_follows(change: Any, name: str) -> None:
    model = MODELS["ensemble"]()
    if change is _reference:
        del model.graph.node[-1].attribute[:]
    change(model)
    refused(model, name)


def test_constants_in_other_files_and_given_twice() -> None:
    model = scaled()
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    refused(model, "another file")
    model = scaled()
    model.graph.initializer[0].segment.begin = 0
    refused(model, "segment")
    model = scaled()
    model.graph.initializer[0].float_data.extend([0.0, 0.0])
    with pytest.raises(FattError, match="given twice"):
        fatt.load(model)


def test_words_about_the_model_change_nothing() -> None:
    model = scaled()
    model.metadata_props.add(key="k", value="v")
    model.graph.metadata_props.add(key="k", value="v")
    model.graph.node[0].metadata_props.add(key="k", value="v")
    model.doc_string = model.graph.doc_string = model.graph.node[0].doc_string = "words"
    assert fatt.load(model).predict(ROWS).tolist() == answers(model)


def test_what_does_not_lead_to_the_label_is_left_alone() -> None:
    model = scaled()
    aside = helper.make_node("Renew", ["Y"], ["aside"], domain="new.domain", thing=1)
    model.graph.node.append(aside)
    assert (
        fatt.load(model).predict(ROWS).tolist()
        == fatt.load(scaled()).predict(ROWS).tolist()
    )


def test_numbers_that_onnxruntime_takes_are_refused_for_the_true_reason() -> None:
    """Infinity times zero is no number, of which no operation can be followed."""
    nodes = [
        helper.make_node("Mul", ["X", "scale"], ["Y"]),
        *classifier([full_tree()], [0, 1]).graph.node,
    ]
    nodes[-1].input[0] = "Y"
    model = graph(
        nodes,
        [("X", TensorProto.FLOAT, [None, 2])],
        [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)],
        {"scale": np.array([0.0, 1.0], dtype=np.float32)},
    )
    read = fatt.load(model)
    assert read.predict(ROWS).tolist() == answers(model)
    for cell in (np.inf, -np.inf, 1e39):
        with pytest.raises(DataError, match="fatt cannot follow exactly"):
            read.predict([[cell, 0.0]])
    with pytest.raises(DataError, match="is missing, and fatt cannot follow"):
        read.predict([[np.nan, 0.0]])
    assert read.predict([[0.0, np.inf]]).tolist() == [0]


def test_infinities_are_read_where_onnxruntime_takes_them() -> None:
    rows = np.array([[np.inf, 0.0], [-np.inf, 0.0], [np.nan, 0.0], [1e39, np.nan]])
    for kind in ("classifier", "scaled"):
        model = MODELS[kind]()
        session = onnxruntime.InferenceSession(model.SerializeToString())
        with np.errstate(over="ignore"):
            single = rows.astype(np.float32)
        expected = session.run(["label"], {"X": single})[0]
        assert fatt.load(model).predict(rows).tolist() == expected.tolist()
