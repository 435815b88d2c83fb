"""Some people similar to those who are fair, drawn so that the model can be asked.

Half of them are drawn from the regions that were searched: anywhere, at thresholds and
next to them, with every category. The other half shares no code with these regions:
what may vary is taken as it stands from the rows of others, and noise is added as the
words of the similarity say, as the checker of certificates understands them. So a
region that leaves somebody out is noticed as well.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Run
from fatt.certificate.columns import Codes, Column, Numbers, columns_of
from fatt.certificate.similar import Reach, Rule, Similar
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.ensemble.numeric import gaps_of, mark_missing
from fatt.ensemble.tables import places_of
from fatt.people import People
from fatt.people.edits import with_changes
from fatt.region import Boxes, Variables, code_words
from fatt.verdict import changes_between, values_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Random = np.random.Generator

#: How many people similar to the fair the model itself is asked about, by default.
SPOT_CHECKS = 1_000

#: Of larger tables so many rows are looked at for what may vary.
_MOST_DONORS = 2_000
#: How often something that may be missing is, if it is drawn.
_SHARE_OF_MISSING = 0.15


@dataclass(frozen=True, eq=False)
class Drawn:
    """People similar to others, in the user's own kind of table.

    Attributes
    ----------
    index : ndarray of shape (n_drawn,)
        The row of the person to whom each is similar, increasing.
    make
        Makes a table of some of them, given their places.
    own, values : ndarray of shape (n_drawn, n_variables)
        The values of the person, and of the one who is similar.
    """

    index: Places
    make: Callable[[Places], Any]
    own: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.index)

    @functools.cached_property
    def table(self) -> Any:
        """All of them in one table."""
        return self.make(np.arange(len(self)))

    def alone(self, place: int) -> Drawn:
        """Return one of them, in a table of its own."""
        one = np.array([place])
        return Drawn(
            self.index[one],
            lambda places: self.make(one[places]),
            self.own[one],
            self.values[one],
        )

    def changes(self, place: int, variables: Variables) -> str:
        """Say how one of them differs from the person, as far as we can read it."""
        features = variables.ensemble.features
        own, other = self.own[place], self.values[place]
        changes = changes_between(
            values_of(features, own), values_of(features, other, made_of=own)
        )
        return ", ".join(f"{name} {change}" for name, change in changes.items())


def draw(run: Run, fair: Places, count: int) -> Drawn | None:
    """Draw people who are similar to some, each of them another.

    Parameters
    ----------
    run
        The people, and who is similar to whom.
    fair : ndarray
        The rows of those to whom they are to be similar, increasing.
    count
        How many are drawn at most. The same are drawn for the same question.

    Returns
    -------
    Drawn or None
        None if there is nobody else who is similar.
    """
    if not count or not fair.size:
        return None
    rng = _random(run)
    # As many for each, or one for each of some who are spread evenly.
    person = np.sort(np.arange(count) % len(fair))
    if len(fair) > count:
        person = np.linspace(0, len(fair) - 1, count).round().astype(np.int64)
    chosen, person = np.unique(fair[person], return_inverse=True)
    donors = np.sort(rng.permutation(len(run.people))[:_MOST_DONORS])
    own, donated = _values(run, chosen, donors)
    by_words = np.arange(count) % 2 == 1
    columns = columns_of(run.variables.model, run.variables.schema)
    cast = _Cast(chosen[person], own[person], columns)
    boxes = _box_of_each(run.boxes(own), person[~by_words], rng)
    _from_regions(cast, np.flatnonzero(~by_words), boxes, run, rng)
    others = _Others(donors, donated)
    _from_words(cast, np.flatnonzero(by_words), others, run, rng)
    return cast.drawn(run.people, run.variables)


def _random(run: Run) -> Random:
    """Return a source of chance that depends on the question alone."""
    columns = [feature.name for feature in run.variables.model.features]
    question = (columns, run.similarity.to_toml(), len(run.people))
    digest = hashlib.sha256(repr(question).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def _values(run: Run, *rows: Places) -> list[Floats]:
    """Return the values of some rows and of others, which are read together."""
    people = run.people
    wanted = np.unique(np.concatenate(rows))
    if len(people) <= len(wanted):
        values = people.values(0, len(people))
    else:
        values = People(people.take(wanted), run.variables).values(0, len(wanted))
    return [values[np.searchsorted(wanted, some)] for some in rows]


class _Others(NamedTuple):
    """Rows of other people, increasing, and their values."""

    rows: Places
    values: Floats


class _Cast:
    """People in the making: each begins as the person to whom it is to be similar.

    Attributes
    ----------
    columns
        The columns behind each variable.
    index : ndarray of shape (n_drawn,)
        The row of that person.
    own, values : ndarray of shape (n_drawn, n_variables)
        That person's values, and the values that are written.
    donor : ndarray of shape (n_drawn, n_variables)
        From which row the cells of each variable are taken.
    seen : ndarray of shape (n_drawn, n_variables)
        What these cells, or the values that are written, mean to us.
    """

    def __init__(self, index: Places, own: Floats, columns: tuple[Column, ...]) -> None:
        self.index, self.own, self.columns = index, own, columns
        self.values, self.seen = own.copy(), own.copy()
        self.donor = np.repeat(index[:, np.newaxis], own.shape[1], axis=1)

    def write(self, who: Places, index: int, values: Floats) -> None:
        """Give some of them a value."""
        self.values[who, index] = self.seen[who, index] = values

    def take(self, who: Places, index: int, rows: Places, values: Floats) -> None:
        """Give some of them the cells of others, who have these values."""
        self.donor[who, index] = rows
        self.seen[who, index] = values

    def drawn(self, people: People, variables: Variables) -> Drawn | None:
        """Return those who are somebody else, each once."""
        taken = self.donor != self.index[:, np.newaxis]
        # Cells that mean the same to us are the same, unless we do not know them.
        known = [
            len(one.labels) if isinstance(one, Codes) else np.inf
            for one in self.columns
        ]
        is_unknown = taken & (self.seen >= np.array(known))
        is_other = ~_equal(self.seen, self.own) | is_unknown
        key = np.where(is_unknown, -1.0 - self.donor, self.seen)
        rows = np.column_stack([self.index, is_unknown, key])
        first = {row.tobytes(): place for place, row in enumerate(rows)}
        keep = np.sort(np.array([*first.values()], dtype=np.int64))
        keep = keep[is_other[keep].any(axis=1)]
        if not keep.size:
            return None

        def make(places: Places) -> Any:
            some = keep[places]
            table = self._exchanged(people, variables.model, some)
            before, after = map(variables.scatter, (self.own[some], self.values[some]))
            return with_changes(table, before, after, variables.model)

        return Drawn(self.index[keep], make, self.own[keep], self.seen[keep])

    def _exchanged(self, people: People, model: Ensemble, keep: Places) -> Any:
        """Return rows of the user's table, with cells of others as they stand there."""
        index, donor = self.index[keep], self.donor[keep]
        rows = people.take(index)
        taken = (donor != index[:, np.newaxis]).any(axis=0)
        columns = [
            (place, donor[:, variable])
            for variable in np.flatnonzero(taken).tolist()
            for place in self.columns[variable].columns
        ]
        if people.frame is None:
            for column, row in columns:
                rows[:, column] = people.table[row, column]
            return rows
        places = places_of(people.frame, model.features, model.inputs)
        for column, row in columns:
            rows = _with_column(people, rows, places[column], row)
        return rows


