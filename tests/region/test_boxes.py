from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.ensemble import Categorical, Numeric
from fatt.errors import DataError
from fatt.region import Integer, Schema, Similarities, Similarity, Variables
from fatt.region.boxes import Boxes, code_words, lone_boxes
from fatt.region.neighbourhood import Neighbourhood
from fatt.region.similarity import Relation, any_of
from tests.region import town
from tests.region.oracle import holds, similar
from tests.region.town import NAMES, POINTS

NUMBERS = ["age", "income", "score", "ratio"]
LABELLED = ["grade", "size", "city", "race", "sex", "job"]
AMOUNTS = [0, 1, 2.5, 500, "1", "+1", "-2", "5%", "+100%", "-10%", "18..30", "0..1"]
VARIABLES = town.variables()
LEVELS: dict[str, list[Any]] = {
    name: [x for x in POINTS[name] if x not in {None, town.UNKNOWN}]
    for name in LABELLED
}
LEVELS["city"] = [*LEVELS["city"], "city 5"]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """What a user may write."""
    spec: dict[str, Any] = {}
    varied = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    if draw(st.booleans()):
        spec["vary"] = {
            name: draw(st.sampled_from(["any", "known"]))
            if name in NUMBERS or draw(st.booleans())
            else draw(st.lists(st.sampled_from(LEVELS[name]), unique=True, min_size=1))
            for name in varied
        }
    else:
        spec["vary"] = varied
    spec["noise"] = {}
    for name in draw(st.lists(st.sampled_from(NUMBERS), unique=True)):
        if name not in varied:
            amounts = [*AMOUNTS, "0.4 sd", "+2 sd"]
            spec["noise"][name] = draw(
                st.sampled_from(AMOUNTS if name in {"income", "ratio"} else amounts)
            )
    for name in ("grade", "size"):
        if name not in varied and draw(st.booleans()):
            spec["noise"][name] = draw(st.sampled_from([0, 1, 2, "+1", "-1"]))
    if draw(st.integers(0, 4)) == 0:
        spec["noise"] = draw(st.sampled_from([1, "+1", "5%"]))
    spec["missing"] = draw(
        st.lists(
            st.sampled_from([name for name in NAMES if name != "income"]),
            unique=True,
            max_size=2,
        )
    )
    spec["where"] = {
        name: draw(st.sampled_from(CONDITIONS.get(name) or [LEVELS[name][:2]]))
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
    }
    if not (spec["vary"] or spec["noise"] or spec["missing"]):
        spec["vary"] = ["sex"]
    return spec


CONDITIONS = {
    "age": ["<= 37", "< 38", "> 18", ">= 18.5", "18..30", "== 37"],
    "income": ["<= 37", "< 500", "> 38.5", "18..500"],
    "score": ["<= 37", "< 0.5", "> -1.5", "-1..0.5"],
    "ratio": ["<= 37", "< 8", "> 0.25", "0..1"],
    "grade": ["<= 2", "> 1", [1, 5], "== 5", "1..2"],
    "sex": ["== male", ["male"]],
}


def draw_points(rng: np.random.Generator, count: int) -> list[list[Any]]:
    return [
        [POINTS[name][rng.integers(len(POINTS[name]))] for name in NAMES]
        for _ in range(count)
    ]


def near(rng: np.random.Generator, x: list[Any], count: int) -> list[list[Any]]:
    """Points that differ from x in a few variables."""
    points = []
    for other in draw_points(rng, count):
        changed = rng.choice(len(NAMES), size=rng.integers(1, 4), replace=False)
        points.append([other[i] if i in changed else x[i] for i in range(len(NAMES))])
    return points


