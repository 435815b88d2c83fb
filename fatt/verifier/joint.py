"""The search of models that compute columns of several others.

Around one person such a column hangs on one moving number or category, and on others
that stay. So people are searched in groups with the same fixed values, each with the
model that theirs leaves: see `fatt.importers.columns.joints`. One box of a person is
searched at a time, since another may let another column move.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, ScoreBounds
from fatt.ensemble.allowed import Allowed
from fatt.ensemble.joint import Fixed, in_words, places_of
from fatt.errors import SpecError, UnsupportedModelError
from fatt.region.boxes import Boxes
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
from fatt.verifier.intervals import reach_of
from fatt.verifier.search import Extremes, Verifier

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

#: Of so many groups the prepared searches are kept.
_KEPT = 64


class NotFollowedError(SpecError):
    """What the model computes of those similar to somebody is not followed.

    Attributes
    ----------
    person
        Who that is, among those whom the search was given.
    reason
        Why.
    """

    def __init__(self, person: int, reason: str) -> None:
        super().__init__(person, reason)
        self.person, self.reason = person, reason

    def __str__(self) -> str:
        return f"person {self.person}: {self.reason}"


class _Group(NamedTuple):
    """Boxes around people with the same fixed values.

    Attributes
    ----------
    boxes : ndarray
        Which boxes these are.
    verifier
        The search of what is left of the model.
    people, where
        The people and their boxes, one each, with the computed columns that stay.
    """

    boxes: Places
    verifier: Verifier
    people: Floats
    where: Boxes


class JointVerifier:
    """Decides as `Verifier` does, of a model that computes columns of several others.

    Parameters
    ----------
    ensemble
        The model, with one feature per variable.
    leave
        Returns what is left of a model for people with certain fixed values.
    allowed
        Which answers of similar people are still fair.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        leave: Callable[[Ensemble, Fixed], Ensemble],
        allowed: Allowed,
    ) -> None:
        self.ensemble, self.allowed, self._leave = ensemble, allowed, leave
        self._sources = [
            np.array(places_of(joint.formula), dtype=np.int64)
            for joint in ensemble.joints
        ]
        asked = len(ensemble.features) + np.arange(len(ensemble.joints))
        self._is_read = np.isin(asked, ensemble.trees.nodes["feature"]).tolist()
        self._known: OrderedDict[bytes, Verifier] = OrderedDict()
        self._active: list[Verifier] = []
        self._is_stopped = False

    def for_one_run(self) -> JointVerifier:
        """Return one of the same model that is stopped without stopping others."""
        other = object.__new__(JointVerifier)
        other.__dict__.update(self.__dict__, _active=[], _is_stopped=False)
        return other

    def stop(self) -> None:
        """Make searches in other threads give up at once, and all later ones."""
        self._is_stopped = True
        for verifier in list(self._active):
            verifier.stop()

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
            As in `Verifier.verify`; a budget of each person is one of each box here.

        Raises
        ------
        NotFollowedError
            If two columns move of which the model computes one.
        """
        account, count = Account(for_each(budget)), len(boxes)
        verdict = np.full(count, UNKNOWN, dtype=np.int8)
        stopped = np.zeros(count, dtype=np.uint8)
        is_left = np.ones(count, dtype=bool)
        nodes = np.zeros(count, dtype=np.int64)
        everything = pack(np.ones(len(self.ensemble.classes), dtype=bool))
        possible = np.tile(everything, (count, 1))
        label = self.ensemble.answer(people)
        twins, twin_label = people[boxes.person], label[boxes.person]
        interrupted = False
        for group in self._groups(people, boxes, account):
            with self._one_run(group.verifier) as verifier:
                found = verifier.verify(
                    group.people, group.where, budget=account.left(), n_jobs=n_jobs
                )
            mine = group.boxes
            is_left[mine] = False
            verdict[mine], stopped[mine] = found.verdict, found.stopped
            nodes[mine], possible[mine] = found.nodes, found.possible
            interrupted |= found.interrupted
            unfair = mine[found.twins.index]
            twins[unfair] = found.twins.everybody()[:, : people.shape[1]]
            twin_label[unfair] = found.twins.twin_label
        stopped[is_left] = INTERRUPTED if self._is_stopped else BUDGET
        interrupted |= bool(self._is_stopped and is_left.any())
        starts = boxes.starts(len(people))[:-1]
        said, who, first = _worst(verdict, boxes.person, starts)
        why = np.where(verdict == UNKNOWN, stopped, 0)
        return Findings(
            verdict=said,
            label=label.astype(np.int32) if self.ensemble.classes else label,
            possible=np.bitwise_or.reduceat(possible, starts),
            nodes=np.add.reduceat(nodes, starts),
            stopped=np.where(
                said == UNKNOWN, np.maximum.reduceat(why, starts), 0
            ).astype(np.uint8),
            twins=Twins.of(
                index=who,
                people=people[who],
                twins=twins[first],
                label=label[who],
                twin_label=twin_label[first],
            ),
            classes=self.ensemble.classes,
            interrupted=interrupted,
        )

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
        """
        account, count = Account(for_each(budget)), len(boxes)
        # Of who is never come to, nothing is known.
        ends = np.tile([[-np.inf], [np.inf]], (2, 1, count))
        at = np.tile(people[boxes.person], (2, 1, 1))
        nodes = np.zeros(count, dtype=np.int64)
        for group in self._groups(people, boxes, account):
            with self._one_run(group.verifier) as verifier:
                found = verifier.extremes(
                    group.people,
                    group.where,
                    output,
                    budget=account.left(),
                    n_jobs=n_jobs,
                )
            mine = group.boxes
            ends[0][:, mine], ends[1][:, mine] = found.lowest, found.highest
            at[0, mine] = found.lowest_at[:, : people.shape[1]]
            at[1, mine] = found.highest_at[:, : people.shape[1]]
            nodes[mine] = found.nodes
        starts = boxes.starts(len(people))[:-1]
        lowest = [np.minimum.reduceat(side, starts) for side in ends[0]]
        highest = [np.maximum.reduceat(side, starts) for side in ends[1]]
        # Whose score was found furthest out, of all boxes of a person.
        nearest = _first_where(ends[0][1] == lowest[1][boxes.person], boxes.person)
        furthest = _first_where(ends[1][0] == highest[0][boxes.person], boxes.person)
        return Extremes(
            lowest=ScoreBounds(*lowest),
            highest=ScoreBounds(*highest),
            lowest_at=at[0, nearest],
            highest_at=at[1, furthest],
            nodes=np.add.reduceat(nodes, starts),
        )

    @contextmanager
    def _one_run(self, verifier: Verifier) -> Iterator[Verifier]:
        """Yield a search that is stopped when this one is."""
        own = verifier.for_one_run()
        self._active.append(own)
        if self._is_stopped:
            own.stop()
        try:
            yield own
        finally:
            self._active.remove(own)

    def _groups(
        self, people: Floats, boxes: Boxes, account: Account
    ) -> Iterator[_Group]:
        """Yield the boxes, grouped by what moves and by the fixed values beside it.

        As long as there is time: what is left of the model is prepared for each group.
        """
        own = people[boxes.person]
        moving, beside = self._moving(people, boxes)
        fixed = np.where(beside, own, 0.0)
        keys = np.hstack([moving, fixed.view(np.int64)])
        _, first, which = np.unique(
            keys, axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(which.ravel()))[:-1]
        groups = list(zip(np.split(order, ends), first.tolist(), strict=True))
        while groups:
            if self._is_stopped or account.is_over:
                return
            mine, one = groups.pop(0)
            one_each = boxes.one_each(mine)
            lower, upper = one_each.hull(own[mine])
            fix = Fixed(
                tuple(None if place < 0 else place for place in moving[one].tolist()),
                own[one],
                lower,
                upper,
            )
            key = keys[one].tobytes() + lower.tobytes() + upper.tobytes()
            try:
                verifier = self._verifier(key, fix)
            except (SpecError, UnsupportedModelError) as error:
                if len(mine) == 1:
                    person = boxes.person[mine[0]]
                    raise NotFollowedError(int(person), str(error)) from error
                # What is refused may lie between the boxes, where nobody is.
                groups[:0] = [(mine[[i]], int(mine[i])) for i in range(len(mine))]
                continue
            still = self.ensemble.joint_values(own[mine])[:, moving[one] < 0]
            people = np.hstack([own[mine], still])
            yield _Group(mine, verifier, people, one_each.with_numbers(still))

    def _moving(self, people: Floats, boxes: Boxes) -> tuple[Places, Flags]:
        """Return what moves in each computed column of each box, and what stays there.

        The first is the feature that moves, -1 if none does; the second marks those
        that are fixed beside one.
        """
        own, moves = people[boxes.person], boxes.moves(people, self.ensemble.features)
        moving = np.full((len(boxes), len(self._sources)), -1, dtype=np.int64)
        beside = np.zeros(own.shape, dtype=bool)
        for number, places in enumerate(self._sources):
            if not self._is_read[number]:
                # No split hangs on it; only that the library takes it must be sure.
                self._require_taken(number, own, boxes)
                continue
            these = moves[:, places]
            several = np.flatnonzero(these.sum(axis=1) > 1)
            if len(several):
                self._refuse(number, int(boxes.person[several[0]]), these[several[0]])
            [some] = np.nonzero(these.any(axis=1))
            moving[some, number] = places[these[some].argmax(axis=1)]
            beside[np.ix_(some, places)] |= ~these[some]
        return moving, beside

    def _verifier(self, key: bytes, fixed: Fixed) -> Verifier:
        known = self._known.get(key)
        if known is None:
            known = Verifier(self._leave(self.ensemble, fixed), allowed=self.allowed)
            self._known[key] = known
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return known

    def _require_taken(self, number: int, own: Floats, boxes: Boxes) -> None:
        """Refuse people of whom something may be computed that the library refuses."""
        joint = self.ensemble.joints[number]
        feature, formula = joint.feature, joint.formula
        reach = reach_of(formula, self.ensemble.features, own, boxes)
        beyond = (reach.low < feature.lower) | (reach.high > feature.upper)
        if not feature.accepts_missing:
            beyond |= reach.missing
        if beyond.any():
            words = in_words(formula, self.ensemble.features)
            raise NotFollowedError(
                int(boxes.person[np.argmax(beyond)]),
                f"the model computes {words}, and may refuse what that is for some who "
                "are similar: name a smaller range, or say in the schema what the "
                "columns can be.",
            )

    def _refuse(self, number: int, person: int, moves: Flags) -> None:
        features = self.ensemble.features
        formula = self.ensemble.joints[number].formula
        places = self._sources[number][moves].tolist()
        names = " and in ".join(repr(features[place].name) for place in places)
        raise NotFollowedError(
            person,
            f"people are similar who differ in {names} at once, and "
            f"the model computes {in_words(formula, features)} of them. "
            "That is followed where all but one of its columns stay as they are: ask "
            "about one of them at a time, each in an alternative of its own.",
        )


