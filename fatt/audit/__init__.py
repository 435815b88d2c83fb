"""The whole way from a model and people to answers."""

from fatt.audit.gaps import ScoreGaps, score_gap
from fatt.audit.radii import Radii, radius
from fatt.audit.verification import verify

__all__ = ["Radii", "ScoreGaps", "radius", "score_gap", "verify"]
