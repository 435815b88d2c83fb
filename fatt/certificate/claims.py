"""What a certificate takes for granted, in words, and beside what was expected.

A proof holds for the values that a schema allows and the moves that a similarity
allows. Whoever writes a certificate chooses both, so that they must be read before it
is believed. The words here are made from what the checker itself worked with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from fatt.certificate.cells import Cells
from fatt.certificate.columns import Codes, Column, Numbers, columns_of
from fatt.certificate.costs import Price
from fatt.certificate.similar import Rule, reach_of, rules_of
from fatt.errors import CertificateError, SpecError
from fatt.region import Number, OneHot, Ordinal, Relation, Schema
from fatt.region.amounts import Between, OneOf, Range, Step, short
from fatt.region.distance import Table
from fatt.region.kinds import AnyVariable

#: What a code stands for that is behind those of all labels.
_OTHER = "a value that is none of these"


@dataclass(frozen=True)
class Premise:
    """What was taken for granted of one variable.

    Attributes
    ----------
    variable
        Its name in the certificate.
    places
        Which of the model's columns hold it, counted from 1.
    columns
        What these are called.
    values
        The values that it can have, in words.
    matters
        Whether it may change, has bounds, or is in a condition; of all others nothing
        was taken for granted but that they agree.
    """

    variable: str
    places: tuple[int, ...]
    columns: tuple[str, ...]
    values: str
    matters: bool

    def __str__(self) -> str:
        return f"{self.place}: {_named(self.variable, self.columns)}, {self.values}"

    @property
    def place(self) -> str:
        """The columns by number, in words."""
        numbers = _and(map(str, self.places))
        return f"column{'s' if len(self.places) > 1 else ''} {numbers}"


class Claims:
    """What a certificate says about a model's columns, and about who is similar.

    Parameters
    ----------
    cells
        The model, as it was checked.
    schema, similarity
        What else the certificate is about.
    """

    def __init__(self, cells: Cells, schema: Schema, similarity: Relation) -> None:
        self.model, self.schema = cells.model, schema
        self.columns = tuple(axis.column for axis in cells.axes)
        self.ways = rules_of(similarity, schema)

    def premises(self) -> tuple[Premise, ...]:
        """Return what is said of each variable, in the order of the model's columns."""
        found = []
        for index, column in enumerate(self.columns):
            variable = column.variable
            is_moved = any(way[index] != Rule() for way in self.ways)
            is_bounded = isinstance(variable, Number) and (
                variable.lower is not None or variable.upper is not None
            )
            found.append(
                Premise(
                    variable.name,
                    tuple(place + 1 for place in column.columns),
                    variable.columns,
                    _values(column, self._uses_sd(index)),
                    is_moved or is_bounded,
                )
            )
        return tuple(sorted(found, key=lambda one: min(one.places)))

    def similarity(self) -> str:
        """Say in words who is similar, with the values that the schema allows."""
        lines = []
        for number, way in enumerate(self.ways):
            start = "Or they are" if number else "Two persons are similar"
            lines += self._way(way, start)
        return "\n".join(lines)

    def _uses_sd(self, index: int) -> bool:
        said: list[object] = [way[index].amount for way in self.ways]
        said += [price.weight for way in self.ways if (price := way[index].price)]
        return any(getattr(one, "unit", "") == "sd" for one in said)

    def _way(self, way: Sequence[Rule], start: str) -> list[str]:
        both = [
            f"{column.variable.name!r} {_met(rule.condition)}"
            for column, rule in zip(self.columns, way, strict=True)
            if rule.condition is not None
        ]
        only = f" for both of them {' and '.join(both)}, and" if both else ""
        return [
            f"{start} if{only} they agree in everything, except that:",
            *(
                f"- {column.variable.name!r} {words}"
                for column, rule in zip(self.columns, way, strict=True)
                for words in _moves(column, rule)
            ),
            *_budget(way),
        ]

    def require_similarity(self, expected: Relation) -> None:
        """Raise unless the similarity is the one that was expected.

        Raises
        ------
        CertificateError
            If it is another one; the message says where they differ.
        """
        try:
            theirs = rules_of(expected, self.schema)
        except (SpecError, CertificateError) as error:
            raise CertificateError(
                "the similarity that was expected does not fit the certificate's "
                f"schema: {error}"
            ) from None
        ours = self.ways
        if {tuple(way) for way in ours} == {tuple(way) for way in theirs}:
            return
        if len(ours) == len(theirs) == 1:
            lines = [
                f"- {column.variable.name!r}: the certificate says "
                f"{_rule(column, mine)!r}, and {_rule(column, other)!r} was expected."
                for column, mine, other in zip(
                    self.columns, ours[0], theirs[0], strict=True
                )
                if mine != other
            ]
        else:
            lines = [
                *self._only(ours, theirs, "the certificate says, and nobody expected:"),
                *self._only(theirs, ours, "expected, and not in the certificate:"),
            ]
        raise CertificateError(
            "it is about another similarity than was expected:\n" + "\n".join(lines)
        )

    def _only(
        self, ways: list[list[Rule]], others: list[list[Rule]], title: str
    ) -> list[str]:
        lines = [
            line
            for way in ways
            if way not in others
            for line in self._way(way, "Two persons are similar")
        ]
        return [f"- {title}", *lines] if lines else []

    def require_schema(self, expected: Schema) -> None:
        """Raise unless the schema says what was expected.

        Standard deviations are compared where the similarity is told in them.

        Raises
        ------
        CertificateError
            If it says something else; the message says where they differ.
        SpecError
            If what was expected does not fit the model.
        """
        try:
            theirs = columns_of(self.model, expected)
        except CertificateError as error:
            raise SpecError(
                f"the schema that was expected does not fit the model: {error}"
            ) from None
        lines = []
        if not self.model.inputs.named:
            lines = [
                f"- column {place} of the model is {mine!r} in the certificate, and "
                f"{other!r} was expected."
                for place, (mine, other) in enumerate(
                    zip(self.schema.columns, expected.columns, strict=True), start=1
                )
                if mine != other
            ]
        ours = {column.variable.name: column for column in self.columns}
        others = {column.variable.name: column for column in theirs}
        for name in dict.fromkeys([*ours, *others]):
            if name not in others:
                lines.append(f"- {name!r} is in the certificate, and was not expected.")
            elif name not in ours:
                lines.append(f"- {name!r} was expected, and is not in the certificate.")
            else:
                lines += self._difference(ours[name], others[name])
        if lines:
            raise CertificateError(
                "it is about another schema than was expected:\n" + "\n".join(lines)
            )

    def _difference(self, mine: Column, other: Column) -> list[str]:
        uses_sd = self._uses_sd(self.columns.index(mine))
        one, two = (_without_sd(each.variable, uses_sd) for each in (mine, other))
        if one == two:
            return []
        words = [
            f"{_and(map(repr, one.variable.columns))}, {_values(one, uses_sd)}"
            for one in (mine, other)
        ]
        if words[0] == words[1]:
            words = [repr(one.variable) for one in (mine, other)]
        return [
            f"- {mine.variable.name!r}: the certificate says {words[0]}; expected was "
            f"{words[1]}."
        ]


