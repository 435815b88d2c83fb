"""Models behind preprocessing, pulled back to the raw columns."""

from fatt.importers.pullback.columns import Coded, Column, Mapped, Same, narrow
from fatt.importers.pullback.rewrite import pull_back

__all__ = ["Coded", "Column", "Mapped", "Same", "narrow", "pull_back"]