def alternatives(found: list[dict[str, Any]]) -> Relation:
    return any_of(*(Similarity(**spec) for spec in found))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(specs(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_boxes_hold_exactly_the_similar_points(
    found: list[dict[str, Any]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    people = draw_points(rng, 5)
    encoded = town.encode(people, VARIABLES)
    made = Neighbourhood(alternatives(found), VARIABLES).boxes(encoded)
    check_form(made, encoded)
    for person, x in enumerate(people):
        mine = np.flatnonzero(made.person == person)
        others = [x, *near(rng, x, 20)]
        for y, code in zip(others, town.encode(others, VARIABLES), strict=True):
            expected = any(similar(spec, VARIABLES, x, y) for spec in found)
            inside = any(holds(made, box, VARIABLES, code) for box in mine)
            assert inside == expected, (found, x, y)


def check_form(made: Boxes, people: Any) -> None:
    assert np.all(np.diff(made.person) >= 0)
    assert np.array_equal(np.unique(made.person), np.arange(len(people)))
    features = VARIABLES.ensemble.features
    assert made.codes.shape == (len(made), code_words(features)[-1])
    for box, person in enumerate(made.person):
        crossed = made.lower[box] > made.upper[box]
        assert np.all(made.lower[box][crossed] == math.inf)
        assert np.all(made.upper[box][crossed] == -math.inf)
        for index, feature in enumerate(features):
            if hasattr(feature, "categories"):
                assert made.lower[box, index] == made.upper[box, index] == 0
            elif feature.integer and not crossed[index]:
                assert made.lower[box, index] == math.floor(made.lower[box, index])
                assert made.upper[box, index] == math.floor(made.upper[box, index])
        assert holds(made, box, VARIABLES, people[person])


PERSON = [20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"]


def around(similarity: Relation, scale: float | None = None, **values: Any) -> Boxes:
    point = [values.get(name, cell) for name, cell in zip(NAMES, PERSON, strict=True)]
    scales = None if scale is None else np.array([scale])
    return Neighbourhood(similarity, VARIABLES).boxes(
        town.encode([point], VARIABLES), scale=scales
    )


def interval(made: Boxes, name: str, box: int = 0) -> tuple[float, float]:
    index = NAMES.index(name)
    return float(made.lower[box, index]), float(made.upper[box, index])


def levels(made: Boxes, name: str, box: int = 0) -> set[Any]:
    features = VARIABLES.ensemble.features
    index = NAMES.index(name)
    names = [*features[index].categories, town.UNKNOWN]  # type: ignore[union-attr]
    start = code_words(features)[index]
    words = [int(word) for word in made.codes[box, start:]]
    return {x for i, x in enumerate(names) if words[i // 64] >> (i % 64) & 1}


@pytest.mark.parametrize(
    ("name", "amount", "value", "expected"),
    [
        ("age", 3, 20, (17, 23)),
        ("age", 2.5, 20, (18, 22)),
        ("age", 3, 119, (116, 120)),
        ("age", "0.5 sd", 20, (19, 21)),
        ("age", "+2 sd", 20, (20, 25)),
        ("age", "-2 sd", 20, (15, 20)),
        ("age", "+3", 20, (20, 23)),
        ("age", "-3", 1, (0, 1)),
        ("age", "17.5..30", 20, (18, 30)),
        ("age", "18..30", 18, (18, 30)),
        ("age", "18..30", 30, (18, 30)),
        ("age", "18..30", 31, (31, 31)),
        ("income", 3, 1.0, (0, 4)),
        ("income", 3, 998.0, (995, 1000)),
        ("income", "10%", 500.0, (450, 550)),
        ("income", "-10%", 500.0, (450, 500)),
        ("score", "0.3 sd", 0.0, (-0.15, 0.15)),
        ("score", 3, math.inf, (math.inf, math.inf)),
        ("score", "5%", -math.inf, (-math.inf, -math.inf)),
        ("score", 3, -1.0, (-4, 2)),
        ("score", 1e308, 1e308, (0, 1.7976931348623157e308)),
        ("ratio", 3, math.inf, (math.inf, math.inf)),
        ("score", 3, None, (math.inf, -math.inf)),
    ],
)
def test_noise(name: str, amount: Any, value: Any, expected: Any) -> None:
    made = around(Similarity(noise={name: amount}), **{name: value})
    assert interval(made, name) == expected
    assert bool(made.missing[0, NAMES.index(name)]) == (value is None)
    for other in {"age", "income"} - {name}:
        own = PERSON[NAMES.index(other)]
        assert interval(made, other) == (own, own)


def test_noise_for_all_moves_numbers_and_nothing_else() -> None:
    made = around(Similarity(noise=1, vary=["income"]))
    assert interval(made, "age") == (19, 21)
    assert interval(made, "income") == (0, 1000)
    assert interval(made, "score") == (-0.5, 1.5)
    assert levels(made, "grade") == {2}
    assert levels(made, "sex") == {"male"}


def test_ends_are_computed_as_floats() -> None:
    made = around(Similarity(noise={"score": 0.1}), score=0.3)
    assert interval(made, "score") == (0.3 - 0.1, 0.3 + 0.1)


def test_whole_numbers_move_by_whole_steps() -> None:
    # The sum of 17 and the largest float below 2 rounds to 19.
    below = float(np.nextafter(2.0, 0.0))
    assert 17 + below == 19
    for amount, step in ((below, 1), (2.0, 2), (2.5, 2)):
        made = around(Similarity(noise={"age": amount}), age=17)
        assert interval(made, "age") == (17 - step, 17 + step)
    scaled = around(Similarity(noise={"age": 1}), age=17, scale=below)
    assert interval(scaled, "age") == (16, 18)


def test_percentages_of_whole_numbers_are_exact() -> None:
    # As a product with 0.29 it would be less than 29.
    assert 100 * 0.29 < 29
    made = around(Similarity(noise={"age": "29%"}), age=100)
    assert interval(made, "age") == (71, 120)


def test_scale_multiplies_noise_but_no_ranges() -> None:
    noise = {"age": 3, "income": "10%", "score": "0..2", "size": 1}
    made = around(Similarity(noise=noise, vary=["ratio"]), scale=0.5)
    assert interval(made, "age") == (19, 21)
    assert interval(made, "income") == (475, 525)
    assert interval(made, "score") == (0, 2)
    assert interval(made, "ratio") == (0, 9)
    assert levels(made, "size") == {"M"}
    assert levels(around(Similarity(noise=noise), scale=1.0), "size") == {"S", "M", "L"}


@pytest.mark.parametrize("scale", [0.0, 1e300, math.inf])
def test_extreme_scales_keep_the_person(scale: float) -> None:
    for value in (math.inf, -math.inf, 0.0, 1e308):
        made = around(
            Similarity(noise={"score": 3, "income": "5%"}), scale, score=value
        )
        low, high = interval(made, "score")
        assert low <= value <= high
    nothing = {"age": "+0", "income": "-5%", "size": "+1"}
    made = around(Similarity(noise=nothing), scale, income=0.0)
    assert interval(made, "age") == (20, 20)
    assert interval(made, "income") == (0, 0)
    assert levels(made, "size") == ({"M"} if scale == 0 else {"M", "L"})


def test_vary_spares_the_unknown() -> None:
    made = around(Similarity(vary=["city", "race", "sex", "job", "size", "grade"]))
    assert levels(made, "city") == set(town.CITIES)
    assert levels(made, "race") == {"A", "B", "neither"}
    assert levels(made, "sex") == {"not male", "male"}
    assert levels(made, "job") == {"x", "y"}
    assert levels(made, "size") == {"S", "M", "L", "other"}
    made = around(Similarity(vary=["city", "job"]), city=town.UNKNOWN, job=town.UNKNOWN)
    assert levels(made, "city") == {*town.CITIES, town.UNKNOWN}
    assert levels(made, "job") == {"x", "y", town.UNKNOWN}
    assert interval(around(Similarity(vary=["age"])), "age") == (0, 120)


def test_vary_within_a_list() -> None:
    similarity = Similarity(vary={"city": ["city 1", "city 69"], "sex": "any"})
    assert levels(around(similarity), "city") == {"city 1", "city 69"}
    assert levels(around(similarity, city="city 2"), "city") == {"city 2"}
    assert levels(around(similarity), "sex") == {"male", "not male"}


def test_levels_move_in_their_own_order() -> None:
    assert levels(around(Similarity(noise={"size": 1}), size="S"), "size") == {"S", "M"}
    up = Similarity(noise={"size": "+1"})
    assert levels(around(up, size="M"), "size") == {"M", "L"}
    assert levels(around(up, size="other"), "size") == {"other"}
    assert levels(around(up, size=None), "size") == set()


def test_conditions_cut_both_persons() -> None:
    young = Similarity(noise={"age": 3}, where={"age": "< 22"})
    assert interval(around(young), "age") == (17, 21)
    assert interval(around(young, age=22), "age") == (22, 22)
    assert interval(around(young, age=None), "age") == (math.inf, -math.inf)
    female = Similarity(vary=["race"], where={"sex": "not male"})
    assert levels(around(female), "race") == {"A"}
    assert levels(around(female, sex="not male"), "race") == {"A", "B", "neither"}
    some = Similarity(vary=["race"], where={"race": ["A", "neither"]})
    assert levels(around(some), "race") == {"A", "neither"}


def test_missing_may_come_and_go() -> None:
    similarity = Similarity(missing=["age", "race"])
    made = around(similarity)
    assert made.missing[0, [NAMES.index("age"), NAMES.index("race")]].all()
    assert made.missing[0].sum() == 2
    assert interval(made, "age") == (20, 20)
    assert levels(made, "race") == {"A"}
    made = around(similarity, age=None, race=None)
    assert interval(made, "age") == (0, 120)
    assert levels(made, "race") == {"A", "B", "neither"}
    # The library takes this number for missing.
    assert interval(around(Similarity(missing=["ratio"]), ratio=math.inf), "ratio") == (
        0,
        9,
    )


def test_a_union_has_a_box_for_each_that_applies() -> None:
    young = Similarity(noise={"age": 2}, where={"age": "<= 37"})
    older = Similarity(noise={"age": 5}, where={"age": "> 37"})
    both = young | older | Similarity(vary=["sex"])
    made = around(both)
    assert len(made) == 2
    assert interval(made, "age", 0) == (18, 22)
    assert levels(made, "sex", 1) == {"male", "not male"}
    assert interval(around(young | older, age=38), "age") == (38, 43)
    assert len(around(young | older, age=None)) == 1
    assert isinstance(both, Similarities)


def test_several_people_keep_their_order() -> None:
    people = [[age, *PERSON[1:]] for age in (50, 20, 60, 30)]
    similarity = Similarity(noise={"age": 2}, where={"age": "<= 37"}) | Similarity(
        noise={"age": 1}
    )
    made = Neighbourhood(similarity, VARIABLES).boxes(town.encode(people, VARIABLES))
    assert made.person.tolist() == [0, 1, 1, 2, 3, 3]
    assert made.lower[:, 0].tolist() == [49, 18, 19, 59, 28, 29]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("age", 121, "row 0: column 'age' is 121.0"),
        ("age", 20.5, "'age' is a whole number, from 0 to 120; correct"),
        ("income", -1.0, "'income' is at least 0; correct"),
    ],
)
def test_people_outside_the_schema_are_refused(
    name: str, value: float, words: str
) -> None:
    with pytest.raises(DataError, match=words):
        around(Similarity(vary=["sex"]), **{name: value})


@pytest.mark.parametrize("is_high", [False, True])
def test_codes_that_a_variable_does_not_have_are_refused(is_high: bool) -> None:
    people, sex = town.encode([PERSON], VARIABLES), NAMES.index("sex")
    feature = VARIABLES.ensemble.features[sex]
    assert isinstance(feature, Categorical)
    people[0, sex] = feature.n_codes if is_high else -1
    with pytest.raises(ValueError, match="a code that is none of its variable"):
        Neighbourhood(Similarity(noise={"age": 1}), VARIABLES).boxes(people)


@pytest.mark.parametrize(
    ("given", "value", "expected"),
    [
        ({"noise": {"age": 5}}, -9.0, (-9, -9, False)),
        ({"noise": {"age": 12}}, -9.0, (0, 3, True)),
        ({"noise": {"age": 12}}, -9.5, (0, 2, True)),
        ({"noise": {"age": 12.75}}, -9.5, (0, 3, True)),
        ({"vary": ["age"]}, -9.0, (0, 120, True)),
        ({"missing": ["age"]}, -9.0, (0, 120, True)),
        ({"missing": ["age"]}, 50.0, (50, 50, True)),
        ({"noise": {"age": 12}, "where": {"age": "<= 90"}}, -9.0, (-9, -9, False)),
        ({"noise": {"age": "-10..5"}}, -9.0, (0, 5, True)),
        ({"noise": {"age": "1..5"}}, -9.0, (-9, -9, False)),
    ],
)
def test_numbers_that_stand_for_missing(
    given: Any, value: float, expected: Any
) -> None:
    # The library takes -10 to -9 for missing, and the schema says that ages are whole
    # and not negative: such a person is not refused, and is no end of an interval.
    model = town.make((Numeric(name="age", missing_range=(-10.0, -9.0)),))
    schema = Schema.from_ensemble(model).with_(age=Integer(lower=0, upper=120))
    variables = Variables(model, schema)
    made = Neighbourhood(Similarity(**given), variables).boxes(np.array([[value]]))
    assert (made.lower.item(), made.upper.item(), made.missing.item()) == expected
    with pytest.raises(DataError, match=r"-8\.0"):
        Neighbourhood(Similarity(**given), variables).boxes(np.array([[-8.0]]))


def test_boxes_are_read_only() -> None:
    made = around(Similarity(vary=["sex"]))
    with pytest.raises(ValueError, match="read-only"):
        made.lower[0, 0] = 1.0


def test_nobody_has_no_box() -> None:
    made = Neighbourhood(Similarity(noise=1), VARIABLES).boxes(
        np.empty((0, len(NAMES)))
    )
    assert len(made) == 0


@pytest.mark.parametrize("seed", range(5))
def test_what_boxes_say_of_themselves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = (
        Numeric(name="a"),
        Categorical(name="b", categories=tuple(range(70))),
        Categorical(name="c", categories=("x", "y")),
    )
    n_people = 20
    people = np.column_stack(
        [rng.normal(size=n_people), *rng.integers(0, [[71], [3]], (2, n_people))]
    ).astype(float)
    people[rng.random(people.shape) < 0.2] = np.nan
    alone = lone_boxes(people, features)
    assert not alone.moves(people, features).any()
    person = np.sort(
        np.concatenate([np.arange(n_people), rng.integers(n_people, size=20)])
    )
    wide = replace(alone.one_each(person), person=person)
    lower, upper, missing, codes = (
        array.copy() for array in (wide.lower, wide.upper, wide.missing, wide.codes)
    )
    lower[::3, 0] -= 1.0
    upper[1::3, 0] += 1.0
    missing[::4, 2] = True
    codes[::5, 1] |= np.uint64(1 << 3)
    boxes = Boxes(person, lower, upper, missing, codes)
    flags = {index: boxes.flags(features, index) for index in (1, 2)}
    moves = boxes.moves(people, features)
    for box, own in enumerate(people[person]):
        for index, some in flags.items():
            word = [0, 0, 2][index]
            held = {
                code
                for code in range(features[index].n_codes)
                if int(codes[box, word + code // 64]) >> code % 64 & 1
            }
            assert set(np.flatnonzero(some[box])) == held
            held |= {math.nan} if missing[box, index] else set()
            others = [one for one in held if str(float(one)) != str(own[index])]
            assert moves[box, index] == bool(others)
        assert moves[box, 0] == (lower[box, 0] < upper[box, 0])
    starts, (first, last) = boxes.starts(n_people), boxes.ends(np.arange(n_people))
    assert [*starts[:-1]] == [*first]
    assert [*starts[1:]] == [*last]
    some = boxes.of_people(np.array([3, 7]))
    assert len(some) == (person == 3).sum() + (person == 7).sum()
    low, high = boxes.hull(people)
    known = ~np.isnan(people[person][:, 0])
    assert low[0] == lower[known, 0].min()
    assert high[0] == upper[known, 0].max()
    more = boxes.with_numbers(np.where(np.arange(len(boxes)) % 2, np.nan, 4.0)[:, None])
    assert [*more.lower[:2, 3], *more.upper[:2, 3]] == [4.0, np.inf, 4.0, -np.inf]
    assert [*more.missing[:2, 3]] == [False, True]
