"""What every split would do at a leaf, for trees that grow."""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from fatt.ensemble.arrays cimport n_columns_of
from fatt.train.kernels.boundary cimport (
    check_places,
    numbers_of,
    read_ranks,
    results_of,
)
from fatt.train.kernels.records cimport BOTH, N_RANKS, Ranks, small
from fatt.verifier.kernels.arena cimport (
    Arena,
    close_arena,
    integers,
    open_arena,
)


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
    """Count the people inside each split."""
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
    cdef const int64_t* given = numbers_of(numbers, (count,), name)
    cdef int32_t* found = small(arena, count)
    check_places(given, count, size)
    for place in range(count):
        found[place] = <int32_t>given[place]
    return found


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


def tally_splits(ranks, people, boxes, worth, weight, inside, n_inside, torn):
    """Tell what every split would do at a leaf.

    Parameters
    ----------
    ranks
        As in `send_people`.
    people, boxes : ndarray of int64
        The people and boxes that reach the leaf.
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
    read_ranks(ranks, &mine)
    my_worth = numbers_of(worth, (mine.n_people, n_classes), "worth")
    my_weight = numbers_of(weight, (mine.n_boxes,), "weight")
    my_inside = results_of(inside, (n_classes, mine.n_splits), "inside")
    my_count = results_of(n_inside, (mine.n_splits,), "n_inside")
    my_torn = results_of(torn, (mine.n_splits,), "torn")
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
