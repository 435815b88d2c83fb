"""People similar to the fair, asked of the model: who they are, and what they notice.

Each mutant makes the mistake that an importer or a region could make. Where the search
says fair of somebody whom the model treats otherwise, the audit must end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Budget, Ensemble, Schema, Similarity
from fatt.audit.drawn import Drawn
from fatt.audit.replay import Replay
from fatt.audit.run import Run
from fatt.audit.spot_checks import SpotChecks
from fatt.errors import DataError, ReplayError, SpecError
from fatt.people import People
from fatt.region import Ordinal, Relation, Variables, neighbourhood
from fatt.region.boxes import Boxes, Membership, code_words
from fatt.region.neighbourhood import Neighbourhood
from fatt.region.rules import Rules
from tests.audit.posed import posed, read_as

N_PEOPLE = 200
SEXES, WARDS = ["F", "M"], ["N", "E", "S", "W", "C"]


def people(n_people: int = N_PEOPLE, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_people),
            "pay": np.round(rng.normal(30, 8, n_people), 2),
            "sex": rng.choice(SEXES, n_people),
            "ward": rng.choice(WARDS, n_people, p=[0.3, 0.3, 0.2, 0.17, 0.03]),
        }
    )


def outcome(table: pd.DataFrame) -> Any:
    return (table["age"] / 2 + table["pay"] > 55).astype(int)


def fitted(model: Any, y: Any = None) -> Any:
    table = people(1000, seed=1)
    columns = make_column_transformer(
        (OrdinalEncoder(categories=[SEXES, WARDS]), ["sex", "ward"]),
        remainder="passthrough",
    )
    return make_pipeline(columns, model).fit(table, outcome(table) if y is None else y)


SIMILARITIES: dict[str, Relation] = {
    "noise": Similarity(noise={"age": 2, "pay": "5%"}),
    "vary": Similarity(vary=["sex", "ward"]),
    "lists": Similarity(vary={"ward": ["N", "E", "C"]}, noise={"pay": "+2"}),
    "range": Similarity(noise={"age": "30..50"}),
    "where": Similarity(noise={"age": 3}, vary=["sex"], where={"ward": ["N", "E"]})
    | Similarity(noise={"pay": 4}, where={"age": "<= 40"}),
    "numbers that vary": Similarity(vary=["pay"], where={"pay": "20..40"}),
}
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda table: table.set_axis([7] * len(table)),
    "categories": lambda table: table.astype({"sex": "category", "ward": "category"}),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "array": lambda table: table.to_numpy(),
}


def draw(run: Run, fair: Any, count: int) -> Drawn | None:
    return SpotChecks(run.variables, run.similarity).draw(run, fair, count)


def run_of(model: Any, table: Any, similarity: Relation, *, schema: Any = None) -> Run:
    known = table if schema is None else schema
    return fatt.Auditor(model, similarity=similarity, schema=known).run(table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SIMILARITIES)
def test_whoever_is_drawn_is_similar(name: str, kind: str) -> None:
    table = people()
    tree = fitted(DecisionTreeClassifier(max_depth=6, random_state=0))
    schema = Schema.infer(fatt.load(tree).ensemble, table)
    order = [feature.name for feature in fatt.load(tree).features]
    work = run_of(tree, KINDS[kind](table[order]), SIMILARITIES[name], schema=schema)
    fair = np.arange(0, N_PEOPLE, 3)
    drawn = draw(work, fair, 600)
    assert drawn is not None
    assert np.isin(drawn.index, fair).all()
    assert len(np.unique(drawn.index)) > len(fair) / 4
    variables = work.variables
    values = variables.gather(variables.model.read(drawn.table))
    # What was drawn is what we meant, and the index says to whom it is similar.
    np.testing.assert_array_equal(values, drawn.values)
    everybody = work.people.values(0, N_PEOPLE)
    np.testing.assert_array_equal(everybody[drawn.index], drawn.own)
    assert (values != drawn.own).any(axis=1).all()
    assert len(np.unique(np.column_stack([drawn.index, values]), axis=0)) == len(values)
    membership = Membership(variables.ensemble.features)
    for row, value in zip(drawn.index.tolist(), values, strict=True):
        boxes = work.boxes(everybody[[row]])
        assert membership.are_similar(boxes, np.array([0]), value[np.newaxis]).all()


def test_both_halves_draw_every_category_and_thresholds() -> None:
    table = people()
    tree = fitted(DecisionTreeClassifier(max_depth=6, random_state=0))
    work = run_of(tree, table, Similarity(noise={"pay": 4}, vary=["ward"]))
    drawn = draw(work, np.arange(5), 1000)
    assert drawn is not None
    names = [feature.name for feature in work.variables.ensemble.features]
    wards = drawn.values[:, names.index("ward")]
    pay = drawn.values[:, names.index("pay")]
    for row in range(5):
        assert set(wards[drawn.index == row]) == set(range(len(WARDS)))
    cuts = work.variables.ensemble.thresholds(names.index("pay"))
    beside = [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)]
    assert all(np.isin(pay, one).any() for one in beside)


def test_the_same_people_are_drawn_whatever_the_run_is_like(tmp_path: Path) -> None:
    table, path = people(), tmp_path / "audit.journal"
    forest = fitted(RandomForestClassifier(8, max_depth=5, random_state=0))
    given: dict[str, Any] = {"similarity": SIMILARITIES["vary"]}
    report = fatt.verify(forest, table, **given)
    assert report.asked.people == N_PEOPLE
    assert 300 < report.asked.similar <= 1000
    for n_jobs in (1, 2):
        again = fatt.verify(forest, table, **given, n_jobs=n_jobs, journal=path)
        assert again.to_json() == report.to_json()
        assert again.asked == report.asked
    drawn = [draw(run_of(forest, table, **given), np.arange(50), 100) for _ in range(2)]
    assert drawn[0] is not None
    assert drawn[1] is not None
    np.testing.assert_array_equal(drawn[0].values, drawn[1].values)


def test_how_many_are_asked() -> None:
    table = people()
    forest = fitted(RandomForestClassifier(8, max_depth=5, random_state=0))
    similarity = Similarity(noise={"pay": 1.5})

    def asked(count: int) -> int:
        report = fatt.verify(forest, table, similarity=similarity, spot_checks=count)
        assert report.counts["fair"] > 100
        assert report.asked.people == N_PEOPLE
        return report.asked.similar

    assert asked(0) == 0
    assert asked(1) == 1
    assert asked(10) == 10
    assert 1500 < asked(2000) <= 2000
    # However few are fair, at most 64 to one person.
    fair = np.flatnonzero(fatt.verify(forest, table, similarity=similarity).is_fair)
    prepared = fatt.Auditor(forest, similarity=similarity, schema=table)
    assert 64 < prepared.verify(table.iloc[fair[:2]]).asked.similar <= 128
    # Nobody but the other sex is similar: one each.
    only = fatt.verify(forest, table, similarity=Similarity(vary=["sex"]))
    assert only.asked.similar == only.counts["fair"]
    # Of somebody who is similar to nobody, nobody is asked.
    alone = Similarity(vary=["sex"], where={"age": "> 200"})
    auditor = fatt.Auditor(forest, similarity=alone, schema=table)
    assert auditor.verify(table.iloc[:1]).asked.similar == 0
    unknown = fatt.verify(
        forest, table, similarity=Similarity(noise=9), budget=Budget(total_nodes=0)
    )
    if not unknown.counts["fair"]:
        assert unknown.asked.similar == 0
    # Without the model itself, nobody is.
    assert (
        fatt.verify(
            fatt.load(forest).ensemble, table, similarity=similarity
        ).asked.similar
        == 0
    )


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True, None])
def test_a_number_that_is_none(wrong: Any) -> None:
    with pytest.raises(SpecError, match=r"spot_checks is .*; write a whole number"):
        fatt.verify(
            DecisionTreeClassifier().fit([[1.0], [2.0]], [0, 1]),
            [[1.0]],
            similarity=Similarity(noise=1),
            spot_checks=wrong,
        )


# ---- mutants: what an importer or a region could get wrong


def fair_yet_denied(model: Any, table: Any, similarity: Relation) -> None:
    """Check that only the spot checks notice: all own answers are right."""
    with pytest.raises(ReplayError, match=r"row \d+: .*everybody similar gets .*model"):
        fatt.verify(model, table, similarity=similarity)
    report = fatt.verify(model, table, similarity=similarity, spot_checks=0)
    assert report.counts["fair"] > 0


def test_a_changed_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.linspace(0, 100, 101)[:, np.newaxis]
    tree = DecisionTreeClassifier().fit(X, (X[:, 0] > 40) & (X[:, 0] < 60))

    def changed(model: Ensemble) -> Ensemble:
        values = np.zeros_like(model.trees.values)
        values[:, 0] = 1.0
        return replace(model, trees=replace(model.trees, values=values))

    read_as(monkeypatch, changed)
    table = X[(X[:, 0] < 39) | (X[:, 0] > 61)]
    fair_yet_denied(tree, table, Similarity(noise={"x0": 5}))
    with pytest.raises(ReplayError, match=r"row 41: .*the person gets False.*True"):
        fatt.verify(tree, X, similarity=Similarity(noise={"x0": 5}), spot_checks=0)


def test_a_threshold_that_is_off_by_one_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.array([[20.0], [30.0], [40.0], [50.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])

    def shifted(model: Ensemble) -> Ensemble:
        nodes = model.trees.nodes.copy()
        split = nodes["left"] >= 0
        nodes["threshold"][split] = np.nextafter(nodes["threshold"][split], -np.inf)
        return replace(model, trees=replace(model.trees, nodes=nodes))

    # To the library the threshold itself is on the left, and to us on the right.
    (cut,) = fatt.load(tree).ensemble.thresholds(0)
    read_as(monkeypatch, shifted)
    rows = np.array([[20.0], [cut + 0.5], [40.0]])
    assert rows[1] - 0.5 == cut
    fair_yet_denied(tree, rows, Similarity(noise={"x0": "-0.5"}))


def test_dropped_weights_of_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(60)
    model = fitted(
        HistGradientBoostingClassifier(max_iter=12, random_state=0, max_depth=3)
    )

    def dropped(ensemble: Ensemble) -> Ensemble:
        values = ensemble.trees.values.copy()
        values[: len(values) // 2] *= 0.1
        return replace(ensemble, trees=replace(ensemble.trees, values=values))

    read_as(monkeypatch, dropped)
    with pytest.raises(ReplayError, match=r"row \d+: the search says that"):
        fatt.verify(model, table, similarity=SIMILARITIES["noise"])


def ward_matters() -> Any:
    """A model that treats the few people of one ward otherwise."""
    table = people(1000, seed=1)
    return fitted(
        DecisionTreeClassifier(max_depth=8, random_state=0),
        ((table["ward"] == "C") & (table["age"] > 30)).astype(int),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_category_left_out_of_the_region(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    model = ward_matters()
    ensemble = fatt.load(model).ensemble
    names = [feature.name for feature in ensemble.features]
    ward = names.index("ward")
    word = code_words(ensemble.features)[ward]
    boxes = Neighbourhood.boxes

    def forgetful(self: Neighbourhood, values: Any, **given: Any) -> Boxes:
        made = boxes(self, values, **given)
        codes = made.codes.copy()
        gone = values[made.person, ward] != WARDS.index("C")
        codes[gone, word] &= ~np.uint64(1 << WARDS.index("C"))
        return replace(made, codes=codes)

    monkeypatch.setattr(Neighbourhood, "boxes", forgetful)
    table = people()
    schema = Schema.infer(ensemble, table)
    everybody = KINDS[kind](table[names])
    told = r"gets what is like 0, .* answers 1 .* ward . → C"
    with pytest.raises(ReplayError, match=told):
        fatt.verify(
            model, everybody, similarity=Similarity(vary=["ward"]), schema=schema
        )


def test_noise_that_stops_short(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.arange(0.0, 40.0)[:, np.newaxis]
    tree = DecisionTreeClassifier().fit(X, X[:, 0] > 20)
    boxes = Neighbourhood.boxes

    def narrow(self: Neighbourhood, values: Any, **given: Any) -> Boxes:
        made = boxes(self, values, **given)
        own = values[made.person]
        lower, upper = (own + (end - own) / 2 for end in (made.lower, made.upper))
        return replace(made, lower=lower, upper=upper)

    monkeypatch.setattr(Neighbourhood, "boxes", narrow)
    fair_yet_denied(tree, X, Similarity(noise={"x0": 4}))


def test_levels_that_stop_short(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ward_matters()
    table = people()
    schema = Schema.infer(fatt.load(model).ensemble, table)
    schema = schema.with_(ward=Ordinal(levels=WARDS))
    bind = neighbourhood.bind

    def without_levels(one: Similarity, variables: Variables) -> Rules:
        return replace(bind(one, variables), levels={})

    monkeypatch.setattr(neighbourhood, "bind", without_levels)
    with pytest.raises(ReplayError, match=r"answers . .* ward . → ."):
        fatt.verify(
            model, table, similarity=Similarity(noise={"ward": 2}), schema=schema
        )


def test_an_alternative_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bind = neighbourhood.bind
    first = Similarity(noise={"pay": 0.01})
    monkeypatch.setattr(neighbourhood, "bind", lambda _, given: bind(first, given))
    similarity = first | Similarity(vary=["ward"])
    fair_yet_denied(ward_matters(), people(), similarity)


def test_columns_that_are_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 3)), 2)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    tree.fit(X, X[:, 0] + X[:, 1] / 4 > 0)

    def swapped(model: Ensemble) -> Ensemble:
        nodes = model.trees.nodes.copy()
        is_split = nodes["left"] >= 0
        feature = nodes["feature"][is_split]
        nodes["feature"][is_split] = np.array([1, 0, 2])[feature]
        return replace(model, trees=replace(model.trees, nodes=nodes))

    read_as(monkeypatch, swapped)
    with pytest.raises(ReplayError, match=r"row \d+: the search says"):
        fatt.verify(tree, X, similarity=Similarity(noise=0.1))
    # Even if everybody's own answer is right.
    same = np.repeat(X[:, :1], 3, axis=1)
    with pytest.raises(ReplayError, match=r"row \d+: the search says"):
        fatt.verify(tree, same, similarity=Similarity(noise={"x0": 0.8}))


def test_missing_values_that_go_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[::3, 0] = np.nan
    y = np.isnan(X[:, 0]) | (X[:, 0] > 1)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)

    def flipped(model: Ensemble) -> Ensemble:
        nodes = model.trees.nodes.copy()
        nodes["missing_left"] ^= nodes["left"] >= 0
        return replace(model, trees=replace(model.trees, nodes=nodes))

    read_as(monkeypatch, flipped)
    similarity = Similarity(noise={"x0": 0.01}, missing=["x0"])
    with pytest.raises(ReplayError, match=r"row \d+: the search says"):
        fatt.verify(tree, X, similarity=similarity)
    # Even if nobody's value is missing.
    known = X[(X[:, 0] < 0.8) & ~np.isnan(X[:, 0])]
    fair_yet_denied(tree, known, similarity)


def test_a_model_that_refuses_somebody_similar() -> None:
    X = np.array([[20.0], [30.0], [40.0], [50.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])

    class Picky:
        def predict(self, X: Any) -> Any:
            if np.max(X) > 50:
                raise ValueError("too old")
            return tree.predict(X)

    words = r"takes the person and not somebody similar \(ValueError: too old\)"
    with pytest.raises(ReplayError, match=words):
        fatt.verify(posed(Picky(), tree), X, similarity=Similarity(noise={"x0": 1}))


def test_one_hot_columns_are_taken_together() -> None:
    rng = np.random.default_rng(0)
    race = rng.choice(["Asian", "Black", "White"], 200)
    table = pd.DataFrame(
        {f"race={name}": (race == name).astype(float) for name in np.unique(race)}
    )
    table["age"] = rng.integers(18, 70, size=200)
    model = DecisionTreeClassifier(max_depth=5, random_state=0)
    model.fit(table, table["age"] + 5 * table["race=White"] > 60)
    report = fatt.verify(model, table, similarity=Similarity(vary=["race"]))
    assert report.counts["fair"] > 50
    fair = report.counts["fair"]
    assert 1.5 * fair < report.asked.similar <= 2 * fair


def test_pipelines_with_texts() -> None:
    table = people()
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["sex", "ward"]),
        remainder="passthrough",
    )
    train = people(500, seed=3)
    forest = RandomForestClassifier(10, max_depth=5, random_state=0)
    model = make_pipeline(columns, forest).fit(train, outcome(train))
    for similarity in SIMILARITIES.values():
        report = fatt.verify(model, table, similarity=similarity)
        assert report.asked.people == N_PEOPLE
        assert report.asked.similar > 0


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_missing_among_types_that_know_na(dtype: str) -> None:
    table = people()
    model = fitted(DecisionTreeClassifier(max_depth=4, random_state=0))
    # As it stands a pipeline takes such a column, and none with an NA.
    given = table.astype({"pay": dtype})
    similarity = Similarity(noise={"pay": 1}, missing=["pay"])
    report = fatt.verify(model, given, similarity=similarity)
    assert min(report.counts["fair"], report.counts["unfair"]) > 0
    assert report.asked.similar > 100


def test_an_array_is_handed_over_with_the_objects_it_holds() -> None:
    """In columns of texts pandas makes NaN of None, which the encoder tells apart."""
    table = people().astype({"sex": object})
    trained = table.copy()
    trained.loc[::3, "sex"] = np.nan
    columns = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["sex"]),
        ("passthrough", ["age"]),
    )
    label = np.where(trained["sex"].isna(), 1, 0)
    tree = make_pipeline(columns, DecisionTreeClassifier(random_state=0))
    tree.fit(trained[["age", "sex"]], label)
    table.loc[::4, "sex"] = None
    given = table[["age", "sex"]]
    expected = tree.predict(given).tolist()
    assert len({*expected}) == 1
    assert set(tree.predict(trained[["age", "sex"]])) == {0, 1}
    similarity = Similarity(noise={"age": 1})
    report = fatt.verify(tree, given.to_numpy(), similarity=similarity)
    assert report.counts["fair"] == len(given)
    labels = [report.findings.classes[code] for code in report.findings.label]
    assert labels == expected


def test_others_keep_their_cells_if_the_type_of_a_column_must_change() -> None:
    """A null among booleans is None to an encoder, and missing among floats."""
    rng = np.random.default_rng(0)
    flag = rng.choice(np.array([True, False, np.nan], dtype=object), 600)
    trained = pd.DataFrame({"age": rng.integers(18, 80, 600), "flag": flag, "sex": "F"})
    columns = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            ["flag", "sex"],
        ),
        ("passthrough", ["age"]),
    )
    label = (trained["age"] > np.where(trained["flag"].isna(), 40, 60)).astype(int)
    tree = make_pipeline(columns, DecisionTreeClassifier(random_state=0))
    tree.fit(trained, label)
    flags = rng.choice(np.array([True, False, None], dtype=object), 200)
    table = pl.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "flag": pl.Series(flags.tolist()),
            "sex": ["F"] * 200,
        }
    )
    similarity = Similarity(missing=["flag"], where={"age": "<= 50"}) | Similarity(
        noise={"age": 2}, where={"age": "> 50"}
    )
    report = fatt.verify(tree, table, similarity=similarity)
    assert report.counts["unfair"] > 0
    assert report.asked.similar > 100


def test_a_table_that_cannot_hold_a_missing_text_is_said_to_be_so() -> None:
    frame = pd.DataFrame(
        {
            "sex": np.array(["F", "M", np.nan] * 20, dtype=object),
            "age": np.arange(60.0),
        }
    )
    encoder = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="error")
    )
    model = make_pipeline(
        make_column_transformer((encoder, ["sex"]), remainder="passthrough"),
        DecisionTreeClassifier(max_depth=2),
    ).fit(frame, np.arange(60) > 30)
    known = frame[frame["sex"].notna()].reset_index(drop=True)
    similarity = Similarity(noise={"age": 1}, missing=["sex"])
    assert fatt.verify(model, known, similarity=similarity).asked.similar > 0
    table = pl.DataFrame({"sex": known["sex"].to_list(), "age": known["age"].to_list()})
    with pytest.raises(DataError, match="pass a frame of pandas"):
        fatt.verify(model, table, similarity=similarity)


class Picky(DecisionTreeClassifier):
    """Refuses everybody whom the tests have not shown to it themselves."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        if not np.isin(np.asarray(X)[:, 0], [20.0, 30.0, 40.0, 50.0]).all():
            raise ValueError("who is that?")
        return super().predict(X, check_input)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_another_refusal_of_made_rows_is_no_fault_of_the_table(frame: Any) -> None:
    """Texts with gaps that the model does not read are no reason either."""
    cells: dict[str, Any] = {"age": [20.0, 30.0, 40.0, 50.0]}
    answers = ["deny", "deny", "grant", "grant"]
    tree, picky = (
        kind().fit(pd.DataFrame(cells), answers)
        for kind in (DecisionTreeClassifier, Picky)
    )
    rows = frame({**cells, "name": ["Ann", None, "Cid", None]})
    with pytest.raises(ReplayError, match=r"takes the person and not .*who is that"):
        fatt.verify(posed(picky, tree), rows, similarity=Similarity(noise={"age": 2}))


