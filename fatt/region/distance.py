"""How much similar people may differ in all: a distance with a limit, parsed and said.

`fatt.region.costs` says how a distance is counted, and `fatt.region.rules` binds it to
the variables of a model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from fatt.ensemble.features import Label
from fatt.errors import Arg, SpecError, hint
from fatt.region.amounts import Step, is_number, parse_labels, short
from fatt.region.costs import STEPS

#: How the costs of several attributes become one: their sum, the root of the sum of
#: their squares, the largest of them, or the weights of all that differ.
Norm: TypeAlias = Literal["l1", "l2", "linf", "l0"]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_WEIGHT = re.compile(rf"({_NUMBER})(?:\s*/\s*(sd|{_NUMBER}))?")

_ADDED_UP = {
    "l1": "and the costs of all of them add up to at most {limit}",
    "l2": "and the squares of all their costs add up to at most the square of {limit}",
    "linf": "and each of them costs at most {limit}",
    "l0": "and the costs of those that differ add up to at most {limit}",
}


@dataclass(frozen=True)
class Weight:
    """What one unit of a difference costs, or any other value of a category.

    Attributes
    ----------
    size
        The cost, finite and not negative; 0 if the attribute may be anything.
    unit
        ``"sd"`` if it is the cost of a standard deviation.
    """

    size: float
    unit: Literal["", "sd"] = ""

    def plain(self) -> float | str:
        """Return the weight as people write it."""
        return f"{short(self.size)} / sd" if self.unit else short(self.size)


@dataclass(frozen=True)
class Table:
    """What it costs to exchange two values: each pair once; others stay apart."""

    pairs: tuple[tuple[Label, Label, float], ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values that are named, each once."""
        found = [label for one, other, _ in self.pairs for label in (one, other)]
        return tuple(sorted(dict.fromkeys(found), key=repr))

    def plain(self) -> list[list[Label]]:
        """Return the table as files hold it, row by row."""
        return [[one, other, short(cost)] for one, other, cost in self.pairs]

    def in_python(self) -> dict[tuple[Label, Label], float]:
        """Return the table as people write it in Python."""
        return {(one, other): short(cost) for one, other, cost in self.pairs}


