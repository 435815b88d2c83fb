"""The compiled parts of a training: who goes where in a tree, and what splits do.

Splits come in families. In a *chain* the inner sides of the splits contain each other,
as those of growing thresholds do: a person has a rank, and is inside at every split
from that rank on; a box has two, from the first of which on it reaches the inside, and
from the second of which on no longer the outside. In a family of *singles* the inner
sides are one category each: a person is inside at one split, a box reaches some way the
splits of its own categories, and in another way all others. So one pass over people
and boxes adds up, by rank or by category, what every split of a family would change,
and the sums are exact, because all numbers are whole.

A box reaches a set of labels; all that counts is whether they are several.
"""

import numpy as np

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memset

from fatt.ensemble.arrays cimport data_of, n_columns_of
from fatt.verifier.kernels.arena cimport (
    Arena,
    back_to,
    close_arena,
    integers,
    mark,
    Mark,
    open_arena,
    take,
)

cdef enum:
    # What a box reaches of a split: bits.
    INSIDE = 1
    OUTSIDE = 2
    BOTH = 3
    # Sets of labels: none, several, or the only label plus one.
    NONE = 0
    SEVERAL = -1
    # What may stand at a node, besides a leaf of each class.
    LEFT = 0
    RIGHT = 1
    HERE = 2
    N_SUBTREES = 3

#: The score of what is not allowed.
NEVER = INT64_MIN

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_RANK = np.dtype(np.uint16)
_FLAG = np.dtype(np.bool_)


# As `fatt.train.ranks.Ranks`.
cdef struct Ranks:
    int64_t n_families
    int64_t n_splits
    int64_t n_people
    int64_t n_boxes
    const int64_t* start
    const int64_t* row
    const int64_t* family
    const uint8_t* flipped
    const uint16_t* own
    const uint16_t* low
    const uint16_t* high
    const int64_t* member_start
    const uint16_t* members
    const int64_t* box_start


# A tree in prefix order, and where the subtree of each node ends.
cdef struct Tree:
    const int32_t* codes
    int64_t size
    int64_t* end


cdef int _read_ranks(object ranks, Ranks* mine) except -1:
    """Check the arrays of the ranks, and take their addresses."""
    cdef int64_t n_singles, family, place
    start, row, family_of, flipped, own, low, high, first, members, box_start = ranks
    mine.n_families, mine.n_splits = len(row), len(family_of)
    mine.n_people, mine.n_boxes = len(box_start) - 1, n_columns_of(low, "low")
    n_singles = len(first)
    boxes = (mine.n_families, mine.n_boxes)
    mine.start = <const int64_t*>data_of(
        start, _INTEGER, (mine.n_families + 1,), False, "start"
    )
    mine.row = <const int64_t*>data_of(row, _INTEGER, (mine.n_families,), False, "row")
    mine.family = <const int64_t*>data_of(
        family_of, _INTEGER, (mine.n_splits,), False, "family"
    )
    mine.flipped = <const uint8_t*>data_of(
        flipped, _FLAG, (mine.n_splits,), False, "flipped"
    )
    mine.own = <const uint16_t*>data_of(
        own, _RANK, (mine.n_families, mine.n_people), False, "own"
    )
    mine.low = <const uint16_t*>data_of(low, _RANK, boxes, False, "low")
    mine.high = <const uint16_t*>data_of(high, _RANK, boxes, False, "high")
    mine.member_start = <const int64_t*>data_of(
        first, _INTEGER, (n_singles, mine.n_boxes + 1), False, "member_start"
    )
    mine.members = <const uint16_t*>data_of(
        members, _RANK, (len(members),), False, "members"
    )
    mine.box_start = <const int64_t*>data_of(
        box_start, _INTEGER, (mine.n_people + 1,), False, "box_start"
    )
    if mine.start[0] != 0 or mine.start[mine.n_families] != mine.n_splits:
        raise ValueError("the families do not hold all splits")
    for family in range(mine.n_families):
        if not -1 <= mine.row[family] < n_singles:
            raise ValueError(f"family {family} has no members")
        for place in range(mine.start[family], mine.start[family + 1]):
            if not 0 <= place < mine.n_splits or mine.family[place] != family:
                raise ValueError(f"split {place} is not in its family")
    return 0


