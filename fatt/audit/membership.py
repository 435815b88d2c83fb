"""Who lies in a box: the definition once more, without the search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature
from fatt.region import Boxes, code_words


class Membership:
    """Tells who lies in boxes.

    Parameters
    ----------
    features
        The variables.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
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
        mine = boxes.of_people(people)
        values = values[mine.person]
        inside = (values >= mine.lower) & (values <= mine.upper)
        if self._has_whole:
            inside &= ~self._whole | (values == np.trunc(values))
        absent = np.isnan(values)
        if self._has_gaps:
            absent |= (values >= self._missing_low) & (values <= self._missing_high)
        if self._categorical.size:
            inside[:, self._categorical] = self._are_members(mine, values)
        inside |= absent & mine.missing
        return np.bincount(mine.person[inside.all(axis=1)], minlength=len(people)) > 0

    def _are_members(
        self, boxes: Boxes, values: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell which codes are in the sets of their boxes."""
        codes = values[:, self._categorical]
        is_code = ~np.isnan(codes)
        codes = np.where(is_code, codes, 0).astype(np.int64)
        rows = np.arange(len(boxes))[:, np.newaxis]
        words = boxes.codes[rows, self._words + codes // 64]
        is_member = (words >> (codes % 64).astype(np.uint64)) & np.uint64(1) == 1
        return np.asarray(is_member & is_code)
