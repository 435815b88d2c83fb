"""XGBoost's model files, JSON or UBJSON, without the xgboost package.

This module knows what a file says; `fatt.importers.xgboost` knows what XGBoost makes
of it. Both formats hold the same document.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.registry import FEATURES
from fatt.importers.xgboost import ubjson
from fatt.importers.xgboost.arrays import (
    TreeArrays,
    count,
    fail,
    members_of,
    numbers,
    read_trees,
    singles,
)
from fatt.importers.xgboost.members import Version, check_members, check_objective

LINEAR = (
    "the model is a linear one (booster gblinear) and has no trees; fatt verifies tree "
    "models."
)
NO_TREES = "the model has no trees yet; train it before it is verified."

#: What an objective is called today.
NEW_NAMES = {"reg:linear": "reg:squarederror"}

_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class ModelFile:
    """What a model file says, checked for everything but the shape of the trees."""

    format: str
    version: tuple[int, ...]
    booster: str
    objective: str
    n_outputs: int
    base_score: NDArray[np.float32]
    feature_names: list[str]
    feature_types: list[str]
    n_features: int
    # What kind of model saved it: classifier, regressor, or empty.
    saved_by: str
    best_iteration: int | None
    # Trees up to the end of each round of boosting.
    round_ends: NDArray[np.int64]
    groups: NDArray[np.int64]
    # What the leaves of each tree are multiplied with, if it was trained with dropout.
    weights: NDArray[np.float32] | None
    trees: TreeArrays
    # The stored categories of each feature; None where there are none.
    categories: list[tuple[str, ...] | tuple[int, ...] | None]


def parse(data: bytes) -> ModelFile:
    """Read the bytes of a model file.

    Raises
    ------
    MalformedModelError
        If the file is damaged or contradicts itself.
    UnsupportedModelError
        If it holds something else than trees for one target, or a member that is not
        known.
    """
    format, document = _document(data)
    learner = _member(document, "learner", Mapping, "the file")
    booster = _member(learner, "gradient_booster", Mapping, "the learner")
    version = _version(document)
    check_members("the file", document, version)
    check_members("the learner", learner, version)
    name = _member(booster, "name", str, "the booster")
    if name == "gblinear":
        raise UnsupportedModelError(LINEAR)
    if name not in {"gbtree", "dart"}:
        raise UnsupportedModelError(
            f"the booster is {name!r}; fatt knows 'gbtree' and 'dart'."
        )
    check_members(f"the booster {name}", booster, version)
    holder = booster
    if name == "dart":
        holder = _member(booster, "gbtree", Mapping, name)
        check_members("the gbtree of dart", holder, version)
    model = _member(holder, "model", Mapping, "the booster")
    check_members("the model", model, version)
    objective = _member(learner, "objective", Mapping, "the learner")
    objective_name = _member(objective, "name", str, "the objective")
    check_objective(objective, version)
    param = _member(learner, "learner_model_param", Mapping, "the learner")
    check_members("learner_model_param", param, version)
    n_features = _integer(param, "num_feature", FEATURES)
    n_outputs = _n_outputs(param)
    trees = _member(model, "trees", list | ubjson.Table, "the booster")
    if not trees:
        raise UnsupportedModelError(NO_TREES)
    table = members_of(trees) if isinstance(trees, list) else trees
    arrays = read_trees(table, version)
    n_trees = len(arrays.sizes)
    return ModelFile(
        format=format,
        version=version,
        booster=name,
        objective=NEW_NAMES.get(objective_name, objective_name),
        n_outputs=n_outputs,
        base_score=_base_score(param, n_outputs),
        feature_names=_texts(learner, "feature_names", n_features),
        feature_types=_texts(learner, "feature_types", n_features),
        n_features=n_features,
        saved_by=saved_by(_attributes(learner)),
        best_iteration=best_iteration(_attributes(learner)),
        round_ends=_round_ends(model, n_outputs, arrays, version),
        groups=_groups(model, n_outputs, n_trees),
        weights=_weights(name, booster, model, n_trees),
        trees=arrays,
        categories=_categories(model, n_features, version),
    )


def _document(data: bytes) -> tuple[str, Mapping[str, Any]]:
    if data[:1] == b"[":
        raise UnsupportedModelError(
            "the file holds a JSON list, and no model; if XGBoost's dump_model wrote "
            "it, for people to read, save the model with save_model('model.json')."
        )
    if data.startswith(b"{L"):
        format, document = "UBJSON", ubjson.decode(data, table="trees")
    else:
        format, document = "JSON", _json(data)
    if not isinstance(document, Mapping):
        fail(f"the document is a {type(document).__name__}, not an object")
    if "tree_info" in document and "learner" not in document:
        raise UnsupportedModelError(
            "the file is what LightGBM's dump_model writes for people to read; save "
            "the model with save_model('model.txt')."
        )
    if "learner" not in document:
        some = ", ".join(map(repr, list(document)[:5])) or "nothing"
        raise UnsupportedModelError(
            f"the file is {format}, and no model of XGBoost or CatBoost: it holds "
            f"{some[:200]}. Pass the file that save_model wrote."
        )
    return format, document


def _json(data: bytes) -> Any:
    try:
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError:
            # XGBoost writes NaN for the thresholds that a node does not have, and
            # Infinity. They are no JSON; the standard library reads them.
            if b"NaN" not in data and b"Infinity" not in data:
                raise
            return json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise MalformedModelError(
            f"the file is not JSON: {reason}. It is damaged or cut short; save the "
            "model again."
        ) from None


def _member(holder: Mapping[str, Any], key: str, kind: Any, where: str) -> Any:
    if key not in holder:
        fail(f"{where} has no {key!r}")
    value = holder[key]
    if not isinstance(value, kind):
        fail(f"{key!r} of {where} is a {type(value).__name__}")
    return value


def _integer(holder: Mapping[str, Any], key: str, most: int) -> int:
    return count(_member(holder, key, str, "the model"), key, most)


def _version(document: Mapping[str, Any]) -> Version:
    return tuple(numbers(document.get("version", []), "iu", "version").tolist())


def _n_outputs(param: Mapping[str, Any]) -> int:
    classes = _integer(param, "num_class", 2**31)
    targets = _integer(param, "num_target", 2**31) if "num_target" in param else 1
    if targets < 1:
        fail("'num_target' is 0")
    return n_outputs_of(classes, targets)


def n_outputs_of(n_classes: int, n_targets: int) -> int:
    """Return how many scores there are, if they are about one thing.

    Parameters
    ----------
    n_classes
        As XGBoost counts them: zero or one for two classes, and for numbers.
    n_targets
        Number of labels of each row.
    """
    if n_targets > 1:
        raise UnsupportedModelError(
            f"the model has {n_targets} targets; fatt verifies classifiers with one "
            "label. Train one model per label."
        )
    return max(n_classes, 1)


def _base_score(param: Mapping[str, Any], n_outputs: int) -> NDArray[np.float32]:
    text = _member(param, "base_score", str, "the model")
    # One number, or since XGBoost 3.1 a list with one per class.
    parts = (text[1:-1] if text[:1] + text[-1:] == "[]" else text).split(",")
    if not all(_DECIMAL.fullmatch(part) for part in parts):
        fail(f"the base score is {text[:40]!r}")
    scores = singles(np.array([float(part) for part in parts]), "the base score")
    if len(scores) not in {1, n_outputs} or not np.isfinite(scores).all():
        fail(f"the base score is {text[:40]!r} for {n_outputs} output(s)")
    return scores


def _attributes(learner: Mapping[str, Any]) -> Mapping[str, Any]:
    attributes = learner.get("attributes", {})
    if not isinstance(attributes, Mapping):
        fail("the attributes are no object")
    return attributes


def saved_by(attributes: Mapping[str, Any]) -> str:
    """Return what kind of model saved the file, if its attributes say so."""
    note = attributes.get("scikit_learn", "")
    kinds = ("classifier", "regressor", "ranker")
    kind = next((k for k in kinds if isinstance(note, str) and f'"{k}"' in note), "")
    if kind == "ranker":
        raise UnsupportedModelError(
            "the file was saved by a ranker, and a rank has no meaning for one person; "
            "fatt reads classifiers and regressors."
        )
    return kind


def best_iteration(attributes: Mapping[str, Any]) -> int | None:
    """Return the best iteration of early stopping, if attributes say so."""
    if "best_iteration" not in attributes:
        return None
    return _integer(attributes, "best_iteration", 2**31)


def _texts(learner: Mapping[str, Any], key: str, n_features: int) -> list[str]:
    texts = learner.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        fail(f"{key!r} is not a list of texts")
    if len(texts) not in {0, n_features}:
        fail(f"{key!r} has {len(texts)} entries for {n_features} features")
    return texts


def _groups(
    model: Mapping[str, Any], n_outputs: int, n_trees: int
) -> NDArray[np.int64]:
    info = numbers(model.get("tree_info"), "iu", "tree_info")
    check_groups(info, n_outputs, n_trees)
    return info


def check_groups(info: NDArray[np.int64], n_outputs: int, n_trees: int) -> None:
    """Refuse trees of outputs that do not exist.

    Parameters
    ----------
    info
        The output that each tree adds to.
    n_outputs, n_trees
        How many there are.
    """
    if len(info) != n_trees:
        fail(f"'tree_info' has {len(info)} entries for {n_trees} trees")
    if info.min() < 0 or info.max() >= n_outputs:
        fail(f"'tree_info' points beyond the {n_outputs} output(s)")


def _round_ends(
    model: Mapping[str, Any], n_outputs: int, trees: TreeArrays, version: Version
) -> NDArray[np.int64]:
    n_trees = len(trees.sizes)
    param = _member(model, "gbtree_model_param", Mapping, "the booster")
    check_members("gbtree_model_param", param, version)
    if _integer(param, "num_trees", 2**31) != n_trees:
        fail(f"'num_trees' is {param['num_trees']}, and there are {n_trees} trees")
    if "iteration_indptr" not in model:
        # Written since XGBoost 2.0, and the trees of a forest since 1.6; whoever reads
        # an older file takes them for one.
        parallel = 1
        if "num_parallel_tree" in param:
            parallel = max(_integer(param, "num_parallel_tree", n_trees), 1)
        step = parallel * (1 if len(trees.vectors) else n_outputs)
        return even_rounds(n_trees, step)
    ends = numbers(model["iteration_indptr"], "iu", "iteration_indptr")
    if (
        len(ends) < 2
        or ends[0] != 0
        or ends[-1] != n_trees
        or (np.diff(ends) < 0).any()
    ):
        fail(f"'iteration_indptr' does not lead from 0 to {n_trees} trees")
    return ends[1:]


def even_rounds(n_trees: int, step: int) -> NDArray[np.int64]:
    """Return up to which tree each round goes, if all have as many.

    Parameters
    ----------
    n_trees
        Number of trees.
    step
        Number of trees of a round.
    """
    if n_trees % step:
        fail(f"{n_trees} trees do not make rounds of {step}")
    return np.arange(step, n_trees + 1, step, dtype=np.int64)


def _weights(
    name: str, booster: Mapping[str, Any], model: Mapping[str, Any], n_trees: int
) -> NDArray[np.float32] | None:
    """Read what the trees are multiplied with; None if with nothing.

    Up to XGBoost 3.2 a booster of its own, dart, has them. Since then there is no
    such booster: 3.3 writes them beside the model of gbtree, and 3.4 into it.
    """
    found = [
        holder["weight_drop"] for holder in (booster, model) if "weight_drop" in holder
    ]
    if not found and name == "gbtree":
        return None
    if len(found) != 1:
        fail(f"{'no' if not found else 'more than one'} 'weight_drop' has the weights")
    weights = numbers(found[0], "iuf", "weight_drop")
    if name == "gbtree" and not len(weights):
        return None
    if len(weights) != n_trees:
        # XGBoost 3.3 and later load a shorter list, and read beyond its end.
        fail(f"'weight_drop' has {len(weights)} entries for {n_trees} trees")
    return singles(weights, "a weight of a tree")


def _categories(
    model: Mapping[str, Any], n_features: int, version: Version
) -> list[tuple[str, ...] | tuple[int, ...] | None]:
    """Read the categories of data frames, which XGBoost stores since 3.1."""
    cats = model.get("cats")
    if cats is None:
        return [None] * n_features
    if not isinstance(cats, Mapping):
        fail("'cats' is no object")
    check_members("cats", cats, version)
    encoders = _member(cats, "enc", list, "'cats'")
    if not encoders:
        return [None] * n_features
    if len(encoders) != n_features:
        fail(f"'cats' has {len(encoders)} encoders for {n_features} features")
    labels = [_encoder(encoder, version) for encoder in encoders]
    ends = numbers(cats.get("feature_segments"), "iu", "feature_segments")
    order = numbers(cats.get("sorted_idx"), "iu", "sorted_idx")
    if len(ends) != n_features + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
        fail("'feature_segments' does not lead through the features")
    for index, known in enumerate(labels):
        ranks = order[ends[index] : ends[index + 1]].tolist()
        # XGBoost searches the labels in this order, and finds others if it is wrong.
        if known is not None and (
            sorted(ranks) != list(range(len(known)))
            or [known[rank] for rank in ranks] != sorted(known)
        ):
            fail(f"'sorted_idx' does not sort the categories of feature {index}")
    return labels


def _encoder(
    encoder: Any, version: Version
) -> tuple[str, ...] | tuple[int, ...] | None:
    if not isinstance(encoder, Mapping):
        fail("an encoder of 'cats' is no object")
    check_members("an encoder", encoder, version)
    values = numbers(encoder.get("values"), "iu", "values")
    if "offsets" not in encoder:
        return tuple(values.tolist())
    offsets = numbers(encoder["offsets"], "iu", "offsets")
    if not len(offsets):
        return None
    if offsets[0] != 0 or (np.diff(offsets) < 0).any() or offsets[-1] > len(values):
        fail("the offsets of an encoder do not increase within its letters")
    if (values < 0).any() or (values > 127).any():
        # XGBoost counts letters and stores bytes, so that it cuts such labels, and
        # all after them, in the wrong places. Only the codes are certain.
        return None
    letters = values.astype(np.uint8).tobytes().decode("ascii")
    return tuple(letters[a:b] for a, b in itertools.pairwise(offsets.tolist()))
