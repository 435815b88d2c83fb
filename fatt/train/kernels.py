"""Sets of people as bits, and what trees and splits do to them.

A set of people takes one bit per person, so that a split sends 64 people at a time. A
tree is an array of integers in prefix order: a split by its number, then its left and
its right subtree; a leaf with class ``c`` is ``-1 - c``.

Everybody has the same number of boxes, which are laid out one after the other: word
``w`` of the first boxes, then of the second ones, and so on.

Imported only when trees are trained: numba costs half a second to import, and a few
seconds to compile the kernels the first time on a machine.
"""

from __future__ import annotations

import numba
import numpy as np
from numba.extending import intrinsic

from fatt.ensemble.kernels import compiled, read_only
from fatt.ensemble.trees import NODE

_NODES = read_only(numba.from_dtype(NODE))
_WORDS = read_only(numba.uint64)
_SETS = read_only(numba.uint64, 2)
_PLANES = read_only(numba.uint64, 3)
_FLOATS = read_only(numba.float64)
_FLOAT_TABLE = read_only(numba.float64, 2)
_FLAG_TABLE = read_only(numba.boolean, 2)
_INTEGERS = read_only(numba.int64)
_TREES = numba.int32[::1]
_OUT_SETS = numba.uint64[:, ::1]
_OUT_FLOATS = numba.float64[::1]
_OUT_TABLE = numba.float64[:, ::1]
_OUT_INTEGERS = numba.int64[::1]

_ONE = np.uint64(1)
_LEFT, _RIGHT = 0, 1


# A part of the other kernels only: the rest takes long to compile.
_part = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@intrinsic
def _bit_count(typing, word):
    """Return the number of ones in a word, by the processor's own instruction."""

    def generate(context, builder, signature, arguments):
        count = builder.ctpop(arguments[0])
        return builder.bitcast(count, context.get_value_type(numba.int64))

    return numba.int64(numba.uint64), generate


@compiled(numba.void(_NODES, _WORDS, _FLOAT_TABLE, _OUT_SETS))
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
        for word in range(left.shape[1]):
            bits = np.uint64(0)
            first = word * 64
            for person in range(first, min(first + 64, n_people)):
                value = column[person]
                if value != value:
                    goes = node.missing_left != 0
                elif node.subset >= 0:
                    code = np.int64(value)
                    goes = (
                        words[node.subset + (code >> 6)] >> np.uint64(code & 63)
                    ) & _ONE != 0
                else:
                    goes = value <= node.threshold
                bits |= np.uint64(goes) << np.uint64(person - first)
            left[split, word] = bits


