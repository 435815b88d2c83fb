"""What the model can do to anyone, as a page or as a section of an audit's page."""

from __future__ import annotations

from collections.abc import Mapping

from fatt.everybody.answers import Answers, Met
from fatt.everybody.gap import LargestGap
from fatt.everybody.share import Share
from fatt.everybody.where import Region, Regions
from fatt.markup import (
    Markup,
    Part,
    cards,
    code,
    facts,
    name_of,
    note,
    section,
    table,
    tag,
)
from fatt.region import Relation, Schema
from fatt.report.charts import share_bar
from fatt.report.details import Provenance
from fatt.report.page import document
from fatt.verdict import Bounds, in_words

#: So many steps of the bounds are shown.
_STEPS = 12
#: Parts of a bar.
_PARTS = 1_000_000

_DEMANDS = {
    "max-gap": "The largest effect",
    "max-share": "The share of unfair people",
    "no-pair": "No similar people are treated differently",
}

_LIMITS = (
    "The two people shown need not be likely people, and nobody may have seen them. "
    "They lie within the space, and the model answers them so.",
    "People drawn from a product of columns need not exist: their values occur, but "
    "perhaps never together.",
    "A share is about people drawn as stated. Drawn otherwise, it is another one.",
    "What is proved holds for everybody in the space, likely or not. It says nothing "
    "about people outside.",
    "Each person is compared with similar people only. Stand-ins for sex or race, such "
    "as a postcode, are not tested unless the similarity names them.",
)


def page_of(
    answers: Answers,
    *,
    similarity: Relation,
    schema: Schema,
    demands: Mapping[str, Met],
    provenance: Provenance,
) -> str:
    """Return a whole page about everybody.

    Parameters
    ----------
    answers
        What was found.
    similarity, schema
        Who is similar to whom, and what the columns mean.
    demands
        What was asked for, and whether it is met.
    provenance
        What was audited, and how.
    """
    about = [name for name in (provenance.model, provenance.data) if name]
    header = tag(
        "header",
        tag("h1", provenance.title),
        tag(
            "p",
            [[name_of(name), ", "] for name in about],
            provenance.date,
            class_="about",
        ),
        tag("p", "Interrupted: what is shown was found until then.", class_="warning")
        if answers.interrupted
        else None,
        _demanded(demands),
    )
    parts: list[Part] = [
        *sections(answers),
        section("Who counts as similar", "similarity", similarity.in_html(schema)),
        section(
            "The space",
            "space",
            tag("p", "Whoever has such values is meant, likely or not:"),
            tag("pre", code(repr(schema))),
        ),
        section("Limits", "limits", tag("ul", [tag("li", one) for one in _LIMITS])),
        _evidence(provenance),
    ]
    return document(provenance, header, tag("main", parts))


def _demanded(demands: Mapping[str, Met]) -> Markup | None:
    if not demands:
        return None
    said = {
        "met": "Met",
        "refuted": "Not met",
        "undecided": "Undecided",
    }
    kinds = list(demands.values())
    worst = next(k for k in ("refuted", "undecided", "met") if k in kinds)
    kind = {"met": "proven", "refuted": "refuted", "undecided": "undecided"}[worst]
    return tag(
        "div",
        [
            [
                tag("p", tag("strong", said[met])),
                tag("p", f"{_DEMANDS[name]} (--{name})"),
            ]
            for name, met in demands.items()
        ],
        class_=f"verdict {kind}",
    )


def sections(answers: Answers) -> list[Markup]:
    """Return what was found, a section for each question."""
    found: list[Markup] = []
    if answers.gap is not None:
        found.append(_largest(answers.gap, answers.nearest))
    if answers.existence is not None:
        pair = answers.existence.pair
        # The pair with the largest effect is enough.
        is_shown = answers.gap is None
        found.append(
            section(
                "Is anybody treated differently?",
                "existence",
                tag("p", str(answers.existence).partition(":")[0].rstrip(".") + "."),
                cards([pair.card()]) if pair is not None and is_shown else None,
            )
        )
    if answers.share is not None:
        found.append(_share(answers.share))
    if answers.regions is not None:
        found.append(_regions(answers.regions))
    return found


def _largest(gap: LargestGap, nearest: tuple[int, str] | None) -> Markup:
    return section(
        "The largest effect",
        "largest",
        tag("p", str(gap)),
        None if gap.pair is None else cards([gap.pair.card()]),
        note("A pair need not be a likely pair."),
        None
        if nearest is None
        else note(
            f"The nearest row of the table is row {nearest[0]}: ",
            name_of(nearest[1]),
            ".",
        ),
        _history(gap),
    )


