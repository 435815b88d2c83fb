"""How far a value may move, and what both persons must meet: parsed and printed."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fatt.ensemble.features import Label
from fatt.errors import SpecError

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_AMOUNT = re.compile(rf"({_NUMBER})\s*(sd|%)?")
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")

_LARGEST = sys.float_info.max

_FORMS = "write a number, '0.3 sd', '5%', one-sided '+3' or '-3', or a range '18..30'"


@dataclass(frozen=True)
class Step:
    """How far a value may go down and up from where it is.

    Attributes
    ----------
    below, above
        The distances, finite and not negative.
    unit
        ``""`` for the units of the column, ``"sd"`` for standard deviations, ``"%"``
        for hundredths of the absolute value.
    """

    below: float
    above: float
    unit: Literal["", "sd", "%"] = ""

    def plain(self) -> float | str:
        """Return the step as people write it."""
        if self.below == self.above:
            sign, size = "", self.above
        else:
            sign, size = ("-", self.below) if self.below else ("+", self.above)
        if not sign and not self.unit:
            return short(size)
        return f"{sign}{short(size)}{' sd' if self.unit == 'sd' else self.unit}"

    def in_words(self, sd: float | None = None) -> str:
        """Say how a value may differ; with a standard deviation also in its units."""
        unit = {"": "", "sd": " standard deviations", "%": "%"}[self.unit]
        if self.unit == "sd" and sd is not None:
            unit += f" ({max(self.below, self.above) * sd:.6g})"
        if self.below == self.above:
            return f"may differ by up to {short(self.above)}{unit}"
        if self.below:
            return f"may be up to {short(self.below)}{unit} lower"
        return f"may be up to {short(self.above)}{unit} higher"


@dataclass(frozen=True)
class Range:
    """Numbers that are interchangeable; a value outside them stays."""

    low: float
    high: float

    def plain(self) -> str:
        """Return the range as people write it."""
        return f"{short(self.low)}..{short(self.high)}"

    def in_words(self, sd: float | None = None) -> str:
        """Say what a value may be; standard deviations do not matter."""
        low, high = short(self.low), short(self.high)
        return f"may be any number from {low} to {high} if it is one of them"


Amount: TypeAlias = Step | Range


def short(number: float) -> float:
    """Return a whole number as an integer, which reads better.

    Examples
    --------
    >>> short(3.0), short(0.3)
    (3, 0.3)
    """
    is_short = float(number).is_integer() and abs(number) < 2**53
    return int(number) if is_short else number


def from_to(low: float, high: float) -> str:
    """Say between which numbers a value lies; infinite ends are none.

    Examples
    --------
    >>> from_to(17.0, 90.0), from_to(20.0, math.inf), from_to(-math.inf, 0.5)
    ('from 17 to 90', 'at least 20', 'at most 0.5')
    """
    if high == math.inf:
        return "any number" if low == -math.inf else f"at least {short(low)}"
    if low == -math.inf:
        return f"at most {short(high)}"
    return f"from {short(low)} to {short(high)}"


def parse_range(text: str) -> Range | None:
    """Return the range that a text such as ``"18..30"`` means; None if it is none."""
    match = _RANGE.fullmatch(text.strip())
    return _range(float(match[1]), float(match[2]), text) if match else None


def parse_amount(amount: Any, name: str) -> Amount:
    """Return the amount of noise that a user wrote.

    Parameters
    ----------
    amount
        Number or text.
    name
        What it is said of, for the message.

    Raises
    ------
    SpecError
        If it has no meaning.

    Examples
    --------
    >>> parse_amount("+0.3 sd", "age")
    Step(below=0.0, above=0.3, unit='sd')
    >>> parse_amount("18..30", "age")
    Range(low=18.0, high=30.0)
    """
    where = f"noise of {name!r}" if name else "noise"
    if isinstance(amount, Step | Range):
        return amount
    if isinstance(amount, str):
        return _parse_text(amount, where)
    if is_number(amount):
        if not 0 <= amount <= _LARGEST:
            raise SpecError(
                f"{where} is {amount}; it must be a finite number, at least 0. "
                "One-sided noise is a text: '+3' or '-3'."
            )
        return Step(float(amount), float(amount))
    if isinstance(amount, Sequence) and len(amount) == 2:
        low, high = amount
        if all(map(is_number, amount)):
            size = max(abs(low), abs(high))
            raise SpecError(
                f"{where} is {amount!r}, which could mean two things. Write "
                f"'{low}..{high}' if these numbers are interchangeable, "
                f"or {size} if the value may move by up to {size} from where it is "
                f"(one-sided '+{size}' or '-{size}')."
            )
    raise SpecError(f"{where} is {amount!r}; {_FORMS}.")


def is_number(value: object) -> bool:
    """Tell whether something is a plain number: no truth value, no text."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        getattr(value, "shape", None) == ()
        and getattr(getattr(value, "dtype", None), "kind", "") in "iuf"
    )


