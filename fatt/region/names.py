"""Hints for names that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 40


def hint(wanted: object, known: Iterable[object]) -> str:
    """Return the close matches of a misspelt name, and the names that there are.

    Examples
    --------
    >>> hint("agee", ["age", "sex"])
    "Did you mean 'age'? There are: 'age', 'sex'."
    """
    names = list(dict.fromkeys(known))
    texts = {str(name): name for name in names}
    lower = {text.lower(): name for text, name in texts.items()}
    close = difflib.get_close_matches(str(wanted), texts, n=1)
    match = texts[close[0]] if close else lower.get(str(wanted).lower())
    shown = ", ".join(map(repr, names[:_SHOWN]))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    question = "" if match is None else f"Did you mean {match!r}? "
    return f"{question}There are: {shown}{more}."
