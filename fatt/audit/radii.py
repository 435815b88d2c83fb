"""How far the noise can grow before somebody similar gets another label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.audit.limits import counts_of, limits_of, refuse_boxes
from fatt.audit.run import Chunk, Run
from fatt.ensemble.floats import from_ordinal, to_ordinal
from fatt.errors import SpecError
from fatt.verdict import FAIR, UNFAIR, UNKNOWN, Radii
from fatt.verifier.ranks import variables_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]
Places = NDArray[np.int64]

#: The multiples that are tried first, up to the largest that there is.
_GROWTH = (1.0, 8.0, 64.0, 2.0**12, 2.0**24, float(np.finfo(np.float64).max))


def radii_of(run: Run) -> Radii:
    """Find the radius of everybody; see `fatt.radius`.

    Of a distance that is the largest limit, and of `at_most` the number of attributes.

    A larger multiple only adds similar people, so once unfair, always unfair; and it
    changes what the trees can tell apart at finitely many multiples only. All float64
    multiples are bisected, and the search runs only for those that the trees tell apart
    from both ends.
    """
    similarity = run.similarity
    if any(one.distance for one in similarity.alternatives):
        norms = {one.distance.norm for one in similarity.alternatives if one.distance}
        if norms != {"linf"}:
            return limits_of(run)
        refuse_boxes(run)
    elif any(one.at_most for one in similarity.alternatives):
        return counts_of(run)
    if not any(move.grows for move in similarity.moves):
        raise SpecError(
            f"no noise can grow in {similarity!r}; name a number in noise, such as "
            "noise={'age': 1}, or call fatt.verify."
        )
    parts = []
    for chunk in run.chunks():
        parts.append(_Bisection(run, chunk).run())
        run.report(chunk.stop)
    lower, upper, at_zero = (np.concatenate(part) for part in zip(*parts, strict=True))
    distances = [one.distance for one in similarity.alternatives if one.distance]
    if distances:
        # A box, whose limit is so many times the one that was given. Of whole numbers
        # the quotient of limit and weight is rounded, by less than is left here.
        limit = distances[0].limit
        ends = limit * lower * (1 - 2e-12), limit * upper * (1 + 2e-12)
        return Radii(*ends, at_zero, "limit")
    return Radii(lower, upper, at_zero)


class _Bisection:
    """The multiples of some people, bisected together.

    At any time `low` is the largest multiple proved fair for each person, and `end` the
    smallest one tried that was not proved fair.
    """

    def __init__(self, run: Run, chunk: Chunk) -> None:
        self._run = run
        self._start, self._values = chunk.start, chunk.values
        ensemble = run.combined.ensemble
        # Where columns are computed of several, or tied, cells do not tell all.
        is_tied = chunk.boxes.ties is not None or bool(ensemble.joints)
        self._cells = None if is_tied else variables_of(ensemble)

    def run(self) -> tuple[Floats, Floats, Codes]:
        """Return the bounds, and the verdicts without noise."""
        everybody = np.arange(len(self._values))
        at_zero = self._verdicts(everybody, np.zeros(len(everybody)))
        lower = np.zeros(len(everybody))
        upper = np.where(at_zero == UNFAIR, 0.0, np.inf)
        who = np.flatnonzero(at_zero == FAIR)
        low, end, at_end = self._grow(who)
        lower[who] = low
        rest = np.isfinite(low)
        if rest.any():
            ends = to_ordinal(low[rest]), to_ordinal(end[rest])
            lower[who[rest]], upper[who[rest]] = self._bisect(
                who[rest], ends, at_end[rest]
            )
        return lower, upper, at_zero

    def _grow(self, who: Places) -> tuple[Floats, Floats, Codes]:
        """Try larger and larger multiples: in small regions verdicts are cheap."""
        low, end = np.zeros(len(who)), np.full(len(who), np.inf)
        at_end = np.full(len(who), UNKNOWN, dtype=np.int8)
        still = np.arange(len(who))
        for scale in _GROWTH:
            verdict = self._verdicts(who[still], np.full(len(still), scale))
            ended = still[verdict != FAIR]
            end[ended], at_end[ended] = scale, verdict[verdict != FAIR]
            still = still[verdict == FAIR]
            low[still] = scale
        low[still] = np.inf
        return low, end, at_end

    def _bisect(
        self, who: Places, ends: tuple[Places, Places], at_end: Codes
    ) -> tuple[Floats, Floats]:
        """Return the largest fair and the smallest unfair multiple that are found."""
        low, end = ends
        at_end = at_end.copy()
        upper = np.where(at_end == UNFAIR, from_ordinal(end), np.inf)
        owner, at_low = self._shapes(who, low)
        _, beyond = self._shapes(who, end)
        while (still := np.flatnonzero(end - low > 1)).size:
            middle = low[still] + (end[still] - low[still]) // 2
            rows = np.flatnonzero(np.isin(owner, still))
            mine, shape = self._shapes(who[still], middle)
            verdict = at_end[still]
            is_low = _all_of(mine, (shape == at_low[rows]).all(axis=1))
            is_end = _all_of(mine, (shape == beyond[rows]).all(axis=1))
            verdict[is_low] = FAIR
            new = ~is_low & ~is_end
            verdict[new] = self._verdicts(who[still[new]], from_ordinal(middle[new]))
            is_fair = verdict == FAIR
            low[still[is_fair]], end[still[~is_fair]] = (
                middle[is_fair],
                middle[~is_fair],
            )
            at_end[still[~is_fair]] = verdict[~is_fair]
            at_low[rows[is_fair[mine]]] = shape[is_fair[mine]]
            beyond[rows[~is_fair[mine]]] = shape[~is_fair[mine]]
            unfair = still[verdict == UNFAIR]
            upper[unfair] = from_ordinal(end[unfair])
        return from_ordinal(low), upper

    def _verdicts(self, who: Places, scale: Floats) -> Codes:
        if not who.size:
            return np.empty(0, dtype=np.int8)
        values = self._values[who]
        regions = self._run.boxes(values, scale=scale)
        rows = (self._start + who).tolist()
        outcomes = self._run.search(values, regions, rows=rows)
        if outcomes.interrupted:
            raise KeyboardInterrupt
        self._run.account.spend(outcomes.nodes)
        return outcomes.verdict

    def _shapes(self, who: Places, multiple: Places) -> tuple[Places, Places]:
        """Return what the trees can tell of regions: equal if nothing differs.

        Parameters
        ----------
        who
            The people.
        multiple
            Of the noise, as ordinals.

        Returns
        -------
        owner : ndarray of shape (n_boxes,)
            The position in `who` of each box's person. The same for all multiples.
        shape : ndarray of shape (n_boxes, ...)
            In which cells each box begins and ends, and what else it holds.
        """
        boxes = self._run.boxes(self._values[who], scale=from_ordinal(multiple))
        parts = [boxes.missing.astype(np.int64), boxes.codes.view(np.int64)]
        if self._cells is None:
            parts += [to_ordinal(ends) for ends in (boxes.lower, boxes.upper)]
        for index, variable in enumerate(self._cells or ()):
            for ends in (boxes.lower, boxes.upper):
                parts.append(np.searchsorted(variable.cuts, ends[:, index : index + 1]))
        return boxes.person, np.concatenate(parts, axis=1)


def _all_of(owner: Places, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell for each owner whether all its flags are set."""
    failed = np.bincount(owner, weights=~flags, minlength=int(owner[-1]) + 1)
    return np.asarray(failed == 0)
