"""The leaves that a box reaches, with what each asks of the variables that are free.

Each tree is walked once. On the way down the box is narrowed to the side taken, and
widened again on the way back, so that exactly the reachable leaves are found.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, maker, small
from fatt.verifier.kernels.records import (
    ASKED,
    CODES,
    COUNT,
    DEPTH,
    LEAF,
    ORDERED,
    ROOM,
)
from fatt.verifier.kernels.screen import rank_of, side_of
from fatt.verifier.kernels.sets import add, add_range, first_from, has, remove


@small
def _note_only_cell(variable, mine, cells):
    """Note whether a set has one member only, so that splits need not look at all."""
    mine.first = first_from(cells, variable.set_start, variable.width, 0)
    beyond = first_from(cells, variable.set_start, variable.width, mine.first + 1)
    mine.last = mine.first if beyond < 0 else -1


@inner
def enter(variables, cuts, box, ranges, cells):
    """Bring a box into rank space.

    Parameters
    ----------
    variables, cuts
        The cells of each variable.
    box
        The rows of `Regions`: lower, upper, missing and codes.
    ranges : ndarray of `RANGE`
        Receives the cells of the ordered variables.
    cells : ndarray of uint64
        Receives the sets of cells of the others.
    """
    lower, upper, missing, codes = box
    for index in range(len(variables)):
        variable = variables[index]
        first, last = 0, -1
        if variable.kind != CODES and lower[index] <= upper[index]:
            begin, end = variable.cut_start, variable.cut_end
            first = rank_of(cuts, begin, end, lower[index])
            last = rank_of(cuts, begin, end, upper[index])
        if variable.kind == ORDERED:
            ranges[index].first = first
            ranges[index].last = last
            ranges[index].missing = 1 if missing[index] else 0
            continue
        start = variable.set_start
        cells[start : start + variable.width] = 0
        is_missing = missing[index]
        if variable.kind == CODES:
            for code in range(variable.n_cells):
                if has(codes, variable.code_start, code):
                    add(cells, start, code)
        else:
            add_range(cells, start, first, last)
            for cell in range(variable.hole_first, variable.hole_last + 1):
                if has(cells, start, cell):
                    remove(cells, start, cell)
                    is_missing = True
        if is_missing:
            add(cells, start, variable.n_cells)
        _note_only_cell(variable, ranges[index], cells)


@small
def _sides(node, variable, mine, cells, masks):
    """Tell to which sides of a node the box may go: 1 left, 2 right, 3 both."""
    found = 0
    if variable.kind == ORDERED:
        # Where only missing is left, the range is crossed, and neither holds.
        if mine.first <= min(node.split, mine.last):
            found = 1
        if max(mine.first, node.split + 1) <= mine.last:
            found |= 2
        if mine.missing != 0:
            found |= 1 if node.missing_left != 0 else 2
        return found
    if mine.first == mine.last and mine.first < variable.n_cells:
        return side_of(node, masks, mine.first)
    for offset in range(variable.width):
        here = cells[variable.set_start + offset]
        left = masks[node.split + offset]
        if here & left != 0:
            found |= 1
        if here & ~left != 0:
            found |= 2
    return found


@small
def _narrow(node, variable, mine, cells, masks, is_left, old, old_cells):
    """Cut the box to one side of a node, and remember what it was."""
    old.variable = node.feature
    if variable.kind == ORDERED:
        old.first, old.last, old.missing = mine.first, mine.last, mine.missing
        if is_left:
            mine.last = min(mine.last, node.split)
        else:
            mine.first = max(mine.first, node.split + 1)
        if (node.missing_left != 0) != is_left:
            mine.missing = 0
        return
    for offset in range(variable.width):
        here = cells[variable.set_start + offset]
        left = masks[node.split + offset]
        old_cells[offset] = here
        cells[variable.set_start + offset] = here & (left if is_left else ~left)


@small
def _undo(variable, mine, cells, old, old_cells):
    """Give a variable back what it was."""
    if variable.kind == ORDERED:
        mine.first, mine.last, mine.missing = old.first, old.last, old.missing
        return
    for offset in range(variable.width):
        cells[variable.set_start + offset] = old_cells[offset]


@inner
def to_leaf(forest, scratch, node):
    """Go down to a leaf, left first, and narrow the box on the way; return the leaf.

    Where the box reaches both sides, the node stays open.
    """
    nodes, variables, masks = forest.nodes, forest.variables, forest.masks
    ranges, cells, walk = scratch.ranges, scratch.cells, scratch.walk
    trail, trail_cells, opened = scratch.trail, scratch.trail_cells, scratch.opened
    feature = nodes[node].feature
    while feature >= 0:
        variable, mine = variables[feature], ranges[feature]
        found = _sides(nodes[node], variable, mine, cells, masks)
        left = nodes[node].left
        if found == 3:
            depth = walk[DEPTH]
            opened[walk[COUNT]].node, opened[walk[COUNT]].mark = node, depth
            old, old_cells = trail[depth], trail_cells[depth]
            _narrow(nodes[node], variable, mine, cells, masks, True, old, old_cells)
            walk[COUNT] += 1
            walk[DEPTH] += 1
        node = left + (found == 2)
        feature = nodes[node].feature
    return node


@inner
def turn(forest, scratch):
    """Go back to the last open node and take its right side; -1 if none is open."""
    nodes, variables, masks = forest.nodes, forest.variables, forest.masks
    ranges, cells, walk = scratch.ranges, scratch.cells, scratch.walk
    trail, trail_cells, opened = scratch.trail, scratch.trail_cells, scratch.opened
    stop = opened[walk[COUNT] - 1].mark if walk[COUNT] > 0 else 0
    depth = walk[DEPTH]
    while depth > stop:
        depth -= 1
        index = trail[depth].variable
        old, old_cells = trail[depth], trail_cells[depth]
        _undo(variables[index], ranges[index], cells, old, old_cells)
    walk[DEPTH] = depth
    if walk[COUNT] == 0:
        return np.int64(-1)
    walk[COUNT] -= 1
    node = opened[walk[COUNT]].node
    feature = nodes[node].feature
    variable, mine = variables[feature], ranges[feature]
    old, old_cells = trail[depth], trail_cells[depth]
    _narrow(nodes[node], variable, mine, cells, masks, False, old, old_cells)
    walk[DEPTH] += 1
    return np.int64(nodes[node].left + 1)


@maker
def _more(array, size):
    """Return a longer array, of at least `size`, with the same entries."""
    grown = np.empty(max(2 * len(array), size), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@inner
def _ask(variables, scratch, leaf, found):
    """Write the constraints of the leaf that the walk stands at.

    Returns the numbers of constraints and of words that are now in use.
    """
    asked, asked_cells, n_asked, n_words = found
    ranges, cells, seen = scratch.ranges, scratch.cells, scratch.seen
    for level in range(scratch.walk[DEPTH]):
        index = scratch.trail[level].variable
        if seen[index] == leaf:
            continue
        seen[index] = leaf
        ask, variable, mine = asked[n_asked], variables[index], ranges[index]
        ask.variable = index
        ask.first, ask.last, ask.missing = mine.first, mine.last, mine.missing
        n_asked += 1
        if variable.kind != ORDERED:
            ask.first = n_words
            for place in range(variable.width):
                asked_cells[n_words + place] = cells[variable.set_start + place]
            n_words += variable.width
    return n_asked, n_words


@maker
def extract(forest, scratch):
    """Collect the leaves that a box reaches.

    Parameters
    ----------
    forest
        The trees.
    scratch
        Holds the box in rank space, which is the same afterwards, and the limits.

    Returns
    -------
    Where the leaves of each tree begin, the leaves with one entry more than there are,
    their constraints, and the sets of cells that these name.
    """
    nodes, roots, walk = forest.nodes, forest.roots, scratch.walk
    tree_start = np.zeros(len(roots) + 1, dtype=np.int64)
    # All of it grows where it must; little room at first is a gear of the search.
    room = scratch.until[ROOM]
    leaves = np.empty((room // 4) * len(roots) + room, dtype=LEAF)
    asked = np.empty((room // 4) * len(leaves), dtype=ASKED)
    asked_cells = np.empty(4 * room, dtype=np.uint64)
    n_leaves, n_asked, n_words = 0, 0, 0
    widest = scratch.trail_cells.shape[1]
    scratch.seen[:] = -1
    for tree in range(len(roots)):
        node = roots[tree]
        while node >= 0:
            node = to_leaf(forest, scratch, node)
            depth = walk[DEPTH]
            if n_leaves + 1 == len(leaves):
                leaves = _more(leaves, 0)
            if n_asked + depth > len(asked):
                asked = _more(asked, n_asked + depth)
            if n_words + depth * widest > len(asked_cells):
                asked_cells = _more(asked_cells, n_words + depth * widest)
            leaves[n_leaves].row = nodes[node].leaf
            leaves[n_leaves].start = n_asked
            found = (asked, asked_cells, n_asked, n_words)
            n_asked, n_words = _ask(forest.variables, scratch, n_leaves, found)
            n_leaves += 1
            node = turn(forest, scratch)
        tree_start[tree + 1] = n_leaves
    leaves[n_leaves].start = n_asked
    return tree_start, leaves[: n_leaves + 1], asked[:n_asked], asked_cells
