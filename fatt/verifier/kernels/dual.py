"""Dual decomposition: tighter bounds, for the few searches that are long.

The sum of the best leaves is a weak bound when every tree prefers another class of a
variable. So each tree may pay the others for a class, and be paid by them: prices per
tree, variable and class whose sum over the trees is zero. A point then has the same
lead as before, but a leaf is worth its value plus, for each variable, the best price
among the classes that it allows. Sweeps over the variables make the trees agree: each
gets the same price profile, the average of what the classes are worth to all of them.
The bound never grows, and since all prices are integers it stays rigorous.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fatt.verifier.kernels.compiled import inner, maker, small
from fatt.verifier.kernels.records import LEAST_GAIN, SWEEPS
from fatt.verifier.kernels.sets import copy, first_from, has, remove

_NONE = -(2**62)

# Sums over all trees, or over all variables of a tree, stay below this.
_MOST = 2**61


class Prices(NamedTuple):
    """What trees pay for classes.

    A slot is a pair of a tree and a variable that some of its leaves ask for.

    Attributes
    ----------
    slot_of : ndarray of int64
        The slot of each constraint.
    slots : ndarray of int64, shape (n_slots, 4)
        Tree, variable, where the prices begin, and the best price in the box.
    by_variable, variable_start : ndarray of int64
        The slots of each variable.
    tree_start : ndarray of int64
        Where the slots of each tree begin.
    price, worth : ndarray of int64
        Per slot and class: the price, and what the class is worth to the tree.
    part : ndarray of int64
        For each constraint the best price that it allows.
    value : ndarray of int64
        What each leaf is worth, prices included.
    shared : ndarray of int64
        Per class of a variable: what it is worth to all trees together.
    limit
        No price and no worth goes beyond this, so that their sums fit.
    """

    slot_of: Any
    slots: Any
    by_variable: Any
    variable_start: Any
    tree_start: Any
    price: Any
    worth: Any
    part: Any
    value: Any
    shared: Any
    limit: Any


@maker
def no_prices():
    """Return prices for nobody, until there are any."""
    none = np.zeros(0, dtype=np.int64)
    slots = np.zeros((0, 4), dtype=np.int64)
    return Prices(
        none, slots, none, none, none, none, none, none, none, none, np.int64(0)
    )


@maker
def prices_of(problem, lead):
    """Return prices that are all zero."""
    leaves, asked, facts = problem.leaves, problem.asked, problem.facts
    n_trees = len(lead.start) - 1
    slot_of = np.full(len(asked), -1, dtype=np.int64)
    slots = np.zeros((len(asked), 4), dtype=np.int64)
    tree_start = np.zeros(n_trees + 1, dtype=np.int64)
    variable_start = np.zeros(len(facts) + 1, dtype=np.int64)
    latest = np.full(len(facts), -1, dtype=np.int64)
    count, size, most = 0, 0, 1
    for tree in range(n_trees):
        for place in range(lead.start[tree], lead.start[tree + 1]):
            leaf = lead.order[place]
            for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
                number = asked[ask].number
                if latest[number] < tree_start[tree]:
                    latest[number] = count
                    slots[count, 0], slots[count, 1] = tree, number
                    slots[count, 2] = size
                    size += facts[number].n_classes
                    most = max(most, facts[number].n_classes)
                    variable_start[number + 1] += 1
                    count += 1
                slot_of[ask] = latest[number]
        tree_start[tree + 1] = count
    for number in range(len(facts)):
        variable_start[number + 1] += variable_start[number]
    filled = variable_start.copy()
    by_variable = np.zeros(count, dtype=np.int64)
    for slot in range(count):
        number = slots[slot, 1]
        by_variable[filled[number]] = slot
        filled[number] += 1
    return Prices(
        slot_of,
        slots[:count],
        by_variable,
        variable_start,
        tree_start,
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(len(asked), dtype=np.int64),
        np.zeros(len(leaves), dtype=np.int64),
        np.zeros(most, dtype=np.int64),
        np.int64(_MOST // max(n_trees, len(facts), 1)),
    )


@small
def _best_price(price, base, words, start, width, box, at):
    """Return the best price among the classes of a set that lie in the box."""
    best = np.int64(_NONE)
    member = first_from(words, start, width, 0)
    while member >= 0:
        if has(box, at, member):
            best = max(best, price[base + member])
        member = first_from(words, start, width, member + 1)
    return best


@inner
def _appraise(problem, prices, alive, start, box):
    """Work out what every living leaf is worth in this box at the present prices."""
    leaves, asked = problem.leaves, problem.asked
    masks, facts = problem.masks, problem.facts
    slots, price, part = prices.slots, prices.price, prices.part
    for tree in range(len(start) - 1):
        common = np.int64(0)
        for slot in range(prices.tree_start[tree], prices.tree_start[tree + 1]):
            fact = facts[slots[slot, 1]]
            at, width = fact.word_start, fact.width
            slots[slot, 3] = _best_price(price, slots[slot, 2], box, at, width, box, at)
            common += slots[slot, 3]
        for position in range(start[tree], start[tree + 1]):
            leaf = alive[position]
            total = leaves[leaf].value + common
            for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
                slot, fact = prices.slot_of[ask], facts[asked[ask].number]
                part[ask] = _best_price(
                    price,
                    slots[slot, 2],
                    masks,
                    asked[ask].place,
                    fact.width,
                    box,
                    fact.word_start,
                )
                total += part[ask] - slots[slot, 3]
            prices.value[leaf] = total


@small
def _ask_of(leaves, slot_of, leaf, slot):
    """Return the constraint of a leaf that belongs to a slot; -1 if there is none."""
    for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
        if slot_of[ask] == slot:
            return ask
    return -1


@inner
def _fill_worth(problem, prices, alive, start, box, slot):
    """Work out what each class in the box is worth to the tree of a slot.

    Returns the least and the most of these; the least is `_NONE` if the tree cannot
    reach some class, or if the numbers become too large to be added up.
    """
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    slots, price, worth = prices.slots, prices.price, prices.worth
    tree, base = slots[slot, 0], slots[slot, 2]
    fact = problem.facts[slots[slot, 1]]
    at, width = fact.word_start, fact.width
    for member in range(fact.n_classes):
        worth[base + member] = _NONE
    anywhere = np.int64(_NONE)
    for position in range(start[tree], start[tree + 1]):
        leaf = alive[position]
        ask = _ask_of(leaves, prices.slot_of, leaf, slot)
        if ask < 0:
            anywhere = max(anywhere, prices.value[leaf] - slots[slot, 3])
            continue
        rest = prices.value[leaf] - prices.part[ask]
        member = first_from(masks, asked[ask].place, width, 0)
        while member >= 0:
            worth[base + member] = max(worth[base + member], rest)
            member = first_from(masks, asked[ask].place, width, member + 1)
    least, most = np.int64(-_NONE), np.int64(_NONE)
    member = first_from(box, at, width, 0)
    while member >= 0:
        best = max(worth[base + member], anywhere)
        if best != _NONE:
            best += price[base + member]
        if max(abs(best), abs(price[base + member])) > prices.limit:
            best = np.int64(_NONE)
        worth[base + member] = best
        least, most = min(least, best), max(most, best)
        member = first_from(box, at, width, member + 1)
    return least, most


@inner
def _reprice(problem, prices, alive, start, box, slot, rank, count):
    """Give the tree of a slot its part of what the classes are worth to all.

    Returns what its best class is worth to it now.
    """
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    slots, price, worth = prices.slots, prices.price, prices.worth
    tree, base = slots[slot, 0], slots[slot, 2]
    fact = problem.facts[slots[slot, 1]]
    at, width = fact.word_start, fact.width
    most = np.int64(_NONE)
    member = first_from(box, at, width, 0)
    while member >= 0:
        total = prices.shared[member]
        # The remainder of the division goes to the first trees, one unit each.
        share = total // count + (rank < total - total // count * count)
        price[base + member] += share - worth[base + member]
        most = max(most, share)
        member = first_from(box, at, width, member + 1)
    before = slots[slot, 3]
    after = _best_price(price, base, box, at, width, box, at)
    slots[slot, 3] = after
    for position in range(start[tree], start[tree + 1]):
        leaf = alive[position]
        ask = _ask_of(leaves, prices.slot_of, leaf, slot)
        if ask < 0:
            prices.value[leaf] += after - before
            continue
        here = _best_price(price, base, masks, asked[ask].place, width, box, at)
        prices.value[leaf] += here - prices.part[ask]
        prices.part[ask] = here
    return most


@inner
def _agree(problem, prices, alive, start, box, number):
    """Make all trees agree on one variable.

    Returns by how much the bound falls; -1 if some tree cannot reach some class, so
    that propagation must come first.
    """
    fact, shared = problem.facts[number], prices.shared
    first, last = prices.variable_start[number], prices.variable_start[number + 1]
    shared[: fact.n_classes] = 0
    gain = np.int64(0)
    for place in range(first, last):
        slot = prices.by_variable[place]
        least, most = _fill_worth(problem, prices, alive, start, box, slot)
        if least == _NONE:
            return np.int64(-1)
        gain += most
        base = prices.slots[slot, 2]
        member = first_from(box, fact.word_start, fact.width, 0)
        while member >= 0:
            shared[member] += prices.worth[base + member]
            member = first_from(box, fact.word_start, fact.width, member + 1)
    for place in range(first, last):
        slot, rank = prices.by_variable[place], place - first
        gain -= _reprice(problem, prices, alive, start, box, slot, rank, last - first)
    return gain


@inner
def _bound(prices, constant, alive, start):
    total = constant
    for tree in range(len(start) - 1):
        best = np.int64(_NONE)
        for position in range(start[tree], start[tree + 1]):
            best = max(best, prices.value[alive[position]])
        total += best
    return total


@inner
def _drop_classes(fact, shared, box, kept, slack):
    """Take the classes that are worth too little to all trees together out of `kept`.

    Returns whether there were any that had not gone before.
    """
    at, width = fact.word_start, fact.width
    best = np.int64(_NONE)
    member = first_from(box, at, width, 0)
    while member >= 0:
        best = max(best, shared[member])
        member = first_from(box, at, width, member + 1)
    dropped = False
    member = first_from(kept, at, width, 0)
    while member >= 0:
        if best - shared[member] > slack:
            remove(kept, at, member)
            dropped = True
        member = first_from(kept, at, width, member + 1)
    return dropped


@inner
def _drop_leaves(prices, alive, start, slack):
    """Drop the leaves that are worth too little; tell whether there were any."""
    write = following = start[0]
    for tree in range(len(start) - 1):
        first, last = following, start[tree + 1]
        following = last
        best = np.int64(_NONE)
        for position in range(first, last):
            best = max(best, prices.value[alive[position]])
        for position in range(first, last):
            leaf = alive[position]
            if best - prices.value[leaf] <= slack:
                alive[write] = leaf
                write += 1
        start[tree + 1] = write
    return write < following


@inner
def bargain(problem, constant, may, prices, alive, start, box, kept, until):
    """Sweep over the variables until the prices are worth no more sweeps.

    Parameters
    ----------
    problem
        The reached leaves.
    constant, may
        What all leads have in common, and the lead that must be reached.
    prices
        Better ones afterwards; they hold for any part of the box.
    alive, start, box
        The living leaves and the box; both may be smaller afterwards.
    kept
        Scratch, as large as a box.
    until
        The limits: sweeps, at most, and the share of the slack that each must gain.

    Returns
    -------
    The bound on the lead, less than `may` if the rival cannot win here; and whether
    leaves or classes were dropped, so that propagation may find more.
    """
    _appraise(problem, prices, alive, start, box)
    bound = _bound(prices, constant, alive, start)
    # Classes go only when the sweeps are over: until then the books rest on the box.
    copy(box, kept)
    dropped = False
    for _ in range(until[SWEEPS]):
        before = bound
        for number in range(len(problem.facts)):
            if prices.variable_start[number] == prices.variable_start[number + 1]:
                continue
            gain = _agree(problem, prices, alive, start, box, number)
            if gain < 0:
                continue
            bound -= gain
            if bound < may:
                return bound, False
            fact = problem.facts[number]
            if _drop_classes(fact, prices.shared, box, kept, bound - may):
                dropped = True
        if (before - bound) * until[LEAST_GAIN] < bound - may:
            break
    copy(kept, box)
    if _drop_leaves(prices, alive, start, bound - may):
        dropped = True
    return bound, dropped
