"""The TOML form of a similarity."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from fatt.errors import SpecError, hint
from fatt.region.similarity import KEYS, Relation, Similarity, any_of

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(relation: Relation) -> str:
    """Return one ``[[similar]]`` table for each alternative."""
    tables = []
    for similarity in relation.alternatives:
        lines = ["[[similar]]"]
        lines += [f"{key} = {_write(v)}" for key, v in similarity.plain().items()]
        tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def from_toml(text: str) -> Relation:
    """Read what `to_toml` writes, strictly."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"the similarity is no valid TOML: {error}.") from None
    _check_keys(document, ("similar",), "the file")
    tables = document.get("similar")
    if not isinstance(tables, list) or not tables:
        raise SpecError("there is no [[similar]] table, which says who is similar.")
    alternatives = []
    for number, table in enumerate(tables, start=1):
        if not isinstance(table, Mapping):
            raise SpecError(f"similar number {number} is {table!r}; make it a table.")
        _check_keys(table, KEYS, f"[[similar]] table {number}")
        alternatives.append(Similarity(**table))
    return any_of(*alternatives)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise SpecError(
                f"{what} has the key {key!r}, which means nothing. {hint(key, known)}"
            )


def _write(value: Any) -> str:
    if isinstance(value, dict):
        items = [f"{_key(name)} = {_write(item)}" for name, item in value.items()]
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write, value))}]"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quote(name)


def _quote(text: str) -> str:
    """Quote as JSON does, which TOML reads, and escape what TOML alone forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
