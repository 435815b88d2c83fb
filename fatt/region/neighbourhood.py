"""A similarity bound to the variables of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.region.boxes import Boxes
from fatt.region.rules import bind
from fatt.region.similarity import Relation
from fatt.region.spread import Draft, Space
from fatt.region.variables import Variables


class Neighbourhood:
    """Who is similar to whom, among people with certain variables.

    Parameters
    ----------
    similarity
        Who is similar to whom.
    variables
        The model's variables.

    Raises
    ------
    SpecError
        If the similarity does not fit the variables.
    """

    def __init__(self, similarity: Relation, variables: Variables) -> None:
        self._space = Space(variables)
        self._rules = [bind(one, variables) for one in similarity.alternatives]

    def check_reach(self, people: NDArray[np.float64]) -> None:
        """Raise `DataError` if a person has a value that nobody could come to have.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returned.
        """
        for rules in self._rules:
            self._space.check_reach(people, rules)

    def boxes(
        self, people: NDArray[np.float64], *, scale: NDArray[np.float64] | None = None
    ) -> Boxes:
        """Return where people may move.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returned.
        scale : ndarray of shape (n_people,), optional
            Multiplies every amount of noise but ranges, for each person.

        Raises
        ------
        DataError
            If a person has a value that the schema excludes.
        """
        space = self._space
        space.check(people)
        drafts = []
        alone = np.ones(len(people), dtype=bool)
        for rules in self._rules:
            applies = space.applies(people, rules)
            draft = Draft(space, people, np.flatnonzero(applies))
            draft.spread(rules, None if scale is None else scale[applies])
            drafts.append(draft)
            alone &= ~applies
        if alone.any():
            drafts.append(Draft(space, people, np.flatnonzero(alone)))
        if len(drafts) == 1:
            return drafts[0].boxes()
        parts = [draft.boxes() for draft in drafts]
        person = np.concatenate([part.person for part in parts])
        order = np.argsort(person, kind="stable")
        return Boxes(
            person=person[order],
            lower=np.concatenate([part.lower for part in parts])[order],
            upper=np.concatenate([part.upper for part in parts])[order],
            missing=np.concatenate([part.missing for part in parts])[order],
            codes=np.concatenate([part.codes for part in parts])[order],
        )
