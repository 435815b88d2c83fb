"""The user's own table stays as it is, whatever a library does to what it is handed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(5, 3, size=(200, 3)), 2)
Y = (X.sum(axis=1) > 15).astype(int)
SCALERS = [StandardScaler, MinMaxScaler, RobustScaler]

TABLES: dict[str, Any] = {
    "C": X.copy(order="C"),
    "F": X.copy(order="F"),
    "a part of another": np.ascontiguousarray(np.hstack([X, X]))[:, 1:4],
    "every other row": np.repeat(X, 2, axis=0)[::2],
    "whole numbers": X.astype(int),
    "list": X.tolist(),
    "pandas": pd.DataFrame(X, columns=list("abc")),
    "pandas of one block": pd.DataFrame(X.copy(order="F"), columns=list("abc")),
    "polars": pl.DataFrame(X, schema=list("abc")),
}


@pytest.mark.parametrize("scaler", SCALERS)
@pytest.mark.parametrize("kind", TABLES)
def test_scalers_that_write_into_their_rows(scaler: Any, kind: str) -> None:
    table = TABLES[kind]
    names = hasattr(table, "columns")
    fit_on = pd.DataFrame(X.copy(), columns=list("abc")) if names else X.copy()
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = make_pipeline(scaler(copy=False), tree).fit(fit_on, Y)
    before = pickle.dumps(table)
    report = fatt.verify(model, table, similarity=Similarity(noise=1))
    assert pickle.dumps(table) == before
    assert report.counts["unfair"] > 5
    assert report.counts["fair"] > 5
    assert {case.replayed_on for case in report.counterexamples} == {"model"}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("as_frame", [False, True])
def test_float32(order: Any, as_frame: bool) -> None:
    table: Any = np.array(X, dtype=np.float32, order=order)
    table = pd.DataFrame(table, columns=list("abc"), copy=False) if as_frame else table
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(table, Y)
    before = pickle.dumps(table)
    report = fatt.verify(model, table, similarity=Similarity(noise=0.4))
    assert pickle.dumps(table) == before
    assert {case.replayed_on for case in report.counterexamples} == {"model"}
