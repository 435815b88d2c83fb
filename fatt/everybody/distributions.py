"""Who is drawn from a space: distributions, each with a sentence that states it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.errors import DataError, SpecError, hint
from fatt.region import Number, Population
from fatt.region.boxes import Boxes, Membership
from fatt.verdict import value_of

Floats = NDArray[np.float64]
Random = np.random.Generator

#: Draws people as the model takes them: given the source of chance and how many.
Sampler: TypeAlias = Callable[[Random, int], Any]
#: How people are drawn.
Drawn: TypeAlias = Literal["marginals", "rows", "uniform"] | Sampler

NAMED = ("marginals", "rows", "uniform")

#: How often a value of a row is replaced by the value of another row.
_SMOOTHED = 0.1
#: A number has so many values at most if they are to be listed.
_FEW = 4096


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one variable, and how often each is drawn.

    Attributes
    ----------
    value : ndarray of shape (n_values,)
        Numbers or codes, NaN for missing.
    mass : ndarray of shape (n_values,)
        What share of the people has it.
    width
        How much is added by chance: 0, or the length of the interval of numbers that
        begins with the only value.
    """

    value: Floats
    mass: Floats
    width: float = 0.0

    def draw(self, rng: Random, count: int) -> Floats:
        """Return so many values."""
        chosen = rng.choice(len(self.value), size=count, p=self.mass)
        drawn = np.asarray(self.value[chosen])
        if self.width:
            drawn = np.minimum(drawn + rng.random(count) * self.width, self.high)
        return drawn

    @property
    def high(self) -> float:
        """The largest number that is drawn, if there is a width."""
        return float(self.value[0] + self.width)


