"""Ties between columns: those computed of others, and those in an order.

A column that follows others moves along with them by its slopes, or is computed anew.
Around one person it is a function of the one column that moves. Values here are those
of the tied columns alone.

Affine followers move by ``slope * (value - own)``, rounded to float64 after each
operation, and are added to the person's own value. Other formulas are computed anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Numeric, joint
from fatt.ensemble.floats import from_ordinal, to_ordinal
from fatt.ensemble.joint import Constant, Operation
from fatt.errors import DataError, SpecError
from fatt.region.formula import Formula, Order, in_order
from fatt.region.variables import Variables

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Conditions: TypeAlias = Mapping[int, tuple[float, float]]

#: How often bounds are narrowed by one another; they settle after a few rounds.
_ROUNDS = 64


class Follower(NamedTuple):
    """A column that moves with others.

    Attributes
    ----------
    place
        Which of the tied columns it is.
    sources
        Which of them it follows.
    tree
        How it is computed of the tied columns.
    slopes
        How far it moves for a step of each source; None if it is computed anew.
    text
        The formula as people write it.
    """

    place: int
    sources: tuple[int, ...]
    tree: joint.Formula
    slopes: tuple[float, ...] | None
    text: str

    def of(self, own: Floats, values: Floats) -> Floats:
        """Return the column of similar people.

        Parameters
        ----------
        own : ndarray of shape (n_cases, n_columns)
            The people.
        values : ndarray of shape (n_cases, n_columns)
            Those similar to them, all but this column.
        """
        if self.slopes is None:
            return joint.evaluate(self.tree, values)
        found = own[:, self.place]
        for source, slope in zip(self.sources, self.slopes, strict=True):
            before, after = own[:, source], values[:, source]
            # What is missing, or stays, moves nothing along.
            moves = ~np.isnan(before) & ~np.isnan(after) & (before != after)
            with np.errstate(all="ignore"):
                moved = found + slope * (after - before)
            found = np.where(moves, moved, found)
        return found


class Between(NamedTuple):
    """An order between two of the tied columns."""

    low: int
    high: int
    order: Order


@dataclass(frozen=True, eq=False)
class Ties:
    """What holds between columns of everybody similar, by one similarity.

    Attributes
    ----------
    columns
        The variables that are tied, all of them numbers.
    names
        Their names.
    followers
        Columns that move along, each behind those that it follows.
    orders
        Orders that everybody keeps.
    whole : ndarray of shape (n_columns,)
        Which columns have whole numbers only.
    ends
        The smallest and the largest number that each column of people who meet the
        conditions may have.
    """

    columns: Places
    names: tuple[str, ...]
    followers: tuple[Follower, ...]
    orders: tuple[Between, ...]
    whole: Flags
    ends: tuple[Floats, Floats]

    @property
    def tied(self) -> set[int]:
        """The variables that some tie names."""
        named = [
            *(one for tie in self.followers for one in (tie.place, *tie.sources)),
            *(one for tie in self.orders for one in (tie.low, tie.high)),
        ]
        return set(self.columns[named].tolist())

    def hold(self, own: Floats, values: Floats) -> Flags:
        """Tell of whom all ties hold, by the definition.

        Parameters
        ----------
        own, values : ndarray of shape (n_cases, n_columns)
            People, and others who may be similar to them.
        """
        found = np.ones(len(own), dtype=bool)
        for follower in self.followers:
            made, said = follower.of(own, values), values[:, follower.place]
            found &= (made == said) | (np.isnan(made) & np.isnan(said))
        for low, high, order in self.orders:
            found &= order.holds(values[:, low], values[:, high])
        return found

    def require_own(self, people: Floats, rows: Places) -> None:
        """Refuse people whose own row breaks a tie.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_columns)
            The people.
        rows : ndarray of shape (n_people,)
            In which rows they are.

        Raises
        ------
        DataError
            If there is one; the message names the row and its values.
        """
        for follower in self.followers:
            made, said = follower.of(people, people), people[:, follower.place]
            wrong = (made != said) & ~(np.isnan(made) & np.isnan(said))
            if wrong.any():
                row, name = int(np.argmax(wrong)), self.names[follower.place]
                raise DataError(
                    f"row {rows[row]}: {name!r} is {said[row]:.17g}, and "
                    f"{follower.text} is {made[row]:.17g} there; correct the row or "
                    "the formula."
                )
        for low, high, order in self.orders:
            wrong = ~order.holds(people[:, low], people[:, high])
            if wrong.any():
                row = int(np.argmax(wrong))
                values = " and ".join(
                    f"{self.names[place]!r} is {people[row, place]:.17g}"
                    for place in (low, high)
                )
                raise DataError(
                    f"row {rows[row]} breaks the order {order.plain()!r}: {values}; "
                    "correct the row or the order."
                )

    def around(self, own: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return intervals around people in which followers move along.

        Parameters
        ----------
        own : ndarray of shape (n_cases, n_columns)
            The people.
        low, high : ndarray of shape (n_cases, n_columns)
            Where they may move without ties: followers stay.

        Raises
        ------
        SpecError
            If several columns move of which one is computed.
        """
        leaders = self.leaders(~np.isnan(own) & ((low != own) | (high != own)))
        low, high = low.copy(), high.copy()
        for number, follower in enumerate(self.followers):
            if (leaders[:, number] == -2).any():
                said = " and ".join(repr(self.names[one]) for one in follower.sources)
                raise SpecError(
                    f"{self.names[follower.place]!r} is {follower.text}, and people "
                    f"are similar who differ in {said} at once. A column is followed "
                    "where one of its columns moves: let one of them move at a time, "
                    "each in an alternative of its own."
                )
            moving = leaders[:, number] >= 0
            for bound, end in zip((low, high), self.ends, strict=True):
                bound[moving, follower.place] = end[follower.place]
        # Where a follower turns, its interval is found by the search.
        column, _ = self.turns(own, leaders, low, high)
        straight = np.flatnonzero(column < 0)
        low[straight], high[straight], _ = self.narrowed(
            own[straight], leaders[straight], low[straight], high[straight]
        )
        return low, high

    def leaders(self, moves: Flags) -> Places:
        """Return which column each follower follows where certain columns move.

        Parameters
        ----------
        moves : ndarray of shape (n_boxes, n_columns)
            Which columns may move, followers left out.

        Returns
        -------
        ndarray of shape (n_boxes, n_followers)
            A tied column; -1 if the follower stays, -2 if several of its columns move.
        """
        moves = moves.copy()
        found = np.full((len(moves), len(self.followers)), -1, dtype=np.int64)
        for number, follower in enumerate(self.followers):
            sources = np.array(follower.sources)
            mine = moves[:, sources]
            found[:, number] = np.where(
                mine.any(axis=1), sources[mine.argmax(axis=1)], -1
            )
            found[mine.sum(axis=1) > 1, number] = -2
            moves[:, follower.place] = mine.any(axis=1)
        return found

    def along(self, number: int, own: Floats, leader: Places, at: Floats) -> Floats:
        """Return a follower where its leader is somewhere, and the rest is as it was.

        Parameters
        ----------
        number
            Which follower.
        own : ndarray of shape (n_cases, n_columns)
            The people.
        leader, at : ndarray of shape (n_cases,)
            The column that moves, and to where.
        """
        values = own.copy()
        values[np.arange(len(own)), leader] = at
        return self.followers[number].of(own, values)

    def narrowed(
        self, own: Floats, leaders: Places, low: Floats, high: Floats
    ) -> tuple[Floats, Floats, Flags]:
        """Return what is left of intervals in which all ties hold, and where any is.

        Nobody in whom they hold is left out.

        Parameters
        ----------
        own : ndarray of shape (n_cases, n_columns)
            The people.
        leaders : ndarray of shape (n_cases, n_followers)
            What `leaders` returned.
        low, high : ndarray of shape (n_cases, n_columns)
            The ends of the intervals.
        """
        low, high = low.copy(), high.copy()
        known = ~np.isnan(own)
        is_open = (~known | (low <= high)).all(axis=1)
        for _ in range(_ROUNDS):
            before = low.copy(), high.copy()
            for number in range(len(self.followers)):
                some = np.flatnonzero(is_open & (leaders[:, number] >= 0))
                self._follow(number, own, leaders, (low, high), some)
                is_open &= (~known | (low <= high)).all(axis=1)
            for lower, higher, order in self.orders:
                some = np.flatnonzero(is_open & known[:, lower] & known[:, higher])
                most, least = (
                    order.most(high[some, higher]),
                    order.least(low[some, lower]),
                )
                if self.whole[lower]:
                    most = np.floor(most)
                if self.whole[higher]:
                    least = np.ceil(least)
                high[some, lower] = np.minimum(high[some, lower], most)
                low[some, higher] = np.maximum(low[some, higher], least)
                is_open &= (~known | (low <= high)).all(axis=1)
            changed = (low != before[0]) | (high != before[1])
            if not (changed.any(axis=1) & is_open).any():
                break
        return low, high, np.asarray(is_open)

    def _follow(
        self,
        number: int,
        own: Floats,
        leaders: Places,
        bounds: tuple[Floats, Floats],
        some: Places,
    ) -> None:
        """Narrow a follower by its leader, and its leader by it, in some cases."""
        (low, high), place = bounds, self.followers[number].place
        if not some.size:
            return
        leader, mine = leaders[some, number], own[some]
        ends = [self.along(number, mine, leader, end[some, leader]) for end in bounds]
        low[some, place] = np.maximum(low[some, place], np.minimum(*ends))
        high[some, place] = np.minimum(high[some, place], np.maximum(*ends))
        # Where the follower may not go, its leader may not either.
        for bound, is_upper in ((low, False), (high, True)):
            limit = bound[some, place]
            beyond = [end > limit if is_upper else end < limit for end in ends]
            cut = np.flatnonzero(beyond[0] != beyond[1])
            if not cut.size:
                continue
            inner = limit if is_upper else np.nextafter(limit, -np.inf)
            rows, column = some[cut], leader[cut]
            follow = functools.partial(self.along, number, own[rows], column)
            span = low[rows, column], high[rows, column]
            at = last_place(follow, span, inner[cut], self.whole[column])
            first = beyond[0][cut]
            low[rows, column] = np.where(
                first, self.after(column, at), low[rows, column]
            )
            high[rows, column] = np.where(first, high[rows, column], at)

    def after(self, column: Places, at: Floats) -> Floats:
        """Return the next number of a column."""
        return np.where(self.whole[column], np.floor(at) + 1, np.nextafter(at, np.inf))

    def nearest(
        self,
        own: Floats,
        leaders: Places,
        low: Floats,
        high: Floats,
        wanted: Floats,
    ) -> tuple[Floats, Flags]:
        """Return values in intervals, near those wanted, and for whom all ties hold.

        Parameters
        ----------
        own, leaders, low, high
            As for `narrowed`, which has narrowed them.
        wanted : ndarray of shape (n_cases, n_columns)
            Where they should be, if they can.
        """
        absent, most = np.isnan(own), high.copy()
        for place in range(len(self.columns)):
            if place not in {follower.place for follower in self.followers}:
                # Nowhere larger than wanted, unless an order asks for it.
                mine = np.clip(wanted[:, place], low[:, place], high[:, place])
                most[:, place] = np.where(absent[:, place], own[:, place], mine)
        _, most, _ = self.narrowed(own, leaders, low, most)
        values = np.where(absent, own, most)
        for number, follower in enumerate(self.followers):
            moving = np.flatnonzero(leaders[:, number] >= 0)
            values[moving, follower.place] = follower.of(own[moving], values[moving])
        inside = absent | ((values >= low) & (values <= high))
        return values, inside.all(axis=1) & self.hold(own, values)

    def cut(
        self,
        own: Floats,
        leaders: Places,
        ends: tuple[Floats, Floats],
        cells: tuple[Floats, Floats],
    ) -> tuple[Places, Floats]:
        """Return where to part intervals, so that neither part has certain cells.

        Parameters
        ----------
        own, leaders, ends
            As for `narrowed`, which has narrowed them.
        cells
            Intervals within these, in which nobody is for whom all ties hold.

        Returns
        -------
        column : ndarray of shape (n_cases,)
            Which column is parted; -1 where the intervals are one point.
        at : ndarray of shape (n_cases,)
            The last number on the first side.
        """
        (low, high), (first, last) = ends, cells
        column, at = np.full(len(own), -1, dtype=np.int64), np.zeros(len(own))
        known = ~np.isnan(own)
        for lower, higher, order in self.orders:
            most = order.most(np.where(known[:, higher], last[:, higher], 0.0))
            if self.whole[lower]:
                most = np.floor(most)
            broken = known[:, lower] & known[:, higher] & (first[:, lower] > most)
            some = np.flatnonzero((column < 0) & broken)
            column[some], at[some] = lower, most[some]
        for number, follower in enumerate(self.followers):
            some = np.flatnonzero(
                (column < 0) & (leaders[:, number] >= 0) & known[:, follower.place]
            )
            if not some.size:
                continue
            mine, leader = own[some], leaders[some, number]
            made = [
                self.along(number, mine, leader, end[some, leader]) for end in cells
            ]
            least, largest = np.minimum(*made), np.maximum(*made)
            above = least > last[some, follower.place]
            below = largest < first[some, follower.place]
            limit = np.where(
                above,
                last[some, follower.place],
                np.nextafter(first[some, follower.place], -np.inf),
            )
            cut = np.flatnonzero(above | below)
            rows, leader = some[cut], leader[cut]
            follow = functools.partial(self.along, number, own[rows], leader)
            span = low[rows, leader], high[rows, leader]
            column[rows] = leader
            at[rows] = last_place(follow, span, limit[cut], self.whole[leader])
        return self._cut_elsewhere((low, high), (first, last), known, (column, at))

    def _cut_elsewhere(
        self,
        ends: tuple[Floats, Floats],
        cells: tuple[Floats, Floats],
        known: Flags,
        found: tuple[Places, Floats],
    ) -> tuple[Places, Floats]:
        """Part what is not parted yet: at the end of a cell, and else in the middle."""
        (low, high), (first, last), (column, at) = ends, cells, found
        before = np.nextafter(first, -np.inf)
        before = np.where(self.whole, np.ceil(first) - 1, before)
        half = to_ordinal(np.where(known, low, 0.0)) // 2
        half += to_ordinal(np.where(known, high, 0.0)) // 2
        middle = np.clip(from_ordinal(half), low, high)
        middle = np.where(self.whole, np.floor(middle), middle)
        middle = np.where(middle < high, middle, low)
        for place in range(len(self.columns)):
            for wanted, is_wide in (
                (last, last < high),
                (before, first > low),
            ):
                some = known[:, place] & (column < 0) & is_wide[:, place]
                column[some], at[some] = place, wanted[some, place]
        for place in range(len(self.columns)):
            some = known[:, place] & (column < 0) & (low < high)[:, place]
            column[some], at[some] = place, middle[some, place]
        return column, at

    def turns(
        self, own: Floats, leaders: Places, low: Floats, high: Floats
    ) -> tuple[Places, Floats]:
        """Return where followers turn from falling to growing, or the other way.

        Parameters
        ----------
        own, leaders, low, high
            As for `narrowed`, for which intervals must be parted there.

        Returns
        -------
        column : ndarray of shape (n_cases,)
            The leader of which that is said; -1 if nothing turns.
        at : ndarray of shape (n_cases,)
            The last number on the first side.

        Raises
        ------
        UntiedError
            If something is divided by zero, or overflows, for somebody similar.
        """
        column, at = np.full(len(own), -1, dtype=np.int64), np.zeros(len(own))
        for number, follower in enumerate(self.followers):
            if follower.slopes is not None:
                continue
            for source in follower.sources:
                some = np.flatnonzero(
                    (leaders[:, number] == source) & ~np.isnan(own[:, follower.place])
                )
                if some.size:
                    ends = low[some, source], high[some, source]
                    found = self._turn(follower, source, own[some], some, ends)
                    new = ~np.isnan(found)
                    column[some[new]], at[some[new]] = source, found[new]
        return column, at

    def _turn(
        self,
        follower: Follower,
        source: int,
        own: Floats,
        cases: Places,
        ends: tuple[Floats, Floats],
    ) -> Floats:
        """Return where one follower turns; NaN where it does not."""
        found = np.full(len(own), np.nan)
        parts = list(joint.parts_along(follower.tree, source))
        for operation, inner in reversed(parts):
            assert inner is not None

            def made(at: Floats, part: joint.Formula = inner) -> Floats:
                values = own.copy()
                values[:, source] = at
                return joint.evaluate(part, values)

            first, last = map(made, ends)
            has_turn = ~np.isnan(found)
            wide = ~has_turn & (np.minimum(first, last) < 0)
            wide &= np.maximum(first, last) > 0
            both = [source in joint.places_of(operation.left)]
            both.append(source in joint.places_of(operation.right))
            if all(both) and wide.any():
                at = last_place(made, ends, np.zeros(len(own)), self.whole[source])
                found = np.where(wide, at, found)
            has_zero = (np.minimum(first, last) <= 0) & (np.maximum(first, last) >= 0)
            if operation.operator == "/" and both[1]:
                self._refuse(
                    cases[~has_turn & has_zero], follower, source, "divides by zero"
                )
        for part in [follower.tree, *(one for one, _ in parts)]:
            for end in ends:
                values = own.copy()
                values[:, source] = end
                lost = ~np.isfinite(joint.evaluate(part, values))
                self._refuse(cases[lost], follower, source, "overflows")
        return found

    def _refuse(
        self, cases: Places, follower: Follower, source: int, what: str
    ) -> None:
        if cases.size:
            raise UntiedError(
                int(cases[0]),
                f"{follower.text} {what} for some who are similar in "
                f"{self.names[source]!r}: name a smaller range, or say in the schema "
                "what the column can be.",
            )


