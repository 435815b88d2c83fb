"""What the model can do to anyone, as a page or as a section of an audit's page."""

from __future__ import annotations

from collections.abc import Mapping

from fatt.everybody.answers import Answers, Met
from fatt.markup import Markup, Part, code, facts, name_of, section, tag
from fatt.region import Relation, Schema
from fatt.report import page_everybody
from fatt.report.details import Provenance
from fatt.report.page import document

_DEMANDS = {
    "max-gap": "The largest effect",
    "max-share": "The share of unfair people",
    "no-pair": "No similar people are treated differently",
}


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
        *page_everybody.sections(answers),
        section("Who counts as similar", "similarity", similarity.in_html(schema)),
        section(
            "The space",
            "space",
            tag("p", "Whoever has such values is meant, likely or not:"),
            tag("pre", code(repr(schema))),
        ),
        section("Limits", "limits", page_everybody.limits()),
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
