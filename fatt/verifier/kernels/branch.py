"""Branch and bound: part the box until every part is closed or holds a win."""

from __future__ import annotations

import numpy as np

from fatt.verifier.kernels.band import FAR
from fatt.verifier.kernels.choose import choose, choose_any, drop_classes, weigh
from fatt.verifier.kernels.climb import ascend, leaves_at, stand
from fatt.verifier.kernels.compiled import inner, maker
from fatt.verifier.kernels.dual import bargain, no_prices, prices_of
from fatt.verifier.kernels.lead import settle
from fatt.verifier.kernels.records import (
    BARGAINED,
    CLIMB,
    CLIMB_AGAIN,
    CLIMBED,
    DROPPED,
    GREW,
    LARGEST,
    LOSS,
    NODES,
    NOW,
    PARTED,
    PATIENCE,
    PRICED_OUT,
    ROOM,
    STOP,
    TIME,
    USED,
    WEIGH,
)
from fatt.verifier.kernels.sets import add_range, copy, first_from, has
from fatt.verifier.kernels.tighten import tighten

CLOSED, FOUND, STOPPED = 0, 1, 2

#: Entries of the stakes: the lead from which the rival may win, and surely wins.
MAY, SURELY = 0, 1


@inner
def _wins(library, problem, lead, stakes, climb, chosen, doubts):
    """Tell whether the rival wins at the point.

    A point at which this cannot be said is kept in `doubts` if there is room.
    """
    if climb.total[0] >= stakes[SURELY]:
        return True
    if climb.total[0] < stakes[MAY]:
        return False
    leaves_at(problem, climb.point, chosen)
    outcome = settle(library, problem.leaves, chosen, lead.own, lead.rival)
    if outcome == 2:
        count, points = doubts
        if count[0] < len(points):
            copy(climb.point, points[count[0]])
        count[0] += 1
    return outcome == 1


@inner
def _start_where_least_is_lost(facts, losses, box, point):
    """Put each variable into the class that, alone, costs least."""
    for number in range(len(facts)):
        fact = facts[number]
        best = member = first_from(box, fact.word_start, fact.width, 0)
        while member >= 0:
            here, there = fact.class_start + member, fact.class_start + best
            if losses[here].at < losses[there].at:
                best = member
            member = first_from(box, fact.word_start, fact.width, member + 1)
        point[number] = best


@inner
def _meet_tops(problem, alive, start, box, meet):
    """Intersect the box with the best leaf of each tree; tell if something is left."""
    leaves, asked = problem.leaves, problem.asked
    masks, facts = problem.masks, problem.facts
    copy(box, meet)
    for tree in range(len(start) - 1):
        leaf = alive[start[tree]]
        for ask in range(leaves[leaf].start, leaves[leaf + 1].start):
            fact, some = facts[asked[ask].number], np.uint64(0)
            for offset in range(fact.width):
                meet[fact.word_start + offset] &= masks[asked[ask].place + offset]
                some |= meet[fact.word_start + offset]
            if some == 0:
                return False
    return True


@inner
def _stand_near(facts, box, point):
    """Put each variable into the class of a box that is nearest to the person's."""
    for number in range(len(facts)):
        fact = facts[number]
        for distance in range(fact.n_classes):
            below, above = fact.own - distance, fact.own + distance
            if below >= 0 and has(box, fact.word_start, below):
                point[number] = below
                break
            if above < fact.n_classes and has(box, fact.word_start, above):
                point[number] = above
                break


