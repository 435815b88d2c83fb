"""Auditors: prepared once, asked often, and no verdict depends on it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import fatt
from fatt import Auditor, Budget, Schema, Similarity
from fatt.errors import DataError, SpecError
from fatt.verifier import Verifier, search

SIMILARITY = Similarity(noise={"age": 2, "hours": "0.3 sd"}, vary=["sex"])


def people(count: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, count),
            "sex": rng.integers(2, size=count),
            "hours": rng.normal(35, 8, count).round(1),
        }
    )


def fitted(model: Any) -> Any:
    table = people(400)
    swing = (table["age"] - 40) * (table["hours"] - 35) + 40 * table["sex"]
    return model.fit(table, np.digitize(swing, [-50, 60]))


MODELS = [
    DecisionTreeClassifier(max_depth=7, random_state=0),
    RandomForestClassifier(12, max_depth=6, random_state=0),
    XGBClassifier(n_estimators=8, max_depth=4),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_is_prepared_gives_the_same_answers(model: Any) -> None:
    model, table = fitted(model), people()
    schema = Schema.infer(fatt.load(model), table)
    given: dict[str, Any] = {"similarity": SIMILARITY, "schema": schema}
    auditor = Auditor(model, similarity=SIMILARITY, schema=table)
    copied = pickle.loads(pickle.dumps(auditor))
    for part in (table, table[7:8], table[20:60], pl.from_pandas(table)):
        expected = fatt.verify(model, part, **given)
        for one in (auditor, copied):
            report = one.verify(part)
            assert report.to_json() == expected.to_json()
            assert report.asked == expected.asked
            assert report.asked.people == len(part)
    limited = Budget(nodes=2)
    expected = fatt.verify(model, table, **given, budget=limited)
    report = auditor.verify(table, budget=limited)
    assert report.to_json() == expected.to_json()
    some = table[:6]
    assert list(auditor.radius(some)) == list(fatt.radius(model, some, **given))
    assert list(auditor.score_gap(some)) == list(fatt.score_gap(model, some, **given))


def test_each_alone_is_as_all_together() -> None:
    model, table = fitted(MODELS[1]), people()
    auditor = Auditor(model, similarity=SIMILARITY, schema=table)
    together = json.loads(auditor.verify(table).to_json())
    twins = {case["index"]: case for case in together["counterexamples"]}
    assert 5 < len(twins) < len(table)
    for row in range(len(table)):
        alone = json.loads(auditor.verify(table[row : row + 1]).to_json())
        assert alone["findings"] == [together["findings"][row]]
        cases = [{**case, "index": row} for case in alone["counterexamples"]]
        assert cases == ([twins[row]] if row in twins else [])


@pytest.mark.parametrize("nodes", [0, 1, 3, 2**40])
def test_where_a_search_goes_on_in_a_thread_does_not_show(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, table = fatt.load(fitted(MODELS[2])), people(50)
    auditor = Auditor(model, similarity=SIMILARITY, schema=table)
    budgets = [None, Budget(nodes=2), Budget(total_nodes=40), Budget(total_nodes=0)]
    expected = [auditor.verify(table, budget=one).to_json() for one in budgets]
    monkeypatch.setattr(search, "_SHORT", nodes)
    assert [auditor.verify(table, budget=one).to_json() for one in budgets] == expected
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda one: auditor.verify(table, budget=one), budgets)
    assert [report.to_json() for report in found] == expected


def test_a_few_people_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise AssertionError

    model, table = fatt.load(fitted(MODELS[1])), people(60)
    auditor = Auditor(model, similarity=SIMILARITY, schema=table)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert auditor.verify(table, n_jobs=2).counts["unfair"] > 0
    with pytest.raises(AssertionError):
        auditor.verify(people(200))


def test_who_stops_one_run_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    model, table = fatt.load(fitted(MODELS[1])), people(300)
    auditor = Auditor(model, similarity=SIMILARITY, schema=table)
    expected = auditor.verify(table)
    assert auditor.verify(table, progress=stop).interrupted
    verify = Verifier.verify

    def interrupt(*args: Any, **given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Verifier, "verify", interrupt)
    assert auditor.verify(table[:5]).interrupted
    assert auditor.verify(table[:5]).counts["unknown"] == 5
    monkeypatch.setattr(Verifier, "verify", verify)
    again = auditor.verify(table)
    assert not again.interrupted
    assert again.to_json() == expected.to_json()


def test_without_rows_the_model_alone_tells() -> None:
    model = fitted(MODELS[0])
    with pytest.raises(SpecError, match="standard deviation"):
        Auditor(model, similarity=SIMILARITY)
    plain = Similarity(noise={"age": 2}, vary=["sex"])
    table = people()
    schema = Schema.from_ensemble(fatt.load(model))
    expected = fatt.verify(model, table, similarity=plain, schema=schema)
    report = Auditor(model, similarity=plain).verify(table)
    assert report.to_json() == expected.to_json()


def test_another_similarity_shares_what_is_prepared() -> None:
    model, table = fitted(MODELS[1]), people()
    first = Auditor(model, similarity=SIMILARITY, schema=table)
    expected = first.verify(table).to_json()
    other = Similarity(vary=["sex"])
    second = first.with_similarity(other)
    assert second.variables is first.variables
    assert second.similarity == other
    assert (
        second.verify(table).to_json()
        == fatt.verify(model, table, similarity=other).to_json()
    )
    assert first.verify(table).to_json() == expected
    with pytest.raises(SpecError, match="no variable"):
        first.with_similarity(Similarity(vary=["race"]))


def test_mistakes_are_told_at_once() -> None:
    model, table = fitted(MODELS[0]), people()
    with pytest.raises(SpecError, match="write Similarity"):
        Auditor(model, similarity=0.3)  # type: ignore[arg-type]
    auditor = Auditor(model, similarity=SIMILARITY, schema=table)
    assert repr(auditor).startswith("<Auditor of a DecisionTreeClassifier of scikit-l")
    with pytest.raises(SpecError, match=r"write Budget\(seconds=3\)"):
        auditor.verify(table, budget=3)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="n_jobs"):
        auditor.verify(table, n_jobs=True)
    with pytest.raises(DataError, match="there are no rows"):
        auditor.verify(table[:0])
    with pytest.raises(SpecError, match="'score', 'probability' or 'prediction'"):
        auditor.score_gap(table, of="chance")  # type: ignore[arg-type]


def test_flags_that_rows_tear_apart_are_refused_of_these_rows() -> None:
    rng = np.random.default_rng(0)
    race = rng.integers(3, size=60)
    table = pd.DataFrame({f"race_{name}": race == at for at, name in enumerate("ABC")})
    table = table.astype(float).assign(age=rng.integers(18, 70, 60))
    model = DecisionTreeClassifier(max_depth=3).fit(table, table["age"] > 40)
    auditor = Auditor(model, similarity=Similarity(noise={"race_A": 1}))
    with pytest.raises(SpecError, match="look like one variable 'race'"):
        auditor.verify(table)


_SEARCHES = """
import sys
import numpy as np
from sklearn.ensemble import RandomForestClassifier
import fatt

