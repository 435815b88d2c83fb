"""`exist=` and `follow=` as values: parsed, compared, written and read back."""

from __future__ import annotations

from typing import Any

import pytest

from fatt.errors import SpecError
from fatt.region import Category, Number, Relation, Schema, Similarity
from fatt.region.existence import Together

SWAPS = {"Husband": "Wife", "Wife": "Husband"}
VALUES = (
    {"exist": [("sex", "relationship")]},
    {"exist": {("sex", "title"): [("F", "Ms"), ("F", "Mrs"), ("M", "Mr")]}},
    {"exist": ["tenure <= age - 16", ("a", "b"), {("c", "d"): [(1, 2.5), (2, "x")]}]},
    {"follow": {"relationship": SWAPS}},
    {"follow": {"relationship": {"sex": SWAPS, "race": {"A": "B", "B": "A"}}}},
    {"follow": {"code": {0: 1, 1: 0}}},
    {"follow": {"code": {"sex": [(0, 1), (1, 0)]}, "ratio": "debt / income"}},
    {"exist": [("sex", "title")], "follow": ["title", {"code": {0: 1}}]},
)


@pytest.mark.parametrize("said", VALUES, ids=str)
def test_values_are_equal_to_what_they_are_written_as(said: dict[str, Any]) -> None:
    similarity = Similarity(noise={"age": 3}, vary=["sex"], **said)
    read = Similarity.from_toml(similarity.to_toml())
    shown = eval(repr(similarity), {"Similarity": Similarity})
    assert read == shown == similarity
    assert hash(read) == hash(shown) == hash(similarity)
    assert similarity != Similarity(noise={"age": 3}, vary=["sex"])


def test_order_does_not_matter() -> None:
    one = Similarity(vary=["a"], exist={("a", "b"): [(1, 2), (3, 4)]}, follow=["b"])
    other = Similarity(vary=["a"], exist={("b", "a"): [(4, 3), (2, 1)]}, follow=["b"])
    assert one == other


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"exist": ["sex"]}, "the text 'sex', which is no order"),
        ({"exist": "a <= b"}, "exist is 'a <= b'; write a list"),
        ({"exist": [("sex",)]}, "at least two columns"),
        ({"exist": [("sex", "sex")]}, "each once"),
        ({"exist": [("sex", 3)]}, "exist names 3; names are texts"),
        ({"exist": {"sex": ["F"]}}, "Values of one column stand in vary"),
        ({"exist": {("sex", "title"): [("F",)]}}, r"lists \('F',\); write a comb"),
        ({"exist": {("sex", "title"): []}}, "so nobody exists"),
        ({"exist": {("sex", "title"): [("F", None)]}}, "write a label"),
        ({"exist": [("a", "b"), {("b", "a"): [(1, 2)]}]}, "says two things of 'a' and"),
        ({"follow": "title"}, "follow is 'title'; write"),
        ({"follow": {"title": 3}}, "follow of 'title' is 3; write"),
        ({"follow": {"title": {}}}, "names no level"),
        ({"follow": {"title": {"A": "B", "sex": {"A": "B"}}}}, "levels and leaders"),
        ({"follow": ["title", {"title": {"A": "B"}}]}, "says two things of 'title'"),
        ({"follow": {"title": [("A", "B"), ("A", "C")]}}, "of the level 'A'"),
        ({"follow": {"sex": {"A": "B"}}}, "named in vary and in follow"),
        (
            {"follow": {"a": {"b": {1: 2}}, "b": {"c": {1: 2}}, "c": {"a": {1: 2}}}},
            "follow goes in a circle: ",
        ),
        ({"follow": {"a": {"a": {1: 2}}}}, "follow goes in a circle: a → a"),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Similarity(vary=["sex"], **said)


def test_sentences() -> None:
    similarity: Relation = Similarity(
        vary=["sex"],
        exist=[("sex", "relationship"), {("sex", "title"): [("F", "Ms")]}],
        follow=["title", {"relationship": {"sex": SWAPS}}],
    )
    assert similarity.describe().split("\n") == [
        "Two persons are similar if they agree in everything, except that:",
        "- 'sex' may be anything",
        "- 'relationship' follows 'sex': 'Husband' becomes 'Wife', 'Wife' becomes "
        "'Husband'; its other levels stay",
        "- 'title' moves along, to any level that exists then",
        "Both of them must exist: 'relationship' and 'sex' only in combinations that "
        "the table has; 'sex' and 'title' only as F & Ms.",
    ]


def test_what_moves_together_is_one_attribute() -> None:
    tied = {
        "exist": [("sex", "relationship")],
        "follow": ["relationship", {"title": {"race": {"A": "B"}}}],
    }
    similarity = Similarity(vary=["sex", "race", "city"], **tied)
    exist = [("sex", "relationship")]
    assert set(similarity.parts()) == {
        Similarity(vary=["sex"], exist=exist, follow=["relationship"]),
        Similarity(vary=["race"], exist=exist, follow={"title": {"race": {"A": "B"}}}),
        Similarity(vary=["city"], exist=exist),
    }


def test_a_schema_keeps_what_exists(tmp_path: Any) -> None:
    variables = (
        Category(name="sex", columns="sex"),
        Category(name="title", columns="title"),
        Number(name="age", columns="age"),
    )
    plain = Schema(columns=("sex", "title", "age"), variables=variables)
    schema = Schema(
        columns=plain.columns,
        variables=variables,
        exist=[("sex", "title"), "tenure <= age"],
        seen=(Together(("sex", "title"), (("F", "Ms"), ("M", None))),),
    )
    schema.save(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == schema != plain
    assert schema.with_(age=Number(lower=0)).exist == schema.exist
    assert "exist: ['tenure <= age', ('sex', 'title')]" in repr(schema)
    plain.save(tmp_path / "plain.json")
    assert b"exist" not in (tmp_path / "plain.json").read_bytes()
    with pytest.raises(SpecError, match="exist of the schema names 'job'"):
        Schema(columns=plain.columns, variables=variables, exist=[("sex", "job")])
