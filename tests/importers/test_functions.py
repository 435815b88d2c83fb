"""Functions of one column before a model: followed to the last bit, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    QuantileTransformer,
    StandardScaler,
)

import fatt
from fatt import Similarity
from fatt.ensemble import Numeric
from fatt.ensemble.floats import from_ordinal, to_ordinal
from fatt.errors import DataError, SpecError, UnsupportedModelError
from fatt.importers.pullback.columns import Mapped, cuts_by_piece
from fatt.region import Number

pandas = pytest.importorskip("pandas")

LOGS = [np.log, np.log2, np.log10]
ROUNDED = [np.log1p, *LOGS, np.cbrt, np.arcsinh]
EXACT = [np.sqrt, np.abs, np.fabs, np.floor, np.ceil, np.trunc, np.rint]


def people(count: int = 300) -> Any:
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "income": rng.lognormal(3, 1, count).round(2),
            "gain": rng.choice([1, 2, 5, 100, 3000], count),
        }
    )


def granted(table: Any) -> Any:
    return ((table["income"] > 22) ^ (table["age"] > 40) ^ (table["gain"] > 50)) * 1


def near(model: Any, table: Any, column: str) -> Any:
    """Return people at, and closely around, all places where a column is split."""
    index = [feature.name for feature in model.features].index(column)
    edges = model.features[index].edges
    places = np.concatenate([model.ensemble.thresholds(index), edges])
    # Not at the pole of a logarithm, which most refuse.
    places = places[np.isfinite(places) & (np.abs(places) < 1e6) & (places > 0.1)]
    tried = (to_ordinal(places)[:, np.newaxis] + np.arange(-30, 31)).ravel()
    chosen = np.resize(np.arange(len(table)), len(tried))
    rows = table.iloc[chosen].reset_index(drop=True)
    return rows.assign(**{column: from_ordinal(tried)})


def assert_same(model: Any, own: Any, rows: Any) -> None:
    assert len(rows)
    with np.errstate(all="ignore"):
        assert (model.predict_proba(rows) == own.predict_proba(rows)).all()


@pytest.mark.parametrize("function", [*ROUNDED, *EXACT], ids=lambda f: f.__name__)
def test_functions_of_numpy_are_followed(function: Any) -> None:
    table = people()
    scaled = make_pipeline(
        FunctionTransformer(function),
        StandardScaler(),
        RandomForestClassifier(5, random_state=0),
    )
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), FunctionTransformer(function)), ["income"]),
        (FunctionTransformer(function, validate=True), ["gain"]),
        remainder="passthrough",
    )
    gaps = table.assign(income=table["income"].where(table.index % 7 > 0))
    boosted = make_pipeline(columns, HistGradientBoostingClassifier(max_iter=5))
    for own, trained in ((scaled, table), (boosted, gaps)):
        own.fit(trained, granted(table))
        model = fatt.load(own)
        assert_same(model, own, trained)
        assert_same(model, own, near(model, trained, "income"))
        similarity = Similarity(noise={"income": 1.5, "age": 2})
        report = fatt.verify(own, trained[:40], similarity=similarity)
        assert report.asked.people == 40
        assert report.counts["unknown"] == 0


@pytest.mark.parametrize("function", [np.log1p, np.log], ids=lambda f: f.__name__)
def test_who_is_below_a_pole_is_never_left_out(function: Any) -> None:
    """A forest takes missing values and refuses infinity: there is a hole."""
    table, pole = people(), -1 if function is np.log1p else 0
    own = make_pipeline(FunctionTransformer(function), RandomForestClassifier(3))
    own.fit(table, granted(table))
    model = fatt.load(own)
    assert {feature.lower for feature in model.features} == {np.nextafter(pole, 9.0)}
    for gain in (pole, pole - 1):
        with pytest.raises(DataError, match=r"'gain' is .* fatt cannot follow"):
            model.predict(table.assign(gain=gain))
    table = table.astype(float)
    similarity = Similarity(noise={"gain": 5})
    with pytest.raises(SpecError, match=r"'gain' goes down to -4, .*\(gain=Number"):
        fatt.verify(model, table, similarity=similarity)
    fatt.verify(model, table[table["gain"] > 5], similarity=similarity)
    schema = fatt.Schema.infer(model, table).with_(gain=Number(lower=1))
    report = fatt.verify(model, table, similarity=similarity, schema=schema)
    assert all(case.twin["gain"] >= 1 for case in report.counterexamples)
    made = report.certificate()
    assert made.check(model).fair == report.counts["fair"]


@pytest.mark.parametrize("function", [np.log1p, np.sqrt], ids=lambda f: f.__name__)
def test_below_a_pole_or_root_are_missing_values(function: Any) -> None:
    """People with such a number are similar to others, and get the model's answer."""
    table = people()
    seen = table.where(np.random.default_rng(0).random(table.shape) > 0.1)
    scaled = [StandardScaler()] if function is np.sqrt else []
    own = make_pipeline(
        FunctionTransformer(function),
        *scaled,
        HistGradientBoostingClassifier(max_iter=20),
    )
    own.fit(seen, (granted(table) & (seen["gain"] < 50)) | seen["gain"].isna())
    model = fatt.load(own)
    for gain in (-table["gain"], -1, 0, table["gain"]):
        assert_same(model, own, table.assign(gain=gain))
    report = fatt.verify(
        model, table[:60].astype(float), similarity=Similarity(noise={"gain": 5})
    )
    unfair = np.zeros(60, dtype=bool)
    with np.errstate(all="ignore"):
        for change in range(-5, 6):
            moved = table[:60].assign(gain=table["gain"][:60] + change)
            unfair |= own.predict(moved) != own.predict(table[:60])
    assert unfair.any()
    assert not report.is_fair[unfair].any()


