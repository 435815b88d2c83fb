# What a change at a node needs to know about the people who reach it.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fatt.train.kernels.records cimport Ranks, Rows, Tree
from fatt.verifier.kernels.arena cimport Arena

cdef enum:
    # What may stand at a node, besides a leaf of each class.
    LEFT = 0
    RIGHT = 1
    HERE = 2
    N_SUBTREES = 3

cdef struct Around:
    const Ranks* ranks
    const Rows* rows
    const Tree* tree
    # What each label is worth to each person, and what it costs to be unfair to them.
    const int64_t* worth
    const int64_t* unfair
    # The people at the node, and the leaf of each person in the subtrees there.
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


cdef int look_around(
    Around* around,
    int64_t node,
    const int64_t* leaf,
    const uint64_t* reached,
    const uint8_t* is_unfair,
    Arena* arena,
) except -1 nogil


cdef inline int64_t worth_in(
    const Around* around, int64_t part, int64_t person
) noexcept nogil:
    """Return what a part is worth to a person who arrives at the node."""
    cdef int64_t n_classes = around.tree.n_classes, label = part
    if part >= n_classes:
        label = around.tree.label[around.leaf[part - n_classes][person]]
    return around.worth[person * n_classes + label]


cdef inline int32_t labels_in(
    const Around* around, int64_t part, int64_t at
) noexcept nogil:
    """Return the labels that a part gives to a box that reaches the node."""
    if part < around.tree.n_classes:
        return <int32_t>(part + 1)
    return around.labels[part - around.tree.n_classes][at]
