"""Tensors whose columns are functions of the model's raw inputs, one input each.

The operators that converters write for scalers and encoders act on each column alone.
They are followed here in the very arithmetic of onnxruntime.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.ensemble.floats import FLOAT32_LIMIT, largest_where
from fatt.errors import UnsupportedModelError
from fatt.importers.onnx.proto import DTYPES, INT32, INT64, STRING, Call
from fatt.importers.pullback import columns as pullback

Array = NDArray[Any]
Floats = NDArray[np.float64]
Step = Callable[[Array], Array]

INTEGERS = {INT32, INT64}
#: Integers up to this are kept exactly, and apart, on their way through float64.
INTEGER_LIMIT = 2.0**53 - 1
INT32_LIMIT = 2.0**31 - 1
#: How many columns a table may have.
WIDTH_LIMIT = 2**16
#: Floats up to this can be cast to integers.
_WHOLE_LIMIT = 2.0**30


@dataclass(frozen=True)
class Column:
    """A column of numbers computed from one raw input.

    Attributes
    ----------
    source
        Index of the raw feature.
    function
        Takes raw numbers as float64 and returns the column's; for a raw column of
        labels it takes the position in `labels`, or one beyond for any other label.
    edges
        Gives the edges of `fatt.importers.pullback.Mapped` for a column that is
        constant within the cells that they make; None for a monotone column. They
        are found only if they are asked for: a tree reads few of many columns.
    values
        All numbers that the column can have, if they are few.
    labels
        Labels that the column tells apart, if the raw column holds labels.
    limits
        Raw columns that must be numbers, at most so large, for all this to hold.
    unknown
        Whether a label that is none of `labels` is taken.
    constant
        Whether the column has the same number in every row that is taken.
    plain
        Whether the column is the raw column itself, in its own type.
    length
        Number of operations behind the column, each of which calls those before it.
    """

    source: int
    function: Callable[[Floats], Array]
    edges: Callable[[], Floats] | None = None
    values: Array | None = None
    labels: tuple[str, ...] | None = None
    limits: tuple[tuple[int, float], ...] = ()
    unknown: bool = True
    constant: bool = False
    plain: bool = False
    length: int = 0

    def then(self, step: Step) -> Column:
        """Return the column after an operation that keeps the order of numbers."""
        inner = self.function
        return replace(
            self,
            function=lambda raw: step(inner(raw)),
            values=None if self.values is None else step(self.values),
            plain=False,
            length=self.length + 1,
        )

    def within(self, limit: float, where: str) -> Column:
        """Return the column where it stays within a limit.

        A monotone column does so for raw numbers up to the limit; one with few values
        must do so everywhere.
        """
        known = [most for source, most in self.limits if source == self.source]
        most = min([limit, *known])
        extremes = self.values
        if extremes is None:
            extremes = self.function(np.array([-most, most]))
        if not (np.abs(extremes.astype(np.float64)) <= limit).all():
            raise UnsupportedModelError(
                f"{where}: what it makes of large numbers cannot be followed."
            )
        if self.values is not None:
            return self
        return replace(self, limits=(*self.limits, (self.source, limit)))

    def stepwise(self, step: Step, passes: Floats, values: Array) -> Column:
        """Return the column after an operation with few values.

        Parameters
        ----------
        step
            The operation; constant between neighbours of `passes`.
        passes
            Numbers at which, or above which, its value changes.
        values
            All its values.
        """
        if self.values is not None:
            return self.then(step)

        def edges() -> Floats:
            ends = [*passes, *np.nextafter(passes, -np.inf)]
            cuts = self._cuts(np.array(ends))
            return np.unique(cuts[np.isfinite(cuts)])

        return replace(self.then(step), edges=functools.cache(edges), values=values)

    def _cuts(self, limits: Floats) -> Floats:
        """Return up to where the column is at most, or else above, each limit."""
        low, high = _numbers(self.function, np.array([-np.inf, np.inf]))
        rising = bool(low <= high)

        def holds(raw: Floats) -> NDArray[np.bool_]:
            at_most = _numbers(self.function, raw) <= limits
            return np.asarray(at_most if rising else ~at_most, dtype=bool)

        largest, never = largest_where(holds, len(limits))
        return np.where(never, -np.inf, largest)

    def described(self, categories: tuple[Label, ...] | None) -> pullback.Column:
        """Return the column as the shared pull-back wants it.

        Parameters
        ----------
        categories
            All categories of the raw column, if it holds labels.
        """
        if categories is None:
            function = self.function
            return pullback.Mapped(
                source=self.source,
                function=lambda raw: _numbers(function, raw),
                missing=float(_numbers(function, np.array([np.nan]))[0]),
                edges=() if self.edges is None else tuple(self.edges().tolist()),
            )
        assert self.labels is not None
        places: dict[Label, int] = {
            label: place for place, label in enumerate(self.labels)
        }
        codes = [float(places.get(label, len(places))) for label in categories]
        table = _numbers(self.function, np.array([*codes, float(len(places))]))
        return pullback.Coded(source=self.source, table=table)


def _numbers(function: Callable[[Floats], Array], raw: Floats) -> Floats:
    return function(raw).astype(np.float64)


@dataclass(frozen=True)
class Text:
    """A raw column of labels, as it is.

    Attributes
    ----------
    source
        Index of the raw feature.
    """

    source: int


@dataclass(frozen=True)
class Table:
    """A tensor with one row per row of the input.

    Attributes
    ----------
    columns
        Its columns: numbers, or the text of one raw column.
    kind
        Element type, by its number in the format.
    rank
        Number of dimensions; all but the first and the last have size one.
    """

    columns: tuple[Column | Text, ...]
    kind: int
    rank: int = 2

    def numbers(self, where: str) -> tuple[Column, ...]:
        """Return the columns, which must hold numbers."""
        columns = [column for column in self.columns if isinstance(column, Column)]
        if len(columns) != len(self.columns):
            raise UnsupportedModelError(f"{where}: it reads text where numbers belong.")
        return tuple(columns)


def raw_column(source: int, kind: int) -> Column | Text:
    """Return a raw input column; integers are kept as float64."""
    if kind == STRING:
        return Text(source)
    if kind in INTEGERS:
        return Column(source, lambda raw: raw, plain=True)
    dtype = DTYPES[kind]
    return Column(source, lambda raw: raw.astype(dtype), plain=True)


def cast(column: Column, before: int, after: int, where: str) -> Column:
    """Follow a cast of numbers; one that loses digits of floats is refused."""
    if before == after:
        return column
    if after in INTEGERS:
        if before not in INTEGERS:
            column = column.within(_WHOLE_LIMIT, where)
        elif after == INT32:
            # A larger integer would lose its upper bits.
            column = column.within(INT32_LIMIT, where)
        return column.then(lambda values: np.trunc(values.astype(np.float64)))
    dtype = DTYPES[after]
    return column.then(lambda values: values.astype(dtype))


def compute(column: Column, step: Step, where: str) -> Column:
    """Follow an operation with a constant that keeps or reverses the order."""
    changed = column.then(step)
    if column.labels is not None:
        return changed
    # Infinity times zero is no number: then the raw column must be finite.
    if np.isnan(_numbers(changed.function, np.array([-np.inf, np.inf]))).any():
        return changed.within(FLOAT32_LIMIT, where)
    return changed


def argmax(columns: tuple[Column, ...], where: str) -> Column:
    """Follow the position of the largest of several step columns of one raw column."""
    varying = [column for column in columns if not column.constant]
    sources = {column.source for column in varying}
    edges = [column.edges for column in varying if column.edges is not None]
    if len(sources) != 1 or len(edges) != len(varying):
        raise UnsupportedModelError(
            f"{where}: it compares columns with each other, and a column the trees "
            "read must come from one raw column."
        )
    # A constant column may come from another raw column: ask it only for its number.
    functions = [_still(c) if c.constant else c.function for c in columns]
    return Column(
        source=sources.pop(),
        function=lambda raw: np.argmax([f(raw) for f in functions], axis=0),
        edges=functools.cache(
            lambda: np.unique(np.concatenate([found() for found in edges]))
        ),
        values=np.arange(len(columns)),
        limits=tuple({limit for column in columns for limit in column.limits}),
        length=1 + max(column.length for column in columns),
    )


def _still(column: Column) -> Callable[[Floats], Array]:
    number = column.function(np.zeros(1))[0]
    return lambda raw: np.full(raw.shape, number)


def look_up(
    column: Column | Text, keys: list[Any], values: Array, default: Any
) -> Column:
    """Follow a table from distinct keys to numbers; all else gets the default."""
    table = np.append(values, default).astype(values.dtype)
    if isinstance(column, Text):
        return Column(
            column.source,
            lambda raw: table[raw.astype(np.int64)],
            values=table,
            labels=tuple(keys),
        )
    numbers = np.array(keys, dtype=np.float64)
    order = np.append(np.argsort(numbers), -1)
    ordered = numbers[order[:-1]]

    def step(raw: Array) -> Array:
        wide = raw.astype(np.float64)
        place = np.minimum(np.searchsorted(ordered, wide), len(ordered) - 1)
        return np.asarray(table[order[np.where(ordered[place] == wide, place, -1)]])

    return column.stepwise(step, ordered, table)


def refuse_width(width: int, where: str) -> None:
    """Refuse a table with more columns than any model has."""
    if width > WIDTH_LIMIT:
        raise UnsupportedModelError(
            f"{where}: its table has {width} columns; up to {WIDTH_LIMIT} are "
            "supported."
        )


def one_hot(column: Column | Text, keys: list[Any]) -> list[Column]:
    """Follow a column per key, which is one where the key is met and zero elsewhere."""
    if isinstance(column, Column):
        yes, no = np.ones(1, dtype=np.float32), np.float32(0)
        return [look_up(column, [key], yes, no) for key in keys]

    def met(place: int) -> Callable[[Floats], Array]:
        return lambda raw: np.equal(raw, place).astype(np.float32)

    labels, values = tuple(keys), np.array([0, 1], dtype=np.float32)
    return [
        Column(column.source, met(place), values=values, labels=labels)
        for place in range(len(keys))
    ]


def table_of(call: Call, index: int = 0) -> Table:
    """Return an input that must be a table."""
    value = call.input(index)
    if not isinstance(value, Table):
        raise UnsupportedModelError(
            f"{call.where}: its input {index} is not made of the model's input columns."
        )
    return value


def constant_of(call: Call, index: int) -> Array:
    """Return an input that must be constant."""
    value = call.input(index)
    if not isinstance(value, np.ndarray):
        raise UnsupportedModelError(
            f"{call.where}: its input {index} is not a constant of the model."
        )
    return value
