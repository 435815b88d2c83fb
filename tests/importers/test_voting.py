"""scikit-learn's votes and means, and transformed targets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn import ensemble as forests
from sklearn import tree
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fatt
from fatt.errors import UnsupportedModelError
from tests.laws.effort import for_seeds
from tests.probes import probe_rows, same_bits

WORDS = np.array(["no", "maybe", "yes", "never"])


def rows(seed: int, n_classes: int, n_rows: int = 60) -> tuple[Any, Any]:
    """Rows with few values, so that many probabilities tie, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.5, -0.1, 0.0, 0.1, 0.3, 1.0], (n_rows, 3))
    y = (X[:, 0] > 0).astype(int) + rng.integers(0, n_classes, n_rows)
    return X, WORDS[np.append(y[n_classes:] % n_classes, np.arange(n_classes))]


def trees(seed: int, count: int, depth: int | None = 2) -> list[Any]:
    kinds = itertools.cycle([tree.DecisionTreeClassifier, tree.ExtraTreeClassifier])
    return [
        (f"m{i}", kind(max_depth=depth, max_features=1, random_state=seed % 999 + i))
        for i, kind in zip(range(count), kinds, strict=False)
    ]


def some_forests(seed: int) -> list[Any]:
    return [
        ("a", forests.RandomForestClassifier(7, max_depth=3, random_state=seed % 999)),
        ("b", forests.ExtraTreesClassifier(5, random_state=seed % 999)),
        ("c", tree.DecisionTreeClassifier(max_depth=3, random_state=0)),
    ]


def weights(rng: np.random.Generator, count: int) -> Any:
    return [None, [1] * count, rng.random(count), rng.integers(0, 3, count) + 0.1][
        rng.integers(0, 4)
    ]


def assert_same(model: fatt.Model, fitted: Any, X: Any) -> None:
    """Many rows at once, and one at a time: NumPy adds those in another order."""
    given = fitted.predict(X).tolist()
    assert model.predict(X).tolist() == model.ask(X) == given
    some = X[:8]
    assert [fitted.predict(row[np.newaxis])[0] for row in some] == given[:8]


@for_seeds(25)
def test_votes_of_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, n_classes = int(rng.integers(1, 12)), int(rng.integers(2, 5))
    X, y = rows(seed, n_classes)
    fitted = forests.VotingClassifier(
        trees(seed, count), voting="soft", weights=weights(rng, count)
    ).fit(X, y)
    model = fatt.load(fitted)
    assert model.ensemble.scoring.ordered
    probes = np.concatenate([X, probe_rows(model.ensemble, rng, 40)])
    assert_same(model, fitted, probes)
    given = fitted.predict_proba(probes)
    assert np.array_equal(model.predict_proba(probes), given)
    one = [fitted.predict_proba(row[np.newaxis])[0] for row in probes[:8]]
    assert np.array_equal(one, given[:8])
    limit = float(rng.choice(given[:, 0]))
    cut = model.deciding(threshold=limit, pos_label=model.classes[0])
    expected = np.where(given[:, 0] >= limit, *reversed(cut.classes))
    assert cut.predict(probes).tolist() == cut.ask(probes) == expected.tolist()


@for_seeds(20)
def test_averages_of_forests_come_with_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rows(seed, int(rng.integers(2, 4)))
    fitted = forests.VotingClassifier(
        some_forests(seed), voting="soft", weights=weights(rng, 3)
    ).fit(X, y)
    model = fatt.load(fitted)
    probes = np.concatenate([X, probe_rows(model.ensemble, rng, 60)])
    given = fitted.predict_proba(probes)
    lower, upper = model.score_bounds(probes)
    assert np.all((lower <= given) & (given <= upper))
    assert np.all(upper - lower < 1e-13)
    possible = model.possible_labels(probes)
    places = [model.classes.index(label) for label in fitted.predict(probes)]
    assert possible[np.arange(len(probes)), places].all()
    assert any("rounds each of them" in note for note in model.ensemble.source.notes)


