"""Every file, folder or object that is refused is refused for the true reason."""

from __future__ import annotations

import gzip
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    LabelEncoder,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import (
    MalformedModelError,
    MissingDependencyError,
    UnsupportedModelError,
    UntrustedModelError,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
NAMES = ["age", "pay", "debt"]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
)
WEIGHTS = json.dumps({"w": {"dtype": "F32"}}).encode()

FILES = {
    "model.pkl": (POINTER, r"Git LFS.*12,345 bytes.*git lfs pull"),
    "model.json": (POINTER, "Git LFS"),
    "model.txt": (POINTER, "Git LFS"),
    "model.onnx": (POINTER, "Git LFS"),
    "model.cbm": (POINTER, "Git LFS"),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 40, "HDF5.*Keras"),
    "saved_model.pb": (b"\x08\x01\x12\x10", "TensorFlow"),
    "model.tflite": (b"\x1c\0\0\0TFL3" + b"\0" * 8, "TensorFlow"),
    "model.safetensors": (len(WEIGHTS).to_bytes(8, "little") + WEIGHTS, "safetensors"),
    "model.pmml": (b'<?xml version="1.0"?>\n<PMML version="4.4"></PMML>', "PMML"),
    "other.xml": (b'<?xml version="1.0"?>\n<a/>', "XML"),
    "page.pkl": (b"\n<!DOCTYPE html><html>404", "web page"),
    "model.RData": (b"RDX3\nX\n", r"R's save\(\).*xgb.save"),
    "model.rds": (gzip.compress(b"X\n\0\0\0\x03"), r"R's saveRDS\(\)"),
    "people.parquet": (b"PAR1\0\0", "Parquet.*people"),
    "rows.npy": (b"\x93NUMPY\1\0", "array of NumPy"),
    "model.so": (b"\x7fELF\2\1", "compiled code"),
    "model.bin": (b"MZ\x90\0", "compiled code"),
    "store.db": (b"SQLite format 3\0", "SQLite"),
    "paper.pdf": (b"%PDF-1.7", "PDF"),
    "notes.csv": (b"age,pay\n", r"no known model format.*\.skops"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_others_are_named_for_what_they_are(name: str, tmp_path: Path) -> None:
    content, reason = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    for allow_pickle in (False, True):
        with pytest.raises(UnsupportedModelError, match=reason) as caught:
            fatt.load(path, allow_pickle=allow_pickle)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith(".")


ARCHIVES = {
    "archive/data.pkl": "PyTorch",
    "model.weights.h5": "Keras",
    "model.ini": "MOJO of H2O",
    "bundle.json": "MLeap",
    "[Content_Types].xml": "office",
    "arr_0.npy": "NumPy",
    "readme.txt": r"zip archive.*holds readme.txt.*Unpack",
}


@pytest.mark.parametrize("member", ARCHIVES)
def test_archives_are_named_for_what_they_hold(member: str, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"")
    with pytest.raises(UnsupportedModelError, match=ARCHIVES[member]):
        fatt.load(path)


FOLDERS = {
    "AutoGluon": ["predictor.pkl", "learner.pkl"],
    "TensorFlow": ["saved_model.pb", "variables"],
    "pipeline of Spark": ["metadata", "stages"],
    "model of Spark": ["metadata", "data"],
    r"MLflow.*model\.pkl": ["MLmodel", "model.pkl"],
    r"a folder.*model\.json": ["model.json", "notes.md"],
    "a folder: pass the path of the model file in it.$": [],
}


@pytest.mark.parametrize("reason", FOLDERS)
def test_folders_are_named_for_what_they_hold(reason: str, tmp_path: Path) -> None:
    for name in FOLDERS[reason]:
        (tmp_path / name).touch()
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(tmp_path)


class Child(RandomForestClassifier):  # type: ignore[misc]
    """What a subclass predicts nobody knows."""


class Stranger(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Inherits what every model of scikit-learn does, and no model."""

    def predict(self, rows: Any) -> Any:
        return np.zeros(len(rows))


class Line(LogisticRegression):  # type: ignore[misc]
    """A kind of what is not read either."""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Line(), "Line, a kind of LogisticRegression.*if fatt reads these"),
        (Child(2).fit(X, Y), "a kind of RandomForestClassifier that may predict"),
        (Stranger(), "Stranger, of which fatt does not know what it computes"),
        (pd.DataFrame(X), "DataFrame, of which fatt does not know"),
        ({"model": TREE}, "cannot import a dict: pass the path"),
        (LogisticRegression(), "cannot import a scikit-learn LogisticRegression"),
    ],
)
def test_objects_are_refused_for_the_true_reason(model: Any, reason: str) -> None:
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(model)


# One model in a dict or tuple.


def kept(content: Any, folder: Path) -> Path:
    path = folder / "model.joblib"
    joblib.dump(content, path)
    return path


@pytest.mark.parametrize(
    "content",
    [
        {"model": TREE, "features": NAMES, "metrics": {"accuracy": 0.9}},
        {"clf": TREE, "columns": np.array(NAMES), "target": "granted"},
        (TREE, pd.Index(NAMES)),
        [TREE, tuple(NAMES), ["another", "list"]],
    ],
)
def test_a_model_is_read_out_of_what_holds_it(content: Any, tmp_path: Path) -> None:
    model = fatt.load(kept(content, tmp_path), allow_pickle=True)
    assert [feature.name for feature in model.ensemble.features] == NAMES
    frame = pd.DataFrame(X, columns=NAMES)[NAMES[::-1]]
    assert np.array_equal(model.predict(frame), TREE.predict(X))
    assert np.array_equal(model.ask(frame), TREE.predict(X))
    [note] = [note for note in model.ensemble.source.notes if "left aside" in note]
    assert "DecisionTreeClassifier" in note


def test_names_are_taken_only_where_one_list_fits_a_model_without(
    tmp_path: Path,
) -> None:
    two = {"model": TREE, "features": NAMES, "raw": ["x", "y", "z"]}
    assert not fatt.load(kept(two, tmp_path), allow_pickle=True).ensemble.inputs.named
    own = pd.DataFrame(X, columns=["a", "b", "c"])
    named = DecisionTreeClassifier(max_depth=2).fit(own, Y)
    path = kept({"model": named, "features": NAMES}, tmp_path)
    found = fatt.load(path, allow_pickle=True).ensemble.features
    assert [feature.name for feature in found] == ["a", "b", "c"]


def test_a_cut_off_beside_the_model_is_told(tmp_path: Path) -> None:
    path = kept({"model": TREE, "best_threshold": 0.37}, tmp_path)
    notes = fatt.load(path, allow_pickle=True).ensemble.source.notes
    assert any("threshold=0.37" in note for note in notes)


BESIDE = {
    "a scaler": ({"model": TREE, "scaler": StandardScaler()}, "'scaler'.*prepare="),
    "encoders": (
        {"model": TREE, "encoders": {"sex": LabelEncoder()}},
        r"'encoders' \(LabelEncoder\).*prepare=",
    ),
    "two models": ({"a": TREE, "b": LogisticRegression()}, "several models: 'a'"),
    "no model": ({"a": 1}, r"no model that fatt knows: 'a' \(int\)"),
    "nothing": ((), "a tuple with no model"),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_may_stand_before_a_model_is_not_left_aside(
    case: str, tmp_path: Path
) -> None:
    content, reason = BESIDE[case]
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(kept(content, tmp_path), allow_pickle=True)


# Pickles that cannot be loaded.


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3), ("bz2", 3)])
def test_a_pickle_of_another_scikit_learn_names_both_versions(
    compress: Any, tmp_path: Path
) -> None:
    import sklearn

    path = tmp_path / "model.joblib"
    state = TREE.__getstate__() | {"_sklearn_version": "0.24.2", "tree_": Broken()}
    joblib.dump(state, path, compress=compress)
    with pytest.raises(UnsupportedModelError) as caught:
        fatt.load(path, allow_pickle=True)
    assert "saved with scikit-learn 0.24.2" in str(caught.value)
    assert f"installed {sklearn.__version__}" in str(caught.value)
    assert "ONNX" in str(caught.value)


class Broken:
    """Cannot be unpickled, like the trees of old versions."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (np.dtype, ("no such type",))


def test_a_pickle_of_an_old_scikit_learn_that_loads_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    text = pickle.dumps(TREE, protocol=0)
    import sklearn

    old = text.replace(str(sklearn.__version__).encode(), b"0.9.2")
    assert old != text
    path.write_bytes(old)
    with pytest.raises(UnsupportedModelError, match=r"0\.9\.2, and 1.* is installed"):
        fatt.load(path, allow_pickle=True)
    # Why a model without trees is not read has nothing to do with its version.
    text = pickle.dumps(LogisticRegression().fit(X, Y), protocol=0)
    path.write_bytes(text.replace(str(sklearn.__version__).encode(), b"0.9.2"))
    with pytest.raises(UnsupportedModelError, match="a scikit-learn LogisticRegr"):
        fatt.load(path, allow_pickle=True)


def test_what_an_old_version_left_in_a_model_says_its_version(tmp_path: Path) -> None:
    scaler = StandardScaler().fit(X)
    scaler._n_features = 3
    made = make_pipeline(scaler, TREE)
    path = tmp_path / "model.pkl"
    text = pickle.dumps(made, protocol=0)
    import sklearn

    path.write_bytes(text)
    with pytest.raises(UnsupportedModelError, match="Another scikit-learn"):
        fatt.load(path, allow_pickle=True)
    path.write_bytes(text.replace(str(sklearn.__version__).encode(), b"1.3.2"))
    with pytest.raises(
        UnsupportedModelError, match=r"written by scikit-learn 1\.3\.2.*_n_features"
    ):
        fatt.load(path, allow_pickle=True)


def test_files_that_hold_what_stands_before_a_model_say_so(tmp_path: Path) -> None:
    encoders = {"sex": LabelEncoder().fit(["F", "M"])}
    for content in (StandardScaler().fit(X), LabelEncoder().fit(Y), encoders):
        path = tmp_path / "before.pkl"
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(UnsupportedModelError, match=r"Pass the model.* prepare="):
            fatt.load(path, allow_pickle=True)
    for names in (NAMES, pd.Index(NAMES)):
        path.write_bytes(pickle.dumps(names))
        with pytest.raises(UnsupportedModelError, match=r"holds 3 texts.*columns="):
            fatt.load(path, allow_pickle=True)


def test_rows_beside_a_model_are_no_step_before_it(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps((TREE, frame, frame["age"])))
    assert fatt.load(path, allow_pickle=True).predict(X).tolist() == (
        TREE.predict(X).tolist()
    )


def test_a_json_file_of_something_else_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text('{"meta": {}, "iterations": []}')
    with pytest.raises(UnsupportedModelError, match=r"holds 'meta', 'iterations'"):
        fatt.load(path)
    path = tmp_path / "model.cbm"
    path.write_text("no model")
    with pytest.raises(MalformedModelError, match=r"neither as a \.cbm file"):
        fatt.load(path)


def test_a_model_that_needs_too_much_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fatt.importers import sklearn as reader

    def convert(*_: Any, **__: Any) -> None:
        raise MemoryError("Unable to allocate 32.8 GiB")

    monkeypatch.setattr(reader, "convert", convert)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(TREE))
    with pytest.raises(UnsupportedModelError, match=r"more memory.*32\.8 GiB"):
        fatt.load(path, allow_pickle=True)


def test_a_model_whose_training_was_interrupted_says_so() -> None:
    scores: list[float] = []

    def interrupt(model: Any, rows: Any, answers: Any) -> float:
        if len(scores) > 3:
            raise KeyboardInterrupt
        scores.append(model.score(rows, answers))
        return scores[-1]

    model = HistGradientBoostingClassifier(early_stopping=True, scoring=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(model._predictors) > 0
    with pytest.raises(ValueError, match="dtype mismatch"):
        model.predict(X)
    with pytest.raises(UnsupportedModelError, match="training of the HistGrad"):
        fatt.load(model)


GRAPHS: dict[str, dict[str, list[int]]] = {
    "a tree has two nodes with the same id": {"nodes_nodeids": [0, 1, 1]},
    "tree 0 has no node 7, to which a node": {"nodes_falsenodeids": [7, 0, 0]},
    "a tree or node id is out of range": {"nodes_nodeids": [0, 1, -1]},
    "a weight belongs to a node with a split": {"class_nodeids": [0, 0, 2, 2]},
}


@pytest.mark.parametrize("reason", GRAPHS)
def test_trees_of_an_onnx_graph_that_do_not_hang_together(reason: str) -> None:
    fatt.load(stump())
    with pytest.raises(MalformedModelError, match=reason):
        fatt.load(stump(**GRAPHS[reason]))


def stump(**changes: list[int]) -> Any:
    builder = pytest.importorskip("tests.importers.onnx_builder")
    no, yes = (builder.Leaf([(0, 1.0 - one), (1, one)]) for one in (0.0, 1.0))
    tree = builder.Split("LEQ", 0, 0.5, no, yes)
    return builder.classifier([tree], [0, 1], **changes)


def test_an_onnx_graph_without_trees_is_named_for_what_it_is() -> None:
    """Whatever else of it is not read, such as weights in another file."""
    helper = pytest.importorskip("onnx").helper
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["X", "w"], ["Z"])],
        "graph",
        [helper.make_tensor_value_info("X", 1, [None, 3, 8, 8])],
        [helper.make_tensor_value_info("Z", 1, [None, 1])],
    )
    with pytest.raises(
        UnsupportedModelError,
        match=r"no trees: it answers by Gemm\. It only prepares rows, or is a",
    ):
        fatt.load(helper.make_model(graph))


