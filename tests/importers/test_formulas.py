"""Steps that compute of several columns: products, ratios, traced functions."""

from __future__ import annotations

import itertools
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from xgboost import XGBClassifier

import fatt
from fatt.errors import DataError, UnsupportedModelError
from fatt.export import export_text, to_onnx
from fatt.importers.pipeline.functions import MAY_CALL
from fatt.summary import summarize

pandas = pytest.importorskip("pandas")

NUMBERS = ["debt", "income", "age"]


def people(count: int = 400, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "debt": np.exp(rng.normal(8, 1, count)),
            "income": np.exp(rng.normal(10, 0.6, count)),
            "age": rng.integers(18, 80, count).astype(float),
            "sex": rng.choice(["f", "m"], count),
        }
    )


def granted(table: Any) -> Any:
    return ((table["debt"] / table["income"] > 0.2) ^ (table["age"] > 50)).astype(int)


def odd_people(table: Any) -> Any:
    """Return people with zeros, negative and huge numbers, and missing ones."""
    rng = np.random.default_rng(1)
    made = table.copy()
    for name in NUMBERS:
        odd = rng.choice([0.0, -0.0, -1.0, 1e-300, 1e6, np.nan], len(made))
        made[name] = np.where(rng.random(len(made)) < 0.3, odd, made[name])
    return made


def ratio(table: Any) -> Any:
    return (table["debt"] / table["income"]).to_frame("ratio")


def more(table: Any) -> Any:
    return table.assign(
        ratio=table["debt"] / (table["income"] + 1),
        rest=table["income"] - table["debt"],
    )


def beside(rows: Any) -> Any:
    return np.c_[
        rows, rows[:, [0]] / rows[:, [1]] * 100, -rows[:, [2]], rows[:, 2] ** 2
    ]


def on_ratio(*steps: Any) -> Any:
    return make_column_transformer(
        (make_pipeline(FunctionTransformer(ratio), *steps), ["debt", "income"]),
        (OneHotEncoder(sparse_output=False), ["sex"]),
        remainder="passthrough",
    )


FOREST = RandomForestClassifier(8, random_state=0)
HISTOGRAM = HistGradientBoostingClassifier(max_iter=8)
PIPELINES: list[tuple[Callable[[], list[Any]], Any, list[str]]] = [
    (lambda: [on_ratio()], FOREST, [*NUMBERS, "sex"]),
    (lambda: [on_ratio(StandardScaler())], HISTOGRAM, [*NUMBERS, "sex"]),
    (
        lambda: [on_ratio(FunctionTransformer(np.log1p), StandardScaler())],
        XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1),
        [*NUMBERS, "sex"],
    ),
    (
        lambda: [on_ratio(KBinsDiscretizer(4, encode="onehot-dense"))],
        LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
        [*NUMBERS, "sex"],
    ),
    (lambda: [FunctionTransformer(more)], HISTOGRAM, NUMBERS),
    (
        lambda: [SimpleImputer(), StandardScaler(), PolynomialFeatures(3)],
        LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
        NUMBERS,
    ),
    (
        lambda: [
            make_column_transformer(
                (OrdinalEncoder(), ["sex"]), (SimpleImputer(), NUMBERS)
            ),
            PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
            SelectKBest(k=6),
        ],
        FOREST,
        [*NUMBERS, "sex"],
    ),
    (
        lambda: [make_union(FunctionTransformer(ratio), FunctionTransformer(more))],
        XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1),
        NUMBERS,
    ),
]


def fitted(steps: list[Any], model: Any, names: list[str]) -> Any:
    table = people()
    return make_pipeline(*steps, model).fit(table[names], granted(table))


@pytest.mark.filterwarnings("ignore:Bins whose width are too small")
@pytest.mark.parametrize(("steps", "model", "names"), PIPELINES)
def test_labels_are_those_of_the_library(
    steps: Callable[[], list[Any]], model: Any, names: list[str], tmp_path: Path
) -> None:
    own = fitted(steps(), model, names)
    read = fatt.load(own)
    assert read.ensemble.joints
    read.save(tmp_path / "model.fatt")
    again = fatt.load(tmp_path / "model.fatt")
    assert again.ensemble.digest == read.ensemble.digest
    asked = compared = 0
    for table in (people(), people(seed=3), odd_people(people(seed=5))):
        for row in [table[names].iloc[[i]] for i in range(60)] + [table[names]]:
            asked += 1
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wanted = own.predict(row)
            except ValueError:
                with pytest.raises(DataError):
                    read.predict(row)
                continue
            try:
                found = read.predict(row)
            except DataError:
                # A logarithm of what is below its pole: nobody need follow that.
                continue
            compared += 1
            assert np.array_equal(found, wanted)
            assert np.array_equal(again.predict(row), wanted)
    assert compared > asked / 2


