"""The compiled walk of rows through trees."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.ensemble.arrays cimport data_of, n_columns_of

from fatt.ensemble.trees import NODE

cdef enum:
    # A block of rows goes through one tree after the other, so that a tree's nodes stay
    # in the cache while the block passes.
    BLOCK = 64
    # So many of them go down a tree side by side: while one waits for its next node,
    # the others go on.
    ABREAST = 8

# As `fatt.ensemble.trees.NODE`.
cdef struct Node:
    int32_t feature
    int32_t left
    int32_t right
    int32_t subset
    int32_t leaf
    int32_t missing_left
    double threshold


def _check_layout():
    """Compare the record that Python fills with that of C, field by field."""
    cdef Node node
    if np.asarray(<Node[:1]>&node).dtype != NODE:
        raise ImportError("the compiled kernels of fatt are old: build fatt again.")


_check_layout()

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_FLOAT = np.dtype(np.float64)
_WORD = np.dtype(np.uint64)


cdef inline bint _in_set(
    const uint64_t* words,
    const double* edges,
    int64_t first_edge,
    int64_t last_edge,
    double value,
) noexcept nogil:
    """Tell whether a set holds the code of a value.

    Codes of categories come as they are, and then `first_edge` is -1; numbers are
    ranked among the edges from `first_edge` to before `last_edge`.
    """
    cdef int64_t code, low, high, middle
    if value != value:
        return False
    if first_edge < 0:
        code = <int64_t>value
    else:
        low, high = first_edge, last_edge
        while low < high:
            middle = (low + high) >> 1
            if value <= edges[middle]:
                high = middle
            else:
                low = middle + 1
        code = low - first_edge
    return (words[code >> 6] >> (code & 63)) & 1 != 0


cdef inline double _rounded(double total, bint single) noexcept nogil:
    return <double><float>total if single else total


def add_leaves(
    nodes, roots, words, values, targets, edges, cells, rows, bint single, scores
):
    """Add to `scores`, in the order of the trees, the leaf that each row falls into.

    If `single`, each sum is rounded to float32. Adding two float32 in float64 and
    rounding the result is the same as adding them in float32, because float64 has more
    than twice the digits and two more.
    """
    cdef int64_t n_rows = len(rows), n_trees = len(roots), n_columns = len(cells)
    cdef int64_t n_outputs = n_columns_of(scores, "scores")
    cdef int64_t n_values = n_columns_of(values, "values")
    cdef const Node* all_nodes = <const Node*>data_of(
        nodes, NODE, (len(nodes),), False, "nodes"
    )
    cdef const int64_t* my_roots = <const int64_t*>data_of(
        roots, _INTEGER, (n_trees,), False, "roots"
    )
    cdef const uint64_t* my_words = <const uint64_t*>data_of(
        words, _WORD, (len(words),), False, "words"
    )
    cdef const double* my_values = <const double*>data_of(
        values, _FLOAT, (len(values), n_values), False, "values"
    )
    cdef const int32_t* my_targets = <const int32_t*>data_of(
        targets, _SMALL, (n_trees,), False, "targets"
    )
    cdef const double* my_edges = <const double*>data_of(
        edges, _FLOAT, (len(edges),), False, "edges"
    )
    cdef const int64_t* my_cells = <const int64_t*>data_of(
        cells, _INTEGER, (n_columns, 2), False, "cells"
    )
    cdef const double* my_rows = <const double*>data_of(
        rows, _FLOAT, (n_rows, n_columns), False, "rows"
    )
    cdef double* my_scores = <double*>data_of(
        scores, _FLOAT, (n_rows, n_outputs), True, "scores"
    )
    cdef int64_t start = 0, stop, tree, row, count, each, output, target
    cdef const Node* at[ABREAST]
    cdef const Node* node
    cdef const double* leaf
    cdef double* sums
    cdef double value
    cdef bint right, is_inside
    with nogil:
        while start < n_rows:
            stop = min(start + BLOCK, n_rows)
            for tree in range(n_trees):
                target = my_targets[tree]
                row = start
                while row < stop:
                    count = min(<int64_t>ABREAST, stop - row)
                    for each in range(count):
                        at[each] = &all_nodes[my_roots[tree]]
                    is_inside = True
                    while is_inside:
                        is_inside = False
                        for each in range(count):
                            node = at[each]
                            if node.feature < 0:
                                continue
                            is_inside = True
                            value = my_rows[(row + each) * n_columns + node.feature]
                            if node.subset >= 0:
                                right = not _in_set(
                                    my_words + node.subset,
                                    my_edges,
                                    my_cells[2 * node.feature],
                                    my_cells[2 * node.feature + 1],
                                    value,
                                )
                            else:
                                right = not value <= node.threshold
                            if value != value:
                                right = node.missing_left == 0
                            # Siblings are neighbours: adding the answer spares a branch
                            # that the processor could not foresee.
                            at[each] = &all_nodes[node.left + right]
                    for each in range(count):
                        leaf = my_values + at[each].leaf * n_values
                        sums = my_scores + (row + each) * n_outputs
                        if target >= 0:
                            sums[target] = _rounded(sums[target] + leaf[0], single)
                        else:
                            for output in range(n_outputs):
                                sums[output] = _rounded(
                                    sums[output] + leaf[output], single
                                )
                    row += count
            start = stop
