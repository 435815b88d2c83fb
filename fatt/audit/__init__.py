"""The whole way from a model and people to answers."""

from fatt.audit.auditor import Auditor
from fatt.audit.part import Part
from fatt.audit.partitions import PartitionedReport, verify_partitions
from fatt.audit.questions import (
    exists_unfair,
    largest_gap,
    radius,
    score_gap,
    unfair_share,
    verify,
    where_unfair,
)
from fatt.verdict import Radii, Radius, ScoreGap, ScoreGaps

__all__ = [
    "Auditor",
    "Part",
    "PartitionedReport",
    "Radii",
    "Radius",
    "ScoreGap",
    "ScoreGaps",
    "exists_unfair",
    "largest_gap",
    "radius",
    "score_gap",
    "unfair_share",
    "verify",
    "verify_partitions",
    "where_unfair",
]
