"""The parts of a page that measure: columns alone, radii, gaps between scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fatt.ensemble import Label
from fatt.markup import (
    NONE,
    Markup,
    Part,
    join,
    name_of,
    note,
    section,
    table,
    tag,
)
from fatt.report.charts import curve, histogram, share_bar
from fatt.report.details import Alone, Details
from fatt.report.page_people import person
from fatt.report.sentences import compared_numbers, people_in_words, unfair_answer
from fatt.verdict import Radii, ScoreGaps, compared, in_words, share

if TYPE_CHECKING:
    from fatt.report.report import Report


_N_POINTS = 120
_SCORE = " The score is the number from which the model derives its answer."


def columns(report: Report, details: Details) -> Markup | None:
    """Show which columns change decisions, alone and in twins."""
    if not details.alone or not len(report.counterexamples):
        return None
    numbers = compared_numbers(report)
    return section(
        f"Columns that move the {numbers}"
        if numbers
        else "Columns that change decisions",
        "columns",
        _columns_table(report, details),
    )


def protected(
    report: Report, details: Details, favorable: Label | None
) -> list[Markup]:
    """Say how many answers change if only one attribute that varies changes."""
    findings = report.findings
    sentences = []
    for one in details.alone:
        if not one.varies:
            continue
        name = name_of(one.name)
        rest = _undecided(one)
        if report.allowed.words:
            who, worse = people_in_words(one.changed), unfair_answer(report)
            would = f" changed, {who} would get {worse}"
            sentences.append(join("If only ", name, would, rest))
        elif not one.changed:
            sentences.append(
                join("Nobody's answer changes with ", name, " alone", rest)
            )
        elif favorable is None:
            changed = f" alone changes the answer of {one.changed:,} people"
            sentences.append(join(name, changed, rest))
        else:
            given = int((findings.label == findings.classes.index(favorable)).sum())
            others = int(findings.answered.sum()) - given
            gained = sum(n for (_, after), n in one.turns.items() if after == favorable)
            lost = sum(n for (before, _), n in one.turns.items() if before == favorable)
            answer = name_of(in_words(favorable))
            sentences.append(
                join(
                    *("If only ", name, " changed, ", tag("strong", f"{gained:,}")),
                    *(" of the ", tag("strong", f"{others:,}")),
                    *(" people who do not get ", answer, " would get it; "),
                    *(f"{lost:,} of the {given:,} who get it would not", rest),
                )
            )
    return [tag("p", sentence, ".", class_="key") for sentence in sentences]


def _undecided(one: Alone) -> str:
    return f" ({one.unknown:,} people undecided)" if one.unknown else ""


def _columns_table(report: Report, details: Details) -> Part:
    cases = report.counterexamples
    names = [feature.name for feature in cases.features]
    counted = np.bincount(cases.twins.variables, minlength=len(names))
    in_twins = dict(zip(names, counted.tolist(), strict=True))
    ordered = sorted(details.alone, key=lambda one: -one.changed)
    rows = [_column_row(one, len(report), in_twins.get(one.name)) for one in ordered]
    head = ("column", "changes alone", "share of people", "how", "differs in twins")
    what = "Decisions that each column changes"
    if report.allowed.words:
        what = "What each column changes"
    return [
        tag(
            "p",
            f"“Changes alone” counts people who would get {unfair_answer(report)} if "
            "only this column changed, within the similarity. “Differs in twins” "
            "counts the pairs in which it differs, perhaps beside other columns.",
        ),
        table(head, rows, what, numbers=(1, 4), bars=2),
    ]


def _column_row(one: Alone, n_people: int, in_twins: int | None) -> list[Part]:
    turns = sorted(one.turns.items(), key=lambda item: -item[1])
    how = [
        tag("div", _turn(before, after), f": {count:,}")
        for (before, after), count in turns
    ]
    rest = n_people - one.changed - one.unknown
    return [
        name_of(one.name),
        f"{one.changed:,}{_undecided(one)}",
        share_bar([one.changed, one.unknown, rest], ["unfair", "unknown", "rest"]),
        how or NONE,
        NONE if in_twins is None else f"{in_twins:,}",
    ]


def _turn(before: Label | None, after: Label) -> Part:
    turned = name_of(in_words(after))
    return turned if before is None else [name_of(in_words(before)), " → ", turned]


#: By what grows: what that is, one of its values, and the sentence that says so.
_GROWING = {
    "noise": (
        "multiple of the noise",
        "multiple",
        "The noise is how far numbers may differ. Here it is multiplied: 1 is this "
        "audit, 2 is twice as much.",
    ),
    "limit": (
        "limit of the distance",
        "limit",
        "The limit is the largest distance between similar people. Here it grows; in "
        "this audit it is {:g}.",
    ),
    "count": (
        "number of attributes that change at once",
        "number",
        "Here any so many attributes may change at the same time; in this audit {:g}.",
    ),
}


def _asked(report: Report, measured: Radii) -> float:
    """Return the multiple, the limit or the number of attributes of this audit."""
    for one in report.similarity.alternatives:
        if measured.of == "limit" and one.distance is not None:
            return one.distance.limit
        if measured.of == "count" and one.at_most is not None:
            return float(one.at_most)
    return 1.0


def radii(report: Report, measured: Radii | None) -> Markup | None:
    """Show how many people are still fair when the noise, or a limit, grows."""
    if measured is None:
        return None
    what, each, told = _GROWING[measured.of]
    asked = _asked(report, measured)
    lower, upper = measured.lower, measured.upper
    finite = upper[np.isfinite(upper)]
    highest = max(2.0 * asked, float(np.quantile(finite, 0.9)) if finite.size else 0.0)
    # Nothing is said of the multiple 0, at which only what varies may change.
    at = np.linspace(0.0, highest, _N_POINTS + 1)[1:]
    proved = np.array([(lower >= multiple).mean() for multiple in at])
    possible = np.array([(upper > multiple).mean() for multiple in at])
    rows = [
        [f"{multiple:.4g}", share(measured.fair_at(multiple))]
        for multiple in measured.shown()
    ]
    always = int(np.isinf(lower).sum())
    never = f" For {always:,} of {len(lower):,} people no {each} changes the answer."
    title = "How far until the answer changes"
    if report.allowed.words:
        never = f" For {always:,} of {len(lower):,} people every {each} is fair."
        title = f"How far until a similar person gets {unfair_answer(report)}"
    return section(
        title,
        "radius",
        tag(
            "p",
            f"{told.format(asked)}{never if always else ''}",
        ),
        tag(
            "div",
            tag(
                "figure",
                curve(
                    at,
                    proved,
                    possible,
                    title=f"Share of people treated fairly, by the {what}",
                    x_title=what,
                    mark=(asked, "this audit"),
                ),
                tag(
                    "figcaption",
                    "Share treated fairly",
                    None
                    if np.array_equal(proved, possible)
                    else "; it lies between the lines",
                ),
            ),
            table(
                (what, "treated fairly"),
                rows,
                f"Share treated fairly, by the {what}",
                numbers=(1,),
            ),
            class_="beside",
        ),
        _sampled(len(lower), len(report)),
    )


def gaps(details: Details, n_people: int, ids: Sequence[str] | None) -> Markup | None:
    """Show by how much scores differ among similar people."""
    measured = details.gaps
    if measured is None:
        return None
    lower, upper = measured.lower, measured.upper
    middle, high = np.quantile(lower, [0.5, 0.95]).tolist()
    ends = dict.fromkeys(f"{bounds.max():.4g}" for bounds in (lower, upper))
    largest = " to ".join(ends)
    chart = tag(
        "figure",
        histogram(
            lower,
            title=f"How many people have which largest difference of {measured.of}",
            x_title=f"largest difference of {measured.of}",
        ),
        tag("figcaption", "Number of people by the largest difference found"),
    )
    score = "prediction" if measured.of == "prediction" else "score"
    return section(
        f"How much the {score} differs",
        "gaps",
        tag(
            "p",
            f"The largest difference of {measured.of} between a person and a similar "
            f"one: {middle:.4g} in the median, more than {high:.4g} for one person in "
            f"twenty, {largest} at most.",
            _SCORE if measured.of == "score" else None,
        ),
        tag("div", chart, _worst(details, measured, ids), class_="beside"),
        _sampled(len(lower), n_people),
    )


def _worst(details: Details, gaps: ScoreGaps, ids: Sequence[str] | None) -> Markup:
    worst, what = gaps[int(np.argmax(gaps.lower))], str(gaps.of)
    row = worst.index if details.rows is None else int(details.rows[worst.index])
    if what != "prediction":
        what += f" of {in_words(worst.label)}"
    return compared(
        join("The largest difference: ", person(row, ids)),
        worst.individual,
        worst.twin,
        (what, f"{worst.before:.4g}", f"{worst.after:.4g}"),
    )


def _sampled(measured: int, n_people: int) -> Markup | None:
    if measured == n_people:
        return None
    return note(f"Measured for {measured:,} of {n_people:,} people, evenly spaced.")
