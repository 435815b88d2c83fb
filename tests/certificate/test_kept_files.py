"""Files that older versions wrote are read, and mean what they meant."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fatt
from fatt import Certificate, Schema, Similarity
from fatt.certificate.file import digest_of, digest_of_schema, from_bytes, to_bytes
from fatt.errors import CertificateError, MalformedCertificateError

FILES = Path(__file__).parent.parent / "data" / "files"
#: Numbers were once written as they were typed, 18 or -0.0; now they have one form.
SPELT = {("0.1.0", name) for name in ("pipeline", "tree", "xgboost")}
KEPT = sorted(path.with_suffix("") for path in FILES.glob("*/*.cert"))


@pytest.fixture(params=KEPT, ids=[f"{path.parent.name}-{path.name}" for path in KEPT])
def kept(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any]]:
    """The files of one model without their endings, and what was true of them."""
    path = request.param
    facts = json.loads((path.parent / "facts.json").read_text(encoding="utf-8"))
    return path, facts[path.name]


def test_models_keep_digests_and_labels(kept: tuple[Path, dict[str, Any]]) -> None:
    path, facts = kept
    model = fatt.load(path.with_suffix(".fatt"))
    assert model.digest == facts["digest"]
    certificate = Certificate.read(path.with_suffix(".cert"))
    labels = [model.classes[label] for label in certificate.labels]
    assert labels == facts["labels"]


def test_certificates_are_read_and_hold(kept: tuple[Path, dict[str, Any]]) -> None:
    path, facts = kept
    certificate = Certificate.read(path.with_suffix(".cert"))
    checked = certificate.check(fatt.load(path.with_suffix(".fatt")))
    counts = facts["counts"]
    assert certificate.counts == counts
    assert (checked.fair, checked.unfair) == (counts["fair"], counts["unfair"])
    assert certificate.similarity == Similarity.from_toml(facts["similarity"])
    assert certificate.about.people == facts["people"]
    # Written again, it is the same once more.
    again = Certificate.from_bytes(to_bytes(certificate.contents))
    assert again.contents == certificate.contents


def test_schemas_are_read_and_keep_their_digests(
    kept: tuple[Path, dict[str, Any]],
) -> None:
    path, facts = kept
    schema = Schema.read(path.with_suffix(".schema.json"))
    spelt = re.compile(r"-?(\d)\.0\b")
    assert spelt.sub(r"\1", repr(schema)) == spelt.sub(r"\1", facts["variables"])
    assert schema == Certificate.read(path.with_suffix(".cert")).schema
    is_same = digest_of_schema(schema) == facts["schema"]
    assert is_same == ((path.parent.name, path.name) not in SPELT)


def test_kept_certificates_that_were_changed_are_refused(
    kept: tuple[Path, dict[str, Any]],
) -> None:
    text = kept[0].with_suffix(".cert").read_text(encoding="utf-8")
    changed = text.replace('"age"', '"Age"', 1).replace('"x0"', '"X0"', 1)
    assert changed != text
    with pytest.raises(CertificateError, match="was changed"):
        from_bytes(changed.encode())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "fatt-certificate-9"}, "has the form 'fatt-certificate-9'"),
        ({"format": "fatt-schema-1"}, "no certificate that fatt can read"),
        ({"schema": ...}, "holds no schema, .* cannot be trusted. Make it again"),
        ({"steps": ...}, "no certificate that fatt can read: .*steps"),
        ({"more": 1}, "no certificate that fatt can read: .*more"),
    ],
)
def test_other_forms_are_refused_with_the_reason(
    change: dict[str, Any], message: str
) -> None:
    written = json.loads(KEPT[0].with_suffix(".cert").read_text(encoding="utf-8"))
    written |= change
    left = {name: value for name, value in written.items() if value is not ...}
    left["digest"] = digest_of(msgspec.json.encode({**left, "digest": ""}))
    with pytest.raises(MalformedCertificateError, match=message):
        Certificate.from_bytes(msgspec.json.encode(left))
