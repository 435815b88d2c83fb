"""What a certificate takes for granted is told, and compared with what was expected."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Certificate, Schema, Similarity
from fatt.certificate.certificate import UNKNOWN, contents_of
from fatt.certificate.file import digest_of_schema, sealed
from fatt.ensemble import Ensemble
from fatt.errors import CertificateError, SpecError
from fatt.region import Binary, Category, Integer, Number, OneHot, Ordinal, Relation
from fatt.report import Report

AGES = np.array([[33.0], [34.0]])
VARY = Similarity(vary=["age"])


def tree_of_age(names: bool = True) -> DecisionTreeClassifier:
    table = np.array([[20.0], [60.0]])
    frame = pd.DataFrame(table, columns=["age"]) if names else table
    return DecisionTreeClassifier().fit(frame, [0, 1])


def audit(schema: Schema, similarity: Relation = VARY) -> Report:
    people = pd.DataFrame(AGES, columns=["age"])
    return fatt.verify(tree_of_age(), people, similarity=similarity, schema=schema)


def of_age(kind: Number) -> Schema:
    plain = Schema(columns=("age",), variables=(Number(name="age", columns="age"),))
    return plain.with_(age=kind)


def test_bounds_that_hide_everybody_else_are_told() -> None:
    honest, narrow = of_age(Number()), of_age(Number(lower=33, upper=34))
    assert audit(honest).counts["unfair"] == 2
    assert audit(narrow).counts["fair"] == 2
    certificate = audit(narrow).certificate()
    told = str(certificate.check(tree_of_age()))
    assert "- 'age' may be any number from 33 to 34\n" in told
    assert "- column 1: 'age', a number from 33 to 34" in told
    assert "anything" not in told
    with pytest.raises(CertificateError) as caught:
        certificate.check(tree_of_age(), schema=honest)
    assert str(caught.value) == (
        "it is about another schema than was expected:\n"
        "- 'age': the certificate says 'age', a number from 33 to 34; expected was "
        "'age', any number."
    )
    checked = certificate.check(tree_of_age(), schema=narrow, similarity=VARY)
    assert checked.expected == ("similarity", "schema")
    assert "The similarity and the schema are as expected:" in str(checked)


@pytest.mark.parametrize("sd", [1e-3, 0.1])
def test_a_forged_standard_deviation_is_told(sd: float) -> None:
    similarity = Similarity(noise={"age": "2 sd"})
    honest = of_age(Number(sd=10.0))
    assert audit(honest, similarity).counts["unfair"] == 2
    certificate = audit(of_age(Number(sd=sd)), similarity).certificate()
    assert certificate.counts["fair"] == 2
    told = str(certificate.check(tree_of_age()))
    assert (
        f"may differ by up to 2 standard deviations of {sd}, that is {2 * sd}" in told
    )
    assert f"with the standard deviation {sd}" in told
    with pytest.raises(CertificateError, match=rf"deviation {sd}; expected .* 10\.$"):
        certificate.check(tree_of_age(), schema=honest)


@pytest.mark.parametrize("noise", ["2 sd", {"age": "2 sd"}])
@pytest.mark.parametrize(
    ("sd", "why"),
    [
        (None, "no standard deviation of 'age'"),
        (0, "standard deviation of 'age', in which the similarity counts, is 0"),
    ],
)
def test_a_unit_of_nothing_is_refused(sd: float | None, why: str, noise: Any) -> None:
    similarity = Similarity(noise=noise)
    certificate = audit(of_age(Number(sd=0.1)), similarity).certificate()
    schema = of_age(Number(sd=sd))
    about = msgspec.structs.replace(certificate.about, schema=digest_of_schema(schema))
    forged = Certificate.of(
        sealed(
            msgspec.structs.replace(certificate.contents, schema=schema, about=about)
        )
    )
    with pytest.raises(CertificateError, match=why):
        forged.check(tree_of_age())


def test_a_constant_column_does_not_move_and_the_others_do(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": [20.0, 33.0, 60.0], "year": [2020.0] * 3})
    model = DecisionTreeClassifier().fit(table, [0, 0, 1])
    report = fatt.verify(model, table, similarity=Similarity(noise="1 sd"))
    alone = fatt.verify(model, table, similarity=Similarity(noise={"age": "1 sd"}))
    assert report.counts == alone.counts
    assert 0 < report.counts["fair"] < 3
    report.certificate().save(tmp_path / "c.json")
    certificate = Certificate.read(tmp_path / "c.json")
    told = str(certificate.check(model, table))
    assert "- 'year' may differ by up to 1 standard deviations of 0, that is 0" in told
    # Somebody who expects another unit is told that this one moves nobody.
    schema = Schema.infer(fatt.load(model), table)
    assert certificate.check(model, table, schema=schema)
    honest = schema.with_(year=Number(sd=3.0))
    with pytest.raises(CertificateError, match=r"deviation 0; expected .* 3\.$"):
        certificate.check(model, schema=honest)


def test_a_standard_deviation_that_nobody_uses_is_not_compared() -> None:
    certificate = audit(of_age(Number(sd=3.0))).certificate()
    checked = certificate.check(tree_of_age(), schema=of_age(Number(sd=4.0)))
    assert checked.expected == ("schema",)
    assert "The schema is as expected; judge the rest:" in str(checked)
    assert "deviation" not in str(checked)


def swapped() -> tuple[DecisionTreeClassifier, pd.DataFrame, Schema, Certificate]:
    """A model without names that looks at the first column, called 'sex' falsely."""
    table = pd.DataFrame({"age": [20.0, 33.0, 60.0], "sex": [0.0, 1.0, 0.0]})
    model = DecisionTreeClassifier().fit(table.to_numpy(), [0, 0, 1])
    honest = Schema.infer(fatt.load(model).ensemble, table)
    assert honest.columns == ("age", "sex")
    # Which values there are, the columns of the same name did not show.
    numbers = tuple(Number(name=v.name, columns=v.columns) for v in honest.variables)
    forged = Schema(columns=("sex", "age"), variables=numbers)
    report = fatt.verify(
        model, table.to_numpy(), similarity=Similarity(vary=["age"]), schema=forged
    )
    assert report.counts["fair"] == 3
    return model, table, honest, report.certificate()


def test_swapped_columns_of_a_model_without_names_are_told() -> None:
    model, table, honest, certificate = swapped()
    checked = certificate.check(model, table.to_numpy())
    assert [one.places for one in checked.premises] == [(1,), (2,)]
    assert [one.variable for one in checked.premises] == ["sex", "age"]
    assert "- column 2: 'age', any number" in str(checked)
    assert "which is called what is what the certificate says, not" in str(checked)
    with pytest.raises(
        CertificateError, match=r"column 1 .* 'sex' in the certificate and 'age' in the"
    ):
        certificate.check(model, table)
    with pytest.raises(
        CertificateError, match=r"column 2 of the model is 'age' .* 'sex' was expected"
    ):
        certificate.check(model, schema=honest)


def test_a_table_that_names_columns_alike_confirms_them() -> None:
    model, table, _, _ = swapped()
    report = fatt.verify(
        model, table, similarity=Similarity(vary=["sex"]), by_position=True
    )
    checked = report.certificate().check(model, table)
    assert checked.is_data_named
    assert "which is called what is what the certificate says, and the table." in str(
        checked
    )
    # Without names in the audit there is nothing that a table could contradict.
    plain = fatt.verify(model, table.to_numpy(), similarity=Similarity(vary=["x1"]))
    assert not plain.certificate().check(model, table).is_data_named


NAMES = ("a", "b", "c", "d", "e")


def model_of_five(*, named: bool = False) -> Ensemble:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, 5))
    frame = pd.DataFrame(table, columns=list(NAMES)) if named else table
    return fatt.load(
        DecisionTreeClassifier(max_depth=3).fit(frame, table.sum(axis=1) > 0)
    ).ensemble


def undecided(model: Ensemble, schema: Schema, similarity: Relation) -> Certificate:
    """A certificate that says nothing about its only person, and so always holds."""
    variables = len(schema.variables)
    values = np.ones((1, variables))
    nothing = np.zeros(0)
    return Certificate.of(
        contents_of(
            model_digest=model.digest,
            schema=schema,
            similarity=similarity,
            values=values,
            verdicts=np.full(1, UNKNOWN, dtype=np.uint8),
            labels=np.full(1, -1),
            steps=[],
            twins=(nothing, nothing, nothing),
        )
    )


def plain_schema() -> Schema:
    numbers = tuple(Number(name=name, columns=name, sd=1.0) for name in NAMES)
    return Schema(columns=NAMES, variables=numbers)


def all_schemas() -> list[Schema]:
    """Schemas of which no two mean the same; each of them differs a little."""
    plain = plain_schema()
    two = ("c", "d")
    return [
        plain,
        Schema(columns=("b", "a", "c", "d", "e"), variables=plain.variables),
        plain.with_(a=Integer()),
        plain.with_(a=Number(lower=0)),
        plain.with_(a=Number(lower=0.5)),
        plain.with_(a=Number(upper=2)),
        plain.with_(a=Number(lower=0, upper=2)),
        plain.with_(a=Integer(lower=0, upper=2)),
        plain.with_(a=Number(sd=2.0)),
        plain.with_(b=Number(lower=0)),
        plain.with_(z=Number(columns="a", sd=1.0)),
        plain.with_(a=Binary()),
        plain.with_(a=Binary(levels=("no", "yes"))),
        plain.with_(a=Binary(levels=("yes", "no"))),
        plain.with_(a=Ordinal(levels=(0, 1, 2))),
        plain.with_(a=Ordinal(levels=(0, 2, 1))),
        plain.with_(a=Ordinal(levels=(0, 1))),
        plain.with_(a=Ordinal(levels=("low", "high"), values=(0, 1))),
        plain.with_(a=Ordinal(levels=("low", "high"), values=(1, 0))),
        plain.with_(a=Ordinal(levels=("low", "high"), values=(0, 2))),
        plain.with_(a=Ordinal(levels=("low", "high"), values=(0, 2), unknown_value=-1)),
        plain.with_(a=Ordinal(levels=("low", "high"), values=(0, 2), unknown_value=9)),
        plain.with_(s=OneHot(columns=two, levels=("F", "M"))),
        plain.with_(s=OneHot(columns=two, levels=("M", "F"))),
        plain.with_(s=OneHot(columns=("d", "c"), levels=("F", "M"))),
        plain.with_(s=OneHot(columns=two, levels=("F", "M"), dropped="X")),
        plain.with_(s=OneHot(columns=two, levels=("F", "X"), dropped="M")),
        plain.with_(s=OneHot(columns=two, levels=("F", "M"), accepts_unknown=True)),
        plain.with_(s=OneHot(columns=("c", "e"), levels=("F", "M"))),
    ]


def moving(schema: Schema) -> Relation:
    """A similarity that moves every variable, numbers by standard deviations."""
    numbers = dict.fromkeys(schema.numeric, "1 sd")
    others = [v.name for v in schema.variables if v.name not in numbers]
    return Similarity(noise=numbers, vary=others)


def test_each_schema_is_told_in_words_of_its_own() -> None:
    model = model_of_five()
    texts = [
        str(undecided(model, one, moving(one)).check(model)) for one in all_schemas()
    ]
    assert len(set(texts)) == len(texts)


def test_every_other_schema_than_expected_is_refused() -> None:
    model = model_of_five()
    schemas = all_schemas()
    for mine, other in itertools.product(schemas, schemas):
        certificate = undecided(model, mine, moving(mine))
        if mine is other:
            assert certificate.check(model, schema=other).expected == ("schema",)
            continue
        with pytest.raises(CertificateError, match="another schema than was") as caught:
            certificate.check(model, schema=other)
        _, *lines = str(caught.value).splitlines()
        assert lines
        for line in lines:
            before, _, after = line.partition("; expected was ")
            assert before.rpartition("says ")[2] != after.rstrip(".")


def test_the_order_of_columns_is_free_where_the_model_names_them() -> None:
    model = model_of_five(named=True)
    plain, turned = all_schemas()[:2]
    certificate = undecided(model, turned, moving(turned))
    checked = certificate.check(model, schema=plain)
    assert [one.places for one in checked.premises] == [(i,) for i in range(1, 6)]
    assert [one.variable for one in checked.premises] == list(NAMES)
    assert "names no columns" not in str(checked)


def test_only_what_matters_is_listed() -> None:
    model = model_of_five()
    schema = plain_schema().with_(b=Integer(upper=9), c=Binary(levels=("no", "yes")))
    similarity = Similarity(noise={"a": 1}, where={"c": "yes"})
    text = str(undecided(model, schema, similarity).check(model))
    lines = text.splitlines()[-8:]
    assert "for both of them 'c' is 'yes', and they agree" in lines[0]
    assert lines[1:7] == [
        "- 'a' may differ by up to 1",
        "This takes for granted, in the order of the model's columns:",
        "- column 1: 'a', any number",
        "- column 2: 'b', a whole number of at most 9",
        "- column 3: 'c', 'no' (0) or 'yes' (1)",
        "- 2 more columns without bounds, in which similar people agree.",
    ]
    assert lines[7].startswith("The model names no columns")


def test_names_cannot_forge_lines() -> None:
    name = "a\n- column 1: 'a', any number\u202e"
    schema = plain_schema().with_({name: Number(columns="a", upper=2)})
    model = model_of_five()
    text = str(undecided(model, schema, Similarity(vary=[name])).check(model))
    assert "\n- column 1: 'a', any number" not in text
    assert "\u202e" not in text


LEVELS = plain_schema().with_(
    c=Binary(levels=("no", "yes")), d=Ordinal(levels=(0, 1, 2))
)

SIMILARITIES = [
    Similarity(noise={"a": 1}),
    Similarity(noise={"a": 2}),
    Similarity(noise={"a": "+1"}),
    Similarity(noise={"a": "-1"}),
    Similarity(noise={"a": "1%"}),
    Similarity(noise={"a": "1 sd"}),
    Similarity(noise={"a": "0..2"}),
    Similarity(noise={"a": "0..3"}),
    Similarity(noise={"a": 1, "b": 1}),
    Similarity(noise=1),
    Similarity(noise={"d": 1}),
    Similarity(noise={"d": 2}),
    Similarity(vary=["a"]),
    Similarity(vary=["b"]),
    Similarity(vary=["c"]),
    Similarity(vary={"d": [0, 1]}),
    Similarity(vary={"d": [0, 2]}),
    Similarity(vary=["d"]),
    Similarity(noise={"a": 1}, vary=["c"]),
    Similarity(noise={"a": 1}, missing=["a"]),
    Similarity(noise={"a": 1}, missing=["b"]),
    Similarity(noise={"a": 1}, where={"a": "<= 3"}),
    Similarity(noise={"a": 1}, where={"a": "< 3"}),
    Similarity(noise={"a": 1}, where={"b": "<= 3"}),
    Similarity(noise={"a": 1}, where={"c": "yes"}),
    Similarity(noise={"a": 1}, where={"c": ["no", "yes"]}),
    Similarity(noise={"a": 1}) | Similarity(vary=["c"]),
    Similarity(noise={"a": 1}) | Similarity(vary=["d"]),
    Similarity(noise={"a": 1}) | Similarity(vary=["c"]) | Similarity(vary=["d"]),
]


def test_each_similarity_is_told_in_words_of_its_own() -> None:
    model = model_of_five()
    texts = [str(undecided(model, LEVELS, one).check(model)) for one in SIMILARITIES]
    assert len(set(texts)) == len(texts)


def test_every_other_similarity_than_expected_is_refused() -> None:
    model = model_of_five()
    for mine, other in itertools.product(SIMILARITIES, SIMILARITIES):
        certificate = undecided(model, LEVELS, mine)
        if mine is other:
            checked = certificate.check(model, similarity=other)
            assert checked.expected == ("similarity",)
            continue
        with pytest.raises(CertificateError, match="another similarity") as caught:
            certificate.check(model, similarity=other)
        assert len(str(caught.value).splitlines()) > 1


def test_the_difference_is_told_in_words() -> None:
    model = model_of_five()
    certificate = undecided(model, LEVELS, Similarity(noise={"a": 1}, vary=["c"]))
    with pytest.raises(CertificateError) as caught:
        certificate.check(
            model, similarity=Similarity(noise={"a": 3}, where={"b": "<= 2"})
        )
    assert str(caught.value).splitlines() == [
        "it is about another similarity than was expected:",
        "- 'a': the certificate says 'may differ by up to 1', and 'may differ by up to "
        "3' was expected.",
        "- 'b': the certificate says 'must agree', and 'for both is <= 2' was "
        "expected.",
        """- 'c': the certificate says "may be 'no' or 'yes'", and 'must agree' was """
        "expected.",
    ]


def test_the_same_said_otherwise_is_the_same() -> None:
    model = model_of_five()
    numbers = {"a": "1 sd", "b": "1 sd", "e": "1 sd"}
    certificate = undecided(model, LEVELS, Similarity(noise="1 sd"))
    assert certificate.check(model, similarity=Similarity(noise=numbers))
    one, other = Similarity(noise={"a": 1}), Similarity(vary=["c"])
    certificate = undecided(model, LEVELS, one | other)
    assert certificate.check(model, similarity=other | one)


def test_expectations_that_make_no_sense_are_told() -> None:
    model = model_of_five()
    certificate = undecided(model, LEVELS, Similarity(noise={"a": 1}))
    with pytest.raises(CertificateError, match=r"does not fit the .* schema: .*'agee'"):
        certificate.check(model, similarity=Similarity(noise={"agee": 1}))
    with pytest.raises(
        SpecError, match=r"expected does not fit the model: .* 1 columns"
    ):
        certificate.check(model, schema=of_age(Number()))
    named = model_of_five(named=True)
    certificate = undecided(named, LEVELS, Similarity(noise={"a": 1}))
    with pytest.raises(SpecError, match="names other columns than the model reads"):
        certificate.check(named, schema=of_age(Number()))


def test_categories_of_the_model_are_told() -> None:
    table = pd.DataFrame({"sex": ["F", "M", "X"] * 9, "n": range(27)})
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough"),
        DecisionTreeClassifier(),
    ).fit(table, table["sex"] == "F")
    report = fatt.verify(model, table, similarity=Similarity(vary=["sex"]))
    certificate = report.certificate()
    text = str(certificate.check(model, table))
    assert "- 'sex' may be 'F', 'M' or 'X'\n" in text
    ordinal = certificate.schema.with_(sex=Ordinal(levels=("X", "F", "M")))
    assert isinstance(certificate.schema.find("sex"), Category)
    with pytest.raises(CertificateError, match="in the order 'X', 'F' and 'M'"):
        certificate.check(model, schema=ordinal)


def test_json_holds_what_was_taken_for_granted() -> None:
    model = model_of_five()
    checked = undecided(model, LEVELS, Similarity(noise={"d": 1})).check(model)
    found: Any = msgspec.to_builtins(checked)
    assert found["premises"][3] == {
        "variable": "d",
        "places": (4,),
        "columns": ("d",),
        "values": "0, 1 or 2, in this order",
        "matters": True,
    }
    assert [one["matters"] for one in found["premises"]] == [
        name == "d" for name in NAMES
    ]
