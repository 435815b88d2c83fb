"""The parameters of the training, checked, with what the chosen algorithm implies."""

from __future__ import annotations

import numbers
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from fatt.errors import Arg, SpecError
from fatt.train.fitness import Limits
from fatt.train.groups import CONSTRAINTS
from fatt.train.population import CHOICES, RANGES, Operators

#: What is meant by None, for each algorithm.
_PRESETS: dict[str, dict[str, Any]] = {
    "descent": {"balance": 0.2, "max_iter": 50, "split_on_varying": False},
    "paper": {
        "balance": 0.0,
        "leaf_cost": 0.0,
        "max_iter": 100,
        "min_samples_leaf": 1,
        "max_leaves": 1000,
        "split_on_varying": True,
    },
}
#: The parameters of breeding, which no other algorithm has.
_BREEDING = tuple(field.name for field in fields(Operators))
# A leaf of the default search has at least so many people, and such a share of all.
_LEAST, _LEAST_SHARE = 5, 1 / 400
#: What people can still read; deeper trees cannot be printed either.
_MOST_LEAVES, _DEEPEST = 40, 60
#: The parameters that say how close groups must be.
ABOUT_GAPS = ("max_gap", "min_ratio", "group_weight")
#: The weight of fairness where nothing else tells it.
FIRST_WEIGHT = 0.2


@dataclass(frozen=True)
class Settings:
    """The parameters of `FATTClassifier` that steer the search; see there."""

    algorithm: Literal["descent", "paper"]
    fairness_weight: float | Literal["auto"]
    min_fairness: float | None
    constraint: str
    max_gap: float | None
    min_ratio: float | None
    group_weight: float | None
    balance: float
    leaf_cost: float | None
    max_leaves: int
    max_depth: int
    min_samples_leaf: int
    max_bins: int
    split_on_varying: bool
    max_iter: int
    max_seconds: float
    operators: Operators

    @classmethod
    def of(cls, parameters: dict[str, Any], n_people: int) -> Settings:
        """Check the parameters, and fill in what is None.

        Parameters
        ----------
        parameters
            Those of the estimator; some of them are not for the search.
        n_people
            Number of training people.

        Raises
        ------
        SpecError
            If a parameter makes no sense.
        """
        names = {field.name for field in fields(cls)} - {"operators"}
        given = {name: parameters[name] for name in (*names, *_BREEDING)}
        _check_choice("algorithm", given["algorithm"], tuple(_PRESETS))
        for name, choices in CHOICES.items():
            if given[name] is not None:
                _check_choice(name, given[name], choices)
        is_paper = given["algorithm"] == "paper"
        for name in () if is_paper else _BREEDING:
            if given[name] is not None:
                raise SpecError(
                    f"{name} is a parameter of breeding, and algorithm='descent' does "
                    "not breed; leave it out, or choose algorithm='paper'."
                )
        implied = {
            "max_leaves": _MOST_LEAVES,
            "max_depth": _DEEPEST,
            "max_seconds": float("inf"),
            "min_samples_leaf": max(_LEAST, round(n_people * _LEAST_SHARE)),
            **asdict(Operators()),
            **_PRESETS[given["algorithm"]],
        }
        for name, value in implied.items():
            if given[name] is None:
                given[name] = value
        _check_groups(given)
        _check_weight(given["fairness_weight"], given["min_fairness"], is_paper)
        for name, (low, high, whole) in (_RANGES | RANGES).items():
            if given[name] is not None:
                _check_number(name, given[name], low, high, whole=whole)
        if is_paper and given["elitism"] >= given["population_size"]:
            raise SpecError(
                f"elitism is {given['elitism']} and population_size is "
                f"{given['population_size']}: nothing would ever change."
            )
        operators = Operators(**{name: given.pop(name) for name in _BREEDING})
        return cls(operators=operators, **given)

    @property
    def limits(self) -> Limits:
        """How large a tree may become."""
        return Limits(self.max_leaves, self.max_depth, self.min_samples_leaf)

    @property
    def asked_of_groups(self) -> str | None:
        """The parameter that says how close groups must be, if one does."""
        if self.max_gap == 1:
            return None
        asked = (name for name in ABOUT_GAPS if getattr(self, name) is not None)
        return next(asked, None)

    @property
    def said_of_groups(self) -> str:
        """How close groups must be, as it was written."""
        name = self.asked_of_groups
        return "" if name is None else f"{name}={getattr(self, name)}"

    def is_close(
        self, gap: float, gap_error: float, ratio: float, ratio_error: float
    ) -> bool:
        """Tell whether groups are close enough, by a margin of their standard error.

        Parameters
        ----------
        gap, gap_error
            How far their rates lie apart, and the standard error of that.
        ratio, ratio_error
            The smallest ratio of two rates, and the standard error of that.
        """
        # For small groups it is enough to come most of the way.
        if self.max_gap is not None:
            return gap <= max(self.max_gap - gap_error, self.max_gap / 5)
        if self.min_ratio is None:
            return True
        far = 1 - self.min_ratio
        return 1 - ratio <= max(far - ratio_error, far / 5)

    @property
    def first_weight(self) -> float:
        """The weight of fairness that the search begins with."""
        weight = self.fairness_weight
        return FIRST_WEIGHT if weight == "auto" else float(weight)


