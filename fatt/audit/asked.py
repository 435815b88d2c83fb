"""The keywords of questions, as types; `fatt.verify` tells what each means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from fatt.ensemble import Label
from fatt.ensemble.allowed import Direction
from fatt.everybody.distributions import Drawn
from fatt.progress import Progress
from fatt.region import Schema
from fatt.verdict import Of
from fatt.verifier import Budget


class Fair(TypedDict, total=False):
    """Which answers of similar people are still fair."""

    tolerance: float | str | None
    direction: Direction | None
    favorable: Label | None


class Rule(Fair, total=False):
    """The same, and how the model decides."""

    threshold: float | None
    cuts: Mapping[str, float] | None


class Effort(TypedDict, total=False):
    """How much is searched, by how many threads, and who is told how far it is."""

    budget: Budget | None
    n_jobs: int | None
    progress: Progress | bool | None


class Sharing(Effort, total=False):
    """The same, who is drawn from a space, and how sure and how long."""

    people: Any
    distribution: Drawn | None
    confidence: float
    seconds: float
    draws: int
    seed: int


class Gap(TypedDict, total=False):
    """Of which numbers a gap among everybody is, and how much is searched."""

    of: Of
    direction: Direction | None
    tolerance: float
    budget: Budget | None


class Unfair(TypedDict, total=False):
    """Who is treated differently among everybody, and how much is searched."""

    gap: float
    between: tuple[float, float] | None
    direction: Direction | None
    budget: Budget | None


class Checks(Effort, total=False):
    """The same, and what else a report is made with."""

    sample_weight: Any
    sensitive_features: Any
    journal: str | Path | None
    spot_checks: int


class Scored(Rule, total=False):
    """What a score of a whole table is made with, beside who is similar."""

    schema: Schema | None
    budget: Budget | None
    spot_checks: int
