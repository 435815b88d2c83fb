"""Who reaches the nodes of a tree, and what splits would do there."""

from __future__ import annotations

import numba
import numpy as np

from fatt.train.kernels.compiled import compiled
from fatt.train.kernels.words import (
    FLAGS,
    FLOATS,
    INTEGERS,
    OUT_INTEGERS,
    OUT_SETS,
    OUT_TABLE,
    PLANES,
    SETS,
    TREE,
    WORDS,
    bit_count,
    part,
)

_NOBODY, _ONE, _EVERYBODY = np.uint64(0), np.uint64(1), ~np.uint64(0)


@part
def _meet(members, side, flip, both):
    for word in range(len(members)):
        both[word] = members[word] & (side[word] ^ flip)


@compiled(numba.void(TREE, SETS, SETS, SETS, WORDS, OUT_SETS, OUT_SETS))
def spread(tree, own_left, can_left, can_right, everyone, people, boxes):
    """Tell which people and which boxes reach each node of one tree.

    Parameters
    ----------
    tree
        The tree.
    own_left, can_left, can_right
        What the splits do to people and boxes.
    everyone
        All people.
    people, boxes
        Receive a set for each node.
    """
    people[0] = everyone
    for word in range(boxes.shape[1]):
        boxes[0, word] = everyone[word % len(everyone)]
    above = np.empty(len(tree) + 1, dtype=np.int64)
    level = -1
    for place in range(len(tree)):
        if place > 0:
            # The parents that still wait for their right side are marked by their sign.
            parent = above[level]
            if parent >= 0:
                above[level] = -1 - parent
                split = tree[parent]
                _meet(people[parent], own_left[split], _NOBODY, people[place])
                _meet(boxes[parent], can_left[split], _NOBODY, boxes[place])
            else:
                parent = -1 - parent
                level -= 1
                split = tree[parent]
                _meet(people[parent], own_left[split], _EVERYBODY, people[place])
                _meet(boxes[parent], can_right[split], _NOBODY, boxes[place])
        if tree[place] >= 0:
            level += 1
            above[level] = place


@part
def _gather(members, planes, at, kept):
    """List the words of a set that are not zero; return how many there are.

    Of these words, `kept` receives what the set has in common with each plane; planes
    are shorter than the set if the set is one of several boxes.
    """
    count = 0
    for place in range(len(members)):
        at[count] = place
        count += members[place] != 0
    for plane in range(len(planes)):
        for number in range(count):
            word = at[number]
            kept[plane, number] = members[word] & planes[plane, word % planes.shape[1]]
    return count


@part
def _weigh(side, kept, count):
    """Return the weight of the people on one side; the planes are its binary digits."""
    weight = 0
    for bit in range(len(kept)):
        ones = 0
        for number in range(count):
            ones += bit_count(side[number] & kept[bit, number])
        weight += ones << bit
    return weight


@compiled(
    numba.void(
        numba.int64,
        numba.int64,
        INTEGERS,
        SETS,
        SETS,
        SETS,
        SETS,
        SETS,
        FLAGS,
        PLANES,
        FLOATS,
        SETS,
        OUT_TABLE,
        OUT_INTEGERS,
        OUT_INTEGERS,
    )
)
def try_splits(
    first,
    last,
    chosen,
    people,
    boxes,
    own_left,
    can_left,
    can_right,
    tears,
    targets,
    scale,
    weights,
    worth,
    n_left,
    torn,
):
    """Tell what splits would do at leaves.

    Parameters
    ----------
    first, last
        Which of the chosen splits to try; the last is left out.
    chosen
        The splits of the first leaf, then as many of the second, and so on.
    people, boxes
        Who reaches each leaf.
    own_left, can_left, can_right
        As in `spread`.
    tears
        Whether any box reaches both sides of each split.
    targets, scale, weights
        As in `judge`.
    worth
        Receives what each class would be worth on the left, for each split.
    n_left
        Receives the number of people on the left.
    torn
        Receives the weight of the people who would reach both sides with one box.
    """
    n_classes, n_bits, n_words = targets.shape
    n_boxes = boxes.shape[1]
    each = len(chosen) // len(people)
    at = np.empty(n_words, dtype=np.uint32)
    box_at = np.empty(n_boxes, dtype=np.uint32)
    everybody = np.full((1, n_words), _EVERYBODY)
    kept = np.empty((1, n_words), dtype=np.uint64)
    kept_classes = np.empty((n_classes, n_bits, n_words), dtype=np.uint64)
    kept_boxes = np.empty((len(weights), n_boxes), dtype=np.uint64)
    side = np.empty(n_boxes, dtype=np.uint64)
    count, box_count, ready = 0, 0, -1
    for place in range(first, last):
        leaf = place // each
        if leaf != ready:
            ready = leaf
            count = _gather(people[leaf], everybody, at, kept)
            for label in range(n_classes):
                _gather(people[leaf], targets[label], at, kept_classes[label])
            box_count = _gather(boxes[leaf], weights, box_at, kept_boxes)
        split = chosen[place]
        for number in range(count):
            side[number] = own_left[split, at[number]]
        n_left[place] = _weigh(side, kept, count)
        for label in range(n_classes):
            worth[place, label] = scale[label] * _weigh(
                side, kept_classes[label], count
            )
        torn[place] = 0
        if tears[split]:
            for number in range(box_count):
                word = box_at[number]
                side[number] = can_left[split, word] & can_right[split, word]
            torn[place] = _weigh(side, kept_boxes, box_count)


@compiled(numba.void(SETS, PLANES, FLOATS, OUT_TABLE))
def value_classes(people, targets, scale, worth):
    """Tell what each class is worth in several sets of people."""
    for place in range(len(people)):
        for label in range(len(targets)):
            weight = _weigh(people[place], targets[label], people.shape[1])
            worth[place, label] = scale[label] * weight


@compiled(numba.void(SETS, OUT_INTEGERS))
def count_people(people, count):
    """Count the people of several sets."""
    for place in range(len(people)):
        total = 0
        for word in range(people.shape[1]):
            total += bit_count(people[place, word])
        count[place] = total


@compiled(numba.void(SETS, INTEGERS, OUT_INTEGERS))
def number_people(people, order, number):
    """Tell for each person in which of several sets they are.

    Parameters
    ----------
    people
        Sets of which each person is in one.
    order
        The person of each bit.
    number
        Receives the number of each person's set.
    """
    for place in range(len(people)):
        for word in range(people.shape[1]):
            bits = people[place, word]
            while bits != 0:
                without_lowest = bits & (bits - _ONE)
                bit = bit_count((bits ^ without_lowest) - _ONE)
                number[order[word * 64 + bit]] = place
                bits = without_lowest
