"""The rates of groups: how far they lie apart, and trees that bring them together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import fatt
from fatt import FATTClassifier, Similarity
from fatt.errors import DataError, SpecError
from fatt.train import people
from fatt.train.genome import join, leaf
from fatt.train.groups import CONSTRAINTS, Groups
from tests.laws.effort import for_seeds
from tests.train.cases import random_case, random_tree
from tests.train.test_kernels import SlowWalk

SIMILARITY = Similarity(noise={"pay": 0.1}, vary=["sex"])


def town(n_people: int, seed: int) -> tuple[pd.DataFrame, Any]:
    """Return people of whom men are paid more, and more often of the second class."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n_people)
    race = rng.choice(["A", "B"], n_people)
    pay = rng.normal(size=n_people) + 0.8 * (sex == "M")
    age = rng.normal(size=n_people) + 0.4 * (race == "B")
    y = (pay + age + rng.normal(size=n_people) > 0.6).astype(int)
    return pd.DataFrame({"pay": pay, "age": age, "sex": sex, "race": race}), y


X, Y = town(1500, 0)
SEX = X["sex"].to_numpy()


def gap(labels: Any, groups: Any, who: Any = True) -> float:
    rates = [labels[(groups == g) & who].mean() for g in np.unique(groups)]
    return float(max(rates) - min(rates))


def quick(**parameters: Any) -> FATTClassifier:
    return FATTClassifier(SIMILARITY, random_state=0, **parameters)


@for_seeds(40)
def test_gaps_are_those_of_the_rates_and_linear_in_the_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.resize(np.array(["a", "b", "c"])[: rng.integers(2, 4)], 60)
    codes = np.resize([0, 0, 0, 1, 1], 60)
    weights, labels = rng.integers(1, 4, 60).astype(float), rng.integers(2, size=60)
    for constraint, compared in CONSTRAINTS.items():
        found = Groups.of(groups, codes, weights, constraint).spread(labels)
        gaps, ratios = [], []
        for classes in compared:
            rates = [
                np.average(labels[chosen], weights=weights[chosen])
                for chosen in (
                    (groups == name) & np.isin(codes, classes)
                    for name in np.unique(groups)
                )
            ]
            gaps.append(max(rates) - min(rates))
            ratios.append(min(rates) / max(rates) if max(rates) else 1.0)
        assert found.gap == pytest.approx(max(gaps))
        assert found.ratio == pytest.approx(min(ratios))
        assert found.slope @ labels == pytest.approx(found.gap)
        assert found.error > 0 or found.gap in {0.0, 1.0}


@for_seeds(20)
def test_a_price_on_the_gap_is_exact(seed: int) -> None:
    case = random_case(seed)
    objective = case.objective
    if not objective.people.n_splits:
        return
    n_people, n_classes = objective.worth.shape
    slope = case.rng.normal(size=n_people)
    positive = int(case.rng.integers(n_classes))
    priced = replace(
        objective,
        groups=Groups.of(
            np.resize(["a", "b"], n_people),
            case.people.codes,
            np.ones(n_people),
            "demographic_parity",
            positive,
        ),
        gap_price=0.3,
        slope=slope,
    )
    tree = random_tree(case)
    pairs = np.array([[0, 1]])
    alone, scores = priced.score_changes(priced.people.trace(tree), 0, pairs)
    slow = SlowWalk(case._replace(objective=priced))
    assert alone[-1] == slow.worth(tree)
    labels = priced.labels(tree)
    shift = 0.3 * (1 - priced.fairness_weight) * slope[labels == positive].sum()
    plain = SlowWalk(case).worth(tree)
    assert (plain - slow.worth(tree)) / 2**48 == pytest.approx(shift, abs=1e-9)
    split = int(np.argmax(scores[0]))
    left, right = (1, 0) if priced.people.ranks.flipped[split] else (0, 1)
    assert scores[0, split] == slow.worth(join(split, leaf(left), leaf(right)))


def test_groups_come_as_close_as_asked_for() -> None:
    free = quick(group="sex", max_gap=1).fit(X, Y)
    assert free.gap_ == pytest.approx(gap(free.predict(X), SEX))
    assert free.gap_ > 0.2
    low, high = free.gap_interval_
    assert low < free.gap_ < high
    accuracy = [free.accuracy_]
    for most in (0.15, 0.05):
        tree = quick(group="sex", max_gap=most).fit(X, Y)
        assert tree.gap_ == pytest.approx(gap(tree.predict(X), SEX))
        assert tree.gap_ < most
        others, _ = town(4000, 1)
        assert gap(tree.predict(others), others["sex"].to_numpy()) < most + 0.03
        report = fatt.verify(tree, X, similarity=SIMILARITY, schema=tree.schema_)
        assert report.fairness.lower == tree.fairness_
        assert len(np.unique(tree.predict(X))) == 2
        accuracy.append(tree.accuracy_)
    assert accuracy == sorted(accuracy, reverse=True)
    assert tree.front_.select(max_gap=0.1).gap <= 0.1
    assert tree.front_.chosen is not None
    assert tree.front_.chosen.gap == tree.gap_
    with pytest.raises(SpecError, match="a gap of -1 at most"):
        tree.front_.select(max_gap=-1)