cdef int _read_tree(
    object tree, int64_t n_splits, int64_t n_classes, Arena* arena, Tree* mine
) except -1:
    """Check a tree, take its address, and find out where its subtrees end."""
    cdef int64_t place, level = 0
    cdef int64_t* above
    mine.size = len(tree)
    mine.codes = <const int32_t*>data_of(tree, _SMALL, (mine.size,), False, "tree")
    mine.end = integers(arena, mine.size + 1)
    above = integers(arena, mine.size + 1)
    for place in range(mine.size):
        if place > 0 and level == 0:
            raise ValueError("a tree goes on behind its end")
        if not -n_classes <= mine.codes[place] < n_splits:
            raise ValueError(f"node {place} is {mine.codes[place]}: no split or leaf")
        if mine.codes[place] >= 0:
            # A split waits twice: first for its left side, then for its right one.
            mine.end[place] = -1
            above[level] = place
            level += 1
            continue
        mine.end[place] = place + 1
        while level > 0 and mine.end[above[level - 1]] == -2:
            level -= 1
            mine.end[above[level]] = place + 1
        if level > 0:
            mine.end[above[level - 1]] = -2
    if mine.size == 0 or level > 0:
        raise ValueError("a tree ends before its last leaf")
    return 0


cdef inline bint _goes_left(
    const Ranks* ranks, int64_t split, int64_t person
) noexcept nogil:
    """Tell to which side of a split a person goes."""
    cdef int64_t family = ranks.family[split]
    cdef int64_t place = split - ranks.start[family]
    cdef int64_t rank = ranks.own[family * ranks.n_people + person]
    cdef bint inside
    if ranks.row[family] < 0:
        inside = rank <= place
    else:
        inside = rank == place or rank == _always(ranks, family)
    return inside != (ranks.flipped[split] != 0)


cdef inline int64_t _always(const Ranks* ranks, int64_t family) noexcept nogil:
    """Return the rank of those who are inside at every split of a family of singles."""
    return ranks.start[family + 1] - ranks.start[family] + 1


cdef inline bint _is_member(
    const Ranks* ranks, int64_t row, int64_t box, int64_t place
) noexcept nogil:
    """Tell whether a box holds the category of a single."""
    cdef const int64_t* first = ranks.member_start + row * (ranks.n_boxes + 1) + box
    cdef int64_t member
    for member in range(first[0], first[1]):
        if ranks.members[member] == place:
            return True
    return False


cdef inline int64_t _reaches(
    const Ranks* ranks, int64_t family, int64_t place, int64_t box
) noexcept nogil:
    """Return what a box reaches of a split: its inside, its outside, or both."""
    cdef int64_t at = family * ranks.n_boxes + box
    if ranks.row[family] < 0:
        return (
            (INSIDE if ranks.low[at] <= place else 0)
            | (OUTSIDE if ranks.high[at] > place else 0)
        )
    if _is_member(ranks, ranks.row[family], box, place):
        return ranks.high[at]
    return ranks.low[at]


cdef inline int64_t _sides(
    const Ranks* ranks, int64_t split, int64_t box
) noexcept nogil:
    """Return what a box reaches of a split, where the left side counts as inside."""
    cdef int64_t family = ranks.family[split]
    cdef int64_t reached = _reaches(ranks, family, split - ranks.start[family], box)
    if ranks.flipped[split] == 0 or reached == BOTH:
        return reached
    return BOTH - reached


cdef inline int32_t _with(int32_t labels, int32_t others) noexcept nogil:
    """Return the labels of two sets."""
    if others == NONE or labels == others:
        return labels
    return others if labels == NONE else SEVERAL


cdef inline int64_t _leaf_of(
    const Ranks* ranks, const Tree* tree, int64_t node, int64_t person
) noexcept nogil:
    """Return the leaf below a node where a person arrives."""
    while tree.codes[node] >= 0:
        if _goes_left(ranks, tree.codes[node], person):
            node += 1
        else:
            node = tree.end[node + 1]
    return node


