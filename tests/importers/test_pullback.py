"""A model on made columns, pulled back, is the model after the making."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from fatt.errors import DataError, UnsupportedModelError
from fatt.importers.columns.algebra import (
    ANYTHING,
    Coded,
    Column,
    Mapped,
    Same,
    Step,
    around,
    follow,
    table_of,
    takes,
)
from fatt.importers.columns.pullback import pull_back
from tests.probes import candidates, same_bits

Floats = NDArray[np.float64]
LABELS = ("a", "b", "c", "d")


def identity(x: Floats) -> Floats:
    return x


# Functions with the edges between which they are monotone.
FUNCTIONS: list[tuple[Callable[[Floats], Floats], tuple[float, ...]]] = [
    (identity, ()),
    (lambda x: (x - 0.7) / 3.1, ()),
    (lambda x: (2.5 - x) / 0.3, ()),
    (lambda x: np.full_like(x, 1.5), ()),
    (lambda x: np.clip(x * 0.1 + 0.3, 0.0, 1.0), ()),
    (lambda x: np.searchsorted([-1.0, 0.0, 2.0], x, side="right") * 1.0, ()),
    (lambda x: -np.floor(np.clip(x, -5, 5)), ()),
    (np.abs, (0.0,)),
    (lambda x: np.where(x == 1.0, 2.0, x), (float(np.nextafter(1.0, 0)), 1.0)),
    (
        lambda x: ((x >= -1) & (x < 2)) * 1.0,
        (float(np.nextafter(-1.0, -2)), float(np.nextafter(2.0, 1))),
    ),
]
VALUES = np.array([-2.0, -1.0, -0.3, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0])


def inner_feature(rng: np.random.Generator, index: int) -> Feature:
    name = f"made {index}"
    accepts_missing = bool(rng.random() < 0.7)
    match rng.integers(5):
        case 0:
            return Numeric(name=name, accepts_missing=accepts_missing)
        case 1:
            span = np.sort(rng.choice(VALUES, 2)).tolist()
            return Numeric(name=name, missing_range=tuple(span))
        case 2:
            edges = np.unique(rng.choice(VALUES, 3)).tolist()
            return Numeric(name=name, edges=tuple(edges))
        case 3:
            coding = ["floor", "truncate"][rng.integers(2)]
            return Categorical(name=name, categories=(0, 1, 2), coding=coding)
        case _:
            known = np.unique(rng.choice(VALUES, 4)).tolist()
            return Categorical(name=name, categories=(*known, "text"))


def random_trees(rng: np.random.Generator, features: list[Feature]) -> Trees:
    """Complete trees of depth 3 whose splits have all kinds."""
    n_trees, size, inner = 3, 15, 7
    count = n_trees * size
    local = np.tile(np.arange(size), n_trees)
    start = np.repeat(np.arange(n_trees) * size, size)
    feature = np.where(local < inner, rng.integers(len(features), size=count), -1)
    sets: list[NDArray[np.bool_]] = []
    subset = np.full(count, -1)
    for node in np.flatnonzero(feature >= 0):
        kind = features[feature[node]]
        if isinstance(kind, Categorical) or (kind.edges and rng.random() < 0.6):
            subset[node] = len(sets)
            sets.append(rng.random(kind.n_codes) < 0.5)
    return Trees.lay_out(
        roots=np.arange(n_trees) * size,
        feature=feature,
        threshold=rng.choice([*VALUES, np.inf, -np.inf], count),
        left=start + 2 * local + 1,
        right=start + 2 * local + 2,
        missing_left=rng.random(count) < 0.5,
        leaf=np.arange(count),
        values=rng.normal(size=(count, 2)),
        targets=np.full(n_trees, -1),
        subset=subset,
        sets=sets,
    )


def ensemble_of(features: list[Feature], trees: Trees) -> Ensemble:
    return Ensemble(
        features=tuple(features),
        classes=(0, 1),
        trees=trees,
        scoring=Scoring(dtype="float64", base=(0.0, 0.0)),
        decision=Argmax(),
        source=Source(library="none"),
    )


def draw_column(rng: np.random.Generator, raw: Feature, source: int) -> Column:
    missing = float(rng.choice([*VALUES, np.nan, np.nan, np.nan]))
    if isinstance(raw, Categorical):
        table = rng.choice([*VALUES, np.nan], raw.n_codes)
        return Coded(source, table, missing)
    function, edges = FUNCTIONS[rng.integers(len(FUNCTIONS))]
    return Mapped(source, function, missing, edges)


def make(column: Column, codes: Floats) -> Floats:
    """What becomes of raw cells (numbers, or codes of a categorical column)."""
    if isinstance(column, Same):
        return codes
    missing = np.isnan(codes)
    made = np.full(len(codes), column.missing)
    if isinstance(column, Coded):
        made[~missing] = column.table[codes[~missing].astype(int)]
    else:
        made[~missing] = column.function(codes[~missing])
    return made


def cells(feature: Feature, codes: Floats) -> list[object]:
    if isinstance(feature, Numeric):
        return codes.tolist()
    labels = [*feature.categories, "?"]
    return [None if math.isnan(code) else labels[int(code)] for code in codes]


def is_taken(ensemble: Ensemble, row: NDArray[np.generic]) -> bool:
    try:
        ensemble.encode(row[np.newaxis])
    except DataError:
        return False
    return True


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_pulled_back_model_is_the_model_of_made_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    raws: list[Feature] = [
        Numeric(name="age", lower=-1e6, upper=1e6),
        Categorical(name="job", categories=LABELS),
        Numeric(name="pay", lower=-3.0, upper=5.0, accepts_missing=bool(seed % 2)),
    ]
    sources = rng.integers(len(raws), size=rng.integers(1, 6))
    columns = [draw_column(rng, raws[source], int(source)) for source in sources]
    inner = [inner_feature(rng, i) for i in range(len(columns))]
    model = ensemble_of(inner, random_trees(rng, inner))
    try:
        pulled = pull_back(
            model,
            features=raws,
            columns=columns,
            inputs=Inputs(),
            source=Source(library="none"),
        )
    except UnsupportedModelError:
        return
    n_rows = 100
    codes = np.empty((n_rows, len(raws)))
    for i, feature in enumerate(pulled.features):
        values = candidates(pulled, i)
        if isinstance(feature, Numeric):
            more = [raws[i].lower, raws[i].upper, *VALUES]
            values = np.concatenate([values, more, [np.nan]])
            values = values[~((values < raws[i].lower) | (values > raws[i].upper))]
        codes[:, i] = rng.choice(values, n_rows)
    made = np.column_stack([make(c, codes[:, c.source]) for c in columns])
    table = np.empty(codes.shape, dtype=object)
    for i, raw in enumerate(raws):
        table[:, i] = cells(raw, codes[:, i])
    takes_pay = raws[2].accepts_missing | ~np.isnan(codes[:, 2])
    taken = takes_pay & [is_taken(model, row) for row in made]
    assert taken.tolist() == [is_taken(pulled, row) for row in table]
    assert same_bits(model.raw_scores(made[taken]), pulled.raw_scores(table[taken]))


def draw_step(rng: np.random.Generator) -> Step:
    function, edges = FUNCTIONS[rng.integers(len(FUNCTIONS))]
    if rng.random() < 0.3:
        keys = rng.permutation(VALUES)[: rng.integers(0, 5)]
        function = table_of(keys, rng.choice(VALUES, len(keys)), rng.choice(VALUES))
        edges = around(keys)
    takers = [
        ANYTHING,
        ANYTHING,
        Numeric(name="", lower=-1e3, upper=1e3),
        Numeric(name="", lower=-2.5, upper=6.0, accepts_missing=False),
    ]
    missing = float(rng.choice([np.nan, *VALUES]))
    return Step(function, takers[rng.integers(len(takers))], missing, edges)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_steps_after_each_other_are_one_function_with_known_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    raw = Numeric(name="x", lower=-4.0, upper=np.inf)
    steps = [draw_step(rng) for _ in range(rng.integers(1, 5))]
    numbers = np.unique(np.concatenate([rng.normal(scale=5, size=200), VALUES]))
    numbers = np.unique([*numbers, *np.nextafter(numbers, np.inf), -4.0, 1e9, np.inf])
    numbers = numbers[numbers >= raw.lower]
    made, missing = numbers, np.array([np.nan])
    taken, takes_missing = np.ones(len(numbers), dtype=bool), True
    for step in steps:
        taken &= takes(step.taker, made)
        takes_missing &= bool(takes(step.taker, missing)[0])
        made = np.where(np.isnan(made), step.missing, step.function(made))
        missing = np.where(np.isnan(missing), step.missing, step.function(missing))
    try:
        column, left = follow(0, steps, raw)
    except UnsupportedModelError:
        # Then some number between others is refused, or nearly all are.
        ends = np.flatnonzero(taken)
        assert not ends.size or not taken[ends[0] : ends[-1] + 1].all() or len(ends) < 9
        return
    assert (column.source, left.accepts_missing) == (0, takes_missing)
    inside = (numbers >= left.lower) & (numbers <= left.upper)
    assert np.array_equal(inside, taken)
    own = numbers[inside]
    assert np.array_equal(column.function(own), made[inside], equal_nan=True)
    assert same_bits(np.array([column.missing]), missing)
    cell = np.searchsorted(np.array(column.edges), own)
    for place in np.unique(cell):
        values = column.function(own[cell == place])
        rises, falls = np.diff(values) >= 0, np.diff(values) <= 0
        assert np.isnan(values).all() or rises.all() or falls.all()


def two_leaves(kind: Feature, **split: object) -> Ensemble:
    """A model of one split; the left leaf says 1, the right 0."""
    given = {"threshold": [0.0] * 3, "missing_left": [False] * 3} | split
    trees = Trees.lay_out(
        roots=[0],
        feature=[0, -1, -1],
        left=[1, -1, -1],
        right=[2, -1, -1],
        leaf=[-1, 0, 1],
        values=[[0.0, 1.0], [1.0, 0.0]],
        targets=[-1],
        **given,
    )
    return ensemble_of([kind], trees)


def pulled_from(model: Ensemble, raw: Feature, column: Column) -> Ensemble:
    return pull_back(
        model,
        features=[raw],
        columns=[column],
        inputs=Inputs(),
        source=Source(library="none"),
    )


def test_threshold_is_the_last_number_that_goes_left() -> None:
    model = two_leaves(Numeric(name="made"), threshold=[0.1, 0.0, 0.0])
    column = Mapped(0, lambda x: (x - 38.58) / 13.64)
    pulled = pulled_from(model, Numeric(name="age", lower=-1e9, upper=1e9), column)
    (threshold,) = pulled.thresholds(0)
    after = np.nextafter(threshold, np.inf)
    assert (threshold - 38.58) / 13.64 <= 0.1 < (after - 38.58) / 13.64
    assert pulled.predict([[threshold], [after]]).tolist() == [1, 0]


def test_decreasing_function_swaps_the_children() -> None:
    model = two_leaves(Numeric(name="made"), missing_left=[True, False, False])
    pulled = pulled_from(model, Numeric(name="age"), Mapped(0, np.negative))
    rows = [[-1.0], [-5e-324], [0.0], [1.0], [np.nan], [-np.inf], [np.inf]]
    assert pulled.predict(rows).tolist() == [0, 0, 1, 1, 1, 0, 1]
    assert not pulled.features[0].edges


def test_column_that_never_goes_left_still_sends_missing_left() -> None:
    model = two_leaves(Numeric(name="made"), missing_left=[True, False, False])
    column = Mapped(0, lambda x: np.full_like(x, 7.0))
    pulled = pulled_from(model, Numeric(name="age"), column)
    assert pulled.predict([[-1.0], [1.0], [np.nan]]).tolist() == [0, 0, 1]


def test_imputed_missing_goes_where_its_replacement_goes() -> None:
    model = two_leaves(Numeric(name="made", accepts_missing=False))
    pulled = pulled_from(model, Numeric(name="age"), Mapped(0, identity, -3.0))
    assert pulled.predict([[np.nan], [1.0], [-1.0]]).tolist() == [1, 0, 1]


def test_missing_range_is_pulled_back_as_a_range() -> None:
    kind = Numeric(name="made", missing_range=(-1.0, 1.0))
    model = two_leaves(kind, missing_left=[True, False, False])
    raw = Numeric(name="age", lower=-1e9, upper=1e9)
    pulled = pulled_from(model, raw, Mapped(0, lambda x: 10.0 - x))
    assert pulled.features[0].missing_range == (9.0, 11.0)
    assert pulled.features[0].edges == ()
    rows = [[8.5], [9.0], [10.0], [11.0], [11.5], [np.nan]]
    assert pulled.predict(rows).tolist() == [0, 1, 1, 1, 1, 1]


def test_bounds_of_the_model_become_bounds_of_the_raw_column() -> None:
    kind = Numeric(name="made", lower=-2.0, upper=2.0, accepts_missing=False)
    raw = Numeric(name="age", lower=-1e9, upper=1e9)
    feature = pulled_from(two_leaves(kind), raw, Mapped(0, lambda x: x / 3)).features[0]
    assert feature == Numeric(name="age", lower=-6.0, upper=6.0, accepts_missing=False)


def test_refused_middle_of_a_column_is_refused() -> None:
    kind = Numeric(name="made", upper=2.0)
    spike = Mapped(0, lambda x: (x == 1.0) * 5.0, edges=(np.nextafter(1.0, 0), 1.0))
    with pytest.raises(UnsupportedModelError, match=r"'age'.*between others"):
        pulled_from(two_leaves(kind), Numeric(name="age"), spike)


def test_refused_category_is_refused() -> None:
    kind = Numeric(name="made", upper=2.0)
    raw = Categorical(name="job", categories=("a", "b"))
    with pytest.raises(UnsupportedModelError, match=r"'job'.*'b'"):
        pulled_from(two_leaves(kind), raw, Coded(0, np.array([0.0, 3.0, 0.0])))


def test_untouched_column_keeps_what_the_model_says_of_it() -> None:
    kind = Categorical(name="made", categories=("x", "y"), accepts_unknown=False)
    sets = [np.array([True, False, False])]
    model = two_leaves(kind, subset=[0, -1, -1], sets=sets)
    pulled = pulled_from(model, Numeric(name="job"), Same(0))
    assert pulled.features[0] == Categorical(
        name="job", categories=("x", "y"), accepts_unknown=False
    )
    assert pulled.predict(np.array([["x"], ["y"]])).tolist() == [1, 0]


def test_untouched_numbers_keep_their_splits_and_the_tighter_bounds() -> None:
    kind = Numeric(name="made", upper=9.0, missing_range=(3.0, 3.0), edges=(1.0, 2.0))
    sets = [np.array([False, True, False])]
    model = two_leaves(kind, subset=[0, -1, -1], sets=sets)
    pulled = pulled_from(model, Numeric(name="age", lower=-4.0), Same(0))
    assert pulled.features[0] == Numeric(
        name="age", lower=-4.0, upper=9.0, missing_range=(3.0, 3.0), edges=(1.0, 2.0)
    )
    assert pulled.predict([[1.0], [1.5], [2.5], [3.0]]).tolist() == [0, 1, 0, 0]


def test_labels_that_also_enter_arithmetic_are_refused() -> None:
    kinds: list[Feature] = [
        Categorical(name="made", categories=("x", "y")),
        Numeric(name="scaled"),
    ]
    model = ensemble_of(kinds, random_trees(np.random.default_rng(0), kinds))
    with pytest.raises(UnsupportedModelError, match="'job'"):
        pull_back(
            model,
            features=[Numeric(name="job")],
            columns=[Same(0), Mapped(0, identity)],
            inputs=Inputs(),
            source=Source(library="none"),
        )


def test_trees_keep_their_number_order_and_leaves() -> None:
    kinds: list[Feature] = [Numeric(name="made")]
    model = ensemble_of(kinds, random_trees(np.random.default_rng(1), kinds))
    pulled = pulled_from(model, Numeric(name="age"), Mapped(0, np.negative))
    assert len(pulled.trees) == len(model.trees)
    leaves = model.trees.values.reshape(3, -1, 2)
    for old, new in zip(leaves, pulled.trees.values.reshape(3, -1, 2), strict=True):
        assert sorted(old.tolist()) == sorted(new.tolist())
