"""No gate says proven about rows that seem not to be those of the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas
import pytest
from click.testing import CliRunner, Result
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt as library
from fatt.cli import fatt

RNG = np.random.default_rng(0)
PEOPLE = pandas.DataFrame(
    {"age": RNG.integers(20, 70, 200), "debt": RNG.integers(0, 9000, 200)}
)
TOWNS = PEOPLE.assign(town=RNG.choice(["Ulm", "Rom"], 200))
RICH = (PEOPLE["age"] > 45) ^ (PEOPLE["debt"] > 6000)
LATE = (PEOPLE["age"] > 45) ^ (TOWNS["town"] == "Rom")


def forgotten_scaler() -> tuple[object, pandas.DataFrame]:
    """A tree of scaled columns, and the columns before they were scaled."""
    scaled = StandardScaler().set_output(transform="pandas").fit_transform(PEOPLE)
    return DecisionTreeClassifier(random_state=0).fit(scaled, RICH), PEOPLE


def unknown_spelling() -> tuple[object, pandas.DataFrame]:
    """A pipeline that knows towns, and towns that are spelled otherwise."""
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0))
    towns = TOWNS["town"].str.upper().where(TOWNS.index > 0, TOWNS["town"])
    return model.fit(TOWNS, LATE), TOWNS.assign(town=towns)


def one_unknown_town() -> tuple[object, pandas.DataFrame]:
    """A pipeline that knows towns, and people who are all of another one."""
    model, people = unknown_spelling()
    return model, people.assign(town="Bonn")


def one_answer() -> tuple[object, pandas.DataFrame]:
    """A tree, and the few people who all get the same answer from it."""
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    tree.fit(PEOPLE, PEOPLE["age"] > 45)
    return tree, PEOPLE[PEOPLE["age"] < 40]


def audit(*words: str) -> Result:
    return CliRunner().invoke(fatt, ["audit", *words], catch_exceptions=False)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (forgotten_scaler, "These rows may not be prepared as the model's rows were"),
        (unknown_spelling, "Some values are no category that the model knows"),
        (one_unknown_town, "Some values are no category that the model knows"),
        (one_answer, "for everybody in this table. Perhaps the rows are not prepared"),
    ],
)
def test_a_gate_needs_rows_without_grave_doubts(
    made: Callable[[], tuple[object, pandas.DataFrame]],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    model, people = made()
    library.load(model).save("model.fatt")
    people.to_csv("people.csv", index=False)
    asked = ("model.fatt", "people.csv", "--noise", "debt=1")
    gate = (*asked, "--min-fairness", "0.5", "--junit", "fatt.xml")
    told = audit(*gate)
    assert told.exit_code == 2
    assert told.stdout.startswith("Warning: ")
    assert told.stdout.index(reason) < told.stdout.index("In doubt, as the warning say")
    assert "Met (50% required)" not in told.stdout
    assert "or add --accept-doubts" in told.stderr
    suite = ET.parse("fatt.xml").getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    [error] = suite.iter("error")
    assert error.get("type") == "doubted"
    assert reason in str(error.text)
    # Even if nothing else is printed, and wherever it was looked into.
    quiet = audit(*gate, "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (2, "")
    assert reason in quiet.stderr
    Path("audit.toml").write_text(
        "[audit]\naccept_doubts = true\n[[similar]]\nnoise = {debt = 1}\n",
        encoding="utf-8",
    )
    for accepted in (
        audit(*gate, "--accept-doubts"),
        audit(*gate[:2], *gate[4:], "--spec", "audit.toml"),
    ):
        assert accepted.exit_code == 0
        assert accepted.stdout.startswith("Warning: ")
        assert "Met (50% required)" in accepted.stdout
        assert ET.parse("fatt.xml").getroot().get("errors") == "0"
    # Without a gate nothing is held back.
    assert audit(*asked).exit_code == 0


def test_what_is_refuted_is_so_in_spite_of_doubts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, people = unknown_spelling()
    library.load(model).save("model.fatt")
    people.to_csv("people.csv", index=False)
    told = audit("model.fatt", "people.csv", "--vary", "age", "--min-fairness", "1")
    assert told.exit_code == 1
    assert "Not met (100% required)" in told.stdout
