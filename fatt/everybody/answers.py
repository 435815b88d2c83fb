"""All answers about everybody together, and whether they meet what was asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.everybody.existence import Existence
from fatt.everybody.gap import LargestGap
from fatt.everybody.share import Share
from fatt.everybody.where import Region, Regions
from fatt.region import Population
from fatt.verdict import Bounds, Value, in_words

Floats = NDArray[np.float64]

#: What is known of a demand.
Met = Literal["met", "refuted", "undecided"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What was found about everybody; None where it was not asked.

    Attributes
    ----------
    gap, existence, share, regions
        The answers.
    nearest
        The row of the table that is nearest to one of the pair with the largest gap,
        and how it differs; None without a table or a pair.
    """

    gap: LargestGap | None = None
    existence: Existence | None = None
    share: Share | None = None
    regions: Regions | None = None
    nearest: tuple[int, str] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted one of them."""
        asked = (self.gap, self.existence, self.share, self.regions)
        return any(one is not None and one.interrupted for one in asked)

    def judged(
        self, *, max_gap: float | None, max_share: float | None, no_pair: bool
    ) -> dict[str, Met]:
        """Say of each demand whether it is met, in the words of the options.

        Parameters
        ----------
        max_gap
            The largest gap that may be.
        max_share
            The largest share of unfair people that may be.
        no_pair
            Whether there may be no pair that is treated differently.
        """
        found: dict[str, Met] = {}
        if max_gap is not None and self.gap is not None:
            found["max-gap"] = _within(self.gap.bounds, max_gap)
        if max_share is not None and self.share is not None:
            found["max-share"] = _within(self.share.bounds, max_share)
        if no_pair and self.existence is not None:
            is_open = self.existence.pair is None and not self.existence.proved
            known: Met = "met" if self.existence.proved else "refuted"
            found["no-pair"] = "undecided" if is_open else known
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all answers as plain values, for JSON."""
        made: dict[str, Any] = {}
        if self.gap is not None:
            made["largest_gap"] = {
                "of": self.gap.of,
                "bounds": list(self.gap.bounds),
                "pair": _pair(self.gap.pair),
                "history": [list(step) for step in self.gap.history],
                "nodes": self.gap.nodes,
            }
        if self.existence is not None:
            made["unfair_pair"] = {
                "proved_absent": self.existence.proved,
                "pair": _pair(self.existence.pair),
                "nodes": self.existence.nodes,
            }
        if self.share is not None:
            made["unfair_share"] = {
                "bounds": list(self.share.bounds),
                "confidence": self.share.confidence,
                "distribution": self.share.distribution,
                "counts": dict(self.share.counts),
                "different_people": self.share.n_distinct,
                "seed": self.share.seed,
                "by_group": {
                    name: {in_words(level): list(one) for level, one in groups.items()}
                    for name, groups in self.share.by_group.items()
                },
            }
        if self.regions is not None:
            made["regions"] = {
                "unfair": [_region(one) for one in self.regions.unfair],
                "free": [_region(one) for one in self.regions.free],
                "free_share": list(self.regions.free_share),
                "confidence": self.regions.confidence,
                "fresh_people": self.regions.n_people,
            }
        made["interrupted"] = self.interrupted
        return made


def _within(bounds: Bounds, most: float) -> Met:
    if bounds <= most:
        return "met"
    return "refuted" if bounds > most else "undecided"


def _pair(pair: Any) -> dict[str, Any] | None:
    if pair is None:
        return None
    return {
        "person": _plain(pair.individual),
        "twin": _plain(pair.twin),
        "answers": [pair.before, pair.after],
        "changes": list(pair.changes),
    }


def _plain(person: dict[str, Value]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | int | float | bool) else in_words(value)
        for name, value in person.items()
    }


def _region(region: Region) -> dict[str, Any]:
    return {
        "where": dict(region.where),
        "words": region.words,
        "share": list(region.share),
        "rate": list(region.rate),
        "of_unfair": list(region.of_unfair),
        "proved": region.proved,
    }


def nearest_row(
    population: Population, people: Floats, pair: Floats
) -> tuple[int, int]:
    """Return the row of a table nearest to one of two people, and to which of them.

    The row differs in the fewest variables; of several, by the smallest distance, each
    number in the length of its range.

    Parameters
    ----------
    population
        The space.
    people : ndarray of shape (n_rows, n_variables)
        The table.
    pair : ndarray of shape (2, n_variables)
        The two people.

    Returns
    -------
    row
        Its number.
    which
        0 or 1: the nearer of the two.
    """
    features, box = population.variables.ensemble.features, population.everybody
    is_code = np.array([isinstance(one, Categorical) for one in features])
    width = np.where(is_code, 1.0, np.abs(box.upper[0] - box.lower[0]))
    best = (math.inf, math.inf, 0, 0)
    for which, person in enumerate(pair):
        both = np.isnan(people) & np.isnan(person)
        differs = (people != person) & ~both
        with np.errstate(invalid="ignore", divide="ignore"):
            away = np.minimum(np.abs(people - person) / np.maximum(width, 1e-300), 1.0)
        away = np.where(np.isnan(away) | is_code, 1.0, away)
        far = np.where(differs, away, 0.0).sum(axis=1)
        count = differs.sum(axis=1)
        row = int(np.lexsort((far, count))[0])
        best = min(best, (float(count[row]), float(far[row]), row, which))
    return best[2:]


def said_of(answers: Answers) -> Iterator[str]:
    """Yield what was found as sentences for the terminal."""
    if answers.gap is not None:
        yield str(answers.gap)
        if answers.gap.pair is not None:
            yield f"  {answers.gap.pair}"
        if answers.nearest is not None:
            row, differs = answers.nearest
            yield f"  The nearest row of the table is row {row}: {differs}."
    if answers.existence is not None:
        yield str(answers.existence)
    if answers.share is not None:
        yield f"{answers.share}."
        for name, groups in answers.share.by_group.items():
            for level, bounds in groups.items():
                yield f"  {name} {in_words(level)}: {bounds:.2%}"
    if answers.regions is not None:
        yield str(answers.regions)
