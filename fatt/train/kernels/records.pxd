# What the kernels of a training know of people, boxes, splits and trees. The package's
# first page tells what it means; it lies in Python's arrays, or in the arena of a call.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena, take

cdef enum:
    # What a box reaches of a split: bits.
    INSIDE = 1
    OUTSIDE = 2
    BOTH = 3
    # Sets of labels: none, several, or the only label plus one.
    NONE = 0
    SEVERAL = -1
    # How many ranks there may be, and thus room for sums.
    N_RANKS = 65_536

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

# As `fatt.train.ranks.Rows`.
cdef struct Rows:
    int64_t n_rows
    int64_t n_still
    int64_t n_crossed
    const int64_t* order
    const uint16_t* own
    const uint16_t* ends

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


cdef inline int32_t* small(Arena* arena, int64_t count) except NULL nogil:
    """Return room for so many small integers, and for one that does not count."""
    return <int32_t*>take(arena, count + 1, sizeof(int32_t))


cdef inline bint is_member(
    const Ranks* ranks, int64_t row, int64_t box, int64_t place
) noexcept nogil:
    """Tell whether a box holds the category of a single."""
    cdef const int64_t* first = ranks.member_start + row * (ranks.n_boxes + 1) + box
    cdef int64_t member
    for member in range(first[0], first[1]):
        if ranks.members[member] == place:
            return True
    return False


cdef inline int64_t what_reaches(
    const Ranks* ranks, int64_t family, int64_t place, int64_t box
) noexcept nogil:
    """Return what a box reaches of a split: its inside, its outside, or both."""
    cdef int64_t at = family * ranks.n_boxes + box
    if ranks.row[family] < 0:
        return (
            (INSIDE if ranks.low[at] <= place else 0)
            | (OUTSIDE if ranks.high[at] > place else 0)
        )
    if is_member(ranks, ranks.row[family], box, place):
        return ranks.high[at]
    return ranks.low[at]


cdef inline int32_t joined(int32_t labels, int32_t others) noexcept nogil:
    """Return the labels of two sets."""
    if others == NONE or labels == others:
        return labels
    return others if labels == NONE else SEVERAL


cdef inline int32_t labels_of(
    const Tree* tree, const uint64_t* reached, const uint64_t* among
) noexcept nogil:
    """Return the labels of those leaves that are reached, among some."""
    cdef int32_t labels = NONE
    cdef int64_t label, word
    for label in range(tree.n_classes):
        for word in range(tree.n_words):
            if reached[word] & among[word] & tree.of_label[label * tree.n_words + word]:
                labels = joined(labels, <int32_t>(label + 1))
                break
    return labels
