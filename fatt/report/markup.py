"""HTML that escapes by itself: texts are text, and only `Markup` is markup."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from typing import TypeAlias

#: What HTML forbids, or what would hide or turn round the text beside it.
_FORBIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
#: Spaces, and the signs that join or part letters in some scripts.
_KEPT = {"\n", "\t", "\u200c", "\u200d"}
_VOID = {"meta"}


class Markup(str):
    """A text that is HTML already. Only this module makes it."""

    __slots__ = ()


Part: TypeAlias = "str | Markup | Iterable[Part] | None"


def text_of(text: str) -> Markup:
    """Return a text as HTML that shows just it.

    Names come from files that anybody may have written: signs that are not to be seen
    become the sign for what cannot be shown.

    Examples
    --------
    >>> text_of("<age> & 'sex'")
    '&lt;age&gt; &amp; &#x27;sex&#x27;'
    """
    if not text.isprintable():
        text = "".join(map(_shown, text))
    return Markup(html.escape(text, quote=True))


def _shown(sign: str) -> str:
    if sign in _KEPT or unicodedata.category(sign) not in _FORBIDDEN:
        return sign
    return "\ufffd"


def join(*parts: Part) -> Markup:
    """Put parts behind each other; whatever is not yet markup is escaped."""
    return Markup("".join(_flat(parts)))


def _flat(parts: Iterable[Part]) -> Iterable[str]:
    for part in parts:
        if part is None:
            continue
        if isinstance(part, Markup):
            yield part
        elif isinstance(part, str):
            yield text_of(part)
        else:
            yield from _flat(part)


def tag(name: str, /, *parts: Part, **attributes: str | float | None) -> Markup:
    """Return an element.

    Parameters
    ----------
    name
        Name of the element.
    *parts
        What it holds.
    **attributes
        Its attributes. The underscore of ``class_`` is dropped, others become hyphens;
        None leaves an attribute out.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text_of(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(*parts)}</{name}>")


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def verbatim(text: str) -> Markup:
    """Return a text of our own, such as a style sheet, as it is.

    It must not end the element that holds it.
    """
    assert "</" not in text
    return Markup(text)


def name_of(text: str) -> Markup:
    """Return a name from a file, shielded from the direction of the text around it."""
    return tag("bdi", text)


def code(text: str) -> Markup:
    """Return a text in the type of machines."""
    return tag("code", text)
