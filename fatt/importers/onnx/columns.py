"""Columns of a table as functions of the model's raw inputs, one input each.

The operators that converters write for scalers and encoders act on each column alone.
They are followed here in the very arithmetic of onnxruntime.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.ensemble.floats import FLOAT32_LIMIT, largest_where
from fatt.errors import UnsupportedModelError
from fatt.importers import pullback
from fatt.importers.onnx.proto import DTYPES, INT32, INT64, STRING, Call

Array = NDArray[Any]
Floats = NDArray[np.float64]
Step = Callable[[Array], Array]

INTEGERS = {INT32, INT64}
#: Numbers up to this can be cast to integers.
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
        As in `fatt.importers.pullback.Mapped`.
    steps
        Whether the column is constant within the cells that the edges make.
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
    """

    source: int
    function: Callable[[Floats], Array]
    edges: tuple[float, ...] = ()
    steps: bool = False
    labels: tuple[str, ...] | None = None
    limits: tuple[tuple[int, float], ...] = ()
    unknown: bool = True
    constant: bool = False
    plain: bool = False

    def then(self, step: Step) -> Column:
        """Return the column after an operation that keeps the order of numbers."""
        inner = self.function
        return replace(self, function=lambda raw: step(inner(raw)), plain=False)

    def within(self, limit: float, where: str) -> Column:
        """Return the column for raw numbers up to a limit, where it stays finite."""
        ends = _quietly(self.function, np.array([-limit, limit]))
        if self.labels is not None or not (np.abs(ends) <= limit).all():
            raise UnsupportedModelError(
                f"{where}: what it makes of large numbers cannot be followed."
            )
        return replace(self, limits=(*self.limits, (self.source, limit)))

    def stepwise(self, step: Step, passes: Floats, where: str) -> Column:
        """Return the column after an operation with few values.

        Parameters
        ----------
        step
            The operation; constant between neighbours of `passes`.
        passes
            Numbers at which, or above which, its value changes.
        where
            The operator, for messages.
        """
        if self.labels is not None or self.steps:
            return self.then(step)
        if self.edges:
            raise UnsupportedModelError(
                f"{where}: what it makes of the raw column cannot be followed."
            )
        cuts = [*self._cuts(passes), *self._cuts(np.nextafter(passes, -np.inf))]
        edges = tuple(np.unique([cut for cut in cuts if math.isfinite(cut)]).tolist())
        return replace(self.then(step), edges=edges, steps=True)

    def _cuts(self, limits: Floats) -> Floats:
        """Return up to where the column is at most, or else above, each limit."""
        low, high = _quietly(self.function, np.array([-np.inf, np.inf]))
        rising = bool(low <= high)

        def holds(raw: Floats) -> NDArray[np.bool_]:
            at_most = _quietly(self.function, raw) <= limits
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
                function=lambda raw: _quietly(function, raw),
                missing=float(_quietly(function, np.array([np.nan]))[0]),
                edges=self.edges,
            )
        assert self.labels is not None
        places: dict[Label, int] = {
            label: place for place, label in enumerate(self.labels)
        }
        codes = [float(places.get(label, len(places))) for label in categories]
        table = _quietly(self.function, np.array([*codes, float(len(places))]))
        return pullback.Coded(source=self.source, table=table)


def _quietly(function: Callable[[Floats], Array], raw: Floats) -> Floats:
    with np.errstate(all="ignore"):
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
        if before not in INTEGERS and not column.steps:
            column = column.within(_WHOLE_LIMIT, where)
        return column.then(lambda values: np.trunc(values.astype(np.float64)))
    dtype = DTYPES[after]
    return column.then(lambda values: values.astype(dtype))


def compute(column: Column, step: Step, where: str) -> Column:
    """Follow an operation with a constant that keeps or reverses the order."""
    changed = column.then(step)
    if column.labels is not None:
        return changed
    # Infinity times zero is no number: then the raw column must be finite.
    if np.isnan(_quietly(changed.function, np.array([-np.inf, np.inf]))).any():
        return changed.within(FLOAT32_LIMIT, where)
    return changed


def argmax(columns: tuple[Column, ...], where: str) -> Column:
    """Follow the position of the largest of several step columns of one raw column."""
    varying = [column for column in columns if not column.constant]
    sources = {column.source for column in varying}
    if len(sources) != 1 or not all(column.steps for column in varying):
        raise UnsupportedModelError(
            f"{where}: it compares columns with each other, and a column the trees "
            "read must come from one raw column."
        )
    # A constant column may come from another raw column: ask it only for its number.
    functions = [_still(c) if c.constant else c.function for c in columns]
    edges = np.unique(np.concatenate([column.edges for column in varying]))
    return Column(
        source=sources.pop(),
        function=lambda raw: np.argmax([f(raw) for f in functions], axis=0),
        edges=tuple(edges.tolist()),
        steps=True,
        limits=tuple({limit for column in columns for limit in column.limits}),
    )


def _still(column: Column) -> Callable[[Floats], Array]:
    number = column.function(np.zeros(1))[0]
    return lambda raw: np.full(raw.shape, number)


def look_up(
    column: Column | Text, keys: list[Any], values: Array, default: Any, where: str
) -> Column:
    """Follow a table from keys to numbers, with a default for everything else.

    Of a key that occurs twice, the last counts.
    """
    if isinstance(column, Text):
        labels = tuple(dict.fromkeys(keys))
        last = {key: index for index, key in enumerate(keys)}
        table = np.array([*(values[last[key]] for key in labels), default])
        table = table.astype(values.dtype)
        return Column(
            column.source,
            lambda raw: table[raw.astype(np.int64)],
            labels=labels,
        )
    numbers = np.array(keys, dtype=np.float64)
    unique = np.unique(numbers)
    table = np.array([values[np.flatnonzero(numbers == key)[-1]] for key in unique])
    table = np.append(table, default).astype(values.dtype)

    def step(raw: Array) -> Array:
        wide = raw.astype(np.float64)
        place = np.minimum(np.searchsorted(unique, wide), len(unique) - 1)
        return np.asarray(table[np.where(unique[place] == wide, place, -1)])

    return column.stepwise(step, unique, where)


def table_of(call: Call, index: int = 0) -> Table:
    """Return an input that must be a table."""
    value = call.inputs[index] if index < len(call.inputs) else None
    if not isinstance(value, Table):
        raise UnsupportedModelError(
            f"{call.where}: its input {index} is not made of the model's input columns."
        )
    return value


def constant_of(call: Call, index: int) -> Array:
    """Return an input that must be constant."""
    value = call.inputs[index] if index < len(call.inputs) else None
    if not isinstance(value, np.ndarray):
        raise UnsupportedModelError(
            f"{call.where}: its input {index} is not a constant of the model."
        )
    return value