def test_functions_compute_in_the_type_that_they_get() -> None:
    table = people()
    own = make_pipeline(
        FunctionTransformer(np.log1p), RandomForestClassifier(5, random_state=0)
    )
    own.fit(table, granted(table))
    model = fatt.load(own)
    for kind in ("int32", "int64", "uint32", "float64"):
        assert_same(model, own, table.astype({"gain": kind}))
    for kind in ("int8", "int16", "uint16", "float32", "bool"):
        rows = table.assign(gain=1).astype({"gain": kind})
        with pytest.raises(DataError, match=f"'gain' has type {kind}"):
            model.predict(rows)


@pytest.mark.parametrize("n_quantiles", [5, 100])
def test_quantiles_are_followed(n_quantiles: int) -> None:
    table = people()
    own = make_pipeline(
        QuantileTransformer(n_quantiles=n_quantiles),
        RandomForestClassifier(5, random_state=0),
    )
    own.fit(table, granted(table))
    model = fatt.load(own)
    assert_same(model, own, table)
    for column in table.columns:
        assert_same(model, own, near(model, table, column))


def test_a_binarizer_is_followed() -> None:
    table = people()
    own = make_pipeline(
        make_column_transformer(
            (Binarizer(threshold=22), ["income"]), remainder="passthrough"
        ),
        RandomForestClassifier(5, random_state=0),
    )
    own.fit(table, granted(table))
    model = fatt.load(own)
    assert_same(model, own, table)
    assert_same(model, own, near(model, table, "income"))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            [FunctionTransformer(np.exp)],
            "calls exp, and what that does .* numpy's log1p",
        ),
        ([FunctionTransformer(lambda rows: rows / rows.mean())], "calls <lambda>"),
        ([FunctionTransformer(np.log1p, kw_args={"where": True})], "calls log1p"),
        (
            [FunctionTransformer(np.log1p)] * 2,
            "logarithm or root before it has rounded",
        ),
        (
            [QuantileTransformer(n_quantiles=5, output_distribution="normal")],
            "fit it with 'uniform'",
        ),
    ],
)
def test_other_functions_are_refused_by_name(steps: list[Any], reason: str) -> None:
    table = people() / 1000
    own = make_pipeline(*steps, RandomForestClassifier(2, random_state=0))
    own.fit(table, granted(people()))
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(own)


# That a function is monotone is not believed where its rounding could hide otherwise.


def dented(place: float, depth: float) -> Any:
    """Return a logarithm that is lower at one number."""

    def function(numbers: Any) -> Any:
        return np.log1p(numbers) - np.where(numbers == place, depth, 0.0)

    return function


def cuts(function: Any, *numbers: float) -> Any:
    raw = Numeric(name="pay", lower=0.0, upper=1e6)
    column = Mapped(source=0, function=function, rounded=function)
    return cuts_by_piece(column, raw, np.array(numbers))


def test_a_function_that_turns_back_is_refused() -> None:
    at = np.log1p(5000.0)
    [[cut]] = cuts(np.log1p, at)
    assert np.log1p(cut) <= at < np.log1p(np.nextafter(cut, np.inf))
    ulp = np.spacing(at)
    after = from_ordinal(to_ordinal(cut) + np.array([3, 9, 30]))
    for place in after:
        with pytest.raises(UnsupportedModelError, match="to and fro near 5000"):
            cuts(dented(place, 8 * ulp), at)
    # Not where the number is not passed.
    assert cuts(dented(200.0, 8 * ulp), at) == cut
    # Also just beyond both ends.
    top, tiny = np.log1p(1e6), np.nextafter(0.0, 1.0)
    lifted = dented(float(np.nextafter(1e6, 0.0)), -8 * np.spacing(top))
    for function, number in ((lifted, top), (dented(tiny, 8 * tiny), -2 * tiny)):
        with pytest.raises(UnsupportedModelError, match="to and fro"):
            cuts(function, number)


def test_a_function_that_hardly_changes_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="hardly changes near"):
        cuts(lambda numbers: np.exp(1e-9 * numbers), np.exp(1e-9))


def test_a_scaler_may_make_infinity_before_a_function() -> None:
    table = people()
    steps = make_pipeline(MinMaxScaler((1, 4)), FunctionTransformer(np.arcsinh))
    table["gain"] = table["income"] / table["income"].max()
    own = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=5))
    own.fit(table, granted(people()))
    model = fatt.load(own)
    assert_same(model, own, table)
    assert_same(model, own, near(model, table, "income"))
