"""From arrays to pointers: what Python hands over is checked here.

A wrong array is an exception, never a crash.
"""

import numpy as np

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint64_t

from fatt.ensemble.arrays cimport data_of, n_columns_of
from fatt.train.kernels.records cimport Ranks, Rows, Tree
from fatt.verifier.kernels.arena cimport Arena, integers, words

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_RANK = np.dtype(np.uint16)
_WORD = np.dtype(np.uint64)
_FLAG = np.dtype(np.bool_)


cdef const int64_t* numbers_of(object array, tuple shape, str name) except? NULL:
    return <const int64_t*>data_of(array, _INTEGER, shape, False, name)


cdef int64_t* results_of(object array, tuple shape, str name) except? NULL:
    return <int64_t*>data_of(array, _INTEGER, shape, True, name)


cdef uint8_t* flags_of(
    object array, tuple shape, bint is_written, str name
) except? NULL:
    return <uint8_t*>data_of(array, _FLAG, shape, is_written, name)


cdef uint64_t* sets_of(
    object array, tuple shape, bint is_written, str name
) except? NULL:
    return <uint64_t*>data_of(array, _WORD, shape, is_written, name)


cdef const uint16_t* _ranks(object array, tuple shape, str name) except? NULL:
    return <const uint16_t*>data_of(array, _RANK, shape, False, name)


cdef int read_ranks(object ranks, Ranks* mine) except -1:
    """Check the arrays of the ranks, and take their addresses."""
    cdef int64_t n_singles, family, place
    start, row, family_of, flipped, own, low, high, first, members, box_start = ranks
    mine.n_families, mine.n_splits = len(row), len(family_of)
    mine.n_people, mine.n_boxes = len(box_start) - 1, n_columns_of(low, "low")
    if max(mine.n_people, mine.n_boxes) > INT32_MAX:
        raise ValueError("there are more people, or boxes, than can be numbered")
    n_singles = len(first)
    boxes = (mine.n_families, mine.n_boxes)
    mine.start = numbers_of(start, (mine.n_families + 1,), "start")
    mine.row = numbers_of(row, (mine.n_families,), "row")
    mine.family = numbers_of(family_of, (mine.n_splits,), "family")
    mine.flipped = flags_of(flipped, (mine.n_splits,), False, "flipped")
    mine.own = _ranks(own, (mine.n_families, mine.n_people), "own")
    mine.low = _ranks(low, boxes, "low")
    mine.high = _ranks(high, boxes, "high")
    mine.member_start = numbers_of(first, (n_singles, mine.n_boxes + 1), "member_start")
    mine.members = _ranks(members, (len(members),), "members")
    mine.box_start = numbers_of(box_start, (mine.n_people + 1,), "box_start")
    if mine.start[0] != 0 or mine.start[mine.n_families] != mine.n_splits:
        raise ValueError("the families do not hold all splits")
    for family in range(mine.n_families):
        if not -1 <= mine.row[family] < n_singles:
            raise ValueError(f"family {family} has no members")
        for place in range(mine.start[family], mine.start[family + 1]):
            if not 0 <= place < mine.n_splits or mine.family[place] != family:
                raise ValueError(f"split {place} is not in its family")
    return 0


cdef int read_rows(object given, const Ranks* ranks, Rows* mine) except -1:
    """Check the arrays of ranks person by person, and take their addresses."""
    cdef int64_t row, family
    order, n_still, own, ends = given
    mine.n_rows, mine.n_still, mine.n_crossed = len(order), n_still, ends.shape[1]
    if mine.n_rows != ranks.n_families:
        raise ValueError("there are not as many rows as families")
    mine.order = numbers_of(order, (mine.n_rows,), "order")
    check_places(mine.order, mine.n_rows, ranks.n_families)
    if not 0 <= mine.n_still <= mine.n_rows - mine.n_crossed:
        raise ValueError("there are fewer rows than n_still and ends tell")
    for row in range(mine.n_still, mine.n_rows):
        family = mine.order[row]
        if (ranks.row[family] < 0) != (row < mine.n_still + mine.n_crossed):
            raise ValueError(f"row {row} is no chain, or no singles")
    mine.own = _ranks(own, (ranks.n_people, mine.n_rows), "own")
    mine.ends = _ranks(ends, (ranks.n_boxes, mine.n_crossed, 2), "ends")
    return 0


cdef int read_tree(
    object tree, int64_t n_splits, int64_t n_classes, Arena* arena, Tree* mine
) except -1:
    """Check a tree, take its address, and find out where its subtrees end."""
    cdef int64_t place, level = 0, label, number = 0
    cdef int64_t* above
    mine.size = len(tree)
    mine.n_classes = n_classes
    mine.n_leaves = (mine.size + 1) // 2
    mine.n_words = (mine.n_leaves + 63) // 64
    mine.codes = <const int32_t*>data_of(tree, _SMALL, (mine.size,), False, "tree")
    mine.end = integers(arena, mine.size + 1)
    mine.first_leaf = integers(arena, mine.size + 1)
    mine.label = integers(arena, mine.size + 1)
    mine.of_label = words(arena, n_classes * mine.n_words)
    above = integers(arena, mine.size + 1)
    for place in range(mine.size):
        if place > 0 and level == 0:
            raise ValueError("a tree goes on behind its end")
        if not -n_classes <= mine.codes[place] < n_splits:
            raise ValueError(f"node {place} is {mine.codes[place]}: no split or leaf")
        mine.first_leaf[place] = number
        if mine.codes[place] >= 0:
            # A split waits twice: first for its left side, then for its right one.
            mine.end[place] = -1
            above[level] = place
            level += 1
            continue
        if number == mine.n_leaves:
            raise ValueError("a tree ends before its last leaf")
        label = -1 - mine.codes[place]
        mine.label[number] = label
        mine.of_label[label * mine.n_words + number // 64] |= <uint64_t>1 << number % 64
        number += 1
        mine.end[place] = place + 1
        while level > 0 and mine.end[above[level - 1]] == -2:
            level -= 1
            mine.end[above[level]] = place + 1
        if level > 0:
            mine.end[above[level - 1]] = -2
    if mine.size == 0 or level > 0:
        raise ValueError("a tree ends before its last leaf")
    mine.first_leaf[mine.size] = number
    return 0


cdef int check_places(const int64_t* places, int64_t count, int64_t size) except -1:
    cdef int64_t number
    for number in range(count):
        if not 0 <= places[number] < size:
            raise ValueError(f"{places[number]} is none of {size}")
    return 0
