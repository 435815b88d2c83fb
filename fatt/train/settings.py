"""The parameters of the training, checked, with what the chosen algorithm implies."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, fields
from typing import Any, Literal

from fatt.errors import SpecError
from fatt.train.genetic import Operators
from fatt.train.growth import Limits

#: What is meant by None, for each algorithm.
_PRESETS: dict[str, dict[str, Any]] = {
    "memetic": {
        "balance": 0.5,
        "leaf_cost": 3.0,
        "initial": "grown",
        "max_iter": 100,
        "n_iter_no_change": 10,
        "split_share": 0.1,
    },
    "paper": {
        "balance": 0.0,
        "leaf_cost": 0.0,
        "initial": "blank",
        "max_iter": 100,
        "n_iter_no_change": 100,
        "split_share": 0.1,
        "min_samples_leaf": 1,
        "max_leaves": 1000,
    },
}
_CHOICES = {
    "algorithm": tuple(_PRESETS),
    "initial": ("grown", "blank", "forest"),
    "selection": ("wheel", "best"),
    "mutation": ("grow", "grow-prune"),
}
# A leaf of the default search has at least so many people, and such a share of all.
_LEAST, _LEAST_SHARE = 5, 1 / 400
#: What people can still read; deeper trees cannot be printed either.
_MOST_LEAVES, _DEEPEST = 40, 60


@dataclass(frozen=True)
class Settings:
    """The parameters of `FATTClassifier` that steer the search; see there."""

    algorithm: Literal["memetic", "paper"]
    fairness_weight: float
    balance: float
    leaf_cost: float
    max_leaves: int
    max_depth: int
    min_samples_leaf: int
    max_bins: int
    initial: Literal["grown", "blank", "forest"]
    population_size: int
    elitism: int
    selection: Literal["wheel", "best"]
    mutation: Literal["grow", "grow-prune"]
    split_share: float
    max_iter: int
    n_iter_no_change: int
    max_seconds: float
    n_trees: int

    @classmethod
    def of(cls, parameters: dict[str, Any], n_people: int) -> Settings:
        """Check the parameters, and fill in what is None.

        Parameters
        ----------
        parameters
            Those of the estimator, of which some are not for the search.
        n_people
            Number of training people.

        Raises
        ------
        SpecError
            If a parameter makes no sense.
        """
        given = {field.name: parameters[field.name] for field in fields(cls)}
        for name, choices in _CHOICES.items():
            if given[name] is not None and given[name] not in choices:
                known = " or ".join(map(repr, choices))
                raise SpecError(f"{name} is {given[name]!r}; choose {known}.")
        implied = {
            "max_leaves": _MOST_LEAVES,
            "max_depth": _DEEPEST,
            "max_seconds": float("inf"),
            "min_samples_leaf": max(_LEAST, round(n_people * _LEAST_SHARE)),
            **_PRESETS[given["algorithm"]],
        }
        for name, value in implied.items():
            if given[name] is None:
                given[name] = value
        for name, (low, high, whole) in _RANGES.items():
            _check_number(name, given[name], low, high, whole=whole)
        if given["elitism"] >= given["population_size"]:
            raise SpecError(
                f"elitism is {given['elitism']} and population_size is "
                f"{given['population_size']}: nothing would ever change."
            )
        return cls(**given)

    @property
    def limits(self) -> Limits:
        """How large a tree may become."""
        return Limits(self.max_leaves, self.max_depth, self.min_samples_leaf)

    @property
    def operators(self) -> Operators:
        """The parameters of the genetic algorithm."""
        return Operators(
            population_size=self.population_size,
            elitism=self.elitism,
            selection=self.selection,
            mutation=self.mutation,
            split_share=self.split_share,
        )


_INFINITE = float("inf")
#: Smallest and largest value, and whether only whole numbers are meant.
_RANGES: dict[str, tuple[float, float, bool]] = {
    "fairness_weight": (0, 1, False),
    "balance": (0, 1, False),
    "leaf_cost": (0, _INFINITE, False),
    "max_leaves": (2, _INFINITE, True),
    "max_depth": (1, _INFINITE, True),
    "min_samples_leaf": (1, _INFINITE, True),
    "max_bins": (2, 65_535, True),
    "population_size": (2, _INFINITE, True),
    "elitism": (0, _INFINITE, True),
    "split_share": (0, 1, False),
    "max_iter": (0, _INFINITE, True),
    "n_iter_no_change": (1, _INFINITE, True),
    "max_seconds": (0, _INFINITE, False),
    "n_trees": (1, _INFINITE, True),
}


def _check_number(
    name: str, value: object, low: float, high: float, *, whole: bool
) -> None:
    kind = numbers.Integral if whole else numbers.Real
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # type: ignore[operator]
        what = "a whole number" if whole else "a number"
        span = f"at least {low}" if high == _INFINITE else f"from {low} to {high}"
        raise SpecError(f"{name} is {value!r}; it must be {what}, {span}.")
