"""Regressors: the number is the library's own, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn import ensemble as forests
from sklearn import tree
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fatt
from fatt.ensemble import Prediction
from fatt.errors import SpecError, UnsupportedModelError
from tests.laws.effort import for_seeds
from tests.probes import probe_rows, same_bits

QUIET: dict[str, Any] = {"verbose": -1, "n_jobs": 1, "min_child_samples": 3}


def table(seed: int = 0, n_rows: int = 80) -> tuple[Any, Any]:
    """Rows, and positive numbers that depend on them, some of them large."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.5, -0.1, 0.0, 0.1, 0.3, 1.0, 7.25], (n_rows, 4))
    y = np.exp(X[:, 0] / 3 + rng.normal(size=n_rows)) + 0.1 * X[:, 1] ** 2
    return X, y


def boosted(loss: str) -> Any:
    return forests.GradientBoostingRegressor(loss=loss, n_estimators=9, alpha=0.3)


def histograms(loss: str) -> Any:
    quantile = 0.3 if loss == "quantile" else None
    return forests.HistGradientBoostingRegressor(
        loss=loss, max_iter=9, min_samples_leaf=3, quantile=quantile
    )


def xgboosted(objective: str) -> Any:
    settings = {"quantile_alpha": 0.3} if objective == "reg:quantileerror" else {}
    return xgboost.XGBRegressor(
        objective=objective, n_estimators=9, max_depth=3, n_jobs=1, **settings
    )


def lightgbmed(objective: str) -> Any:
    return lightgbm.LGBMRegressor(objective=objective, n_estimators=9, **QUIET)


SKLEARN: dict[str, Callable[[], Any]] = {
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=4),
    "absolute tree": lambda: tree.DecisionTreeRegressor(criterion="absolute_error"),
    "extra tree": lambda: tree.ExtraTreeRegressor(max_depth=4),
    "forest": lambda: forests.RandomForestRegressor(7, max_depth=4),
    "extra trees": lambda: forests.ExtraTreesRegressor(7, max_depth=4),
    "bag": lambda: forests.BaggingRegressor(
        tree.DecisionTreeRegressor(max_depth=3), n_estimators=7, max_features=2
    ),
    "from zero": lambda: boosted("squared_error").set_params(init="zero"),
    "from a constant": lambda: boosted("squared_error").set_params(
        init=DummyRegressor(strategy="constant", constant=3)
    ),
    "pipeline": lambda: make_pipeline(StandardScaler(), histograms("poisson")),
    **{
        f"boosted {loss}": lambda loss=loss: boosted(loss)
        for loss in ("squared_error", "absolute_error", "huber", "quantile")
    },
    **{
        f"histograms {loss}": lambda loss=loss: histograms(loss)
        for loss in ("squared_error", "absolute_error", "gamma", "poisson", "quantile")
    },
}
XGBOOST: dict[str, Callable[[], Any]] = {
    "random forest": lambda: xgboost.XGBRFRegressor(n_estimators=9, n_jobs=1),
    "dart": lambda: xgboosted("reg:gamma").set_params(booster="dart", rate_drop=0.5),
    "base": lambda: xgboosted("count:poisson").set_params(base_score=0.3),
    "binary": lambda: xgboosted("binary:logistic"),
    **{
        name: lambda name=name: xgboosted(name)
        for name in (
            "reg:squarederror",
            "reg:squaredlogerror",
            "reg:pseudohubererror",
            "reg:absoluteerror",
            "reg:quantileerror",
            "reg:logistic",
            "reg:gamma",
            "reg:tweedie",
            "count:poisson",
        )
    },
}
LIGHTGBM: dict[str, Callable[[], Any]] = {
    "forest": lambda: lightgbmed("regression").set_params(
        boosting_type="rf", bagging_freq=1, bagging_fraction=0.6
    ),
    "dart": lambda: lightgbmed("poisson").set_params(boosting_type="dart"),
    **{
        name: lambda name=name: lightgbmed(name)
        for name in (
            "regression",
            "regression_l1",
            "huber",
            "fair",
            "quantile",
            "mape",
            "poisson",
            "gamma",
            "tweedie",
        )
    },
}
ALL = {
    **{f"sklearn {name}": make for name, make in SKLEARN.items()},
    **{f"xgboost {name}": make for name, make in XGBOOST.items()},
    **{f"lightgbm {name}": make for name, make in LIGHTGBM.items()},
}


