"""Which importer reads which model: by the type of an object or the look of a file."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

from fatt.ensemble import Ensemble
from fatt.errors import UnsupportedModelError

#: How many first bytes of a file the importers look at.
HEAD = 4096


class Reader(Protocol):
    """A module that reads model files."""

    def read(self, data: bytes, *, missing: float | None) -> Ensemble:
        """Read the bytes of a file."""
        ...


class Converter(Protocol):
    """A module that converts fitted objects."""

    def convert(self, model: Any, *, missing: float | None) -> Ensemble:
        """Convert a fitted object."""
        ...


class Format(NamedTuple):
    """A file format: its module, its suffixes, and how its first bytes look."""

    module: str
    suffixes: tuple[str, ...]
    looks_so: Callable[[bytes], bool]
    runs_code: bool = False

    def reader(self) -> Reader:
        """Import the module that reads the format."""
        return cast(Reader, _module(self.module))


FORMATS = (
    Format("native", (".fatt",), lambda head: head.startswith(b"fatt-ensemble-")),
    Format("skops", (".skops",), lambda head: head.startswith(b"PK\x03\x04")),
    Format("lightgbm", (".txt", ".lgb"), lambda head: head.startswith(b"tree")),
    Format(
        "xgboost",
        (".json", ".ubj", ".ubjson", ".xgb", ".model", ".bin"),
        lambda head: head.lstrip().startswith((b"{", b"binf", b"bs64")),
    ),
    Format(
        "pickles",
        (".pkl", ".pickle", ".joblib"),
        lambda head: head.startswith((b"\x80", b"\x1f\x8b", b"\x78\x9c")),
        runs_code=True,
    ),
    # A protobuf message has no magic number: ONNX starts with its field 1, a number.
    Format("onnx", (".onnx",), lambda head: head.startswith(b"\x08")),
)

#: Packages whose objects are converted, and the modules that do it.
PACKAGES = {
    "sklearn": "sklearn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "onnx": "onnx",
    "fatt": "native",
}


def format_of(name: str, head: bytes) -> Format:
    """Recognise a file by its first bytes, then by its suffix.

    Parameters
    ----------
    name
        Name of the file.
    head
        Its first bytes.
    """
    for known in FORMATS:
        if known.looks_so(head):
            return known
    for known in FORMATS:
        if name.lower().endswith(known.suffixes):
            return known
    suffixes = ", ".join(suffix for known in FORMATS for suffix in known.suffixes)
    raise UnsupportedModelError(
        f"{name}: the file starts with {head[:8]!r}, which is no known model format. "
        f"Known suffixes: {suffixes}."
    )


def converter_for(model: object) -> Converter:
    """Choose the module that converts a fitted object, by the package of its class."""
    package = type(model).__module__.partition(".")[0]
    if package in PACKAGES:
        return cast(Converter, _module(PACKAGES[package]))
    if package == "builtins":
        raise UnsupportedModelError(
            f"cannot import a {type(model).__name__}: pass the path of a model file, "
            "or a fitted model."
        )
    raise UnsupportedModelError(
        f"cannot import a {type(model).__module__}.{type(model).__qualname__}. A "
        "subclass may predict something else than its parent: pass the scikit-learn, "
        "XGBoost, LightGBM or ONNX model itself, or the path of its file."
    )


def _module(name: str) -> object:
    return importlib.import_module(f"fatt.importers.{name}")
