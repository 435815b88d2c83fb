"""Repair a model: the same trees with other leaf values, fair to more people."""

from fatt.repairs.changes import repair
from fatt.repairs.result import Quality, Repair

__all__ = ["Quality", "Repair", "repair"]
