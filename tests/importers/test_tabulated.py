"""Functions that only their author knows: tabulated where the values are few."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.errors import DataError, UnsupportedModelError

pandas = pytest.importorskip("pandas")


def people(count: int = 200) -> Any:
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "job": rng.choice(["clerk", "driver", "nurse", "cook"], count),
            "sex": rng.choice(["F", "M"], count),
            "age": rng.integers(18, 80, count),
        }
    )


def granted(table: Any) -> Any:
    return (table["job"].isin(["nurse", "cook"]) ^ (table["age"] > 40)) * 1


def codes() -> OrdinalEncoder:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


def fitted(*steps: Any, other: Any = "passthrough") -> Any:
    columns = make_column_transformer(
        (make_pipeline(*steps), ["job", "sex"]), (other, ["age"])
    )
    own = make_pipeline(columns, RandomForestClassifier(5, random_state=0))
    return own.fit(people(), granted(people()))


def waves(rows: Any) -> Any:
    """Return what neither grows nor falls."""
    return np.sin(7 * np.asarray(rows, dtype=float))


def squares_and_signs(rows: Any) -> Any:
    rows = np.asarray(rows)
    return np.hstack([rows[:, :1] ** 2 - 2 * rows[:, :1], rows[:, 1:] > 0])


def named(function: Any) -> FunctionTransformer:
    return FunctionTransformer(function, feature_names_out="one-to-one")


@pytest.mark.parametrize("output", ["default", "pandas"])
@pytest.mark.parametrize("function", [waves, squares_and_signs])
def test_functions_behind_few_values_are_tabulated(function: Any, output: str) -> None:
    bins = make_pipeline(
        KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
        named(waves),
        StandardScaler(),
    )
    own = fitted(codes(), named(function), StandardScaler(), other=bins)
    own = own.set_output(transform=output).fit(people(), granted(people()))
    table = people()
    model = fatt.load(own)
    strange = table.assign(job=np.resize(["clerk", "pilot"], len(table)))
    for rows in (table, strange, table.assign(age=np.linspace(-9, 99, len(table)))):
        assert (model.predict_proba(rows) == own.predict_proba(rows)).all()
    similarity = Similarity(noise={"age": 3}, vary=["sex"])
    report = fatt.verify(own, table[:40], similarity=similarity)
    assert report.asked.people == 40
    unfair = np.zeros(40, dtype=bool)
    for sex in ("F", "M"):
        for change in range(-3, 4):
            moved = table[:40].assign(sex=sex, age=table["age"] + change)
            unfair |= own.predict(moved) != own.predict(table[:40])
    assert 0 < unfair.sum() < 40
    assert (report.is_fair == ~unfair).all()


def test_who_is_refused_before_a_function_stays_refused() -> None:
    """A function may drop a column, of which an encoder yet checks the cells."""
    own = fitted(OrdinalEncoder(), FunctionTransformer(lambda rows: rows[:, 1:] * 1.0))
    strange = people().assign(job="pilot")
    with pytest.raises(ValueError, match="unknown categories"):
        own.predict(strange)
    with pytest.raises(fatt.errors.DataError, match="job"):
        fatt.load(own).predict(strange)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([lambda rows: rows - rows.mean()], "hangs on other rows, on chance"),
        ([lambda rows: rows + RNG.normal()], "hangs on other rows, on chance"),
        ([lambda rows: rows * len(rows)], "hangs on other rows, on chance"),
        ([lambda rows: np.cumsum(rows, axis=0)], "hangs on other rows, on chance"),
        ([lambda rows: np.copysign(1.0, rows)], "on the type of the cells"),
        ([lambda rows: rows / rows.itemsize * (rows.dtype.kind == "f")], "the type of"),
        (
            [lambda rows: np.maximum(rows[:, :1], rows[:, 1:])],
            r"of several \('0', '1'\)",
        ),
        ([lambda rows: rows.astype(str)], "makes <U"),
        ([lambda rows: rows.astype("float32")], "makes float32"),
        ([np.ravel], "of shape"),
        ([lambda rows: rows * {1.0: 2.0}[rows[0, 0]]], "fails on .*KeyError"),
        ([csr_matrix], "makes a sparse matrix"),
        ([lambda rows: rows.astype(np.int64) + 2**53], "integers beyond"),
        ([lambda rows: np.add(rows, 1, out=rows)], "writes into the table"),
        # Of booleans the second makes booleans, whose sum is never 2.
        ([lambda rows: rows > 0, lambda rows: (rows + rows) % 2], "behind an encoder"),
        ([lambda rows: rows > 0, np.log1p], "booleans of a function"),
    ],
)
def test_functions_without_a_table_are_refused(steps: list[Any], reason: str) -> None:
    try:
        own = fitted(codes(), *map(FunctionTransformer, steps))
    except (ValueError, KeyError):
        own = fitted(codes(), FunctionTransformer(lambda rows: rows * 1.0))
        part = own[0].transformers_[0][1]
        part.steps[1][1].func = steps[0]
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(own)


def counts(rows: Any) -> Any:
    """Return how often each row's value is there."""
    _, places, times = np.unique(rows, return_inverse=True, return_counts=True)
    return np.asarray(times[places.reshape(-1, 1)], dtype=float)


