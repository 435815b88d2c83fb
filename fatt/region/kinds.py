"""The kinds of variables: what values a person may have, and in which columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from fatt.ensemble.features import Label, Record
from fatt.errors import SpecError
from fatt.region.amounts import short


class Variable(Record, frozen=True, kw_only=True):
    """One thing that people differ in, in one or several columns of a model.

    Attributes
    ----------
    name
        Name of the variable; `Schema.with_` fills it in.
    columns
        The columns that hold it; `Schema.with_` keeps those that the variable had.
    """

    name: str = ""
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = (self.columns,) if isinstance(self.columns, str) else self.columns
        force_setattr(self, "columns", tuple(map(str, names)))

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        if len(self.columns) != 1:
            raise SpecError(
                f"variable {self.name!r} has {len(self.columns)} columns, and a "
                f"{type(self).__name__} has one; a OneHot may have several."
            )


class Number(Variable, frozen=True, kw_only=True, tag="number"):
    """A column of numbers.

    Attributes
    ----------
    lower, upper
        Smallest and largest value a person can have; None if there is no such bound.
    sd
        Standard deviation, the unit of noise such as ``"0.3 sd"``; None if unknown.
    seen
        The values that people have, if these are few: then `vary` means these, unless
        there are bounds. `Schema.infer` finds them.
    """

    lower: float | None = None
    upper: float | None = None
    sd: float | None = None
    seen: tuple[float, ...] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("lower", "upper", "sd"):
            force_setattr(self, field, _number(getattr(self, field), self.name))
        if self.seen is not msgspec.UNSET:
            force_setattr(self, "seen", _labels(self.seen, self.name))
        if self.lower == -math.inf:
            force_setattr(self, "lower", None)
        if self.upper == math.inf:
            force_setattr(self, "upper", None)

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        super().check()
        low, high = self.bounds
        if not low <= high or low == math.inf or high == -math.inf:
            raise SpecError(
                f"variable {self.name!r} has no value: its bounds are "
                f"{_shown(self.lower)} and {_shown(self.upper)}."
            )
        if self.sd is not None and not 0 <= self.sd < math.inf:
            raise SpecError(
                f"variable {self.name!r} has the standard deviation "
                f"{self.sd}; it must be a finite number, at least 0."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value, infinite where there is no bound."""
        return (
            -math.inf if self.lower is None else float(self.lower),
            math.inf if self.upper is None else float(self.upper),
        )


class Integer(Number, frozen=True, kw_only=True, tag="integer"):
    """A column of whole numbers, with bounds as in `Number`."""

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        super().check()
        low, high = self.bounds
        if np.ceil(low) > np.floor(high):
            raise SpecError(
                f"variable {self.name!r} has no value: no whole number lies between "
                f"{_shown(self.lower)} and {_shown(self.upper)}."
            )


class Category(Variable, frozen=True, kw_only=True, omit_defaults=True, tag="category"):
    """A column whose categories the model knows itself.

    Attributes
    ----------
    others
        Whether there are people with a value that is none of them, so that `vary`
        leads there too. `Schema.infer` looks for one in the rows; a misspelt category
        is none. Without rows it is true where the model knows its categories by their
        codes or fingerprints only, since it does not know all of them then.
    texts
        What people have there, where the model stores only fingerprints of its
        categories: what to call them.
    levels
        The categories that people have, if these are not all that the model knows.
        `vary` leads to no other.
    """

    others: bool = False
    texts: tuple[str, ...] = ()
    levels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        force_setattr(self, "levels", _labels(self.levels, self.name))


class Levels(Variable, frozen=True, kw_only=True):
    """A variable with finitely many levels, each a pattern of numbers in its columns.

    Attributes
    ----------
    levels
        What people call the levels.
    """

    levels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        force_setattr(self, "levels", _labels(self.levels, self.name))

    @property
    def labels(self) -> tuple[Label, ...]:
        """What people call the levels, in the order of `patterns`."""
        return self.levels

    def patterns(self) -> NDArray[np.float64]:
        """Return the numbers in the columns, of shape (n_levels, n_columns)."""
        raise NotImplementedError

    def unknown(self) -> NDArray[np.float64] | None:
        """Return the numbers that stand for a value without a level, if any do."""
        return None

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        super().check()
        self._check_levels()

    def _check_levels(self) -> None:
        if not self.labels or len(set(self.labels)) != len(self.labels):
            raise SpecError(
                f"variable {self.name!r} needs levels, each once; it has "
                f"{', '.join(map(repr, self.labels)) or 'none'}."
            )


class Binary(Levels, frozen=True, kw_only=True, tag="binary"):
    """A column that is 0 or 1.

    Attributes
    ----------
    levels
        What people call 0, and what they call 1.
    """

    levels: tuple[Label, ...] = (0, 1)

    def patterns(self) -> NDArray[np.float64]:
        """Return the numbers in the columns, of shape (n_levels, n_columns)."""
        return np.array([[0.0], [1.0]])

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        super().check()
        if len(self.levels) != 2:
            raise SpecError(
                f"variable {self.name!r} is binary and has {len(self.levels)} levels; "
                "name 2, or make it an Ordinal."
            )