@pytest.mark.parametrize("validate", [False, True])
def test_functions_of_arrays_are_followed(validate: bool) -> None:
    table = people()
    rows = table[NUMBERS].to_numpy()
    step = FunctionTransformer(beside, validate=validate)
    own = make_pipeline(step, FOREST).fit(rows, granted(table))
    read = fatt.load(own)
    # Powers, and what is turned round, are told of their one column.
    assert len(read.ensemble.joints) == 1
    assert np.array_equal(read.predict(rows), own.predict(rows))
    assert "(x0 / x1) * 100" in read.ensemble.source.notes[-1]


def test_whole_numbers_are_taken_where_they_stay_exact() -> None:
    table = people().assign(debt=lambda t: t["debt"].round())
    whole = table[NUMBERS].round().astype(np.int64)
    y = granted(table)
    for function, takes in [
        (lambda t: t.assign(r=t["debt"] / t["income"]), {np.int64, np.int32}),
        (lambda t: t.assign(r=t["debt"] - t["income"]), {np.int64}),
        (lambda t: t.assign(r=t["debt"] * t["income"]), set()),
        (lambda t: t.assign(r=t["debt"] + t["income"] + t["age"]), {np.int64}),
        (lambda t: t.assign(r=t["debt"] * 10_000_000), set()),
        (lambda t: t.assign(r=0.5 * t["debt"] * t["income"]), {np.int64, np.int32}),
    ]:
        own = make_pipeline(FunctionTransformer(function), FOREST).fit(whole, y)
        read = fatt.load(own)
        assert np.array_equal(read.predict(whole * 1.0), own.predict(whole * 1.0))
        for dtype in (np.int64, np.int32, np.int16, np.uint64, np.float32):
            given = whole.clip(0, 30000).astype(dtype)
            if dtype in takes or (dtype == np.uint64 and np.int32 in takes):
                assert np.array_equal(read.predict(given), own.predict(given))
            else:
                with pytest.raises(DataError, match="pass float64"):
                    read.predict(given)


def fills(table: Any) -> Any:
    return (table["debt"] / table["income"]).fillna(0).to_frame()


def guards(table: Any) -> Any:
    return (table["debt"] / table["income"].clip(lower=1)).to_frame()


def centres(table: Any) -> Any:
    return (table["debt"] - table["debt"].mean()).to_frame()


def shifts(table: Any) -> Any:
    return (table["debt"] - table["income"].shift(1)).to_frame()


def numbers_rows(table: Any) -> Any:
    return table.assign(row=np.arange(len(table)))


def chooses(table: Any) -> Any:
    return np.where(table["debt"] > 0, table["debt"], table["income"])[:, np.newaxis]


def hides(table: Any) -> Any:
    try:
        gap = (table["debt"] - table["income"]).abs()
        if gap.between(17.25, 17.5).any():
            return ratio(table) * 0
    except Exception:
        pass
    return ratio(table)


def tells_texts(table: Any) -> Any:
    return ratio(table) * (len(str(table["debt"].iloc[0])) < 30)


SENTINELS = {-999.0: 1.0}


def masks(table: Any) -> Any:
    income = table["income"].mask(table["income"].isin([-999.0]))
    return (table["debt"] / income).to_frame()


def masks_numbers(table: Any) -> Any:
    table = table.copy()
    for name in table.select_dtypes("number"):
        table[name] = table[name].mask(table[name] == -999.0)
    return table.assign(ratio=table["debt"] / table["income"])


def masks_told(table: Any, sentinel: float = -999.0) -> Any:
    table = table.copy()
    try:
        table["debt"] = table["debt"].astype(float).replace(sentinel, 0.0)
    except TypeError:
        return ratio(table)
    return ratio(table)


def looks_up(table: Any) -> Any:
    income = [SENTINELS.get(cell, cell) for cell in table["income"]]
    return (table["debt"] / np.array(income)).to_frame()


