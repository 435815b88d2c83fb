"""Where to branch: the cut that costs both sides most.

For each class of a variable, a tree's best leaf that allows the class says what the
tree loses there. Added up over the trees, this also tells which classes cannot win.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, small
from fatt.verifier.kernels.sets import add, first_from, has, remove

_NONE = np.iinfo(np.int64).min


@inner
def _best_leaves(problem, alive, first, last, number, box, losses):
    """Note for each class of a variable a tree's best leaf that asks for it.

    Returns the value of the best leaf that does not ask for the variable at all; what
    lies behind that leaf does not matter.
    """
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    fact = problem.facts[number]
    base, at, width = fact.class_start, fact.word_start, fact.width
    for member in range(base, base + fact.n_classes):
        losses[member].best = _NONE
    for position in range(first, last):
        leaf = alive[position]
        place = -1
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            if asked[ask].number == number:
                place = asked[ask].place
                break
        if place < 0:
            return leaves[leaf].value
        member = first_from(masks, place, width, 0)
        while member >= 0:
            if losses[base + member].best == _NONE and has(box, at, member):
                losses[base + member].best = leaves[leaf].value
            member = first_from(masks, place, width, member + 1)
    return np.int64(_NONE)


@small
def _loss(top, value, huge):
    return huge if value == _NONE else top - value


@inner
def _add_losses(fact, losses, box, top, free, huge):
    """Add what one tree loses in one variable, given the best leaf of each class."""
    base, at, width = fact.class_start, fact.word_start, fact.width
    highest, second = np.int64(_NONE), np.int64(_NONE)
    last = member = first_from(box, at, width, 0)
    while member >= 0:
        last = member
        loss = losses[base + member]
        loss.best = max(loss.best, free)
        if loss.best > highest:
            highest, second = loss.best, highest
        elif loss.best > second:
            second = loss.best
        loss.at += _loss(top, loss.best, huge)
        loss.up_to += _loss(top, highest, huge)
        member = first_from(box, at, width, member + 1)
    behind = np.int64(_NONE)
    for member in range(last, -1, -1):
        if has(box, at, member):
            loss = losses[base + member]
            loss.beyond += _loss(top, behind, huge)
            behind = max(behind, loss.best)
            other = second if loss.best == highest else highest
            loss.without += _loss(top, other, huge)


@inner
def weigh(problem, alive, start, box, losses, huge):
    """Add up what all trees lose, for every class in the box."""
    leaves, asked, facts = problem.leaves, problem.asked, problem.facts
    for member in range(len(losses)):
        loss = losses[member]
        loss.at = loss.up_to = loss.beyond = loss.without = 0
    for tree in range(len(start) - 1):
        first, last = start[tree], start[tree + 1]
        if last - first == 1:
            continue
        leaf = alive[first]
        # A variable that the best leaf does not ask for costs this tree nothing.
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            number = asked[ask].number
            free = _best_leaves(problem, alive, first, last, number, box, losses)
            _add_losses(facts[number], losses, box, leaves[leaf].value, free, huge)


@inner
def drop_classes(facts, losses, box, slack):
    """Remove from the box the classes that lose more than `slack`.

    Returns 0 if nothing changed, 1 if some went, 2 if a variable has none left.
    """
    result = 0
    for number in range(len(facts)):
        fact = facts[number]
        at, width = fact.word_start, fact.width
        left = 0
        member = first_from(box, at, width, 0)
        while member >= 0:
            if losses[fact.class_start + member].at > slack:
                remove(box, at, member)
                result = 1
            else:
                left += 1
            member = first_from(box, at, width, member + 1)
        if left == 0:
            return 2
    return result


@small
def _score(one, other, slack):
    # A loss beyond the slack closes the side at once; more than that is worth nothing.
    return (min(one, slack) + 1.0) * (min(other, slack) + 1.0)


@inner
def choose(facts, losses, box, slack, side):
    """Choose a variable and the classes of the side to look at first.

    Returns the variable, or -1 if no cut costs anything; `side` receives the set.
    """
    chosen, taken, is_single, highest = -1, 0, False, 1.0
    limit = np.float64(slack) + 1.0
    for number in range(len(facts)):
        fact = facts[number]
        at, width = fact.word_start, fact.width
        member = first_from(box, at, width, 0)
        following = first_from(box, at, width, member + 1)
        if following < 0:
            continue
        while member >= 0:
            loss = losses[fact.class_start + member]
            if following >= 0:
                score = _score(loss.up_to, loss.beyond, limit)
                if score > highest:
                    chosen, taken, is_single, highest = number, member, False, score
            if fact.is_ordered == 0:
                score = _score(loss.at, loss.without, limit)
                if score > highest:
                    chosen, taken, is_single, highest = number, member, True, score
            member = following
            if member >= 0:
                following = first_from(box, at, width, member + 1)
    if chosen < 0:
        return -1
    fact = facts[chosen]
    loss = losses[fact.class_start + taken]
    one = loss.at if is_single else loss.up_to
    other = loss.without if is_single else loss.beyond
    side[: fact.width] = 0
    member = first_from(box, fact.word_start, fact.width, 0)
    while member >= 0:
        inside = member == taken if is_single else member <= taken
        if inside == (one <= other):
            add(side, 0, member)
        member = first_from(box, fact.word_start, fact.width, member + 1)
    return chosen


@inner
def choose_any(problem, alive, start, box, side):
    """Choose a cut that parts the leaves of some tree; -1 if there is none."""
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    for tree in range(len(start) - 1):
        if start[tree + 1] - start[tree] == 1:
            continue
        leaf = alive[start[tree]]
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            fact = problem.facts[asked[ask].number]
            differs = False
            for offset in range(fact.width):
                here = box[fact.word_start + offset]
                side[offset] = here & masks[asked[ask].place + offset]
                differs = differs or side[offset] != here
            if differs:
                return asked[ask].number
    return -1
