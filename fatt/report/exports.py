"""Reports as data frames and as JSON."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from fatt.errors import MissingDependencyError
from fatt.importers.versions import all_releases
from fatt.verdict import Counterexample, Findings, Value, json_value

if TYPE_CHECKING:
    from fatt.report.report import Report

_FRAMES = ("pandas", "polars", "pyarrow")


def to_frame(report: Report) -> Any:
    """Return one row per person; see `Report.to_frame`."""
    import narwhals as nw

    kinds, which = report.findings.kinds()
    twin_labels: list[Value] = [None] * len(report)
    changes: list[str | None] = [None] * len(report)
    for case in report.counterexamples:
        twin_labels[case.index] = case.twin_label
        changes[case.index] = case.changes_in_words
    columns: dict[str, Any] = {
        "verdict": [str(kinds[kind].verdict) for kind in which],
        "label": [kinds[kind].label for kind in which],
        "labels": [list(kinds[kind].labels) for kind in which],
        "twin_label": twin_labels,
        "changes": changes,
    }
    given = report.people.frame
    backend: Any = _installed() if given is None else given.implementation
    frame = nw.from_dict(columns, backend=backend)
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        series = frame.implementation.to_native_namespace().Series
        for name in ("label", "twin_label"):
            if _are_numbered(columns[name]):
                # Without this type pandas makes floats of whole numbers beside gaps.
                native[name] = series(columns[name], dtype="Int64")
        if given is not None:
            native.index = given.to_native().index
    return native


def _are_numbered(labels: list[Value]) -> bool:
    """Tell whether labels are whole numbers of 64 bits, and some are absent."""
    known = {label for label in labels if label is not None}
    return (
        len(known) > 0
        and None in labels
        and all(
            isinstance(label, int)
            and not isinstance(label, bool)
            and abs(label) < 2**63
            for label in known
        )
    )


def _installed() -> str:
    """Return the first package of data frames that is installed."""
    for name in _FRAMES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise MissingDependencyError(
        "a table of the report needs pandas, polars or pyarrow: pip install pandas. "
        "Without one of them, read report.findings."
    )


def to_json(report: Report) -> str:
    """Return the report as JSON; see `Report.to_json`."""
    model = report.people.variables.model
    document = {
        "format": "fatt-report-1",
        "model": {
            "digest": model.digest,
            "library": model.source.library,
            "version": model.source.version,
            "kind": model.source.model,
            "classes": [json_value(label) for label in model.classes],
            "notes": model.source.notes,
        },
        "tested": all_releases(),
        "similarity": [one.plain() for one in report.similarity.alternatives],
        "budget": msgspec.to_builtins(report.budget),
        "interrupted": report.interrupted,
        "counts": report.counts,
        "asked": asdict(report.asked),
        "fairness": report.fairness._asdict(),
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
