"""The parts of a page about people: counts, groups, and twins."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fatt.report.charts import share_bar
from fatt.report.groups import Group
from fatt.report.markup import Markup, Part, join, name_of, tag
from fatt.report.selection import Rate, label_in_question, selection_rates
from fatt.report.sentences import caveats, share
from fatt.verdict import Counterexample, Value, in_words

if TYPE_CHECKING:
    from fatt.report.report import Report

_SHOWN_GROUPS = 30
_SHOWN_TWINS = 8
#: Among how many of the closest twins different kinds of changes are looked for.
_LOOKED_AT = 5_000

#: Stands where there is nothing to say.
NONE = "\N{EN DASH}"

_MEANING = {
    "fair": "proved: everybody similar gets the same answer",
    "unfair": "refuted: a similar person gets another answer",
    "unknown": "neither proved nor refuted",
}


def section(title: str, anchor: str, *parts: Part) -> Markup:
    """Return a section that a link can lead to."""
    heading = tag("h2", title, id=f"{anchor}-title")
    return tag("section", heading, *parts, id=anchor, aria_labelledby=f"{anchor}-title")


def table(head: Sequence[Part], rows: Iterable[Sequence[Part]], what: str) -> Markup:
    """Return a table, which narrow screens can scroll; its first column names rows.

    Parameters
    ----------
    head
        What stands above each column.
    rows
        The cells of each row.
    what
        What the table shows, for those who do not see it.
    """
    cells = [tag("th", part, scope="col") for part in head]
    body = [
        tag(
            "tr",
            tag("th", first, scope="row"),
            *(tag("td", part) for part in rest),
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
        aria_label=what,
    )


def counts(report: Report) -> Markup:
    """Show how many people are fair, unfair and unknown."""
    tiles = [
        tag(
            "div",
            tag("dt", name),
            tag("dd", tag("strong", f"{number:,}"), tag("span", _MEANING[name])),
            class_=f"tile {name}",
        )
        for name, number in report.counts.items()
    ]
    return section(
        "Findings",
        "findings",
        tag("dl", *tiles, class_="tiles"),
        share_bar(list(report.counts.values()), list(report.counts)),
        tag(
            "p",
            "Of ",
            tag("strong", f"{len(report):,}"),
            " people, the share treated fairly is ",
            tag("strong", share(report.fairness)),
            ". Shares are rounded down, upper bounds up.",
        ),
        [tag("p", text, class_="note") for text in caveats(report)],
    )


def groups(report: Report, names: Sequence[str]) -> Markup | None:
    """Show the counts of each group, and of the intersections of all."""
    if not names:
        return None
    sets: list[tuple[str, ...]] = [(name,) for name in names]
    if len(names) > 1:
        sets.append(tuple(names))
    label = label_in_question(report)
    notes: list[Part] = []
    if label is not None:
        answer = name_of(in_words(label))
        notes.append(
            tag(
                "p",
                "“Gets ",
                answer,
                "” is the share of the group with this answer; the impact ratio "
                "divides it by that of the group in which it is largest.",
                class_="note",
            )
        )
    return section(
        "Groups", "groups", [_group_table(report, each) for each in sets], notes
    )


def _group_table(report: Report, names: tuple[str, ...]) -> Markup:
    found = {
        value if isinstance(value, tuple) else (value,): group
        for value, group in report.by_group(*names).items()
    }
    label = label_in_question(report)
    rates = {} if label is None else selection_rates(report, names)
    largest = sorted(found, key=lambda key: -found[key].size)[:_SHOWN_GROUPS]
    rows = [
        _group_row(key, group, rates.get(key), label is not None)
        for key, group in found.items()
        if key in largest
    ]
    head: list[Part] = [
        join([[name_of(name), " and "] for name in names[:-1]], name_of(names[-1])),
        "people",
        "fair, unfair, unknown",
        "treated fairly",
    ]
    if label is not None:
        head += [join("gets ", name_of(in_words(label))), "impact ratio"]
    what = f"Findings by {' and '.join(names)}"
    if len(found) > len(rows):
        what += f": the {len(rows)} largest of {len(found):,} groups"
    return table(head, rows, what)


def _group_row(
    key: tuple[Value, ...], group: Group, rate: Rate | None, has_rates: bool
) -> list[Part]:
    numbers = list(group.counts.values())
    row: list[Part] = [
        join(
            [[name_of(in_words(v)), ", "] for v in key[:-1]], name_of(in_words(key[-1]))
        ),
        f"{group.size:,}",
        [share_bar(numbers, list(group.counts)), ", ".join(f"{n:,}" for n in numbers)],
        share(group.fairness),
    ]
    if rate is not None:
        ratio = NONE if rate.ratio is None else f"{rate.ratio:.2f}"
        row += [f"{rate.selected:.1%}", ratio]
    elif has_rates:
        row += [NONE, NONE]
    return row


def twins(report: Report, ids: Sequence[str] | None) -> Markup | None:
    """Show some pairs of similar people with different labels."""
    cases = report.counterexamples
    if not len(cases):
        return None
    chosen: dict[tuple[str, ...], Counterexample] = {}
    for case in itertools.islice(cases, _LOOKED_AT):
        chosen.setdefault(tuple(case.changes), case)
        if len(chosen) == _SHOWN_TWINS:
            break
    on_model = int(cases.twins.on_model.sum())
    return section(
        "Twins",
        "twins",
        tag(
            "p",
            "Two similar people whom the model answers differently. For each set of "
            "columns in which such pairs differ, the closest pair is shown.",
        ),
        tag("div", [_card(case, ids) for case in chosen.values()], class_="cards"),
        tag(
            "p",
            f"Here are {len(chosen):,} of {len(cases):,} pairs. {on_model:,} of them "
            "were confirmed by asking the model itself, the others on the exact form "
            "that was read from it.",
            class_="note",
        ),
    )


def _card(case: Counterexample, ids: Sequence[str] | None) -> Markup:
    who: Part = f"Person {case.index}"
    if ids is not None:
        who = join("Person ", name_of(ids[case.index]), f" (row {case.index})")
    changed = [
        tag(
            "tr",
            tag("th", name_of(name), scope="row"),
            tag("td", name_of(in_words(change.before))),
            tag("td", tag("mark", name_of(in_words(change.after)))),
        )
        for name, change in case.changes.items()
    ]
    same = [
        tag("div", tag("dt", name_of(name)), tag("dd", name_of(in_words(value))))
        for name, value in case.individual.items()
        if name not in case.changes
    ]
    answers = tag(
        "tr",
        tag("th", "answer", scope="row"),
        tag("td", name_of(in_words(case.label))),
        tag("td", tag("mark", name_of(in_words(case.twin_label)))),
        class_="answer",
    )
    head = [tag("th", text, scope="col") for text in ("column", "person", "twin")]
    return tag(
        "article",
        tag("h3", who),
        tag(
            "table",
            tag("thead", tag("tr", *head)),
            tag("tbody", *changed, answers),
        ),
        tag(
            "details",
            tag("summary", f"Equal for both: {len(same):,} columns"),
            tag("dl", *same, class_="same"),
        )
        if same
        else None,
        class_="card",
    )