class UntiedError(SpecError):
    """What a follower would be is not known for somebody similar.

    Attributes
    ----------
    case
        Which of the cases that is.
    reason
        Why.
    """

    def __init__(self, case: int, reason: str) -> None:
        super().__init__(reason)
        self.case, self.reason = case, reason


def last_place(
    function: Callable[[Floats], Floats],
    ends: tuple[Floats, Floats],
    limit: Floats,
    is_whole: Flags,
) -> Floats:
    """Return the last place before monotone functions cross a limit.

    Parameters
    ----------
    function
        Takes a place for each case.
    ends
        Where each interval begins and ends.
    limit : ndarray of shape (n_cases,)
        At one end the function is at most this, at the other more.
    is_whole : ndarray of shape (n_cases,)
        Whether the place must be a whole number.
    """
    first, last = (to_ordinal(end) for end in ends)
    side = function(ends[0]) <= limit
    while (last - 1 > first).any():
        # The halves are added, not the ends, so that nothing overflows.
        middle = (first >> 1) + (last >> 1) + (first & last & 1)
        is_first = side == (function(from_ordinal(middle)) <= limit)
        first, last = (
            np.where(is_first, middle, first),
            np.where(is_first, last, middle),
        )
    found = from_ordinal(first)
    return np.where(is_whole, np.floor(found), found)


