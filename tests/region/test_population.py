"""Spaces: what people there can be, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fatt import Auditor, Similarity, Space
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.errors import SpecError
from fatt.region import (
    Category,
    Integer,
    Number,
    OneHot,
    Ordinal,
    Population,
    Schema,
    Variables,
)
from fatt.region.similarity import narrowed
from tests.region import town

MODEL = town.make(
    (
        Numeric(name="age"),
        Numeric(name="income", accepts_missing=False),
        Numeric(name="race=A"),
        Numeric(name="race=B"),
        Categorical(name="job", categories=("cook", "nurse", "smith")),
    )
)
PEOPLE = pd.DataFrame(
    {
        "age": [20.0, 30.0, np.nan],
        "income": [1.5, 2.0, 7.0],
        "race=A": [1.0, 0.0, 0.0],
        "race=B": [0.0, 1.0, 1.0],
        "job": ["cook", "smith", "cook"],
    }
)


def bound(space: Space, similarity: Similarity, model: Ensemble = MODEL) -> Population:
    variables = Variables(model, narrowed(space.schema_of(model), similarity))
    return space.bind(variables, similarity)


def job(population: Population) -> list[bool]:
    features = population.variables.ensemble.features
    place = [feature.name for feature in features].index("job")
    return list(map(bool, population.asked.flags(features, place)[0]))


def test_a_table_tells_bounds_whole_numbers_levels_and_what_is_missing() -> None:
    space = Space.from_table(PEOPLE)
    schema = space.schema_of(MODEL)
    age, income = schema.find("age"), schema.find("income")
    assert isinstance(age, Integer)
    assert (age.lower, age.upper) == (20, 30)
    assert isinstance(income, Number)
    assert not isinstance(income, Integer)
    assert (income.lower, income.upper) == (1.5, 7.0)
    assert isinstance(schema.find("race"), OneHot)
    found = bound(space, Similarity(vary=["race"]))
    assert found.everybody.missing.tolist() == [[True, False, False, False]]
    # Nobody is a nurse, and nobody has a job that the model does not know.
    assert job(found) == [True, False, True, False]
    assert repr(space) == "<Space\n of 3 rows>"


def test_a_category_has_the_levels_of_the_schema() -> None:
    kinds = {"job": Category(levels=("cook", "nurse"))}
    auditor = Auditor(
        MODEL,
        similarity=Similarity(vary=["job"]),
        schema=Space(kinds).schema_of(MODEL),
    )
    run = auditor.run(PEOPLE)
    boxes = run.chunk(0, 3).boxes
    place = 4
    flags = boxes.flags(auditor.variables.ensemble.features, place)
    # The second person is a smith already, and may become what others are.
    assert flags.tolist() == [
        [True, True, False, False],
        [True, True, True, False],
        [True, True, False, False],
    ]
    assert "any of cook, nurse" in auditor.similarity.describe(auditor.variables.schema)


def test_where_tells_whom_the_question_is_about() -> None:
    space = Space.from_table(PEOPLE, where={"age": "> 25", "job": "smith"})
    found = bound(space, Similarity(vary=["race"]))
    assert found.asked.lower[0, :2].tolist() == [26, 1.5]
    assert found.asked.upper[0, :2].tolist() == [30, 7.0]
    assert job(found) == [False, False, True, False]
    # Who is missing it does not meet it; those who are similar may be anybody.
    assert not found.asked.missing.any()
    assert found.everybody.lower[0, 0] == 20
    other = bound(space.asking({"age": "<= 25"}), Similarity(vary=["race"]))
    assert other.asked.upper[0, 0] == 25
    assert repr(space.asking({"age": "<= 25"})).endswith("where age <= 25>")


def test_what_a_similarity_lets_be_missing_may_be_missing() -> None:
    space = Space({"age": Integer(lower=17, upper=90)})
    assert not bound(space, Similarity(vary=["job"])).everybody.missing.any()
    found = bound(space, Similarity(missing=["age"], vary=["job"]))
    assert found.everybody.missing[0].tolist() == [True, False, False, False, False]


def test_a_listed_value_takes_no_others_away() -> None:
    space = Space({"age": Integer(lower=17, upper=20)})
    found = bound(space, Similarity(vary={"age": [17, 20]}))
    variable = found.variables.schema.find("age")
    assert isinstance(variable, Ordinal)
    assert variable.levels == (17, 18, 19, 20)


def test_a_file_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        'missing = ["age"]\n[where]\nage = ">= 21"\n'
        '[schema]\nage = { type = "integer", lower = 17, upper = 90 }\n'
    )
    said = Space(
        {"age": Integer(lower=17, upper=90)}, where={"age": ">= 21"}, missing=["age"]
    )
    assert repr(Space.read(path)) == repr(said)
    schema = Schema.from_ensemble(MODEL).with_(age=Integer(lower=17, upper=90))
    schema.save(tmp_path / "schema.json")
    read = Space.read(tmp_path / "schema.json").schema_of(MODEL)
    assert read == Space(schema).schema_of(MODEL)


@pytest.mark.parametrize(
    ("space", "similarity", "message"),
    [
        (Space({}), {"noise": {"age": 2}}, "no bounds for 'age', a number that moves"),
        (
            Space({"age": Number(lower=0)}),
            {"vary": ["age"]},
            "no bounds for 'age', a number that moves",
        ),
        (Space({"job": Category(levels=("clown",))}), {"vary": ["job"]}, "'clown'"),
        (Space({"jobb": Category()}), {"vary": ["job"]}, "Did you mean 'job'"),
        (Space({}, where={"jobb": "cook"}), {"vary": ["job"]}, "Did you mean 'job'"),
        (
            Space({"job": Category(levels=("cook",))}, where={"job": "nurse"}),
            {"vary": ["job"]},
            "where of 'job' is .'nurse'., which nobody in the space meets",
        ),
        (
            Space({"age": Integer(lower=17, upper=90)}, where={"age": "20.2..20.8"}),
            {"vary": ["job"]},
            "where of 'age' is '20.2..20.8', which nobody in the space meets",
        ),
        (
            Space({"age": Integer(lower=17, upper=90)}, where={"age": "> 90"}),
            {"vary": ["job"]},
            "where of 'age' is '> 90', which no",
        ),
        (Space({}, missing=["income"]), {"vary": ["job"]}, "'income' may be missing"),
        (Space({}, missing=["agee"]), {"vary": ["job"]}, "Did you mean 'age'"),
    ],
)
def test_what_does_not_fit_is_refused(
    space: Space, similarity: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        bound(space, Similarity(**similarity))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Space(17), "given as int"),  # type: ignore[arg-type]
        (lambda: Space({"age": 17}), "'age' is given as 17"),  # type: ignore[dict-item]
        (lambda: Space({}, missing="age"), r"write a list of names: \['age'\]"),
        (lambda: Space({}, where="age"), "where is 'age'"),  # type: ignore[arg-type]
        (lambda: Space({}, where={"age": "> x"}), "compares with no number"),
        (lambda: Space.read("/nowhere.toml"), "cannot read it"),
    ],
)
def test_what_has_no_meaning_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= 2", "no valid TOML"),
        ("[schemas]", "Did you mean 'schema'"),
        ("[schema]\nage = 17", "not understood"),
        ('[schema]\nage = { type = "integer", low = 1 }', "not understood"),
        ("missing = 3", "not understood"),
        ("where = 3", "where is 3"),
    ],
)
def test_a_hostile_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=message) as caught:
        Space.read(path)
    assert "space.toml" in str(caught.value)


def test_an_auditor_is_asked_about_a_space() -> None:
    auditor = Auditor(MODEL, similarity=Similarity(noise={"age": 2}))
    within = auditor.within(Space.from_table(PEOPLE))
    assert within.variables.schema.find("age") == Integer(
        name="age", columns="age", lower=20, upper=30, sd=5, seen=tuple(range(20, 31))
    )
    with pytest.raises(SpecError, match="space is 3"):
        auditor.within(3)  # type: ignore[arg-type]
