"""The question to one rival class: how far it can get ahead of the own class."""

from __future__ import annotations

import math

import numpy as np

from fatt.verifier.kernels.band import unit_of, wins_ties
from fatt.verifier.kernels.compiled import inner, maker, small
from fatt.verifier.kernels.records import SIGMOID, SOFTMAX, Lead


@small
def _lead_of_leaf(rule, scaled, target, row, own, rival):
    """Return what a leaf adds to the lead of the rival."""
    if rule.is_cut != 0:
        return scaled[row, 0] if own == 0 else -scaled[row, 0]
    if rule.is_vector != 0:
        return scaled[row, rival] - scaled[row, own]
    if target == rival:
        return scaled[row, 0]
    return -scaled[row, 0] if target == own else np.int64(0)


@small
def _adds_same(rule, values, target, one, other, own, rival):
    """Tell whether two leaves add the same floats to both classes."""
    if rule.is_vector != 0:
        return (
            values[one, own] == values[other, own]
            and values[one, rival] == values[other, rival]
        )
    if rule.is_cut == 0 and target not in (own, rival):
        return True
    return values[one, 0] == values[other, 0]


@inner
def _sort(leaves, first, last, order, at):
    """Write the leaves from `first` to before `last` into `order`, the best first.

    A shell sort; of equal leaves the first comes first, whatever the gaps.
    """
    count = last - first
    for offset in range(count):
        order[at + offset] = first + offset
    gap = 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for offset in range(gap, count):
            leaf = order[at + offset]
            value = leaves[leaf].value
            place = offset
            while place >= gap:
                other = order[at + place - gap]
                better = leaves[other].value
                if better > value or (better == value and other < leaf):
                    break
                order[at + place] = other
                place -= gap
            order[at + place] = leaf
        gap //= 3


@maker
def lead_of(library, problem, own, rival, may, surely):
    """Weigh the reached leaves for one rival."""
    values, scaled, targets = library.values, library.scaled, library.targets
    leaves, tree_start = problem.leaves, problem.tree_start
    rule, bases = library.rule[0], library.bases
    n_trees = len(tree_start) - 1
    start = np.zeros(n_trees + 1, dtype=np.int64)
    order = np.empty(len(leaves), dtype=np.int64)
    if rule.is_cut != 0:
        constant = bases[0].scaled if own == 0 else -bases[0].scaled
    else:
        constant = bases[rival].scaled - bases[own].scaled
    n_active, size = 0, 0
    for tree in range(n_trees):
        first, last = tree_start[tree], tree_start[tree + 1]
        target = targets[tree]
        differs = False
        for leaf in range(first, last):
            row = leaves[leaf].row
            leaves[leaf].value = _lead_of_leaf(rule, scaled, target, row, own, rival)
            differs = differs or not _adds_same(
                rule, values, target, leaves[first].row, row, own, rival
            )
        if not differs:
            constant += leaves[first].value
            continue
        _sort(leaves, first, last, order, size)
        size += last - first
        n_active += 1
        start[n_active] = size
    return Lead(order[:size], start[: n_active + 1], own, rival, constant, may, surely)


@small
def _rounded(rule, number):
    return np.float64(np.float32(number)) if rule.single != 0 else number


@inner
def _score(library, leaves, chosen, output):
    """Add up one score in the library's own precision and order."""
    rule, values, targets = library.rule[0], library.values, library.targets
    base = library.bases[output].value
    total = 0.0 if rule.base_last != 0 else base
    for tree in range(len(chosen)):
        row = leaves[chosen[tree]].row
        if rule.is_vector != 0:
            total = _rounded(rule, total + values[row, output])
        elif targets[tree] == output:
            total = _rounded(rule, total + values[row, 0])
    if rule.base_last != 0:
        total = _rounded(rule, total + base)
    if rule.divisor != 1.0:
        total = _rounded(rule, total / _rounded(rule, rule.divisor))
    if rule.link_divisor != 1.0:
        total = _rounded(rule, total / _rounded(rule, rule.link_divisor))
    return total


@inner
def settle(library, leaves, chosen, own, rival):
    """Repeat the library's arithmetic for one leaf per tree.

    Returns 1 if the rival wins over the own class, 0 if it does not, 2 if this cannot
    be said: the library's order of summation is not known, or the two are so near that
    the link's last bits, which depend on the other classes, decide.
    """
    rule = library.rule[0]
    if rule.ordered == 0:
        return 2
    if rule.is_cut != 0:
        is_second = _score(library, leaves, chosen, 0) >= rule.at
        return 1 if is_second == (rival == 1) else 0
    mine = _score(library, leaves, chosen, own)
    other = _score(library, leaves, chosen, rival)
    if mine == other:
        return 1 if wins_ties(rule, own, rival) else 0
    if rule.link == SIGMOID:
        return _settle_sigmoid(rule, mine, other, own, rival)
    if rule.link == SOFTMAX and abs(mine - other) <= 32 * unit_of(rule):
        return 2
    return 1 if other > mine else 0


@inner
def _settle_sigmoid(rule, mine, other, own, rival):
    """Compare the sigmoids of two scores; returns as `settle` does."""
    scale = abs(rule.link_scale)
    if min(mine, other) > rule.flat_high + 1 / scale:
        return 1 if wins_ties(rule, own, rival) else 0
    if max(mine, other) < rule.flat_low - 1 / scale:
        return 1 if wins_ties(rule, own, rival) else 0
    if min(mine, other) > rule.flat_high - 1 / scale:
        return 2
    if max(mine, other) < rule.flat_low + 1 / scale:
        return 2
    # How far apart two scores must be depends on the steeper of the two places.
    reach = min(abs(mine), abs(other)) * scale
    merged = 64 * 2.0**-53 * math.exp(min(reach, 700.0)) / scale
    if abs(mine - other) <= merged + 2 / scale * (reach > 30):
        return 2
    return 1 if other > mine else 0