@dataclass(frozen=True, eq=False)
class Tied:
    """Which ties hold in which boxes, and for which people.

    Attributes
    ----------
    rules
        The ties of each alternative of a similarity, all over the same columns.
    rule : ndarray of shape (n_boxes,)
        Which of them holds in each box.
    people : ndarray of shape (n_people, n_columns)
        The people, in the tied columns.
    """

    rules: tuple[Ties, ...]
    rule: Places
    people: Floats

    @property
    def columns(self) -> Places:
        """The variables that are tied."""
        return self.rules[0].columns

    def of(self, boxes: Places, people: Places) -> Tied:
        """Return the ties of some boxes, which are those of some people."""
        return replace(self, rule=self.rule[boxes], people=self.people[people])

    def at(self, places: Sequence[int]) -> Tied:
        """Return the same ties where variables stand at other places.

        Parameters
        ----------
        places
            Which of today's variables stands at each place.
        """
        columns = np.array([list(places).index(one) for one in self.columns.tolist()])
        rules = tuple(replace(ties, columns=columns) for ties in self.rules)
        return replace(self, rules=rules)

    def hold(self, boxes: Places, people: Places, values: Floats) -> Flags:
        """Tell for whom the ties of a box hold, by the definition.

        Parameters
        ----------
        boxes, people : ndarray of shape (n_cases,)
            The box by whose rule each case is judged, and its person.
        values : ndarray of shape (n_cases, n_variables)
            The other of each case.
        """
        found = np.ones(len(boxes), dtype=bool)
        for number, ties in enumerate(self.rules):
            some = np.flatnonzero(self.rule[boxes] == number)
            others = values[some][:, ties.columns]
            found[some] = ties.hold(self.people[people[some]], others)
        return found

    def settled(self, rule: Places, own: Floats, values: Floats) -> Floats:
        """Return others with their followers moved along.

        Where ties do not hold even so, the people themselves are returned.

        Parameters
        ----------
        rule : ndarray of shape (n_cases,)
            Which ties each is to keep.
        own, values : ndarray of shape (n_cases, n_variables)
            The people and the others.
        """
        found = values.copy()
        for number, ties in enumerate(self.rules):
            some = np.flatnonzero(rule == number)
            mine, others = own[some][:, ties.columns], values[some][:, ties.columns]
            for follower in ties.followers:
                others[:, follower.place] = follower.of(mine, others)
            (low, high), same = ties.ends, np.isnan(mine) & np.isnan(others)
            holds = ((others >= low) & (others <= high) | same).all(axis=1)
            holds &= ties.hold(mine, others)
            found[np.ix_(some, ties.columns)] = others
            found[some[~holds]] = own[some[~holds]]
        return found


