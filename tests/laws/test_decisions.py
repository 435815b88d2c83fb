"""Bands, tolerances and directions, held to every similar person asked one by one."""

from __future__ import annotations

import itertools
import platform
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import fatt
from fatt import Similarity
from fatt.ensemble.allowed import Allowed
from tests.oracles import still_fair

Floats = NDArray[np.float64]

#: Whole numbers, so that everybody similar can be listed.
_SIZES = (6, 5, 4)
_NOISE = {"x0": 2, "x1": 1}
_SIMILARITY = Similarity(noise=_NOISE, vary=["x2"])


def _people(seed: int, count: int = 80) -> Any:
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.integers(0, n, count) for i, n in enumerate(_SIZES)}
    return pd.DataFrame(columns)


def _similar(person: Any, people: Any) -> Any:
    """List everybody similar to a person, by the definition."""
    values = [
        range(person.x0 - 2, person.x0 + 3),
        range(person.x1 - 1, person.x1 + 2),
        sorted(set(people.x2)),
    ]
    return pd.DataFrame(list(itertools.product(*values)), columns=people.columns)


def _regressors() -> Iterator[tuple[str, Callable[[int], Any]]]:
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from sklearn.ensemble import (
        ExtraTreesRegressor,
        GradientBoostingRegressor,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeRegressor
    from xgboost import XGBRegressor

    few: dict[str, Any] = {"n_estimators": 7, "max_depth": 3}
    light: dict[str, Any] = few | {"min_child_samples": 2, "verbose": -1, "n_jobs": 1}
    for loss in ("reg:squarederror", "count:poisson", "reg:tweedie", "reg:logistic"):
        yield (
            f"xgboost {loss}",
            lambda seed, loss=loss: XGBRegressor(
                **few, objective=loss, random_state=seed, n_jobs=1
            ),
        )
    for loss in ("regression", "regression_l1", "poisson", "gamma"):
        yield (
            f"lightgbm {loss}",
            lambda seed, loss=loss: LGBMRegressor(
                **light, objective=loss, random_state=seed
            ),
        )
    if platform.machine() in {"x86_64", "AMD64"}:
        for loss in ("Poisson", "Tweedie:variance_power=1.5"):
            yield (
                f"catboost {loss}".lower(),
                lambda seed, loss=loss: CatBoostRegressor(
                    iterations=7,
                    depth=3,
                    loss_function=loss,
                    random_seed=seed,
                    verbose=0,
                    allow_writing_files=False,
                ),
            )
    for loss in ("squared_error", "poisson", "gamma"):
        yield (
            f"hist {loss}",
            lambda seed, loss=loss: HistGradientBoostingRegressor(
                loss=loss,
                max_iter=7,
                max_depth=3,
                min_samples_leaf=2,
                random_state=seed,
            ),
        )
    yield "tree", lambda seed: DecisionTreeRegressor(max_depth=4, random_state=seed)
    yield "forest", lambda seed: RandomForestRegressor(7, random_state=seed)
    yield "extra", lambda seed: ExtraTreesRegressor(7, random_state=seed)
    yield (
        "boosted",
        lambda seed: GradientBoostingRegressor(n_estimators=7, random_state=seed),
    )


_REGRESSORS = dict(_regressors())


def _fitted(name: str, seed: int) -> tuple[Any, Any]:
    people = _people(seed)
    rng = np.random.default_rng(seed + 1)
    target = people.to_numpy() @ [3.0, -1.0, 2.0] + rng.normal(size=len(people))
    if "logistic" in name:
        target = (target > target.mean()).astype(float)
    elif any(loss in name for loss in ("poisson", "gamma", "tweedie")):
        target = np.exp(target / 8)
    return _REGRESSORS[name](seed).fit(people, target), people


def _predictions(model: Any, rows: Any) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.predict(rows)).astype(np.float64)


def _expected(
    own: float, others: Floats, limit: float, direction: Any
) -> NDArray[np.bool_]:
    """Tell who is still fair, as the documentation says."""
    return still_fair(own, others, Allowed(tolerance=limit, direction=direction))


def _judge(report: Any, truth: list[bool]) -> None:
    told = [str(finding.verdict) for finding in report.findings]
    assert told == ["fair" if fair else "unfair" for fair in truth]


