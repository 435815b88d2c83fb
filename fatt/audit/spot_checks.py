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
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.audit.drawn import (
    Axes,
    Drafts,
    Drawn,
    Random,
    by_chance,
    choose,
    draw_numbers,
    pick,
    strata,
)
from fatt.certificate.columns import Codes, Column, Numbers, columns_of
from fatt.certificate.similar import Reach, Rule, Similar, reach_of
from fatt.ensemble.trees import holds
from fatt.people import People
from fatt.region import Boxes, Relation, Variables, code_words

if TYPE_CHECKING:
    from fatt.audit.run import Run

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

#: How many people similar to the fair the model itself is asked about, by default.
SPOT_CHECKS = 1_000

#: More of one person tell little more, and few people are asked about often.
_MOST_EACH = 64
#: Of larger tables so many rows are looked at for what may vary.
_MOST_DONORS = 2_000


class SpotChecks:
    """Draws people similar to the fair; what does not depend on people is kept.

    Parameters
    ----------
    variables
        How the model reads people.
    similarity
        Who is similar to whom.
    """

    def __init__(self, variables: Variables, similarity: Relation) -> None:
        self._variables, self._similarity = variables, similarity

    @functools.cached_property
    def _columns(self) -> tuple[Column, ...]:
        return columns_of(self._variables.model, self._variables.schema)

    @functools.cached_property
    def _words(self) -> Similar:
        """The similarity, as the checker of certificates understands it."""
        return Similar(self._columns, self._variables.schema, self._similarity)

    @functools.cached_property
    def _moving(self) -> list[Flags]:
        """Which variables each alternative lets change."""
        return [
            np.array([rule != Rule(condition=rule.condition) for rule in rules])
            for rules in self._words.alternatives
        ]

    @functools.cached_property
    def _question(self) -> bytes:
        columns = [feature.name for feature in self._variables.model.features]
        return repr((columns, self._similarity.to_toml())).encode()

    def draw(self, run: Run, fair: Places, count: int) -> Drawn | None:
        """Draw people who are similar to some, each of them another.

        Parameters
        ----------
        run
            The people.
        fair : ndarray
            The rows of those to whom they are to be similar, increasing.
        count
            How many are drawn at most. The same are drawn for the same question.

        Returns
        -------
        Drawn or None
            None if there is nobody else who is similar.
        """
        count = min(count, _MOST_EACH * len(fair))
        if not count:
            return None
        rng = self._random(len(run.people))
        # As many for each, or one for each of some who are spread evenly.
        person = np.sort(np.arange(count) % len(fair))
        if len(fair) > count:
            person = np.linspace(0, len(fair) - 1, count).round().astype(np.int64)
        chosen, person = np.unique(fair[person], return_inverse=True)
        donors = np.sort(rng.permutation(len(run.people))[:_MOST_DONORS])
        own, donated = self._values(run.people, chosen, donors)
        drafts = Drafts(chosen[person], own[person], self._columns)
        who = np.arange(count)
        by_region, by_words = who[::2], who[1::2]
        boxes = _box_of_each(run.boxes(own), person[by_region], rng)
        self._move_in_regions(drafts, by_region, boxes, rng)
        if by_words.size:
            self._move_by_words(drafts, by_words, _Others(donors, donated), rng)
        return drafts.drawn(run.people, self._variables)

    def _random(self, n_people: int) -> Random:
        """Return a source of chance that depends on the question alone."""
        digest = hashlib.sha256(self._question + str(n_people).encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "little"))

    def _values(self, people: People, *rows: Places) -> list[Floats]:
        """Return the values of some rows and of others, which are read together."""
        wanted = np.unique(np.concatenate(rows))
        if len(people) <= len(wanted):
            values = people.values(0, len(people))
        else:
            some = People(people.take(wanted), self._variables)
            values = some.values(0, len(wanted))
        return [values[np.searchsorted(wanted, some)] for some in rows]

    def _move_in_regions(
        self, drafts: Drafts, who: Places, boxes: Boxes, rng: Random
    ) -> None:
        """Move some people, each within a box."""
        features = self._variables.ensemble.features
        words = code_words(features)
        own = drafts.own[who]
        lower, upper = boxes.lower, boxes.upper
        missing = boxes.missing & ~np.isnan(own)
        moves = missing | (lower < upper) | have_several(boxes.codes, words)
        changes = choose(moves, rng)
        axes = self._axes
        for index in np.flatnonzero((changes & ~axes.is_number).any(axis=0)).tolist():
            some = np.flatnonzero(changes[:, index])
            codes = boxes.codes[some, words[index] : words[index + 1]]
            flags = _flags(codes, features[index].n_codes)
            others = _without(flags, own[some, index])
            values = pick(others, strata(rng, len(some))).astype(np.float64)
            is_absent = ~flags.any(axis=1) | by_chance(len(some), rng)
            values[is_absent & missing[some, index]] = np.nan
            drafts.write(who[some], index, values)
        some, variable = np.nonzero(changes & axes.is_number)
        if some.size:
            ends = lower[some, variable], upper[some, variable]
            values = draw_numbers(axes, variable, ends, own[some, variable], rng)
            is_absent = (ends[0] > ends[1]) | by_chance(len(some), rng)
            values[is_absent & missing[some, variable]] = np.nan
            drafts.write(who[some], variable, values)

    @functools.cached_property
    def _axes(self) -> Axes:
        return Axes.of(self._variables.ensemble)

    def _move_by_words(
        self, drafts: Drafts, who: Places, others: _Others, rng: Random
    ) -> None:
        """Change some people as the similarity says in words, with cells of others."""
        own, meets = drafts.own[who], self._words.meets(others.values)
        met = np.column_stack(self._words.meets(own))
        choice = pick(met, strata(rng, len(who)))
        for number, rules in enumerate(self._words.alternatives):
            mine = np.flatnonzero(choice == number)
            moves = np.tile(self._moving[number], (len(mine), 1))
            changes = choose(moves, rng)
            for index in np.flatnonzero(changes.any(axis=0)).tolist():
                some = mine[changes[:, index]]
                column, rule = self._columns[index], rules[index]
                words = _Words(
                    column=column,
                    rule=rule,
                    reach=reach_of(column, rule, own[some, index]),
                    donor=others.rows[meets[number]],
                    donated=others.values[meets[number], index],
                )
                words.change(drafts, who[some], index, rng)


