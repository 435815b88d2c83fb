"""What `fatt.load` returns: the exact form, and the model itself."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import fatt
from fatt import Model, Schema, Similarity
from fatt.errors import UnsupportedModelError
from fatt.model import NoLive, NotAtHand
from tests.repairs.town import MODELS, boosters, people

TABLE, LABEL = people()
ROWS = np.asarray(TABLE)[:20]


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(5, max_depth=3, random_state=0).fit(ROWS, LABEL[:20])


@pytest.mark.parametrize("kind", [*MODELS, "XGBoost booster", "LightGBM booster"])
def test_every_library_answers_what_its_exact_form_does(kind: str) -> None:
    name = kind.removesuffix(" booster")
    fitted = boosters()[name] if kind != name else MODELS[name]().fit(TABLE, LABEL)
    model = fatt.load(fitted)
    assert model.given is fitted
    assert model.ask(TABLE) == model.predict(TABLE).tolist()
    assert len(set(model.ask(TABLE))) == 2


def test_it_offers_what_an_ensemble_does(tmp_path: Path) -> None:
    model = fatt.load(forest())
    exact = model.ensemble
    assert model.features == exact.features
    assert (model.classes, model.digest) == (exact.classes, exact.digest)
    assert (model.raw_scores(ROWS) == exact.raw_scores(ROWS)).all()
    assert (model.possible_labels(ROWS) == exact.possible_labels(ROWS)).all()
    bounds, own = model.score_bounds(ROWS), exact.score_bounds(ROWS)
    assert all(np.array_equal(a, b) for a, b in zip(bounds, own, strict=True))
    model.save(tmp_path / "model.fatt")
    assert fatt.load(tmp_path / "model.fatt") == model == fatt.load(exact)
    assert hash(model) == hash(fatt.load(exact))
    assert model != exact
    assert repr(model).startswith("<Model of scikit-learn: 5 trees")
    assert fatt.load(model) is model


def test_what_took_an_ensemble_takes_a_model() -> None:
    model = fatt.load(forest())
    similarity = Similarity(noise=0.2)
    schema = Schema.infer(model, ROWS)
    assert schema == Schema.infer(model.ensemble, ROWS)
    assert Schema.from_ensemble(model) == Schema.from_ensemble(model.ensemble)
    report = fatt.verify(model, ROWS, similarity=similarity, schema=schema)
    assert report.asked.people == len(ROWS)
    report.certificate().check(model, ROWS)


def test_a_copy_in_another_process_asks_as_well() -> None:
    fitted = make_pipeline(StandardScaler(), forest()).fit(ROWS, LABEL[:20])
    model = fatt.load(fitted)
    model.ask(ROWS)
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model
    assert copy.ask(ROWS) == model.ask(ROWS)


@pytest.mark.xgboost
@pytest.mark.parametrize("missing", [None, -1.0])
def test_a_file_needs_to_be_there_only_once(
    tmp_path: Path, missing: float | None
) -> None:
    rows = np.where(np.median(ROWS) < ROWS, ROWS, -1.0)
    classifier = MODELS["XGBoost"]().set_params(missing=missing or np.nan)
    classifier.fit(rows, LABEL[:20]).save_model(tmp_path / "model.json")
    model = fatt.load(tmp_path / "model.json", missing=missing)
    (tmp_path / "model.json").unlink()
    assert model.given is None
    expected = classifier.predict(rows).tolist()
    assert model.ask(rows) == model.predict(rows).tolist() == expected


def test_who_cannot_be_asked_says_why() -> None:
    exact = fatt.load(forest()).ensemble
    with pytest.raises(NotAtHand, match="exact form"):
        fatt.load(exact).ask(ROWS)
    with pytest.raises(NotAtHand, match="on holiday"):
        Model(exact, NoLive("on holiday")).ask(ROWS)

    def absent() -> Any:
        raise ModuleNotFoundError("No module named 'lib'", name="lib")

    def broken() -> Any:
        raise ValueError("too old\nin line 2")

    with pytest.raises(NotAtHand, match="lib is not installed"):
        Model(exact, absent).ask(ROWS)
    with pytest.raises(NotAtHand, match=r"not take it \(ValueError: too old\)"):
        Model(exact, broken).ask(ROWS)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        make_pipeline(StandardScaler(), RandomForestClassifier()),
        HistGradientBoostingClassifier(),
        XGBClassifier(),
        LGBMClassifier(),
        fatt.FATTClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_whoever_forgot_to_fit_gets_the_error_that_they_know(model: Any) -> None:
    with pytest.raises(NotFittedError, match="is not fitted; call fit first") as raised:
        fatt.load(model)
    assert isinstance(raised.value, UnsupportedModelError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
