"""The first look: the best leaf of each tree that a box reaches, added up.

Most people are decided here. The walk does not narrow the box on its way down. For
intervals that reaches no leaf too many, since intervals that meet pairwise have a
common point; for sets it may reach some, which is sound.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, small
from fatt.verifier.kernels.sets import has

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


@inner
def _set_sides(variables, words, masks, cuts, node, lower, upper, codes):
    """Tell to which sides of a set split the numbers or codes of a box may go."""
    variable = variables[node.feature]
    if variable.code_start < variable.code_end:
        found = 0
        for offset in range(variable.code_end - variable.code_start):
            members = codes[variable.code_start + offset]
            left = words[node.subset + offset]
            if members & left != 0:
                found |= 1
            if members & ~left != 0:
                found |= 2
        return found
    low, high = lower[node.feature], upper[node.feature]
    if low == high:
        cell = rank_of(cuts, variable.cut_start, variable.cut_end, low)
        return 1 if has(masks, node.split, cell) else 2
    return 3 if low < high else 0


@inner
def screen(forest, library, box, own, stack, totals):
    """Bound, for a box, the scores and the lead of each class over the own class.

    Parameters
    ----------
    forest, library
        The ensemble.
    box
        The rows of `Regions`: lower, upper, missing and codes.
    own
        The person's class.
    stack
        Scratch, two entries more than the deepest tree has levels.
    totals : ndarray of `TOTAL`
        Receives the bounds.
    """
    lower, upper, missing, codes = box
    nodes, roots, variables = forest.nodes, forest.roots, forest.variables
    words, masks, cuts = forest.words, forest.masks, forest.cuts
    scaled, targets, bases = library.scaled, library.targets, library.bases
    rule = library.rule[0]
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
            feature = nodes[node].feature
            while feature >= 0:
                if nodes[node].subset < 0:
                    threshold = nodes[node].threshold
                    found = 1 if lower[feature] <= threshold else 0
                    if upper[feature] > threshold:
                        found |= 2
                else:
                    found = _set_sides(
                        variables, words, masks, cuts, nodes[node], lower, upper, codes
                    )
                if missing[feature]:
                    found |= 1 if nodes[node].missing_left != 0 else 2
                left = nodes[node].left
                if found == 3:
                    stack[size] = left + 1
                    size += 1
                node = left + (found == 2)
                feature = nodes[node].feature
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
