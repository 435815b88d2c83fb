"""Prove, or refute with a concrete person, that a tree model treats people alike.

The public names are loaded when they are first used, so that importing `fatt` is fast
and imports no framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fatt import errors
from fatt.version import __version__

if TYPE_CHECKING:
    from fatt.advice import Recourse, Recourses, recourse
    from fatt.audit import (
        Auditor,
        Part,
        Radii,
        Radius,
        ScoreGap,
        ScoreGaps,
        exists_unfair,
        largest_gap,
        radius,
        score_gap,
        unfair_share,
        verify,
        where_unfair,
    )
    from fatt.certificate import Certificate
    from fatt.comparison import Comparison, compare
    from fatt.ensemble import Ensemble
    from fatt.explanation import Reasons, reasons
    from fatt.importers import load
    from fatt.model import Model
    from fatt.region import Schema, Similarity, Space
    from fatt.repairs import Repair, repair
    from fatt.report import Group, Groups, Report
    from fatt.train import FATTClassifier, hinted_cart
    from fatt.verdict import Bounds, Counterexample, Counterexamples, Finding, Verdict
    from fatt.verifier import Budget


__all__ = [
    "Auditor",
    "Bounds",
    "Budget",
    "Certificate",
    "Comparison",
    "Counterexample",
    "Counterexamples",
    "Ensemble",
    "FATTClassifier",
    "Finding",
    "Group",
    "Groups",
    "Model",
    "Part",
    "Radii",
    "Radius",
    "Reasons",
    "Recourse",
    "Recourses",
    "Repair",
    "Report",
    "Schema",
    "ScoreGap",
    "ScoreGaps",
    "Similarity",
    "Space",
    "Verdict",
    "__version__",
    "compare",
    "errors",
    "exists_unfair",
    "hinted_cart",
    "largest_gap",
    "load",
    "radius",
    "reasons",
    "recourse",
    "repair",
    "score_gap",
    "unfair_share",
    "verify",
    "where_unfair",
]

_HOME = {
    "Auditor": "fatt.audit",
    "Bounds": "fatt.verdict",
    "Budget": "fatt.verifier",
    "Certificate": "fatt.certificate",
    "Comparison": "fatt.comparison",
    "Counterexample": "fatt.verdict",
    "Counterexamples": "fatt.verdict",
    "Ensemble": "fatt.ensemble",
    "FATTClassifier": "fatt.train",
    "Finding": "fatt.verdict",
    "Group": "fatt.report",
    "Groups": "fatt.report",
    "Model": "fatt.model",
    "Part": "fatt.audit",
    "Radii": "fatt.audit",
    "Radius": "fatt.audit",
    "Reasons": "fatt.explanation",
    "Recourse": "fatt.advice",
    "Recourses": "fatt.advice",
    "Repair": "fatt.repairs",
    "Report": "fatt.report",
    "Schema": "fatt.region",
    "ScoreGap": "fatt.audit",
    "ScoreGaps": "fatt.audit",
    "Similarity": "fatt.region",
    "Space": "fatt.region",
    "Verdict": "fatt.verdict",
    "compare": "fatt.comparison",
    "exists_unfair": "fatt.audit",
    "hinted_cart": "fatt.train",
    "largest_gap": "fatt.audit",
    "load": "fatt.importers",
    "radius": "fatt.audit",
    "reasons": "fatt.explanation",
    "recourse": "fatt.advice",
    "repair": "fatt.repairs",
    "score_gap": "fatt.audit",
    "unfair_share": "fatt.audit",
    "verify": "fatt.audit",
    "where_unfair": "fatt.audit",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'fatt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
