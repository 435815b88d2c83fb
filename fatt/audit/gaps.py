"""How much a score can change among similar people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Chunk, Run
from fatt.ensemble import Bands, Cut, Ensemble, Feature, Label, Link, Prediction
from fatt.ensemble.table_exp import FALL
from fatt.errors import SpecError
from fatt.frames import frame_of
from fatt.markup import Markup, notebook, table, tag
from fatt.report import plots
from fatt.verdict import (
    Bounds,
    Change,
    OnDemand,
    Twins,
    Value,
    changes_between,
    compared,
    values_of,
)

Floats = NDArray[np.float64]


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
        """Draw how many people have which gap; see `fatt.displays.ScoreGapDisplay`.

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


Of: TypeAlias = Literal["score", "probability", "prediction"]


def gaps_of(run: Run, of: Of) -> ScoreGaps:
    """Find the gaps of everybody; see `fatt.score_gap`."""
    link = _link(run.variables.model, of)
    parts: list[tuple[NDArray[Any], ...]] = []
    for chunk in run.chunks():
        parts.append(_gaps(run, chunk, link))
        run.report(chunk.stop)
    lower, upper, output, before, after, people, twins = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    ensemble = run.variables.ensemble
    labels: tuple[Label, ...] = ensemble.classes
    if isinstance(ensemble.decision, Cut):
        labels = labels[1:]
    elif isinstance(ensemble.decision, Bands | Prediction):
        labels = (_predicted(ensemble.decision),)
    return ScoreGaps(
        lower,
        upper,
        output,
        before,
        after,
        people,
        twins,
        ensemble.features,
        labels,
    )


def _predicted(decision: Bands | Prediction) -> Label:
    of = decision.asked.of if isinstance(decision, Bands) else decision.of
    return "prediction" if of is None else of


def _link(model: Ensemble, of: Of) -> Link | None:
    """Return what is made of scores; None if nothing is."""
    if of not in get_args(Of):
        raise SpecError(f"of is {of!r}; write 'score', 'probability' or 'prediction'.")
    if of == "score":
        return None
    if of == "probability":
        if not model.known_link.is_monotone:
            raise SpecError(
                "of is 'probability', and the isotonic calibrator of the model goes "
                "down by a last bit somewhere, so that the largest probability need "
                "not be that of the largest score: write of='score'."
            )
        return model.known_link
    if not model.predicts:
        raise SpecError(
            "of is 'prediction', and the model gives labels; write 'score' or "
            "'probability'."
        )
    return model.decision.link if isinstance(model.decision, Prediction) else model.link


class _Side(NamedTuple):
    """Similar people who change one score as far as possible in one direction."""

    output: int
    points: Floats
    found: Floats
    bound: Floats


def _gaps(run: Run, chunk: Chunk, link: Link | None) -> tuple[NDArray[Any], ...]:
    people = chunk.values
    own = _linked(run, link, _scores(run, people))
    n_people = len(people)
    lower, upper = np.zeros(n_people), np.zeros(n_people)
    output = np.zeros(n_people, dtype=np.int64)
    before, twins = own[:, 0].copy(), people.copy()
    after = before.copy()
    for side in _sides(run, chunk, link):
        change = np.abs(side.found - own[:, side.output])
        larger = change > lower
        lower[larger], output[larger] = change[larger], side.output
        before[larger], after[larger] = own[larger, side.output], side.found[larger]
        twins[larger] = side.points[larger]
        # Rounding keeps the order: what is nearer also has the smaller difference.
        upper = np.maximum(upper, np.abs(side.bound - own[:, side.output]))
    return lower, np.maximum(lower, upper), output, before, after, people, twins


def _sides(run: Run, chunk: Chunk, link: Link | None) -> Iterator[_Side]:
    for output in range(run.variables.ensemble.n_outputs):
        found = run.extremes(chunk, output)
        for points, bound in (
            (found.lowest_at, found.lowest.lower),
            (found.highest_at, found.highest.upper),
        ):
            attained = _linked(run, link, _scores(run, points))[:, output]
            far = _linked(run, link, bound)
            if link is not None and not link.is_monotone:
                # What is nearer may have a prediction that is larger by last bits.
                is_highest = bound is found.highest.upper
                far = far * (1 + FALL if is_highest else 1 - FALL)
            yield _Side(output, points, attained, far)


def _linked(run: Run, link: Link | None, scores: Floats) -> Floats:
    """Return the probabilities of scores, or of bounds on scores.

    A bound that is rounded to the type of the scores still bounds all of them, for
    they have that type.
    """
    if link is None:
        return scores
    with np.errstate(over="ignore"):
        rounded = scores.astype(run.variables.ensemble.scoring.dtype)
    return link(rounded).astype(np.float64)


def _scores(run: Run, values: Floats) -> Floats:
    ensemble = run.variables.ensemble
    encoded = ensemble.mark_missing(values)
    return ensemble._scores(encoded).astype(np.float64)