@maker
def _longer(array):
    grown = np.empty(2 * len(array), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@maker
def _more_rows(array):
    grown = np.empty((2 * len(array), array.shape[1]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@inner
def _raise_stakes(climb, stakes, best):
    """Note the point as the best one so far: from now on only larger leads count."""
    copy(climb.point, best)
    stakes[MAY] = stakes[SURELY] = climb.total[0] + 1


@inner
def _open_bound(bound, bounds, cut, row):
    """Return the largest lead that the parts that are still open may hold."""
    for above in range(row):
        if cut[above] >= 0:
            bound = max(bound, bounds[above])
    return bound


@maker
def branch(library, problem, lead, climb, chosen, doubts, limits):
    """Search the whole box for a point at which the rival wins.

    A local search from where the climb stands comes first.

    Parameters
    ----------
    library, problem, lead
        The question.
    climb
        Stands at the point that wins, if one is found.
    chosen
        Scratch, one entry per tree.
    doubts
        Number of points that could not be told, and the first few of them.
    limits
        The limits, the clock, and what was used so far, which is counted on.

    Returns
    -------
    `CLOSED` if no point wins, `FOUND` if the climb stands at one, or `STOPPED`; and a
    bound on the lead. If the largest lead is asked for, the climb stands at the best
    point, and the outcome tells whether there is a larger lead than that.
    """
    until, clock, used = limits
    facts, n_leaves = problem.facts, len(lead.order)
    n_words, n_classes = 0, 0
    for number in range(len(facts)):
        n_words += facts[number].width
        n_classes += facts[number].n_classes
    # One row per open cut: the box, where the trees' leaves begin, and the side of the
    # cut that is looked at first. Behind a row's leaves stand those of the next row.
    room = until[ROOM]
    boxes = np.zeros((room, n_words), dtype=np.uint64)
    starts = np.zeros((room, len(lead.start)), dtype=np.int64)
    sides = np.zeros((room, n_words), dtype=np.uint64)
    cut = np.full(room, -1, dtype=np.int64)
    bounds = np.zeros(room, dtype=np.int64)
    alive = np.empty(max(room // 4, 1) * n_leaves + room, dtype=np.int64)
    counted = np.zeros(len(facts), dtype=np.int64)
    union = np.zeros(n_words, dtype=np.uint64)
    meet = np.zeros(n_words, dtype=np.uint64)
    best = climb.point.copy()
    losses = np.empty(n_classes, dtype=LOSS)
    alive[:n_leaves] = lead.order
    starts[0] = lead.start
    for number in range(len(facts)):
        add_range(boxes[0], facts[number].word_start, 0, facts[number].n_classes - 1)
    stakes = np.empty(2, dtype=np.int64)
    stakes[MAY], stakes[SURELY] = lead.may, lead.surely
    ascend(problem, climb, until[CLIMB])
    is_won = _wins(library, problem, lead, stakes, climb, chosen, doubts)
    row, next_climb, bound = 0, until[CLIMB_AGAIN], np.int64(0)
    first_node, is_priced = used[USED], False
    prices = no_prices()
    is_closed = False
    while True:
        if is_won:
            if until[LARGEST] == 0:
                return FOUND, bound
            _raise_stakes(climb, stakes, best)
            is_won = False
        if library.rule[0].ordered == 0 and doubts[0][0] > 0:
            # One point in doubt rules out a proof: from now on only sure wins count.
            stakes[MAY] = stakes[SURELY]
        may = stakes[MAY]
        if is_closed:
            # Go on with the other side of the last cut that has one.
            row -= 1
            while row >= 0 and cut[row] < 0:
                row -= 1
            if row < 0:
                climb.point[:] = best
                return CLOSED, may - 1
            fact = facts[cut[row]]
            for offset in range(fact.width):
                boxes[row, fact.word_start + offset] &= ~sides[row, offset]
            cut[row] = -1
        box, start = boxes[row], starts[row]
        is_closed = True
        bound = tighten(problem, lead.constant, may, alive, start, box, counted, union)
        if bound < may:
            continue
        if _meet_tops(problem, alive, start, box, meet):
            _stand_near(facts, meet, climb.point)
            climb.total[0] = bound
            is_won = _wins(library, problem, lead, stakes, climb, chosen, doubts)
            if is_won:
                # The best leaves of all trees meet: this part holds nothing better.
                stand(problem, lead, climb)
                continue
        if used[USED] >= until[NODES] or clock[NOW] >= until[TIME] or clock[STOP] != 0:
            climb.point[:] = best
            return STOPPED, _open_bound(bound, bounds, cut, row)
        used[USED] += 1
        # With a band without end there is nothing that prices could close.
        if used[USED] - first_node >= until[PATIENCE] and may > -FAR:
            if not is_priced:
                prices = prices_of(problem, lead)
                is_priced = True
            used[BARGAINED] += 1
            lower, dropped_some = bargain(
                problem, lead.constant, may, prices, alive, start, box, meet, until
            )
            if lower < may:
                used[PRICED_OUT] += 1
                continue
            if dropped_some:
                is_closed = False
                continue
        number = -1
        if until[WEIGH] != 0:
            slack = bound - may
            weigh(problem, alive, start, box, losses, slack + 1)
            dropped = drop_classes(facts, losses, box, slack)
            if dropped != 0:
                used[DROPPED] += 1
                is_closed = dropped == 2
                continue
            if used[USED] >= next_climb:
                next_climb *= 2
                used[CLIMBED] += 1
                _start_where_least_is_lost(facts, losses, box, climb.point)
                stand(problem, lead, climb)
                ascend(problem, climb, until[CLIMB])
                is_won = _wins(library, problem, lead, stakes, climb, chosen, doubts)
                if is_won:
                    is_closed = False
                    continue
            number = choose(facts, losses, box, slack, sides[row])
        if number < 0:
            number = choose_any(problem, alive, start, box, sides[row])
            used[PARTED] += number >= 0
        if number < 0:
            continue
        is_closed = False
        cut[row], bounds[row] = number, bound
        if row + 1 == len(boxes):
            used[GREW] += 1
            boxes, starts = _more_rows(boxes), _more_rows(starts)
            sides, cut, bounds = _more_rows(sides), _longer(cut), _longer(bounds)
        first, last = starts[row, 0], starts[row, -1]
        while 2 * last - first > len(alive):
            alive = _longer(alive)
        alive[last : 2 * last - first] = alive[first:last]
        boxes[row + 1] = boxes[row]
        for tree in range(starts.shape[1]):
            starts[row + 1, tree] = starts[row, tree] + (last - first)
        fact = facts[number]
        for offset in range(fact.width):
            boxes[row + 1, fact.word_start + offset] &= sides[row, offset]
        row += 1
        cut[row] = -1
