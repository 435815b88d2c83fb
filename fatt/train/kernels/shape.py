"""The shape of a tree in prefix order."""

from __future__ import annotations

import numba
import numpy as np

from fatt.train.kernels.compiled import compiled
from fatt.train.kernels.words import OUT_INTEGERS, TREE


@compiled(numba.void(TREE, OUT_INTEGERS, OUT_INTEGERS))
def measure(tree, end, depth):
    """Tell for each node where its subtree ends, and how deep it lies.

    Parameters
    ----------
    tree
        The tree.
    end, depth
        Receive the results; the root has depth 0.
    """
    above = np.empty(len(tree), dtype=np.int64)
    level = 0
    for place in range(len(tree)):
        depth[place] = level
        if tree[place] >= 0:
            # A split waits twice: first for its left side, then for its right one.
            end[place] = -1
            above[level] = place
            level += 1
            continue
        end[place] = place + 1
        while level > 0 and end[above[level - 1]] == -2:
            level -= 1
            end[above[level]] = place + 1
        if level > 0:
            end[above[level - 1]] = -2
