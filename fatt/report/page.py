"""The page: one self-contained HTML file, and the facts on it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

import msgspec
import numpy as np

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
from fatt.report import doubts, page_figures, page_people
from fatt.report.charts import share_bar
from fatt.report.details import Details, Provenance
from fatt.report.groups import favourable_label
from fatt.report.sentences import CLOSEST, caveats, fair_of, headline, judge, rule
from fatt.threads import CHUNK

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
    favourable = favourable_label(report.findings.classes, favorable)
    found = page_people.counts(
        report, page_figures.protected(report, details, favourable)
    )
    sheet_warnings = [one.sentence for one in doubts.warnings(report, options=False)]
    warnings = sheet_warnings if summary else report.warnings
    header = [
        tag("h1", provenance.title),
        _of_what(provenance),
        _warnings([*warnings, *provenance.warnings]),
        tag("p", rule(report), class_="rule"),
        _verdict(report, min_fairness),
    ]
    if summary:
        sheet = [
            found,
            similarity(report, groups, in_full=False),
            page_people.groups(
                report, groups, favourable, assumed=assumed, most=_SHEET_GROUPS
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
        "groups": page_people.groups(report, groups, favourable, assumed=assumed),
        "twins": page_people.twins(report, ids),
        "columns": page_figures.columns(report, details),
        "radius": page_figures.radii(report, details.radii),
        "gaps": page_figures.gaps(details.gaps, len(report), ids),
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
    # Should a name ever get through as markup, it could still load and run nothing.
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
    "Fair is proved for every similar person that there could be, not only for those "
    "in the data, and for the answers that the model's own library gives: in its "
    "arithmetic, order of addition, rounding and ties.",
    "Unfair is shown by a concrete twin. The twin need not be a likely person.",
    "Nothing is left to chance: the same model, people and similarity give the same "
    "verdicts, unless a limit of time ends the search.",
    "The similarity was chosen by whoever ordered the audit; whether it is a good one, "
    "the proof does not say.",
    "What is judged is each person against similar people. Nothing is said of whether "
    "answers are right, and the rates of groups are counts, not proofs.",
    "What columns mean (whole numbers, categories) was taken from the model and the "
    "data. Bounds on numbers were not guessed.",
)

#: What limits of the search are called where nobody types them.
_LIMITS = {
    "seconds": "s for each person",
    "nodes": "steps for each person",
    "total_seconds": "s in all",
    "total_nodes": "steps in all",
}


def similarity(
    report: Report, groups: Sequence[str], *, in_full: bool = True
) -> Markup:
    """Say who counts as similar, and what is not asked, first of these attributes."""
    fixed = sorted(doubts.held_fixed(report), key=lambda name: name not in groups)
    notes = report.notes if in_full else doubts.notes(report, options=False)
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
        [tag("p", one) for one in notes],
        toml if in_full else None,
    )


def meaning(report: Report) -> Markup:
    """Say what a verdict means to somebody who reads nothing else."""
    [fair, unfair] = _ASSUMPTIONS[:2]
    return section(
        "What this means",
        "meaning",
        tag("ul", [tag("li", line) for line in (fair, str(report.asked), unfair)]),
        tag("p", " ".join(_ASSUMPTIONS[3:5])),
    )


def limits(report: Report, details: Details) -> Markup:
    """Say what limits the search had, and what the proof rests on."""
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
            f"Each search for differences of scores and for multiples of the noise was "
            f"limited to {details.nodes:,} steps; what it left open is shown as a "
            "range, or as the largest difference that was found."
        )
    if details.interrupted:
        lines.append("Measuring was interrupted; what is not shown was not reached.")
    notes = report.people.variables.model.source.notes
    return section(
        "Limits and assumptions",
        "limits",
        tag("ul", [tag("li", line) for line in [*lines, *_ASSUMPTIONS, *notes]]),
    )


def evidence(report: Report, provenance: Provenance, *, in_full: bool = True) -> Markup:
    """Say what was audited, so that somebody else can do it again."""
    model = report.people.variables.model
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
        "Missing values": _missing(report),
        "Columns, by position": _positions(report),
        "People file, SHA-256": _digest(provenance.data_digest),
        "Schema, SHA-256": _digest(_sha256(report.people.variables.schema)),
        "Similarity, SHA-256": _digest(_sha256(report.similarity.to_toml())),
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


def _missing(report: Report) -> Part:
    """Say in which columns values are missing, and how often."""
    people = report.people
    counts = sum(
        np.isnan(people.values(start, min(start + CHUNK, len(people)))).sum(axis=0)
        for start in range(0, len(people), CHUNK)
    )
    features = people.variables.ensemble.features
    gaps = [
        f"{feature.name} {count:,}"
        for feature, count in zip(features, np.atleast_1d(counts), strict=True)
        if count
    ]
    return names_of(gaps, ", ") if gaps else "none"


def _named(text: str) -> Markup | None:
    return name_of(text) if text else None


def _digest(text: str) -> Markup | None:
    return code(text) if text else None


def _sha256(value: object) -> str:
    data = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return hashlib.sha256(data).hexdigest()
