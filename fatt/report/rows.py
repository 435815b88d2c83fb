"""Findings as rows of a data frame, of CSV, of JSON and of Parquet.

All have the same columns, `COLUMNS`. The possible labels are a list, and in CSV a text
joined by bars. What does not apply is null, and in CSV empty.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from fatt.ensemble import Label
from fatt.ensemble.cutoff import rule_in_words
from fatt.frames import frame_of
from fatt.importers.versions import all_releases
from fatt.report.harm import known_harm
from fatt.verdict import (
    Counterexample,
    Findings,
    answers_of,
    in_words,
    json_value,
)

if TYPE_CHECKING:
    from fatt.report.report import Report

#: The columns; the last three are about unfair people only.
COLUMNS = (
    "verdict",
    "label",
    "labels",
    "stopped",
    "twin_label",
    "changes",
    "replayed_on",
)


def columns_of(
    report: Report,
    *,
    label: Callable[[Label], Any] = lambda label: label,
    labels: Callable[[Sequence[Any]], Any] = list,
    absent: Any = None,
) -> dict[str, list[Any]]:
    """Return the columns, one cell per person.

    Few findings differ, so each kind of cell is made once.

    Parameters
    ----------
    report
        The report.
    label
        Writes a label.
    labels
        Joins several written labels.
    absent
        The cell of what does not apply.
    """
    findings, twins = report.findings, report.findings.twins
    kinds, which = findings.kinds()
    columns: dict[str, list[Any]] = {}
    cells = {
        "verdict": [str(kind.verdict) for kind in kinds],
        "label": [absent if k.label is None else label(k.label) for k in kinds],
        "labels": [labels([label(one) for one in kind.labels]) for kind in kinds],
        "stopped": [absent if k.stopped is None else str(k.stopped) for k in kinds],
    }
    for name, of_kind in cells.items():
        columns[name] = [of_kind[kind] for kind in which]
    cases = {
        "twin_label": list(map(label, answers_of(twins.twin_label, findings.classes))),
        "changes": twins.changes_in_words(
            report.people.variables.ensemble.features, report.people.said
        ),
        "replayed_on": ["model" if on else "ensemble" for on in twins.on_model],
    }
    places = (twins.index - findings.start).tolist()
    for name, of_case in cases.items():
        columns[name] = [absent] * len(findings)
        for place, cell in zip(places, of_case, strict=True):
            columns[name][place] = cell
    return columns


def to_csv(
    report: Report,
    columns: Mapping[str, Sequence[str]] | None = None,
    *,
    favorable: Label | None = None,
) -> str:
    """Return CSV with one line per person, without a package of data frames.

    Parameters
    ----------
    report
        The report.
    columns
        More columns, which come first, such as ids.
    favorable
        The answer that people want, as in `Report.harmed`.

    Returns
    -------
    str
        The given columns, then the row counted from 0, the columns of `COLUMNS`, and
        ``harm`` if the favorable answer is known.
    """
    given, harmed = dict(columns or {}), known_harm(report, favorable)
    more = {} if harmed is None else {"harm": harmed.words()}
    found = columns_of(report, label=in_words, labels=" | ".join, absent="")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*given, "row", *COLUMNS, *more])
    rows = range(len(report))
    cells = [found[name] for name in COLUMNS]
    writer.writerows(zip(*given.values(), rows, *cells, *more.values(), strict=True))
    return text.getvalue()


def to_frame(report: Report) -> Any:
    """Return one row per person; see `Report.to_frame`."""
    return frame_of(columns_of(report), like=report.people.frame)


def to_arrow(report: Report | None) -> Any:
    """Return one row per person as a table of pyarrow, of texts and lists of texts.

    All parts of a table have the same types.

    Parameters
    ----------
    report
        The report; None if there is nobody.
    """
    import pyarrow as pa

    types = dict.fromkeys(COLUMNS, pa.string()) | {"labels": pa.list_(pa.string())}
    found = {} if report is None else columns_of(report, label=str)
    return pa.table(
        {name: pa.array(found.get(name, []), types[name]) for name in COLUMNS}
    )


def to_json(report: Report, favorable: Label | None = None) -> str:
    """Return the report as JSON; see `Report.to_json`."""
    harmed = known_harm(report, favorable)
    model = report.people.variables.model
    document = {
        "format": "fatt-report-1",
        "model": {
            "digest": model.digest,
            "library": model.source.library,
            "version": model.source.version,
            "kind": model.source.model,
            "classes": [json_value(label) for label in model.classes],
            "decision": rule_in_words(model),
            "fair": report.allowed.words,
            "notes": model.source.notes,
        },
        "tested": all_releases(),
        "similarity": [one.plain() for one in report.similarity.alternatives],
        "budget": msgspec.to_builtins(report.budget),
        "interrupted": report.interrupted,
        "counts": report.counts,
        "alone": report.alone,
        "warnings": report.warnings,
        "notes": report.notes,
        "stopped": report.stopped,
        "asked": asdict(report.asked),
        "fairness": report.fairness._asdict(),
        "harmed": None if harmed is None else harmed.plain(),
        "findings": _findings(report.findings),
        "counterexamples": [_case(case) for case in report.counterexamples],
    }
    return msgspec.json.encode(document).decode()


def _findings(findings: Findings) -> list[msgspec.Raw]:
    """Return the findings of all people; each kind of finding is encoded once."""
    kinds, which = findings.kinds()
    encoded = [
        msgspec.Raw(
            msgspec.json.encode(
                {
                    "verdict": str(kind.verdict),
                    "label": json_value(kind.label),
                    "labels": [json_value(label) for label in kind.labels],
                    "stopped": kind.stopped,
                }
            )
        )
        for kind in kinds
    ]
    return [encoded[kind] for kind in which]


def _case(case: Counterexample) -> dict[str, Any]:
    return {
        "index": case.index,
        "label": json_value(case.label),
        "twin_label": json_value(case.twin_label),
        "individual": {name: json_value(v) for name, v in case.individual.items()},
        "twin": {name: json_value(value) for name, value in case.twin.items()},
        "changes": {
            name: {"before": json_value(old), "after": json_value(new)}
            for name, (old, new) in case.changes.items()
        },
        "replayed_on": case.replayed_on,
    }
