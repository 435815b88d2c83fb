"""What a report says, in sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from fatt.ensemble import Bands, Prediction
from fatt.ensemble.cutoff import rule_in_words
from fatt.report.groups import Group, share_of_fair
from fatt.verdict import BECAUSE, in_words, share

if TYPE_CHECKING:
    from fatt.report.report import Report


_JUDGED = "Judged: the model's own answer"
#: The order in which twins are shown.
CLOSEST = "fewest columns that differ first, then the smallest steps"
#: How rows are counted, for readers who never saw Python.
ROWS = "row 0 is the first person, as in the CSV and in Python"
#: What is unfair if only the same answer is fair.
ANOTHER = "a different answer"
#: So many answers are named.
_FEW_ANSWERS = 6


class Judgement(StrEnum):
    """Whether the required share of fair people is reached."""

    PROVEN = "proven"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    #: Proven of rows that seem not to be those that the model was made for.
    DOUBTED = "doubted"


def judge(report: Report, min_fairness: float) -> Judgement:
    """Compare the share of fair people with the required one."""
    if report.fairness.lower >= min_fairness:
        return Judgement.DOUBTED if report.grave_doubts else Judgement.PROVEN
    if report.fairness.upper < min_fairness:
        return Judgement.REFUTED
    return Judgement.UNDECIDED


def fair_of(group: Group) -> str:
    """Write how many people are fair, and their share.

    Examples
    --------
    >>> from fatt.verdict import Bounds
    >>> counts = {"fair": 272, "unfair": 28, "unknown": 0}
    >>> fair_of(Group(300, counts, Bounds(272 / 300, 272 / 300)))
    '272 of 300, 90.66%'
    """
    fair, unknown = group.counts["fair"], group.counts["unknown"]
    most = f" to {fair + unknown:,}" if unknown else ""
    plain = share_of_fair(*group.counts.values())
    weighted = "" if share(plain) == share(group.fairness) else " by weight"
    return f"{fair:,}{most} of {group.size:,}, {share(group.fairness)}{weighted}"


def headline(report: Report, min_fairness: float | None = None) -> str:
    """Say in one or two sentences what was found.

    Parameters
    ----------
    report
        The report.
    min_fairness
        The required share of fair people.
    """
    fair, unfair, unknown = report.counts.values()
    everybody = people_in_words(len(report))
    many = f"all {everybody}" if len(report) > 1 else everybody
    worse = unfair_answer(report)
    told = unfair or fair
    who = many if told == len(report) else f"{told:,} of {everybody}"
    if unfair:
        found = f"For {who} we found a similar person with {worse}"
        found += f"; for {fair:,} we proved that there is none" if fair else ""
    else:
        found = f"For {who} we proved that no similar person gets {worse}"
    undecided = f"; {_are(unknown)} undecided" if unknown else ""
    asked = ""
    if min_fairness is not None:
        met = {
            Judgement.PROVEN: "Met",
            Judgement.REFUTED: "Not met",
            Judgement.UNDECIDED: "Undecided",
            Judgement.DOUBTED: "In doubt, as the warning says",
        }[judge(report, min_fairness)]
        asked = f"{met} ({100 * min_fairness:.10g}% required). "
    return f"{asked}{found}{undecided}."


def people_in_words(count: int) -> str:
    """Write a number of people."""
    return "1 person" if count == 1 else f"{count:,} people"


def _are(count: int) -> str:
    return f"{count:,} is" if count == 1 else f"{count:,} are"


def decision(report: Report) -> list[str]:
    """Say how the model decides and what is fair, if either was told."""
    model = report.people.variables.model
    words, found = rule_in_words(model), []
    if isinstance(model.decision, Prediction):
        found += [f"What is compared: {words}."] if words else []
    elif isinstance(model.decision, Bands):
        found.append(f"The model decides {words}.")
    elif words:
        found.append(f"The model decides by a cut-off: {words}.")
    if report.allowed.words:
        found.append(f"What is fair: {report.allowed.words}.")
    return found


def unfair_answer(report: Report) -> str:
    """Say what no person similar to a fair one gets."""
    allowed = report.allowed
    worse = {None: "", "not lower": "lower", "not higher": "higher"}[allowed.direction]
    if allowed.tolerance is None:
        if not worse:
            return ANOTHER
        if allowed.favorable is None:
            return f"a {worse} band"
        return "a worse answer" if worse == "lower" else "a better answer"
    what = compared_numbers(report)
    if not worse:
        return f"a {what} that is too far away"
    return (
        f"a {what} that is too much {worse}"
        if allowed.tolerance
        else f"a {worse} {what}"
    )


def compared_numbers(report: Report) -> str:
    """Say which number the model's answer is; nothing if it is a label."""
    decision = report.people.variables.model.decision
    if not isinstance(decision, Prediction):
        return ""
    return "prediction" if decision.of is None else "probability"


def rule(report: Report) -> str:
    """Say which decision is judged."""
    return " ".join(decision(report) or [f"{_JUDGED}{_answers(report)}."])


def _answers(report: Report) -> str:
    """Name the answers, if they are few."""
    classes = report.findings.classes
    if not 1 < len(classes) <= _FEW_ANSWERS:
        return ""
    [*others, last] = map(in_words, classes)
    return f", {', '.join(others)} or {last}"


def caveats(report: Report) -> list[str]:
    """Say what was not decided, and why."""
    unknown = report.counts["unknown"]
    found = []
    if report.interrupted:
        found.append("The run was interrupted. People not reached are unknown.")
    if unknown:
        reasons = report.findings.reasons
        why = [f"{count:,} {BECAUSE[reason]}" for reason, count in reasons.items()]
        [first, *others] = reasons
        told = f": {', '.join(why)}" if others else f" {BECAUSE[first]}"
        found.append(
            f"{_are(unknown)} unknown{told}. Unknown is neither fair nor unfair."
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
