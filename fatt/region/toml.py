"""TOML: tables of one name, read strictly and written, and values in a line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from fatt.errors import SpecError, hint

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_tables(name: str, tables: Iterable[Mapping[str, Any]]) -> str:
    """Return tables of one name, as `read_tables` reads them back."""
    return "\n".join(
        "\n".join([f"[[{name}]]", *(f"{key} = {in_toml(v)}" for key, v in one.items())])
        + "\n"
        for one in tables
    )


def read_tables(
    name: str, text: str, *, sections: tuple[str, ...], keys: tuple[str, ...]
) -> list[Mapping[str, Any]]:
    """Return the tables of a name, of which there is one at least.

    Parameters
    ----------
    name
        The name.
    text
        The whole file.
    sections
        What else the file may hold.
    keys
        What a table may hold.

    Raises
    ------
    SpecError
        If the text is no TOML, or has keys that mean nothing.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"the similarity is no valid TOML: {error}.") from None
    _check_keys(document, sections, "the file")
    tables = document.get(name)
    if not isinstance(tables, list) or not tables:
        raise SpecError(f"there is no [[{name}]] table, which says who is similar.")
    for number, table in enumerate(tables, start=1):
        if not isinstance(table, Mapping):
            raise SpecError(f"{name} number {number} is {table!r}; make it a table.")
        _check_keys(table, keys, f"[[{name}]] table {number}")
    return tables


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise SpecError(
                f"{what} has the key {key!r}, which means nothing. {hint(key, known)}"
            )


def in_toml(value: Any) -> str:
    """Return a text, number, truth value, list or dict as TOML writes it in a line."""
    if isinstance(value, dict):
        items = [f"{toml_key(name)} = {in_toml(item)}" for name, item in value.items()]
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def toml_key(name: str) -> str:
    """Return a name as TOML writes it before an equals sign."""
    return name if _BARE.fullmatch(name) else _quote(name)


def _quote(text: str) -> str:
    """Quote as JSON does, which TOML reads, and escape what TOML alone forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
