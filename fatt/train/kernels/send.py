"""What every split does to people and boxes, worked out once."""

from __future__ import annotations

import numba
import numpy as np

from fatt.train.kernels.compiled import compiled
from fatt.train.kernels.words import (
    FLAG_TABLE,
    FLOAT_TABLE,
    INTEGERS,
    NODES,
    OUT_SETS,
    SETS,
    WORDS,
)

_ONE = np.uint64(1)


@compiled(numba.void(NODES, WORDS, FLOAT_TABLE, OUT_SETS))
def send_people(nodes, words, values, left):
    """Tell for each split which people go left.

    Parameters
    ----------
    nodes
        The inner nodes of the splits, over variables.
    words
        The bit sets of set splits.
    values
        The people, of shape (n_variables, n_people).
    left
        Receives a set of people for each split.
    """
    n_people = values.shape[1]
    for split in range(len(nodes)):
        node = nodes[split]
        column = values[node.feature]
        threshold, subset, lost_left = (
            node.threshold,
            node.subset,
            node.missing_left != 0,
        )
        for word in range(left.shape[1]):
            bits = np.uint64(0)
            first = word * 64
            for person in range(first, min(first + 64, n_people)):
                value = column[person]
                is_lost = value != value
                if subset < 0:
                    goes = (value <= threshold) | (is_lost & lost_left)
                elif is_lost:
                    goes = lost_left
                else:
                    code = np.int64(value)
                    goes = (
                        words[subset + (code >> 6)] >> np.uint64(code & 63)
                    ) & _ONE != 0
                bits |= np.uint64(goes) << np.uint64(person - first)
            left[split, word] = bits


@compiled(
    numba.void(
        NODES,
        WORDS,
        FLOAT_TABLE,
        FLOAT_TABLE,
        FLAG_TABLE,
        SETS,
        INTEGERS,
        numba.int64,
        OUT_SETS,
        OUT_SETS,
    )
)
def send_boxes(
    nodes, words, lower, upper, missing, codes, code_start, offset, can_left, can_right
):
    """Tell for each split which boxes reach its left and its right side.

    Parameters
    ----------
    nodes, words
        As in `send_people`.
    lower, upper, missing
        The boxes, of shape (n_variables, n_people).
    codes
        The bit sets of the boxes, of shape (n_words, n_people).
    code_start
        Where the bit set of each variable starts, and where the last ends.
    offset
        The word of the sets at which these boxes begin.
    can_left, can_right
        Receive a set of boxes for each split.
    """
    n_people = lower.shape[1]
    for split in range(len(nodes)):
        node = nodes[split]
        low, high, lost = (
            lower[node.feature],
            upper[node.feature],
            missing[node.feature],
        )
        threshold, subset, lost_left = (
            node.threshold,
            node.subset,
            node.missing_left != 0,
        )
        first_code, end_code = code_start[node.feature], code_start[node.feature + 1]
        for word in range(-(-n_people // 64)):
            lefts, rights = np.uint64(0), np.uint64(0)
            first = word * 64
            for person in range(first, min(first + 64, n_people)):
                goes_left = lost[person] & lost_left
                goes_right = lost[person] & (not lost_left)
                if subset < 0:
                    is_number = low[person] <= high[person]
                    goes_left |= is_number & (low[person] <= threshold)
                    goes_right |= is_number & (high[person] > threshold)
                else:
                    for place in range(first_code, end_code):
                        members = codes[place, person]
                        lefties = words[subset + place - first_code]
                        goes_left |= members & lefties != 0
                        goes_right |= members & ~lefties != 0
                lefts |= np.uint64(goes_left) << np.uint64(person - first)
                rights |= np.uint64(goes_right) << np.uint64(person - first)
            can_left[split, offset + word] = lefts
            can_right[split, offset + word] = rights
