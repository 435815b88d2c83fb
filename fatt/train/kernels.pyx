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

from libc.stdint cimport (
    INT32_MAX,
    INT64_MIN,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint64_t,
)
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
    words,
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
    # How many ranks there may be, and thus room for sums.
    N_RANKS = 65_536

#: The score of what is not allowed.
NEVER = INT64_MIN

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_RANK = np.dtype(np.uint16)
_WORD = np.dtype(np.uint64)
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


# A tree in prefix order, and where the subtree of each node ends. Its leaves are
# numbered from left to right: each node has the number of its first leaf, each leaf its
# label, and each label the set of its leaves.
cdef struct Tree:
    const int32_t* codes
    int64_t size
    int64_t* end
    int64_t n_classes
    int64_t n_leaves
    int64_t n_words
    int64_t* first_leaf
    int64_t* label
    uint64_t* of_label


cdef const int64_t* _numbers(object array, tuple shape, str name) except? NULL:
    return <const int64_t*>data_of(array, _INTEGER, shape, False, name)


cdef int64_t* _results(object array, tuple shape, str name) except? NULL:
    return <int64_t*>data_of(array, _INTEGER, shape, True, name)


cdef const uint16_t* _ranks(object array, tuple shape, str name) except? NULL:
    return <const uint16_t*>data_of(array, _RANK, shape, False, name)


cdef int _read_ranks(object ranks, Ranks* mine) except -1:
    """Check the arrays of the ranks, and take their addresses."""
    cdef int64_t n_singles, family, place
    start, row, family_of, flipped, own, low, high, first, members, box_start = ranks
    mine.n_families, mine.n_splits = len(row), len(family_of)
    mine.n_people, mine.n_boxes = len(box_start) - 1, n_columns_of(low, "low")
    if max(mine.n_people, mine.n_boxes) > INT32_MAX:
        raise ValueError("there are more people, or boxes, than can be numbered")
    n_singles = len(first)
    boxes = (mine.n_families, mine.n_boxes)
    mine.start = _numbers(start, (mine.n_families + 1,), "start")
    mine.row = _numbers(row, (mine.n_families,), "row")
    mine.family = _numbers(family_of, (mine.n_splits,), "family")
    mine.flipped = <const uint8_t*>data_of(
        flipped, _FLAG, (mine.n_splits,), False, "flipped"
    )
    mine.own = _ranks(own, (mine.n_families, mine.n_people), "own")
    mine.low = _ranks(low, boxes, "low")
    mine.high = _ranks(high, boxes, "high")
    mine.member_start = _numbers(first, (n_singles, mine.n_boxes + 1), "member_start")
    mine.members = _ranks(members, (len(members),), "members")
    mine.box_start = _numbers(box_start, (mine.n_people + 1,), "box_start")
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


cdef int _check_places(const int64_t* places, int64_t count, int64_t size) except -1:
    cdef int64_t number
    for number in range(count):
        if not 0 <= places[number] < size:
            raise ValueError(f"{places[number]} is none of {size}")
    return 0


cdef inline int32_t* _small(Arena* arena, int64_t count) except NULL nogil:
    """Return room for so many small integers, and for one that does not count."""
    return <int32_t*>take(arena, count + 1, sizeof(int32_t))


cdef int32_t* _up_to(int64_t count, Arena* arena) except NULL nogil:
    """Return the numbers of all people, or of all boxes."""
    cdef int32_t* found = _small(arena, count)
    cdef int64_t number
    for number in range(count):
        found[number] = <int32_t>number
    return found


# Who reaches the two sides of a split.
cdef struct Sides:
    int64_t n_inside
    int64_t n_outside
    int32_t* inside
    int32_t* outside


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


