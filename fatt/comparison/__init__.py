"""Old against new: two models on the same people, under the same question."""

from fatt.comparison.comparison import Change, Changes, Comparison, Count, Pair
from fatt.comparison.questions import compare

__all__ = ["Change", "Changes", "Comparison", "Count", "Pair", "compare"]
