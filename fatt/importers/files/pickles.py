"""Objects out of files: pickles, which the caller trusts, and what files may hold."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import importlib.util
import inspect
import io
import lzma
import pickle
import re
import warnings
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import msgspec
import numpy as np
from joblib import numpy_pickle
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Source
from fatt.errors import (
    FattError,
    MalformedModelError,
    MissingDependencyError,
    UnsupportedModelError,
)
from fatt.importers.files.bundles import unpack
from fatt.importers.naming import with_names
from fatt.importers.registry import library_of
from fatt.importers.sklearn.members import is_known
from fatt.importers.versions import (
    TESTED,
    check_file,
    is_installed,
    is_newer,
    release,
    releases_of,
)
from fatt.model import Model, in_short

#: The oldest versions of which all is read, and of which pickles of trees are.
_OLDEST = release(TESTED["scikit-learn"][0])
_OLDEST_PICKLE = release(TESTED["scikit-learn pickle"][0])


def read(data: bytes, *, missing: float | None) -> Model:
    """Unpickle a fitted object and convert it, also out of a dict or tuple."""
    content, versions = unpickle(data)
    bundle = unpack(content)
    made = convert_loaded(bundle.model, versions, missing=missing, kind="pickle file")
    ensemble = made.ensemble
    notes = bundle.notes + ensemble.source.notes
    source = msgspec.structs.replace(ensemble.source, notes=notes)
    made = replace(made, ensemble=replace(ensemble, source=source))
    columns = bundle.columns(len(ensemble.features))
    if columns is None or ensemble.inputs.named:
        return made
    return with_names(made, columns=columns)


def unpickle(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Load an object, and return also the versions of scikit-learn that saved it."""
    try:
        return with_versions(lambda: _load(data))
    except FattError:
        raise
    except Exception as error:
        raise _unloadable(data, error) from error


def _unloadable(data: bytes, error: Exception) -> FattError:
    """Say why a pickle cannot be loaded, and what to do."""
    told = in_short(error)
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    package = (missing or "").partition(".")[0]
    if package and importlib.util.find_spec(package) is None:
        return MissingDependencyError(
            f"the pickle needs the package {package}, which is not installed. Install "
            "it, in the version that wrote the file; or, if it is a module of those "
            "who trained the model, name its folder in PYTHONPATH."
        )
    if package not in {"", "sklearn"}:
        return UnsupportedModelError(
            f"the pickle was written with another version of {package}, and the "
            f"installed one cannot load it ({told}). Load it where that version is "
            "installed, and save the model by itself, in a file of its own library or "
            "in ONNX."
        )
    if isinstance(error, AttributeError) and "__main__" in told:
        return UnsupportedModelError(
            f"the pickle needs what the script that wrote it defined ({told}). "
            "Define that in a module that can be imported here as well, and save the "
            "model again; or load it in that script, and pass it to fatt."
        )
    found = _VERSION.search(unpacked(data))
    return unreadable("pickle", found[1].decode() if found else "", error)


def unreadable(kind: str, written: str, error: Exception) -> FattError:
    """Say why a file cannot be loaded: another scikit-learn wrote it, or damage.

    Parameters
    ----------
    kind
        The kind of file.
    written
        The version of scikit-learn that wrote it; empty if that cannot be seen.
    error
        What went wrong.
    """
    import sklearn

    told, installed = in_short(error), str(sklearn.__version__)
    if written and release(written) != release(installed):
        return UnsupportedModelError(
            f"the {kind} was saved with scikit-learn {written}, and the installed "
            f"{installed} cannot load it ({told}). {_elsewhere(written)}"
        )
    return MalformedModelError(
        f"the {kind} cannot be loaded ({told}). It is damaged, or other versions of "
        "its packages wrote it: load it with those, and save the fitted model again."
    )


def _elsewhere(version: str) -> str:
    """Say what to do about a file that needs another version of scikit-learn.

    Parameters
    ----------
    version
        That version.
    """
    if release(version) >= _OLDEST and not is_newer("scikit-learn", version):
        return f"Install scikit-learn {version}, with which fatt works as well."
    return (
        f"Load it where {version} is installed, and export it there to ONNX "
        "(skl2onnx), or train the model again with scikit-learn "
        f"{releases_of('scikit-learn')}."
    )


#: What a fitted object of scikit-learn says about its version, in a pickle.
_VERSION = re.compile(rb"_sklearn_version.{1,16}?([0-9]+\.[0-9]+[0-9a-z.]*)", re.DOTALL)


