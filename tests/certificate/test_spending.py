"""Certificates of people with budgets: forged ones are refused."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Similarity
from fatt.certificate import Certificate
from fatt.certificate.file import digest_of_similarity, sealed
from fatt.errors import CertificateError


def town() -> tuple[Any, pd.DataFrame]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 60, 120),
            "pay": rng.normal(30, 8, 120).round(1),
            "area": rng.integers(0, 4, 120),
        }
    )
    y = (X["age"] + X["pay"] + 9 * (X["area"] == 2) + rng.normal(0, 4, 120)) > 70
    forest = RandomForestClassifier(8, max_depth=4, random_state=0)
    return forest.fit(X, y), X


MODEL, PEOPLE = town()
AREA = {(0, 1): 0.3, (1, 2): 0.6}
BALL = {"age": 1 / 8, "pay": 1 / 5, "area": AREA}
LIMIT = Similarity(distance=BALL, limit=1)
COUNT = Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=1)


def certified(similarity: Similarity) -> Certificate:
    report = fatt.verify(MODEL, PEOPLE, similarity=similarity)
    assert 10 < report.counts["fair"] < 110
    certificate = report.certificate()
    assert certificate.counts["claimed"] == 0
    checked = certificate.check(MODEL, PEOPLE, similarity=similarity)
    assert checked.fair == report.counts["fair"]
    return certificate


def forged(certificate: Certificate, similarity: Similarity) -> Certificate:
    """Return the certificate with another similarity, and all digests right."""
    text = similarity.to_toml()
    contents = certificate.contents
    about = msgspec.structs.replace(
        contents.about, similarity=digest_of_similarity(text)
    )
    changed = msgspec.structs.replace(contents, similarity=text, about=about)
    return Certificate.of(sealed(changed))


@pytest.mark.parametrize(
    ("honest", "other"),
    [
        # A larger limit, a number, another norm, a lower cost: more people are similar.
        (LIMIT, Similarity(distance=BALL, limit=2)),
        (LIMIT, Similarity(distance=BALL, limit=1, norm="l2")),
        (LIMIT, Similarity(distance=BALL, limit=1, norm="linf")),
        (LIMIT, Similarity(distance={**BALL, "age": 1 / 30}, limit=1)),
        (LIMIT, Similarity(distance={**BALL, "age": 0}, limit=1)),
        (LIMIT, Similarity(distance={**BALL, "area": 0.1}, limit=1)),
        (COUNT, Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=2)),
        (COUNT, Similarity(noise={"age": 4, "pay": 3}, vary=["area"])),
        # A smaller one: some twins are no longer similar.
        (LIMIT, Similarity(distance=BALL, limit=0.4)),
        (LIMIT, Similarity(distance={**BALL, "age": 1}, limit=1)),
        (
            Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=2),
            Similarity(noise={"age": 4, "pay": 3}, vary=["area"], at_most=1),
        ),
    ],
)
def test_another_limit_cost_or_number_is_refused(
    honest: Similarity, other: Similarity
) -> None:
    certificate = certified(honest)
    with pytest.raises(CertificateError, match="person"):
        forged(certificate, other).check(MODEL, PEOPLE)
    with pytest.raises(CertificateError, match="another similarity"):
        certificate.check(MODEL, PEOPLE, similarity=other)


def test_what_is_checked_is_told() -> None:
    said = certified(LIMIT).check(MODEL).similarity
    assert "'age' may differ, each unit for 0.125" in said
    assert "'area' may be exchanged: 0 and 1 for 0.3 and 1 and 2 for 0.6" in said
    assert "of these costs their sum is at most 1" in said
    said = certified(COUNT).check(MODEL).similarity
    assert "and at most 1 of these at the same time" in said
