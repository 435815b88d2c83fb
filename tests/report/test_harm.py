"""Who is harmed: what the verdicts say of it, and never more, beside enumeration."""

from __future__ import annotations

import csv
import io
import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.audit.measures import causes
from fatt.errors import SpecError
from fatt.report import Side
from fatt.report.harm import HARMED, LOSING, NEITHER, UNKNOWN
from fatt.report.rows import to_csv
from fatt.verdict import Bounds
from tests.report.made import report

SIMILAR = fatt.Similarity(noise={"age": 1}, vary={"sex": [0, 1]})


def town(seed: int, n_classes: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(0, 6, 60), "sex": rng.integers(0, 2, 60)}
    people = pd.DataFrame({**columns, "debt": rng.integers(0, 3, 60)})
    kinds = [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(5, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    ]
    answers = np.array(["deny", "grant", "review"])[rng.integers(0, n_classes, 60)]
    return people, kinds[seed % 3].fit(people, answers)


def answers_around(model: Any, people: pd.DataFrame) -> list[set[str]]:
    """Return the answers of all who are similar to each person."""
    moves = list(itertools.product((-1, 0, 1), (0, 1)))
    found = []
    for step, sex in moves:
        other = people.assign(age=people.age + step, sex=sex)
        found.append(model.predict(other))
    return [set(some) for some in zip(*found, strict=True)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("direction", [None, "not lower", "not higher"])
def test_harm_is_what_enumeration_finds(seed: int, direction: Any) -> None:
    """Of two answers all is known; of three nothing wrong is said."""
    # Of several classes, whose scores compete, "not higher" cannot be asked.
    n_classes = 2 if direction == "not higher" else 2 + seed % 2
    people, model = town(seed, n_classes)
    asked = {} if direction is None else {"direction": direction, "favorable": "grant"}
    found = fatt.verify(model, people, similarity=SIMILAR, **asked)
    status = found.harmed("grant").status
    own = model.predict(people)
    for mine, others, said in zip(
        own, answers_around(model, people), status, strict=True
    ):
        if mine == "grant":
            truth = LOSING if others != {"grant"} else NEITHER
        else:
            truth = HARMED if "grant" in others else NEITHER
        assert said in {truth, UNKNOWN}
        if n_classes == 2 and direction is None:
            assert said == truth
    if direction == "not higher":
        assert (status[own == "deny"] != UNKNOWN).all()
    if direction == "not lower":
        assert (status[own == "grant"] != UNKNOWN).all()
    assert n_classes > 2 or {HARMED, LOSING, NEITHER} & set(status.tolist())


@pytest.mark.parametrize("seed", range(6))
def test_causes_are_what_enumeration_finds(seed: int) -> None:
    people, model = town(seed, 2)
    auditor = fatt.Auditor(model, similarity=SIMILAR, schema=people)
    found = auditor.verify(people)
    why = causes(auditor, found)
    assert why is not None
    own = model.predict(people)
    by_sex = model.predict(people.assign(sex=1 - people.sex)) != own
    by_age = (model.predict(people.assign(age=people.age + 1)) != own) | (
        model.predict(people.assign(age=people.age - 1)) != own
    )
    unfair = found.findings.verdict == 1
    assert why.protected == by_sex.sum()
    assert why.noise == by_age.sum()
    assert why.either == (by_sex & by_age).sum()
    assert why.together == (unfair & ~by_sex & ~by_age).sum()
    assert (why.total, why.unknown) == (unfair.sum(), 0)
    assert str(why).startswith(f"Of {why.total} unfair, {why.protected} by sex alone")


def test_nothing_is_told_apart_if_only_one_kind_may_change() -> None:
    people, model = town(0, 2)
    only = fatt.Similarity(vary={"sex": [0, 1]})
    auditor = fatt.Auditor(model, similarity=only, schema=people)
    assert causes(auditor, auditor.verify(people)) is None


def test_counts_groups_and_twins() -> None:
    harmed = report().harmed("grant")
    assert harmed.denied == Side(2, 1, 0, Bounds(0.5, 0.5))
    assert harmed.granted == Side(3, 2, 1, Bounds(2 / 3, 1.0))
    assert harmed.words() == [
        "neither", "harmed", "would lose", "unknown", "would lose",
    ]  # fmt: skip
    assert [case.index for case in harmed.cases] == [1]
    assert sorted(case.index for case in harmed.losses) == [2, 4]
    groups = harmed.by_group("sex")
    assert groups["M"].denied == Side(1, 1, 0, Bounds(1.0, 1.0))
    assert groups["F"].granted == Side(1, 1, 0, Bounds(1.0, 1.0))
    table = groups.to_frame()
    assert table.sex.tolist() == ["F", "M"]
    assert table.harmed.tolist() == [0, 1]
    both = harmed.by_group("sex", "city")
    assert sum(one.denied.size + one.granted.size for one in both.values()) == 5
    frame = harmed.to_frame()
    assert frame.harm.tolist() == harmed.words()
    assert frame.changes.notna().tolist() == [False, True, True, False, True]
    assert "1 of 2 (50.00%) people who do not get 'grant'" in repr(harmed)


def test_weights_count_in_shares() -> None:
    weighed = report(sample_weight=np.array([1.0, 3.0, 1.0, 1.0, 2.0])).harmed("grant")
    assert weighed.denied.share == Bounds(0.75, 0.75)
    assert weighed.granted.share == Bounds(0.75, 1.0)


def test_the_second_of_two_answers_is_assumed_and_said_to_be() -> None:
    assert report().harmed().assumed
    assert not report().harmed("deny").assumed
    assert report().harmed("deny").denied.found == 2


def test_json_csv_and_page_tell_it() -> None:
    some = report()
    told = json.loads(some.to_json(favorable="deny"))["harmed"]
    assert (told["favorable"], told["assumed"]) == ("deny", False)
    assert told["granted"] == {
        "size": 2, "found": 1, "unknown": 0, "lower": 0.5, "upper": 0.5,
    }  # fmt: skip
    assert told["people"] == some.harmed("deny").words()
    lines = list(csv.DictReader(io.StringIO(to_csv(some, favorable="deny"))))
    assert [line["harm"] for line in lines] == told["people"]
    page = some.to_html(groups=["sex"], favorable="deny")
    assert page.index("have a similar person who gets it") < page.index("<nav")
    assert "Who is harmed, by " in page


def test_no_answer_is_favorable_among_three_unless_it_is_named() -> None:
    people, model = town(1, 3)
    found = fatt.verify(model, people, similarity=SIMILAR)
    with pytest.raises(SpecError, match="more than two answers: say which one"):
        found.harmed()
    with pytest.raises(SpecError, match="'gramt' is no answer of the model"):
        found.harmed("gramt")
    assert json.loads(found.to_json())["harmed"] is None
    assert "harm" not in to_csv(found).split("\n", maxsplit=1)[0].split(",")


def test_predictions_have_no_favorable_answer() -> None:
    people, model = town(0, 2)
    found = fatt.verify(model, people, similarity=SIMILAR, tolerance=0.1)
    with pytest.raises(SpecError, match="predicts numbers"):
        found.harmed()
