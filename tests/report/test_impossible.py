"""Twins who combine columns as no row does: said without any rule, with the way out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from lightgbm import LGBMClassifier

import fatt
from fatt import Similarity
from fatt.cli import fatt as command
from fatt.errors import DataError, SpecError

PAIR = ("relationship", "sex")


def town() -> tuple[Any, pd.DataFrame]:
    """Return a model that asks for sex and kin, and people of two sexes."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["F", "M"], 300)
    kin = rng.choice(["married", "own child"], 300)
    kin[kin == "married"] = np.where(sex == "M", "Husband", "Wife")[kin == "married"]
    age = rng.integers(20, 60, 300)
    X = pd.DataFrame({"sex": sex, "relationship": kin, "age": age}).astype(
        {"sex": "category", "relationship": "category"}
    )
    y = (sex == "M") & (age > 30)
    return LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y), X


MODEL, PEOPLE = town()


def test_twins_that_no_row_resembles_are_counted() -> None:
    report = fatt.verify(MODEL, PEOPLE, similarity=Similarity(vary=["sex"]))
    twins = report.counterexamples
    married = [one for one in twins if one.twin["relationship"] != "own child"]
    told = report.warnings[0]
    assert 0 < len(married) < len(twins)
    assert told.startswith(
        f"{len(married)} of {len(twins)} twins combine 'sex' and 'relationship' as no "
        "row does"
    )
    assert "exist=[('sex', 'relationship')] and follow=['relationship']" in told
    rule = Similarity(
        vary=["sex"], exist=[("sex", "relationship")], follow=["relationship"]
    )
    tied = fatt.verify(MODEL, PEOPLE, similarity=rule)
    assert not tied.warnings
    rows = set(zip(PEOPLE["sex"], PEOPLE["relationship"], strict=True))
    for one in tied.counterexamples:
        assert (one.twin["sex"], one.twin["relationship"]) in rows


def test_few_rows_prove_nothing() -> None:
    report = fatt.verify(MODEL, PEOPLE[:8], similarity=Similarity(vary=["sex"]))
    assert not [told for told in report.warnings if "combine" in told]


def test_swaps_are_shown_in_the_columns_of_the_table() -> None:
    swaps = {"relationship": {"Husband": "Wife", "Wife": "Husband"}}
    rule = Similarity(vary=["sex"], follow=swaps)
    report = fatt.verify(MODEL, PEOPLE, similarity=rule)
    shown = [str(one) for one in report.counterexamples]
    assert any("relationship Husband → Wife" in one for one in shown)
    assert any("relationship" not in one for one in shown)
    # Asked of the model itself.
    assert {one.replayed_on for one in report.counterexamples} == {"model"}
    assert fatt.verify(MODEL, PEOPLE, similarity=rule, schema=None).counts == (
        report.counts
    )


def test_who_does_not_exist_is_named() -> None:
    rule = Similarity(vary=["sex"], exist=[PAIR])
    auditor = fatt.Auditor(MODEL, similarity=rule, schema=PEOPLE)
    odd = PEOPLE[:3].copy()
    odd["sex"], odd["relationship"] = ["F", "F", "M"], ["Wife", "Husband", "Husband"]
    odd = odd.astype(PEOPLE.dtypes.to_dict())
    message = "row 1: 'sex' is 'F', 'relationship' is 'Husband', which do not exist"
    with pytest.raises(DataError, match=message):
        auditor.verify(odd)


def test_a_schema_keeps_the_combinations(tmp_path: Any) -> None:
    schema = fatt.Schema.infer(fatt.load(MODEL), PEOPLE, exist=[PAIR])
    schema.save(tmp_path / "schema.json")
    schema = fatt.Schema.read(tmp_path / "schema.json")
    plain, said = Similarity(vary=["sex"]), Similarity(vary=["sex"], exist=[PAIR])
    found = fatt.verify(MODEL, PEOPLE, similarity=plain, schema=schema)
    asked = fatt.verify(MODEL, PEOPLE, similarity=said)
    assert found.counts == asked.counts
    assert found.alone == asked.alone > 0
    bare = fatt.Schema.infer(fatt.load(MODEL), PEOPLE)
    with pytest.raises(SpecError, match="the schema knows none"):
        fatt.verify(MODEL, PEOPLE, similarity=said, schema=bare)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"exist": [("sex", "job")]}, "names 'job', which is no variable"),
        ({"exist": [("sex", "age")]}, "'age'.* a number without levels"),
        ({"exist": {PAIR: [("Duke", "M")]}}, "names 'Duke', which is none of the val"),
        ({"follow": {"relationship": {"Duke": "Wife"}}}, "names 'Duke'"),
        ({"follow": {"relationship": {"age": {"Wife": "Husband"}}}}, "does not move"),
        ({"follow": ["relationship"]}, "no exist= ties it to a column that moves"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fatt.verify(MODEL, PEOPLE, similarity=Similarity(vary=["sex"], **said))


def test_too_many_combinations_are_refused() -> None:
    columns = [f"c{i}" for i in range(5)]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (200, 5)), columns=columns)
    y = (X["c0"] > 4).to_numpy()
    model = LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y)
    pairs = [*itertools.pairwise(columns)]
    with pytest.raises(SpecError, match=r"'c0', .*, of which .* 4,096 can be followed"):
        fatt.verify(model, X, similarity=Similarity(vary=["c0"], exist=pairs))


def test_what_cannot_follow_says_so() -> None:
    rule = Similarity(vary=["sex"], exist=[PAIR])
    coded = pd.DataFrame(
        {name: PEOPLE[name].cat.codes for name in PAIR} | {"age": PEOPLE["age"]}
    )
    labels = MODEL.predict(PEOPLE)
    with pytest.raises(SpecError, match="FATTClassifier does not"):
        fatt.FATTClassifier(similarity=rule).fit(coded, labels)


def test_options(tmp_path: Any) -> None:
    MODEL.booster_.save_model(tmp_path / "model.txt")
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    files = [str(tmp_path / "model.txt"), str(tmp_path / "people.csv")]
    plain = CliRunner().invoke(command, ["audit", *files, "--vary", "sex", "--strict"])
    assert plain.exit_code == 2
    told = " ".join(plain.output.split())
    assert "--exist sex,relationship and --follow relationship" in told
    options = ["--vary", "sex", "--exist", "sex,relationship"]
    for follow in ("relationship", "relationship=Husband:Wife,Wife:Husband"):
        given = ["audit", *files, *options, "--follow", follow, "--json"]
        found = CliRunner().invoke(command, given)
        assert found.exit_code == 0, found.output
        assert '"exist"' in found.stdout