def fit(kind: str, seed: int = 0) -> tuple[Any, Any]:
    X, y = table(seed)
    if "logistic" in kind or "binary" in kind:
        y = (y > np.median(y)).astype(float) * 0.8 + 0.1
        y = np.round(y) if "binary" in kind else y
    return ALL[kind]().fit(X, y), X


def assert_same(model: Any, fitted: Any, rows: Any) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        given = fitted.predict(rows)
    assert same_bits(model.predict(rows), given)
    assert model.ask(rows) == given.tolist()


@pytest.mark.parametrize("kind", ALL)
@for_seeds(3)
def test_the_number_is_the_librarys(kind: str, seed: int) -> None:
    fitted, X = fit(kind, seed % 1000)
    model = fatt.load(fitted)
    assert isinstance(model.ensemble.decision, Prediction)
    assert model.classes == ()
    assert_same(model, fitted, X)
    if kind != "sklearn pipeline":
        probes = probe_rows(model.ensemble, np.random.default_rng(seed), 60)
        assert_same(model, fitted, probes)
    assert np.ptp(model.predict(X)) > 0


@pytest.mark.parametrize("kind", [f"xgboost {name}" for name in XGBOOST])
def test_boosters_and_files_of_xgboost(kind: str, tmp_path: Path) -> None:
    fitted, X = fit(kind)
    fitted.save_model(tmp_path / "model.json")
    assert_same(fatt.load(tmp_path / "model.json"), fitted, X)
    booster = fitted.get_booster()
    if kind == "xgboost binary":
        assert fatt.load(booster).classes == (0, 1)
        return
    booster.save_model(tmp_path / "booster.ubj")
    assert_same(fatt.load(tmp_path / "booster.ubj"), fitted, X)
    model = fatt.load(booster)
    assert same_bits(model.predict(X), booster.predict(xgboost.DMatrix(X)))
    assert model.ask(X) == model.predict(X).tolist()


@pytest.mark.parametrize("kind", [f"lightgbm {name}" for name in LIGHTGBM])
def test_boosters_and_files_of_lightgbm(kind: str, tmp_path: Path) -> None:
    fitted, X = fit(kind)
    booster = fitted.booster_
    booster.save_model(tmp_path / "model.txt")
    for model in (fatt.load(booster), fatt.load(tmp_path / "model.txt")):
        assert_same(model, fitted, X)
        assert not any("label" in note for note in model.ensemble.source.notes)


@pytest.mark.onnx
@pytest.mark.parametrize(
    "kind", ["tree", "forest", "boosted huber", "boosted squared_error"]
)
def test_onnx(kind: str, tmp_path: Path) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    fitted, X = fit(f"sklearn {kind}")
    made = skl2onnx.to_onnx(fitted, X[:1].astype(np.float32))
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    for model in (fatt.load(made), fatt.load(tmp_path / "model.onnx")):
        assert isinstance(model.ensemble.decision, Prediction)
        asked = np.array([model.ask(row[np.newaxis])[0] for row in X])
        lower, upper = model.ensemble.prediction_bounds(X)
        assert np.all((lower <= asked) & (asked <= upper))
        if model.ensemble.scoring.ordered:
            assert np.array_equal(model.predict(X), asked)
        assert np.allclose(asked, fitted.predict(X), rtol=1e-5)


def test_it_is_saved_with_its_link(tmp_path: Path) -> None:
    X, _ = table()
    digests = set()
    for kind in ("lightgbm poisson", "lightgbm regression", "sklearn forest"):
        model = fatt.load(fit(kind)[0])
        model.save(tmp_path / "model.fatt")
        again = fatt.load(tmp_path / "model.fatt")
        assert again.link == model.link
        assert again == model
        assert same_bits(again.predict(X), model.predict(X))
        digests.add(model.digest)
        assert "predicts a number" in repr(model)
    assert len(digests) == 3