cdef inline int64_t _label_of(
    const Ranks* ranks, const Tree* tree, int64_t node, int64_t person
) noexcept nogil:
    return -1 - tree.codes[_leaf_of(ranks, tree, node, person)]


cdef int32_t _labels_of(
    const Ranks* ranks,
    const Tree* tree,
    int64_t node,
    int64_t box,
    int64_t skipped,
    bint* hit,
    int64_t* stack,
) noexcept nogil:
    """Return the labels that a box reaches below a node, but not below another one.

    `hit` tells whether it reaches that other one, unless the labels are several.
    """
    cdef int32_t labels = NONE
    cdef int64_t size = 1, reached
    stack[0] = node
    hit[0] = False
    while size > 0:
        size -= 1
        node = stack[size]
        while tree.codes[node] >= 0 and node != skipped:
            reached = _sides(ranks, tree.codes[node], box)
            if reached == OUTSIDE:
                node = tree.end[node + 1]
                continue
            if reached == BOTH:
                stack[size] = tree.end[node + 1]
                size += 1
            node += 1
        if node == skipped:
            hit[0] = True
            continue
        labels = _with(labels, -tree.codes[node])
        if labels == SEVERAL:
            break
    return labels


def send_people(ranks, tree, int64_t n_classes, leaf):
    """Tell at which leaf of a tree each person arrives.

    Parameters
    ----------
    ranks
        The training people; see `fatt.train.ranks.Ranks`.
    tree : ndarray of int32
        The tree in prefix order.
    n_classes
        Number of classes.
    leaf : ndarray of shape (n_people,)
        Receives the number of the leaf of each person, from left to right.
    """
    cdef Ranks mine
    cdef Tree my_tree
    cdef Arena arena
    cdef int64_t person, place, count = 0
    cdef int64_t* number
    cdef int64_t* my_leaf
    _read_ranks(ranks, &mine)
    my_leaf = <int64_t*>data_of(leaf, _INTEGER, (mine.n_people,), True, "leaf")
    open_arena(&arena)
    try:
        _read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        number = integers(&arena, my_tree.size)
        for place in range(my_tree.size):
            number[place] = count
            count += my_tree.codes[place] < 0
        with nogil:
            for person in range(mine.n_people):
                my_leaf[person] = number[_leaf_of(&mine, &my_tree, 0, person)]
    finally:
        close_arena(&arena)


def mark_unfair(ranks, tree, int64_t n_classes, unfair):
    """Tell of each person whether some box, or several together, reach two labels.

    Parameters
    ----------
    ranks, tree, n_classes
        As in `send_people`.
    unfair : ndarray of shape (n_people,)
        Receives the answers.
    """
    cdef Ranks mine
    cdef Tree my_tree
    cdef Arena arena
    cdef int64_t person, box
    cdef int32_t labels
    cdef bint hit
    cdef int64_t* stack
    cdef uint8_t* answer
    _read_ranks(ranks, &mine)
    answer = <uint8_t*>data_of(unfair, _FLAG, (mine.n_people,), True, "unfair")
    open_arena(&arena)
    try:
        _read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        stack = integers(&arena, my_tree.size + 1)
        with nogil:
            for person in range(mine.n_people):
                labels = NONE
                for box in range(mine.box_start[person], mine.box_start[person + 1]):
                    labels = _with(
                        labels, _labels_of(&mine, &my_tree, 0, box, -1, &hit, stack)
                    )
                answer[person] = labels == SEVERAL
    finally:
        close_arena(&arena)


