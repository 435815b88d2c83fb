"""The search where columns are tied: where they move along, or keep an order.

Boxes are searched as if nothing were tied, which is enough for most of the fair. If
somebody with another answer is found in whom no tie holds, the box is parted so that
neither part has the cells in which that was, and the ties narrow both parts. Cells are
finite, so this ends, and nobody in whom all ties hold is ever left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, ScoreBounds
from fatt.ensemble.allowed import Allowed
from fatt.errors import SpecError
from fatt.region.boxes import Boxes, lone_boxes
from fatt.region.ties import Tied, Ties, UntiedError
from fatt.verdict import (
    BUDGET,
    FAIR,
    INTERRUPTED,
    UNFAIR,
    UNKNOWN,
    Findings,
    Twins,
    pack,
)
from fatt.verifier.budget import Account, Budget
from fatt.verifier.joint import JointVerifier, NotFollowedError, for_each
from fatt.verifier.ranks import variables_of
from fatt.verifier.search import Effort, Extreme, Extremes, Verifier

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


class _Parts(NamedTuple):
    """Parts of boxes that are still to be searched.

    Attributes
    ----------
    box : ndarray of shape (n_parts,)
        Of which box each is a part.
    low, high : ndarray of shape (n_parts, n_columns)
        What is left of the tied columns.
    """

    box: Places
    low: Floats
    high: Floats

    def of(self, chosen: Places | Flags) -> _Parts:
        """Return some of the parts."""
        return _Parts(self.box[chosen], self.low[chosen], self.high[chosen])

    def and_(self, other: _Parts) -> _Parts:
        """Return these parts and others."""
        box, low, high = (
            np.concatenate(pair) for pair in zip(self, other, strict=True)
        )
        return _Parts(box, low, high)


class _Web:
    """The ties of some boxes, and the parts of these.

    Parameters
    ----------
    people, boxes
        As `Verifier.verify` takes them.
    tied
        The ties of the boxes.
    cells
        Where the cells of each tied column end.
    """

    def __init__(
        self, people: Floats, boxes: Boxes, tied: Tied, cells: Sequence[Floats]
    ) -> None:
        self.people, self.boxes, self.tied, self._cells = people, boxes, tied, cells
        self.columns, self.own = tied.columns, tied.people[boxes.person]
        low, high = boxes.lower[:, self.columns], boxes.upper[:, self.columns]
        moves = ~np.isnan(self.own) & ((low != self.own) | (high != self.own))
        self._leaders = [ties.leaders(moves) for ties in tied.rules]
        self._ends = low, high

    def all(self) -> _Parts:
        """Return the boxes, parted where a follower turns.

        Raises
        ------
        NotFollowedError
            If it is not known what a follower is for somebody similar.
        """
        parts, done = _Parts(np.arange(len(self.boxes)), *self._ends), _no_parts(self)
        while len(parts.box):
            column, at = np.full(len(parts.box), -1), np.zeros(len(parts.box))
            for ties, mine, own, leaders in self._each(parts.box):
                try:
                    column[mine], at[mine] = ties.turns(
                        own, leaders, parts.low[mine], parts.high[mine]
                    )
                except UntiedError as error:
                    person = self.boxes.person[parts.box[mine[error.case]]]
                    raise NotFollowedError(int(person), error.reason) from error
            done = done.and_(self._narrowed(parts.of(column < 0)))
            parts = self._sides(parts, column, at)
        return done

    def _each(self, box: Places) -> Iterator[tuple[Ties, Places, Floats, Places]]:
        """Yield the ties of each rule, and of which parts these are."""
        rule = self.tied.rule[box]
        for number, ties in enumerate(self.tied.rules):
            mine = np.flatnonzero(rule == number)
            if mine.size:
                yield ties, mine, self.own[box[mine]], self._leaders[number][box[mine]]

    def _narrowed(self, parts: _Parts) -> _Parts:
        """Return what the ties leave of parts, without those in which nobody is."""
        low, high = parts.low.copy(), parts.high.copy()
        is_open = np.zeros(len(low), dtype=bool)
        for ties, mine, own, leaders in self._each(parts.box):
            low[mine], high[mine], is_open[mine] = ties.narrowed(
                own, leaders, low[mine], high[mine]
            )
        return _Parts(parts.box, low, high).of(is_open)

    def _sides(self, parts: _Parts, column: Places, at: Floats) -> _Parts:
        """Return both sides of parts that are cut; others are left out."""
        cut = np.flatnonzero(column >= 0)
        parts, column, at = parts.of(cut), column[cut], at[cut]
        rows, whole = np.arange(len(cut)), self.tied.rules[0].whole[column]
        low, high = parts.low.copy(), parts.high.copy()
        high[rows, column] = at
        low[rows, column] = np.where(whole, np.floor(at) + 1, np.nextafter(at, np.inf))
        return parts._replace(high=high).and_(parts._replace(low=low))

    def as_boxes(self, parts: _Parts) -> tuple[Boxes, Floats]:
        """Return parts as boxes, one for each, and where the search begins in them."""
        boxes = self.boxes.one_each(parts.box)
        lower, upper = boxes.lower.copy(), boxes.upper.copy()
        lower[:, self.columns], upper[:, self.columns] = parts.low, parts.high
        starts, own = self.people[self.boxes.person[parts.box]], self.own[parts.box]
        inside = np.clip(own, parts.low, parts.high)
        starts[:, self.columns] = np.where(np.isnan(own), own, inside)
        return replace(boxes, lower=lower, upper=upper), starts

    def _cells_of(self, parts: _Parts, points: Floats) -> _Parts:
        """Return what of parts is in the same cells as points."""
        low, high = parts.low.copy(), parts.high.copy()
        whole = self.tied.rules[0].whole
        for place, cuts in enumerate(self._cells):
            ends = np.concatenate([[-np.inf], cuts, [np.inf]])
            cell = np.searchsorted(cuts, points[:, place])
            first = ends[cell]
            first = np.floor(first) + 1 if whole[place] else np.nextafter(first, np.inf)
            known = ~np.isnan(points[:, place])
            low[known, place] = np.maximum(low[known, place], first[known])
            high[known, place] = np.minimum(high[known, place], ends[cell + 1][known])
        return parts._replace(low=low, high=high)

    def tied_in_cells(
        self, parts: _Parts, twins: Floats
    ) -> tuple[Floats, Flags, Floats, Flags]:
        """Return people for whom all ties hold: in the cells of others, and near them.

        Parameters
        ----------
        parts
            The parts in which they must be.
        twins : ndarray of shape (n_parts, n_variables)
            The others.

        Returns
        -------
        inside : ndarray of shape (n_parts, n_variables)
            People in the same cells, whom no tree can tell from the others.
        is_inside : ndarray of shape (n_parts,)
            Where there is one.
        near, is_near
            The same, of people who need not be in the same cells.
        """
        wanted = twins[:, self.columns]
        return (
            *self._nearest(self._cells_of(parts, wanted), twins),
            *self._nearest(parts, twins),
        )

    def _nearest(self, parts: _Parts, twins: Floats) -> tuple[Floats, Flags]:
        found, holds = twins.copy(), np.zeros(len(twins), dtype=bool)
        values = twins[:, self.columns]
        for ties, mine, own, leaders in self._each(parts.box):
            low, high, is_open = ties.narrowed(
                own, leaders, parts.low[mine], parts.high[mine]
            )
            some = np.flatnonzero(is_open)
            mine = mine[some]  # noqa: PLW2901
            values[mine], holds[mine] = ties.nearest(
                own[some], leaders[some], low[some], high[some], values[mine]
            )
        found[:, self.columns] = values
        return found, holds

    def without(self, parts: _Parts, twins: Floats) -> _Parts:
        """Return parts of parts that do not have the cells of others.

        Parameters
        ----------
        parts
            The parts.
        twins : ndarray of shape (n_parts, n_variables)
            Others in each, in whose cells nobody is for whom all ties hold.
        """
        cells = self._cells_of(parts, twins[:, self.columns])
        column, at = np.full(len(parts.box), -1), np.zeros(len(parts.box))
        for ties, mine, own, leaders in self._each(parts.box):
            column[mine], at[mine] = ties.cut(
                own,
                leaders,
                (parts.low[mine], parts.high[mine]),
                (cells.low[mine], cells.high[mine]),
            )
        return self._narrowed(self._sides(parts, column, at))


def _no_parts(web: _Web) -> _Parts:
    none = np.zeros((0, len(web.columns)))
    return _Parts(np.zeros(0, dtype=np.int64), none, none)


class TiedVerifier:
    """Decides as `Verifier` does, where columns are tied to one another.

    Parameters
    ----------
    plain
        The search without ties.
    """

    def __init__(self, plain: Verifier) -> None:
        self.plain = plain
        self._cells = [variable.cuts for variable in variables_of(plain.ensemble)]
        self._is_stopped = False

    @property
    def allowed(self) -> Allowed:
        """Which answers of similar people are still fair."""
        return self.plain.allowed

    def for_one_run(self) -> TiedVerifier:
        """Return one of the same model that is stopped without stopping others."""
        other = object.__new__(TiedVerifier)
        other.__dict__.update(
            self.__dict__, plain=self.plain.for_one_run(), _is_stopped=False
        )
        return other

    def stop(self) -> None:
        """Make searches in other threads give up at once, and all later ones."""
        self._is_stopped = True
        self.plain.stop()

    def verify(
        self,
        people: Floats,
        boxes: Boxes,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
    ) -> Findings:
        """Decide each person.

        Parameters
        ----------
        people, boxes, budget, n_jobs
            As in `Verifier.verify`; a budget of seconds is one of each part here, and
            all parts together take at most as long as all people may.

        Raises
        ------
        NotFollowedError
            If it is not known what a follower is for somebody similar.
        """
        web = self._web(people, boxes)
        run = _Run(people, self.plain.ensemble, budget)
        parts = web.all()
        while True:
            parts = parts.of(run.is_open(boxes.person[parts.box]))
            person = boxes.person[parts.box]
            if not person.size or self._is_stopped or run.interrupted:
                break
            where, starts = web.as_boxes(parts)
            found = self.plain.verify(
                people[person], where, starts=starts, budget=run.left(), n_jobs=n_jobs
            )
            run.take(person, found)
            parts = self._after(web, run, parts.of(found.twins.index), found)
        run.give_up(person, INTERRUPTED)
        return run.findings()

    def extremes(
        self,
        people: Floats,
        boxes: Boxes,
        output: int,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
    ) -> Extremes:
        """Find the lowest and the highest of one score that similar people get.

        Parameters
        ----------
        people, boxes, output, budget, n_jobs
            As in `Verifier.extremes`.

        Raises
        ------
        KeyboardInterrupt
            If the user stops it.
        """
        web, effort = self._web(people, boxes), Effort(budget=budget, n_jobs=n_jobs)
        low, high = (
            self._extreme(web, output, sign, effort.copy()) for sign in (-1, 1)
        )
        return Extremes(
            low.score, high.score, low.at, high.at, nodes=low.nodes + high.nodes
        )

    def _extreme(
        self,
        web: _Web,
        output: int,
        sign: int,
        effort: Effort,
    ) -> Extreme:
        """Find one of both ends; larger is farther here, after times the sign."""
        people, owner = web.people, web.boxes.person
        at, nodes = people.copy(), np.zeros(len(people), dtype=np.int64)
        near = sign * self._score(people, output, sign)
        budget = effort["budget"] or Budget()
        far, account = near.copy(), Account(for_each(budget))
        parts, (limit, _) = web.all(), budget.limits
        while len(parts.box):
            person = owner[parts.box]
            where, starts = web.as_boxes(parts)
            effort["budget"] = account.left()
            found = self.plain.extreme(starts, where, output, sign=sign, **effort)
            np.add.at(nodes, person, found.nodes + 1)
            bound = sign * (found.score.lower if sign < 0 else found.score.upper)
            inside, is_inside, others, is_other = web.tied_in_cells(parts, found.at)
            inside[~is_inside] = others[~is_inside]
            score = sign * self._score(inside, output, sign)
            for part in np.flatnonzero(is_inside | is_other).tolist():
                if score[part] > near[person[part]]:
                    near[person[part]], at[person[part]] = score[part], inside[part]
            is_over = self._is_stopped or account.is_over
            is_done = is_inside | (bound <= near[person]) | (nodes[person] > limit)
            is_done |= is_over
            np.maximum.at(far, person[is_done], bound[is_done])
            parts = web.without(parts.of(~is_done), found.at[~is_done])
        far = np.maximum(far, near)
        ends = (-far, -near) if sign < 0 else (near, far)
        return Extreme(ScoreBounds(*ends), at, nodes)

    def _score(self, people: Floats, output: int, sign: int) -> Floats:
        """Return a score that the library surely reaches on one side."""
        return self.plain.score_bounds_of(people)[sign < 0][:, output]

    def _after(self, web: _Web, run: _Run, parts: _Parts, found: Findings) -> _Parts:
        """Take the twins for whom all ties hold; return where to go on."""
        twins, person = found.twins.everybody(), web.boxes.person[parts.box]
        inside, is_inside, near, is_near = web.tied_in_cells(parts, twins)
        [some] = np.nonzero(~is_inside & is_near)
        if some.size:
            # Perhaps the other answer does not depend on what the ties change.
            alone = lone_boxes(near[some], self.plain.ensemble.features)
            asked = self.plain.verify(
                web.people[person[some]], alone, starts=near[some]
            )
            some = some[asked.verdict == UNFAIR]
            inside[some], is_inside[some] = near[some], True
        run.keep(person[is_inside], inside[is_inside])
        rest = ~is_inside & run.is_open(person)
        return web.without(parts.of(rest), twins[rest])

    def _web(self, people: Floats, boxes: Boxes) -> _Web:
        tied = boxes.ties
        assert tied is not None
        assert boxes.costs is None, "what a part costs is not known"
        cells = [self._cells[column] for column in tied.columns.tolist()]
        return _Web(people, boxes, tied, cells)


#: Decides, for people and the boxes of their similar people.
Search: TypeAlias = Verifier | JointVerifier | TiedVerifier


def tied(search: Verifier | JointVerifier) -> TiedVerifier:
    """Return the search for similarities that tie columns to one another.

    Raises
    ------
    SpecError
        If the model itself computes columns of several others.
    """
    if isinstance(search, JointVerifier):
        raise SpecError(
            "the model computes columns of several others, and follow formulas or "
            "orders in exist are not searched beside that: leave them out, or make "
            "what the model computes a column of the table, which follows."
        )
    return TiedVerifier(search)


class _Run:
    """What is known of each person so far.

    Parameters
    ----------
    people : ndarray of shape (n_people, n_variables)
        The people.
    ensemble
        The model.
    budget
        When to give up.
    """

    def __init__(
        self, people: Floats, ensemble: Ensemble, budget: Budget | None
    ) -> None:
        self._people, self._ensemble = people, ensemble
        self._limit, self._account = budget or Budget(), Account(for_each(budget))
        count = len(people)
        self._verdict = np.full(count, FAIR, dtype=np.int8)
        self._stopped = np.zeros(count, dtype=np.uint8)
        self._nodes = np.zeros(count, dtype=np.int64)
        self._everything = pack(np.ones(len(ensemble.classes), dtype=bool))
        self._possible = np.zeros((count, len(self._everything)), dtype=np.uint8)
        self._twins: dict[int, Floats] = {}
        self.interrupted = False

    def left(self) -> Budget:
        """Return the budget of each part."""
        return self._account.left()

    def is_open(self, person: Places) -> Flags:
        """Tell of whom more may be found out within the budget.

        Parameters
        ----------
        person
            Who they are; unknown from now on, if there is nothing left of their budget.
        """
        (most, _), seconds = self._limit.limits, self._limit.seconds
        is_late = self._nodes[person] > most
        # Of one person that is exact.
        is_over = seconds is not None and self._account.seconds > seconds * len(
            self._people
        )
        if is_over or self._account.is_over:
            is_late[:] = True
        self.give_up(person[is_late], BUDGET)
        return np.asarray((self._verdict[person] != UNFAIR) & ~is_late)

    def give_up(self, person: Places, why: int) -> None:
        """Say that people are unknown, unless they are unfair."""
        lost = person[self._verdict[person] != UNFAIR]
        self._verdict[lost], self._possible[lost] = UNKNOWN, self._everything
        self._stopped[lost] = np.maximum(self._stopped[lost], why)

    def take(self, person: Places, found: Findings) -> None:
        """Take what was found out about parts, one for each, but twins."""
        np.add.at(self._nodes, person, found.nodes + (found.verdict == UNFAIR))
        done = found.verdict != UNFAIR
        np.bitwise_or.at(self._possible, person[done], found.possible[done])
        unknown = np.flatnonzero(found.verdict == UNKNOWN)
        unknown = unknown[self._verdict[person[unknown]] != UNFAIR]
        who = person[unknown]
        self._verdict[who] = UNKNOWN
        np.maximum.at(self._stopped, who, found.stopped[unknown])
        self.interrupted |= found.interrupted

    def keep(self, person: Places, twins: Floats) -> None:
        """Keep one twin of each person."""
        for who, twin in zip(person.tolist(), twins, strict=True):
            self._twins.setdefault(who, twin)
        self._verdict[person], self._stopped[person] = UNFAIR, 0
        self._possible[person] = self._everything

    def findings(self) -> Findings:
        """Return what was found out about everybody."""
        who = np.array(sorted(self._twins), dtype=np.int64)
        twins = np.array([self._twins[one] for one in who.tolist()])
        twins = twins.reshape(len(who), self._people.shape[1])
        label, twin_label = map(self._answers_of, (self._people, twins))
        return Findings(
            verdict=self._verdict,
            label=label.astype(np.int32) if self._ensemble.classes else label,
            possible=self._possible,
            nodes=self._nodes,
            stopped=self._stopped,
            twins=Twins.of(
                index=who,
                people=self._people[who],
                twins=twins,
                label=label[who],
                twin_label=twin_label,
            ),
            classes=self._ensemble.classes,
            interrupted=self.interrupted,
        )

    def _answers_of(self, people: Floats) -> NDArray[Any]:
        return self._ensemble.answer(self._ensemble.mark_missing(people))
