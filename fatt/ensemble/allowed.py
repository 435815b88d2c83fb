"""How far the answers of similar people may be apart: not at all, or a tolerance."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.ensemble import Ensemble
from fatt.ensemble.features import Label, Record
from fatt.ensemble.floats import from_ordinal, to_ordinal
from fatt.ensemble.scoring import Argmax, Bands, Cut, Link, Prediction
from fatt.ensemble.table_exp import FALL
from fatt.errors import Arg, SpecError, hint

Floats = NDArray[np.float64]
Direction = Literal["not lower", "not higher"]

#: How far from where a prediction turns it is tried whether it turns back.
_NEAR = (-64, -8, -2, -1, 0, 1, 2, 8, 64)
#: By how much a limit is moved where the own prediction is known but for its last bits.
_SLACK = 2.0**-48


_WORSE = {"not lower": "lower", "not higher": "higher"}


class Allowed(Record, frozen=True, kw_only=True):
    """Which answers of similar people are still fair.

    Attributes
    ----------
    tolerance
        How far a prediction may be from the person's own, the limit included; None if
        labels must be the same.
    relative
        Whether the tolerance is a share of the absolute own prediction.
    direction
        ``"not lower"`` or ``"not higher"`` if only that is asked; None for both.
    favorable
        The label that is better than the others; None if they have an order.
    """

    tolerance: float | None = None
    relative: bool = False
    direction: Direction | None = None
    favorable: Label | None = None

    @property
    def words(self) -> str:
        """The rule in words; nothing if labels must be the same."""
        if self.tolerance is None:
            if self.direction is None:
                return ""
            if self.favorable is None:
                return f"nobody similar may be in a {_WORSE[self.direction]} band"
            worse = "worse" if self.direction == "not lower" else "better"
            return (
                f"nobody similar may get a {worse} answer, where {self.favorable!r} is "
                "the better one"
            )
        most = f"{100 * self.tolerance:.15g}% of it"
        if not self.relative:
            most = f"{self.tolerance:.15g}"
        if self.direction is None:
            return f"predictions may differ from the person's own by at most {most}"
        worse = _WORSE[self.direction]
        if not self.tolerance:
            return f"nobody similar may get a {worse} prediction"
        return (
            f"predictions may be {worse} than the person's own by at most {most}; how "
            "far they go the other way is not asked"
        )


class Intervals(NamedTuple):
    """The scores that leave the intervals around some people's own.

    A score leaves if it is less than `below` or at least `above`; NaN where a side is
    not asked about. Whoever stays within the inner ones is fair, whoever leaves the
    outer ones is not; they differ where the library does not fix its last bits.
    """

    below: Floats
    above: Floats
    outer_below: Floats
    outer_above: Floats


def allowed_of(
    ensemble: Ensemble, tolerance: Any, direction: Any, favorable: Label | None
) -> Allowed:
    """Check what a user wrote about a model.

    Raises
    ------
    SpecError
        If the model has no such answers, or no order of them.
    """
    limit, relative = _tolerance(tolerance)
    if direction not in {None, "not lower", "not higher"}:
        raise SpecError(
            f"direction is {direction!r}; write 'not lower' or 'not higher'."
        )
    if favorable is not None:
        _check_favorable(ensemble, direction, favorable)
    decision = ensemble.decision
    if isinstance(decision, Prediction):
        if limit is None and direction is None:
            raise SpecError(
                f"the {ensemble.source.kind} predicts a number, which "
                "hardly ever stays the same: say how far it may move, such as "
                f"{Arg('tolerance', 50)} or {Arg('tolerance', '5%')}, or "
                f"{Arg('direction', 'not lower')}. {Arg('fatt.score_gap')} tells how "
                "far it can move."
            )
        if decision.of is not None and not relative and (limit or 0) >= 1:
            raise SpecError(
                f"tolerance is {tolerance!r}, and probabilities lie between 0 and 1: "
                "everybody would count as fair. Write less than 1, such as 0.05."
            )
        return Allowed(
            tolerance=0.0 if limit is None else limit,
            relative=relative,
            direction=direction,
        )
    assert limit is None, "a tolerance is about predictions"
    if direction is not None and favorable is None and not isinstance(decision, Bands):
        raise SpecError(
            f"direction is {direction!r}, and the labels "
            f"{', '.join(map(repr, ensemble.classes))} have no order: say which is "
            f"better, such as {Arg('favorable', ensemble.classes[-1])}; or give a "
            "tolerance, for the probability has an order."
        )
    if (
        direction == "not higher"
        and isinstance(decision, Argmax)
        and len(ensemble.classes) > 2
    ):
        raise SpecError(
            f"direction is 'not higher', and there are {len(ensemble.classes)} classes "
            f"whose scores compete: load the model with {Arg('threshold')} and "
            f"{Arg('pos_label')}, or ask with a tolerance about the probability."
        )
    return Allowed(direction=direction, favorable=favorable)


def _check_favorable(ensemble: Ensemble, direction: Any, favorable: Label) -> None:
    if direction is None:
        raise SpecError(
            f"favorable is {favorable!r}, and there is no direction: add "
            f"{Arg('direction', 'not lower')}."
        )
    if isinstance(ensemble.decision, Prediction | Bands):
        raise SpecError(
            f"favorable is {favorable!r}, and predictions and bands have their own "
            "order: leave it out. What is lower has the lower number."
        )
    if favorable not in ensemble.classes:
        raise SpecError(
            f"favorable is {favorable!r}, which the model never answers. "
            f"{hint(favorable, ensemble.classes)}"
        )


def _tolerance(given: Any) -> tuple[float | None, bool]:
    """Return a tolerance as a number, and whether it is a share."""
    if given is None:
        return None, False
    wrong = SpecError(
        f"tolerance is {given!r}; write a number that is at least 0, such as 50, or a "
        "share of the person's own prediction, such as '5%'."
    )
    relative = isinstance(given, str) and given.strip().endswith("%")
    try:
        text = given.strip().removesuffix("%") if isinstance(given, str) else given
        if isinstance(given, bool) or not isinstance(given, str | numbers.Real):
            raise wrong
        number = float(text) / (100.0 if relative else 1.0)
    except ValueError:
        raise wrong from None
    if not 0 <= number < math.inf:
        raise wrong
    return number, relative


class Alike:
    """Tells which answers of a model are still like a person's own.

    Parameters
    ----------
    ensemble
        The model.
    allowed
        What is still fair.
    """

    def __init__(self, ensemble: Ensemble, allowed: Allowed) -> None:
        self.allowed = allowed
        self._decision = ensemble.decision
        self._dtype = np.dtype(ensemble.scoring.dtype)
        self._lower = allowed.direction != "not higher"
        self._higher = allowed.direction != "not lower"
        # The order of labels, as far as there is one.
        self._ranks = np.arange(len(ensemble.classes))
        if allowed.favorable is not None:
            self._ranks = np.array(
                [int(label == allowed.favorable) for label in ensemble.classes]
            )
        if isinstance(self._decision, Cut) and self._ranks.tolist() == [1, 0]:
            # The better of the two labels is that of the lower score.
            self._lower, self._higher = self._higher, self._lower

    def keeps(self, own: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell whether other answers are still like people's own.

        Parameters
        ----------
        own, other
            Places of labels, or predictions.
        """
        allowed = self.allowed
        if allowed.tolerance is None:
            if allowed.direction is None:
                return np.asarray(own == other)
            mine, theirs = self._ranks[own], self._ranks[other]
            is_lower = allowed.direction == "not lower"
            return np.asarray(theirs >= mine if is_lower else theirs <= mine)
        limit = self._limit(own)
        with np.errstate(invalid="ignore", over="ignore"):
            fits = np.asarray(own == other)
            if self._lower:
                below = (own - other <= limit) | (other > own)
            if self._higher:
                above = (other - own <= limit) | (other < own)
        if self._lower and self._higher:
            return np.asarray(fits | (below & above))
        return np.asarray(fits | (below if self._lower else above))

    @functools.cached_property
    def _edges(self) -> Floats:
        """Where each class begins and the last one ends, as far as they do."""
        assert not isinstance(self._decision, Argmax | Prediction)
        return np.array([np.nan, *self._decision.edges, np.nan])

    def _limit(self, own: NDArray[Any]) -> Any:
        """Return how far predictions may be from people's own."""
        if not self.allowed.relative:
            return self.allowed.tolerance
        return self.allowed.tolerance * np.abs(own)

    def is_asked(self, label: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for which labels another one could be unfair at all."""
        if self.allowed.direction is None or isinstance(self._decision, Prediction):
            return np.ones(len(label), dtype=bool)
        end = np.min if self.allowed.direction == "not lower" else np.max
        return np.asarray(self._ranks[label] != end(self._ranks))

    def intervals(self, label: NDArray[Any], lower: Floats, upper: Floats) -> Intervals:
        """Return which scores leave the intervals around people's own.

        Parameters
        ----------
        label
            Their labels' places, if there are labels.
        lower, upper
            Between what their own scores are.
        """
        decision = self._decision
        if isinstance(decision, Argmax):
            nowhere = np.full(len(label), np.nan)
            return Intervals(nowhere, nowhere, nowhere, nowhere)
        if not isinstance(decision, Prediction):
            below, above = self._edges[label], self._edges[label + 1]
            return self._asked(below, above, below, above)
        link = decision.link
        is_same = bool(np.all(lower == upper))
        own = [link(lower.astype(self._dtype)).astype(np.float64)]
        if not is_same:
            last = link(upper.astype(self._dtype)).astype(np.float64)
            # In between, the ends of a relative tolerance turn at 0 only.
            own += [last, np.clip(0.0, own[0], last)]
        found = [self._ends(link, mine, 0.0 if is_same else _SLACK) for mine in own]
        # What leaves one of the intervals leaves the inner one, open sides aside; the
        # outer one is open where any of them is.
        return Intervals(
            np.fmax.reduce([ends[0] for ends in found]),
            np.fmin.reduce([ends[1] for ends in found]),
            np.min([ends[2] for ends in found], axis=0),
            np.max([ends[3] for ends in found], axis=0),
        )

    def _asked(self, *ends: Floats) -> Intervals:
        """Leave out the sides that are not asked about."""
        asked = (self._lower, self._higher) * 2
        kept = [
            end if is_asked else np.full(len(end), np.nan)
            for end, is_asked in zip(ends, asked, strict=True)
        ]
        return Intervals(*kept)

    def _ends(self, link: Link, own: Floats, slack: float) -> list[Floats]:
        """Return the inner ends of intervals, below and above; then the outer ones."""
        limit = np.broadcast_to(self._limit(own), own.shape)
        below = self._turns(link, own, limit * (1 - slack), is_lower=True)
        above = self._turns(link, own, limit * (1 - slack), is_lower=False)
        if not slack:
            return [below[1], above[0], below[0], above[1]]
        more = limit * (1 + slack)
        far_below = self._turns(link, own, more, is_lower=True)
        far_above = self._turns(link, own, more, is_lower=False)
        return [below[1], above[0], far_below[0], far_above[1]]

    def _turns(
        self, link: Link, own: Floats, limit: Floats, *, is_lower: bool
    ) -> tuple[Floats, Floats]:
        """Return from which score on predictions are near, or are too high."""

        def holds(scores: NDArray[Any], who: NDArray[np.int64]) -> NDArray[np.bool_]:
            made, mine = link(scores).astype(np.float64), own[who]
            if is_lower:
                return np.asarray((made >= mine) | (mine - made <= limit[who]))
            return np.asarray((made > mine) & ~(made - mine <= limit[who]))

        if not (self._lower if is_lower else self._higher):
            nowhere = np.full(len(own), np.nan)
            return nowhere, nowhere
        with np.errstate(all="ignore"):
            guess = _inverse(link, own - limit if is_lower else own + limit)
            first, last = _turning(holds, guess, self._dtype, is_exact=link == Link())
            # Around there what holds may turn: between the two nothing is said.
            near = FALL * link.turns_back(last)
            return first - near, last + near


def _inverse(link: Link, made: Floats) -> Floats:
    """Return about which score gives a prediction."""
    if isinstance(link.calibration, tuple):
        slope, shift = link.calibration
        made = (np.log(1 / made - 1) - shift) / slope
    if link.function == "sigmoid":
        made = -np.log(1 / made - 1) / link.scale
    elif link.function != "identity":
        made = np.log(made)
    return made * link.divisor


def _turning(
    holds: Callable[[NDArray[Any], NDArray[np.int64]], NDArray[np.bool_]],
    guess: Floats,
    dtype: np.dtype[Any],
    *,
    is_exact: bool,
) -> tuple[Floats, Floats]:
    """Find where conditions on scores begin to hold, which then go on to hold.

    Parameters
    ----------
    holds
        Tells of some scores, one for each of some conditions, whether they hold.
    guess
        About where each of them turns.
    dtype
        The type of the scores.
    is_exact
        Whether they surely go on to hold. Else it is tried nearby whether a library's
        roundings make them turn back.

    Returns
    -------
    first, last : ndarray
        The smallest score for which each condition holds, and the smallest from which
        on it goes on to hold; NaN if it does for all scores, or for none.
    """
    most = int(to_ordinal(np.array([np.finfo(dtype).max], dtype=dtype))[0])
    everybody = np.arange(len(guess))
    near = np.where(np.isnan(guess), 0.0, guess).astype(dtype)
    start = to_ordinal(np.clip(near, np.finfo(dtype).min, np.finfo(dtype).max))
    low, high, step = start.copy(), start.copy(), 1
    low_open = high_open = everybody
    while len(low_open) or len(high_open):
        low[low_open] = np.maximum(low[low_open], step - most) - step
        high[high_open] = np.minimum(high[high_open], most - step) + step
        is_open = holds(from_ordinal(low[low_open], dtype), low_open)
        low_open = low_open[is_open & (low[low_open] > -most)]
        is_open = ~holds(from_ordinal(high[high_open], dtype), high_open)
        high_open = high_open[is_open & (high[high_open] < most)]
        step = min(8 * step, most)
    ever = ~holds(from_ordinal(low, dtype), everybody)
    ever &= holds(from_ordinal(high, dtype), everybody)
    # Without the difference of the two, which may be more than 64 bits hold.
    left = np.flatnonzero(ever & (high - 1 > low))
    while len(left):
        middle = (low[left] >> 1) + (high[left] >> 1) + (low[left] & high[left] & 1)
        true = holds(from_ordinal(middle, dtype), left)
        high[left[true]], low[left[~true]] = middle[true], middle[~true]
        left = left[high[left] - 1 > low[left]]
    first, last = high.copy(), high.copy()
    if not is_exact:
        for offset in _NEAR:
            place = np.clip(high + offset, -most, most)
            true = holds(from_ordinal(place, dtype), everybody)
            first[true] = np.minimum(first, place)[true]
            last[~true] = np.maximum(last, place + 1)[~true]
    return tuple(  # type: ignore[return-value]
        np.where(ever, from_ordinal(end, dtype).astype(np.float64), np.nan)
        for end in (first, last)
    )
