"""The versioned file form of an ensemble, and its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt import storage
from fatt.ensemble.ensemble import Ensemble, Source
from fatt.ensemble.features import (
    Categorical,
    Feature,
    Inputs,
    Label,
    Numeric,
    Record,
)
from fatt.ensemble.fingerprint import fingerprint
from fatt.ensemble.joint import Joint
from fatt.ensemble.scoring import Decision, Link, Scoring
from fatt.ensemble.trees import NODE, Trees
from fatt.errors import MalformedModelError, UnsupportedModelError

#: The first bytes of every file; the digest follows, then the payload.
MAGIC = b"fatt-ensemble-1\n"

#: Tell which tables are refused and why, not what is answered: a fitted model and its
#: file have one digest, though only the file leaves the order of the columns open.
_ASIDE = (
    *("by_position", "bounds_of", "renamed", "other", "of_one_kind"),
    *("in_arrow", "undeclared"),
)

#: Up to here float64 knows all whole numbers.
_LARGEST_WHOLE = 2.0**53 - 1
_LARGEST = float(np.finfo(np.float64).max)
#: The numbers of each type of an ONNX graph, or those that scalers before it take.
_OF_TYPES = [
    (-np.inf, np.inf),
    (-_LARGEST, _LARGEST),
    (-(2.0**31), 2.0**31 - 1),
    (-_LARGEST_WHOLE, _LARGEST_WHOLE),
]

_DIGEST_BYTES = hashlib.sha256().digest_size


class _Content(Record, frozen=True, kw_only=True, array_like=True):
    """What decides the function; arrays as little-endian bytes."""

    features: tuple[Feature, ...]
    classes: tuple[Label, ...]
    nodes: bytes
    roots: bytes
    words: bytes
    values: bytes
    values_dtype: str
    width: int
    targets: bytes
    scoring: Scoring
    decision: Decision
    inputs: Inputs
    # Files of earlier versions have none.
    joints: tuple[Joint, ...] = ()


class Payload(Record, frozen=True, kw_only=True, array_like=True):
    """All that a file holds behind its first bytes and its digest."""

    content: _Content
    source: Source
    # Files of earlier versions have none.
    link: Link | None = None
    # Whether the inputs say where they have open ends; earlier versions knew none.
    tells_open_ends: bool = False


def _content(ensemble: Ensemble) -> _Content:
    trees = ensemble.trees
    return _Content(
        features=ensemble.features,
        classes=ensemble.classes,
        nodes=trees.nodes.tobytes(),
        roots=trees.roots.astype("<i8").tobytes(),
        words=trees.words.astype("<u8").tobytes(),
        values=trees.values.astype(trees.values.dtype.newbyteorder("<")).tobytes(),
        values_dtype=trees.values.dtype.name,
        width=trees.values.shape[1],
        targets=trees.targets.astype("<i4").tobytes(),
        scoring=ensemble.scoring,
        decision=ensemble.decision,
        inputs=ensemble.inputs,
        joints=ensemble.joints,
    )


def digest(ensemble: Ensemble) -> str:
    """Return the SHA-256 of everything but the source, as hexadecimal digits."""
    essence = msgspec.msgpack.encode(_essence(_content(ensemble)))
    return hashlib.sha256(essence).hexdigest()


def _essence(value: Any) -> Any:
    """Leave out what has its default, so that a field added later changes no digest."""
    if isinstance(value, tuple):
        return [_essence(item) for item in value]
    if not isinstance(value, Record):
        return value
    if isinstance(value, Categorical) and value.coding == "fingerprint":
        # What a category is called does not matter.
        prints = tuple(fingerprint(str(label)) for label in value.categories)
        value = msgspec.structs.replace(value, categories=prints)
    members = {
        field.name: _essence(getattr(value, field.name))
        for field in msgspec.structs.fields(value)
        if getattr(value, field.name) != field.default and field.name not in _ASIDE
    }
    return [type(value).__name__, members]


def to_bytes(ensemble: Ensemble) -> bytes:
    """Return the file form of an ensemble."""
    content = _content(ensemble)
    file = Payload(
        content=content,
        source=ensemble.source,
        link=ensemble.link,
        tells_open_ends=True,
    )
    payload = msgspec.msgpack.encode(file)
    return MAGIC + hashlib.sha256(payload).digest() + payload


def from_bytes(data: bytes) -> Ensemble:
    """Read the file form; the result equals what was written.

    Raises
    ------
    MalformedModelError
        If the bytes are damaged or were written in another version of the form.
    UnsupportedModelError
        If an earlier version left out people of whom the library gives answers.
    """
    if not data.startswith(MAGIC):
        raise MalformedModelError(
            f"not an ensemble file of this version: it starts with {data[:16]!r}, and "
            f"{MAGIC!r} was expected."
        )
    payload = data[len(MAGIC) + _DIGEST_BYTES :]
    if hashlib.sha256(payload).digest() != data[len(MAGIC) : len(data) - len(payload)]:
        raise MalformedModelError("the file is damaged: its checksum does not match.")
    try:
        file = msgspec.msgpack.decode(payload, type=Payload)
        content = file.content
        trees = Trees(
            nodes=_array(content.nodes, NODE),
            roots=_array(content.roots, "<i8"),
            words=_array(content.words, "<u8"),
            values=_array(content.values, content.values_dtype).reshape(
                -1, content.width
            ),
            targets=_array(content.targets, "<i4"),
        )
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise MalformedModelError(f"the file cannot be decoded: {error}.") from error
    ensemble = Ensemble(
        features=content.features,
        classes=content.classes,
        trees=trees,
        scoring=content.scoring,
        decision=content.decision,
        inputs=content.inputs,
        source=file.source,
        link=file.link,
        joints=content.joints,
    )
    if not file.tells_open_ends and ensemble.source.library == "ONNX":
        _require_no_open_end(ensemble)
    return ensemble


def _require_no_open_end(ensemble: Ensemble) -> None:
    """Refuse a graph of which a file does not tell what lies beyond its bounds.

    Regions would be cut there, though onnxruntime gives answers beyond.
    """
    nodes = ensemble.trees.nodes
    for place, feature in enumerate(ensemble.features):
        splits = nodes["threshold"][nodes["feature"] == place]
        if not isinstance(feature, Numeric) or not splits.size:
            continue
        bounds = feature.lower, feature.upper
        # Of integers of 64 bits those that float64 knows are followed, and the others
        # are on the side of the last of these unless a split parts them.
        is_parted = (np.abs(splits) > _LARGEST_WHOLE).any()
        if bounds not in _OF_TYPES or (bounds == _OF_TYPES[-1] and is_parted):
            raise UnsupportedModelError(
                "the file was made of an ONNX graph by an earlier version of fatt, "
                f"which left out people whose {feature.name!r} is beyond "
                f"{bounds[0]:.15g} to {bounds[1]:.15g}, though onnxruntime answers "
                "them. Load the ONNX file, and save the model again."
            )


def _array(data: bytes, dtype: Any) -> NDArray[Any]:
    return np.frombuffer(data, dtype=dtype).copy()


def write(ensemble: Ensemble, path: str | Path) -> None:
    """Write the file form, whole or not at all."""
    storage.write(path, to_bytes(ensemble))
