"""Names from outside: the exact form speaks people's words, the model its own."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.ensemble import Categorical
from fatt.errors import DataError, SpecError
from tests.laws.effort import for_seeds

pandas = pytest.importorskip("pandas")

NAMES = ["age", "race", "income"]
RACE = {1: "White", 2: "Asian", 3: "Native", 4: "Black", 7: "Other"}
ANSWERS = {0: "denied", 1: "granted"}


def people(rng: np.random.Generator, count: int = 80) -> Any:
    """Return people as a model without names takes them."""
    return np.column_stack(
        [
            rng.integers(18, 80, count),
            rng.choice(list(RACE), count),
            rng.normal(30, 9, count).round(2),
        ]
    ).astype(np.float64)


def outcomes(rng: np.random.Generator, X: Any) -> Any:
    chosen = rng.choice(list(RACE), 2)
    return (np.isin(X[:, 1], chosen) ^ (X[:, 0] > rng.integers(30, 60))).astype(int)


def fitted(kind: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return a model that was fitted without names, and its people."""
    X = people(rng)
    y = outcomes(rng, X)
    y[:2] = 0, 1
    if kind == "sklearn":
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(5, random_state=int(rng.integers(99)))
        return model.fit(X, y), X
    if kind == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        return xgboost.XGBClassifier(n_estimators=4, max_depth=3).fit(X, y), X
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(
        n_estimators=4, min_child_samples=2, cat_smooth=0.1, verbose=-1
    )
    categories = [1] if kind == "codes" else "auto"
    return model.fit(X, y, categorical_feature=categories), X


def tables(rng: np.random.Generator, X: Any) -> list[Any]:
    """Return the same people in all the ways in which they may be written."""
    frame = pandas.DataFrame(X, columns=NAMES)
    mixed = frame[list(rng.permutation(NAMES))].assign(other="x")
    words = mixed.assign(race=[RACE[code] for code in X[:, 1]])
    whole = mixed.assign(race=X[:, 1].astype(int), age=X[:, 0].astype(int))
    return [X, frame, mixed, words, whole, words.astype({"race": "category"})]


@pytest.mark.parametrize("kind", ["sklearn", "xgboost", "lightgbm", "codes"])
@for_seeds(4)
def test_named_models_answer_as_the_models_themselves(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, X = fitted(kind, rng)
    model = fatt.load(own, columns=NAMES, codes={"race": RACE}, answers=ANSWERS)
    expected = [ANSWERS[label] for label in own.predict(X).tolist()]
    reports = []
    for table in tables(rng, X):
        assert model.predict(table).tolist() == expected
        assert model.ask(table) == expected
        assert (model.ask_proba(table) == own.predict_proba(X)).all()
        similarity = Similarity(noise={"age": 2}, vary=["race"])
        report = fatt.verify(model, table, similarity=similarity)
        assert report.asked.people == len(X)
        assert all(case.replayed_on == "model" for case in report.counterexamples)
        reports.append([finding.verdict for finding in report.findings])
        for case in report.counterexamples:
            assert case.individual["race"] in RACE.values()
            assert case.twin["race"] in RACE.values()
            twin = [[case.twin["age"], case.twin["race"], case.twin["income"]]]
            assert model.predict(pandas.DataFrame(twin, columns=NAMES)).tolist() == [
                case.twin_label
            ]
    assert all(verdicts == reports[0] for verdicts in reports)
    for person, verdict in zip(X, reports[0], strict=True):
        # Race alone is easily tried out on the model itself.
        others = np.tile(person, (len(RACE), 1))
        others[:, 1] = list(RACE)
        if len(set(own.predict(others).tolist())) > 1:
            assert verdict == "unfair"


def test_names_are_part_of_what_is_saved(tmp_path: Path) -> None:
    own, X = fitted("sklearn", np.random.default_rng(0))
    bare = fatt.load(own)
    named = fatt.load(own, columns=NAMES, codes={"race": RACE}, answers=ANSWERS)
    assert len({bare.digest, named.digest, fatt.load(own, columns=NAMES).digest}) == 3
    named.save(tmp_path / "named.fatt")
    again = fatt.load(tmp_path / "named.fatt")
    assert again == named
    words = tables(np.random.default_rng(0), X)[3]
    assert again.predict(words).tolist() == named.predict(words).tolist()
    assert (
        fatt.load(bare, columns=NAMES, codes={"race": RACE}, answers=ANSWERS) == named
    )
    copy = pickle.loads(pickle.dumps(named))
    assert copy.ask(words) == named.ask(words)


def test_codes_that_the_model_knows_without_a_word_keep_their_number() -> None:
    rng = np.random.default_rng(1)
    own, X = fitted("codes", rng)
    model = fatt.load(own, columns=NAMES, codes={"race": {4: "Black", 99: "New"}})
    race = model.features[1]
    assert isinstance(race, Categorical)
    assert set(race.categories) >= {"Black", "New", "1", "2", "7"}
    assert model.ask(X) == own.predict(X).tolist()
    # A code that no split names goes the way of all others.
    new, beyond = X.copy(), X.copy()
    new[:, 1], beyond[:, 1] = 99, 12345
    assert model.predict(new).tolist() == own.predict(beyond).tolist()


def test_categories_of_a_pipeline_get_words() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = pandas.DataFrame(
        {"history": ["A34", "A30", "A32", "A34"] * 5, "age": list(range(20, 40))}
    )
    encoder = make_column_transformer(
        (OneHotEncoder(), ["history"]), remainder="passthrough"
    )
    own = make_pipeline(encoder, DecisionTreeClassifier(random_state=0))
    own.fit(frame, (frame["history"] == "A34").to_numpy())
    words = {"A34": "critical account", "A30": "no credits"}
    model = fatt.load(own, codes={"history": words}, answers={"True": "risk"})
    spoken = frame.assign(history=frame["history"].replace(words))
    expected = ["risk" if label else False for label in own.predict(frame).tolist()]
    for table in (frame, spoken):
        assert model.ask(table) == expected
        report = fatt.verify(model, table, similarity=Similarity(vary=["history"]))
        assert report.counts["unfair"] == len(frame)
        first = report.counterexamples[0]
        assert first.individual["history"] in {"critical account", "no credits", "A32"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": ["age"]}, "has 1 names, and the model reads 3"),
        ({"columns": "age"}, "write a list of names"),
        ({"columns": ["age", "age", "sex"]}, "names 'age' twice"),
        ({"answers": {2: "maybe"}}, "names 2, which the model does not answer"),
        ({"answers": {0: "x", 1: "x"}}, "'x' twice"),
        ({"codes": {"rase": {1: "White"}}}, "names the column 'rase'"),
        ({"codes": {"x1": {"one": "White"}}}, "names 'one', and the model reads a num"),
        ({"codes": {"x1": {1: "White", "1": "Black"}}}, "names a code twice"),
        ({"codes": {"x1": {1: "White", 2: "White"}}}, "gives 'White' twice"),
        ({"codes": {"x1": {}}}, "write the word of each code"),
    ],
)
def test_wrong_names_are_refused(given: dict[str, Any], message: str) -> None:
    own, _ = fitted("sklearn", np.random.default_rng(0))
    with pytest.raises(SpecError, match=message):
        fatt.load(own, **given)


