"""Certificates on tolerances, directions and bands, and forged ones."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

import fatt
from fatt.certificate import Certificate, file
from fatt.ensemble.allowed import Allowed
from fatt.errors import CertificateError

_SIMILARITY = fatt.Similarity(noise={"age": 3}, vary=["sex"])


def _town() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 80),
            "income": rng.integers(10, 99, 80),
            "sex": rng.integers(0, 2, 80),
        }
    )
    return people, people.age * 3 + people.income * 2 + rng.normal(size=80) * 5


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


def test_verdicts_that_are_swapped() -> None:
    model, _, made = _certified("price", {"tolerance": "5%"})
    verdicts = made.verdicts.copy()
    # Who is unfair is proved by nothing.
    verdicts[np.flatnonzero(verdicts == 1)[0]] = 0
    counts = {**made.counts, "fair": made.counts["fair"] + 1}
    counts["unfair"] -= 1
    with pytest.raises(CertificateError):
        _forged(made, verdicts=file.pack(verdicts, "u1"), counts=counts).check(model)