@pytest.mark.parametrize("name", _REGRESSORS)
@pytest.mark.parametrize("direction", [None, "not lower", "not higher"])
def test_every_similar_prediction_is_within_the_tolerance(
    name: str, direction: Any
) -> None:
    model, people = _fitted(name, 3)
    rows = people[:12]
    own = _predictions(model, rows)
    around = [
        _predictions(model, _similar(person, people)) for person in rows.itertuples()
    ]
    gaps = np.concatenate(
        [np.abs(others - mine) for mine, others in zip(own, around, strict=True)]
    )
    some = np.unique(gaps)
    # At some differences that occur, where the limit itself is still fair, and at
    # the floats next to them.
    limits = [0.0]
    for gap in some[[len(some) // 3, -1]]:
        limits += [gap, np.nextafter(gap, 0), np.nextafter(gap, np.inf)]
    for limit in limits:
        truth = [
            bool(_expected(mine, others, limit, direction).all())
            for mine, others in zip(own, around, strict=True)
        ]
        report = fatt.verify(
            model,
            rows,
            similarity=_SIMILARITY,
            schema=fatt.Schema.infer(fatt.load(model), people),
            tolerance=float(limit),
            direction=direction,
        )
        _judge(report, truth)
        for case in report.counterexamples:
            mine, other = own[case.index], case.twin_label
            assert case.label == mine
            twin = pd.DataFrame([case.twin])[list(people.columns)]
            assert _predictions(model, twin)[0] == other
            assert not _expected(mine, np.array([other]), limit, direction)[0]


@pytest.mark.parametrize("shift", [0.0, -40.0])
@pytest.mark.parametrize("name", ["tree", "forest", "xgboost reg:squarederror"])
def test_shares_of_predictions_below_and_around_zero(name: str, shift: float) -> None:
    people = _people(5)
    target = (people.to_numpy() @ [3, -1, 2] - 12.0 + shift).round()
    model = _REGRESSORS[name](5).fit(people, target)
    rows = people[:15]
    own = _predictions(model, rows)
    for share in ("0%", "5%", "37.5%", "100%", "150%"):
        limits = float(share.removesuffix("%")) / 100 * np.abs(own)
        truth = [
            bool(
                _expected(
                    mine, _predictions(model, _similar(person, people)), limit, None
                ).all()
            )
            for mine, limit, person in zip(own, limits, rows.itertuples(), strict=True)
        ]
        report = fatt.verify(
            model,
            rows,
            similarity=_SIMILARITY,
            schema=fatt.Schema.infer(fatt.load(model), people),
            tolerance=share,
        )
        _judge(report, truth)


def _classifiers() -> Iterator[tuple[str, Any]]:
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from xgboost import XGBClassifier

    few: dict[str, Any] = {"n_estimators": 7, "max_depth": 3, "random_state": 0}
    yield "xgboost", XGBClassifier(**few, n_jobs=1)
    yield "lightgbm", LGBMClassifier(**few, min_child_samples=2, verbose=-1, n_jobs=1)
    yield "forest", RandomForestClassifier(**few)
    yield "boosted", GradientBoostingClassifier(**few)
    yield (
        "hist",
        HistGradientBoostingClassifier(max_iter=7, min_samples_leaf=2, random_state=0),
    )


_CLASSIFIERS = dict(_classifiers())


def _classified(name: str, n_classes: int = 2) -> tuple[Any, Any]:
    people = _people(7)
    score = people.to_numpy() @ [3, -1, 2] + np.random.default_rng(0).normal(size=80)
    target = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return _CLASSIFIERS[name].fit(people, target), people


def _columns(model: Any, rows: Any, place: int = 1) -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.predict_proba(rows))[:, place]


@pytest.mark.parametrize("name", _CLASSIFIERS)
def test_probabilities_of_similar_people_are_near(name: str) -> None:
    model, people = _classified(name)
    rows = people[:12]
    own = _columns(model, rows).astype(np.float64)
    around = [
        _columns(model, _similar(person, people)).astype(np.float64)
        for person in rows.itertuples()
    ]
    gap = float(
        np.median([np.abs(o - m).max() for m, o in zip(own, around, strict=True)])
    )
    for limit in (0.0, 0.05, gap, np.nextafter(gap, 0), np.nextafter(gap, 1)):
        truth = [
            bool(_expected(m, o, limit, None).all())
            for m, o in zip(own, around, strict=True)
        ]
        report = fatt.verify(
            model,
            rows,
            similarity=_SIMILARITY,
            schema=fatt.Schema.infer(fatt.load(model), people),
            tolerance=float(limit),
        )
        _judge(report, truth)


@pytest.mark.parametrize("name", _CLASSIFIERS)
@pytest.mark.parametrize("direction", [None, "not lower", "not higher"])
def test_bands_at_probabilities_that_occur(name: str, direction: Any) -> None:
    model, people = _classified(name)
    rows = people[:12]
    occurring = np.unique(_columns(model, people))
    for strict in (False, True):
        low, high = occurring[[len(occurring) // 3, -3]].tolist()
        cuts = {"approve": 0.0, "review": low, "decline": high}
        loaded = fatt.load(model, cuts=cuts, strict=strict)

        def band(
            found: NDArray[Any], strict: bool = strict, ends: Any = (low, high)
        ) -> NDArray[np.int64]:
            over = np.greater if strict else np.greater_equal
            of = found.dtype.type
            return sum(over(found, of(end)).astype(np.int64) for end in ends)

        own = band(_columns(model, rows))
        assert loaded.predict(rows).tolist() == [list(cuts)[code] for code in own]
        truth = []
        for mine, person in zip(own, rows.itertuples(), strict=True):
            others = band(_columns(model, _similar(person, people)))
            fair = {
                None: others == mine,
                "not lower": others >= mine,
                "not higher": others <= mine,
            }[direction]
            truth.append(bool(fair.all()))
        report = fatt.verify(
            loaded,
            rows,
            similarity=_SIMILARITY,
            schema=fatt.Schema.infer(loaded, people),
            direction=direction,
        )
        _judge(report, truth)


@pytest.mark.parametrize("name", ["xgboost", "forest"])
@pytest.mark.parametrize("direction", ["not lower", "not higher"])
@pytest.mark.parametrize("favorable", [0, 1])
def test_only_worse_labels_are_unfair(
    name: str, direction: Any, favorable: int
) -> None:
    model, people = _classified(name)
    rows = people[:15]
    own = model.predict(rows) == favorable
    truth = []
    for mine, person in zip(own, rows.itertuples(), strict=True):
        others = model.predict(_similar(person, people)) == favorable
        truth.append(
            bool((others >= mine if direction == "not lower" else others <= mine).all())
        )
    report = fatt.verify(
        model,
        rows,
        similarity=_SIMILARITY,
        schema=fatt.Schema.infer(fatt.load(model), people),
        direction=direction,
        favorable=favorable,
    )
    _judge(report, truth)


def test_one_of_several_classes() -> None:
    model, people = _classified("forest", n_classes=3)
    rows = people[:12]
    own = model.predict(rows) == 2
    truth = [
        not mine or bool((model.predict(_similar(person, people)) == 2).all())
        for mine, person in zip(own, rows.itertuples(), strict=True)
    ]
    asked: dict[str, Any] = {
        "similarity": _SIMILARITY,
        "schema": fatt.Schema.infer(fatt.load(model), people),
    }
    report = fatt.verify(model, rows, direction="not lower", favorable=2, **asked)
    _judge(report, truth)
    found = _columns(model, rows, 2)
    truth = [
        bool((np.abs(_columns(model, _similar(person, people), 2) - mine) <= 0.2).all())
        for mine, person in zip(found, rows.itertuples(), strict=True)
    ]
    loaded = fatt.load(model).predicting(2)
    _judge(fatt.verify(loaded, rows, tolerance=0.2, **asked), truth)


def test_prices_in_bands() -> None:
    model, people = _fitted("xgboost count:poisson", 3)
    rows = people[:12]
    low, high = np.quantile(_predictions(model, people), [0.3, 0.7]).tolist()
    loaded = fatt.load(model, cuts={"low": -np.inf, "middle": low, "high": high})
    truth = []
    for person, mine in zip(rows.itertuples(), model.predict(rows), strict=True):
        others = model.predict(_similar(person, people))
        ends = np.array([low, high], dtype=others.dtype)
        bands = (others[:, np.newaxis] >= ends).sum(axis=1)
        truth.append(bool((bands == (mine >= ends).sum()).all()))
    schema = fatt.Schema.infer(loaded, people)
    _judge(fatt.verify(loaded, rows, similarity=_SIMILARITY, schema=schema), truth)


@pytest.mark.parametrize("name", ["forest", "xgboost reg:tweedie"])
def test_a_larger_tolerance_keeps_fair(name: str) -> None:
    model, people = _fitted(name, 9)
    auditors = [
        fatt.Auditor(model, similarity=_SIMILARITY, schema=people, tolerance=limit)
        for limit in ("1%", "3%", "10%", "30%", "90%", "300%")
    ]
    fair = [
        np.array([f.verdict == "fair" for f in one.verify(people).findings])
        for one in auditors
    ]
    for fewer, more in itertools.pairwise(fair):
        assert not (fewer & ~more).any()
    assert fair[0].sum() < fair[-1].sum()


def test_sums_without_order_are_in_doubt_only_where_last_bits_decide() -> None:
    people = _people(3)
    target = people.to_numpy() @ [0.3, -0.1, 0.7]
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(9, random_state=0, n_jobs=2).fit(people, target)
    rows = people[:20]
    around = [_predictions(forest, _similar(p, people)) for p in rows.itertuples()]
    own = _predictions(forest, rows)
    asked: dict[str, Any] = {
        "similarity": _SIMILARITY,
        "schema": fatt.Schema.infer(fatt.load(forest), people),
    }
    limit = float(
        np.median([np.abs(o - m).max() for m, o in zip(own, around, strict=True)])
    )
    report = fatt.verify(forest, rows, tolerance=limit * (1 + 1e-9), **asked)
    truth = [
        bool((np.abs(o - m) <= limit * (1 + 1e-9)).all())
        for m, o in zip(own, around, strict=True)
    ]
    _judge(report, truth)
    # At the limit itself the last bits decide, and nobody can say.
    report = fatt.verify(forest, rows, tolerance=limit, **asked)
    assert set(report.stopped) <= {"order"}
    for finding, fair in zip(report.findings, truth, strict=True):
        assert finding.verdict == "unknown" or (finding.verdict == "fair") == fair
