"""The compiled parts of a repair: which leaves boxes reach, and the worst of them."""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t, uint8_t, uint64_t

from fatt.ensemble.arrays cimport data_of, n_columns_of
from fatt.verifier.kernels.arena cimport (
    Arena,
    close_arena,
    integers,
    more,
    open_arena,
    take,
)
from fatt.verifier.kernels.boundary cimport read_forest
from fatt.verifier.kernels.reach cimport enter, make_walk, to_leaf, turn
from fatt.verifier.kernels.records cimport Forest, Regions, Walk

_INTEGER = np.dtype(np.int64)
_FLOAT = np.dtype(np.float64)
_FLAG = np.dtype(np.bool_)
_WORD = np.dtype(np.uint64)


def collect(forest, regions, int64_t depth, ends):
    """Return the leaves that boxes reach, and write where each tree's end.

    Parameters
    ----------
    forest
        The trees in rank space.
    regions
        Lower, upper, missing and codes of the boxes.
    depth
        The levels of the deepest tree.
    ends : ndarray of shape (n_boxes, n_trees)
        Receives where the leaves of each box in each tree end.
    """
    cdef Forest mine
    cdef Regions boxes
    cdef Walk walk
    cdef Arena arena
    cdef int64_t* leaves
    cdef int64_t* end
    cdef int64_t n_boxes, box, tree, node, size, count = 0
    read_forest(forest, &mine)
    lower, upper, missing, codes = regions
    n_boxes, n_words = len(lower), n_columns_of(codes, "codes")
    shape = (n_boxes, mine.n_variables)
    boxes.lower = <const double*>data_of(lower, _FLOAT, shape, False, "lower")
    boxes.upper = <const double*>data_of(upper, _FLOAT, shape, False, "upper")
    boxes.missing = <const uint8_t*>data_of(missing, _FLAG, shape, False, "missing")
    boxes.codes = <const uint64_t*>data_of(
        codes, _WORD, (n_boxes, n_words), False, "codes"
    )
    boxes.n_variables, boxes.n_words = mine.n_variables, n_words
    end = <int64_t*>data_of(ends, _INTEGER, (n_boxes, mine.n_trees), True, "ends")
    open_arena(&arena)
    try:
        with nogil:
            make_walk(&walk, &mine, depth + 1, &arena)
            size = 4 * n_boxes * mine.n_trees + 16
            leaves = integers(&arena, size)
            for box in range(n_boxes):
                enter(&mine, &boxes, box, &walk)
                for tree in range(mine.n_trees):
                    node = mine.roots[tree]
                    while node >= 0:
                        node = to_leaf(&mine, &walk, node)
                        if count == size:
                            leaves = <int64_t*>more(
                                &arena, leaves, count, 2 * size, sizeof(int64_t)
                            )
                            size *= 2
                        leaves[count] = mine.nodes[node].leaf
                        count += 1
                        node = turn(&mine, &walk)
                    end[box * mine.n_trees + tree] = count
        if count == 0:
            return np.empty(0, dtype=np.int64)
        return np.array(<int64_t[:count]>leaves, dtype=np.int64)
    finally:
        close_arena(&arena)


cdef double _worst(
    const double* values,
    int64_t n_columns,
    const int64_t* gains,
    const int64_t* losses,
    const int64_t* ends,
    int64_t n_trees,
    const int64_t* leaves,
    int64_t start,
    int64_t* worst,
) noexcept nogil:
    """Return by how much a rival may lead, and write the leaves where it does.

    `gains` and `losses` are, for each tree, the column of `values` that the rival, and
    the own class, gets; -1 for none. The leaves that the region reaches begin at
    `start`.
    """
    cdef int64_t tree, place
    cdef double most, gain, lead = 0.0
    cdef const double* leaf
    for tree in range(n_trees):
        most = -INFINITY
        for place in range(start, ends[tree]):
            leaf = values + leaves[place] * n_columns
            gain = leaf[gains[tree]] if gains[tree] >= 0 else 0.0
            if losses[tree] >= 0:
                gain -= leaf[losses[tree]]
            if gain > most:
                most = gain
                worst[tree] = leaves[place]
        lead += most
        start = ends[tree]
    return lead


