"""Some people similar to those who are fair, drawn so that the model can be asked.

Half of them are drawn from the regions that were searched. The other half shares no
code with these: it is drawn from where the words of the similarity let people move, as
the checker of certificates understands them. So a region that leaves somebody out is
noticed as well.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fatt.audit.drawn import (
    Axes,
    Drawn,
    Random,
    Reach,
    pick,
    sample,
    strata,
    within_budget,
)
from fatt.certificate.columns import Codes, Column, columns_of
from fatt.certificate.similar import Rule, Similar, reach_of
from fatt.ensemble import Categorical, Feature
from fatt.people import People
from fatt.region import Boxes, Relation, Variables
from fatt.region.boxes import Membership
from fatt.region.combined import Combined

if TYPE_CHECKING:
    from fatt.audit.run import Run

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

#: How many people similar to the fair the model itself is asked about, by default.
SPOT_CHECKS = 1_000

#: More of one person tell little more, and few people are asked about often.
_MOST_EACH = 64


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
    def _moving(self) -> list[Places]:
        """Which variables each alternative lets change."""
        return [
            np.flatnonzero([rule != Rule(condition=rule.condition) for rule in rules])
            for rules in self._words.alternatives
        ]

    @functools.cached_property
    def _axes(self) -> Axes:
        return Axes.of(self._variables.ensemble)

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
        # As many for each, or one for each of some who are spread evenly.
        person = np.sort(np.arange(count) % len(fair))
        if len(fair) > count:
            person = np.linspace(0, len(fair) - 1, count).round().astype(np.int64)
        chosen, person = np.unique(fair[person], return_inverse=True)
        people = self._values(run.people, chosen)
        own, rng = people[person], self._random(people)
        boxes = run.boxes(people)
        if run.combined.is_plain:
            reach, chosen_box, choice = self._reach(own, boxes, person, rng)
            values = sample(self._axes, reach, own, rng)
            features = self._variables.ensemble.features
            half = values[::2]
            values[::2] = _paid_by_regions(chosen_box, own[::2], half, features, rng)
            values[1::2] = self._paid_by_words(choice, own[1::2], values[1::2], rng)
        else:
            values = own.copy()
            half, who = own[::2], person[::2]
            values[::2] = _tied_by_regions(run.combined, boxes, half, who, rng)
            values[1::2] = self._tied_by_words(own[1::2], int(person[-1]) + 1, rng)
        if boxes.ties is not None:
            values = _settled(run, boxes, person, own, values)
        return Drawn.of(run.people, chosen[person], own, values)

    def _random(self, people: Floats) -> Random:
        """Return a source of chance that depends on question and people alone."""
        digest = hashlib.sha256(self._question + people.tobytes()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "little"))

    def _values(self, people: People, rows: Places) -> Floats:
        """Return the values of some rows, read alone if they are not all."""
        if len(rows) == len(people):
            return people.values(0, len(people))
        return People(people.take(rows), self._variables).values(0, len(rows))

    def _tied_by_words(self, own: Floats, n_people: int, rng: Random) -> Floats:
        """Draw by words where variables are tied; own values where this fails."""
        values, existence = own.copy(), self._words.existence
        reach = _still(own)
        choice = self._choice(own, rng)
        self._words_into(reach, own, 0, choice, rng, n_people=n_people)
        drawn = sample(self._axes, reach, own, rng)
        drawn = self._paid_by_words(choice, own, drawn, rng)
        for number in range(len(self._words.alternatives)):
            some = np.flatnonzero(choice == number)
            led = existence.led(number, own[some], drawn[some])
            allowed = existence.allows(number, own[some], led)
            allowed &= self._words.meets(led)[number]
            values[some[allowed]] = led[allowed]
        return values

    def _paid_by_words(
        self, choice: Places, own: Floats, values: Floats, rng: Random
    ) -> Floats:
        """Return values of which some are taken back, until the words allow all."""
        values = values.copy()
        for number, rules in enumerate(self._words.alternatives):
            some = np.flatnonzero(choice == number)
            costs = self._words.costs(rules, own[some], values[some])
            if costs is not None:
                most = np.full(len(some), costs.most)
                values[some] = within_budget(
                    costs.each, most, own[some], values[some], rng
                )
        return values

    def _reach(
        self, own: Floats, boxes: Boxes, person: Places, rng: Random
    ) -> tuple[Reach, Boxes, Places]:
        """Return where each may move: one half by regions, the other by words.

        Behind it stand the box of each of the one half, and the alternative of each
        of the other.
        """
        reach, features = _still(own), self._variables.ensemble.features
        found, mine = _regions(own[::2], boxes, person[::2], rng, features)
        reach.low[::2], reach.high[::2] = found.low, found.high
        reach.missing[::2] = found.missing
        for index, flags in found.codes.items():
            self._codes(reach, own, index)[::2] = flags
        choice = self._choice(own[1::2], rng)
        self._words_into(reach, own, 1, choice, rng, n_people=int(person[-1]) + 1)
        return reach, mine, choice

    def _choice(self, own: Floats, rng: Random) -> Places:
        """Return an alternative whose conditions each person meets."""
        met = np.column_stack(self._words.meets(own))
        return pick(met, strata(rng, len(met)))

    def _words_into(
        self,
        reach: Reach,
        own: Floats,
        step: int,
        choice: Places,
        rng: Random,
        *,
        n_people: int,
    ) -> None:
        """Fill in where the words of one alternative each let some people move.

        They are every row, or every other: `step` rows stand between them.
        """
        for number, rules in enumerate(self._words.alternatives):
            some = step + (1 + step) * np.flatnonzero(choice == number)
            # One variable for each person, so that few people take little time.
            moving = rng.permutation(self._moving[number])[:n_people]
            for index in moving.tolist():
                self._by_words(reach, own, some, index, rules[index])

    def _by_words(
        self, reach: Reach, own: Floats, some: Places, index: int, rule: Rule
    ) -> None:
        """Fill in where the words let some people move in one variable."""
        column = self._columns[index]
        found = reach_of(column, rule, own[some, index])
        reach.missing[some, index] = found.missing
        if isinstance(column, Codes):
            self._codes(reach, own, index)[some] = found.codes
        else:
            reach.low[some, index], reach.high[some, index] = found.low, found.high

    def _codes(self, reach: Reach, own: Floats, index: int) -> Flags:
        """Return the codes of a variable, at first each person's own."""
        if index not in reach.codes:
            n_codes = self._variables.ensemble.features[index].n_codes
            reach.codes[index] = own[:, [index]] == np.arange(n_codes)
        return reach.codes[index]


