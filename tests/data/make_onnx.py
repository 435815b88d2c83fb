"""Write small ONNX models, and what onnxruntime answers for them.

Run it inside an environment that holds one version of each library, with the folder to
write to as its only argument.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)
ROWS = RNG.integers(0, 7, (120, 3)).astype(np.float32) / 4
LABELS = (ROWS[:, 0] * 3 + ROWS[:, 1] + RNG.integers(0, 2, 120)).astype(int)
CODES = RNG.integers(0, 9, (150, 3)).astype(np.float32)
#: The first onnxruntime that knows the TreeEnsemble operator.
FIRST_WITH_TREE_ENSEMBLE = (1, 20)


def probes(seed: int) -> np.ndarray:
    """Rows on, beside and far from the values that the models were trained on."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 40, (60, 3)) / 8
    rows[:20] = np.nextafter(rows[:20], rng.choice([-np.inf, np.inf], (20, 3)))
    rows[20:30] = np.nextafter(rows[20:30].astype(np.float32), np.float32(9))
    rows[rng.random(rows.shape) < 0.05] = np.nan
    rows[-1] = [1e300, -np.inf, 1e-40]
    return rows


def sklearn_models() -> dict[str, Any]:
    from skl2onnx import to_onnx
    from sklearn.ensemble import (
        BaggingClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    small: dict[str, Any] = {"max_depth": 3, "random_state": 0}
    names = np.array(["no", "yes"])[LABELS % 2]
    fitted = {
        "skl-forest": RandomForestClassifier(4, **small).fit(ROWS, names),
        "skl-tree": DecisionTreeClassifier(**small).fit(ROWS, LABELS % 3),
        "skl-boosted": GradientBoostingClassifier(n_estimators=3, **small).fit(
            ROWS, LABELS % 3
        ),
        "skl-bagged": BaggingClassifier(
            DecisionTreeClassifier(max_depth=2), 4, random_state=0
        ).fit(ROWS, LABELS % 2),
        "skl-scaled": make_pipeline(
            StandardScaler(), RandomForestClassifier(3, **small)
        ).fit(ROWS, LABELS % 3),
    }
    models = {
        name: to_onnx(model, ROWS[:1], options={"zipmap": False})
        for name, model in fitted.items()
    }
    hist = HistGradientBoostingClassifier(max_iter=3, max_depth=2).fit(ROWS, LABELS % 2)
    # skl2onnx 1.20 cannot write this model with a recent protobuf.
    with contextlib.suppress(ValueError):
        models["skl-hist"] = to_onnx(hist, ROWS[:1], options={"zipmap": False})
    return models


def boosted_models() -> dict[str, Any]:
    import lightgbm
    import xgboost
    from onnxmltools.convert import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    inputs = [("x", FloatTensorType([None, 3]))]
    holes = ROWS.copy()
    holes[::9, 1] = np.nan
    tree = xgboost.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1)
    tree.fit(holes, LABELS % 2)
    leaf = lightgbm.LGBMClassifier(
        n_estimators=3,
        num_leaves=5,
        min_child_samples=2,
        min_data_per_group=1,
        cat_smooth=0,
        max_cat_to_onehot=1,
        n_jobs=1,
        verbose=-1,
    )
    leaf.fit(CODES, (CODES[:, 0] * 7 % 5 > 2).astype(int), categorical_feature=[0])
    return {
        "xgb": convert_xgboost(tree, initial_types=inputs),
        "lgb-categories": convert_lightgbm(leaf, initial_types=inputs, zipmap=False),
    }


def new_operator(double: bool) -> Any:
    """Return a TreeEnsemble with a node of every mode that fatt reads."""
    dtype = np.float64 if double else np.float32
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    leaves = np.arange(8)
    tensors = {
        "nodes_modes": np.array([*range(6), 4], dtype=np.uint8),
        "nodes_splits": np.array([2, 0.5, 1.25, 3, 1, 2, 0], dtype=dtype),
        "leaf_weights": np.array(
            [0.5, -0.25, 0.1, 0.7, -0.9, 1, 0.3, 0.2], dtype=dtype
        ),
    }
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=2,
        nodes_featureids=[0, 1, 2, 0, 1, 2, 0],
        nodes_truenodeids=[1, 3, 5, 0, 2, 4, 6],
        nodes_falsenodeids=[2, 4, 6, 1, 3, 5, 7],
        nodes_trueleafs=[0, 0, 0, 1, 1, 1, 1],
        nodes_falseleafs=[0, 0, 0, 1, 1, 1, 1],
        nodes_missing_value_tracks_true=[0, 1, 0, 1, 0, 1, 0],
        leaf_targetids=(leaves % 2).tolist(),
        tree_roots=[0],
        **{name: numpy_helper.from_array(array) for name, array in tensors.items()},
    )
    label = helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0)
    graph = helper.make_graph(
        [node, label],
        "trees",
        [helper.make_tensor_value_info("X", kind, [None, 3])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [None]),
            helper.make_tensor_value_info("scores", kind, [None, 2]),
        ],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def answers(model: Any, rows: np.ndarray) -> list[Any]:
    """Return labels and raw scores, without the functions that make probabilities."""
    raw = onnx.ModelProto()
    raw.CopyFrom(model)
    for node in raw.graph.node:
        for attribute in node.attribute:
            if attribute.name == "post_transform" and attribute.s:
                attribute.s = b"NONE"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    found = []
    for one in (model, raw):
        session = onnxruntime.InferenceSession(
            one.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        item = session.get_inputs()[0]
        dtype = np.float64 if "double" in item.type else np.float32
        with np.errstate(over="ignore"):
            found.append(session.run(None, {item.name: rows.astype(dtype)}))
    labels, scores = found[0][0], found[1][1]
    bagged = any(node.op_type == "ReduceMean" for node in model.graph.node)
    if (
        scores.shape[1] == 2
        and not bagged
        and "TreeEnsemble" not in {node.op_type for node in model.graph.node}
    ):
        # One score decides between two classes; it is in the second column.
        scores = scores[:, 1:]
    return [np.array(labels.tolist()), np.ascontiguousarray(scores)]


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    models = {**sklearn_models(), **boosted_models()}
    version = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
    if version >= FIRST_WITH_TREE_ENSEMBLE:
        models["v5-float"] = new_operator(double=False)
        models["v5-double"] = new_operator(double=True)
    for seed, (case, model) in enumerate(models.items()):
        rows = probes(seed)
        labels, raw = answers(model, rows)
        name = f"onnx-{onnxruntime.__version__}-{case}"
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
        np.savez_compressed(folder / f"{name}.npz", rows=rows, labels=labels, raw=raw)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
