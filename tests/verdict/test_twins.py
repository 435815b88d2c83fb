"""Twins, kept as arrays and ordered by nearness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.ensemble import Categorical, Numeric
from fatt.errors import SpecError
from fatt.verdict import OTHER, Change, Counterexamples, Twins, value_of

FEATURES = (
    Numeric(name="age", integer=True),
    Numeric(name="hours"),
    Categorical(name="sex", categories=("F", "M")),
)
NAN = np.nan


def made(people: Any, others: Any, **changes: Any) -> Twins:
    rows = len(people)
    arguments: dict[str, Any] = {
        "index": np.arange(rows) * 10,
        "people": np.array(people, dtype=np.float64),
        "twins": np.array(others, dtype=np.float64),
        "label": np.zeros(rows, dtype=np.int64),
        "twin_label": np.ones(rows, dtype=np.int64),
    }
    return Twins.of(**arguments | changes)


def cases(twins: Twins, spread: Any = (1.0, 1.0, 1.0)) -> Counterexamples:
    return Counterexamples.of(twins, FEATURES, ("no", "yes"), np.array(spread))


def test_values_are_in_the_words_people_know() -> None:
    age, hours, sex = FEATURES
    assert repr(value_of(age, 41.0)) == "41"
    assert repr(value_of(hours, 41.0)) == "41.0"
    assert value_of(sex, 1.0) == "M"
    assert value_of(sex, 2.0) == OTHER
    assert value_of(age, NAN) is value_of(sex, NAN) is None
    assert value_of(age, np.inf) == np.inf


def test_a_case_knows_both_people() -> None:
    pair = made([[41, 7.5, 0]], [[43, 7.5, 1]])
    (case,) = cases(pair.confirmed(pair.twin_label, True))
    assert case.replayed_on == "model"
    (case,) = cases(pair)
    assert case.index == 0
    assert (case.label, case.twin_label) == ("no", "yes")
    assert case.individual == {"age": 41, "hours": 7.5, "sex": "F"}
    assert case.twin == {"age": 43, "hours": 7.5, "sex": "M"}
    assert case.changes == {"age": Change(41, 43), "sex": Change("F", "M")}
    assert case.replayed_on == "ensemble"
    assert str(case) == "#0  no → yes   age 41 → 43, sex F → M"


def test_a_gap_that_stays_is_no_change() -> None:
    (case,) = cases(made([[NAN, NAN, NAN]], [[NAN, 3.0, 1.0]]))
    assert case.changes == {"hours": Change(None, 3.0), "sex": Change(None, "M")}


def test_fewest_changes_come_first_then_the_shortest_way_then_the_first_row() -> None:
    people = [[40, 5, 0]] * 6
    others = [
        [41, 5, 1],  # two changes
        [43, 5, 0],  # 3 years: 0.3 deviations
        [40, 9, 0],  # 4 hours: 2 deviations
        [37, 5, 0],  # as far as the second
        [40, 5, 1],  # no distance at all
        [40, NAN, 0],  # nor here
    ]
    ordered = cases(made(people, others), spread=(10.0, 2.0, 1.0))
    assert [case.index for case in ordered] == [40, 50, 10, 30, 20, 0]
    assert [case.index for case in ordered.closest(2)] == [40, 50]


def test_cases_are_a_sequence() -> None:
    some = cases(made([[40, 5, 0]] * 3, [[41, 5, 0], [42, 5, 0], [43, 5, 0]]))
    assert len(some) == 3
    assert some[-1].twin["age"] == 43
    assert isinstance(some[1:], Counterexamples)
    assert len(some.closest(99)) == 3
    assert len(some.closest(0)) == 0
    for count in (-1, 1.5):
        with pytest.raises(SpecError, match="a whole number, at least 0"):
            some.closest(count)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        _ = some[3]
    assert repr(some[1:]).split("\n") == [
        "<2 counterexamples",
        f" {some[1]}",
        f" {some[2]}>",
    ]
    many = cases(made([[40, 5, 0]] * 12, [[41, 5, 0]] * 12))
    assert repr(many).endswith("\n and 2 more>")


def test_pairs_as_a_table_stand_in_their_order() -> None:
    some = cases(made([[40, 5, 0]] * 3, [[43, 5, 0], [41, 5, 0], [42, 5, 0]]))
    table = some[::-1].to_frame()
    assert list(table["index"]) == [case.index for case in some[::-1]] == [0, 20, 10]
    assert list(table["changes"]) == [case.changes_in_words for case in some[::-1]]
    assert list(table["label"]) == [case.label for case in some[::-1]]
    assert list(table["twin_label"]) == [case.twin_label for case in some[::-1]]
    assert set(table["replayed_on"]) == {some[0].replayed_on}


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_joined_parts_are_the_whole(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    people = rng.integers(3, size=(sum(sizes), 3)).astype(np.float64)
    others = rng.integers(3, size=people.shape).astype(np.float64)
    people[rng.random(people.shape) < 0.2] = NAN
    others[rng.random(people.shape) < 0.2] = NAN
    ends = np.cumsum(sizes)[:-1]
    parts = [
        made(some, other, index=index)
        for some, other, index in zip(
            np.split(people, ends),
            np.split(others, ends),
            np.split(np.arange(len(people)), ends),
            strict=True,
        )
    ]
    whole = Twins.join(parts)
    assert len(whole) == len(people)
    for case in range(len(whole)):
        np.testing.assert_array_equal(whole.twin(case), others[case])
        np.testing.assert_array_equal(whole.people[case], people[case])
    np.testing.assert_array_equal(whole.everybody(), others)
    words = whole.changes_in_words(FEATURES)
    in_order = Counterexamples(whole, np.arange(len(whole)), FEATURES, ("no", "yes"))
    assert words == [case.changes_in_words for case in in_order]
    whole.closest_first(FEATURES, np.ones(3))
