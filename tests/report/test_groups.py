"""Groups: counts, differences and ratios with bounds, and attributes from elsewhere."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fatt
from fatt.errors import DataError, SpecError
from fatt.report import Group, Groups
from fatt.report.groups import count
from tests.report.made import frame, report

FAIR, UNFAIR, UNKNOWN = 0, 1, 2


def groups_of(*verdicts: list[int]) -> Groups:
    counted = [count(np.array(mine, dtype=np.int8), None) for mine in verdicts]
    return Groups(("g",), dict(enumerate(counted)))


def completions(verdicts: list[int]) -> list[float]:
    """The shares of fair people, however the unknown turn out."""
    least, unknown = verdicts.count(FAIR), verdicts.count(UNKNOWN)
    return [(least + more) / len(verdicts) for more in range(unknown + 1)]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(
        st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=3
    )
)
def test_bounds_hold_of_all_completions(verdicts: list[list[int]]) -> None:
    groups = groups_of(*verdicts)
    possible = list(itertools.product(*map(completions, verdicts)))
    differences = [max(shares) - min(shares) for shares in possible]
    ratios = [min(one) / max(one) if max(one) else 1.0 for one in possible]
    apart, ratio = groups.difference(), groups.ratio()
    assert apart.lower <= min(differences) + 1e-12
    assert apart.upper == pytest.approx(max(differences))
    assert ratio.lower == pytest.approx(min(ratios))
    assert ratio.upper >= max(ratios) - 1e-12
    if not any(UNKNOWN in mine for mine in verdicts):
        assert apart.lower == apart.upper
        assert ratio.lower == ratio.upper


def test_groups_are_a_mapping_and_a_table() -> None:
    groups = report().by_group("sex")
    assert dict(groups) == {key: groups[key] for key in ("F", "M")}
    assert isinstance(groups["F"], Group)
    table = groups.to_frame()
    assert list(table.columns) == [
        "sex", "size", "fair", "unfair", "unknown", "lower", "upper",
    ]  # fmt: skip
    assert table.loc[0].tolist() == ["F", 2, 1, 1, 0, 0.5, 0.5]
    both = report().by_group("sex", "city").to_frame()
    assert list(both.columns[:2]) == ["sex", "city"]
    assert repr(groups).startswith("<Groups by sex\n F: 2 people, 50.00% fair\n M: ")


def test_only_what_is_proved_is_fair() -> None:
    assert report().is_fair.tolist() == [True, False, False, False, False]


TOWNS = ["a", "b", "a", None, "b"]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (TOWNS, ["sensitive_feature_0"]),
        (np.array(TOWNS, dtype=object), ["sensitive_feature_0"]),
        (pd.Series(TOWNS, name="town", index=list("abcde")), ["town"]),
        (pl.Series("town", TOWNS), ["town"]),
        ({"town": TOWNS}, ["town"]),
        (pl.DataFrame({"town": TOWNS, "n": range(5)}), ["town", "n"]),
        (pd.DataFrame({"town": TOWNS}, index=list("abcde")), ["town"]),
        ([[one, 1] for one in TOWNS], ["sensitive_feature_0", "sensitive_feature_1"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_sensitive_features_need_not_be_columns(given: Any, names: list[str]) -> None:
    groups = report().by_group(sensitive_features=given)
    assert groups.names == tuple(names)
    towns = report().by_group(names[0], sensitive_features=given)
    assert {key: group.size for key, group in towns.items()} == {
        "a": 2,
        "b": 2,
        None: 1,
    }
    assert towns["a"].counts == {"fair": 1, "unfair": 1, "unknown": 0}


def test_a_namesake_of_a_column_must_not_contradict_it() -> None:
    """Rows in another order would tell every group's share of other people."""
    told = report()
    cities = list(frame()["city"])
    other = [*cities[1:], cities[0]]
    assert cities != other
    with pytest.raises(DataError, match=r"'city'.*another order"):
        told.by_group(sensitive_features={"city": other})
    # Other words, finer and coarser groups, and gaps are no contradiction.
    for fine in (
        [f"the town of {city}" for city in cities],
        list(range(len(cities))),
        ["all"] * len(cities),
        [None, *cities[1:]],
    ):
        assert told.by_group(sensitive_features={"city": fine}).names == ("city",)


def test_a_missing_value_is_one_group_of_any_kind() -> None:
    for gap in (pd.NA, np.nan, None, float("nan"), pd.NaT):
        column = pd.Series([gap, "x", gap, "x", "x"], dtype=object).tolist()
        groups = report().by_group(sensitive_features={"g": column})
        assert {key: group.size for key, group in groups.items()} == {"x": 3, None: 2}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1, 2], "has 2 values in 'sensitive_feature_0', and there are 5 people"),
        ({}, "has no columns"),
        (np.zeros((5, 1, 1)), "has 3 dimensions"),
        ([[1], [1, 2], [1], [1], [1]], "rows of several lengths"),
        (pd.Series(TOWNS), r"write sensitive_features\.loc\[X\.index\]"),
    ],
)
def test_what_does_not_fit_is_refused(given: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        report().by_group(sensitive_features=given)


def test_without_names_there_must_be_features() -> None:
    with pytest.raises(SpecError, match="name at least one variable"):
        report().by_group()


def test_verify_takes_sensitive_features() -> None:
    from sklearn.tree import DecisionTreeClassifier

    ages = frame()[["age"]]
    tree = DecisionTreeClassifier().fit(ages, [0, 0, 1, 1, 1])
    found = fatt.verify(
        tree,
        ages,
        similarity=fatt.Similarity(noise={"age": 6}),
        sensitive_features=frame()["sex"],
    )
    assert {key: one.size for key, one in found.by_group().items()} == {"F": 2, "M": 3}
    assert "Findings by sex" in found.to_html()
    with pytest.raises(DataError, match="there are 5 people"):
        fatt.verify(
            tree,
            ages,
            similarity=fatt.Similarity(noise={"age": 6}),
            sensitive_features=["F"],
        )