def test_counts_of_values_are_refused() -> None:
    """Alone, and once among each other, all values are there once."""
    own = make_pipeline(codes(), FunctionTransformer(counts), RandomForestClassifier(2))
    own.fit(people()[["job"]], granted(people()))
    with pytest.raises(UnsupportedModelError, match="hangs on other rows"):
        fatt.load(own)


@pytest.mark.parametrize(
    "before",
    [
        [StandardScaler()],
        [],
        [OrdinalEncoder(dtype=np.int8)],
        [OneHotEncoder(dtype=np.float32, sparse_output=False)],
    ],
)
def test_functions_of_values_that_nobody_lists_are_refused(before: list[Any]) -> None:
    table = people()[["age"]]
    own = make_pipeline(
        *before,
        FunctionTransformer(lambda rows: np.tanh(np.asarray(rows))),
        RandomForestClassifier(2, random_state=0),
    ).fit(table, granted(people()))
    with pytest.raises(UnsupportedModelError, match="behind an encoder"):
        fatt.load(own)


def test_too_many_rows_are_refused() -> None:
    table = pandas.DataFrame(np.random.default_rng(0).integers(0, 20, (200, 4)))
    own = make_pipeline(
        OrdinalEncoder(),
        FunctionTransformer(waves),
        RandomForestClassifier(2, random_state=0),
    ).fit(table, np.arange(200) % 2)
    with pytest.raises(UnsupportedModelError, match="160,000 different rows"):
        fatt.load(own)


def test_functions_of_skops_files_are_not_called(tmp_path: Any) -> None:
    skops = pytest.importorskip("skops.io")
    own = fitted(codes(), FunctionTransformer(np.exp))
    assert (fatt.load(own).predict(people()) == own.predict(people())).all()
    skops.dump(own, tmp_path / "model.skops")
    with pytest.raises(UnsupportedModelError, match="nothing in such a file is run"):
        fatt.load(tmp_path / "model.skops")


def test_functions_behind_a_binarizer_are_asked_about_its_two_values() -> None:
    columns = make_column_transformer(
        (make_pipeline(Binarizer(threshold=40), FunctionTransformer(waves)), ["age"]),
        (codes(), ["job", "sex"]),
    )
    own = make_pipeline(columns, RandomForestClassifier(5, random_state=0))
    own.fit(people(), granted(people()))
    assert np.array_equal(
        fatt.load(own).predict_proba(people()), own.predict_proba(people())
    )


