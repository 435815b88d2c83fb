"""XGBoost's files by version: dart in all its forms, and members unknown to fatt."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fatt
from fatt.errors import FattError, MalformedModelError, UnsupportedModelError
from fatt.importers.xgboost import read
from fatt.importers.xgboost.live import _trees
from fatt.importers.xgboost.ubjson import Packed, decode
from tests.importers.test_ubjson import encode
from tests.importers.test_xgboost import (
    IS_BEFORE_3_3,
    classifier,
    document,
    table,
    ubjson,
)
from tests.laws.effort import EFFORT, settings
from tests.probes import probe_rows, same_bits

xgboost = pytest.importorskip("xgboost")
pytestmark = pytest.mark.xgboost

Document = dict[str, Any]
MODELS = Path(__file__).parent.parent / "data" / "models"


def unpacked(value: Any) -> Any:
    """Turn what `decode` returns into what `encode` takes."""
    if isinstance(value, Packed):
        return np.frombuffer(value.payload, value.dtype)
    if isinstance(value, dict):
        return {key: unpacked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unpacked(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, float):
        return np.float32(value)
    sizes = (np.int8, np.int16, np.int32, np.int64)
    return next(size(value) for size in sizes if np.iinfo(size).max >= abs(value))


def as_ubjson(changed: Document) -> bytes:
    return encode(unpacked(changed))


def as_json(changed: Document) -> bytes:
    return json.dumps(changed).encode()


def of_version_3_2(model: Document) -> Document:
    """A dart as 3.2 writes it, also if a later version trained it."""
    changed = copy.deepcopy(model)
    changed["version"] = [3, 2, 0]
    booster = changed["learner"]["gradient_booster"]
    if booster["name"] != "dart":
        weights = booster["model"].pop("weight_drop")
        changed["learner"]["gradient_booster"] = {
            "name": "dart",
            "gbtree": booster,
            "weight_drop": weights,
        }
    return changed


def of_version_3_3(model: Document) -> Document:
    changed = of_version_3_2(model)
    changed["version"] = [3, 3, 0]
    dart = changed["learner"]["gradient_booster"]
    changed["learner"]["gradient_booster"] = {
        "name": "gbtree",
        "model": dart["gbtree"]["model"],
        "weight_drop": dart["weight_drop"],
    }
    return changed


def of_version_3_4(model: Document) -> Document:
    changed = of_version_3_3(model)
    changed["version"] = [3, 4, 1]
    booster = changed["learner"]["gradient_booster"]
    booster["model"]["weight_drop"] = booster.pop("weight_drop")
    return changed


def dart(objective: str, seed: int = 0) -> tuple[Any, Any]:
    """A model trained with dropout, and its rows."""
    X, two, three = table(seed, 300)
    clf = classifier(
        booster="dart",
        rate_drop=0.5,
        n_estimators=12,
        base_score=0.37,
        objective=objective,
        random_state=seed,
    )
    return clf.fit(X, two if "binary" in objective else three), X


def documents_of(clf: Any) -> list[tuple[Document, Any]]:
    """The same model from JSON and from UBJSON, and how it is written again."""
    return [
        (document(clf), as_json),
        (decode(ubjson(clf), table="none"), as_ubjson),
    ]


@pytest.mark.parametrize(
    "objective", ["binary:logistic", "binary:logitraw", "multi:softprob"]
)
@pytest.mark.parametrize("form", [of_version_3_3, of_version_3_4])
def test_dart_of_newer_versions_keeps_its_weights(form: Any, objective: str) -> None:
    # Since 3.3 a leaf is multiplied with its tree's weight and added, for arrays too.
    # That is what 3.2 does for a DMatrix.
    clf, X = dart(objective)
    booster = clf.get_booster()
    margins = booster.predict(xgboost.DMatrix(X), output_margin=True)
    answers = booster.predict(xgboost.DMatrix(X))
    labels = answers.argmax(axis=1) if answers.ndim > 1 else answers > 0.5
    dropped = of_version_3_2(document(clf))
    dropped["learner"]["gradient_booster"] = {
        "name": "gbtree",
        "model": dropped["learner"]["gradient_booster"]["gbtree"]["model"],
    }
    without = read(as_json(dropped), missing=None).ensemble
    for model, write in documents_of(clf):
        ensemble = read(write(form(model)), missing=None).ensemble
        assert same_bits(ensemble.raw_scores(X), margins.reshape(len(X), -1))
        np.testing.assert_array_equal(ensemble.predict(X), labels)
        assert (ensemble.predict(X) != without.predict(X)).any()


def test_dart_of_a_newer_version_is_not_asked_of_an_older_library(
    tmp_path: Path,
) -> None:
    if not IS_BEFORE_3_3:
        pytest.skip("the library is as new as the file")
    clf, X = dart("binary:logistic")
    path = tmp_path / "model.json"
    path.write_bytes(as_json(of_version_3_4(document(clf))))
    similarity = fatt.Similarity(noise={"f0": 0.4})
    report = fatt.verify(path, X, similarity=similarity)
    assert report.counts["unfair"]
    assert {case.replayed_on for case in report.counterexamples} == {"ensemble"}


@pytest.mark.parametrize("form", [of_version_3_3, of_version_3_4])
def test_weights_that_the_version_drops_are_refused(form: Any) -> None:
    # XGBoost 3.2 takes such a file, and forgets the weights.
    changed = form(document(dart("binary:logistic")[0]))
    changed["version"] = [3, 2, 0]
    with pytest.raises(MalformedModelError, match="'weight_drop'"):
        read(as_json(changed), missing=None)


def test_weights_inside_the_model_are_not_those_of_3_3() -> None:
    changed = of_version_3_4(document(dart("binary:logistic")[0]))
    changed["version"] = [3, 3, 0]
    with pytest.raises(MalformedModelError, match="'weight_drop'"):
        read(as_json(changed), missing=None)


def test_the_booster_dart_ended_with_3_2() -> None:
    # A newer library rounds otherwise, and writes another name.
    changed = of_version_3_2(document(dart("binary:logistic")[0]))
    changed["version"] = [3, 3, 0]
    with pytest.raises(MalformedModelError, match="dart"):
        read(as_json(changed), missing=None)


@pytest.mark.parametrize("form", [of_version_3_3, of_version_3_4])
def test_too_few_or_too_many_weights_are_refused(form: Any) -> None:
    # XGBoost loads fewer weights than trees, and reads beyond their end to predict.
    for size in (-1, 1):
        changed = of_version_3_2(document(dart("binary:logistic")[0]))
        weights = changed["learner"]["gradient_booster"]["weight_drop"]
        weights[:] = weights[:size] if size < 0 else [*weights, 1.0]
        with pytest.raises(MalformedModelError, match="weight_drop"):
            read(as_json(form(changed)), missing=None)


@pytest.mark.parametrize("form", [of_version_3_2, of_version_3_3, of_version_3_4])
def test_leaves_that_are_weighted_once_more_are_not_changed(form: Any) -> None:
    assert _trees(document(classifier().fit(*table()[:2])))
    with pytest.raises(UnsupportedModelError, match="dart"):
        _trees(form(document(dart("binary:logistic")[0])))


def test_weights_in_two_places_are_refused() -> None:
    changed = of_version_3_4(document(dart("binary:logistic")[0]))
    booster = changed["learner"]["gradient_booster"]
    booster["weight_drop"] = booster["model"]["weight_drop"]
    with pytest.raises(MalformedModelError, match="more than one"):
        read(as_json(changed), missing=None)


def test_no_weights_are_none() -> None:
    X, two, _ = table()
    model = document(classifier().fit(X, two))
    plain = read(as_json(model), missing=None).ensemble
    for holder in ("gradient_booster", "model"):
        changed = copy.deepcopy(model)
        changed["version"] = [3, 4, 0]
        booster = changed["learner"]["gradient_booster"]
        (booster if holder == "gradient_booster" else booster["model"])[
            "weight_drop"
        ] = []
        assert read(as_json(changed), missing=None).digest == plain.digest


def test_trees_in_another_order_than_their_numbers_are_refused() -> None:
    X, two, _ = table()
    for model, write in documents_of(classifier().fit(X, two)):
        trees = model["learner"]["gradient_booster"]["model"]["trees"]
        trees[0]["id"], trees[1]["id"] = trees[1]["id"], trees[0]["id"]
        with pytest.raises(MalformedModelError, match="numbered"):
            read(write(model), missing=None)


def holders(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all objects, but the attributes, which are the user's own."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            if key != "attributes":
                yield from holders(item, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, item in enumerate(value):
            yield from holders(item, (*path, index))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda inner, key: inner[key], path, value)


@functools.cache
def kept() -> list[tuple[str, bytes]]:
    files = sorted([*MODELS.glob("xgboost-*.json"), *MODELS.glob("xgboost-*.ubj")])
    found = [(file.suffix, file.read_bytes()) for file in files]
    clf, _ = dart("multi:softmax", 1)
    for form in (of_version_3_3, of_version_3_4):
        for model, write in documents_of(clf):
            suffix = ".json" if write is as_json else ".ubj"
            found.append((suffix, write(form(model))))
    return found


@functools.cache
def before(raw: bytes) -> tuple[fatt.Ensemble, Any, Any]:
    ensemble = read(raw, missing=None).ensemble
    rows = probe_rows(ensemble, np.random.default_rng(0), 300)
    return ensemble, rows, ensemble.raw_scores(rows)


def loaded(suffix: str, raw: bytes) -> tuple[Document, Any]:
    if suffix == ".json":
        return json.loads(raw), as_json
    return decode(raw, table="none"), as_ubjson


@settings(max_examples=120 * EFFORT, deadline=None, derandomize=True)
@given(st.data())
def test_what_a_future_version_may_do_never_changes_an_answer_unsaid(
    data: st.DataObject,
) -> None:
    suffix, raw = data.draw(st.sampled_from(kept()))
    ensemble, rows, scores = before(raw)
    model, write = loaded(suffix, raw)
    act = data.draw(st.sampled_from(["add", "add to all trees", "rename", "version"]))
    if act == "version":
        major, minor = data.draw(st.sampled_from([(3, 2), (3, 3), (3, 4), (4, 0)]))
        model["version"] = [major, minor, 0]
    elif act == "add to all trees":
        booster = model["learner"]["gradient_booster"]
        trees = booster.get("gbtree", booster)["model"]["trees"]
        where = data.draw(st.sampled_from([(), ("tree_param",)]))
        for tree in trees:
            at(tree, where)["linear"] = "1"
    else:
        holder = at(model, data.draw(st.sampled_from(list(holders(model)))))
        key = data.draw(st.sampled_from(["shift", "weight_drop", "categories", "n"]))
        if act == "add" and key not in holder:
            value = data.draw(st.sampled_from(["0", [], {}, {"a": "b"}, [1.5], 2]))
            holder[key] = value
        elif holder:
            old = data.draw(st.sampled_from(sorted(holder)))
            holder[old + "_2"] = holder.pop(old)
    try:
        after = read(write(model), missing=None).ensemble
    except FattError:
        return
    # No weights at all are no weights, and so is a version that reads all this.
    assert after.features == ensemble.features
    assert same_bits(after.raw_scores(rows), scores)
    assert np.array_equal(after.predict(rows), ensemble.predict(rows))


@pytest.mark.parametrize(("suffix", "raw"), kept()[::3])
def test_a_member_that_nobody_knows_is_named(suffix: str, raw: bytes) -> None:
    n_holders = len(list(holders(loaded(suffix, raw)[0])))
    for place in range(0, n_holders, 1 + n_holders // 12):
        model, write = loaded(suffix, raw)
        path = list(holders(model))[place]
        if "trees" in path:
            trees = at(model, path[: path.index("trees") + 1])
            for tree in trees:
                at(tree, path[path.index("trees") + 2 :])["shift"] = "0"
        else:
            at(model, path)["shift"] = "0"
        with pytest.raises(UnsupportedModelError, match="'shift'"):
            read(write(model), missing=None)


def test_attributes_are_the_users_own() -> None:
    X, two, _ = table()
    clf = classifier().fit(X, two)
    clf.get_booster().set_attr(shift="12", weight_drop="[1]")
    assert np.array_equal(fatt.load(clf).predict(X), clf.predict(X))
