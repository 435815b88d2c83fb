"""One tree alone: its reachable leaves say all, and which of them is nearest."""

from __future__ import annotations

from fatt.verifier.kernels.compiled import inner, small
from fatt.verifier.kernels.extract import to_leaf, turn
from fatt.verifier.kernels.records import DEPTH, ORDERED
from fatt.verifier.kernels.sets import first_from, has


@small
def _nearest_cell(variable, mine, cells, own):
    """Return the cell of a narrowed variable that is nearest to the person's."""
    if variable.kind == ORDERED:
        if own == variable.n_cells or mine.first > mine.last:
            is_missing = mine.missing != 0
            return variable.n_cells if is_missing else mine.first
        return min(max(own, mine.first), mine.last)
    if has(cells, variable.set_start, own):
        return own
    return first_from(cells, variable.set_start, variable.width, 0)


@inner
def _take_if_nearer(forest, scratch, leaf, least, first):
    """Write the cells of the leaf where the walk stands, if few enough differ.

    Returns how many variables differ; `least` if not fewer than that.
    """
    variables, ranges, cells = forest.variables, scratch.ranges, scratch.cells
    trail, seen, own_cell = scratch.trail, scratch.seen, scratch.own_cell
    changed, depth = 0, scratch.walk[DEPTH]
    for level in range(depth):
        index = trail[level].variable
        if seen[index] == leaf:
            continue
        seen[index] = leaf
        variable = variables[index]
        cell = _nearest_cell(variable, ranges[index], cells, own_cell[index])
        changed += cell != own_cell[index]
    if changed >= least:
        return least
    first[:] = -1
    for level in range(depth):
        index = trail[level].variable
        variable = variables[index]
        cell = _nearest_cell(variable, ranges[index], cells, own_cell[index])
        if cell != own_cell[index]:
            first[index] = cell
    return changed


@inner
def decide_tree(forest, labels, own, scratch, possible, first):
    """Walk the only tree in a box, narrowing it, and look at each leaf's label.

    Parameters
    ----------
    forest
        The tree.
    labels
        The class of each leaf.
    own
        The person's class.
    scratch
        Holds the box in rank space and the person's cells.
    possible
        Receives the classes that occur.
    first
        Receives the cells in which the nearest person with another label differs.

    Returns
    -------
    Whether there is such a person.
    """
    none = len(forest.variables) + 1
    least = none
    scratch.seen[:] = -1
    node = forest.roots[0]
    while node >= 0:
        leaf = forest.nodes[to_leaf(forest, scratch, node)].leaf
        possible[labels[leaf]] = True
        if labels[leaf] != own:
            least = _take_if_nearer(forest, scratch, leaf, least, first)
        node = turn(forest, scratch)
    return least < none
