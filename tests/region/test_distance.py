"""At most so many attributes, and distances: what can be said, and what it means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from fatt import Similarity
from fatt.errors import SpecError
from fatt.region import Neighbourhood, Number
from fatt.region.boxes import Membership
from fatt.region.similarity import narrowed
from tests.region import town

BALL = {"age": 0.1, "city": {("city 0", "city 1"): 0.3}}

costs = st.floats(0, 1e6)
weights = st.one_of(
    costs,
    costs.map("{} / sd".format),
    st.dictionaries(
        st.tuples(st.sampled_from(["a", 1]), st.sampled_from(["b", 2.5, False])),
        costs,
        min_size=1,
        max_size=3,
    ),
)


@given(
    st.dictionaries(st.text(max_size=5), weights, min_size=1, max_size=4),
    st.floats(1e-300, 1e300),
    st.sampled_from(["l1", "l2", "linf", "l0"]),
)
def test_what_is_written_reads_back_equal(
    distance: dict[str, Any], limit: float, norm: Any
) -> None:
    one = Similarity(distance=distance, limit=limit, norm=norm)
    assert eval(repr(one), {"Similarity": Similarity}) == one
    again = Similarity.from_toml(one.to_toml())
    assert again == one
    assert hash(again) == hash(one)
    assert again.to_toml() == one.to_toml()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"distance": {"age": -0.1}}, "distance of 'age' is -0.1"),
        ({"distance": {"age": math.nan}}, "distance of 'age' is nan"),
        ({"distance": {"age": math.inf}}, "finite"),
        ({"distance": {"age": True}}, "distance of 'age' is True"),
        ({"distance": {"age": "0.3 years"}}, "distance of 'age' is '0.3 years'"),
        ({"distance": {"age": "1 / 0"}}, "distance of 'age' is '1 / 0'"),
        ({"distance": {}}, "distance is {}"),
        ({"distance": ["age"]}, "distance is ['age']"),
        ({"distance": {3: 1}}, "names are texts"),
        ({"distance": {"age": 1}, "limit": 0}, "limit is 0"),
        ({"distance": {"age": 1}, "limit": math.nan}, "limit is nan"),
        ({"distance": {"age": 1}, "limit": -1}, "limit is -1"),
        ({"distance": {"age": 1}, "norm": "L1"}, "Did you mean 'l1'"),
        ({"noise": {"age": 1}, "limit": 2}, "no distance that it is for"),
        ({"noise": {"age": 1}, "norm": "l2"}, "no distance that it is for"),
        ({"distance": {"age": 1}, "vary": ["age"]}, "in vary and in distance"),
        ({"distance": {"age": 1}, "missing": ["age"]}, "in missing and in distance"),
        ({"distance": {"age": 1}, "at_most": 1}, "at_most is 1, and there is"),
        ({"vary": ["sex"], "at_most": 0}, "at_most is 0"),
        ({"vary": ["sex"], "at_most": 1.5}, "at_most is 1.5"),
        ({"vary": ["sex"], "at_most": True}, "at_most is True"),
        ({"at_most": 2}, "nothing may change in this similarity, whatever at_most"),
        ({"distance": {"city": {("a", "b"): -1}}}, "is -1 from 'a' to 'b'"),
        ({"distance": {"city": {("a", "a"): 1}}}, "from 'a' to itself"),
        ({"distance": {"city": {("a", "b"): 1, ("b", "a"): 2}}}, "same both ways"),
        ({"distance": {"city": {"a": 1}}}, "names 'a'; write pairs"),
        ({"distance": {"city": [["a", "b"]]}}, "write what a unit of it costs"),
        ({"distance": {"city": {("a", "a"): 0}}}, "an empty table"),
    ],
)
def test_what_means_nothing_is_refused_in_a_sentence(
    said: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError) as caught:
        Similarity(**said)
    assert told in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"distance": {"agee": 1}}, "agee"),
        ({"distance": {"city": "1 / sd"}}, "it is no number"),
        ({"distance": {"income": "1 / sd"}}, "standard deviation is not known"),
        ({"distance": {"age": {(1, 2): 0.5}}, "noise": {"age": 1}}, "a number that is"),
        ({"distance": {"city": {("city 0", "citi"): 1}}}, "none of its values"),
        (
            {"distance": {"age": 1}, "noise": {"age": "5%"}, "norm": "linf"},
            "hundredths",
        ),
        ({"distance": {"sex=male": 1}, "vary": ["sex"]}, "in vary and in distance"),
    ],
)
def test_what_does_not_fit_the_variables_is_refused(
    said: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        Neighbourhood(Similarity(**said), town.variables())


def test_who_is_similar_in_words() -> None:
    variables = town.variables()
    ball = Similarity(distance={**BALL, "grade": 0.2, "sex": 0, "race": 0.5}, norm="l2")
    assert ball.describe(variables.schema).splitlines()[1:] == [
        "- 'age' may differ by up to 10: each unit costs 0.1",
        "- 'city' may be exchanged: 'city 0' for 'city 1' costs 0.3",
        "- 'grade' may differ by up to 5: each level costs 0.2",
        "- 'race' may be anything else, which costs 0.5",
        "- 'sex' may differ, which costs nothing",
        "and the squares of all their costs add up to at most the square of 1",
    ]
    two = Similarity(noise={"age": 1}, vary=["sex", "city"], at_most=2)
    last = two.describe().splitlines()[-1]
    assert last == "and at most 2 of these at the same time"
    all_of_them = Similarity(vary=["sex", "city"], at_most=2).describe()
    assert all_of_them.endswith("at the same time, which are all of them")


def test_one_at_a_time_keeps_the_limit() -> None:
    ball = Similarity(distance=BALL, limit=2, noise={"age": 3})
    assert ball.one_at_a_time() == Similarity(
        noise={"age": 3}, distance={"age": 0.1}, limit=2
    ) | Similarity(distance={"city": BALL["city"]}, limit=2)
    two = Similarity(noise={"age": 1}, vary=["sex"], at_most=1)
    assert two.one_at_a_time() == Similarity(noise={"age": 1}) | Similarity(
        vary=["sex"]
    )


def test_as_many_as_there_are_is_the_box_itself() -> None:
    variables = town.variables()
    people = town.encode(
        [[20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"]], variables
    )
    for most, has_costs in ((1, True), (2, False), (9, False)):
        asked = Similarity(noise={"age": 3}, vary=["sex"], at_most=most)
        boxes = Neighbourhood(asked, variables).boxes(people)
        assert (boxes.costs is not None) == has_costs
    # Weights that count for nothing, or for each number alone, are boxes as well.
    for said in ({"norm": "linf"}, {}):
        weight = 0.1 if said else 0
        asked = Similarity(distance={"age": weight}, **said)
        assert Neighbourhood(asked, variables).boxes(people).costs is None


def test_numbers_with_a_table_have_only_the_values_that_are_known() -> None:
    variables = town.variables()
    schema = variables.schema.with_({"score": Number(seen=(0.0, 1.0))})
    ball = Similarity(distance={"score": {(0, 2): 0.5}})
    assert narrowed(schema, ball).find("score").levels == (0, 1, 2)
    # With a cost for each unit it stays a number.
    ball = Similarity(distance={"score": 0.5})
    assert narrowed(schema, ball) == schema


def test_who_can_pay_for_nothing_is_alone() -> None:
    variables = town.variables()
    people = town.encode(
        [
            [20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"],
            [20, 500.0, 0.5, 1.0, 2, "M", "city 2", "A", "male", "x"],
        ],
        variables,
    )
    for distance, alone in (
        ({"age": 0.5, "city": BALL["city"]}, [False, False]),
        ({"age": 1.5, "city": BALL["city"]}, [False, True]),
        ({"age": 1.5, "city": {("city 1", "city 3"): 2}}, [True, True]),
        ({"sex": 1.5}, [True, True]),
        ({"age": 1}, [False, False]),
        ({"sex": 1}, [False, False]),
    ):
        space = Neighbourhood(Similarity(distance=distance), variables)
        assert space.alone(people).tolist() == alone, distance


def test_whole_quotients_are_whole() -> None:
    variables = town.variables()
    people = town.encode(
        [[20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"]], variables
    )
    for norm in ("linf", "l1", "l2"):
        # In floats, 1 / (1 / 49) is less than 49.
        for years in (49, 7, 3, 41):
            ball = Similarity(distance={"age": 1 / years}, norm=norm)
            boxes = Neighbourhood(ball, variables).boxes(people)
            assert boxes.upper[0, 0] == 20 + years
            values = people.copy()
            inside = Membership(variables.ensemble.features)
            for age, similar in ((20 + years, True), (21 + years, False)):
                values[0, 0] = age
                [found] = inside.are_similar(boxes, np.zeros(1, np.int64), values)
                assert found == similar


def test_by_the_largest_cost_each_pair_stands_alone() -> None:
    variables = town.variables()
    people = town.encode(
        [[20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"]], variables
    )
    table = {("city 0", "city 1"): 0.3, ("city 1", "city 63"): 2}
    ball = Similarity(distance={"city": table, "age": 0.1}, norm="linf")
    boxes = Neighbourhood(ball, variables).boxes(people)
    inside = Membership(variables.ensemble.features)
    for city, age, similar in ((0, 30, True), (63, 20, False), (0, 31, False)):
        values = people.copy()
        values[0, 0], values[0, 6] = age, city
        [found] = inside.are_similar(boxes, np.zeros(1, np.int64), values)
        assert found == similar


def test_scalers_and_metrics() -> None:
    table = pd.DataFrame({"age": [20.0, 40.0, 70.0], "pay": [1.0, 2.0, 4.0]})
    for kind in (StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler):
        scaler = kind().fit(table)
        ball = Similarity.from_scaler(scaler, limit=0.5)
        assert ball.distance is not None
        one = np.ptp(scaler.transform(table.iloc[:2]), axis=0)
        sizes = [weight.size for _, weight in ball.distance.weights]
        assert sizes == pytest.approx((one / [20.0, 1.0]).tolist())
    with pytest.raises(SpecError, match="is a PowerTransformer"):
        Similarity.from_scaler(PowerTransformer().fit(table), limit=1)
    with pytest.raises(SpecError, match="knows no names"):
        Similarity.from_scaler(StandardScaler().fit(table.to_numpy()), limit=1)
    names = ["age", "pay"]
    ball = Similarity.from_metric([0.25, 4], names, limit=1)
    assert ball == Similarity(distance={"age": 0.5, "pay": 2}, limit=1, norm="l2")
    for metric, told in (
        ([[1, 0.5], [0.5, 1]], "between 'age' and 'pay'"),
        ([1, -1], "the metric holds -1"),
        ([1, 2, 3], "the shape"),
    ):
        with pytest.raises(SpecError, match=told):
            Similarity.from_metric(metric, names, limit=1)
