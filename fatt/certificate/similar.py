"""Who is similar to a person, straight from what a similarity and a schema say.

The search has code of its own for this, in `fatt.region`; none of it is used here. For
each alternative of a similarity and each variable, a person's set is an interval of
numbers or a set of codes, and perhaps missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.columns import Codes, Column, Numbers
from fatt.certificate.costs import STEPS, Price, cost_of
from fatt.certificate.existence import Existence
from fatt.ensemble import Label
from fatt.errors import CertificateError
from fatt.region import Number, Ordinal, Relation, Schema, Similarity
from fatt.region.amounts import Between, OneOf, Range, Step
from fatt.region.distance import Weight
from fatt.region.kinds import AnyVariable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(eq=False)
class Reach:
    """Where people may move in one variable: one row per person.

    Attributes
    ----------
    low, high : ndarray of shape (n_people,)
        The smallest and the largest number; crossed where there is none.
    missing : ndarray of shape (n_people,)
        Whether missing is allowed.
    codes : ndarray of shape (n_people, n_codes)
        The codes; without columns for numbers.
    """

    low: Floats
    high: Floats
    missing: Flags
    codes: Flags


@dataclass(frozen=True)
class Rule:
    """What one alternative says of one variable.

    Attributes
    ----------
    amount
        The noise, if any.
    is_free
        Whether it may be anything that is known.
    is_open
        Whether it may then also be a value that nobody knows.
    among
        Labels that are interchangeable, if they are listed.
    may_miss
        Whether missing and known may change places.
    condition
        What both persons must meet, if anything.
    price
        What it costs to differ, if a distance or a number of attributes limits that.
    """

    amount: Step | Range | None = None
    is_free: bool = False
    is_open: bool = False
    among: tuple[Label, ...] | None = None
    may_miss: bool = False
    condition: Between | OneOf | None = None
    price: Price | None = None


def rules_of(similarity: Relation, schema: Schema) -> list[list[Rule]]:
    """Return what each alternative says of each variable, in the schema's order.

    Raises
    ------
    CertificateError
        If it says two things of one variable.
    """
    return [_rules(one, schema) for one in similarity.alternatives]


def _rules(similarity: Similarity, schema: Schema) -> list[Rule]:
    said: list[dict[str, Any]] = [{} for _ in schema.variables]
    places = {variable.name: place for place, variable in enumerate(schema.variables)}
    for name, key, value in _sayings(similarity, schema):
        index = places[schema.find(name).name]
        if said[index].setdefault(key, value) != value:
            raise _two_things(schema.variables[index].name)
    for variable, facts in zip(schema.variables, said, strict=True):
        others = {"is_free", "among"}
        if facts.get("price") and facts["price"].weight is not None:
            others |= {"price", "may_miss"}
        elif "amount" in facts:
            others.add("amount")
        if len(facts.keys() & others) > 1:
            raise _two_things(variable.name)
    return [Rule(**facts) for facts in said]


def _sayings(similarity: Similarity, schema: Schema) -> Iterator[tuple[str, str, Any]]:
    """Yield what is said of which name, and which field of a rule that is."""
    most = similarity.at_most
    for name, key, value in _movements(similarity, schema):
        yield name, key, value
        if most is not None:
            yield name, "price", Price(None, most, "count")
    yield from ((name, "condition", met) for name, met in similarity.where)


def _movements(
    similarity: Similarity, schema: Schema
) -> Iterator[tuple[str, str, Any]]:
    """Yield what may change, and how."""
    varied = {schema.find(name).name for name, _ in similarity.follow}
    if similarity.distance is not None:
        distance = similarity.distance
        for name, weight in distance.weights:
            varied.add(schema.find(name).name)
            yield name, "price", Price(weight, distance.limit, distance.norm)
    for name, labels in similarity.vary:
        varied.add(schema.find(name).name)
        if isinstance(labels, tuple):
            yield name, "among", labels
        else:
            yield name, "is_free", True
            yield name, "is_open", labels == "any"
    if isinstance(similarity.noise, tuple):
        for name, amount in similarity.noise:
            _require_spread(amount, [schema.find(name)])
            yield name, "amount", amount
    else:
        numbers = [
            variable
            for variable in schema.variables
            if isinstance(variable, Number) and variable.name not in varied
        ]
        _require_spread(similarity.noise, numbers)
        for variable in numbers:
            yield variable.name, "amount", similarity.noise
    yield from ((name, "may_miss", True) for name in similarity.missing)
    for name, how in similarity.follow:
        if not isinstance(how, str):
            # Which of all levels it moves to, `Existence` tells.
            yield name, "is_free", True
            yield name, "is_open", True


def _require_spread(amount: Step | Range, variables: Sequence[AnyVariable]) -> None:
    """Refuse noise in units of which none of the variables it is for has any.

    One of several may be constant: noise for all numbers does not move it then.
    """
    in_sd = isinstance(amount, Step) and amount.unit == "sd"
    constant = [one for one in variables if isinstance(one, Number) and one.sd == 0]
    if in_sd and variables and len(constant) == len(variables):
        names = ", ".join(repr(variable.name) for variable in variables)
        raise CertificateError(
            f"the standard deviation of {names}, in which the similarity counts, is 0, "
            "and nothing could change."
        )


def _two_things(name: str) -> CertificateError:
    return CertificateError(f"the similarity says two things of {name!r}.")


@dataclass(frozen=True, eq=False)
class Costs:
    """What pairs of people cost in each variable, and how much all may cost.

    Attributes
    ----------
    each : ndarray of int64, shape (n_pairs, n_variables)
        The costs.
    most
        The budget.
    """

    each: NDArray[np.int64]
    most: int


class Similar:
    """Who is similar to whom, among people with the variables of a model.

    Parameters
    ----------
    columns
        What the model reads, by variable.
    schema
        Its variables.
    similarity
        Who is similar to whom.

    Attributes
    ----------
    alternatives
        What each alternative says of each variable.
    existence
        What is said of several variables together.
    """

    def __init__(
        self, columns: Sequence[Column], schema: Schema, similarity: Relation
    ) -> None:
        self._columns = tuple(columns)
        self.existence = Existence(self._columns, schema, similarity)
        self.alternatives = rules_of(similarity, schema)

    def reaches(self, people: Floats) -> list[tuple[Flags, list[Reach]]]:
        """Return where people may move: who, and how far in each variable.

        A person similar to nobody else appears once, in the last entry, alone.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            Numbers and codes, NaN for missing.
        """
        *meets, alone = self.meets(people)
        found = [
            (who, self._spread(rules, people[who]))
            for who, rules in zip(meets, self.alternatives, strict=True)
        ]
        still = [Rule()] * len(self._columns)
        return [*found, (alone, self._spread(still, people[alone]))]

    def meets(self, people: Floats) -> list[Flags]:
        """Tell who meets the conditions of each alternative, and last, who of none.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            As in `reaches`.
        """
        found = []
        alone = np.ones(len(people), dtype=bool)
        for rules in self.alternatives:
            who = np.ones(len(people), dtype=bool)
            for index, column in enumerate(self._columns):
                condition = rules[index].condition
                if condition is not None:
                    who &= _meets(column, condition, people[:, index])
            alone &= ~who
            found.append(who)
        return [*found, alone]

    def costs(self, rules: list[Rule], people: Floats, others: Floats) -> Costs | None:
        """Return what others cost in each variable; None if no budget is kept.

        Parameters
        ----------
        rules
            What an alternative says of each variable.
        people, others : ndarray of shape (n_pairs, n_variables)
            People, and others whom they are compared with.
        """
        most = most_of(rules)
        if most is None:
            return None
        costs = np.zeros(people.shape, dtype=np.int64)
        for index, rule in enumerate(rules):
            if rule.price is not None:
                own, other = people[:, index], others[:, index]
                costs[:, index] = cost_of(self._columns[index], rule.price, own, other)
        return Costs(costs, most)

    def _spread(self, rules: list[Rule], people: Floats) -> list[Reach]:
        return [
            reach_of(column, rule, people[:, index])
            for index, (column, rule) in enumerate(
                zip(self._columns, rules, strict=True)
            )
        ]


def most_of(rules: Iterable[Rule]) -> int | None:
    """Return how much an alternative lets people spend; None if it has no budget."""
    found = [rule.price.most for rule in rules if rule.price is not None]
    return found[0] if found else None


def reach_of(column: Column, rule: Rule, values: Floats) -> Reach:
    """Return where people with these values of a variable may move."""
    if isinstance(column, Numbers):
        return _numbers(column, rule, values)
    return _codes(column, rule, values)


def _meets(column: Column, condition: Between | OneOf, values: Floats) -> Flags:
    """Tell whose value meets a condition."""
    known = ~np.isnan(values)
    if isinstance(column, Numbers):
        low, high = _interval(condition)
        # A number that is only read as missing is nobody's number.
        known &= ~column.is_sentinel(values)
        return known & (values >= low) & (values <= high)
    members = _members(column, condition)
    return known & members[np.where(known, values, 0).astype(np.int64)]


def _interval(condition: Between | OneOf) -> tuple[float, float]:
    """Return the smallest and the largest number that meet a condition."""
    if isinstance(condition, OneOf):
        try:
            (number,) = map(float, condition.labels)
        except ValueError:
            raise CertificateError(
                f"the condition {condition.plain()!r} is not about a number."
            ) from None
        return number, number
    low, high = condition.low, condition.high
    return (
        float(np.nextafter(low, np.inf)) if condition.without_low else low,
        float(np.nextafter(high, -np.inf)) if condition.without_high else high,
    )


def _members(column: Codes, condition: Between | OneOf) -> Flags:
    """Tell which codes meet a condition."""
    if isinstance(condition, OneOf):
        return _among(column, condition.labels)
    low, high = _interval(condition)
    members = np.zeros(column.n_codes, dtype=bool)
    for code, label in enumerate(column.labels):
        if isinstance(label, str | bool):
            raise CertificateError(
                f"the condition {condition.plain()!r} compares {label!r} with numbers."
            )
        members[code] = low <= label <= high
    return members


def _among(column: Codes, labels: Iterable[Label]) -> Flags:
    members = np.zeros(column.n_codes, dtype=bool)
    members[[column.code(label) for label in labels]] = True
    return members


def _codes(column: Codes, rule: Rule, values: Floats) -> Reach:
    missing = np.isnan(values)
    own = np.where(missing, 0, values).astype(np.int64)
    codes = np.zeros((len(values), column.n_codes), dtype=bool)
    codes[np.flatnonzero(~missing), own[~missing]] = True
    anything = column.everything if rule.is_open else column.anything
    if rule.is_free:
        codes[~missing] |= anything
    if rule.among is not None:
        members = _among(column, rule.among)
        codes[~missing & members[own]] |= members
    priced = rule.price is not None and rule.price.weight is not None
    if rule.amount is not None or priced:
        codes[~missing] |= _allowed(column, rule)[own[~missing]]
    if rule.may_miss:
        codes[missing] |= anything
        missing = np.ones(len(values), dtype=bool)
    if rule.condition is not None:
        codes &= _members(column, rule.condition)
        missing = np.zeros(len(values), dtype=bool)
    nothing = np.zeros(len(values))
    return Reach(nothing, nothing, missing, codes)


def _allowed(column: Codes, rule: Rule) -> Flags:
    """Tell which codes each code may become by its noise, and by what that costs."""
    allowed = np.ones((column.n_codes, column.n_codes), dtype=bool)
    if rule.amount is not None:
        allowed = _near_levels(column, rule.amount)
    if rule.price is not None and rule.price.weight is not None:
        if isinstance(rule.price.weight, Weight) and rule.amount is None:
            known = column.anything
            if isinstance(column.variable, Ordinal) and not rule.price.is_free:
                known = np.ones(column.n_codes, dtype=bool)
            allowed = allowed & (known | np.eye(column.n_codes, dtype=bool))
        alone = rule.price.of_codes(column)
        allowed = allowed & (alone <= STEPS)
    return allowed


def _near_levels(column: Codes, amount: Step | Range) -> Flags:
    """Tell which codes each code may become, if the levels of an ordinal may move."""
    if not isinstance(column.variable, Ordinal):
        raise CertificateError(
            f"the similarity moves {column.variable.name!r}, which has no order."
        )
    if not isinstance(amount, Step) or amount.unit:
        raise CertificateError(
            f"the similarity moves {column.variable.name!r} by {amount.plain()!r}, "
            "which is no number of levels."
        )
    order = [column.code(level) for level in column.variable.levels]
    near = np.zeros((column.n_codes, column.n_codes), dtype=bool)
    for here, code in enumerate(order):
        for there, other in enumerate(order):
            near[code, other] = -amount.below <= there - here <= amount.above
    return near


def _numbers(column: Numbers, rule: Rule, values: Floats) -> Reach:
    if rule.among is not None:
        raise CertificateError(
            f"the similarity lists values of {column.variable.name!r}, which is a "
            "number."
        )
    missing = np.isnan(values)
    low = np.where(missing, np.inf, values)
    high = np.where(missing, -np.inf, values)
    price = None if rule.price is None or rule.price.weight is None else rule.price
    if rule.is_free or rule.amount is not None or price is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            wide_low, wide_high = _moved(column, rule, values)
            if price is not None and not price.is_free:
                size = np.where(np.isfinite(values), price.reach(column), 0.0)
                whole = (values == np.floor(values)) & column.integer
                size = np.where(whole, np.floor(size), size)
                wide_low = np.maximum(wide_low, values - size)
                wide_high = np.minimum(wide_high, values + size)
        if column.integer:
            wide_low, wide_high = np.ceil(wide_low), np.floor(wide_high)
        wide_low = np.maximum(wide_low, column.low)
        wide_high = np.minimum(wide_high, column.high)
        # A number that nobody has, but is read as missing, is no end of an interval.
        sentinel = column.is_sentinel(values)
        moves = ~missing & (wide_low <= wide_high)
        stays = moves & ~sentinel
        low[stays] = np.minimum(wide_low, low)[stays]
        high[stays] = np.maximum(wide_high, high)[stays]
        becomes = moves & sentinel
        low[becomes], high[becomes] = wide_low[becomes], wide_high[becomes]
        missing |= becomes
    if rule.may_miss:
        absent = np.isnan(values) | column.reads_missing(values)
        low[absent], high[absent] = column.low, column.high
        missing = np.ones(len(values), dtype=bool)
    if rule.condition is not None:
        least, most = _interval(rule.condition)
        if column.integer:
            least, most = np.ceil(least), np.floor(most)
        low, high = np.maximum(low, least), np.minimum(high, most)
        missing = np.zeros(len(values), dtype=bool)
    least, most = column.taken
    for is_open, beyond, end in (
        (column.low < least, low < least, f"below {least:g}"),
        (column.high > most, high > most, f"above {most:g}"),
    ):
        if is_open and beyond.any():
            raise CertificateError(
                f"people who are similar have {column.variable.name!r} {end}, of whom "
                "nothing is proved."
            )
    return Reach(low, high, missing, np.zeros((len(values), 0), dtype=bool))


def _moved(column: Numbers, rule: Rule, values: Floats) -> tuple[Floats, Floats]:
    """Return how far down and up people may go, before any bounds."""
    amount = rule.amount
    if amount is None:
        endless = np.full(len(values), np.inf)
        return -endless, endless
    if isinstance(amount, Range):
        inside = (values >= amount.low) & (values <= amount.high)
        return (
            np.where(inside, amount.low, values),
            np.where(inside, amount.high, values),
        )
    whole = (values == np.floor(values)) & column.integer
    ends = []
    for sign, given in ((-1, amount.below), (1, amount.above)):
        size = np.full(len(values), given)
        if amount.unit == "sd":
            if column.variable.sd is None:
                raise CertificateError(
                    f"the schema has no standard deviation of {column.variable.name!r}."
                )
            size = size * column.variable.sd
        elif amount.unit == "%":
            share = np.abs(values) * given / 100
            size = np.where(whole, share, np.abs(values) * (given / 100))
        # Nobody moves from infinity, and whole numbers move by whole steps.
        size = np.where(np.isfinite(values), size, 0.0)
        size = np.where(whole, np.floor(size), size)
        ends.append(values + sign * size)
    return ends[0], ends[1]
