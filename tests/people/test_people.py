"""The people of one call, as a table of the user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.errors import DataError


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ({"age": [3.0], "size": [4.0]}, r"are a dict; .*DataFrame\(\[row\]\)"),
        ([3.0, 4.0], r"one row or column of cells; .* \[row\]"),
        (3.0, r"the rows are 3\.0; pass a table"),
        (np.zeros((2, 2, 2)), r"an array of shape \(2, 2, 2\)"),
    ],
)
def test_what_is_no_table_is_explained(people: Any, words: str) -> None:
    tree = DecisionTreeClassifier().fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    auditor = fatt.Auditor(tree, similarity=Similarity(noise=1))
    for ask in (auditor.verify, fatt.load(tree).predict):
        with pytest.raises(DataError, match=words):
            ask(people)


@pytest.mark.lightgbm
def test_twins_are_rows_that_the_model_takes() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": pd.Categorical(rng.choice(["Köln", "Ulm", "Bonn"], 200)),
            "age": rng.integers(18, 60, 200).astype("int16"),
            "owner": rng.random(200) < 0.5,
            "note": "kept",
        },
        index=range(1000, 1200),
    )
    y = (frame["age"] > 38) ^ (frame["town"] == "Ulm")
    read = ["town", "age", "owner"]
    clf = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    clf.fit(frame[read], y)
    report = fatt.verify(
        clf, frame, similarity=Similarity(vary=["town", "owner"], noise={"age": 2})
    )
    cases = report.counterexamples
    assert len(cases) > 10
    for some in (cases, cases[:1], cases[3:0:-1]):
        people, twins = some.tables()
        assert people.index.tolist() == [1000 + case.index for case in some]
        assert twins.index.equals(people.index)
        assert twins.dtypes.tolist() == people.dtypes.tolist() == frame.dtypes.tolist()
        assert clf.predict(people[read]).tolist() == [case.label for case in some]
        assert clf.predict(twins[read]).tolist() == [case.twin_label for case in some]
    assert repr(cases.twins) == f"<{len(cases)} twins>"