def test_other_rates_and_ratios() -> None:
    plain = quick(group="sex", constraint="true_positive_rate_parity", max_gap=1).fit(
        X, Y
    )
    assert plain.gap_ == pytest.approx(gap(plain.predict(X), SEX, Y == 1))
    odds = quick(group="sex", constraint="equalized_odds", max_gap=0.1).fit(X, Y)
    labels = odds.predict(X)
    assert max(gap(labels, SEX, Y == 1), gap(labels, SEX, Y == 0)) < 0.1
    assert odds.gap_ < plain.gap_
    even = quick(group="sex", min_ratio=0.8).fit(X, Y)
    rates = [even.predict(X)[sex == SEX].mean() for sex in ("F", "M")]
    assert min(rates) / max(rates) >= 0.8
    cheap, dear = (
        quick(group="sex", group_weight=price).fit(X, Y) for price in (0.0, 1.0)
    )
    assert dear.gap_ < cheap.gap_


def test_groups_without_a_limit_are_only_measured_which_is_said() -> None:
    with pytest.warns(UserWarning, match="measured.*not made smaller.*max_gap=0.1"):
        tree = quick(group="sex", max_iter=2).fit(X, Y)
    meant = quick(group="sex", max_iter=2, max_gap=1).fit(X, Y)
    alone = quick(max_iter=2).fit(X, Y)
    assert tree.ensemble_ == meant.ensemble_ == alone.ensemble_
    assert tree.gap_ == meant.gap_ > 0.2
    with pytest.warns(UserWarning, match="not made smaller"):
        quick(max_iter=1).fit(X, Y, sensitive_features=X["race"])


def test_a_stump_that_a_gap_left_is_told() -> None:
    small = FATTClassifier(SIMILARITY, group="sex", max_gap=0.03, random_state=2)
    told = r"only 2 leaves.*\(max_gap=0.03\).* 69.9%; .* 81.2%, with 9 leaves .* 0.212"
    with pytest.warns(UserWarning, match=told):
        assert small.fit(X, Y).get_n_leaves() == 2


def test_groups_that_the_tree_may_not_read() -> None:
    unread = X.drop(columns=["sex", "race"])
    similarity = Similarity(noise={"pay": 0.1})
    tree = FATTClassifier(similarity, max_gap=0.1, random_state=0)
    tree.fit(unread, Y, sensitive_features=SEX)
    assert tree.gap_ == pytest.approx(gap(tree.predict(unread), SEX))
    assert tree.gap_ < 0.1
    both = X["sex"] + " " + X["race"]
    crossed = quick(group=["sex", "race"], max_gap=0.25).fit(X, Y)
    assert crossed.gap_ == pytest.approx(gap(crossed.predict(X), both.to_numpy()))
    assert crossed.gap_ < 0.25 < quick(group=["sex", "race"], max_gap=1).fit(X, Y).gap_
    columns = X[["sex", "race"]]
    few = quick(group=["sex", "race"], max_gap=0.25, max_iter=1).fit(X, Y)
    for given in (columns, columns.to_dict("list"), columns.to_numpy()):
        again = quick(max_gap=0.25, max_iter=1).fit(X, Y, sensitive_features=given)
        assert again.ensemble_.digest == few.ensemble_.digest


def test_rates_are_those_of_the_positive_label() -> None:
    # The same people, with answers as other data sets code them.
    said = np.where(Y == 1, "approve", "refuse")
    asked: dict[str, Any] = {"group": "sex", "min_ratio": 0.8}
    tree = quick(pos_label="approve", **asked).fit(X, said)
    rates = [(tree.predict(X)[sex == SEX] == "approve").mean() for sex in ("F", "M")]
    assert min(rates) / max(rates) >= 0.8
    assert tree.front_.chosen is not None
    assert tree.front_.chosen.ratio == pytest.approx(min(rates) / max(rates))
    low, high = tree.front_.chosen.ratio_interval
    assert low < tree.front_.chosen.ratio < high
    chances: Any = {"constraint": "true_positive_rate_parity", "max_gap": 1}
    free = quick(pos_label="approve", group="sex", **chances).fit(X, said)
    right = free.predict(X) == "approve"
    assert free.gap_ == pytest.approx(gap(right, SEX, said == "approve"))
    # Of three classes one must be named, and its rates come together.
    three = np.where((Y == 0) & (X["age"] > 0), "wait", said)
    close = quick(pos_label="approve", group="sex", max_gap=0.1).fit(X, three)
    assert close.gap_ == pytest.approx(gap(close.predict(X) == "approve", SEX))
    assert close.gap_ < 0.1