def _equal(values: Floats, others: Floats) -> Flags:
    return np.asarray((values == others) | (np.isnan(values) & np.isnan(others)))


def _with_column(people: People, rows: Any, place: int, donor: Places) -> Any:
    import narwhals as nw

    frame = people.frame
    assert frame is not None
    if frame.implementation.is_pandas_like():
        rows = rows.copy(deep=False)
        cells = frame.to_native().iloc[donor, place]
        cells.index = rows.index
        rows.isetitem(place, cells)
        return rows
    cells = frame[:, place][donor.tolist()]
    return nw.from_native(rows, eager_only=True).with_columns(cells).to_native()


def _strata(rng: Random, count: int) -> Floats:
    """Return numbers from 0 to 1 in any order, evenly spread: all choices come up."""
    return (rng.permutation(count) + rng.random(count)) / max(1, count)


def _pick(flags: Flags, share: Floats) -> Places:
    """Return of each row the place of one of its flags: the first at 0, the last at 1.

    Rows without any give 0.
    """
    number = flags.sum(axis=1)
    rank = np.minimum((share * number).astype(np.int64), number - 1)
    return np.asarray((np.cumsum(flags, axis=1) > rank[:, np.newaxis]).argmax(axis=1))


def _chosen(moves: Flags, rng: Random) -> Flags:
    """Choose what changes of what may: all of it, half of it, or one thing."""
    share = rng.choice([1.0, 0.5, 0.0], size=(len(moves), 1))
    chance = np.where(moves, rng.random(moves.shape), 2.0)
    is_one = chance == chance.min(axis=1, keepdims=True)
    return np.asarray(moves & (is_one | (chance < share)))


# ---- by regions


def _box_of_each(boxes: Boxes, person: Places, rng: Random) -> Boxes:
    """Return one of the boxes of each person."""
    first = np.searchsorted(boxes.person, person)
    last = np.searchsorted(boxes.person, person, side="right")
    box = first + (_strata(rng, len(person)) * (last - first)).astype(np.int64)
    return Boxes(
        person, boxes.lower[box], boxes.upper[box], boxes.missing[box], boxes.codes[box]
    )


