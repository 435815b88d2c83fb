"""Steps that compute columns of several others: products."""

from __future__ import annotations

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
from fatt.ensemble import Numeric
from fatt.ensemble.joint import Formula, Operation, Read
from fatt.errors import DataError, UnsupportedModelError
from fatt.export import export_text, to_onnx
from fatt.importers.columns.joints import require_followed
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


def products(*steps: Any) -> Any:
    only = PolynomialFeatures(interaction_only=True, include_bias=False)
    return make_column_transformer(
        (make_pipeline(only, *steps), ["debt", "income"]),
        (OneHotEncoder(sparse_output=False), ["sex"]),
        remainder="passthrough",
    )


FOREST = RandomForestClassifier(8, random_state=0)
HISTOGRAM = HistGradientBoostingClassifier(max_iter=8)
PIPELINES: list[tuple[Callable[[], list[Any]], Any, list[str]]] = [
    (lambda: [products()], FOREST, [*NUMBERS, "sex"]),
    (lambda: [products(StandardScaler())], HISTOGRAM, [*NUMBERS, "sex"]),
    (
        lambda: [products(FunctionTransformer(np.log1p), StandardScaler())],
        XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1),
        [*NUMBERS, "sex"],
    ),
    (
        lambda: [products(KBinsDiscretizer(4, encode="onehot-dense"))],
        LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
        [*NUMBERS, "sex"],
    ),
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
        lambda: [make_union(PolynomialFeatures(2), StandardScaler())],
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


def test_products_of_arrays_are_followed() -> None:
    table = people()
    rows = table[NUMBERS].to_numpy()
    step = PolynomialFeatures((2, 2), include_bias=False)
    own = make_pipeline(step, FOREST).fit(rows, granted(table))
    read = fatt.load(own)
    # Powers are told of their one column.
    assert len(read.ensemble.joints) == 3
    assert np.array_equal(read.predict(rows), own.predict(rows))
    assert "(x0 * x1, x0 * x2, x1 * x2)" in read.ensemble.source.notes[-1]


def test_whole_numbers_become_floats_first() -> None:
    """Their product would overflow in their own type."""
    table = people(seed=2)[NUMBERS].round().clip(upper=120).astype("int8")
    own = make_pipeline(PolynomialFeatures(2), FOREST)
    own.fit(table, table["debt"] * table["income"] > 9000)
    for kind in ("int8", "uint8", "int64", "float64"):
        rows = table.astype(kind)
        assert np.array_equal(fatt.load(own).predict(rows), own.predict(rows))
    with pytest.raises(DataError, match="has type float32"):
        fatt.load(own).predict(table.astype("float32"))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            [PolynomialFeatures(2), PolynomialFeatures(2)],
            "another step has computed of several",
        ),
        ([KBinsDiscretizer(3, encode="ordinal"), PolynomialFeatures(2)], "more than"),
        (
            [
                make_column_transformer(
                    (OneHotEncoder(dtype=np.float32, sparse_output=False), ["age"]),
                    remainder="passthrough",
                ),
                PolynomialFeatures(2),
            ],
            "in float32 or float16",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_followed_is_named(steps: list[Any], reason: str) -> None:
    own = fitted(steps, FOREST, NUMBERS)
    with pytest.raises(UnsupportedModelError, match=reason):
        fatt.load(own)


def test_products_computed_otherwise_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = fitted([PolynomialFeatures(2)], FOREST, NUMBERS)
    plain = PolynomialFeatures.transform
    monkeypatch.setattr(PolynomialFeatures, "transform", lambda *_: plain(*_) * 2)
    with pytest.raises(UnsupportedModelError, match="in a way that is not known here"):
        fatt.load(own)


@pytest.mark.parametrize("operator", ["+", "/"])
def test_a_column_that_stands_twice_is_refused(operator: Any) -> None:
    debt, income = Read(place=0), Read(place=1)
    twice: Formula = Operation(debt, operator, Operation(debt, "+", income))
    features = [Numeric(name="debt"), Numeric(name="income")]
    with pytest.raises(UnsupportedModelError, match=r"\(debt \+ income\): a column"):
        require_followed(twice, features)


def test_a_column_of_which_nothing_is_made_was_looked_at() -> None:
    """What the step refuses has no answer, whatever becomes of the column behind."""
    table = people()
    only = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    steps = (only, SelectKBest(k=1))
    own = make_pipeline(*steps, FOREST).fit(table[NUMBERS], granted(table))
    model = fatt.load(own)
    for name in NUMBERS:
        beyond = table[NUMBERS][:3].copy()
        beyond.loc[1, name] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            own.predict(beyond)
        with pytest.raises(DataError, match=f"row 1: column '{name}' is inf"):
            model.predict(beyond)


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
    own = fitted([PolynomialFeatures(2)], FOREST, names)
    scaler = StandardScaler().fit(table[names])
    with pytest.raises(UnsupportedModelError, match=r"computes debt \* income"):
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


def test_zeros_that_are_missing_and_products_do_not_go_together() -> None:
    table = people()
    own = make_pipeline(
        PolynomialFeatures(2), XGBClassifier(n_estimators=2, missing=0.0)
    ).fit(table[NUMBERS], granted(table))
    with pytest.raises(UnsupportedModelError, match="reads numbers as missing"):
        fatt.load(own)


def test_summary_and_text_name_what_is_computed() -> None:
    step = PolynomialFeatures(interaction_only=True, include_bias=False)
    names = ["debt", "income"]
    own = fitted([step], FOREST, names)
    summary = summarize(fatt.load(own).ensemble)
    assert [one.kind for one in summary.features] == ["numeric"] * 2 + ["computed"]
    assert summary.features[2].name == "debt * income"
    assert summary.features[2].splits > 0
    assert "debt * income <= " in export_text(own)
