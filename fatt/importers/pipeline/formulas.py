"""Steps that compute of several columns: products, and functions that are traced.

A function that only its author knows, and whose code does nothing unknown, is called
with cells that remember what is done to them. One that only adds, subtracts, multiplies
and divides leaves a formula; that it makes the same numbers, to the last bit, is tried
on rows of all kinds, alone and among others.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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
from fatt.importers.pipeline.code import Reading
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
#: How many operations a formula may have.
_OPERATIONS = 200
#: How many bits integers may have that are computed with, so that what comes of most
#: formulas has no more than a float64 holds.
_READ_BITS, _EXACT_BITS = 31, 53
#: The largest of them.
LARGEST = 2**_READ_BITS


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

    None if it may not be called, or its code or what it leaves says that it may do more
    than to add, subtract, multiply and divide cells of a row.
    """
    width, in_frame = transformer.n_features_in_, _gets_frame(transformer)
    if _reading(transformer).strangers:
        return None
    trace = _trace(transformer, range(width), in_frame=in_frame)
    # It may get the other kind of table as well.
    other = _trace(transformer, range(width), in_frame=not in_frame)
    if trace is None or other not in (None, trace):
        return None
    formulas = trace.formulas
    taker = FINITE_ONLY if transformer.validate else ANYTHING
    types = [_number_types(formula) for formula in formulas]
    if trace.has_powers:
        types.append("numpy float64")
    rows = _rows(width, taker)
    if trace.has_powers:
        rows = np.vstack([rows, np.tile(_odd_squares()[:, np.newaxis], width)])
    whole = _rows(width, FINITE_ONLY)
    whole = np.rint(np.where(np.abs(whole) < 10_000, whole, np.fmod(whole, 99)))
    # Encoders may make integers, of which zero has no sign.
    tables: list[NDArray[Any]] = [rows, whole.astype(np.int64)]
    try:
        for table in tables:
            require_alike(
                transformer,
                table,
                _made(formulas, table.astype(np.float64)),
                "it",
                in_frame=in_frame,
            )
    except UnsupportedModelError:
        return None
    if in_frame and not _is_alike_of_nullable(transformer, formulas, whole):
        return None
    work = _work(formulas, width, taker, types)
    if in_frame and not _takes_texts(transformer, formulas, rows):
        _refuse_texts(work, width, "numpy float64" if trace.has_powers else "any")
    return work


def goes_by_name(transformer: Any) -> bool:
    """Tell whether a function finds its columns by name, wherever they stand.

    Then it computes the same of a table with others besides, or without those that it
    does not read, in any order.
    """
    if not _gets_frame(transformer) or _reading(transformer).has_conditions:
        return False
    width = transformer.n_features_in_
    own = _trace(transformer, range(width), in_frame=True)
    if own is None:
        return False
    read = {place for formula in own.formulas for place in places_of(formula)}
    turned = sorted(read, reverse=True)
    others = [*range(width, 2 * width + 1), *reversed(range(width)), 2 * width + 1]
    return all(
        _trace(transformer, order, in_frame=True) == own for order in (turned, others)
    )


def _reading(transformer: Any) -> Reading:
    return Reading.of(transformer.func, transformer.kw_args)


def _is_alike_of_nullable(
    transformer: Any, formulas: Sequence[Formula], rows: Floats
) -> bool:
    """Tell whether a function makes the same of columns that are no arrays of NumPy.

    It may ask what holds the cells of a column; it may refuse such columns as well.
    """
    import pandas as pd

    frame = pd.DataFrame(rows, columns=transformer.feature_names_in_)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = transformer.transform(frame.astype("Float64"))
            made = np.asarray(answer, dtype=np.float64)
    except Exception:  # functions raise what they like
        return True
    return np.array_equal(made, _made(formulas, rows), equal_nan=True)


def _takes_texts(transformer: Any, formulas: Sequence[Formula], rows: Floats) -> bool:
    """Tell whether the columns that only pass a function may hold texts.

    A frame with texts may be computed with as one of Python objects, of which those
    that are divided by zero raise.
    """
    import pandas as pd

    frame = pd.DataFrame(rows, columns=transformer.feature_names_in_)
    made_of = [place for one in formulas for place in _operands_of(one)]
    for place, name in enumerate(frame.columns):
        if place not in made_of:
            frame[name] = "text"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = np.asarray(transformer.transform(frame), dtype=object)
        return all(
            np.array_equal(found.astype(np.float64), wanted, equal_nan=True)
            for one, found, wanted in zip(
                formulas, answer.T, _made(formulas, rows).T, strict=True
            )
            if not isinstance(one, Read)
        )
    except Exception:  # functions raise what they like
        return False


def _operands_of(formula: Formula) -> list[int]:
    """Return the places of the columns that are computed with."""
    return places_of(formula) if isinstance(formula, Operation) else []


def _refuse_texts(work: Work, width: int, types: NumberTypes) -> None:
    """Take all columns as numbers, also those that only pass.

    Of truth values, or of numbers that another package holds, a frame becomes one of
    Python objects as well, which have powers of their own.
    """
    numbers = Numbers(function=identity, taker=ANYTHING, number_types=types)
    work.outputs = [(of, steps or (numbers,)) for of, steps in work.outputs]
    used = {of for of, _ in (*work.outputs, *work.idle)}
    work.idle += [(i, numbers) for i in range(width) if i not in used]


