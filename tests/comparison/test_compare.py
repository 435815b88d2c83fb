"""Old against new on one table: beside both libraries' own predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from click.testing import CliRunner
from scipy.stats import binomtest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.cli import compare as command
from fatt.comparison import Count
from fatt.comparison.comparison import mcnemar
from fatt.errors import SpecError

SIMILAR = fatt.Similarity(noise={"age": 2}, vary={"sex": [0, 1]})


def town(seed: int = 0, count: int = 200) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 70, count),
            "sex": rng.integers(0, 2, count),
            "town": rng.integers(0, 3, count),
        }
    )
    return people, (people.age + 4 * people.sex + rng.normal(0, 9, count) > 45)


def models() -> list[Any]:
    people, y = town()
    quiet = {"n_estimators": 8, "max_depth": 3, "random_state": 0}
    return [
        DecisionTreeClassifier(max_depth=3).fit(people, y.astype(int)),
        RandomForestClassifier(**quiet).fit(people, y.astype(int)),
        xgboost.XGBClassifier(**quiet).fit(people, y.astype(int)),
        lightgbm.LGBMClassifier(**quiet, verbose=-1).fit(people, y.astype(int)),
    ]


def around(model: Any, people: pd.DataFrame) -> np.ndarray:
    """Whether somebody similar gets another answer, by enumeration."""
    own, found = model.predict(people), np.zeros(len(people), dtype=bool)
    for step in range(-2, 3):
        for sex in (0, 1):
            other = people.assign(age=people.age + step, sex=sex)
            found |= model.predict(other) != own
    return found


@pytest.mark.parametrize("place", range(4))
def test_answers_and_verdicts_are_those_of_both_libraries(place: int) -> None:
    some = models()
    old, new = some[place], some[(place + 1) % 4]
    people, _ = town(1)
    found = fatt.compare(old, new, people, similarity=SIMILAR)
    frame = found.to_frame()
    before, after = old.predict(people), new.predict(people)
    assert (frame.old == before).all()
    assert (frame.new == after).all()
    assert (frame.changed == (before != after)).all()
    unfair = around(old, people), around(new, people)
    for column, is_unfair in zip(("old_verdict", "new_verdict"), unfair, strict=True):
        assert (frame[column] == np.where(is_unfair, "unfair", "fair")).all()
    total = found.total
    worse = int((~unfair[0] & unfair[1]).sum())
    better = int((unfair[0] & ~unfair[1]).sum())
    assert total.newly_unfair == Count(worse, worse)
    assert total.newly_fair == Count(better, better)
    assert (total.gained, total.lost) == (
        ((before == 0) & (after == 1)).sum(),
        ((before == 1) & (after == 0)).sum(),
    )
    groups = found.by_group("town")
    assert sum(one.newly_unfair.least for one in groups.values()) == worse
    assert sum(one.size for one in groups.values()) == len(people)
    by_town = found.by_group("town").to_frame()
    assert by_town.changed.sum() == total.changed
    for pair in found.clearest(20):
        assert (pair.old, pair.new) == (before[pair.row], after[pair.row])
        assert (pair.new_case is not None) == unfair[1][pair.row]
        assert (pair.old_case is not None) == unfair[0][pair.row]


def test_the_order_of_the_classes_does_not_matter() -> None:
    """Two models that call the same answers in another order agree."""
    people, y = town()
    words = np.where(y, "grant", "deny")
    first = fatt.load(DecisionTreeClassifier(max_depth=3).fit(people, words))
    booster = DecisionTreeClassifier(max_depth=3).fit(people, ~y)
    second = fatt.load(booster, answers={"False": "grant", "True": "deny"})
    found = fatt.compare(first, second, people, similarity=SIMILAR)
    assert first.classes == second.classes[::-1]
    assert found.favorable == "grant"
    expected = first.predict(people) != second.predict(people)
    assert (found.changed == expected).all()
    assert found.harmed is not None
    assert found.harmed[1].favorable == "grant"


def test_the_undecided_make_a_range() -> None:
    some = models()
    people, _ = town(1)
    budget = fatt.Budget(nodes=0)
    found = fatt.compare(some[1], some[2], people, similarity=SIMILAR, budget=budget)
    whole = fatt.compare(some[1], some[2], people, similarity=SIMILAR)
    least, most = found.total.newly_unfair
    assert least <= whole.total.newly_unfair.least <= most
    assert whole.total.newly_unfair.least == whole.total.newly_unfair.most


@pytest.mark.parametrize("one", [0, 1, 4, 17])
@pytest.mark.parametrize("other", [0, 2, 9, 40])
def test_the_paired_test_is_exact(one: int, other: int) -> None:
    expected = binomtest(one, one + other).pvalue if one + other else 1.0
    assert mcnemar(one, other) == pytest.approx(expected)


def test_predictions_change_if_they_move_by_more_than_the_tolerance() -> None:
    people, _ = town()
    old = GradientBoostingRegressor(n_estimators=5).fit(people, people.age)
    new = GradientBoostingRegressor(n_estimators=9).fit(people, people.age)
    found = fatt.compare(old, new, people, similarity=SIMILAR, tolerance=2)
    far = np.abs(new.predict(people) - old.predict(people)) > 2
    assert 0 < far.sum() < len(people)
    assert (found.changed == far).all()
    assert found.harmed is None
    assert found.total.gained is None


def test_models_of_different_answers_are_refused() -> None:
    people, y = town()
    tree = DecisionTreeClassifier(max_depth=2)
    old = fatt.load(tree.fit(people, np.where(y, "yes", "no")))
    new = RandomForestClassifier(3).fit(people, y.astype(int))
    with pytest.raises(SpecError, match="answers 'no' or 'yes', and the new one 0 or"):
        fatt.compare(old, new, people, similarity=SIMILAR)
    with pytest.raises(SpecError, match=r"^the old model: noise names 'agee'"):
        fatt.compare(old, old, people, similarity=fatt.Similarity(noise={"agee": 1}))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    people, y = town()
    rows = people.assign(name=[f"P{row}" for row in range(len(people))])
    rows.to_csv(tmp_path / "people.csv", index=False)
    old = xgboost.XGBClassifier(n_estimators=5, max_depth=3)
    old.fit(people, y.astype(int)).save_model(tmp_path / "old.json")
    new = lightgbm.LGBMClassifier(n_estimators=5, max_depth=3, verbose=-1)
    new.fit(people, y.astype(int)).booster_.save_model(tmp_path / "new.txt")
    return [str(tmp_path / name) for name in ("old.json", "new.txt", "people.csv")]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(command.command, [*arguments, "--id", "name"])


def test_the_command_tells_prints_and_ends_by_the_limits(files: list[str]) -> None:
    asked = [*files, "--noise", "age=2", "--vary", "sex", "--group", "town"]
    told = run(*asked, "--json", "--quiet")
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    newly, changed = found["total"]["newly_unfair_lower"], found["total"]["changed"]
    assert newly > 0
    assert changed > 0
    assert len(found["people"]["old"]) == 200
    assert [one["value"] for one in found["groups"]["town"]] == [0, 1, 2]
    limits = {
        ("--max-new-unfair", str(newly)): 0,
        ("--max-new-unfair", str(newly - 1)): 1,
        ("--max-changed", str(changed)): 0,
        ("--max-changed", str(changed - 1)): 1,
        ("--max-changed", f"{changed / 2}%"): 0,
        ("--max-changed", f"{(changed - 1) / 2}%"): 1,
        ("--max-changed", "many"): 2,
        ("--max-changed", "101%"): 2,
    }
    for limit, code in limits.items():
        ended = run(*asked, "--quiet", *limit)
        if code == 2:
            assert isinstance(ended.exception, SpecError)
        else:
            assert ended.exit_code == code, limit


def test_the_command_writes_a_page_and_a_table(files: list[str]) -> None:
    folder = Path(files[0]).parent
    page, table = folder / "page.html", folder / "table.csv"
    asked = [*files, "--noise", "age=2", "--vary", "sex", "--group", "town"]
    told = run(*asked, "--html", str(page), "--csv", str(table))
    assert told.exit_code == 0, told.output
    assert "get another answer" in told.stdout
    assert "P" in told.stdout.split("The clearest people")[1]
    rows = pd.read_csv(table)
    assert list(rows.columns)[:4] == ["name", "row", "old", "new"]
    written = page.read_text(encoding="utf-8")
    assert "What changes by town" in written
    assert "<script" not in written
    assert written.count("<article") <= 10


def test_nobody_to_compare_is_a_sentence(files: list[str]) -> None:
    told = run(*files[:2], "--vary", "sex")
    assert isinstance(told.exception, SpecError)
    assert "there is no file of people" in str(told.exception)


def test_a_notebook_shows_it() -> None:
    some = models()
    people, _ = town(1)
    found = fatt.compare(some[0], some[1], people, similarity=SIMILAR)
    assert "Old model against new" in found._repr_html_()
    assert repr(found).startswith("<Comparison: ")
    assert repr(found.by_group("town")).startswith("<Changes by town")