class Ordinal(Levels, frozen=True, kw_only=True, tag="ordinal"):
    """A column with finitely many values in an order.

    Attributes
    ----------
    levels
        The values, from the lowest to the highest: numbers, categories that the model
        knows, or names for `values`.
    values
        The number in the column for each level, where the levels are not the numbers.
    unknown_value
        The number that stands for a value without a level, if there is one.
    """

    values: tuple[float, ...] = ()
    unknown_value: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = tuple(_number(value, self.name) for value in self.values)
        force_setattr(self, "values", numbers)
        force_setattr(self, "unknown_value", _number(self.unknown_value, self.name))

    def patterns(self) -> NDArray[np.float64]:
        """Return the numbers in the columns, of shape (n_levels, n_columns)."""
        numbers = self.values or self.levels
        if not all(isinstance(number, int | float) for number in numbers):
            raise SpecError(
                f"variable {self.name!r}: the model reads numbers in column "
                f"{self.columns[0]!r}; add values=, the number of each level."
            )
        return np.array(numbers, dtype=np.float64)[:, np.newaxis]

    def unknown(self) -> NDArray[np.float64] | None:
        """Return the numbers that stand for a value without a level, if any do."""
        return None if self.unknown_value is None else np.array([self.unknown_value])

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        super().check()
        numbers = [*self.values]
        if self.unknown_value is not None:
            numbers.append(self.unknown_value)
        if (self.values and len(self.values) != len(self.levels)) or not (
            len(set(numbers)) == len(numbers) and all(map(math.isfinite, numbers))
        ):
            raise SpecError(
                f"variable {self.name!r} has {len(self.levels)} levels and the values "
                f"{', '.join(map(str, numbers))}; give each level its own number."
            )


class OneHot(Levels, frozen=True, kw_only=True, tag="one-hot"):
    """Columns of which at most one is 1, the others 0.

    Attributes
    ----------
    levels
        What people call the level behind each column; the columns' names by default.
    dropped
        What people call the level for which all columns are 0; None if there is none.
    accepts_unknown
        Whether all columns are 0 for a value without a level.
    """

    dropped: Label | None = None
    accepts_unknown: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.levels:
            force_setattr(self, "levels", self.columns)
        if self.dropped is not None:
            force_setattr(self, "dropped", *_labels((self.dropped,), self.name))

    @property
    def labels(self) -> tuple[Label, ...]:
        """What people call the levels; the dropped one stands last."""
        return self.levels if self.dropped is None else (*self.levels, self.dropped)

    def patterns(self) -> NDArray[np.float64]:
        """Return the numbers in the columns, of shape (n_levels, n_columns)."""
        return np.eye(len(self.labels), len(self.columns))

    def unknown(self) -> NDArray[np.float64] | None:
        """Return the numbers that stand for a value without a level, if any do."""
        return np.zeros(len(self.columns)) if self.accepts_unknown else None

    def check(self) -> None:
        """Raise `SpecError` unless the variable makes sense on its own."""
        self._check_levels()
        if len(self.levels) != len(self.columns):
            raise SpecError(
                f"variable {self.name!r} has {len(self.columns)} columns and "
                f"{len(self.levels)} levels; name one level per column, and the level "
                "without a column as dropped=."
            )
        if self.dropped is not None and self.accepts_unknown:
            raise SpecError(
                f"variable {self.name!r}: all columns 0 cannot mean both the level "
                f"{self.dropped!r} and an unknown value; choose one."
            )


AnyVariable: TypeAlias = Number | Integer | Binary | Ordinal | Category | OneHot


def anything(variable: AnyVariable, *, at_all: bool = False) -> str:
    """Say what a variable may be that may be anything: that is known, or at all."""
    has_others = isinstance(variable, Category) and (variable.others or at_all)
    if has_others or (
        at_all and isinstance(variable, Levels) and variable.unknown() is not None
    ):
        return "anything, also a value that the model does not know"
    if (isinstance(variable, Ordinal) and not variable.values) or (
        isinstance(variable, Category) and variable.levels
    ):
        return f"any of {', '.join(map(str, variable.levels))}"
    if not isinstance(variable, Number):
        return "anything"
    kind = "whole number" if isinstance(variable, Integer) else "number"
    low, high = variable.lower, variable.upper
    if low is not None and high is not None:
        return f"any {kind} from {short(low)} to {short(high)}"
    if low is high is None:
        return f"any {kind} at all, without bounds"
    end = f"at most {short(high)}" if high is not None else f"at least {low}"
    return f"any {kind} that is {end}, without another bound"


def _plain(value: Any) -> Any:
    """Return a scalar of numpy as a plain one, which can be written to a file."""
    return value.item() if isinstance(value, np.generic) else value


def _shown(number: float | None) -> float | None:
    """Return a number as people write it, for a message."""
    return None if number is None else short(number)


def _number(value: Any, name: str) -> float | None:
    """Return a number as the float that a file gives back, whatever was written."""
    plain = _plain(value)
    if plain is None:
        return None
    if not isinstance(plain, int | float):
        raise SpecError(
            f"variable {name!r}: {value!r} is no number; bounds, values and standard "
            "deviations are numbers."
        )
    try:
        # Both zeros are one number; adding zero keeps the positive one.
        return float(plain) + 0.0
    except OverflowError:
        raise SpecError(
            f"variable {name!r}: a number is beyond all that a column can hold; leave "
            "it out."
        ) from None


def _labels(levels: Sequence[Any], name: str) -> tuple[Label, ...]:
    if isinstance(levels, str):
        raise SpecError(f"variable {name!r}: levels is a list, not {levels!r}.")
    plain = [_plain(label) for label in levels]
    for label in plain:
        is_number = isinstance(label, int | float) and abs(label) < math.inf
        if not isinstance(label, str) and not is_number:
            raise SpecError(
                f"variable {name!r}: {label!r} cannot be a level; use texts or finite "
                "numbers."
            )
    return tuple(plain)
