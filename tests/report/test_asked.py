"""What a report says of what the model itself was asked."""

from __future__ import annotations

import html
import json
from dataclasses import replace

import pytest

from fatt.report import Asked
from tests.report.made import report

NOT_ASKED = "The answers were not compared with those of the model's own library"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked(), f"{NOT_ASKED}."),
        (
            Asked(reason="lightgbm is not installed"),
            f"{NOT_ASKED}: lightgbm is not installed.",
        ),
        (
            Asked(people=1),
            "The model itself was asked about 1 person, and gave the answer that was "
            "read from it.",
        ),
        (
            Asked(people=15_000, similar=1_000),
            "The model itself was asked about 15,000 people, and about 1,000 people "
            "similar to the fair; it gave the answers that were read from it.",
        ),
        (
            Asked(people=200, rounded=3),
            "The model itself was asked about 200 people, and gave the answer that was "
            "read from it, but for rounding in 3: reported are the model's own.",
        ),
    ],
)
def test_sentences(asked: Asked, words: str) -> None:
    assert str(asked) == words
    some = replace(report(), asked=asked)
    for summary in (False, True):
        assert html.unescape(some.to_html(summary=summary)).count(words) == 1
    assert json.loads(some.to_json())["asked"] == {
        "people": asked.people,
        "similar": asked.similar,
        "reason": asked.reason,
        "rounded": asked.rounded,
    }