@pytest.mark.filterwarnings("ignore:.*downcasting:Warning")
@pytest.mark.parametrize("name", ["OrdinalEncoder", "CountEncoder", "TargetEncoder"])
def test_functions_behind_encoders_of_category_encoders(name: str) -> None:
    library = pytest.importorskip("category_encoders")
    columns = make_column_transformer(
        *(
            (make_pipeline(getattr(library, name)(), FunctionTransformer(waves)), [one])
            for one in ("job", "sex")
        ),
        ("passthrough", ["age"]),
    )
    own = make_pipeline(columns, RandomForestClassifier(5, random_state=0))
    own.fit(people(), granted(people()))
    model, rows = fatt.load(own), people(80)
    rows["job"] = rows["job"].astype(object)
    rows.loc[:5, "job"] = "judge"
    assert np.array_equal(model.predict_proba(rows), own.predict_proba(rows))
    report = fatt.verify(model, rows[6:30], similarity=Similarity(vary=["job"]))
    assert report.counts["unknown"] == 0


def halves(flags: Any) -> Any:
    """Return what of booleans is in half precision."""
    return np.exp(flags)


def test_functions_behind_indicators_of_missing_values() -> None:
    rows = people().assign(pay=people()["age"] * 2.0)
    rows.loc[::7, "pay"] = np.nan

    def fitted_with(function: Any) -> Any:
        flags = make_pipeline(
            MissingIndicator(features="all"), FunctionTransformer(function)
        )
        columns = make_column_transformer((flags, ["pay", "age"]), (codes(), ["job"]))
        own = make_pipeline(columns, RandomForestClassifier(5, random_state=0))
        return own.fit(rows, granted(rows) ^ rows["pay"].isna())

    for function in (waves, lambda flags: flags.astype(float)):
        own = fitted_with(function)
        found = fatt.load(own).predict_proba(rows)
        assert np.array_equal(found, own.predict_proba(rows))
    # Of booleans NumPy makes numbers of half precision.
    with pytest.raises(UnsupportedModelError, match="makes float16"):
        fatt.load(fitted_with(halves))


def waves_of(rows: Any) -> Any:
    """Return what neither grows nor falls, of whatever kind of table."""
    return np.cos(5 * np.asarray(rows, dtype=float)).round(2)


SEXES = {0: "M", 1: "F", 7: "X"}
REGIONS = {-3: "north", 0: "south", 2.5: "east"}
TOLD = {"sex": SEXES, "region": REGIONS}


def coded(count: int = 200) -> Any:
    rng = np.random.default_rng(1)
    return pandas.DataFrame(
        {
            "sex": rng.choice([*SEXES], count),
            "age": rng.integers(18, 80, count),
            "region": rng.choice([*REGIONS], count),
        }
    )


def wavy(table: Any) -> Any:
    made = waves_of(table[["sex", "region"]]).sum(axis=1)
    return ((made > 0.3) ^ (table["age"].to_numpy() > 40)) * 1


def told(*steps: Any, rows: Any = None, columns: Any = ("sex", "region")) -> Any:
    """Return a pipeline of steps on raw columns, and of the others as they are."""
    part = make_pipeline(*steps)
    made = make_column_transformer((part, [*columns]), remainder="passthrough")
    own = make_pipeline(made, RandomForestClassifier(5, random_state=0))
    rows = coded() if rows is None else rows
    return own.fit(rows, wavy(rows if hasattr(rows, "columns") else coded()))


def agrees(model: Any, own: Any, table: Any) -> None:
    """Verdicts are those of all who are similar, and twins are found again."""
    similarity = Similarity(noise={"age": 1}, vary=["sex"])
    report = fatt.verify(model, table, similarity=similarity)
    asked = own.predict(table)
    unfair = np.zeros(len(table), dtype=bool)
    for sex, change in itertools.product(SEXES, (-1, 0, 1)):
        moved = table.assign(sex=sex, age=table["age"] + change)
        unfair |= own.predict(moved) != asked
    assert 0 < unfair.sum() < len(table)
    assert (report.is_fair == ~unfair).all()
    assert all(case.replayed_on == "model" for case in report.counterexamples)
    for case in report.counterexamples:
        assert case.twin["sex"] in SEXES.values()
    report.certificate().check(model)