def test_sums_without_order_come_with_bounds() -> None:
    X, y = table()
    fitted = forests.RandomForestRegressor(7, n_jobs=2).fit(X, y)
    model = fatt.load(fitted)
    lower, upper = model.ensemble.prediction_bounds(X)
    given = fitted.predict(X)
    assert np.all((lower < given) & (given < upper))
    assert np.all(upper - lower < 1e-12 * given)
    ordered = fatt.load(fitted.set_params(n_jobs=1)).ensemble
    assert np.array_equal(*ordered.prediction_bounds(X))
    classes = fatt.load(tree.DecisionTreeClassifier().fit(X, y > 1)).ensemble
    with pytest.raises(SpecError, match="gives labels"):
        classes.prediction_bounds(X)


@pytest.mark.parametrize("kind", ["sklearn forest", "lightgbm gamma"])
def test_how_far_the_number_moves(kind: str) -> None:
    fitted, X = fit(kind)
    similarity = fatt.Similarity(noise=0.2)
    gaps = fatt.score_gap(fitted, X, similarity=similarity, of="prediction")
    twins = np.array([list(gap.twin.values()) for gap in gaps])
    own, other = fitted.predict(X), fitted.predict(twins)
    assert np.array_equal(gaps.before, own)
    assert np.array_equal(gaps.lower, np.abs(other - own))
    rng = np.random.default_rng(0)
    for _ in range(30):
        near = X + rng.uniform(-0.2, 0.2, X.shape)
        assert np.all(np.abs(fitted.predict(near) - own) <= gaps.upper)
    assert {gap.label for gap in gaps} == {"prediction"}
    with pytest.raises(SpecError, match="gives no probabilities"):
        fatt.score_gap(fitted, X, similarity=similarity, of="probability")
    classes = tree.DecisionTreeClassifier().fit(X, own > 1)
    with pytest.raises(SpecError, match="gives labels"):
        fatt.score_gap(classes, X, similarity=similarity, of="prediction")


def test_a_number_needs_a_tolerance() -> None:
    fitted, X = fit("sklearn forest")
    similarity = fatt.Similarity(noise=0.2)
    with pytest.raises(
        SpecError,
        match="predicts a number, which hardly ever stays the same: say how far",
    ):
        fatt.verify(fitted, X, similarity=similarity)
    with pytest.raises(SpecError, match="predicts a number"):
        fatt.radius(fitted, X, similarity=similarity)
    with pytest.raises(SpecError, match="predicts a number"):
        fatt.repair(fitted, X, X[:, 0], similarity=similarity)
    with pytest.raises(SpecError, match="predicts a number"):
        fatt.load(fitted).possible_labels(X)


def test_what_is_refused() -> None:
    X, y = table()
    for fitted, reason in (
        (forests.AdaBoostRegressor(n_estimators=2), "weighted median"),
        (
            boosted("squared_error").set_params(init=tree.DecisionTreeRegressor()),
            "starts from a DecisionTreeRegressor",
        ),
        (lightgbmed("regression").set_params(reg_sqrt=True), "reg_sqrt"),
        (lightgbmed("cross_entropy"), "none of its own"),
        (tree.DecisionTreeRegressor(), "2 columns of y"),
    ):
        target = np.column_stack([y, y]) if "columns" in reason else y / y.max()
        with pytest.raises(UnsupportedModelError, match=reason):
            fatt.load(fitted.fit(X, target))
    data = xgboost.DMatrix(X, np.round(y), group=[len(X)])
    booster = xgboost.train({"objective": "rank:pairwise"}, data, 2)
    with pytest.raises(UnsupportedModelError, match="no meaning for one person"):
        fatt.load(booster)
    classifier = lightgbm.LGBMClassifier(objective="regression", **QUIET)
    with pytest.raises(UnsupportedModelError, match="none of its own"):
        fatt.load(classifier.fit(X, y > 1))
