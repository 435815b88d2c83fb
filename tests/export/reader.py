"""Somebody who follows an exported text by hand."""

from __future__ import annotations

import re
from typing import Any

_BRANCH = re.compile(r"^((?:│   |    )*)[├└]── (.*)$")
_EXTRAS = re.compile(r"^(.*?)(?: \(or ([^()]*)\))?$")


def follow(text: str, person: dict[str, Any]) -> str:
    """Return the words of the leaf to which a text about one tree leads a person.

    The person's values are numbers, texts, None if missing, and `...` for a category
    that was never seen.
    """
    depth = 0
    for line in text.splitlines():
        if line.startswith("always → "):
            return line.removeprefix("always → ")
        match = _BRANCH.match(line)
        assert match is not None, line
        indent, rest = match.groups()
        condition, _, leaf = rest.partition(" → ")
        if len(indent) == 4 * depth and holds(condition, person):
            if leaf:
                return leaf
            depth += 1
    raise AssertionError("the text leads nowhere")


def said(text: str) -> tuple[list[str], list[str]]:
    """Return the questions that a text asks, and what its leaves say."""
    lines = [line.lstrip("│ ") for line in text.splitlines()]
    questions = [line[4:].partition(" → ")[0] for line in lines if line[0] == "├"]
    return questions, [line.partition(" → ")[2] for line in lines if " → " in line]


def holds(condition: str, person: dict[str, Any]) -> bool:
    """Tell whether a condition in words holds for a person."""
    match = _EXTRAS.match(condition)
    assert match is not None
    plain, extras = match.groups()
    name, _, what = plain.partition(" ")
    value = person[name]
    if value is None or value is ...:
        word = "missing" if value is None else "other"
        if extras is None and what.startswith("is "):
            extras = what.removeprefix("is ")
        return extras is not None and word in extras.split(" or ")
    sign, _, operand = what.partition(" ")
    if sign == "<=":
        return bool(value <= float(operand))
    if sign == ">":
        return bool(value > float(operand))
    if sign == "in":
        return str(value) in operand.strip("{}").split(", ")
    assert sign == "is", condition
    return str(value) == operand
