"""The file form of certificates: JSON that people can read, the arrays compressed."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.allowed import Allowed
from fatt.ensemble.features import Record
from fatt.errors import CertificateError, MalformedCertificateError, SpecError
from fatt.region import Relation, Schema, Similarity

_KIND = "fatt-certificate-"

#: The form that this version writes and reads.
FORMAT: Literal["fatt-certificate-1"] = "fatt-certificate-1"


class Packed(Record, frozen=True, kw_only=True):
    """An array: how many numbers of which type, and the compressed bytes."""

    count: int
    type: Literal["u1", "i4", "f8"]
    zlib: bytes


class Digests(Record, frozen=True, kw_only=True):
    """What a certificate is about: SHA-256 of each.

    Attributes
    ----------
    model
        Digest of the ensemble, `Ensemble.digest`.
    people
        Digest of the people's values, in the variables of the schema.
    schema, similarity
        Digests of what stands in the certificate itself.
    """

    model: str
    people: str
    schema: str
    similarity: str


class Contents(Record, frozen=True, kw_only=True):
    """All that a certificate holds.

    Attributes
    ----------
    format
        The version of this form.
    digest
        SHA-256 of everything else.
    about
        The digests of model, people, schema and similarity.
    counts
        How many people are proved fair, claimed fair, unfair and unknown.
    similarity
        Who is similar to whom, as TOML.
    schema
        What the model's columns mean.
    values
        The people: their values in all variables, one variable after the other.
    verdicts
        0 proved fair, 1 unfair, 2 unknown, 3 claimed to be fair without a proof.
    labels
        The class of each person; -1 for the unknown.
    steps, cuts
        The proofs, one after the other: for each part 0 if it is closed, else one more
        than twice the variable that is cut (and one more yet if a cell is parted from
        all others); and the cell of each cut.
    twin_sizes, twin_variables, twin_values
        In how many variables the twin of each unfair person differs, and how.
    fair
        Which answers of similar people are still fair, if not the same labels alone.
        Of predictions the label of each person is 1: 0 is too low, and 2 too high.
    """

    format: Literal["fatt-certificate-1"]
    digest: str
    about: Digests
    counts: dict[str, int]
    similarity: str
    schema: Schema
    values: Packed
    verdicts: Packed
    labels: Packed
    steps: Packed
    cuts: Packed
    twin_sizes: Packed
    twin_variables: Packed
    twin_values: Packed
    fair: Allowed | msgspec.UnsetType = msgspec.UNSET


def pack(array: NDArray[Any], kind: Literal["u1", "i4", "f8"]) -> Packed:
    """Compress an array; the bytes of a number stand apart, which compresses better."""
    plain = np.ascontiguousarray(array.ravel(), dtype=f"<{kind}")
    apart = plain.view(np.uint8).reshape(len(plain), plain.itemsize).T
    return Packed(count=len(plain), type=kind, zlib=zlib.compress(apart.tobytes(), 9))


def unpack(packed: Packed, kind: str, name: str) -> NDArray[Any]:
    """Return the array that was packed.

    Raises
    ------
    CertificateError
        If the bytes are damaged, or there are fewer or more than promised.
    """
    width = np.dtype(kind).itemsize
    if packed.type != kind or packed.count < 0:
        raise CertificateError(f"{name} has another type than it should have.")
    size = packed.count * width
    engine = zlib.decompressobj()
    try:
        data = engine.decompress(packed.zlib, size + 1)
    except (zlib.error, OverflowError) as error:
        raise CertificateError(f"{name} cannot be read: {error}.") from None
    if len(data) != size or not engine.eof or engine.unused_data:
        raise CertificateError(f"{name} does not hold {packed.count} numbers.")
    apart = np.frombuffer(data, dtype=np.uint8).reshape(width, packed.count)
    plain = np.ascontiguousarray(apart.T).view(f"<{kind}").ravel()
    return plain.astype(kind)


def digest_of(*parts: bytes) -> str:
    """Return the SHA-256 of some bytes, as hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def digest_of_values(values: NDArray[np.float64], schema: Schema) -> str:
    """Return the digest of people's values; every missing value counts as the same."""
    names = msgspec.json.encode([variable.name for variable in schema.variables])
    plain = np.where(np.isnan(values), np.nan, values).astype("<f8")
    return digest_of(names, str(values.shape).encode(), plain.tobytes())


def digest_of_schema(schema: Schema) -> str:
    """Return the digest of a schema."""
    return digest_of(msgspec.json.encode(schema))


def digest_of_similarity(text: str) -> str:
    """Return the digest of a similarity in its TOML form."""
    return digest_of(text.encode())


def sealed(contents: Contents) -> Contents:
    """Return the contents with the digest of everything else."""
    bare = msgspec.structs.replace(contents, digest="")
    return msgspec.structs.replace(
        contents, digest=digest_of(msgspec.json.encode(bare))
    )


def to_bytes(contents: Contents) -> bytes:
    """Return the file form."""
    return msgspec.json.format(msgspec.json.encode(contents), indent=1) + b"\n"


def from_bytes(data: bytes) -> Contents:
    """Read the file form.

    Raises
    ------
    MalformedCertificateError
        If the file is none, or none that this version reads.
    CertificateError
        If the file was changed.
    """
    written = _decode(data)
    _require_form(written)
    # Digests are those of the words that stand in the file: an older version may have
    # left out what has a default today, or have written 12 where we write 12.0.
    if written.get("digest") != digest_of(
        msgspec.json.encode({**written, "digest": ""})
    ):
        raise CertificateError(
            "the certificate was changed: its digest is not that of its contents."
        )
    contents: Contents = _decode(data, Contents)
    if digest_of(msgspec.json.encode(written["schema"])) == contents.about.schema:
        schema = digest_of_schema(contents.schema)
        about = msgspec.structs.replace(contents.about, schema=schema)
        contents = sealed(msgspec.structs.replace(contents, about=about))
    return contents


def _decode(data: bytes, kind: Any = Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, SpecError, ValueError, RecursionError) as error:
        raise MalformedCertificateError(
            f"this is no certificate that fatt can read: {error}"
        ) from None


def _require_form(written: Any) -> None:
    """Raise unless this is a certificate in the form of today."""
    found = written.get("format") if isinstance(written, dict) else None
    if not isinstance(found, str) or not found.startswith(_KIND):
        raise MalformedCertificateError(
            "this is no certificate that fatt can read: it does not say "
            f"'format': {FORMAT!r}."
        )
    if found != FORMAT:
        raise MalformedCertificateError(
            f"the certificate has the form {found!r}, and this version of fatt reads "
            f"{FORMAT!r}; check it with the version that made it."
        )
    if "schema" not in written:
        raise MalformedCertificateError(
            "the certificate holds no schema, so that nobody can tell which values it "
            "allowed; it cannot be trusted. Make it again."
        )


def similarity_of(contents: Contents) -> Relation:
    """Return the similarity.

    Raises
    ------
    CertificateError
        If it cannot be read.
    """
    try:
        return Similarity.from_toml(contents.similarity)
    except SpecError as error:
        raise CertificateError(f"the similarity cannot be read: {error}") from None
