"""Pickle and joblib files, which the caller has declared trustworthy."""

from __future__ import annotations

import io
from typing import Any

from fatt.ensemble import Ensemble
from fatt.errors import MalformedModelError
from fatt.importers._loaded import convert_loaded, with_versions


def read(data: bytes, *, missing: float | None) -> Ensemble:
    """Unpickle a fitted object and convert it."""
    model, versions = _unpickle(data)
    return convert_loaded(model, versions, missing=missing, kind="pickle file")


def _unpickle(data: bytes) -> tuple[Any, tuple[str, ...]]:
    # joblib reads plain pickles as well as its own compressed files.
    import joblib

    try:
        return with_versions(lambda: joblib.load(io.BytesIO(data)))
    except Exception as error:
        raise MalformedModelError(
            f"the pickle cannot be loaded ({type(error).__name__}: {error}). Load it "
            "with the package versions that wrote it."
        ) from error
