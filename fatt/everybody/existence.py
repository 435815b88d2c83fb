"""Whether two similar people anywhere are treated differently."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Ensemble, Prediction
from fatt.ensemble.allowed import Alike, Allowed, Direction
from fatt.ensemble.cutoff import probability_of
from fatt.ensemble.floats import smallest_float
from fatt.errors import Arg, SpecError
from fatt.everybody.gap import check_direction, rising_of
from fatt.everybody.numbers import labels_of
from fatt.everybody.pair import Pair
from fatt.markup import notebook, tag
from fatt.progress import Progress
from fatt.region import Variables
from fatt.region.kin import kin_of
from fatt.region.population import Population
from fatt.verifier import Budget
from fatt.verifier.kernels.records import HIGHER, LOWER
from fatt.verifier.pairs import Effort, Number, PairVerifier, Side, Tell

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Existence:
    """Whether two similar people anywhere are treated differently.

    Attributes
    ----------
    pair
        Two people who are; None if none were found.
    proved
        Whether there are none. If there is no pair either, the search was stopped, or
        only rounding decides that the library does not fix.
    asked
        What it is about, in words.
    nodes
        How many nodes the search took.
    interrupted
        Whether the user ended the search.
    """

    pair: Pair | None
    proved: bool
    asked: str
    nodes: int = 0
    interrupted: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the answer is known: a pair, or the proof that there is none."""
        return self.proved or self.pair is not None

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        if self.pair is not None:
            return f"Two similar people {self.asked}: {self.pair}"
        if self.proved:
            return f"No two similar people {self.asked}."
        return f"Unknown whether two similar people {self.asked}."

    def _repr_html_(self) -> str:
        found = [] if self.pair is None else [self.pair.card()]
        return notebook(str(self), *found, tag("p", f"{self.nodes:,} nodes"))


def existence_of(
    population: Population,
    *,
    gap: float = 0.0,
    between: tuple[float, float] | None = None,
    allowed: Allowed | None = None,
    direction: Direction | None = None,
    budget: Budget | None = None,
    people: Floats | None = None,
    progress: Progress | None = None,
) -> Existence:
    """Find two similar people of a space who are treated differently, if there are any.

    Parameters
    ----------
    population
        All people, and who is similar to whom.
    gap, between, direction, budget
        As in `fatt.exists_unfair`.
    allowed
        Which answers of similar people are still fair, if there is no gap; by default
        the same labels.
    people : ndarray of shape (n_people, n_variables), optional
        People from whom the search starts.
    progress
        Told how many questions are done, of how many.
    """
    check_direction(direction)
    allowed = allowed or Allowed()
    ends = _checked(gap, between)
    if gap > 0 or ends is not None:
        population = _predicting(population)
    ensemble = population.variables.ensemble
    kins = kin_of(population)
    verifier = PairVerifier(ensemble)
    tell = None if progress is None else _counting(progress)
    effort = Effort(budget or Budget(), people, tell)
    if ends is not None:
        asked = f"have numbers of at most {ends[0]:.6g} and at least {ends[1]:.6g}"
        questions = _between(ensemble, *ends, rising_of(direction))
        holds = _holds_between(ensemble, *ends, rising_of(direction))
        found = verifier.exists(kins, questions, holds, effort)
    elif gap > 0 or isinstance(ensemble.decision, Prediction):
        gap, rising, asked, holds = _apart(ensemble, gap, allowed, direction)
        assert isinstance(ensemble.decision, Prediction)
        link = ensemble.decision.link
        number = Number(None if link.is_identity else link, rising)
        found = verifier.apart(kins, number, gap, holds, effort)
    else:
        asked = "get different labels"
        if direction is not None:
            allowed = replace(allowed, direction=direction)
        alike = Alike(ensemble, allowed)
        questions = _labels(ensemble, alike)
        holds = _holds_labels(ensemble, alike)
        found = verifier.exists(kins, questions, holds, effort)
    pair = None if found.pair is None else _pair(ensemble, found.pair)
    return Existence(pair, found.proved, asked, found.nodes, found.interrupted)


def _counting(progress: Progress) -> Tell:
    return lambda done, total: progress(int(done), int(total))


def _checked(
    gap: float, between: tuple[float, float] | None
) -> tuple[float, float] | None:
    if not 0 <= gap < np.inf:
        raise SpecError(f"gap is {gap!r}; write a number that is at least 0.")
    if between is None:
        return None
    if gap > 0:
        raise SpecError("gap and between are two questions; pass one of them.")
    try:
        low, high = map(float, between)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high:
        raise SpecError(
            f"between is {between!r}; write two numbers such as (0.4, 0.6): one person "
            "has at most the first, and the other at least the second."
        )
    return low, high


def _predicting(population: Population) -> Population:
    """Return the population of the model that predicts the probability."""
    variables = population.variables
    if isinstance(variables.ensemble.decision, Prediction):
        return population
    made = Variables(probability_of(variables.model, None), variables.schema)
    return replace(population, variables=made)


def _pair(ensemble: Ensemble, values: Floats) -> Pair:
    answers = ensemble.answer(ensemble.mark_missing(values)).tolist()
    if ensemble.classes:
        before, after = (ensemble.classes[place] for place in answers)
        return Pair(values, ensemble.features, before, after)
    before, after = answers
    return Pair(values, ensemble.features, before, after, labels_of(ensemble)[0])


# ---- Labels.