def test_people_held_out_tell_what_the_trees_reach_on_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def hold_out(*given: Any) -> Any:
        seen.append(people.hold_out(*given))
        return seen[-1]

    monkeypatch.setattr("fatt.train.classifier.hold_out", hold_out)
    tree = quick(group="sex", max_gap=0.1, validation_fraction=0.25).fit(X, Y)
    (held,) = seen
    for label in (0, 1):
        assert abs(held[label == Y].mean() - 0.25) < 0.002
    assert tree.accuracy_ == np.mean(tree.predict(X[~held]) == Y[~held])
    assert tree.gap_ == pytest.approx(gap(tree.predict(X[~held]), SEX[~held]))
    # What they are like changes nothing about the tree.
    other = clone(tree).fit(X.assign(age=np.where(held, 9.0, X["age"])), Y)
    assert np.array_equal(seen[1], held)
    assert other.ensemble_.digest == tree.ensemble_.digest
    found = tree.held_out_
    assert found is not None
    others, labels = X[held], tree.predict(X[held])
    assert found.accuracy == np.mean(labels == Y[held])
    assert found.gap == pytest.approx(gap(labels, SEX[held]))
    report = fatt.verify(tree, others, similarity=SIMILARITY, schema=tree.schema_)
    assert found.fairness == report.fairness.lower
    low, high = tree.gap_interval_
    assert low <= found.gap <= high
    assert high - low > 0.1
    table = tree.front_.to_frame()
    assert len(table["held_out_gap"]) == len(tree.front_)
    assert found.accuracy in table["held_out_accuracy"].tolist()
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"among the 1 people held out: .* Or hold out"):
        quick(group="sex", max_gap=1, validation_fraction=0.001).fit(X, Y)


@for_seeds(10)
def test_labels_are_worth_as_much_to_those_who_are_left(seed: int) -> None:
    people = random_case(seed).people
    some = np.flatnonzero(people.weights > 0)[::2]
    for mine in (people, people.of_people(some)):
        right = mine.worth[np.arange(len(mine.codes)), mine.codes]
        assert right.sum() == pytest.approx(1)


def test_a_gap_that_cannot_be_closed_is_told() -> None:
    table = pd.DataFrame({"pay": np.arange(200) % 100, "sex": np.arange(200) // 100})
    table["pay"] += 200 * table["sex"]
    y = table["sex"].to_numpy()
    tree = FATTClassifier(
        Similarity(noise={"pay": 1}), group="sex", max_gap=0.01, min_samples_leaf=40
    )
    with pytest.warns(UserWarning, match="no tree was found whose groups are at most"):
        tree.fit(table, y)


BAD: list[tuple[dict[str, Any], Any, str]] = [
    ({"max_gap": 0.1}, None, "max_gap is about groups: name the variables"),
    ({"group": "sexx"}, None, "group names 'sexx'"),
    ({"group": "pay"}, None, "which has 1500 values; cut it into a few groups"),
    ({"max_gap": 0.1}, X["pay"], "has 1500 values in 'pay'; cut them into a few"),
    ({"max_gap": 0.1}, "sex", "or name a column of the table: group='sex'"),
    ({"group": "sex"}, SEX, "both group and sensitive_features"),
    (
        {"constraint": "parity"},
        SEX,
        "constraint is 'parity'; choose 'demographic",
    ),
    ({"max_gap": 0.1, "min_ratio": 0.8}, SEX, "max_gap and min_ratio each say"),
    ({"max_gap": 2}, SEX, "max_gap is 2; it must be a number, from 0 to 1"),
    ({"pos_label": "yes"}, SEX, "pos_label is 'yes', and the labels are 0, 1"),
    ({"validation_fraction": 2}, None, "validation_fraction is 2; it must be a number"),
    ({"max_gap": 0.1, "algorithm": "paper"}, SEX, "max_gap is not for algorithm"),
]


@pytest.mark.parametrize(("parameters", "sensitive", "message"), BAD)
def test_bad_parameters(parameters: Any, sensitive: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        quick(**parameters).fit(X, Y, sensitive_features=sensitive)
    assert message in str(caught.value)


def test_bad_groups() -> None:
    tree = quick(max_gap=0.1)
    with pytest.raises(DataError, match=r"has 3 values in .* there are 1,500 people"):
        tree.fit(X, Y, sensitive_features=["a", "b", "a"])
    with pytest.raises(DataError, match="contradict the table in 'sex'"):
        tree.fit(X, Y, sensitive_features={"sex": SEX[::-1]})
    with pytest.raises(DataError, match="index of sensitive_features is not that of"):
        tree.fit(X, Y, sensitive_features=pd.Series(SEX).sample(frac=1, random_state=0))
    with pytest.raises(DataError, match="there are not two groups"):
        tree.fit(X, Y, sensitive_features=["a"] * 1500)
    with pytest.raises(DataError, match="there are 3 classes; name it, such as pos_"):
        tree.fit(X, np.arange(1500) % 3, sensitive_features=SEX)
    tree.set_params(constraint="true_positive_rate_parity")
    with pytest.raises(DataError, match="group 'late' has no person whose rate"):
        tree.fit(X, Y, sensitive_features=np.where(Y == 1, SEX, "late"))