@dataclass(frozen=True)
class Distance:
    """What differences cost, and how much all of them together may cost.

    Attributes
    ----------
    weights
        What each attribute costs, by name, in the order of the names.
    limit
        The largest distance between similar people, finite and larger than 0.
    norm
        How costs become one distance.
    """

    weights: tuple[tuple[str, Weight | Table], ...]
    limit: float
    norm: Norm = "l1"

    def plain(self) -> dict[str, Any]:
        """Return the arguments of `Similarity` that say this."""
        return {
            "distance": {name: weight.plain() for name, weight in self.weights},
            "limit": short(self.limit),
            "norm": self.norm,
        }

    def in_python(self) -> dict[str, Any]:
        """Return the weights as people write them in Python."""
        return {
            name: weight.in_python() if isinstance(weight, Table) else weight.plain()
            for name, weight in self.weights
        }

    def with_limit(self, limit: float | None) -> Distance:
        """Return the same distance with another limit; None for none."""
        if limit is not None:
            return Distance(self.weights, limit, self.norm)
        free: list[tuple[str, Weight | Table]] = [
            (name, Table(tuple((one, other, 0.0) for one, other, _ in weight.pairs)))
            if isinstance(weight, Table)
            else (name, Weight(0.0))
            for name, weight in self.weights
        ]
        return Distance(tuple(free), self.limit, self.norm)

    def scale(self, weight: float = 1.0) -> float:
        """Return how many steps of the limit a unit of difference is.

        The square root of the steps by the norm ``"l2"``, which adds up squares.
        """
        with np.errstate(over="ignore"):
            steps = 2.0**24 if self.norm == "l2" else float(STEPS)
            return float(np.float64(weight) * steps / np.float64(self.limit))

    def steps(self, costs: Any) -> Any:
        """Return costs as whole steps of the limit, at most one more than all of it.

        Parameters
        ----------
        costs : ndarray of float64
            The costs; infinite where values cannot be exchanged.
        """
        costs = np.asarray(costs, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            # Nothing costs nothing, however small the limit is.
            size = np.where(costs == 0, 0.0, self.scale() * costs)
            size = size * size if self.norm == "l2" else size
        far = ~(size <= STEPS + 1.0)
        return np.where(far, STEPS + 1, np.floor(np.where(far, 0.0, size))).astype(
            np.int64
        )

    def reach(self, weight: float) -> float:
        """Return how far a number may be that costs as much as the limit allows.

        No number that may be paid is farther away: a last step is rounded down. By
        the norm ``"linf"``, which is a box, this itself decides.
        """
        if self.norm == "linf":
            return self._alone(weight)
        scale = self.scale(weight)
        with np.errstate(divide="ignore", over="ignore"):
            steps = np.sqrt(STEPS + 1.0) if self.norm == "l2" else STEPS + 1.0
            size = float(steps * (1 + 2.0**-50) / np.float64(scale))
        return min(size, float(np.finfo(np.float64).max))

    def _alone(self, weight: float) -> float:
        """Return the limit over the weight, whole if it is so but for rounding."""
        with np.errstate(over="ignore"):
            size = float(np.float64(self.limit) / np.float64(weight))
        if not math.isfinite(size):
            return float(np.finfo(np.float64).max)
        near = float(np.rint(size))
        return near if abs(size - near) <= 1e-12 * near else size

    def step(self, weight: Weight | Table) -> Step | None:
        """Return how far a number may move alone; None if there is no end."""
        if isinstance(weight, Table) or weight.size == 0 or self.norm == "l0":
            return None
        size = self.limit / weight.size
        return Step(size, size, weight.unit) if math.isfinite(size) else None

    def in_words(self) -> str:
        """Say what all differences together may cost."""
        return _ADDED_UP[self.norm].format(limit=short(self.limit))

    def weight_in_words(
        self,
        name: str,
        weight: Weight | Table,
        unit: str = "unit",
        *,
        is_number: bool | None = None,
    ) -> str:
        """Say what it costs to differ in an attribute.

        Parameters
        ----------
        name, weight
            The attribute, and what is said of it.
        unit
            In what it is counted.
        is_number
            Whether there is more and less of it; None if that is not known.
        """
        if isinstance(weight, Table):
            costs = [
                f"{one!r} for {other!r} costs {cost:.6g}"
                for one, other, cost in weight.pairs
            ]
            return f"{name!r} may be exchanged: {', '.join(costs)}"
        if weight.size == 0:
            return f"{name!r} may differ, which costs nothing"
        if self.norm == "l0" or is_number is False:
            return f"{name!r} may be anything else, which costs {weight.size:.6g}"
        unit = "standard deviation" if weight.unit else unit
        others = ", or another category," if is_number is None else ""
        step = self.step(weight)
        far = f" by up to {step.above:.6g}" if step and is_number else ""
        return f"{name!r} may differ{far}: each {unit}{others} costs {weight.size:.6g}"


def parse_at_most(given: Any) -> int | None:
    """Return of how many attributes similar people may differ; None for any number.

    Raises
    ------
    SpecError
        If it is no whole number of at least 1.
    """
    if given is None:
        return None
    if not is_number(given) or given != math.floor(given) or not 1 <= given < 2**31:
        raise SpecError(
            f"at_most is {given!r}; write a whole number of at least 1: how many of "
            "the attributes that may change may do so at the same time."
        )
    return int(given)


def parse_distance(distance: Any, limit: Any, norm: Any) -> Distance | None:
    """Return the distance that a user wrote; None if there is none.

    Parameters
    ----------
    distance
        For each name a weight, or a table of costs.
    limit
        The largest distance; by default 1.
    norm
        One of `Norm`; by default ``"l1"``.

    Raises
    ------
    SpecError
        If it has no meaning.

    Examples
    --------
    >>> parse_distance({"age": "1/10"}, None, None).plain()
    {'distance': {'age': 0.1}, 'limit': 1, 'norm': 'l1'}
    """
    if distance is None:
        for key, value in (("limit", limit), ("norm", norm)):
            if value is not None:
                raise SpecError(
                    f"{key} is {value!r}, and there is no distance that it is for; "
                    f"write {Arg('distance', {'age': 0.1})}, or leave it out."
                )
        return None
    if not isinstance(distance, Mapping) or not distance:
        raise SpecError(
            f"distance is {distance!r}; write what a unit of each attribute costs, "
            "such as {'age': 1 / 10, 'sex': 0}."
        )
    limit = 1.0 if limit is None else limit
    if not is_number(limit) or not 0 < limit < math.inf:
        raise SpecError(f"limit is {limit!r}; it must be a finite number above 0.")
    norm = "l1" if norm is None else norm
    if norm not in get_args(Norm):
        raise SpecError(f"norm is {norm!r}. {hint(str(norm), get_args(Norm))}")
    weights: dict[str, Weight | Table] = {}
    for name, given in distance.items():
        if not isinstance(name, str):
            raise SpecError(f"distance names {name!r}; names are texts.")
        weights[name] = _weight(name, given)
    return Distance(tuple(sorted(weights.items())), float(limit), norm)


def _weight(name: str, given: Any) -> Weight | Table:
    """Return what one attribute costs, as a user wrote it."""
    if isinstance(given, Weight | Table):
        return given
    if isinstance(given, Mapping):
        return _table(name, [(*_pair(name, pair), one) for pair, one in given.items()])
    if isinstance(given, Sequence) and not isinstance(given, str):
        return _table(name, given)
    unit: Literal["", "sd"] = ""
    size = given
    if isinstance(given, str):
        match = _WEIGHT.fullmatch(given.strip())
        if match is None:
            raise _no_weight(name, given)
        size = float(match[1])
        if match[2] == "sd":
            unit = "sd"
        elif match[2] is not None:
            size = size / float(match[2]) if float(match[2]) else math.inf
    if not is_number(size) or not 0 <= size < math.inf:
        raise _no_weight(name, given)
    return Weight(float(size) + 0.0, unit)


def _no_weight(name: str, given: Any) -> SpecError:
    return SpecError(
        f"distance of {name!r} is {given!r}; write what a unit of it costs, a finite "
        "number of at least 0, such as 0.1, '1/10' or '1 / sd', or the costs between "
        "categories, such as {('north', 'south'): 0.3}."
    )


def _pair(name: str, pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise SpecError(
            f"distance of {name!r} names {pair!r}; write pairs of values, such as "
            "{('north', 'south'): 0.3}."
        )
    return pair


def _table(name: str, rows: Iterable[Any]) -> Table:
    """Return the costs between categories, given as rows of two values and a cost."""
    costs: dict[tuple[Label, Label], float] = {}
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 3:
            raise _no_weight(name, row)
        one, other = (parse_labels([x], f"distance of {name!r}")[0] for x in row[:2])
        cost = row[2]
        if not is_number(cost) or not 0 <= cost < math.inf:
            raise SpecError(
                f"distance of {name!r} is {cost!r} from {one!r} to {other!r}; a cost "
                "is a finite number of at least 0."
            )
        if one == other:
            if cost:
                raise SpecError(
                    f"distance of {name!r} is {cost!r} from {one!r} to itself; leave "
                    "it out, it is 0."
                )
            continue
        pair = (one, other) if repr(one) <= repr(other) else (other, one)
        if costs.setdefault(pair, float(cost)) != float(cost):
            raise SpecError(
                f"distance of {name!r} is {costs[pair]:.6g} from {pair[0]!r} to "
                f"{pair[1]!r}, and {float(cost):.6g} the other way; distances are the "
                "same both ways."
            )
    if not costs:
        raise SpecError(
            f"distance of {name!r} is an empty table; write costs between two values, "
            "such as {('north', 'south'): 0.3}."
        )
    found = [(one, other, cost + 0.0) for (one, other), cost in costs.items()]
    return Table(tuple(sorted(found, key=repr)))


# ---- Distances that others have fitted.


#: Scalers of scikit-learn, and whether their `scale_` multiplies a column.
_SCALERS = {
    "StandardScaler": False,
    "RobustScaler": False,
    "MaxAbsScaler": False,
    "MinMaxScaler": True,
}


def weights_of_scaler(scaler: Any) -> dict[str, float]:
    """Return what a unit of each column is after scaling.

    Raises
    ------
    SpecError
        If this is no scaler that takes each column alone, or it is not fitted with
        names of columns.
    """
    kind = type(scaler)
    if kind.__name__ not in _SCALERS or not kind.__module__.startswith("sklearn."):
        raise SpecError(
            f"the scaler is a {kind.__name__}; pass a fitted "
            f"{', '.join(_SCALERS)} of scikit-learn, which multiplies each column by a "
            "number. Others bend or mix columns, and what remains is no sum over "
            "columns."
        )
    names = getattr(scaler, "feature_names_in_", None)
    if names is None:
        raise SpecError(
            "the scaler knows no names of columns; fit it on a data frame with names."
        )
    scales = scaler.scale_
    if scales is None:
        scales = np.ones(len(names))
    return {
        str(name): float(size if _SCALERS[kind.__name__] else 1 / size)
        for name, size in zip(names, scales, strict=True)
    }


def weights_of_metric(metric: Any, names: Sequence[str]) -> dict[str, float]:
    """Return what a unit of each column is by a metric, whose square is a sum.

    Raises
    ------
    SpecError
        If the metric is no diagonal of numbers that are at least 0.
    """
    matrix = np.asarray(metric, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    if matrix.shape != (len(names), len(names)):
        raise SpecError(
            f"the metric has the shape {np.shape(metric)}, and there are {len(names)} "
            "names; pass one number for each, or a square matrix."
        )
    others = np.argwhere(matrix - np.diag(np.diag(matrix)) != 0)
    if len(others):
        one, other = others[0].tolist()
        raise SpecError(
            f"the metric is {matrix[one, other]:.6g} between {names[one]!r} and "
            f"{names[other]!r}: then what a difference costs depends on another "
            "column, and the distance is no sum over columns. Pass a diagonal metric, "
            "or make columns that it does not mix."
        )
    sizes = np.diag(matrix)
    if not ((sizes >= 0) & (sizes < np.inf)).all():
        raise SpecError(
            f"the metric holds {sizes[~((sizes >= 0) & (sizes < np.inf))][0]}; its "
            "diagonal must be finite and at least 0."
        )
    return dict(zip(map(str, names), np.sqrt(sizes).tolist(), strict=True))
