"""The checker's own idea of who is similar, against the definition and the search's."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.certificate.cells import Cells
from fatt.certificate.judge import Judge
from fatt.certificate.similar import Similar
from fatt.errors import CertificateError
from fatt.region import Category, Number, Ordinal, Schema, Similarity, Variables
from fatt.region.kinds import AnyVariable
from fatt.region.neighbourhood import Neighbourhood
from tests.certificate.made import reaches_of
from tests.region import town
from tests.region.oracle import holds, similar
from tests.region.test_boxes import VARIABLES, alternatives, draw_points, near, specs

SCHEMA = town.schema()
CELLS = Cells(town.make(), SCHEMA)
COLUMNS = [axis.column for axis in CELLS.axes]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(specs(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_twins_are_accepted_iff_they_are_similar(
    found: list[dict[str, Any]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    judge = Judge(town.make(), SCHEMA, alternatives(found))
    for x in draw_points(rng, 4):
        others = [x, *near(rng, x, 20)]
        people = town.encode([x] * len(others), VARIABLES)
        inside = judge.holds(people, town.encode(others, VARIABLES))
        expected = [any(similar(s, VARIABLES, x, y) for s in found) for y in others]
        assert inside.tolist() == expected, (found, x)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(specs(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_regions_are_those_of_the_search(
    found: list[dict[str, Any]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    relation = alternatives(found)
    people = town.encode(draw_points(rng, 6), VARIABLES)
    boxes = Neighbourhood(relation, VARIABLES).boxes(people)
    theirs = reaches_of(VARIABLES.ensemble, boxes)
    taken = 0
    for who, reaches in Similar(COLUMNS, SCHEMA, relation).reaches(people):
        for row, person in enumerate(np.flatnonzero(who).tolist()):
            mine = [_plain(one, row) for one in reaches]
            rows = np.flatnonzero(boxes.person == person)
            assert mine in [[_plain(one, r) for one in theirs] for r in rows]
            taken += 1
    assert taken == len(boxes)


@pytest.mark.parametrize("constant", ["age", "income", "score", "ratio"])
def test_a_constant_number_stays_for_the_search_and_the_checker(constant: str) -> None:
    kinds = [
        msgspec.structs.replace(one, sd=0.0 if one.name == constant else 0.75)
        if isinstance(one, Number)
        else one
        for one in town.VARIABLES
    ]
    schema = Schema(columns=SCHEMA.columns, variables=tuple(kinds))
    variables = Variables(town.make(), schema)
    spec = {"noise": "2 sd"}
    relation = Similarity(**spec)
    judge = Judge(town.make(), schema, relation)
    rng = np.random.default_rng(0)
    moved = 0
    for x in draw_points(rng, 30):
        others = [x, *near(rng, x, 30)]
        people, twins = (town.encode(p, variables) for p in ([x] * 31, others))
        expected = [similar(spec, variables, x, y) for y in others]
        assert judge.holds(people, twins).tolist() == expected, x
        boxes = Neighbourhood(relation, variables).boxes(people[:1])
        inside = [holds(boxes, 0, variables, y) for y in twins]
        assert inside == expected, x
        moved += sum(expected) - 1
    assert moved


def _plain(reach: Any, row: int) -> tuple[Any, ...]:
    low, high = float(reach.low[row]), float(reach.high[row])
    ends = (low, high) if low <= high else (np.inf, -np.inf)
    return *ends, bool(reach.missing[row]), reach.codes[row].tolist()


def test_a_schema_finds_columns_by_name_or_by_place() -> None:
    features = town.FEATURES
    names = tuple(reversed([feature.name for feature in features]))
    schema = Schema(columns=names, variables=town.VARIABLES)
    named = Cells(town.make(), schema)
    place = {name: index for index, name in enumerate(f.name for f in features)}
    for axis in named.axes:
        wanted = tuple(place[name] for name in axis.column.variable.columns)
        assert axis.column.columns == wanted
    unnamed = Cells(town.make(named=False), schema)
    place = {name: index for index, name in enumerate(names)}
    for axis in unnamed.axes:
        wanted = tuple(place[name] for name in axis.column.variable.columns)
        assert axis.column.columns == wanted


def test_noise_for_all_leaves_out_what_varies() -> None:
    similarity = Similarity(noise=1, vary=["income"])
    judge = Judge(town.make(), SCHEMA, similarity)
    x = [20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"]
    others = [[21, 0.0, *x[2:]], [22, *x[1:]], [20, 500.0, 1.5, *x[3:]]]
    people = town.encode([x] * 3, VARIABLES)
    inside = judge.holds(people, town.encode(others, VARIABLES))
    assert inside.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("similarity", "what"),
    [
        (Similarity(vary={"city": ["city 1", "town"]}), "names 'town'"),
        (Similarity(noise={"age": 1}, where={"age": "= old"}), "not about a number"),
        (Similarity(noise={"age": 1}, where={"city": "<= 3"}), "with numbers"),
        (Similarity(noise={"race": 1}), "'race', which has no order"),
        (Similarity(noise={"size": "1..2"}), "'size' by '1..2', which is no number"),
        (Similarity(noise={"size": "50%"}), "'size' by '50%', which is no number of"),
        (Similarity(noise={"grade": "1 sd"}), "'grade' by '1 sd', which is no number"),
        (Similarity(vary={"age": [20, 30]}), "lists values of 'age', which is a num"),
        (Similarity(noise={"income": "1 sd"}), "no standard deviation of 'income'"),
        (Similarity(noise={"sex": 1}, vary=["sex=male"]), "says two things of 'sex'"),
        (Similarity(vary={"sex": ["male"], "sex=male": ["not male"]}), "two things"),
    ],
)
def test_what_a_similarity_cannot_say_of_the_variables_is_refused(
    similarity: Similarity, what: str
) -> None:
    people = town.encode([[values[0] for values in town.POINTS.values()]], VARIABLES)
    with pytest.raises(CertificateError, match=what):
        Judge(town.make(), SCHEMA, similarity).holds(people, people)


def _with(variable: AnyVariable) -> Schema:
    kept = [one for one in town.VARIABLES if one.name != variable.name]
    return Schema(columns=SCHEMA.columns, variables=(*kept, variable))


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        (_with(Number(name="city", columns="city")), "'city' is a Number"),
        (_with(Category(name="age", columns="age")), "'age' is a Category"),
        (
            _with(Ordinal(name="grade", columns="grade", levels=("low", "high"))),
            "which numbers the levels of 'grade' are",
        ),
        (
            Schema(columns=("x",), variables=(Number(name="x", columns="x"),)),
            "other columns than the model reads",
        ),
    ],
)
def test_a_schema_that_does_not_fit_the_model_is_refused(
    schema: Schema, what: str
) -> None:
    with pytest.raises(CertificateError, match=what):
        Cells(town.make(), schema)


def test_a_schema_of_more_columns_than_the_model_has_is_refused() -> None:
    with pytest.raises(CertificateError, match="has 12 columns and the model 11"):
        Cells(town.make(town.FEATURES[:-1], named=False), SCHEMA)
