"""ONNX graphs that cannot be followed: each is refused by its own sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import fatt
from fatt.errors import ModelError, UnsupportedModelError
from fatt.importers.onnx import forest
from fatt.importers.onnx.live import open_model
from fatt.model import NotAtHand
from tests.importers.onnx_builder import (
    Leaf,
    Split,
    classifier,
    ensemble,
    regressor,
)

ML = "ai.onnx.ml"
FLOAT, DOUBLE, INT64, STRING = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.INT64,
    TensorProto.STRING,
)
NO, YES = Leaf([(0, 0.75)]), Leaf([(0, 0.25)])
#: Scores of two classes, for a regressor and for a classifier.
PAIR = Split("LEQ", 0, 0.5, Leaf([(0, 0.25), (1, 0.75)]), Leaf([(0, 0.6), (1, 0.4)]))
STUMP = Split("LEQ", 0, 0.5, NO, YES)


def node(kind: str, inputs: Any = ("X",), outputs: Any = ("Z",), **given: Any) -> Any:
    domain = given.pop("domain", "")
    return helper.make_node(kind, list(inputs), list(outputs), domain=domain, **given)


def before(*nodes: Any, kind: int = FLOAT, width: int = 2, **constants: Any) -> Any:
    """Return a classifier that reads "Z", which the nodes make of "X"."""
    model = classifier([STUMP], [0, 1])
    model.graph.node[0].input[0] = "Z"
    for place, one in enumerate(nodes):
        model.graph.node.insert(place, one)
    model.graph.input[0].CopyFrom(
        helper.make_tensor_value_info("X", kind, [None, width])
    )
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def behind(
    *nodes: Any, labels: Any = (0, 1), output: int = INT64, **constants: Any
) -> Any:
    """Return a classifier of whose "label" or "scores" the nodes make "Z"."""
    model = classifier([PAIR], list(labels), transform="NONE")
    model.graph.node.extend(nodes)
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("Z", output, None))
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def floats(*numbers: float) -> Any:
    return np.array(numbers, dtype=np.float32)


def with_input(kind: int, shape: Any) -> Any:
    model = classifier([STUMP], [0, 1])
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("X", kind, shape))
    return model


def without_tensor() -> Any:
    model = classifier([STUMP], [0, 1])
    model.graph.input[0].CopyFrom(
        helper.make_tensor_sequence_value_info("X", FLOAT, None)
    )
    return model


def two_versions() -> Any:
    model = classifier([STUMP], [0, 1])
    model.opset_import.append(helper.make_opsetid("ai.onnx", 17))
    return model


def chain(tracks: tuple[int, int]) -> Split:
    """Two equalities, one behind the other, that lead to the same node if they hold."""
    rest = Split("EQ", 0, 2.0, NO, YES, tracks=tracks[1])
    return Split("EQ", 0, 1.0, NO, rest, tracks=tracks[0])


def shared_leaf(tracks: tuple[int, int]) -> Any:
    model = classifier([chain(tracks)], [0, 1])
    attributes = {one.name: one for one in model.graph.node[0].attribute}
    true = attributes["nodes_truenodeids"].ints
    modes = attributes["nodes_modes"].strings
    splits = [place for place, mode in enumerate(modes) if mode != b"LEAF"]
    true[splits[1]] = true[splits[0]]
    return model


def other_output() -> Any:
    model = classifier([STUMP], [0, 1])
    model.graph.initializer.append(numpy_helper.from_array(np.arange(3), "c"))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("c", INT64, None))
    return model


def no_text() -> Any:
    model = classifier([STUMP], ["no", "yes"])
    for one in model.graph.node[0].attribute:
        if one.name == "classlabels_strings":
            one.strings[0] = b"\xff\xfe"
    return model


def attribute_twice() -> Any:
    model = classifier([STUMP], [0, 1])
    model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])
    return model


def encoder(**given: Any) -> Any:
    return node("LabelEncoder", domain=ML, **given)


def one_hot(**given: Any) -> Any:
    return node("OneHotEncoder", domain=ML, **given)


def double_regressor() -> Any:
    model = regressor([PAIR], 2)
    model.graph.input[0].type.tensor_type.elem_type = DOUBLE
    return model


def integers(model: Any) -> Any:
    model.graph.input[0].type.tensor_type.elem_type = INT64
    return model


def weights_twice() -> Any:
    model = classifier([STUMP], [0, 1])
    tensor = numpy_helper.from_array(floats(0.25, 0.75), "w")
    made = helper.make_attribute("class_weights_as_tensor", tensor)
    model.graph.node[0].attribute.append(made)
    return model


def without_weights() -> Any:
    model = classifier([STUMP], [0, 1])
    for one in model.graph.node[0].attribute:
        if one.name.startswith("class_"):
            del one.ints[:]
            del one.floats[:]
    return model


def shared_chains(length: int) -> Any:
    """Some equalities that go on with the same chain of others."""
    tail: Any = YES
    for place in range(length):
        tail = Split("EQ", 0, float(place), NO, tail)
    tree: Any = tail
    for head in range(4):
        tree = Split("LEQ", 1, float(head), Split("EQ", 0, 99.0, NO, YES), tree)
    model = classifier([tree], [0, 1])
    attributes = {one.name: one for one in model.graph.node[0].attribute}
    true, false = (attributes[f"nodes_{k}nodeids"].ints for k in ("true", "false"))
    modes = attributes["nodes_modes"].strings
    equal = [place for place, mode in enumerate(modes) if mode == b"BRANCH_EQ"]
    for place in equal:
        true[place] = true[equal[0]]
    for head in equal[:4]:
        false[head] = equal[4]
    return model


def many_labels() -> Any:
    """A label made of probabilities behind a function."""
    model = classifier([PAIR], [0, 1], transform="SOFTMAX")
    model.graph.node.append(node("ArgMax", ["scores"], axis=1, keepdims=0))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("Z", INT64, None))
    return model


PARTLY = Split("LEQ", 0, 0.5, Leaf([(0, 0.5)]), Leaf([(1, 0.75)]))
GRAPHS: dict[str, Callable[[], Any]] = {
    "only tensors of floats, doubles, integers and str": lambda: with_input(
        TensorProto.BFLOAT16, [None, 2]
    ),
    "input 'X': only tensors": without_tensor,
    "two versions of the operators 'ai.onnx'": two_versions,
    "is neither the label nor the prediction of a tree": other_output,
    "a string is not UTF-8": no_text,
    "attribute 'class_ids' is given twice": attribute_twice,
    # Before the trees
    "its inputs have different types": lambda: before(
        node("Cast", ["X"], ["Y"], to=DOUBLE),
        node("Concat", ["X", "Y"], axis=1),
    ),
    "or one that is not finite": lambda: before(
        node("Scaler", domain=ML, offset=[0.0], scale=[float("inf")])
    ),
    "only missing floats can be imputed": lambda: before(
        node("Imputer", domain=ML, imputed_value_floats=[1.0, 2.0, 3.0])
    ),
    "it replaces a number, not missing values": lambda: before(
        node("Imputer", domain=ML, imputed_value_floats=[1.0])
    ),
    "only one column of strings or of integers": lambda: before(
        one_hot(cats_int64s=[1, 2])
    ),
    "a category is listed twice": lambda: before(
        one_hot(cats_int64s=[1, 1]), kind=INT64, width=1
    ),
    "16385 categories; up to": lambda: before(
        one_hot(cats_int64s=list(range(16385))), kind=INT64, width=1
    ),
    "it refuses unknown numbers": lambda: before(
        one_hot(cats_int64s=[1, 2], zeros=0), kind=INT64, width=1
    ),
    "only strings, integers and floats can be looked up": lambda: before(
        encoder(keys_strings=["a"], values_floats=[1.0])
    ),
    "there are 2 keys and 1 values": lambda: before(
        encoder(keys_floats=[1.0, 2.0], values_floats=[1.0])
    ),
    "its values are not one list": lambda: before(encoder(keys_floats=[1.0, 2.0])),
    "it reads text where numbers belong": lambda: before(
        node("Scaler", domain=ML, offset=[0.0], scale=[1.0]), kind=STRING
    ),
    "its input is not a plain table": lambda: before(
        one_hot(cats_int64s=[1, 2]), kind=INT64, width=1
    ),
    # Trees
    "it compares columns with each other": lambda: before(
        node("ArgMax", axis=1, keepdims=1)
    ),
    "no leaf has a weight": without_weights,
    r"Classifier\): trees share nodes": lambda: shared_chains(30),
    "scores each are more than can be represented": lambda: regressor(
        [PAIR] * 40, 2**16
    ),
    "the rule for the label depends on the row": lambda: classifier([PARTLY], [0, 1]),
    "some leaves have no weight for some classes": lambda: classifier(
        [Split("LEQ", 0, 0.5, Leaf([(0, -0.5)]), Leaf([(1, 0.75), (2, 0.1)]))],
        [0, 1, 2],
    ),
    "computes with two columns of the table at once": lambda: before(
        node("ArrayFeatureExtractor", ["X", "one"], ["Y"], domain=ML),
        node("Mul", ["X", "Y"]),
        one=np.array([1]),
    ),
    "it adds in float64 and rounds to float32": double_regressor,
    "aggregate_function 'MEDIAN'": lambda: regressor(
        [PAIR], 2, aggregate_function="MEDIAN"
    ),
    "3 base values for 2 targets": lambda: regressor(
        [PAIR], 2, base_values=[1.0, 2.0, 3.0]
    ),
    "an average with base values": lambda: regressor(
        [PAIR], 2, aggregate_function="AVERAGE", base_values=[1.0, 2.0]
    ),
    "it does not take integers": lambda: integers(ensemble([STUMP], 1)),
    "post_transform is 9": lambda: ensemble([STUMP], 1, post_transform=9),
    "class_weights is given twice": weights_twice,
    "a chain of equalities treats missing values": lambda: shared_leaf((0, 1)),
    "asks whether a number is minus infinity": lambda: classifier(
        [Split("EQ", 0, float("-inf"), NO, YES)], [0, 1]
    ),
    # Labels
    "it casts text to integers": lambda: behind(
        node("Cast", ["label"], to=INT64), labels=["no", "yes"]
    ),
    "1 labels for the classes": lambda: behind(
        node("ArrayFeatureExtractor", ["c", "label"], domain=ML),
        c=np.array([7]),
    ),
    "it looks up scores": lambda: behind(
        node("LabelEncoder", ["scores"], domain=ML, keys_floats=[0.5],
             values_int64s=[1])
    ),
    "its keys have another type than labels": lambda: behind(
        node("LabelEncoder", ["label"], domain=ML, keys_strings=["a"],
             values_int64s=[1])
    ),
    "it makes floats of labels": lambda: behind(
        node("LabelEncoder", ["label"], domain=ML, keys_int64s=[0, 1],
             values_floats=[0.5, 1.5])
    ),
    "only the mean of the scores of several": lambda: behind(
        node("ReduceMean", ["scores"], axes=[0], keepdims=0)
    ),
    "these are not the plain sum of leaves": many_labels,
}  # fmt: skip


@pytest.mark.parametrize("said", GRAPHS)
def test_graphs(said: str) -> None:
    model = GRAPHS[said]()
    with pytest.raises(ModelError, match=said):
        fatt.load(model)


@pytest.mark.parametrize("part", ["graph", "node"])
def test_parts_of_a_model_are_none(part: str) -> None:
    model = classifier([STUMP], [0, 1])
    given = model.graph if part == "graph" else model.graph.node[0]
    with pytest.raises(UnsupportedModelError, match="pass the whole ModelProto"):
        fatt.load(given)


def test_too_many_cells_of_equalities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "_CELL_LIMIT", 2)
    asked = Split("EQ", 0, 1.0, NO, Split("EQ", 0, 2.0, YES, NO))
    with pytest.raises(UnsupportedModelError, match="equalities on column 'X0' are to"):
        fatt.load(classifier([asked], [0, 1]))


def test_what_onnxruntime_does_not_hand_out() -> None:
    model = fatt.load(classifier([STUMP], [0, 1]))
    with pytest.raises(NotAtHand, match="hands out no scores"):
        model.live.scores(np.zeros((1, 2), dtype=np.float32))
    twice = classifier([STUMP], [0, 1])
    twice.graph.node.append(node("Identity", ["label"], ["again"]))
    twice.graph.output.append(helper.make_tensor_value_info("again", INT64, None))
    with pytest.raises(NotAtHand, match="2 outputs of labels"):
        open_model(twice.SerializeToString(), model.ensemble)
    bare = classifier([STUMP], [0, 1])
    del bare.graph.output[1]
    with pytest.raises(NotAtHand, match="0 outputs of probabilities"):
        fatt.load(bare).live.probabilities(np.zeros((1, 2), dtype=np.float32))


def test_the_version_is_one_line() -> None:
    """CatBoost tells its whole build in it."""
    model = classifier([STUMP], [0, 1])
    model.producer_name = "CatBoost"
    model.producer_version = (
        "Git info:\n    Branch: tags/v1.2.10\n    Summary: CatBoost release 1.2.10. c\n"
    )
    assert fatt.load(model).ensemble.source.version == "CatBoost 1.2.10"
    model.producer_version = "1.0\nmore"
    assert fatt.load(model).ensemble.source.version == "CatBoost 1.0"
