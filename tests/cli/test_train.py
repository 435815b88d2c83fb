from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import fatt as library
from fatt.cli import fatt
from fatt.errors import DataError, FattError, SpecError
from fatt.train import FATTClassifier
from tests.cli import town

SIMILAR = ("--noise", "age=2", "--vary", "sex")
QUICK = ("--max-leaves", "6", "--max-seconds", "5", "--jobs", "1")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fatt, list(arguments), catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People with the bank's own answers to learn from, in a file of texts."""
    path = tmp_path_factory.mktemp("school")
    columns = town.people(600)
    table = np.array(
        [columns[feature.name] for feature in town.model().features], dtype=object
    ).T
    columns["truth"] = town.model().predict(table).tolist()
    columns["age"][3] = ""
    town.write_csv(path / "people.csv", columns)
    return path


@pytest.fixture(scope="module")
def trained(folder: Path) -> dict[str, Any]:
    words = ("--label", "truth", "--ignore", "name", "--output", str(folder / "t.fatt"))
    done = run("train", str(folder / "people.csv"), *words, *SIMILAR, *QUICK, "--json")
    assert done.exit_code == 0
    return dict(json.loads(done.stdout))


def test_the_tree_is_saved_with_the_columns_of_the_file(
    folder: Path, trained: dict[str, Any]
) -> None:
    tree = library.load(folder / "t.fatt")
    assert tree.digest == trained["digest"]
    assert tree.classes == ("denied", "granted")
    assert trained["leaves"] == tree.ensemble.trees.n_leaves <= 6
    names = ["age", "income", "years_in_job", "sex", "district", "party"]
    assert [feature.name for feature in tree.features] == names


def test_the_audit_finds_the_figures_of_the_training(
    folder: Path, trained: dict[str, Any]
) -> None:
    files = (str(folder / "t.fatt"), str(folder / "people.csv"))
    report = json.loads(run("audit", *files, *SIMILAR, "--json").stdout)
    assert report["fairness"]["lower"] == pytest.approx(trained["fairness"])
    text = run("audit", *files, *SIMILAR, "--label", "truth").stdout
    assert f"({trained['accuracy']:.1%})" in text


def test_the_tree_is_shown(folder: Path, tmp_path: Path) -> None:
    words = ("--label", "truth", "--ignore", "name", "--output", str(tmp_path / "t"))
    text = run("train", str(folder / "people.csv"), *words, *SIMILAR, *QUICK).stdout
    assert text.startswith("A tree of ")
    assert "are proved to be treated like everybody similar" in text
    assert "- 'age' may differ by up to 2" in text
    assert "→ granted" in text


def test_a_share_is_written_as_an_audit_writes_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = FATTClassifier.fit

    def nearly_fair(self: FATTClassifier, *given: Any) -> FATTClassifier:
        fit(self, *given).fairness_ = 0.99999
        return self

    monkeypatch.setattr(FATTClassifier, "fit", nearly_fair)
    words = ("--label", "truth", "--ignore", "name", "--output", str(tmp_path / "t"))
    text = run("train", str(folder / "people.csv"), *words, *SIMILAR, *QUICK).stdout
    assert "Fairness:  99.99% of these people" in text


def test_a_share_that_no_tree_reaches_saves_nothing(
    tmp_path: Path, folder: Path
) -> None:
    # Whoever may change in everything is only alike in a tree of one leaf.
    words = ["--label", "truth", "--output", str(tmp_path / "t.fatt")]
    words += [part for name in ("name", "party") for part in ("--ignore", name)]
    varied = ("age", "income", "years_in_job", "sex", "district")
    words += [part for name in varied for part in ("--vary", name)]
    people = str(folder / "people.csv")
    done = run("train", people, *words, *QUICK, "--min-fairness", "0.99")
    assert done.exit_code == 1
    assert "the fairest one reaches" in done.stdout
    assert "Nothing was saved" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("cells", "error", "said"),
    [
        (["0", "", "1"], DataError, "row 1: column 'y', of labels, is empty"),
        (["no", "yes", ""], DataError, "row 2: column 'y', of labels, is empty"),
        (["0.5", "1", "2"], DataError, "row 0: column 'y', of labels, is 0.5"),
        (["a", "a", "a"], DataError, "only one class"),
        (None, SpecError, "has no column 'y'"),
    ],
)
def test_mistakes_are_explained(
    cells: list[str] | None, error: type[FattError], said: str, tmp_path: Path
) -> None:
    columns: dict[str, list[Any]] = {"age": [1, 2, 3]}
    if cells is not None:
        columns["y"] = cells
    people = town.write_csv(tmp_path / "people.csv", columns)
    words = ("--label", "y", "--noise", "age=1", "--output", str(tmp_path / "t.fatt"))
    with pytest.raises(error, match=said):
        run("train", people, *words)
    assert not (tmp_path / "t.fatt").exists()
