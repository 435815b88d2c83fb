"""Keep questions and what the search answers: ``python -m tests.data.make_verdicts``.

Trains models with the libraries that are installed, and draws hard ones, and writes
each question with its answers into `tests/data/verdicts`. Run it only to keep answers
that are known to be right: what is written here, every later search is held to.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.region import Neighbourhood, Relation, Schema, Similarity, Variables
from fatt.verifier import Budget, Verifier
from tests.cases import STYLES, random_case
from tests.verifier.kept import FOLDER, Question, answers

N_TRAINED_ON, N_NUMBERS = 400, 12

#: So many people are kept of each model: the first, and those who are hardest.
N_FIRST, N_HARDEST = 4, 8


def table(seed: int, n_classes: int, gaps: float) -> tuple[pd.DataFrame, Any]:
    """Draw numbers, two categories, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.normal(size=(N_TRAINED_ON, N_NUMBERS)), 2)
    whole = rng.integers(18, 70, N_TRAINED_ON).astype(np.float64)
    group, town = (rng.integers(0, most, N_TRAINED_ON) for most in (3, 7))
    pull = rng.normal(size=(N_NUMBERS, n_classes))
    scores = (numbers * np.roll(numbers, 1, axis=1)) @ pull
    scores += rng.normal(size=(3, n_classes))[group]
    scores += rng.normal(size=(7, n_classes))[town] + rng.gumbel(size=scores.shape)
    label = scores.argmax(axis=1)
    label[:n_classes] = np.arange(n_classes)
    numbers[rng.random(numbers.shape) < gaps] = np.nan
    frame = pd.DataFrame(numbers, columns=[f"x{index}" for index in range(N_NUMBERS)])
    frame["age"] = whole
    frame["group"] = pd.Categorical.from_codes(group, ["a", "b", "c"])
    frame["town"] = pd.Categorical.from_codes(town, list("pqrstuv"))
    return frame, label


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same people with the categories as numbers."""
    codes = {name: frame[name].cat.codes.astype(float) for name in ("group", "town")}
    return frame.assign(**codes)


def one_hot(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same people with a column of 0 and 1 per category."""
    return pd.get_dummies(frame, columns=["group", "town"], prefix_sep="=", dtype=float)


NOISE = Similarity(noise=0.3)
WIDE = Similarity(noise=1.2)
GROUP = Similarity(
    noise={"x0": 0.3, "x1": 0.5, "x2": 0.3, "x5": 0.3, "age": 4}, vary=["group", "town"]
)
UNION = Similarity(noise={f"x{index}": 0.3 for index in range(6)}) | Similarity(
    vary=["town"]
)
GAPS = Similarity(noise=0.2, missing=["x0", "x3"])


