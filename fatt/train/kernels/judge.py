"""How well trees do, and to whom they are unfair."""

from __future__ import annotations

import numba
import numpy as np

from fatt.train.kernels.compiled import compiled
from fatt.train.kernels.words import (
    FLOATS,
    INTEGERS,
    OUT_FLOATS,
    OUT_INTEGERS,
    OUT_TREES,
    PLANES,
    SETS,
    bit_count,
    part,
)

_LEFT, _RIGHT = 0, 1
_NOBODY, _EVERYBODY = np.uint64(0), ~np.uint64(0)


@part
def _list_words(members, words, at):
    """List the words of a set that are not zero, and return how many there are."""
    count = 0
    for place in range(len(members)):
        words[count], at[count] = members[place], place
        count += members[place] != 0
    return count


@part
def _narrow(level, count, words, at, side, flip):
    """List what is left of the words one level above on one side of a split."""
    kept = 0
    for number in range(count):
        place = at[level - 1, number]
        word = words[level - 1, number] & (side[place] ^ flip)
        words[level, kept], at[level, kept] = word, place
        kept += word != 0
    return kept


@part
def _weigh(count, words, at, planes):
    """Return the weight of the people of some words; weights are binary numbers."""
    weight = 0
    for bit in range(len(planes)):
        ones = 0
        for number in range(count):
            ones += bit_count(words[number] & planes[bit, at[number]])
        weight += ones << bit
    return weight


@part
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
                unfair += bit_count(twice & weights[bit, word]) << bit
    return unfair


@part
def _choose_label(label, count, words, at, targets, scale, relabel):
    """Return the label of a leaf, and what it is worth there."""
    here = scale[label] * _weigh(count, words, at, targets[label])
    if relabel:
        for other in range(len(targets)):
            there = scale[other] * _weigh(count, words, at, targets[other])
            if there > here:
                label, here = other, there
    return label, here


@compiled(
    numba.void(
        OUT_TREES,
        INTEGERS,
        INTEGERS,
        SETS,
        SETS,
        INTEGERS,
        INTEGERS,
        FLOATS,
        PLANES,
        PLANES,
        SETS,
        SETS,
        SETS,
        PLANES,
        FLOATS,
        SETS,
        numba.boolean,
        OUT_FLOATS,
        OUT_INTEGERS,
    )
)
def judge(
    parts,
    starts,
    places,
    people,
    boxes,
    before,
    behind,
    worth,
    reached_before,
    reached_behind,
    own_left,
    can_left,
    can_right,
    targets,
    scale,
    weights,
    relabel,
    gain,
    unfair,
):
    """Tell how well a tree does if one of its subtrees gives way to another.

    A whole tree is a part that takes the place of a tree of one leaf.

    Parameters
    ----------
    parts
        Several parts, one after the other.
    starts
        Where each part starts, and where the last ends.
    places
        The node of the tree that gives way to each part.
    people, boxes
        Who reaches each node of the tree.
    before, behind
        The number of leaves before each node, and before the end of its subtree.
    worth
        What the label of each leaf is worth there.
    reached_before, reached_behind
        For each number of leaves and each class the boxes that reach it at a leaf
        before that one, or at that one or behind it.
    own_left, can_left, can_right
        What the splits do to people and boxes.
    targets, scale
        What a label is worth, for each class: as a binary number for each person, and
        what one of these is worth.
    weights
        The weight of each person in fairness, as a binary number.
    relabel
        Whether every leaf of a part gets the class that is worth most there; of
        several, the one that it has, else the first.
    gain, unfair
        Receive what the labels are worth, and the weight of the people to whom the tree
        is unfair.
    """
    n_words, n_boxes, n_classes = people.shape[1], boxes.shape[1], len(targets)
    depth = 2
    for number in range(len(places)):
        depth = max(depth, (starts[number + 1] - starts[number]) // 2 + 2)
    words = np.empty((depth, n_words), dtype=np.uint64)
    at = np.empty((depth, n_words), dtype=np.uint32)
    count = np.empty(depth, dtype=np.int64)
    box_words = np.empty((depth, n_boxes), dtype=np.uint64)
    box_at = np.empty((depth, n_boxes), dtype=np.uint32)
    box_count = np.empty(depth, dtype=np.int64)
    sides = np.empty(depth, dtype=np.int64)
    splits = np.empty(depth, dtype=np.int64)
    reached = np.empty((n_classes, n_boxes), dtype=np.uint64)
    for number in range(len(places)):
        node = places[number]
        first, last = before[node], behind[node]
        for label in range(n_classes):
            for word in range(n_boxes):
                reached[label, word] = (
                    reached_before[first, label, word]
                    | reached_behind[last, label, word]
                )
        count[0] = _list_words(people[node], words[0], at[0])
        box_count[0] = _list_words(boxes[node], box_words[0], box_at[0])
        # Always in the order of leaves, so that the same tree has the same sum.
        total = 0.0
        for leaf in range(first):
            total += worth[leaf]
        level = 0
        for place in range(starts[number], starts[number + 1]):
            split = parts[place]
            if split >= 0:
                level += 1
                splits[level], sides[level] = split, _LEFT
            else:
                label, here = _choose_label(
                    -1 - split,
                    count[level],
                    words[level],
                    at[level],
                    targets,
                    scale,
                    relabel,
                )
                parts[place] = -1 - label
                total += here
                for word in range(box_count[level]):
                    reached[label, box_at[level, word]] |= box_words[level, word]
                while level > 0 and sides[level] == _RIGHT:
                    level -= 1
                if level == 0:
                    continue
                sides[level], split = _RIGHT, splits[level]
            goes_left = sides[level] == _LEFT
            count[level] = _narrow(
                level,
                count[level - 1],
                words,
                at,
                own_left[split],
                _NOBODY if goes_left else _EVERYBODY,
            )
            box_count[level] = _narrow(
                level,
                box_count[level - 1],
                box_words,
                box_at,
                can_left[split] if goes_left else can_right[split],
                _NOBODY,
            )
        for leaf in range(last, len(worth)):
            total += worth[leaf]
        gain[number] = total
        unfair[number] = _weigh_unfair(reached, n_words, weights)
