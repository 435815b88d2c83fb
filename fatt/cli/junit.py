"""A report as the tests of a build: the XML that JUnit made common."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from fatt.cli.terminal import printable, twin_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fatt.report import Report

_SHOWN_TWINS = 20


def to_junit(
    report: Report,
    *,
    name: str,
    min_fairness: float | None,
    warnings: Sequence[str],
    is_strict: bool,
) -> str:
    """Return the report as two tests: enough people are fair, and the rows fit.

    Parameters
    ----------
    report
        The report.
    name
        What was audited.
    min_fairness
        The share of fair people that was asked for.
    warnings
        Why the verdict may be about the wrong rows.
    is_strict
        Whether a warning fails the build.

    Returns
    -------
    str
        XML. Refuted and undecided are failures, which the attribute ``type`` tells
        apart; the closest twins stand below. If the rows are in doubt, that is an
        error. Figures are properties of the suite.
    """
    from fatt.report.sentences import Judgement, headline, judge

    suite = ET.Element("testsuite", name=printable(name))
    figures = ET.SubElement(suite, "properties")
    lower, upper = report.fairness
    told = {
        "fairness.lower": lower,
        "fairness.upper": upper,
        **report.counts,
        "model": report.people.variables.model.digest,
    }
    for key, value in told.items():
        ET.SubElement(figures, "property", name=key, value=str(value))
    share = "" if min_fairness is None else f" {min_fairness:.10g} of"
    fair = _case(suite, f"{share} the people are treated fairly".strip())
    twins = [twin_line(case) for case in report.counterexamples[:_SHOWN_TWINS]]
    found = "\n".join([headline(report, min_fairness), *twins])
    judged = Judgement.PROVEN if min_fairness is None else judge(report, min_fairness)
    if report.interrupted:
        _fail(fair, "interrupted", found)
    elif judged is Judgement.DOUBTED:
        _fail(fair, str(judged), "\n".join([*report.grave_doubts, found]), "error")
    elif judged is not Judgement.PROVEN:
        _fail(fair, str(judged), found)
    else:
        ET.SubElement(fair, "system-out").text = _lines(found)
    fits = _case(suite, "the rows fit the model")
    if warnings and is_strict:
        _fail(fits, "warning", "\n".join(warnings))
    elif warnings:
        ET.SubElement(fits, "system-out").text = _lines("\n".join(warnings))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    return _xml(suite)


def failed_run(sentence: str) -> str:
    """Return a test that could not run, since nothing was found that it could tell.

    Parameters
    ----------
    sentence
        Why it could not.
    """
    suite = ET.Element("testsuite", name="fatt audit", tests="1", errors="1")
    case = _case(suite, "the people are treated fairly")
    _fail(case, "could not run", sentence, "error")
    return _xml(suite)


def _xml(suite: ET.Element) -> str:
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname="fatt.audit", name=name)


def _fail(case: ET.Element, kind: str, text: str, tag: str = "failure") -> None:
    message = _lines(text).split("\n")[0]
    ET.SubElement(case, tag, type=kind, message=message).text = _lines(text)


def _lines(text: str) -> str:
    """Return a text without signs that XML forbids."""
    return "\n".join(map(printable, text.split("\n")))
