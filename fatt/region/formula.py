"""Formulas of columns and orders between columns: read from text, never run as code.

A formula has numbers, names of columns, ``+ - * /`` and parentheses. It is computed in
float64 from left to right, ``*`` and ``/`` before ``+`` and ``-``, with one rounding
for each operation, as NumPy computes it. An order compares two columns exactly: the sum
on its right side is not rounded.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import joint
from fatt.ensemble.joint import Constant, Operation, Operator, Read
from fatt.errors import SpecError
from fatt.region.amounts import short

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>[^\W\d][\w.]*)|`(?P<quoted>[^`]+)`"
    r"|(?P<sign>\*\*|//|[-+*/()])|(?P<other>\S))"
)
_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")
_COMPARISON = re.compile(r"`[^`]*`|<=|>=|==|!=|<|>|=")

#: More than anybody writes; deeper trees would end the stack.
_MOST_OPERATIONS, _MOST_DEPTH = 200, 50

_ALLOWED = (
    "a formula has numbers, names of columns, + - * / and parentheses; a name with "
    "other signs stands in backticks: `hours-per-week`"
)


@dataclass(frozen=True)
class Affine:
    """A sum of columns, each times a slope, and a constant: exact.

    Attributes
    ----------
    slopes
        The slope of each column, by its place in the formula; none is zero.
    constant
        What is added.
    """

    slopes: tuple[tuple[int, Fraction], ...]
    constant: Fraction


@dataclass(frozen=True)
class Formula:
    """How a column is computed of others.

    Attributes
    ----------
    columns
        The names of the others, each once.
    tree
        The operations; a column is named by its place in `columns`.
    """

    columns: tuple[str, ...]
    tree: joint.Formula

    def plain(self) -> str:
        """Return the formula as people write it, which reads back equal."""
        return _written(self.tree, self.columns)

    @property
    def affine(self) -> Affine | None:
        """The slopes, if the formula has no product or ratio of columns."""
        found = _affine(self.tree)
        if found is None:
            return None
        slopes, constant = found
        moving = tuple((place, slope) for place, slope in slopes.items() if slope)
        return Affine(moving, constant)

    def of(self, numbers: Floats) -> Floats:
        """Return what is computed, row by row.

        Parameters
        ----------
        numbers : ndarray of shape (n_rows, n_columns)
            The columns, in the order of `columns`; NaN for missing.
        """
        return joint.evaluate(self.tree, numbers)

    def over(self, places: Sequence[int]) -> joint.Formula:
        """Return the formula over the features of a model.

        Parameters
        ----------
        places
            The feature of each of `columns`.
        """
        return joint.replaced(
            self.tree, lambda read: Read(place=int(places[read.place]))
        )


@dataclass(frozen=True)
class Order:
    """One column is at most another and a constant, as ``tenure <= age - 16``.

    Attributes
    ----------
    low, high
        The names of the columns.
    shift
        What is added to the second.
    is_strict
        Whether equality breaks the order.
    """

    low: str
    high: str
    shift: float = 0.0
    is_strict: bool = False

    def plain(self) -> str:
        """Return the order as people write it, which reads back equal."""
        sign = "<" if self.is_strict else "<="
        text = f"{_name(self.low)} {sign} {_name(self.high)}"
        if self.shift:
            text += f" {'-' if self.shift < 0 else '+'} {short(abs(self.shift))!r}"
        return text

    def holds(self, low: Floats, high: Floats) -> Flags:
        """Tell which pairs keep the order; those with a missing value do.

        The comparison is exact: ``high + shift`` is not rounded.
        """
        absent = np.isnan(low) | np.isnan(high)
        most = self.most(np.where(absent, 0.0, high))
        return np.asarray(absent | (low <= most))

    def most(self, high: Floats) -> Floats:
        """Return the largest first number for each second one."""
        return _most(high, self.shift, is_strict=self.is_strict)

    def least(self, low: Floats) -> Floats:
        """Return the smallest second number for each first one."""
        return -_most(-low, self.shift, is_strict=self.is_strict)


def _most(numbers: Floats, shift: float, *, is_strict: bool) -> Floats:
    """Return the largest float64 that is at most (or less than) number plus shift."""
    numbers = np.asarray(numbers, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = numbers + shift
        # What the sum lost to rounding, exactly (two-sum).
        rest = total - numbers
        error = (numbers - (total - rest)) + (shift - rest)
        is_beyond = error <= 0 if is_strict else error < 0
        found = np.where(is_beyond, np.nextafter(total, -np.inf), total)
    # A sum beyond all floats is beyond them exactly, too.
    is_finite = np.isfinite(numbers)
    found = np.where(is_finite & np.isposinf(total), np.finfo(np.float64).max, found)
    return np.where(is_finite, found, numbers)


def parse_formula(given: Any, name: str) -> Formula:
    """Return the formula that a user wrote.

    Parameters
    ----------
    given
        The text.
    name
        The column that is computed, for messages.

    Raises
    ------
    SpecError
        If the text is no formula, or computes nothing of a column.

    Examples
    --------
    >>> parse_formula("2026 - age", "birth_year").columns
    ('age',)
    >>> parse_formula("100*(debt/income)", "ratio").plain()
    '100 * (debt / income)'
    """
    where = f"the formula of {name!r}"
    if isinstance(given, Formula):
        return given
    if not isinstance(given, str):
        raise SpecError(f"{where} is {given!r}; write a text: '2026 - age'.")
    formula = _parse(given, f"{where} is {given!r}")
    if not formula.columns:
        raise SpecError(f"{where} is {given!r}, which names no column; name one.")
    if name in formula.columns:
        raise SpecError(
            f"{where} is {given!r}, which computes the column of itself; name others."
        )
    return formula


def parse_order(given: Any, key: str = "exist") -> Order:
    """Return the order that a user wrote.

    Parameters
    ----------
    given
        The text: two columns with ``<=``, ``>=``, ``<`` or ``>`` between them, and a
        constant on either side.
    key
        The argument in which it stands, for messages.

    Raises
    ------
    SpecError
        If the text does not order two columns.

    Examples
    --------
    >>> parse_order("tenure + 16 <= age").plain()
    'tenure <= age - 16'
    >>> parse_order("age > tenure")
    Order(low='tenure', high='age', shift=0.0, is_strict=True)
    """
    if isinstance(given, Order):
        return given
    where = f"{key} has the order {given!r}"
    signs = [
        sign
        for sign in (_COMPARISON.finditer(given) if isinstance(given, str) else ())
        if not sign[0].startswith("`")
    ]
    if len(signs) != 1 or signs[0][0] not in {"<=", ">=", "<", ">"}:
        raise SpecError(
            f"{where}; write two columns with <=, >=, < or > between them: "
            "'tenure <= age - 16'."
        )
    sign = signs[0]
    left, right = given[: sign.start()], given[sign.end() :]
    if ">" in sign[0]:
        left, right = right, left
    difference = _parse(f"({left}) - ({right})", where)
    affine = difference.affine
    slopes = {} if affine is None else {slope: place for place, slope in affine.slopes}
    if affine is None or len(affine.slopes) != 2 or set(slopes) != {1, -1}:
        raise SpecError(
            f"{where}; an order has one column on each side, neither multiplied, and a "
            "constant: 'tenure <= age - 16'. A bound of one column stands in the "
            "schema or in where."
        )
    shift = _float(-affine.constant)
    if shift is None:
        raise SpecError(f"{where}; write its constants as one number.")
    low, high = (difference.columns[slopes[Fraction(slope)]] for slope in (1, -1))
    return Order(low, high, shift, is_strict="=" not in sign[0])


def _float(exact: Fraction) -> float | None:
    """Return the float64 that is a fraction; None if there is none."""
    with contextlib.suppress(OverflowError):
        if Fraction(float(exact)) == exact:
            return float(exact)
    return None


def in_order(formulas: Mapping[str, Formula]) -> list[str]:
    """Return computed columns so that each comes behind those of which it is computed.

    Raises
    ------
    SpecError
        If columns are computed of one another in a cycle.
    """
    made: dict[str, None] = {}
    for name in formulas:
        _visit(name, formulas, made, ())
    return list(made)


def _visit(
    name: str,
    formulas: Mapping[str, Formula],
    made: dict[str, None],
    path: tuple[str, ...],
) -> None:
    if name in path:
        cycle = [*path[path.index(name) :], name]
        raise SpecError(
            f"follow goes round in a cycle: {' follows '.join(map(repr, cycle))}; "
            "leave one of them out."
        )
    if name in formulas and name not in made:
        for other in formulas[name].columns:
            _visit(other, formulas, made, (*path, name))
        made[name] = None


# ---- Reading.


class _Reader:
    """The tokens of a formula, one after the other."""

    def __init__(self, text: str, where: str) -> None:
        self.where, self.columns = where, dict[str, int]()
        self._tokens, self._operations = list(_tokens(text)), 0

    def refuse(self, reason: str) -> SpecError:
        return SpecError(f"{self.where}; {reason}: {_ALLOWED}.")

    @property
    def next(self) -> tuple[str, str]:
        """The kind and the text of the next token; empty at the end."""
        return self._tokens[0] if self._tokens else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.next
        del self._tokens[:1]
        return token

    def combine(
        self, left: joint.Formula, operator: Operator, right: joint.Formula
    ) -> Operation:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise self.refuse(f"it has more than {_MOST_OPERATIONS} operations")
        return Operation(left, operator, right)

    def sum(self, depth: int) -> joint.Formula:
        left = self.product(depth)
        while self.next in {("sign", "+"), ("sign", "-")}:
            operator: Any = self.take()[1]
            left = self.combine(left, operator, self.product(depth))
        return left

    def product(self, depth: int) -> joint.Formula:
        left = self.factor(depth)
        while self.next in {("sign", "*"), ("sign", "/")}:
            operator: Any = self.take()[1]
            left = self.combine(left, operator, self.factor(depth))
        return left

    def factor(self, depth: int) -> joint.Formula:
        if depth > _MOST_DEPTH:
            raise self.refuse("its parentheses are nested too deeply")
        kind, text = self.take()
        if kind == "number":
            return self.number(text)
        if kind in {"name", "quoted"}:
            if kind == "name" and self.next == ("sign", "("):
                raise self.refuse(f"{text!r} is a function, and none is known")
            place = self.columns.setdefault(text, len(self.columns))
            return Read(place=place)
        if (kind, text) == ("sign", "("):
            inner = self.sum(depth + 1)
            if self.take() != ("sign", ")"):
                raise self.refuse("a parenthesis is not closed")
            return inner
        if (kind, text) == ("sign", "-"):
            if self.next[0] == "number":
                return self.number("-" + self.take()[1])
            # Unlike `0 - x`, it keeps the sign of a zero.
            return self.combine(Constant(-1.0), "*", self.factor(depth + 1))
        found = repr(text) if text else "its end"
        raise self.refuse(f"a number or a column is missing before {found}")

    def number(self, text: str) -> Constant:
        value = float(text)
        if not math.isfinite(value):
            raise self.refuse(f"{text} is too large a number")
        return Constant(value)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup]


def _parse(text: str, where: str) -> Formula:
    reader = _Reader(text, where)
    tree = reader.sum(0)
    kind, rest = reader.next
    if kind != "end":
        raise reader.refuse(f"{rest!r} means nothing there")
    return Formula(tuple(reader.columns), tree)


# ---- Writing.

_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2}


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name}`"


def _written(tree: joint.Formula, columns: Sequence[str]) -> str:
    match tree:
        case Constant(value=value):
            return repr(short(value)) if value else repr(value)
        case Read(place=place):
            return _name(columns[place])
        case Operation(left=left, operator=operator, right=right):
            binds = _BINDS[operator]
            one, other = _written(left, columns), _written(right, columns)
            # The tree says in which order floats are rounded.
            if isinstance(left, Operation) and _BINDS[left.operator] < binds:
                one = f"({one})"
            if isinstance(right, Operation):
                other = f"({other})" if _BINDS[right.operator] <= binds else other
            return f"{one} {operator} {other}"
    raise AssertionError(tree)


# ---- Slopes.

_Sum = tuple[dict[int, Fraction], Fraction]


def _affine(tree: joint.Formula) -> _Sum | None:
    """Return slopes and constant; None if columns are multiplied or divided by."""
    match tree:
        case Constant(value=value):
            return {}, Fraction(value)
        case Read(place=place):
            return {place: Fraction(1)}, Fraction(0)
    left, right = _affine(tree.left), _affine(tree.right)
    if left is None or right is None:
        return None
    match tree.operator:
        case "+" | "-":
            return _added(left, right, Fraction(1 if tree.operator == "+" else -1))
        case "*":
            left, right = (left, right) if _is_constant(right) else (right, left)
    if not _is_constant(right) or (tree.operator == "/" and right[1] == 0):
        return None
    factor = right[1] if tree.operator == "*" else 1 / right[1]
    return _added(({}, Fraction(0)), left, factor)


def _is_constant(one: _Sum) -> bool:
    return not any(one[0].values())


def _added(one: _Sum, other: _Sum, factor: Fraction) -> _Sum:
    """Return a sum and another that is multiplied by a factor."""
    slopes = dict(one[0])
    for place, slope in other[0].items():
        slopes[place] = slopes.get(place, Fraction(0)) + factor * slope
    return slopes, one[1] + factor * other[1]
