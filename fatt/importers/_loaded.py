"""Objects that came out of a file, which may hold anything."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Ensemble, Source
from fatt.errors import FattError, MalformedModelError, UnsupportedModelError
from fatt.importers._registry import converter_for

_OLDEST = (1, 5)


def with_version(load: Callable[[], Any]) -> tuple[Any, str]:
    """Load an object, and return also the version of scikit-learn that saved it.

    scikit-learn only warns if it is not the installed one, and forgets it.
    """
    import sklearn
    from sklearn.exceptions import InconsistentVersionWarning

    version = str(sklearn.__version__)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InconsistentVersionWarning)
        model = load()
    for warning in caught:
        if isinstance(warning.message, InconsistentVersionWarning):
            version = str(warning.message.original_sklearn_version)
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    return model, version


def convert_loaded(
    model: Any, version: str, *, missing: float | None, kind: str
) -> Ensemble:
    """Convert an object from a file; whatever its parts are, fail in good order.

    Parameters
    ----------
    model
        The object.
    version
        The version of scikit-learn that saved it.
    missing
        As in `fatt.load`.
    kind
        The kind of file.
    """
    converter = converter_for(model)
    _check_version(version)
    try:
        with np.errstate(all="ignore"):
            ensemble = converter.convert(model, missing=missing)
    except FattError:
        raise
    except Exception as error:
        raise MalformedModelError(
            f"the {type(model).__name__} in the {kind} is not as its library makes it "
            f"({type(error).__name__}: {error}). Save the fitted model again."
        ) from error
    return replace(ensemble, source=_source(ensemble, version, kind))


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


def _check_version(version: str) -> None:
    """Refuse what an older or newer scikit-learn saved, which may mean other things."""
    import sklearn

    installed = str(sklearn.__version__)
    if _release(version) < _OLDEST:
        raise UnsupportedModelError(
            f"the file was written by scikit-learn {version}; fatt reads files of "
            "scikit-learn 1.5 and later. Train the model again with one of these."
        )
    if _release(version) > _release(installed):
        raise UnsupportedModelError(
            f"the file was written by scikit-learn {version}, which is newer than the "
            f"installed {installed}: install {version} to read it."
        )


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