def tally_splits(ranks, people, boxes, worth, weight, inside, n_inside, torn):
    """Tell what every split would do at a leaf.

    Parameters
    ----------
    ranks
        As in `send_people`.
    people, boxes : ndarray of int64
        Who reaches the leaf.
    worth : ndarray of shape (n_people, n_classes)
        What each label is worth to each person.
    weight : ndarray of shape (n_boxes,)
        What it costs to reach both sides, for each box.
    inside : ndarray of shape (n_classes, n_splits)
        Receives what each class is worth inside.
    n_inside : ndarray of shape (n_splits,)
        Receives how many people are inside.
    torn : ndarray of shape (n_splits,)
        Receives the weight of the boxes that reach both sides.
    """
    cdef Ranks mine
    cdef int64_t n_classes = n_columns_of(worth, "worth")
    cdef int64_t n_here = len(people), n_boxes = len(boxes), family, label, place
    cdef int64_t rank, box, member, at, size, base, count, previous
    cdef const int64_t* here
    cdef const int64_t* near
    cdef const int64_t* my_worth
    cdef const int64_t* my_weight
    cdef const int64_t* first
    cdef const uint16_t* own
    cdef int64_t* sums
    cdef int64_t* my_inside
    cdef int64_t* my_count
    cdef int64_t* my_torn
    cdef Arena arena
    _read_ranks(ranks, &mine)
    here = <const int64_t*>data_of(people, _INTEGER, (n_here,), False, "people")
    near = <const int64_t*>data_of(boxes, _INTEGER, (n_boxes,), False, "boxes")
    my_worth = <const int64_t*>data_of(
        worth, _INTEGER, (mine.n_people, n_classes), False, "worth"
    )
    my_weight = <const int64_t*>data_of(
        weight, _INTEGER, (mine.n_boxes,), False, "weight"
    )
    my_inside = <int64_t*>data_of(
        inside, _INTEGER, (n_classes, mine.n_splits), True, "inside"
    )
    my_count = <int64_t*>data_of(n_inside, _INTEGER, (mine.n_splits,), True, "n_inside")
    my_torn = <int64_t*>data_of(torn, _INTEGER, (mine.n_splits,), True, "torn")
    _check_places(here, n_here, mine.n_people)
    _check_places(near, n_boxes, mine.n_boxes)
    open_arena(&arena)
    try:
        with nogil:
            sums = integers(&arena, 65_538)
            for family in range(mine.n_families):
                at = mine.start[family]
                size = mine.start[family + 1] - at
                own = mine.own + family * mine.n_people
                # Once for people themselves, then for what each class is worth to them.
                for label in range(-1, n_classes):
                    memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
                    for place in range(n_here):
                        if label < 0:
                            sums[own[here[place]]] += 1
                        else:
                            sums[own[here[place]]] += my_worth[
                                here[place] * n_classes + label
                            ]
                    _settle(
                        &mine,
                        family,
                        sums,
                        my_count + at if label < 0
                        else my_inside + label * mine.n_splits + at,
                    )
                memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
                base = 0
                for place in range(n_boxes):
                    box = near[place]
                    if my_weight[box] == 0:
                        continue
                    rank = mine.low[family * mine.n_boxes + box]
                    count = mine.high[family * mine.n_boxes + box]
                    if mine.row[family] < 0:
                        sums[rank] += my_weight[box]
                        sums[count] -= my_weight[box]
                        continue
                    if rank == BOTH:
                        base += my_weight[box]
                    if (rank == BOTH) == (count == BOTH):
                        continue
                    first = mine.member_start + box
                    first += mine.row[family] * (mine.n_boxes + 1)
                    for member in range(first[0], first[1]):
                        sums[mine.members[member]] += (
                            my_weight[box] if count == BOTH else -my_weight[box]
                        )
                previous = 0
                for place in range(size):
                    if mine.row[family] < 0:
                        previous += sums[place]
                    else:
                        previous = base + sums[place]
                    my_torn[at + place] = previous
    finally:
        close_arena(&arena)


cdef int _check_places(const int64_t* places, int64_t count, int64_t size) except -1:
    cdef int64_t number
    for number in range(count):
        if not 0 <= places[number] < size:
            raise ValueError(f"{places[number]} is none of {size}")
    return 0


