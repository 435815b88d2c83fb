"""A category that may be anything may be any value that the library takes."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.certificate import Certificate
from fatt.certificate.certificate import contents_of
from fatt.certificate.columns import columns_of
from fatt.certificate.similar import Similar
from fatt.ensemble import Categorical, Feature, Numeric
from fatt.errors import CertificateError, SpecError
from fatt.region import Category, Neighbourhood, Ordinal, Schema, Variables
from fatt.region.boxes import code_words
from tests.certificate.forgery import changes_of
from tests.laws.effort import for_seeds
from tests.region import town

CODES = [*range(21), -1, 1_000_000]
KNOWN = Similarity(vary=["f0"])
KNOWN_GAPS = Similarity(vary=["f0"], missing=["f0"])
ANY = Similarity(vary={"f0": "any"})
GAPS = Similarity(vary={"f0": "any"}, missing=["f0"])
#: The same in LightGBM's own names.
ANY_COLUMN = Similarity(vary={"Column_0": "any"})
GAPS_COLUMN = Similarity(vary={"Column_0": "any"}, missing=["Column_0"])


def xgboost_model(X: Any, y: Any, **options: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    options = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1, **options}
    options = {"learning_rate": 1.0, **options}
    if isinstance(X, np.ndarray):
        options["feature_types"] = ["c", "q"]
    return xgboost.XGBClassifier(enable_categorical=True, **options).fit(X, y)


def lightgbm_model(X: Any, y: Any, **options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    options = {"n_estimators": 3, "min_child_samples": 1, **options}
    options |= {"min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 4}
    clf = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, **options)
    if not isinstance(X, np.ndarray):
        return clf.fit(X, y)
    return clf.fit(X, y, categorical_feature=[0])


def with_value(X: Any, value: Any) -> Any:
    """The same people, all with one value of the category."""
    if isinstance(X, np.ndarray):
        changed = X.astype(np.float64)
        changed[:, 0] = value
        return changed
    kinds = X["f0"].cat.categories
    kinds = kinds if value in kinds else [*kinds, value]
    values = pd.Categorical([value] * len(X), categories=kinds)
    return X.assign(f0=values)


def truly_fair(clf: Any, X: Any, values: list[Any]) -> Any:
    """Whether the library gives all values of the category the person's own label."""
    own = np.asarray(clf.predict(X))
    fair = np.ones(len(X), dtype=bool)
    for value in values:
        fair &= np.asarray(clf.predict(with_value(X, value))) == own
    return fair


def verdicts(report: Any) -> Any:
    assert not report.counts["unknown"]
    return np.array([str(finding.verdict) == "fair" for finding in report.findings])


def check(clf: Any, X: Any, similarity: Any, values: list[Any]) -> Any:
    """Compare a report with brute force, its twins with the library, and its proof."""
    report = fatt.verify(clf, X, similarity=similarity)
    np.testing.assert_array_equal(verdicts(report), truly_fair(clf, X, values))
    for case in report.counterexamples:
        assert case.replayed_on == "model"
        if isinstance(X, np.ndarray):
            # A twin can be handed over as it is shown, but for a code that it keeps.
            twin = X[case.index].copy()
            for place, value in enumerate(case.twin.values()):
                if value != "(other)":
                    twin[place] = math.nan if value is None else value
            assert clf.predict(twin[np.newaxis])[0] == case.twin_label
    checked = report.certificate().check(clf)
    assert checked.fair + checked.claimed == report.counts["fair"]
    return report


@pytest.mark.xgboost
def test_codes_that_no_split_of_xgboost_names() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 8, 600), rng.normal(size=600)])
    y = (X[:, 0] < 2).astype(int)
    clf = xgboost_model(X, y, n_estimators=1, max_cat_to_onehot=100)
    by_code = clf.predict(np.column_stack([np.arange(8), np.zeros(8)]))
    assert by_code.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert fatt.load(clf).features[0].categories == (0, 1)
    report = check(clf, X, ANY, CODES)
    assert report.counts["unfair"] == 600
    twin = report.counterexamples[0].twin["f0"]
    assert twin in (0, 1, 2)
    words = report.similarity.describe(report.people.variables.schema)
    assert "'f0' may be anything, also a value that the model does not know" in words
    check(clf, X[:50], GAPS, [*CODES, math.nan])


