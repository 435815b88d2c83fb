"""Columns in another order: never another answer than the library's own."""

from __future__ import annotations

import warnings
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from catboost import CatBoostClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Ensemble
from fatt.ensemble.file import from_bytes, to_bytes
from fatt.errors import DataError

RNG = np.random.default_rng(14)
ROWS = pd.DataFrame(RNG.normal(size=(200, 3)), columns=["age", "debt", "late fees"])
LABELS = (ROWS["age"] + 2 * ROWS["debt"] - ROWS["late fees"] > 0).astype(int)
ORDERS = [[2, 1, 0], [1, 0, 2], [0, 2, 1], [3, 2, 1, 0], [0, 3, 1, 2], [2, 3, 0, 1]]
FRAMES = {"pandas": lambda rows: rows, "polars": pl.from_pandas, "arrow": pa.table}
MODELS = {
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(5, random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=5),
    "xgboost": xgboost.XGBClassifier(n_estimators=5),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
    "catboost": CatBoostClassifier(
        iterations=5, depth=3, verbose=0, allow_writing_files=False
    ),
    "pipeline": make_pipeline(
        "passthrough", lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    ),
    "scaled": make_pipeline(
        StandardScaler(), lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    ),
    "columns": make_pipeline(
        make_column_transformer((StandardScaler(), [0]), remainder="passthrough"),
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
    ),
    "piped xgboost": make_pipeline(xgboost.XGBClassifier(n_estimators=5)),
}
for one in MODELS.values():
    one.fit(ROWS, LABELS)
OBJECTS: dict[str, Any] = {
    **MODELS,
    "booster of xgboost": MODELS["xgboost"].get_booster(),
    "booster of lightgbm": MODELS["lightgbm"].booster_,
}
ALWAYS = {"lightgbm", "pipeline", "booster of lightgbm"}
BEYOND_PANDAS = {"xgboost", "piped xgboost"}


def in_order(order: list[int]) -> pd.DataFrame:
    return ROWS.assign(other=RNG.normal(size=len(ROWS))).iloc[:, order]


def ask(model: Any, rows: Any) -> list[int]:
    if isinstance(model, xgboost.Booster):
        rows = xgboost.DMatrix(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = np.asarray(model.predict(rows))
    return (answers > 0.5).astype(int).tolist()


def labels(model: Any, rows: Any) -> list[int]:
    return fatt.load(model).predict(rows).tolist()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", OBJECTS)
def test_what_the_library_answers_for_other_orders_is_answered_or_refused(
    name: str, kind: str
) -> None:
    model = OBJECTS[name]
    own = labels(model, ROWS)
    assert own == ask(model, ROWS)
    for order in ORDERS:
        rows = FRAMES[kind](in_order(order))
        try:
            asked = ask(model, rows)
        except Exception:  # libraries raise what they like
            asked = own
        try:
            found = labels(model, rows)
        except DataError:
            assert name in ALWAYS | (BEYOND_PANDAS if kind != "pandas" else set())
            assert [place for place in order if place != 3] != [0, 1, 2]
        else:
            assert found == asked == own


@pytest.mark.parametrize("name", sorted(ALWAYS | BEYOND_PANDAS))
def test_other_orders_are_refused_with_both_orders(name: str) -> None:
    rows = pl.from_pandas(in_order([1, 3, 0, 2]))
    sought = fatt.Similarity(noise={"debt": 0.1})
    for ask_for in (
        lambda: labels(OBJECTS[name], rows),
        lambda: fatt.verify(OBJECTS[name], rows, similarity=sought),
        lambda: fatt.score_gap(OBJECTS[name], rows, similarity=sought),
    ):
        with pytest.raises(DataError) as caught:
            ask_for()
        assert "The rows have debt, age, late fees;" in str(caught.value)
        written = ("age, debt, late fees", "age, debt, late_fees")
        assert any(f"the model has {names}." in str(caught.value) for names in written)


@pytest.mark.parametrize("kind", FRAMES)
def test_extra_columns_are_passed_over_and_the_model_is_asked(kind: str) -> None:
    sought = fatt.Similarity(noise={"debt": 0.5})
    model = MODELS["lightgbm"]
    plain = fatt.verify(model, FRAMES[kind](ROWS), similarity=sought)
    wide = fatt.verify(model, FRAMES[kind](in_order([0, 3, 1, 2])), similarity=sought)
    assert plain.counts == wide.counts
    assert plain.counts["unfair"] > 0
    assert all(case.replayed_on == "model" for case in wide.counterexamples)


def test_files_are_read_by_name_and_asked_in_the_models_order(tmp_path) -> None:
    sought = fatt.Similarity(noise={"debt": 0.5})
    path = tmp_path / "model.txt"
    OBJECTS["booster of lightgbm"].save_model(path)
    wanted = fatt.verify(path, ROWS, similarity=sought)
    for order in ORDERS:
        found = fatt.verify(path, in_order(order), similarity=sought)
        assert found.counts == wanted.counts
        assert all(case.replayed_on == "model" for case in found.counterexamples)
        assert labels(path, in_order(order)) == ask(MODELS["lightgbm"], ROWS)
    assert any(
        "in the model's order" in note for note in fatt.load(path).ensemble.source.notes
    )


def test_a_file_and_its_fitted_model_have_one_digest(tmp_path) -> None:
    path = tmp_path / "model.txt"
    OBJECTS["booster of lightgbm"].save_model(path)
    fitted, written = (
        fatt.load(OBJECTS["booster of lightgbm"]).ensemble,
        fatt.load(path).ensemble,
    )
    assert fitted.inputs.by_position == "all"
    assert written.inputs.by_position == "none"
    assert fitted.digest == written.digest


def test_an_ensemble_that_is_saved_still_insists_on_its_order(tmp_path) -> None:
    path = tmp_path / "model.fatt"
    fatt.load(MODELS["lightgbm"]).save(path)
    with pytest.raises(DataError, match="another order"):
        fatt.load(path).predict(in_order([1, 0, 2]))


@pytest.mark.parametrize("name", ["tree", "lightgbm"])
def test_only_those_that_insist_say_so_in_their_file(name: str) -> None:
    # Files of others can be read by every version that knows the form.
    ensemble = fatt.load(OBJECTS[name]).ensemble
    data = to_bytes(ensemble)
    assert (b"by_position" in data) == (ensemble.inputs.by_position != "none")
    back: Ensemble = from_bytes(data)
    assert back.inputs == ensemble.inputs
    assert back.digest == ensemble.digest


@pytest.mark.parametrize("by_name_first", [True, False])
def test_a_vote_is_as_strict_as_its_strictest_model(by_name_first: bool) -> None:
    """A pipeline finds its columns by name, LightGBM beside it takes them by place."""
    by_name = make_pipeline(
        make_column_transformer((StandardScaler(), ["age"]), (StandardScaler(), [1])),
        RandomForestRegressor(5, random_state=0),
    )
    by_place = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1)
    inside = [("one", by_name), ("other", by_place)]
    vote = VotingRegressor(inside if by_name_first else inside[::-1])
    names = ["age", "debt"]
    model = fatt.load(vote.fit(ROWS[names], ROWS["age"] + 2 * ROWS["debt"]))
    assert model.predict(ROWS[names]) == pytest.approx(vote.predict(ROWS[names]))
    turned = ROWS[names[::-1]]
    assert vote.predict(turned) != pytest.approx(vote.predict(ROWS[names]))
    with pytest.raises(DataError, match="stand in another order"):
        model.predict(turned)
