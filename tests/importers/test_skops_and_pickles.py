"""Files of fitted scikit-learn objects: exact when sound, a clear error when not."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.lib.recfunctions as rfn
import pandas as pd
import pytest
import scipy.sparse
import sklearn
import skops.io
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import (
    FattError,
    MalformedModelError,
    MissingDependencyError,
    UnsupportedModelError,
    UntrustedModelError,
)
from fatt.importers.files import pickles
from fatt.importers.files import skops as reader

rng = np.random.default_rng(0)
X = rng.choice([0.0, 1.0, 2.5], (60, 3))
Y = rng.choice(["a", "b", "c"], 60)
FRAME = pd.DataFrame({"x": X[:, 0], "g": pd.Categorical(Y), "z": X[:, 2]})


def read(data: bytes) -> fatt.Ensemble:
    return reader.read(data, missing=None).ensemble


def fitted_models() -> dict[str, Any]:
    small = {"max_depth": 3, "random_state": 0}
    return {
        "tree": DecisionTreeClassifier(**small).fit(X, Y),
        "forest": RandomForestClassifier(4, **small).fit(X, Y),
        "extra": ExtraTreesClassifier(3, **small).fit(X, Y),
        "bagging": BaggingClassifier(
            n_estimators=3, random_state=np.random.RandomState(0)
        ).fit(X, Y),
        "boosting": GradientBoostingClassifier(n_estimators=2, **small).fit(X, Y),
        "exponential": GradientBoostingClassifier(
            n_estimators=2, loss="exponential", **small
        ).fit(X, Y == "a"),
        "hist": HistGradientBoostingClassifier(max_iter=3, **small).fit(X, Y),
        "hist-categories": HistGradientBoostingClassifier(
            max_iter=3, categorical_features=["g"], early_stopping=True, **small
        ).fit(FRAME, Y),
    }


MODELS = fitted_models()
TREE = skops.io.dumps(MODELS["tree"], compression=zipfile.ZIP_DEFLATED)
HIST = skops.io.dumps(MODELS["hist-categories"], compression=zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize("name", MODELS)
def test_skops_files_read_as_the_object_does(name, tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(MODELS[name], path)
    found = fatt.load(path).ensemble
    assert found == fatt.load(MODELS[name]).ensemble
    assert found.source.format == "skops file"
    assert found.source.notes == ()


def test_skops_files_of_pipelines():
    scaled = ColumnTransformer(
        [("scale", StandardScaler(), ["x"]), ("code", OneHotEncoder(), ["g"])],
        remainder="passthrough",
    )
    model = make_pipeline(scaled, DecisionTreeClassifier(max_depth=3)).fit(FRAME, Y)
    found = read(skops.io.dumps(model))
    assert found == fatt.load(model).ensemble
    assert np.array_equal(found.predict(FRAME), model.predict(FRAME))


@pytest.mark.parametrize(
    "selector",
    [
        make_column_selector(dtype_include="number"),
        make_column_selector(dtype_include=np.number, dtype_exclude=object),
        make_column_selector(pattern="x"),
    ],
)
def test_skops_files_of_selected_columns(selector):
    steps = ColumnTransformer([("scale", StandardScaler(), selector)])
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=3)).fit(FRAME, Y)
    found = read(skops.io.dumps(model))
    assert found == fatt.load(model).ensemble
    assert np.array_equal(found.predict(FRAME), model.predict(FRAME))


def test_a_path_at_the_end_of_a_pipeline_is_not_followed(tmp_path):
    # Otherwise a file could name another one, which runs code when it is read.
    path = tmp_path / "model.joblib"
    joblib.dump(MODELS["tree"], path)
    model = Pipeline([("scale", StandardScaler().fit(X)), ("model", str(path))])
    with pytest.raises(UnsupportedModelError, match="import a str"):
        fatt.load(model, allow_pickle=True)
    with pytest.raises(UnsupportedModelError, match="import a str"):
        read(skops.io.dumps(model))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("compress", [0, 3])
def test_pickles_read_as_the_object_does(name, compress, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump(MODELS[name], path, compress=compress)
    with pytest.raises(UntrustedModelError, match="allow_pickle=True"):
        fatt.load(path)
    found = fatt.load(path, allow_pickle=True).ensemble
    assert found == fatt.load(MODELS[name]).ensemble
    assert found.source.format == "pickle file"


def unpickler_of_joblib() -> str:
    return joblib.numpy_pickle.NumpyUnpickler.__module__


class Look:
    """Tells who would read another file at the time when this one is read."""

    def __reduce__(self) -> tuple[object, ...]:
        return unpickler_of_joblib, ()


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_pickles_change_nothing_for_others(compress, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump((MODELS["tree"], Look(), X), path, compress=compress)
    (tree, seen, rows), _ = pickles.unpickle(path.read_bytes())
    assert seen == "joblib.numpy_pickle"
    assert np.array_equal(rows, X)
    assert np.array_equal(tree.predict(X), MODELS["tree"].predict(X))


def test_damaged_and_strange_pickles():
    good = pickle.dumps(MODELS["tree"])
    assert (
        pickles.read(good, missing=None).ensemble == fatt.load(MODELS["tree"]).ensemble
    )
    with pytest.raises(MalformedModelError, match="cannot be loaded"):
        pickles.read(good[:200], missing=None)
    with pytest.raises(UnsupportedModelError, match="a dict with no model"):
        pickles.read(pickle.dumps({"model": 1}), missing=None)
    odd = DecisionTreeClassifier().fit(X, Y)
    odd.n_features_in_ = "three"
    with pytest.raises(MalformedModelError, match="ValueError"):
        pickles.read(pickle.dumps(odd), missing=None)


def test_skops_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fatt\[skops\]'"):
        read(TREE)


def test_other_types_are_named_and_not_built():
    steps = make_pipeline(FunctionTransformer(os.getcwd), MODELS["tree"])
    with pytest.raises(UntrustedModelError, match=r"getcwd"):
        read(skops.io.dumps(steps))


def test_parts_that_no_tree_model_needs_are_refused():
    matrix = scipy.sparse.csr_matrix(np.eye(3))
    with pytest.raises(UntrustedModelError, match=r"csr_matrix.*SparseMatrixNode"):
        read(skops.io.dumps([matrix, MODELS["tree"]]))


def test_objects_that_are_no_model_are_refused():
    with pytest.raises(UnsupportedModelError, match="import a list"):
        read(skops.io.dumps([MODELS["tree"]]))


def changed(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The archive with each member replaced."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


def with_attribute(data: bytes, name: str, value: Any) -> bytes:
    """The archive with one attribute of the model replaced."""

    def change(member: str, content: bytes) -> bytes:
        if member != "schema.json":
            return content
        schema = json.loads(content)
        part = schema["content"]["content"][name]
        part.clear()
        part.update(
            __class__="str",
            __module__="builtins",
            __loader__="JsonNode",
            content=json.dumps(value),
            is_json=True,
        )
        return json.dumps(schema).encode()

    return changed(data, change)


@pytest.mark.parametrize(
    ("version", "message"),
    [("1.2.2", r"1\.2\.2.*1\.5 to 1\.9"), ("99.1", r"99\.1.*newer")],
)
def test_versions_out_of_reach_are_refused(version, message):
    with pytest.raises(UnsupportedModelError, match=message):
        read(with_attribute(TREE, "_sklearn_version", version))


def test_another_version_is_told():
    found = read(with_attribute(TREE, "_sklearn_version", "1.5.0"))
    assert found == fatt.load(MODELS["tree"]).ensemble
    assert found.source.version == "1.5.0"
    assert "scikit-learn 1.5.0" in found.source.notes[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features_in_", 10**12),
        ("n_features_in_", -1),
        ("n_features_in_", "many"),
        ("n_features_in_", 2),
        ("classes_", ["a", "b"]),
        ("classes_", None),
        ("n_outputs_", 10**30),
        ("tree_", 7),
        ("tree_", None),
    ],
)
def test_attributes_that_do_not_fit(name, value):
    with pytest.raises(FattError):
        read(with_attribute(TREE, name, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_predictors", []),
        ("_predictors", [[1, 2, 3]]),
        ("_baseline_prediction", 0.5),
        ("is_categorical_", [True, True, True]),
        ("is_categorical_", [True]),
        ("_preprocessor", None),
        ("_preprocessor", "none"),
        ("n_features_in_", 10**12),
    ],
)
def test_attributes_of_histogram_boosting_that_do_not_fit(name, value):
    with pytest.raises(FattError):
        read(with_attribute(HIST, name, value))


def with_nodes(data: bytes, field: str, change: Callable[[np.ndarray], None]) -> bytes:
    """The archive with its first table of nodes that has a field changed in place."""
    done = []

    def rewrite(member: str, content: bytes) -> bytes:
        if member == "schema.json" or done:
            return content
        array = np.load(io.BytesIO(content))
        if field not in (array.dtype.names or ()):
            return content
        change(array)
        done.append(member)
        stream = io.BytesIO()
        np.save(stream, array)
        return stream.getvalue()

    result = changed(data, rewrite)
    assert done
    return result


@pytest.mark.parametrize(
    ("data", "left", "right"),
    [(TREE, "left_child", "right_child"), (HIST, "left", "right")],
    ids=["tree", "hist"],
)
@pytest.mark.parametrize("child", [0, 1, 10**6, 2**31 - 1, 2**32 - 1, -2])
def test_hostile_children(data, left, right, child):
    def change(nodes: np.ndarray) -> None:
        if child >= 0 or nodes[left].dtype.kind == "i":
            nodes[left][0] = nodes[right][0] = child
        else:
            nodes[right][0] = 0

    with pytest.raises(MalformedModelError):
        read(with_nodes(data, left, change))


@pytest.mark.parametrize("feature", [-1, -2, 3, 10**9, -(2**62)])
@pytest.mark.parametrize(
    ("data", "field"), [(TREE, "feature"), (HIST, "feature_idx")], ids=["tree", "hist"]
)
def test_hostile_features(data, field, feature):
    def change(nodes: np.ndarray) -> None:
        nodes[field][0] = feature

    with pytest.raises(MalformedModelError):
        read(with_nodes(data, field, change))


SELECTED = {
    "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    "forest": RandomForestClassifier(2, max_depth=2, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0),
}


@pytest.mark.parametrize("name", SELECTED)
def test_the_model_inside_a_selector_is_checked_before_it_is_asked(name):
    """Asked for importances, compiled code follows any index: it killed the process."""
    selector = SelectFromModel(SELECTED[name], threshold="median")
    model = make_pipeline(selector, DecisionTreeClassifier(max_depth=3)).fit(X, Y)
    data = skops.io.dumps(model)
    assert read(data) == fatt.load(model).ensemble

    def change(nodes: np.ndarray) -> None:
        nodes["feature"][0] = 2**44

    with pytest.raises(MalformedModelError, match="feature outside the 3"):
        read(with_nodes(data, "feature", change))


def test_a_selector_that_asks_by_another_way_is_refused():
    selector = SelectFromModel(
        SELECTED["tree"], importance_getter="feature_importances_"
    )
    model = make_pipeline(selector, DecisionTreeClassifier()).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="importance_getter='feature_i"):
        fatt.load(model)


@pytest.mark.parametrize("count", [2**44, -1, 0])
def test_trees_that_claim_other_numbers_of_nodes(count):
    def change(member: str, content: bytes) -> bytes:
        if member != "schema.json":
            return content
        schema = json.loads(content)
        tree = schema["content"]["content"]["tree_"]
        tree["content"]["content"]["node_count"]["content"] = json.dumps(count)
        return json.dumps(schema).encode()

    data = changed(TREE, change)
    if count > 0:
        # scikit-learn takes as many as there are.
        assert read(data) == fatt.load(MODELS["tree"]).ensemble
        return
    with pytest.raises(MalformedModelError):
        read(data)


def test_nodes_without_a_dimension():
    def change(member: str, content: bytes) -> bytes:
        if member == "schema.json":
            return content
        array = np.load(io.BytesIO(content))
        stream = io.BytesIO()
        np.save(stream, array[0] if array.dtype.names else array)
        return stream.getvalue()

    with pytest.raises(MalformedModelError, match=r"claims shape \(\)"):
        read(changed(TREE, change))


def test_codes_that_an_encoder_maps_far_away():
    words = rng.choice(["a", "b", "c", "rare"], (80, 1), p=[0.4, 0.3, 0.25, 0.05])
    encoder = OneHotEncoder(min_frequency=10, handle_unknown="ignore")
    tree = DecisionTreeClassifier(max_depth=2)
    model = make_pipeline(encoder, tree).fit(words, words[:, 0] == "a")
    data = skops.io.dumps(model)
    assert read(data) == fatt.load(model).ensemble
    mapping = encoder._default_to_infrequent_mappings[0]

    def change(member: str, content: bytes) -> bytes:
        if member == "schema.json":
            return content
        array = np.load(io.BytesIO(content))
        stream = io.BytesIO()
        far = np.array_equal(array, mapping)
        np.save(stream, array + 10**9 if far else array)
        return stream.getvalue()

    with pytest.raises(MalformedModelError, match="OneHotEncoder contradicts itself"):
        read(changed(data, change))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_hostile_leaves(value):
    def change(nodes: np.ndarray) -> None:
        nodes["value"] = value

    with pytest.raises(MalformedModelError):
        read(with_nodes(HIST, "value", change))


def test_hostile_category_splits():
    def far(nodes: np.ndarray) -> None:
        nodes["bitset_idx"] = 10**9
        nodes["is_categorical"] = 1

    with pytest.raises(MalformedModelError, match="category split"):
        read(with_nodes(HIST, "bitset_idx", far))

    def plain(nodes: np.ndarray) -> None:
        nodes["is_categorical"] = 0
        nodes["feature_idx"] = 0

    with pytest.raises(MalformedModelError, match="split by a threshold"):
        read(with_nodes(HIST, "bitset_idx", plain))


def header(shape: tuple[int, ...], descr: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


@pytest.mark.parametrize(
    ("shape", "descr"),
    [
        ((10**15,), "<f8"),
        ((10**15,), "|V0"),
        ((10**9, 10**9, 10**9), "<f8"),
        ((3,), "|O"),
        ((-5,), "<f8"),
    ],
)
def test_arrays_that_claim_more_than_they_hold(shape, descr):
    lie = header(shape, descr)
    with pytest.raises(MalformedModelError):
        read(changed(TREE, lambda name, old: old if name == "schema.json" else lie))


def test_zip_bombs():
    zeros = bytes(400 * 2**20)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("0.npy", zeros)
    with pytest.raises(MalformedModelError, match="unpacked"):
        read(stream.getvalue())


def part(content: Any, name: int) -> dict[str, Any]:
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "__id__": name,
        "content": content,
    }


def archive_of(schema: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    return stream.getvalue()


def test_parts_that_stand_for_endless_objects():
    chain: dict[str, Any] = part([], 1)
    for name in range(2, 90):
        # The second is a mere reference to the first.
        chain = part([chain, part([], name - 1)], name)
    with pytest.raises(MalformedModelError, match="unpacked"):
        read(archive_of({**chain, "protocol": 2}))
    own = part([part([part([], 1)], 2)], 1)
    with pytest.raises(MalformedModelError, match="contains itself"):
        read(archive_of({**own, "protocol": 2}))


def test_schemas_that_are_none():
    deep = "[" * 100_000 + "]" * 100_000
    for text in (deep, "{}", "[]", "7", '"x"', "{", '{"__loader__": 3}', "null"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("schema.json", text)
        with pytest.raises(FattError):
            read(stream.getvalue())


def test_other_compression_is_refused():
    packed = skops.io.dumps(MODELS["tree"], compression=zipfile.ZIP_LZMA)
    with pytest.raises(UnsupportedModelError, match="ZIP_DEFLATED"):
        read(packed)


@pytest.mark.parametrize("cut", [0, 3, 40, 1000, -5])
def test_truncated_files(cut):
    with pytest.raises(MalformedModelError):
        read(TREE[:cut])


@pytest.mark.parametrize("name", ["tree", "hist-categories"])
def test_mutated_files_are_read_or_refused(name):
    """Change single bytes inside the members, so that no checksum protects them."""
    data = skops.io.dumps(MODELS[name])
    draw = np.random.default_rng(1)
    outcomes = {True: 0, False: 0}
    for _ in range(150):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
        chosen = members[draw.integers(len(members))]
        if draw.random() < 0.5:
            chosen = "schema.json"

        def change(member: str, content: bytes, chosen: str = chosen) -> bytes:
            if member != chosen:
                return content
            spoilt = bytearray(content)
            for _ in range(draw.integers(1, 4)):
                spoilt[draw.integers(len(spoilt))] = draw.integers(256)
            return bytes(spoilt)

        try:
            found = read(changed(data, change))
            found.validate()
            outcomes[True] += 1
        except FattError:
            outcomes[False] += 1
    assert all(outcomes.values())


def test_a_skops_file_of_another_version_names_both(tmp_path: Path) -> None:
    """Trees of scikit-learn before 1.3 have nodes of another form."""
    path = tmp_path / "model.skops"
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2))
    tree = DecisionTreeClassifier(max_depth=2).fit(rows, rows[:, 0] > 0)
    skops.io.dump(tree, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = members["schema.json"].decode()
    installed = f'\\"{sklearn.__version__}\\"'
    assert installed in schema
    members["schema.json"] = schema.replace(installed, r"\"1.1.2\"").encode()
    [name] = [
        name
        for name, content in members.items()
        if name.endswith(".npy") and np.load(io.BytesIO(content)).dtype.names
    ]
    nodes = np.load(io.BytesIO(members[name]))
    stream = io.BytesIO()
    np.save(stream, rfn.drop_fields(nodes, "missing_go_to_left", usemask=False))
    members[name] = stream.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UnsupportedModelError) as caught:
        fatt.load(path)
    assert "saved with scikit-learn 1.1.2, and the installed" in str(caught.value)
    assert "export it there to ONNX" in str(caught.value)