def _from_regions(
    cast: _Cast, who: Places, boxes: Boxes, run: Run, rng: Random
) -> None:
    """Move some people, each within a box."""
    features = run.variables.ensemble.features
    words = code_words(features)
    own = cast.own[who]
    lower, upper = boxes.lower, boxes.upper
    missing = boxes.missing & ~np.isnan(own)
    allowed = {
        index: _flags(boxes.codes[:, words[index] : words[index + 1]], one.n_codes)
        for index, one in enumerate(features)
        if isinstance(one, Categorical)
    }
    moves = missing | (lower < upper)
    for index, flags in allowed.items():
        moves[:, index] = missing[:, index] | (flags.sum(axis=1) > 1)
    changes = _chosen(moves, rng)
    for index in np.flatnonzero(changes.any(axis=0)).tolist():
        some = np.flatnonzero(changes[:, index])
        feature = features[index]
        if isinstance(feature, Categorical):
            flags = allowed[index][some]
            values = _pick(
                _without(flags, own[some, index]), _strata(rng, len(some))
            ).astype(np.float64)
            is_absent = ~flags.any(axis=1)
        else:
            cuts = np.union1d(run.variables.ensemble.thresholds(index), feature.edges)
            ends = lower[some, index], upper[some, index]
            values = _numbers(feature, ends, cuts, own[some, index], rng)
            is_absent = ends[0] > ends[1]
        is_absent |= rng.random(len(some)) < _SHARE_OF_MISSING
        is_absent &= missing[some, index]
        values[is_absent] = np.nan
        cast.write(who[some], index, values)


def _without(flags: Flags, codes: Floats) -> Flags:
    """Return the flags without each row's own code, unless it is the only one."""
    others = flags.copy()
    known = np.flatnonzero(~np.isnan(codes))
    others[known, codes[known].astype(np.int64)] = False
    return np.where(others.any(axis=1, keepdims=True), others, flags)


