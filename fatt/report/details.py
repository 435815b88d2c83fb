"""What a page shows beside the report: its origin, and more figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.everybody.answers import Answers
from fatt.verdict import Radii, ScoreGaps


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The origin of a report. What is not known stays empty.

    Attributes
    ----------
    title
        Heading of the page.
    model, data
        Names of the files.
    model_digest, data_digest
        SHA-256 of their bytes.
    certificate, certificate_digest
        Name of the file with the proofs, and SHA-256 of its bytes.
    command, check
        The commands that make the report again, and check the certificate.
    date
        The date of the report.
    made_with
        The program and its version.
    notes
        Remarks on the data.
    warnings
        Warnings that stand at the top, after those of the report.
    """

    title: str = "Fairness audit"
    model: str = ""
    model_digest: str = ""
    data: str = ""
    data_digest: str = ""
    certificate: str = ""
    certificate_digest: str = ""
    command: str = ""
    check: str = ""
    date: str = ""
    made_with: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Alone:
    """How many answers one attribute changes alone.

    Attributes
    ----------
    name
        The attribute.
    turns
        How many people get which other label, by the labels before and after. For
        predictions: how many get a lower or a higher one; the label before is None.
    unknown
        How many people are unknown.
    varies
        Whether the attribute may be anything, as a protected attribute may, or only
        moves by some noise.
    """

    name: str
    turns: Mapping[tuple[Label | None, Label], int]
    unknown: int
    varies: bool

    @property
    def changed(self) -> int:
        """How many answers change."""
        return sum(self.turns.values())


@dataclass(frozen=True, kw_only=True)
class Causes:
    """Why people are unfair: by what may vary, by noise, or only by both together.

    Attributes
    ----------
    names
        What may vary, such as the protected attributes.
    protected
        How many people are unfair if only these change.
    noise
        How many are unfair if only the rest changes.
    either
        How many of these are counted in both.
    together
        How many are unfair only if both change together: it is proved that neither
        does alone.
    unknown
        Of how many it is not known.
    """

    names: tuple[str, ...]
    protected: int
    noise: int
    either: int
    together: int
    unknown: int

    @property
    def total(self) -> int:
        """How many people are unfair."""
        return self.protected + self.noise - self.either + self.together + self.unknown

    def __str__(self) -> str:
        who = " and ".join(self.names)
        either = f" ({self.either:,} of them by noise alone, too)" * bool(self.either)
        unknown = f"; of {self.unknown:,} it is not known" * bool(self.unknown)
        return (
            f"Of {self.total:,} unfair, {self.protected:,} by {who} alone{either}, "
            f"{self.noise - self.either:,} by noise alone, and {self.together:,} only "
            f"by both together{unknown}."
        )


@dataclass(frozen=True, kw_only=True)
class Details:
    """More figures about the people of a report.

    Attributes
    ----------
    alone
        What each attribute changes alone.
    causes
        Why people are unfair. None if the similarity has only noise, or none.
    radii
        The largest multiple of the noise for which a person is fair. None if there is
        no noise, or it was not measured.
    gaps
        The largest difference of score to a similar person. None if not measured.
    rows : ndarray
        Which rows were measured.
    nodes
        The limit of each search for radii and gaps.
    interrupted
        Whether measuring was interrupted.
    everybody
        What was found about everybody between the values of the table. None if it was
        not asked.
    """

    alone: tuple[Alone, ...] = ()
    causes: Causes | None = None
    radii: Radii | None = None
    gaps: ScoreGaps | None = None
    rows: NDArray[np.int64] | None = None
    nodes: int | None = None
    interrupted: bool = False
    everybody: Answers | None = None
