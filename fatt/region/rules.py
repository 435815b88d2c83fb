"""A similarity bound to the variables of a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Numeric
from fatt.ensemble.encoding import why_never_missing
from fatt.ensemble.features import Label
from fatt.errors import Arg, SpecError, hint
from fatt.region.amounts import (
    Amount,
    Between,
    Condition,
    Range,
    Step,
    from_to,
    is_number,
)
from fatt.region.costs import Budget
from fatt.region.formula import Formula, Order, parse_formula, parse_order
from fatt.region.kinds import AnyVariable, Category, Number, Ordinal
from fatt.region.schema import Schema
from fatt.region.similarity import ANY, Similarity
from fatt.region.variables import Variables

Codes = NDArray[np.bool_]
Said = TypeVar("Said")


@dataclass
class Rules:
    """What one similarity says of each variable, by the variable's index.

    Attributes
    ----------
    steps
        Noise of numeric variables, in the column's units or in hundredths.
    ranges
        Numbers that are interchangeable.
    free
        Variables that may be any number, or any category that somebody may have, or
        one of the codes in `sets`.
    levels
        Noise of ordinal variables, in levels, and the codes from lowest to highest.
    sets
        Codes that are interchangeable.
    between, among
        Conditions: the smallest and the largest number, or the codes.
    missing
        Variables that may become missing, and known.
    budget
        How much may be spent on differing, which `tariffs` adds; None if only the box
        counts.
    formulas
        How columns are computed that move along, by name.
    orders
        Which columns are in order for everybody.
    """

    steps: dict[int, Step] = field(default_factory=dict)
    ranges: dict[int, Range] = field(default_factory=dict)
    free: list[int] = field(default_factory=list)
    levels: dict[int, tuple[Step, NDArray[np.int64]]] = field(default_factory=dict)
    sets: dict[int, Codes] = field(default_factory=dict)
    between: dict[int, tuple[float, float]] = field(default_factory=dict)
    among: dict[int, Codes] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)
    formulas: dict[str, Formula] = field(default_factory=dict)
    orders: list[Order] = field(default_factory=list)
    budget: Budget | None = None

    @property
    def moving(self) -> set[int]:
        """The variables that may change."""
        named = (self.steps, self.ranges, self.free, self.levels, self.sets)
        return {index for some in (*named, self.missing) for index in some}


def bind(similarity: Similarity, variables: Variables) -> Rules:
    """Return what the similarity says of the variables.

    Raises
    ------
    SpecError
        If it names something that does not exist, or says something of a variable that
        has no meaning for it.
    """
    rules = Rules()
    varied = by_variable("vary", similarity.vary, variables)
    for index, values in varied.items():
        if isinstance(values, tuple):
            rules.sets[index] = _interchangeable(index, values, variables)
            continue
        rules.free.append(index)
        feature = variables.ensemble.features[index]
        if values == ANY and isinstance(feature, Categorical):
            unknown = np.arange(feature.n_codes) == feature.n_codes - 1
            rules.sets[index] = unknown & feature.may_be_unknown
    for index in _followers(similarity, variables):
        # Which of all levels it moves to, combinations of variables tell.
        rules.free.append(index)
        n_codes = variables.ensemble.features[index].n_codes
        rules.sets[index] = np.ones(n_codes, dtype=bool)
        varied[index] = None
    _add_ties(rules, similarity, variables.schema)
    computed = by_variable("follow", rules.formulas.items(), variables)
    is_named = isinstance(similarity.noise, tuple)
    for index, amount in _amounts(
        similarity, {**varied, **computed}, variables
    ).items():
        _add_noise(rules, index, amount, variables, is_named=is_named)
    between, among = conditions(similarity.where, variables)
    rules.between.update(between)
    rules.among.update(among)
    names = [(name, None) for name in similarity.missing]
    for index in by_variable("missing", names, variables):
        feature = variables.ensemble.features[index]
        if not feature.accepts_missing:
            is_open = index in variables.open_below | variables.open_above
            raise SpecError(
                f"missing names {feature.name!r}, and {why_never_missing(is_open)}; "
                "leave it out."
            )
        rules.missing.append(index)
    return rules


def _followers(similarity: Similarity, variables: Variables) -> Iterable[int]:
    """Return the categories that move only if something else does."""
    said = [(name, how) for name, how in similarity.follow if not isinstance(how, str)]
    return by_variable("follow", said, variables)


def _add_ties(rules: Rules, similarity: Similarity, schema: Schema) -> None:
    """Read which columns are computed of others, and which are in order."""
    for name, how in similarity.follow:
        if isinstance(how, str):
            rules.formulas[name] = parse_formula(how, name)
    said = dict.fromkeys([*schema.exist, *similarity.exist])
    rules.orders += [parse_order(one) for one in said if isinstance(one, str)]


def conditions(
    where: Iterable[tuple[str, Condition]], variables: Variables
) -> tuple[dict[int, tuple[float, float]], dict[int, Codes]]:
    """Return which numbers and which codes meet conditions, by variable.

    Raises
    ------
    SpecError
        If a condition names nothing that exists, or no value meets it.
    """
    between: dict[int, tuple[float, float]] = {}
    among: dict[int, Codes] = {}
    for index, met in by_variable("where", where, variables).items():
        if isinstance(variables.ensemble.features[index], Numeric):
            between[index] = _interval(index, met, variables)
        else:
            among[index] = _codes_meeting(index, met, variables)
    return between, among


def by_variable(
    key: str, said: Iterable[tuple[str, Said]], variables: Variables
) -> dict[int, Said]:
    """Return what is said of each variable, by index; names of columns count too."""
    schema = variables.schema
    places = {variable.name: place for place, variable in enumerate(schema.variables)}
    found: dict[int, Said] = {}
    for name, what in said:
        index = places[schema.find(name, said_in=key).name]
        if found.get(index, what) != what:
            raise SpecError(
                f"{key} says two things of {schema.variables[index].name!r}, once as "
                f"{name!r}; say one."
            )
        found[index] = what
    return found


def _amounts(
    similarity: Similarity, varied: Mapping[int, object], variables: Variables
) -> dict[int, Amount]:
    if isinstance(similarity.noise, tuple):
        amounts = by_variable("noise", similarity.noise, variables)
        for index in amounts.keys() & varied.keys():
            name = variables.schema.variables[index].name
            raise SpecError(f"{name!r} is named in noise and in vary; name it in one.")
        return amounts
    numeric = [
        index
        for index, variable in enumerate(variables.schema.variables)
        if isinstance(variable, Number) and index not in varied
    ]
    if not numeric:
        raise SpecError(
            f"noise is {similarity.noise.plain()!r} for all numeric variables, and "
            "there are none; leave it out."
        )
    if isinstance(similarity.noise, Step) and similarity.noise.unit == "sd":
        _require_spread(
            similarity.noise, [variables.schema.variables[i] for i in numeric]
        )
    return dict.fromkeys(numeric, similarity.noise)


def _require_spread(amount: Step, numbers: Sequence[AnyVariable]) -> None:
    """Refuse standard deviations that are all 0; a single one is simply no noise."""
    names = [one.name for one in numbers if isinstance(one, Number) and one.sd == 0]
    if len(names) == len(numbers):
        raise SpecError(
            f"noise is {amount.plain()!r} for all numeric variables, and in each of "
            f"them ({', '.join(names)}) all rows have the same value: their standard "
            "deviations are 0, and nothing could change. Pass more people, or write "
            "the noise as a number."
        )


def _add_noise(
    rules: Rules, index: int, amount: Amount, variables: Variables, *, is_named: bool
) -> None:
    variable = variables.schema.variables[index]
    if isinstance(variable, Number):
        if isinstance(amount, Range):
            rules.ranges[index] = amount
            return
        if amount.unit != "sd":
            rules.steps[index] = amount
            return
        if variable.sd is None:
            raise SpecError(
                f"noise of {variable.name!r} is {amount.plain()!r}, and its standard "
                "deviation is not known; set it: "
                f"{Arg('schema', (variable.name, 'Number', {'sd': ...}))}."
            )
        if variable.sd == 0 and is_named:
            raise SpecError(
                f"noise of {variable.name!r} is {amount.plain()!r}, and its standard "
                "deviation is 0: all rows have the same value, and nothing could "
                "change. Pass more people, write the noise as a number, or leave it "
                "out."
            )
        rules.steps[index] = Step(
            amount.below * variable.sd, amount.above * variable.sd
        )
    elif isinstance(variable, Ordinal):
        if isinstance(amount, Range) or amount.unit:
            raise SpecError(
                f"noise of {variable.name!r} is {amount.plain()!r}, and the variable "
                "is ordinal; write by how many levels it may move, such as 1."
            )
        order = [variables.code(index, level) for level in variable.levels]
        rules.levels[index] = amount, np.array(order, dtype=np.int64)
    else:
        raise SpecError(
            f"noise names {variable.name!r}, which is no number; write "
            f"{Arg('vary', [variable.name])}."
        )


def _interchangeable(
    index: int, values: tuple[Label, ...], variables: Variables
) -> Codes:
    if isinstance(variables.schema.variables[index], Number):
        raise no_values(index, values, variables, "vary")
    return codes_of(index, values, "vary", variables)


def no_values(
    index: int, values: tuple[Label, ...], variables: Variables, key: str
) -> SpecError:
    """Say why a number is not one of the values that are listed."""
    variable = variables.schema.variables[index]
    assert isinstance(variable, Number)
    low, high = variable.bounds
    for value in values:
        if isinstance(value, str) or not low <= value <= high:
            return SpecError(
                f"{key} of {variable.name!r} lists {value!r}, and {variable.name!r} "
                f"is a number, {from_to(low, high)}; list such numbers."
            )
    return SpecError(
        f"{key} lists values of {variable.name!r}, a number that is also moved by "
        "an amount or to any number; list its values there as well."
    )


def codes_of(
    index: int, labels: Collection[Label], key: str, variables: Variables
) -> Codes:
    """Return which codes of a variable some labels are."""
    feature = variables.ensemble.features[index]
    chosen = np.zeros(feature.n_codes, dtype=bool)
    for label in labels:
        code = variables.code(index, label)
        if code is None:
            assert isinstance(feature, Categorical)
            raise SpecError(
                f"{key} of {feature.name!r} names {label!r}, which is none of its "
                f"values. {hint(label, feature.categories)}"
            )
        chosen[code] = True
    _require_all_alike(index, labels, key, variables)
    return chosen


def _require_all_alike(
    index: int, labels: Collection[Label], key: str, variables: Variables
) -> None:
    """Refuse to name some of the texts that the model cannot tell apart.

    The others would be taken for them, and be called similar although nobody said so.
    """
    feature = variables.ensemble.features[index]
    variable = variables.schema.variables[index]
    if not isinstance(feature, Categorical) or not isinstance(variable, Category):
        return
    named = {str(label) for label in labels}
    alike = [text for text in variable.texts if feature.code_of(text) is None]
    left_out = [text for text in alike if text not in named]
    if left_out and len(left_out) < len(alike):
        one = next(text for text in alike if text in named)
        raise SpecError(
            f"{key} of {feature.name!r} names {one!r}, which the model cannot tell "
            f"from {', '.join(map(repr, left_out))}, and people have these as well; "
            "name all of them, or none."
        )


def _interval(index: int, met: Condition, variables: Variables) -> tuple[float, float]:
    variable = variables.schema.variables[index]
    assert isinstance(variable, Number)
    name, (lowest, highest) = variable.name, variable.bounds
    if isinstance(met, Between):
        low, high = met.closed()
        _require_somebody(name, met, not high < lowest and not low > highest)
        return low, high
    try:
        (label,) = met.labels
        number = float(label)
    except ValueError:
        number = np.nan
    if np.isnan(number) or isinstance(label, bool):
        raise SpecError(
            f"where of {name!r} is {met.plain()!r}, and {name!r} is a number; write "
            "'<= 37', '> 37', '18..30' or '== 37'."
        )
    _require_somebody(name, met, lowest <= number <= highest)
    return number, number


def _codes_meeting(index: int, met: Condition, variables: Variables) -> Codes:
    feature = variables.ensemble.features[index]
    assert isinstance(feature, Categorical)
    if not isinstance(met, Between):
        return codes_of(index, met.labels, "where", variables)
    if not all(is_number(category) for category in feature.categories):
        raise SpecError(
            f"where of {feature.name!r} is {met.plain()!r}, and its values are no "
            f"numbers; name them in a list. {hint('', feature.categories)}"
        )
    if not feature.labelled:
        raise SpecError(
            f"where of {feature.name!r} is {met.plain()!r}, and the model does not "
            "know all of its codes; name those that are meant in a list. "
            f"{hint('', feature.categories)}"
        )
    low, high = met.closed()
    meeting = [low <= float(x) <= high for x in feature.categories]
    _require_somebody(feature.name, met, any(meeting))
    return np.array([*meeting, False])


def _require_somebody(name: str, met: Condition, is_met: bool) -> None:
    if not is_met:
        raise SpecError(
            f"where of {name!r} is {met.plain()!r}, which no value it can have meets; "
            "correct the condition or the schema's bounds."
        )
