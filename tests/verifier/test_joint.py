"""People around whom a computed column hangs on one moving column."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from xgboost import XGBClassifier

import fatt
from fatt import Auditor, Budget, Schema, Similarity
from fatt.ensemble import Categorical
from fatt.ensemble.joint import (
    Constant,
    Formula,
    Operation,
    Operator,
    Read,
    evaluate,
    places_of,
)
from fatt.errors import DataError, SpecError
from fatt.importers.columns.joints import Fixed, with_fixed
from fatt.region import Binary, Number
from fatt.region.boxes import Boxes
from fatt.verdict import BUDGET, UNKNOWN
from fatt.verifier import Verifier
from fatt.verifier.intervals import reach_of
from tests.computed import Computed, load

pandas = pytest.importorskip("pandas")

Floats = NDArray[np.float64]


def people(count: int = 60, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "debt": np.round(np.exp(rng.normal(3, 1, count))) - 5,
            "income": np.round(np.exp(rng.normal(4, 0.6, count))) + 1,
            "age": rng.integers(18, 80, count).astype(float),
            "sex": rng.choice(["f", "m"], count),
        }
    )


def granted(table: Any) -> Any:
    return ((table["debt"] / table["income"] > 0.2) ^ (table["age"] > 50)).astype(int)


def with_gaps(table: Any) -> Any:
    """Return people of whom some cells are missing."""
    rng = np.random.default_rng(2)
    made = table.copy()
    for name in ("debt", "age"):
        made[name] = made[name].where(rng.random(len(made)) > 0.2)
    return made


DEBT, INCOME = Read(place=0), Read(place=1)
RATIO = Operation(DEBT, "/", INCOME)


def ratios(*steps: Any) -> Any:
    return make_column_transformer(
        (make_pipeline("passthrough", *steps), ["ratio"]),
        (OneHotEncoder(sparse_output=False), ["sex"]),
        ("passthrough", ["debt", "income", "age"]),
    )


def behind_ratio(*steps: Any) -> Computed:
    names = ("debt", "income", "age", "sex")
    return Computed(make_pipeline(*map(clone, steps)), names, {"ratio": RATIO})


def products() -> Any:
    return make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["debt", "income", "age"]),
    )


FOREST = RandomForestClassifier(6, max_depth=5, random_state=0)
PIPELINES = {
    "forest": [ratios(), FOREST],
    "histogram": [ratios(), HistGradientBoostingClassifier(max_iter=6)],
    "scaled": [
        ratios(StandardScaler()),
        XGBClassifier(n_estimators=6, max_depth=4, n_jobs=1),
    ],
    "rounded": [ratios(FunctionTransformer(np.cbrt)), FOREST],
    "products": [
        products(),
        PolynomialFeatures(2),
        LGBMClassifier(n_estimators=6, verbose=-1, min_child_samples=3, n_jobs=1),
    ],
}
NOISE = {name: Similarity(noise={name: 3}) for name in ("debt", "income", "age")}
SIMILARITIES = [
    *NOISE.values(),
    Similarity(vary=["sex"]),
    NOISE["debt"] | NOISE["income"] | Similarity(vary=["sex"]),
]


def fitted(kind: str, count: int = 400) -> Any:
    table, steps = people(count, seed=1), PIPELINES[kind]
    own = make_pipeline(*steps) if kind == "products" else behind_ratio(*steps)
    return own.fit(table, granted(table))


def close_twins(model: Any, person: Any, name: str, reach: float) -> Any:
    """Return similar people, among them those at both sides of every split."""
    ensemble = model.ensemble
    value = float(person[name])
    near = [np.linspace(value - reach, value + reach, 201)]
    for number, joint in enumerate(ensemble.joints):
        cuts = ensemble.thresholds(len(ensemble.features) + number)
        cuts = np.concatenate([cuts, joint.feature.edges])
        # Lines through both ends lead close to where the column passes a cut.
        row = ensemble.encode(person.to_frame().T.infer_objects())
        ends = np.repeat(row, 2, axis=0)
        place = [feature.name for feature in ensemble.features].index(name)
        ends[:, place] = value - reach, value + reach
        low, high = ensemble.joint_values(ends)[:, number]
        if np.isfinite([low, high]).all() and low != high:
            near.append(value - reach + 2 * reach * (cuts - low) / (high - low))
            if "/" in str(joint.formula) and name == "income":
                near.append(float(person["debt"]) / cuts[cuts != 0])
    tried = np.concatenate(near)
    tried = np.concatenate([tried, np.nextafter(tried, np.inf), tried - 1e-12])
    tried = np.unique(tried[(tried >= value - reach) & (tried <= value + reach)])
    twins = pandas.concat([person.to_frame().T] * len(tried), ignore_index=True)
    twins = twins.infer_objects()
    twins[name] = tried
    return twins


@pytest.mark.parametrize("kind", PIPELINES)
@pytest.mark.parametrize("name", NOISE)
def test_verdicts_are_those_of_close_twins(kind: str, name: str) -> None:
    own = fitted(kind)
    model = load(own)
    table = people()
    if kind != "scaled":
        table = with_gaps(table) if kind in {"histogram", "products"} else table
    report = fatt.verify(load(own), table, similarity=NOISE[name])
    assert not report.counts["unknown"]
    assert 0 < report.counts["fair"] < len(table)
    said = own.predict(table)
    for index in np.flatnonzero(report.is_fair)[:25]:
        if np.isnan(table[name][index]):
            continue
        twins = close_twins(model, table.iloc[index], name, 3.0)
        assert (own.predict(twins) == said[index]).all()
    for found in report.counterexamples:
        twin = table.iloc[[found.index]].copy()
        assert set(found.changes) == {name}
        twin[name] = found.changes[name].after
        assert abs(twin[name].iloc[0] - table[name][found.index]) <= 3
        assert own.predict(twin) != said[found.index]


@pytest.mark.parametrize("kind", PIPELINES)
def test_a_union_is_fair_where_all_its_parts_are(kind: str) -> None:
    model, table = load(fitted(kind)), people(30)
    parts = [fatt.verify(model, table, similarity=one) for one in SIMILARITIES]
    debt, income, _, sex, union = (part.is_fair for part in parts)
    assert (union == (debt & income & sex)).all()
    assert not union.all()
    assert not (union == sex).all()


@pytest.mark.parametrize("kind", PIPELINES)
@pytest.mark.parametrize("name", NOISE)
def test_whole_numbers_stay_whole(kind: str, name: str) -> None:
    own, table = fitted(kind), people().astype(dict.fromkeys(NOISE, int))
    report = fatt.verify(load(own), table, similarity=NOISE[name])
    said = own.predict(table)
    moved = [table.assign(**{name: table[name] + step}) for step in range(-3, 4)]
    alike = np.all([own.predict(twins) == said for twins in moved], axis=0)
    assert (report.is_fair == alike).all()
    assert 0 < alike.sum() < len(table)


def test_columns_that_move_together_are_refused_by_name() -> None:
    own, table = fitted("forest"), people()
    both = Similarity(noise={"debt": 3, "income": 3})
    with pytest.raises(SpecError, match=r"in 'debt' and in 'income' at once.* each "):
        fatt.verify(load(own), table, similarity=both)
    # Elsewhere both may move.
    apart = Similarity(noise={"debt": 3, "age": 3}, vary=["sex"])
    assert not fatt.verify(load(own), table, similarity=apart).counts["unknown"]


def test_who_divides_by_zero_is_refused() -> None:
    own, table = fitted("histogram"), people()
    wide = Similarity(noise={"income": 1000})
    with pytest.raises(SpecError, match=r"divides by zero for some.*'income'"):
        fatt.verify(load(own), table, similarity=wide)
    schema = Schema.infer(load(own), table).with_(income=Number(lower=1))
    report = fatt.verify(load(own), table, similarity=wide, schema=schema)
    assert not report.counts["unknown"]


@pytest.mark.parametrize("ask", [fatt.verify, fatt.score_gap, fatt.radius])
def test_who_is_refused_is_named_by_row(ask: Any) -> None:
    own, table = fitted("histogram"), people(1)
    table["debt"], table["income"] = 1.0, 50.0
    table = pandas.concat([table] * 3000, ignore_index=True)
    table.loc[2900, "income"] = 1.0
    with pytest.raises(SpecError, match=r"^person 2900: .* divides by zero"):
        ask(load(own), table, similarity=NOISE["income"], n_jobs=2)


def test_who_has_a_zero_to_divide_by_is_followed_on_both_sides_of_it() -> None:
    """What is divided by zero is infinite, or missing if it is zero itself."""
    trained = people(400, seed=1)
    trained["income"] = trained["income"].where(trained.index % 3 > 0, 0.0)
    own = behind_ratio(ratios(), HistGradientBoostingClassifier(max_iter=6))
    own.fit(trained, np.sign(trained["debt"]) + (trained["income"] > 0))
    table = people(40).assign(income=0.0)
    report = fatt.verify(load(own), table, similarity=NOISE["debt"])
    said = own.predict(table)
    assert 0 < report.counts["unfair"] < len(table)
    for index in np.flatnonzero(report.is_fair):
        person = table.iloc[[index] * 7].reset_index(drop=True)
        moves = np.array([-3, -1e-9, 0, 1e-9, 3, 1, -1]) + person["debt"]
        for cells in (moves, np.clip(0.0, moves.min(), moves.max())):
            assert (own.predict(person.assign(debt=cells)) == said[index]).all()


@pytest.mark.parametrize("kind", PIPELINES)
def test_what_is_left_of_a_model_answers_as_the_model_does(kind: str) -> None:
    ensemble = load(fitted(kind)).ensemble
    rng = np.random.default_rng(0)
    rows = ensemble.encode(people(12))
    names = [feature.name for feature in ensemble.features]
    for place in (names.index(name) for name in ("debt", "income", "age", "sex")):
        moving = tuple(
            place if place in places_of(joint.formula) else None
            for joint in ensemble.joints
        )
        feature = ensemble.features[place]
        for row in rows:
            cells = [row[place]]
            if isinstance(feature, Categorical):
                cells = [0.0, 1.0]
            elif feature.name != "income":
                cells = [*rng.normal(row[place], 9, 40), 0.0, row[place]]
            else:
                cells = [*rng.uniform(1, 2 * row[place] + 9, 40), row[place]]
            lower, upper = np.fmin(row, min(cells)), np.fmax(row, max(cells))
            if feature.accepts_missing and kind in {"histogram", "products"}:
                cells.append(np.nan)
            similar = np.tile(row, (len(cells), 1))
            similar[:, place] = cells
            left = with_fixed(ensemble, Fixed(moving, row, lower, upper))
            still = [where is None for where in moving]
            made = ensemble.joint_values(similar)[:, still]
            found = left.decide(np.hstack([similar, made]))
            assert np.array_equal(found, ensemble.decide(similar))


def test_what_the_library_refuses_is_no_twin() -> None:
    """Near zero the ratio exceeds float32, and the forest refuses such people."""
    own, table = fitted("forest"), people()
    schema = Schema.infer(load(own), table).with_(income=Number(lower=1e-300))
    with pytest.raises(SpecError, match="the model refuses what it computes"):
        fatt.verify(
            load(own),
            table,
            similarity=Similarity(noise={"income": 1000}),
            schema=schema,
        )


def test_answers_do_not_hang_on_who_is_asked_with_whom(tmp_path: Path) -> None:
    model, table = load(fitted("products")), people(16)
    union = SIMILARITIES[-1]
    wanted = fatt.verify(model, table, similarity=union)
    assert 0 < wanted.counts["fair"] < len(table)
    turned = fatt.verify(model, table[::-1], similarity=union)
    assert (turned.is_fair[::-1] == wanted.is_fair).all()
    threads = fatt.verify(model, table, similarity=union, n_jobs=2)
    assert (threads.findings.nodes == wanted.findings.nodes).all()
    auditor = pickle.loads(pickle.dumps(Auditor(model, similarity=union, schema=table)))
    journal = tmp_path / "journal"
    assert (auditor.verify(table, journal=journal).is_fair == wanted.is_fair).all()
    again = auditor.verify(table, journal=journal)
    assert (again.findings.nodes == wanted.findings.nodes).all()
    for index in (0, 7):
        alone = auditor.verify(table.iloc[[index]])
        assert alone.is_fair == wanted.is_fair[index]


def test_budgets_and_interruptions_leave_what_is_known() -> None:
    deep = RandomForestClassifier(40, max_depth=8, random_state=0)
    trained, table = people(400, seed=1), people()
    flipped = np.random.default_rng(0).random(len(trained)) < 0.3
    own = behind_ratio(ratios(), deep).fit(trained, granted(trained) ^ flipped)
    similarity = Similarity(noise={"debt": 2, "age": 1}, vary=["sex"])
    wanted = fatt.verify(load(own), table, similarity=similarity)
    short = fatt.verify(load(own), table, similarity=similarity, budget=Budget(nodes=1))
    known = short.findings.verdict != UNKNOWN
    assert 0 < known.sum() < len(table)
    assert (short.is_fair[known] == wanted.is_fair[known]).all()
    some = fatt.verify(
        load(own), table, similarity=similarity, budget=Budget(total_nodes=5)
    )
    assert 0 < some.counts["unknown"] < len(table)
    auditor = Auditor(load(own), similarity=similarity, schema=table)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    assert auditor.verify(table, progress=stop).interrupted
    assert not auditor.verify(table).interrupted


def test_nobody_is_prepared_after_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    own, table = fitted("forest"), people()

    def none(*_: object) -> None:
        raise AssertionError("a model was prepared")

    monkeypatch.setattr("fatt.audit.auditor.with_fixed", none)
    over = Budget(total_seconds=0)
    report = fatt.verify(load(own), table, similarity=NOISE["debt"], budget=over)
    assert (report.findings.stopped == BUDGET).all()
    gaps = fatt.score_gap(load(own), table, similarity=NOISE["debt"], budget=over)
    assert (gaps.lower == 0).all()
    assert (gaps.upper > 0).all()


@pytest.mark.parametrize("kind", ["forest", "histogram", "scaled"])
def test_gaps_are_reached_and_not_exceeded(kind: str) -> None:
    own, table = fitted(kind), people(20)
    model = load(own)
    gaps = fatt.score_gap(load(own), table, similarity=NOISE["debt"], of="probability")
    said = own.predict_proba(table)
    assert gaps.lower.max() > 0
    for index, gap in enumerate(gaps):
        twins = close_twins(model, table.iloc[index], "debt", 3.0)
        moved = np.abs(own.predict_proba(twins) - said[index]).max()
        assert moved <= gap.bounds.upper + 1e-6
        assert gap.bounds.lower <= moved + 1e-6


def test_radii_are_where_the_verdict_turns() -> None:
    model, table = load(fitted("forest")), people(12)
    radii = fatt.radius(model, table, similarity=NOISE["debt"])
    assert (np.isfinite(radii.lower) & (radii.lower > 0)).any()
    for index, radius in enumerate(radii):
        if not 0 < radius.bounds.lower < 1e3:
            continue
        person = table.iloc[[index]]
        within, beyond = (
            fatt.verify(model, person, similarity=Similarity(noise={"debt": 3 * one}))
            for one in (radius.bounds.lower * (1 - 1e-9), radius.bounds.upper * 1.01)
        )
        assert within.is_fair.all()
        assert not beyond.is_fair.any()


def test_each_group_of_people_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    own = fitted("forest")
    table = people(40).assign(income=[50.0, 60.0] * 20)
    made = []
    plain = Verifier.__init__

    def count(self: Verifier, *args: Any, **kwargs: Any) -> None:
        made.append(1)
        plain(self, *args, **kwargs)

    monkeypatch.setattr(Verifier, "__init__", count)
    auditor = Auditor(load(own), similarity=NOISE["debt"], schema=table)
    auditor.verify(table, spot_checks=0)
    assert len(made) == 2


def test_who_is_asked_later_may_move_elsewhere() -> None:
    own, trained = fitted("forest"), people(400, seed=1)
    first = trained.head(40).assign(income=50.0, debt=lambda t: t["debt"] % 9)
    later = trained.head(40).assign(income=50.0, debt=lambda t: t["debt"] % 9 + 9)
    auditor = Auditor(load(own), similarity=NOISE["debt"], schema=trained)
    auditor.verify(first)
    found = auditor.verify(later)
    alone = fatt.verify(load(own), later, similarity=NOISE["debt"])
    assert alone.counts["unfair"] > 0
    assert (found.is_fair == alone.is_fair).all()


def random_formula(rng: np.random.Generator, depth: int) -> Formula:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.2:
            return Constant(float(rng.choice([-2.0, 0.0, 0.5, 1e200])))
        place = int(rng.integers(3))
        if place == 2:
            return Read(place=2, table=(0.0, 5.0, -1.0), missing=2.0)
        scaled: tuple[tuple[Operator, float], ...] = (("-", 3.0), ("*", -0.5))
        return Read(
            place=place,
            operations=scaled if rng.random() < 0.5 else (),
            missing=float(rng.choice([np.nan, 7.0])),
        )
    operators: list[Operator] = ["+", "-", "*", "/"]
    return Operation(
        random_formula(rng, depth - 1),
        operators[rng.integers(4)],
        random_formula(rng, depth - 1),
    )


FEATURES = [
    fatt.ensemble.Numeric(name="a"),
    fatt.ensemble.Numeric(name="b"),
    fatt.ensemble.Categorical(name="c", categories=("x", "y")),
]


def random_boxes(rng: np.random.Generator, count: int) -> tuple[Floats, Boxes]:
    own = np.column_stack(
        [rng.normal(size=(count, 2)) * 5, rng.integers(3, size=count)]
    )
    own[rng.random((count, 3)) < 0.2] = np.nan
    missing = np.isnan(own) | (rng.random((count, 3)) < 0.2)
    width = rng.choice([0.0, 1.0, 10.0], size=(count, 3))
    lower, upper = own - width, own + width
    crossed = np.isnan(own)
    lower[crossed], upper[crossed] = np.inf, -np.inf
    codes = np.full((count, 1), 7, dtype=np.uint64)
    return own, Boxes(np.arange(count), lower, upper, missing, codes)


def test_a_formula_stays_within_its_reach() -> None:
    rng = np.random.default_rng(0)
    bounded = 0
    for _ in range(300):
        formula = random_formula(rng, 3)
        own, boxes = random_boxes(rng, 8)
        reach = reach_of(formula, FEATURES, own, boxes)
        for _ in range(40):
            share = rng.choice([0.0, 1.0, rng.random()], size=own.shape)
            is_crossed = boxes.lower > boxes.upper
            lower, upper = (
                np.where(is_crossed, own, one) for one in (boxes.lower, boxes.upper)
            )
            rows = np.clip(lower + share * (upper - lower), lower, upper)
            rows[:, 2] = rng.integers(3, size=len(own))
            is_missing = boxes.missing & (rng.random(own.shape) < 0.4)
            rows[is_missing | is_crossed] = np.nan
            made = evaluate(formula, rows)
            absent = np.isnan(made)
            assert (reach.missing | ~absent).all()
            within = (reach.low <= made) & (made <= reach.high)
            assert (within | absent).all(), (formula, rows, made, reach)
        bounded += np.isfinite(reach.high).sum()
    assert bounded > 500


def test_columns_that_no_split_reads_may_move_together() -> None:
    table = people(400, seed=1)[["debt", "income"]]
    stump = RandomForestClassifier(1, max_depth=1, max_features=None, random_state=0)
    own = make_pipeline(PolynomialFeatures(interaction_only=True), stump).fit(
        table, table["debt"] > 20
    )
    both = Similarity(noise={"debt": 3, "income": 3})
    report = fatt.verify(load(own), people()[["debt", "income"]], similarity=both)
    assert not report.counts["unknown"]
    # Of one person only the product may exceed float32.
    huge = Similarity(noise={"debt": 1.8e19, "income": 1.8e19})
    rich = people(9)[["debt", "income"]]
    rich.loc[7] = 1e18, 1e18
    with pytest.raises(SpecError, match=r"person 7: .* debt \* income, and may refuse"):
        fatt.verify(load(own), rich, similarity=huge)
    assert not fatt.verify(load(own), rich.head(7), similarity=huge).counts["unknown"]


def test_categories_that_nobody_has_refuse_nobody() -> None:
    """An encoder that refuses unknown categories makes no number of them."""
    table = people(400, seed=1)[["debt", "sex"]]
    encoded = make_column_transformer(
        (OrdinalEncoder(), ["sex"]), remainder="passthrough"
    )
    stump = RandomForestClassifier(1, max_depth=1, max_features=None, random_state=0)
    own = make_pipeline(encoded, PolynomialFeatures(interaction_only=True), stump)
    own.fit(table, table["debt"] > 20)
    report = fatt.verify(load(own), table, similarity=Similarity(noise={"debt": 3}))
    debt = table["debt"]
    expected = (own.predict(table.assign(debt=debt - 3)) == own.predict(table)) & (
        own.predict(table.assign(debt=debt + 3)) == own.predict(table)
    )
    assert (report.is_fair == expected).all()


def test_zeros_between_people_refuse_nobody() -> None:
    table = people(400, seed=1).assign(
        income=lambda t: t["income"] * np.where(t["age"] > 50, 1.0, -1.0), debt=5.0
    )
    own = behind_ratio(ratios(), HistGradientBoostingClassifier(max_iter=6))
    own.fit(table, granted(table))
    some = table[table["income"].abs() > 4]
    report = fatt.verify(load(own), some, similarity=NOISE["income"])
    assert not report.counts["unknown"]
    alone = [
        fatt.verify(load(own), some.iloc[[i]], similarity=NOISE["income"])
        for i in range(9)
    ]
    assert [one.is_fair[0] for one in alone] == report.is_fair[:9].tolist()
    beyond = table.assign(income=table["income"].where(table.index != 7, 1.0))
    with pytest.raises(SpecError, match=r"person 7: .* divides by zero"):
        fatt.verify(
            load(own), beyond.iloc[:20], similarity=Similarity(noise={"income": 2})
        )


def zeros(count: int = 300, seed: int = 4) -> Any:
    """Return people with a flag that is no, in zeros of both signs, or yes."""
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "debt": rng.normal(0, 50, count).round(),
            "flag": rng.choice([0.0, -0.0, 1.0], count),
        }
    )


@pytest.fixture(scope="module")
def divides() -> Any:
    table = zeros()
    model = HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5)
    own = Computed(model, ("debt", "flag"), {"ratio": RATIO})
    ratio = own.extended(table)["ratio"].to_numpy()
    return own.fit(table, np.nan_to_num(ratio, posinf=1, neginf=-1) > 0)


def test_a_zero_of_another_sign_than_its_level_is_refused(divides: Any) -> None:
    model = load(divides)
    own = Schema.infer(model, zeros())
    schema = own.with_(flag=Binary())
    table = zeros(40, seed=5)
    negative = np.signbit(table["flag"]).to_numpy()
    wrong = rf"row {np.argmax(negative)}: column 'flag' is -0\.0, for .* has 0\.0"
    with pytest.raises(DataError, match=wrong):
        fatt.verify(model, table, similarity=NOISE["debt"], schema=schema)
    # Of the others the answers are those of the library; and a number keeps its sign.
    asked = ((schema, table[~negative]), (own.with_(flag=Number()), table))
    for spoken, rows in asked:
        report = fatt.verify(model, rows, similarity=NOISE["debt"], schema=spoken)
        labels = np.array(report.findings.classes)[report.findings.label]
        assert (labels == divides.predict(rows)).all()
        assert 0 < report.counts["unfair"] < len(rows)
        for found in report.counterexamples:
            twin = rows.iloc[[found.index]].assign(debt=found.changes["debt"].after)
            assert divides.predict(twin) != divides.predict(rows)[found.index]


def test_zero_gets_no_word_where_the_model_divides_by_it(divides: Any) -> None:
    with pytest.raises(SpecError, match=r"0 a word in the column 'flag'.*debt / flag"):
        load(divides, codes={"flag": {0: "no", 1: "yes"}})
    load(divides, codes={"flag": {1: "yes"}})


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_label_stands_for_a_zero_of_one_sign(divides: Any, zero: float) -> None:
    numbers = {"no": zero, "yes": 1.0}
    model = load(divides, prepare={"flag": numbers})
    table = zeros(40, seed=5)
    table["flag"] = np.where(table["flag"] == 1, "yes", "no")
    said = divides.predict(table.assign(flag=table["flag"].map(numbers)))
    assert (model.ensemble.predict(table) == said).all()


def test_a_range_in_which_a_product_is_no_number_at_one_end_is_refused() -> None:
    """Infinity times zero is no number, and a square is infinite far out only."""
    table = people(400, seed=1)
    said = granted(table).to_numpy()
    table["income"] = np.where(table["income"] > 40, table["income"], 0.0)
    numbers = table.drop(columns="sex")
    triple = Operation(Operation(DEBT, "*", DEBT), "*", INCOME)
    own = Computed(
        HistGradientBoostingClassifier(max_iter=6), tuple(numbers), {"made": triple}
    ).fit(numbers, said)
    asked = numbers[numbers["income"] == 0][:20]
    with pytest.raises(SpecError, match=r"that overflows for some .* in 'debt'"):
        fatt.verify(load(own), asked, similarity=Similarity(noise={"debt": 1e200}))
    far = Similarity(noise={"debt": 1e150})
    assert not fatt.verify(load(own), asked, similarity=far).counts["unknown"]


def test_a_missing_value_counts_as_what_an_imputer_makes_of_it() -> None:
    table = with_gaps(people(400, seed=1)).drop(columns="sex")
    own = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=30),
        PolynomialFeatures(2, interaction_only=True, include_bias=False),
        HistGradientBoostingClassifier(max_iter=6),
    ).fit(table, granted(people(400, seed=1)))
    asked = with_gaps(people()).drop(columns="sex")
    report = fatt.verify(load(own), asked, similarity=Similarity(missing=["debt"]))
    assert not report.counts["unknown"]
    said = own.predict(asked)
    known = asked["debt"].notna().to_numpy()
    absent = own.predict(asked.assign(debt=np.nan))
    # Who has a debt is similar to whom nobody asked, and to nobody else.
    assert (report.is_fair[known] == (absent == said)[known]).all()
    assert 0 < report.is_fair[known].sum() < known.sum()
    for found in report.counterexamples:
        after = found.changes["debt"].after
        twin = asked.iloc[[found.index]].assign(debt=np.nan if after is None else after)
        assert own.predict(twin) != said[found.index]
    for index in np.flatnonzero(report.is_fair & ~known):
        people_like = asked.iloc[[index] * 201].assign(debt=np.linspace(-50, 500, 201))
        assert (own.predict(people_like) == said[index]).all()
    assert (~report.is_fair[~known]).any()
