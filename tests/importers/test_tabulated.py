"""Functions that only their author knows: tabulated where the values are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import MissingIndicator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

import fatt
from fatt import Similarity
from fatt.errors import UnsupportedModelError

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
