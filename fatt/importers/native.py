"""The project's own file form of an ensemble."""

from __future__ import annotations

from fatt.ensemble import Ensemble
from fatt.ensemble.file import from_bytes
from fatt.importers._refusals import refuse_missing


def read(data: bytes, *, missing: float | None) -> Ensemble:
    """Read an ensemble file."""
    refuse_missing(missing, "an ensemble file")
    return from_bytes(data)
