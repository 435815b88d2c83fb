"""The compiled parts of a repair: who reaches which leaves, and which are the worst.

The types stand in no signature: each kernel is compiled for the one kind of arrays that
`fatt.repairs` hands over.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, kernel
from fatt.verifier.kernels.extract import enter, to_leaf, turn


@kernel
def collect(forest, regions, scratch, ends):
    """Return the leaves that boxes reach, and write where each tree's end."""
    lower, upper, missing, codes = regions
    leaves = np.empty(4 * ends.size + 16, dtype=np.int64)
    count = 0
    for box in range(len(lower)):
        here = (lower[box], upper[box], missing[box], codes[box])
        enter(forest.variables, forest.cuts, here, scratch.ranges, scratch.cells)
        for tree in range(len(forest.roots)):
            node = forest.roots[tree]
            while node >= 0:
                node = to_leaf(forest, scratch, node)
                if count == len(leaves):
                    leaves = np.append(leaves, np.empty_like(leaves))
                leaves[count] = forest.nodes[node].leaf
                count += 1
                node = turn(forest, scratch)
            ends[box, tree] = count
    return leaves[:count]


@inner
def _worst(values, gains, losses, ends, leaves, start, worst):
    """Return by how much a rival may lead, and write the leaves where it does.

    Parameters
    ----------
    values
        What the leaves add.
    gains, losses
        For each tree, the column of `values` that the rival, and the own class, gets;
        -1 for none.
    ends, leaves, start
        The leaves that the region reaches, and where the first one stands.
    worst
        Receives for each tree the leaf that helps the rival most.
    """
    lead = 0.0
    for tree in range(len(ends)):
        most = -np.inf
        for place in range(start, ends[tree]):
            leaf = leaves[place]
            gain = values[leaf, gains[tree]] if gains[tree] >= 0 else 0.0
            if losses[tree] >= 0:
                gain -= values[leaf, losses[tree]]
            if gain > most:
                most = gain
                worst[tree] = leaf
        lead += most
        start = ends[tree]
    return lead


@kernel
def weigh(values, columns, base, reach, own, steep, slope, bend):
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
    n_classes, n_trees = columns.shape
    leads = np.empty(len(ends))
    worst = np.zeros((2, n_trees), dtype=np.int64)
    start = 0
    for region in range(len(ends)):
        mine, first, lead = own[region], -1, -np.inf
        for rival in range(n_classes):
            if rival == mine:
                continue
            far = base[rival] - base[mine]
            far += _worst(
                values,
                columns[rival],
                columns[mine],
                ends[region],
                leaves,
                start,
                worst[1],
            )
            if far > lead:
                lead, first = far, rival
                worst[0] = worst[1]
        push = steep / (1.0 + np.exp(-steep * lead))
        for tree in range(n_trees if first >= 0 else 0):
            leaf = worst[0, tree]
            gain, loss = columns[first, tree], columns[mine, tree]
            if gain >= 0:
                slope[leaf, gain] += push
                bend[leaf, gain] += steep * steep / 4
            if loss >= 0:
                slope[leaf, loss] -= push
                bend[leaf, loss] += steep * steep / 4
        leads[region] = lead
        start = ends[region, n_trees - 1]
    return leads
