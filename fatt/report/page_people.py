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
    """Show how many people are fair, unfair and unknown, and what more was found."""
    unfair = unfair_answer(report)
    proved = "everybody similar gets the same answer"
    if report.allowed.words:
        proved = f"nobody similar gets {unfair}"
    meaning = {
        "fair": f"Proved: {proved}.",
        "unfair": f"Shown: a similar person gets {unfair}.",
        "unknown": "Neither could be shown.",
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
            "Of ",
            tag("strong", f"{len(report):,}"),
            " people, the share treated fairly is ",
            tag("strong", share(report.fairness)),
            f".{weighted}",
        ),
        more,
        [note(text) for text in caveats(report)],
    )


def groups(
    report: Report,
    names: Sequence[str],
    favourable: Label | None,
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
    favourable
        The answer whose rates are shown.
    assumed
        Whether nobody said that it is the favourable one.
    most
        To be brief: group by the first name only, and show so many rows of it, and of
        the intersections of all.
    """
    if not names:
        return None
    sets: list[tuple[str, ...]] = [(name,) for name in names]
    if len(names) > 1:
        sets.append(tuple(names))
    if most is not None:
        del sets[1:]
    explained = []
    if favourable is not None:
        explained.append(
            note(
                "“Gets ",
                name_of(in_words(favourable)),
                "” is the share of the group with this answer; beside it stands, as "
                "an estimate at 95 %, where that share lies among all people like "
                "them. "
                "The impact ratio divides it by that of the group in which it is "
                f"largest; below {FOUR_FIFTHS:g}, the four fifths of US agencies' rule "
                "of thumb, it is marked, unless one of the two groups has fewer "
                f"than {FEW} people.",
            )
        )
        if assumed:
            how: Part = "when ordering the audit"
            if most is None:
                how = ["with ", tag("code", str(Arg("favorable")))]
            explained.append(
                note(
                    "That people want ",
                    name_of(in_words(favourable)),
                    " is assumed, as the second of two answers, and the ratio means "
                    "nothing if they do not: say which they want ",
                    how,
                    ".",
                )
            )
    tables = join(
        [_group_table(report, each, favourable, most) for each in sets],
        _intersections(report, names, most or _SHOWN_WORST),
    )
    if _IS_FEW in tables:
        explained.append(
            note(
                f"Caution: groups with fewer than {FEW} people are marked “few”; their "
                "shares and ratios tell little about others like them."
            )
        )
    return section(
        "Groups",
        "groups",
        tables,
        explained,
    )


def _intersections(report: Report, names: Sequence[str], most: int) -> Markup | None:
    """Show the people with two or more attributes in common who fare worst.

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
    report: Report, names: tuple[str, ...], favourable: Label | None, most: int | None
) -> Markup:
    found = dict(report.by_group(*names).rows())
    rates = {} if favourable is None else selection_rates(report, names, favourable)
    largest = sorted(found, key=lambda key: -found[key].size)[: most or _SHOWN_GROUPS]
    rows = [
        _group_row(_shared(names, key), group, rates.get(key), favourable is not None)
        for key, group in found.items()
        if key in largest
    ]
    head: list[Part] = [names_of(names, " and "), "people", "fair, unfair, unknown"]
    head.append("treated fairly")
    if favourable is not None:
        head += [join("gets ", name_of(in_words(favourable))), "impact ratio"]
    what = f"Findings by {' and '.join(names)}{_not_asked(report, names)}"
    if len(found) > len(rows):
        what += f": the {len(rows)} largest of {len(found):,} groups"
    return table(head, rows, what, numbers=(1, 3, 4, 5), bars=2)


def _not_asked(report: Report, names: Sequence[str]) -> str:
    """Say of which attributes it was not asked whether they matter."""
    features = report.people.variables.ensemble.features
    read = {feature.name for feature in features}
    fixed = [name for name in names if name in held_fixed(report)]
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
    # A mark is an accusation, which a handful of people cannot bear.
    is_marked = rate.ratio < FOUR_FIFTHS and not rate.is_rough
    return tag("mark", written) if is_marked else written


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
    pairs = "Two similar people whom the model answers differently"
    if report.allowed.words:
        pairs = f"Two similar people, of whom the twin gets {unfair_answer(report)}"
    how = (
        " For each set of columns in which such pairs differ, the closest pair is "
        "shown, fewest columns first: the one whose numbers differ by the smallest "
        "steps, in standard deviations of the people here. The twin stands right, with "
        "what differs marked."
    )
    return section(
        "Twins",
        "twins",
        tag("p", f"{pairs}.", how if most is None else f" The closest: {CLOSEST}."),
        _turned(report),
        cards(_card(case, ids) for case in chosen.values()),
        note(
            f"Here are {len(chosen):,} of {len(cases):,} pairs. ",
            _confirmed(report),
            f" {ROWS[0].upper()}{ROWS[1:]}.",
        ),
    )


def _turned(report: Report) -> Markup | None:
    """Say of how many people the twin is in which other band."""
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
        "From the band of the person to that of the twin that was found: ",
        listed(turns, _SHOWN_TURNS),
        ".",
    )


def _confirmed(report: Report) -> str:
    twins = report.counterexamples.twins
    on_model, total = int(twins.on_model.sum()), len(twins)
    if on_model == total:
        return "Both answers of every pair were confirmed by asking the model itself."
    exact = "on the exact form of the model that was read from it"
    if not on_model:
        return f"Both answers of every pair were confirmed {exact}."
    return (
        f"{on_model:,} were confirmed by asking the model itself, the others {exact}."
    )


def _card(case: Counterexample, ids: Sequence[str] | None) -> Markup:
    return case.card(person(case.index, ids))


def person(index: int, ids: Sequence[str] | None) -> Part:
    """Say who somebody is."""
    row = f"row {index}"
    if ids is None:
        return f"Person in {row}"
    return join("Person ", name_of(ids[index]), f" ({row})")