def test_onnx_graphs_that_are_not_whole(tmp_path: Path) -> None:
    twice, closed = stump(), stump()
    twice.graph.node.append(twice.graph.node[0])
    with pytest.raises(MalformedModelError, match="'label' is computed by two nodes"):
        fatt.load(twice)
    del closed.graph.input[:]
    with pytest.raises(MalformedModelError, match="the graph has no input"):
        fatt.load(closed)
    path = tmp_path / "model.onnx"
    path.write_bytes(stump().SerializeToString()[:-5])
    with pytest.raises(MalformedModelError, match="no whole ONNX model"):
        fatt.load(path)


def test_a_bagged_tree_of_a_column_that_is_not_there() -> None:
    model = BaggingClassifier(DecisionTreeClassifier(), 2).fit(X, Y)
    model.estimators_features_ = [np.array([0, 1, 3])] * 2
    with pytest.raises(MalformedModelError, match="a column that does not exist"):
        fatt.load(model)


def test_a_skops_file_whose_schema_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "[]")
    with pytest.raises(MalformedModelError, match="schema of the skops file is no obj"):
        fatt.load(path)


@pytest.mark.parametrize("sparse_output", [True, False])
def test_a_one_hot_column_of_too_many_categories_is_named(sparse_output: bool) -> None:
    people = pd.DataFrame({"age": range(9), "street": [f"{i} St" for i in range(9)]})
    streets = [f"{i} St" for i in range(17_000)]
    encoder = OneHotEncoder(categories=[streets], sparse_output=sparse_output)
    flags = make_column_transformer((encoder, ["street"]), remainder="passthrough")
    model = make_pipeline(flags, DecisionTreeClassifier()).fit(people, [0, 1, 0] * 3)
    words = "17,000 categories of the column 'street' and makes 17,000 columns"
    with pytest.raises(UnsupportedModelError, match=words):
        fatt.load(model)