cdef void _settle(
    const Ranks* ranks, int64_t family, const int64_t* sums, int64_t* inside
) noexcept nogil:
    """Turn what was added up by the ranks of people into what is inside each split."""
    cdef int64_t size = ranks.start[family + 1] - ranks.start[family], place
    cdef int64_t total = 0
    for place in range(size):
        if ranks.row[family] < 0:
            total += sums[place]
            inside[place] = total
        else:
            inside[place] = sums[place] + sums[size + 1]


# What a change at a node needs to know about those who reach it.
cdef struct Around:
    # Who arrives at the node, and the label of each in the subtrees there.
    int64_t n_here
    int64_t* here
    int64_t* label[N_SUBTREES]
    # The people some of whose boxes reach the node, if they reach at most one label
    # elsewhere; these boxes, and the labels of each in the subtrees.
    int64_t n_near
    int64_t* near
    int32_t* elsewhere
    int64_t* start
    int64_t* box
    int32_t* labels[N_SUBTREES]
    # What all others are worth.
    int64_t rest


cdef int _look_around(
    const Ranks* ranks,
    const Tree* tree,
    int64_t node,
    int64_t n_classes,
    const int64_t* worth,
    const int64_t* unfair,
    Arena* arena,
    Around* around,
) except -1 nogil:
    """Find out who reaches a node, and what the subtrees there mean to each of them."""
    cdef int64_t person, box, count, part, at, size = 0
    cdef int64_t* stack = integers(arena, tree.size + 1)
    cdef int64_t below[N_SUBTREES]
    cdef int64_t n_parts = N_SUBTREES if tree.codes[node] >= 0 else 1
    cdef int32_t labels
    cdef bint hit
    below[LEFT], below[HERE] = node + 1, node
    below[RIGHT] = tree.end[node + 1] if tree.codes[node] >= 0 else node
    around.here = integers(arena, ranks.n_people)
    around.near = integers(arena, ranks.n_people)
    around.elsewhere = <int32_t*>take(arena, ranks.n_people, sizeof(int32_t))
    around.start = integers(arena, ranks.n_people + 1)
    around.box = integers(arena, ranks.n_boxes)
    for part in range(N_SUBTREES):
        around.label[part] = integers(arena, ranks.n_people)
        around.labels[part] = <int32_t*>take(arena, ranks.n_boxes, sizeof(int32_t))
    around.n_here = around.n_near = around.rest = 0
    for person in range(ranks.n_people):
        at = 0
        while tree.codes[at] >= 0 and at != node:
            if _goes_left(ranks, tree.codes[at], person):
                at += 1
            else:
                at = tree.end[at + 1]
        if at != node:
            around.rest += worth[person * n_classes - 1 - tree.codes[at]]
            continue
        around.here[around.n_here] = person
        for part in range(N_SUBTREES - n_parts, N_SUBTREES):
            around.label[part][around.n_here] = _label_of(
                ranks, tree, below[part], person
            )
        around.n_here += 1
    for person in range(ranks.n_people):
        if unfair[person] == 0:
            continue
        labels, count = NONE, size
        for box in range(ranks.box_start[person], ranks.box_start[person + 1]):
            labels = _with(
                labels, _labels_of(ranks, tree, 0, box, node, &hit, stack)
            )
            if labels == SEVERAL:
                break
            if hit:
                around.box[count] = box
                count += 1
        if labels == SEVERAL:
            around.rest -= unfair[person]
            continue
        if count == size:
            continue
        around.near[around.n_near] = person
        around.elsewhere[around.n_near] = labels
        around.start[around.n_near] = size
        around.n_near += 1
        for at in range(size, count):
            for part in range(N_SUBTREES - n_parts, N_SUBTREES):
                around.labels[part][at] = _labels_of(
                    ranks, tree, below[part], around.box[at], -1, &hit, stack
                )
        size = count
    around.start[around.n_near] = size
    return 0


cdef inline int64_t _label_in(
    const Around* around, int64_t part, int64_t n_classes, int64_t place
) noexcept nogil:
    """Return the label that a part gives to somebody who arrives at the node."""
    return part if part < n_classes else around.label[part - n_classes][place]


