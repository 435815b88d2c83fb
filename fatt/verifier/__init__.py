"""The search that proves people fair, or finds their twins."""

from fatt.verifier.budget import Budget
from fatt.verifier.search import Extremes, Verifier

__all__ = ["Budget", "Extremes", "Verifier"]
