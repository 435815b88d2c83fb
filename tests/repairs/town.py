"""A small town in which models come to depend on sex, and one model of each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import fatt

SIMILARITY = fatt.Similarity(noise={"income": 0.2}, vary=["sex"])


def people(n_people: int = 300, n_classes: int = 2) -> tuple[pd.DataFrame, Any]:
    """Draw people whose label depends on income and age, and a little on sex."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "sex": rng.integers(2, size=n_people),
            "income": rng.normal(size=n_people),
            "age": rng.normal(size=n_people),
        }
    )
    merit = table["income"] + 0.5 * table["age"] + 0.4 * table["sex"]
    merit += 0.5 * rng.normal(size=n_people)
    ends = np.quantile(merit, np.linspace(0, 1, n_classes + 1)[1:-1])
    return table, np.searchsorted(ends, merit)


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the people with their sex in words."""
    return table.assign(sex=np.array(["female", "male"])[table["sex"]])


def pipeline() -> Any:
    columns = make_column_transformer(
        (OneHotEncoder(), ["sex"]), (StandardScaler(), ["income", "age"])
    )
    return make_pipeline(columns, RandomForestClassifier(8, **SMALL))


SMALL: dict[str, Any] = {"max_depth": 4, "random_state": 0}
QUIET: dict[str, Any] = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5}

MODELS: dict[str, Callable[[], Any]] = {
    "DecisionTree": lambda: DecisionTreeClassifier(max_depth=7, random_state=0),
    "ExtraTree": lambda: ExtraTreeClassifier(max_depth=7, random_state=0),
    "RandomForest": lambda: RandomForestClassifier(8, **SMALL),
    "ExtraTrees": lambda: ExtraTreesClassifier(8, **SMALL),
    "GradientBoosting": lambda: GradientBoostingClassifier(n_estimators=8, **SMALL),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(
        max_iter=8, min_samples_leaf=5, random_state=0
    ),
    "XGBoost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
    "XGBRF": lambda: xgboost.XGBRFClassifier(n_estimators=8, max_depth=3, n_jobs=1),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=8, **QUIET),
    "CatBoost": lambda: catboost.CatBoostClassifier(
        iterations=8, depth=3, verbose=0, allow_writing_files=False, thread_count=1
    ),
}


def boosters() -> dict[str, Any]:
    """Return the plain models inside of XGBoost's and LightGBM's classifiers."""
    table, label = people()
    return {
        "XGBoost": MODELS["XGBoost"]().fit(table, label).get_booster(),
        "LightGBM": MODELS["LightGBM"]().fit(table, label).booster_,
    }
