"""How much may differ before somebody similar gets another answer: limits and counts.

A budget that falls to one less than what a twin costs finds a cheaper twin, or proves
that there is none: then the cost of the last twin is the radius.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Chunk, Run
from fatt.ensemble import Categorical
from fatt.errors import SpecError
from fatt.region import Neighbourhood, Relation
from fatt.region.boxes import Membership
from fatt.region.costs import STEPS
from fatt.region.distance import Distance, Table
from fatt.verdict import FAIR, UNFAIR, UNKNOWN, Radii
from fatt.verdict.measures import Grows

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]
Places = NDArray[np.int64]

#: By how many doublings the limit grows while everybody is fair.
_GROWTH = (0, 3, 6, 12, 24)
#: A twin that costs fewer steps is counted again with a smaller limit.
_COARSE = 2**44
#: The smallest limit there is, for those who differ in what costs nothing.
_NOTHING = float(np.finfo(np.float64).tiny)


def limits_of(run: Run) -> Radii:
    """Find the largest limit of a distance with which each person is fair."""
    distance = _distance_of(run)
    parts = []
    for chunk in run.chunks():
        parts.append(_Limits(run, chunk, distance).run())
        run.report(chunk.stop)
    return _joined(run, parts, "limit")


def counts_of(run: Run) -> Radii:
    """Find how many attributes may change at once while each person is fair."""
    parts = []
    for chunk in run.chunks():
        parts.append(_Counts(run, chunk).run())
        run.report(chunk.stop)
    return _joined(run, parts, "count")


def _joined(run: Run, parts: list[_Found], of: Grows) -> Radii:
    lower, upper, at_zero, people, twins = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    features = run.variables.ensemble.features
    return Radii(lower, upper, at_zero, of, (people, twins), features)


#: Both bounds, the verdicts at nothing, the people, and their twins; NaN without one.
_Found = tuple[Floats, Floats, Codes, Floats, Floats]


def _distance_of(run: Run) -> Distance:
    """Return the only distance of a similarity, whose limit grows and shrinks."""
    found = [
        one.distance for one in run.similarity.alternatives if one.distance is not None
    ]
    if len({(one.limit, one.norm) for one in found}) > 1:
        raise SpecError(
            "the alternatives have different limits or norms, and a radius is one "
            "limit; give all of them the same, or ask about each alone."
        )
    return found[0]


class _Falling:
    """People whose budgets fall until they are fair."""

    def __init__(self, run: Run, chunk: Chunk) -> None:
        self._run, self._start, self._values = run, chunk.start, chunk.values
        self._inside = Membership(run.combined.ensemble.features)
        self._spaces: dict[Relation, Neighbourhood] = {}
        self._twins = chunk.values.copy()
        self._has_twin = np.zeros(len(chunk.values), dtype=bool)

    def _space(self, similarity: Relation) -> Neighbourhood:
        if similarity not in self._spaces:
            self._spaces[similarity] = Neighbourhood(
                similarity, self._run.variables, counts=True
            )
        return self._spaces[similarity]

    def _search(
        self, similarity: Relation, who: Places, most: Places | None = None
    ) -> Codes:
        """Return verdicts within budgets, and keep the twins that are found."""
        values = self._values[who]
        boxes = self._space(similarity).boxes(values)
        if most is not None and boxes.costs is not None:
            spent = replace(boxes.costs, most=most[boxes.person])
            boxes = replace(boxes, costs=spent)
        rows = (self._start + who).tolist()
        found = self._run.search(values, boxes, rows=rows)
        if found.interrupted:
            raise KeyboardInterrupt
        self._run.account.spend(found.nodes)
        unfair = who[found.twins.index]
        self._twins[unfair] = found.twins.everybody()
        self._has_twin[unfair] = True
        return found.verdict

    def _costs(self, similarity: Relation, who: Places) -> Places:
        """Return what the twins of some people cost at least."""
        boxes = self._space(similarity).boxes(self._values[who])
        twins = self._run.combined.join(self._twins[who])
        return self._inside.least_costs(boxes, twins)

    def _shown(self) -> Floats:
        """Return the twins, and NaN of those who have none."""
        return np.where(self._has_twin[:, np.newaxis], self._twins, np.nan)


class _Counts(_Falling):
    """How many attributes may change at once."""

    def run(self) -> _Found:
        """Return the bounds, and the verdicts if nothing that is counted may change."""
        count, asked = len(self._values), self._run.similarity
        everything, one = asked.with_at_most(None), asked.with_at_most(1)
        lower, upper = np.zeros(count), np.full(count, np.inf)
        at_zero = np.full(count, FAIR, dtype=np.int8)
        everybody = np.arange(count)
        verdict = self._search(everything, everybody)
        lower[verdict == FAIR] = np.inf
        most = np.full(count, len(self._run.variables.ensemble.features))
        still = everybody[verdict != FAIR]
        verdict = verdict[still]
        while still.size:
            unfair, unknown = still[verdict == UNFAIR], still[verdict == UNKNOWN]
            if unfair.size:
                upper[unfair] = most[unfair] = self._costs(one, unfair)
                most[unfair] -= 1
            # What cannot be decided with so many may be with half as many.
            most[unknown] = np.where(most[unknown] > 0, most[unknown] // 2, -1)
            at_zero[unfair[most[unfair] < 0]] = UNFAIR
            at_zero[unknown[most[unknown] < 0]] = UNKNOWN
            still = still[most[still] >= 0]
            verdict = self._search(one, still, most[still])
            lower[still[verdict == FAIR]] = most[still[verdict == FAIR]]
            still, verdict = still[verdict != FAIR], verdict[verdict != FAIR]
        return lower, upper, at_zero, self._values, self._shown()


class _Limits(_Falling):
    """How far a limit may grow."""

    def __init__(self, run: Run, chunk: Chunk, distance: Distance) -> None:
        super().__init__(run, chunk)
        self._distance = distance
        count = len(chunk.values)
        self._lower, self._upper = np.zeros(count), np.full(count, np.inf)
        # By how many doublings each limit is another one than the similarity's.
        self._power = np.zeros(count, dtype=np.int64)
        self._most = np.full(count, STEPS, dtype=np.int64)

    def run(self) -> _Found:
        """Return the bounds, and the verdicts if only what costs nothing may change."""
        everybody = np.arange(len(self._values))
        nothing = self._run.similarity.with_limit(_NOTHING)
        at_zero = self._search(nothing, everybody, np.zeros_like(everybody))
        self._upper[at_zero == UNFAIR] = 0.0
        self._fall(self._grown(everybody[at_zero == FAIR]))
        return self._lower, self._upper, at_zero, self._values, self._shown()

    def _grown(self, who: Places) -> Places:
        """Let limits grow until people are no longer fair; return who these are."""
        done = []
        for power in _GROWTH:
            self._power[who] = power
            verdict = self._ask(who)
            done.append(who[verdict != FAIR])
            who = who[verdict == FAIR]
        if who.size:
            free = self._run.similarity.with_limit(None)
            verdict = self._search(free, who)
            self._lower[who[verdict == FAIR]] = np.inf
            who = who[verdict != FAIR]
        largest = 1023 - math.frexp(self._distance.limit)[1]
        for power in range(2 * _GROWTH[-1], largest, _GROWTH[-1]):
            self._power[who] = power
            verdict = self._ask(who)
            done.append(who[verdict != FAIR])
            who = who[verdict == FAIR]
        return np.sort(np.concatenate(done))

    def _fall(self, who: Places) -> None:
        """Let budgets fall until everybody is fair."""
        tries = np.zeros(len(self._values), dtype=np.int64)
        while who.size:
            verdict = self._ask(who)
            who, verdict = who[verdict != FAIR], verdict[verdict != FAIR]
            unknown = who[verdict == UNKNOWN]
            tries[unknown] += 1
            self._most[unknown] //= 2
            self._recount(who[verdict == UNFAIR])
            who = who[(tries[who] < 60) & (self._most[who] >= 0)]

    def _recount(self, who: Places) -> None:
        """Set budgets to one less than twins cost, in steps that are fine enough."""
        while who.size:
            costs = self._costs_of(who)
            size = np.maximum(costs, 1).astype(np.float64)
            limit = np.ldexp(self._distance.limit, self._power[who])
            is_coarse = (costs < _COARSE) & (limit > 1e30 * _NOTHING)
            self._most[who] = costs - 1
            self._upper[who] = np.minimum(self._upper[who], self._limits(who, costs, 1))
            finer = np.floor(46 - np.log2(size)).astype(np.int64)
            if self._distance.norm == "l2":
                finer = np.maximum(finer // 2, 1)
            self._power[who[is_coarse]] -= finer[is_coarse]
            who = who[is_coarse]

    def _ask(self, who: Places) -> Codes:
        """Return verdicts with the limits and budgets of some people."""
        verdict = np.empty(len(who), dtype=np.int8)
        for power in np.unique(self._power[who]).tolist():
            mine = np.flatnonzero(self._power[who] == power)
            one = who[mine]
            verdict[mine] = self._search(self._at(power), one, self._most[one])
        fair = who[verdict == FAIR]
        found = self._limits(fair, self._most[fair] + 1, -1)
        self._lower[fair] = np.maximum(self._lower[fair], found)
        return verdict

    def _costs_of(self, who: Places) -> Places:
        costs = np.empty(len(who), dtype=np.int64)
        for power in np.unique(self._power[who]).tolist():
            mine = np.flatnonzero(self._power[who] == power)
            costs[mine] = self._costs(self._at(power), who[mine])
        return costs

    def _at(self, power: int) -> Relation:
        limit = float(np.ldexp(self._distance.limit, power))
        return self._run.similarity.with_limit(limit)

    def _limits(self, who: Places, costs: Places, side: int) -> Floats:
        """Return limits by which costs can be paid for sure, or cannot.

        Each variable is rounded down, by less than one step.

        Parameters
        ----------
        who, costs
            The people, and steps of their limits.
        side
            1 for limits by which so many steps can be paid, -1 for such by which
            nothing can that costs so many.
        """
        n_variables = self._values.shape[1]
        limit = np.ldexp(self._distance.limit, self._power[who])
        share = (costs + (n_variables if side > 0 else 0)) / STEPS
        if side < 0:
            share = costs / (STEPS + n_variables)
        share = np.sqrt(share) if self._distance.norm == "l2" else share
        return np.asarray(limit * share * (1 + side * 2.0**-48))


def refuse_boxes(run: Run) -> None:
    """Refuse a norm that is a box if its categories have limits of their own.

    Raises
    ------
    SpecError
        If a category has a cost.
    """
    features, schema = run.variables.ensemble.features, run.variables.schema
    places = {one.name: index for index, one in enumerate(schema.variables)}
    for one in run.similarity.alternatives:
        for name, weight in () if one.distance is None else one.distance.weights:
            index = places[schema.find(name).name]
            has_cost = isinstance(weight, Table) or weight.size > 0
            if has_cost and isinstance(features[index], Categorical):
                raise SpecError(
                    f"{name!r} is a category with a cost, and by the norm 'linf' its "
                    "limit stands apart from those of numbers; write 0 for it, or "
                    "another norm."
                )
