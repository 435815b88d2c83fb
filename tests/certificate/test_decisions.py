"""Certificates on tolerances, directions and bands, and forged ones."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

import fatt
from fatt.certificate import Certificate, file
from fatt.certificate.certificate import KINDS, PROVED, UNFAIR
from fatt.ensemble import Bands, Prediction
from fatt.ensemble.allowed import Allowed
from fatt.errors import CertificateError
from tests.oracles import still_fair

_SIMILARITY = fatt.Similarity(noise={"age": 3}, vary=["sex"])


def _town() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 40),
            "income": rng.integers(10, 99, 40),
            "sex": rng.integers(0, 2, 40),
        }
    )
    return people, people.age * 3 + people.income * 2 + rng.normal(size=40) * 5


def _models() -> dict[str, Any]:
    from lightgbm import LGBMRegressor
    from sklearn.ensemble import RandomForestRegressor
    from xgboost import XGBClassifier, XGBRegressor

    people, target = _town()
    few: dict[str, Any] = {"n_estimators": 9, "max_depth": 3, "n_jobs": 1}
    return {
        "price": XGBRegressor(**few).fit(people, target),
        "counts": XGBRegressor(**few, objective="count:poisson").fit(
            people, np.exp(target / 100)
        ),
        "gamma": LGBMRegressor(
            **few, objective="gamma", min_child_samples=2, verbose=-1
        ).fit(people, np.exp(target / 100)),
        "forest": RandomForestRegressor(9, random_state=0).fit(people, target),
        "classes": XGBClassifier(**few).fit(people, target > target.mean()),
    }


_MODELS = _models()
_ASKED: list[tuple[str, dict[str, Any]]] = [
    *[(name, {"tolerance": "5%"}) for name in ("price", "counts", "gamma", "forest")],
    ("price", {"tolerance": 0}),
    ("price", {"tolerance": 10, "direction": "not lower"}),
    ("price", {"direction": "not higher"}),
    ("classes", {"tolerance": 0.2}),
    ("classes", {"direction": "not lower", "favorable": 1}),
    ("classes", {"direction": "not lower", "favorable": 0}),
    ("classes", {"cuts": {"a": 0.0, "b": 0.3, "c": 0.8}}),
    ("classes", {"cuts": {"a": 0.0, "b": 0.3, "c": 0.8}, "direction": "not higher"}),
]


def _certified(name: str, asked: dict[str, Any]) -> tuple[Any, Any, Certificate]:
    people, _ = _town()
    cuts = asked.get("cuts")
    model = fatt.load(_MODELS[name], cuts=cuts)
    rest = {key: value for key, value in asked.items() if key != "cuts"}
    report = fatt.verify(model, people, similarity=_SIMILARITY, **rest)
    return model, report, report.certificate()


@pytest.mark.parametrize(("name", "asked"), _ASKED)
def test_everybody_is_proved_again(
    name: str, asked: dict[str, Any], tmp_path: Any
) -> None:
    people, _ = _town()
    model, report, made = _certified(name, asked)
    made.save(tmp_path / "cert.json")
    read = Certificate.read(tmp_path / "cert.json")
    checked = read.check(model, people)
    assert checked.fair == report.counts["fair"] > 0
    assert checked.unfair == report.counts["unfair"] > 0
    assert report.allowed.words in str(checked)


def _forged(made: Certificate, **changes: Any) -> Certificate:
    return Certificate.of(
        file.sealed(msgspec.structs.replace(made.contents, digest="", **changes))
    )


@pytest.mark.parametrize(
    "allowed",
    [
        Allowed(tolerance=0.0),
        Allowed(tolerance=0.02, relative=True),
        Allowed(tolerance=0.05),
        Allowed(tolerance=1e9),
        Allowed(tolerance=0.05, relative=True, direction="not lower"),
        Allowed(tolerance=0.05, relative=True, direction="not higher"),
    ],
)
def test_another_rule_is_noticed(allowed: Allowed) -> None:
    model, _, made = _certified("price", {"tolerance": "5%"})
    made.check(model)
    with pytest.raises(CertificateError):
        _forged(made, fair=allowed).check(model)


def test_labels_are_not_predictions() -> None:
    model, _, made = _certified("price", {"tolerance": "5%"})
    labels = made.labels.copy()
    labels[0] = 0
    with pytest.raises(CertificateError, match="label"):
        _forged(made, labels=file.pack(labels, "i4")).check(model)
    with pytest.raises(CertificateError):
        _forged(made, fair=msgspec.UNSET).check(model)


@pytest.mark.parametrize(("name", "asked"), _ASKED)
def test_verdicts_that_are_swapped(name: str, asked: dict[str, Any]) -> None:
    model, _, made = _certified(name, asked)
    for was, becomes in ((UNFAIR, PROVED), (PROVED, UNFAIR)):
        verdicts = made.verdicts.copy()
        # Who is unfair is proved by nothing, and who is fair has no twin.
        verdicts[np.flatnonzero(verdicts == was)[0]] = becomes
        counts = dict(
            zip(KINDS, np.bincount(verdicts, minlength=4).tolist(), strict=True)
        )
        packed = file.pack(verdicts, "u1")
        with pytest.raises(CertificateError):
            _forged(made, verdicts=packed, counts=counts).check(model)


def _around(people: pd.DataFrame, row: int) -> pd.DataFrame:
    """List everybody similar, by the definition."""
    mine = people.iloc[row]
    ages = range(mine.age - 3, mine.age + 4)
    some = [(age, mine.income, sex) for age in ages for sex in (0, 1)]
    return pd.DataFrame(some, columns=people.columns)


def _numbers(name: str, rows: pd.DataFrame) -> Any:
    fitted = _MODELS[name]
    if name == "classes":
        return fitted.predict_proba(rows)[:, 1].astype(np.float64)
    return fitted.predict(rows).astype(np.float64)


@pytest.mark.parametrize("name", _MODELS)
@pytest.mark.parametrize("direction", [None, "not lower", "not higher"])
def test_the_limit_itself_is_fair_and_the_next_float_is_not(
    name: str, direction: Any
) -> None:
    """The tolerance is moved by one float, over the largest gap of somebody fair."""
    people, _ = _town()
    sign = {None: 0, "not lower": -1, "not higher": 1}[direction]
    gaps = []
    for row in range(len(people)):
        moved = _numbers(name, _around(people, row)) - _numbers(name, people[row:][:1])
        gaps.append(np.abs(moved[moved * sign >= 0]).max())
    some = np.sort([gap for gap in gaps if gap > 0])
    limit = float(some[len(some) // 2])
    asked = {"tolerance": limit, "direction": direction}
    model, report, made = _certified(name, asked)
    assert [finding.verdict == "fair" for finding in report.findings] == [
        bool(gap <= limit) for gap in gaps
    ]
    made.check(model)
    less = float(np.nextafter(limit, 0))
    tight = Allowed(tolerance=less, direction=direction)
    with pytest.raises(CertificateError):
        _forged(made, fair=tight).check(model)
    # The other way round: a twin at the limit is none.
    model, report, made = _certified(name, {**asked, "tolerance": less})
    at_limit = [case for case in report.counterexamples if gaps[case.index] == limit]
    assert at_limit
    made.check(model)
    wide = Allowed(tolerance=limit, direction=direction)
    with pytest.raises(CertificateError):
        _forged(made, fair=wide).check(model)


_LABELS = [
    Allowed(direction=direction, favorable=favorable)
    for direction in ("not lower", "not higher")
    for favorable in (0, 1)
]
_BANDS = [Allowed(direction=direction) for direction in ("not lower", "not higher")]
_NUMBERS = [
    Allowed(tolerance=tolerance, relative=relative, direction=direction)  # type: ignore[arg-type]
    for tolerance in (0.05, 10.0)
    for relative in (False, True)
    for direction in (None, "not lower", "not higher")
]
#: About no model at all.
_NONSENSE = [
    Allowed(tolerance=np.nan),
    Allowed(tolerance=np.inf),
    Allowed(tolerance=-1.0),
    Allowed(relative=True),
    Allowed(favorable=1),
    Allowed(direction="not lower", favorable="zz"),
    Allowed(tolerance=1.0, direction="not lower", favorable=1),
    Allowed(direction="not lower", favorable="b"),
]


@pytest.mark.parametrize(("name", "asked"), _ASKED)
def test_a_rule_that_is_accepted_is_true(name: str, asked: dict[str, Any]) -> None:
    """Every other rule is written into a certificate; its words must hold then."""
    people, _ = _town()
    model, report, made = _certified(name, asked)
    if "tolerance" in asked:
        model = model.predicting()
    decision = model.ensemble.decision
    is_number = isinstance(decision, Prediction)
    with_meaning = _NUMBERS if is_number else [*_LABELS, Allowed()]
    if isinstance(decision, Bands):
        with_meaning = [*_BANDS, Allowed()]
    answers = [model.predict(_around(people, row)) for row in range(len(people))]
    own = model.predict(people)
    order = {label: place for place, label in enumerate(model.classes)}
    accepted = 0
    for rule in [*_NUMBERS, *_LABELS, *_BANDS, *_NONSENSE, Allowed()]:
        forged = _forged(made, fair=rule)
        if rule not in with_meaning:
            with pytest.raises(CertificateError):
                forged.check(model)
            continue
        try:
            forged.check(model)
        except CertificateError:
            continue
        accepted += 1
        worth = order
        if rule.favorable is not None:
            worth = {label: int(label == rule.favorable) for label in order}
        for mine, others, verdict in zip(own, answers, made.verdicts, strict=True):
            ranks = [mine, *others]
            if not is_number:
                ranks = [worth[label] for label in ranks]
            numbers = np.array(ranks, dtype=np.float64)
            is_fair = still_fair(numbers[0], numbers, rule).all()
            assert is_fair == (verdict == PROVED), rule
            assert verdict in {PROVED, UNFAIR}
    assert accepted >= (report.allowed in with_meaning)