cdef inline int32_t _labels_in(
    const Around* around, int64_t part, int64_t n_classes, int64_t at
) noexcept nogil:
    """Return the labels that a part gives to a box that reaches the node."""
    if part < n_classes:
        return <int32_t>(part + 1)
    return around.labels[part - n_classes][at]


# How two parts do on the two sides of any split.
cdef struct Pair:
    int64_t inner
    int64_t outer
    # What it is worth if everybody were outside, and what each gains inside.
    int64_t base
    int64_t* gain
    # The boxes of people who have one, if they matter: what they cost inside, on both
    # sides, and outside.
    int64_t n_alone
    int64_t* box
    int64_t* cost_in
    int64_t* cost_both
    int64_t* cost_out
    # The people who have several boxes here.
    int64_t n_many
    int64_t* many


cdef int64_t _cost(
    const Ranks* ranks,
    const Around* around,
    const Pair* pair,
    int64_t number,
    int64_t n_classes,
    int64_t family,
    int64_t place,
    const int64_t* unfair,
) noexcept nogil:
    """Return what somebody costs at one split; before the first where it is -1."""
    cdef int32_t labels = around.elsewhere[number]
    cdef int64_t at, reached, row = ranks.row[family]
    for at in range(around.start[number], around.start[number + 1]):
        if row >= 0 and place < 0:
            reached = ranks.low[family * ranks.n_boxes + around.box[at]]
        else:
            reached = _reaches(ranks, family, place, around.box[at])
        if reached & INSIDE:
            labels = _with(labels, _labels_in(around, pair.inner, n_classes, at))
        if reached & OUTSIDE:
            labels = _with(labels, _labels_in(around, pair.outer, n_classes, at))
    return unfair[around.near[number]] if labels == SEVERAL else 0


cdef int _make_pair(
    const Ranks* ranks,
    const Around* around,
    int64_t n_classes,
    const int64_t* worth,
    const int64_t* unfair,
    Arena* arena,
    Pair* pair,
) except -1 nogil:
    """Work out what does not depend on the split."""
    cdef int64_t place, number, at, inner, outer, cost
    cdef int32_t labels, within, without
    pair.base = around.rest
    pair.gain = integers(arena, around.n_here)
    for place in range(around.n_here):
        inner = around.here[place] * n_classes
        outer = worth[inner + _label_in(around, pair.outer, n_classes, place)]
        inner = worth[inner + _label_in(around, pair.inner, n_classes, place)]
        pair.gain[place] = inner - outer
        pair.base += outer
    pair.box = integers(arena, around.n_near)
    pair.cost_in = integers(arena, around.n_near)
    pair.cost_both = integers(arena, around.n_near)
    pair.cost_out = integers(arena, around.n_near)
    pair.many = integers(arena, around.n_near)
    pair.n_alone = pair.n_many = 0
    for number in range(around.n_near):
        at = around.start[number]
        if around.start[number + 1] - at > 1:
            pair.many[pair.n_many] = number
            pair.n_many += 1
            continue
        cost, labels = unfair[around.near[number]], around.elsewhere[number]
        within = _with(labels, _labels_in(around, pair.inner, n_classes, at))
        without = _with(labels, _labels_in(around, pair.outer, n_classes, at))
        labels = _with(within, without)
        if within == SEVERAL and without == SEVERAL:
            pair.base -= cost
        elif labels == SEVERAL:
            pair.box[pair.n_alone] = around.box[at]
            pair.cost_in[pair.n_alone] = cost if within == SEVERAL else 0
            pair.cost_out[pair.n_alone] = cost if without == SEVERAL else 0
            pair.cost_both[pair.n_alone] = cost
            pair.base -= pair.cost_out[pair.n_alone]
            pair.n_alone += 1
    return 0


