"""Conditions that both persons must meet."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fatt.ensemble.features import Label
from fatt.errors import SpecError
from fatt.region.amounts import is_number, parse_range, short

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
        return _parse_text(given, name)
    return OneOf(parse_labels(given, f"where of {name!r}"))


def _parse_text(text: str, name: str) -> Condition:
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
