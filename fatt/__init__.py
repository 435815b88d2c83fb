"""Prove, or refute with a concrete person, that a tree model treats people alike.

The public names are loaded when they are first used, so that importing `fatt` is fast
and imports no framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fatt import errors

if TYPE_CHECKING:
    from fatt.ensemble import Ensemble
    from fatt.importers import load

__version__ = "0.1.0"

__all__ = ["Ensemble", "__version__", "errors", "load"]

_HOME = {"Ensemble": "fatt.ensemble", "load": "fatt.importers"}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'fatt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
