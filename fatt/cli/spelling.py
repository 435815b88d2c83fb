"""How the command line spells an argument that a message names: as an option."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from fatt.errors import SPELLING, Arg

_FILE = "in the file of --spec"
#: Options that are not called like the argument, and what stands for functions.
_OTHERWISE = {
    "favorable": "--favourable",
    "missing": "--missing-value",
    "n_jobs": "--jobs",
    "fatt.load(...).predicting": "--pos-label",
    "fatt.score_gap": "--html",
    "fatt.verify": "fatt audit",
}
_FILES = {"columns", "codes", "rename", "prepare", "sensitive_features"}
#: What has no option, and where it is said.
_KEYS = {"strict", "cut_on"}


@contextlib.contextmanager
def spelt_as_options() -> Iterator[None]:
    """Write arguments as options, in all messages that are made meanwhile."""
    before = SPELLING.set(as_option)
    try:
        yield
    finally:
        SPELLING.reset(before)


def as_option(argument: Arg) -> str:
    """Return the option, or the key of a file, that stands for an argument.

    Examples
    --------
    >>> as_option(Arg("noise", {"age": 3})), as_option(Arg("pos_label"))
    ('--noise age=3', '--pos-label')
    """
    name, value = argument
    if name == "schema":
        return f"[schema] {_FILE}" if value is None else _kind(*value)
    if name in _KEYS and value is not None:
        return f"{name} = {json.dumps(value)} under [decision] {_FILE}"
    option = _OTHERWISE.get(name, f"--{name.replace('_', '-')}")
    if name in _FILES and value is not None:
        value = "FILE"
    if value is None or value is True or value is ...:
        return option
    if name in {"cuts", "answers"}:
        return f"{option} {','.join(f'{key}={one}' for key, one in value.items())}"
    if name == "direction":
        value = value.replace(" ", "-")
    if name == "exist":
        value = [",".join(one) for one in value]
    if isinstance(value, dict):
        value = [f"{key}={one}" for key, one in value.items()]
    # One that may be repeated is written once for each.
    given = value if isinstance(value, list) else [value]
    told = " ".join(f"{option} {shlex.quote(str(one))}" for one in given)
    return f"{told} --resume" if name == "journal" else told


def _kind(column: str, kind: str, said: Mapping[str, Any]) -> str:
    """Write what a column is as the file of an audit does."""
    from fatt.region import kinds

    key = column if re.fullmatch(r"[\w-]+", column, re.ASCII) else json.dumps(column)
    told = {"type": getattr(kinds, kind).__struct_config__.tag, **said}
    inside = ", ".join(
        f"{name} = {'...' if one is ... else json.dumps(one)}"
        for name, one in told.items()
    )
    return f"{key} = {{{inside}}} under [schema] {_FILE}"
