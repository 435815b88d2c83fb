"""A similarity in plain words."""

from __future__ import annotations

from fatt.region.amounts import Amount, Range, short
from fatt.region.conditions import Condition, OneOf
from fatt.region.kinds import Category, Number, Ordinal
from fatt.region.schema import Schema
from fatt.region.similarity import Relation, Similarity


def describe(relation: Relation, schema: Schema | None) -> str:
    """Say in plain words who is similar; with a schema also in the columns' units."""
    return "\n".join(
        _describe(
            similarity, schema, "Or they are" if index else "Two persons are similar"
        )
        for index, similarity in enumerate(relation.alternatives)
    )


def _describe(similarity: Similarity, schema: Schema | None, start: str) -> str:
    lines = [f"- {line}" for line in _changes(similarity, schema)]
    conditions = [f"{name!r} {_met(met)}" for name, met in similarity.where]
    only = f" for both of them {' and '.join(conditions)}, and" if conditions else ""
    return "\n".join(
        [f"{start} if{only} they agree in everything, except that:", *lines]
    )


def _changes(similarity: Similarity, schema: Schema | None) -> list[str]:
    lines = []
    if isinstance(similarity.noise, tuple):
        amounts = similarity.noise
    elif schema is not None:
        # Named in vary, a number may be anything; the noise for all is for the others.
        varied = {schema.find(name).name for name, _ in similarity.vary}
        named = [name for name in schema.numeric if name not in varied]
        amounts = tuple((name, similarity.noise) for name in named)
    else:
        amounts = ()
        lines.append(f"every number {_moves(similarity.noise, None)}")
    for name, amount in amounts:
        variable = None if schema is None else schema.find(name)
        sd = variable.sd if isinstance(variable, Number) else None
        is_ordinal = isinstance(variable, Ordinal)
        lines.append(f"{name!r} {_moves(amount, sd)}{' levels' if is_ordinal else ''}")
    for name, values in similarity.vary:
        if values is None:
            lines.append(f"{name!r} may be anything{_beyond(name, schema)}")
        else:
            shown = ", ".join(map(repr, values))
            lines.append(f"the values {shown} of {name!r} are interchangeable")
    lines += [
        f"{name!r} may be missing for one and known for the other"
        for name in similarity.missing
    ]
    return lines


def _beyond(name: str, schema: Schema | None) -> str:
    variable = None if schema is None else schema.find(name)
    has_others = isinstance(variable, Category) and variable.others
    return ", also a value that the model does not know" if has_others else ""


def _moves(amount: Amount, sd: float | None) -> str:
    if isinstance(amount, Range):
        low, high = short(amount.low), short(amount.high)
        return f"may be any number from {low} to {high} if it is one of them"
    unit = {"": "", "sd": " standard deviations", "%": "%"}[amount.unit]
    if amount.unit == "sd" and sd is not None:
        unit += f" ({max(amount.below, amount.above) * sd:.6g})"
    if amount.below == amount.above:
        return f"may differ by up to {short(amount.above)}{unit}"
    if amount.below:
        return f"may be up to {short(amount.below)}{unit} lower"
    return f"may be up to {short(amount.above)}{unit} higher"


def _met(condition: Condition) -> str:
    if isinstance(condition, OneOf):
        return "is " + " or ".join(map(repr, condition.labels))
    return f"is {condition.plain()}"