def test_a_pickle_that_needs_a_package_or_a_script_says_which(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(b"\x80\x04cno_such_package.models\nModel\n.")
    with pytest.raises(MissingDependencyError, match="package no_such_package"):
        fatt.load(path, allow_pickle=True)
    path.write_bytes(b"\x80\x04cpandas.core.no_such_module\nIndex\n.")
    with pytest.raises(UnsupportedModelError, match="another version of pandas"):
        fatt.load(path, allow_pickle=True)
    path.write_bytes(b"\x80\x04c__main__\nNoSuchClass\n.")
    with pytest.raises(UnsupportedModelError, match="script that wrote it"):
        fatt.load(path, allow_pickle=True)
    # Whatever version of scikit-learn it names.
    path.write_bytes(b"\x80\x04c__main__\nNoSuchClass\n.X_sklearn_versionX1.7.1")
    with pytest.raises(UnsupportedModelError, match="script that wrote it"):
        fatt.load(path, allow_pickle=True)
    path.write_bytes(b"\x80\x04garbage")
    with pytest.raises(MalformedModelError, match="damaged, or other versions"):
        fatt.load(path, allow_pickle=True)


def test_what_lies_beside_models_says_how_to_pass_it(tmp_path: Path) -> None:
    path = tmp_path / "scalers.pkl"
    scaler, labels = StandardScaler().fit(X), LabelEncoder().fit(["M", "F"])
    path.write_bytes(pickle.dumps({"sex": labels}))
    with pytest.raises(UnsupportedModelError, match=r"model, and this as prepare=\."):
        fatt.load(path, allow_pickle=True)
    both = {"scaler": scaler, "other": MinMaxScaler().fit(X), "names": ["a"]}
    path.write_bytes(pickle.dumps(both))
    said = r"'scaler' \(StandardScaler\) and 'other' \(MinMaxScaler\) as prepare="
    with pytest.raises(UnsupportedModelError, match=said):
        fatt.load(path, allow_pickle=True)
    path.write_bytes(pickle.dumps(0.35))
    with pytest.raises(UnsupportedModelError, match=r"model with threshold=0\.35"):
        fatt.load(path, allow_pickle=True)
    path.write_bytes(pickle.dumps(pd.DataFrame(X)))
    with pytest.raises(UnsupportedModelError, match=r"import pandas\.DataFrame"):
        fatt.load(path, allow_pickle=True)


def test_rows_of_dicts_are_read_as_the_table_that_they_make(tmp_path: Path) -> None:
    rows = [{"age": 20.0 + i, "town": "AB"[i % 3 == 0]} for i in range(30)]
    step = DictVectorizer(sparse=False)
    made = step.fit_transform(rows)
    tree = DecisionTreeClassifier(random_state=0).fit(made, [i % 3 for i in range(30)])
    path = tmp_path / "step.pkl"
    path.write_bytes(pickle.dumps(step))
    for load in (
        lambda: fatt.load(path, allow_pickle=True),
        lambda: fatt.load(tree, prepare=step),
        lambda: fatt.load(make_pipeline(step, tree)),
    ):
        with pytest.raises(
            UnsupportedModelError, match=r"names for its columns; flags"
        ):
            load()
    model = fatt.load(tree, columns=step.feature_names_)
    table = pd.DataFrame(made, columns=step.feature_names_)
    report = fatt.verify(model, table, similarity=fatt.Similarity(vary=["town"]))
    assert report.counts["unfair"] == 30
    assert "town A → B" in str(report.counterexamples)


@pytest.mark.parametrize("name", ["m.model", "m.dat", "m"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_are_known_by_how_they_start(
    protocol: int, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(pickle.dumps(TREE, protocol=protocol))
    with pytest.raises(UntrustedModelError):
        fatt.load(path)
    assert np.array_equal(
        fatt.load(path, allow_pickle=True).predict(X), TREE.predict(X)
    )


# imbalanced-learn


def test_samplers_take_no_part_in_a_pipeline() -> None:
    over_sampling = pytest.importorskip("imblearn.over_sampling")
    from imblearn.pipeline import make_pipeline

    pipeline = make_pipeline(
        over_sampling.RandomOverSampler(random_state=0),
        StandardScaler(),
        over_sampling.RandomOverSampler(random_state=1),
        RandomForestClassifier(4, max_depth=3, random_state=0),
    ).fit(X, Y)
    model = fatt.load(pipeline)
    rows = RNG.normal(size=(200, 3))
    assert np.array_equal(model.predict(rows), pipeline.predict(rows))
    assert np.array_equal(model.raw_scores(rows), pipeline.predict_proba(rows))
    assert np.array_equal(model.ask(rows), pipeline.predict(rows))
    changed = model.live.with_leaves(model.live.leaves())
    assert type(changed) is type(pipeline)
    assert np.array_equal(changed.predict(rows), pipeline.predict(rows))


def test_other_models_of_imbalanced_learn_are_named() -> None:
    ensemble = pytest.importorskip("imblearn.ensemble")
    with pytest.raises(UnsupportedModelError, match="an imbalanced-learn RUSBoost"):
        fatt.load(ensemble.RUSBoostClassifier())


def test_a_catboost_file_without_some_columns_is_not_called_damaged(
    tmp_path: Path,
) -> None:
    kept = Path(__file__).parents[1] / "data" / "models" / "catboost-1.2.10-json.json"
    document = json.loads(kept.read_text())
    columns = document["features_info"]["float_features"]
    path = tmp_path / "model.json"
    columns[-1]["flat_feature_index"] += 7
    path.write_text(json.dumps(document))
    with pytest.raises(UnsupportedModelError, match="leaves out columns"):
        fatt.load(path)
    columns[-1]["flat_feature_index"] = columns[0]["flat_feature_index"]
    path.write_text(json.dumps(document))
    with pytest.raises(MalformedModelError, match="two of its columns have one place"):
        fatt.load(path)
