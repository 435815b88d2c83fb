"""What is found about people does not depend on who is asked about with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Auditor, Budget, Similarity
from fatt.ensemble import Argmax, Scoring, Trees
from fatt.region import Integer, Neighbourhood, Number, Variables
from fatt.verdict import Findings
from fatt.verifier import Verifier
from tests.region import town
from tests.region.test_boxes import alternatives, draw_points, specs
from tests.strategies import random_trees

N_PEOPLE = 12


def variables_of(seed: int) -> Variables:
    """A random model with variables of every kind: bounded, whole, with levels, ..."""
    drawn = random_trees(np.random.default_rng(seed), town.FEATURES, 2, "float64")
    model = replace(
        town.make(),
        trees=Trees.lay_out(**drawn, targets=np.full(len(drawn["roots"]), -1)),
        scoring=Scoring(dtype="float64", base=(0.0, 0.0)),
        decision=Argmax(),
    )
    return Variables(model, town.schema())


def as_bytes(found: list[Findings]) -> dict[str, bytes]:
    """All that was found about people who stand behind each other."""
    arrays = Findings.join(found).to_arrays()
    return {name: array.tobytes() for name, array in arrays.items()}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(specs(), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, Budget(nodes=2), Budget(seconds=1000), Budget(nodes=10**6)]),
)
def test_people_are_found_alike_together_and_alone(
    said: list[dict[str, Any]], seed: int, budget: Budget | None
) -> None:
    rng, variables = np.random.default_rng(seed), variables_of(seed)
    people = town.encode(draw_points(rng, N_PEOPLE), variables)
    space, verifier = (
        Neighbourhood(alternatives(said), variables),
        Verifier(variables.ensemble),
    )

    def found(rows: Any, **given: Any) -> Findings:
        return verifier.verify(rows, space.boxes(rows), budget=budget, **given)

    alone = [found(people[row : row + 1]).moved(row) for row in range(N_PEOPLE)]
    assert as_bytes(alone) == as_bytes([found(people)])
    # Many are searched in threads, and in blocks.
    assert as_bytes(alone) == as_bytes([found(people, n_jobs=2)])
    many = found(np.tile(people, (20, 1)), n_jobs=2)
    assert many.verdict.tolist() == [*Findings.join(alone).verdict] * 20
    assert many.nodes.tolist() == [*Findings.join(alone).nodes] * 20


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_an_auditor_finds_the_same_in_rows_and_in_tables(seed: int) -> None:
    """Of a frame or an array, with the model itself at hand or not."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 60, 100).astype(float),
            "pay": rng.normal(30, 8, 100).round(2),
            "debt": rng.normal(0, 1, 100),
        }
    )
    label = (table["pay"] + rng.normal(0, 4, 100) > 0.7 * table["age"]).astype(int)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(table, label)
    schema = fatt.Schema.infer(fatt.load(forest), table).with_(
        age=Integer(lower=18, upper=60), debt=Number(upper=4.0)
    )
    similarity = Similarity(noise={"age": 2, "pay": "5%"}) | Similarity(
        noise={"debt": "0.5 sd", "pay": "20..25"}, where={"age": "<= 30"}
    )
    everybody = table.iloc[:30]
    for model in (forest, fatt.load(forest).ensemble):
        auditor = Auditor(model, similarity=similarity, schema=schema)
        for rows in (everybody, everybody.to_numpy()):
            together = auditor.verify(rows)
            alone = [auditor.verify(rows[row : row + 1]) for row in range(len(rows))]
            assert as_bytes(
                [one.findings.moved(row) for row, one in enumerate(alone)]
            ) == as_bytes([together.findings])
            # More than one piece of work, for which the model is asked piece by piece.
            again = auditor.verify(pd.concat([everybody] * 4), n_jobs=2)
            assert again.findings.verdict.tolist() == [*together.findings.verdict] * 4
            assert again.findings.nodes.tolist() == [*together.findings.nodes] * 4
