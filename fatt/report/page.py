"""The page: one self-contained HTML file, and the facts on it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.certificate.file import digest_of_schema, digest_of_similarity
from fatt.ensemble import Label
from fatt.ensemble.cutoff import rule_in_words
from fatt.ensemble.tables import by_position
from fatt.importers.versions import releases_in_words
from fatt.markup import (
    Markup,
    Part,
    cards,
    code,
    facts,
    listed,
    name_of,
    names_of,
    notebook,
    section,
    tag,
    verbatim,
)
from fatt.region.amounts import short
from fatt.report import page_everybody, page_figures, page_people
from fatt.report.charts import share_bar
from fatt.report.details import Details, Provenance
from fatt.report.doubts import count_cells, held_fixed
from fatt.report.groups import favorable_label
from fatt.report.harm import Harmed, known_harm
from fatt.report.sentences import CLOSEST, caveats, fair_of, headline, judge, rule

if TYPE_CHECKING:
    from fatt.report.report import Report


#: So many twins are shown in a notebook.
_CARDS = 3

#: So many columns that stay as they are are named.
_SHOWN_FIXED = 8

#: What a summary on one sheet shows of groups, twins and the evidence.
_SHEET_GROUPS, _SHEET_TWINS = 3, 2
_SHEET_FACTS = (
    "Model",
    "Kind of model",
    "Model file, SHA-256",
    "People",
    "People file, SHA-256",
    "Certificate, SHA-256",
    "Made with",
    "Date",
)

_LINKS = {
    "findings": "Findings",
    "similarity": "Similarity",
    "groups": "Groups",
    "twins": "Twins",
    "columns": "Columns",
    "radius": "Noise",
    "gaps": "Scores",
    "everybody": "Everybody",
    "limits": "Limits",
    "evidence": "Evidence",
}


def to_html(
    report: Report,
    *,
    groups: Sequence[str] = (),
    ids: Sequence[str] | None = None,
    min_fairness: float | None = None,
    favorable: Label | None = None,
    details: Details | None = None,
    provenance: Provenance | None = None,
    summary: bool = False,
) -> str:
    """Return the report as a page; see `Report.to_html`."""
    details = Details() if details is None else details
    provenance = Provenance() if provenance is None else provenance
    groups = [*dict.fromkeys([*groups, *report.people.sensitive])]
    assumed = favorable is None
    favorable = favorable_label(report.findings.classes, favorable)
    harmed = None if favorable is None else known_harm(report, favorable)
    found = page_people.counts(
        report, page_figures.protected(report, details, favorable)
    )
    header = [
        tag("h1", provenance.title),
        _of_what(provenance),
        _warnings([*report.warnings, *provenance.warnings]),
        tag("p", rule(report), class_="rule"),
        _verdict(report, min_fairness),
        [tag("p", one, class_="key") for one in _told(harmed, details)],
    ]
    if summary:
        sheet = [
            found,
            similarity(report, groups, in_full=False),
            page_people.groups(
                report, groups, favorable, assumed=assumed, most=_SHEET_GROUPS
            ),
            page_people.twins(report, ids, _SHEET_TWINS),
            meaning(report),
            evidence(report, provenance, in_full=False),
        ]
        return document(
            provenance, tag("header", header), tag("main", sheet), kind="sheet"
        )
    parts = {
        "findings": found,
        "similarity": similarity(report, groups),
        "groups": page_people.groups(report, groups, favorable, assumed=assumed),
        "twins": page_people.twins(report, ids),
        "columns": page_figures.columns(report, details),
        "radius": page_figures.radii(report, details.radii),
        "gaps": page_figures.gaps(details, len(report), ids),
        "everybody": page_everybody.within(details.everybody),
        "limits": limits(report, details),
        "evidence": evidence(report, provenance),
    }
    links = [
        tag("li", tag("a", _LINKS[name], href=f"#{name}"))
        for name, part in parts.items()
        if part is not None
    ]
    nav = tag("nav", tag("ul", links), aria_label="Sections")
    return document(
        provenance,
        tag("a", "Skip to the findings", href="#findings", class_="skip"),
        tag("header", header, nav),
        tag("main", list(parts.values())),
    )


def document(provenance: Provenance, *parts: Part, kind: str | None = None) -> str:
    """Return a whole page."""
    body = tag("body", *parts, class_=kind)
    page = tag("html", _head(provenance), body, lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def notebook_of(report: Report) -> str:
    """Return what a notebook shows of a report: why to doubt it, counts, some twins."""
    ended = " (interrupted)" if report.interrupted else ""
    cases = report.counterexamples
    return notebook(
        f"Report on {len(report):,} people{ended}: {fair_of(report.total)} fair",
        [tag("p", "Warning. ", one, class_="warning") for one in report.warnings],
        share_bar(list(report.counts.values()), list(report.counts)),
        tag("p", headline(report)),
        [tag("p", one) for one in [*caveats(report), rule(report)]],
        report.similarity.in_html(report.people.variables.schema),
        [tag("p", one, class_="note") for one in report.notes],
        tag(
            "details",
            tag("summary", f"The closest twins: {CLOSEST}"),
            cards(case.card(f"Person {case.index}") for case in cases[:_CARDS]),
        )
        if len(cases)
        else None,
    )


def _of_what(provenance: Provenance) -> Markup | None:
    named = [name for name in (provenance.model, provenance.data) if name]
    if not named:
        return None
    about = [[name_of(name), " on "] for name in named[:-1]]
    date = f", {provenance.date}" if provenance.date else ""
    return tag("p", about, name_of(named[-1]), date, class_="about")


def _verdict(report: Report, min_fairness: float | None) -> Markup:
    kind = "" if min_fairness is None else f" {judge(report, min_fairness)}"
    return tag(
        "div",
        tag("p", tag("strong", fair_of(report.total)), " treated fairly"),
        tag("p", headline(report, min_fairness)),
        class_=f"verdict{kind}",
    )


def _told(harmed: Harmed | None, details: Details) -> list[str]:
    """Say who is harmed, and by what people are unfair."""
    found = [] if harmed is None else [harmed.sentence()]
    return found if details.causes is None else [*found, str(details.causes)]


def _warnings(sentences: Sequence[str]) -> Markup | None:
    """Say first why the findings may be about something else."""
    if not sentences:
        return None
    return tag(
        "div",
        [tag("p", tag("strong", "Warning. "), one) for one in sentences],
        class_="warnings",
        role="note",
    )


def _head(provenance: Provenance) -> Markup:
    folder = resources.files("fatt.report") / "templates"
    style = (folder / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # Even if a name got through as markup, it could load and run nothing.
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", provenance.title),
        tag("style", verbatim(style)),
    )


_ASSUMPTIONS = (
    "Fair is proved: the proof covers every possible similar person, not only those in "
    "the data. It follows the arithmetic of the model's own library exactly, with its "
    "rounding and ties.",
    "Unfair is shown by a similar person, the twin, who need not be a likely person.",
    "Verdicts can be repeated: the same model, people and similarity give the same "
    "verdicts, unless a time limit ends the search.",
    "Whoever ordered the audit chose the similarity. The proof does not say whether it "
    "is a good one. Stand-ins for sex or race, such as a postcode, are not tested "
    "unless the similarity names them.",
    "Each person is compared with similar people. Whether answers are right is not "
    "judged. Rates of groups are counts, not proofs.",
    "The meaning of columns (whole numbers, categories) comes from the model and the "
    "data. Bounds on numbers are not guessed.",
)

#: The limits of the search in words.
_LIMITS = {
    "seconds": "s for each person",
    "nodes": "steps for each person",
    "total_seconds": "s in all",
    "total_nodes": "steps in all",
}


def similarity(
    report: Report, groups: Sequence[str], *, in_full: bool = True
) -> Markup:
    """Say who counts as similar, and which columns stay fixed."""
    fixed = held_fixed(report.people, report.similarity)
    fixed.sort(key=lambda name: name not in groups)
    toml = tag(
        "details",
        tag("summary", "The same for programs (TOML)"),
        tag("pre", code(report.similarity.to_toml())),
    )
    return section(
        "Who counts as similar",
        "similarity",
        report.similarity.in_html(report.people.variables.schema),
        tag("p", "Held fixed: ", listed(fixed, _SHOWN_FIXED), ".") if fixed else None,
        [tag("p", one) for one in report.notes],
        toml if in_full else None,
    )


def meaning(report: Report) -> Markup:
    """Say what a verdict means."""
    [fair, unfair] = _ASSUMPTIONS[:2]
    return section(
        "What this means",
        "meaning",
        tag("ul", [tag("li", line) for line in (fair, str(report.asked), unfair)]),
        tag("p", " ".join(_ASSUMPTIONS[3:5])),
    )


def limits(report: Report, details: Details) -> Markup:
    """Say what limited the search, and what the proof assumes."""
    budget = msgspec.to_builtins(report.budget)
    given = [
        f"{short(limit):,} {_LIMITS[name]}"
        for name, limit in budget.items()
        if limit is not None
    ]
    lines = [
        f"Limits of the search: {', '.join(given)}."
        if given
        else "The search had no limits of time or effort."
    ]
    lines.append(str(report.asked))
    if details.nodes is not None:
        lines.append(
            "Searches for score differences and noise multiples were limited to "
            f"{details.nodes:,} steps each. Where one did not finish, the page shows a "
            "range, or the largest difference found."
        )
    if details.interrupted:
        lines.append(
            "Measuring was interrupted. Figures that are absent were not measured."
        )
    notes = report.people.variables.model.source.notes
    return section(
        "Limits and assumptions",
        "limits",
        tag("ul", [tag("li", line) for line in [*lines, *_ASSUMPTIONS, *notes]]),
    )


def evidence(report: Report, provenance: Provenance, *, in_full: bool = True) -> Markup:
    """Say what was audited, so that others can repeat it."""
    variables, toml = report.people.variables, report.similarity.to_toml()
    model, schema = variables.model, variables.schema
    source = model.source
    kind = " ".join(filter(None, [source.model, source.library, source.version]))
    rows: dict[str, Part] = {
        "Model": _named(provenance.model),
        "Kind of model": f"{kind}, {len(model.trees):,} trees",
        "Answers": names_of(list(map(str, model.classes)) or ["numbers"], ", "),
        "Decision": rule_in_words(model),
        "What is fair": report.allowed.words,
        "Model file, SHA-256": _digest(provenance.model_digest),
        "What it computes, SHA-256": _digest(model.digest),
        "People": _named(provenance.data),
        "Number of people": f"{len(report):,}; row 0 is the first of them",
        "Missing values": _columns_with(report, np.isnan) or "none",
        "Infinite numbers": _columns_with(report, np.isinf),
        "Columns, by position": _positions(report),
        "People file, SHA-256": _digest(provenance.data_digest),
        "Schema, SHA-256": code(digest_of_schema(schema)),
        "Similarity, SHA-256": code(digest_of_similarity(toml)),
        "Certificate": _named(provenance.certificate),
        "Certificate, SHA-256": _digest(provenance.certificate_digest),
        "Made with": provenance.made_with,
        "Tested with": releases_in_words(),
        "Date": provenance.date,
    }
    commands = {
        "To make this page again:": provenance.command,
        "To check the proofs and the twins, without the search:": provenance.check,
    }
    return section(
        "Evidence",
        "evidence",
        [tag("p", note) for note in provenance.notes if in_full],
        facts(rows if in_full else {name: rows[name] for name in _SHEET_FACTS}),
        [
            [tag("p", what), tag("pre", code(command))]
            for what, command in commands.items()
            if command and in_full
        ],
        tag(
            "div",
            [
                tag("p", tag("span", text))
                for text in ("Auditor", "Place and date", "Signature")
            ],
            class_="signature",
        ),
    )


def _positions(report: Report) -> Part:
    """Say which column a model without names takes for which of its own."""
    people = report.people
    model = people.variables.model
    if model.inputs.named or people.frame is None:
        return None
    pairs = by_position(people.frame, model.features)
    return names_of([f"{own} = {name}" for own, name in pairs], ", ")


def _columns_with(
    report: Report, chosen: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
) -> Part:
    """Say in which columns some cells are chosen, and how many."""
    people = report.people
    counts = count_cells(people, chosen)
    features = people.variables.ensemble.features
    found = [
        f"{feature.name} {count:,}"
        for feature, count in zip(features, counts, strict=True)
        if count
    ]
    return names_of(found, ", ") if found else None


def _named(text: str) -> Markup | None:
    return name_of(text) if text else None


def _digest(text: str) -> Markup | None:
    return code(text) if text else None
