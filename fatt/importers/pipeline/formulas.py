"""Steps that compute of several columns: products, and functions that are traced.

A function that only its author knows is called with cells that remember what is done to
them. One that only adds, subtracts, multiplies and divides leaves a formula; that it
makes the same numbers, to the last bit, is tried on rows of all kinds, alone and among
others.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Numeric
from fatt.ensemble.features import NumberTypes
from fatt.ensemble.joint import (
    Constant,
    Formula,
    Operation,
    Operator,
    Read,
    evaluate,
    key_of,
    operations_of,
    places_of,
)
from fatt.errors import UnsupportedModelError
from fatt.importers.pipeline.functions import MAY_CALL, require_alike
from fatt.importers.pipeline.steps import (
    FINITE_ONLY,
    AnyStep,
    Arithmetic,
    Numbers,
    Work,
)
from fatt.importers.pullback.columns import ANYTHING, Floats, identity
from fatt.importers.pullback.joints import Beside, steps_along

#: How many rows are told apart while a function is traced.
_TRACED = 3
#: On how many rows a formula is tried.
_TRIED = 400
#: Up to here integers are floats as well, and how many bits a sum of them may have.
_EXACT_BITS, _LONG_BITS = 53, 62


def polynomials(transformer: Any) -> Work:
    """Follow a `PolynomialFeatures`, whose products scikit-learn computes from behind.

    Raises
    ------
    UnsupportedModelError
        If the installed scikit-learn computes them otherwise.
    """
    combinations = [
        [i for i, power in enumerate(powers) for _ in range(power)]
        for powers in transformer.powers_.tolist()
    ]
    formulas = [_product(combination) for combination in combinations]
    rows = _rows(transformer.n_features_in_, FINITE_ONLY)
    with warnings.catch_warnings():
        # It may have been fitted on names.
        warnings.simplefilter("ignore")
        made = transformer.transform(rows)
    if not np.array_equal(made, _made(formulas, rows), equal_nan=True):
        raise UnsupportedModelError(
            "the installed scikit-learn computes the products of PolynomialFeatures in "
            "a way that is not known here. Make them columns of the table, and train "
            "without it."
        )
    return _work(formulas, transformer.n_features_in_, FINITE_ONLY, ["any"])


def _product(columns: Sequence[int]) -> Formula:
    if not columns:
        return Constant(1.0)
    first, *others = columns
    read = Read(place=first)
    return Operation(read, "*", _product(others)) if others else read


def traced(transformer: Any) -> Work | None:
    """Follow a `FunctionTransformer` that calls a function of its author.

    None if it may not be called, or does more than to add, subtract, multiply and
    divide cells of a row.
    """
    formulas = _trace(transformer) if MAY_CALL.get() else None
    if formulas is None:
        return None
    width = transformer.n_features_in_
    taker = FINITE_ONLY if transformer.validate else ANYTHING
    types = [_number_types(formula) for formula in formulas]
    rows = _rows(width, taker)
    tables: list[NDArray[Any]] = [rows]
    if "float64" not in types:
        whole = np.rint(np.clip(_rows(width, FINITE_ONLY), -99, 99))
        tables.append(whole.astype(np.int64))
    try:
        for table in tables:
            require_alike(
                transformer,
                table,
                _made(formulas, table.astype(np.float64)),
                "it",
                in_frame=_gets_frame(transformer),
            )
    except UnsupportedModelError:
        return None
    return _work(formulas, width, taker, types)


class _Cell:
    """A cell that remembers what is done to it.

    It cannot be compared nor turned into a number: who tries learns nothing of it.
    """

    __slots__ = ("formula", "row")
    __hash__ = object.__hash__

    def __init__(self, formula: Formula, row: int) -> None:
        self.formula, self.row = formula, row

    def __eq__(self, other: object) -> bool:
        raise TypeError("a traced cell has no number")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __eq__

    def _with(self, operator: Operator, other: Any, *, turned: bool = False) -> _Cell:
        if isinstance(other, _Cell):
            if other.row != self.row:
                raise TypeError("cells of two rows meet")
            formula = other.formula
        elif type(other) in _NUMBERS and abs(other) < 2**53:
            formula = Constant(float(other))
        else:
            # Arrays and series have their own ways to do it cell by cell.
            return NotImplemented  # type: ignore[no-any-return]
        sides = (formula, self.formula) if turned else (self.formula, formula)
        return _Cell(Operation(sides[0], operator, sides[1]), self.row)

    def __add__(self, other: Any) -> _Cell:
        return self._with("+", other)

    def __radd__(self, other: Any) -> _Cell:
        return self._with("+", other, turned=True)

    def __sub__(self, other: Any) -> _Cell:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> _Cell:
        return self._with("-", other, turned=True)

    def __mul__(self, other: Any) -> _Cell:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> _Cell:
        return self._with("*", other, turned=True)

    def __truediv__(self, other: Any) -> _Cell:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> _Cell:
        return self._with("/", other, turned=True)

    def __neg__(self) -> _Cell:
        return self * -1

    def __pos__(self) -> _Cell:
        return self

    def __pow__(self, power: Any) -> _Cell:
        return self * self if type(power) in _NUMBERS and power == 2 else NotImplemented


_NUMBERS = {int, float, np.int64, np.float64}


def _trace(transformer: Any) -> list[Formula] | None:
    """Return what a function does to the cells of any row; None if it is not told."""
    cells = np.empty((_TRACED, transformer.n_features_in_), dtype=object)
    for row, place in np.ndindex(*cells.shape):
        cells[row, place] = _Cell(Read(place=place), row)
    given: Any = cells
    if _gets_frame(transformer):
        import pandas as pd

        given = pd.DataFrame(cells, columns=transformer.feature_names_in_)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = transformer.func(given, **(transformer.kw_args or {}))
            made = np.asarray(answer, dtype=object)
    except Exception:  # functions raise what they like
        return None
    if made.ndim != 2 or len(made) != _TRACED:
        return None
    formulas: list[Formula] = []
    for column in made.T:
        own = [_formula_of(cell, row) for row, cell in enumerate(column)]
        if (
            own[0] is None
            or len({key_of(one) for one in own if one}) > 1
            or None in own
        ):
            return None
        formulas.append(own[0])
    return formulas or None


def _formula_of(cell: object, row: int) -> Formula | None:
    """Return what was done to a cell of a row; None if it is of another."""
    if isinstance(cell, _Cell):
        return cell.formula if cell.row == row else None
    if type(cell) in _NUMBERS and math.isfinite(cell):  # type: ignore[arg-type]
        return Constant(float(cell))  # type: ignore[arg-type]
    return None


def _work(
    formulas: Sequence[Formula],
    width: int,
    taker: Numeric,
    types: Sequence[NumberTypes],
) -> Work:
    """Return the work of a step that computes each of its columns by a formula."""
    narrowest = min(types, key=_TYPES.index) if types else "any"
    check = Numbers(function=Arithmetic(), taker=taker, number_types=narrowest)
    work = Work(check=check)
    passed: tuple[AnyStep, ...] = ()
    if taker is not ANYTHING:
        passed = (Numbers(function=identity, taker=taker),)
    for formula in formulas:
        places = places_of(formula)
        if isinstance(formula, Read):
            work.outputs.append((formula.place, passed))
        elif isinstance(formula, Constant):
            work.outputs.append((0, (_constant(formula.value, taker),)))
        elif len(places) > 1 or (steps := _along(formula, places[0], width)) is None:
            work.outputs.append((formula, ()))
        else:
            work.outputs.append((places[0], (check, *steps)))
    read = {place for formula in formulas for place in places_of(formula)}
    work.idle = [(i, step) for i in range(width) if i not in read for step in passed]
    return work


#: From few to many.
_TYPES: list[NumberTypes] = ["float64", "int64", "long", "any"]


def _constant(value: float, taker: Numeric) -> Numbers:
    return Numbers(
        function=lambda numbers: np.full_like(numbers, value),
        taker=taker,
        missing=value,
    )


def _along(formula: Formula, place: int, width: int) -> tuple[Numbers, ...] | None:
    """Return a formula of one column as steps; None if a constant is divided by it."""
    steps = steps_along(formula, place, np.ones(width))
    if any(isinstance(step, Beside) and step.divides for step in steps):
        return None
    return tuple(Numbers(step.function, ANYTHING, edges=step.edges) for step in steps)


def _made(formulas: Sequence[Formula], rows: Floats) -> Floats:
    return np.array([evaluate(formula, rows) for formula in formulas]).T


def _rows(width: int, taker: Numeric) -> Floats:
    """Return rows of all kinds: small and large, whole, zero, missing, infinite."""
    rng = np.random.default_rng(0)
    shape = _TRIED, width
    rows = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 7, size=shape)
    rows = np.where(rng.random(shape) < 0.4, np.rint(rows), rows)
    odd = np.array([0.0, -0.0, 1.0, -1.0, 1e200, math.nan, math.inf, -math.inf])
    odd = odd if taker is ANYTHING else odd[np.isfinite(odd)]
    return np.where(rng.random(shape) < 0.2, rng.choice(odd, size=shape), rows)


def _gets_frame(transformer: Any) -> bool:
    return hasattr(transformer, "feature_names_in_") and not transformer.validate


def _number_types(formula: Formula) -> NumberTypes:
    """Tell which types of numbers give what their float64 copies give."""
    operations = list(operations_of(formula))
    try:
        sizes = [_bits(one) for one in operations]
    except OverflowError:
        return "float64"
    if not operations:
        return "any"
    return "long" if all(size is None for size in sizes) else "int64"


def _bits(formula: Formula) -> int | None:
    """Return how large an integer may become; None if it is a float.

    Raises
    ------
    OverflowError
        If integers may be computed otherwise than their float64 copies.
    """
    match formula:
        case Read():
            return _EXACT_BITS
        case Constant(value=value):
            return int(value).bit_length() if value == int(value) else None
    left, right = _bits(formula.left), _bits(formula.right)
    if formula.operator == "/" or left is None or right is None:
        return None
    bits = left + right if formula.operator == "*" else max(left, right) + 1
    if max(left, right) > _EXACT_BITS or bits > _LONG_BITS:
        raise OverflowError
    return bits
