"""Numbers found about many people: gaps between scores, and radii of noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt import plots
from fatt.ensemble import Feature, Label
from fatt.frames import frame_of
from fatt.markup import Markup, facts, notebook, table, tag
from fatt.verdict.findings import OnDemand
from fatt.verdict.person import (
    VERDICTS,
    Bounds,
    Change,
    Value,
    Verdict,
    changes_between,
    compared,
    share,
    values_of,
)
from fatt.verdict.twins import Twins

Floats = NDArray[np.float64]

#: Of which numbers gaps are asked.
Of: TypeAlias = Literal["score", "probability", "prediction"]

#: The multiples of noise that are shown in a notebook.
_SHOWN = (0.5, 1.0, 2.0, 4.0, 8.0)

#: What grows: the noise, the limit of a distance, or how many attributes may change.
Grows: TypeAlias = Literal["noise", "limit", "count"]
_MEASURED = {
    "noise": ("multiple", "times the noise", "without noise"),
    "limit": ("limit", "as the limit", "at the limit 0"),
    "count": ("number", "attributes at once", "if none changes"),
}


@dataclass(frozen=True, slots=True)
class ScoreGap:
    """How much a score can change around one person.

    Attributes
    ----------
    index
        Which row the person is, counted from 0.
    bounds
        The largest change of a score: `lower` is attained by the twin, and no similar
        person exceeds `upper`.
    label
        The class whose score it is; ``"prediction"`` if the model predicts a number.
    before, after
        The score of the person, and of the twin.
    individual, twin
        The values of the person, and of the similar person with the largest change
        that was found, by variable.
    """

    index: int
    bounds: Bounds
    label: Label
    before: float
    after: float
    individual: dict[str, Value]
    twin: dict[str, Value]

    @property
    def changes(self) -> dict[str, Change]:
        """The variables in which the two differ, with both values."""
        return changes_between(self.individual, self.twin)

    def card(self) -> Markup:
        """Return the two people side by side as HTML."""
        of = "prediction" if self.label == "prediction" else f"of {self.label}"
        answers = (of, f"{self.before:.6g}", f"{self.after:.6g}")
        return compared(f"Person {self.index}", self.individual, self.twin, answers)

    def _repr_html_(self) -> str:
        return notebook(f"Gap of {self.bounds:.6g}", self.card())


@dataclass(frozen=True, eq=False, repr=False)
class ScoreGaps(OnDemand[ScoreGap]):
    """One gap per person, in order; made when it is looked at.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_people,)
        The largest change that was found, and the one that nobody exceeds.
    output : ndarray of shape (n_people,)
        Which score changes most.
    before, after : ndarray of shape (n_people,)
        That score of each person and of the twin.
    people, twins : ndarray of shape (n_people, n_variables)
        The values of each person and of the twin that attains `lower`, as numbers and
        codes.
    features
        The variables.
    labels
        The class of each score.
    of
        What the numbers are: scores, probabilities or predictions.
    """

    lower: Floats
    upper: Floats
    output: NDArray[np.int64]
    before: Floats
    after: Floats
    people: Floats
    twins: Floats
    features: tuple[Feature, ...]
    labels: tuple[Label, ...]
    of: Of = "score"

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __len__(self) -> int:
        return len(self.lower)

    def __repr__(self) -> str:
        return f"<{len(self):,} gaps, the largest {self.largest:.6g}>"

    @property
    def largest(self) -> Bounds:
        """Bounds on the largest change of all."""
        return Bounds(float(self.lower.max()), float(self.upper.max()))

    def _repr_html_(self) -> str:
        shares = (0.5, 0.75, 0.9, 0.95, 1.0)
        rows = [
            [f"{share:.0%}", *(f"{np.quantile(ends, share):.6g}" for ends in bounds)]
            for bounds in [(self.lower, self.upper)]
            for share in shares
        ]
        head = ("share of people", "found", "proved")
        what = "The gap of so many people is at most"
        return notebook(
            f"{len(self):,} gaps between scores of similar people",
            table(head, rows, what, numbers=(1, 2)),
            tag("p", "The largest that was found:"),
            self[int(np.argmax(self.lower))].card(),
        )

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            Of pandas, polars or pyarrow, whichever is installed. Columns: ``lower``,
            ``upper``, ``label``, ``before``, ``after``, and ``changes`` in words.
        """
        pairs = Twins.of(
            index=np.arange(len(self)),
            people=self.people,
            twins=self.twins,
            label=self.output,
            twin_label=self.output,
        )
        return frame_of(
            {
                "lower": self.lower.tolist(),
                "upper": self.upper.tolist(),
                "label": [self.labels[place] for place in self.output],
                "before": self.before.tolist(),
                "after": self.after.tolist(),
                "changes": pairs.changes_in_words(self.features),
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw how many people have which gap.

        Parameters
        ----------
        ax
            Matplotlib's axes to draw into; by default those of a new figure.
        """
        return plots.gaps(self.lower, self.upper, ax=ax)

    def _at(self, place: int) -> ScoreGap:
        return ScoreGap(
            index=place,
            bounds=Bounds(float(self.lower[place]), float(self.upper[place])),
            label=self.labels[self.output[place]],
            before=float(self.before[place]),
            after=float(self.after[place]),
            individual=values_of(self.features, self.people[place]),
            twin=values_of(
                self.features, self.twins[place], made_of=self.people[place]
            ),
        )


@dataclass(frozen=True, slots=True)
class Radius:
    """How far the noise around one person can grow.

    Attributes
    ----------
    index
        Which row the person is, counted from 0.
    bounds
        The largest multiple of the noise that is proved fair, and the smallest that is
        proved unfair. If all is decided, no float64 lies between them. Both are
        infinite if every multiple is fair, and both are 0 if none is. Where `at_zero`
        is unknown, `lower` is 0 and nothing is proved fair.
    at_zero
        The verdict without any noise, when only what `vary` names may change.
    of
        What grows: the ``"noise"``; the ``"limit"`` of a distance, where the bounds
        are limits; or the ``"count"`` of attributes that change at once.
    changes
        How the twin differs that is nearest of those that were found. Of noise there
        is none.
    """

    index: int
    bounds: Bounds
    at_zero: Verdict
    of: Grows = "noise"
    changes: dict[str, Change] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        lower, upper = self.bounds
        _, unit, nothing = _MEASURED[self.of]
        told = {
            "proved fair up to": f"{lower:.6g} {unit}",
            "proved unfair from": f"{upper:.6g}" if np.isfinite(upper) else None,
            nothing: str(self.at_zero),
            "twin": ", ".join(f"{name} {how}" for name, how in self.changes.items())
            or None,
        }
        return notebook(f"Person {self.index}", facts(told))


@dataclass(frozen=True, eq=False, repr=False)
class Radii(OnDemand[Radius]):
    """One radius per person, in order; made when it is looked at.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_people,)
        The largest multiple proved fair, and the smallest proved unfair; or limits of a
        distance, or numbers of attributes.
    at_zero : ndarray of shape (n_people,), int8
        Position of the verdict without noise in `fatt.verdict.VERDICTS`.
    of
        What grows, as in `Radius`.
    pairs
        The values of the people, and of the nearest twins that were found, NaN where
        there is none; None of noise.
    features
        The variables.
    """

    lower: Floats
    upper: Floats
    at_zero: NDArray[np.int8]
    of: Grows = "noise"
    pairs: tuple[Floats, Floats] | None = None
    features: tuple[Feature, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.lower, self.upper, self.at_zero):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.lower)

    def __repr__(self) -> str:
        rest = self.lower[np.isfinite(self.lower)]
        median = ""
        if len(rest):
            median = f"; the median of the others is at least {np.median(rest):.4g}"
        return (
            f"<{len(self):,} radii: {len(self) - len(rest):,} are fair at every "
            f"{_MEASURED[self.of][0]}{median}>"
        )

    def fair_at(self, multiple: float) -> Bounds:
        """Bound the share who are fair at a multiple of the noise, more than 0.

        Or at a limit of a distance, or if so many attributes change at once.
        """
        return Bounds(
            float((self.lower >= multiple).mean()),
            float((self.upper > multiple).mean()),
        )

    def _repr_html_(self) -> str:
        of = {"noise": "noise", "limit": "distance", "count": "attributes"}[self.of]
        rows = [[f"{one:g}", share(self.fair_at(one))] for one in self.shown()]
        head = (f"{_MEASURED[self.of][0]} of the {of}", "treated fairly")
        what = f"As the {_MEASURED[self.of][0]} grows"
        return notebook(f"{len(self):,} radii", table(head, rows, what, numbers=(0, 1)))

    def shown(self) -> list[float]:
        """Return the multiples, limits or numbers of attributes that a table shows."""
        if self.of == "noise":
            return [*_SHOWN]
        if self.of == "count":
            return [1.0, 2.0, 3.0, 4.0, 5.0]
        finite = self.upper[np.isfinite(self.upper)]
        typical = float(np.median(finite)) if len(finite) else 1.0
        return [typical * one for one in _SHOWN]

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            Of pandas, polars or pyarrow, whichever is installed. Columns: ``lower``,
            ``upper`` and ``at_zero``.
        """
        return frame_of(
            {
                "lower": self.lower.tolist(),
                "upper": self.upper.tolist(),
                "at_zero": [str(VERDICTS[code]) for code in self.at_zero],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the share treated fairly over the noise.

        Parameters
        ----------
        ax
            Matplotlib's axes to draw into; by default those of a new figure.
        """
        return plots.radii(self.lower, self.upper, ax=ax)

    def _at(self, place: int) -> Radius:
        return Radius(
            index=place,
            bounds=Bounds(float(self.lower[place]), float(self.upper[place])),
            at_zero=VERDICTS[self.at_zero[place]],
            of=self.of,
            changes=self._changes(place),
        )

    def _changes(self, place: int) -> dict[str, Change]:
        if self.pairs is None or np.isinf(self.upper[place]):
            return {}
        own, twin = (values[place] for values in self.pairs)
        return changes_between(
            values_of(self.features, own),
            values_of(self.features, twin, made_of=own),
        )
