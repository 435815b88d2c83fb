"""The paper's data and relations, each a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.region import Number, Schema, Similarity, Variables
from fatt.region.boxes import code_words
from fatt.region.neighbourhood import Neighbourhood

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "paper"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the data are not at hand")

CAT = {"adult": ["sex"], "compas": ["race"], "crime": ["state"], "german": ["sex"]}


def load(name: str) -> tuple[Variables, Any, dict[str, Any]]:
    facts = json.loads((DATA / f"{name}.json").read_text())
    with np.load(DATA / f"{name}.npz") as arrays:
        columns = list(arrays["feature_names"])
        train = pd.DataFrame(arrays["X_train"], columns=columns)
        test = pd.DataFrame(arrays["X_test"], columns=columns)
        tree = DecisionTreeClassifier(max_depth=6, random_state=0)
        model = fatt.load(tree.fit(train, arrays["y_train"])).ensemble
    variables = Variables(model, Schema.infer(model, train))
    rows = model.read(test)
    people = variables.gather(rows)
    np.testing.assert_array_equal(variables.scatter(people), rows)
    np.testing.assert_array_equal(
        variables.ensemble._scores(people), model.raw_scores(test)
    )
    return variables, people, facts


@pytest.mark.parametrize("name", CAT)
def test_relations(name: str) -> None:
    variables, people, facts = load(name)
    schema = variables.schema
    assert list(schema.numeric) == facts["numeric"]["names"]
    groups = {
        v.name: [schema.columns.index(column) for column in v.columns]
        for v in schema.variables
        if not isinstance(v, Number)
    }
    expected = {name: group["columns"] for name, group in facts["groups"].items()}
    assert groups == expected

    numeric = [schema.variables.index(schema.find(name)) for name in schema.numeric]
    noise = Neighbourhood(Similarity(noise=0.3), variables).boxes(people)
    np.testing.assert_array_equal(noise.lower[:, numeric], people[:, numeric] - 0.3)
    np.testing.assert_array_equal(noise.upper[:, numeric], people[:, numeric] + 0.3)

    cat = Neighbourhood(Similarity(vary=CAT[name]), variables).boxes(people)
    varied = schema.variables.index(schema.find(CAT[name][0]))
    feature = variables.ensemble.features[varied]
    word = code_words(variables.ensemble.features)[varied]
    assert np.all(cat.codes[:, word] == 2 ** (feature.n_codes - 1) - 1)
    np.testing.assert_array_equal(cat.lower[:, numeric], people[:, numeric])

    both = Neighbourhood(Similarity(noise=0.3, vary=CAT[name]), variables).boxes(people)
    np.testing.assert_array_equal(both.lower, noise.lower)
    np.testing.assert_array_equal(both.codes, cat.codes)
    either = Similarity(noise=0.3) | Similarity(vary=CAT[name])
    assert len(Neighbourhood(either, variables).boxes(people)) == 2 * len(people)


@pytest.mark.parametrize("name", ["adult", "german"])
def test_conditional_attribute(name: str) -> None:
    variables, people, facts = load(name)
    tau = facts["similarity"]["conditional-attribute"]["tau"]
    below = Similarity(noise={"age": 0.2}, where={"age": f"<= {tau}"})
    above = Similarity(noise={"age": 0.4}, where={"age": f"> {tau}"})
    made = Neighbourhood(below | above, variables).boxes(people)
    assert made.person.tolist() == list(range(len(people)))
    age = variables.schema.variables.index(variables.schema.find("age"))
    own = people[:, age]
    assert 0 < np.count_nonzero(own <= tau) < len(own)
    low = np.where(own <= tau, own - 0.2, np.maximum(own - 0.4, np.nextafter(tau, 9)))
    high = np.where(own <= tau, np.minimum(own + 0.2, tau), own + 0.4)
    np.testing.assert_array_equal(made.lower[:, age], low)
    np.testing.assert_array_equal(made.upper[:, age], high)