# ---- From names to columns.


def bind_ties(
    said: Sequence[tuple[Mapping[str, Formula], Sequence[Order], Conditions]],
    variables: Variables,
    ends: tuple[Floats, Floats],
) -> tuple[Ties, ...] | None:
    """Return the ties of each alternative; None if none has any.

    Parameters
    ----------
    said
        For each alternative the columns that follow, by name, the orders, and the
        smallest and the largest number that its conditions allow, by variable.
    variables
        The model's variables.
    ends : ndarray of shape (n_variables,)
        The smallest and the largest number that each variable may have.

    Raises
    ------
    SpecError
        If a tie names what is no number, if nobody can keep all orders, or if a formula
        is not followed.
    """
    named = [
        name
        for formulas, orders, _ in said
        for name in (
            *(
                one
                for key, formula in formulas.items()
                for one in (key, *formula.columns)
            ),
            *(one for order in orders for one in (order.low, order.high)),
        )
    ]
    if not named:
        return None
    place_of = {name: _place(name, variables) for name in named}
    columns = sorted(set(place_of.values()))
    at = {name: columns.index(place) for name, place in place_of.items()}
    names = tuple(variables.schema.variables[place].name for place in columns)
    features = [variables.ensemble.features[place] for place in columns]
    whole = np.array([isinstance(f, Numeric) and f.integer for f in features])
    bounds = ends[0][np.array(columns)], ends[1][np.array(columns)]
    found = []
    for formulas, orders, conditions in said:
        followers = [
            _follower(name, formulas[name], at, whole) for name in in_order(formulas)
        ]
        between = [Between(at[one.low], at[one.high], one) for one in orders]
        _require_possible(between, len(columns))
        ties = Ties(
            np.array(columns), names, tuple(followers), tuple(between), whole, bounds
        )
        _require_somebody(ties)
        found.append(replace(ties, ends=_meeting(conditions, columns, bounds)))
    return tuple(found)


