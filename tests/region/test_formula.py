"""Formulas and orders: what is read, what is refused, what is computed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatt.ensemble.joint import Constant, Operation, Read
from fatt.ensemble.joint import Formula as Tree
from fatt.errors import SpecError
from fatt.region.formula import Formula, Order, in_order, parse_formula, parse_order

_NAMES = ("age", "hours-per-week", "x0.y")
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)

_TREES = st.recursive(
    st.builds(Constant, _NUMBERS)
    | st.builds(lambda place: Read(place=place), st.integers(0, 2)),
    lambda inner: st.builds(Operation, inner, st.sampled_from("+-*/"), inner),
    max_leaves=12,
)


def _python(tree: Tree) -> str:
    """Return a formula as Python has it."""
    match tree:
        case Constant(value=value):
            return f"np.float64({value!r})"
        case Read(place=place):
            return f"x{place}"
    return f"({_python(tree.left)} {tree.operator} {_python(tree.right)})"


@given(_TREES)
def test_a_formula_is_written_as_it_is_read(tree):
    written = Formula(_NAMES, tree).plain()
    read = parse_formula(f"age*0 + `hours-per-week` + x0.y + ({written})", "z")
    assert read.columns == _NAMES
    assert read.tree.right == tree


@given(_TREES, st.lists(_NUMBERS, min_size=3, max_size=3))
def test_a_formula_is_computed_as_numpy_does(tree, numbers):
    names = {f"x{i}": np.float64(number) for i, number in enumerate(numbers)}
    with np.errstate(all="ignore"):
        wanted = eval(_python(tree), {"np": np}, names)
    found = Formula(_NAMES, tree).of(np.array([numbers]))
    np.testing.assert_array_equal(found, [wanted])
    assert np.signbit(found[0]) == np.signbit(wanted) or np.isnan(wanted)


@given(_TREES, st.lists(st.integers(-9, 9), min_size=3, max_size=3))
def test_slopes_are_exact(tree, numbers):
    affine = Formula(_NAMES, tree).affine
    if affine is not None:
        assert all(slope for _, slope in affine.slopes)
        said = sum(slope * numbers[place] for place, slope in affine.slopes)
        assert said + affine.constant == _exactly(tree, numbers)


def _exactly(tree: Tree, numbers: list[int]) -> Fraction:
    match tree:
        case Constant(value=value):
            return Fraction(value)
        case Read(place=place):
            return Fraction(numbers[place])
    left, right = _exactly(tree.left, numbers), _exactly(tree.right, numbers)
    if tree.operator == "/":
        return left / right
    return {"+": left + right, "-": left - right, "*": left * right}[tree.operator]


@pytest.mark.parametrize(
    ("text", "slopes", "constant"),
    [
        ("2026 - age", [-1], 2026),
        ("(age + 2 * debt) / 4", [Fraction(1, 4), Fraction(1, 2)], 0),
        ("age * 0.1", [Fraction(0.1)], 0),
        ("age - age + debt", [1], 0),
        ("-age", [-1], 0),
    ],
)
def test_sums_are_affine(text, slopes, constant):
    affine = parse_formula(text, "z").affine
    assert affine is not None
    assert [slope for _, slope in affine.slopes] == slopes
    assert affine.constant == constant


@pytest.mark.parametrize("text", ["debt / income", "a * b", "1 / a", "a / 0", "a*a"])
def test_products_and_ratios_are_not_affine(text):
    assert parse_formula(text, "z").affine is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("log(age)", "'log' is a function, and none is known"),
        ("__import__('os')", "'__import__' is a function"),
        ("age ** 2", "'**' means nothing there"),
        ("age // 2", "'//' means nothing there"),
        ("age % 2", "'%' means nothing there"),
        ("(age", "a parenthesis is not closed"),
        ("age)", "')' means nothing there"),
        ("", "a number or a column is missing before its end"),
        ("age +", "a number or a column is missing before its end"),
        ("age income", "'income' means nothing there"),
        ("1e999 * age", "1e999 is too large a number"),
        ("(" * 60 + "age" + ")" * 60, "nested too deeply"),
        ("-" * 60 + "age", "nested too deeply"),
        ("+".join(["age"] * 300), "more than 200 operations"),
        ("3 + 4", "which names no column"),
        ("birth_year + 1", "computes the column of itself"),
        (2026, "write a text"),
    ],
)
def test_other_texts_are_refused(text, reason):
    with pytest.raises(SpecError) as error:
        parse_formula(text, "birth_year")
    assert reason in str(error.value)
    assert "'birth_year'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tenure <= age - 16", Order("tenure", "age", -16)),
        ("tenure + 16 < age", Order("tenure", "age", -16, is_strict=True)),
        ("age >= tenure", Order("tenure", "age")),
        ("age - tenure > 0.1", Order("tenure", "age", -0.1, is_strict=True)),
        ("`a<b` <= c + 1", Order("a<b", "c", 1)),
    ],
)
def test_orders_are_read_in_one_form(text, wanted):
    order = parse_order(text)
    assert order == wanted
    assert parse_order(order.plain()) == wanted
    assert parse_order(order) is order


@pytest.mark.parametrize(
    "text",
    [
        "a <= b <= c",
        "a == b",
        "a = b",
        "a != b",
        "a <= 5",
        "2 * a <= b",
        "a <= a",
        "a <= b / c",
        "a + b <= c",
        "a",
        "a <= b + 0.1 + 0.2",
        3,
        "a <= b - 1.7e308 - 1.7e308",
    ],
)
def test_other_orders_are_refused(text):
    with pytest.raises(SpecError, match="exist has the order"):
        parse_order(text)


@given(_NUMBERS, _NUMBERS, _NUMBERS, st.booleans())
def test_orders_are_exact(low, high, shift, is_strict):
    order = Order("a", "b", shift, is_strict=is_strict)

    def keeps(low, high):
        gap = Fraction(high) + Fraction(shift) - Fraction(low)
        return gap > 0 if is_strict else gap >= 0

    assert order.holds(np.array([low]), np.array([high]))[0] == keeps(low, high)
    for end, pair, beyond in [
        (order.most(np.array([high]))[0], lambda x: (x, high), np.inf),
        (order.least(np.array([low]))[0], lambda x: (low, x), -np.inf),
    ]:
        with np.errstate(over="ignore"):
            after = np.nextafter(end, beyond)
        assert not np.isfinite(end) or keeps(*pair(float(end)))
        assert not np.isfinite(after) or not keeps(*pair(float(after)))


def test_missing_values_break_no_order():
    order = Order("a", "b")
    missing, known = np.array([np.nan, 1.0, np.nan]), np.array([0.0, np.nan, np.nan])
    assert order.holds(missing, known).all()


def test_computed_columns_come_behind_what_they_are_computed_of():
    formulas = {
        name: parse_formula(text, name)
        for name, text in {"c": "b + a", "b": "a * 2", "d": "x"}.items()
    }
    assert in_order(formulas) == ["b", "c", "d"]


def test_a_cycle_of_computed_columns_is_refused():
    formulas = {
        name: parse_formula(text, name)
        for name, text in {"a": "b + 1", "b": "c - 1", "c": "a * 1"}.items()
    }
    with pytest.raises(SpecError, match="'a' follows 'b' follows 'c' follows 'a'"):
        in_order(formulas)
