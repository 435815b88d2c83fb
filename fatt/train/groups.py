"""Rates of groups: how far they lie apart, and what it is worth to bring them closer.

A gap is linear in the labels. Each person of the group that is ahead adds the same
amount with the positive label, and each person of the group behind takes the same
amount away. So a price on the gap only shifts what labels are worth to people, and the
search stays exact. A gap is an estimate, unlike the fairness of individuals, which is
proved: it is about these people, and about others only within an interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.errors import DataError, SpecError, hint
from fatt.people.sensitive import sensitive_features_of
from fatt.train.people import People

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

#: Which people's rates are compared: those with the positive label as their true one
#: (1), those with another (0), or both.
CONSTRAINTS: dict[str, tuple[tuple[int, ...], ...]] = {
    "demographic_parity": ((0, 1),),
    "true_positive_rate_parity": ((1,),),
    "false_positive_rate_parity": ((0,),),
    "equalized_odds": ((1,), (0,)),
}


#: More groups than that are a mistake.
_MOST_GROUPS = 50


class Spread(NamedTuple):
    """How far the rates of groups lie apart.

    Attributes
    ----------
    gap
        The largest difference between two groups.
    error
        Its standard error, as an estimate for other people.
    ratio, ratio_error
        The smallest ratio between two groups, and its standard error.
    slope : ndarray of shape (n_people,)
        By how much the gap grows with the positive label of each person.
    """

    gap: float
    error: float
    ratio: float
    ratio_error: float
    slope: Matrix


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of the people, and which class's rates are compared.

    Attributes
    ----------
    names
        The names of the groups.
    shares : tuple of ndarray of shape (n_groups, n_people)
        For each comparison what each person counts in the rate of each group.
    positive
        The class whose rates are compared.
    """

    names: tuple[str, ...]
    shares: tuple[Matrix, ...]
    positive: int = 1

    @classmethod
    def of(
        cls,
        groups: NDArray[Any],
        codes: Integers,
        weights: Matrix,
        constraint: str,
        positive: int = 1,
    ) -> Groups:
        """Sort people into groups.

        Parameters
        ----------
        groups : ndarray of shape (n_people,)
            The group of each person; an empty text for those who are in none.
        codes, weights
            Their classes and weights.
        constraint
            One of `CONSTRAINTS`.
        positive
            The class whose rates are compared.

        Raises
        ------
        DataError
            If there are not two groups with people to compare.
        """
        names, number = np.unique(groups, return_inverse=True)
        if names[0] == "":
            names, number = names[1:], number - 1
        shares = []
        for classes in CONSTRAINTS[constraint]:
            count = (number == np.arange(len(names))[:, np.newaxis]) * weights
            count = count * np.isin(codes == positive, classes)
            total = count.sum(axis=1, keepdims=True)
            for name in names[total[:, 0] == 0].tolist():
                raise DataError(
                    f"group {name!r} has no person whose rate {constraint} compares; "
                    "leave it out, or put it together with another."
                )
            shares.append(count / total)
        if len(names) < 2:
            raise DataError("there are not two groups, and so there is no gap.")
        return cls(tuple(map(str, names)), tuple(shares), positive)

    def of_people(self, chosen: Integers) -> Groups:
        """Return the groups of some people; they must all be left."""
        shares = [share[:, chosen] for share in self.shares]
        sums = [share.sum(axis=1, keepdims=True) for share in shares]
        return Groups(
            self.names,
            tuple(
                np.divide(share, total, out=np.zeros_like(share), where=total > 0)
                for share, total in zip(shares, sums, strict=True)
            ),
            self.positive,
        )

    def rates(self, labels: Integers) -> list[Matrix]:
        """Return the rate of each group, for each comparison."""
        return [share @ (labels == self.positive) for share in self.shares]

    def spread(self, labels: Integers) -> Spread:
        """Tell how far the rates lie apart if people get such labels."""
        rates = self.rates(labels)
        # A rate of people who count differently varies as that of fewer people.
        variances = [
            (rate * (1 - rate)).clip(0) * (share**2).sum(axis=1)
            for rate, share in zip(rates, self.shares, strict=True)
        ]
        worst = int(np.argmax([np.ptp(rate) for rate in rates]))
        rate, variance, share = rates[worst], variances[worst], self.shares[worst]
        ahead, behind = int(np.argmax(rate)), int(np.argmin(rate))
        ratio, ratio_error = min(map(_low_to_high, rates, variances))
        return Spread(
            gap=float(rate[ahead] - rate[behind]),
            error=float(np.sqrt(variance[ahead] + variance[behind])),
            ratio=ratio,
            ratio_error=ratio_error,
            slope=share[ahead] - share[behind],
        )


