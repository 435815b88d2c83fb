"""Who lies in a box: the definition once more, without the search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature
from fatt.region import Boxes, code_words


def are_similar(
    boxes: Boxes,
    people: NDArray[np.int64],
    values: NDArray[np.float64],
    features: tuple[Feature, ...],
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
    features
        The variables.

    Returns
    -------
    ndarray of shape (n_cases,)
    """
    rows = np.flatnonzero(np.isin(boxes.person, people))
    case = np.searchsorted(people, boxes.person[rows])
    inside = np.ones(len(rows), dtype=bool)
    words = code_words(features)
    # Whole rows are picked faster than cells.
    values, codes, missing = values[case], boxes.codes[rows], boxes.missing[rows]
    lower, upper = boxes.lower[rows], boxes.upper[rows]
    for index, feature in enumerate(features):
        mine = values[:, index]
        is_missing = np.isnan(mine)
        if isinstance(feature, Categorical):
            code = np.where(is_missing, 0, mine).astype(np.int64)
            word = codes[np.arange(len(rows)), words[index] + code // 64]
            is_member = (word >> (code % 64).astype(np.uint64)) & np.uint64(1) == 1
            is_member &= ~is_missing
        else:
            is_member = (mine >= lower[:, index]) & (mine <= upper[:, index])
            if feature.integer:
                is_member &= mine == np.trunc(mine)
            if feature.missing_range is not None:
                first, last = feature.missing_range
                is_missing = is_missing | ((mine >= first) & (mine <= last))
        inside &= is_member | (is_missing & missing[:, index])
    return np.bincount(case[inside], minlength=len(people)) > 0