cdef int64_t _add_chain(
    const Ranks* ranks,
    const Around* around,
    const Pair* pair,
    int64_t family,
    int64_t n_classes,
    const int64_t* unfair,
    int64_t* sums,
) noexcept nogil:
    """Add up by rank what changes along a chain; return what it is before the first."""
    cdef const uint16_t* low = ranks.low + family * ranks.n_boxes
    cdef const uint16_t* high = ranks.high + family * ranks.n_boxes
    cdef int64_t place, box, number, at, rank, following, before, after, base = 0
    for place in range(pair.n_alone):
        box = pair.box[place]
        sums[low[box]] -= pair.cost_both[place] - pair.cost_out[place]
        sums[high[box]] -= pair.cost_in[place] - pair.cost_both[place]
    for place in range(pair.n_many):
        number = pair.many[place]
        before = _cost(ranks, around, pair, number, n_classes, family, -1, unfair)
        base -= before
        rank = -1
        while True:
            # The next rank where anything changes.
            following = 65_536
            for at in range(around.start[number], around.start[number + 1]):
                if rank < low[around.box[at]] < following:
                    following = low[around.box[at]]
                if rank < high[around.box[at]] < following:
                    following = high[around.box[at]]
            if following == 65_536:
                break
            rank = following
            after = _cost(ranks, around, pair, number, n_classes, family, rank, unfair)
            sums[rank] -= after - before
            before = after
    return base


cdef inline int64_t _cost_alone(
    const Pair* pair, int64_t place, int64_t reached
) noexcept nogil:
    if reached == BOTH:
        return pair.cost_both[place]
    return pair.cost_in[place] if reached == INSIDE else pair.cost_out[place]


cdef int64_t _add_singles(
    const Ranks* ranks,
    const Around* around,
    const Pair* pair,
    int64_t family,
    int64_t n_classes,
    const int64_t* unfair,
    int64_t* sums,
) noexcept nogil:
    """Add up by category what is otherwise there; return what it is elsewhere."""
    cdef const uint16_t* low = ranks.low + family * ranks.n_boxes
    cdef const uint16_t* high = ranks.high + family * ranks.n_boxes
    cdef const int64_t* first = (
        ranks.member_start + ranks.row[family] * (ranks.n_boxes + 1)
    )
    cdef int64_t place, box, number, at, other, member, single, usual, here, base = 0
    cdef bint seen
    for place in range(pair.n_alone):
        box = pair.box[place]
        usual = _cost_alone(pair, place, low[box])
        base -= usual - pair.cost_out[place]
        here = _cost_alone(pair, place, high[box])
        for member in range(first[box], first[box + 1]):
            sums[ranks.members[member]] -= here - usual
    for place in range(pair.n_many):
        number = pair.many[place]
        usual = _cost(ranks, around, pair, number, n_classes, family, -1, unfair)
        base -= usual
        for at in range(around.start[number], around.start[number + 1]):
            box = around.box[at]
            for member in range(first[box], first[box + 1]):
                single, seen = ranks.members[member], False
                for other in range(around.start[number], at):
                    if _is_member(
                        ranks, ranks.row[family], around.box[other], single
                    ):
                        seen = True
                if not seen:
                    here = _cost(
                        ranks, around, pair, number, n_classes, family, single, unfair
                    )
                    sums[single] -= here - usual
    return base


