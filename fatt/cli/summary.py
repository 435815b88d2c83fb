"""A report on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fatt.cli.terminal import printable
from fatt.report.sentences import caveats, decision, fair_of, headline
from fatt.verdict import Counterexample, in_words

if TYPE_CHECKING:
    from fatt.report import Report

_SHOWN_GROUPS = 20
_SHOWN_TWINS = 5


def print_report(
    report: Report,
    groups: Sequence[str],
    *,
    ids: Sequence[str] | None,
    min_fairness: float | None,
) -> None:
    """Print a report for people.

    Parameters
    ----------
    report
        The report.
    groups
        The columns to count by; several also together.
    ids
        What people are called.
    min_fairness
        The share of fair people that was asked for.
    """
    lines = [
        headline(report, min_fairness),
        f"Fairness: {fair_of(report.total)}.",
        "",
        report.similarity.describe(report.people.variables.schema),
        *decision(report),
        *report.notes,
        "",
        str(report.asked),
    ]
    for names in _together(groups):
        lines += ["", *_by_group(report, names)]
    if len(report.counterexamples):
        lines += ["", "The closest twins:"]
        lines += [
            f"  {line_of(case, ids)}"
            for case in report.counterexamples.closest(_SHOWN_TWINS)
        ]
    lines += ["", *caveats(report)] if caveats(report) else []
    for line in "\n".join(lines).split("\n"):
        click.echo(printable(line))


def line_of(case: Counterexample, ids: Sequence[str] | None = None) -> str:
    """Return a counterexample as one line, with the person's id if there is one."""
    return str(case) if ids is None else f"{ids[case.index]}  {case}"


def _together(groups: Sequence[str]) -> list[tuple[str, ...]]:
    single: list[tuple[str, ...]] = [(name,) for name in groups]
    return [*single, tuple(groups)] if len(groups) > 1 else single


def _by_group(report: Report, names: tuple[str, ...]) -> list[str]:
    found = report.by_group(*names)
    lines = [f"By {' and '.join(names)}:"]
    for values, group in list(found.items())[:_SHOWN_GROUPS]:
        key = values if isinstance(values, tuple) else (values,)
        who = ", ".join(map(in_words, key))
        lines.append(f"  {who:24} {fair_of(group)} fair")
    if len(found) > _SHOWN_GROUPS:
        lines.append(f"  and {len(found) - _SHOWN_GROUPS:,} more")
    return lines