@pytest.mark.xgboost
def test_a_category_of_which_no_split_names_a_code() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 8, 300), rng.normal(size=300)])
    clf = xgboost_model(X, (X[:, 1] > 0).astype(int), n_estimators=1, max_depth=1)
    assert fatt.load(clf).features[0].categories == ()
    report = check(clf, X[:30], ANY, CODES)
    assert report.counts["fair"] == 30
    assert "'f0', any value" in str(report.certificate().check(clf))


@pytest.mark.lightgbm
def test_a_rare_code_that_lightgbm_does_not_list() -> None:
    rng = np.random.default_rng(0)
    code = np.append(rng.integers(0, 2, 1990), [2] * 10)
    X = np.column_stack([code, rng.normal(size=2000)])
    clf = lightgbm_model(X, (code < 2).astype(int), learning_rate=1.0)
    model = fatt.load(clf)
    assert model.features[0].categories == (0, 1)
    by_code = clf.predict(np.column_stack([np.arange(4), np.zeros(4)]))
    assert by_code.tolist() == [1, 1, 0, 0]
    report = check(clf, X[::20], ANY_COLUMN, CODES)
    assert report.counts["unfair"] == 100
    check(clf, X[::40], GAPS_COLUMN, [*CODES, math.nan])


def text_model(frame: Any, y: Any, seed: int) -> Any:
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(
        iterations=3,
        depth=3,
        learning_rate=1.0,
        cat_features=["f0"],
        one_hot_max_size=[2, 20][seed % 2],
        max_ctr_complexity=1,
        verbose=0,
        allow_writing_files=False,
    ).fit(frame, y)


def people(rng: np.random.Generator, n_codes: int, n_rows: int) -> Any:
    X = np.column_stack(
        [rng.integers(0, n_codes, n_rows), rng.integers(0, 4, n_rows) / 2]
    )
    worth = rng.normal(size=n_codes)
    y = worth[X[:, 0].astype(int)] + X[:, 1] + rng.normal(size=n_rows) / 4 > 0.7
    y[:2] = [False, True]
    return X, y.astype(int)


@pytest.mark.xgboost
@for_seeds(8)
def test_any_code_of_xgboost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = people(rng, int(rng.integers(2, 9)), 150)
    X[rng.random(150) < 0.1, 0] = np.nan
    missing = rng.choice([np.nan, np.nan, 1.0, 2.0, -1.0])
    onehot = int(rng.choice([1, 100]))
    clf = xgboost_model(X, y, max_cat_to_onehot=onehot, missing=missing)
    rows = X[:40].copy()
    strangers = rng.random(40) < 0.3
    rows[strangers, 0] = rng.choice(CODES, strangers.sum())
    # A number that means missing is no value, and NaN is missing besides.
    codes = [code for code in CODES if code != missing]
    for similarity, values in ((ANY, codes), (GAPS, [*codes, math.nan])):
        known = rows if similarity is GAPS else rows[~np.isnan(rows[:, 0])]
        known = known[known[:, 0] != missing]
        check(clf, known, similarity, values)


@pytest.mark.lightgbm
@for_seeds(8)
def test_any_code_of_lightgbm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = people(rng, int(rng.integers(2, 9)), 150)
    clf = lightgbm_model(X, y)
    rows = X[:40].copy()
    strangers = rng.random(40) < 0.3
    rows[strangers, 0] = rng.choice(CODES, strangers.sum())
    check(clf, rows, ANY_COLUMN, CODES)
    rows[:5, 0] = np.nan
    check(clf, rows, GAPS_COLUMN, [*CODES, math.nan])


@pytest.mark.catboost
@for_seeds(8)
def test_any_text_of_catboost(seed: int) -> None:
    """Known texts, whole numbers, and texts that the model never saw."""
    rng = np.random.default_rng(seed)
    X, y = people(rng, int(rng.integers(2, 9)), 150)
    known = np.array(["a", "b", "Ulm", "3", "", "x y", "São", "7"], dtype=object)
    frame = pd.DataFrame({"f0": known[X[:, 0].astype(int)], "f1": X[:, 1]})
    clf = text_model(frame, y, seed)
    rows = frame[:40].copy()
    strangers = rng.random(40) < 0.3
    rows.loc[strangers, "f0"] = rng.choice(["new", "100"], int(strangers.sum()))
    own = np.asarray(clf.predict(rows))
    fair = np.ones(len(rows), dtype=bool)
    for text in [*known, "new", "100", "never", 3, 7]:
        fair &= np.asarray(clf.predict(rows.assign(f0=text))) == own
    report = fatt.verify(clf, rows, similarity=ANY)
    np.testing.assert_array_equal(verdicts(report), fair)
    assert {case.replayed_on for case in report.counterexamples} <= {"model"}
    checked = report.certificate().check(clf)
    assert checked.fair + checked.claimed == report.counts["fair"]


