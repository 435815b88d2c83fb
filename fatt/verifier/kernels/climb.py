"""Local search: change one variable at a time, to the class that helps most.

For one variable, the trees that change their leaf are found through the constraints on
it: a leaf counts for a class if its other constraints hold. So all classes of a
variable are weighed in one pass over its constraints.
"""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.compiled import inner, maker, small
from fatt.verifier.kernels.records import Climb
from fatt.verifier.kernels.sets import first_from, has


@maker
def climb_of(problem, order):
    """Sort the constraints of the leaves that matter by variable."""
    leaves, asked, facts = problem.leaves, problem.asked, problem.facts
    start = np.zeros(len(facts) + 1, dtype=np.int64)
    for leaf in order:
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            start[asked[ask].number + 1] += 1
    most = 1
    for number in range(len(facts)):
        start[number + 1] += start[number]
        most = max(most, facts[number].n_classes)
    filled = start[:-1].copy()
    entries = np.empty((start[len(facts)], 2), dtype=np.int64)
    for leaf in order:
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            place = filled[asked[ask].number]
            entries[place, 0] = ask
            entries[place, 1] = leaf
            filled[asked[ask].number] += 1
    point = np.empty(len(facts), dtype=np.int64)
    gain = np.zeros(most, dtype=np.int64)
    return Climb(start, entries, point, gain, np.zeros(1, dtype=np.int64))


@inner
def stand(problem, lead, climb):
    """Count the broken constraints at the point, and add up its lead."""
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    point = climb.point
    total = lead.constant
    for leaf in lead.order:
        broken = 0
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            if not has(masks, asked[ask].place, point[asked[ask].number]):
                broken += 1
        leaves[leaf].broken = broken
        if broken == 0:
            total += leaves[leaf].value
    climb.total[0] = total


@inner
def _weigh(problem, climb, number):
    """Fill `gain` with what each class of a variable adds; return the rest."""
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    gain, entries = climb.gain, climb.entries
    width, now = problem.facts[number].width, climb.point[number]
    gain[: problem.facts[number].n_classes] = 0
    rest = climb.total[0]
    for entry in range(climb.start[number], climb.start[number + 1]):
        place = asked[entries[entry, 0]].place
        leaf = entries[entry, 1]
        holds = has(masks, place, now)
        if leaves[leaf].broken != (0 if holds else 1):
            continue
        value = leaves[leaf].value
        if holds:
            rest -= value
        member = first_from(masks, place, width, 0)
        while member >= 0:
            gain[member] += value
            member = first_from(masks, place, width, member + 1)
    return rest


@inner
def _move(problem, climb, number, member, total):
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    entries = climb.entries
    now = climb.point[number]
    for entry in range(climb.start[number], climb.start[number + 1]):
        place = asked[entries[entry, 0]].place
        before, after = has(masks, place, now), has(masks, place, member)
        leaves[entries[entry, 1]].broken += np.int64(before) - np.int64(after)
    climb.point[number] = member
    climb.total[0] = total


@inner
def ascend(problem, climb, sweeps):
    """Move the point until no single variable makes the lead larger.

    After so many sweeps over the variables it stays where it is.
    """
    facts, gain = problem.facts, climb.gain
    for _ in range(sweeps):
        improved = False
        for number in range(len(facts)):
            if climb.start[number] == climb.start[number + 1]:
                continue
            rest = _weigh(problem, climb, number)
            best = climb.point[number]
            for member in range(facts[number].n_classes):
                if gain[member] > gain[best]:
                    best = member
            if rest + gain[best] > climb.total[0]:
                _move(problem, climb, number, best, rest + gain[best])
                improved = True
        if not improved:
            return


@small
def _nearest(fact, gain, least):
    """Return the class nearest to the person's that gains `least`; -1 if none does."""
    for distance in range(fact.n_classes):
        if fact.own >= distance and gain[fact.own - distance] >= least:
            return fact.own - distance
        beyond = fact.own + distance
        if beyond < fact.n_classes and gain[beyond] >= least:
            return beyond
    return -1


@inner
def start_at_person(problem, lead, climb):
    """Put the point where the person is."""
    for number in range(len(problem.facts)):
        climb.point[number] = problem.facts[number].own
    stand(problem, lead, climb)


@inner
def step_once(problem, lead, climb):
    """Look for a single change with which the rival surely wins."""
    for number in range(len(problem.facts)):
        if climb.start[number] == climb.start[number + 1]:
            continue
        rest = _weigh(problem, climb, number)
        member = _nearest(problem.facts[number], climb.gain, lead.surely - rest)
        if member >= 0:
            _move(problem, climb, number, member, rest + climb.gain[member])
            return True
    return False


@inner
def descend(problem, climb, least):
    """Bring the point back to the person, as far as the lead stays at `least`."""
    facts = problem.facts
    moved = True
    while moved:
        moved = False
        for number in range(len(facts)):
            own, now = facts[number].own, climb.point[number]
            if now == own:
                continue
            rest = _weigh(problem, climb, number)
            member = _nearest(facts[number], climb.gain, least - rest)
            if member >= 0 and abs(member - own) < abs(now - own):
                _move(problem, climb, number, member, rest + climb.gain[member])
                moved = True


@inner
def leaves_at(problem, point, chosen):
    """Note for each tree the reached leaf in which a point is."""
    leaves, asked, masks = problem.leaves, problem.asked, problem.masks
    for tree in range(len(chosen)):
        leaf = problem.tree_start[tree]
        ask = leaves[leaf].start
        while ask < leaves[leaf + 1].start:
            if has(masks, asked[ask].place, point[asked[ask].number]):
                ask += 1
            else:
                leaf += 1
                ask = leaves[leaf].start
        chosen[tree] = leaf
