"""XGBoost files and models that contradict themselves, each by its sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fatt
from fatt.errors import ModelError, UnsupportedModelError
from fatt.importers import registry
from fatt.importers.xgboost import read
from fatt.model import NotAtHand

xgboost = pytest.importorskip("xgboost")
pytestmark = pytest.mark.xgboost

MODELS = Path(__file__).parents[1] / "data" / "models"
FRAME = MODELS / "xgboost-3.2.0-logistic-frame.json"
BINARY = MODELS / "xgboost-0.90-logistic.model"

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)

TREE = ("learner", "gradient_booster", "model", "trees", 0)
PARAMS = ("learner", "learner_model_param")


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    """Return what changes one place of a document."""

    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


def vectors(booster: str) -> Any:
    """Return the document of a model whose leaves are vectors."""
    data = xgboost.DMatrix(X, np.digitize(X[:, 1], [-0.5, 0.5]))
    parameters = {
        "objective": "multi:softprob",
        "num_class": 3,
        "multi_strategy": "multi_output_tree",
        "tree_method": "hist",
        "max_depth": 2,
        "booster": booster,
    }
    made = xgboost.train(parameters, data, 2)
    return json.loads(bytes(made.save_raw("json")))


def set_of_a_leaf(document: Any) -> None:
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = tree["left_children"].index(-1)
    tree["categories_nodes"][0] = leaf
    tree["split_type"][leaf], tree["split_indices"][leaf] = 1, 10**6


def two_sets(document: Any) -> None:
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    size = tree["categories_sizes"][0]
    tree["categories_nodes"] = [0, 0]
    tree["categories_sizes"] = [size, size]
    tree["categories_segments"] = [0, size]
    tree["categories"] = tree["categories"] * 2


def of_frame() -> Any:
    return json.loads(FRAME.read_text())


def wider(document: Any) -> None:
    tree = document["learner"]["gradient_booster"]["model"]["trees"][1]
    tree["tree_param"]["size_leaf_vector"] = "2"


def poisson() -> Any:
    model = xgboost.XGBRegressor(objective="count:poisson", n_estimators=2)
    raw = model.fit(X, np.abs(X[:, 0])).get_booster().save_raw("json")
    return json.loads(bytes(raw))


def regression() -> Any:
    document = poisson()
    document["learner"]["learner_model_param"]["num_class"] = "2"
    document["learner"]["gradient_booster"]["model"]["tree_info"] = [0, 1]
    rounds = document["learner"]["gradient_booster"]["model"]
    rounds["iteration_indptr"] = [0, 2]
    return document


DOCUMENTS: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "the booster is 'gbforest'": (
        of_frame,
        put("learner", "gradient_booster", "name", value="gbforest"),
    ),
    "the objective 'count:poisson' does not fit the": (
        regression,
        lambda document: None,
    ),
    "takes its logarithm": (
        poisson,
        put(*PARAMS, "base_score", value="0"),
    ),
    "some trees of the model have one value": (lambda: vectors("gbtree"), wider),
    "a category set belongs to no feature": (of_frame, set_of_a_leaf),
    "names category 4096, and only": (
        of_frame,
        put(*TREE, "categories", 2, value=4096),
    ),
    "a node has two category sets": (of_frame, two_sets),
}


@pytest.mark.parametrize("said", DOCUMENTS)
def test_documents(said: str) -> None:
    make, change = DOCUMENTS[said]
    document = make()
    change(document)
    with pytest.raises(ModelError, match=said):
        read(json.dumps(document).encode(), missing=None)


def test_a_dart_whose_leaves_are_vectors() -> None:
    document = vectors("gbtree")
    count = len(document["learner"]["gradient_booster"]["model"]["trees"])
    document["learner"]["gradient_booster"]["weight_drop"] = [1.0] * count
    holder = document["learner"]["gradient_booster"]
    if tuple(document["version"])[:2] < (3, 3):
        document["learner"]["gradient_booster"] = {
            "name": "dart",
            "gbtree": {key: holder[key] for key in holder if key != "weight_drop"},
            "weight_drop": [1.0] * count,
        }
    with pytest.raises(UnsupportedModelError, match="a dart whose leaves are vectors"):
        read(json.dumps(document).encode(), missing=None)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("CODES", 8, r"categories together; fatt reads up to 8\."),
        ("SET_BITS", -(10**9), "the category sets of the model take .* bits"),
    ],
)
def test_limits(
    limit: str, value: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, limit, value)
    rows = RNG.integers(0, 7, size=(200, 2)).astype(float)
    model = xgboost.XGBClassifier(
        n_estimators=4, max_depth=4, enable_categorical=True,
        feature_types=["c", "c"], max_cat_to_onehot=1,
    ).fit(rows, (rows.sum(axis=1) % 2).astype(int))  # fmt: skip
    with pytest.raises(UnsupportedModelError, match=said):
        fatt.load(model)


def fitted() -> Any:
    return xgboost.XGBClassifier(n_estimators=2, max_depth=2).fit(X, Y)


def told_otherwise() -> Any:
    model = fitted()
    model.objective = "binary:logitraw"
    return model


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: xgboost.DMatrix(X), "cannot import a xgboost.core.DMatrix: it is no"),
        (lambda: fitted().set_params(missing="NA"), "missing='NA', which is no number"),
        (
            told_otherwise,
            "says its objective is 'binary:logitraw', and its booster",
        ),
    ],
)
def test_objects(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(UnsupportedModelError, match=said):
        fatt.load(make())


def changed(at: int, value: int) -> bytes:
    data = bytearray(BINARY.read_bytes())
    data[at : at + 4] = value.to_bytes(4, "little")
    return bytes(data)


def test_binary_files() -> None:
    data = BINARY.read_bytes()
    name = data.index(b"gbtree")
    linear = data[: name - 8] + (8).to_bytes(8, "little") + b"gblinear"
    for content, said in (
        (changed(4, 2**20), "1048576 features, more than the"),
        (changed(name + 6, 0), "no trees"),
        (linear + data[name + 6 :], "linear"),
    ):
        with pytest.raises(UnsupportedModelError, match=said):
            read(content, missing=None)


def test_what_is_not_at_hand() -> None:
    kept = MODELS / "xgboost-2.0.3-logistic.ubj"
    with pytest.raises(NotAtHand, match=r"XGBoost 2\.0\.3 saved it, and"):
        assert fatt.load(kept).live.labels(np.zeros((1, 4)))
    model = fatt.load(vectors_of_an_object())
    with pytest.raises(UnsupportedModelError, match="hold one value per class"):
        model.live.leaves()


def vectors_of_an_object() -> Any:
    return xgboost.XGBClassifier(
        n_estimators=2, max_depth=2, multi_strategy="multi_output_tree"
    ).fit(X, np.digitize(X[:, 1], [-0.5, 0.5]))
