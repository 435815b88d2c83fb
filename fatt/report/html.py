"""A report as one page that needs nothing else: no network, script or other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from fatt.ensemble import Label
from fatt.report import html_facts, html_figures, html_people
from fatt.report.details import Details, Provenance
from fatt.report.markup import Markup, name_of, tag, verbatim
from fatt.report.selection import favourable_label
from fatt.report.sentences import headline, judge, share

if TYPE_CHECKING:
    from fatt.report.report import Report

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
    favourable: Label | None = None,
    details: Details | None = None,
    provenance: Provenance | None = None,
) -> str:
    """Return the report as a page; see `Report.to_html`."""
    details = Details() if details is None else details
    provenance = Provenance() if provenance is None else provenance
    favourable = favourable_label(report.findings.classes, favourable)
    parts = {
        "findings": html_people.counts(report),
        "similarity": html_facts.similarity(report),
        "groups": html_people.groups(report, groups, favourable),
        "twins": html_people.twins(report, ids),
        "columns": html_figures.columns(report, details, favourable),
        "radius": html_figures.radii(details.radii, len(report)),
        "gaps": html_figures.gaps(details.gaps, len(report), ids),
        "limits": html_facts.limits(report, details),
        "evidence": html_facts.evidence(report, provenance),
    }
    links = [
        tag("li", tag("a", _LINKS[name], href=f"#{name}"))
        for name, part in parts.items()
        if part is not None
    ]
    body = tag(
        "body",
        tag("a", "Skip to the findings", href="#findings", class_="skip"),
        tag(
            "header",
            tag("h1", provenance.title),
            _of_what(provenance),
            _verdict(report, min_fairness),
            tag("nav", tag("ul", links), aria_label="Sections"),
        ),
        tag("main", list(parts.values())),
    )
    page = tag("html", _head(provenance), body, lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _of_what(provenance: Provenance) -> Markup | None:
    named = [name for name in (provenance.model, provenance.data) if name]
    if not named:
        return None
    about = [[name_of(name), " on "] for name in named[:-1]]
    date = f", {provenance.date}" if provenance.date else ""
    return tag("p", about, name_of(named[-1]), date, class_="about")


def _verdict(report: Report, min_fairness: float | None) -> Markup:
    kind = "" if min_fairness is None else f" {judge(report.fairness, min_fairness)}"
    return tag(
        "div",
        tag("p", tag("strong", share(report.fairness)), " treated fairly"),
        tag("p", headline(report, min_fairness)),
        class_=f"verdict{kind}",
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
