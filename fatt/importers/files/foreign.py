"""Files and folders that are no models for fatt, named for what they are.

Whoever is handed one should learn what it is and what to ask for, not that it is a
damaged file of some other kind.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection
from pathlib import Path

from fatt.errors import UnsupportedModelError

_NO_TREES = "fatt verifies tree models, and there are none in it"
_POINTER = b"version https://git-lfs.github.com/spec/"

#: What files are, by how they start.
_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x89HDF", f"an HDF5 file, as Keras and pandas write: {_NO_TREES}"),
    (b"PAR1", "a Parquet file, which holds a table: pass it as the people"),
    (b"SQLite format 3", "a database of SQLite"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "compiled code, as treelite makes of a model: pass the model itself"),
    (b"MZ\x90", "compiled code, as treelite makes of a model: pass the model itself"),
    (b"RDX", "a file of R's save(): write the model with xgb.save or lgb.save"),
    (b"RDA", "a file of R's save(): write the model with xgb.save or lgb.save"),
)
_R = "a file of R's saveRDS(): write the model with xgb.save or lgb.save"

#: What zip archives are, by the names of their members.
_ARCHIVES: tuple[tuple[str, str], ...] = (
    (r"(.*/)?data\.pkl", f"a model of PyTorch: {_NO_TREES}"),
    (r"(.*/)?model\.weights\.h5", f"a model of Keras: {_NO_TREES}"),
    (
        r"(.*/)?(model\.ini|experimental/.*)",
        "a MOJO of H2O, which fatt does not read: train the trees with one of the "
        "libraries that it reads",
    ),
    (
        r"(.*/)?bundle\.json",
        "a bundle of MLeap, which fatt does not read: save the model itself",
    ),
    (r"\[Content_Types\]\.xml", "a document of an office program"),
    (r".*\.npy", "an archive of NumPy's arrays"),
)

#: What folders are, by the names of their files.
_FOLDERS: tuple[tuple[set[str], str], ...] = (
    (
        {"predictor.pkl", "learner.pkl"},
        "a predictor of AutoGluon, which joins models of several kinds: train the tree "
        "model by itself and pass that",
    ),
    ({"saved_model.pb"}, f"a model of TensorFlow: {_NO_TREES}"),
    (
        {"metadata", "stages"},
        "a pipeline of Spark, which fatt does not read: export it to ONNX",
    ),
    (
        {"metadata", "data"},
        "a model of Spark, which fatt does not read: export it to ONNX",
    ),
)
_MODEL_NAME = re.compile(
    r".*\.(cbm|cb|fatt|joblib|json|lgb|model|onnx|pickle|pkl|skops|txt|ubj|xgb)"
)


def refuse_foreign(name: str, head: bytes) -> None:
    """Refuse a file that is known to be something else than a model for fatt.

    Parameters
    ----------
    name
        Name of the file.
    head
        Its first bytes.

    Raises
    ------
    UnsupportedModelError
        If it is; the sentence says what it is.
    """
    if head.startswith(_POINTER):
        size = re.search(rb"\nsize (\d{1,15})\n", head)
        of = f" of {int(size[1]):,} bytes" if size else ""
        raise UnsupportedModelError(
            f"the file is a pointer of Git LFS, and the model itself{of} lies in the "
            "store of its repository. Fetch it with 'git lfs pull'."
        )
    what = _named(name, head)
    if what:
        raise UnsupportedModelError(f"the file is {what}.")


def _named(name: str, head: bytes) -> str | None:
    text = head.lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    what = next((what for start, what in _STARTS if head.startswith(start)), None)
    if text.startswith((b"<!doctype html", b"<html")):
        what = "a web page, perhaps of an error, in the place of what was asked for"
    elif text.startswith((b"<?xml", b"<pmml")):
        what = "an XML document"
        if b"<pmml" in text:
            what = "a model in PMML, which fatt does not read: save the model itself"
    elif head[4:8] == b"TFL3" or name.endswith((".pb", ".tflite")):
        what = f"a model of TensorFlow: {_NO_TREES}"
    elif head[8:10] == b'{"' and name.endswith(".safetensors"):
        what = f"a file of safetensors, as neural networks are kept: {_NO_TREES}"
    elif head.startswith(b"\x1f\x8b") and _unzipped(head).startswith((b"X\n", b"RDX")):
        what = _R
    return what


def _unzipped(head: bytes) -> bytes:
    """Return the first bytes of what is compressed; none if that is damaged."""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, 16)
    except zlib.error:
        return b""


def archive(names: Collection[str]) -> UnsupportedModelError:
    """Return the refusal of a zip archive that is no skops file.

    Parameters
    ----------
    names
        The names of its members.
    """
    for pattern, what in _ARCHIVES:
        if any(re.fullmatch(pattern, name) for name in names):
            return UnsupportedModelError(f"the file is {what}.")
    some = ", ".join(sorted(names)[:5]) or "nothing"
    return UnsupportedModelError(
        f"the file is a zip archive, and no skops file: it holds {some[:200]}. Unpack "
        "it, and pass the path of the model."
    )


def folder(path: Path) -> UnsupportedModelError:
    """Return the refusal of a folder.

    Parameters
    ----------
    path
        The folder.
    """
    names = {item.name for item in path.iterdir()}
    for known, what in _FOLDERS:
        if known <= names:
            return UnsupportedModelError(f"{path} is {what}.")
    models = sorted(name for name in names if _MODEL_NAME.fullmatch(name))
    found = f", such as {path / models[0]}" if models else ""
    kind = "a model of MLflow, a folder" if "MLmodel" in names else "a folder"
    return UnsupportedModelError(
        f"{path} is {kind}: pass the path of the model file in it{found}."
    )
