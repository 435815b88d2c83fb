"""The report as a whole."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from fatt.errors import DataError, SpecError, UnfairError
from fatt.people import People
from fatt.report import Report
from fatt.verdict import Bounds
from tests.report.made import AGES, frame, report, variables


def test_counts_and_bounds() -> None:
    some = report()
    assert len(some) == 5
    assert some.counts == {"fair": 1, "unfair": 3, "unknown": 1}
    assert some.fairness == Bounds(0.2, 0.4)


def test_weights_change_the_share_and_not_the_counts() -> None:
    some = report(sample_weight=np.array([5.0, 1.0, 1.0, 2.0, 1.0]))
    assert some.counts == {"fair": 1, "unfair": 3, "unknown": 1}
    assert some.fairness == Bounds(0.5, 0.7)


def test_a_report_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"report\.fairness\.lower"):
        bool(report())


def test_half_a_report_is_none() -> None:
    told = report()
    assert told.whole() is told
    with pytest.raises(KeyboardInterrupt):
        report(interrupted=True).whole()


def test_a_report_is_printed_in_two_lines() -> None:
    lines = repr(report(interrupted=True)).splitlines()
    assert len(lines) == 2
    counts = "1 fair, 3 unfair, 1 unknown (1 budget)"
    assert f"5 people (interrupted): {counts}" in lines[0]
    assert "fairness 20.00% to 40.00%, Similarity(noise={'age': 5}" in lines[1]


def test_groups_by_variable() -> None:
    groups = report().by_group("sex")
    assert list(groups) == ["F", "M"]
    assert groups["F"].size == 2
    assert groups["F"].counts == {"fair": 1, "unfair": 1, "unknown": 0}
    assert groups["F"].fairness == Bounds(0.5, 0.5)
    assert groups["M"].fairness == Bounds(0.0, 1 / 3)
    assert list(report().by_group("age")) == AGES


def test_groups_by_a_column_that_the_model_does_not_read() -> None:
    for table in (frame(), pl.from_pandas(frame()), pa.Table.from_pandas(frame())):
        groups = report(table).by_group("city")
        assert [group.size for group in groups.values()] == [2, 2, 1]
        assert list(groups) == ["Bonn", "Ulm", None]


def test_groups_of_several_names_are_intersections() -> None:
    groups = report().by_group("city", "sex")
    assert list(groups) == [
        ("Bonn", "F"),
        ("Bonn", "M"),
        ("Ulm", "F"),
        ("Ulm", "M"),
        (None, "M"),
    ]
    assert groups["Ulm", "F"].counts["fair"] == 1


def test_groups_are_weighted() -> None:
    groups = report(sample_weight=np.array([3.0, 0, 1.0, 0, 0])).by_group("sex")
    assert groups["F"].fairness == Bounds(0.75, 0.75)
    # Nothing is known of people without weight.
    assert groups["M"].fairness == Bounds(0.0, 1.0)


def test_a_misspelt_group() -> None:
    with pytest.raises(SpecError, match=r"'cty'.*Did you mean 'city'\?"):
        report().by_group("cty")
    with pytest.raises(SpecError, match="at least one"):
        report().by_group()
    with pytest.raises(SpecError, match=r'write by_group\("sex", "city"\)'):
        report().by_group(["sex", "city"])  # type: ignore[arg-type]


def test_people_are_printed_in_one_line() -> None:
    assert repr(report().people) == "<5 people, 2 variables: age, sex>"


def test_no_rows() -> None:
    with pytest.raises(DataError, match="no rows"):
        People(frame().iloc[:0], variables())
    with pytest.raises(DataError, match="one row or column"):
        People(np.zeros(3), variables())


def _order() -> list[str]:
    return [feature.name for feature in variables().model.features]


def test_raise_if_unfair() -> None:
    some = report()
    some.raise_if_unfair(min_fairness=0.2)
    with pytest.raises(UnfairError) as caught:
        some.raise_if_unfair(min_fairness=0.3)
    assert str(caught.value).startswith("undecided: between 20.0000% and 40.0000%")
    assert "1 is unknown because the budget ended." in str(caught.value)
    assert "Raise the budget to decide more." in str(caught.value)
    assert caught.value.report is some
    with pytest.raises(UnfairError, match="refuted: at most 40") as caught:
        some.raise_if_unfair()
    assert "1 people are fair, 3 unfair, 1 unknown." in str(caught.value)
    assert "#4  grant → deny   age 60 → 57" in str(caught.value)
    with pytest.raises(SpecError, match="from 0 to 1"):
        some.raise_if_unfair(min_fairness=95)


def test_a_report_can_be_pickled() -> None:
    some = report()
    copy = pickle.loads(pickle.dumps(some))
    assert isinstance(copy, Report)
    assert copy.to_json() == some.to_json()
