"""The largest gap: how differently a model can treat two similar people at all."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.allowed import Direction
from fatt.errors import Arg, SpecError
from fatt.everybody.numbers import asked_of, labels_of, link_of
from fatt.everybody.pair import Pair
from fatt.markup import notebook, tag
from fatt.progress import Progress
from fatt.region.kin import kin_of
from fatt.region.population import Population
from fatt.verdict import Bounds, Of
from fatt.verifier import Budget
from fatt.verifier.pairs import Effort, Number, PairVerifier

#: Progress counts how much of the first gap between the bounds has closed.
_WHOLE = 1000


@dataclass(frozen=True, eq=False, repr=False)
class LargestGap:
    """The largest difference between two similar people anywhere.

    Attributes
    ----------
    bounds
        `lower` is attained by the pair, and no pair exceeds `upper`. A search that was
        stopped has bounds that are further apart.
    pair
        Two similar people with the largest gap that was found; None if similar people
        never differ.
    history
        Seconds since the start, lower and upper bound, whenever the bounds closed.
    of
        What differs: ``"score"``, ``"probability"`` or ``"prediction"``.
    tolerance
        How near the bounds were asked to be.
    nodes
        How many nodes the search took.
    interrupted
        Whether the user ended the search.
    """

    bounds: Bounds
    pair: Pair | None
    history: tuple[tuple[float, float, float], ...]
    of: Of
    tolerance: float
    nodes: int = 0
    interrupted: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether the bounds are as near to each other as was asked."""
        return self.bounds.upper - self.bounds.lower <= self.tolerance

    def __repr__(self) -> str:
        return f"<the largest gap of a {self.of}: {self.bounds:.6g}>"

    def __str__(self) -> str:
        if self.bounds.upper == 0:
            return f"Similar people never differ in their {self.of}."
        return (
            f"Similar people never differ by more than {self.bounds.upper:.6g} in "
            f"their {self.of}; two who differ by {self.bounds.lower:.6g} were found."
        )

    def _repr_html_(self) -> str:
        found = [] if self.pair is None else [self.pair.card()]
        return notebook(str(self), *found, tag("p", f"{self.nodes:,} nodes"))


def largest_gap_of(
    population: Population,
    *,
    of: Of = "probability",
    direction: Direction | None = None,
    tolerance: float = 1e-3,
    budget: Budget | None = None,
    people: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
) -> LargestGap:
    """Find the largest gap between two similar people of a space.

    Parameters
    ----------
    population
        All people, and who is similar to whom.
    of, direction, tolerance, budget
        As in `fatt.largest_gap`.
    people : ndarray of shape (n_people, n_variables), optional
        People from whom the search starts.
    progress
        Told how far the bounds have closed, in thousandths.
    """
    ensemble = population.variables.ensemble
    check_direction(direction)
    link = link_of(population.variables.model, of)
    if not 0 < tolerance < np.inf:
        raise SpecError(f"tolerance is {tolerance!r}; write a number such as 0.001.")
    verifier = PairVerifier(ensemble)
    started = time.monotonic()
    history: list[tuple[float, float, float]] = []
    first: list[float] = []

    def tell(lower: float, upper: float) -> None:
        if not history or history[-1][1:] != (lower, upper):
            history.append((time.monotonic() - started, lower, upper))
        if not first:
            first.append(max(upper - lower, tolerance))
        if progress is not None:
            left = min(1.0, max(upper - lower - tolerance, 0.0) / first[0])
            progress(int(_WHOLE * (1 - left)), _WHOLE)

    number = Number(
        None if link is None or link.is_identity else link, rising_of(direction)
    )
    effort = Effort(budget or Budget(), people, tell)
    found = verifier.largest(kin_of(population), number, tolerance, effort)
    if not history or history[-1][1:] != (found.lower, found.upper):
        history.append((time.monotonic() - started, found.lower, found.upper))
    pair = None
    if found.pair is not None and found.lower > 0:
        encoded = ensemble.mark_missing(found.pair)
        scores = ensemble._scores(encoded)[:, [found.output]]
        numbers = (scores if link is None else link(scores)).astype(np.float64)
        before, after = numbers[:, 0].tolist()
        label = labels_of(ensemble)[found.output]
        pair = Pair(found.pair, ensemble.features, before, after, label)
    return LargestGap(
        Bounds(found.lower, found.upper),
        pair,
        tuple(history),
        asked_of(ensemble, of),
        tolerance,
        found.nodes,
        found.interrupted,
    )


def check_direction(direction: Direction | None) -> None:
    """Refuse a direction that is none."""
    if direction not in {None, "not lower", "not higher"}:
        raise SpecError(
            f"direction is {direction!r}; write {Arg('direction', 'not lower')} or "
            f"{Arg('direction', 'not higher')}."
        )


def rising_of(direction: Direction | None) -> bool | None:
    """Return which changes count: to a larger number, to a smaller one, or both."""
    return None if direction is None else direction == "not higher"