def _history(gap: LargestGap) -> Markup | None:
    """Tell how the bounds closed."""
    steps = gap.history
    if len(steps) > _STEPS:
        chosen = {round(i * (len(steps) - 1) / (_STEPS - 1)) for i in range(_STEPS)}
        steps = tuple(steps[i] for i in sorted(chosen))
    most = max((upper for _, _, upper in steps), default=0.0)
    if not 0 < most < float("inf"):
        return None
    rows: list[list[Part]] = []
    for seconds, low, high in steps:
        bar = _bar(Bounds(low / most, high / most))
        rows.append([f"{seconds:.2f} s", f"{low:.6g}", f"{high:.6g}", bar])
    return tag(
        "details",
        tag("summary", "How the bounds closed"),
        table(
            ["after", "found", "none exceeds", ""],
            rows,
            f"The largest effect lies between both numbers ({gap.nodes:,} steps of the "
            "search)",
            numbers=(1, 2),
            bars=3,
        ),
    )


def _bar(bounds: Bounds) -> Markup:
    """Draw what is certain, what is open, and the rest."""
    low, high = (round(_PARTS * min(1.0, max(0.0, end))) for end in bounds)
    return share_bar([low, high - low, _PARTS - high], ["unfair", "unknown", "fair"])


def _share(share: Share) -> Markup:
    how = (
        "All people were counted."
        if share.seed is None
        else f"{sum(share.counts.values()):,} people were drawn (seed {share.seed}), "
        f"{share.n_distinct:,} of them different, and each was verified exactly. "
        f"{share.counts['unknown']:,} are unknown, and count as fair for the lower end "
        "and as unfair for the upper one."
    )
    groups = [
        table(
            [name_of(name), "unfair", ""],
            [
                [name_of(in_words(level)), f"{bounds:.2%}", _bar(bounds)]
                for level, bounds in levels.items()
            ],
            ["By ", name_of(name), ", each with the same confidence on its own"],
            numbers=(1,),
            bars=2,
        )
        for name, levels in share.by_group.items()
        if levels
    ]
    return section(
        "How many are affected",
        "share",
        tag("p", f"{share}."),
        _bar(share.bounds),
        note(how),
        groups,
    )


def _regions(regions: Regions) -> Markup:
    told = (
        f"Measured on {regions.n_people:,} fresh people, drawn {regions.distribution}; "
        f"each interval has a confidence of {regions.confidence:.15g}."
    )
    unfair: Part = tag("p", "No region holds many more unfair people than others.")
    if regions.unfair:
        unfair = table(
            ["who", "unfair", "of the people", "of the unfair", ""],
            [
                [
                    name_of(one.words),
                    f"{one.rate:.1%}",
                    f"{one.share:.1%}",
                    f"{one.of_unfair:.1%}",
                    _bar(one.rate),
                ]
                for one in regions.unfair
            ],
            "Where the unfair are",
            numbers=(1, 2, 3),
            bars=4,
        )
    free: Part = tag("p", "No region worth telling was proved to be free of them.")
    if regions.free:
        free = [
            table(
                ["who", "of the people", ""],
                [_free_row(one) for one in regions.free],
                "Where nobody is unfair: proved for everybody in the region",
                numbers=(1,),
                bars=2,
            ),
            note(f"Together they hold {regions.free_share:.1%} of the people."),
        ]
    return section("Where they are", "regions", unfair, free, note(told))


def _free_row(region: Region) -> list[Part]:
    low, high = region.share
    held = share_bar(
        [round(_PARTS * low), round(_PARTS * (high - low)), round(_PARTS * (1 - high))],
        ["fair", "unknown", "rest"],
    )
    return [name_of(region.words), f"{region.share:.1%}", held]


def _evidence(provenance: Provenance) -> Markup:
    rows: dict[str, Part] = {
        "Model": name_of(provenance.model) if provenance.model else None,
        "Model file, SHA-256": code(provenance.model_digest)
        if provenance.model_digest
        else None,
        "People": name_of(provenance.data) if provenance.data else None,
        "People file, SHA-256": code(provenance.data_digest)
        if provenance.data_digest
        else None,
        "Made with": provenance.made_with,
        "Date": provenance.date,
    }
    again: Part = None
    if provenance.command:
        said = tag("p", "To make this page again:")
        again = [said, tag("pre", code(provenance.command))]
    return section("Evidence", "evidence", facts(rows), again)
