"""What people can do: the cheapest change and the proofs of none, by enumeration."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from click.testing import CliRunner
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.cli import recourse as command
from fatt.errors import SpecError

MAY = {"age": "+3", "debt": "-2", "job": ["cook", "nurse"]}
COST = {"age": 1.0, "debt": 2.5, "job": 1.5}
JOBS = ["clerk", "cook", "nurse"]


def town(seed: int, count: int = 30) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "age": rng.integers(0, 8, count),
            "debt": rng.integers(0, 6, count),
            "job": rng.choice(JOBS, count),
            "town": rng.integers(0, 3, count),
        }
    )
    few = {"n_estimators": 5, "max_depth": 3, "random_state": 0}
    kinds = [
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(**few),
        GradientBoostingClassifier(**few),
        xgboost.XGBClassifier(**few),
        lightgbm.LGBMClassifier(**few, min_child_samples=2, verbose=-1),
    ]
    encode = make_column_transformer(
        (OneHotEncoder(), ["job"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encode, kinds[seed % 5])
    return people, model.fit(people, (rng.random(count) < 0.4).astype(int))


def reachable(person: Any) -> pd.DataFrame:
    """Return all that a person may become."""
    rows = [
        (person.age + up, person.debt - down, job, person.town)
        for up, down in itertools.product(range(4), range(3))
        for job in {person.job, "cook", "nurse"}
    ]
    return pd.DataFrame(rows, columns=["age", "debt", "job", "town"])


def check(seed: int, cost: dict[str, float] | None, norm: str) -> dict[str, int]:
    """Hold all people of a town to enumeration; return how many have which status."""
    people, model = town(seed)
    found = fatt.recourse(model, people, may_change=MAY, wanted=1, cost=cost, norm=norm)
    schema = found.people.variables.schema
    each: dict[str, float] = cost or {
        "age": 1 / schema.find("age").sd, "debt": 1 / schema.find("debt").sd, "job": 0,
    }  # type: ignore[union-attr]  # fmt: skip
    everybody = [reachable(person) for person in people.itertuples()]
    answers = model.predict(pd.concat(everybody, ignore_index=True))
    ends = np.cumsum([len(one) for one in everybody])[:-1]
    power = 2 if norm == "l2" else 1
    own = model.predict(people)
    for row, (one, others, got) in enumerate(
        zip(found, everybody, np.split(answers, ends), strict=True)
    ):
        if own[row] == 1:
            assert one.status == "has it"
            continue
        good, me = others[got == 1], people.iloc[row]
        if not len(good):
            assert one.status == "none"
            assert not one.options
            continue
        assert one.status == "possible"
        apart = pd.DataFrame(
            {
                "age": (good.age - me.age).abs(),
                "debt": (good.debt - me.debt).abs(),
                "job": (good.job != me.job).astype(int),
            }
        )
        if norm == "l0":
            apart = (apart > 0).astype(int)
        paid = sum((apart[n] * each[n]) ** power for n in apart) ** (1 / power)
        n_columns = (apart > 0).sum(axis=1)
        if cost is None:
            fewest = n_columns.min()
            assert one.columns == (fewest, fewest)
            paid = paid[n_columns == fewest]
        assert one.cost is not None
        assert one.cost.lower == one.cost.upper
        assert one.cost.upper == pytest.approx(paid.min(), abs=1e-3)
        sets = [frozenset(option.changes) for option in one.options]
        assert len(set(sets)) == len(sets) <= 3
        rows = pd.DataFrame([option.row for option in one.options])[people.columns]
        assert (model.predict(rows) == 1).all()
        keys = set(good.itertuples(index=False, name=None))
        assert all(key in keys for key in rows.itertuples(index=False, name=None))
    return found.counts


@pytest.mark.parametrize("seed", range(5))
def test_the_cheapest_change_is_that_of_enumeration(seed: int) -> None:
    norms: list[tuple[dict[str, float] | None, str]] = [(None, "l1"), (COST, "l1")]
    norms.append((COST, "l2" if seed % 2 else "l0"))
    counts = [check(seed, cost, norm) for cost, norm in norms]
    # What costs does not change who has a way.
    assert counts[0] == counts[1] == counts[2]
    assert counts[0]["possible"]


def test_the_budget_makes_it_unknown_and_never_wrong() -> None:
    people, model = town(2)
    whole = fatt.recourse(model, people, may_change=MAY, wanted=1)
    short = fatt.recourse(
        model, people, may_change=MAY, wanted=1, budget=fatt.Budget(nodes=0)
    )
    for one, other in zip(whole, short, strict=True):
        assert other.status in {one.status, "unknown"}
        if other.cost is not None and one.columns == other.columns:
            assert one.cost is not None
            assert other.cost.lower <= one.cost.lower <= other.cost.upper + 1e-9


def test_groups_and_frames() -> None:
    people, model = town(1)
    found = fatt.recourse(model, people, may_change=MAY, wanted=1, options=2)
    groups = found.by_group("job")
    assert sum(one.size for one in groups.values()) == len(people)
    assert sum(one.counts["none"] for one in groups.values()) == found.counts["none"]
    able = [one for one in found if one.options]
    costs = [one.options[0].cost for one in able]
    assert found.total.median_cost == pytest.approx(np.median(costs))
    frame = found.to_frame()
    assert frame.status.tolist() == [one.status for one in found]
    assert frame.option_1.notna().sum() == len(able)
    assert "Recourse of 30 people to 1" in repr(found)
    assert "possible" in found._repr_html_()
    asked = fatt.recourse(model, people, may_change=MAY, wanted=1, options=0)
    assert asked.counts == found.counts
    assert not any(one.options for one in asked)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"wanted": 7}, "wanted is 7, which the model never answers"),
        ({"may_change": {}}, "may_change says nothing that may change"),
        ({"may_change": {"agee": "+1"}}, "Did you mean 'age'"),
        ({"may_change": {"job": ["pilot"]}}, "names 'pilot', which is none of its"),
        ({"norm": "max"}, "norm is 'max'; write 'l0', 'l1' or 'l2'"),
        ({"cost": {"age": 1.0}}, "cost does not say what 'debt' costs"),
        ({"cost": {**COST, "town": 1.0}}, "cost names 'town', which is nothing that"),
        ({"cost": {**COST, "age": -1.0}}, "cost of 'age' is -1.0; write a number"),
    ],
)
def test_mistakes_are_told(changed: dict[str, Any], said: str) -> None:
    people, model = town(0)
    asked: dict[str, Any] = {"may_change": MAY, "wanted": 1, **changed}
    with pytest.raises(SpecError, match=said):
        fatt.recourse(model, people, **asked)


def test_scores_that_compete_are_refused() -> None:
    people, _ = town(0)
    table = people[["age", "debt"]]
    model = DecisionTreeClassifier(max_depth=3).fit(table, people.town)
    with pytest.raises(SpecError, match="3 answers, whose scores compete"):
        fatt.recourse(model, table, may_change={"age": "+1"}, wanted=1)


def test_the_command(tmp_path: Path) -> None:
    people, _ = town(3)
    table = people[["age", "debt", "town"]]
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3)
    model.fit(table, (people.age > 4).astype(int)).save_model(tmp_path / "m.json")
    table.to_csv(tmp_path / "people.csv", index=False)
    files = [str(tmp_path / "m.json"), str(tmp_path / "people.csv"), "--wanted", "1"]
    out = tmp_path / "out.csv"
    asked = [*files, "--may-change", "age=+2", "--group", "town"]
    told = CliRunner().invoke(command.command, [*asked, "--csv", str(out)])
    assert told.exit_code == 1, told.output
    assert "are proved to have no way" in told.stdout
    expected = fatt.recourse(model, table, may_change={"age": "+2"}, wanted=1)
    assert pd.read_csv(out).status.tolist() == [one.status for one in expected]
    told = CliRunner().invoke(command.command, [*asked, "--json", "--cost", "age=2"])
    found = json.loads(told.stdout)
    assert found["counts"] == expected.counts
    told = CliRunner().invoke(command.command, [*files, "--may-change", "age"])
    assert isinstance(told.exception, SpecError)


def main(count: int = 200, first: int = 0) -> None:
    """Hold so many towns to enumeration, with all costs and norms."""
    for seed in range(first, first + count):
        for cost, norm in itertools.product((None, COST), ("l0", "l1", "l2")):
            if cost is not None or norm != "l0":
                try:
                    check(seed, cost, norm)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}, {norm}") from error
    sys.stderr.write(f"{count} towns\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
