"""Where people may move: products of intervals and sets, as arrays; who is inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature
from fatt.ensemble.trees import holds, n_words
from fatt.region.costs import Costs
from fatt.region.ties import Tied


@dataclass(frozen=True, eq=False)
class Boxes:
    """Where people may move: one product of intervals and sets per row.

    Several boxes of a person are a union; every box contains its person.

    Attributes
    ----------
    person : ndarray of shape (n_boxes,)
        Index of the person, non-decreasing; each person has at least one box.
    lower, upper : ndarray of shape (n_boxes, n_variables)
        Smallest and largest member of a numeric variable, both members themselves;
        ``inf`` and ``-inf`` where no number is allowed. Zero for categorical variables.
    missing : ndarray of shape (n_boxes, n_variables)
        Whether a missing value is a member.
    codes : ndarray of shape (n_boxes, n_words)
        The members of the categorical variables as bit sets, side by side; `code_words`
        tells where each starts.
    costs
        How much others may differ in each box, all variables together; None if no box
        has a budget. Whoever costs more than the budget is not similar.
    ties
        What holds between columns of everybody similar; None if nothing is said. A box
        then also holds others, who are not similar.
    """

    person: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    missing: NDArray[np.bool_]
    codes: NDArray[np.uint64]
    costs: Costs | None = None
    ties: Tied | None = None

    def __post_init__(self) -> None:
        for array in (self.person, self.lower, self.upper, self.missing, self.codes):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.person)

    def of_people(self, chosen: NDArray[np.int64]) -> Boxes:
        """Return the boxes of some people, who are numbered anew in that order.

        Parameters
        ----------
        chosen
            Indices of people.
        """
        first, last = self.ends(chosen)
        count = last - first
        person = np.repeat(np.arange(len(chosen)), count)
        # The boxes of one person lie next to each other.
        mine = np.arange(len(person)) + np.repeat(
            first - (np.cumsum(count) - count), count
        )
        costs = None if self.costs is None else self.costs.of(mine, chosen)
        ties = None if self.ties is None else self.ties.of(mine, chosen)
        return self._at(mine, person, costs, ties)

    def one_each(self, places: NDArray[np.int64]) -> Boxes:
        """Return the boxes at some places, each around a person of its own.

        Ties are left out: whoever searches boxes alone looks after them.
        """
        costs = self.costs
        if costs is not None:
            costs = costs.of(places, self.person[places])
        return self._at(places, np.arange(len(places)), costs)

    def _at(
        self,
        places: NDArray[np.int64],
        person: NDArray[np.int64],
        costs: Costs | None,
        ties: Tied | None = None,
    ) -> Boxes:
        return Boxes(
            person,
            self.lower[places],
            self.upper[places],
            self.missing[places],
            self.codes[places],
            costs,
            ties,
        )

    def ends(
        self, people: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the boxes of each of some people begin, and where they end."""
        first = np.searchsorted(self.person, people)
        return first, np.searchsorted(self.person, people, side="right")

    def starts(self, n_people: int) -> NDArray[np.int64]:
        """Return where the boxes of each person begin, and where the last ends."""
        return np.searchsorted(self.person, np.arange(n_people + 1))

    def hull(
        self, people: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return between which numbers people and all in their boxes are, by variable.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            Numbers and category codes, NaN for missing.
        """
        own = people[self.person]
        lower, upper = np.fmin(self.lower, own), np.fmax(self.upper, own)
        return lower.min(axis=0), upper.max(axis=0)

    def with_numbers(self, numbers: NDArray[np.float64]) -> Boxes:
        """Return the boxes with more variables, numbers that stay as they are.

        Parameters
        ----------
        numbers : ndarray of shape (n_boxes, n_more)
            The numbers, NaN for missing.
        """
        costs = self.costs
        if costs is not None:
            # One box each, as computed columns are searched.
            assert len(costs.people) == len(self)
            costs = costs.with_fixed(numbers)
        absent = np.isnan(numbers)
        return Boxes(
            self.person,
            np.hstack([self.lower, np.where(absent, np.inf, numbers)]),
            np.hstack([self.upper, np.where(absent, -np.inf, numbers)]),
            np.hstack([self.missing, absent]),
            self.codes,
            costs,
        )

    def flags(self, features: Sequence[Feature], index: int) -> NDArray[np.bool_]:
        """Tell which codes of a categorical variable each box holds.

        Parameters
        ----------
        features
            The variables.
        index
            Which of them.

        Returns
        -------
        ndarray of shape (n_boxes, n_codes)
        """
        feature, first = features[index], int(code_words(features)[index])
        assert isinstance(feature, Categorical)
        words = self.codes[:, first : first + n_words(feature.n_codes)]
        octets = np.ascontiguousarray(words).astype("<u8").view(np.uint8)
        flags = np.unpackbits(octets, 1, feature.n_codes, bitorder="little")
        return flags.view(np.bool_)

    def moves(
        self, people: NDArray[np.float64], features: Sequence[Feature]
    ) -> NDArray[np.bool_]:
        """Tell in which variables each box holds more than the person's own value.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            Numbers and category codes, NaN for missing.
        features
            The variables.

        Returns
        -------
        ndarray of shape (n_boxes, n_variables)
        """
        own = people[self.person]
        absent = np.isnan(own)
        stays = np.where(
            absent, self.lower > self.upper, (self.lower == own) & (self.upper == own)
        )
        alone = lone_boxes(own, features).codes == self.codes
        starts = code_words(features)
        for index in np.flatnonzero(np.diff(starts)).tolist():
            words = slice(int(starts[index]), int(starts[index + 1]))
            stays[:, index] = alone[:, words].all(axis=1)
        moves = np.asarray(~stays | (self.missing != absent))
        if self.costs is not None:
            moves &= self._can_pay(features)
        return moves

    def _can_pay(self, features: Sequence[Feature]) -> NDArray[np.bool_]:
        """Tell which variables can be paid for alone, if they lie in the box."""
        assert self.costs is not None
        places, own = np.arange(len(self)), self.costs.people[self.person]
        whole = np.array([getattr(one, "integer", False) for one in features], bool)
        below = np.where(whole, np.ceil(own) - 1, np.nextafter(own, -np.inf))
        above = np.where(whole, np.floor(own) + 1, np.nextafter(own, np.inf))
        # Whoever is outside the numbers that are allowed goes to the nearest.
        nearest = np.clip(np.where(np.isnan(own), 0.0, own), self.lower, self.upper)
        can_pay = (self.costs.rule < 0)[:, np.newaxis] | np.zeros(own.shape, bool)
        most = self.costs.most[:, np.newaxis]
        for others in (below, above, nearest, np.full(own.shape, np.nan)):
            inside = (others >= self.lower) & (others <= self.upper)
            inside |= np.isnan(others) & self.missing
            inside &= (others != own) & ~(np.isnan(others) & np.isnan(own))
            spent = self.costs.each_spent(features, places, self.person, others)
            can_pay |= inside & (spent <= most)
        for index, feature in enumerate(features):
            if isinstance(feature, Categorical):
                can_pay[:, index] |= self._can_pay_code(features, index)
        return np.asarray(can_pay)

    def _can_pay_code(
        self, features: Sequence[Feature], index: int
    ) -> NDArray[np.bool_]:
        """Tell which boxes hold a code that can be paid for, other than the own."""
        assert self.costs is not None
        flags, own = self.flags(features, index), self.costs.people[self.person, index]
        is_paid = np.zeros(len(self), dtype=bool)
        for code in np.flatnonzero(flags.any(axis=0)).tolist():
            [some] = np.nonzero(flags[:, code] & (own != code) & ~is_paid)
            values = self.costs.people[self.person[some]].copy()
            values[:, index] = code
            spent = self.costs.spent(features, some, self.person[some], values)
            is_paid[some] = spent <= self.costs.most[some]
        return is_paid


def code_words(features: Sequence[Feature]) -> NDArray[np.int64]:
    """Return the first word of each variable's bit set, and the number of all words.

    Parameters
    ----------
    features
        The variables. A numeric one takes no word.

    Returns
    -------
    ndarray of shape (n_features + 1,)
    """
    sizes = [
        n_words(feature.n_codes) if isinstance(feature, Categorical) else 0
        for feature in features
    ]
    return np.cumsum([0, *sizes], dtype=np.int64)


def lone_boxes(people: NDArray[np.float64], features: Sequence[Feature]) -> Boxes:
    """Return boxes in which people are alone.

    Parameters
    ----------
    people : ndarray of shape (n_people, n_variables)
        Numbers and category codes, NaN for missing.
    features
        The variables.
    """
    missing = np.isnan(people)
    is_code = np.array([isinstance(feature, Categorical) for feature in features])
    numbers = np.where(is_code, 0.0, people)
    starts = code_words(features)
    codes = np.zeros((len(people), starts[-1]), dtype=np.uint64)
    for index in np.flatnonzero(is_code).tolist():
        who = np.flatnonzero(~missing[:, index])
        code = people[who, index].astype(np.uint64)
        word = starts[index] + (code // 64).astype(np.int64)
        codes[who, word] = np.uint64(1) << code % np.uint64(64)
    nowhere = missing & ~is_code
    return Boxes(
        person=np.arange(len(people)),
        lower=np.where(nowhere, np.inf, numbers),
        upper=np.where(nowhere, -np.inf, numbers),
        missing=missing,
        codes=codes,
    )


class Membership:
    """Tells who lies in boxes, by the definition: without the search that found them.

    Parameters
    ----------
    features
        The variables.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self._features = tuple(features)
        is_category = [isinstance(feature, Categorical) for feature in features]
        self._categorical = np.flatnonzero(is_category)
        self._words = code_words(features)[self._categorical]
        self._whole = np.array(
            [getattr(feature, "integer", False) for feature in features], dtype=bool
        )
        # Crossed where no number is read as missing; codes never are.
        ranges = [
            (None if is_code else feature.missing_range) or (1.0, 0.0)
            for feature, is_code in zip(features, is_category, strict=True)
        ]
        self._missing_low, self._missing_high = np.array(ranges).reshape(-1, 2).T
        # Of one person each step that is left out counts.
        self._has_whole = bool(self._whole.any())
        self._has_gaps = bool((self._missing_low <= self._missing_high).any())

    def are_similar(
        self, boxes: Boxes, people: NDArray[np.int64], values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell whether others lie in some box of certain people.

        Parameters
        ----------
        boxes
            Where everybody may move.
        people : ndarray of shape (n_cases,)
            The people, as numbered in the boxes, increasing.
        values : ndarray of shape (n_cases, n_variables)
            The values of the other of each.

        Returns
        -------
        ndarray of shape (n_cases,)
        """
        is_everybody = len(boxes) > 0 and len(people) == boxes.person[-1] + 1
        mine = boxes if is_everybody else boxes.of_people(people)
        values = values[mine.person]
        similar = self._are_inside(mine, values)
        if mine.costs is not None:
            [some] = similar.nonzero()
            spent = mine.costs.spent(
                self._features, some, mine.person[some], values[some]
            )
            similar[some] = spent <= mine.costs.most[some]
        return np.bincount(mine.person[similar], minlength=len(people)) > 0

    def least_costs(
        self, boxes: Boxes, values: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return what others cost in the cheapest of the boxes that hold them.

        Parameters
        ----------
        boxes
            Where everybody may move.
        values : ndarray of shape (n_people, n_variables)
            The values of the other of each person.
        """
        found = np.full(len(values), np.iinfo(np.int64).max)
        values = values[boxes.person]
        [some] = self._are_inside(boxes, values).nonzero()
        spent = np.zeros(len(some), dtype=np.int64)
        if boxes.costs is not None:
            person = boxes.person[some]
            spent = boxes.costs.spent(self._features, some, person, values[some])
        np.minimum.at(found, boxes.person[some], spent)
        return found

    def _are_inside(
        self, mine: Boxes, values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell in which boxes the values beside them are, whatever these cost.

        Ties must hold for them, too.
        """
        inside = (values >= mine.lower) & (values <= mine.upper)
        if self._has_whole:
            inside &= ~self._whole | (values == np.trunc(values))
        absent = np.isnan(values)
        if self._has_gaps:
            absent |= (values >= self._missing_low) & (values <= self._missing_high)
        if self._categorical.size:
            inside[:, self._categorical] = self._are_members(mine, values)
        inside |= absent & mine.missing
        found = np.asarray(inside.all(axis=1))
        if mine.ties is not None:
            [some] = found.nonzero()
            found[some] = mine.ties.hold(some, mine.person[some], values[some])
        return found

    def _are_members(
        self, boxes: Boxes, values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell which codes are in the sets of their boxes."""
        is_code = ~np.isnan(values[:, self._categorical])
        codes = np.where(is_code, values[:, self._categorical], 0).astype(np.int64)
        # One row of words behind the other.
        rows = np.arange(len(boxes))[:, np.newaxis] * boxes.codes.shape[1]
        return is_code & holds(boxes.codes.ravel(), rows + self._words, codes)