def framed(X: Any, labels: str) -> Any:
    kinds = pd.Categorical(
        [labels[int(code)] for code in X[:, 0]], categories=[*labels]
    )
    return pd.DataFrame({"f0": kinds, "f1": X[:, 1]})


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@for_seeds(4)
def test_labels_are_a_list_that_holds_the_tables(library: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = people(rng, 5, 150)
    frame = framed(X, "abcde")
    make = xgboost_model if library == "xgboost" else lightgbm_model
    clf = make(frame, y)
    check(clf, frame[:30], ANY, [*"abcde"])
    if library == "xgboost":
        # It takes a label that it does not know for another one.
        return
    strange = framed(np.array([[5, 0.5], [5, 1.0]]), "abcdez")
    both = pd.concat(
        [frame[:30].astype({"f0": object}), strange.astype({"f0": object})]
    )
    both["f0"] = both["f0"].astype(pd.CategoricalDtype([*"abcdez"]))
    both = both.reset_index(drop=True)
    report = check(clf, both, ANY, [*"abcdez"])
    assert report.people.variables.schema.find("f0").others
    # By another schema nobody else varies to their value, and they are named.
    schema = Schema.infer(fatt.load(clf), frame)
    fewer = fatt.verify(clf, both, similarity=KNOWN, schema=schema)
    assert any("Row 30: 'f0'" in one for one in fewer.warnings)
    assert fewer.counts["unfair"] <= report.counts["unfair"]
    with_others = schema.with_(f0=Category(others=True))
    again = fatt.verify(clf, both, similarity=KNOWN, schema=with_others)
    assert again.counts == report.counts
    assert not any("Row 30" in one for one in again.warnings)


def random_feature(rng: np.random.Generator) -> Categorical:
    count = int(rng.choice([0, 1, 3, 63, 64, 70]))
    labelled = bool(rng.integers(2))
    low = float(rng.integers(-1, 5))
    return Categorical(
        name="f0",
        categories=tuple(f"c{i}" for i in range(count))
        if labelled
        else tuple(range(count)),
        coding="label" if labelled else str(rng.choice(["floor", "truncate"])),
        labelled=labelled,
        accepts_unknown=bool(rng.integers(2)),
        missing_range=(low, low) if rng.integers(2) else None,
    )


@for_seeds(200)
def test_search_and_checker_agree_on_anything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    feature = random_feature(rng)
    features: tuple[Feature, ...] = (feature, Numeric(name="f1"))
    model = town.make(features)
    kind: Any = Category(name="f0", columns="f0", others=bool(rng.integers(2)))
    if feature.categories and rng.integers(3) == 0:
        kind = Ordinal(name="f0", columns="f0", levels=feature.categories[:2])
    schema = Schema.from_ensemble(model).with_(f0=kind)
    similarity = (KNOWN, KNOWN_GAPS, ANY, GAPS)[rng.integers(4)]
    codes = np.arange(feature.n_codes + 1.0)
    codes[-1] = np.nan
    rows = np.column_stack([codes, np.zeros(len(codes))])
    boxes = Neighbourhood(similarity, Variables(model, schema)).boxes(rows)
    words = code_words(features)
    bits = boxes.codes[:, : words[1], np.newaxis] >> np.arange(64, dtype=np.uint64)
    members = (bits & np.uint64(1)).reshape(len(rows), -1)[:, : feature.n_codes] == 1
    (_, (reach, _)), (alone, _) = Similar(
        columns_of(model, schema), schema, similarity
    ).reaches(rows)
    assert not alone.any()
    np.testing.assert_array_equal(members, reach.codes)
    np.testing.assert_array_equal(boxes.missing[:, 0], reach.missing)
    if len(members) > 1:
        others = isinstance(kind, Category) and kind.others
        beyond = feature.accepts_unknown and (others or similarity in (ANY, GAPS))
        assert members[0, -1] == (beyond or feature.n_codes == 1)


def test_the_code_of_a_twin_is_none_that_means_something_else() -> None:
    feature = Categorical(
        name="f0",
        categories=(0, 1),
        coding="floor",
        labelled=False,
        missing_range=(2.0, 2.0),
    )
    assert feature.other_code == 3


def test_a_range_of_codes_is_no_condition() -> None:
    feature = Categorical(name="f0", categories=(0, 1), coding="floor", labelled=False)
    model = town.make((feature, Numeric(name="f1")))
    similarity = Similarity(noise={"f1": 1}, where={"f0": "<= 3"})
    with pytest.raises(SpecError, match="list"):
        Neighbourhood(similarity, Variables(model, Schema.from_ensemble(model)))


def test_a_schema_without_others_is_written_as_before() -> None:
    plain = Category(name="a", columns="a")
    assert (
        msgspec.json.encode(plain) == b'{"type":"category","name":"a","columns":["a"]}'
    )


@pytest.mark.xgboost
def test_a_proof_about_known_codes_is_no_proof_about_all() -> None:
    # A certificate of before, when `vary` left out the codes that no split names.
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 8, 300), rng.normal(size=300)])
    y = (X[:, 0] < 2).astype(int)
    clf = xgboost_model(X, y, n_estimators=1, max_cat_to_onehot=100)
    model = fatt.load(clf)
    people = np.array([[0.0, 0.0]])
    schema = Schema.from_ensemble(model).with_(f0=Category())

    def claimed(similarity: Similarity) -> Certificate:
        contents = contents_of(
            model_digest=model.digest,
            schema=schema,
            similarity=similarity,
            values=people,
            verdicts=np.zeros(1, dtype=np.uint8),
            labels=np.array([1]),
            steps=[None],
            twins=changes_of([]),
        )
        return Certificate.of(contents)

    assert claimed(Similarity(vary={"f0": [0, 1]})).check(model).fair == 1
    with pytest.raises(CertificateError):
        claimed(ANY).check(model)


