from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Categorical, Ensemble, Feature, Numeric
from fatt.errors import UnsupportedModelError
from fatt.export import export_text
from tests.export.forests import one_tree, random_forest, stump
from tests.export.reader import follow, obey
from tests.probes import probe_rows


def person_of(ensemble: Ensemble, row: Any) -> dict[str, Any]:
    """Return a row of numbers and codes as somebody would write it down."""
    person: dict[str, Any] = {}
    for feature, cell in zip(ensemble.features, row.tolist(), strict=True):
        value: Any = None if math.isnan(cell) else cell
        if isinstance(feature, Categorical) and value is not None:
            code = int(value)
            is_known = code < len(feature.categories)
            value = feature.categories[code] if is_known else ...
        person[feature.name] = value
    return person


@pytest.mark.parametrize("seed", range(30))
def test_who_follows_the_text_gets_the_label(seed: int) -> None:
    ensemble = one_tree(random_forest(seed, categories=True))
    # Thresholds have at most three decimals, so that the text holds them in full.
    text = export_text(ensemble, decimals=3)
    rows = probe_rows(ensemble, np.random.default_rng(seed), 100)
    labels = np.array(ensemble.classes, dtype=object)[ensemble.decide(rows)]
    for row, label in zip(rows, labels, strict=True):
        leaf = follow(text, person_of(ensemble, row))
        assert leaf.startswith(f"{label} (")


@pytest.mark.parametrize("seed", range(30))
def test_one_sentence_is_about_each_person_and_it_tells_the_label(seed: int) -> None:
    ensemble = one_tree(random_forest(seed, categories=True))
    text = export_text(ensemble, style="sentences", decimals=3)
    rows = probe_rows(ensemble, np.random.default_rng(seed), 60)
    labels = np.array(ensemble.classes, dtype=object)[ensemble.decide(rows)]
    for row, label in zip(rows, labels, strict=True):
        (answer,) = obey(text, person_of(ensemble, row))
        assert answer.startswith(f"{label} (")


@pytest.mark.parametrize("seed", range(5))
def test_every_leaf_of_every_tree_has_a_line(seed: int) -> None:
    ensemble = random_forest(seed, categories=True)
    text = export_text(ensemble)
    assert text.count(" → ") == ensemble.trees.n_leaves
    if len(ensemble.trees) > 1:
        assert f"over {len(ensemble.trees)} trees" in text
        assert text.count("\nTree ") == len(ensemble.trees)


NO_MISSING: dict[str, Any] = {"accepts_missing": False}
RACE = Categorical(name="race", categories=("Asian", "Black", "White"))
CLOSED = Categorical(
    name="race",
    categories=("Asian", "Black", "White"),
    accepts_unknown=False,
    accepts_missing=False,
)


GRADE = Categorical(name="grade", categories=(1, 2, 3, 4, 5, 6), **NO_MISSING)


@pytest.mark.parametrize(
    ("feature", "split", "yes", "no"),
    [
        (Numeric(name="age"), 37.512, "age <= 37.51", "age > 37.51 (or missing)"),
        (Numeric(name="age", **NO_MISSING), 37.5, "age <= 37.50", "age > 37.50"),
        (
            Numeric(name="age", integer=True, **NO_MISSING),
            37.5,
            "age <= 37",
            "age >= 38",
        ),
        (Numeric(name="age"), math.inf, "age is any number", "age is missing"),
        (Numeric(name="debt", **NO_MISSING), -3e-7, "debt <= -3e-07", "debt > -3e-07"),
        (Numeric(name="debt", **NO_MISSING), 2e20, "debt <= 2e+20", "debt > 2e+20"),
        (
            Numeric(name="race=White", **NO_MISSING),
            0.5,
            "race is White",
            "race is not White",
        ),
        # A number like any other, although its name looks like a flag.
        (Numeric(name="a=b", **NO_MISSING), 3.0, "a=b <= 3.00", "a=b > 3.00"),
        (Numeric(name="a<=3", **NO_MISSING), 0.5, "a<=3 <= 0.50", "a<=3 > 0.50"),
        (
            RACE,
            [True, False, True, False],
            "race in {Asian, White}",
            "race is Black (or other or missing)",
        ),
        (CLOSED, [False, True, False, False], "race is Black", None),
        (RACE, [True] * 4, "race is any category", "race is missing"),
        (
            RACE,
            [False, True, False, False],
            "race is Black",
            "race is not Black (or missing)",
        ),
        (RACE, [True, True, True, False], "race in {Asian, Black, White}", None),
        (RACE, [False, False, False, True], "race is other", None),
        (CLOSED, [True] * 4, "race is any category", "never"),
        (
            GRADE,
            [True] * 4 + [False] * 3,
            "grade in {1 to 4}",
            "grade in {5, 6} (or other)",
        ),
        (GRADE, [True, False, True] + [True] * 4, "grade is not 2", "grade is 2"),
        (GRADE, [False] * 2 + [True] * 5, "grade is none of {1, 2}", "grade in {1, 2}"),
    ],
)
def test_splits_in_words(
    feature: Feature, split: Any, yes: str, no: str | None
) -> None:
    first, second = export_text(stump(feature, split)).splitlines()
    assert first.startswith(f"├── {yes} → ")
    assert no is None or second.startswith(f"└── {no} → ")


def test_a_flag_is_asked_for_what_it_is() -> None:
    ensemble = stump(Numeric(name="race=White", accepts_missing=False), 0.5)
    first, _ = export_text(ensemble).splitlines()
    assert first == f"├── race is White → {ensemble.predict([[1.0]])[0]} (90%)"


def test_sets_of_ranges() -> None:
    X = np.arange(40.0)[:, np.newaxis]
    y = np.isin(np.arange(40) // 10, (1, 3))
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(
        make_column_transformer((bins, [0])),
        DecisionTreeClassifier(random_state=0),
    ).fit(X, y)
    text = export_text(fatt.load(model))
    assert " and <= " in text
    assert text.count(" → ") == model[-1].get_n_leaves()


def test_decimals_of_shares() -> None:
    ensemble = stump(Numeric(name="age", accepts_missing=False), 1 / 3)
    assert export_text(ensemble, decimals=4).splitlines()[0] == (
        "├── age <= 0.3333 → deny (80.00%)"
    )


def test_a_tree_without_splits() -> None:
    tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["same", "same"])
    assert export_text(fatt.load(tree)) == "always → same (100%)"


def test_margins_are_refused() -> None:
    model = GradientBoostingClassifier(n_estimators=2).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(UnsupportedModelError, match=r"shares.*scikit-learn"):
        export_text(fatt.load(model))
