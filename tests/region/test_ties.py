"""Formulas in follow and orders in exist: what is refused, and what moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.errors import DataError, SpecError
from fatt.region import Integer, Schema
from fatt.verdict import UNKNOWN
from fatt.verifier import Budget

_rng = np.random.default_rng(0)
_AGE = _rng.integers(20, 60, 200)
TABLE = pd.DataFrame(
    {
        "age": _AGE,
        "birth_year": 2026 - _AGE - _rng.integers(0, 2, 200),
        "tenure": _rng.integers(0, 4, 200),
        "income": _rng.integers(1, 9, 200) * 10.0,
        "debt": _rng.integers(0, 9, 200) * 5.0,
    }
)
TABLE["ratio"] = TABLE["debt"] / TABLE["income"]
LABEL = _rng.integers(0, 2, 200)
TREE = DecisionTreeClassifier(max_depth=7, random_state=0).fit(TABLE, LABEL)


def ask(people=TABLE, schema=None, **said):
    similarity = Similarity(**said)
    return fatt.verify(TREE, people, similarity=similarity, schema=schema)


def test_a_sum_moves_along_though_it_does_not_hold():
    report = ask(noise={"age": 3}, follow={"birth_year": "2026 - age"})
    assert len(report.counterexamples)
    for case in report.counterexamples:
        moved = case.twin["age"] - case.individual["age"]
        assert moved
        assert case.twin["birth_year"] == case.individual["birth_year"] - moved


def test_noise_for_all_numbers_leaves_followers_alone():
    said = {"follow": {"birth_year": "2026 - age"}, "exist": ["tenure <= age"]}
    for case in ask(noise=1, **said).counterexamples:
        moved = case.twin["age"] - case.individual["age"]
        assert case.twin["birth_year"] == case.individual["birth_year"] - moved


def test_a_formula_must_hold_in_each_row():
    people = TABLE[:3].assign(ratio=[*TABLE["ratio"][:2], 0.123])
    with pytest.raises(DataError, match=r"row 2: 'ratio' is 0.123.*debt / income is"):
        ask(people, noise={"debt": 1}, follow={"ratio": "debt / income"})


def test_a_row_that_breaks_an_order_is_refused():
    people = TABLE[:3].assign(tenure=[1, 50, 1])
    with pytest.raises(DataError, match=r"row 1 breaks .*'tenure' is 50 and 'age' is"):
        ask(people, noise={"tenure": 1}, exist=["tenure <= age - 16"])


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            {"exist": ["tenure <= age - 16", "age <= tenure + 3"]},
            "nobody can keep the orders",
        ),
        ({"exist": ["tenure < age", "age <= tenure"]}, "nobody can keep the orders"),
        ({"exist": ["tenure <= age", "age <= tenure"]}, "leave no room between"),
        ({"exist": ["tenure >= age + 99"]}, "nobody can keep the order"),
        (
            {"follow": {"ratio": "debt / income"}, "noise": {"debt": 1, "income": 1}},
            "who differ in 'debt' and 'income' at once",
        ),
        ({"follow": {"ratio": "log(debt)"}}, "'log' is a function, and none is known"),
        ({"follow": {"ratio": "dept / income"}}, "'dept'"),
        (
            {"follow": {"ratio": "birth_year * 2", "birth_year": "ratio + 1"}},
            "follow goes in a circle",
        ),
        ({"follow": {"age": "debt / income"}}, "is named in noise and in follow"),
        (
            {"follow": {"birth_year": "age / 12"}},
            "which need not be a whole number",
        ),
        (
            {"follow": {"ratio": "debt / (debt + income)"}},
            "'debt' stands twice, other than as a power",
        ),
        ({"follow": {"ratio": "age - age + 0 * debt"}}, "which is always the same"),
        (
            {"follow": {"birth_year": "2026 - age"}, "at_most": 1},
            "cannot have at_most or distance yet",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(said, reason):
    bounds = {"age": Integer(columns="age", lower=17, upper=90)}
    bounds["tenure"] = Integer(columns="tenure", lower=0, upper=60)
    schema = Schema.infer(fatt.load(TREE), TABLE).with_(bounds)
    with pytest.raises(SpecError, match="(?s)" + reason.replace("(", r"\(")):
        ask(schema=schema, **{"noise": {"age": 1, "tenure": 1}, **said})


def test_dividing_by_zero_is_refused_with_the_row():
    people = TABLE[:3].assign(income=[30.0, 5.0, 30.0], ratio=TABLE["debt"][:3] / 30)
    people.loc[1, "ratio"] = people.loc[1, "debt"] / 5
    with pytest.raises(SpecError, match="divides by zero for some"):
        ask(people, noise={"income": 6}, follow={"ratio": "debt / income"})


def test_missing_values_are_not_tied():
    table = TABLE.astype({"tenure": float})
    table.loc[:3, "tenure"] = np.nan
    tree = DecisionTreeClassifier(max_depth=7, random_state=0).fit(table, LABEL)
    said = {"noise": {"age": 3, "tenure": 1}, "exist": ["tenure <= age - 16"]}
    report = fatt.verify(tree, table[:9], similarity=Similarity(**said))
    assert not (report.findings.verdict == UNKNOWN).any()
    similarity = Similarity(**said, missing=["tenure"])
    with pytest.raises(SpecError, match="missing names 'tenure'"):
        fatt.verify(tree, table[:9], similarity=similarity)


def test_categories_are_no_part_of_an_order():
    schema = Schema.infer(fatt.load(TREE), TABLE)
    with pytest.raises(SpecError, match="which is a category"):
        ask(schema=schema, noise={"age": 1}, vary=["tenure"], exist=["tenure <= age"])


def test_a_budget_leaves_people_unknown():
    said = {"noise": {"age": 9, "tenure": 3, "debt": 20}}
    said["exist"] = ["tenure <= age - 16", "tenure <= debt"]
    people = TABLE[TABLE["tenure"] <= TABLE["debt"]]
    forest = fatt.load(TREE)
    similarity = Similarity(**said)
    free = fatt.verify(forest, people, similarity=similarity)
    tight = fatt.verify(forest, people, similarity=similarity, budget=Budget(nodes=0))
    verdicts = free.findings.verdict, tight.findings.verdict
    assert ((verdicts[0] == verdicts[1]) | (verdicts[1] == UNKNOWN)).all()


def test_radii_and_gaps_grow_with_what_moves_along():
    similarity = Similarity(noise={"age": 1}, follow={"birth_year": "2026 - age"})
    schema = Schema.infer(fatt.load(TREE), TABLE)
    given = {"similarity": similarity, "schema": schema}
    radii = fatt.radius(TREE, TABLE[:12], **given)
    for row in range(12):
        for scale in (radii.lower[row], radii.upper[row]):
            if not np.isfinite(scale) or scale > 40:
                continue
            years = int(scale)
            wide = Similarity(noise={"age": years}, follow={"birth_year": "2026 - age"})
            one = fatt.verify(
                TREE, TABLE[row : row + 1], similarity=wide, schema=schema
            )
            assert bool(one.is_fair[0]) == (scale < radii.upper[row])


def test_alternatives_have_ties_of_their_own():
    one = Similarity(noise={"age": 2}, follow={"birth_year": "2026 - age"})
    other = Similarity(noise={"debt": 5}, follow={"ratio": "debt / income"})
    apart = [
        ask(
            TABLE[:60],
            noise=dict(s.noise and [(n, a.above) for n, a in s.noise]),
            follow=dict(s.follow),
        )
        for s in (one, other)
    ]
    both = fatt.verify(TREE, TABLE[:60], similarity=one | other)
    assert (both.is_fair == apart[0].is_fair & apart[1].is_fair).all()


def test_combinations_and_orders_go_together():
    table = TABLE.assign(sex=_rng.choice(["F", "M"], 200).astype(object))
    table["title"] = np.where(table["sex"] == "F", "Ms", "Mr")
    codes = table.assign(sex=(table["sex"] == "F") * 1, title=(table["sex"] == "F") * 1)
    tree = DecisionTreeClassifier(max_depth=8, random_state=0).fit(codes, LABEL)
    similarity = Similarity(
        noise={"age": 2, "tenure": 1},
        vary={"sex": [0, 1]},
        exist=[("sex", "title"), "tenure <= age - 16"],
        follow=["title", {"birth_year": "2026 - age"}],
    )
    report = fatt.verify(tree, codes, similarity=similarity)
    assert len(report.counterexamples)
    for case in report.counterexamples:
        assert case.twin["sex"] == case.twin["title"]
        moved = case.twin["age"] - case.individual["age"]
        assert case.twin["birth_year"] == case.individual["birth_year"] - moved
        assert case.twin["tenure"] <= case.twin["age"] - 16


def test_what_does_not_follow_ties_says_so():
    similarity = Similarity(noise={"age": 2}, follow={"birth_year": "2026 - age"})
    report = fatt.verify(TREE, TABLE[:9], similarity=similarity)
    with pytest.raises(fatt.errors.FattError, match="do not yet support formulas"):
        report.certificate()
    with pytest.raises(SpecError, match=r"fatt.repair does not support|fatt.repair"):
        fatt.repair(TREE, TABLE, LABEL, similarity=similarity)
    with pytest.raises(SpecError, match="FATTClassifier"):
        fatt.FATTClassifier(similarity=similarity).fit(TABLE, LABEL)
