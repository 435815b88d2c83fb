"""What a fitted transformer does to the cells of one column, as numbers and as labels.

Whether a raw column holds numbers or labels is known only when all its uses are: a
column of whole numbers that is only one-hot encoded is a categorical one. So a step can
tell both what it makes of numbers and what it makes of labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Label, Numeric
from fatt.errors import UnsupportedModelError
from fatt.importers.pullback.columns import (
    Flags,
    Floats,
    Mapped,
    below,
    cuts_of,
    narrow,
    takes,
)

#: Stands, among the cells of a column of labels, for a label that nobody knows.
UNKNOWN = object()

_LARGEST = float(np.finfo(np.float64).max)

#: What scikit-learn's numeric transformers take, and what those that refuse NaN take.
FINITE = Numeric(name="", lower=-_LARGEST, upper=_LARGEST)
FINITE_ONLY = msgspec.structs.replace(FINITE, accepts_missing=False)


@dataclass(frozen=True)
class Numbers:
    """A step that computes with numbers.

    Attributes
    ----------
    function, edges, missing
        As in `Mapped`, of the numbers that the step gets.
    taker
        Which numbers the step takes.
    """

    function: Callable[[Floats], Floats]
    taker: Feature = FINITE
    missing: float = math.nan
    edges: tuple[float, ...] = ()

    def after(self, column: Mapped, raw: Feature) -> tuple[Mapped, Numeric]:
        """Return the column behind this step, and what is left of the raw feature."""
        raw = narrow(raw, column, self.taker)
        assert isinstance(raw, Numeric)
        edges: tuple[float, ...] = column.edges
        if self.edges:
            edges = tuple(cuts_of(column, raw, np.array(self.edges)).tolist())
        before = column.function
        missing = self._of(np.array([column.missing]))[0]
        after = Mapped(
            source=column.source,
            function=lambda numbers: self.function(before(numbers)),
            missing=float(missing),
            edges=tuple(edge for edge in edges if math.isfinite(edge)),
        )
        return after, raw

    def of_cells(self, cells: NDArray[Any]) -> tuple[Floats, Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        numbers = np.full(len(cells), math.nan)
        taken = np.zeros(len(cells), dtype=bool)
        for row, cell in enumerate(cells):
            if cell is not UNKNOWN and not isinstance(cell, str):
                numbers[row] = math.nan if cell is None else float(cell)
                taken[row] = True
        taken &= takes(self.taker, numbers)
        return self._of(np.where(taken, numbers, math.nan)), taken

    def _of(self, numbers: Floats) -> Floats:
        here = ~np.isnan(numbers)
        result = np.full(len(numbers), self.missing)
        result[here] = self.function(numbers[here])
        return result


@dataclass(frozen=True)
class Replace:
    """An imputer: one value, or missing cells, become another value.

    Attributes
    ----------
    old
        The value that is replaced: a label, NaN or None.
    new
        What it becomes.
    """

    old: Label | None
    new: Label

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        new = _number(self.new)
        if is_nan(self.old):
            return Numbers(function=lambda numbers: numbers, missing=new)
        old = _number(self.old)
        return Numbers(
            function=lambda numbers: np.where(numbers == old, new, numbers),
            taker=FINITE_ONLY,
            edges=_around([old]),
        )

    def of_cells(self, cells: NDArray[Any]) -> tuple[NDArray[Any], Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        same = np.array([equal(cell, self.old) for cell in cells], dtype=bool)
        replaced = cells.copy()
        replaced[same] = self.new
        # NaN is refused unless it is the value to replace.
        taken = np.array([not is_nan(cell) for cell in cells]) | is_nan(self.old)
        return replaced, taken


@dataclass(frozen=True)
class Flag:
    """A missing indicator: 1 where a cell has a value, 0 elsewhere.

    Attributes
    ----------
    value
        The value: a label, NaN or None.
    """

    value: Label | None

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        if is_nan(self.value):
            return Numbers(function=np.zeros_like, missing=1.0)
        value = _number(self.value)
        return Numbers(
            function=lambda numbers: np.where(numbers == value, 1.0, 0.0),
            taker=FINITE_ONLY,
            edges=_around([value]),
        )

    def of_cells(self, cells: NDArray[Any]) -> tuple[Floats, Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        same = np.array([equal(cell, self.value) for cell in cells], dtype=float)
        return same, Replace(self.value, 0).of_cells(cells)[1]


@dataclass(frozen=True)
class Lookup:
    """An encoder: a number for each label it knows.

    Attributes
    ----------
    labels
        The number for each label.
    others
        The numbers for an unknown label (`UNKNOWN`), for NaN (``"nan"``) and for None
        (``"none"``); what is absent is refused.
    """

    labels: Mapping[Label, float]
    others: Mapping[object, float] = field(default_factory=dict)

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        known = sorted((_number(label), value) for label, value in self.labels.items())
        numbers = np.array([number for number, _ in known])
        values = np.array([value for _, value in known])
        unknown = self.others.get(UNKNOWN, math.nan)

        def function(cells: Floats) -> Floats:
            if not known:
                return np.full_like(cells, unknown)
            place = np.minimum(np.searchsorted(numbers, cells), len(numbers) - 1)
            return np.where(numbers[place] == cells, values[place], unknown)

        taker = Categorical(
            name="",
            categories=tuple(self.labels),
            accepts_unknown=UNKNOWN in self.others,
            accepts_missing="nan" in self.others,
        )
        return Numbers(
            function=function,
            taker=taker,
            missing=self.others.get("nan", math.nan),
            edges=_around(numbers.tolist()),
        )

    def of_cells(self, cells: NDArray[Any]) -> tuple[Floats, Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        values = np.full(len(cells), math.nan)
        taken = np.ones(len(cells), dtype=bool)
        for row, cell in enumerate(cells):
            if cell in self.labels:
                values[row] = self.labels[cell]
                continue
            kind = "none" if cell is None else "nan" if is_nan(cell) else UNKNOWN
            taken[row] = kind in self.others
            values[row] = self.others.get(kind, math.nan)
        return values, taken


Step: TypeAlias = Numbers | Replace | Flag | Lookup


def is_nan(cell: object) -> bool:
    """Tell whether a cell is NaN."""
    return isinstance(cell, float) and math.isnan(cell)


def equal(cell: object, value: object) -> bool:
    """Tell whether a cell has a value, where NaN counts as equal to NaN."""
    return bool(cell == value) or (is_nan(cell) and is_nan(value))


def _around(numbers: list[float]) -> tuple[float, ...]:
    """Return the edges that give each number a cell of its own."""
    edges = {*numbers, *below(numbers).tolist()}
    return tuple(sorted(edges))


def _number(label: Label | None) -> float:
    if label is None or isinstance(label, str):
        raise UnsupportedModelError(f"the label {label!r} meets a column of numbers")
    return float(label)
