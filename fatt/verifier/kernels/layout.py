"""Where the nodes of trees lie in memory."""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import kernel


@kernel
def depth_first(left, roots):
    """Return a new place for each node, such that those of a path are neighbours.

    Siblings stay side by side, and behind a pair comes what is below its left node. Of
    large forests it is the memory that the walks wait for.

    Parameters
    ----------
    left : ndarray of int32
        The left child of each node, -1 for leaves; the right one is behind it.
    roots : ndarray of int64
        The root of each tree.
    """
    place = np.empty(len(left), dtype=np.int64)
    stack = np.empty(len(left) + 1, dtype=np.int64)
    free = 0
    for tree in range(len(roots)):
        place[roots[tree]] = free
        free += 1
        stack[0] = roots[tree]
        size = 1
        while size > 0:
            size -= 1
            child = np.int64(left[stack[size]])
            if child >= 0:
                place[child] = free
                place[child + 1] = free + 1
                free += 2
                stack[size] = child + 1
                stack[size + 1] = child
                size += 2
    return place
