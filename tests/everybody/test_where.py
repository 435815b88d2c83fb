"""Regions: proved ones hold no unfair person, and the others are told as measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fatt
from fatt import Similarity, Space
from fatt.errors import SpecError
from fatt.everybody.where import Region, Regions
from tests.everybody.grid import MOST, SIMILARITY, SPACE, Grid, grid
from tests.laws.effort import for_seeds


def where(the: Grid, space: Space = SPACE, **asked: Any) -> Regions:
    asked = {
        "seconds": 60,
        "draws": 2000,
        "max_rules": 4,
        "similarity": SIMILARITY,
        **asked,
    }
    return fatt.where_unfair(the.model, space, **asked)


def members(the: Grid, region: Region) -> NDArray[np.bool_]:
    """Tell who is in a region, by its conditions alone."""
    found = np.ones(len(the.everybody), dtype=bool)
    for name, met in region.where.items():
        column = the.everybody[:, list(MOST).index(name)]
        if ".." in met:
            low, high = map(float, met.split(".."))
            found &= (column >= low) & (column <= high)
        elif met.startswith(">="):
            found &= column >= float(met[2:])
        else:
            assert met.startswith("<=")
            found &= column <= float(met[2:])
    return found


@for_seeds(3)
def test_nobody_in_a_proved_region_is_unfair(seed: int) -> None:
    the = grid(seed)
    unfair = the.unfair(1)
    found = where(the)
    for region in found.free:
        assert region.proved
        mine = members(the, region)
        assert mine.any()
        assert not unfair[mine].any()
        # The intervals hold at once more often than one in a hundred fails.
        assert region.share.lower - 0.03 <= mine.mean() <= region.share.upper + 0.03
    for region in found.unfair:
        mine = members(the, region)
        assert unfair[mine].any()
        assert region.rate.lower > 1.5 * found.rate.lower
        assert region.rate.lower - 0.05 <= unfair[mine].mean()
        assert unfair[mine].mean() <= region.rate.upper + 0.05


def test_the_regions_of_some_are_theirs() -> None:
    the = grid(5)
    asked = the.everybody[:, 0] >= 4
    unfair = the.unfair(1)
    found = where(the, SPACE.asking({"age": ">= 4"}))
    for region in found.free:
        assert not unfair[members(the, region) & asked].any()
    assert abs(unfair[asked].mean() - found.rate.lower) < 0.1


def test_where_nobody_is_unfair_everybody_is_one_region() -> None:
    the = grid(2)
    rows = the.table.assign(y=the.table["age"] > 3)
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=1).fit(rows[list(MOST)], rows["y"])
    found = fatt.where_unfair(
        tree, SPACE, similarity=Similarity(vary=["sex"]), draws=2000
    )
    assert not found.unfair
    assert [region.words for region in found.free] == ["everybody"]
    assert found.free_share.upper == 1
    assert "No region holds many more" in str(found)


def test_the_same_seed_finds_the_same_regions() -> None:
    the = grid(9)
    assert str(where(the, max_rules=2)) == str(where(the, max_rules=2))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"max_rules": 0}, "max_rules is 0"),
        ({"max_rules": "many"}, "max_rules is 'many'"),
        (
            {"similarity": Similarity(noise={"age": 1}, vary=["sex"], at_most=1)},
            "at_most",
        ),
        ({"distribution": "margins"}, "Did you mean 'marginals'"),
    ],
)
def test_what_has_no_meaning_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        where(grid(1), **asked)


def test_levels_are_told_by_name() -> None:
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "job": rng.choice(["cook", "nurse", "smith"], 300),
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.integers(20, 60, 300),
        }
    )
    granted = (people["age"] > 50) | (
        (people["job"] == "cook") & (people["sex"] == "m")
    )
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "sex"]), remainder="passthrough"
    )
    model = make_pipeline(columns, DecisionTreeClassifier()).fit(people, granted)
    found = fatt.where_unfair(
        model,
        Space.from_table(people),
        similarity=Similarity(vary=["sex"]),
        draws=4000,
    )
    [unfair] = found.unfair
    assert unfair.words == "job is cook and age is at most 50"
    assert unfair.where == {"job": ["cook"], "age": "<= 50"}
    assert unfair.rate.upper == 1
    words = [region.words for region in found.free]
    assert "job is not cook" in words
    assert "age is at least 51" in words
    # What is told can be asked.
    space = Space.from_table(people).asking(unfair.where)
    share = fatt.unfair_share(model, space, similarity=Similarity(vary=["sex"]))
    assert share.bounds == (1, 1)
    for region in found.free:
        space = Space.from_table(people).asking(region.where)
        answer = fatt.exists_unfair(model, space, similarity=Similarity(vary=["sex"]))
        assert answer.proved