_INFINITE = float("inf")
#: Smallest and largest value, and whether only whole numbers are meant.
_RANGES: dict[str, tuple[float, float, bool]] = {
    "min_fairness": (0, 1, False),
    "max_gap": (0, 1, False),
    "min_ratio": (0, 1, False),
    "group_weight": (0, _INFINITE, False),
    "balance": (0, 1, False),
    "leaf_cost": (0, _INFINITE, False),
    "max_leaves": (2, _INFINITE, True),
    "max_depth": (1, _INFINITE, True),
    "min_samples_leaf": (1, _INFINITE, True),
    "max_bins": (2, 65_535, True),
    "max_iter": (0, _INFINITE, True),
    "max_seconds": (0, _INFINITE, False),
}


def _check_weight(weight: object, min_fairness: object, is_paper: bool) -> None:
    if isinstance(weight, str) and weight != "auto":
        raise SpecError(
            f"fairness_weight is {weight!r}; it must be 'auto', or a number, from 0 "
            "to 1."
        )
    if not isinstance(weight, str):
        _check_number("fairness_weight", weight, 0, 1, whole=False)
    if min_fairness is None:
        return
    if is_paper:
        raise SpecError(
            "min_fairness chooses the weight of fairness, and algorithm='paper' has "
            "a weight that stays; pass fairness_weight, or choose a tree of front_."
        )
    if weight != "auto":
        raise SpecError(
            f"fairness_weight is {weight!r} and {Arg('min_fairness')} is "
            f"{min_fairness!r}: each of them chooses the weight; pass one."
        )


def _check_groups(given: dict[str, Any]) -> None:
    """Refuse parameters about groups that make no sense together."""
    _check_choice("constraint", given["constraint"], tuple(CONSTRAINTS))
    asked = [name for name in ABOUT_GAPS if given[name] is not None]
    if len(asked) > 1:
        raise SpecError(
            f"{' and '.join(asked)} each say how close groups must be; pass one."
        )
    if asked and given["max_gap"] != 1 and given["algorithm"] == "paper":
        raise SpecError(
            f"{asked[0]} is not for algorithm='paper', which knows no groups; leave it "
            "out, or choose algorithm='descent'."
        )


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        known = " or ".join(map(repr, choices))
        raise SpecError(f"{name} is {value!r}; choose {known}.")


def _check_number(
    name: str, value: object, low: float, high: float, *, whole: bool
) -> None:
    kind = numbers.Integral if whole else numbers.Real
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # type: ignore[operator]
        what = "a whole number" if whole else "a number"
        span = f"at least {low}" if high == _INFINITE else f"from {low} to {high}"
        raise SpecError(f"{name} is {value!r}; it must be {what}, {span}.")