@pytest.mark.parametrize(
    "steps",
    [
        [named(waves_of)],
        [named(waves_of), StandardScaler()],
        [StandardScaler(), named(waves_of)],
        [named(waves_of), named(waves)],
        [FunctionTransformer(lambda rows: np.asarray(rows) == 0)],
        [FunctionTransformer(lambda rows: rows.replace({7: 1, 2.5: -3}))],
    ],
)
def test_functions_of_columns_whose_values_are_told(steps: list[Any]) -> None:
    own, table = told(*steps), coded()
    with pytest.raises(UnsupportedModelError, match="with codes="):
        fatt.load(own)
    model = fatt.load(own, codes=TOLD)
    words = table.assign(
        sex=table["sex"].map(SEXES), region=table["region"].map(REGIONS)
    )
    floats = table.astype({"sex": float})
    for rows in (table, words, floats, table.iloc[:, [2, 0, 1]]):
        assert np.array_equal(model.predict_proba(rows), own.predict_proba(table))
        assert np.array_equal(model.ask_proba(rows), own.predict_proba(table))
    agrees(model, own, table[:40])


@pytest.mark.parametrize("bins", [False, True])
def test_steps_and_models_behind_that_take_no_gaps(bins: bool) -> None:
    """Nobody has other numbers than those told: there need not be a gap for them."""
    steps = [
        named(waves_of),
        *[KBinsDiscretizer(2, encode="ordinal", strategy="uniform")] * bins,
    ]
    own = told(*steps)
    own.steps[-1] = ("last", GradientBoostingClassifier(n_estimators=3))
    own.fit(coded(), wavy(coded()))
    model = fatt.load(own, codes=TOLD)
    agrees(model, own, coded()[:40])
    with pytest.raises(DataError, match="'sex' is missing"):
        model.predict(coded().assign(sex=np.nan))


def test_columns_that_were_told_take_no_other_values(tmp_path: Path) -> None:
    own, table = told(named(waves_of)), coded()
    fatt.load(own, codes=TOLD).save(tmp_path / "told.fatt")
    for model in (fatt.load(own, codes=TOLD), fatt.load(tmp_path / "told.fatt")):
        for sex in (2, 0.5, -0.5, 1e300, -7, "W"):
            with pytest.raises(DataError, match="for which codes= gives no word"):
                model.predict(table.assign(sex=sex))
        for kind in ("int8", "int32", "float32", "uint8", bool, "Int64"):
            with pytest.raises(DataError, match="sex"):
                model.predict(table.assign(sex=(table["sex"] % 7).astype(kind)))


def test_other_packages_than_numpy_hold_no_told_columns() -> None:
    polars = pytest.importorskip("polars")
    model = fatt.load(told(named(waves_of)), codes=TOLD)
    with pytest.raises(DataError, match="held by another package than numpy"):
        model.predict(polars.from_pandas(coded()))


@pytest.mark.parametrize(
    "function", [waves_of, lambda rows: (np.asarray(rows) > 0) * 1]
)
def test_told_columns_with_gaps(function: Any) -> None:
    """A gap is one more value, of which the function is asked as well."""
    rows = coded().astype({"sex": float})
    rows.loc[::9, "sex"] = np.nan
    own = told(FunctionTransformer(function), rows=rows)
    model = fatt.load(own, codes=TOLD)
    assert np.array_equal(model.predict_proba(rows), own.predict_proba(rows))
    # Others that refuse a gap, or count on there being none, take none.
    for refuses in (
        FunctionTransformer(lambda rows: np.asarray(rows * 2).astype(int)),
        FunctionTransformer(function, validate=True),
    ):
        own = told(refuses)
        model = fatt.load(own, codes=TOLD)
        assert np.array_equal(model.predict_proba(coded()), own.predict_proba(coded()))
        with pytest.raises(DataError, match="'sex' is missing"):
            model.predict(rows)
    # Of a gap an imputer makes a value that is told.
    imputed = [SimpleImputer(strategy="most_frequent"), FunctionTransformer(function)]
    own = told(*imputed)
    model = fatt.load(own, codes=TOLD)
    assert np.array_equal(model.predict_proba(rows), own.predict_proba(rows))


