from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fatt.cli import fatt, main
from fatt.ensemble import Categorical, Numeric
from tests.ensemble.test_ensemble import stump
from tests.strategies import random_ensemble


def inspect(*arguments: str) -> Result:
    return CliRunner().invoke(fatt, ["inspect", *arguments], catch_exceptions=False)


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.fatt"
    stump().save(path)
    return str(path)


def test_inspect_shows_what_was_read(model: str) -> None:
    text = inspect(model).output
    assert "by hand" in text
    assert "1, at most 1 deep" in text
    assert "'yes' from a score of 0.5 on, else 'no'" in text
    assert "cut at 0.5" in text
    assert stump().digest in text


def test_a_file_need_not_say_what_kind_of_trees_it_holds() -> None:
    path = Path(__file__).parents[1] / "data" / "models" / "catboost-1.2-symmetric.cbm"
    assert "trees of catboost" in inspect(str(path)).output


def test_inspect_as_json(model: str) -> None:
    found = json.loads(inspect(model, "--json").output)
    assert found["digest"] == stump().digest
    assert found["trees"] == 1
    assert found["leaves"] == 2
    assert found["classes"] == ["no", "yes"]
    [age] = found["features"]
    assert age["name"] == "age"
    assert (age["thresholds"], age["sets"]) == ([0.5], 0)


@pytest.mark.parametrize("seed", range(20))
def test_any_ensemble_can_be_inspected(seed: int, tmp_path: Path) -> None:
    ensemble = random_ensemble(seed)
    path = tmp_path / "model.fatt"
    ensemble.save(path)
    found = json.loads(inspect(str(path), "--json").output)
    assert found["leaves"] == ensemble.trees.n_leaves
    splits = ensemble.trees.nodes["feature"] >= 0
    assert sum(feature["splits"] for feature in found["features"]) == splits.sum()
    for feature, shown in zip(ensemble.features, found["features"], strict=True):
        assert shown["kind"] == (
            "categorical" if isinstance(feature, Categorical) else "numeric"
        )
    assert inspect(str(path)).exit_code == 0


def test_names_from_the_file_cannot_rewrite_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "model.fatt"
    name = "age\x1b[2J[bold]x[/bold]"
    stump(features=(Numeric(name=name),)).save(path)
    text = inspect(str(path)).output
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text


def test_errors_are_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["fatt", "inspect", "nowhere.json"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "fatt: cannot read the model file nowhere.json: No such file or directory.\n"
    )