def test_verdicts_on_averages_of_forests() -> None:
    """Nobody is called fair whom somebody similar contradicts; ties are unknown."""
    X, y = rows(3, 2)
    even = [("a", tree.DecisionTreeClassifier()), ("b", tree.DecisionTreeClassifier())]
    for members in (some_forests(3), even):
        fitted = forests.VotingClassifier(members, voting="soft").fit(X, y)
        report = fatt.verify(fitted, X, similarity=fatt.Similarity(noise=0.2))
        own, rng = fitted.predict(X), np.random.default_rng(0)
        fair = report.is_fair
        assert fair.any()
        assert report.counts["unfair"]
        report.certificate().check(fatt.load(fitted))
        for _ in range(60):
            near = X + rng.uniform(-0.2, 0.2, X.shape)
            assert np.array_equal(fitted.predict(near)[fair], own[fair])


def test_an_exact_tie_of_averages_is_unknown() -> None:
    """Of .1, .6 and .8 on one side, and .9, .4 and .2 on the other, who says?"""
    X = np.array([[0.0], [1.0]])
    members = [
        (f"m{i}", forests.RandomForestClassifier(10, random_state=i)) for i in range(3)
    ]
    fitted = forests.VotingClassifier(members, voting="soft").fit(X, [0, 1])
    for forest, share in zip(fitted.estimators_, (1, 6, 8), strict=True):
        for place, one in enumerate(forest.estimators_):
            one.tree_.value[:, 0] = [1.0, 0.0] if place < share else [0.0, 1.0]
    row = np.array([[0.5]])
    model = fatt.load(fitted)
    assert model.possible_labels(row).all()
    report = fatt.verify(fitted, row, similarity=fatt.Similarity(noise=0.1))
    assert report.counts["unknown"] == 1


REGRESSORS: dict[str, Callable[[], Any]] = {
    "trees": lambda: [
        (f"m{i}", tree.DecisionTreeRegressor(max_depth=2 + i)) for i in range(4)
    ],
    "many trees": lambda: [
        (f"m{i}", tree.ExtraTreeRegressor(max_depth=2, random_state=i))
        for i in range(11)
    ],
    "all kinds": lambda: [
        ("a", forests.RandomForestRegressor(7, max_depth=3)),
        ("b", forests.GradientBoostingRegressor(n_estimators=9)),
        ("c", forests.HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=3)),
        ("d", lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1)),
    ],
    "one": lambda: [("a", forests.GradientBoostingRegressor(n_estimators=1))],
}


def price(X: Any) -> Any:
    return np.exp(X[:, 0] / 3) + 0.1 * X[:, 1] ** 2 - 0.2


