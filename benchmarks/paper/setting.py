"""The models, people and similarities of the paper, and boosted models beside them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Ensemble
from fatt.region import Relation, Schema, Similarity

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "paper"

#: Trees and depth of the forests, depth of the single trees: the paper's settings.
FORESTS = {
    "adult": (5, 10),
    "compas": (100, 100),
    "crime": (100, 100),
    "german": (50, 10),
    "health": (100, 100),
}
TREES = {"adult": 10, "compas": 6, "crime": 6, "german": 10, "health": 15}
BOOSTED = ("adult", "crime")
KINDS = ("tree", "forest", "xgb100", "xgb300", "lgbm100")


class People(NamedTuple):
    """A data set as the paper prepares it."""

    train: pd.DataFrame
    label: np.ndarray
    test: pd.DataFrame
    test_label: np.ndarray
    notes: dict[str, Any]


def path_of(name: str, folder: Path = DATA) -> Path:
    """Return where a data set lies; the authors' own scaling where there is one."""
    artifact = folder / "artifact" / f"{name}.npz"
    return artifact if artifact.exists() else folder / f"{name}.npz"


@functools.cache
def people(name: str, folder: Path = DATA) -> People:
    path = path_of(name, folder)
    if not path.exists():
        raise SystemExit(
            f"{path} is not here: the benchmarks need the data sets of the paper, "
            "prepared as it says."
        )
    with np.load(path) as data:
        columns = data["feature_names"].tolist()
        return People(
            pd.DataFrame(data["X_train"], columns=columns),
            data["y_train"],
            pd.DataFrame(data["X_test"], columns=columns),
            data["y_test"],
            json.loads(path.with_suffix(".json").read_text()),
        )


def models() -> list[tuple[str, str]]:
    """All pairs of a data set and a kind of model."""
    pairs = [(name, kind) for name in FORESTS for kind in ("tree", "forest")]
    boosted = [kind for kind in KINDS if kind not in {"tree", "forest"}]
    return pairs + [(name, kind) for name in BOOSTED for kind in boosted]


def train(name: str, kind: str) -> Ensemble:
    """Train a model, and load it."""
    return fatt.load(fit(name, kind)).ensemble


def fit(name: str, kind: str, folder: Path = DATA) -> Any:
    """Train a model with its library."""
    data = people(name, folder)
    model: Any
    if kind == "tree":
        model = DecisionTreeClassifier(max_depth=TREES[name], random_state=0)
    elif kind == "forest":
        n_trees, depth = FORESTS[name]
        # Trained by two threads, asked by one: then sums have an order.
        model = RandomForestClassifier(
            n_trees, max_depth=depth, random_state=0, n_jobs=2
        )
    elif kind.startswith("xgb"):
        import xgboost

        model = xgboost.XGBClassifier(n_estimators=int(kind[3:]), max_depth=6, n_jobs=2)
    else:
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=2)
    model.fit(data.train.to_numpy(), data.label)
    if kind == "forest":
        model.n_jobs = None
    return model


def schema(name: str, ensemble: Ensemble, folder: Path = DATA) -> Schema:
    return Schema.infer(ensemble, people(name, folder).train)


def similarities(name: str, folder: Path = DATA) -> dict[str, Relation]:
    """Return the paper's relations, as far as the data set has them."""
    given = people(name, folder).notes["similarity"]
    noise = dict.fromkeys(given["noise"]["features"], given["noise"]["epsilon"])
    vary = given["cat"]["attributes"]
    found: dict[str, Relation] = {
        "cat": Similarity(vary=vary),
        "noise": Similarity(noise=noise),
        "noise-cat": Similarity(noise=noise, vary=vary),
    }
    if condition := given.get("conditional-attribute"):
        column, tau = condition["attribute"], condition["tau"]
        below, above = condition["epsilon_below"], condition["epsilon_above"]
        found["conditional"] = Similarity(
            noise={column: below}, where={column: f"<= {tau!r}"}
        ) | Similarity(noise={column: above}, where={column: f"> {tau!r}"})
        found["conditional-artifact"] = _on_its_side(list(noise), condition)
    return found


def _on_its_side(numbers: list[str], condition: dict[str, Any]) -> Relation:
    """Return conditional-attribute as the authors' code has it.

    The attribute is free on its side of the threshold, and all other numbers move.
    """
    column, tau = condition["attribute"], condition["tau"]
    others = [name for name in numbers if name != column]
    below = Similarity(
        noise=dict.fromkeys(others, condition["epsilon_below"]),
        vary=[column],
        where={column: f"< {tau!r}"},
    )
    above = Similarity(
        noise=dict.fromkeys(others, condition["epsilon_above"]),
        vary=[column],
        where={column: f">= {tau!r}"},
    )
    return below | above
