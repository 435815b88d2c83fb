"""The people who reach a node, and what the subtrees there mean to each of them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from fatt.train.kernels.records cimport (
    joined,
    labels_of,
    NONE,
    Ranks,
    SEVERAL,
    small,
    Tree,
)
from fatt.train.kernels.sending cimport send
from fatt.verifier.kernels.arena cimport (
    Arena,
    back_to,
    integers,
    mark,
    Mark,
    take,
    words,
)


cdef void _find_people(
    Around* around, int64_t node, const int64_t* leaf
) noexcept nogil:
    """Find the people who arrive at a node, and add up what all others are worth."""
    # All that stays the same is named, and nothing is asked that may go either way.
    cdef const Tree* tree = around.tree
    cdef const int64_t* label = tree.label
    cdef const int64_t* worth = around.worth
    cdef int64_t first = tree.first_leaf[node], last = tree.first_leaf[tree.end[node]]
    cdef int64_t n_classes = tree.n_classes, person, at, n_here = 0, rest = 0
    cdef int64_t is_here
    cdef int32_t* here = around.here
    for person in range(around.ranks.n_people):
        at = leaf[person]
        is_here = (at >= first) & (at < last)
        here[n_here] = <int32_t>person
        n_here += is_here
        rest += (1 - is_here) * worth[person * n_classes + label[at]]
    around.n_here = n_here
    around.rest += rest


cdef void _find_boxes(
    Around* around,
    const uint64_t* reached,
    const uint64_t* within,
    const uint8_t* is_unfair,
) noexcept nogil:
    """Find the boxes that reach a node; people without one are treated as before."""
    cdef const int64_t* box_start = around.ranks.box_start
    cdef const int64_t* unfair = around.unfair
    cdef int64_t n_words = around.tree.n_words, n_near = 0, size = 0, rest = 0
    cdef int64_t person, box, word, count
    cdef uint64_t hit
    cdef int32_t* near = around.near
    cdef int32_t* found = around.box
    cdef int64_t* start = around.start
    for person in range(around.ranks.n_people):
        if unfair[person] == 0:
            continue
        count = size
        for box in range(box_start[person], box_start[person + 1]):
            hit = 0
            for word in range(n_words):
                hit |= reached[box * n_words + word] & within[word]
            found[count] = <int32_t>box
            count += hit != 0
        near[n_near], start[n_near] = <int32_t>person, size
        n_near += count > size
        rest += (count == size) * is_unfair[person] * unfair[person]
        size = count
    start[n_near] = size
    around.n_near = n_near
    around.rest -= rest


cdef void _leave_out_unfair(
    Around* around, const uint64_t* reached, const uint64_t* beyond
) noexcept nogil:
    """Leave out people to whom the rest of the tree is unfair in any case."""
    cdef const int64_t* box_start = around.ranks.box_start
    cdef int64_t n_words = around.tree.n_words, n_near = 0, size = 0
    cdef int64_t number, person, box, at, end
    cdef int32_t labels
    for number in range(around.n_near):
        person, labels = around.near[number], NONE
        at, end = around.start[number], around.start[number + 1]
        for box in range(box_start[person], box_start[person + 1]):
            labels = joined(
                labels, labels_of(around.tree, reached + box * n_words, beyond)
            )
        if labels == SEVERAL:
            around.rest -= around.unfair[person]
            continue
        around.near[n_near], around.elsewhere[n_near] = <int32_t>person, labels
        around.start[n_near] = size
        n_near += 1
        while at < end:
            around.box[size] = around.box[at]
            size += 1
            at += 1
    around.n_near = n_near
    around.start[n_near] = size


cdef int look_around(
    Around* around,
    int64_t node,
    const int64_t* leaf,
    const uint64_t* reached,
    const uint8_t* is_unfair,
    Arena* arena,
) except -1 nogil:
    """Find the people who reach a node, and what the subtrees mean to each of them."""
    cdef const Ranks* ranks = around.ranks
    cdef const Tree* tree = around.tree
    cdef int64_t at, word
    cdef uint64_t* within = words(arena, tree.n_words)
    cdef uint64_t* beyond = words(arena, tree.n_words)
    for at in range(tree.first_leaf[node], tree.first_leaf[tree.end[node]]):
        within[at // 64] |= <uint64_t>1 << at % 64
    for word in range(tree.n_words):
        beyond[word] = ~within[word]
    around.here = small(arena, ranks.n_people)
    around.near = small(arena, ranks.n_people)
    around.elsewhere = small(arena, ranks.n_people)
    around.start = integers(arena, ranks.n_people + 1)
    around.box = small(arena, ranks.n_boxes)
    around.rest = 0
    _find_people(around, node, leaf)
    _find_boxes(around, reached, within, is_unfair)
    _leave_out_unfair(around, reached, beyond)
    around.leaf[HERE] = leaf
    around.labels[HERE] = small(arena, around.start[around.n_near])
    for at in range(around.start[around.n_near]):
        around.labels[HERE][at] = labels_of(
            tree, reached + around.box[at] * tree.n_words, within
        )
    if tree.codes[node] >= 0:
        _look_below(around, LEFT, node + 1, within, arena)
        _look_below(around, RIGHT, tree.end[node + 1], within, arena)
    return 0


cdef int _look_below(
    Around* around, int64_t part, int64_t root, const uint64_t* within, Arena* arena
) except -1 nogil:
    """Send the people who reach a node to one of its subtrees."""
    cdef const Tree* tree = around.tree
    cdef int64_t at, size = around.start[around.n_near]
    cdef int64_t n_words = around.ranks.n_boxes * tree.n_words
    cdef int64_t* leaf = integers(arena, around.ranks.n_people)
    cdef uint64_t* reached
    cdef Mark before
    send(around.ranks, tree, root, around.here, around.n_here, leaf, NULL, arena)
    around.leaf[part] = leaf
    around.labels[part] = small(arena, size)
    before = mark(arena)
    reached = <uint64_t*>take(arena, n_words, sizeof(uint64_t))
    for at in range(size):
        memset(
            reached + around.box[at] * tree.n_words,
            0,
            <size_t>tree.n_words * sizeof(uint64_t),
        )
    send(around.ranks, tree, root, around.box, size, NULL, reached, arena)
    for at in range(size):
        around.labels[part][at] = labels_of(
            tree, reached + around.box[at] * tree.n_words, within
        )
    back_to(arena, before)
    return 0