def _labels(ensemble: Ensemble, alike: Alike) -> list[list[Side]]:
    """Return a question for each two classes that are not alike, or each cut."""
    decision, places = ensemble.decision, range(len(ensemble.classes))
    unlike = [
        (own, other)
        for own, other in itertools.permutations(places, 2)
        if not alike.keeps(np.array([own]), np.array([other]))[0]
    ]
    if isinstance(decision, Argmax):
        return [_sides_of(own, other, places) for own, other in unlike]
    assert not isinstance(decision, Prediction)
    questions = []
    for place, at in enumerate(decision.edges):
        below, above = (LOWER, HIGHER, at), (HIGHER, LOWER, at)
        for first, second, two in (
            (below, above, (place, place + 1)),
            (above, below, (place + 1, place)),
        ):
            if two in unlike:
                one, other = first, second
                questions.append(
                    [
                        Side(0, one[1], one[0], at),
                        Side(1, other[1], other[0], at),
                    ]
                )
    return questions


def _sides_of(own: int, other: int, places: range) -> list[Side]:
    """Return what it takes that one person gets a class, and the other another."""
    first = [Side(0, other, own), Side(1, own, other)]
    rest = [place for place in places if place not in (own, other)]
    return [
        *first,
        *(Side(0, place, own) for place in rest),
        *(Side(1, place, other) for place in rest),
    ]


def _holds_labels(ensemble: Ensemble, alike: Alike) -> Callable[[Floats], bool]:
    def holds(pair: Floats) -> bool:
        encoded = ensemble.mark_missing(pair)
        if not ensemble.scoring.ordered:
            possible = ensemble.possible_of(encoded)
            if (possible.sum(axis=1) != 1).any():
                return False
        label = ensemble.answer(encoded)
        return not alike.keeps(label[:1], label[1:])[0]

    return holds


# ---- Numbers.


def _between(
    ensemble: Ensemble, low: float, high: float, rising: bool | None
) -> list[list[Side]]:
    """Return the questions whether one has at most `low`, the other at least `high`."""
    decision = ensemble.decision
    assert isinstance(decision, Prediction)
    dtype = np.dtype(ensemble.scoring.dtype)

    def first_score(reaches: Callable[[float], bool]) -> float:
        """Return the smallest score whose number is large enough."""
        limits = np.finfo(dtype)
        if reaches(float(limits.min)):
            return -np.inf
        if not reaches(float(limits.max)):
            return np.inf
        return smallest_float(reaches, dtype.type)

    def made(score: float) -> float:
        with np.errstate(over="ignore"):
            scores = np.array([[score]], dtype=dtype)
            return float(decision.link(scores)[0, 0])

    # Whoever has more than `low` is too high.
    ends = (
        first_score(lambda score: made(score) > low),
        first_score(lambda score: made(score) >= high),
    )
    questions = []
    if rising is not False:
        questions.append(
            [Side(0, HIGHER, LOWER, ends[0]), Side(1, LOWER, HIGHER, ends[1])]
        )
    if rising is not True:
        questions.append(
            [Side(0, LOWER, HIGHER, ends[1]), Side(1, HIGHER, LOWER, ends[0])]
        )
    return questions


def _bounds(ensemble: Ensemble, pair: Floats) -> tuple[Floats, Floats]:
    """Return between what numbers the library's own lie for two people."""
    lower, upper = ensemble.answer_bounds(ensemble.mark_missing(pair))
    return lower.astype(np.float64), upper.astype(np.float64)


def _holds_between(
    ensemble: Ensemble, low: float, high: float, rising: bool | None
) -> Callable[[Floats], bool]:
    def holds(pair: Floats) -> bool:
        lower, upper = _bounds(ensemble, pair)
        rises = upper[0] <= low and lower[1] >= high
        falls = upper[1] <= low and lower[0] >= high
        return bool((rises and rising is not False) or (falls and rising is not True))

    return holds


def _apart(
    ensemble: Ensemble, gap: float, allowed: Allowed, direction: Direction | None
) -> tuple[float, bool | None, str, Callable[[Floats], bool]]:
    """Return how far two people must be apart, in which direction, and who are."""
    if gap > 0:
        rising, limit, is_beyond = rising_of(direction), gap, False
        asked = f"differ by at least {gap:.6g}"
    else:
        if allowed.relative:
            raise SpecError(
                "the tolerance is a share of each person's own prediction, and "
                "questions about everybody take a number: pass a tolerance such as 50, "
                f"or {Arg('gap', 50)}."
            )
        rising = rising_of(direction or allowed.direction)
        if allowed.tolerance is None and rising is None:
            raise SpecError(
                "gap is 0, and the model predicts a number, which hardly ever stays "
                f"the same: say how far it may move, such as {Arg('gap', 50)}, or "
                f"{Arg('direction', 'not lower')}."
            )
        # More than the tolerance.
        limit, is_beyond = allowed.tolerance or 0.0, True
        asked = f"differ by more than {limit:.6g}"

    def holds(pair: Floats) -> bool:
        lower, upper = _bounds(ensemble, pair)
        rises, falls = lower[1] - upper[0], lower[0] - upper[1]
        if rising is not None:
            rises = falls = rises if rising else falls
        found = max(rises, falls)
        return bool(found > limit if is_beyond else found >= limit)

    least = float(np.nextafter(limit, np.inf)) if is_beyond else limit
    return least, rising, asked, holds
