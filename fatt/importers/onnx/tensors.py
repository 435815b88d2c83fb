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
from numpy.typing import ArrayLike, NDArray

from fatt.ensemble import Feature, Label, Numeric
from fatt.ensemble.floats import FLOAT32_LIMIT
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import (
    Coded,
    Floats,
    Mapped,
    Step,
    around,
    follow,
    identity,
    table_of,
)
from fatt.importers.onnx.proto import DTYPES, INT32, INT64, STRING, Call

Array = NDArray[Any]
#: What onnxruntime does to an array of numbers, in their own type.
Operation = Callable[[Array], Array]

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
    dtype
        Type of the numbers in which onnxruntime goes on computing; integers are kept
        as float64.
    steps
        What happened to the raw numbers; to the positions in `labels`, or one beyond
        for any other label, if the raw column holds labels. Where the edges of the
        steps lie on the raw line is found only for the few columns that trees read.
    values
        All numbers that the column can have, if they are few: then it is constant
        between its edges.
    labels
        Labels that the column tells apart, if the raw column holds labels.
    limits
        Raw columns that must be numbers, at most so large, for all this to hold.
    unknown
        Whether a label that is none of `labels` is taken.
    constant
        Whether the column has the same number in every row that is taken.
    length
        Number of operations behind the column, each of which calls those before it.
    """

    source: int
    dtype: np.dtype[Any]
    steps: tuple[Step, ...] = ()
    values: Floats | None = None
    labels: tuple[str, ...] | None = None
    limits: tuple[tuple[int, float], ...] = ()
    unknown: bool = True
    constant: bool = False
    length: int = 0

    @property
    def plain(self) -> bool:
        """Whether the column is the raw column itself, in its own type."""
        return not self.length and self.labels is None

    def then(self, operation: Operation, edges: tuple[float, ...] = ()) -> Column:
        """Return the column after an operation on its numbers.

        Parameters
        ----------
        operation
            Takes and returns numbers in the types of onnxruntime. It keeps or reverses
            their order, but for the edges.
        edges
            Of the cells within which it does so.
        """
        # In its own type each number is a float64, so that nothing is rounded between.
        of_missing = operation(np.array([np.nan]).astype(self.dtype))
        step = Step(
            function=functools.partial(_in_type, operation, self.dtype),
            missing=float(of_missing[0]),
            edges=edges,
        )
        return replace(
            self,
            dtype=of_missing.dtype,
            steps=(*self.steps, step),
            values=None if self.values is None else step.of(self.values),
            length=self.length + 1,
        )

    def of(self, raw: Floats) -> Floats:
        """Return the column's numbers for raw ones."""
        for step in self.steps:
            raw = step.of(raw)
        return raw

    def within(self, limit: float) -> Column:
        """Return the column where it stays within a limit.

        A monotone column does so for raw numbers up to the limit; one with few values
        must do so everywhere.
        """
        known = [most for source, most in self.limits if source == self.source]
        most = min([limit, *known])
        extremes = self.values
        if extremes is None:
            extremes = self.of(np.array([-most, most]))
        if not (np.abs(extremes) <= limit).all():
            raise UnsupportedModelError(
                "what it makes of large numbers cannot be followed."
            )
        if self.values is not None:
            return self
        return replace(self, limits=(*self.limits, (self.source, limit)))

    def stepwise(
        self, operation: Operation, passes: ArrayLike, values: Floats
    ) -> Column:
        """Return the column after an operation with few values.

        Parameters
        ----------
        operation
            The operation; constant between neighbours of `passes`.
        passes
            Numbers at which, or above which, its value changes.
        values
            All its values.
        """
        if self.values is not None:
            return self.then(operation)
        return replace(self.then(operation, around(passes)), values=values)

    def described(self, raw: Feature) -> Mapped | Coded:
        """Return the column of a raw feature as the shared pull-back wants it."""
        if isinstance(raw, Numeric):
            return follow(self.source, self.steps, raw)[0]
        assert self.labels is not None
        places: dict[Label, int] = {
            label: place for place, label in enumerate(self.labels)
        }
        codes = [float(places.get(label, len(places))) for label in raw.categories]
        table = self.of(np.array([*codes, float(len(places))]))
        return Coded(source=self.source, table=table)


def _in_type(operation: Operation, dtype: np.dtype[Any], numbers: Floats) -> Floats:
    """Return what an operation makes of numbers that are read in a type."""
    return operation(numbers.astype(dtype)).astype(np.float64)


@dataclass(frozen=True)
class Text:
    """A raw column of labels, as it is.

    Attributes
    ----------
    source
        Index of the raw feature.
    """

    source: int

    def told_apart(
        self, labels: list[str], function: Operation, values: Array
    ) -> Column:
        """Return a column of numbers for some labels and, at the end, for all others.

        Parameters
        ----------
        labels
            The labels.
        function
            Gives the numbers for positions among them.
        values
            All its values.
        """
        step = Step(lambda places: function(places.astype(np.int64)).astype(np.float64))
        return Column(
            self.source,
            dtype=values.dtype,
            steps=(step,),
            values=values.astype(np.float64),
            labels=tuple(labels),
        )


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

    def numbers(self) -> tuple[Column, ...]:
        """Return the columns, which must hold numbers."""
        columns = [column for column in self.columns if isinstance(column, Column)]
        if len(columns) != len(self.columns):
            raise UnsupportedModelError("it reads text where numbers belong.")
        return tuple(columns)

    def each(
        self, function: Callable[..., Column], *numbers: ArrayLike, kind: int = 0
    ) -> Table:
        """Return the table after what is done to each column of numbers.

        Parameters
        ----------
        function
            Takes a column, and its numbers; returns another column.
        numbers
            One for each column, or one for all.
        kind
            The new element type, if it changes.
        """
        wide = [np.broadcast_to(one, len(self.columns)) for one in numbers]
        columns = map(function, self.numbers(), *wide)
        return replace(self, columns=tuple(columns), kind=kind or self.kind)