def test_told_columns_have_names_given_from_outside() -> None:
    own = told(named(waves_of))
    calls = {"gender": "sex"}
    model = fatt.load(own, codes=TOLD, rename=calls)
    table = coded().rename(columns={"gender": "sex"})
    assert np.array_equal(model.ask_proba(table), own.predict_proba(coded()))
    # The model itself is an array's, whose columns are named here.
    bare = told(FunctionTransformer(waves_of), rows=coded().to_numpy(), columns=[0, 2])
    names = ["sex", "age", "region"]
    model = fatt.load(bare, columns=names, codes=TOLD)
    agrees(model, Bare(bare), coded()[:40])


class Bare:
    """A model without names, asked with a frame."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def predict(self, table: Any) -> Any:
        return self.own.predict(table.to_numpy())


ITSELF: dict[str, Any] = {
    "of integers": lambda rows: rows / (2 if rows["sex"].dtype == int else 1),
    "of frames": lambda rows: rows * (2 if hasattr(rows, "columns") else 3) % 5,
    "of a mixture": lambda rows: waves_of(rows) * rows.dtypes.nunique(),
    "of objects": lambda rows: np.array(
        [[float(cell) if type(cell) is int else 0.5 for cell in row] for row in rows]
        if np.asarray(rows).dtype == object
        else waves_of(rows)
    ),
    "half": lambda rows: (
        np.asarray(rows, dtype=np.float32)
        if np.asarray(rows).dtype == object
        else np.asarray(rows)
    ),
}


@pytest.mark.parametrize("kind", ITSELF)
def test_told_functions_that_look_at_types_are_refused(kind: str) -> None:
    own = told(FunctionTransformer(ITSELF[kind]))
    with pytest.raises(UnsupportedModelError, match="on the type of the cells"):
        fatt.load(own, codes=TOLD)


def test_told_functions_that_leave_a_column_out_are_refused() -> None:
    own = told(FunctionTransformer(lambda rows: waves_of(rows)[:, :1]))
    with pytest.raises(UnsupportedModelError, match="leaves a column out"):
        fatt.load(own, codes=TOLD)


def test_told_functions_of_skops_files_are_not_called(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(told(FunctionTransformer(np.tan)), tmp_path / "model.skops")
    with pytest.raises(UnsupportedModelError, match="nothing in such a file is run"):
        fatt.load(tmp_path / "model.skops", codes=TOLD)


def test_pickles_get_told_columns(tmp_path: Path) -> None:
    own = told(FunctionTransformer(np.tan))
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(own))
    model = fatt.load(tmp_path / "model.pkl", codes=TOLD, allow_pickle=True)
    assert np.array_equal(model.predict_proba(coded()), own.predict_proba(coded()))


NUMBERS = {"sex": {"M": 0, "F": 1, "X": 7}, "region": {"n": -3, "s": 0, "e": 2.5}}


@pytest.mark.parametrize("where", ["before the model", "in the model"])
def test_mappings_tell_what_a_function_gets(where: str) -> None:
    raw = coded()
    own = told(named(waves_of))
    prepare: list[Any] = [NUMBERS]
    model = own
    if where == "before the model":
        prepare, model = [NUMBERS, own[0]], own[1]
    texts = raw.copy()
    for name, numbers in NUMBERS.items():
        back = {number: text for text, number in numbers.items()}
        texts[name] = raw[name].map(back)
    loaded = fatt.load(model, prepare=prepare)
    assert np.array_equal(loaded.predict_proba(texts), own.predict_proba(raw))
    similarity = Similarity(vary=["sex"])
    report = fatt.verify(loaded, texts[:60], similarity=similarity)
    answers = [own.predict(raw[:60].assign(sex=sex)) for sex in SEXES]
    unfair = np.ptp(answers, axis=0) > 0
    assert 0 < unfair.sum() < 60
    assert (report.is_fair == ~unfair).all()
    with pytest.raises(DataError):
        loaded.predict(texts.assign(sex="W"))
    truths = {**NUMBERS, "sex": {"M": False, "F": True, "X": 7}}
    with pytest.raises(UnsupportedModelError, match="with codes="):
        fatt.load(model, prepare=[truths, *prepare[1:]])


def test_what_is_told_of_raw_columns_is_not_told_of_others() -> None:
    """A step between makes other numbers of them, whatever they are called."""
    raw = coded()
    scaler = StandardScaler().set_output(transform="pandas").fit(raw)
    inner = told(named(waves_of), rows=scaler.transform(raw))
    for prepare in (
        [scaler],
        [NUMBERS, scaler],
        [StandardScaler().fit(raw.to_numpy())],
    ):
        with pytest.raises(UnsupportedModelError, match="with codes="):
            fatt.load(inner, prepare=prepare, codes=TOLD)
    bare = told(FunctionTransformer(waves_of), rows=raw.to_numpy(), columns=[0, 2])
    with pytest.raises(UnsupportedModelError, match="with codes="):
        fatt.load(bare, prepare=scaler, columns=[*raw.columns], codes=TOLD)
    # One that leaves the column alone may stand between.
    aged = StandardScaler().fit(raw[["age"]])
    ready = raw.assign(age=aged.transform(raw[["age"]])[:, 0])
    inner = told(named(waves_of), rows=ready)
    model = fatt.load(inner, prepare=aged, codes=TOLD)
    assert np.array_equal(model.predict_proba(raw), inner.predict_proba(ready))


def test_codes_of_a_nested_model_are_its_own() -> None:
    """Behind a scaler in frames the same names mean other numbers."""
    raw = coded()
    scaler = StandardScaler().set_output(transform="pandas")
    vote = VotingClassifier([("one", told(named(waves_of)))], voting="soft")
    own = make_pipeline(scaler, vote).fit(raw, wavy(raw))
    with pytest.raises(UnsupportedModelError):
        fatt.load(own, codes=TOLD)


def large(rows: Any) -> Any:
    return np.where(np.asarray(rows) == 1, 2_400_000, 3).astype(np.int64)


def cubed(rows: Any) -> Any:
    return rows * rows * rows


def halved(rows: Any) -> Any:
    return rows / 2


def beyond_float32(rows: Any) -> Any:
    return np.asarray(rows).astype(np.int64) + 2**24


def test_integers_that_a_function_makes_are_not_computed_with() -> None:
    """A cube of them goes beyond int64, and comes back below zero."""
    X = np.array([["u"], ["v"], ["w"]] * 10, dtype=object)
    steps = [OrdinalEncoder(), FunctionTransformer(large)]
    for more, is_read in [(cubed, False), (halved, True)]:
        own = make_pipeline(*steps, FunctionTransformer(more), DecisionTreeClassifier())
        own.fit(X, [0, 1, 0] * 10)
        if is_read:
            assert (fatt.load(own).predict(X) == own.predict(X)).all()
            continue
        with pytest.raises(UnsupportedModelError, match="another step has computed"):
            fatt.load(own)


def test_integers_that_lightgbm_would_round_are_refused() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    X = np.array([["u"], ["v"], ["w"], ["x"]] * 10, dtype=object)
    model = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=1, verbose=-1)
    own = make_pipeline(OrdinalEncoder(), FunctionTransformer(beyond_float32), model)
    own.fit(X, [0, 1, 0, 1] * 10)
    with pytest.raises(UnsupportedModelError, match="beyond 2\\^24"):
        fatt.load(own)
