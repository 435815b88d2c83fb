"""The first look: the best leaf of each tree that a box reaches, added up.

Most people are decided here. The walk does not narrow the box on its way down. For
intervals that reaches no leaf too many, since intervals that meet pairwise have a
common point; for sets it may reach some, which is sound.
"""

from __future__ import annotations

import numpy as np

from fatt.verdict import FAIR
from fatt.verifier.kernels.compiled import inner, kernel, small
from fatt.verifier.kernels.records import AT_THRESHOLD
from fatt.verifier.kernels.sets import ONE, has, lowest

_MOST, _LEAST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


@small
def rank_of(cuts, begin, end, number):
    """Return the cell of a number among the cuts from `begin` to before `end`."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if number <= cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low - begin


@small
def side_of(node, masks, code):
    """Tell to which side of a set split a category goes: 1 left, 2 right."""
    if node.alone >= 0:
        # One look at the node is enough; its set lies somewhere else in memory.
        is_right = node.alone & 1
        return 1 + is_right if code == node.alone >> 1 else 2 - is_right
    return 1 if has(masks, node.split, code) else 2


@inner
def _set_sides(variables, masks, cuts, node, bounds, box):
    """Tell to which sides of a set split the numbers or codes of a box may go."""
    lower, upper, codes = bounds
    variable = variables[node.feature]
    if variable.code_start < variable.code_end:
        found = 0
        for offset in range(variable.code_end - variable.code_start):
            members = codes[box, variable.code_start + offset]
            left = masks[node.split + offset]
            if members & left != 0:
                found |= 1
            if members & ~left != 0:
                found |= 2
        return found
    low, high = lower[box, node.feature], upper[box, node.feature]
    if low == high:
        cell = rank_of(cuts, variable.cut_start, variable.cut_end, low)
        return 1 if has(masks, node.split, cell) else 2
    return 3 if low < high else 0


@kernel
def screen_tree(forest, library, regions, answers, stack, begin, end):
    """Tell, of an ensemble with one tree, who surely reaches no other class.

    A kernel of its own, since it decides most people and little else is to be done.

    Parameters
    ----------
    forest, library, regions
        As in `search`.
    answers
        Receives the answer for those who are fair.
    stack
        Scratch, two entries more than the tree has levels.
    begin, end
        The first person, and the one behind the last.
    """
    nodes, variables, root = forest.nodes, forest.variables, forest.roots[0]
    masks, cuts, labels = forest.masks, forest.cuts, library.labels
    lower, upper, missing = regions.lower, regions.upper, regions.missing
    bounds = (lower, upper, regions.codes)
    start, label = regions.start, regions.label
    verdict, possible = answers.verdict, answers.possible
    for person in range(begin, end):
        own, is_fair = label[person], True
        box, size = start[person], 1
        stack[0] = root
        while is_fair and size > 0:
            size -= 1
            node = stack[size]
            while nodes[node].feature >= 0:
                feature = nodes[node].feature
                if nodes[node].alone == AT_THRESHOLD:
                    threshold = nodes[node].threshold
                    found = 1 if lower[box, feature] <= threshold else 0
                    if upper[box, feature] > threshold:
                        found |= 2
                else:
                    found = _set_sides(variables, masks, cuts, nodes[node], bounds, box)
                if missing[box, feature]:
                    found |= 1 if nodes[node].missing_left != 0 else 2
                left = nodes[node].left
                if found == 3:
                    stack[size] = left + 1
                    size += 1
                node = left + (found == 2)
            is_fair = labels[nodes[node].leaf] == own
            if size == 0 and box + 1 < start[person + 1]:
                box, size = box + 1, 1
                stack[0] = root
        if is_fair:
            verdict[person] = FAIR
            for other in range(possible.shape[1]):
                possible[person, other] = other == own


@inner
def _note_only_codes(variables, codes, box, only):
    """Write the only code of each variable, -1 if there are several or none."""
    for index in range(len(variables)):
        only[index] = -1
        count = 0
        for place in range(variables[index].code_start, variables[index].code_end):
            word = codes[box, place]
            if word != 0:
                count += 1 if word & (word - ONE) == 0 else 2
                only[index] = lowest(word) + 64 * (place - variables[index].code_start)
        if count != 1:
            only[index] = -1


@inner
def screen(forest, library, regions, box, own, scratch):
    """Bound, for a box, the scores and the lead of each class over the own class.

    Parameters
    ----------
    forest, library
        The ensemble.
    regions, box
        All boxes, and which of them it is.
    own
        The person's class.
    scratch
        Its `totals` receive the bounds.
    """
    stack, totals, only = scratch.stack, scratch.totals, scratch.only
    lower, upper, missing = regions.lower, regions.upper, regions.missing
    bounds = (lower, upper, regions.codes)
    nodes, roots, variables = forest.nodes, forest.roots, forest.variables
    masks, cuts = forest.masks, forest.cuts
    scaled, targets, bases = library.scaled, library.targets, library.bases
    rule = library.rule[0]
    _note_only_codes(variables, regions.codes, box, only)
    is_vector = rule.is_vector != 0
    for output in range(len(bases)):
        first = 0 if rule.base_last != 0 else bases[output].scaled
        totals[output].low = totals[output].high = first
        totals[output].path = abs(np.float64(first))
        totals[output].mass = abs(np.float64(bases[output].scaled))
        if is_vector:
            totals[output].lead = bases[output].scaled - bases[own].scaled
    width = len(bases) if is_vector else 1
    for tree in range(len(roots)):
        for output in range(width):
            totals[output].tree_low = _MOST
            totals[output].tree_high = _LEAST
            totals[output].tree_lead = _LEAST
        size = 1
        stack[0] = roots[tree]
        while size > 0:
            size -= 1
            node = stack[size]
            while nodes[node].feature >= 0:
                feature = nodes[node].feature
                if nodes[node].alone == AT_THRESHOLD:
                    threshold = nodes[node].threshold
                    found = 1 if lower[box, feature] <= threshold else 0
                    if upper[box, feature] > threshold:
                        found |= 2
                elif only[feature] >= 0:
                    found = side_of(nodes[node], masks, only[feature])
                else:
                    found = _set_sides(variables, masks, cuts, nodes[node], bounds, box)
                if missing[box, feature]:
                    found |= 1 if nodes[node].missing_left != 0 else 2
                left = nodes[node].left
                if found == 3:
                    stack[size] = left + 1
                    size += 1
                node = left + (found == 2)
            leaf = nodes[node].leaf
            for output in range(width):
                value = scaled[leaf, output]
                total = totals[output]
                total.tree_low = min(total.tree_low, value)
                total.tree_high = max(total.tree_high, value)
                if is_vector:
                    total.tree_lead = max(total.tree_lead, value - scaled[leaf, own])
        for column in range(width):
            total = totals[column if is_vector else targets[tree]]
            low, high = totals[column].tree_low, totals[column].tree_high
            total.low += low
            total.high += high
            total.mass += max(abs(low), abs(high))
            total.path += max(abs(total.low), abs(total.high))
            if is_vector:
                total.lead += total.tree_lead
    _finish(bases, rule, own, totals)


@inner
def _finish(bases, rule, own, totals):
    """Add a base that comes last; compare classes whose scores have their own trees."""
    if rule.base_last != 0:
        for output in range(len(bases)):
            total = totals[output]
            total.low += bases[output].scaled
            total.high += bases[output].scaled
            total.path += max(abs(total.low), abs(total.high))
    if rule.is_cut != 0:
        totals[1].lead = totals[0].high
        totals[0].lead = -totals[0].low
    elif rule.is_vector == 0:
        for rival in range(len(bases)):
            totals[rival].lead = totals[rival].high - totals[own].low