cdef void _part(
    const Ranks* ranks,
    int64_t split,
    bint are_boxes,
    const int32_t* chosen,
    int64_t count,
    Sides* sides,
) noexcept nogil:
    """Part people, or boxes, by the sides of a split that they reach."""
    cdef int64_t family = ranks.family[split], place = split - ranks.start[family]
    cdef int64_t number, n_inside = 0, n_outside = 0, reached
    cdef const uint16_t* low = ranks.own + family * ranks.n_people
    cdef const uint16_t* high = low
    cdef uint16_t always
    cdef int32_t one
    if are_boxes:
        low = ranks.low + family * ranks.n_boxes
        high = ranks.high + family * ranks.n_boxes
    # All are written to both sides, and count where they belong: that needs no branch.
    if ranks.row[family] < 0:
        for number in range(count):
            one = chosen[number]
            sides.inside[n_inside] = sides.outside[n_outside] = one
            n_inside += low[one] <= place
            n_outside += high[one] > place
    elif are_boxes:
        for number in range(count):
            one = chosen[number]
            reached = _reaches(ranks, family, place, one)
            sides.inside[n_inside] = sides.outside[n_outside] = one
            n_inside += reached & INSIDE
            n_outside += reached >> 1
    else:
        always = <uint16_t>_always(ranks, family)
        for number in range(count):
            one = chosen[number]
            reached = (low[one] == place) | (low[one] == always)
            sides.inside[n_inside] = sides.outside[n_outside] = one
            n_inside += reached
            n_outside += 1 - reached
    sides.n_inside, sides.n_outside = n_inside, n_outside