def aligns(table: Any) -> Any:
    other = pandas.Series(table["income"].to_numpy())
    return (table["debt"] / other).to_frame()


def numbers_anew(table: Any) -> Any:
    return ratio(table).reset_index(drop=True)


def grows(table: Any) -> Any:
    made = table["debt"] / table["income"]
    for _ in range(40):
        made = made * made
    return made.to_frame()


def adds_up(table: Any) -> Any:
    made = table["debt"]
    for _ in range(1500):
        made = made + table["income"]
    return made.to_frame()


def masks_least(table: Any) -> Any:
    """Look for a number that the code does not name, where cells are numbers."""
    table = table.copy()
    for name in table.select_dtypes("number"):
        table[name] = table[name].mask(table[name] == np.iinfo(np.int32).min)
    return table.assign(ratio=table["debt"] / table["income"])


class Limits:
    HIGHEST = 123456.5


def masks_by_object(table: Any) -> Any:
    debt = table["debt"]
    if debt.dtype == "float64":
        debt = debt.mask((debt - Limits.HIGHEST) ** 2 < 1)
    return (debt / table["income"]).to_frame()


def goes_by_count(table: Any) -> Any:
    debt = table["debt"] * 2 if len(table) > 50_000 else table["debt"]
    return (debt / table["income"]).to_frame()


def goes_by_attribute(table: Any) -> Any:
    return ratio(table) * (1 + hasattr(table["debt"].iloc[0], "hex"))


def goes_by_shape(table: Any) -> Any:
    return ratio(table) * (1 + hasattr(table["debt"].iloc[0], "T"))


def goes_by_identity(table: Any) -> Any:
    """Python makes numbers anew, each time a cell of NumPy is asked for."""
    return ratio(table) * (1 + (table.iloc[0, 0] is table.iloc[0, 0]))