def _still(own: Floats) -> Reach:
    """Return where people are who move nowhere."""
    low, high = np.where(np.isnan(own), [[[np.inf]], [[-np.inf]]], own)
    return Reach(low, high, np.isnan(own), {})


def _regions(
    own: Floats,
    boxes: Boxes,
    person: Places,
    rng: Random,
    features: Sequence[Feature],
) -> tuple[Reach, Boxes]:
    """Return where each may move by one of the regions that were searched."""
    reach = _still(own)
    first, last = boxes.ends(person)
    place = first + (strata(rng, len(first)) * (last - first)).astype(np.int64)
    mine = boxes.one_each(place)
    reach.low[:], reach.high[:], reach.missing[:] = mine.lower, mine.upper, mine.missing
    for index, feature in enumerate(features):
        if isinstance(feature, Categorical):
            flags = mine.flags(features, index)
            if (flags.sum(axis=1) > 1).any() or mine.missing[:, index].any():
                reach.codes[index] = flags
    return reach, mine


def _tied_by_regions(
    combined: Combined, boxes: Boxes, own: Floats, person: Places, rng: Random
) -> Floats:
    """Draw from the regions that were searched, where variables are tied."""
    mine, features = combined.join(own), combined.ensemble.features
    reach, chosen = _regions(mine, boxes, person, rng, features)
    drawn = sample(Axes.of(combined.ensemble), reach, mine, rng)
    return combined.part(_paid_by_regions(chosen, mine, drawn, features, rng))


def _paid_by_regions(
    boxes: Boxes,
    own: Floats,
    values: Floats,
    features: Sequence[Feature],
    rng: Random,
) -> Floats:
    """Return values of which some are taken back, until each box allows all."""
    if boxes.costs is None:
        return values
    places = np.arange(len(own))
    each = boxes.costs.each_spent(features, places, places, values)
    return within_budget(each, boxes.costs.most, own, values, rng)


def _settled(
    run: Run, boxes: Boxes, person: Places, own: Floats, values: Floats
) -> Floats:
    """Return those drawn with all that moves along; people where ties do not hold."""
    assert boxes.ties is not None
    combined = run.combined
    mine, others = combined.join(own), combined.join(values)
    first, _ = boxes.ends(person)
    others = boxes.ties.settled(boxes.ties.rule[first], mine, others)
    if len(run.similarity.alternatives) > 1:
        # They may be drawn by another alternative.
        wider = boxes.of_people(person)
        member = Membership(combined.ensemble.features)
        similar = member.are_similar(wider, np.arange(len(person)), others)
        others[~similar] = mine[~similar]
    return combined.part(others)
