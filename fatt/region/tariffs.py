"""What it costs to differ, bound to the variables of a model: budgets of alternatives.

A distance lets variables move, as far as its limit allows each of them alone; what all
of them may cost together is the budget. `fatt.region.costs` says how it is counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Numeric
from fatt.errors import Arg, SpecError
from fatt.region.amounts import Step
from fatt.region.costs import (
    COST,
    COUNT,
    FREE,
    LINEAR,
    SQUARE,
    STEPS,
    TABLE,
    Budget,
)
from fatt.region.distance import Distance, Table, Weight
from fatt.region.kinds import Number, Ordinal
from fatt.region.rules import Rules, by_variable, codes_of, no_values
from fatt.region.similarity import Similarity
from fatt.region.variables import Variables

#: Of a variable with more codes no table is made: it has their square of entries.
_MOST_CODES = 2048


def add_budget(
    rules: Rules, similarity: Similarity, variables: Variables, *, counts: bool = False
) -> None:
    """Add to the rules of a similarity how much may be spent on differing.

    Parameters
    ----------
    rules
        What `bind` returned. A distance adds where its variables may go.
    similarity
        Who is similar to whom.
    variables
        The model's variables.
    counts
        Whether the attributes that differ are counted even if all of them may.

    Raises
    ------
    SpecError
        If a distance has no meaning for a variable.
    """
    if similarity.distance is not None:
        _add_distance(rules, similarity.distance, variables)
    most, moving = similarity.at_most, rules.moving
    # As many as there are may all change: that is the box itself.
    if most is not None and (counts or most < len(moving)):
        each = np.zeros(len(variables.ensemble.features), dtype=COST)
        each[sorted(moving)] = _cost(COUNT, price=1)
        rules.budget = Budget(most, each, np.zeros(0, dtype=np.int64))


def _add_distance(rules: Rules, distance: Distance, variables: Variables) -> None:
    """Add where people may go by a distance, and what that costs."""
    each = np.zeros(len(variables.ensemble.features), dtype=COST)
    tables = [np.zeros(0, dtype=np.int64)]
    weights = by_variable("distance", distance.weights, variables)
    for index, weight in weights.items():
        name = variables.schema.variables[index].name
        for key, others in (
            ("vary", [*rules.free, *rules.sets]),
            ("missing", rules.missing),
        ):
            if index in others:
                raise SpecError(
                    f"{name!r} is named in {key} and in distance; name it in one."
                )
        add = (
            _add_number
            if isinstance(variables.ensemble.features[index], Numeric)
            else _add_codes
        )
        cost, table = add(rules, index, weight, distance, variables)
        cost["table"] = sum(map(len, tables))
        each[index] = cost
        tables.append(table)
    if (each["kind"] != FREE).any():
        rules.budget = Budget(STEPS, each, np.concatenate(tables))


def _cost(kind: int, scale: float = 0.0, price: int = 0) -> Any:
    return np.array((scale, kind, price, 0), dtype=COST)[()]


def _add_number(
    rules: Rules,
    index: int,
    weight: Weight | Table,
    distance: Distance,
    variables: Variables,
) -> tuple[Any, NDArray[np.int64]]:
    """Add where a number may go, and return what that costs."""
    variable, nothing = variables.schema.variables[index], np.zeros(0, dtype=np.int64)
    assert isinstance(variable, Number)
    if isinstance(weight, Table):
        raise no_values(index, weight.labels, variables, "distance")
    size = _per_unit(weight, variable)
    is_moved = index in rules.steps or index in rules.ranges
    if size == 0 or distance.norm == "l0":
        if not is_moved:
            rules.free.append(index)
        if size == 0:
            return _cost(FREE), nothing
        return _cost(COUNT, price=int(distance.steps(size))), nothing
    reach, step = distance.reach(size), rules.steps.get(index)
    if step is not None and not step.unit:
        rules.steps[index] = Step(min(step.below, reach), min(step.above, reach))
    elif not is_moved:
        rules.steps[index] = Step(reach, reach)
    elif distance.norm == "linf":
        raise SpecError(
            f"{variable.name!r} has noise in hundredths or a range, and a distance "
            "with norm 'linf'; write the noise as a number, or leave one of them out."
        )
    if distance.norm == "linf":
        return _cost(FREE), nothing
    kind = SQUARE if distance.norm == "l2" else LINEAR
    return _cost(kind, distance.scale(size)), nothing


def _per_unit(weight: Weight, variable: Number) -> float:
    """Return what a unit of a number costs."""
    if not weight.unit or weight.size == 0:
        return weight.size
    if not variable.sd:
        raise SpecError(
            f"distance of {variable.name!r} is {weight.plain()!r}, and its standard "
            f"deviation is {'not known' if variable.sd is None else 0}; write what a "
            "unit costs, or set it: "
            f"{Arg('schema', (variable.name, 'Number', {'sd': ...}))}."
        )
    return weight.size / variable.sd


def _add_codes(
    rules: Rules,
    index: int,
    weight: Weight | Table,
    distance: Distance,
    variables: Variables,
) -> tuple[Any, NDArray[np.int64]]:
    """Add which codes a category may take, and return what that costs."""
    variable, nothing = variables.schema.variables[index], np.zeros(0, dtype=np.int64)
    if isinstance(weight, Table):
        return _cost(TABLE), _add_table(rules, index, weight, distance, variables)
    if weight.unit:
        raise SpecError(
            f"distance of {variable.name!r} is {weight.plain()!r}, and it is no "
            "number; write a cost without 'sd'."
        )
    is_moved = index in rules.levels
    if weight.size == 0:
        if not is_moved:
            rules.free.append(index)
        return _cost(FREE), nothing
    if isinstance(variable, Ordinal) and distance.norm != "l0":
        return _add_order(rules, index, weight.size, distance, variables)
    price = int(distance.steps(weight.size))
    if price <= STEPS and not is_moved:
        rules.free.append(index)
    if distance.norm == "linf":
        return _cost(FREE), nothing
    return _cost(COUNT, price=price), nothing


def _add_order(
    rules: Rules, index: int, size: float, distance: Distance, variables: Variables
) -> tuple[Any, NDArray[np.int64]]:
    """Let an ordinal variable move, which costs the same for each level."""
    variable = variables.schema.variables[index]
    assert isinstance(variable, Ordinal)
    levels = [variables.code(index, level) for level in variable.levels]
    order = np.array(levels, dtype=np.int64)
    place = np.arange(len(order))
    away = np.abs(place[:, np.newaxis] - place)
    costs = distance.steps(size * away)
    most = float(away[costs <= STEPS].max())
    step, _ = rules.levels.get(index, (Step(most, most), order))
    rules.levels[index] = (Step(min(step.below, most), min(step.above, most)), order)
    if distance.norm == "linf":
        return _cost(FREE), np.zeros(0, dtype=np.int64)
    table = _blank_table(index, variables)
    table[np.ix_(order, order)] = costs
    return _cost(TABLE), table.ravel()


def _add_table(
    rules: Rules, index: int, table: Table, distance: Distance, variables: Variables
) -> NDArray[np.int64]:
    """Let the values that a table names be exchanged, and return what that costs."""
    members = codes_of(index, table.labels, "distance", variables)
    if index not in rules.levels:
        rules.sets[index] = members
    found = _blank_table(index, variables)
    for one, other, cost in table.pairs:
        here, there = (variables.code(index, label) for label in (one, other))
        steps = int(distance.steps(cost))
        if distance.norm == "linf":
            steps = 0 if steps <= STEPS else steps
        # Texts that the model cannot tell apart are one value.
        assert here is not None
        assert there is not None
        least = min(steps, int(found[here, there]))
        found[here, there] = found[there, here] = least
    return found.ravel()


def _blank_table(index: int, variables: Variables) -> NDArray[np.int64]:
    """Return costs by which no value can become another."""
    feature = variables.ensemble.features[index]
    if feature.n_codes > _MOST_CODES:
        raise SpecError(
            f"distance of {feature.name!r} is a table over {feature.n_codes:,} codes, "
            f"and at most {_MOST_CODES:,} are followed; write one cost for all of them."
        )
    table = np.full((feature.n_codes, feature.n_codes), STEPS + 1, dtype=np.int64)
    np.fill_diagonal(table, 0)
    return table
