"""Schemas, similarities and certificates come back from a file as they were."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Certificate, Schema, Similarity
from fatt.certificate.certificate import contents_of
from fatt.certificate.file import digest_of_schema, to_bytes
from fatt.errors import SpecError
from fatt.region import Binary, Category, Integer, Number, OneHot, Ordinal, Relation
from fatt.region.kinds import AnyVariable
from fatt.region.similarity import any_of
from tests.laws.effort import EFFORT

Draw = st.DrawFn
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [12, 12.0, 0, -0.0, 2**53 + 1, 10**300, np.int64(7), np.float64(2)]
    ),
)
LABELS = st.one_of(TEXTS, NUMBERS, st.booleans())


@st.composite
def bounds(draw: Draw) -> dict[str, Any]:
    ends = st.one_of(st.none(), NUMBERS, st.sampled_from([-math.inf, math.inf]))
    low, high = draw(ends), draw(ends)
    if low is not None and high is not None and low > high:
        low, high = high, low
    low, high = (
        (None if low == math.inf else low),
        (None if high == -math.inf else high),
    )
    sd = draw(st.one_of(st.none(), NUMBERS.map(abs)))
    return {"lower": low, "upper": high, "sd": sd}


@st.composite
def variables(draw: Draw, name: str) -> AnyVariable:
    levels = draw(st.lists(LABELS, min_size=2, max_size=5, unique=True))
    kind = draw(st.sampled_from([Number, Integer, Binary, Ordinal, Category, OneHot]))
    facts: dict[str, Any] = {"name": name, "columns": (name,)}
    if kind in {Number, Integer}:
        facts |= draw(bounds())
        ends = [facts["lower"], facts["upper"]]
        if kind is Integer and None not in ends and max(map(abs, ends)) < 2**53:
            assume(math.ceil(ends[0]) <= math.floor(ends[1]))
    elif kind is Binary:
        facts["levels"] = levels[:2]
    elif kind is Ordinal:
        values = draw(st.lists(NUMBERS, min_size=5, max_size=6, unique_by=float))
        facts |= {"levels": levels, "values": values[: len(levels)]}
        facts["unknown_value"] = draw(st.sampled_from([None, *values[len(levels) :]]))
    elif kind is OneHot:
        facts["columns"] = tuple(f"{name}={place}" for place in range(len(levels)))
        facts["levels"] = levels
        facts["accepts_unknown"] = draw(st.booleans())
        if draw(st.booleans()) and levels[2:]:
            facts |= {"columns": facts["columns"][:-1], "levels": levels[:-1]}
            facts |= {"dropped": levels[-1], "accepts_unknown": False}
    return kind(**facts)  # type: ignore[no-any-return]


@st.composite
def schemas(draw: Draw) -> Schema:
    names = draw(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    found = [draw(variables(name)) for name in names]
    columns = [column for variable in found for column in variable.columns]
    return Schema(columns=tuple(draw(st.permutations(columns))), variables=tuple(found))


AMOUNTS = st.one_of(
    NUMBERS.map(abs),
    NUMBERS.map(lambda number: f"{float(abs(number))!r} sd"),
    NUMBERS.map(lambda number: f"+{float(abs(number))!r}%"),
    st.tuples(NUMBERS, NUMBERS).map(
        lambda ends: f"{float(min(ends))!r}..{float(max(ends))!r}"
    ),
)
CONDITIONS = st.one_of(
    NUMBERS.map(lambda number: f"<= {float(number)!r}"),
    NUMBERS.map(lambda number: f"> {float(number)!r}"),
    st.lists(LABELS, min_size=1, max_size=3),
)


@st.composite
def similarities(draw: Draw) -> Relation:
    names = st.lists(TEXTS, max_size=3, unique=True)
    ways = []
    for _ in range(draw(st.integers(1, 3))):
        noise = {name: draw(AMOUNTS) for name in draw(names)}
        free = [name for name in draw(names) if name not in noise]
        some = st.one_of(
            st.sampled_from(["any", "known"]), st.lists(LABELS, min_size=1, max_size=3)
        )
        ways.append(
            Similarity(
                noise=noise,
                vary={name: draw(some) for name in free},
                where={name: draw(CONDITIONS) for name in draw(names)},
                missing=[*draw(names), "always"],
            )
        )
    return any_of(*ways)


@settings(max_examples=200 * EFFORT, deadline=None, derandomize=True)
@given(schema=schemas(), similarity=similarities(), seed=st.integers(0, 2**32 - 1))
def test_certificates_come_back_as_they_were(
    schema: Schema, similarity: Relation, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, len(schema.variables)))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[rng.random(values.shape) < 0.1] = -0.0
    nothing = np.zeros(0)
    made = Certificate.of(
        contents_of(
            model_digest="0" * 64,
            schema=schema,
            similarity=similarity,
            values=values,
            verdicts=np.zeros(3, dtype=np.uint8),
            labels=np.zeros(3),
            steps=[None] * 3,
            twins=(nothing, nothing, nothing),
        )
    )
    read = Certificate.from_bytes(to_bytes(made.contents))
    assert read.contents == made.contents
    assert read.schema == schema
    assert repr(read.schema) == repr(schema)
    assert read.similarity == similarity
    assert read.values.tobytes() == made.values.tobytes()


@settings(max_examples=100 * EFFORT, deadline=None, derandomize=True)
@given(schema=schemas())
def test_schemas_come_back_as_they_were(
    schema: Schema, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "schema.json"
    schema.save(path)
    read = Schema.read(path)
    assert read == schema
    assert repr(read) == repr(schema)
    assert digest_of_schema(read) == digest_of_schema(schema)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Integer(lower=12), Integer(lower=12.0)),
        (Integer(lower=12), Integer(lower=np.int8(12))),
        (Number(upper=0), Number(upper=-0.0)),
        (Number(lower=-math.inf, upper=3), Number(upper=3.0)),
        (Number(sd=10), Number(sd=np.float32(10))),
        (
            Ordinal(levels=("a", "b"), values=(0, 1), unknown_value=-1),
            Ordinal(levels=("a", "b"), values=(-0.0, 1.0), unknown_value=-1.0),
        ),
    ],
)
def test_a_number_has_one_digest_however_it_is_written(
    one: AnyVariable, other: AnyVariable
) -> None:
    plain = Schema(columns=("x",), variables=(Number(name="x", columns="x"),))
    assert plain.with_(x=one) == plain.with_(x=other)
    assert digest_of_schema(plain.with_(x=one)) == digest_of_schema(
        plain.with_(x=other)
    )


def test_bounds_that_were_typed_as_whole_numbers_can_be_read_back(
    tmp_path: Path,
) -> None:
    tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
    schema = Schema.from_ensemble(fatt.load(tree)).with_(x0=Integer(lower=12))
    report = fatt.verify(
        tree, [[20.0], [29.0]], similarity=Similarity(noise=3), schema=schema
    )
    report.certificate().save(tmp_path / "audit.cert")
    read = Certificate.read(tmp_path / "audit.cert")
    assert read.schema == schema
    assert len(read.check(tree)) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number(lower=10**400), "beyond all that a column can hold"),
        (lambda: Number(name="age", upper="12"), "'age': '12' is no number"),
        (lambda: Ordinal(levels=(1, math.inf)), "inf cannot be a level"),
        (lambda: Ordinal(levels=(1, math.nan)), "nan cannot be a level"),
        (lambda: OneHot(levels=("a",), dropped=math.inf), "inf cannot be a level"),
        (lambda: Ordinal(levels=("a",), values=("b",)), "'b' is no number"),
    ],
)
def test_what_no_file_can_hold_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()