def weigh(values, columns, base, reach, own, double steep, slope, bend):
    """Add up how the leads of rivals depend on the leaves; return the largest leads.

    What a region costs is ``log(1 + exp(steep * lead))`` of its largest lead, which
    changes with the worst leaf of each tree only.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        What the leaves add.
    columns : ndarray of shape (n_classes, n_trees)
        The column of `values` from which a tree adds to a class; -1 for none.
    base : ndarray of shape (n_classes,)
        What is added to the classes besides.
    reach
        Where the leaves of each region in each tree end, and the leaves.
    own : ndarray of shape (n_regions,)
        The class that ought to win everywhere in each region.
    steep
        By what leads are multiplied.
    slope, bend : ndarray of shape (n_rows, n_columns)
        Receive the first derivative of the costs, and bounds of the second.
    """
    ends, leaves = reach
    cdef int64_t n_rows = len(values), n_columns = n_columns_of(values, "values")
    cdef int64_t n_classes = len(columns), n_trees = n_columns_of(columns, "columns")
    cdef int64_t n_regions = len(ends), n_leaves = len(leaves)
    shape, found = (n_rows, n_columns), np.empty(n_regions)
    cdef const double* my_values = <const double*>data_of(
        values, _FLOAT, shape, False, "values"
    )
    cdef const int64_t* my_columns = <const int64_t*>data_of(
        columns, _INTEGER, (n_classes, n_trees), False, "columns"
    )
    cdef const double* my_base = <const double*>data_of(
        base, _FLOAT, (n_classes,), False, "base"
    )
    cdef const int64_t* my_ends = <const int64_t*>data_of(
        ends, _INTEGER, (n_regions, n_trees), False, "ends"
    )
    cdef const int64_t* my_leaves = <const int64_t*>data_of(
        leaves, _INTEGER, (n_leaves,), False, "leaves"
    )
    cdef const int64_t* my_own = <const int64_t*>data_of(
        own, _INTEGER, (n_regions,), False, "own"
    )
    cdef double* my_slope = <double*>data_of(slope, _FLOAT, shape, True, "slope")
    cdef double* my_bend = <double*>data_of(bend, _FLOAT, shape, True, "bend")
    cdef double* leads = <double*>data_of(found, _FLOAT, (n_regions,), True, "leads")
    cdef int64_t region, mine, first, rival, tree, leaf, gain, loss, place, start = 0
    cdef int64_t* worst
    cdef int64_t* tried
    cdef int64_t* best
    cdef double lead, far, push
    cdef Arena arena
    for place in range(n_leaves):
        if not 0 <= my_leaves[place] < n_rows:
            raise ValueError(f"leaf {my_leaves[place]} is not among the {n_rows}")
    for place in range(n_classes * n_trees):
        if not -1 <= my_columns[place] < n_columns:
            raise ValueError(f"column {my_columns[place]} is not among {n_columns}")
    for place in range(n_regions * n_trees):
        if not start <= my_ends[place] <= n_leaves:
            raise ValueError("ends are not in order")
        start = my_ends[place]
    for region in range(n_regions):
        if not 0 <= my_own[region] < n_classes:
            raise ValueError(f"class {my_own[region]} is not among the {n_classes}")
    start = 0
    open_arena(&arena)
    try:
        with nogil:
            worst = <int64_t*>take(&arena, 2 * n_trees, sizeof(int64_t))
            for place in range(2 * n_trees):
                worst[place] = 0
            best, tried = worst, worst + n_trees
            for region in range(n_regions):
                mine, first, lead = my_own[region], -1, -INFINITY
                for rival in range(n_classes):
                    if rival == mine:
                        continue
                    far = my_base[rival] - my_base[mine]
                    far += _worst(
                        my_values,
                        n_columns,
                        my_columns + rival * n_trees,
                        my_columns + mine * n_trees,
                        my_ends + region * n_trees,
                        n_trees,
                        my_leaves,
                        start,
                        tried,
                    )
                    if far > lead:
                        lead, first = far, rival
                        for tree in range(n_trees):
                            best[tree] = tried[tree]
                push = steep / (1.0 + exp(-steep * lead))
                for tree in range(n_trees if first >= 0 else 0):
                    leaf = best[tree] * n_columns
                    gain = my_columns[first * n_trees + tree]
                    loss = my_columns[mine * n_trees + tree]
                    if gain >= 0:
                        my_slope[leaf + gain] += push
                        my_bend[leaf + gain] += steep * steep / 4
                    if loss >= 0:
                        my_slope[leaf + loss] -= push
                        my_bend[leaf + loss] += steep * steep / 4
                leads[region] = lead
                if n_trees > 0:
                    start = my_ends[region * n_trees + n_trees - 1]
    finally:
        close_arena(&arena)
    return found
