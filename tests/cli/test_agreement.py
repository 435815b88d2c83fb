"""Comparing answers with outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fatt.cli.agreement import agreement
from fatt.verdict import Findings
from tests.report import made


@pytest.mark.parametrize("reached", [0, 3, 5])
def test_who_was_not_reached_is_not_answered_wrongly(reached: int) -> None:
    whole = made.report()
    label = np.where(np.arange(5) < reached, whole.findings.label, -1)
    report = replace(
        whole,
        findings=replace(whole.findings, label=label),
        interrupted=reached < 5,
    )
    truth = ["deny", "grant", "grant", "grant", "grant"]
    told = agreement(report, "y", truth, {})
    assert told.warnings == ()
    said = {
        0: (),
        3: ("The model's answer is that of column 'y' for 2 of 3 people (66.7%).",),
        5: ("The model's answer is that of column 'y' for 4 of 5 people (80.0%).",),
    }
    assert told.notes == said[reached]


def test_predictions_that_were_not_made_are_not_wrong() -> None:
    whole = made.report()
    findings = Findings.unreached(0, 5, (), 2)
    label = np.array([1.0, 2.0, np.nan, np.nan, np.nan])
    report = replace(whole, findings=replace(findings, label=label), interrupted=True)
    told = agreement(report, "y", ["1", "2", "3", "4", "5"], {})
    assert told.notes[0].startswith("The model's prediction is off column 'y' by 0 in")


def test_a_column_without_outcomes_is_told() -> None:
    [said] = agreement(made.report(), "y", [""] * 5, {}).warnings
    assert said == "Column 'y' holds no outcomes, so that they were not compared."
