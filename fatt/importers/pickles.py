"""Objects out of files: pickles, which the caller trusts, and what files may hold."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Ensemble, Source
from fatt.errors import FattError, MalformedModelError, UnsupportedModelError
from fatt.importers.registry import library_of
from fatt.importers.versions import TESTED, check_file, is_installed, release
from fatt.model import Model

_OLDEST = release(TESTED["scikit-learn"][0])


def read(data: bytes, *, missing: float | None) -> Model:
    """Unpickle a fitted object and convert it."""
    model, versions = unpickle(data)
    return convert_loaded(model, versions, missing=missing, kind="pickle file")


def unpickle(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Load an object, and return also the versions of scikit-learn that saved it."""
    # joblib reads plain pickles as well as its own compressed files.
    import joblib

    try:
        return with_versions(lambda: joblib.load(io.BytesIO(data)))
    except Exception as error:
        raise MalformedModelError(
            f"the pickle cannot be loaded ({type(error).__name__}: {error}). Load it "
            "with the package versions that wrote it."
        ) from error


def with_versions(load: Callable[[], Any]) -> tuple[Any, tuple[str, ...]]:
    """Load an object, and return also the versions of scikit-learn that saved it.

    There are several if its parts were saved and loaded before. scikit-learn only warns
    of those that are not the installed one, and forgets them.
    """
    import sklearn
    from sklearn.exceptions import InconsistentVersionWarning

    versions = []
    with warnings.catch_warnings(record=True) as caught:
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
        _check_version(version, kind)
    try:
        with np.errstate(all="ignore"):
            made = library.convert(model, missing=missing)
    except FattError:
        raise
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
    return msgspec.structs.replace(source, version=version, notes=(note, *source.notes))


def _check_version(version: str, kind: str) -> None:
    """Refuse what an older or newer scikit-learn saved, which may mean other things."""
    import sklearn

    installed = str(sklearn.__version__)
    if release(version) < _OLDEST:
        raise UnsupportedModelError(
            f"the file was written by scikit-learn {version}; fatt reads files of "
            "scikit-learn 1.5 and later. Train the model again with one of these."
        )
    if release(version) > release(installed):
        raise UnsupportedModelError(
            f"the file was written by scikit-learn {version}, which is newer than the "
            f"installed {installed}: install {version} to read it."
        )
    # What a skops file holds is never asked, since nobody vouches for its arrays.
    check_file(
        "scikit-learn",
        version,
        at_hand=lambda: kind == "pickle file" and is_installed("sklearn", version),
        way_out="Pass the fitted model itself, or train it with a tested version.",
    )
