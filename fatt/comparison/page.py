"""The page of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fatt.comparison.comparison import SHOWN, Change, Pair
from fatt.markup import (
    NONE,
    Markup,
    Part,
    cards,
    facts,
    join,
    name_of,
    names_of,
    note,
    notebook,
    section,
    table,
    tag,
)
from fatt.report.details import Provenance
from fatt.report.page import document
from fatt.report.page_people import person
from fatt.report.sentences import fair_of
from fatt.verdict import in_words

if TYPE_CHECKING:
    from fatt.comparison.comparison import Comparison

_SHOWN_GROUPS = 30


def to_html(
    comparison: Comparison,
    *,
    groups: tuple[str, ...] = (),
    ids: list[str] | None = None,
    provenance: Provenance | None = None,
) -> str:
    """Return the comparison as a page; see `Comparison.to_html`."""
    provenance = provenance or Provenance(title="Old model against new")
    names = tuple(dict.fromkeys([*groups, *comparison.new.people.sensitive]))
    reports = {"The old model": comparison.old, "The new model": comparison.new}
    warnings = [
        tag("p", tag("strong", f"Warning, {which.lower()}. "), one)
        for which, report in reports.items()
        for one in report.warnings
    ]
    total = comparison.total
    first, *rest = comparison.sentences()
    header = tag(
        "header",
        tag("h1", provenance.title),
        tag(
            "p",
            [name_of(name) for name in (provenance.model,) if name],
            " on " if provenance.model and provenance.data else "",
            [name_of(name) for name in (provenance.data,) if name],
            f", {provenance.date}" if provenance.date else "",
            class_="about",
        ),
        tag("div", warnings, class_="warnings", role="note") if warnings else None,
        tag(
            "div",
            tag(
                "p",
                tag("strong", f"{total.changed:,} of {total.size:,}"),
                " get another answer",
            ),
            tag("p", first),
            class_="verdict",
        ),
        [tag("p", one, class_="key") for one in rest],
    )
    found = section(
        "Both models",
        "models",
        facts(
            {
                name: f"{fair_of(report.total)} treated fairly"
                for name, report in reports.items()
            }
        ),
        comparison.new.similarity.in_html(comparison.new.people.variables.schema),
        note(
            "A p-value is McNemar's, exact and two-sided: how likely so uneven a split "
            "of those who turned would be by chance. People who are undecided under "
            "either model make the difference between the numbers of a range."
        ),
    )
    main = [found, _groups(comparison, names), _people(comparison, ids)]
    return document(provenance, header, tag("main", main))


def notebook_of(comparison: Comparison) -> str:
    """Return what a notebook shows of a comparison."""
    return notebook(
        "Old model against new",
        [tag("p", one) for one in comparison.sentences()],
        cards(_card(pair, None) for pair in comparison.clearest(3)),
    )


def _groups(comparison: Comparison, names: tuple[str, ...]) -> Markup | None:
    if not names:
        return None
    tables = []
    for name in names:
        changes = comparison.by_group(name)
        rows = [_row(values, one) for values, one in changes.rows()[:_SHOWN_GROUPS]]
        head = (
            name_of(name),
            "people",
            "another answer",
            "gain, lose",
            "newly unfair, fair",
            "newly harmed, no longer",
        )
        tables.append(table(head, rows, f"What changes by {name}", numbers=(1, 2)))
    return section(
        "Groups",
        "groups",
        tables,
        note("Groups with fewer than 30 people say little about others like them."),
    )


def _row(values: tuple[Any, ...], one: Change) -> list[Part]:
    low, high = one.interval
    small = tag("div", tag("small", f"{low:.1%} to {high:.1%}"))
    return [
        names_of([in_words(value) for value in values], ", "),
        f"{one.size:,}",
        [f"{one.changed:,}", small],
        _two(one.gained, one.lost, one.answer_p),
        _two(one.newly_unfair, one.newly_fair, one.unfair_p),
        _two(one.newly_harmed, one.no_longer_harmed, one.harm_p),
    ]


def _two(one: Any, other: Any, p: float | None) -> Part:
    if p is None:
        return NONE
    return [f"{one!s}, {other!s}", tag("div", tag("small", f"p = {p:.3g}"))]


def _people(comparison: Comparison, ids: list[str] | None) -> Markup | None:
    pairs = comparison.clearest()
    if not pairs:
        return None
    return section(
        "The clearest people",
        "people",
        tag(
            "p",
            f"Up to {SHOWN} people: first the newly harmed, then the newly unfair, "
            "then others whose answer changes, then those who become fair.",
        ),
        cards(_card(pair, ids) for pair in pairs),
    )


def _card(pair: Pair, ids: list[str] | None) -> Markup:
    case = pair.new_case or pair.old_case
    turn = join(
        name_of(in_words(pair.old)), " → ", name_of(in_words(pair.new)),
        f", {pair.old_verdict} → {pair.new_verdict}",
    )  # fmt: skip
    who = join(person(pair.row, ids), ": ", turn)
    if case is None:
        return tag("article", tag("h3", who), class_="card")
    which = "new" if case is pair.new_case else "old"
    return case.card(join(who, f"; the twin under the {which} model"))