@pytest.mark.catboost
@for_seeds(6)
def test_texts_that_nobody_has_are_left_out_unless_asked_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = people(rng, 4, 150)
    texts = np.array(["ab", "cd", "ef", "gh"], dtype=object)
    frame = pd.DataFrame({"f0": texts[X[:, 0].astype(int)], "f1": X[:, 1]})
    clf = text_model(frame, y, seed)
    own = np.asarray(clf.predict(frame))
    fair = np.ones(len(frame), dtype=bool)
    for text in texts:
        fair &= np.asarray(clf.predict(frame.assign(f0=text))) == own
    report = fatt.verify(clf, frame, similarity=KNOWN)
    np.testing.assert_array_equal(verdicts(report), fair)
    others = report.people.variables.schema.find("f0").others
    twins = {case.twin["f0"] for case in report.counterexamples}
    assert twins <= {*texts, *["(other)"] * others}
    is_told = any("vary={'f0': 'any'}" in note for note in report.notes)
    assert is_told != others
    fair &= np.asarray(clf.predict(frame.assign(f0="never"))) == own
    wider = fatt.verify(clf, frame, similarity=ANY)
    np.testing.assert_array_equal(verdicts(wider), fair)
    assert not any("vary={'f0': 'any'}" in note for note in wider.notes)
    for one in (report, wider):
        checked = one.certificate().check(clf)
        assert checked.fair + checked.claimed == one.counts["fair"]


@pytest.mark.parametrize("kind", ["one-hot", "text"])
def test_a_misspelt_cell_makes_no_level_for_others(kind: str) -> None:
    rng = np.random.default_rng(0)
    texts = np.array(["Male", "Female", "?"])[rng.integers(3, size=200)]
    frame = pd.DataFrame({"f0": texts.astype(object), "f1": rng.normal(size=200)})
    y = ((frame["f1"] > 0) ^ (texts == "Male")).astype(int)
    if kind == "text":
        clf = text_model(frame, y, 0)
    else:
        columns = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["f0"]), remainder="passthrough"
        )
        clf = make_pipeline(columns, DecisionTreeClassifier(random_state=0))
        clf.fit(frame, y)
    rows = frame[:50].copy()
    rows.loc[17, "f0"] = "male "
    report = fatt.verify(clf, rows, similarity=KNOWN)
    assert not report.people.variables.schema.find("f0").others
    assert {case.twin["f0"] for case in report.counterexamples} <= {
        "Male",
        "Female",
        "?",
    }
    [warning] = [one for one in report.warnings if "Row 17" in one]
    assert "'f0' has a value that the model does not know" in warning
    assert "such as 'male '). No other row varies to it" in warning
    # A new value is no misspelt one.
    rows.loc[17, "f0"] = "divers"
    report = fatt.verify(clf, rows, similarity=KNOWN)
    assert report.people.variables.schema.find("f0").others
    assert not any("Row 17" in one for one in report.warnings)
