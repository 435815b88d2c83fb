"""What the model can do to anyone: the sections of a page, one for each question."""

from __future__ import annotations

from fatt.everybody.answers import Answers
from fatt.everybody.gap import LargestGap
from fatt.everybody.share import Share
from fatt.everybody.where import Region, Regions
from fatt.markup import Markup, Part, cards, name_of, note, section, table, tag
from fatt.report.charts import share_bar
from fatt.verdict import Bounds, in_words

#: So many steps of the bounds are shown.
_STEPS = 12
#: Parts of a bar.
_PARTS = 1_000_000

#: What such answers do not say.
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


def within(answers: Answers | None) -> Markup | None:
    """Return what was found as one section of an audit's page."""
    if answers is None:
        return None
    return section(
        "Everybody, not only the people of the table",
        "everybody",
        note(
            "Meant is everybody between the values of the table, likely or not; each "
            "section says what is proved, and what is measured on people who are drawn."
        ),
        sections(answers),
        limits(),
    )


def limits() -> Markup:
    """Say what such answers do not say."""
    return tag("ul", [tag("li", one) for one in _LIMITS])


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
