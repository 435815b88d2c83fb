"""What the parts of a page are made of: sections, tables, pairs of people."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from fatt.verdict import Value, changes_between, in_words

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


#: Stands where there is nothing to say.
NONE = "\N{EN DASH}"

#: More columns than these, in which both people are equal, are shown on demand.
_SHOWN_EQUAL = 6


def section(title: str, anchor: str, *parts: Part) -> Markup:
    """Return a section that a link can lead to."""
    heading = tag("h2", title, id=f"{anchor}-title")
    return tag("section", heading, *parts, id=anchor, aria_labelledby=f"{anchor}-title")


def note(*parts: Part) -> Markup:
    """Return a remark in small type."""
    return tag("p", *parts, class_="note")


def names_of(values: Sequence[str], between: str) -> Markup:
    """Return several names from a file."""
    return join(
        [[name_of(value), between] for value in values[:-1]], name_of(values[-1])
    )


def table(
    head: Sequence[Part],
    rows: Iterable[Sequence[Part]],
    what: Part,
    *,
    numbers: Collection[int] = (),
    bars: int | None = None,
) -> Markup:
    """Return a table, which narrow screens can scroll; its first column names rows.

    Parameters
    ----------
    head
        What stands above each column.
    rows
        The cells of each row.
    what
        What the table shows.
    numbers
        The columns of numbers, which stand below each other digit by digit.
    bars
        The column of bars.
    """

    def kind(place: int) -> str | None:
        return "bars" if place == bars else "number" if place in numbers else None

    cells = [
        tag("th", part, scope="col", class_=kind(place))
        for place, part in enumerate(head)
    ]
    body = [
        tag(
            "tr",
            tag("th", first, scope="row"),
            *(tag("td", part, class_=kind(i)) for i, part in enumerate(rest, start=1)),
        )
        for first, *rest in rows
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", what),
            tag("thead", tag("tr", *cells)),
            tag("tbody", *body),
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=_plain(what),
    )


def _plain(what: Part) -> str:
    """Return a caption as text, for those who hear it before they reach the table."""
    if what is None or isinstance(what, str):
        return what or ""
    return "".join(map(_plain, what))


def pair(
    title: Part,
    individual: Mapping[str, Value],
    twin: Mapping[str, Value],
    answers: tuple[str, str, str],
) -> Markup:
    """Return two similar people side by side; where they differ is marked.

    Parameters
    ----------
    title
        Who the first of them is.
    individual, twin
        The values of both, by column.
    answers
        What the model says, and what it says to either of them.
    """
    changes = changes_between(individual, twin)
    changed = [
        _row(name, in_words(change.before), in_words(change.after))
        for name, change in changes.items()
    ]
    same = {name: value for name, value in individual.items() if name not in changes}
    equal: Part = None
    hidden: Part = None
    if len(same) <= _SHOWN_EQUAL:
        equal = [_equal_row(name, value) for name, value in same.items()]
    else:
        hidden = tag(
            "details",
            tag("summary", f"Equal for both: {len(same):,} columns"),
            tag("dl", [_fact(name, value) for name, value in same.items()]),
        )
    head = [tag("th", text, scope="col") for text in ("", "person", "twin")]
    head[0] = tag("td")
    said, before, after = answers
    return tag(
        "article",
        tag("h3", title),
        tag(
            "table",
            tag("thead", tag("tr", *head)),
            tag(
                "tbody",
                tag(
                    "tr",
                    tag("th", said, scope="row"),
                    tag("td", name_of(before)),
                    tag("td", name_of(after)),
                    class_="answer",
                ),
                changed,
                equal,
            ),
        ),
        hidden,
        class_="card",
    )


def _row(name: str, before: str, after: str) -> Markup:
    return tag(
        "tr",
        tag("th", name_of(name), scope="row"),
        tag("td", name_of(before)),
        tag("td", tag("mark", name_of(after))),
        class_="changed",
    )


def _equal_row(name: str, value: Value) -> Markup:
    cell = tag("td", name_of(in_words(value)))
    return tag("tr", tag("th", name_of(name), scope="row"), cell, cell, class_="equal")


def _fact(name: str, value: Value) -> Markup:
    return tag("div", tag("dt", name_of(name)), tag("dd", name_of(in_words(value))))