def with_versions(load: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """Load an object, and return also the versions of scikit-learn that saved it.

    There are several if its parts were saved and loaded before. scikit-learn only warns
    of those that are not the installed one, and forgets them.
    """
    import sklearn
    from sklearn.exceptions import InconsistentVersionWarning

    versions = []
    with warnings.catch_warnings(record=True) as caught:
        # Old files name what is called otherwise now.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("always", InconsistentVersionWarning)
        model = load()
    for warning in caught:
        if isinstance(warning.message, InconsistentVersionWarning):
            versions.append(str(warning.message.original_sklearn_version))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return model, tuple(versions) or (str(sklearn.__version__),)


def convert_loaded(
    model: Any, versions: tuple[str, ...], *, missing: float | None, kind: str
) -> Model:
    """Convert an object from a file; whatever its parts are, fail in good order.

    Parameters
    ----------
    model
        The object.
    versions
        The versions of scikit-learn that saved it and its parts.
    missing
        As in `fatt.load`.
    kind
        The kind of file.
    """
    library = library_of(model)
    for version in versions:
        _check_version(model, version, kind)
    oldest = min(versions, key=release)
    try:
        with np.errstate(all="ignore"):
            made = library.convert(model, missing=missing)
    except FattError as error:
        if release(oldest) >= _OLDEST or not is_known(model):
            raise
        raise _too_old(oldest, str(error)) from error
    except MemoryError as error:
        raise UnsupportedModelError(
            f"the {type(model).__name__} in the {kind} needs more memory than there "
            f"is ({error}). Train it on columns of fewer categories."
        ) from error
    except Exception as error:
        raise MalformedModelError(
            f"the {type(model).__name__} in the {kind} is not as its library makes it "
            f"({type(error).__name__}: {error}). Save the fitted model again."
        ) from error
    source = _source(made.ensemble, versions[-1], kind)
    return replace(made, ensemble=replace(made.ensemble, source=source))


def _source(ensemble: Ensemble, version: str, kind: str) -> Source:
    source = msgspec.structs.replace(ensemble.source, format=kind)
    installed = source.version
    if source.library != "scikit-learn" or version == installed:
        return source
    note = (
        f"The file was written by scikit-learn {version} and read with {installed}: "
        f"the answers are those of scikit-learn {installed}."
    )
    if release(version) < SHARES:
        note += " Counts in leaves were turned into shares, as that version did."
    return msgspec.structs.replace(source, version=version, notes=(note, *source.notes))


def _too_old(version: str, reason: str) -> UnsupportedModelError:
    import sklearn

    return UnsupportedModelError(
        f"the file was written by scikit-learn {version}, and {sklearn.__version__} is "
        f"installed: of files as old as that fatt reads pickles of trees, forests and "
        f"bagged trees from {releases_of('scikit-learn pickle').partition(' ')[0]} on "
        f"({reason.rstrip('.')}). {_elsewhere(version)}"
    )


def _check_version(model: Any, version: str, kind: str) -> None:
    """Refuse what an older or newer scikit-learn saved, which may mean other things."""
    import sklearn

    installed = str(sklearn.__version__)
    is_pickle = kind == "pickle file"
    oldest = _OLDEST_PICKLE if is_pickle else _OLDEST
    if release(version) < oldest and is_known(model):
        raise _too_old(version, f"this is a {type(model).__name__}")
    if release(version) > release(installed):
        raise UnsupportedModelError(
            f"the file was written by scikit-learn {version}, which is newer than the "
            f"installed {installed}. Install scikit-learn {version} to read it."
        )
    # What a skops file holds is never asked, since nobody vouches for its arrays.
    check_file(
        "scikit-learn",
        version,
        at_hand=lambda: is_pickle and is_installed("sklearn", version),
        way_out="Pass the fitted model itself, or train it with a tested version.",
    )


# Pickles of earlier versions of scikit-learn, which later ones cannot load: some names
# in them are gone, and trees were kept in another form. Both are mended while the file
# is read, so that the installed version answers what the one that wrote it did.

#: From this version on, leaves of classifiers hold shares; before, counts.
SHARES = (1, 4)

#: From this version on, AdaBoost takes votes for one class from the others.
_VOTES = (1, 3)

_LOSSES = "sklearn._loss._loss"
#: What ensembles called the pattern of their members before version 1.2.
_RENAMED = {"base_estimator": "estimator", "base_estimator_": "estimator_"}
#: How joblib compresses.
_UNPACKERS = (zlib.decompress, gzip.decompress, bz2.decompress, lzma.decompress)


def _load(data: bytes) -> Any:
    """Unpickle what pickle or joblib wrote, plain or compressed."""
    # Since joblib 1.5; before, it always was so.
    is_told = "ensure_native_byte_order" in inspect.signature(_Unpickler).parameters
    told = {"ensure_native_byte_order": True} if is_told else {}
    return _Unpickler("", io.BytesIO(unpacked(data)), **told).load()


def unpacked(data: bytes) -> bytes:
    """Return what was compressed; other bytes as they are."""
    for restore in _UNPACKERS:
        with contextlib.suppress(OSError, EOFError, zlib.error, lzma.LZMAError):
            return restore(data)
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
