"""Where people may move: products of intervals and sets, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Categorical, Feature
from fatt.ensemble.trees import n_words


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
    """

    person: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    missing: NDArray[np.bool_]
    codes: NDArray[np.uint64]

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
        first = np.searchsorted(self.person, chosen)
        count = np.searchsorted(self.person, chosen, side="right") - first
        person = np.repeat(np.arange(len(chosen)), count)
        # The boxes of one person lie next to each other.
        mine = np.arange(len(person)) + np.repeat(
            first - (np.cumsum(count) - count), count
        )
        return Boxes(
            person,
            self.lower[mine],
            self.upper[mine],
            self.missing[mine],
            self.codes[mine],
        )


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
