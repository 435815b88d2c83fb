"""Who is similar, one pair at a time, straight from what the user wrote."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fatt.ensemble import Categorical, Numeric
from fatt.region import Boxes, Integer, Number, Ordinal, Variables
from fatt.region.boxes import code_words
from tests.region.town import UNKNOWN

Point = list[Any]


def similar(spec: dict[str, Any], variables: Variables, x: Point, y: Point) -> bool:
    """Whether y is similar to x: the same person, or related by the specification."""
    rules = [_One(spec, variables, index) for index in range(len(x))]
    if all(one.same(a, b) for one, a, b in zip(rules, x, y, strict=True)):
        return True
    for index, variable in enumerate(variables.schema.variables):
        one = rules[index]
        if variable.name in spec.get("where", {}) and not (
            one.meets(x[index]) and one.meets(y[index])
        ):
            return False
        if not one.same(x[index], y[index]) and not one.may_become(x[index], y[index]):
            return False
    return True


class _One:
    def __init__(self, spec: dict[str, Any], variables: Variables, index: int) -> None:
        self.spec = spec
        self.variable = variables.schema.variables[index]
        self.feature = variables.ensemble.features[index]
        self.name = self.variable.name

    def same(self, a: Any, b: Any) -> bool:
        """Whether the model sees no difference that a person could name."""
        a, b = (None if is_sentinel(self.feature, cell) else cell for cell in (a, b))
        return (a is None and b is None) or (None not in {a, b} and a == b)

    def is_valid(self, y: Any) -> bool:
        """Whether a number other than one's own can be anybody's."""
        assert isinstance(self.variable, Number)
        low, high = self.variable.bounds
        return (
            math.isfinite(y)
            and low <= y <= high
            and self.feature.lower <= y <= self.feature.upper
            and (not isinstance(self.variable, Integer) or y == math.floor(y))
        )

    def reads_missing(self, x: Any) -> bool:
        if x is None:
            return True
        if not isinstance(self.feature, Numeric) or not self.feature.missing_range:
            return False
        low, high = self.feature.missing_range
        return bool(low <= x <= high)

    def meets(self, x: Any) -> bool:
        if x is None:
            return False
        if isinstance(self.feature, Numeric) and self.reads_missing(x):
            return self.is_valid(x) and self._meets(x)
        return self._meets(x)

    def _meets(self, x: Any) -> bool:
        condition = self.spec["where"][self.name]
        if isinstance(condition, list):
            return x in condition
        if ".." in condition:
            low, high = condition.split("..")
            return float(low) <= x <= float(high) if x != UNKNOWN else False
        sign, right = condition.split(" ")
        if sign == "==":
            return str(x) == right or x == _number(right)
        if x == UNKNOWN:
            return False
        return {
            "<=": x <= float(right),
            "<": x < float(right),
            ">": x > float(right),
            ">=": x >= float(right),
        }[sign]

    def may_become(self, x: Any, y: Any) -> bool:
        """Whether x may become y, another value."""
        y = None if is_sentinel(self.feature, y) else y
        if self.name in self.spec.get("missing", []):
            if y is None:
                return True
            if self.reads_missing(x) and self._is_anything(y):
                return True
        if y is None:
            return False
        if x is None:
            return False
        if isinstance(self.variable, Number):
            return self.is_valid(y) and self._moves(x, y)
        return (y != UNKNOWN or self._is_open()) and self._exchanges(x, y)

    def _is_open(self) -> bool:
        vary = self.spec.get("vary", [])
        is_any = isinstance(vary, dict) and vary.get(self.name) == "any"
        return is_any and self.feature.accepts_unknown

    def _is_anything(self, y: Any) -> bool:
        if isinstance(self.variable, Number):
            return self.is_valid(y)
        return bool(y != UNKNOWN) or self._is_open()

    def _amount(self) -> Any:
        noise = self.spec.get("noise")
        if noise is None or self.name in self.spec.get("vary", []):
            return None
        return noise.get(self.name) if isinstance(noise, dict) else noise

    def _moves(self, x: float, y: float) -> bool:
        if self.name in self.spec.get("vary", []):
            return True
        amount = self._amount()
        if amount is None:
            return False
        if isinstance(amount, str) and ".." in amount:
            low, high = map(float, amount.split(".."))
            return low <= x <= high and low <= y <= high
        if math.isinf(x):
            return False
        text = str(amount)
        unit = "sd" if text.endswith("sd") else "%" if text.endswith("%") else ""
        size = float(text.removesuffix(unit).strip().lstrip("+-"))
        assert isinstance(self.variable, Number)
        if unit == "sd":
            size *= self.variable.sd or 0.0
        whole = isinstance(self.variable, Integer) and x == math.floor(x)
        if unit == "%":
            size = abs(x) * size / 100 if whole else abs(x) * (size / 100)
        below = 0.0 if text.startswith("+") else size
        above = 0.0 if text.startswith("-") else size
        if whole:
            return -below <= Fraction(y) - Fraction(x) <= above
        return x - below <= y <= x + above

    def _exchanges(self, x: Any, y: Any) -> bool:
        vary = self.spec.get("vary", [])
        if self.name in vary:
            values = vary[self.name] if isinstance(vary, dict) else "known"
            return values in ("any", "known") or (x in values and y in values)
        noise = self.spec.get("noise")
        if isinstance(self.variable, Ordinal) and isinstance(noise, dict):
            levels, text = list(self.variable.levels), str(noise.get(self.name, 0))
            if x not in levels or y not in levels:
                return False
            moved, size = levels.index(y) - levels.index(x), float(text.lstrip("+-"))
            return (
                (0 if text.startswith("+") else -size)
                <= moved
                <= (0 if text.startswith("-") else size)
            )
        return False


def is_sentinel(feature: Any, cell: Any) -> bool:
    """Whether a cell is a number that the library takes for missing and nothing else.

    No person has it as a number, so nobody can tell it from a missing value.
    """
    if not isinstance(feature, Numeric) or feature.missing_range is None:
        return False
    low, high = feature.missing_range
    return cell is not None and low <= cell <= high and cell > feature.upper


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def holds(boxes: Boxes, box: int, variables: Variables, y: Any) -> bool:
    """Whether a box holds an encoded point, by the documented meaning of boxes."""
    features = variables.ensemble.features
    words = code_words(features)
    for index, feature in enumerate(features):
        value = float(y[index])
        if math.isnan(value) or is_sentinel(feature, value):
            inside = bool(boxes.missing[box, index])
            low, high = boxes.lower[box, index], boxes.upper[box, index]
            inside |= low == high and is_sentinel(feature, low)
        elif isinstance(feature, Categorical):
            word = int(boxes.codes[box, words[index] + int(value) // 64])
            inside = bool(word >> (int(value) % 64) & 1)
        else:
            inside = bool(boxes.lower[box, index] <= value <= boxes.upper[box, index])
        if not inside:
            return False
    return True
