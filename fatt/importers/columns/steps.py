"""What a fitted transformer does to one column, and the columns on their way.

Whether a raw column holds numbers or labels is known only when all its uses are: a
column of whole numbers that is only one-hot encoded is a categorical one. So a step can
tell both what it makes of numbers and what it makes of labels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Label, Numeric
from fatt.ensemble.features import NumberTypes
from fatt.ensemble.joint import Formula, Operations, operate, places_of
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import (
    Flags,
    Floats,
    Step,
    around,
    identity,
    table_of,
    takes,
)
from fatt.importers.registry import plain_label

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
        gaps = np.array([is_nan(cell) for cell in cells], dtype=bool)
        fills_gaps, replaced = is_nan(self.old), cells.copy()
        same = np.array([bool(cell == self.old) for cell in cells], dtype=bool)
        replaced[gaps if fills_gaps else same] = self.new
        # NaN is refused unless it is the value to replace.
        return replaced, ~gaps | fills_gaps


@dataclass(frozen=True)
class Levels:
    """A finite table, as of an encoder: a number for each label that it knows.

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
    encodes
        Whether this makes a column one of labels, as encoders do and flags do not.
    """

    labels: Mapping[Label | None, int]
    values: Floats
    others: Mapping[object, float] = field(default_factory=dict)
    of_one_kind: bool = False
    encodes: bool = True

    def as_numbers(self) -> Numbers:
        """Return the step on a column of numbers."""
        unknown = self.others.get(UNKNOWN, math.nan)
        takes_missing = "nan" in self.others
        taker: Feature = FINITE if takes_missing else FINITE_ONLY
        numbers = np.array([_number(label) for label in self.labels], dtype=np.float64)
        told = np.ones(len(self.values), dtype=bool)
        if UNKNOWN in self.others:
            # A label that becomes what unknown numbers become needs no cell of its own.
            told = self.values != unknown
        else:
            taker = Categorical(
                name="",
                categories=tuple(label for label in self.labels if label is not None),
                lower=taker.lower,
                upper=taker.upper,
                accepts_unknown=False,
                accepts_missing=takes_missing,
            )
        return Numbers(
            function=table_of(numbers[told], self.values[told], unknown),
            taker=taker,
            missing=self.others.get("nan", math.nan),
            edges=around(numbers[told]),
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


def flag(value: Label | None, *, refused: bool = False) -> Levels:
    """Return what a missing indicator makes: 1 where a cell has a value, 0 elsewhere.

    Parameters
    ----------
    value
        The value: a label, NaN or None.
    refused
        Whether cells with the value are refused, since none had it in training.
    """
    others: dict[object, float] = {UNKNOWN: 0.0, "none": 0.0}
    if is_nan(value):
        others |= {} if refused else {"nan": 1.0}
        return Levels({}, np.zeros(0), others, encodes=False)
    if refused:
        raise UnsupportedModelError(
            f"a MissingIndicator refuses {value!r} in a column that had none in "
            "training, and takes all others. Fit it with error_on_new=False."
        )
    return Levels({value: 0}, np.ones(1), others, encodes=False)


AnyStep: TypeAlias = Numbers | Replace | Levels


@dataclass(frozen=True)
class Path:
    """A column on its way to the model: a raw column and the steps it has passed.

    Attributes
    ----------
    source
        Index of the raw column; or how it was computed of several.
    steps
        The steps.
    narrow
        Whether it has fewer digits than float64, in which scikit-learn would compute.
    framed
        Behind how many steps the column was put into a frame of pandas, which may turn
        None into NaN beside texts.
    """

    source: int | Mixture
    steps: tuple[AnyStep, ...] = ()
    narrow: bool = False
    framed: tuple[int, ...] = ()

    def after(self, steps: Iterable[AnyStep], *, narrow: bool = False) -> Path:
        """Return the column behind some steps, and whether they make it narrow."""
        return functools.reduce(
            lambda path, step: path.then(step, narrow=narrow), steps, self
        )

    def then(self, step: AnyStep, *, narrow: bool = False) -> Path:
        """Return the column behind one more step, and whether that makes it narrow."""
        if isinstance(step, Numbers) and step.function is identity:
            return replace(self, steps=(*self.steps, step))
        if self.narrow and not is_encoder(step):
            raise UnsupportedModelError(
                "it computes with the codes of an encoder in float32 or float16, which "
                "is not supported. Fit the encoder without dtype."
            )
        return replace(self, steps=(*self.steps, step), narrow=narrow)

    @property
    def is_checked(self) -> bool:
        """Whether some step has looked at its cells."""
        return bool(self.steps) or isinstance(self.source, Mixture)

    @property
    def hands_on_integers(self) -> bool:
        """Whether what it makes of integers may be integers."""
        return not any(
            step.into_floats if isinstance(step, Numbers) else is_encoder(step)
            for step in self.steps
        )

    @property
    def is_in_frame(self) -> bool:
        """Whether it comes in a frame of pandas."""
        return self.framed[-1:] == (len(self.steps),)

    @property
    def is_open(self) -> bool:
        """Whether some step takes numbers that are not followed."""
        return any(isinstance(step, Numbers) and step.is_open for step in self.steps)

    def in_frame(self) -> Path:
        """Return the column after it was put into a frame of pandas."""
        return replace(self, framed=(*self.framed, len(self.steps)))


@dataclass(frozen=True, eq=False)
class Mixture:
    """A column that a step computes of several others.

    Attributes
    ----------
    formula
        How; its places are those of `chains`.
    chains
        The columns that the step gets.
    """

    formula: Formula
    chains: tuple[Path, ...]

    @property
    def read(self) -> list[Path]:
        """The columns that the formula reads."""
        return [self.chains[place] for place in places_of(self.formula)]


@dataclass
class Table:
    """The table between two steps.

    Attributes
    ----------
    columns
        Its columns.
    sparse
        Whether it is a sparse matrix.
    idle
        Columns that lead nowhere, but whose cells some step has checked.
    """

    columns: list[Path]
    sparse: bool = False
    idle: list[Path] = field(default_factory=list)

    def behind(
        self,
        outputs: Iterable[tuple[int, tuple[AnyStep, ...]]],
        idle: Iterable[tuple[int, AnyStep]] = (),
        *,
        sparse: bool = False,
        narrow: bool = False,
    ) -> Table:
        """Return the table behind a transformer.

        Parameters
        ----------
        outputs
            For each column that it makes, the place of the one it is made of, and the
            steps between.
        idle
            Columns of which it makes none, and the step that yet checks their cells.
        sparse
            Whether it makes a sparse matrix.
        narrow
            Whether what it makes has fewer digits than float64.
        """
        made = [self.columns[i].after(steps, narrow=narrow) for i, steps in outputs]
        checked = [self.columns[i].then(step) for i, step in idle]
        return Table(made, sparse, self.idle + checked)

    def each(self, steps: Iterable[tuple[AnyStep, ...]]) -> Table:
        """Return the table behind steps, some for each column."""
        return self.behind(enumerate(steps))


def is_encoder(step: AnyStep | None) -> bool:
    """Tell whether a step makes numbers of labels."""
    return isinstance(step, Levels) and step.encodes


def is_nan(cell: object) -> bool:
    """Tell whether a cell is NaN."""
    return isinstance(cell, float | np.floating) and math.isnan(cell)


def _holds(kind: str, label: Label | None) -> bool:
    """Tell whether a numpy type, given by its code, holds a number as it is."""
    if label is None or isinstance(label, str):
        return False
    if kind in "ef":
        with np.errstate(over="ignore"):
            cast = float(np.dtype(kind).type(label))
        return cast == float(label) or (is_nan(cast) and is_nan(label))
    limits = np.iinfo(kind)
    return limits.min <= label <= limits.max and label == int(label)


def label_or_none(value: Any, what: str) -> Label | None:
    """Return a value of a fitted object as a plain label, NaN or None."""
    return None if value is None else plain_label(value, what)


def _number(label: Label | None) -> float:
    if label is None or isinstance(label, str):
        raise UnsupportedModelError(f"the label {label!r} meets a column of numbers")
    return float(label)