class Distribution:
    """People of a space, drawn by chance.

    Attributes
    ----------
    words
        How they are drawn, as a sentence says it.
    """

    words: str

    def draw(self, rng: Random, count: int) -> Floats:
        """Return so many people, of shape (count, n_variables)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Product(Distribution):
    """Each variable is drawn on its own.

    Attributes
    ----------
    words
        How, as a sentence says it.
    values
        Of each variable.
    """

    words: str
    values: tuple[Values, ...]

    def draw(self, rng: Random, count: int) -> Floats:
        """Return so many people, of shape (count, n_variables)."""
        return np.stack([one.draw(rng, count) for one in self.values], axis=1)


@dataclass(frozen=True, eq=False)
class Rows(Distribution):
    """Rows of a table, some values of which are those of other rows.

    Attributes
    ----------
    words
        How, as a sentence says it.
    rows : ndarray of shape (n_rows, n_variables)
        The rows whom the question is about.
    """

    words: str
    rows: Floats

    def draw(self, rng: Random, count: int) -> Floats:
        """Return so many people, of shape (count, n_variables)."""
        drawn = self.rows[rng.integers(len(self.rows), size=count)]
        for index in range(drawn.shape[1]):
            others = np.flatnonzero(rng.random(count) < _SMOOTHED)
            drawn[others, index] = self.rows[
                rng.integers(len(self.rows), size=len(others)), index
            ]
        return drawn


@dataclass(frozen=True, eq=False)
class Sampled(Distribution):
    """People whom the user draws.

    Attributes
    ----------
    words
        How, as a sentence says it.
    sampler
        Draws them.
    population
        Whom the question is about.
    """

    words: str
    sampler: Sampler
    population: Population

    def draw(self, rng: Random, count: int) -> Floats:
        """Return so many people, of shape (count, n_variables).

        Raises
        ------
        DataError
            If they are not so many, or somebody is outside the space.
        """
        people = self.sampler(rng, count)
        values = values_of(people, self.population)
        if len(values) != count:
            raise DataError(
                f"the sampler was asked for {count:,} people and drew "
                f"{len(values):,}; return as many rows as it is told."
            )
        _require_inside(values, self.population)
        return values


def values_of(people: Any, population: Population) -> Floats:
    """Return a table of people in the variables of a space."""
    variables = population.variables
    return variables.gather(variables.model.read(people))


def are_in(values: Floats, box: Boxes, population: Population) -> NDArray[np.bool_]:
    """Tell which people are in a box, of shape (n_people,)."""
    inside = Membership(population.variables.ensemble.features)
    people = np.arange(len(values))
    return inside.are_similar(box.one_each(np.zeros_like(people)), people, values)


def _require_inside(values: Floats, population: Population) -> None:
    inside = are_in(values, population.asked, population)
    if inside.all():
        return
    row = int(np.argmin(inside))
    person = values[row : row + 1]
    variables = population.variables
    for index, feature in enumerate(variables.ensemble.features):
        # The one variable that is to blame.
        other = _somebody(population)
        other[0, index] = person[0, index]
        if not are_in(other, population.asked, population)[0]:
            found = value_of(feature, float(person[0, index]))
            raise DataError(
                f"the sampler draws people outside the space: row {row} has "
                f"{feature.name} = {found}. Correct the sampler or the space."
            )
    raise AssertionError("a box is a product, so one variable is to blame")


def _somebody(population: Population) -> Floats:
    """Return one person whom the question is about."""
    box, features = population.asked, population.variables.ensemble.features
    person = box.lower.copy()
    for index, feature in enumerate(features):
        if isinstance(feature, Categorical):
            codes = np.flatnonzero(box.flags(features, index)[0])
            person[0, index] = codes[0] if codes.size else np.nan
        elif person[0, index] > box.upper[0, index]:
            person[0, index] = np.nan
    return person


def distribution_of(
    population: Population, people: Any, drawn: Drawn | None
) -> Distribution:
    """Return how people are drawn from a space.

    Parameters
    ----------
    population
        The space, and whom the question is about.
    people
        A table that tells how often values occur; None if there is none.
    drawn
        How; by default by the marginals of the table, and uniformly without one.

    Raises
    ------
    SpecError
        If there is no such distribution, or it needs a table or bounds.
    """
    if callable(drawn):
        return Sampled("as the given sampler draws them", drawn, population)
    kind = drawn or ("uniform" if people is None else "marginals")
    if kind not in NAMED:
        raise SpecError(
            f"distribution is {drawn!r}; write one of {', '.join(map(repr, NAMED))}, "
            f"or pass a function of a random generator and a number. "
            f"{hint(drawn, NAMED)}"
        )
    if kind == "uniform":
        return Product(
            "uniformly: any value of a variable is as likely as another, and any "
            "beside any value of another variable; no value is missing",
            _uniform(population),
        )
    if people is None:
        raise SpecError(
            f"distribution is {kind!r}, and there is no table that tells how often "
            "values occur; pass people=, or write distribution='uniform'."
        )
    values = values_of(people, population)
    if kind == "rows":
        rows = values[are_in(values, population.asked, population)]
        if not len(rows):
            raise SpecError(
                "no row of the table is one whom the question is about; pass other "
                "people, or another where."
            )
        return Rows(
            f"as rows of the table ({len(rows):,}), of which each value is with a "
            f"chance of {_SMOOTHED:.0%} that of another row",
            rows,
        )
    return Product(
        "each variable on its own, as often as its values occur in the table "
        f"({len(values):,} rows)",
        tuple(
            _marginal(values[:, index], index, population)
            for index in range(values.shape[1])
        ),
    )


def _marginal(column: Floats, index: int, population: Population) -> Values:
    """Return how often the values of a variable occur, of those who are meant."""
    people = np.repeat(_somebody(population), len(column), axis=0)
    people[:, index] = column
    known = column[are_in(people, population.asked, population)]
    if not known.size:
        name = population.variables.ensemble.features[index].name
        raise SpecError(
            f"no row of the table has a value of {name!r} with which the question is "
            "about it; pass other people, or another where."
        )
    value, count = np.unique(known, return_counts=True)
    return Values(value, count / count.sum())


def _uniform(population: Population) -> tuple[Values, ...]:
    features = population.variables.ensemble.features
    return tuple(_evenly(population, index) for index in range(len(features)))


def _evenly(population: Population, index: int) -> Values:
    features, box = population.variables.ensemble.features, population.asked
    feature = features[index]
    if isinstance(feature, Categorical):
        codes = np.flatnonzero(box.flags(features, index)[0]).astype(np.float64)
        return Values(codes, np.full(len(codes), 1 / len(codes)))
    low, high = float(box.lower[0, index]), float(box.upper[0, index])
    variable, ends = population.variables.schema.variables[index], population.everybody
    assert isinstance(variable, Number)
    least, most = variable.bounds
    if (least == -np.inf and low == ends.lower[0, index]) or (
        most == np.inf and high == ends.upper[0, index]
    ):
        raise SpecError(
            f"distribution is 'uniform', and the space has no bounds for "
            f"{feature.name!r}; say from where to where people have it, or draw them "
            "as a table has them: people=."
        )
    if not feature.integer:
        return Values(np.array([low]), np.ones(1), high - low)
    if high - low < _FEW:
        value = np.arange(low, high + 1)
        return Values(value, np.full(len(value), 1 / len(value)))
    return _Whole(np.array([low]), np.ones(1), high - low)


class _Whole(Values):
    """Whole numbers of an interval that has many of them."""

    def draw(self, rng: Random, count: int) -> Floats:
        """Return so many values."""
        low = float(self.value[0])
        return np.floor(
            np.minimum(low + rng.random(count) * (self.width + 1), self.high)
        )


def names_of_levels(population: Population, index: int) -> Sequence[Any]:
    """Return what people call the values of a categorical variable, by code."""
    feature = population.variables.ensemble.features[index]
    assert isinstance(feature, Categorical)
    return [value_of(feature, float(code)) for code in range(feature.n_codes)]
