"""Models behind preprocessing, pulled back to the raw columns."""

from fatt.importers.pullback.columns import (
    Coded,
    Column,
    Flags,
    Floats,
    Mapped,
    Same,
    below,
    cuts_of,
    identity,
    narrow,
    takes,
)
from fatt.importers.pullback.rewrite import pull_back

__all__ = [
    "Coded",
    "Column",
    "Flags",
    "Floats",
    "Mapped",
    "Same",
    "below",
    "cuts_of",
    "identity",
    "narrow",
    "pull_back",
    "takes",
]
