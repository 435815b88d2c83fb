"""Pickles of earlier versions of scikit-learn, which later ones cannot load.

Some names in them are gone, and trees were kept in another form. Both are mended while
the file is read, so that the installed version answers what the one that wrote it did.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import inspect
import io
import lzma
import pickle
import zlib
from typing import Any, ClassVar

import numpy as np
from joblib import numpy_pickle
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError
from fatt.importers.versions import release

#: From this version on, leaves of classifiers hold shares; before, counts.
SHARES = (1, 4)

#: From this version on, AdaBoost takes votes for one class from the others.
_VOTES = (1, 3)

_LOSSES = "sklearn._loss._loss"
#: What ensembles called the pattern of their members before version 1.2.
_RENAMED = {"base_estimator": "estimator", "base_estimator_": "estimator_"}
#: How joblib compresses.
_UNPACKERS = (zlib.decompress, gzip.decompress, bz2.decompress, lzma.decompress)


def load(data: bytes) -> Any:
    """Unpickle what pickle or joblib wrote, plain or compressed."""
    # Since joblib 1.5; before, it always was so.
    is_told = "ensure_native_byte_order" in inspect.signature(_Unpickler).parameters
    told = {"ensure_native_byte_order": True} if is_told else {}
    return _Unpickler("", io.BytesIO(unpacked(data)), **told).load()


def unpacked(data: bytes) -> bytes:
    """Return what was compressed; other bytes as they are."""
    for unpack in _UNPACKERS:
        with contextlib.suppress(OSError, EOFError, zlib.error, lzma.LZMAError):
            return unpack(data)
    return data


class RemainderColumns(list[Any]):
    """The columns that a ColumnTransformer of scikit-learn 1.5 to 1.8 passes on."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self[:] = state["data"]


def _unpickled_loss(kind: Any, *_: Any) -> Any:
    """Make a compiled loss anew; those that are made so have no parameters."""
    return kind.__new__(kind)


class _Unpickler(numpy_pickle.NumpyUnpickler):  # type: ignore[misc]
    """Finds what has other names now, and mends trees."""

    dispatch: ClassVar[dict[int, Any]] = dict(numpy_pickle.NumpyUnpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(module, name)
        except (AttributeError, ModuleNotFoundError):
            if name == "_RemainderColsList":
                return RemainderColumns
            if module in {"_loss", _LOSSES} and name.startswith("__pyx_unpickle_Cy"):
                return _unpickled_loss
            if module == "_loss":
                return super().find_class(_LOSSES, name)
            raise

    def load_build(self) -> None:
        owner, state = self.stack[-2:]
        if not type(owner).__module__.startswith("sklearn.") or type(state) is not dict:
            super().load_build()
            return
        # A copy: objects take parts of their state out of it.
        held = self.stack[-1] = _mended(state)
        written = release(held.get("_sklearn_version", ""))
        if {"estimator_weights_", "n_classes_"} <= set(held) and written < _VOTES:
            raise UnsupportedModelError(
                "an AdaBoostClassifier of scikit-learn before 1.3 adds up its votes in "
                "another way, whose last bits later versions do not follow. Train the "
                "model again."
            )
        super().load_build()
        if "tree_" in held and "classes_" in held and written < SHARES:
            _turn_into_shares(owner.tree_.value)

    dispatch[pickle.BUILD[0]] = load_build


def _mended(state: dict[str, Any]) -> dict[str, Any]:
    """Return what an object holds, under the names and in the form of today."""
    held = dict(state)
    for name, today in _RENAMED.items():
        if name in held and today not in held:
            held[today] = held.pop(name)
    if "nodes" in held and "values" in held:
        held["nodes"] = _with_missing(held["nodes"])
    if "_fit_dtype" in held and "statistics_" in held:
        # An imputer of before 1.7 filled in its numbers as they were.
        held.setdefault("_fill_dtype", held["statistics_"].dtype)
    return held


def _with_missing(nodes: NDArray[Any]) -> NDArray[Any]:
    """Return nodes that say where missing values go; before 1.3 none might come."""
    names = nodes.dtype.names or ()
    if "missing_go_to_left" in names:
        return nodes
    from sklearn.tree._tree import NODE_DTYPE

    made = np.zeros(nodes.shape, dtype=NODE_DTYPE)
    for name in names:
        made[name] = nodes[name]
    return made


def _turn_into_shares(counts: NDArray[np.float64]) -> None:
    """Divide counts as `predict_proba` did at every call before version 1.4."""
    total = counts.sum(axis=2, keepdims=True)
    total[total == 0.0] = 1.0
    shares = counts / total
    if (shares.argmax(axis=2) != counts.argmax(axis=2)).any():
        raise UnsupportedModelError(
            "two classes of a leaf weigh so nearly the same that their shares are "
            "equal, while the version of scikit-learn that wrote the file compares "
            "their weights. Train the model again."
        )
    counts[...] = shares
