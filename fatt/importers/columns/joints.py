"""Columns computed of several others, once all but one of these are fixed.

Then such a column is a function of the last one: numbers pass steps that are monotone
between known edges, categories have a number each. So a model that computes a ratio is,
for people with one income, an ordinary model of their debt.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from fatt.ensemble import Categorical, Ensemble, Feature, Numeric
from fatt.ensemble.joint import (
    Fixed,
    Formula,
    Operation,
    Operator,
    Read,
    combine,
    evaluate,
    in_words,
    key_of,
    places_of,
)
from fatt.errors import Arg, SpecError, UnsupportedModelError
from fatt.importers.columns.algebra import (
    Coded,
    Column,
    Floats,
    Mapped,
    Same,
    Step,
    around,
    below,
    cuts_of,
    identity,
    pieces,
)
from fatt.importers.columns.pullback import pull_back


@dataclass(frozen=True)
class Beside(Step):
    """A number and a constant, added, subtracted, multiplied or divided.

    Attributes
    ----------
    divides
        Whether the constant is divided by the number: of zero the sign counts then.
    """

    divides: bool = False


def with_fixed(ensemble: Ensemble, fixed: Fixed) -> Ensemble:
    """Return the model of people in whom only some columns move.

    Its features are those of the model and, behind them, the computed columns in which
    nothing moves, as plain columns of numbers.

    Parameters
    ----------
    ensemble
        The model.
    fixed
        What is fixed.

    Raises
    ------
    SpecError
        If a similar person has a zero by which the model divides, or a computed number
        that it refuses.
    """
    features: list[Feature] = list(ensemble.features)
    asked = features.copy()
    columns: list[Column] = [Same(index) for index in range(len(features))]
    computed = [_plain(ensemble, index) for index in range(len(ensemble.joints))]
    made: list[Column] = []
    still: list[Numeric] = []
    for index, (joint, place) in enumerate(
        zip(ensemble.joints, fixed.moving, strict=True)
    ):
        if place is None:
            made.append(Same(len(features) + len(still)))
            still.append(computed[index])
            continue
        feature = features[place]
        if isinstance(feature, Categorical):
            made.append(_coded(joint.formula, place, feature, fixed.values))
            continue
        # Cells may end between whole numbers.
        asked[place] = msgspec.structs.replace(asked[place], integer=False)
        features[place] = feature = _within(feature, fixed, place)
        # In two ways now: as it is, and as it is computed with.
        columns[place] = Mapped(source=place, function=identity)
        try:
            made.append(_mapped(joint.formula, place, feature, fixed.values))
        except SpecError as error:
            words = in_words(joint.formula, ensemble.features)
            raise SpecError(f"the model computes {words}, and {error}") from error
    plain = replace(ensemble, features=(*asked, *computed), joints=())
    pulled = pull_back(
        plain,
        features=[*features, *still],
        columns=[*columns, *made],
        inputs=ensemble.inputs,
        source=ensemble.source,
    )
    for place in {one for one in fixed.moving if one is not None}:
        _require_all_taken(ensemble, pulled, fixed, place)
    return pulled


def _plain(ensemble: Ensemble, index: int) -> Numeric:
    """Return a computed column as a feature, with a name of its own."""
    joint = ensemble.joints[index]
    words = in_words(joint.formula, ensemble.features)
    return msgspec.structs.replace(joint.feature, name=f"computed {index}: {words}")


def _within(feature: Numeric, fixed: Fixed, place: int) -> Numeric:
    """Return a feature between the numbers to which people may move."""
    low, high = float(fixed.lower[place]), float(fixed.upper[place])
    return msgspec.structs.replace(
        feature, lower=max(feature.lower, low), upper=min(feature.upper, high)
    )


def _require_all_taken(
    ensemble: Ensemble, pulled: Ensemble, fixed: Fixed, place: int
) -> None:
    """Refuse numbers that the model refuses: without an answer nothing is proved."""
    before, after = ensemble.features[place], pulled.features[place]
    is_narrower = before.accepts_missing and not after.accepts_missing
    if isinstance(before, Numeric):
        own = _within(before, fixed, place)
        is_narrower |= own.lower < after.lower or own.upper > after.upper
    elif isinstance(after, Categorical):
        is_narrower |= before.accepts_unknown and not after.accepts_unknown
    if is_narrower:
        raise SpecError(
            f"the model refuses what it computes of {before.name!r} for some who are "
            "similar, so that they have no answer: name a smaller range, or say in the "
            "schema what the column can be."
        )


def _coded(formula: Formula, place: int, feature: Categorical, values: Floats) -> Coded:
    """Return a computed column as a number for each category."""
    rows = np.tile(values, (feature.n_codes + 1, 1))
    rows[:, place] = [*range(feature.n_codes), math.nan]
    numbers = evaluate(formula, rows)
    return Coded(source=place, table=numbers[:-1], missing=float(numbers[-1]))


def _mapped(formula: Formula, place: int, feature: Numeric, values: Floats) -> Mapped:
    """Return a computed column as a function of the number that moves."""
    column: Mapped = Mapped(source=place, function=identity)
    for step in steps_along(formula, place, values):
        if isinstance(step, Beside) and step.divides:
            _refuse_zeros(column, feature)
        column, _ = step.after(column, feature)
    ends = pieces(column.edges, feature.lower, feature.upper)
    first, last = (np.isnan(column.function(end)) for end in ends)
    if (first != last).any():
        raise SpecError(
            f"that overflows for some who are similar in {feature.name!r}: name a "
            "smaller range, or say in the schema what the column can be."
        )
    absent = values.copy()
    absent[place] = math.nan
    return replace(column, missing=float(evaluate(formula, absent[np.newaxis])[0]))


def _refuse_zeros(column: Mapped, feature: Numeric) -> None:
    """Refuse numbers of which the column is zero, whose sign would count."""
    cuts = cuts_of(column, feature, np.array([below(0.0), 0.0]))
    ends = np.clip(np.append(cuts, feature.upper), feature.lower, feature.upper)
    if (column.function(ends) == 0).any():
        raise SpecError(
            f"divides by zero for some who are similar in {feature.name!r}, where even "
            "the sign of zero counts: exclude such numbers in the schema, "
            f"as by {Arg('schema', (feature.name, 'Number', {'lower': 1}))}, or name "
            "a smaller range."
        )


def steps_along(formula: Formula, place: int, values: Floats) -> tuple[Step, ...]:
    """Return the steps from one column to what is computed of it and of fixed numbers.

    Parameters
    ----------
    formula
        How the column is computed.
    place
        The feature that moves, a `Numeric`.
    values : ndarray of shape (n_features,)
        What the others hold.

    Raises
    ------
    UnsupportedModelError
        If the column stands twice in the formula, other than as a power of itself.
    SpecError
        If a fixed number is infinite.
    """
    match formula:
        case Read():
            return tuple(_beside(one, of, left=True) for one, of in formula.operations)
        case Operation():
            moves = [place in places_of(one) for one in (formula.left, formula.right)]
            own = _moving(formula, place)
            if all(moves):
                sides = functools.partial(_product, formula, own, values)
                # On each side of zero the size of a power grows with that of its base.
                step = Step(function=sides, edges=(0.0,))
            else:
                other = formula.right if moves[0] else formula.left
                constant = _value(other, values)
                step = _beside(formula.operator, constant, left=moves[0])
            return (*steps_along(own, place, values), step)
    raise AssertionError("no column moves in a constant")


def _value(formula: Formula, values: Floats) -> float:
    [value] = evaluate(formula, values[np.newaxis])
    if math.isinf(value):
        raise SpecError("a fixed part of that is infinite: leave such people out.")
    return float(value)


def _beside(operator: Operator, constant: float, *, left: bool) -> Beside:
    """Return the step that computes with a number and, to one side, a constant."""
    divides = operator == "/" and not left
    # Multiplied by zero, or divided by it, each side of zero is for itself.
    is_cut = divides or (operator in "*/" and constant == 0)

    def function(numbers: Floats) -> Floats:
        sides = (numbers, constant) if left else (constant, numbers)
        return combine(operator, *map(np.asarray, sides))

    return Beside(
        function=function,
        edges=around([0.0]) if is_cut else (),
        divides=divides and constant != 0,
    )


def _moving(formula: Operation, place: int) -> Formula:
    """Return the part of an operation in which a column moves; of a power, its base."""
    sides = [one for one in (formula.left, formula.right) if place in places_of(one)]
    if len(sides) == 1:
        return sides[0]
    factors = list(_moving_factors(formula, place))
    if formula.operator != "*" or len(set(map(key_of, factors))) != 1:
        raise UnsupportedModelError(
            "a column stands twice in what a step computes, other than as a power, so "
            "that its order is not known. Make what it computes a column of the table, "
            "and train without it."
        )
    return factors[0]


def _moving_factors(formula: Formula, place: int) -> Iterator[Formula]:
    """Yield the factors of a product in which a column moves."""
    match formula:
        case Operation(operator="*"):
            yield from _moving_factors(formula.left, place)
            yield from _moving_factors(formula.right, place)
        case _ if place in places_of(formula):
            yield formula


def _product(
    formula: Formula, base: Formula, values: Floats, numbers: Floats
) -> Floats:
    """Return a product, given what its base is."""
    if key_of(formula) == key_of(base):
        return numbers
    if not isinstance(formula, Operation) or formula.operator != "*":
        return np.full(numbers.shape, _value(formula, values))
    left, right = (
        _product(one, base, values, numbers) for one in (formula.left, formula.right)
    )
    return combine("*", left, right)


def require_followed(formula: Formula, features: Sequence[Feature]) -> None:
    """Refuse a formula that would not be followed, whatever is fixed.

    Raises
    ------
    UnsupportedModelError
        If a column of numbers stands twice in it, other than as a power of itself.
    """
    for place in places_of(formula):
        part = formula
        try:
            while isinstance(features[place], Numeric) and isinstance(part, Operation):
                part = _moving(part, place)
        except UnsupportedModelError as error:
            words = in_words(formula, features)
            raise UnsupportedModelError(f"{words}: {error}") from error
