"""How far the noise can grow before somebody similar gets another label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Chunk, Run
from fatt.ensemble.floats import from_ordinal, to_ordinal
from fatt.errors import SpecError
from fatt.frames import frame_of
from fatt.markup import facts, notebook, table
from fatt.report import plots
from fatt.verdict import (
    FAIR,
    UNFAIR,
    UNKNOWN,
    VERDICTS,
    Bounds,
    OnDemand,
    Verdict,
    share,
)
from fatt.verifier.ranks import variables_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int8]
Places = NDArray[np.int64]

#: The multiples that are tried first, up to the largest that there is.
_GROWTH = (1.0, 8.0, 64.0, 2.0**12, 2.0**24, float(np.finfo(np.float64).max))

#: The multiples that are shown in a notebook.
_SHOWN = (0.5, 1.0, 2.0, 4.0, 8.0)


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
    """

    index: int
    bounds: Bounds
    at_zero: Verdict

    def _repr_html_(self) -> str:
        lower, upper = self.bounds
        told = {
            "proved fair up to": f"{lower:.6g} times the noise",
            "proved unfair from": f"{upper:.6g} times" if np.isfinite(upper) else None,
            "without noise": str(self.at_zero),
        }
        return notebook(f"Person {self.index}", facts(told))


@dataclass(frozen=True, eq=False, repr=False)
class Radii(OnDemand[Radius]):
    """One radius per person, in order; made when it is looked at.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_people,)
        The largest multiple proved fair, and the smallest proved unfair.
    at_zero : ndarray of shape (n_people,), int8
        Position of the verdict without noise in `fatt.verdict.VERDICTS`.
    """

    lower: Floats
    upper: Floats
    at_zero: Codes

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
            f"multiple{median}>"
        )

    def fair_at(self, multiple: float) -> Bounds:
        """Bound the share who are fair at a multiple of the noise, more than 0."""
        return Bounds(
            float((self.lower >= multiple).mean()),
            float((self.upper > multiple).mean()),
        )

    def _repr_html_(self) -> str:
        rows = [[f"{one:g}", share(self.fair_at(one))] for one in _SHOWN]
        head, what = ("multiple of the noise", "treated fairly"), "As the noise grows"
        return notebook(f"{len(self):,} radii", table(head, rows, what, numbers=(0, 1)))

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
        """Draw the share treated fairly over the noise; see `RadiusDisplay`.

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
        )


def radii_of(run: Run) -> Radii:
    """Find the radius of everybody; see `fatt.radius`.

    A larger multiple only adds similar people, so once unfair, always unfair; and it
    changes what the trees can tell apart at finitely many multiples only. All float64
    multiples are bisected, and the search runs only for those that the trees tell apart
    from both ends.
    """
    similarity = run.similarity
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
    return Radii(lower, upper, at_zero)


class _Bisection:
    """The multiples of some people, bisected together.

    At any time `low` is the largest multiple proved fair for each person, and `end` the
    smallest one tried that was not proved fair.
    """

    def __init__(self, run: Run, chunk: Chunk) -> None:
        self._run = run
        self._start, self._values = chunk.start, chunk.values
        ensemble = run.variables.ensemble
        # Where columns are computed of several, each person's trees tell others apart.
        self._cells = None if ensemble.joints else variables_of(ensemble)

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
