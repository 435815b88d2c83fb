"""What a report says of what the model itself was asked."""

from __future__ import annotations

import html
import json
from dataclasses import replace

import pytest

from fatt.report import Asked
from tests.report.made import report

NOT_ASKED = "The model's own library was not asked"


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
            "The model's own library was asked about 1 person. It gave the answers "
            "that fatt read from the model.",
        ),
        (
            Asked(people=15_000, similar=1_000),
            "The model's own library was asked about 15,000 people and 1,000 people "
            "similar to the fair. It gave the answers that fatt read from the model.",
        ),
        (
            Asked(people=200, rounded=3),
            "The model's own library was asked about 200 people. It gave the answers "
            "that fatt read from the model, but for rounding in 3. The report states "
            "the library's answers.",
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
