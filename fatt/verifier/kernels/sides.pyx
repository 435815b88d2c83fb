"""What both people of a pair must have, each for themselves.

A margin tells how far the scores of two people are apart. Whether one of them is denied
and the other approved depends on where the two scores are: sums of their own, which
each must reach what is demanded of it. A gap of probabilities is the same, but what one
sum must reach follows from where the other can be.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.verifier.kernels.local_search cimport evaluate
from fatt.verifier.kernels.margins cimport decide_exactly
from fatt.verifier.kernels.records cimport (
    FAR,
    LOSES,
    NO_MARGIN,
    TIED,
    WINS,
    Demand,
    Leaf,
    Part,
    Point,
    Problem,
    Sides,
    Steps,
    Target,
    has,
    lowest,
)


# ---- Steps of probability.

cdef int64_t _step_of(const Steps* steps, int64_t score) noexcept nogil:
    """Return the step in which a score is: the first edge that is not below it."""
    cdef int64_t low = 0, high = steps.n_edges, middle
    while low < high:
        middle = (low + high) >> 1
        if steps.edges[middle] >= score:
            high = middle
        else:
            low = middle + 1
    return low


cdef int64_t gap_at(const Sides* sides, int64_t low, int64_t high) noexcept nogil:
    """Bound the gap between what two scores give, from above."""
    cdef const Steps* steps = &sides.steps
    return steps.most[_step_of(steps, high)] - steps.least[_step_of(steps, low)]


cdef int64_t _least_score(const Steps* steps, int64_t wanted) noexcept nogil:
    """Return the smallest score that may give at least so much; `FAR` if none does."""
    cdef int64_t low = 0, high = steps.n_edges + 1, middle
    while low < high:
        middle = (low + high) >> 1
        if steps.most[middle] >= wanted:
            high = middle
        else:
            low = middle + 1
    if low > steps.n_edges:
        return FAR
    return -FAR if low == 0 else steps.edges[low - 1] + 1


cdef int64_t _most_score(const Steps* steps, int64_t wanted) noexcept nogil:
    """Return the largest score that may give at most so much; `-FAR` if none does."""
    cdef int64_t low = -1, high = steps.n_edges, middle
    while low < high:
        middle = (low + high + 1) >> 1
        if steps.least[middle] <= wanted:
            low = middle
        else:
            high = middle - 1
    if low < 0:
        return -FAR
    return FAR if low == steps.n_edges else steps.edges[low]


# ---- Parts of the box.

cdef int64_t _most_of(
    const int64_t* value, const Part* part, int64_t tree
) noexcept nogil:
    """Return the most that a living leaf of a tree adds to a sum."""
    cdef int64_t place, most = NO_MARGIN
    for place in range(part.start[tree], part.start[tree + 1]):
        most = max(most, value[part.alive[place]])
    return most


cdef bint _find_slacks(Sides* sides, const Part* part) noexcept nogil:
    """Fill `each` with how much each sum may lose; False if one must lose nothing."""
    cdef const Demand* demand
    cdef int64_t number, tree, total, low, high
    for number in range(sides.n_demands):
        demand = &sides.demands[number]
        total = demand.constant
        for tree in range(part.n_trees):
            total += _most_of(demand.value, part, tree)
        sides.each[number] = total - demand.possible
    if sides.is_linked != 0:
        # Given how low one can be, the other must be so high; and the other way.
        low = -(sides.each[0] + sides.demands[0].possible)
        high = sides.each[1] + sides.demands[1].possible
        sides.bound = gap_at(sides, low, high)
        total = sides.steps.least[_step_of(&sides.steps, low)] + sides.gap
        sides.each[1] = high - _least_score(&sides.steps, total)
        total = sides.steps.most[_step_of(&sides.steps, high)] - sides.gap
        sides.each[0] = _most_score(&sides.steps, total) - low
    else:
        sides.bound = FAR
        for number in range(sides.n_demands):
            sides.bound = min(sides.bound, sides.each[number])
    for number in range(sides.n_demands):
        if sides.each[number] < 0:
            return False
    return True


cdef int32_t narrow(Sides* sides, const Part* part) noexcept nogil:
    """Drop leaves with which one of the sums cannot be what it must.

    Returns -1 if no pair is left, else whether leaves went.
    """
    cdef int64_t tree, place, leaf, number, most, last, begin, write, following
    cdef const int64_t* value
    cdef bint is_lost = False
    if not _find_slacks(sides, part):
        return -1
    for number in range(sides.n_demands):
        value = sides.demands[number].value
        write = following = part.start[0]
        for tree in range(part.n_trees):
            most = NO_MARGIN
            last, begin = part.start[tree + 1], write
            for place in range(following, last):
                most = max(most, value[part.alive[place]])
            for place in range(following, last):
                leaf = part.alive[place]
                if most - value[leaf] > sides.each[number]:
                    is_lost = True
                    continue
                part.alive[write] = leaf
                write += 1
            # The best leaf of each sum stays, if nothing else took it before.
            if write == begin:
                return -1
            following = last
            part.start[tree + 1] = write
    return is_lost


# ---- Points.

cdef void _stand(
    const Sides* sides, const int64_t* chosen, int64_t person
) noexcept nogil:
    """Write the rows of one person's leaves at a point."""
    cdef int64_t tree
    for tree in range(sides.n_trees):
        sides.stands[tree].row = sides.rows[2 * chosen[tree] + person]