@pytest.mark.parametrize("kind", REGRESSORS)
@for_seeds(6)
def test_means_of_regressors(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, _ = rows(seed, 2)
    members = REGRESSORS[kind]()
    fitted = forests.VotingRegressor(members, weights=weights(rng, len(members)))
    model = fatt.load(fitted.fit(X, price(X)))
    given = fitted.predict(X)
    lower, upper = model.ensemble.prediction_bounds(X)
    assert np.all((lower <= given) & (given <= upper))
    assert np.all(upper - lower <= 1e-12)
    one = [fitted.predict(row[np.newaxis])[0] for row in X]
    assert np.all((lower <= one) & (one <= upper))
    assert model.ensemble.scoring.ordered == (kind == "trees")
    if kind == "trees":
        assert same_bits(model.predict(X), given)
        assert same_bits(model.predict(X), np.array(one))


def test_around_and_inside_of_others(tmp_path: Path) -> None:
    X, y = rows(0, 2)
    vote = forests.VotingClassifier(some_forests(0), voting="soft")
    piped = [
        (name, make_pipeline(StandardScaler(), inner)) for name, inner in trees(0, 3)
    ]
    for fitted in (
        make_pipeline(StandardScaler(), vote),
        FixedThresholdClassifier(vote, threshold=0.31, pos_label="no"),
        make_pipeline(
            OneHotEncoder(), forests.VotingClassifier(trees(1, 3), voting="soft")
        ),
        forests.VotingClassifier(piped, voting="soft"),
        forests.VotingClassifier(
            [("a", "drop"), *trees(0, 2)], voting="soft", weights=[5, 1, 2]
        ),
        forests.VotingClassifier(
            [("v", forests.VotingClassifier(trees(0, 3), voting="soft")), *trees(4, 2)],
            voting="soft",
        ),
    ):
        model = fatt.load(fitted.fit(X, y))
        assert model.ask(X) == fitted.predict(X).tolist() == model.predict(X).tolist()
        model.save(tmp_path / "model.fatt")
        assert fatt.load(tmp_path / "model.fatt") == model


@pytest.mark.parametrize("kind", ["forest", "XGBoost", "LightGBM", "pipeline"])
@pytest.mark.parametrize("inverse", [None, np.exp, np.expm1])
def test_transformed_targets(kind: str, inverse: Any) -> None:
    X, _ = rows(0, 2)
    inner = {
        "forest": forests.RandomForestRegressor(7, max_depth=4),
        "XGBoost": xgboost.XGBRegressor(n_estimators=5, n_jobs=1),
        "LightGBM": lightgbm.LGBMRegressor(n_estimators=5, n_jobs=1, verbose=-1),
        "pipeline": make_pipeline(StandardScaler(), tree.DecisionTreeRegressor()),
    }[kind]
    function = {np.exp: np.log, np.expm1: np.log1p}.get(inverse)
    fitted = TransformedTargetRegressor(inner, func=function, inverse_func=inverse)
    fitted.fit(X, price(X) + 1)
    for around in (
        fitted,
        make_pipeline(StandardScaler(), fitted).fit(X, price(X) + 1),
    ):
        model = fatt.load(around)
        assert same_bits(model.predict(X), around.predict(X))
        assert model.ask(X) == around.predict(X).tolist()
        one = [around.predict(row[np.newaxis])[0] for row in X]
        assert same_bits(model.predict(X), np.array(one))


def test_what_is_refused() -> None:
    X, y = rows(0, 3)
    boosted = forests.GradientBoostingClassifier(n_estimators=2)
    forest = forests.RandomForestClassifier(3)
    numbers = X[:, 0] + 3
    poisson = forests.HistGradientBoostingRegressor(loss="poisson", max_iter=2)
    single = xgboost.XGBRegressor(n_estimators=2, n_jobs=1)
    known_trees = tree.DecisionTreeClassifier()
    known, unknown = tree.DecisionTreeRegressor(), StandardScaler()
    piped = make_pipeline(StandardScaler(), tree.DecisionTreeClassifier())
    for fitted, target, reason in (
        (
            forests.VotingClassifier([("a", boosted)], voting="soft"),
            y,
            "probabilities of a GradientBoostingClassifier, which are a function",
        ),
        (forests.VotingClassifier([("a", forest)]), y, "counts votes.*voting='soft'"),
        (
            forests.VotingClassifier([("a", LogisticRegression())]),
            y,
            "LogisticRegression",
        ),
        (
            forests.VotingClassifier(trees(0, 2), weights=[1, -1], voting="soft"),
            y,
            "not negative",
        ),
        (forests.VotingRegressor([("a", poisson)]), numbers, "function of a sum"),
        (forests.VotingRegressor([("a", single)]), numbers, "float32"),
        (OneVsRestClassifier(known_trees), y, "one model per class"),
        (
            TransformedTargetRegressor(known, func=np.sqrt, inverse_func=np.square),
            numbers,
            "by a square",
        ),
        (
            TransformedTargetRegressor(known, transformer=unknown),
            numbers,
            "by a StandardScaler",
        ),
        (
            TransformedTargetRegressor(poisson, func=np.log, inverse_func=np.exp),
            numbers,
            "function of a sum already",
        ),
        (TransformedTargetRegressor(known), None, "2 columns of y"),
    ):
        both = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
        fitted.fit(X, both if target is None else target)
        with pytest.raises(UnsupportedModelError, match=reason):
            fatt.load(fitted)
    mixed = forests.VotingClassifier(
        [("a", piped), ("b", make_pipeline(OneHotEncoder(), forest))], voting="soft"
    )
    with pytest.raises(UnsupportedModelError, match="read the column 'x0' in diff"):
        fatt.load(mixed.fit(X, y))
    for unfitted in (
        forests.VotingClassifier([("a", forest)]),
        TransformedTargetRegressor(known),
    ):
        with pytest.raises(NotFittedError):
            fatt.load(unfitted)
