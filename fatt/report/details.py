"""What a page shows beside the report itself: where it comes from, and more figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.verdict import Radii, ScoreGaps


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a report comes from. What is not known stays empty.

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
        What to type to make the report again, and to check the certificate.
    date
        When it was made.
    made_with
        The program and its version.
    notes
        Sentences on the data that a reader should know.
    warnings
        Sentences that stand at the top, beside those of the report.
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
    """How many decisions one attribute changes on its own.

    Attributes
    ----------
    name
        The attribute.
    turns
        How many people get which other label: by pair of labels, before and after. Of
        predictions, how many get a lower one, and how many a higher one, from None.
    unknown
        How many people were not decided.
    varies
        Whether it may be anything, as a protected attribute may; or moves a little.
    """

    name: str
    turns: Mapping[tuple[Label | None, Label], int]
    unknown: int
    varies: bool

    @property
    def changed(self) -> int:
        """How many decisions change."""
        return sum(self.turns.values())


@dataclass(frozen=True, kw_only=True)
class Details:
    """More figures about the people of a report.

    Attributes
    ----------
    alone
        What each attribute changes on its own.
    radii
        How often the noise can be multiplied before somebody similar is treated
        otherwise; None if there is no noise, or it was not measured.
    gaps
        The largest difference of score to anybody similar; None if not measured.
    rows : ndarray
        Which rows were measured.
    nodes
        The limit of each search for radii and gaps.
    interrupted
        Whether measuring was interrupted; what is absent was then not reached.
    """

    alone: tuple[Alone, ...] = ()
    radii: Radii | None = None
    gaps: ScoreGaps | None = None
    rows: NDArray[np.int64] | None = None
    nodes: int | None = None
    interrupted: bool = False