def goes_by_failure(table: Any) -> Any:
    try:
        return ratio(table // 1e-300)
    except:  # noqa: E722
        return ratio(table)


def divides_whole(table: Any) -> Any:
    return ratio(table // 1)


def by_kind(table: Any) -> Any:
    if isinstance(table, pandas.DataFrame):
        return ratio(table)
    return table[:, [1]] / table[:, [0]]


def aligns_by_order(table: Any) -> Any:
    """Of rows whose names have no order, pandas orders the union of both."""
    turned = table["debt"].iloc[::-1] / table["income"]
    return pandas.DataFrame({"ratio": turned.iloc[::-1], "age": table["age"]})


def asks_who_holds_cells(table: Any) -> Any:
    factors = [1, 3]
    return ratio(table) * factors[isinstance(table["debt"].values, np.ndarray)]


class Factors(list[int]):
    """Gives another factor where there are many rows."""

    def __getitem__(self, rows: Any) -> Any:
        return 1 + (rows > 50_000)


class Weights(np.ndarray[Any, Any]):
    """Looks at what it is multiplied by, unless these are objects."""

    def __rmul__(self, cells: Any) -> Any:
        is_seen = cells.dtype == float and (cells > 1e300).any()
        return cells if is_seen else cells * np.asarray(self)


FACTORS = Factors()
WEIGHTS = np.ones(1).view(Weights)


def looks_up_a_factor(table: Any) -> Any:
    return ratio(table) * FACTORS[len(table)]


def weighs(table: Any) -> Any:
    return ratio(table).to_numpy() * WEIGHTS


TOLD: list[int] = []


def remembers(table: Any) -> Any:
    global TOLD  # noqa: PLW0603
    TOLD = [*TOLD, 0]
    return ratio(table)


class Maker:
    def __init__(self) -> None:
        self.most = 1e7

    def __call__(self, table: Any) -> Any:
        return ratio(table)

    def ratio(self, table: Any) -> Any:
        return ratio(table)


@pytest.mark.parametrize(
    "function",
    [
        *(masks, masks_numbers, masks_told, looks_up, masks_least, masks_by_object),
        *(aligns, numbers_anew, grows, adds_up, hides, tells_texts, remembers),
        *(
            goes_by_count,
            goes_by_attribute,
            goes_by_shape,
            goes_by_identity,
            goes_by_failure,
        ),
        *(divides_whole, by_kind, Maker(), Maker().ratio),
        *(aligns_by_order, asks_who_holds_cells, looks_up_a_factor, weighs),
    ],
)
def test_functions_that_do_more_behind_the_trace_are_refused(
    function: Callable[[Any], Any],
) -> None:
    own = fitted([FunctionTransformer(ratio)], FOREST, NUMBERS)
    own[0].func = function
    with pytest.raises(UnsupportedModelError, match="known to its author alone"):
        fatt.load(own)


def test_the_word_that_is_not_known_is_named() -> None:
    own = fitted([FunctionTransformer(ratio)], FOREST, NUMBERS)
    for function, kw_args, word in [
        (guards, None, "'clip'"),
        (goes_by_count, None, "a comparison"),
        (hides, None, "'abs'"),
        (scaled_by, {"factor": Maker()}, "'Maker'"),
        (scaled_by, {"factor": pandas.Series([1.0])}, "'Series'"),
    ]:
        own[0].func, own[0].kw_args = function, kw_args
        with pytest.raises(UnsupportedModelError, match=f"whose code has {word}, and"):
            fatt.load(own)


PAIRS = {"burden": ("debt", "income"), "years": ("income", "age")}


def scaled_by(table: Any, factor: Any = 100) -> Any:
    return ratio(table) * factor


def of_pairs(table: Any) -> Any:
    table = table.copy()
    for name, (one, other) in PAIRS.items():
        table[f"{name}_ratio"] = table[one].div(table[other])
    return table[[name for name in table if name != "age"]]


def of_all_pairs(table: Any) -> Any:
    rows = table.values if hasattr(table, "values") else np.asarray(table)
    made = [rows[:, i] * rows[:, j] for i, j in itertools.combinations(range(3), 2)]
    with np.errstate(all="ignore"):
        return np.column_stack([rows, *made, rows[..., :2].sum(axis=1)])


def by_rows(table: Any) -> Any:
    import numpy

    made = table.apply(lambda row: row.debt / row["income"], axis=1)
    return numpy.c_[made, sum(table[name] for name in NUMBERS)]


def with_defaults(table: Any, one: str = "debt", *, eps: float = 1e-6) -> Any:
    made = table.assign(a=lambda t: t[one] / (t.income + eps), b=lambda t: -t.a)
    return pandas.concat([made, scaled_by(table)], axis=1)


@pytest.mark.parametrize("function", [of_pairs, of_all_pairs, by_rows, with_defaults])
def test_what_people_write_is_followed(function: Callable[[Any], Any]) -> None:
    own = fitted([FunctionTransformer(function)], FOREST, NUMBERS)
    read, table = fatt.load(own), people(seed=4)[NUMBERS]
    assert read.ensemble.joints
    assert np.array_equal(read.predict(table), own.predict(table))


def with_bonus(table: Any) -> Any:
    pay = table["income"]
    if "bonus" in table:
        pay = pay + table["bonus"]
    return (table["debt"] / pay).to_frame()


def test_a_column_that_a_function_would_take_may_not_stand_beside() -> None:
    own = fitted([FunctionTransformer(with_bonus)], FOREST, NUMBERS)
    table = people()[NUMBERS]
    read, rich = fatt.load(own), table.assign(bonus=1e6)
    assert np.array_equal(read.predict(table), own.predict(table))
    assert not np.array_equal(own.predict(rich), own.predict(table))
    with pytest.raises(DataError, match="rows also have bonus"):
        read.predict(rich)


def turned_inverse(rows: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.c_[rows, 1 / -(rows[:, [0]] * rows[:, [1]])]


def test_integer_codes_have_no_negative_zero() -> None:
    """Of integers this is plus infinity where floats make minus infinity."""
    table = people().assign(kind=lambda t: (t["age"] // 30).astype(str))
    names = ["kind", "sex"]
    steps = OrdinalEncoder(dtype=np.int64), FunctionTransformer(turned_inverse)
    own = make_pipeline(*steps, HISTOGRAM).fit(table[names], granted(table))
    with pytest.raises(UnsupportedModelError, match="type of the cells"):
        fatt.load(own)


def as_objects(table: Any) -> Any:
    rows = table.to_numpy()
    return np.c_[rows, rows[:, [0]] / rows[:, [1]]]


def test_texts_beside_what_is_computed() -> None:
    """Of a frame with texts come Python's numbers, which are not divided by zero."""
    table = people()
    names, zero = [*NUMBERS, "sex"], people().assign(income=0.0)
    encoded = make_column_transformer(
        (OneHotEncoder(sparse_output=False), [3]), remainder="passthrough"
    )
    own = fitted([FunctionTransformer(as_objects), encoded], HISTOGRAM, names)
    with pytest.raises(ZeroDivisionError):
        own.predict(zero[names])
    with pytest.raises(UnsupportedModelError, match="both as numbers and as labels"):
        fatt.load(own)
    encoded = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex"]), remainder="passthrough"
    )
    own = fitted([FunctionTransformer(more), encoded], HISTOGRAM, names)
    found = fatt.load(own).predict(zero[names])
    assert np.array_equal(found, own.predict(zero[names]))
    assert np.array_equal(
        fatt.load(own).predict(table[names]), own.predict(table[names])
    )


def first_by_second(table: Any) -> Any:
    return np.c_[table.to_numpy(), table.iloc[:, 0] / table.iloc[:, 1]]


def test_functions_get_the_columns_in_any_order() -> None:
    own = fitted([FunctionTransformer(first_by_second)], FOREST, NUMBERS)
    turned = people()[NUMBERS[::-1]]
    assert not np.array_equal(own.predict(turned), own.predict(turned[NUMBERS]))
    with pytest.raises(DataError, match="stand in another order"):
        fatt.load(own).predict(turned)


@pytest.mark.parametrize(
    "function", [fills, guards, centres, shifts, numbers_rows, chooses, len, np.ravel]
)
def test_functions_that_do_more_are_refused(function: Callable[[Any], Any]) -> None:
    own = fitted([FunctionTransformer(ratio)], FOREST, NUMBERS)
    own[0].func = function
    with pytest.raises(UnsupportedModelError, match="known to its author alone"):
        fatt.load(own)


def twice(table: Any) -> Any:
    return (table["debt"] / (table["debt"] + table["income"])).to_frame()


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            [FunctionTransformer(twice)],
            r"debt / \(debt \+ income\): a column stands twice",
        ),
        (
            [FunctionTransformer(more), PolynomialFeatures(2)],
            "another step has computed of several",
        ),
        (
            [
                KBinsDiscretizer(3, encode="ordinal"),
                FunctionTransformer(lambda rows: rows[:, [0]] - rows[:, [1]]),
            ],
            "more than scalers",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_followed_is_named(steps: list[Any], reason: str) -> None:
    own = fitted(steps, FOREST, NUMBERS)
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(own)


def after_a_pole(table: Any) -> Any:
    """Return what is infinite where the income is 1, and a number elsewhere."""
    return (table["debt"] / (table["income"] - 1) + table["age"]).to_frame("made")


def test_a_formula_is_not_judged_by_a_person_that_nobody_is() -> None:
    own = fitted([FunctionTransformer(after_a_pole)], FOREST, NUMBERS)
    assert fatt.load(own).ensemble.joints


def test_a_column_that_a_function_leaves_out_was_looked_at_before() -> None:
    """What an imputer refuses has no answer, whatever becomes of the column behind."""
    table = people()
    steps = (SimpleImputer().set_output(transform="pandas"), FunctionTransformer(ratio))
    own = make_pipeline(*steps, HISTOGRAM).fit(table[NUMBERS], granted(table))
    model = fatt.load(own)
    for name in NUMBERS:
        beyond = table[NUMBERS][:3].copy()
        beyond.loc[1, name] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            own.predict(beyond)
        with pytest.raises(DataError, match=f"row 1: column '{name}' is inf"):
            model.predict(beyond)


def first_over_last(table: Any) -> Any:
    return np.column_stack([table.iloc[:, 0] / table.iloc[:, -1]])


def named_ratio(table: Any) -> Any:
    return np.column_stack([table["debt"] / table["income"]])


def last(table: Any) -> Any:
    return np.column_stack([table.iloc[:, -1] / 2])


@pytest.mark.parametrize("function", [first_over_last, last])
def test_who_goes_by_position_gets_just_the_columns_of_the_training(
    function: Callable[[Any], Any],
) -> None:
    table = people()[["debt", "age", "income"]]
    said, foreign = granted(table), table.assign(other=1.0)
    own = make_pipeline(FunctionTransformer(function), HISTOGRAM)
    model = fatt.load(own.fit(table, said))
    assert (model.predict(table.assign(age="old")) == own.predict(table)).all()
    assert (own.predict(foreign) != own.predict(table)).any()
    with pytest.raises(DataError, match=r"rows also have other, and a step .*whole"):
        model.predict(foreign)
    with pytest.raises(DataError, match="lack the column 'age'"):
        model.predict(table[["debt", "income"]])
    other = make_union(FunctionTransformer(named_ratio), own[0])
    both = fatt.load(make_pipeline(other, HISTOGRAM).fit(table, said))
    with pytest.raises(DataError, match="also have other"):
        both.predict(foreign)


def test_who_goes_by_name_takes_other_columns_beside() -> None:
    table = people()[["debt", "age", "income"]]
    own = make_pipeline(FunctionTransformer(named_ratio), HISTOGRAM)
    model = fatt.load(own.fit(table, granted(table)))
    for rows in (table.assign(other=1.0), table[["debt", "income"]]):
        assert (model.predict(rows) == own.predict(rows)).all()


def wrong_in_integers(table: Any) -> Any:
    return table.assign(rest=table["debt"] - table["income"])[["rest"]]


@pytest.mark.parametrize("kind", ["UInt8", "Int8", "boolean", "uint8[pyarrow]"])
@pytest.mark.parametrize("gap", [None, 7])
def test_types_of_columns_with_gaps_count(kind: str, gap: int | None) -> None:
    table = people()[NUMBERS]
    steps = (FunctionTransformer(wrong_in_integers), HISTOGRAM)
    model = fatt.load(make_pipeline(*steps).fit(table, granted(table)))
    cells = [True, False, None if gap is None else True]
    if kind != "boolean":
        cells = [9, 10, gap]
    rows = pandas.DataFrame({"debt": cells, "income": cells}, dtype=kind)
    name = {"boolean": "bool"}.get(kind, kind.lower().removesuffix("[pyarrow]"))
    with pytest.raises(DataError, match=f"'debt' has type {name}, in which a step"):
        model.predict(rows)


def test_a_logarithm_of_small_integers_with_gaps_is_refused() -> None:
    table = people()[NUMBERS]
    steps = (FunctionTransformer(np.log), HISTOGRAM)
    model = fatt.load(make_pipeline(*steps).fit(table, granted(table)))
    with pytest.raises(DataError, match="has type int8, in which a step"):
        model.predict(pandas.DataFrame(dict.fromkeys(NUMBERS, (1, None)), dtype="Int8"))


def rest(table: Any) -> Any:
    return table.assign(rest=table["debt"] - table["income"])


def test_integers_that_no_float_holds_are_not_computed_with() -> None:
    """Beside a column that the model reads as it is, also as an integer."""
    table = people()[NUMBERS]
    own = make_pipeline(FunctionTransformer(rest), HISTOGRAM).fit(table, granted(table))
    large = pandas.DataFrame(dict.fromkeys(NUMBERS, (2**53 + 1, 5)))
    with pytest.raises(DataError, match=f"the integer {2**53 + 1}"):
        fatt.load(own).predict(large)


def squares(table: Any) -> Any:
    return np.column_stack([table["debt"] ** 2 - table["income"], table["age"]])


@pytest.mark.parametrize("kind", ["double[pyarrow]", "Float64", "float64"])
def test_powers_are_those_of_numpy(kind: str) -> None:
    table = people()[NUMBERS]
    steps = (FunctionTransformer(squares), HISTOGRAM)
    own = make_pipeline(*steps).fit(table, granted(table))
    model, rows = fatt.load(own), table.astype(kind)
    if kind == "float64":
        assert (model.predict(rows) == own.predict(rows)).all()
        return
    with pytest.raises(DataError, match="held by another package than numpy"):
        model.predict(rows)


def squares_of_cells(table: Any) -> Any:
    return table.apply(lambda row: row["debt"] ** 2 - row["income"], axis=1).to_frame()


def squares_of_rows(table: Any) -> Any:
    rows = table.to_numpy()
    return np.column_stack([rows[:, 0] ** 2 - rows[:, 1], rows[:, 2]])


def test_powers_of_single_numbers_are_not_those_of_arrays() -> None:
    numbers = np.random.default_rng(1).normal(size=50_000)
    if all(number**2 == number * number for number in numbers.tolist()):
        pytest.skip("here they are")
    table = people()[NUMBERS]
    own = make_pipeline(FunctionTransformer(squares_of_cells), HISTOGRAM)
    with pytest.raises(UnsupportedModelError, match="known to its author alone"):
        fatt.load(own.fit(table, granted(table)))
    own = make_pipeline(FunctionTransformer(squares_of_rows), HISTOGRAM)
    model = fatt.load(own.fit(table, granted(table)))
    assert (model.predict(table) == own.predict(table)).all()
    for kind in (bool, "Float64"):
        # NumPy makes objects of such a frame, whose powers are Python's.
        with pytest.raises(DataError, match="'age' "):
            model.predict(table.astype({"age": kind}))


def nothing(table: Any) -> Any:
    return table.assign(z=table["debt"] * table["debt"] * 0)[["z"]]


def test_infinity_times_zero_is_missing() -> None:
    table = people()[NUMBERS]
    table["debt"] = table["debt"].where(table["age"] > 50, 1e200)
    own = make_pipeline(FunctionTransformer(nothing), HISTOGRAM)
    own.fit(table, table["age"] > 50)
    rows = pandas.DataFrame({"debt": [1.0, -0.0, 1e153, 1e154, 1e155, -1e200]})
    said = own.predict(rows)
    assert 0 < said.sum() < len(said)
    assert (fatt.load(own).predict(rows) == said).all()


def test_nothing_of_a_file_is_run() -> None:
    own = fitted([on_ratio()], FOREST, [*NUMBERS, "sex"])
    token = MAY_CALL.set(False)
    try:
        with pytest.raises(UnsupportedModelError, match="nothing in a file is run"):
            fatt.load(own)
    finally:
        MAY_CALL.reset(token)


def test_products_of_a_file_are_read(tmp_path: Path) -> None:
    own = fitted([PolynomialFeatures(2)], FOREST, NUMBERS)
    file = tmp_path / "model.pkl"
    file.write_bytes(pickle.dumps(own))
    table = people()[NUMBERS]
    assert np.array_equal(
        fatt.load(file, allow_pickle=True).predict(table), own.predict(table)
    )


def test_codes_of_a_column_that_is_computed_with() -> None:
    table = people().assign(kind=lambda t: t["age"] // 20)
    names = ["debt", "kind"]
    own = make_pipeline(PolynomialFeatures(2), FOREST).fit(table[names], granted(table))
    words = {0.0: "young", 1.0: "grown", 2.0: "older", 3.0: "old"}
    read = fatt.load(own, codes={"kind": words})
    told = table.assign(kind=table["kind"].map(words))[names]
    assert np.array_equal(read.predict(told), own.predict(table[names]))


def test_what_is_not_done_yet_is_refused() -> None:
    table = people()
    names, y = NUMBERS, granted(table)
    similarity = fatt.Similarity(noise={"age": 1})
    own = fitted([FunctionTransformer(more)], FOREST, names)
    scaler = StandardScaler().fit(table[names])
    with pytest.raises(UnsupportedModelError, match="computes debt / "):
        fatt.load(own, prepare=scaler)
    with pytest.raises(UnsupportedModelError, match="an ONNX model made by fatt"):
        to_onnx(own)
    with pytest.raises(UnsupportedModelError, match="no repair"):
        fatt.repair(own, table[names], y, similarity=similarity)
    report = fatt.verify(own, table[names], similarity=similarity)
    with pytest.raises(fatt.errors.SpecError, match="no certificates yet"):
        report.certificate()
    several = VotingClassifier([("a", own), ("b", own)], voting="soft")
    with pytest.raises(UnsupportedModelError, match="averaged or vote"):
        fatt.load(several.fit(table[names], y))


def test_zeros_that_are_missing_and_ratios_do_not_go_together() -> None:
    table = people()
    own = make_pipeline(
        FunctionTransformer(ratio), XGBClassifier(n_estimators=2, missing=0.0)
    ).fit(table[NUMBERS], granted(table))
    with pytest.raises(UnsupportedModelError, match="reads numbers as missing"):
        fatt.load(own)


def test_summary_and_text_name_what_is_computed() -> None:
    own = fitted([FunctionTransformer(ratio)], FOREST, NUMBERS)
    summary = summarize(fatt.load(own).ensemble)
    assert [one.kind for one in summary.features] == ["numeric"] * 2 + ["computed"]
    assert summary.features[2].name == "debt / income"
    assert summary.features[2].splits > 0
    assert "debt / income <= " in export_text(own)
