"""Propagation: drop leaves that cannot be part of a win, and shrink the box.

A box here is a bit set per variable. Each tree keeps the leaves that are still alive,
the best first.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, small
from fatt.verifier.kernels.sets import meets


@small
def _fits(leaves, asked, masks, facts, leaf, box):
    """Tell whether a leaf has a point in the box."""
    for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
        fact = facts[asked[ask].number]
        if not meets(box, fact.word_start, masks, asked[ask].place, fact.width):
            return False
    return True


@inner
def _bound(leaves, alive, start, constant):
    """Add up the best leaf of each tree."""
    total = constant
    for tree in range(len(start) - 1):
        total += leaves[alive[start[tree]]].value
    return total


@inner
def _drop_leaves(problem, alive, start, box, slack):
    """Keep the leaves that fit the box and lose at most `slack`; False if none does."""
    leaves, asked = problem.leaves, problem.asked
    masks, facts = problem.masks, problem.facts
    write = following = start[0]
    for tree in range(len(start) - 1):
        first, last = following, start[tree + 1]
        following = last
        top = leaves[alive[first]].value
        begin = write
        for place in range(first, last):
            leaf = alive[place]
            if top - leaves[leaf].value > slack:
                break
            if _fits(leaves, asked, masks, facts, leaf, box):
                alive[write] = leaf
                write += 1
        if write == begin:
            return False
        start[tree + 1] = write
    return True


@inner
def _shrink(problem, alive, first, last, box, counted, union):
    """Cut the box to what the living leaves of one tree allow.

    Returns 0 if nothing changed, 1 if the box became smaller, 2 if it became empty.
    """
    leaves, asked = problem.leaves, problem.asked
    masks, facts = problem.masks, problem.facts
    top = alive[first]
    for ask in range(leaves[top].start, leaves[top + 1].start):
        number, place = asked[ask].number, asked[ask].place
        counted[number] = 1
        for offset in range(facts[number].width):
            union[facts[number].word_start + offset] = masks[place + offset]
    for position in range(first + 1, last):
        leaf = alive[position]
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            number, place = asked[ask].number, asked[ask].place
            # Only what all leaves ask for can shrink; others have fallen behind.
            if counted[number] == position - first:
                counted[number] += 1
                for offset in range(facts[number].width):
                    union[facts[number].word_start + offset] |= masks[place + offset]
    result = 0
    for ask in range(leaves[top].start, leaves[top + 1].start):
        number = asked[ask].number
        if counted[number] == last - first:
            some = np.uint64(0)
            begin = facts[number].word_start
            for word in range(begin, begin + facts[number].width):
                kept = box[word] & union[word]
                if kept != box[word]:
                    result = max(result, 1)
                    box[word] = kept
                some |= kept
            if some == 0:
                result = 2
        counted[number] = 0
    return result


@inner
def tighten(problem, constant, may, alive, start, box, counted, union):
    """Repeat dropping and shrinking until nothing changes.

    Parameters
    ----------
    problem
        The reached leaves.
    constant, may
        What all leads have in common, and the lead that must be reached.
    alive, start
        The living leaves, and where each tree's begin; fewer afterwards.
    box
        The box; smaller afterwards.
    counted, union
        Scratch, one entry per variable, and as large as a box.

    Returns
    -------
    The bound on the lead, or less than `may` if the rival cannot win here.
    """
    dead = may - 1
    bound = _bound(problem.leaves, alive, start, constant)
    while True:
        if bound < may:
            return dead
        if not _drop_leaves(problem, alive, start, box, bound - may):
            return dead
        changed = False
        for tree in range(len(start) - 1):
            first, last = start[tree], start[tree + 1]
            result = _shrink(problem, alive, first, last, box, counted, union)
            if result == 2:
                return dead
            changed = changed or result == 1
        now = _bound(problem.leaves, alive, start, constant)
        if not changed and now == bound:
            return bound
        bound = now
