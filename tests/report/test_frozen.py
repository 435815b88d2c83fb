"""Reports, rows, pages and certificates of kept questions are what they were."""

from __future__ import annotations

import functools
import json

import pytest

from fatt import Report
from tests.report.frozen import CASES, KEPT, digests, report_of

known = functools.cache(report_of)


def test_every_verdict_is_kept() -> None:
    reports: list[Report] = [known(name) for name in CASES]
    for verdict in ("fair", "unfair", "unknown"):
        assert sum(report.counts[verdict] > 0 for report in reports) >= 3


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_stays_the_same(name: str) -> None:
    assert digests(known(name)) == json.loads(KEPT.read_text())[name]
