"""Refusals that several importers share."""

from __future__ import annotations

from fatt.errors import MissingDependencyError, SpecError


def refuse_missing(missing: float | None, what: str) -> None:
    """Raise unless the caller left `missing` alone, which only XGBoost knows."""
    if missing is not None:
        raise SpecError(
            f"missing={missing} was given for {what}; only XGBoost models take a "
            "number for missing. Leave the argument out."
        )


def needs(package: str, what: str, extra: str) -> MissingDependencyError:
    """Return the error for an optional package that is not installed."""
    return MissingDependencyError(
        f"{what} needs {package}: pip install 'fatt[{extra}]'."
    )
