"""What a fitted transformer does to the cells of one column, as numbers and as labels.

Whether a raw column holds numbers or labels is known only when all its uses are: a
column of whole numbers that is only one-hot encoded is a categorical one. So a step can
tell both what it makes of numbers and what it makes of labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Label, Numeric
from fatt.ensemble.features import NumberTypes
from fatt.ensemble.joint import Formula, Operations, operate
from fatt.errors import UnsupportedModelError
from fatt.importers.pullback.columns import (
    Flags,
    Floats,
    Step,
    around,
    identity,
    table_of,
    takes,
)
from fatt.importers.sklearn.members import plain_label

#: Stands for an unknown label among the cells of a column of labels.
UNKNOWN = object()

_LARGEST = float(np.finfo(np.float64).max)

#: What scikit-learn's numeric transformers take, and what those that refuse NaN take.
FINITE = Numeric(name="", lower=-_LARGEST, upper=_LARGEST)
FINITE_ONLY = msgspec.structs.replace(FINITE, accepts_missing=False)


@dataclass(frozen=True)
class Arithmetic:
    """What a scaler does to numbers: so that others can tell what it is.

    Attributes
    ----------
    operations
        What is done, one after the other.
    """

    operations: Operations = ()

    def __call__(self, numbers: Floats) -> Floats:
        """Return what becomes of numbers."""
        return operate(numbers, self.operations)


@dataclass(frozen=True)
class Numbers(Step):
    """A step that computes with numbers: finite ones, unless it says otherwise.

    Attributes
    ----------
    in_own_type
        Whether it computes in the type that it gets; most turn all into float64 first.
    is_open
        Whether the library also takes numbers below those of the taker, such as those
        below the pole of a logarithm. These are not followed.
    into_floats
        Whether it makes float64 of all types; others may hand on integers.
    """

    taker: Feature = FINITE
    in_own_type: bool = False
    is_open: bool = False
    into_floats: bool = False

    def of_cells(self, cells: NDArray[Any]) -> tuple[Floats, Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        numbers = np.full(len(cells), math.nan)
        taken = np.zeros(len(cells), dtype=bool)
        for row, cell in enumerate(cells):
            if cell is not UNKNOWN and not isinstance(cell, str):
                numbers[row] = math.nan if cell is None else float(cell)
                taken[row] = True
        taken &= takes(self.taker, numbers)
        return self.of(np.where(taken, numbers, math.nan)), taken


@dataclass(frozen=True)
class Replace:
    """An imputer: one value, or missing cells, become another value.

    Attributes
    ----------
    old
        The value that is replaced: a label, NaN or None.
    new
        What it becomes.
    into_integers
        Whether it is also written into columns of integers; else these become floats.
    """

    old: Label | None
    new: Label
    into_integers: bool = False

    def number_types(self) -> NumberTypes:
        """Tell which types that can hold the old value do not round the new one."""

        def is_exact(kinds: str) -> bool:
            able = [kind for kind in kinds if _holds(kind, self.old)]
            return all(_holds(kind, self.new) for kind in able)

        if self.into_integers and not is_exact("bBhHiIlL"):
            if not isinstance(self.new, str) and not is_exact("iIlL"):
                raise UnsupportedModelError(
                    f"an imputer writes {self.new!r} in place of {self.old!r}, which a "
                    "column of integers would round. Let missing cells be NaN, and fit "
                    "again."
                )
            return "float64"
        return "any" if is_exact("ef") else "wide"

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        new = _number(self.new)
        if is_nan(self.old):
            return Numbers(function=identity, missing=new)
        old = _number(self.old)
        return Numbers(
            function=lambda numbers: np.where(numbers == old, new, numbers),
            taker=FINITE_ONLY,
            edges=around([old]),
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
    refused
        Whether cells with the value are refused, since none had it in training.
    """

    value: Label | None
    refused: bool = False

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        if is_nan(self.value):
            taker = FINITE_ONLY if self.refused else FINITE
            return Numbers(function=np.zeros_like, taker=taker, missing=1.0)
        value = _number(self.value)
        if self.refused:
            raise UnsupportedModelError(
                f"a MissingIndicator refuses {value:g} in a column that had none in "
                "training, and takes all other numbers. Fit it with error_on_new=False."
            )
        return Numbers(
            function=lambda numbers: np.where(numbers == value, 1.0, 0.0),
            taker=FINITE_ONLY,
            edges=around([value]),
        )

    def of_cells(self, cells: NDArray[Any]) -> tuple[Floats, Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        same = np.array([equal(cell, self.value) for cell in cells], dtype=bool)
        _, taken = Replace(self.value, 0).of_cells(cells)
        return same.astype(np.float64), taken & ~(same & self.refused)


@dataclass(frozen=True)
class Lookup:
    """An encoder: a number for each label it knows.

    Attributes
    ----------
    labels
        The place of each label among the values.
    values
        The number for each label.
    others
        The numbers for an unknown label (`UNKNOWN`), for NaN (``"nan"``) and for None
        (``"none"``); what is absent is refused.
    of_one_kind
        As in `fatt.ensemble.Categorical`.
    """

    labels: Mapping[Label, int]
    values: Floats
    others: Mapping[object, float] = field(default_factory=dict)
    of_one_kind: bool = False

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        unknown = self.others.get(UNKNOWN, math.nan)
        takes_missing = "nan" in self.others
        taker: Feature = FINITE if takes_missing else FINITE_ONLY
        told = np.ones(len(self.values), dtype=bool)
        if UNKNOWN in self.others:
            # A label that becomes what unknown numbers become needs no cell of its own.
            told = self.values != unknown
        else:
            taker = Categorical(
                name="",
                categories=tuple(self.labels),
                lower=taker.lower,
                upper=taker.upper,
                accepts_unknown=False,
                accepts_missing=takes_missing,
            )
        numbers = np.array([_number(label) for label in compress(self.labels, told)])
        return Numbers(
            function=table_of(numbers, self.values[told], unknown),
            taker=taker,
            missing=self.others.get("nan", math.nan),
            edges=around(numbers),
        )

    def of_cells(self, cells: NDArray[Any]) -> tuple[Floats, Flags]:
        """Return what becomes of cells, and which of them the step takes."""
        places = np.array([self.labels.get(cell, -1) for cell in cells])
        values = np.append(self.values, math.nan)[places]
        taken = places >= 0
        for row in np.flatnonzero(~taken).tolist():
            cell = cells[row]
            kind = "none" if cell is None else "nan" if is_nan(cell) else UNKNOWN
            taken[row] = kind in self.others
            values[row] = self.others.get(kind, math.nan)
        return values, taken


AnyStep: TypeAlias = Numbers | Replace | Flag | Lookup


@dataclass
class Work:
    """What a transformer does.

    Attributes
    ----------
    outputs
        For each output column, the input column it is made of and the steps between;
        none if it is the input column as it is. Of several columns it is computed by a
        formula, whose places are those of the input columns.
    idle
        Input columns without any output, and the step that yet checks their cells.
    check
        What formulas take.
    sparse
        Whether the output is a sparse matrix.
    narrow
        Whether the output has fewer digits than float64.
    """

    outputs: list[tuple[int | Formula, tuple[AnyStep, ...]]] = field(
        default_factory=list
    )
    idle: list[tuple[int, AnyStep]] = field(default_factory=list)
    check: Numbers = Numbers(function=Arithmetic())
    sparse: bool = False
    narrow: bool = False


def is_nan(cell: object) -> bool:
    """Tell whether a cell is NaN."""
    return isinstance(cell, float | np.floating) and math.isnan(cell)


def _holds(kind: str, label: Label | None) -> bool:
    """Tell whether a numpy type, given by its code, holds a number as it is."""
    if label is None or isinstance(label, str):
        return False
    if kind in "ef":
        with np.errstate(over="ignore"):
            return equal(float(np.dtype(kind).type(label)), float(label))
    limits = np.iinfo(kind)
    return limits.min <= label <= limits.max and label == int(label)


def equal(cell: object, value: object) -> bool:
    """Tell whether a cell has a value, where NaN counts as equal to NaN."""
    return bool(cell == value) or (is_nan(cell) and is_nan(value))


def label_or_none(value: Any, what: str) -> Label | None:
    """Return a value of a fitted object as a plain label, NaN or None."""
    return None if value is None else plain_label(value, what)


def _number(label: Label | None) -> float:
    if label is None or isinstance(label, str):
        raise UnsupportedModelError(f"the label {label!r} meets a column of numbers")
    return float(label)
