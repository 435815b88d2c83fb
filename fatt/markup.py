"""HTML that texts cannot break: elements, tables, pairs of people.

Pages (`fatt.report.page`) and notebooks (`notebook`) are made of it. Only this module
makes `Markup`. It escapes all other texts.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    """Return a text as HTML that shows it.

    Names come from files that anybody may have written. Invisible characters become the
    replacement character.

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
    """Join parts, and escape what is not markup yet."""
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
    """Return a text of our own, such as a style sheet, unescaped.

    It must not end the element that holds it.
    """
    assert "</" not in text
    return Markup(text)


def name_of(text: str) -> Markup:
    """Return a name from a file, isolated from the text direction around it."""
    return tag("bdi", text)


def code(text: str) -> Markup:
    """Return a text as code."""
    return tag("code", text)


#: Stands where there is nothing to say.
NONE = "\N{EN DASH}"

#: With more columns in which both people are equal, these are folded.
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


def listed(values: Sequence[str], most: int = 12) -> Part:
    """Return the first of several names from a file, and how many more there are."""
    if not values:
        return NONE
    more = f" and {len(values) - most:,} more" if len(values) > most else None
    return [names_of(values[:most], ", "), more]


def table(
    head: Sequence[Part],
    rows: Iterable[Sequence[Part]],
    what: Part,
    *,
    numbers: Collection[int] = (),
    bars: int | None = None,
) -> Markup:
    """Return a table that narrow screens can scroll. Its first column names the rows.

    Parameters
    ----------
    head
        The head of each column.
    rows
        The cells of each row.
    what
        The caption.
    numbers
        The columns of numbers, aligned digit by digit.
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
    """Return a caption as text, for screen readers."""
    if what is None or isinstance(what, str):
        return what or ""
    return "".join(map(_plain, what))


def pair(
    title: Part,
    individual: Mapping[str, str],
    changes: Mapping[str, str],
    answers: tuple[str, str, str],
) -> Markup:
    """Return two similar people side by side, with their differences marked.

    Parameters
    ----------
    title
        The name of the first.
    individual
        The values of the first, by column.
    changes
        The values of the other where they differ.
    answers
        What the answer is called, and the answers to both.
    """
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
                [_row(name, individual[name], new) for name, new in changes.items()],
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


def _equal_row(name: str, value: str) -> Markup:
    cell = tag("td", name_of(value))
    return tag("tr", tag("th", name_of(name), scope="row"), cell, cell, class_="equal")


def _fact(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name_of(name)), tag("dd", name_of(value)))


def cards(parts: Iterable[Part]) -> Markup:
    """Return pairs of people side by side."""
    return tag("div", parts, class_="cards")


def facts(rows: Mapping[str, Part]) -> Markup:
    """Return facts by name; empty ones are left out."""
    return tag(
        "dl",
        [
            tag("div", tag("dt", name), tag("dd", value))
            for name, value in rows.items()
            if value
        ],
        class_="facts",
    )


#: The colours show on light and on dark ground; texts have the notebook's own colour.
#: Jupyter's rules for tables and lists are narrow: the class said twice outdoes them.
_NOTEBOOK_STYLE = """
.fatt { font-size: .9em; line-height: 1.45; max-width: 62rem; }
.fatt > p:first-child { font-weight: 600; }
.fatt p, .fatt ul, .fatt dl { margin: 0 0 .5em; }
.fatt table { border-collapse: collapse; font-size: 1em; margin: 0 0 .5em; }
.fatt caption { text-align: start; opacity: .75; }
.fatt.fatt tr { background: none; }
.fatt.fatt th, .fatt.fatt td {
  background: none; border: 0; border-bottom: 1px solid #8886;
  padding: .2em 1em .2em 0; text-align: start; vertical-align: top;
}
.fatt.fatt .number { text-align: end; font-variant-numeric: tabular-nums; }
.fatt .scroll { overflow-x: auto; }
.fatt .cards { display: flex; flex-wrap: wrap; gap: .75em; }
.fatt .card {
  border: 1px solid #8886; border-radius: .4em; padding: .5em .75em; max-width: 24rem;
  width: fit-content;
}
.fatt h3 { font-size: 1em; margin: 0 0 .3em; padding: 0; }
.fatt .card th, .fatt .card td { overflow-wrap: anywhere; }
.fatt .equal > *, .fatt .note { opacity: .75; font-weight: 400; }
.fatt mark { background: #e8912d55; color: inherit; padding: 0 .25em; }
.fatt .warning { border-inline-start: .3em solid #d0622f; padding-inline-start: .6em; }
.fatt .facts div { display: grid; grid-template-columns: 11em 1fr; gap: 0 1em; }
.fatt.fatt dt { float: none; font-weight: 400; opacity: .75; width: auto; }
.fatt.fatt dd { float: none; margin: 0; overflow-wrap: anywhere; width: auto; }
.fatt .share { display: block; width: 100%; max-width: 32rem; height: .7em; }
.fatt td .share { min-width: 8em; margin-top: .4em; }
.fatt .fair { fill: #3b8ea5; }
.fatt .unfair { fill: #d0622f; }
.fatt .unknown { fill: #828c96; }
"""


def notebook(title: Part, *parts: Part) -> str:
    """Return what a notebook shows of a thing: a title, and more below.

    It has no background, so it suits light and dark notebooks.

    Parameters
    ----------
    title
        What it is, in a few words.
    *parts
        The rest.
    """
    style = tag("style", verbatim(_NOTEBOOK_STYLE))
    return str(tag("div", tag("p", title), *parts, style, class_="fatt"))
