"""What a report says, in sentences for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from fatt.ensemble.cutoff import rule_in_words
from fatt.verdict import BECAUSE, Bounds

if TYPE_CHECKING:
    from fatt.report.report import Report


class Judgement(StrEnum):
    """Whether the share of fair people that was asked for is there."""

    PROVEN = "proven"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


def judge(fairness: Bounds, min_fairness: float) -> Judgement:
    """Compare the share of fair people with the one that was asked for.

    Examples
    --------
    >>> judge(Bounds(0.9, 0.97), 0.95)
    <Judgement.UNDECIDED: 'undecided'>
    """
    if fairness.lower >= min_fairness:
        return Judgement.PROVEN
    if fairness.upper < min_fairness:
        return Judgement.REFUTED
    return Judgement.UNDECIDED


def share(fairness: Bounds) -> str:
    """Write a share that lies between two bounds; rounding claims no more than they.

    Examples
    --------
    >>> share(Bounds(0.99999, 0.99999)), share(Bounds(0.5, 0.75))
    ('99.99%', '50.00% to 75.00%')
    """
    lower, upper = fairness
    if lower == upper:
        return f"{_down(lower)}%"
    return f"{_down(lower)}% to {_up(upper)}%"


def _down(number: float) -> str:
    # A share such as 0.29 is a little less than 29 hundredths.
    return f"{math.floor(number * 1e4 + 1e-9) / 100:.2f}"


def _up(number: float) -> str:
    return f"{math.ceil(number * 1e4 - 1e-9) / 100:.2f}"


def headline(report: Report, min_fairness: float | None = None) -> str:
    """Say in one sentence what was found.

    Parameters
    ----------
    report
        The report.
    min_fairness
        The share of fair people that was asked for.
    """
    fair, unfair, unknown = report.counts.values()
    alike = "treated like everybody similar to them"
    found = [f"{_are(fair)} proved to be{f' {alike}' if min_fairness is None else ''}"]
    if unfair:
        found.append(f"{_are(unfair)} not, each with a twin to show it")
    if unknown:
        found.append(f"{_are(unknown)} undecided")
    counted = ", ".join(found)
    everybody = f"{len(report):,} {'person' if len(report) == 1 else 'people'}"
    if min_fairness is None:
        return f"Of {everybody}, {counted}."
    asked = {
        Judgement.PROVEN: "Proven: at least",
        Judgement.REFUTED: "Refuted: fewer than",
        Judgement.UNDECIDED: "Undecided: it is not known whether",
    }[judge(report.fairness, min_fairness)]
    share = f"{100 * min_fairness:.10g}%"
    return f"{asked} {share} of {everybody} are {alike}; {counted}."


def _are(count: int) -> str:
    return f"{count:,} is" if count == 1 else f"{count:,} are"


def decision(report: Report) -> list[str]:
    """Say by which cut-off the model decides, if it was told one."""
    words = rule_in_words(report.people.variables.model)
    return [f"The model decides by a cut-off: {words}."] if words else []


def caveats(report: Report) -> list[str]:
    """Say what was not decided, and why."""
    unknown = report.counts["unknown"]
    found = []
    if report.interrupted:
        found.append(
            "The run was interrupted; whoever was not reached counts as unknown."
        )
    if unknown:
        reasons = report.findings.reasons
        why = [f"{count:,} {BECAUSE[reason]}" for reason, count in reasons.items()]
        [first, *others] = reasons
        told = f": {', '.join(why)}" if others else f" {BECAUSE[first]}"
        found.append(
            f"{_are(unknown)} unknown{told}. Unknown counts neither as fair nor as "
            "unfair."
        )
    return found


def counted(counts: Mapping[str, int], stopped: Mapping[str, int]) -> str:
    """Write how many people there are of each verdict, and why some are unknown.

    Examples
    --------
    >>> counted({"fair": 1200, "unknown": 3}, {"tie": 1, "budget": 2})
    '1,200 fair, 3 unknown (1 tie, 2 budget)'
    """
    text = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    why = ", ".join(f"{number:,} {name}" for name, number in stopped.items())
    return f"{text} ({why})" if why else text