def _flags(words: NDArray[np.uint64], n_codes: int) -> Flags:
    code = np.arange(n_codes)
    bits = words[:, code // 64] >> (code % 64).astype(np.uint64)
    return np.asarray(bits & np.uint64(1) == 1)


def _numbers(
    feature: Numeric,
    ends: tuple[Floats, Floats],
    cuts: Floats,
    own: Floats,
    rng: Random,
) -> Floats:
    """Return a number between two ends: anywhere, at an end, or at a threshold."""
    low, high = ends
    count = len(own)
    near_low, near_high = _within_reach(low, high, cuts, own)
    kind = rng.random(count)
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = near_low + rng.random(count) * (near_high - near_low)
    numbers = np.where(kind < 0.1, low, np.where(kind > 0.9, high, numbers))
    first, last = np.searchsorted(cuts, low), np.searchsorted(cuts, high, side="right")
    at = (kind > 0.1) & (kind < 0.6) & (first < last)
    if at.any():
        place = first + (_strata(rng, count) * (last - first)).astype(np.int64)
        numbers[at] = _beside(cuts[place[at]], feature.integer, rng)
    if feature.integer:
        numbers = np.rint(numbers)
    numbers = np.clip(numbers, np.minimum(low, high), np.maximum(low, high))
    # Nobody has a number that only stands for missing.
    is_gap = np.isnan(mark_missing(numbers[:, np.newaxis], gaps_of((feature,)))[:, 0])
    return np.where(is_gap, own, numbers)


def _within_reach(
    low: Floats, high: Floats, cuts: Floats, own: Floats
) -> tuple[Floats, Floats]:
    """Cut what has no end down to where the model tells numbers apart."""
    known = np.where(np.isfinite(own), own, 0.0)
    seen = np.append(cuts[np.isfinite(cuts)], known) if len(cuts) else known
    least, most = float(seen.min()), float(seen.max())
    with np.errstate(over="ignore"):
        beyond = most - least + 1.0
        least, most = least - beyond, most + beyond
    least, most = max(least, -1e300), min(most, 1e300)
    return np.clip(low, least, most), np.clip(high, least, most)


def _beside(cuts: Floats, integer: bool, rng: Random) -> Floats:
    """Return thresholds or neighbours: in float64, in float32, or whole numbers."""
    kind = rng.integers(5, size=len(cuts))
    if integer:
        return np.floor(cuts) + kind % 2
    with np.errstate(over="ignore"):
        single = cuts.astype(np.float32)
        wide = np.nextafter(single, np.float32(np.inf) * (1 - 2 * (kind % 2)))
    return np.choose(
        kind,
        [
            cuts,
            np.nextafter(cuts, -np.inf),
            np.nextafter(cuts, np.inf),
            wide.astype(np.float64),
            wide.astype(np.float64),
        ],
    )


# ---- by words


def _from_words(
    cast: _Cast, who: Places, others: _Others, run: Run, rng: Random
) -> None:
    """Change some people as the words of the similarity say, with cells of others."""
    if not who.size:
        return
    schema = run.variables.schema
    similar = Similar(cast.columns, schema, run.similarity)
    reaches = similar.reaches(cast.own[who])
    meets = [met for met, _ in similar.reaches(others.values)]
    choice = _pick(np.column_stack([one for one, _ in reaches]), _strata(rng, len(who)))
    for number, rules in enumerate(similar.alternatives):
        applies, reach = reaches[number]
        mine = np.flatnonzero(choice == number)
        place = (np.cumsum(applies) - 1)[mine]
        moves = [rule != Rule(condition=rule.condition) for rule in rules]
        changes = _chosen(np.tile(moves, (len(mine), 1)), rng)
        for index in np.flatnonzero(changes.any(axis=0)).tolist():
            some = changes[:, index]
            words = _Words(
                column=cast.columns[index],
                rule=rules[index],
                reach=_some(reach[index], place[some]),
                donor=others.rows[meets[number]],
                donated=others.values[meets[number], index],
            )
            words.change(cast, who[mine[some]], index, rng)


def _some(reach: Reach, rows: Places) -> Reach:
    return Reach(*(part[rows] for part in vars(reach).values()))


@dataclass(frozen=True, eq=False)
class _Words:
    """What is said of one variable, and what others have there.

    Attributes
    ----------
    column, rule
        The variable, and what one alternative says of it.
    reach
        Where each of some people may move.
    donor, donated : ndarray of shape (n_donors,)
        The rows of others who meet the conditions, and their values.
    """

    column: Column
    rule: Rule
    reach: Reach
    donor: Places
    donated: Floats

    def change(self, cast: _Cast, who: Places, index: int, rng: Random) -> None:
        """Change the variable of some people."""
        own = cast.own[who, index]
        absent = self._is_absent(own)
        rule = self.rule
        if rule.is_free or rule.among is not None or rule.may_miss:
            self._exchange(cast, who, index, own, rng)
        if rule.amount is not None:
            values, known = self._moved(own, rng), ~absent
            cast.write(who[known], index, values[known])
        if rule.may_miss:
            lost = self.reach.missing & ~absent
            lost &= rng.random(len(who)) < _SHARE_OF_MISSING
            cast.write(who[lost], index, np.full(int(lost.sum()), np.nan))

    def _is_absent(self, values: Floats) -> Flags:
        absent = np.isnan(values)
        if isinstance(self.column, Numbers):
            absent |= self.column.reads_missing(values)
        return absent

    def _exchange(
        self, cast: _Cast, who: Places, index: int, own: Floats, rng: Random
    ) -> None:
        """Take the cell of somebody else, where both may change places."""
        absent = self._is_absent(own)
        if not len(self.donor):
            return
        share = _strata(rng, len(who))
        if isinstance(self.column, Codes):
            # Each other value as often as the rest, however few have it.
            kinds, kind = np.unique(self.donated, return_inverse=True)
            is_other = (kinds != own[:, np.newaxis]) | (
                kinds >= len(self.column.labels)
            )
            chosen = _pick(is_other, share)
            matches = kind == chosen[:, np.newaxis]
            pick = _pick(matches, rng.random(len(who)))
        else:
            pick = (share * len(self.donor)).astype(np.int64)
        values = self.donated[pick]
        known = ~self._is_absent(values)
        reached = known.copy()
        if isinstance(self.column, Codes):
            code = np.where(known, values, 0).astype(np.int64)
            reached &= self.reach.codes[np.arange(len(who)), code]
        # What may be anything is not compared with what we take for anything.
        may = np.where(absent, reached & self.rule.may_miss, known & self.rule.is_free)
        if self.rule.among is not None:
            may |= reached & ~absent
        cast.take(who[may], index, self.donor[pick[may]], values[may])

    def _moved(self, own: Floats, rng: Random) -> Floats:
        """Return where noise may take people: to an end, or anywhere between."""
        share = np.clip(1.5 * _strata(rng, len(own)) - 0.25, 0.0, 1.0)
        if isinstance(self.column, Codes):
            return _pick(self.reach.codes, share).astype(np.float64)
        low, high = self.reach.low, self.reach.high
        with np.errstate(invalid="ignore", over="ignore"):
            values = np.where(share < 1, low + share * (high - low), high)
        if self.column.integer:
            values = np.rint(values)
        values = np.clip(values, low, high)
        # Nobody has a number that only stands for missing, or between crossed ends.
        wrong = self.column.reads_missing(values) | (low > high) | ~np.isfinite(own)
        return np.where(wrong, own, values)