class _Looked(BaseException):
    """A function looked at a traced cell; ``except Exception`` does not hide it."""


@dataclass
class _Seen:
    """Whether somebody looked at a cell, or took a power of one."""

    looks: bool = False
    powers: bool = False


class _Cell:
    """A cell that remembers what is done to it.

    It cannot be compared, looked up nor turned into a number or text: who tries learns
    nothing of it, and is found out.

    Attributes
    ----------
    formula
        What was done to it.
    row
        The row it stands in.
    seen
        What was done to some cell besides.
    size
        How many operations the formula has.
    """

    __slots__ = ("formula", "row", "seen", "size")

    def __init__(self, formula: Formula, row: int, seen: _Seen, size: int = 0) -> None:
        self.formula, self.row, self.seen, self.size = formula, row, seen, size

    def _look(self, *_: object) -> Any:
        self.seen.looks = True
        raise _Looked

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __hash__ = _look
    __float__ = __int__ = __index__ = __complex__ = __round__ = __abs__ = _look
    __str__ = __repr__ = __format__ = _look

    def _with(self, operator: Operator, other: Any, *, turned: bool = False) -> _Cell:
        if isinstance(other, _Cell):
            if other.row != self.row:
                raise TypeError("cells of two rows meet")
            formula, size = other.formula, other.size
        elif type(other) in _NUMBERS and abs(other) < 2**53:
            formula, size = Constant(float(other)), 0
        else:
            # Arrays and series have their own ways to do it cell by cell.
            return NotImplemented  # type: ignore[no-any-return]
        size += self.size + 1
        if size > _OPERATIONS:
            raise OverflowError("a formula becomes too long")
        sides = (formula, self.formula) if turned else (self.formula, formula)
        made = Operation(sides[0], operator, sides[1])
        return _Cell(made, self.row, self.seen, size)

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
        self.seen.powers = True
        return self * self if type(power) in _NUMBERS and power == 2 else NotImplemented


_NUMBERS = {int, float, np.int64, np.float64}


class _Trace(NamedTuple):
    """What a function does to the cells of any row, and whether by powers."""

    formulas: list[Formula]
    has_powers: bool


def _trace(transformer: Any, order: Sequence[int], *, in_frame: bool) -> _Trace | None:
    """Return what a function does to cells; None if that is not told.

    Parameters
    ----------
    transformer
        The fitted `FunctionTransformer`.
    order
        The columns of the table by their places; beyond the last are those that the
        function has never met.
    in_frame
        Whether it gets a frame of pandas.
    """
    if not MAY_CALL.get():
        return None
    cells = np.empty((_TRACED, len(order)), dtype=object)
    seen = _Seen()
    for row, column in np.ndindex(*cells.shape):
        cells[row, column] = _Cell(Read(place=order[column]), row, seen)
    given: Any = cells
    if in_frame:
        try:
            import pandas as pd
        except ImportError:
            return None
        numbers = np.arange(transformer.n_features_in_)
        names = getattr(transformer, "feature_names_in_", numbers).tolist()
        unmet = [f"column {place} of nobody" for place in range(max(order, default=0))]
        given = pd.DataFrame(cells, columns=[(names + unmet)[i] for i in order])
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = transformer.func(given, **(transformer.kw_args or {}))
            made = np.asarray(answer, dtype=object)
    except (Exception, _Looked):  # functions raise what they like
        return None
    if seen.looks or made.ndim != 2 or len(made) != _TRACED:
        return None
    formulas: list[Formula] = []
    for column in made.T:
        own = [_formula_of(cell, row) for row, cell in enumerate(column)]
        told = [one for one in own if one is not None]
        if len(told) < _TRACED or len(set(map(key_of, told))) > 1:
            return None
        formulas.append(told[0])
    return _Trace(formulas, seen.powers) if formulas else None


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
_TYPES: list[NumberTypes] = ["numpy float64", "float64", "int64", "long", "any"]


def _constant(value: float, taker: Numeric) -> Numbers:
    return Numbers(
        function=lambda numbers: np.full_like(numbers, value),
        taker=taker,
        missing=value,
    )


def _along(formula: Formula, place: int, width: int) -> tuple[Numbers, ...] | None:
    """Return a formula of one column as steps; None if zero has a part in it."""
    steps = steps_along(formula, place, np.ones(width))
    if any(isinstance(step, Beside) and step.edges for step in steps):
        # There more must be looked at: zeros, and what is infinite times zero.
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


@functools.cache
def _odd_squares() -> Floats:
    """Return numbers whose power, as Python takes it, is not their product.

    NumPy multiplies arrays by themselves, and leaves the powers of single numbers to
    the library of C as Python does, which rounds about one in a thousand otherwise.
    """
    rng = np.random.default_rng(0)
    tried = rng.normal(size=50_000) * 10.0 ** rng.integers(-3, 7, size=50_000)
    return tried[[number**2 != number * number for number in tried.tolist()]]


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
            return _READ_BITS
        case Constant(value=value):
            return int(value).bit_length() if value == int(value) else None
    left, right = _bits(formula.left), _bits(formula.right)
    if formula.operator == "/" or left is None or right is None:
        return None
    bits = left + right if formula.operator == "*" else max(left, right) + 1
    if max(left, right, bits) > _EXACT_BITS:
        raise OverflowError
    return bits
