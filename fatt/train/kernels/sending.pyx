"""Where a tree sends people and boxes: people to one leaf, boxes to all they reach."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from fatt.train.kernels.boundary cimport (
    flags_of,
    read_ranks,
    read_tree,
    results_of,
    sets_of,
)
from fatt.train.kernels.records cimport (
    INSIDE,
    NONE,
    SEVERAL,
    joined,
    labels_of,
    Ranks,
    small,
    Tree,
    what_reaches,
)
from fatt.verifier.kernels.arena cimport (
    Arena,
    back_to,
    close_arena,
    mark,
    Mark,
    open_arena,
    words,
)

# The people, or boxes, that reach the two sides of a split.
cdef struct Sides:
    int64_t n_inside
    int64_t n_outside
    int32_t* inside
    int32_t* outside


cdef inline int64_t _always(const Ranks* ranks, int64_t family) noexcept nogil:
    """Return the rank of people inside at every split of a family of singles."""
    return ranks.start[family + 1] - ranks.start[family] + 1


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
            reached = what_reaches(ranks, family, place, one)
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


cdef int send(
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
    sides.inside, sides.outside = small(arena, count), small(arena, count)
    _part(ranks, tree.codes[node], leaf == NULL, chosen, count, &sides)
    send(ranks, tree, low, sides.inside, sides.n_inside, leaf, reached, arena)
    send(ranks, tree, high, sides.outside, sides.n_outside, leaf, reached, arena)
    back_to(arena, before)
    return 0


cdef int32_t* _up_to(int64_t count, Arena* arena) except NULL nogil:
    """Return the numbers of all people, or of all boxes."""
    cdef int32_t* found = small(arena, count)
    cdef int64_t number
    for number in range(count):
        found[number] = <int32_t>number
    return found


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
    read_ranks(ranks, &mine)
    my_leaf = results_of(leaf, (mine.n_people,), "leaf")
    open_arena(&arena)
    try:
        read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        with nogil:
            everyone = _up_to(mine.n_people, &arena)
            send(&mine, &my_tree, 0, everyone, mine.n_people, my_leaf, NULL, &arena)
    finally:
        close_arena(&arena)


def send_boxes(ranks, tree, int64_t n_classes, reached, unfair):
    """Tell which leaves of a tree each box reaches, and which people reach two labels.

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
    read_ranks(ranks, &mine)
    answer = flags_of(unfair, (mine.n_people,), True, "unfair")
    open_arena(&arena)
    try:
        read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        my_reached = sets_of(
            reached, (mine.n_boxes, my_tree.n_words), True, "reached"
        )
        with nogil:
            boxes = _up_to(mine.n_boxes, &arena)
            send(&mine, &my_tree, 0, boxes, mine.n_boxes, NULL, my_reached, &arena)
            all_leaves = words(&arena, my_tree.n_words)
            memset(all_leaves, 255, <size_t>my_tree.n_words * sizeof(uint64_t))
            for person in range(mine.n_people):
                labels = NONE
                for box in range(mine.box_start[person], mine.box_start[person + 1]):
                    labels = joined(
                        labels,
                        labels_of(
                            &my_tree, my_reached + box * my_tree.n_words, all_leaves
                        ),
                    )
                answer[person] = labels == SEVERAL
    finally:
        close_arena(&arena)
