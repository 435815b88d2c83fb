"""Functions of one column before a model: followed to the last bit, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.ensemble import Numeric
from fatt.ensemble.floats import from_ordinal, to_ordinal
from fatt.errors import DataError, SpecError, UnsupportedModelError
from fatt.importers.columns.algebra import (
    Step,
    cuts_by_piece,
    follow,
    last_units,
)
from fatt.region import Number

pandas = pytest.importorskip("pandas")

TREE = DecisionTreeClassifier(random_state=0)
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
@pytest.mark.parametrize(
    "last", [RandomForestClassifier(3), HistGradientBoostingClassifier(max_iter=5)]
)
def test_who_is_below_a_pole_is_never_left_out(function: Any, last: Any) -> None:
    """A forest takes missing values and refuses infinity: there is a hole."""
    table, pole = people(), -1 if function is np.log1p else 0
    own = make_pipeline(FunctionTransformer(function), clone(last))
    own.fit(table, granted(table))
    model = fatt.load(own)
    assert {feature.lower for feature in model.features} == {np.nextafter(pole, 9.0)}
    for gain in (pole, pole - 1):
        with pytest.raises(DataError, match=r"'gain' is .* fatt cannot follow"):
            model.predict(table.assign(gain=gain))
    table = table.astype(float)
    similarity = Similarity(noise={"gain": 5})
    with pytest.raises(
        SpecError, match=r"'gain' goes down to -4, .*'gain': Number\(lower"
    ):
        fatt.verify(model, table, similarity=similarity)
    fatt.verify(model, table[table["gain"] > 5], similarity=similarity)
    schema = fatt.Schema.infer(model, table).with_(gain=Number(lower=1))
    report = fatt.verify(model, table, similarity=similarity, schema=schema)
    assert all(case.twin["gain"] >= 1 for case in report.counterexamples)
    made = report.certificate()
    assert made.check(model).fair == report.counts["fair"]


def test_below_a_root_are_missing_values() -> None:
    """People with such a number are similar to others, and get the model's answer."""
    table = people()
    seen = table.where(np.random.default_rng(0).random(table.shape) > 0.1)
    own = make_pipeline(
        FunctionTransformer(np.sqrt),
        StandardScaler(),
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


def test_a_function_gets_just_the_columns_of_the_training() -> None:
    table = people()
    own = make_pipeline(FunctionTransformer(np.log1p), TREE).fit(table, granted(table))
    model = fatt.load(own)
    with pytest.raises(DataError, match=r"rows also have other, and a step .*whole"):
        model.predict(table.assign(other=1.0))
    with pytest.raises(DataError, match="stand in another order"):
        model.predict(table[table.columns[::-1]])


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


@pytest.mark.parametrize(
    "steps",
    [
        [QuantileTransformer(n_quantiles=5, output_distribution="normal")],
        [QuantileTransformer(n_quantiles=100, output_distribution="normal")],
        # Whose lowest quantile is the end at which the step before it clips.
        [
            QuantileTransformer(n_quantiles=20, output_distribution="normal"),
            QuantileTransformer(n_quantiles=5),
        ],
        [PowerTransformer()],
        [PowerTransformer(standardize=False)],
        [PowerTransformer("box-cox")],
        [MinMaxScaler((-3, 1)), PowerTransformer()],
        [FunctionTransformer(np.log1p)] * 2,
        [PowerTransformer("box-cox"), FunctionTransformer(np.arcsinh)],
    ],
    ids=repr,
)
@pytest.mark.parametrize("has_gaps", [False, True])
def test_rounded_curves_are_followed(steps: list[Any], has_gaps: bool) -> None:
    rng = np.random.default_rng(1)
    table = people()
    if has_gaps:
        table = table.where(rng.random(table.shape) > 0.1)
    last: Any = HistGradientBoostingClassifier(max_iter=9)
    if not has_gaps:
        last = RandomForestClassifier(5, random_state=0)
    own = make_pipeline(*map(clone, steps), last).fit(table, granted(people()))
    model = fatt.load(own)
    assert_same(model, own, table)
    for column in table.columns:
        assert_same(model, own, near(model, table, column))
        assert_same_bounds(model, own, table[:1].astype(float), column)
    similarity = Similarity(noise={"income": 15, "age": 2})
    some = table[table["income"] > 16][:40]
    report = fatt.verify(own, some, similarity=similarity)
    assert report.asked.people == len(some)
    assert report.counts["unknown"] == 0
    # Nobody who is similar gets another answer where all were said to get the same.
    for place, is_fair in enumerate(report.is_fair):
        moved = some.iloc[[place] * 200].reset_index(drop=True)
        for column, most in (("income", 15), ("age", 2)):
            change = rng.uniform(-most, most, 200)
            moved[column] += np.trunc(change) if column == "age" else change
        answers = own.predict(moved)
        assert not is_fair or (answers == own.predict(some.iloc[[place]])).all()


def assert_same_bounds(model: Any, own: Any, row: Any, column: str) -> None:
    """Hold a column to numbers of all sizes: either both take them or none does."""
    for size in (0, 5e-324, 1e-300, 1e-9, 1, 1e9, 1e150, 1e300, 1.7e308):
        for number in (size, -size):
            rows = row.assign(**{column: number})
            try:
                with np.errstate(all="ignore"):
                    answer = own.predict_proba(rows)
            except ValueError:
                with pytest.raises(DataError):
                    model.predict_proba(rows)
            else:
                # A logarithm has a pole, below which the model is not followed.
                if number > -1 or model.ensemble.inputs.bounds_of == "library":
                    assert (model.predict_proba(rows) == answer).all()


@pytest.mark.parametrize("power", [0.0, 2.0, 1e-18, 0.01, -1.5, 3.0, 1.0])
@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_all_branches_of_a_power_are_followed(power: float, method: str) -> None:
    table = people()
    table["income"] -= 10 if method == "yeo-johnson" else 0
    steps = PowerTransformer(method, standardize=False).fit(table)
    steps.lambdas_[:2] = power, 2 - power
    own = make_pipeline(steps, RandomForestClassifier(5, random_state=0))
    own[-1].fit(steps.transform(table), granted(people()))
    model = fatt.load(own)
    assert_same(model, own, table)
    for column in ("age", "income"):
        assert_same(model, own, near(model, table, column))
        assert_same_bounds(model, own, table[:1].astype(float), column)


def test_powers_computed_otherwise_are_refused(monkeypatch: Any) -> None:
    table = people()
    own = make_pipeline(PowerTransformer(), RandomForestClassifier(2))
    own.fit(table, granted(table))
    monkeypatch.setattr("scipy.stats.yeojohnson", lambda x, power: x * power)
    monkeypatch.setattr(
        PowerTransformer, "_yeo_johnson_transform", lambda _, x, p: x * p, raising=False
    )
    with pytest.raises(UnsupportedModelError, match="in a way that is not known here"):
        fatt.load(own)
    own = make_pipeline(
        QuantileTransformer(n_quantiles=5, output_distribution="normal"), own[-1]
    )
    own.fit(table, granted(table))
    monkeypatch.setattr("fatt.importers.columns.curves._BOUND", 1e-3)
    with pytest.raises(UnsupportedModelError, match="fit it with output_distribution"):
        fatt.load(own)


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


def by_count(table: Any) -> Any:
    return table if len(table) - 777 else table[::-1]


def by_text_of_count(table: Any) -> Any:
    return table[["income"]] * (1 - 2 * str(len(table)).startswith("20000"))


def first_rows(table: Any) -> Any:
    return table.assign(rest=table["gain"].iloc[:10_000] - table["income"])


def by_index(table: Any) -> Any:
    return table * (-1 if hasattr(table.index, "levels") else 1)


CALLS: list[int] = []


def by_calls(table: Any) -> Any:
    CALLS.append(1)
    return table * (1 - 2 * str(len(CALLS)).startswith("9000"))


def interaction(table: Any) -> Any:
    return table.assign(made=table["age"] * table["gain"])


@pytest.mark.parametrize(
    "function",
    [by_count, by_text_of_count, first_rows, by_index, by_calls, interaction, np.exp],
)
@pytest.mark.parametrize("behind", [None, "bins"])
def test_other_functions_are_refused_by_name(function: Any, behind: Any) -> None:
    """Each passed for what it does to most tables, and did something else to others."""
    table = people()
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    steps = [] if behind is None else [bins.set_output(transform="pandas")]
    own = make_pipeline(*steps, FunctionTransformer(function), DecisionTreeClassifier())
    with np.errstate(all="ignore"):
        own.fit(table / 100, granted(table))
    calls = len(CALLS)
    called = f"calls {function.__name__}, .* log1p, .*{{value: code}}.* as prepare="
    with pytest.raises(UnsupportedModelError, match=called):
        fatt.load(own)
    assert len(CALLS) == calls


def test_arguments_of_a_function_are_refused_with_it() -> None:
    own = make_pipeline(FunctionTransformer(np.log1p, kw_args={"where": True}), TREE)
    own.fit(people(), granted(people()))
    with pytest.raises(UnsupportedModelError, match="calls log1p with kw_args, and"):
        fatt.load(own)


# That a function is monotone is not believed where its rounding could hide otherwise.


def dented(place: float, depth: float) -> Any:
    """Return a logarithm that is lower at one number."""

    def function(numbers: Any) -> Any:
        return np.log1p(numbers) - np.where(numbers == place, depth, 0.0)

    return function


def cuts(function: Any, *numbers: float) -> Any:
    raw = Numeric(name="pay", lower=0.0, upper=1e6)
    column, raw = follow(0, [Step(function, error=last_units)], raw)
    return cuts_by_piece(column, raw, np.array(numbers))


def test_a_function_that_turns_back_is_cut_at_each_turn() -> None:
    at = np.log1p(5000.0)
    [[cut]] = cuts(np.log1p, at)
    assert np.log1p(cut) <= at < np.log1p(np.nextafter(cut, np.inf))
    ulp = np.spacing(at)
    after = from_ordinal(to_ordinal(cut) + np.array([3, 9, 30]))
    for place in after:
        found = cuts(dented(place, 8 * ulp), at)
        assert sorted(found.ravel()) == [cut, np.nextafter(place, 0.0), place]
    # Not where the number is not passed.
    assert cuts(dented(200.0, 8 * ulp), at) == cut
    # Also just beyond both ends.
    top, tiny = np.log1p(1e6), np.nextafter(0.0, 1.0)
    last = float(np.nextafter(1e6, 0.0))
    lifted = dented(last, -8 * np.spacing(top))
    for function, number, place in (
        (lifted, top, last),
        (dented(tiny, 8 * tiny), -2 * tiny, tiny),
    ):
        found = sorted(cuts(function, number).ravel())
        assert found == [np.nextafter(place, -1.0), place]


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


@pytest.mark.parametrize(
    "before", [[StandardScaler()], [PowerTransformer(standardize=False)]], ids=repr
)
def test_infinity_made_of_finite_numbers_is_refused(before: list[Any]) -> None:
    """A rounded curve makes less than all that a forest takes of infinity alone."""
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(0, 0.1, (200, 2)), columns=["a", "b"])
    curve = FunctionTransformer(np.arcsinh)
    own = make_pipeline(*map(clone, before), curve, RandomForestClassifier(3))
    own.fit(table, (table["a"] > 0) * 1)
    if before[0].get_params().get("method"):
        own[0].lambdas_[:] = -1.0
    for column in table:
        assert_same_bounds(fatt.load(own), own, table[:1], column)


