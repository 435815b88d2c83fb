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
    if condition == "never":
        return False
    match = _EXTRAS.match(condition)
    assert match is not None
    plain, extras = match.groups()
    name, _, what = plain.partition(" ")
    value = person[name]
    if value is not None and value is not ...:
        return fits(value, what)
    if value is ... and what.startswith(_FOR_OTHERS):
        return True
    word = "missing" if value is None else "other"
    if extras is None and what.startswith("is "):
        extras = what.removeprefix("is ")
    return extras is not None and word in extras.split(" or ")


#: What is so of categories that were never seen.
_FOR_OTHERS = ("is not ", "is none of ", "is any category")
_BETWEEN = re.compile(r"is (?:more than (\S+))?(?: and )?(?:at most (\S+))?$")


def fits(value: Any, what: str) -> bool:
    """Tell whether a number or a category is what some words say."""
    sign, _, operand = what.partition(" ")
    between = _BETWEEN.match(what)
    found = False
    if sign in {"<=", ">"}:
        found = (value <= float(operand)) == (sign == "<=")
    elif sign == "in":
        found = is_listed(value, operand)
    elif what.startswith("is none of "):
        found = not is_listed(value, operand.removeprefix("none of "))
    elif what.startswith("is not "):
        found = str(value) != operand.removeprefix("not ")
    elif between is not None:
        low, high = between.groups()
        above = low is None or value > float(low)
        found = above and (high is None or value <= float(high))
    else:
        found = operand in {"any category", "any number", str(value)}
    return bool(found)


def is_listed(value: Any, names: str) -> bool:
    """Tell whether a value is in a list of names and ranges."""
    for name in names.strip("{}").split(", "):
        first, _, last = name.partition(" to ")
        if str(value) == name or (last and int(first) <= value <= int(last)):
            return True
    return False


_SENTENCE = re.compile(r"^If (.*), the answer is (.*)\.$")


def obey(text: str, person: dict[str, Any]) -> list[str]:
    """Return what the sentences that are about a person say."""
    answers = []
    for line in text.splitlines():
        if line.startswith("The answer is always "):
            return [line.removeprefix("The answer is always ").removesuffix(".")]
        match = _SENTENCE.match(line)
        assert match is not None, line
        conditions, answer = match.groups()
        parts = re.split(r", (?:and )?(?=f\d+ )", conditions)
        # In a sentence extras stand without brackets.
        plain = [
            part
            if part.endswith("is other or missing")
            else re.sub(r" or (missing|other or missing|other)$", r" (or \1)", part)
            for part in parts
        ]
        if all(holds(part, person) for part in plain):
            answers.append(answer)
    return answers