def trained() -> Iterator[tuple[str, Any, pd.DataFrame, Relation]]:
    """Train the models, and say to whom they are asked about."""
    seeded: dict[str, Any] = {"random_state": 3}
    quiet: dict[str, Any] = {"n_jobs": 1, **seeded}
    two, four = table(1, 2, 0.0), table(2, 4, 0.0)
    gappy, gappy4 = table(3, 2, 0.08), table(4, 3, 0.08)

    def fit(model: Any, form: Any, given: tuple[pd.DataFrame, Any]) -> Any:
        X = form(given[0])
        return model.fit(X, given[1]), X

    yield "tree", *fit(DecisionTreeClassifier(**seeded), plain, four), NOISE
    yield "tree-group", *fit(DecisionTreeClassifier(**seeded), one_hot, two), GROUP
    forest = RandomForestClassifier(40, max_depth=9, **seeded)
    yield "forest", *fit(forest, plain, two), NOISE
    yield "forest-group", *fit(forest, one_hot, two), GROUP
    wide = RandomForestClassifier(20, max_depth=7, **seeded)
    yield "forest-4", *fit(wide, plain, four), NOISE
    extra = ExtraTreesClassifier(16, max_depth=7, **seeded)
    yield "extra-union", *fit(extra, one_hot, four), UNION
    boosted = GradientBoostingClassifier(n_estimators=30, max_depth=3, **seeded)
    yield "boosting", *fit(boosted, plain, two), NOISE
    yield "boosting-4", *fit(boosted.set_params(n_estimators=8), one_hot, four), UNION
    steep = GradientBoostingClassifier(loss="exponential", n_estimators=25, **seeded)
    yield "exponential", *fit(steep, one_hot, two), GROUP
    hist = HistGradientBoostingClassifier(
        max_iter=50, min_samples_leaf=8, categorical_features="from_dtype", **seeded
    )
    yield "hist-categories", *fit(hist, pd.DataFrame, gappy), GAPS
    yield "hist-3", *fit(hist.set_params(max_iter=8), pd.DataFrame, gappy4), UNION
    xgb = xgboost.XGBClassifier(n_estimators=50, max_depth=5, **quiet)
    yield "xgb", *fit(xgb, plain, two), NOISE
    yield "xgb-gaps", *fit(xgb, plain, gappy), GAPS
    for name, given, similarity in (("4-", four, GROUP), ("", gappy, UNION)):
        named = xgboost.XGBClassifier(
            n_estimators=12, max_depth=4, enable_categorical=True, **quiet
        )
        yield f"xgb-{name}categories", *fit(named, pd.DataFrame, given), similarity
    lgb = lightgbm.LGBMClassifier(
        n_estimators=50, num_leaves=16, min_child_samples=8, verbose=-1, **quiet
    )
    yield "lgbm-categories", *fit(lgb, pd.DataFrame, gappy), GROUP
    yield "lgbm", *fit(lgb, plain, two), NOISE
    lgb = lgb.set_params(n_estimators=8, objective="multiclassova")
    yield "lgbm-ova", *fit(lgb, pd.DataFrame, four), UNION
    lgb = lgb.set_params(objective="multiclass")
    yield "lgbm-3", *fit(lgb, pd.DataFrame, gappy4), GAPS


def ask(model: Any, frame: pd.DataFrame, similarity: Relation) -> Question:
    """Return the question about the first few people, and about the hardest."""
    ensemble = fatt.load(model).ensemble
    variables = Variables(ensemble, Schema.infer(ensemble, frame))
    people = variables.gather(ensemble.read(frame))
    boxes = Neighbourhood(similarity, variables).boxes(people)
    budget = Budget(nodes=300)
    found = Verifier(variables.ensemble).verify(people, boxes, budget=budget)
    hardest = np.argsort(-found.nodes, kind="stable")
    kept = np.append(np.arange(N_FIRST), hardest[hardest >= N_FIRST][:N_HARDEST])
    return Question(variables.ensemble, people[kept], boxes.of_people(kept))


def questions() -> Iterator[tuple[str, Question]]:
    """Yield all questions by name."""
    for name, model, frame, similarity in trained():
        yield name, ask(model, frame, similarity)
        if name in {"forest", "forest-4", "xgb-gaps", "lgbm", "hist-categories"}:
            # Nobody is fair here, but to find the extremes takes long.
            yield f"{name}-wide", ask(model, frame, WIDE)
        if name == "forest":
            yield (
                "votes",
                ask(fatt.load(model).ensemble.hard_votes(), frame, similarity),
            )
    for style in STYLES:
        for seed in range(6):
            drawn = random_case(
                seed, style=style, n_people=4, most_points=50_000, scale=1 + 3 * seed
            )
            yield (
                f"drawn-{style}-{seed}",
                Question(drawn.ensemble, drawn.people, drawn.boxes),
            )


def main() -> None:
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for name, question in questions():
        found = dict(answers(question))
        np.savez_compressed(FOLDER / f"{name}.npz", **question.to_arrays(), **found)
        counts = np.bincount(found["long.verdict"], minlength=3)
        sys.stdout.write(
            f"{name}: {counts} of {len(counts)}, nodes {found['long.nodes'].sum()}, "
            f"most {found['long.nodes'].max()}, stretched {found['extremes.nodes']}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
