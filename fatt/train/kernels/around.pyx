"""Who reaches a node, and what the subtrees there mean to each of them."""

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


cdef int look_around(
    Around* around,
    int64_t node,
    const int64_t* leaf,
    const uint64_t* reached,
    const uint8_t* is_unfair,
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
    around.here = small(arena, ranks.n_people)
    around.near = small(arena, ranks.n_people)
    around.elsewhere = small(arena, ranks.n_people)
    around.start = integers(arena, ranks.n_people + 1)
    around.box = small(arena, ranks.n_boxes)
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
        count = size
        for box in range(ranks.box_start[person], ranks.box_start[person + 1]):
            hit = 0
            for word in range(tree.n_words):
                hit |= reached[box * tree.n_words + word] & within[word]
            if hit:
                around.box[count] = <int32_t>box
                count += 1
        if count == size:
            # Whom nothing here concerns is treated as ever.
            around.rest -= around.unfair[person] if is_unfair[person] else 0
            continue
        labels = NONE
        for box in range(ranks.box_start[person], ranks.box_start[person + 1]):
            mine = reached + box * tree.n_words
            labels = joined(labels, labels_of(tree, mine, beyond))
        if labels == SEVERAL:
            around.rest -= around.unfair[person]
        else:
            around.near[around.n_near] = <int32_t>person
            around.elsewhere[around.n_near] = labels
            around.start[around.n_near] = size
            around.n_near += 1
            size = count
    around.start[around.n_near] = size
    around.leaf[HERE] = leaf
    around.labels[HERE] = small(arena, size)
    for at in range(size):
        mine = reached + around.box[at] * tree.n_words
        around.labels[HERE][at] = labels_of(tree, mine, within)
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
