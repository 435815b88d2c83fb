"""What notebooks show: that names from files can do nothing but be read in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fatt
from fatt import FATTClassifier, Schema, Similarity
from fatt.region import Integer, OneHot
from tests.report import made
from tests.report.hostile import HOSTILE, PLAIN, bank
from tests.report.test_html import Reader


def shown(names: tuple[str, ...]) -> dict[str, Any]:
    """All that shows itself, about a model with these names."""
    model = bank(names)
    table = np.array(
        [[20.0, names[2]], [40.0, names[2]], [29.0, names[3]], [60.0, names[3]]],
        dtype=object,
    )
    similarity = Similarity(noise={names[0]: 2}, vary=[names[1]])
    auditor = fatt.Auditor(model, similarity=similarity, schema=table)
    report = auditor.verify(table)
    gaps, radii = auditor.score_gap(table), auditor.radius(table)
    return {
        "report": report,
        "counterexamples": report.counterexamples,
        "slice": report.counterexamples[1:],
        "counterexample": report.counterexamples[0],
        "finding": report.findings[0],
        "similarity": similarity,
        "similarities": similarity.one_at_a_time(),
        "schema": auditor.variables.schema,
        "model": auditor.model,
        "auditor": auditor,
        "certificate": report.certificate(),
        "gaps": gaps,
        "gap": gaps[0],
        "radii": radii,
        "radius": radii[0],
        "groups": report.by_group(names[1]),
        "intersections": report.by_group(names[1], names[0]),
    }


KINDS = sorted(shown(PLAIN))


@pytest.fixture(scope="module", params=[HOSTILE, HOSTILE[::-1]])
def both(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, Any]]:
    return shown(request.param), shown(PLAIN)


@pytest.mark.parametrize("kind", KINDS)
def test_names_cannot_change_what_is_shown(
    both: tuple[dict[str, Any], dict[str, Any]], kind: str
) -> None:
    hostile, plain = (Reader(one[kind]._repr_html_()) for one in both)
    assert sorted(hostile.tags) == sorted(plain.tags)
    assert hostile.classes == plain.classes
    names = {name for _, attributes in plain.tags for name in attributes}
    assert not {"src", "href", "onload", "id"} & names


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shown_is_small(
    both: tuple[dict[str, Any], dict[str, Any]], kind: str
) -> None:
    assert len(both[1][kind]._repr_html_()) < 20_000


def test_a_report_says_first_why_to_doubt_it() -> None:
    report = made.report()
    object.__setattr__(report, "warnings", ("Rows & columns.",))
    text = Reader(report._repr_html_()).text
    said = [
        "Report on 5 people: 1 to 2 of 5, 20.00% to 40.00% fair",
        "Warning. Rows & columns.",
        "For 3 of 5 people we found a similar person with a different answer",
        "1 is unknown because the budget ended",
        "may differ by up to",
        "The closest twins",
    ]
    places = [text.index(one) for one in said]
    assert places == sorted(places)


def test_cards_stand_side_by_side_and_the_others_are_counted() -> None:
    some = made.report().counterexamples
    html = some._repr_html_()
    assert html.count('class="card"') == 3
    assert 'class="cards"' in html
    many = type(some)(some.twins, np.repeat(some.order, 3), some.features, some.classes)
    html = many._repr_html_()
    assert html.count('class="card"') == 6
    assert "and 3 more" in html


def test_a_schema_shows_levels_and_bounds() -> None:
    schema = Schema(
        columns=["age", "a", "b"],
        variables=[
            Integer(name="age", columns="age", lower=17, upper=90),
            OneHot(name="race", columns=("a", "b"), levels=("Black", "White")),
        ],
    )
    text = Reader(schema._repr_html_()).text
    assert "age integer from 17 to 90" in text
    assert "Black , White" in text
    assert "a , b" in text
    plain = Schema(columns=["age"], variables=[Integer(name="age", columns="age")])
    text = Reader(plain._repr_html_()).text
    assert "variable kind values age integer any .fatt" in text


def test_a_front_and_a_repair_show_themselves() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    y = (X[:, 0] > 0.5).astype(int)
    similarity = Similarity(noise={"x0": 0.1})
    tree = FATTClassifier(similarity, random_state=0).fit(X, y)
    front = Reader(tree.front_._repr_html_())
    assert "chosen" in front.text
    assert [name for name, _ in front.tags].count("tr") == len(tree.front_) + 1
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0)
    repair = fatt.repair(forest.fit(X, y), X, y, similarity=similarity)
    text = Reader(repair._repr_html_()).text
    assert "before" in text
    assert fatt.verdict.share(repair.after.fairness) in text