def for_each(budget: Budget | None) -> Budget:
    """Return the limits of each box: those of nodes in all are kept by the run."""
    if budget is None or budget.total_nodes is None:
        return budget or Budget()
    most, _ = budget.limits
    return msgspec.structs.replace(budget, nodes=most, total_nodes=None)


#: From the best to the worst, by the codes of `fatt.verdict`.
_RANK = np.zeros(3, dtype=np.int64)
_RANK[[FAIR, UNKNOWN, UNFAIR]] = 0, 1, 2


def _worst(
    verdict: NDArray[np.int8], person: Places, starts: Places
) -> tuple[NDArray[np.int8], Places, Places]:
    """Return the verdict of each person, who is treated unfairly, and in which box.

    That is the first box in which there is somebody with another answer.
    """
    worst = np.maximum.reduceat(_RANK[verdict], starts)
    said = np.array([FAIR, UNKNOWN, UNFAIR], dtype=np.int8)[worst]
    who = np.flatnonzero(said == UNFAIR)
    is_unfair = np.flatnonzero(verdict == UNFAIR)
    return said, who, is_unfair[np.searchsorted(person[is_unfair], who)]


def _first_where(holds: Flags, person: Places) -> Places:
    """Return the first box of each person for which something holds."""
    [places] = np.nonzero(holds)
    _, first = np.unique(person[places], return_index=True)
    return places[first]
