"""The parts of a page about people: counts, groups, and twins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fatt.ensemble import Bands, Label
from fatt.errors import Arg
from fatt.markup import (
    NONE,
    Markup,
    Part,
    cards,
    join,
    listed,
    name_of,
    names_of,
    note,
    section,
    table,
    tag,
)
from fatt.report.charts import share_bar
from fatt.report.doubts import held_fixed
from fatt.report.groups import FEW, FOUR_FIFTHS, Group, Rate, selection_rates
from fatt.report.harm import known_harm
from fatt.report.sentences import CLOSEST, ROWS, caveats, fair_of, unfair_answer
from fatt.verdict import Counterexample, Value, in_words, share

if TYPE_CHECKING:
    from fatt.report.report import Report


_SHOWN_GROUPS = 30
_SHOWN_TWINS = 9
#: So many intersections are shown, of so many people at least, of so many attributes.
_SHOWN_WORST, _LEAST, _JOINED = 10, 10, 6
#: So many changes of bands are counted.
_SHOWN_TURNS = 8
#: Marks a group of few people.
_IS_FEW = tag("small", " few")
#: Among how many of the closest twins different kinds of changes are looked for.
_LOOKED_AT = 5_000


def counts(report: Report, more: Part = None) -> Markup:
    """Show how many people are fair, unfair and unknown."""
    unfair = unfair_answer(report)
    meaning = {
        "fair": f"Proved: no similar person gets {unfair}.",
        "unfair": f"Found: a similar person gets {unfair}.",
        "unknown": "Neither proved nor found.",
    }
    tiles = [
        tag(
            "div",
            tag("dt", name),
            tag("dd", tag("strong", f"{number:,}"), tag("span", meaning[name])),
            class_=f"tile {name}",
        )
        for name, number in report.counts.items()
    ]
    weighted = "" if report.sample_weight is None else " Shares count weights."
    return section(
        "Findings",
        "findings",
        tag("dl", *tiles, class_="tiles"),
        share_bar(list(report.counts.values()), list(report.counts)),
        tag(
            "p",
            "Treated fairly: ",
            tag("strong", share(report.fairness)),
            " of ",
            tag("strong", f"{len(report):,}"),
            f" people.{weighted}",
        ),
        more,
        [note(text) for text in caveats(report)],
    )


def groups(
    report: Report,
    names: Sequence[str],
    favorable: Label | None,
    *,
    assumed: bool,
    most: int | None = None,
) -> Markup | None:
    """Show the counts of each group, and the intersections that fare worst.

    Parameters
    ----------
    report
        The report.
    names
        What people are grouped by.
    favorable
        The answer whose rates are shown.
    assumed
        Whether nobody said that it is the favorable one.
    most
        To be brief: show a table of the first name only, with so many rows and the
        marked ones, and name the marked groups of the others.
    """
    if not names:
        return None
    sets: list[tuple[str, ...]] = [(name,) for name in names]
    if len(names) > 1:
        sets.append(tuple(names))
    in_words_only = sets[1:] if most is not None else []
    explained = []
    if favorable is not None:
        explained.append(_also_marked(report, in_words_only, favorable))
        explained.append(
            note(
                "“Gets ",
                name_of(in_words(favorable)),
                "” is the share of the group with this answer. Below it is a 95 % "
                "interval for that share among all people like them. The impact ratio "
                "divides the share by the largest one of any group of at least "
                f"{FEW} people, which the table names. A ratio below {FOUR_FIFTHS:g} "
                "(the four-fifths rule of thumb of US agencies) is marked, unless its "
                f"group has fewer than {FEW} people.",
            )
        )
        if report.interrupted:
            reached = int(report.findings.answered.sum())
            explained.append(
                note(f"Rates count only the {reached:,} people whom the run reached.")
            )
        if assumed:
            how: Part = "when ordering the audit"
            if most is None:
                how = ["with ", tag("code", str(Arg("favorable")))]
            explained.append(
                note(
                    "We assume that people want ",
                    name_of(in_words(favorable)),
                    ", the second of two answers. If they do not, the ratios mean "
                    "nothing. Say which answer they want ",
                    how,
                    ".",
                )
            )
    harmed = None if favorable is None or most else known_harm(report, favorable)
    tables = join(
        [
            _group_table(report, each, favorable, most)
            for each in sets[: len(sets) - len(in_words_only)]
        ],
        [harmed.by_group(name).table() for name in names] if harmed else None,
        _intersections(report, names, most or _SHOWN_WORST),
    )
    if _IS_FEW in tables:
        explained.append(
            note(
                f"Groups with fewer than {FEW} people are marked “few”. Their shares "
                "and ratios say little about other people like them."
            )
        )
    return section(
        "Groups",
        "groups",
        tables,
        explained,
    )


def _intersections(report: Report, names: Sequence[str], most: int) -> Markup | None:
    """Show the groups by two or more attributes that fare worst.

    Parameters
    ----------
    report
        The report.
    names
        What people are grouped by, of which at most four are joined.
    most
        How many rows there are.
    """
    joined = [
        (_shared(each, key), group)
        for count in (2, 3, 4)
        for each in itertools.combinations(names[:_JOINED], count)
        for key, group in report.by_group(*each).rows()
        if group.size >= _LEAST
    ]
    if not joined:
        return None
    # The smallest share first; of equal ones the group with more people.
    joined.sort(key=lambda one: (one[1].fairness, -one[1].size))
    rows = [_group_row(key, group, None, False) for key, group in joined[:most]]
    head = ("people who share", "people", "fair, unfair, unknown", "treated fairly")
    what = f"Intersections that fare worst, of {len(joined):,} with {_LEAST} or more"
    what += f" people{_not_asked(report, names)}"
    return table(head, rows, what, numbers=(1, 3), bars=2)


def _shared(names: Sequence[str], key: tuple[Value, ...]) -> tuple[str, ...]:
    """Write what people share: of several attributes also which each value is of."""
    if len(names) == 1:
        return (in_words(key[0]),)
    pairs = zip(names, key, strict=True)
    return tuple(f"{name} {in_words(value)}" for name, value in pairs)


def _group_table(
    report: Report, names: tuple[str, ...], favorable: Label | None, most: int | None
) -> Markup:
    found = dict(report.by_group(*names).rows())
    rates = {} if favorable is None else selection_rates(report, names, favorable)
    largest = sorted(found, key=lambda key: -found[key].size)[: most or _SHOWN_GROUPS]
    telling = [key for key, one in rates.items() if one.is_reference or one.is_marked]
    shown = {*largest, *telling}
    rows = [
        _group_row(_shared(names, key), group, rates.get(key), favorable is not None)
        for key, group in found.items()
        if key in shown
    ]
    head: list[Part] = [names_of(names, " and "), "people", "fair, unfair, unknown"]
    head.append("treated fairly")
    if favorable is not None:
        head += [join("gets ", name_of(in_words(favorable))), "impact ratio"]
    what = f"Findings by {' and '.join(names)}{_not_asked(report, names)}"
    if len(found) > len(rows):
        marked = ", the largest and all that are marked" if rates else ", the largest"
        what += f": {len(rows)} of {len(found):,} groups{marked}"
    for key, one in rates.items():
        if one.is_reference and len(rates) > 1:
            what += f". Impact ratios compare with {', '.join(_shared(names, key))}"
    return table(head, rows, what, numbers=(1, 3, 4, 5), bars=2)


def _also_marked(
    report: Report, sets: Sequence[tuple[str, ...]], favorable: Label
) -> Markup | None:
    """Name the groups that would be marked in tables that are left out."""
    found = [
        " and ".join(f"{n} {in_words(v)}" for n, v in zip(names, key, strict=True))
        + f" ({rate.ratio:.2f})"
        for names in sets
        for key, rate in selection_rates(report, names, favorable).items()
        if rate.is_marked
    ]
    if not found:
        return None
    what = f"Impact ratios below {FOUR_FIFTHS:g} in other groups: "
    return tag("p", what, listed(found, len(found)), ".", class_="key")


def _not_asked(report: Report, names: Sequence[str]) -> str:
    """Say of which attributes it was not asked whether they matter."""
    features = report.people.variables.ensemble.features
    read = {feature.name for feature in features}
    held = held_fixed(report.people, report.similarity)
    fixed = [name for name in names if name in held]
    # A column may also reach the model under another name, or not at all.
    unsaid = [name for name in names if name not in read]
    said = [f"{' and '.join(fixed)} stayed fixed"] if fixed else []
    said += [f"the similarity does not name {' and '.join(unsaid)}"] if unsaid else []
    return f" ({'; '.join(said)})" if said else ""


def _group_row(
    shared: tuple[str, ...], group: Group, rate: Rate | None, has_rates: bool
) -> list[Part]:
    numbers = list(group.counts.values())
    written = tag("small", ", ".join(f"{number:,}" for number in numbers))
    row: list[Part] = [
        names_of(shared, ", "),
        [f"{group.size:,}", _IS_FEW if group.size < FEW else None],
        [share_bar(numbers, list(group.counts)), written],
        fair_of(group),
    ]
    if rate is not None:
        low, high = rate.interval
        likely = tag("div", tag("small", f"{low:.1%} to {high:.1%}"))
        row += [[f"{rate.selected:.1%}", likely], _ratio(rate)]
    elif has_rates:
        row += [NONE, NONE]
    return row


def _ratio(rate: Rate) -> Part:
    if rate.ratio is None:
        return NONE
    written = f"{rate.ratio:.2f}"
    return tag("mark", written) if rate.is_marked else written


def twins(
    report: Report, ids: Sequence[str] | None, most: int | None = None
) -> Markup | None:
    """Show some pairs of similar people with different labels.

    Parameters
    ----------
    report
        The report.
    ids
        What people are called.
    most
        To be brief: show so many at most, with less about them.
    """
    cases = report.counterexamples
    if not len(cases):
        return None
    chosen: dict[tuple[str, ...], Counterexample] = {}
    for case in itertools.islice(cases, _LOOKED_AT):
        chosen.setdefault(tuple(case.changes), case)
        if len(chosen) == (most or _SHOWN_TWINS):
            break
    pairs = f"Each pair is two similar people. The twin gets {unfair_answer(report)}"
    how = (
        " For each set of columns that differ, the closest pair is shown: fewest "
        "columns first, then the smallest steps in standard deviations of the people "
        "here. The twin stands right, with its differences marked."
    )
    return section(
        "Twins",
        "twins",
        tag("p", f"{pairs}.", how if most is None else f" Order: {CLOSEST}."),
        _turned(report),
        cards(_card(case, ids) for case in chosen.values()),
        note(
            f"Shown: {len(chosen):,} of {len(cases):,} pairs. ",
            _confirmed(report),
            f" {ROWS[0].upper()}{ROWS[1:]}.",
        ),
    )


def _turned(report: Report) -> Markup | None:
    """Count the twins by the person's band and their own."""
    if not isinstance(report.people.variables.model.decision, Bands):
        return None
    found, classes = report.findings.twins, report.findings.classes
    pairs = Counter(zip(found.label.tolist(), found.twin_label.tolist(), strict=True))
    turns = [
        f"{in_words(classes[one])} → {in_words(classes[other])} {count:,}"
        for (one, other), count in pairs.most_common()
    ]
    return tag(
        "p",
        "Bands, from the person's to the twin's: ",
        listed(turns, _SHOWN_TURNS),
        ".",
    )


def _confirmed(report: Report) -> str:
    twins = report.counterexamples.twins
    on_model, total = int(twins.on_model.sum()), len(twins)
    if on_model == total:
        return "The model's own library confirmed both answers of every pair."
    exact = "the exact form that was read from the model"
    if not on_model:
        return f"Both answers of every pair were confirmed on {exact}."
    return (
        f"The model's own library confirmed {on_model:,} of all pairs; the others were "
        f"confirmed on {exact}."
    )


def _card(case: Counterexample, ids: Sequence[str] | None) -> Markup:
    return case.card(person(case.index, ids))


def person(index: int, ids: Sequence[str] | None) -> Part:
    """Name a person."""
    row = f"row {index}"
    if ids is None:
        return f"Person in {row}"
    return join("Person ", name_of(ids[index]), f" ({row})")
