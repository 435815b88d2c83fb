"""What every fitted scikit-learn classifier says about itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from fatt.ensemble import Inputs, Label, Source
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers._labels import plain_label
from fatt.importers._limits import FEATURES
from fatt.importers.versions import note_newer


def n_features(model: Any) -> int:
    """Return the number of columns that the model reads."""
    count = int(model.n_features_in_)
    if not 0 < count <= FEATURES:
        raise UnsupportedModelError(
            f"the model claims to read {count} columns; fatt reads models of 1 to "
            f"{FEATURES} columns."
        )
    return count


def feature_names(model: Any) -> tuple[str, ...]:
    """Return the names of the columns, or x0, x1, ... if the model was given none."""
    count = n_features(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{index}" for index in range(count))
    if len(names) != count:
        raise MalformedModelError(
            f"the model names {len(names)} columns and reads {count}."
        )
    return tuple(str(name) for name in names)


def inputs(model: Any, *, integer_limit: int = 2**53) -> Inputs:
    """Say how the model reads tables."""
    return Inputs(
        named=hasattr(model, "feature_names_in_"), integer_limit=integer_limit
    )


def labels(values: Any, what: str) -> tuple[Label, ...]:
    """Return numpy or Python values as the strings and numbers they stand for."""
    return tuple(plain_label(value, what) for value in np.asarray(values))


def classes(model: Any) -> tuple[Label, ...]:
    """Return the labels that the model answers, in its order."""
    return labels(model.classes_, "the list of classes")


def source(model: Any, *, objective: str = "", notes: tuple[str, ...] = ()) -> Source:
    """Describe where the model came from."""
    import sklearn

    version = str(sklearn.__version__)
    return Source(
        library="scikit-learn",
        version=version,
        format="fitted object",
        model=type(model).__name__,
        objective=objective,
        notes=(*note_newer("scikit-learn", version), *notes),
    )
