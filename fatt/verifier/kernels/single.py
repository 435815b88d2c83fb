"""One tree alone: its reachable leaves say all, and which of them is nearest."""

from __future__ import annotations

from fatt.verifier.kernels.compiled import inner, small
from fatt.verifier.kernels.extract import narrow, sides, undo
from fatt.verifier.kernels.sets import first_from, has


@small
def _nearest_cell(variable, mine, cells, own):
    """Return the cell of a narrowed variable that is nearest to the person's."""
    if variable.kind == 0:
        if own == variable.n_cells or mine.first > mine.last:
            is_missing = mine.missing != 0
            return variable.n_cells if is_missing else mine.first
        return min(max(own, mine.first), mine.last)
    if has(cells, variable.set_start, own):
        return own
    return first_from(cells, variable.set_start, variable.width, 0)


@inner
def _take_if_nearer(forest, scratch, depth, leaf, least, first):
    """Write the cells of the leaf where the walk stands, if few enough differ.

    Returns how many variables differ; `least` if not fewer than that.
    """
    variables, ranges, cells = forest.variables, scratch.ranges, scratch.cells
    trail, seen, own_cell = scratch.trail, scratch.seen, scratch.own_cell
    changed = 0
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
    nodes, variables, masks = forest.nodes, forest.variables, forest.masks
    ranges, cells = scratch.ranges, scratch.cells
    trail, trail_cells, seen = scratch.trail, scratch.trail_cells, scratch.seen
    none = len(variables) + 1
    least = none
    seen[:] = -1
    node = forest.roots[0]
    size, depth = 0, 0
    while True:
        feature = nodes[node].feature
        if feature >= 0:
            variable, mine = variables[feature], ranges[feature]
            found = sides(nodes[node], variable, mine, cells, masks)
            left = nodes[node].left
            if found == 3:
                trail[size].node, trail[size].mark = node, depth
                size += 1
                old, old_cells = trail[depth], trail_cells[depth]
                narrow(nodes[node], variable, mine, cells, masks, True, old, old_cells)
                depth += 1
            node = left + (found == 2)
            continue
        leaf = nodes[node].leaf
        possible[labels[leaf]] = True
        if labels[leaf] != own:
            least = _take_if_nearer(forest, scratch, depth, leaf, least, first)
        stop = trail[size - 1].mark if size > 0 else 0
        while depth > stop:
            depth -= 1
            index = trail[depth].variable
            undo(
                variables[index], ranges[index], cells, trail[depth], trail_cells[depth]
            )
        if size == 0:
            return least < none
        size -= 1
        node = trail[size].node
        feature = nodes[node].feature
        variable, mine = variables[feature], ranges[feature]
        old, old_cells = trail[depth], trail_cells[depth]
        narrow(nodes[node], variable, mine, cells, masks, False, old, old_cells)
        depth += 1
        node = nodes[node].left + 1
