"""Ours are accepted; whatever is changed is found, or still true.

``FATT_EFFORT=10 pytest tests/certificate`` forges ten times as many.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Similarity
from fatt.certificate import Certificate
from fatt.certificate.cells import Cells
from fatt.certificate.claims import Claims
from fatt.certificate.file import Packed, pack, sealed, to_bytes
from fatt.ensemble import Ensemble
from fatt.errors import CertificateError, DataError, SpecError
from tests.certificate.forgery import Draft, draft_of, forge, holds, is_true
from tests.laws.effort import EFFORT

CASES = range(18 * EFFORT)
FORGERIES, FLIPS = 120, 60
#: What there is of each person, and six zeros.
PEOPLE = {"verdicts": "u1", "values": "f8", "labels": "i4"}
SIX = zlib.compress(bytes(6))


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    return Counter()


@pytest.mark.parametrize("seed", CASES)
def test_forgeries_are_found_or_true(seed: int, seen: Counter[str]) -> None:
    rng = np.random.default_rng([7, seed])
    draft = draft_of(seed)
    original = draft.certificate()
    assert holds(original, draft.model), "our own certificate is not accepted"
    assert is_true(original, draft.model)
    plain = to_bytes(original.contents)
    for _ in range(FORGERIES):
        forged = forge(draft, rng)
        if forged is None:
            continue
        try:
            certificate = forged.certificate()
        except CertificateError:
            seen["unreadable"] += 1
            continue
        if to_bytes(certificate.contents) == plain:
            continue
        if forged.model != draft.model:
            # The honest certificate is about the other model.
            assert not holds(original, forged.model)
        if holds(certificate, forged.model):
            assert claims(certificate, forged.model), forged
            assert is_told(certificate, draft, forged.model), forged
            seen["true"] += 1
        else:
            seen["found"] += 1


def is_told(certificate: Certificate, draft: Draft, model: Ensemble) -> bool:
    """Whether somebody who expects what the draft says can read that it says more.

    What is refused beside that must read otherwise, too.
    """
    schema, similarity = draft.schema, draft.similarity
    try:
        certificate.check(model, schema=schema, similarity=similarity)
    except CertificateError:
        said = Claims(
            Cells(model, certificate.schema), certificate.schema, certificate.similarity
        )
        expected = Claims(Cells(model, schema), schema, similarity)
        return (said.similarity(), said.premises()) != (
            expected.similarity(),
            expected.premises(),
        )
    return True


def claims(certificate: Certificate, model: object) -> bool:
    """Whether it is true; a question that makes no sense must not be accepted."""
    try:
        return is_true(certificate, model)  # type: ignore[arg-type]
    except (DataError, SpecError) as error:
        raise AssertionError(f"accepted, and makes no sense: {error}") from error


@pytest.mark.parametrize("seed", CASES)
def test_damaged_bytes_are_found(seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    certificate = draft_of(seed).certificate()
    plain = to_bytes(certificate.contents)
    for _ in range(FLIPS):
        damaged = bytearray(plain)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(damaged)))
            kind = rng.integers(3)
            if kind == 0:
                damaged[place] = int(rng.integers(256))
            elif kind == 1:
                del damaged[place]
            else:
                damaged.insert(place, int(rng.integers(256)))
        try:
            found = Certificate.from_bytes(bytes(damaged))
        except CertificateError:
            continue
        # Only the space between the words was changed.
        assert found.contents == certificate.contents


def packed(numbers: list[int], kind: Any) -> Packed:
    return pack(np.array(numbers), kind)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"verdicts": packed([0], "u1")}, "not as many people"),
        ({"labels": packed([0], "i4")}, "not as many people"),
        (
            {name: packed([], kind) for name, kind in PEOPLE.items()},
            "about nobody",
        ),
        ({"verdicts": packed([9] * 6, "u1")}, "a verdict has no meaning"),
        ({"verdicts": packed([0] * 6, "i4")}, "has another type"),
        ({"verdicts": Packed(count=6, type="u1", zlib=b"none")}, "cannot be read"),
        ({"verdicts": Packed(count=7, type="u1", zlib=SIX)}, "does not hold 7 numb"),
        ({"verdicts": Packed(count=6, type="u1", zlib=SIX + b"0")}, "does not hold"),
        ({"counts": {"fair": 6}}, "counts are not those"),
        ({"similarity": "nonsense"}, "similarity cannot be read"),
        ({"similarity": '[[similar]]\nvary = ["x0"]\n'}, "the digests of people"),
        ({"steps": packed([1, 1, 0], "i4")}, "steps of the proofs do not match"),
        ({"steps": packed([-1], "i4")}, "steps of the proofs do not match"),
        ({"twin_sizes": packed([1] * 7, "i4")}, "twins do not match"),
    ],
)
def test_a_sealed_file_whose_parts_do_not_fit_is_refused(
    change: dict[str, Any], what: str
) -> None:
    tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
    people = [[age] for age in (10.0, 20.0, 29.0, 31.0, 40.0, 50.0)]
    report = fatt.verify(tree, people, similarity=Similarity(noise=3))
    contents = report.certificate().contents
    forged = sealed(msgspec.structs.replace(contents, **change))
    with pytest.raises(CertificateError, match=what):
        Certificate.from_bytes(to_bytes(forged)).check(tree)


def test_the_forgeries_are_of_both_kinds(seen: Counter[str]) -> None:
    drafts = [draft_of(seed) for seed in range(3)]
    rng = np.random.default_rng(0)
    for draft in drafts:
        for _ in range(60):
            forged = forge(draft, rng)
            if forged is not None:
                try:
                    seen[str(holds(forged.certificate(), forged.model))] += 1
                except CertificateError:
                    seen["False"] += 1
    assert seen["True"] > 10
    assert seen["False"] > 10
