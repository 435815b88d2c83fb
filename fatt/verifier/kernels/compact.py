"""Only the cells that the reached leaves tell apart, as bits of small sets.

Afterwards every variable that matters has a few classes of cells, the box is a bit set
per variable, and so is every leaf.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, maker
from fatt.verifier.kernels.records import CLASS, CODES, FACT, ORDERED, Problem
from fatt.verifier.kernels.sets import add, add_range, has


@maker
def _number_variables(variables, ranges, asked):
    """Give numbers to the variables that some leaf asks for, and count their cells.

    Returns the number of each variable, -1 if nobody asks for it, and where its cells
    begin in one array over all of them. An ordered variable counts from the first cell
    of its range, and missing comes last.
    """
    number = np.full(len(variables), -1, dtype=np.int64)
    begin = np.zeros(len(variables) + 1, dtype=np.int64)
    for ask in range(len(asked)):
        number[asked[ask].variable] = 0
    count = 0
    for index in range(len(variables)):
        room = 0
        if number[index] == 0:
            number[index] = count
            count += 1
            room = variables[index].n_cells + 1
            if variables[index].kind == ORDERED:
                room = max(ranges[index].last - ranges[index].first + 1, 0) + 1
        begin[index + 1] = begin[index] + room
    return number, begin, count


@inner
def _mark_borders(variables, ranges, asked, begin, class_of):
    """Mark the cells of ordered variables at which some leaf begins or has ended."""
    for ask in range(len(asked)):
        index = asked[ask].variable
        if variables[index].kind != ORDERED or asked[ask].first > asked[ask].last:
            continue
        mine = ranges[index]
        if asked[ask].first > mine.first:
            class_of[begin[index] + asked[ask].first - mine.first] = 1
        if asked[ask].last < mine.last:
            class_of[begin[index] + asked[ask].last + 1 - mine.first] = 1


@inner
def _classes_of(variable, mine, cells, class_of, begin, end, classes, start):
    """Give numbers to the classes of one variable; return how many there are.

    `class_of` receives the class of each cell, `classes` the cells of each class.
    """
    count = 0
    if variable.kind == ORDERED:
        for rank in range(mine.first, mine.last + 1):
            place = begin + rank - mine.first
            if rank == mine.first or class_of[place] == 1:
                classes[start + count].first = rank
                count += 1
            classes[start + count - 1].last = rank
            class_of[place] = count - 1
        if mine.missing != 0:
            class_of[end - 1] = count
            classes[start + count].first = variable.n_cells
            classes[start + count].last = variable.n_cells
            count += 1
        return count
    for rank in range(variable.n_cells + 1):
        if has(cells, variable.set_start, rank):
            classes[start + count].first = classes[start + count].last = rank
            class_of[begin + rank] = count
            count += 1
    return count


@inner
def _fill_mask(ask, variable, mine, fact, classes, asked_cells, class_of, ends, masks):
    """Write the set of classes that a constraint allows."""
    begin, end = ends
    if variable.kind == ORDERED:
        if ask.first <= ask.last:
            first = class_of[begin + ask.first - mine.first]
            last = class_of[begin + ask.last - mine.first]
            add_range(masks, ask.place, first, last)
        if ask.missing != 0:
            add(masks, ask.place, class_of[end - 1])
        return
    for member in range(fact.n_classes):
        if has(asked_cells, ask.first, classes[fact.class_start + member].first):
            add(masks, ask.place, member)


@maker
def compact(variables, ranges, cells, reached, own_cell):
    """Turn the reached leaves into a problem over few classes.

    Parameters
    ----------
    variables, ranges, cells
        The variables, and the box in rank space.
    reached
        What `extract` returned.
    own_cell
        The person's cell in each variable.
    """
    tree_start, leaves, asked, asked_cells = reached
    number, begin, count = _number_variables(variables, ranges, asked)
    class_of = np.zeros(begin[len(variables)] + 1, dtype=np.int64)
    _mark_borders(variables, ranges, asked, begin, class_of)
    facts = np.empty(count, dtype=FACT)
    classes = np.empty(len(class_of), dtype=CLASS)
    n_words, n_classes = 0, 0
    for index in range(len(variables)):
        if number[index] < 0:
            continue
        fact = facts[number[index]]
        fact.variable = index
        fact.class_start, fact.word_start = n_classes, n_words
        fact.is_ordered = 1 if variables[index].kind != CODES else 0
        fact.n_classes = _classes_of(
            variables[index],
            ranges[index],
            cells,
            class_of,
            begin[index],
            begin[index + 1],
            classes,
            n_classes,
        )
        fact.width = (fact.n_classes + 63) >> 6
        fact.own = 0
        for member in range(fact.n_classes):
            cell_range = classes[n_classes + member]
            if cell_range.first <= own_cell[index] <= cell_range.last:
                fact.own = member
        n_classes += fact.n_classes
        n_words += fact.width
    size = 0
    for ask in range(len(asked)):
        asked[ask].number = number[asked[ask].variable]
        asked[ask].place = size
        size += facts[asked[ask].number].width
    masks = np.zeros(size, dtype=np.uint64)
    for ask in range(len(asked)):
        index = asked[ask].variable
        _fill_mask(
            asked[ask],
            variables[index],
            ranges[index],
            facts[asked[ask].number],
            classes,
            asked_cells,
            class_of,
            (begin[index], begin[index + 1]),
            masks,
        )
    return Problem(tree_start, leaves, asked, masks, facts, classes)
