"""skops files, which hold fitted scikit-learn objects without code.

A file is checked before skops builds anything from it: its size when unpacked, its
kinds of parts, that no part contains itself, and that each array has as many bytes as
it claims. What is built is then read as data. Nothing of scikit-learn
predicts with it, since its compiled code would follow any index that a file holds.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from typing import Any

import numpy as np

from fatt.errors import (
    FattError,
    MalformedModelError,
    UnsupportedModelError,
    UntrustedModelError,
    needs,
)
from fatt.importers.files import foreign
from fatt.importers.files.pickles import convert_loaded, unreadable, with_versions
from fatt.importers.registry import listed
from fatt.importers.versions import check_file
from fatt.model import Model, NoLive

_NAMES = listed("files", "skops.txt")
#: What is built besides scikit-learn's estimators.
TRUSTED = tuple(_NAMES["trusted"])

_SCHEMA = "schema.json"
_VERSION = re.compile(
    rb'"_sklearn_version": \{[^{}]*?"content": "\\"([0-9][0-9a-z.]{0,20})\\""'
)

_ADVICE = (
    "Save a tree model of scikit-learn, alone or at the end of a pipeline: an XGBoost "
    "or LightGBM model goes into its own file with save_model, and of a search only "
    "the best_estimator_ can be read."
)

# Real files shrink to a twentieth when zipped, bombs to a thousandth.
_MOST_GROWTH = 100
_ALWAYS_ALLOWED = 2**24
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def read(data: bytes, *, missing: float | None) -> Model:
    """Read a skops file."""
    try:
        import skops.io
    except ImportError as error:
        raise needs("skops", "reading .skops files", "skops") from error
    try:
        data = checked(data)
        untrusted = set(skops.io.get_untrusted_types(data=data)) - set(TRUSTED)
        if untrusted:
            raise _distrust(untrusted)
        model, versions = with_versions(lambda: skops.io.loads(data, trusted=TRUSTED))
    except FattError:
        raise
    except Exception as error:
        # What was checked is packed without compression.
        found = _VERSION.search(data)
        written = found[1].decode() if found else ""
        raise unreadable("skops file", written, error) from error
    read = convert_loaded(model, versions, missing=missing, kind="skops file")
    # Compiled code would follow any index that the arrays hold.
    reason = "a skops file is read, and none of its objects is run"
    return Model(read.ensemble, NoLive(reason))


def _distrust(names: set[str]) -> UntrustedModelError:
    return UntrustedModelError(
        f"the skops file holds {', '.join(sorted(names))}, which fatt does not build "
        f"from files. {_ADVICE}"
    )


def checked(data: bytes) -> bytes:
    """Check all that skops takes for granted, and return what it can load."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if _SCHEMA not in archive.namelist():
            raise foreign.archive(archive.namelist())
        limit = _ALWAYS_ALLOWED + _MOST_GROWTH * len(data)
        _check_members(archive, limit)
        text = archive.read(_SCHEMA)
        parsed = json.loads(text)
        if not isinstance(parsed, dict):
            raise MalformedModelError("the schema of the skops file is no object.")
        schema = _Schema(parsed)
        check_file(
            "skops protocol",
            str(schema.root.get("protocol", "")),
            at_hand=lambda: False,
            way_out="Save the model with an older version of skops.",
        )
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        total = sum(sizes[name] for name in schema.files)
        # A part takes dozens of bytes in the schema, unless it is counted many times.
        if total > limit or schema.weight() > len(text):
            raise _bomb(limit)
        arrays = {name: archive.read(name) for name in schema.files}
    for name, content in arrays.items():
        _check_array(content, is_scalar=name not in schema.of_arrays)
    return _packed({_SCHEMA: json.dumps(schema.root).encode(), **arrays})


def _packed(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _check_members(archive: zipfile.ZipFile, limit: int) -> None:
    members = archive.infolist()
    if sum(member.file_size for member in members) > limit:
        raise _bomb(limit)
    for member in members:
        if member.compress_type not in _METHODS:
            raise UnsupportedModelError(
                f"{member.filename} in the skops file is compressed by method "
                f"{member.compress_type}; save it with zipfile.ZIP_DEFLATED."
            )


def _bomb(limit: int) -> MalformedModelError:
    return MalformedModelError(
        f"the skops file would take more than {limit} bytes when unpacked, far more "
        "than a real model of its size. Save the model without compression."
    )


class _Schema:
    """The parts of a skops file, as its schema lists them.

    Attributes
    ----------
    root
        The schema, with the names that today's scikit-learn uses.
    files
        The member of the archive behind each array, as often as it is read.
    of_arrays
        Those that are read as arrays; the others are numbers of NumPy.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.files: list[str] = []
        self.of_arrays: set[str] = set()
        self._inside: dict[Any, list[list[Any]]] = {}
        self._weights: dict[Any, int | None] = {}
        self._top = self._visit(root)

    def _visit(self, value: Any) -> list[Any]:
        """Check all parts in a value, and return the ids of the outermost ones."""
        if isinstance(value, list):
            return [part for item in value for part in self._visit(item)]
        if not isinstance(value, dict):
            return []
        _modernise(value)
        inside = [part for item in value.values() for part in self._visit(item)]
        if "__loader__" not in value:
            return inside
        self._check_part(value)
        name = value.get("__id__") or f"part {len(self._inside)}"
        self._inside.setdefault(name, []).append(inside)
        return [name]

    def _check_part(self, part: dict[str, Any]) -> None:
        loader = part["__loader__"]
        if loader not in _NAMES["loaders"]:
            raise UntrustedModelError(
                f"the skops file holds a {part.get('__module__')}."
                f"{part.get('__class__')} (read by {loader}), which no tree of "
                f"scikit-learn needs. {_ADVICE}"
            )
        if "file" in part:
            self.files.append(part["file"])
            if part.get("__class__") == "ndarray":
                self.of_arrays.add(part["file"])

    def weight(self) -> int:
        """Return how many parts skops visits: those inside a shared part many times."""
        return sum(map(self._weigh, self._top))

    def _weigh(self, name: Any) -> int:
        if name not in self._weights:
            self._weights[name] = None
            # Parts with one id should be equal; skops takes the one it meets first.
            self._weights[name] = 1 + max(
                sum(map(self._weigh, inside)) for inside in self._inside[name]
            )
        weight = self._weights[name]
        if weight is None:
            raise MalformedModelError("a part of the skops file contains itself.")
        return weight


def _modernise(part: dict[str, Any]) -> None:
    """Rename what older versions of scikit-learn called otherwise."""
    if part.get("__module__") == "_loss":
        # Up to 1.7 the compiled losses did not name their package.
        part["__module__"] = "sklearn._loss._loss"
    elif part.get("__class__") == "_RemainderColsList":
        # Version 1.5 wrapped the list of columns that no transformer takes.
        columns = part["content"]["content"]["data"]
        part.clear()
        part.update(columns)


def _check_array(data: bytes, *, is_scalar: bool) -> None:
    """Check that an array has as many bytes as its header says.

    Without dimensions it must be a number: a tree looks at the first, without a check.
    """
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    size = math.prod(shape) * dtype.itemsize
    is_whole = dtype.itemsize and size == len(data) - stream.tell()
    if dtype.hasobject or not is_whole or not (shape or is_scalar):
        raise MalformedModelError(
            f"an array in the skops file claims shape {shape} and type {dtype}, and "
            f"has {len(data) - stream.tell()} bytes."
        )
