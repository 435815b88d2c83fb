"""A version that was never tested is told if it can be asked, and else refused."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from pathlib import Path

import joblib
import lightgbm
import numpy as np
import onnx
import onnxruntime
import pytest
import sklearn
import xgboost
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.cli import fatt as command
from fatt.errors import UnsupportedModelError
from fatt.importers import versions
from fatt.importers.registry import FORMATS
from fatt.importers.versions import TESTED, is_newer, release
from tests.data.make_models import ENVIRONMENTS

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "data" / "models"
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]] * 10)
LABELS = [0, 0, 1, 1] * 10


def stored(library: str) -> set[str]:
    """The versions in the names of the kept files."""
    found = (path.name.split("-") for path in MODELS.glob("*.npz"))
    return {version for name, version, *_ in found if name == library}


def later(version: str) -> str:
    """The next release."""
    major, minor = release(version)
    return f"{major}.{minor + 1}.0"


def test_the_table_is_what_the_kept_files_hold() -> None:
    assert set(TESTED["scikit-learn"]) == stored("sklearn")
    assert set(TESTED["scikit-learn pickle"]) == stored("pickle")
    assert set(TESTED["XGBoost"]) == stored("xgboost")
    assert set(TESTED["LightGBM"]) == stored("lightgbm")
    assert set(TESTED["CatBoost"]) == stored("catboost")
    assert set(TESTED["onnxruntime"]) == stored("onnx")
    texts = [path.read_text() for path in MODELS.glob("lightgbm-*.txt")]
    formats = {re.search("^version=(.*)$", text, re.M).group(1) for text in texts}
    assert set(TESTED["LightGBM text"]) == formats
    graphs = [onnx.load(path) for path in MODELS.glob("*.onnx")]
    assert set(TESTED["ONNX file"]) == {str(graph.ir_version) for graph in graphs}
    for domain in ("ai.onnx", "ai.onnx.ml"):
        assert set(TESTED[domain]) == {
            str(item.version)
            for graph in graphs
            for item in graph.opset_import
            if (item.domain or "ai.onnx") == domain
        }
    schemas = [
        zipfile.ZipFile(path).read("schema.json") for path in MODELS.glob("*.skops")
    ]
    protocols = {str(json.loads(schema)["protocol"]) for schema in schemas}
    assert set(TESTED["skops protocol"]) == protocols


def test_the_table_is_in_order_and_what_the_files_are_made_with() -> None:
    for tested in TESTED.values():
        assert list(tested) == sorted(tested, key=release)
    made = str(ENVIRONMENTS)
    for library, package in (
        ("sklearn", "scikit-learn"),
        ("xgboost", "xgboost"),
        ("lightgbm", "lightgbm"),
        ("catboost", "catboost"),
        ("onnx", "onnxruntime"),
    ):
        for version in stored(library):
            assert re.search(rf"'{package}(-cpu)?=={re.escape(version)}'", made)


def test_the_documentation_shows_the_table() -> None:
    text = (ROOT / "docs" / "models.md").read_text()
    shown = dict(
        re.findall(r"^\| ([\w. -]+) \| (v?[0-9.]+ \| v?[0-9.]+) \|$", text, re.M)
    )
    expected = {}
    for library in TESTED:
        oldest, _, newest = versions.releases_of(library).partition(" to ")
        expected[library] = f"{oldest} | {newest or oldest}"
    assert shown == expected
    for library in ("scikit-learn", "XGBoost", "LightGBM", "CatBoost"):
        assert f"\n| {library} {versions.releases_of(library)} |" in text


def test_the_documentation_shows_the_suffixes() -> None:
    rows = []
    for one in FORMATS:
        suffixes = ", ".join(f"`{suffix}`" for suffix in one.suffixes)
        rows.append(f"| `{one.module.rpartition('.')[2]}` | {suffixes} |")
    assert "\n".join(rows) in (ROOT / "docs" / "models.md").read_text()


@pytest.mark.parametrize(
    ("version", "newer"),
    [
        ("1.9.1", False),
        ("1.9.99", False),
        ("1.10.0", True),
        ("1.10.dev0", True),
        ("2.0rc1", True),
        ("0.99", False),
        ("", False),
    ],
)
def test_a_release_is_newer_and_a_repair_is_not(version: str, newer: bool) -> None:
    assert is_newer("scikit-learn", version) is newer


def boosted() -> lightgbm.LGBMClassifier:
    model = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=1, verbose=-1)
    return model.fit(ROWS, LABELS)


def xgboosted() -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(n_estimators=2).fit(ROWS, LABELS)


def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier().fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("make", "module", "library"),
    [
        (tree, sklearn, "scikit-learn"),
        (
            lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(
                ROWS, LABELS
            ),
            sklearn,
            "scikit-learn",
        ),
        (
            lambda: make_pipeline(StandardScaler(), xgboosted()).fit(ROWS, LABELS),
            sklearn,
            "scikit-learn",
        ),
        (boosted, lightgbm, "LightGBM"),
        (lambda: boosted().booster_, lightgbm, "LightGBM"),
        (xgboosted, xgboost, "XGBoost"),
        (lambda: xgboosted().get_booster(), xgboost, "XGBoost"),
        (
            lambda: make_pipeline(StandardScaler(), xgboosted()).fit(ROWS, LABELS),
            xgboost,
            "XGBoost",
        ),
    ],
)
def test_objects_of_a_newer_library_are_read_with_a_note(
    make, module, library, monkeypatch
) -> None:
    model = make()
    plain = fatt.load(model).ensemble
    assert not any("newer" in note for note in plain.source.notes)
    version = later(TESTED[library][-1])
    monkeypatch.setattr(module, "__version__", version)
    found = fatt.load(model).ensemble
    assert found == plain
    [note] = set(found.source.notes) - set(plain.source.notes)
    assert f"{library} {version} is newer" in note
    assert versions.releases_of(library) in note
    assert len(found.source.notes) == len(plain.source.notes) + 1


def raised(data: bytes, version: str) -> bytes:
    """A pickle with another version of scikit-learn of the same length."""
    old = sklearn.__version__.encode()
    assert len(old) == len(version)
    assert data.count(old) == 1
    return data.replace(old, version.encode())


def test_a_pickle_of_the_installed_release_is_read_with_a_note(
    tmp_path, monkeypatch
) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(raised(pickle.dumps(tree()), "2.0.1"))
    with pytest.raises(
        UnsupportedModelError, match=r"2\.0\.1.*newer than the installed"
    ):
        fatt.load(path, allow_pickle=True)
    monkeypatch.setattr(sklearn, "__version__", "2.0.0")
    monkeypatch.setattr(sklearn.base, "__version__", "2.0.0")
    found = fatt.load(path, allow_pickle=True).ensemble
    assert any("scikit-learn 2.0.0 is newer" in note for note in found.source.notes)


def test_an_older_part_of_a_pickle_is_refused_whatever_the_whole_is(tmp_path) -> None:
    made = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(ROWS, LABELS)
    path = tmp_path / "model.pkl"
    joblib.dump(made, path)
    data = path.read_bytes()
    old = sklearn.__version__.encode()
    first = data.index(old)
    path.write_bytes(data[:first] + b"0.9.1" + data[first + len(old) :])
    assert len(old) == 5
    with pytest.raises(UnsupportedModelError, match=r"0\.9\.1.*1\.5 to 1\.9"):
        fatt.load(path, allow_pickle=True)


@pytest.mark.parametrize("kept", sorted(MODELS.glob("sklearn-1.9*.skops")), ids=str)
def test_a_skops_file_of_a_newer_version_is_refused_though_it_is_installed(
    kept: Path, tmp_path, monkeypatch
) -> None:
    path = tmp_path / kept.name
    rewrite(kept, path, lambda text: text.replace('"1.9.1\\"', '"2.0.1\\"'))
    monkeypatch.setattr(sklearn, "__version__", "2.0.1")
    monkeypatch.setattr(sklearn.base, "__version__", "2.0.1")
    with pytest.raises(UnsupportedModelError, match=r"2\.0\.1.*1\.5 to 1\.9.*Pass"):
        fatt.load(path)


def rewrite(kept: Path, path: Path, change) -> None:
    """Write a skops file with another schema."""
    with zipfile.ZipFile(kept) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                changed = change(content.decode()).encode()
                assert changed != content
                content = changed
            new.writestr(name, content)


def test_a_newer_skops_protocol_is_refused(tmp_path) -> None:
    path = tmp_path / "model.skops"
    kept = MODELS / "sklearn-1.9.1-tree.skops"
    rewrite(kept, path, lambda text: text.replace('"protocol": 2', '"protocol": 3'))
    with pytest.raises(UnsupportedModelError, match=r"skops protocol 3.*older version"):
        fatt.load(path)


# A later version writes dart in another way.
@pytest.mark.parametrize("kept", sorted(MODELS.glob("xgboost-3.2*[!t].json")), ids=str)
def test_an_xgboost_file_of_a_newer_version_needs_that_version(
    kept: Path, tmp_path, monkeypatch
) -> None:
    document = json.loads(kept.read_text())
    document["version"] = [9, 1, 0]
    path = tmp_path / kept.name
    path.write_text(json.dumps(document))
    with pytest.raises(UnsupportedModelError) as caught:
        fatt.load(path)
    assert "XGBoost 9.1.0" in str(caught.value)
    assert versions.releases_of("XGBoost") in str(caught.value)
    assert "Install xgboost 9.1.0" in str(caught.value)
    monkeypatch.setattr(xgboost, "__version__", "9.1.7")
    found = fatt.load(path).ensemble
    assert "XGBoost 9.1.0 is newer" in found.source.notes[0]


def test_onnx_files_of_newer_versions_need_an_onnxruntime_that_takes_them(
    tmp_path, monkeypatch
) -> None:
    model = onnx.load(MODELS / "onnx-1.31.1-skl-tree.onnx")
    for item in model.opset_import:
        item.version = item.version if item.domain else 23
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    assert "ai.onnx 23 is newer" in fatt.load(path).ensemble.source.notes[0]

    model.ir_version = 99
    onnx.save(model, path)
    with pytest.raises(UnsupportedModelError, match="ONNX file 99"):
        fatt.load(path)

    def absent(*_: object, **__: object) -> None:
        raise OSError

    model.ir_version = 10
    onnx.save(model, path)
    monkeypatch.setattr(onnxruntime, "InferenceSession", absent)
    with pytest.raises(UnsupportedModelError, match=r"ai.onnx 23.*9 to 22.*Export"):
        fatt.load(path)


def test_a_newer_onnxruntime_is_told(monkeypatch) -> None:
    path = MODELS / "onnx-1.31.1-skl-tree.onnx"
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.32.0")
    assert "onnxruntime 1.32.0 is newer" in fatt.load(path).ensemble.source.notes[0]


@pytest.mark.parametrize("version", ["v1", "v5", "v10", "v33", ""])
def test_other_formats_of_lightgbm_are_refused(version: str, tmp_path) -> None:
    text = (MODELS / "lightgbm-4.7.0-binary.txt").read_text()
    path = tmp_path / "model.txt"
    path.write_text(text.replace("version=v4", f"version={version}"))
    with pytest.raises(UnsupportedModelError, match=r"v2 to v4.*2.0 to 4.7"):
        fatt.load(path)


def test_the_table_and_the_notes_are_in_all_that_is_shown(monkeypatch) -> None:
    path = str(MODELS / "lightgbm-4.7.0-binary.txt")
    shown = CliRunner().invoke(command, ["inspect", path]).output
    assert versions.releases_in_words() in " ".join(shown.split())
    shown = CliRunner().invoke(command, ["inspect", "--json", path]).output
    assert json.loads(shown)["tested"]["scikit-learn"] == "1.5 to 1.9"

    monkeypatch.setattr(lightgbm, "__version__", "9.0.0")
    report = fatt.verify(
        boosted(), ROWS[:4], similarity=fatt.Similarity(noise={"Column_0": 0.1})
    )
    written = json.loads(report.to_json())
    assert written["tested"]["LightGBM text"] == "v2 to v4"
    assert "LightGBM 9.0.0 is newer" in written["model"]["notes"][0]
    page = report.to_html()
    assert "LightGBM 9.0.0 is newer" in page
    assert versions.releases_in_words() in page
