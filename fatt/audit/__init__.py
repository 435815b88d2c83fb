"""The whole way from a model and people to answers."""

from fatt.audit.gaps import ScoreGap, ScoreGaps, score_gap
from fatt.audit.partitions import PartitionedReport, verify_partitions
from fatt.audit.radii import Radii, Radius, radius
from fatt.audit.verification import verify

__all__ = [
    "PartitionedReport",
    "Radii",
    "Radius",
    "ScoreGap",
    "ScoreGaps",
    "radius",
    "score_gap",
    "verify",
    "verify_partitions",
]