def test_a_model_with_names_keeps_them() -> None:
    from sklearn.tree import DecisionTreeClassifier

    frame = pandas.DataFrame({"age": [20.0, 50.0]})
    own = DecisionTreeClassifier().fit(frame, [0, 1])
    with pytest.raises(SpecError, match="this one has its own: age"):
        fatt.load(own, columns=["years"])


@pytest.mark.parametrize("kind", ["sklearn", "xgboost", "lightgbm", "catboost"])
def test_tables_may_call_columns_otherwise(kind: str) -> None:
    rng = np.random.default_rng(3)
    X = people(rng)
    frame, y = pandas.DataFrame(X, columns=NAMES), outcomes(rng, X)
    if kind == "sklearn":
        own: Any = DecisionTreeClassifier(random_state=0)
    elif kind == "xgboost":
        own = pytest.importorskip("xgboost").XGBClassifier(n_estimators=4)
    elif kind == "lightgbm":
        own = pytest.importorskip("lightgbm").LGBMClassifier(
            n_estimators=4, min_child_samples=2, verbose=-1
        )
    else:
        own = pytest.importorskip("catboost").CatBoostClassifier(
            iterations=4, verbose=False, allow_writing_files=False
        )
    own.fit(frame, y)
    # Two columns have each other's names: whoever does not rename sees no error.
    rename = {"Age (years)": "age", "race": "income", "income": "race"}
    back = {new: old for old, new in rename.items()}
    table = frame.rename(columns=back)[["income", "race", "Age (years)"]]
    similarity = Similarity(noise={"age": 2, "income": 1})
    expected = fatt.verify(own, frame, similarity=similarity)
    assert expected.counts["unfair"]
    renamed = fatt.load(own, rename=rename)
    assert renamed.digest == fatt.load(own).digest
    words = fatt.load(renamed, codes={"race": RACE})
    for model in (renamed, words, fatt.load(own, rename=rename, codes={"race": RACE})):
        assert model.predict(table).tolist() == model.predict(X).tolist()
        assert model.ask(table) == own.predict(frame).ravel().tolist()
        report = fatt.verify(model, table, similarity=similarity)
        assert report.counts == expected.counts
        assert report.asked.people == len(X)
        assert report.counterexamples[0].changes.keys() <= {"age", "income"}


