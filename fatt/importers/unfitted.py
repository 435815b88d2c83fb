"""The error for a model that was never fitted, which scikit-learn's users know."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError

from fatt.errors import UnsupportedModelError


class UnfittedModelError(UnsupportedModelError, NotFittedError):  # type: ignore[misc]
    """The model is not fitted; also a ``sklearn.exceptions.NotFittedError``."""


def unfitted(model: Any) -> UnfittedModelError:
    """Return the error for a model that is not fitted."""
    return UnfittedModelError(
        f"the {type(model).__name__} is not fitted; call fit first."
    )
