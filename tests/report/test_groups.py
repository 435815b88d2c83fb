"""Groups: counts, differences and ratios with bounds, and attributes from elsewhere."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, SpecError
from fatt.report import Group, Groups, Report
from fatt.report.groups import count, selection_rates
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
    if not isinstance(given, list):
        assert report().by_group(given) == groups
    towns = report().by_group(names[0], sensitive_features=given)
    assert {key: group.size for key, group in towns.items()} == {
        "a": 2,
        "b": 2,
        None: 1,
    }
    assert towns["a"].counts == {"fair": 1, "unfair": 1, "unknown": 0}


def test_columns_and_names_are_not_mixed() -> None:
    column = pd.Series(TOWNS, name="town", index=list("abcde"))
    for more in ({"sensitive_features": ["x"] * 5}, {}):
        with pytest.raises(SpecError, match="one column or table; put the columns"):
            report().by_group(column, *(() if more else ("sex",)), **more)


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


def rates_of(sizes: dict[str, tuple[int, int]]) -> Report:
    """The report on groups of so many people, of whom so many are granted."""
    people = pd.DataFrame(
        [
            {"group": name, "income": float(row < granted)}
            for name, (size, granted) in sizes.items()
            for row in range(size)
        ]
    )
    tree = DecisionTreeClassifier().fit(people[["income"]], people["income"] > 0)
    return fatt.verify(
        tree,
        people[["income"]],
        similarity=fatt.Similarity(noise={"income": 0.1}),
        sensitive_features=people[["group"]],
    )


def test_a_handful_of_people_silences_no_mark() -> None:
    report = rates_of({"large": (60, 48), "low": (40, 16), "two": (2, 2)})
    rates = selection_rates(report, ["group"], True)
    found = {
        key: (one.ratio, one.is_reference, one.is_marked)
        for (key,), one in rates.items()
    }
    assert found["large"] == (1.0, True, False)
    assert found["low"] == (pytest.approx(0.5), False, True)
    assert found["two"] == (pytest.approx(1.25), False, False)
    page = report.to_html()
    assert "<mark>0.50</mark>" in page
    assert "Impact ratios compare with large" in page


def test_among_small_groups_nothing_is_marked() -> None:
    report = rates_of({"a": (20, 20), "b": (20, 5)})
    rates = selection_rates(report, ["group"], True)
    assert rates["b",].ratio == 0.25
    assert rates["a",].is_reference
    assert not any(one.is_marked for one in rates.values())


def test_where_nobody_is_selected_there_is_no_ratio() -> None:
    whole = rates_of({"a": (40, 40), "b": (40, 0)})
    label = np.zeros_like(whole.findings.label)
    report = replace(whole, findings=replace(whole.findings, label=label))
    for rate in selection_rates(report, ["group"], True).values():
        assert rate.ratio is None
        assert not rate.is_marked


def test_rates_count_the_people_whom_the_run_reached() -> None:
    whole = rates_of({"a": (40, 30), "b": (40, 10)})
    label = np.where(np.arange(80) % 2, -1, whole.findings.label)
    report = replace(
        whole, findings=replace(whole.findings, label=label), interrupted=True
    )
    rates = selection_rates(report, ["group"], True)
    assert rates["a",].selected == 15 / 20
    assert "Rates count only the 40 people whom the run reached." in report.to_html()
    nobody = replace(report, findings=replace(report.findings, label=0 * label - 1))
    assert selection_rates(nobody, ["group"], True) == {}


@pytest.mark.parametrize("summary", [False, True])
def test_no_page_drops_a_marked_group(summary: bool) -> None:
    sizes = {f"g{i:02}": (100 - i, 90 - i) for i in range(40)}
    sizes["last"] = (35, 10)
    report = rates_of(sizes)
    features = {
        "group": [name for name, (size, _) in sizes.items() for _ in range(size)],
    }
    features["first"] = ["x"] * len(features["group"])
    page = report.to_html(groups=["group"], summary=summary)
    assert re.search("last</bdi>.*?<mark>0", page)
    # Of a second attribute, the sheet names what is marked.
    told = replace(report, people=report.people.with_sensitive(features))
    page = told.to_html(groups=["first", "group"], summary=summary)
    assert ("Impact ratios below 0.8 in other groups: " in page) == summary
    assert "group last (0.32)" in page if summary else "<mark>0.32" in page
