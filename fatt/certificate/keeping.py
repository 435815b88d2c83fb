"""Which answers are still like a person's own: a tolerance or a direction, read anew.

What the search takes for fair is not asked here. Both ends of a person's interval are
bisected on the whole line of floats, one link at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Bands, Cut, Ensemble, Prediction
from fatt.ensemble.allowed import Allowed
from fatt.ensemble.floats import largest_where
from fatt.errors import Arg, SpecError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: How many floats before and behind an end are tried.
_NEAR = 32


class Keeping:
    """Tells which answers of a model keep a person's own.

    Parameters
    ----------
    model
        The model.
    allowed
        What is fair.

    Raises
    ------
    SpecError
        If it has no meaning for the model, or there is no way yet to prove it.
    """

    def __init__(self, model: Ensemble, allowed: Allowed) -> None:
        self._decision, self._allowed = model.decision, allowed
        self._dtype = np.dtype(model.scoring.dtype)
        self.is_asked = allowed != Allowed()
        if model.joints:
            raise SpecError(
                "there are no certificates yet on models that compute a column of "
                "several others, such as a ratio: make it a column of the table, and "
                "train without the step."
            )
        if self.is_asked and isinstance(model.decision, Argmax):
            raise SpecError(
                "there are no certificates yet on directions of labels whose scores "
                f"compete: load the model with {Arg('threshold')}."
            )
        if self.is_asked and not model.scoring.ordered:
            raise SpecError(
                "there are no certificates yet on tolerances and directions of a model "
                "whose library does not fix the order of its sums: set n_jobs=None "
                "on the model."
            )
        if not _has_meaning(model, allowed):
            raise SpecError(
                "what is said to be fair has no meaning for the model: numbers are "
                "near each other, labels are the same, bands and the better of two "
                "labels have an order."
            )
        # Which way is worse, in the order of the classes or numbers.
        self._lower = allowed.direction in {None, "not lower"}
        self._higher = allowed.direction in {None, "not higher"}
        if allowed.favorable is not None and allowed.favorable == model.classes[0]:
            self._lower, self._higher = self._higher, self._lower

    def own(self, scores: NDArray[Any], labels: Integers) -> Integers:
        """Return the class of each person: of predictions the middle of three."""
        if isinstance(self._decision, Prediction):
            return np.ones(len(scores), dtype=np.int64)
        return labels

    def keeps(self, mine: NDArray[Any], other: NDArray[Any]) -> Flags:
        """Tell whether scores give what is still like people's own scores."""
        if not isinstance(self._decision, Prediction):
            assert not isinstance(self._decision, Argmax)
            edges = np.array(self._decision.edges)
            wide = other.astype(np.float64)[:, np.newaxis] >= edges
            own = (mine.astype(np.float64)[:, np.newaxis] >= edges).sum(axis=1)
            codes = wide.sum(axis=1)
            worse = self._lower & (codes < own) | self._higher & (codes > own)
            return np.asarray(~worse)
        link = self._decision.link
        return self._is_near(
            link(mine).astype(np.float64), link(other).astype(np.float64)
        )

    def _is_near(self, own: Floats, other: Floats) -> Flags:
        tolerance = self._allowed.tolerance
        assert tolerance is not None
        with np.errstate(all="ignore"):
            limit = tolerance * np.abs(own) if self._allowed.relative else tolerance
            too_low = (other < own) & ~(np.abs(other - own) <= limit)
            too_high = (other > own) & ~(np.abs(other - own) <= limit)
        return np.asarray(~((too_low & self._lower) | (too_high & self._higher)))

    def edges(self, scores: NDArray[Any], labels: Integers) -> Floats:
        """Return where the scores of each class begin that are not the own one.

        Parameters
        ----------
        scores, labels : ndarray of shape (n_people,)
            The people's own.

        Returns
        -------
        ndarray of shape (n_people, n_edges)
            No score is behind an edge that is infinite.
        """
        if isinstance(self._decision, Prediction):
            return np.column_stack([self._below(scores), self._above(scores)])
        assert not isinstance(self._decision, Argmax)
        edges = np.tile(self._decision.edges, (len(labels), 1))
        behind = np.arange(edges.shape[1]) >= labels[:, np.newaxis]
        if not self._lower:
            edges[~behind] = -np.inf
        if not self._higher:
            edges[behind] = np.inf
        return edges

    def _below(self, scores: NDArray[Any]) -> Floats:
        """Return the smallest score that keeps each own one; all lower ones leave."""

        def leaves(numbers: Floats) -> Flags:
            other = self._cast(numbers)
            return ~self.keeps(scores, np.minimum(other, scores))

        if not self._lower:
            return np.full(len(scores), -np.inf)
        last, never = largest_where(leaves, len(scores))
        first = np.nextafter(self._cast(last), self._dtype.type(np.inf))
        found = np.where(never, -np.inf, first.astype(np.float64))
        return np.where(self._turns_once(scores, first) | never, found, np.inf)

    def _above(self, scores: NDArray[Any]) -> Floats:
        """Return the smallest score above each own one that leaves it."""

        def stays(numbers: Floats) -> Flags:
            other = self._cast(numbers)
            return self.keeps(scores, np.maximum(other, scores))

        if not self._higher:
            return np.full(len(scores), np.inf)
        last, _ = largest_where(stays, len(scores))
        last = self._cast(last)
        ends = last >= np.finfo(self._dtype).max
        with np.errstate(over="ignore"):
            first = np.nextafter(last, self._dtype.type(np.inf))
        found = np.where(ends, np.inf, first.astype(np.float64))
        return np.where(self._turns_once(scores, first) | ends, found, -np.inf)

    def _turns_once(self, scores: NDArray[Any], end: NDArray[Any]) -> Flags:
        """Tell where near an end all is on its side: a link may go up and down."""
        end = self._cast(end)
        one = np.nextafter(end, self._dtype.type(-np.inf))
        two, is_sound = end, np.ones(len(scores), dtype=bool)
        before, behind = self.keeps(scores, one), self.keeps(scores, two)
        for _ in range(_NEAR):
            is_sound &= self.keeps(scores, one) == before
            is_sound &= self.keeps(scores, two) == behind
            with np.errstate(over="ignore"):
                one = self._cast(np.nextafter(one, self._dtype.type(-np.inf)))
                two = self._cast(np.nextafter(two, self._dtype.type(np.inf)))
        if isinstance(self._decision, Prediction):
            is_sound &= ~self._decision.link.turns_back(end)
        return np.asarray(is_sound & (before != behind))

    def _cast(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return finite scores: the largest in place of infinity."""
        most = np.finfo(self._dtype).max
        with np.errstate(over="ignore"):
            return np.clip(numbers.astype(self._dtype), -most, most)


def _has_meaning(model: Ensemble, allowed: Allowed) -> bool:
    """Tell whether the words of a rule are about what the model answers."""
    tolerance, favorable = allowed.tolerance, allowed.favorable
    if isinstance(model.decision, Prediction):
        return tolerance is not None and 0 <= tolerance < np.inf and favorable is None
    if tolerance is not None or allowed.relative:
        return False
    if favorable is not None:
        is_cut = isinstance(model.decision, Cut) and favorable in model.classes
        return is_cut and allowed.direction is not None
    return allowed.direction is None or isinstance(model.decision, Bands)