POWERS = [0.0, 1e-16, 1e-6, 0.5, 1.0, 1.5, 2 - 4e-16, 2 + 1e-6, 3.0, -1e-9, -0.3, -3.0]


@pytest.mark.parametrize("seed", range(6))
def test_any_curves_in_a_row_are_followed(seed: int) -> None:
    """What is said of numbers beside each split, and of who is fair, is true."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.lognormal(3, 1, 150).round(2),
        rng.normal(0, rng.choice([1e-6, 1.0, 1e6]), 150),
        rng.choice([-3.0, 0.0, 1.0, 2.0, 900.0], 150),
    ]
    table = pandas.DataFrame(dict(zip("abc", columns, strict=True)))
    ways = [
        PowerTransformer(standardize=bool(rng.random() < 0.5)),
        QuantileTransformer(n_quantiles=5, output_distribution="normal"),
        QuantileTransformer(n_quantiles=30),
        FunctionTransformer(np.arcsinh),
        StandardScaler(),
    ]
    steps = make_pipeline(*(clone(ways[i]) for i in rng.choice(5, 3)))
    steps.fit(table)
    for step in steps:
        if isinstance(step, PowerTransformer) and rng.random() < 0.7:
            step.lambdas_[:] = rng.choice(POWERS, 3)
    made = np.asarray(steps.transform(table))
    ranks = pandas.DataFrame(made).rank().to_numpy()
    forest = RandomForestClassifier(4, random_state=0)
    forest.fit(made, (ranks > rng.integers(30, 120, 3)).sum(axis=1) % 2)
    own = make_pipeline(*(step for _, step in steps.steps), forest)
    model = fatt.load(own)
    assert_same(model, own, table)
    for i, name in enumerate(table):
        places = rng.choice(model.ensemble.thresholds(i), 20)
        by = np.append(np.arange(-4, 5), rng.integers(-999, 999, 30))
        tried = from_ordinal((to_ordinal(places)[:, np.newaxis] + by).ravel())
        rows = table.iloc[rng.integers(0, 150, len(tried))].reset_index(drop=True)
        assert_same(model, own, rows.assign(**{name: tried}))
    noise = {name: float(np.ptp(table[name])) / 30 for name in table}
    report = fatt.verify(own, table[:30], similarity=Similarity(noise=noise))
    fair = table[:30][report.is_fair]
    moved = fair.loc[fair.index.repeat(100)]
    moved += rng.uniform(-1, 1, moved.shape) * np.array([*noise.values()])
    assert (own.predict(moved) == own.predict(fair).repeat(100)).all()