def raw_column(source: int, kind: int) -> Column | Text:
    """Return a raw input column; integers are kept as float64."""
    if kind == STRING:
        return Text(source)
    if kind in INTEGERS:
        return Column(source, np.dtype(np.float64))
    dtype = np.dtype(DTYPES[kind])
    reading = Step(functools.partial(_in_type, identity, dtype))
    return Column(source, dtype, (reading,))


def cast(column: Column, before: int, after: int) -> Column:
    """Follow a cast of numbers; one that loses digits of floats is refused."""
    if before == after:
        return column
    if after in INTEGERS:
        if before not in INTEGERS:
            column = column.within(_WHOLE_LIMIT)
        elif after == INT32:
            # A larger integer would lose its upper bits.
            column = column.within(INT32_LIMIT)
        return column.then(lambda values: np.trunc(values.astype(np.float64)))
    dtype = DTYPES[after]
    return column.then(lambda values: values.astype(dtype))


def compute(column: Column, operation: Operation) -> Column:
    """Follow an operation with a constant that keeps or reverses the order."""
    changed = column.then(operation)
    if column.labels is not None:
        return changed
    # Infinity times zero is no number: then the raw column must be finite.
    if np.isnan(changed.of(np.array([-np.inf, np.inf]))).any():
        return changed.within(FLOAT32_LIMIT)
    return changed


@dataclass(frozen=True)
class _Largest(Step):
    """The position of the largest of several step columns of one raw column."""

    columns: tuple[Column, ...] = ()

    def after(self, column: Mapped, raw: Numeric) -> tuple[Mapped, Numeric]:
        """Return the column, whose edges are those of all columns that vary."""
        after, raw = super().after(column, raw)
        made = [one.described(raw) for one in self.columns if not one.constant]
        edges = {edge for one in made if isinstance(one, Mapped) for edge in one.edges}
        return replace(after, edges=tuple(sorted(edges))), raw


def argmax(columns: tuple[Column, ...]) -> Column:
    """Follow the position of the largest of several step columns of one raw column."""
    varying = [column for column in columns if not column.constant]
    sources = {column.source for column in varying}
    if len(sources) != 1 or any(c.values is None or c.labels for c in varying):
        raise UnsupportedModelError(
            "it compares columns with each other, and a column the trees "
            "read must come from one raw column."
        )
    # A constant column may come from another raw column: ask it only for its number.
    functions = [_still(c) if c.constant else c.of for c in columns]

    def largest(raw: Floats) -> Floats:
        places = np.argmax([f(raw) for f in functions], axis=0)
        return np.asarray(places, dtype=np.float64)

    of_missing = float(largest(np.array([np.nan]))[0])
    return Column(
        source=sources.pop(),
        dtype=np.dtype(np.float64),
        steps=(_Largest(largest, missing=of_missing, columns=columns),),
        values=np.arange(len(columns), dtype=np.float64),
        limits=tuple({limit for column in columns for limit in column.limits}),
        length=1 + max(column.length for column in columns),
    )


def _still(column: Column) -> Callable[[Floats], Floats]:
    number = column.of(np.zeros(1))[0]
    return lambda raw: np.full(raw.shape, number)


def look_up(
    column: Column | Text, keys: list[Any], values: Array, default: Any
) -> Column:
    """Follow a table from distinct keys to numbers; all else gets the default."""
    dtype = values.dtype
    table = np.append(values, default).astype(dtype)
    if isinstance(column, Text):
        return column.told_apart(keys, table.__getitem__, table)
    numbers = np.array(keys, dtype=np.float64)
    found = table_of(numbers, table[:-1], table[-1])
    return column.stepwise(
        lambda own: found(own.astype(np.float64)).astype(dtype),
        numbers,
        table.astype(np.float64),
    )


def refuse_width(width: int) -> None:
    """Refuse a table with more columns than any model has."""
    if width > WIDTH_LIMIT:
        raise UnsupportedModelError(
            f"its table has {width} columns; up to {WIDTH_LIMIT} are supported."
        )


def one_hot(column: Column | Text, keys: list[Any]) -> list[Column]:
    """Follow a column per key, which is one where the key is met and zero elsewhere."""
    if isinstance(column, Column):
        yes, no = np.ones(1, dtype=np.float32), np.float32(0)
        return [look_up(column, [key], yes, no) for key in keys]

    def met(place: int) -> Operation:
        return lambda places: (places == place).astype(np.float32)

    values = np.array([0, 1], dtype=np.float32)
    return [column.told_apart(keys, met(place), values) for place in range(len(keys))]


def input_table(call: Call, index: int = 0) -> Table:
    """Return an input that must be a table."""
    value = call.input(index)
    if not isinstance(value, Table):
        raise UnsupportedModelError(
            f"its input {index} is not made of the model's input columns."
        )
    return value


def constant_of(call: Call, index: int) -> Array:
    """Return an input that must be constant."""
    value = call.input(index)
    if not isinstance(value, np.ndarray):
        raise UnsupportedModelError(
            f"its input {index} is not a constant of the model."
        )
    return value