def compiled():
    found = {
        name: getattr(module, "__file__", None) or ""
        for name, module in sys.modules.items()
        if name.startswith("fatt")
    }
    return sorted(n for n, path in found.items() if path.endswith((".so", ".pyd")))

rng = np.random.default_rng(0)
rows = rng.normal(size=(300, 8))
label = (rows[:, :4].prod(axis=1) > 0).astype(int)
forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(rows, label)
similarity = fatt.Similarity(noise={f"x{i}": 0.3 for i in range(8)})
auditor = fatt.Auditor(fatt.load(forest).ensemble, similarity=similarity)
before = compiled()
assert before, "nothing compiled is found"
counts = auditor.verify(rows[:60]).counts
assert counts["fair"] and counts["unfair"], counts
auditor.verify(rows[:60], n_jobs=2, budget=fatt.Budget(nodes=3))
assert compiled() == before, set(compiled()) - set(before)
"""


def test_the_auditor_loads_all_compiled_code() -> None:
    """Also what only the unfair need: no person waits for it."""
    done = subprocess.run(
        [sys.executable, "-c", _SEARCHES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_model_whose_file_does_not_say_its_kind_is_called_a_model() -> None:
    path = Path(__file__).parents[1] / "data" / "models" / "catboost-1.2-symmetric.cbm"
    auditor = Auditor(path, similarity=Similarity(noise=0.5))
    assert repr(auditor).startswith("<Auditor of a model of catboost: ")
    assert "model of catboost" in auditor._repr_html_()