def test_names_that_tables_use_are_kept_in_the_file(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"age": [20.0, 50.0], "pay": [1.0, 1.0]})
    own = DecisionTreeClassifier().fit(frame, [0, 1])
    fatt.load(own, rename={"Age (years)": "age"}).save(tmp_path / "model.fatt")
    again = fatt.load(tmp_path / "model.fatt")
    table = frame.rename(columns={"age": "Age (years)"})
    assert again.predict(table).tolist() == [0, 1]
    with pytest.raises(DataError, match="several columns of the rows could be 'age'"):
        again.predict(table.assign(age=3.0))


def test_other_names_are_of_columns_that_the_model_reads() -> None:
    frame = pandas.DataFrame({"age": [20.0, 50.0], "pay": [1.0, 1.0]})
    own = DecisionTreeClassifier().fit(frame, [0, 1])
    with pytest.raises(SpecError, match=r"rename= names the column 'agee'.*'age'"):
        fatt.load(own, rename={"Age (years)": "agee"})
    with pytest.raises(SpecError, match="rename= names 'age' twice"):
        fatt.load(own, rename={"a": "age", "b": "age"})
    with pytest.raises(SpecError, match="write what the model calls"):
        fatt.load(own, rename=["age"])
    bare = DecisionTreeClassifier().fit(frame.to_numpy(), [0, 1])
    with pytest.raises(SpecError, match=r"no names of columns.*columns="):
        fatt.load(bare, rename={"Age (years)": "age"})
    table = pandas.DataFrame({"Age": [20.0, 50.0], "pay": [1.0, 1.0]})
    named = fatt.load(bare, columns=["age", "pay"], rename={"Age": "age"})
    assert named.ask(table) == [0, 1]


def test_a_code_without_a_word_is_refused() -> None:
    own, X = fitted("sklearn", np.random.default_rng(0))
    model = fatt.load(own, columns=NAMES, codes={"race": RACE})
    X[3, 1] = 5
    with pytest.raises(DataError, match=r"row 3: column 'race' is .*5.*no word"):
        model.predict(X)


@pytest.mark.parametrize("names", [None, ["f0", "f1", "f2"]])
def test_made_up_names_of_xgboost_are_none(names: list[str] | None) -> None:
    xgboost = pytest.importorskip("xgboost")
    X = people(np.random.default_rng(0))
    data = xgboost.DMatrix(X, X[:, 0] > 40, feature_names=names)
    own = xgboost.train({"objective": "binary:logistic"}, data, 3)
    model = fatt.load(own, columns=NAMES)
    table = pandas.DataFrame(X, columns=NAMES)[["race", "income", "age"]]
    assert model.ask(table) == model.predict(X).tolist()


def test_made_up_names_of_lightgbm_are_none(tmp_path: Path) -> None:
    own, X = fitted("lightgbm", np.random.default_rng(0))
    own.booster_.save_model(tmp_path / "model.txt")
    model = fatt.load(tmp_path / "model.txt", columns=NAMES)
    table = pandas.DataFrame(X, columns=NAMES)[["race", "income", "age"]]
    assert model.ask(table) == own.predict(X).tolist()


@pytest.mark.parametrize("word", [None, float("nan"), ("no",), ["no"]])
def test_answers_are_texts_or_numbers(word: Any) -> None:
    """A file that held another could be written, and not read."""
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(SpecError, match="write a text or a number"):
        fatt.load(model, answers={0: word})


@pytest.mark.parametrize("word", [np.str_("no"), np.int64(3)])
def test_answers_in_types_of_numpy_are_plain(word: Any, tmp_path: Path) -> None:
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    named = fatt.load(model, answers={0: word})
    named.save(tmp_path / "model.fatt")
    assert fatt.load(tmp_path / "model.fatt").classes == (word.item(), 1)


def test_numbers_keep_their_type_under_names() -> None:
    """A cut is compared in the library's own type, which a list of floats loses."""
    xgboost = pytest.importorskip("xgboost")
    X = np.arange(40.0).reshape(20, 2)
    fitted = xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, X[:, 0] / 7)
    table = pandas.DataFrame(X, columns=["age", "debt"])
    given = fitted.predict(X)
    for end in (float(np.nextafter(float(x), np.inf)) for x in np.unique(given)):
        cuts = {"low": -np.inf, "high": end}
        model = fatt.load(fitted, columns=["age", "debt"], cuts=cuts)
        expected = np.where(given >= end, "high", "low").tolist()
        assert model.ask(table) == model.predict(table).tolist() == expected


def test_codes_are_taken_in_the_types_that_the_steps_take() -> None:
    """In a column of one byte NumPy's logarithm has three digits."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X = people(np.random.default_rng(0))[:, [1]]
    own = make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier())
    own.fit(X, outcomes(np.random.default_rng(1), np.tile(X, 2)))
    model = fatt.load(own, columns=["race"], codes={"race": RACE})
    for kind in ("float64", "int64"):
        table = X.astype(kind)
        assert np.array_equal(model.predict(table), own.predict(table))
    with pytest.raises(DataError, match="int8, in which a step of the model"):
        model.predict(X.astype("int8"))