cdef int32_t decide_pair(
    const void* asked, const Leaf* leaves, const int64_t* chosen
) noexcept nogil:
    """Tell whether a pair has all that is demanded, as the library computes.

    What is asked about are the sides; if there are none, this cannot be said here.
    Returns as `decide_exactly` does.
    """
    cdef const Sides* sides = <const Sides*>asked
    cdef const Demand* demand
    cdef const int64_t* own
    cdef int64_t number, tree, total, low = 0, high = 0
    cdef int32_t outcome = WINS, one
    if sides == NULL:
        return TIED
    own = sides.each + sides.n_demands
    for number in range(sides.n_demands):
        demand = &sides.demands[number]
        total = demand.constant
        for tree in range(sides.n_trees):
            # The constant has what trees with one leaf add.
            if own[tree] != 0:
                total += demand.value[chosen[tree]]
        if sides.is_linked != 0:
            low, high = high, total
            continue
        if total >= demand.certain:
            continue
        if total < demand.possible:
            return LOSES
        _stand(sides, chosen, demand.person)
        one = decide_exactly(&demand.contest, sides.stands, own + sides.n_trees)
        if one == LOSES:
            return LOSES
        if one == TIED:
            outcome = TIED
    if sides.is_linked == 0:
        return outcome
    if gap_at(sides, -low, high) < sides.gap:
        return LOSES
    total = sides.steps.least[_step_of(&sides.steps, high)]
    total -= sides.steps.most[_step_of(&sides.steps, -low)]
    return WINS if total >= sides.sure else TIED


# ---- Local search.

cdef int64_t _worth(const Sides* sides, const int64_t* totals) noexcept nogil:
    """Tell how near to a win the sums are; at least 0 for a likely win.

    Mostly the worst counts. A little of the others breaks ties.
    """
    cdef int64_t number, slack, least = FAR, rest = 0
    cdef const Demand* demand
    if sides.is_linked != 0:
        # Steps are flat where probabilities are near 0 or 1: there scores count, which
        # stay within 54 bits.
        return 256 * (gap_at(sides, -totals[0], totals[1]) - sides.gap) + (
            128 + (totals[0] + totals[1] >> 48)
        )
    for number in range(sides.n_demands):
        demand = &sides.demands[number]
        slack = totals[number] - demand.possible
        least = min(least, slack)
        rest += slack >> 2 if slack < 0 else slack >> 5
    return least if least >= 0 else least + rest // sides.n_demands


cdef int64_t climb_on(
    const Sides* sides,
    const Problem* problem,
    const Target* target,
    Point* point,
    int64_t* gains,
    int64_t* totals,
    int64_t sweeps,
) noexcept nogil:
    """Move the point, one variable at a time, to where both people have most.

    `gains` has room for each demand and block of a domain, and one block more;
    `totals` for each demand three times. Returns what the point is worth.
    """
    cdef const uint64_t* masks = problem.masks
    cdef const Leaf* leaf
    cdef int64_t n_demands = sides.n_demands, n_blocks, width, number, place, entry
    cdef int64_t domain, member, now, best, top, here, _sweep, offset
    cdef int64_t first, last, amount
    cdef int64_t* rest = totals + n_demands
    cdef int64_t* tried = rest + n_demands
    cdef uint64_t word
    cdef int32_t before, after
    cdef bint holds, improved, is_end
    evaluate(problem, target, point)
    for number in range(n_demands):
        totals[number] = sides.demands[number].constant
    for place in range(problem.n_active_leaves):
        if problem.leaves[problem.active[place]].broken == 0:
            for number in range(n_demands):
                totals[number] += sides.demands[number].value[problem.active[place]]
    top = _worth(sides, totals)
    for _sweep in range(sweeps):
        improved = False
        for domain in range(problem.n_domains):
            if point.start[domain] == point.start[domain + 1]:
                continue
            n_blocks, now = problem.domains[domain].n_blocks, point.block[domain]
            width = n_blocks + 1
            for place in range(n_demands * width):
                gains[place] = 0
            for number in range(n_demands):
                rest[number] = totals[number]
            for entry in range(point.start[domain], point.start[domain + 1]):
                place = point.entries[entry].place
                leaf = &problem.leaves[point.entries[entry].leaf]
                holds = has(masks, place, now)
                if leaf.broken != (0 if holds else 1):
                    continue
                for number in range(n_demands):
                    amount = sides.demands[number].value[point.entries[entry].leaf]
                    if holds:
                        rest[number] -= amount
                    if amount == 0:
                        continue
                    for offset in range(problem.domains[domain].width):
                        word = masks[place + offset]
                        while word != 0:
                            # As in `ascend`: each run adds where it begins.
                            first = 64 * offset + lowest(word)
                            gains[number * width + first] += amount
                            word += word & (~word + 1)
                            is_end = word == 0
                            last = 64 * offset + (64 if is_end else lowest(word))
                            gains[number * width + last] -= amount
                            word &= word - 1
            best = now
            for member in range(n_blocks):
                for number in range(n_demands):
                    place = number * width + member
                    if member > 0:
                        gains[place] += gains[place - 1]
                    tried[number] = rest[number] + gains[place]
                here = _worth(sides, tried)
                if here > top:
                    best, top = member, here
            if best == now:
                continue
            for entry in range(point.start[domain], point.start[domain + 1]):
                place = point.entries[entry].place
                before, after = has(masks, place, now), has(masks, place, best)
                problem.leaves[point.entries[entry].leaf].broken += before - after
            point.block[domain] = best
            for number in range(n_demands):
                totals[number] = rest[number] + gains[number * width + best]
            improved = True
        if not improved:
            break
    return top