cdef int _send(
    const Ranks* ranks,
    const Tree* tree,
    int64_t node,
    const int32_t* chosen,
    int64_t count,
    int64_t* leaf,
    uint64_t* reached,
    Arena* arena,
) except -1 nogil:
    """Send people, or boxes, from a node down.

    `leaf` receives the leaf of each person; or it is NULL, and `reached` receives those
    of each box, besides what it has.
    """
    cdef int64_t number, low = node + 1, high, at
    cdef uint64_t bit
    cdef Sides sides
    cdef Mark before
    if count == 0:
        return 0
    if tree.codes[node] < 0:
        at = tree.first_leaf[node]
        if leaf != NULL:
            for number in range(count):
                leaf[chosen[number]] = at
            return 0
        bit = <uint64_t>1 << at % 64
        for number in range(count):
            reached[chosen[number] * tree.n_words + at // 64] |= bit
        return 0
    high = tree.end[low]
    if ranks.flipped[tree.codes[node]]:
        low, high = high, low
    before = mark(arena)
    sides.inside, sides.outside = _small(arena, count), _small(arena, count)
    _part(ranks, tree.codes[node], leaf == NULL, chosen, count, &sides)
    _send(ranks, tree, low, sides.inside, sides.n_inside, leaf, reached, arena)
    _send(ranks, tree, high, sides.outside, sides.n_outside, leaf, reached, arena)
    back_to(arena, before)
    return 0


cdef inline int32_t _with(int32_t labels, int32_t others) noexcept nogil:
    """Return the labels of two sets."""
    if others == NONE or labels == others:
        return labels
    return others if labels == NONE else SEVERAL


cdef inline int32_t _labels_of(
    const Tree* tree, const uint64_t* reached, const uint64_t* among
) noexcept nogil:
    """Return the labels of those leaves that are reached, among some."""
    cdef int32_t labels = NONE
    cdef int64_t label, word
    for label in range(tree.n_classes):
        for word in range(tree.n_words):
            if reached[word] & among[word] & tree.of_label[label * tree.n_words + word]:
                labels = _with(labels, <int32_t>(label + 1))
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
    cdef int64_t* my_leaf
    cdef int32_t* everyone
    _read_ranks(ranks, &mine)
    my_leaf = _results(leaf, (mine.n_people,), "leaf")
    open_arena(&arena)
    try:
        _read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        with nogil:
            everyone = _up_to(mine.n_people, &arena)
            _send(&mine, &my_tree, 0, everyone, mine.n_people, my_leaf, NULL, &arena)
    finally:
        close_arena(&arena)


def send_boxes(ranks, tree, int64_t n_classes, reached, unfair):
    """Tell which leaves of a tree each box reaches, and who thereby reaches two labels.

    Parameters
    ----------
    ranks, tree, n_classes
        As in `send_people`.
    reached : ndarray of uint64, of shape (n_boxes, n_words)
        Zeros; receives the leaves of each box, as bits.
    unfair : ndarray of shape (n_people,)
        Receives of each person whether all boxes together reach several labels.
    """
    cdef Ranks mine
    cdef Tree my_tree
    cdef Arena arena
    cdef int64_t person, box
    cdef int32_t labels
    cdef uint64_t* my_reached
    cdef uint64_t* all_leaves
    cdef uint8_t* answer
    cdef int32_t* boxes
    _read_ranks(ranks, &mine)
    answer = <uint8_t*>data_of(unfair, _FLAG, (mine.n_people,), True, "unfair")
    open_arena(&arena)
    try:
        _read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        my_reached = <uint64_t*>data_of(
            reached, _WORD, (mine.n_boxes, my_tree.n_words), True, "reached"
        )
        with nogil:
            boxes = _up_to(mine.n_boxes, &arena)
            _send(&mine, &my_tree, 0, boxes, mine.n_boxes, NULL, my_reached, &arena)
            all_leaves = words(&arena, my_tree.n_words)
            memset(all_leaves, 255, <size_t>my_tree.n_words * sizeof(uint64_t))
            for person in range(mine.n_people):
                labels = NONE
                for box in range(mine.box_start[person], mine.box_start[person + 1]):
                    labels = _with(
                        labels,
                        _labels_of(
                            &my_tree, my_reached + box * my_tree.n_words, all_leaves
                        ),
                    )
                answer[person] = labels == SEVERAL
    finally:
        close_arena(&arena)


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


cdef void _count_inside(
    const Ranks* ranks,
    const int32_t* here,
    int64_t n_here,
    int64_t* sums,
    int64_t* inside,
) noexcept nogil:
    """Count who is inside each split."""
    cdef int64_t family, place, size
    cdef const uint16_t* own
    for family in range(ranks.n_families):
        size = ranks.start[family + 1] - ranks.start[family]
        own = ranks.own + family * ranks.n_people
        memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
        for place in range(n_here):
            sums[own[here[place]]] += 1
        _settle(ranks, family, sums, inside + ranks.start[family])


cdef int32_t* _chosen(
    object numbers, int64_t size, Arena* arena, str name
) except NULL:
    """Return the numbers of some people, or boxes, if there are such."""
    cdef int64_t count = len(numbers), place
    cdef const int64_t* given = _numbers(numbers, (count,), name)
    cdef int32_t* found = _small(arena, count)
    _check_places(given, count, size)
    for place in range(count):
        found[place] = <int32_t>given[place]
    return found


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
    cdef int64_t n_here = len(people), n_near = len(boxes)
    cdef int64_t family, label, place, at, size
    cdef const int32_t* here
    cdef const int32_t* near
    cdef const int64_t* my_worth
    cdef const int64_t* my_weight
    cdef const uint16_t* own
    cdef int64_t* sums
    cdef int64_t* my_inside
    cdef int64_t* my_count
    cdef int64_t* my_torn
    cdef Arena arena
    _read_ranks(ranks, &mine)
    my_worth = _numbers(worth, (mine.n_people, n_classes), "worth")
    my_weight = _numbers(weight, (mine.n_boxes,), "weight")
    my_inside = _results(inside, (n_classes, mine.n_splits), "inside")
    my_count = _results(n_inside, (mine.n_splits,), "n_inside")
    my_torn = _results(torn, (mine.n_splits,), "torn")
    open_arena(&arena)
    try:
        here = _chosen(people, mine.n_people, &arena, "people")
        near = _chosen(boxes, mine.n_boxes, &arena, "boxes")
        with nogil:
            sums = integers(&arena, N_RANKS)
            _count_inside(&mine, here, n_here, sums, my_count)
            for family in range(mine.n_families):
                at = mine.start[family]
                size = mine.start[family + 1] - at
                own = mine.own + family * mine.n_people
                for label in range(n_classes):
                    memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
                    for place in range(n_here):
                        sums[own[here[place]]] += my_worth[
                            here[place] * n_classes + label
                        ]
                    _settle(&mine, family, sums, my_inside + label * mine.n_splits + at)
                _weigh_torn(&mine, family, near, n_near, my_weight, sums, my_torn + at)
    finally:
        close_arena(&arena)


cdef void _weigh_torn(
    const Ranks* ranks,
    int64_t family,
    const int32_t* near,
    int64_t n_near,
    const int64_t* weight,
    int64_t* sums,
    int64_t* torn,
) noexcept nogil:
    """Add up the weights of boxes that reach both sides of each split of a family."""
    cdef int64_t size = ranks.start[family + 1] - ranks.start[family]
    cdef int64_t place, box, low, high, member, base = 0
    cdef const int64_t* first
    memset(sums, 0, <size_t>(size + 2) * sizeof(int64_t))
    for place in range(n_near):
        box = near[place]
        low = ranks.low[family * ranks.n_boxes + box]
        high = ranks.high[family * ranks.n_boxes + box]
        if ranks.row[family] < 0:
            sums[low] += weight[box]
            sums[high] -= weight[box]
            continue
        if low == BOTH:
            base += weight[box]
        if (low == BOTH) == (high == BOTH):
            continue
        first = ranks.member_start + ranks.row[family] * (ranks.n_boxes + 1) + box
        for member in range(first[0], first[1]):
            sums[ranks.members[member]] += weight[box] if high == BOTH else -weight[box]
    for place in range(size):
        if ranks.row[family] < 0:
            base += sums[place]
            torn[place] = base
        else:
            torn[place] = base + sums[place]


# What a change at a node needs to know about those who reach it.
cdef struct Around:
    const Ranks* ranks
    const Tree* tree
    # What each label is worth to each person, and what it costs to be unfair to them.
    const int64_t* worth
    const int64_t* unfair
    # Who arrives at the node, and the leaf of each person in the subtrees there.
    int64_t n_here
    int32_t* here
    const int64_t* leaf[N_SUBTREES]
    # The people some of whose boxes reach the node, if they reach at most one label
    # elsewhere; these boxes, and the labels of each in the subtrees.
    int64_t n_near
    int32_t* near
    int32_t* elsewhere
    int64_t* start
    int32_t* box
    int32_t* labels[N_SUBTREES]
    # What all others are worth.
    int64_t rest


cdef int _look_around(
    Around* around,
    int64_t node,
    const int64_t* leaf,
    const uint64_t* reached,
    Arena* arena,
) except -1 nogil:
    """Find out who reaches a node, and what the subtrees there mean to each of them."""
    cdef const Ranks* ranks = around.ranks
    cdef const Tree* tree = around.tree
    cdef int64_t first = tree.first_leaf[node], last = tree.first_leaf[tree.end[node]]
    cdef int64_t person, box, count, at, word, size = 0
    cdef const uint64_t* mine
    cdef uint64_t* within = words(arena, tree.n_words)
    cdef uint64_t* beyond = words(arena, tree.n_words)
    cdef uint64_t hit
    cdef int32_t labels
    for at in range(first, last):
        within[at // 64] |= <uint64_t>1 << at % 64
    for word in range(tree.n_words):
        beyond[word] = ~within[word]
    around.here = _small(arena, ranks.n_people)
    around.near = _small(arena, ranks.n_people)
    around.elsewhere = _small(arena, ranks.n_people)
    around.start = integers(arena, ranks.n_people + 1)
    around.box = _small(arena, ranks.n_boxes)
    around.n_here = around.n_near = around.rest = 0
    for person in range(ranks.n_people):
        if first <= leaf[person] < last:
            around.here[around.n_here] = <int32_t>person
            around.n_here += 1
        else:
            at = tree.label[leaf[person]]
            around.rest += around.worth[person * tree.n_classes + at]
    for person in range(ranks.n_people):
        if around.unfair[person] == 0:
            continue
        labels, count = NONE, size
        for box in range(ranks.box_start[person], ranks.box_start[person + 1]):
            mine = reached + box * tree.n_words
            labels = _with(labels, _labels_of(tree, mine, beyond))
            if labels == SEVERAL:
                break
            hit = 0
            for word in range(tree.n_words):
                hit |= mine[word] & within[word]
            if hit:
                around.box[count] = <int32_t>box
                count += 1
        if labels == SEVERAL:
            around.rest -= around.unfair[person]
        elif count > size:
            around.near[around.n_near] = <int32_t>person
            around.elsewhere[around.n_near] = labels
            around.start[around.n_near] = size
            around.n_near += 1
            size = count
    around.start[around.n_near] = size
    around.leaf[HERE] = leaf
    around.labels[HERE] = _small(arena, size)
    for at in range(size):
        mine = reached + around.box[at] * tree.n_words
        around.labels[HERE][at] = _labels_of(tree, mine, within)
    if tree.codes[node] >= 0:
        _look_below(around, LEFT, node + 1, within, arena)
        _look_below(around, RIGHT, tree.end[node + 1], within, arena)
    return 0


cdef int _look_below(
    Around* around, int64_t part, int64_t root, const uint64_t* within, Arena* arena
) except -1 nogil:
    """Send everybody who reaches a node to one of its subtrees."""
    cdef const Tree* tree = around.tree
    cdef int64_t at, size = around.start[around.n_near]
    cdef int64_t n_words = around.ranks.n_boxes * tree.n_words
    cdef int64_t* leaf = integers(arena, around.ranks.n_people)
    cdef uint64_t* reached
    cdef Mark before
    _send(around.ranks, tree, root, around.here, around.n_here, leaf, NULL, arena)
    around.leaf[part] = leaf
    around.labels[part] = _small(arena, size)
    before = mark(arena)
    reached = <uint64_t*>take(arena, n_words, sizeof(uint64_t))
    for at in range(size):
        memset(
            reached + around.box[at] * tree.n_words,
            0,
            <size_t>tree.n_words * sizeof(uint64_t),
        )
    _send(around.ranks, tree, root, around.box, size, NULL, reached, arena)
    for at in range(size):
        around.labels[part][at] = _labels_of(
            tree, reached + around.box[at] * tree.n_words, within
        )
    back_to(arena, before)
    return 0


cdef inline int64_t _worth_in(
    const Around* around, int64_t part, int64_t person
) noexcept nogil:
    """Return what a part is worth to somebody who arrives at the node."""
    cdef int64_t n_classes = around.tree.n_classes, label = part
    if part >= n_classes:
        label = around.tree.label[around.leaf[part - n_classes][person]]
    return around.worth[person * n_classes + label]


cdef inline int32_t _labels_in(
    const Around* around, int64_t part, int64_t at
) noexcept nogil:
    """Return the labels that a part gives to a box that reaches the node."""
    if part < around.tree.n_classes:
        return <int32_t>(part + 1)
    return around.labels[part - around.tree.n_classes][at]


cdef int64_t _score_alone(const Around* around, int64_t part) noexcept nogil:
    """Return what the tree is worth with one part at the node."""
    cdef int64_t place, number, total = around.rest
    cdef int32_t labels
    for place in range(around.n_here):
        total += _worth_in(around, part, around.here[place])
    for number in range(around.n_near):
        labels = around.elsewhere[number]
        for place in range(around.start[number], around.start[number + 1]):
            labels = _with(labels, _labels_in(around, part, place))
        if labels == SEVERAL:
            total -= around.unfair[around.near[number]]
    return total


# The only box of somebody at the node, and what it costs, by the sides of a split that
# it reaches.
cdef struct Alone:
    int64_t box
    int64_t cost[BOTH + 1]


# How two parts do on the two sides of any split, and how they do exchanged. Of each
# two numbers the second is for the exchanged ones.
cdef struct Pair:
    int64_t inner[2]
    int64_t outer[2]
    # What it is worth if everybody were outside.
    int64_t base[2]
    # To whom it makes a difference to be inside, and how much they gain; exchanged,
    # they lose as much.
    int64_t n_moved
    int32_t* moved
    int64_t* gain
    # The boxes of people who have one here, if they matter.
    int64_t n_alone
    Alone* alone
    # The people who have several boxes here.
    int64_t n_many
    int64_t* many


cdef inline int64_t _exchanged(int64_t reached) noexcept nogil:
    """Return what a box reaches of a split if inside and outside change places."""
    return reached if reached == BOTH else BOTH - reached


cdef int _make_pair(const Around* around, Arena* arena, Pair* pair) except -1 nogil:
    """Work out what does not depend on the split."""
    cdef int64_t place, number, at, person, cost, inner, outer
    cdef int32_t labels, within, without
    cdef Alone* one
    pair.base[0] = pair.base[1] = around.rest
    pair.moved = _small(arena, around.n_here)
    pair.gain = integers(arena, around.n_here)
    pair.alone = <Alone*>take(arena, around.n_near + 1, sizeof(Alone))
    pair.many = integers(arena, around.n_near)
    pair.n_moved = pair.n_alone = pair.n_many = 0
    for place in range(around.n_here):
        person = around.here[place]
        inner = _worth_in(around, pair.inner[0], person)
        outer = _worth_in(around, pair.outer[0], person)
        pair.base[0] += outer
        pair.base[1] += inner
        pair.moved[pair.n_moved] = <int32_t>person
        pair.gain[pair.n_moved] = inner - outer
        pair.n_moved += inner != outer
    for number in range(around.n_near):
        at = around.start[number]
        if around.start[number + 1] - at > 1:
            pair.many[pair.n_many] = number
            pair.n_many += 1
            continue
        cost, labels = around.unfair[around.near[number]], around.elsewhere[number]
        within = _with(labels, _labels_in(around, pair.inner[0], at))
        without = _with(labels, _labels_in(around, pair.outer[0], at))
        if _with(within, without) != SEVERAL:
            continue
        one = pair.alone + pair.n_alone
        one.box = around.box[at]
        one.cost[0], one.cost[BOTH] = 0, cost
        one.cost[INSIDE] = cost if within == SEVERAL else 0
        one.cost[OUTSIDE] = cost if without == SEVERAL else 0
        pair.base[0] -= one.cost[OUTSIDE]
        pair.base[1] -= one.cost[INSIDE]
        # Who is treated unfairly on either side is so at every split.
        pair.n_alone += within != SEVERAL or without != SEVERAL
    return 0


cdef int64_t _cost(
    const Around* around,
    const Pair* pair,
    int64_t way,
    int64_t number,
    int64_t family,
    int64_t place,
) noexcept nogil:
    """Return what somebody costs at one split; before the first where it is -1."""
    cdef const Ranks* ranks = around.ranks
    cdef int32_t labels = around.elsewhere[number]
    cdef int64_t at, reached
    for at in range(around.start[number], around.start[number + 1]):
        if ranks.row[family] >= 0 and place < 0:
            reached = ranks.low[family * ranks.n_boxes + around.box[at]]
        else:
            reached = _reaches(ranks, family, place, around.box[at])
        if reached & INSIDE:
            labels = _with(labels, _labels_in(around, pair.inner[way], at))
        if reached & OUTSIDE:
            labels = _with(labels, _labels_in(around, pair.outer[way], at))
    return around.unfair[around.near[number]] if labels == SEVERAL else 0


cdef void _add_chain(
    const Around* around, const Pair* pair, int64_t family, int64_t* sums, int64_t* base
) noexcept nogil:
    """Add up by rank what changes along a chain, and what it is before the first."""
    cdef const uint16_t* low = around.ranks.low + family * around.ranks.n_boxes
    cdef const uint16_t* high = around.ranks.high + family * around.ranks.n_boxes
    cdef int64_t place, number, at, rank, following, before, after, way
    cdef int64_t* entered
    cdef int64_t* left
    cdef const Alone* one
    for place in range(pair.n_alone):
        one = pair.alone + place
        entered, left = sums + 2 * low[one.box], sums + 2 * high[one.box]
        entered[0] -= one.cost[BOTH] - one.cost[OUTSIDE]
        entered[1] -= one.cost[BOTH] - one.cost[INSIDE]
        left[0] -= one.cost[INSIDE] - one.cost[BOTH]
        left[1] -= one.cost[OUTSIDE] - one.cost[BOTH]
    for place in range(2 * pair.n_many):
        number, way = pair.many[place // 2], place % 2
        before = _cost(around, pair, way, number, family, -1)
        base[way] -= before
        rank = -1
        while True:
            # The next rank where anything changes.
            following = N_RANKS
            for at in range(around.start[number], around.start[number + 1]):
                if rank < low[around.box[at]] < following:
                    following = low[around.box[at]]
                if rank < high[around.box[at]] < following:
                    following = high[around.box[at]]
            if following == N_RANKS:
                break
            rank = following
            after = _cost(around, pair, way, number, family, rank)
            sums[2 * rank + way] -= after - before
            before = after


cdef void _add_singles(
    const Around* around, const Pair* pair, int64_t family, int64_t* sums, int64_t* base
) noexcept nogil:
    """Add up by category what is otherwise there, and what it is elsewhere."""
    cdef const Ranks* ranks = around.ranks
    cdef const uint16_t* low = ranks.low + family * ranks.n_boxes
    cdef const uint16_t* high = ranks.high + family * ranks.n_boxes
    cdef const int64_t* first = (
        ranks.member_start + ranks.row[family] * (ranks.n_boxes + 1)
    )
    cdef int64_t place, box, number, at, other, member, single, usual, way
    cdef int64_t more[2]
    cdef const Alone* one
    cdef bint seen
    for place in range(pair.n_alone):
        one = pair.alone + place
        base[0] -= one.cost[low[one.box]] - one.cost[OUTSIDE]
        base[1] -= one.cost[_exchanged(low[one.box])] - one.cost[INSIDE]
        if low[one.box] == high[one.box]:
            continue
        more[0] = one.cost[high[one.box]] - one.cost[low[one.box]]
        more[1] = one.cost[_exchanged(high[one.box])]
        more[1] -= one.cost[_exchanged(low[one.box])]
        for member in range(first[one.box], first[one.box + 1]):
            sums[2 * ranks.members[member]] -= more[0]
            sums[2 * ranks.members[member] + 1] -= more[1]
    for place in range(2 * pair.n_many):
        number, way = pair.many[place // 2], place % 2
        usual = _cost(around, pair, way, number, family, -1)
        base[way] -= usual
        for at in range(around.start[number], around.start[number + 1]):
            box = around.box[at]
            for member in range(first[box], first[box + 1]):
                single, seen = ranks.members[member], False
                for other in range(around.start[number], at):
                    if _is_member(ranks, ranks.row[family], around.box[other], single):
                        seen = True
                if not seen:
                    sums[2 * single + way] -= (
                        _cost(around, pair, way, number, family, single) - usual
                    )


cdef void _score_pair(
    const Around* around, const Pair* pair, int64_t* sums, int64_t** scores
) noexcept nogil:
    """Tell what the tree is worth with each split at the node, and two parts below.

    `scores` receives it for both ways, unless it is NULL.
    """
    cdef const Ranks* ranks = around.ranks
    cdef int64_t family, place, size, way
    cdef int64_t base[2]
    cdef const uint16_t* own
    cdef int64_t* sum_of
    for family in range(ranks.n_families):
        size = ranks.start[family + 1] - ranks.start[family]
        own = ranks.own + family * ranks.n_people
        memset(sums, 0, <size_t>(2 * size + 4) * sizeof(int64_t))
        for place in range(pair.n_moved):
            sum_of = sums + 2 * own[pair.moved[place]]
            sum_of[0] += pair.gain[place]
            sum_of[1] -= pair.gain[place]
        base[0], base[1] = pair.base[0], pair.base[1]
        if ranks.row[family] < 0:
            _add_chain(around, pair, family, sums, base)
        else:
            # Some are inside at every split.
            base[0] += sums[2 * size + 2]
            base[1] += sums[2 * size + 3]
            _add_singles(around, pair, family, sums, base)
        for way in range(2):
            if scores[way] == NULL:
                continue
            for place in range(size):
                scores[way][ranks.start[family] + place] = (
                    base[way] + sums[2 * place + way]
                )
                if ranks.row[family] < 0:
                    base[way] += sums[2 * place + way]


def score_changes(
    ranks, traced, int64_t node, pairs, worth, unfair, int64_t min_leaf, alone, scores
):
    """Tell what a tree is worth after every change at one node.

    What may stand at the node, or on either side of a split there, are parts: a leaf of
    each class, then the left and the right subtree that are there, then both together
    as they are.

    Parameters
    ----------
    ranks
        As in `send_people`.
    traced
        A tree, and what `send_people` and `send_boxes` tell of it; see
        `fatt.train.training_set.Traced`.
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
    cdef Mark before
    cdef int64_t n_classes = n_columns_of(worth, "worth"), n_pairs = len(pairs)
    cdef int64_t n_parts = n_classes + N_SUBTREES, first, number, other, place, part
    cdef const int64_t* my_pairs
    cdef const int64_t* my_leaf
    cdef const uint64_t* my_reached
    cdef int64_t* my_alone
    cdef int64_t* my_scores
    cdef int64_t* rows[2]
    cdef int64_t* sums
    cdef int64_t* counts
    cdef uint64_t* is_scored
    tree, leaf, reached, _ = traced
    _read_ranks(ranks, &mine)
    around.ranks, around.tree = &mine, &my_tree
    around.worth = _numbers(worth, (mine.n_people, n_classes), "worth")
    around.unfair = _numbers(unfair, (mine.n_people,), "unfair")
    my_pairs = _numbers(pairs, (n_pairs, 2), "pairs")
    my_leaf = _numbers(leaf, (mine.n_people,), "leaf")
    my_alone = _results(alone, (n_parts,), "alone")
    my_scores = _results(scores, (n_pairs, mine.n_splits), "scores")
    _check_places(my_pairs, 2 * n_pairs, n_parts)
    open_arena(&arena)
    try:
        _read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        _check_places(my_leaf, mine.n_people, my_tree.n_leaves)
        my_reached = <const uint64_t*>data_of(
            reached, _WORD, (mine.n_boxes, my_tree.n_words), False, "reached"
        )
        if not 0 <= node < my_tree.size:
            raise ValueError(f"the tree has no node {node}")
        first = 0 if my_tree.codes[node] >= 0 else HERE
        for place in range(2 * n_pairs):
            if n_classes <= my_pairs[place] < n_classes + first:
                raise ValueError("a leaf has no subtrees")
        with nogil:
            _look_around(&around, node, my_leaf, my_reached, &arena)
            for part in range(n_parts):
                if n_classes <= part < n_classes + first:
                    my_alone[part] = INT64_MIN
                else:
                    my_alone[part] = _score_alone(&around, part)
            counts = integers(&arena, mine.n_splits)
            sums = integers(&arena, 2 * N_RANKS)
            _count_inside(&mine, around.here, around.n_here, sums, counts)
            is_scored = words(&arena, n_pairs)
            before = mark(&arena)
            for number in range(n_pairs):
                if is_scored[number]:
                    continue
                pair.inner[0] = pair.outer[1] = my_pairs[2 * number]
                pair.outer[0] = pair.inner[1] = my_pairs[2 * number + 1]
                rows[0], rows[1] = my_scores + number * mine.n_splits, NULL
                # Exchanged, two parts are scored at the same time.
                for other in range(number + 1, n_pairs):
                    if (
                        my_pairs[2 * other] == pair.inner[1]
                        and my_pairs[2 * other + 1] == pair.outer[1]
                    ):
                        rows[1] = my_scores + other * mine.n_splits
                        is_scored[other] = 1
                        break
                back_to(&arena, before)
                _make_pair(&around, &arena, &pair)
                _score_pair(&around, &pair, sums, rows)
            for place in range(mine.n_splits):
                if counts[place] < min_leaf or around.n_here - counts[place] < min_leaf:
                    for number in range(n_pairs):
                        my_scores[number * mine.n_splits + place] = INT64_MIN
    finally:
        close_arena(&arena)