def _low_to_high(rate: Matrix, variance: Matrix) -> tuple[float, float]:
    """Return the lowest rate divided by the highest, 1 if all are 0, and its error."""
    low, high = int(np.argmin(rate)), int(np.argmax(rate))
    if rate[high] == 0:
        return 1.0, 0.0
    ratio = rate[low] / rate[high]
    # To the first order, as a quotient of two numbers that vary independently.
    error = np.sqrt(variance[low] + ratio**2 * variance[high]) / rate[high]
    return float(ratio), float(error)


def group_people(
    group: Any, sensitive: Any, X: Any, people: People, *, asked: str | None
) -> NDArray[Any] | None:
    """Return the group of each person, if any are asked for.

    Parameters
    ----------
    group
        The name of a variable, or several.
    sensitive
        Instead, one or several columns that the tree does not read.
    X, people
        The people, as a table and as they were read.
    asked
        The parameter that says how close groups must be, if one does.

    Raises
    ------
    SpecError
        If a variable does not exist, or has too many values to make groups; or if
        nothing, or two things, say what makes them.
    DataError
        If the columns do not fit the table.
    """
    if sensitive is None and group is None:
        if asked is not None:
            raise SpecError(
                f"{asked} is about groups: name the variables that make them, "
                "group='sex', or pass sensitive_features to fit."
            )
        return None
    if sensitive is not None and group is not None:
        raise SpecError(
            "both group and sensitive_features say what makes groups; pass one."
        )
    if isinstance(sensitive, str):
        raise SpecError(
            f"sensitive_features is {sensitive!r}; pass one value for each of the "
            f"people, or name a column of the table: group={sensitive!r}."
        )
    if sensitive is not None:
        return _by_columns(sensitive, X)
    return _by_variables(group, people)


def positive_class(pos_label: Any, classes: list[Any]) -> int:
    """Return which class it is whose rates are compared.

    Parameters
    ----------
    pos_label
        Its label; None for the second of two.
    classes
        The labels of all classes.

    Raises
    ------
    SpecError
        If there is no such label.
    DataError
        If it is not said which, and there are more than two.
    """
    if pos_label is None:
        if len(classes) > 2:
            raise DataError(
                "groups are compared by their rates of one class, and there are "
                f"{len(classes)} classes; name it, such as pos_label={classes[-1]!r}."
            )
        return len(classes) - 1
    if pos_label not in classes:
        raise SpecError(
            f"pos_label is {pos_label!r}, and the labels are "
            f"{', '.join(map(repr, classes))}."
        )
    return classes.index(pos_label)


def _by_variables(group: Any, people: People) -> NDArray[Any]:
    """Return the group of each person by some of the variables."""
    features = people.variables.ensemble.features
    names = [feature.name for feature in features]
    parts = []
    for name in [group] if isinstance(group, str) else list(group):
        if name not in names:
            raise SpecError(f"group names {name!r}. {hint(name, tuple(names))}")
        place = names.index(name)
        feature, values = features[place], people.values[:, place]
        distinct = np.unique(values)
        if len(distinct) > _MOST_GROUPS:
            raise SpecError(
                f"group names {name!r}, which has {len(distinct)} values; cut it into "
                "a few groups, and pass these as sensitive_features."
            )
        known = feature.categories if isinstance(feature, Categorical) else ()
        parts.append([_word(value, known) for value in values.tolist()])
    return np.array([" ".join(words) for words in zip(*parts, strict=True)])


def _word(value: float, categories: tuple[Any, ...]) -> str:
    if np.isnan(value):
        return "missing"
    if not categories:
        return f"{value:g}"
    return str(categories[int(value)]) if value < len(categories) else "other"


def _by_columns(sensitive: Any, X: Any) -> NDArray[Any]:
    """Return the group of each person by one or several columns."""
    parts = []
    for name, (place, values) in sensitive_features_of(sensitive, X).items():
        if len(values) > _MOST_GROUPS:
            raise SpecError(
                f"sensitive_features has {len(values)} values in {name!r}; cut them "
                "into a few groups."
            )
        words = ["missing" if value is None else str(value) for value in values]
        parts.append([words[at] for at in place.tolist()])
    return np.array([" ".join(words) for words in zip(*parts, strict=True)])
