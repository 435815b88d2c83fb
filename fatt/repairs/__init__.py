"""Models of the same kind that treat more people like all those similar to them."""

from fatt.repairs.changes import repair
from fatt.repairs.result import Quality, Repair

__all__ = ["Quality", "Repair", "repair"]
