"""Refusals that several importers share."""

from __future__ import annotations

from fatt.errors import SpecError, UnsupportedModelError


def refuse_missing(missing: float | None, what: str) -> None:
    """Raise unless the caller left `missing` alone, which only XGBoost knows."""
    if missing is not None:
        raise SpecError(
            f"missing={missing} was given for {what}; only XGBoost models take a "
            "number for missing. Leave the argument out."
        )


def refuse_replaced(model: object) -> None:
    """Refuse an object on which somebody replaced a method of its class.

    Parameters
    ----------
    model
        Fitted object of any library.

    Raises
    ------
    UnsupportedModelError
        If an attribute of the object hides a method or property of its class, and
        with it what the class would have answered.
    """
    kind = type(model)
    for name in getattr(model, "__dict__", ()):
        hidden = next((c.__dict__[name] for c in kind.__mro__ if name in c.__dict__), 0)
        if callable(hidden) or hasattr(hidden, "__get__"):
            raise UnsupportedModelError(
                f"the {name} of this {kind.__name__} was replaced on the object, so "
                f"that it may answer something else than a {kind.__name__} does. "
                f"Delete the replacement (del model.{name}), or load the model anew."
            )