class Liar(DecisionTreeClassifier):
    """Grants to those between 25 and 28, which is not how it is read."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        known = super().predict(X, check_input)
        age = np.asarray(X)[:, 0]
        return np.where((age > 25) & (age <= 28), "grant", known)


@pytest.mark.parametrize(
    ("ages", "shift", "shift_alone", "n_asked"),
    [
        # Denied by nobody but the liar, whose table is read as drawn only alone.
        ([26.0, 22.0], 0.5, 0.0, None),
        # Somebody else, because of another in the table; alone all is well.
        ([23.0, 20.0], 3.0, 0.0, 2),
        # No table holds the first of them: nothing was asked about that one.
        ([23.0, 20.0], 3.0, 3.0, 1),
    ],
)
def test_whoever_a_table_changes_is_asked_about_alone(
    ages: list[float], shift: float, shift_alone: float, n_asked: int | None
) -> None:
    table = np.array([[20.0], [30.0], [40.0], [50.0]])
    answers = ["deny", "deny", "grant", "grant"]
    tree, liar = (kind().fit(table, answers) for kind in (DecisionTreeClassifier, Liar))
    model = posed(liar, tree)
    variables = Variables(model.ensemble, Schema.from_ensemble(model.ensemble))
    replay = Replay(model, variables)
    replay.everybody(People(table, variables))
    values = np.array(ages)[:, np.newaxis]

    class Shifted(Drawn):
        @property
        def table(self) -> Any:
            return self.values + (shift if len(self) > 1 else shift_alone)

    own = np.array([[20.0], [20.0]])
    drawn = Shifted(People(table, variables), np.array([0, 0]), own, values)
    label = np.array([0, 0])
    if n_asked is None:
        with pytest.raises(ReplayError, match=r"row 0: .* differs in x0 20.0 → 26.0"):
            replay.similar(drawn, label)
    else:
        assert replay.similar(drawn, label) == n_asked
