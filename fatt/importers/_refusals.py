"""Refusals that several importers share."""

from __future__ import annotations

from fatt.errors import SpecError


def refuse_missing(missing: float | None, what: str) -> None:
    """Raise unless the caller left `missing` alone, which only XGBoost knows."""
    if missing is not None:
        raise SpecError(
            f"missing={missing} was given for {what}; only XGBoost models take a "
            "number for missing. Leave the argument out."
        )
