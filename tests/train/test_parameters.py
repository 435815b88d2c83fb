"""What each parameter of `FATTClassifier` does, and what it says to bad ones."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fatt import FATTClassifier, Similarity
from fatt.errors import DataError, SpecError
from fatt.train import population
from fatt.train.descent import best_change
from fatt.train.settings import Settings
from fatt.train.training import _chosen
from tests.train import town

NOISE = Similarity(noise=0.1)
X_MIXED, Y_MIXED = town.mixed()
X_PLAIN, Y_PLAIN = town.plain()


def quick(similarity: Any = NOISE, **parameters: Any) -> FATTClassifier:
    parameters = {"max_iter": 3, "random_state": 0} | parameters
    return FATTClassifier(similarity, **parameters)


@pytest.mark.parametrize("algorithm", ["descent", "paper"])
def test_limits_hold_for_all_trees(algorithm: Any) -> None:
    tree = quick(
        algorithm=algorithm,
        initial="forest" if algorithm == "paper" else None,
        leaf_cost=0,
        max_leaves=7,
        max_depth=3,
        min_samples_leaf=20,
        max_iter=10,
    ).fit(X_PLAIN, Y_PLAIN)
    for each in map(tree.with_tree, tree.front_):
        assert each.get_n_leaves() <= 7
        assert each.get_depth() <= 3
        leaves = each.apply(X_PLAIN)
        assert np.unique(leaves, return_counts=True)[1].min() >= 20


def test_leaves_that_cost_more_are_fewer() -> None:
    sizes = [
        quick(leaf_cost=cost).fit(X_PLAIN, Y_PLAIN).get_n_leaves()
        for cost in (0.0, 3.0, 30.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


def test_class_weights_move_labels() -> None:
    counts = [
        np.mean(quick(class_weight={0: 1, 1: w}).fit(X_PLAIN, Y_PLAIN).predict(X_PLAIN))
        for w in (0.4, 1, 2.5)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_balance_helps_the_smaller_class() -> None:
    y = (X_PLAIN[:, 0] + np.random.default_rng(1).normal(size=len(X_PLAIN)) > 1.5) * 1
    alike, classes = (
        quick(balance=balance, fairness_weight=0).fit(X_PLAIN, y) for balance in (0, 1)
    )
    assert classes.balanced_accuracy_ > alike.balanced_accuracy_
    assert classes.accuracy_ < alike.accuracy_


def test_people_without_weight_do_not_count() -> None:
    weight = (X_PLAIN[:, 2] > 0).astype(float)
    y = np.where(weight > 0, Y_PLAIN, 1 - Y_PLAIN)
    tree = quick().fit(X_PLAIN, y, sample_weight=weight)
    known = weight > 0
    assert tree.accuracy_ == pytest.approx(tree.score(X_PLAIN[known], y[known]))
    assert tree.accuracy_ > 0.7


def test_missing_values_and_categories_are_taken_as_they_are() -> None:
    rng = np.random.default_rng(0)
    job = rng.choice(["cook", "nurse", "pilot"], 300).astype(object)
    pay = rng.normal(size=300)
    y = (job == "pilot") | np.isnan(np.where(rng.random(300) < 0.3, np.nan, pay))
    pay = np.where(y & (job != "pilot"), np.nan, pay)
    job[:20] = None
    table = pd.DataFrame({"job": job, "pay": pay})
    y = (table["job"] == "pilot") | table["pay"].isna()
    tree = quick(Similarity(noise={"pay": 0.1})).fit(table, y)
    assert tree.score(table, y) == 1
    assert tree.fairness_ == 1
    # A category that nobody had goes somewhere, and does not fail.
    strange = pd.DataFrame({"job": ["sailor", None], "pay": [0.0, np.nan]})
    assert tree.predict(strange)[1]


def test_training_stops_without_progress_and_in_time() -> None:
    hurried = quick(max_iter=100, max_seconds=0).fit(X_PLAIN, Y_PLAIN)
    assert hurried.n_iter_ == 0
    assert hurried.get_n_leaves() >= 2
    # Breeding begins with a leaf.
    bred = quick(algorithm="paper", max_iter=100, max_seconds=0)
    with pytest.warns(UserWarning, match="give it more generations, or choose algo"):
        assert bred.fit(X_PLAIN, Y_PLAIN).n_iter_ == 0
    assert bred.get_n_leaves() == 1
    short, long = (quick(max_iter=n).fit(X_PLAIN, Y_PLAIN) for n in (1, 50))
    assert 1 <= short.n_iter_ < long.n_iter_


def test_an_interrupted_training_keeps_the_best_tree_if_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = itertools.count()

    def interrupted(*given: Any) -> Any:
        if next(calls) == 40:
            raise KeyboardInterrupt
        return best_change(*given)

    monkeypatch.setattr("fatt.train.descent.best_change", interrupted)
    kept = quick(keep_interrupted=True).fit(X_PLAIN, Y_PLAIN)
    assert kept.interrupted_
    assert kept.score(X_PLAIN, Y_PLAIN) > 0.6
    calls = itertools.count()
    with pytest.raises(KeyboardInterrupt):
        quick().fit(X_PLAIN, Y_PLAIN)


def test_an_interrupted_breeding_keeps_the_best_tree_if_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evolve = population.evolve

    def interrupted(*given: Any, **more: Any) -> Any:
        yield from itertools.islice(evolve(*given, **more), 3)
        raise KeyboardInterrupt

    monkeypatch.setattr("fatt.train.population.evolve", interrupted)
    kept = quick(algorithm="paper", keep_interrupted=True).fit(X_PLAIN, Y_PLAIN)
    assert kept.interrupted_
    assert kept.n_iter_ == 2
    with pytest.raises(KeyboardInterrupt):
        quick(algorithm="paper").fit(X_PLAIN, Y_PLAIN)


def test_progress_is_shown_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    told: list[tuple[int, int]] = []

    def watched(progress: Any, what: str) -> Any:
        asked.append((progress, what))
        return contextlib.nullcontext(lambda *done: told.append(done))

    monkeypatch.setattr("fatt.train.training.watched", watched)
    for algorithm, last in (("descent", (8, 8)), ("paper", (3, 3))):
        quick(algorithm=algorithm, verbose=1).fit(X_PLAIN, Y_PLAIN)
        assert asked[-1] == (True, "training")
        assert last in told
    quick().fit(X_PLAIN, Y_PLAIN)
    assert asked[-1] == (False, "training")


def test_one_label_for_all_comes_with_a_warning() -> None:
    X = np.zeros((20, 2))
    y = np.arange(20) % 3 == 0
    with pytest.warns(UserWarning, match="gives every person the same label"):
        tree = quick().fit(X, y)
    assert tree.fairness_ == 1
    assert tree.get_n_leaves() == 1
    assert not tree.predict(X).any()
    assert len(tree.front_) == 0


def test_a_constant_tree_is_not_the_answer_however_much_fairness_weighs() -> None:
    tree = quick(Similarity(noise=2.0), fairness_weight=1.0).fit(X_PLAIN, Y_PLAIN)
    assert len(np.unique(tree.predict(X_PLAIN))) == 2
    assert tree.fairness_ < 1


def test_classes_that_count_nothing_get_no_leaf() -> None:
    weights = {0: 1000.0, 1: 0.0001}
    with pytest.warns(UserWarning, match="have nearly no weight; try other weights"):
        tree = quick(class_weight=weights).fit(X_PLAIN, Y_PLAIN)
    assert not tree.predict(X_PLAIN).any()


def test_who_has_no_weight_has_no_say_in_what_varies_freely() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["F", "M"], 400), "pay": rng.normal(size=400)})
    X["age"] = np.where(np.arange(400) < 300, 30, 60)
    y = (X["pay"] + 3.0 * (X["sex"] == "M") + rng.normal(size=400) > 1.5).astype(int)
    young = Similarity(vary=["sex"], where={"age": "<= 40"})
    tree = quick(young, fairness_weight=0.0)
    assert tree.fit(X, y).fairness_ < 1
    assert tree.fit(X, y, sample_weight=(X["age"] == 30) * 1.0).fairness_ == 1


def test_the_answer_is_the_fittest_of_those_that_are_fair_enough() -> None:
    X, y = town.plain(600)
    front = quick(Similarity(noise=0.3), max_iter=None).fit(X, y).front_
    given = quick().get_params(deep=False)
    for share in (0.0, 0.7, 0.9, 1.0):
        settings = Settings.of(given | {"min_fairness": share}, len(X))
        wanted = min(share, max(one.fairness for one in front))
        fair = [one for one in front if one.fairness >= wanted]
        chosen = _chosen(list(front), settings)
        assert chosen.fitness == max(one.fitness for one in fair)
        assert chosen in fair


def test_a_weight_is_chosen_that_makes_trees_fair_enough() -> None:
    X, y = town.plain(600)
    similarity = Similarity(noise={"x0": 0.3, "x1": 0.3})
    found = [
        quick(similarity, max_iter=None, min_fairness=share).fit(X, y)
        for share in (0.5, 0.8, 0.97)
    ]
    for tree, share in zip(found, (0.5, 0.8, 0.97), strict=True):
        assert tree.fairness_ >= share
        assert len(np.unique(tree.predict(X))) == 2
    accuracy = [tree.accuracy_ for tree in found]
    assert accuracy == sorted(accuracy, reverse=True)
    assert accuracy[0] > accuracy[2]
    assert found[0].fairness_weight_ < found[2].fairness_weight_
    with pytest.warns(UserWarning, match=r"no tree .* 100.00% .* this is the fairest"):
        fairest = quick(Similarity(noise=2.0), min_fairness=1.0).fit(X, y)
    assert fairest.fairness_ == max(each.fairness for each in fairest.front_)


def test_the_weight_follows_the_share_of_the_unfair() -> None:
    X, y = town.plain(600)
    tree = quick(Similarity(noise=0.3), max_iter=None).fit(X, y)
    odds = tree.fairness_weight_ / (1 - tree.fairness_weight_)
    # Halving what is unfair, and 3 points that nobody misses, is worth 1.5 points.
    wanted = 0.015 / (np.log(2) * (1 - tree.fairness_ + 0.03))
    assert odds == pytest.approx(wanted, rel=0.3)
    by_hand = quick(Similarity(noise=0.3), fairness_weight=0.4).fit(X, y)
    assert by_hand.fairness_weight_ == 0.4


def test_what_varies_freely_is_not_split_on_unless_asked() -> None:
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 400)
    pay = rng.normal(size=400)
    y = (pay + 3.0 * (sex == "M") + rng.normal(size=400) > 1.5).astype(int)
    table = pd.DataFrame({"pay": pay, "sex": sex})
    similarity = Similarity(vary=["sex"])
    tree = quick(similarity, fairness_weight=0.0).fit(table, y)
    assert tree.fairness_ == 1
    assert all(each.fairness == 1 for each in tree.front_)
    asked = quick(similarity, fairness_weight=0.0, split_on_varying=True).fit(table, y)
    assert asked.fairness_ < 0.5
    assert asked.accuracy_ > tree.accuracy_ + 0.1
    with pytest.warns(UserWarning, match="vary freely among similar people"):
        alone = quick(similarity).fit(table[["sex"]], y)
    assert alone.get_n_leaves() == 1


@pytest.mark.parametrize("selection", ["wheel", "best"])
def test_the_paper_s_trees_get_better_however_parents_are_chosen(
    selection: Any,
) -> None:
    def fitness(max_iter: int, **parameters: Any) -> float:
        tree = FATTClassifier(
            Similarity(noise=0.1),
            algorithm="paper",
            selection=selection,
            max_iter=max_iter,
            random_state=0,
            **parameters,
        ).fit(X_PLAIN, Y_PLAIN)
        return tree.front_.select().fitness

    assert fitness(1) < fitness(30)
    # Leaves that cost more than a tree is worth make fitness negative.
    assert fitness(5, leaf_cost=500) < 0


BAD: list[tuple[dict[str, Any], str]] = [
    ({"similarity": None}, "similarity is None; say who is similar"),
    ({"similarity": Similarity(noise={"wage": 1})}, "'wage'"),
    ({"fairness_weight": 2}, "fairness_weight is 2; it must be a number, from 0 to 1"),
    ({"fairness_weight": "much"}, "fairness_weight is 'much'; it must be 'auto', or a"),
    ({"fairness_weight": None}, "fairness_weight is None"),
    ({"min_fairness": 99}, "min_fairness is 99; it must be a number, from 0 to 1"),
    ({"min_fairness": 0.9, "fairness_weight": 0.5}, "each of them chooses the weight"),
    ({"min_fairness": 0.9, "algorithm": "paper"}, "has a weight that stays"),
    ({"algorithm": "greedy"}, "algorithm is 'greedy'; choose 'descent' or 'paper'"),
    ({"algorithm": None}, "algorithm is None; choose 'descent' or 'paper'"),
    ({"population_size": 32}, "population_size is a parameter of breeding"),
    (
        {"initial": "forest"},
        "does not breed; leave it out, or choose algorithm",
    ),
    ({"initial": "seeds"}, "initial is 'seeds'; choose"),
    ({"mutation": "shrink"}, "mutation is 'shrink'; choose"),
    ({"selection": "luck"}, "selection is 'luck'; choose 'wheel' or 'best'"),
    ({"max_leaves": 1}, "max_leaves is 1; it must be a whole number, at least 2"),
    ({"max_depth": 2.5}, "max_depth is 2.5; it must be a whole number"),
    ({"elitism": 32, "algorithm": "paper"}, "nothing would ever change"),
    ({"max_seconds": -1}, "max_seconds is -1"),
    ({"validation_fraction": 1e-4}, "holds out none of 300 people; hold out more"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        quick(**parameters).fit(X_PLAIN, Y_PLAIN)
    assert message in str(caught.value)


def test_bad_people() -> None:
    with pytest.raises(DataError, match="only one class"):
        quick().fit(X_PLAIN, np.zeros(len(X_PLAIN)))
    with pytest.raises(ValueError, match="0 sample"):
        quick().fit(X_PLAIN[:0], Y_PLAIN[:0])
    with pytest.raises(ValueError, match=r"eights.*zero"):
        quick().fit(X_PLAIN, Y_PLAIN, sample_weight=np.zeros(len(X_PLAIN)))
    with pytest.raises(DataError, match="a weight is negative"):
        quick().fit(X_PLAIN, Y_PLAIN, sample_weight=-np.ones(len(X_PLAIN)))
    with pytest.raises(DataError, match="only one class"):
        quick().fit(X_PLAIN, Y_PLAIN, sample_weight=Y_PLAIN)
    with pytest.raises(DataError, match="y is None"):
        quick().fit(X_PLAIN, None)  # type: ignore[arg-type]
    for missing in (None, np.nan, pd.NA):
        labels = np.where(Y_MIXED == "late", "late", "paid").astype(object)
        labels[7] = missing
        with pytest.raises(DataError, match="row 7: the label is missing"):
            quick(town.SIMILARITY).fit(X_MIXED, labels)
    with pytest.raises(DataError, match="column 'empty' has no value in any row"):
        quick(town.SIMILARITY).fit(X_MIXED.assign(empty=np.nan), Y_MIXED)
    with pytest.raises(DataError, match="column 'when' holds"):
        quick().fit(pd.DataFrame({"when": [object()] * 4}), [0, 1, 0, 1])