def _without_sd(variable: AnyVariable, uses_sd: bool) -> AnyVariable:
    if uses_sd or not isinstance(variable, Number):
        return variable
    return msgspec.structs.replace(variable, sd=None)


def _named(name: str, columns: Sequence[str]) -> str:
    """Return the name of a variable, and of its columns if they have other names."""
    if len(columns) > 1 or columns[0] == name:
        # The levels of several columns are told with their names.
        return repr(name)
    return f"{name!r} (column {columns[0]!r})"


def _and(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _or(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _values(column: Column, uses_sd: bool) -> str:
    """Say which values a variable can have."""
    if isinstance(column, Codes):
        return _levels(column)
    sd = column.variable.sd
    unit = (
        f", with the standard deviation {short(sd)}"
        if uses_sd and sd is not None
        else ""
    )
    return _numbers(column) + unit


def _numbers(column: Numbers, article: str = "a") -> str:
    low, high = column.variable.lower, column.variable.upper
    kind = "whole number" if column.integer else "number"
    if low is None and high is None:
        return f"any {kind}"
    return f"{article} {kind} {_within(low, high)}"


def _within(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        end = short(high if low is None else low)  # type: ignore[arg-type]
        return f"of at {'most' if low is None else 'least'} {end}"
    return f"from {short(low)} to {short(high)}"


def _levels(column: Codes) -> str:
    variable, words = column.variable, [repr(label) for label in column.labels]
    if isinstance(variable, OneHot):
        held = [f"column {name!r}" for name in variable.columns]
        held += ["all of them 0"] * (len(words) - len(held))
        words = [f"{word} ({where})" for word, where in zip(words, held, strict=True)]
    elif column.numbers is not None:
        words = [
            word if label == number else f"{word} ({short(number)})"
            for word, label, number in zip(
                words, column.labels, column.numbers[:-1, 0].tolist(), strict=True
            )
        ]
    if column.numbers is None and column.anything[-1]:
        words.append(_OTHER if words else "any value")
    text = _or(words or ["nothing that the model knows"])
    if isinstance(variable, Ordinal):
        is_told = variable.levels == column.labels
        order = (
            "this order" if is_told else f"the order {_and(map(repr, variable.levels))}"
        )
        text += f", in {order}"
    if column.numbers is not None and column.accepts_unknown:
        number = column.numbers[-1, 0]
        place = "all of them 0" if isinstance(variable, OneHot) else short(number)
        text += f"; any other value is {place}"
    return text


def _rule(column: Column, rule: Rule) -> str:
    """Say in one line what a rule allows."""
    words = list(_moves(column, rule))
    if rule.condition is not None:
        words.append(f"for both {_met(rule.condition)}")
    return ", and ".join(words) or "must agree"


def _moves(column: Column, rule: Rule) -> Iterable[str]:
    if rule.is_free:
        yield f"may be {_anything(column, rule)}"
    if rule.among is not None:
        yield f"may be any of {_or(map(repr, rule.among))} if it is one of them"
    if rule.amount is not None:
        yield _amount(column, rule.amount)
    if rule.price is not None and rule.price.weight is not None:
        yield _price(column, rule.price)
    if rule.may_miss:
        yield "may be missing for one and known for the other"


def _price(column: Column, price: Price) -> str:
    """Say what it costs to differ in a variable."""
    weight = price.weight
    if isinstance(weight, Table):
        costs = [
            f"{one!r} and {other!r} for {short(cost)}"
            for one, other, cost in weight.pairs
        ]
        return f"may be exchanged: {_and(costs)}"
    assert weight is not None
    if weight.size == 0:
        return f"may be {_anything(column, Rule(is_free=True))} for nothing"
    if price.norm == "l0":
        return f"may be anything else for {short(weight.size)}"
    if isinstance(column, Numbers):
        unit = "unit"
        if weight.unit and column.variable.sd is not None:
            unit = f"standard deviation of {short(column.variable.sd)}"
        return f"may differ, each {unit} for {short(weight.size)}"
    if isinstance(column.variable, Ordinal):
        return f"may differ, each level for {short(weight.size)}"
    return f"may be another value for {short(weight.size)}"


def _budget(way: Sequence[Rule]) -> list[str]:
    """Say how much may differ at the same time."""
    prices = [rule.price for rule in way if rule.price is not None]
    if not prices:
        return []
    limit = short(prices[0].limit)
    if prices[0].norm == "count":
        if prices[0].limit >= len(prices):
            return []
        return [f"and at most {limit} of these at the same time"]
    words = {
        "l1": "their sum is at most {}",
        "l2": "the root of the sum of their squares is at most {}",
        "linf": "each of them is at most {}",
        "l0": "the sum of those that differ is at most {}",
    }
    return [f"and of these costs {words[prices[0].norm].format(limit)}"]


def _anything(column: Column, rule: Rule) -> str:
    if isinstance(column, Numbers):
        return _numbers(column, "any")
    # Ask the checker itself what everything is.
    free = Rule(is_free=True, is_open=rule.is_open)
    reach = reach_of(column, free, np.zeros(1))
    words = [repr(label) for label in column.labels]
    words.append(_OTHER if column.labels else "any value")
    return _or(w for w, is_in in zip(words, reach.codes[0], strict=True) if is_in)


def _amount(column: Column, amount: Step | Range) -> str:
    only = ""
    if isinstance(column, Numbers):
        low, high = column.variable.lower, column.variable.upper
        if low is not None or high is not None:
            only = f", and must be {_numbers(column)}"
        elif column.integer:
            only = ", in whole numbers"
    if isinstance(amount, Range):
        low, high = short(amount.low), short(amount.high)
        return f"may be any number from {low} to {high} if it is one of them{only}"
    size, unit = max(amount.below, amount.above), amount.unit
    text = f"{short(size)}{'%' if unit == '%' else ''}"
    if isinstance(column, Codes):
        text += " levels"
    elif unit == "sd":
        text += " standard deviations"
        if column.variable.sd is not None:
            sd = column.variable.sd
            text += f" of {short(sd)}, that is {short(size * sd)}"
    if amount.below == amount.above:
        return f"may differ by up to {text}{only}"
    return f"may be up to {text} {'lower' if amount.below else 'higher'}{only}"


def _met(condition: Between | OneOf) -> str:
    if isinstance(condition, OneOf):
        return f"is {_or(map(repr, condition.labels))}"
    return f"is {condition.plain()}"
