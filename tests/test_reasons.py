"""Why a person gets an answer: both sets beside all sets, by enumeration."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, SpecError
from fatt.region import Schema

NAMES = ["age", "debt", "town", "years"]
SIMILAR = fatt.Similarity(
    noise={"age": 1, "debt": 1, "years": 1}, vary={"town": [0, 1]}
)


def town(seed: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({name: rng.integers(0, 6, 50) for name in NAMES})
    people["town"] = rng.integers(0, 2, 50)
    few = {"max_depth": 3, "random_state": 0}
    kinds = [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(5, **few),
        GradientBoostingClassifier(n_estimators=6, **few),
    ]
    return people, kinds[seed % 3].fit(people, rng.integers(0, 2 + seed % 2, 50))


def stays(model: Any, person: pd.Series, columns: tuple[str, ...]) -> bool:
    """Tell whether the answer stays whatever these columns do."""
    ends = {
        name: [0, 1] if name == "town" else [person[name] + d for d in (-1, 0, 1)]
        for name in columns
    }
    rows = pd.DataFrame(
        [{**person, **dict(zip(columns, some, strict=True))}
         for some in itertools.product(*ends.values())]
    )[NAMES]  # fmt: skip
    return len(set(model.predict(rows))) == 1


def check(seed: int, count: int) -> None:
    people, model = town(seed)
    sets = [s for n in range(5) for s in itertools.combinations(NAMES, n)]
    for row in range(count):
        person = people.iloc[row]
        found = fatt.reasons(
            model, people[row : row + 1], similarity=SIMILAR, schema=people
        )
        kept = {one: stays(model, person, one) for one in sets}
        assert found.label == model.predict(people[row : row + 1])[0]
        assert found.held is not None
        assert found.held_is_smallest
        assert kept[tuple(name for name in NAMES if name not in found.held)]
        assert len(found.held) == 4 - max(len(one) for one in sets if kept[one])
        if kept[tuple(NAMES)]:
            assert found.held == ()
            assert found.flips is None
            assert found.twin is None
            continue
        assert found.flips is not None
        assert found.flips_is_smallest
        assert len(found.flips) == min(len(one) for one in sets if not kept[one])
        assert found.twin is not None
        assert set(found.twin.changes) == set(found.flips)
        twin = pd.DataFrame([found.twin.twin])[NAMES]
        assert model.predict(twin)[0] == found.twin.twin_label != found.label


@pytest.mark.parametrize("seed", range(3))
def test_both_sets_are_those_of_enumeration(seed: int) -> None:
    check(seed, 12)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_columns_the_sets_are_minimal(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fatt.explanation._MOST_COLUMNS", 0)
    people, model = town(seed)
    for row in range(8):
        person = people.iloc[row]
        found = fatt.reasons(
            model, people[row : row + 1], similarity=SIMILAR, schema=people
        )
        assert found.held is not None
        free = tuple(name for name in NAMES if name not in found.held)
        assert stays(model, person, free)
        for name in found.held:
            more = tuple(one for one in NAMES if one in {*free, name})
            assert not stays(model, person, more)
        for name in found.flips or ():
            less = tuple(one for one in found.flips or () if one != name)
            assert stays(model, person, less)
        assert "minimal" in str(found) or found.flips is None


def test_one_person_is_asked_about() -> None:
    people, model = town(0)
    with pytest.raises(DataError, match="x has 50 rows; pass the row of one person"):
        fatt.reasons(model, people, similarity=SIMILAR)


def test_columns_that_are_tied_are_refused() -> None:
    people, model = town(0)
    schema = Schema.infer(fatt.load(model), people, exist=[("debt", "town")])
    both = fatt.Similarity(vary={"town": [0, 1], "debt": list(range(6))})
    with pytest.raises(SpecError, match="tie columns together"):
        fatt.reasons(model, people[:1], similarity=both, schema=schema)
    with pytest.raises(SpecError, match="not followed through that yet"):
        fatt.recourse(model, people, may_change={"age": "+1"}, wanted=1, schema=schema)


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        check(seed, 50)