def _meeting(
    conditions: Conditions, columns: Sequence[int], ends: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return the ends of tied columns of whoever meets conditions."""
    low, high = (end.copy() for end in ends)
    for at, place in enumerate(columns):
        if place in conditions:
            least, most = conditions[place]
            low[at], high[at] = max(low[at], least), min(high[at], most)
    return low, high


def _place(name: str, variables: Variables) -> int:
    """Return the variable of a name, which must be a number."""
    variable = variables.schema.find(name, said_in="a formula or an order")
    place = variables.schema.variables.index(variable)
    if not isinstance(variables.ensemble.features[place], Numeric):
        raise SpecError(
            f"a formula or an order names {variable.name!r}, which is a category, or a "
            "number of which vary lists the values; name numbers, and let them move by "
            "noise, such as a range '18..30'."
        )
    return place


def _follower(
    name: str, formula: Formula, at: Mapping[str, int], whole: Flags
) -> Follower:
    """Return a follower over the tied columns."""
    places = [at[one] for one in formula.columns]
    tree = formula.over(places)
    affine, text = formula.affine, formula.plain()
    is_whole_number = affine is not None and all(
        slope.denominator == 1 and whole[places[source]]
        for source, slope in affine.slopes
    )
    if affine is None:
        for place in dict.fromkeys(places):
            if any(inner is None for _, inner in joint.parts_along(tree, place)):
                raise SpecError(
                    f"follow computes {name!r} as {text}, in which "
                    f"{formula.columns[places.index(place)]!r} stands twice, other "
                    "than as a power, so that its order is not known; write it once."
                )
        is_whole_number = all(whole[places]) and _keeps_whole(tree)
    if whole[at[name]] and not is_whole_number:
        raise SpecError(
            f"follow computes {name!r} as {text}, which need not be a whole number, "
            f"and {name!r} is one; call it a Number in the schema, or write a formula "
            "of whole numbers without a ratio."
        )
    if affine is None:
        sources, slopes = tuple(dict.fromkeys(places)), None
    else:
        sources = tuple(places[source] for source, _ in affine.slopes)
        slopes = tuple(float(slope) for _, slope in affine.slopes)
        if not sources:
            raise SpecError(
                f"follow computes {name!r} as {text}, which is always the same; name "
                "what it follows."
            )
    return Follower(at[name], sources, tree, slopes, text)


def _keeps_whole(tree: joint.Formula) -> bool:
    """Tell whether a formula makes whole numbers of whole numbers."""
    if isinstance(tree, Constant):
        return float(tree.value).is_integer()
    if isinstance(tree, Operation):
        sides = _keeps_whole(tree.left) and _keeps_whole(tree.right)
        return sides and tree.operator != "/"
    return True


def _require_possible(orders: Sequence[Between], n_columns: int) -> None:
    """Refuse orders that contradict one another, by the closure of all."""
    # How much each column is at most above another, and whether that is left out.
    closure: dict[tuple[int, int], tuple[Fraction, bool]] = {}
    for low, high, order in orders:
        bound = Fraction(order.shift), not order.is_strict
        closure[low, high] = min(bound, closure.get((low, high), bound))
    for middle in range(n_columns):
        for low in range(n_columns):
            for high in range(n_columns):
                one, other = closure.get((low, middle)), closure.get((middle, high))
                if one is not None and other is not None:
                    bound = one[0] + other[0], one[1] and other[1]
                    closure[low, high] = min(bound, closure.get((low, high), bound))
    said = ", ".join(repr(order.plain()) for _, _, order in orders)
    for column in range(n_columns):
        bound = closure.get((column, column), (Fraction(1), True))
        if bound < (Fraction(0), True):
            raise SpecError(f"nobody can keep the orders {said}; correct one.")
        if bound == (Fraction(0), True):
            raise SpecError(
                f"the orders {said} leave no room between two columns; say in follow "
                "how one is computed of the other."
            )


def _require_somebody(ties: Ties) -> None:
    """Refuse orders that nobody can keep within the bounds of the schema."""
    only, (low, high) = replace(ties, followers=()), ties.ends
    anybody, none = np.zeros((1, len(low))), np.zeros((1, 0), dtype=np.int64)
    *_, is_open = only.narrowed(anybody, none, low[np.newaxis], high[np.newaxis])
    if not is_open[0]:
        said = ", ".join(repr(one.order.plain()) for one in ties.orders)
        raise SpecError(
            f"nobody can keep the order {said} within the bounds of the schema; "
            "correct one of them."
        )