class _Others(NamedTuple):
    """Rows of other people, increasing, and their values."""

    rows: Places
    values: Floats


def _box_of_each(boxes: Boxes, person: Places, rng: Random) -> Boxes:
    """Return one of the boxes of each person."""
    first = np.searchsorted(boxes.person, person)
    last = np.searchsorted(boxes.person, person, side="right")
    box = first + (strata(rng, len(person)) * (last - first)).astype(np.int64)
    return Boxes(
        person, boxes.lower[box], boxes.upper[box], boxes.missing[box], boxes.codes[box]
    )


def have_several(codes: NDArray[np.uint64], words: Places) -> Flags:
    """Tell which variables have more than one code in their sets, one row per box."""
    found = np.zeros((len(codes), len(words) - 1), dtype=bool)
    coded = np.flatnonzero(np.diff(words))
    if coded.size:
        first = words[coded]
        # One bit alone is gone if one is subtracted.
        pairs = np.logical_or.reduceat(codes & (codes - np.uint64(1)), first, axis=1)
        filled = np.add.reduceat(codes != 0, first, axis=1, dtype=np.int64)
        found[:, coded] = pairs | (filled > 1)
    return found


def _without(flags: Flags, codes: Floats) -> Flags:
    """Return the flags without each row's own code, unless it is the only one."""
    others = flags.copy()
    known = np.flatnonzero(~np.isnan(codes))
    others[known, codes[known].astype(np.int64)] = False
    return np.where(others.any(axis=1, keepdims=True), others, flags)


def _flags(words: NDArray[np.uint64], n_codes: int) -> Flags:
    return holds(words, 0, np.arange(n_codes))


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

    def change(self, drafts: Drafts, who: Places, index: int, rng: Random) -> None:
        """Change the variable of some people."""
        own = drafts.own[who, index]
        absent = self._is_absent(own)
        rule = self.rule
        if rule.is_free or rule.among is not None or rule.may_miss:
            self._exchange(drafts, who, index, own, rng)
        if rule.amount is not None:
            values, known = self._moved(own, rng), ~absent
            drafts.write(who[known], index, values[known])
        if rule.may_miss:
            lost = self.reach.missing & ~absent
            lost &= by_chance(len(who), rng)
            drafts.write(who[lost], index, np.full(int(lost.sum()), np.nan))

    def _is_absent(self, values: Floats) -> Flags:
        absent = np.isnan(values)
        if isinstance(self.column, Numbers):
            absent |= self.column.reads_missing(values)
        return absent

    def _exchange(
        self, drafts: Drafts, who: Places, index: int, own: Floats, rng: Random
    ) -> None:
        """Take the cell of somebody else, where both may change places."""
        absent = self._is_absent(own)
        if not len(self.donor):
            return
        share = strata(rng, len(who))
        if isinstance(self.column, Codes):
            # Each other value as often as the rest, however few have it.
            kinds, kind = np.unique(self.donated, return_inverse=True)
            is_other = (kinds != own[:, np.newaxis]) | (
                kinds >= len(self.column.labels)
            )
            chosen = pick(is_other, share)
            matches = kind == chosen[:, np.newaxis]
            giver = pick(matches, rng.random(len(who)))
        else:
            giver = (share * len(self.donor)).astype(np.int64)
        values = self.donated[giver]
        known = ~self._is_absent(values)
        reached = known.copy()
        if isinstance(self.column, Codes):
            code = np.where(known, values, 0).astype(np.int64)
            reached &= self.reach.codes[np.arange(len(who)), code]
        # What may be anything is not compared with what we take for anything.
        may = np.where(absent, reached & self.rule.may_miss, known & self.rule.is_free)
        if self.rule.among is not None:
            may |= reached & ~absent
        drafts.take(who[may], index, self.donor[giver[may]], values[may])

    def _moved(self, own: Floats, rng: Random) -> Floats:
        """Return where noise may take people: to an end, or anywhere between."""
        share = np.clip(1.5 * strata(rng, len(own)) - 0.25, 0.0, 1.0)
        if isinstance(self.column, Codes):
            return pick(self.reach.codes, share).astype(np.float64)
        low, high = self.reach.low, self.reach.high
        with np.errstate(invalid="ignore", over="ignore"):
            values = np.where(share < 1, low + share * (high - low), high)
        if self.column.integer:
            values = np.rint(values)
        values = np.clip(values, low, high)
        # Nobody has a number that only stands for missing, or between crossed ends.
        wrong = self.column.reads_missing(values) | (low > high) | ~np.isfinite(own)
        return np.where(wrong, own, values)