def _parse_text(text: str, where: str) -> Amount:
    found = parse_range(text)
    if found is not None:
        return found
    match = _AMOUNT.fullmatch(text.strip())
    size = abs(float(match[1])) if match else math.inf
    if match is None or not math.isfinite(size):
        raise SpecError(f"{where} is {text!r}; {_FORMS}.")
    unit: Any = match[2] or ""
    sign = match[1][0]
    return Step(
        below=0.0 if sign == "+" else size,
        above=0.0 if sign == "-" else size,
        unit=unit,
    )


def _range(low: float, high: float, given: object) -> Range:
    if not -math.inf < low <= high < math.inf:
        raise SpecError(
            f"{given!r} is no range: write the smaller number first, both finite."
        )
    # Both zeros are one number; adding zero keeps the positive one.
    return Range(low + 0.0, high + 0.0)


_COMPARISON = re.compile(r"(<=|>=|==|<|>)\s*(.*\S)\s*")


@dataclass(frozen=True)
class Between:
    """The numbers from `low` to `high`, each of which may be left out.

    Attributes
    ----------
    low, high
        The ends; infinite where there is none.
    without_low, without_high
        Whether the end itself is left out.
    """

    low: float = -math.inf
    high: float = math.inf
    without_low: bool = False
    without_high: bool = False

    def plain(self) -> str:
        """Return the condition as people write it."""
        if self.high == math.inf:
            return f"{'>' if self.without_low else '>='} {short(self.low)}"
        if self.low == -math.inf:
            return f"{'<' if self.without_high else '<='} {short(self.high)}"
        return f"{short(self.low)}..{short(self.high)}"

    def in_words(self) -> str:
        """Say what meets the condition."""
        return f"is {self.plain()}"

    def closed(self) -> tuple[float, float]:
        """Return the smallest and the largest number that meet the condition."""
        low = np.nextafter(self.low, np.inf) if self.without_low else self.low
        high = np.nextafter(self.high, -np.inf) if self.without_high else self.high
        return float(low), float(high)


@dataclass(frozen=True)
class OneOf:
    """A few values by name."""

    labels: tuple[Label, ...]

    def plain(self) -> list[Label]:
        """Return the condition as people write it."""
        return list(self.labels)

    def in_words(self) -> str:
        """Say what meets the condition."""
        return "is " + " or ".join(map(repr, self.labels))


Condition: TypeAlias = Between | OneOf


def parse_condition(given: Any, name: str) -> Condition:
    """Return the condition that a user wrote.

    Parameters
    ----------
    given
        Comparison such as ``"<= 37"``, range ``"18..30"``, label, or list of labels.
    name
        The variable, for the message.

    Raises
    ------
    SpecError
        If it has no meaning.

    Examples
    --------
    >>> parse_condition("> 37", "age")
    Between(low=37.0, high=inf, without_low=True, without_high=False)
    >>> parse_condition("== Female", "sex")
    OneOf(labels=('Female',))
    """
    if isinstance(given, Between | OneOf):
        return given
    if isinstance(given, str):
        return _parse_comparison(given, name)
    return OneOf(parse_labels(given, f"where of {name!r}"))


def _parse_comparison(text: str, name: str) -> Condition:
    found = parse_range(text)
    if found is not None:
        return Between(found.low, found.high)
    match = _COMPARISON.fullmatch(text.strip())
    if match is None:
        return OneOf((text,))
    sign, rest = match[1], match[2]
    if sign == "==":
        return OneOf((rest,))
    try:
        number = float(rest)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SpecError(
            f"where of {name!r} is {text!r}, which compares with no number; write "
            f"[{text!r}] if that is a category."
        )
    number += 0.0
    if sign in {"<", "<="}:
        return Between(high=number, without_high=sign == "<")
    return Between(low=number, without_low=sign == ">")


def parse_labels(given: Any, where: str) -> tuple[Label, ...]:
    """Return the values in one label or a list of them, each once, in one order."""
    alone = isinstance(given, str) or not isinstance(given, Sequence | set | frozenset)
    listed = [given] if alone else given
    labels = []
    for label in listed:
        plain = label.item() if isinstance(label, np.generic) else label
        is_label = isinstance(plain, str | bool) or is_number(plain)
        if not is_label or plain != plain:  # noqa: PLR0124
            raise SpecError(f"{where} is {given!r}; write a label or a list of labels.")
        labels.append(plain)
    if not labels:
        raise SpecError(f"{where} is an empty list, which nobody meets; name values.")
    return tuple(sorted(dict.fromkeys(labels), key=repr))
