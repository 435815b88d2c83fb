"""The fairness that training tells is the one that the verifier proves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fatt
from fatt import FATTClassifier, Similarity
from fatt.region import Schema, Variables
from fatt.train.fitness import Limits, Objective
from fatt.train.models import appraise
from fatt.train.people import Labels, gather_people
from fatt.train.splits import Split, blank_tree
from fatt.train.training_set import UNITS, TrainingSet
from fatt.verdict import FAIR
from fatt.verifier import Verifier
from tests.laws.effort import for_seeds
from tests.train import town
from tests.train.cases import random_case, random_tree, relation, table

X_MIXED, Y_MIXED = town.mixed()
X_PLAIN, Y_PLAIN = town.plain()
X_THREE, Y_THREE = town.three_classes()

CONDITIONAL = Similarity(noise={"age": 2}, where={"age": "<= 40"}) | Similarity(
    noise={"age": 5}, vary=["sex", "job"], where={"age": "> 40"}
)
MISSING = Similarity(noise={"income": 100}, missing=["income", "job"])


def one_hot() -> Any:
    table = X_MIXED.drop(columns="income").assign(
        **{f"job={job}": X_MIXED["job"].eq(job) for job in ("clerk", "cook", "nurse")}
    )
    return table.drop(columns=["job", "sex"]).astype(float)


CASES: dict[str, tuple[Any, Any, Any]] = {
    "raw columns": (X_MIXED, Y_MIXED, town.SIMILARITY),
    "a union of relations": (X_MIXED, Y_MIXED, CONDITIONAL),
    "values that may be missing": (X_MIXED, Y_MIXED, MISSING),
    "one-hot columns": (
        one_hot(),
        Y_MIXED,
        Similarity(noise={"age": 3}, vary=["job"]),
    ),
    "an array": (X_PLAIN, Y_PLAIN, Similarity(noise=0.2)),
    "three classes": (X_THREE, Y_THREE, Similarity(noise=0.2)),
}


@pytest.mark.parametrize("algorithm", ["descent", "paper"])
@pytest.mark.parametrize("case", CASES)
def test_every_tree_is_as_fair_as_the_verifier_proves(
    case: str, algorithm: Any
) -> None:
    X, y, similarity = CASES[case]
    tree = FATTClassifier(
        similarity, algorithm=algorithm, max_iter=30, random_state=0
    ).fit(X, y)
    assert len(tree.front_) > 1
    some = tree.front_[:: len(tree.front_) // 6 + 1]
    for each in [tree, *map(tree.with_tree, some)]:
        auditor = fatt.Auditor(each, similarity=similarity, schema=tree.schema_)
        report = auditor.verify(X)
        assert report.fairness == (each.fairness_, each.fairness_)
        assert each.accuracy_ == each.score(X, y)


@pytest.mark.parametrize("algorithm", ["descent", "paper"])
def test_who_is_similar_only_to_oneself_is_treated_fairly(algorithm: Any) -> None:
    # A table of such people is refused, since nothing would be proved; each is fair.
    alone = Similarity(noise={"x0": 0})
    tree = FATTClassifier(alone, algorithm=algorithm, max_iter=30, random_state=0)
    tree.fit(X_PLAIN, Y_PLAIN)
    assert tree.fairness_ == 1.0
    assert tree.accuracy_ == tree.score(X_PLAIN, Y_PLAIN)
    auditor = fatt.Auditor(tree, similarity=alone, schema=tree.schema_)
    for person in X_PLAIN[:20]:
        report = auditor.verify([person])
        assert report.fairness == (1.0, 1.0)
        assert report.alone == 1


def test_weights_count_in_accuracy_and_fairness() -> None:
    weight = np.random.default_rng(0).gamma(2, size=len(X_MIXED))
    tree = FATTClassifier(town.SIMILARITY, random_state=0)
    tree.fit(X_MIXED, Y_MIXED, sample_weight=weight)
    report = fatt.verify(
        tree, X_MIXED, similarity=town.SIMILARITY, sample_weight=weight
    )
    assert tree.fairness_ == report.fairness.lower
    assert tree.accuracy_ == pytest.approx(tree.score(X_MIXED, Y_MIXED, weight))


def test_a_larger_weight_of_fairness_gives_fairer_trees() -> None:
    X, y = town.plain(600)
    similarity = Similarity(noise={"x0": 0.3, "x1": 0.3})
    found = [
        FATTClassifier(similarity, fairness_weight=weight, random_state=0).fit(X, y)
        for weight in (0.0, 0.3, 0.8)
    ]
    fairness = [tree.fairness_ for tree in found]
    accuracy = [tree.balanced_accuracy_ for tree in found]
    assert fairness == sorted(fairness)
    assert fairness[0] < fairness[2]
    assert accuracy == sorted(accuracy, reverse=True)


@for_seeds(20)
def test_on_any_table_the_answer_is_as_fair_as_proved_and_tells_people_apart(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    X, similarity = table(rng, 30), relation(rng)
    y = rng.permutation(np.resize([0, 0, 1], len(X)))
    weight = rng.integers(1, 4, len(X)).astype(float)
    tree = FATTClassifier(similarity, max_iter=4, min_samples_leaf=2, random_state=seed)
    tree.fit(X, y, sample_weight=weight)
    auditor = fatt.Auditor(tree, similarity=similarity, schema=tree.schema_)
    report = auditor.verify(X, sample_weight=weight)
    assert report.fairness == (tree.fairness_, tree.fairness_)
    shares = tree.ensemble_.trees.values
    assert len(np.unique(np.argmax(shares, axis=1))) == 2


@for_seeds(60)
def test_any_tree_is_judged_as_the_verifier_proves_it(seed: int) -> None:
    case = random_case(seed)
    people, objective = case.people, case.objective
    if not objective.people.n_splits:
        return
    # Somebody reaches each leaf, as those of trees that come of a search.
    tree = objective.tidied(random_tree(case))
    judged = appraise(tree, objective, people, None)
    verifier = Verifier(Variables(judged.ensemble, people.variables.schema).ensemble)
    is_fair = verifier.verify(people.values, people.boxes).verdict == FAIR
    share = people.weights[is_fair].sum() / people.weights.sum()
    assert judged.fairness == pytest.approx(share, abs=1e-12)


NUMBER = (
    [1.0] * 6 + [3.0] * 6 + [np.nan] * 2,
    Similarity(noise={"x": 0.1}, missing=["x"]),
    # Up to 2; else missing, or up to 0.5; else the other label.
    (Split(0, 2.0, None, False), -1, Split(0, 0.5, None, True), -1, -2),
    6,
)
CATEGORY = (
    ["a"] * 4 + ["b"] * 4 + ["c"] * 6,
    Similarity(vary={"x": ["a", "b"]}),
    # a; else c, or a, which comes no more; else b.
    (
        Split(0, 0.0, np.array([True, False, False, False]), False),
        -1,
        Split(0, 0.0, np.array([True, False, True, False]), False),
        -2,
        -1,
    ),
    14,
)


@pytest.mark.parametrize("case", [NUMBER, CATEGORY], ids=["number", "category"])
def test_who_reaches_both_sides_of_each_split_may_not_reach_the_leaf(case: Any) -> None:
    values, similarity, tree, n_fair = case
    X = pd.DataFrame({"x": values})
    blank = blank_tree(X, ["x"], named=True, classes=(0, 1))
    codes, ones = np.arange(len(X)) % 2, np.ones(len(X))
    people = gather_people(
        X,
        Labels(np.arange(2), codes, ones, np.ones(2)),
        blank=blank,
        schema=Schema.infer(blank, X),
        similarity=similarity,
        balance=0.0,
    )
    splits = [one for one in tree if isinstance(one, Split)]
    some = TrainingSet.among(people, splits, split_on_varying=True)
    worth = np.rint(people.worth * UNITS).astype(np.int64)
    objective = Objective(some, worth, 0.5, 0.0, Limits(9, 9, 1))
    number = {split.key: place for place, split in enumerate(some.splits)}
    nodes = [number[one.key] if isinstance(one, Split) else one for one in tree]
    judged = appraise(np.array(nodes, dtype=np.int32), objective, people, None)
    assert judged.fairness == n_fair / len(X)


def test_who_has_a_value_is_told_apart_where_values_vary_freely() -> None:
    # Such a split lies at the largest number, beyond which floats have nothing.
    rng = np.random.default_rng(0)
    pay = np.where(rng.random(200) < 0.4, np.nan, rng.normal(size=200))
    X, y = pd.DataFrame({"pay": pay}), np.isnan(pay).astype(int)
    similarity = Similarity(vary=["pay"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = FATTClassifier(similarity, random_state=0).fit(X, y)
        report = fatt.verify(tree, X, similarity=similarity, schema=tree.schema_)
    assert tree.score(X, y) == 1
    assert report.fairness == (tree.fairness_, tree.fairness_) == (1, 1)
