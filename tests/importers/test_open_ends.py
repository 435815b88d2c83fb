"""Nobody is left out whom onnxruntime answers, and of whom fatt does not know what."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import fatt
from fatt import Similarity
from fatt.ensemble import Ensemble
from fatt.ensemble.file import MAGIC, Payload, from_bytes, to_bytes
from fatt.errors import CertificateError, DataError, SpecError, UnsupportedModelError
from fatt.region import Binary, Number, Ordinal
from tests.certificate.forgery import Draft

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper

from tests.importers.onnx_builder import Leaf, Split, classifier, graph
from tests.importers.test_onnx import cast_to, run, stairs

pytestmark = pytest.mark.onnx

FLOAT, WHOLE = TensorProto.FLOAT, TensorProto.INT64
CAST = [cast_to(WHOLE, "X", "whole"), cast_to(FLOAT, "whole", "Z")]
TIMES_0 = [helper.make_node("Mul", ["X", "zero"], ["Z"])]
ZERO = np.zeros(1, dtype=np.float32)
LARGEST = float(np.finfo(np.float32).max)


def casting() -> Any:
    """Return a model that cuts off decimals, below and above 2."""
    return stairs(CAST, FLOAT, 0.5, 2.0)


def times_0() -> Any:
    """Return a model that makes 0 of all numbers, and NaN of infinity."""
    return stairs(TIMES_0, FLOAT, -0.5, 0.5, zero=ZERO)


def label(model: Any, *numbers: float) -> list[int]:
    cells = np.array(numbers, dtype=np.float32).reshape(-1, 1)
    return [int(one) for one in run(model, {"X": cells})[0]]


def earlier(ensemble: Ensemble) -> bytes:
    """Return the file that versions wrote which did not know of open ends."""
    inputs = msgspec.structs.replace(ensemble.inputs, open_below=(), open_above=())
    plain = Ensemble(
        features=ensemble.features,
        classes=ensemble.classes,
        trees=ensemble.trees,
        scoring=ensemble.scoring,
        decision=ensemble.decision,
        inputs=inputs,
        source=ensemble.source,
    )
    file = msgspec.msgpack.decode(to_bytes(plain)[len(MAGIC) + 32 :])
    payload = msgspec.msgpack.encode(file[:3])
    return MAGIC + hashlib.sha256(payload).digest() + payload


@pytest.mark.parametrize(
    ("model", "near", "beyond", "noise"),
    [
        (casting(), 2.0**30, 2.0**70, 2.0**36),
        (times_0(), LARGEST, np.inf, 2.0**104),
        (times_0(), -LARGEST, -np.inf, 2.0**104),
    ],
    ids=["cast", "times 0", "times 0, below"],
)
def test_who_is_beyond_is_never_left_out(
    model: Any, near: float, beyond: float, noise: float
) -> None:
    assert label(model, beyond) != label(model, near)
    read = fatt.load(model)
    assert read.predict([[near]]).tolist() == label(model, near)
    with pytest.raises(DataError, match=r"cannot follow exactly what .* beyond"):
        read.predict([[beyond]])
    for similarity in (Similarity(noise={"X": noise}), Similarity(vary=["X"])):
        with pytest.raises(SpecError, match=r"'X' goes (up|down) to .* cannot follow"):
            fatt.verify(read, [[near]], similarity=similarity)


@pytest.mark.parametrize("model", [casting(), times_0()], ids=["cast", "times 0"])
def test_nobody_becomes_missing_unseen(model: Any) -> None:
    # onnxruntime answers those who have no number, and otherwise than their neighbours.
    assert label(model, np.nan) != label(model, 1.0)
    read = fatt.load(model)
    why = "cannot follow exactly what the model makes of a missing value"
    for similarity in (Similarity(noise={"X": 0.1}), Similarity(missing=["X"])):
        with pytest.raises((DataError, SpecError), match=why):
            fatt.verify(read, [[1.0], [np.nan]], similarity=similarity)
    # A missing value stays missing, and a number a number, unless that is asked for.
    with pytest.raises(SpecError, match=f"missing names 'X', and fatt {why}"):
        fatt.verify(read, [[1.0]], similarity=Similarity(missing=["X"]))
    narrow = Similarity(noise={"X": 0.1})
    assert fatt.verify(read, [[1.2]], similarity=narrow).counts["fair"] == 1


def test_a_column_that_no_tree_reads_narrows_nothing() -> None:
    """It did, so that people whom the trees tell apart were left out silently."""
    nodes = [
        cast_to(WHOLE, "X", "whole"),
        cast_to(FLOAT, "whole", "cut off"),
        helper.make_node("Concat", ["X", "cut off"], ["Z"], axis=1),
    ]
    model, own = stairs(nodes, FLOAT, 2.0**30 + 128), 2.0**30
    assert label(model, own) != label(model, own + 256)
    read = fatt.load(model)
    report = fatt.verify(read, [[own]], similarity=Similarity(noise={"X": 512}))
    assert report.counts["unfair"] == 1


def test_open_ends_are_those_of_the_column_in_any_order_of_the_schema() -> None:
    """They were taken by their place in the schema, so that another column had them."""
    leaves = [Leaf([(c, float(c == label)) for c in range(3)]) for label in range(3)]
    low = Split("LEQ", 1, 0.5, leaves[2], leaves[0])
    node = classifier([Split("LEQ", 0, 0.5, low, leaves[1])], [0, 1, 2]).graph.node[0]
    node.input[0] = "Z"
    cast = [cast_to(WHOLE, "X", "whole"), cast_to(FLOAT, "whole", "cut off")]
    model = graph(
        [*cast, helper.make_node("Concat", ["cut off", "Y"], ["Z"], axis=1), node],
        [("X", FLOAT, [None, 1]), ("Y", FLOAT, [None, 1])],
        [("label", TensorProto.INT64), ("scores", FLOAT)],
    )
    near, beyond = 2.0**30, 2.0**70
    feed = {"X": np.float32([[near], [beyond]]), "Y": np.zeros((2, 1), np.float32)}
    assert run(model, feed)[0].tolist() == [1, 2]
    read = fatt.load(model)
    people = pd.DataFrame({"Y": [0.0], "X": [near]})
    similarity = Similarity(noise={"X": 2.0**71})
    for names in (["X", "Y"], ["Y", "X"]):
        numbers = [Number(name=name, columns=name) for name in names]
        schema = fatt.Schema(columns=names, variables=numbers)
        with pytest.raises(SpecError, match="'X' goes down to"):
            fatt.verify(read, people, similarity=similarity, schema=schema)


def test_levels_on_a_column_with_open_ends() -> None:
    """They crashed: a variable with levels has no ends, and no person beyond them."""
    read, vary = fatt.load(casting()), Similarity(vary=["X"])
    schema = fatt.Schema.infer(read, [[0.0], [1.0]])
    for variable, unfair in ((Binary(), 2), (Ordinal(levels=(0, 1, 2)), 2)):
        narrow = schema.with_(X=variable)
        report = fatt.verify(read, [[0.0], [1.0]], similarity=vary, schema=narrow)
        assert report.counts["unfair"] == unfair
        assert report.certificate().check(read).unfair == unfair
    assert label(casting(), 3.0) != label(casting(), 2.0**70)
    far = schema.with_(X=Ordinal(levels=(3, 2**70)))
    with pytest.raises(SpecError, match="refuses or fatt cannot follow"):
        fatt.verify(read, [[3.0]], similarity=vary, schema=far)
    forged = Draft(
        model=read.ensemble,
        schema=far,
        similarity=vary,
        values=np.array([[0.0]]),
        verdicts=np.array([0]),
        labels=read.ensemble.predict([[3.0]]),
        proofs={0: [None]},
        twins={},
    ).certificate()
    with pytest.raises(CertificateError, match=r"'X' .*of which nothing is proved"):
        forged.check(read)


def test_files_that_do_not_tell_of_open_ends_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.fatt"
    scaler = StandardScaler().fit([[0.0], [2.0]])
    graphs = {
        "cast": fatt.load(casting()),
        "times 0": fatt.load(times_0()),
        "prepared": fatt.load(casting(), prepare=scaler),
        "far": fatt.load(stairs([cast_to(FLOAT, "X", "Z")], WHOLE, 0.5, 2.0**60)),
    }
    for model in graphs.values():
        path.write_bytes(earlier(model.ensemble))
        with pytest.raises(UnsupportedModelError, match=r"earlier ver.*Load the ONNX"):
            fatt.load(path)
        model.ensemble.save(path)
        assert fatt.load(path).ensemble == model.ensemble


def test_other_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "model.fatt"
    scaler = StandardScaler().fit([[0.0], [2.0]])
    cast, same = [cast_to(FLOAT, "X", "Z")], [helper.make_node("Identity", ["X"], "Z")]
    for model in (
        fatt.load(stairs(same, FLOAT, 0.5, 2.0)),
        fatt.load(stairs(same, FLOAT, 0.5, 2.0), prepare=scaler),
        fatt.load(stairs(cast, WHOLE, 0.5, 2.0**40)),
        fatt.load(stairs(cast, TensorProto.INT32, 0.5, 2.0)),
    ):
        assert not model.ensemble.inputs.open_above
        data = earlier(model.ensemble)
        assert msgspec.msgpack.decode(data[len(MAGIC) + 32 :], type=Payload)
        path.write_bytes(data)
        assert fatt.load(path).ensemble == from_bytes(data) == model.ensemble
