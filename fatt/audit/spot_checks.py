"""Some people similar to those who are fair, drawn so that the model can be asked.

Half of them are drawn from the regions that were searched. The other half shares no
code with these: it is drawn from where the words of the similarity let people move, as
the checker of certificates understands them. So a region that leaves somebody out is
noticed as well.
"""

from __future__ import annotations

import functools
import hashlib
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
from fatt.people import People
from fatt.region import Boxes, Relation, Variables

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
        reach, chosen_box, choice = self._reach(own, boxes, person, rng)
        values = sample(self._axes, reach, own, rng)
        values[::2] = self._paid_by_regions(chosen_box, own[::2], values[::2], rng)
        values[1::2] = self._paid_by_words(choice, own[1::2], values[1::2], rng)
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

    def _paid_by_regions(
        self, boxes: Boxes, own: Floats, values: Floats, rng: Random
    ) -> Floats:
        """Return values of which some are taken back, until each box allows all."""
        if boxes.costs is None:
            return values
        places = np.arange(len(own))
        features = self._variables.ensemble.features
        each = boxes.costs.each_spent(features, places, places, values)
        return within_budget(each, boxes.costs.most, own, values, rng)

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
        features = self._variables.ensemble.features
        low, high = np.where(np.isnan(own), [[[np.inf]], [[-np.inf]]], own)
        reach = Reach(low, high, np.isnan(own), {})
        first, last = boxes.ends(person[::2])
        place = first + (strata(rng, len(first)) * (last - first)).astype(np.int64)
        mine = boxes.one_each(place)
        low[::2], high[::2], reach.missing[::2] = mine.lower, mine.upper, mine.missing
        for index in np.flatnonzero(~self._axes.is_number).tolist():
            flags = mine.flags(features, index)
            if (flags.sum(axis=1) > 1).any() or mine.missing[:, index].any():
                self._codes(reach, own, index)[::2] = flags
        met = np.column_stack(self._words.meets(own[1::2]))
        choice = pick(met, strata(rng, len(met)))
        for number, rules in enumerate(self._words.alternatives):
            some = 1 + 2 * np.flatnonzero(choice == number)
            # One variable for each person, so that few people take little time.
            moving = rng.permutation(self._moving[number])[: person[-1] + 1]
            for index in moving.tolist():
                self._by_words(reach, own, some, index, rules[index])
        return reach, mine, choice

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