def score_changes(
    ranks, tree, int64_t node, pairs, worth, unfair, int64_t min_leaf, alone, scores
):
    """Tell what a tree is worth after every change at one node.

    What may stand at the node, or on either side of a split there, are parts: a leaf of
    each class, then the left and the right subtree that are there, then both together
    as they are.

    Parameters
    ----------
    ranks, tree
        As in `send_people`.
    node
        Where the tree is changed.
    pairs : ndarray of int64, of shape (n_pairs, 2)
        The parts inside and outside of a new split.
    worth : ndarray of int64, of shape (n_people, n_classes)
        What each label is worth to each person.
    unfair : ndarray of int64, of shape (n_people,)
        What it costs to be unfair to each person.
    min_leaf
        Smallest number of people on each side of a new split.
    alone : ndarray of int64, of shape (n_classes + 3,)
        Receives what the tree is worth with each part at the node; `NEVER` for subtrees
        of a leaf. The last is what it is worth as it is.
    scores : ndarray of int64, of shape (n_pairs, n_splits)
        Receives what it is worth with each split and pair there; `NEVER` where too few
        people are on a side.
    """
    cdef Ranks mine
    cdef Tree my_tree
    cdef Around around
    cdef Pair pair
    cdef Arena arena
    cdef Mark here
    cdef int64_t n_classes = n_columns_of(worth, "worth"), n_pairs = len(pairs)
    cdef int64_t n_parts = n_classes + N_SUBTREES, first, number, family, place, part
    cdef int64_t size, base, total, count
    cdef int32_t labels
    cdef const int64_t* my_pairs
    cdef const int64_t* my_worth
    cdef const int64_t* cost
    cdef const uint16_t* own
    cdef int64_t* my_alone
    cdef int64_t* my_scores
    cdef int64_t* sums
    cdef int64_t* counts
    _read_ranks(ranks, &mine)
    my_pairs = <const int64_t*>data_of(pairs, _INTEGER, (n_pairs, 2), False, "pairs")
    my_worth = <const int64_t*>data_of(
        worth, _INTEGER, (mine.n_people, n_classes), False, "worth"
    )
    cost = <const int64_t*>data_of(unfair, _INTEGER, (mine.n_people,), False, "unfair")
    my_alone = <int64_t*>data_of(alone, _INTEGER, (n_parts,), True, "alone")
    my_scores = <int64_t*>data_of(
        scores, _INTEGER, (n_pairs, mine.n_splits), True, "scores"
    )
    _check_places(my_pairs, 2 * n_pairs, n_parts)
    open_arena(&arena)
    try:
        _read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        if not 0 <= node < my_tree.size:
            raise ValueError(f"the tree has no node {node}")
        first = 0 if my_tree.codes[node] >= 0 else HERE
        for place in range(2 * n_pairs):
            if n_classes <= my_pairs[place] < n_classes + first:
                raise ValueError("a leaf has no subtrees")
        with nogil:
            _look_around(
                &mine, &my_tree, node, n_classes, my_worth, cost, &arena, &around
            )
            for part in range(n_parts):
                if n_classes <= part < n_classes + first:
                    my_alone[part] = INT64_MIN
                    continue
                total = around.rest
                for place in range(around.n_here):
                    total += my_worth[
                        around.here[place] * n_classes
                        + _label_in(&around, part, n_classes, place)
                    ]
                for number in range(around.n_near):
                    labels = around.elsewhere[number]
                    for place in range(around.start[number], around.start[number + 1]):
                        labels = _with(
                            labels, _labels_in(&around, part, n_classes, place)
                        )
                    if labels == SEVERAL:
                        total -= cost[around.near[number]]
                my_alone[part] = total
            counts = integers(&arena, mine.n_splits)
            sums = integers(&arena, 65_538)
            for family in range(mine.n_families):
                size = mine.start[family + 1] - mine.start[family]
                own = mine.own + family * mine.n_people
                memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
                for place in range(around.n_here):
                    sums[own[around.here[place]]] += 1
                _settle(&mine, family, sums, counts + mine.start[family])
            here = mark(&arena)
            for number in range(n_pairs):
                back_to(&arena, here)
                pair.inner, pair.outer = my_pairs[2 * number], my_pairs[2 * number + 1]
                _make_pair(&mine, &around, n_classes, my_worth, cost, &arena, &pair)
                for family in range(mine.n_families):
                    size = mine.start[family + 1] - mine.start[family]
                    own = mine.own + family * mine.n_people
                    memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
                    for place in range(around.n_here):
                        sums[own[around.here[place]]] += pair.gain[place]
                    base = pair.base
                    if mine.row[family] < 0:
                        base += _add_chain(
                            &mine, &around, &pair, family, n_classes, cost, sums
                        )
                    else:
                        base += sums[size + 1] + _add_singles(
                            &mine, &around, &pair, family, n_classes, cost, sums
                        )
                    for place in range(size):
                        part = mine.start[family] + place
                        total = base + sums[place]
                        if mine.row[family] < 0:
                            base = total
                        count = counts[part]
                        if count < min_leaf or around.n_here - count < min_leaf:
                            total = INT64_MIN
                        my_scores[number * mine.n_splits + part] = total
    finally:
        close_arena(&arena)
