"""Who is similar to whom among all people of a space, one variable at a time.

A similarity that is a product over the variables says of each of them, apart from all
others, which two values similar people may have. `Neighbourhood.boxes` knows that: here
it is asked around one person, of whom one value after another is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Numeric
from fatt.ensemble.trees import pack
from fatt.errors import SpecError
from fatt.region.boxes import Boxes, Membership, code_words
from fatt.region.neighbourhood import Neighbourhood
from fatt.region.population import Population
from fatt.region.rules import Rules, bind
from fatt.region.similarity import Similarity
from fatt.region.variables import Variables

Matrix = NDArray[np.float64]

#: Keys of a similarity that speak of each variable alone.
_OF_ONE_VARIABLE = frozenset({"noise", "vary", "where", "missing"})


@dataclass(frozen=True, eq=False)
class Kin:
    """Similar people in a space, by one alternative of a similarity.

    Attributes
    ----------
    features
        The variables.
    asked, everybody : Boxes
        One box each: where a person may be, and where who is similar may be.
    moving
        The variables in which the two may differ.
    rounded
        Those among them whose noise is rounded in more than one step, so that it may be
        off by a last bit.
    base : ndarray of shape (n_variables,)
        Some person.
    """

    features: tuple[Feature, ...]
    asked: Boxes
    everybody: Boxes
    moving: tuple[int, ...]
    rounded: frozenset[int]
    base: Matrix
    _neighbourhood: Neighbourhood
    _membership: Membership

    def around(self, index: int, values: Matrix) -> Boxes:
        """Return who is similar to the base person with other values in one variable.

        Parameters
        ----------
        index
            The variable.
        values
            Values that a person may have there, NaN for missing.

        Returns
        -------
        Boxes
            One for each value.
        """
        people = np.repeat(self.base[np.newaxis], len(values), axis=0)
        people[:, index] = values
        boxes = self._neighbourhood.boxes(people)
        assert len(boxes) == len(people), "a product has one box for each person"
        return boxes

    def is_similar(self, pair: Matrix) -> bool:
        """Tell whether the second of two people is similar to the first, and exists."""
        one, two = pair[:1], pair[1:]
        nobody = np.zeros(1, dtype=np.int64)
        return all(
            bool(self._membership.are_similar(boxes, nobody, who)[0])
            for boxes, who in (
                (self.asked, one),
                (self.everybody, two),
                (self._neighbourhood.boxes(one), two),
            )
        )

    def among(self, people: Matrix) -> Matrix:
        """Return those of some people about whom is asked."""
        if not len(people):
            return people
        person = np.arange(len(people))
        asked = self.asked.one_each(np.zeros_like(person))
        return people[self._membership.are_similar(asked, person, people)]


def kin_of(population: Population) -> tuple[Kin, ...]:
    """Return who is similar to whom in a space, for each alternative that has people.

    Raises
    ------
    SpecError
        If the similarity says more than what holds of each variable alone.
    """
    variables, similarity = population.variables, population.similarity
    if variables.ensemble.joints:
        raise SpecError(
            "the model computes numbers of several columns, and questions about "
            "everybody follow each variable alone: ask about the people of a table."
        )
    found = []
    for alternative in similarity.alternatives:
        _require_product(alternative)
        kin = _kin(population, alternative)
        if kin is not None:
            found.append(kin)
    return tuple(found)


def _require_product(similarity: Similarity) -> None:
    """Refuse what ties several variables together."""
    for key, value in vars(similarity).items():
        if key not in _OF_ONE_VARIABLE and not key.startswith("_") and value:
            raise SpecError(
                f"the similarity has {key!r}, which ties variables together, and "
                "questions about everybody follow each variable alone: leave it out, "
                "or ask about the people of a table."
            )


def _kin(population: Population, similarity: Similarity) -> Kin | None:
    """Return the people of one alternative; None if nobody meets its conditions."""
    variables = population.variables
    rules = bind(similarity, variables)
    asked = _meeting(population.asked, rules, variables)
    everybody = _meeting(population.everybody, rules, variables)
    base = _somebody(asked, variables)
    if base is None:
        return None
    features = variables.ensemble.features
    moving = {*rules.steps, *rules.ranges, *rules.free, *rules.levels, *rules.sets}
    return Kin(
        features=features,
        asked=asked,
        everybody=everybody,
        moving=tuple(sorted({*moving, *rules.missing})),
        rounded=frozenset(
            index
            for index, step in rules.steps.items()
            if step.unit and not _is_whole(features[index])
        ),
        base=base,
        _neighbourhood=Neighbourhood(similarity, variables),
        _membership=Membership(features),
    )


def _is_whole(feature: Feature) -> bool:
    return isinstance(feature, Numeric) and feature.integer


def _meeting(box: Boxes, rules: Rules, variables: Variables) -> Boxes:
    """Return those of a box who meet the conditions of an alternative."""
    features = variables.ensemble.features
    lower, upper = box.lower.copy(), box.upper.copy()
    missing, codes = box.missing.copy(), box.codes.copy()
    words = code_words(features)
    for index, (low, high) in rules.between.items():
        is_whole = _is_whole(features[index])
        least, most = (np.ceil(low), np.floor(high)) if is_whole else (low, high)
        lower[0, index] = max(lower[0, index], least)
        upper[0, index] = min(upper[0, index], most)
        missing[0, index] = False
    for index, meeting in rules.among.items():
        codes[0, words[index] : words[index + 1]] &= pack(meeting[np.newaxis])[0]
        missing[0, index] = False
    return Boxes(box.person, lower, upper, missing, codes)


def _somebody(box: Boxes, variables: Variables) -> Matrix | None:
    """Return a person in a box; None if there is none."""
    features = variables.ensemble.features
    found = np.full(len(features), np.nan)
    for index, feature in enumerate(features):
        low, high = box.lower[0, index], box.upper[0, index]
        if isinstance(feature, Categorical):
            members = np.flatnonzero(box.flags(features, index)[0])
            if len(members):
                found[index] = members[0]
        elif low <= high:
            found[index] = min(max(0.0, low), high)
        if np.isnan(found[index]) and not box.missing[0, index]:
            return None
    return found
