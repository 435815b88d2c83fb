"""The library's arithmetic: repeated exactly at a point, bounded over many points.

Everything is float64 in plain numpy. Where a bound rests on a sum in floats, the
rounding of that very sum is paid for, always on the safe side.

Notes
-----
The error of a sum of ``n`` floats, in whatever order, is at most ``n u / (1 - n u)``
times the sum of the absolute terms, with the unit roundoff ``u`` (Higham, Accuracy and
Stability of Numerical Algorithms, section 4.2). If all terms are multiples of one power
of two, and their absolute sum has no more digits above it than the type, nothing is
rounded at all. The exponential of the C library is taken to be right to four units in
the last place; the common ones are right to one.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Ensemble, Prediction, libm

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Pays for the roundings in the bounds themselves.
_SLACK = 1.0625

#: The unit roundoff of the checker's own sums.
_UNIT = 2.0**-53

#: The exponent of the last bit of zero: beyond that of any float.
_NO_BIT = 2000


class Arithmetic:
    """From leaves to labels, as an ensemble defines it.

    Parameters
    ----------
    model
        The ensemble.

    Attributes
    ----------
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds to each output.
    bits : ndarray of the same shape
        The exponent of the last bit of each value.
    n_classes
        Number of labels.
    """

    def __init__(self, model: Ensemble) -> None:
        trees, scoring = model.trees, model.scoring
        self._model, self._scoring, self._decision = model, scoring, model.decision
        n_outputs = len(scoring.base)
        # With one score: where each class but the first begins, for every question.
        self._edges: Floats | None = None
        if isinstance(self._decision, Prediction):
            self._edges = np.array([[-np.inf, np.inf]])
        elif not isinstance(self._decision, Argmax):
            self._edges = np.array([self._decision.edges])
        self.n_classes = n_outputs
        if self._edges is not None:
            self.n_classes = self._edges.shape[1] + 1
        self.values = np.zeros((trees.n_leaves, n_outputs))
        tree_of = np.repeat(np.arange(len(trees)), _leaves_per_tree(model))
        target = trees.targets[tree_of]
        everywhere = target < 0
        if everywhere.any():
            self.values[everywhere] = trees.values[everywhere]
        rows = np.flatnonzero(~everywhere)
        self.values[rows, target[rows]] = trees.values[rows, 0]
        self.bits = last_bits(self.values)
        self.base = np.array(scoring.base, dtype=np.float64)
        self._base_bits = last_bits(self.base)
        self._n_terms = len(trees) + 2 + scoring.roundings
        self._unit = 2.0**-24 if scoring.single else _UNIT
        self._digits = 24 if scoring.single else 53
        divisors = [scoring.divisor]
        if isinstance(self._decision, Argmax):
            divisors.append(self._decision.divisor)
        self._n_divisions = sum(divisor != 1.0 for divisor in divisors)
        self._divisor = float(np.prod(divisors))

    def between(self, edges: Floats) -> Arithmetic:
        """Return the same with other edges of the only score, one row per question."""
        other = copy.copy(self)
        other._edges = edges
        return other

    def outputs(self, own: Integers, rival: Integers) -> tuple[Integers, Integers]:
        """Return which outputs speak for the own class and for a rival.

        With a cut or bands there is one output, which speaks for the higher class, and
        its negative.
        """
        if self._edges is not None:
            return np.zeros_like(own), np.zeros_like(rival)
        return own, rival

    def leads(self, leaves: Integers, own: Integers, rival: Integers) -> Floats:
        """Return what leaves add to the lead of a rival over the own class."""
        if self._edges is not None:
            return np.asarray(_signs(own, rival) * self.values[leaves, 0])
        return np.asarray(self.values[leaves, rival] - self.values[leaves, own])

    def last_bit(self, leaves: Integers, outputs: tuple[int, int]) -> Integers:
        """Return the exponent of the last bit of what leaves add to two outputs."""
        bits = self.bits[leaves]
        return np.asarray(bits[:, list(outputs)].min(initial=_NO_BIT))

    def start(self, own: Integers, rival: Integers) -> Floats:
        """Return the lead of a rival before any tree is added."""
        if self._edges is not None:
            return np.asarray(_signs(own, rival) * self.base[0])
        return np.asarray(self.base[rival] - self.base[own])

    def needed(
        self,
        own: Integers,
        rival: Integers,
        masses: tuple[Floats, Floats],
        last_bit: Integers,
    ) -> tuple[Floats, Floats]:
        """Return the lead below which the own class surely wins over a rival.

        Parameters
        ----------
        own, rival
            The classes, one entry per question.
        masses
            For the outputs of both, the largest sum of the absolute terms.
        last_bit
            The exponent of the last bit of any term.

        Returns
        -------
        needed, error : ndarray
            That lead, rounded down, and what our own sums of leads may be off by.
        """
        mine, other = self.outputs(own, rival)
        last = np.minimum(last_bit, self._base_bits[mine])
        last = np.minimum(last, self._base_bits[other])
        one = masses[0] + np.abs(self.base[mine])
        two = masses[1] + np.abs(self.base[other])
        if self._edges is not None:
            # Both are the same output.
            two = np.zeros_like(two)
        step = np.ldexp(1.0, np.clip(last, -1070, 900))
        is_exact = (
            (last > -1070)
            & (self._scoring.roundings == 0)
            & (_SLACK * np.maximum(one, two) <= np.ldexp(step, self._digits))
        )
        # Our own sums of leads must be exact as well.
        is_exact &= _SLACK * (one + two) <= np.ldexp(step, 53)
        error = np.where(
            is_exact, 0.0, 2 * _SLACK * (self._n_terms + 2) * _UNIT * (one + two)
        )
        if self._edges is not None:
            return self._needed_at_cut(own, rival, self._off(one, is_exact)), error
        off = self._off(one, is_exact) + self._off(two, is_exact)
        off = off + self._merged(np.maximum(one, two))
        least = np.where(off > 0, _down(-off), 0.0)
        assert isinstance(self._decision, Argmax)
        if self._decision.link == "identity":
            # Exact sums keep their order when they are divided, and then ties decide.
            wins_ties = own < rival if self._decision.ties == "first" else own > rival
            least = np.where(is_exact & wins_ties, step, least)
        return least, error

    def _off(self, mass: Floats, is_exact: NDArray[np.bool_]) -> Floats:
        """Bound how far a library's score times its divisors is from the true sum."""
        share = self._n_terms * self._unit
        if share > 2.0**-5:
            return np.full(len(mass), np.inf)
        rounded = np.where(is_exact, 0.0, _SLACK * share / (1 - share) * mass)
        smallest = 2.0**-149 if self._scoring.single else 2.0**-1074
        divided = 3 * _SLACK * (self._unit * mass + smallest * self._divisor)
        return np.asarray(_SLACK * (rounded + self._n_divisions * divided))

    def _merged(self, mass: Floats) -> Floats:
        """Bound the lead that a link may round to nothing, times the divisors."""
        decision = self._decision
        assert isinstance(decision, Argmax)
        if decision.link == "identity":
            return np.zeros(len(mass))
        if decision.link == "softmax":
            return np.full(len(mass), _SLACK * 32 * self._unit * self._divisor)
        reach = _SLACK * decision.scale * mass / self._divisor
        steep = np.exp(np.minimum(reach, 31.0)) / decision.scale
        merged = _SLACK * 256 * _UNIT * steep * self._divisor
        return np.where(reach > 30, np.inf, merged)

    def _needed_at_cut(self, own: Integers, rival: Integers, off: Floats) -> Floats:
        assert self._edges is not None
        is_higher = rival > own
        # The least score of a class that is higher, or behind one that is lower.
        edges = np.broadcast_to(self._edges, (len(own), self._edges.shape[1]))
        at = edges[np.arange(len(own)), np.where(is_higher, rival - 1, rival)]
        signed = np.where(is_higher, at, -at)
        # The score itself is compared: at the cut it is the higher class.
        exactly = np.where(is_higher, at, np.nextafter(-at, np.inf))
        scaled = signed * self._divisor
        with np.errstate(invalid="ignore"):
            around = _down(scaled - _SLACK * (off + 4 * _UNIT * np.abs(scaled)))
        is_plain = (off == 0) & (self._divisor == 1.0)
        needed = np.where(is_plain, exactly, around)
        # No score reaches an infinite cut, or stays below one.
        return np.where(np.isinf(at), signed, needed)

    def labels(self, leaves: Integers) -> Integers:
        """Return the class of points, given the leaf that each reaches in each tree.

        Parameters
        ----------
        leaves : ndarray of shape (n_points, n_trees)
        """
        scores = self.scores(leaves)
        decision = self._decision
        if self._edges is not None:
            reached = scores[:, :1].astype(np.float64) >= self._edges
            return np.asarray(reached.sum(axis=1, dtype=np.int64))
        assert isinstance(decision, Argmax)
        if decision.divisor != 1.0:
            scores = scores / scores.dtype.type(decision.divisor)
        if decision.link != "identity":
            linked = [self._link(row) for row in scores.tolist()]
            scores = np.array(linked).reshape(scores.shape)
        if decision.ties == "first":
            return np.asarray(np.argmax(scores, axis=1))
        from_behind = np.argmax(scores[:, ::-1], axis=1)
        return np.asarray(scores.shape[1] - 1 - from_behind)

    def scores(self, leaves: Integers) -> NDArray[np.floating]:
        """Return the library's own scores of points, given their leaves."""
        scoring, trees = self._scoring, self._model.trees
        dtype = np.dtype(scoring.dtype)
        base = np.array(scoring.base, dtype=dtype)
        scores = np.zeros((len(leaves), len(base)), dtype=dtype)
        if not scoring.base_last:
            scores[:] = base
        values = trees.values.astype(dtype)
        for tree, target in enumerate(trees.targets.tolist()):
            added = values[leaves[:, tree]]
            if target < 0:
                scores += added
            else:
                scores[:, target] += added[:, 0]
        if scoring.base_last:
            scores += base
        if scoring.divisor != 1.0:
            scores = scores / dtype.type(scoring.divisor)
        return scores

    def _link(self, scores: list[float]) -> list[float]:
        """Apply the link with the C library's exponential."""
        decision, single = self._decision, self._scoring.single
        assert isinstance(decision, Argmax)
        if decision.link == "sigmoid":
            return [
                1.0 / (1.0 + libm.exp(-decision.scale * score, single=False))
                for score in scores
            ]

        def rounded(number: float) -> float:
            return float(np.float32(number)) if single else number

        top = max(scores)
        powers = [libm.exp(rounded(score - top), single=single) for score in scores]
        # One by one: Python's own sum is more exact than the library's.
        total = 0.0
        for power in powers:
            total += power
        total = rounded(total)
        return [rounded(power / total) for power in powers]

    def beats(self, leaves: Integers, own: int, rival: int) -> bool:
        """Tell whether the own class wins over a rival at a point.

        Parameters
        ----------
        leaves : ndarray of shape (n_trees,)
            The leaf of each tree. Only what `speaking` tells of them matters.
        """
        if not self.is_identity:
            return bool(self.labels(leaves[np.newaxis])[0] == own)
        assert isinstance(self._decision, Argmax)
        scores = self.scores(leaves[np.newaxis])[0]
        if self._decision.divisor != 1.0:
            scores = scores / scores.dtype.type(self._decision.divisor)
        if scores[own] == scores[rival]:
            return own < rival if self._decision.ties == "first" else own > rival
        return bool(scores[own] > scores[rival])

    @property
    def is_identity(self) -> bool:
        """Whether the scores of two classes alone decide which of them wins."""
        return isinstance(self._decision, Argmax) and self._decision.link == "identity"

    def speaking(self, own: int, rival: int) -> list[int]:
        """Return the outputs that decide whether the own class wins over a rival."""
        return [own, rival] if self.is_identity else list(range(len(self.base)))

    @property
    def is_ordered(self) -> bool:
        """Whether it is known how the library adds up; a sum of two has one way."""
        n_terms = len(self._model.trees) + bool(self.base.any())
        is_one_way = n_terms <= 2 and not self._scoring.roundings
        return self._scoring.ordered or is_one_way


def _down(numbers: Floats) -> Floats:
    return np.nextafter(numbers, -np.inf)


def _signs(own: Integers, rival: Integers) -> Floats:
    """Return 1 where a rival is the higher class, -1 where it is the lower one."""
    return np.where(rival > own, 1.0, -1.0)


def _leaves_per_tree(model: Ensemble) -> Integers:
    trees = model.trees
    if not len(trees):
        return np.zeros(0, dtype=np.int64)
    return np.add.reduceat(trees.nodes["feature"] < 0, trees.roots).astype(np.int64)


def last_bits(values: Floats) -> Integers:
    """Return for each number the exponent of its last bit that is set."""
    fraction, exponent = np.frexp(values)
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    last = (whole & -whole).astype(np.float64)
    place = np.frexp(last)[1].astype(np.int64) - 1
    return np.where(whole == 0, _NO_BIT, exponent.astype(np.int64) - 53 + place)
