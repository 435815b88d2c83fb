"""Who exists and what follows: verdicts beside all combinations of cells, own code.

Random small tables, models of several libraries and random rules. Everybody similar is
enumerated cell by cell, straight from the words of the similarity; none of the code of
`fatt` tells who is similar here. By hand:
``FATT_EFFORT=100 pytest tests/laws/test_existence.py -n 2``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import fatt
from fatt import Similarity
from fatt.errors import SpecError
from fatt.region import Relation
from fatt.region.existence import Swaps
from tests.laws.effort import for_seeds

Rng = np.random.Generator
Cell = Any
Person = dict[str, Cell]

#: Columns of categories, a column of codes that are numbers, and a whole number.
LEVELS: dict[str, list[Cell]] = {
    "sex": ["F", "M"],
    "kin": ["husband", "single", "wife"],
    "title": ["Mr", "Ms", "Mx"],
    "code": [0, 1, 2],
    "age": [20, 21, 22, 23],
}
TEXTS = ["sex", "kin", "title"]
TIED = ["sex", "kin", "title", "code"]


def table_of(rng: Rng, count: int) -> pd.DataFrame:
    """Return people of whom many combinations do not occur."""
    known = [{n: rng.choice(some) for n, some in LEVELS.items()} for _ in range(7)]
    rows = [dict(known[rng.integers(len(known))]) for _ in range(count)]
    for row in rows:
        row["age"] = rng.choice(LEVELS["age"])
    frame = pd.DataFrame(rows)
    for name in TEXTS:
        frame[name] = frame[name].astype(str)
        if name == "kin" and rng.random() < 0.3:
            frame.loc[rng.random(count) < 0.2, name] = None
        frame[name] = pd.Categorical(frame[name], categories=LEVELS[name])
    return frame


def _levels(*names: str) -> list[list[Cell]]:
    return [LEVELS[name] for name in names]


def _tree(**how: Any) -> Any:
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(categories=_levels("sex", "title")), ["sex", "title"]),
            (OrdinalEncoder(categories=_levels("kin")), ["kin"]),
            remainder="passthrough",
        ),
        DecisionTreeClassifier(**how),
    )


def _forest(**how: Any) -> Any:
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(categories=_levels(*TEXTS), drop="first"), TEXTS),
            remainder="passthrough",
        ),
        RandomForestClassifier(n_estimators=3, **how),
    )


def _boosted(**how: Any) -> Any:
    return LGBMClassifier(
        n_estimators=4,
        min_child_samples=1,
        min_data_per_group=1,
        cat_smooth=0.0,
        min_data_in_bin=1,
        verbose=-1,
        **how,
    )


def _coded(**how: Any) -> Any:
    # All columns are numbers, as most models hold them.
    return make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(categories=_levels(*TEXTS)), TEXTS),
            remainder="passthrough",
        ),
        RandomForestClassifier(n_estimators=3, **how),
    )


MODELS: list[Callable[..., Any]] = [_tree, _forest, _boosted, _coded]


def similarity_of(rng: Rng, X: pd.DataFrame) -> Relation:
    """Return a random similarity, with rules and without, or a union of two."""
    one = _alternative(rng, X)
    return one if rng.random() < 0.7 else one | _alternative(rng, X)


def _alternative(rng: Rng, X: pd.DataFrame) -> Similarity:
    names = list(rng.permutation(TIED))
    moving, rest = names[: rng.integers(1, 3)], names
    vary: dict[str, Any] = {}
    for name in moving:
        listed = rng.random() < 0.3 or name == "code"
        some = rng.permutation(LEVELS[name])[:2].tolist()
        vary[str(name)] = some if listed else "known"
    rest = [name for name in names if name not in moving]
    given: dict[str, Any] = {"vary": vary, "exist": [], "follow": []}
    if rng.random() < 0.5:
        given["noise"] = {"age": 1}
    if rng.random() < 0.2:
        given["where"] = {"sex": "F"} if rng.random() < 0.5 else {"age": "<= 22"}
    _add_rules(rng, X, given, moving, rest)
    if rng.random() < 0.3:
        given["at_most"] = 1
    return Similarity(**given)


def _add_rules(
    rng: Rng, X: pd.DataFrame, given: dict[str, Any], moving: list[str], rest: list[str]
) -> None:
    followers = set[str]()
    if rng.random() < 0.8:
        tie = [str(moving[0]), str(rest[0])]
        given["exist"].append(_existing(rng, tie, X))
        if rng.random() < 0.5:
            followers.add(tie[1])
            given["follow"].append(tie[1])
    if rng.random() < 0.4:
        more = [str(n) for n in rng.permutation(TIED)[: rng.integers(2, 4)]]
        if {*more} != {str(moving[0]), str(rest[0])}:
            given["exist"].append(_existing(rng, more, X))
    if rng.random() < 0.5:
        follower = str(rest[-1])
        if follower not in followers:
            leader = str(moving[0])
            levels = rng.permutation(LEVELS[follower]).tolist()
            pairs = [[levels[0], levels[1]], [levels[1], levels[0]]]
            by = {leader: pairs}
            if rng.random() < 0.3 and len(moving) > 1:
                by[str(moving[1])] = pairs
            given["follow"].append({follower: by})


def _existing(rng: Rng, names: list[str], X: pd.DataFrame) -> Any:
    """Return names alone, or with combinations: mostly all that rows have, and more."""
    if rng.random() < 0.5:
        return tuple(names)
    every = list(itertools.product(*(LEVELS[name] for name in names)))
    rows = X[names].dropna().drop_duplicates().to_numpy().tolist()
    known = {tuple(row) for row in rows} if rng.random() < 0.9 else set()
    rows = [c for c in every if c in known or rng.random() < 0.3]
    return {tuple(names): rows or every}


# ---- Who is similar, by the words.


def is_missing(cell: Cell) -> bool:
    return cell is None or isinstance(cell, float)


def same(one: Cell, other: Cell) -> bool:
    return (is_missing(one) and is_missing(other)) or one == other


def exists(person: Person, said: Any, people: list[Person]) -> bool:
    """Tell whether a combination is listed, or some row has it."""
    for one in said.exist:
        cells = [person[name] for name in one.names]
        if one.rows is None:
            rows = [[other[name] for name in one.names] for other in people]
            found = any(all(map(same, cells, row)) for row in rows)
        else:
            found = any(
                all(is_missing(c) or c == r for c, r in zip(cells, row, strict=True))
                for row in one.rows
            )
        if not found:
            return False
    return True


def meets(person: Person, said: Similarity) -> bool:
    where = said.plain().get("where", {})
    return ("sex" not in where or person["sex"] in where["sex"]) and (
        "age" not in where or person["age"] <= 22
    )


def others_of(person: Person, said: Similarity) -> Iterator[Person]:
    """Yield everybody who differs only in what moves or follows."""
    plain = said.plain()
    vary, follow = plain["vary"], dict(said.follow)
    if isinstance(vary, list):
        vary = dict.fromkeys(vary, "known")
    ways: dict[str, list[Cell]] = {}
    for name, own in person.items():
        values = LEVELS[name] if vary.get(name) == "known" else vary.get(name, [])
        ways[name] = list(values) if own in values else [own]
        if name in follow and not is_missing(own):
            ways[name] = LEVELS[name]
        if name == "age" and "noise" in plain:
            ways[name] = [own - 1, own, own + 1]
    for cells in itertools.product(*ways.values()) if meets(person, said) else ():
        other = dict(zip(ways, cells, strict=True))
        if (
            meets(other, said)
            and has_followed(person, other, said)
            and (said.at_most is None or n_moved(person, other, said) <= said.at_most)
        ):
            yield other


def n_moved(person: Person, other: Person, said: Similarity) -> int:
    """Return how many attributes differ; what is tied together is one."""
    groups = [{name} for name in person]
    ties = [{*one.names} for one in said.exist]
    ties += [
        {name, *how.leaders} for name, how in said.follow if isinstance(how, Swaps)
    ]
    for tie in ties:
        near = [group for group in groups if group & tie]
        groups = [group for group in groups if not group & tie]
        groups.append(tie.union(*near))
    return sum(
        any(not same(person[name], other[name]) for name in group) for group in groups
    )


def has_followed(person: Person, other: Person, said: Similarity) -> bool:
    moved = {name for name in person if not same(person[name], other[name])}
    for name, how in said.follow:
        level = person[name]
        for leader, pairs in how.by if isinstance(how, Swaps) else ():
            level = dict(pairs).get(level, level) if leader in moved else level
        if isinstance(how, Swaps) and not same(other[name], level):
            return False
    loose = {name for name, how in said.follow if how is None}
    return all(beside(name, loose, said) & moved for name in loose & moved)


def beside(name: str, loose: set[str], said: Similarity) -> set[str]:
    """Return what stands together with a follower, or with one that moves with it."""
    near, size = {name}, 0
    while size < len(near):
        size = len(near)
        for one in said.exist:
            if {*one.names} & near & loose:
                near |= {*one.names}
    return near - loose


def similar_to(
    person: Person, relation: Relation, people: list[Person]
) -> list[Person]:
    return [
        other
        for said in relation.alternatives
        if exists(person, said, people)
        for other in others_of(person, said)
        if exists(other, said, people)
    ]


def frame_of(people: list[Person], like: pd.DataFrame) -> pd.DataFrame:
    frame = pd.DataFrame(people, columns=like.columns)
    for name in TEXTS:
        frame[name] = pd.Categorical(frame[name], categories=LEVELS[name])
    return frame.astype({"code": like["code"].dtype, "age": like["age"].dtype})


def case_of(seed: int) -> tuple[Any, pd.DataFrame, Relation]:
    rng = np.random.default_rng(seed)
    X = table_of(rng, 24)
    if not X["kin"].notna().all():
        model = _boosted(random_state=0)
    else:
        model = MODELS[rng.integers(len(MODELS))](random_state=seed % 1000)
    y = rng.integers(0, 2 + seed % 2, len(X))
    y[:3] = [0, 1, 2][: 2 + seed % 2] + [0] * (1 - seed % 2)
    return model.fit(X, y), X, similarity_of(rng, X)


def refused(model: Any, X: pd.DataFrame, relation: Relation) -> Any:
    """Return a report; None if what is said does not fit, as it may by chance."""
    try:
        return fatt.verify(model, X, similarity=relation)
    except SpecError as error:
        if "nobody in this table" in str(error) or "gives other levels" in str(error):
            return None
        raise
    except fatt.errors.DataError as error:
        if "do not exist together" in str(error):
            return None
        raise


@for_seeds(16)
def test_verdicts_are_those_of_all_combinations(seed: int) -> None:
    model, X, relation = case_of(seed)
    report = refused(model, X, relation)
    people = X.to_dict("records")
    if report is None:
        if len(relation.alternatives) == 1:
            [said] = relation.alternatives
            assert not all(exists(p, said, people) for p in people) or not any(
                not all(map(same, other.values(), p.values()))
                for p in people
                for other in similar_to(p, relation, people)
            )
        return
    twins = report.counterexamples
    found = {case.index: case for case in twins}
    # Everybody similar to somebody, asked at once.
    near = [similar_to(person, relation, people) for person in people]
    asked = [*people, *itertools.chain(*near)]
    answers = model.predict(frame_of(asked, X)).tolist()
    own, rest = answers[: len(people)], iter(answers[len(people) :])
    alone = 0
    for row, (person, others) in enumerate(zip(people, near, strict=True)):
        labels = {next(rest) for _ in others} | {own[row]}
        verdict = str(report.findings[row].verdict)
        if verdict != "unknown":
            # A forest's order of sums is open where two classes are equal.
            is_fair = labels == {own[row]}
            assert verdict == ("fair" if is_fair else "unfair"), (row, person)
        is_alone = all(
            all(same(person[name], other[name]) for name in person) for other in others
        )
        alone += is_alone
        if row in found:
            changes = {k: after for k, (_, after) in found[row].changes.items()}
            twin = {**person, **changes}
            assert any(all(same(twin[n], o[n]) for n in twin) for o in others), twin
    assert report.alone == alone


@for_seeds(6)
def test_one_more_rule_keeps_fair(seed: int) -> None:
    model, X, relation = case_of(seed)
    rng = np.random.default_rng(seed)
    for said in relation.alternatives[:1]:
        if said.follow:
            continue
        tie = tuple(map(str, rng.permutation(TIED)[:2]))
        given = {**said.plain(), "exist": [*said.exist, tie]}
        try:
            stricter = Similarity(**given)
        except SpecError:
            continue
        before, after = (refused(model, X, one) for one in (said, stricter))
        if before is None or after is None:
            continue
        assert not (before.is_fair & ~after.is_fair).any()


@for_seeds(4)
def test_rows_that_are_similar_stay_similar_by_the_rules_of_their_table(
    seed: int,
) -> None:
    model, X, _ = case_of(seed)
    pair = ("sex", "kin")
    plain = Similarity(vary=["sex", "kin"])
    tied = Similarity(vary=["sex", "kin"], exist=[pair])
    people = X.to_dict("records")
    before, after = (fatt.verify(model, X, similarity=one) for one in (plain, tied))
    labels = model.predict(X)
    for row, person in enumerate(people):
        rows = [
            other
            for other, twin in enumerate(people)
            if all(same(person[n], twin[n]) for n in person if n not in pair)
            # A missing value stays missing.
            and is_missing(person["kin"]) == is_missing(twin["kin"])
        ]
        if len({labels[one] for one in rows}) > 1:
            assert str(before.findings[row].verdict) == "unfair"
            assert str(after.findings[row].verdict) == "unfair"


@pytest.mark.parametrize("seed", range(2))
def test_gaps_and_radii(seed: int) -> None:
    model, X, _ = case_of(seed)
    tied = Similarity(
        vary=["sex"],
        noise={"age": 1},
        exist=[("sex", "kin")],
        follow=["kin"],
    )
    people = X.to_dict("records")
    near = [similar_to(person, tied, people) for person in people]
    try:
        gaps = fatt.score_gap(model, X, similarity=tied, of="probability")
    except SpecError:
        pytest.skip("several classes have no single probability")
    own = model.predict_proba(X)
    for row, others in enumerate(near):
        scores = model.predict_proba(frame_of([*others, people[row]], X))
        widest = np.abs(scores - own[row]).max()
        assert gaps.lower[row] <= widest + 1e-9
        assert gaps.upper[row] >= widest - 1e-9
    report = fatt.verify(model, X, similarity=tied)
    radii = fatt.radius(model, X, similarity=tied)
    assert ((radii.lower >= 1) <= report.is_fair).all()
    assert ((radii.upper <= 1) <= ~report.is_fair).all()


def test_values_that_the_model_cannot_tell_apart_are_not_tied() -> None:
    # The model asks of 'kin' alone, so that all of 'sex' is one value to it.
    X = pd.DataFrame({"sex": [0, 1, 2, 0, 1, 2] * 9, "kin": [0, 0, 1, 1, 2, 2] * 9})
    model = XGBClassifier(
        n_estimators=1,
        learning_rate=1,
        feature_types=["c", "c"],
        enable_categorical=True,
    ).fit(X.to_numpy(), X.kin == 2)
    X.columns = ["f0", "f1"]
    for rules in (
        {"follow": {"f1": {"f0": {0: 2, 2: 0}}}},
        {"follow": ["f1"], "exist": [("f0", "f1")]},
    ):
        with pytest.raises(SpecError, match="cannot tell some values apart"):
            fatt.verify(model, X, similarity=Similarity(vary=["f0"], **rules))
    # It reads each value of 'kin'.
    alone = Similarity(vary=["f1"], where={"f1": [1, 2]})
    assert not fatt.verify(model, X, similarity=alone).is_fair.all()


def test_values_that_nobody_names_are_not_tied() -> None:
    X = pd.DataFrame({"sex": ["F", "M"] * 9, "kin": ["w", "w", "h"] * 6})
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["sex", "kin"])
        ),
        DecisionTreeClassifier(random_state=0),
    ).fit(X, X.kin == "w")
    follow = {"kin": {"sex": {"w": "h", "h": "w"}}}
    named = Similarity(vary=["sex"], follow=follow)
    auditor = fatt.Auditor(model, similarity=named, schema=X)
    assert not auditor.verify(X).is_fair.any()
    # Somebody of one unknown value may be similar to somebody of another.
    with pytest.raises(SpecError, match="cannot tell some values apart"):
        auditor.with_similarity(Similarity(vary={"sex": "any"}, follow=follow))


def test_what_is_tied_costs_as_much_as_its_parts() -> None:
    rows = list(itertools.product("FM", "bw", "xy"))
    X = pd.DataFrame(rows, columns=["sex", "race", "kin"])
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex", "race", "kin"])),
        DecisionTreeClassifier(random_state=0),
    ).fit(X, (X.sex == "M") & (X.race == "w"))
    # Whoever differs from all that are granted in both columns is too far away.
    near = [False, False, True, True, True, True, True, True]
    for weight in (0.6, {("b", "w"): 0.6}):
        for tie in ("sex", "kin"), ("sex", "race"):
            said = Similarity(distance={"sex": 0.6, "race": weight}, exist=[tie])
            report = fatt.verify(model, X, similarity=said)
            assert (~report.is_fair).tolist() == near, said
    # What one alternative ties stays apart in the other.
    apart = Similarity(vary=["sex", "race"], at_most=1)
    tied = Similarity(vary=["kin"], exist=[("sex", "race"), ("race", "kin")])
    report = fatt.verify(model, X, similarity=apart | tied)
    assert (~report.is_fair).tolist() == near
    twice = Similarity(vary=["sex", "race"], exist=[("sex", "race")], at_most=1)
    assert not fatt.verify(model, X, similarity=twice).is_fair.any()


def test_radii_count_what_is_tied_once() -> None:
    X = pd.DataFrame(
        itertools.product("FM", "bw", "xy"), columns=["sex", "race", "kin"]
    )
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex", "race", "kin"])),
        DecisionTreeClassifier(random_state=0),
    ).fit(X, (X.sex == "M") & (X.race == "w"))
    far = [1.2, 1.2, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
    for tie in ("sex", "kin"), ("sex", "race"):
        ball = Similarity(distance={"sex": 0.6, "race": 0.6}, exist=[tie])
        radii = fatt.radius(model, X, similarity=ball)
        assert [radius.bounds.upper for radius in radii] == pytest.approx(far)
    counted = Similarity(vary=["sex", "race"], exist=[("sex", "kin")], at_most=1)
    radii = fatt.radius(model, X, similarity=counted)
    assert [radius.bounds.upper for radius in radii] == [2, 2, 1, 1, 1, 1, 1, 1]