@compiled(
    numba.void(
        _NODES,
        _WORDS,
        _FLOAT_TABLE,
        _FLOAT_TABLE,
        _FLAG_TABLE,
        _SETS,
        _INTEGERS,
        numba.int64,
        _OUT_SETS,
        _OUT_SETS,
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
        first_code, end_code = code_start[node.feature], code_start[node.feature + 1]
        for word in range(-(-n_people // 64)):
            lefts, rights = np.uint64(0), np.uint64(0)
            first = word * 64
            for person in range(first, min(first + 64, n_people)):
                goes_left = lost[person] and node.missing_left != 0
                goes_right = lost[person] and node.missing_left == 0
                if node.subset >= 0:
                    for place in range(first_code, end_code):
                        members = codes[place, person]
                        lefties = words[node.subset + place - first_code]
                        goes_left |= members & lefties != 0
                        goes_right |= members & ~lefties != 0
                elif low[person] <= high[person]:
                    goes_left |= low[person] <= node.threshold
                    goes_right |= high[person] > node.threshold
                lefts |= np.uint64(goes_left) << np.uint64(person - first)
                rights |= np.uint64(goes_right) << np.uint64(person - first)
            can_left[split, offset + word] = lefts
            can_right[split, offset + word] = rights


@_part
def _weigh(people, planes):
    """Return the weight of a set of people, whose weights are binary numbers."""
    weight = 0
    for bit in range(len(planes)):
        count = 0
        for word in range(len(people)):
            count += _bit_count(people[word] & planes[bit, word])
        weight += count << bit
    return weight


@_part
def _weigh_unfair(reached, n_words, weights):
    """Return the weight of the people whose boxes reach several classes."""
    n_planes = reached.shape[1] // n_words
    unfair = 0
    for word in range(n_words):
        once, twice = np.uint64(0), np.uint64(0)
        for label in range(len(reached)):
            mine = np.uint64(0)
            for plane in range(n_planes):
                mine |= reached[label, plane * n_words + word]
            twice |= once & mine
            once |= mine
        if twice != 0:
            for bit in range(len(weights)):
                unfair += _bit_count(twice & weights[bit, word]) << bit
    return unfair


@_part
def _go(split, side, mine, sets, own_left, can_left, can_right):
    """Write the people and the boxes that reach one side of a split."""
    people, boxes = sets
    above = mine - 1
    for word in range(people.shape[1]):
        bits = own_left[split, word] if side == _LEFT else ~own_left[split, word]
        people[mine, word] = people[above, word] & bits
    if side == _LEFT:
        for word in range(boxes.shape[1]):
            boxes[mine, word] = boxes[above, word] & can_left[split, word]
    else:
        for word in range(boxes.shape[1]):
            boxes[mine, word] = boxes[above, word] & can_right[split, word]


@compiled(
    numba.void(
        _TREES,
        _INTEGERS,
        _SETS,
        _SETS,
        _SETS,
        _WORDS,
        _PLANES,
        _FLOATS,
        _SETS,
        numba.boolean,
        _OUT_FLOATS,
        _OUT_INTEGERS,
    )
)
def judge(
    trees,
    starts,
    own_left,
    can_left,
    can_right,
    everyone,
    targets,
    scale,
    weights,
    relabel,
    gain,
    unfair,
):
    """Tell how well trees do, and how much weight the people have they are unfair to.

    Parameters
    ----------
    trees
        Several trees, one after the other.
    starts
        Where each tree starts, and where the last ends.
    own_left, can_left, can_right
        What the splits do to people and boxes.
    everyone
        All people.
    targets, scale
        What a label is worth, for each class: as a binary number for each person, and
        what one of these is worth.
    weights
        The weight of each person in fairness, as a binary number.
    relabel
        Whether every leaf where people arrive gets the class that is worth most there;
        of several, the one that it has, else the first.
    gain, unfair
        Receive the results, for each tree.
    """
    n_words, n_boxes = own_left.shape[1], can_left.shape[1]
    n_classes = len(targets)
    depth = 1
    for tree in range(len(starts) - 1):
        depth = max(depth, (starts[tree + 1] - starts[tree]) // 2 + 1)
    people = np.empty((depth + 1, n_words), dtype=np.uint64)
    boxes = np.empty((depth + 1, n_boxes), dtype=np.uint64)
    reached = np.empty((n_classes, n_boxes), dtype=np.uint64)
    sides = np.empty(depth + 1, dtype=np.int64)
    splits = np.empty(depth + 1, dtype=np.int64)
    people[0] = everyone
    for word in range(n_boxes):
        boxes[0, word] = everyone[word % n_words]
    sets = (people, boxes)
    for tree in range(len(starts) - 1):
        total = 0.0
        reached[:] = 0
        level = 0
        for place in range(starts[tree], starts[tree + 1]):
            split = trees[place]
            if split >= 0:
                level += 1
                splits[level], sides[level] = split, _LEFT
                _go(split, _LEFT, level, sets, own_left, can_left, can_right)
                continue
            label = -1 - split
            here = scale[label] * _weigh(people[level], targets[label])
            if relabel:
                for other in range(n_classes):
                    there = scale[other] * _weigh(people[level], targets[other])
                    if there > here:
                        label, here = other, there
                trees[place] = -1 - label
            total += here
            for word in range(n_boxes):
                reached[label, word] |= boxes[level, word]
            while level > 0 and sides[level] == _RIGHT:
                level -= 1
            if level > 0:
                sides[level] = _RIGHT
                split = splits[level]
                _go(split, _RIGHT, level, sets, own_left, can_left, can_right)
        gain[tree] = total
        unfair[tree] = _weigh_unfair(reached, n_words, weights)


@compiled(
    numba.void(
        read_only(numba.int32),
        _SETS,
        _SETS,
        _SETS,
        _WORDS,
        _OUT_SETS,
        _OUT_SETS,
    )
)
def spread(tree, own_left, can_left, can_right, everyone, people, boxes):
    """Tell which people and which boxes reach each node of one tree.

    Parameters
    ----------
    tree
        The tree.
    own_left, can_left, can_right, everyone
        As in `judge`.
    people, boxes
        Receive a set for each node.
    """
    n_words, n_boxes = own_left.shape[1], can_left.shape[1]
    above = np.empty(len(tree) + 1, dtype=np.int64)
    level = -1
    for place in range(len(tree)):
        if place == 0:
            people[0] = everyone
            for word in range(n_boxes):
                boxes[0, word] = everyone[word % n_words]
        else:
            # The parents that still wait for their right side are marked by their sign.
            parent = above[level]
            if parent >= 0:
                above[level] = -1 - parent
                for word in range(n_words):
                    people[place, word] = (
                        people[parent, word] & own_left[tree[parent], word]
                    )
                for word in range(n_boxes):
                    boxes[place, word] = (
                        boxes[parent, word] & can_left[tree[parent], word]
                    )
            else:
                parent = -1 - parent
                level -= 1
                for word in range(n_words):
                    people[place, word] = (
                        people[parent, word] & ~own_left[tree[parent], word]
                    )
                for word in range(n_boxes):
                    boxes[place, word] = (
                        boxes[parent, word] & can_right[tree[parent], word]
                    )
        if tree[place] >= 0:
            level += 1
            above[level] = place


@compiled(
    numba.void(
        _INTEGERS,
        _WORDS,
        _WORDS,
        _SETS,
        _SETS,
        _SETS,
        _PLANES,
        _FLOATS,
        _SETS,
        _OUT_TABLE,
        _OUT_INTEGERS,
        _OUT_INTEGERS,
    )
)
def try_splits(
    chosen,
    people,
    boxes,
    own_left,
    can_left,
    can_right,
    targets,
    scale,
    weights,
    worth,
    n_left,
    torn,
):
    """Tell what splits would do at a leaf.

    Parameters
    ----------
    chosen
        The splits to try.
    people, boxes
        Who reaches the leaf.
    own_left, can_left, can_right, targets, scale, weights
        As in `judge`.
    worth
        Receives what each class would be worth on the left, for each split.
    n_left
        Receives the number of people on the left.
    torn
        Receives the weight of the people who would reach both sides with one box.
    """
    n_words = len(people)
    n_classes, n_bits = len(targets), targets.shape[1]
    for place in range(len(chosen)):
        split = chosen[place]
        count = 0
        for word in range(n_words):
            count += _bit_count(people[word] & own_left[split, word])
        n_left[place] = count
        for label in range(n_classes):
            weight = 0
            for bit in range(n_bits):
                count = 0
                for word in range(n_words):
                    both = people[word] & own_left[split, word]
                    count += _bit_count(both & targets[label, bit, word])
                weight += count << bit
            worth[place, label] = scale[label] * weight
        weight = 0
        for bit in range(len(weights)):
            count = 0
            for start in range(0, len(boxes), n_words):
                for word in range(n_words):
                    both = boxes[start + word] & can_left[split, start + word]
                    both &= can_right[split, start + word]
                    count += _bit_count(both & weights[bit, word])
            weight += count << bit
        torn[place] = weight


@compiled(numba.void(_SETS, _PLANES, _FLOATS, _OUT_TABLE))
def value_classes(people, targets, scale, worth):
    """Tell what each class is worth in several sets of people."""
    for place in range(len(people)):
        for label in range(len(targets)):
            weight = _weigh(people[place], targets[label])
            worth[place, label] = scale[label] * weight


@compiled(numba.void(_SETS, _OUT_INTEGERS))
def count_people(people, count):
    """Count the people of several sets."""
    for place in range(len(people)):
        total = 0
        for word in range(people.shape[1]):
            total += _bit_count(people[place, word])
        count[place] = total
