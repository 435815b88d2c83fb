"""Columns that a model computes of several others: a ratio, a product, a sum.

Trees split on them as on any other column. Such a column depends on several columns
that people know, so that none of these alone says on which side of a split a person is.
With all but one of them fixed, the last one does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature, Numeric, Record

Floats = NDArray[np.float64]

Operator: TypeAlias = Literal["+", "-", "*", "/"]

_UFUNCS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
}

#: What is done to a number, one after the other, with a constant on its right.
Operations: TypeAlias = tuple[tuple[Operator, float], ...]


class Read(Record, frozen=True, kw_only=True, tag="column"):
    """A column that people know, scaled perhaps.

    Attributes
    ----------
    place
        Index of the feature.
    table
        Of a categorical feature, the number for each code; else empty.
    operations
        What is done to the number first.
    missing
        What a missing cell becomes in the end; NaN if it stays missing.
    """

    place: int
    table: tuple[float, ...] = ()
    operations: Operations = ()
    missing: float = math.nan

    def of(self, cells: Floats) -> Floats:
        """Return what is made of cells: numbers, or codes; NaN if they are missing."""
        absent = np.isnan(cells)
        numbers = cells
        if self.table:
            numbers = np.array(self.table)[np.where(absent, 0, cells).astype(np.int64)]
        return np.where(absent, self.missing, operate(numbers, self.operations))


class Constant(Record, frozen=True, tag="constant"):
    """A number."""

    value: float


class Operation(Record, frozen=True, tag="operation"):
    """What becomes of two columns, row by row, in float64."""

    left: Formula
    operator: Operator
    right: Formula


Formula: TypeAlias = Read | Constant | Operation


class Joint(Record, frozen=True, kw_only=True):
    """A column that a model computes of others.

    Attributes
    ----------
    feature
        Which of its numbers the model takes, as for any other column.
    formula
        How it is computed.
    """

    feature: Numeric
    formula: Formula


def operate(numbers: Floats, operations: Operations) -> Floats:
    """Return what becomes of numbers, with the roundings of float64."""
    with np.errstate(all="ignore"):
        for operator, constant in operations:
            numbers = _UFUNCS[operator](numbers, constant)
    return numbers


def evaluate(formula: Formula, matrix: Floats) -> Floats:
    """Return a computed column, given the columns that people know.

    Parameters
    ----------
    formula
        How it is computed.
    matrix : ndarray of shape (n_rows, n_features)
        Numbers and codes; NaN for missing.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    match formula:
        case Constant():
            return np.full(len(matrix), formula.value)
        case Read():
            return formula.of(matrix[:, formula.place])
    left, right = (evaluate(one, matrix) for one in (formula.left, formula.right))
    return combine(formula.operator, left, right)


def combine(operator: Operator, left: Floats, right: Floats) -> Floats:
    """Return what becomes of two columns, with the rounding of float64."""
    with np.errstate(all="ignore"):
        return np.asarray(_UFUNCS[operator](left, right))


def reads_of(formula: Formula) -> Iterator[Read]:
    """Yield the columns that a formula reads, in its order, as often as it does."""
    match formula:
        case Read():
            yield formula
        case Operation():
            yield from reads_of(formula.left)
            yield from reads_of(formula.right)


def operations_of(formula: Formula) -> Iterator[Operation]:
    """Yield the operations of a formula, each before its parts."""
    if isinstance(formula, Operation):
        yield formula
        yield from operations_of(formula.left)
        yield from operations_of(formula.right)


def replaced(formula: Formula, by: Callable[[Read], Formula]) -> Formula:
    """Return a formula with something else in the place of each column."""
    match formula:
        case Read():
            return by(formula)
        case Operation():
            left, right = replaced(formula.left, by), replaced(formula.right, by)
            return Operation(left, formula.operator, right)
    return formula


def key_of(formula: Formula) -> bytes:
    """Return what two formulas share if and only if they are the same."""
    return msgspec.msgpack.encode(formula)


def places_of(formula: Formula) -> list[int]:
    """Return the indices of the features that a formula reads, in its order."""
    return list(dict.fromkeys(read.place for read in reads_of(formula)))


def divisors_of(formula: Formula) -> set[int]:
    """Return the features that are divided by, where zeros of both signs differ."""
    return {
        read.place
        for operation in operations_of(formula)
        if operation.operator == "/"
        for read in reads_of(operation.right)
    }


def parts_along(
    formula: Formula, place: int
) -> Iterator[tuple[Operation, Formula | None]]:
    """Yield the operations in which a column moves, from the outermost, and what moves.

    Of a power that is its base. What moves is None where the column stands twice, other
    than as a power of itself, so that nothing is known of its order.
    """
    while isinstance(formula, Operation):
        moving = [one for one in (formula.left, formula.right) if _reads(one, place)]
        inner: Formula | None = moving[0]
        if len(moving) > 1:
            factors = {key_of(one): one for one in _moving_factors(formula, place)}
            factors.pop(key_of(formula), None)
            inner = factors.popitem()[1] if len(factors) == 1 else None
        yield formula, inner
        if inner is None:
            return
        formula = inner


def _reads(formula: Formula, place: int) -> bool:
    return any(read.place == place for read in reads_of(formula))


def _moving_factors(formula: Formula, place: int) -> Iterator[Formula]:
    """Yield the factors of a product in which a column moves."""
    if isinstance(formula, Operation) and formula.operator == "*":
        yield from _moving_factors(formula.left, place)
        yield from _moving_factors(formula.right, place)
    elif _reads(formula, place):
        yield formula


def _name(read: Read, feature: Feature) -> str:
    # The last number is that of unknown values.
    numbers = list(read.table[:-1])
    is_flag = numbers.count(1.0) == 1 and numbers.count(0.0) == len(numbers) - 1
    if isinstance(feature, Categorical) and is_flag:
        return f"{feature.name}={feature.categories[numbers.index(1.0)]}"
    return feature.name


def in_words(formula: Formula, features: Sequence[Feature]) -> str:
    """Write a formula down with the names of its columns, without their scaling.

    Examples
    --------
    >>> debt, income = Numeric(name="debt"), Numeric(name="income")
    >>> ratio = Operation(Read(place=0), "/", Read(place=1))
    >>> in_words(Operation(ratio, "*", Constant(100.0)), [debt, income])
    '(debt / income) * 100'
    """
    match formula:
        case Constant():
            return f"{formula.value:g}"
        case Read():
            return _name(formula, features[formula.place])
    sides = [in_words(one, features) for one in (formula.left, formula.right)]
    left, right = (
        f"({words})" if isinstance(one, Operation) else words
        for words, one in zip(sides, (formula.left, formula.right), strict=True)
    )
    return f"{left} {formula.operator} {right}"


class Fixed(NamedTuple):
    """What is fixed for some people, and what may move.

    Attributes
    ----------
    moving
        For each computed column the feature that may move; None if none does.
    values : ndarray of shape (n_features,)
        The numbers and codes of the others.
    lower, upper : ndarray of shape (n_features,)
        Between which finite numbers those that move may be.
    """

    moving: tuple[int | None, ...]
    values: Floats
    lower: Floats
    upper: Floats
