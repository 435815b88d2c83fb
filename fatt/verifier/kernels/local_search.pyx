"""Local search: change one variable at a time, to the block that helps most.

Coordinate ascent. For one variable, the trees that change their leaf are found through
the constraints on it: a leaf counts for a block if its other constraints hold. So all
blocks of a variable are weighed in one pass over its constraints.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena, filled, integers, more, take
from fatt.verifier.kernels.records cimport (
    Budget,
    Constraint,
    Domain,
    Entry,
    Leaf,
    Point,
    Problem,
    Search,
    Target,
    absolute,
    has,
    lowest,
)
from fatt.verifier.kernels.spending cimport cost_of


cdef int make_point(Search* search) except -1 nogil:
    """Sort the constraints of the leaves that matter by domain."""
    cdef Arena* arena = search.arena
    cdef const Problem* problem = &search.problem
    cdef Point* point = &search.point
    cdef const Leaf* leaves = problem.leaves
    cdef const Constraint* constraints = problem.constraints
    cdef int64_t n_domains = problem.n_domains, most = 1
    cdef int64_t* start = filled(arena, n_domains + 1, 0)
    cdef int64_t* free
    cdef Entry* entries
    cdef int64_t place, leaf, constraint, domain
    for place in range(problem.n_active_leaves):
        leaf = problem.active[place]
        for constraint in range(leaves[leaf].start, leaves[leaf + 1].start):
            start[constraints[constraint].domain + 1] += 1
    for domain in range(n_domains):
        start[domain + 1] += start[domain]
        most = max(most, problem.domains[domain].n_blocks)
    free = <int64_t*>more(arena, start, n_domains, n_domains, sizeof(int64_t))
    entries = <Entry*>take(arena, start[n_domains], sizeof(Entry))
    for place in range(problem.n_active_leaves):
        leaf = problem.active[place]
        for constraint in range(leaves[leaf].start, leaves[leaf + 1].start):
            domain = constraints[constraint].domain
            entries[free[domain]].place = constraints[constraint].place
            entries[free[domain]].leaf = leaf
            free[domain] += 1
    point.start, point.entries = start, entries
    point.block, point.gain = integers(arena, n_domains), filled(arena, most + 1, 0)
    point.margin = 0
    return 0


cdef void evaluate(
    const Problem* problem, const Target* target, Point* point
) noexcept nogil:
    """Count the broken constraints at the point, and add up its margin."""
    cdef Leaf* leaves = problem.leaves
    cdef const Constraint* constraint
    cdef int64_t place, leaf, number, total = target.constant
    cdef int32_t broken
    for place in range(problem.n_active_leaves):
        leaf = problem.active[place]
        broken = 0
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            constraint = &problem.constraints[number]
            if not has(problem.masks, constraint.place, point.block[constraint.domain]):
                broken += 1
        leaves[leaf].broken = broken
        if broken == 0:
            total += leaves[leaf].value
    point.margin = total


cdef int64_t _weigh(
    const Problem* problem, const Point* point, int64_t domain
) noexcept nogil:
    """Fill `gain` with what each block of a domain adds; return the rest.

    Sets are mostly runs of blocks: each adds its value where it begins, and takes it
    back behind its end; then all is added up.
    """
    cdef const uint64_t* masks = problem.masks
    cdef const Leaf* leaf
    cdef int64_t* gain = point.gain
    cdef int64_t width = problem.domains[domain].width, now = point.block[domain]
    cdef int64_t n_blocks = problem.domains[domain].n_blocks
    cdef int64_t entry, place, member, offset, rest = point.margin
    cdef uint64_t word
    cdef bint holds
    for member in range(n_blocks + 1):
        gain[member] = 0
    for entry in range(point.start[domain], point.start[domain + 1]):
        place = point.entries[entry].place
        leaf = &problem.leaves[point.entries[entry].leaf]
        holds = has(masks, place, now)
        if leaf.broken != (0 if holds else 1):
            continue
        if holds:
            rest -= leaf.value
        for offset in range(width):
            word = masks[place + offset]
            while word != 0:
                # Adding the lowest bit carries through the lowest run, to behind it.
                gain[64 * offset + lowest(word)] += leaf.value
                word += word & (~word + 1)
                if word == 0:
                    gain[64 * (offset + 1)] -= leaf.value
                    break
                gain[64 * offset + lowest(word)] -= leaf.value
                word &= word - 1
    for member in range(1, n_blocks):
        gain[member] += gain[member - 1]
    return rest


cdef void _move(
    const Problem* problem, Point* point, int64_t domain, int64_t member, int64_t total
) noexcept nogil:
    cdef const uint64_t* masks = problem.masks
    cdef int64_t entry, place, now = point.block[domain]
    cdef int32_t before, after
    for entry in range(point.start[domain], point.start[domain + 1]):
        place = point.entries[entry].place
        before, after = has(masks, place, now), has(masks, place, member)
        problem.leaves[point.entries[entry].leaf].broken += before - after
    point.block[domain] = member
    point.margin = total


cdef void ascend(const Problem* problem, Point* point, int64_t sweeps) noexcept nogil:
    """Move the point until no single variable makes the margin larger.

    After so many sweeps over the variables it stays where it is.
    """
    cdef const int64_t* gain = point.gain
    cdef int64_t _sweep, domain, rest, best, member
    cdef bint improved
    for _sweep in range(sweeps):
        improved = False
        for domain in range(problem.n_domains):
            if point.start[domain] == point.start[domain + 1]:
                continue
            rest = _weigh(problem, point, domain)
            best = point.block[domain]
            for member in range(problem.domains[domain].n_blocks):
                if gain[member] > gain[best]:
                    best = member
            if rest + gain[best] > point.margin:
                _move(problem, point, domain, best, rest + gain[best])
                improved = True
        if not improved:
            return


# ---- Within a budget.

# A move of one variable; the margin and the cost of the point behind it.
cdef struct Step:
    int64_t domain
    int64_t member
    int64_t margin
    int64_t cost


cdef Step _best_step(
    const Problem* problem,
    const Point* point,
    int64_t cost,
    int64_t excluded,
    int64_t price,
) noexcept nogil:
    """Return the move that can be paid and gains most, at a price of a step of cost.

    Its domain is -1 if none gains anything; `excluded` is a domain that stays.
    """
    cdef const Budget* budget = problem.budget
    cdef const int64_t* gain = point.gain
    cdef const int64_t* each
    cdef int64_t domain, rest, member, now, others, value, highest = 0
    cdef Step best
    best.domain = best.member = -1
    best.margin, best.cost = point.margin, cost
    for domain in range(problem.n_domains):
        if point.start[domain] == point.start[domain + 1] or domain == excluded:
            continue
        each = budget.block + problem.domains[domain].block_start
        now = each[point.block[domain]]
        others = cost - now
        rest = _weigh(problem, point, domain)
        for member in range(problem.domains[domain].n_blocks):
            if others + each[member] > budget.most:
                continue
            value = (each[member] >> budget.shift) - (now >> budget.shift)
            value = rest + gain[member] - point.margin - price * value
            if value > highest:
                highest = value
                best.domain, best.member = domain, member
                best.margin, best.cost = rest + gain[member], others + each[member]
    return best


cdef bint _swap(
    const Problem* problem, Point* point, int64_t domain, int64_t* cost
) noexcept nogil:
    """Take a variable back to where it is free and move another; tell if that gains.

    If not, the point stands where it did.
    """
    cdef int64_t start = problem.domains[domain].block_start
    cdef const int64_t* each = problem.budget.block + start
    cdef int64_t old = point.block[domain], old_margin = point.margin
    cdef int64_t free = -1, member, rest
    cdef Step step
    if each[old] == 0:
        return False
    rest = _weigh(problem, point, domain)
    for member in range(problem.domains[domain].n_blocks):
        if each[member] == 0 and (free < 0 or point.gain[member] > point.gain[free]):
            free = member
    if free < 0:
        return False
    _move(problem, point, domain, free, rest + point.gain[free])
    step = _best_step(problem, point, cost[0] - each[old], domain, 0)
    if step.domain >= 0 and step.margin > old_margin:
        _move(problem, point, step.domain, step.member, step.margin)
        cost[0] = step.cost
        return True
    _move(problem, point, domain, old, old_margin)
    return False


cdef void ascend_within(
    const Problem* problem, Point* point, int64_t sweeps
) noexcept nogil:
    """Move the point within its budget until no move, and no swap of two, gains.

    It must be within the budget. First a move must be worth its price, then any gain
    will do.
    """
    cdef int64_t cost = cost_of(problem, point.block)
    cdef int64_t price = problem.budget.price, _sweep, domain
    cdef Step step
    for _sweep in range(4 * sweeps):
        step = _best_step(problem, point, cost, -1, price)
        if step.domain >= 0:
            _move(problem, point, step.domain, step.member, step.margin)
            cost = step.cost
            continue
        if price != 0:
            price = 0
            continue
        domain = 0
        while domain < problem.n_domains and not _swap(problem, point, domain, &cost):
            domain += 1
        if domain == problem.n_domains:
            return


cdef int64_t _cheapest(
    const Domain* domain,
    const int64_t* gain,
    const int64_t* each,
    int64_t least,
    int64_t most,
) noexcept nogil:
    """Return the block that gains `least` and costs least, the nearest of several.

    It costs at most `most`; -1 if there is none.
    """
    cdef int64_t member, best = -1
    for member in range(domain.n_blocks):
        if gain[member] < least or each[member] > most:
            continue
        if (
            best < 0
            or each[member] < each[best]
            or (
                each[member] == each[best]
                and absolute(member - domain.own) < absolute(best - domain.own)
            )
        ):
            best = member
    return best


# ---- Near the person.

cdef int64_t _nearest(
    const Domain* domain, const int64_t* gain, int64_t least
) noexcept nogil:
    """Return the block nearest to the person's that gains `least`; -1 if none does."""
    cdef int64_t distance, beyond
    for distance in range(domain.n_blocks):
        if domain.own >= distance and gain[domain.own - distance] >= least:
            return domain.own - distance
        beyond = domain.own + distance
        if beyond < domain.n_blocks and gain[beyond] >= least:
            return beyond
    return -1


cdef void start_at_person(
    const Problem* problem, const Target* target, Point* point
) noexcept nogil:
    """Put the point where the person is."""
    cdef int64_t domain
    for domain in range(problem.n_domains):
        point.block[domain] = problem.domains[domain].own
    evaluate(problem, target, point)


cdef bint move_once(
    const Problem* problem, const Target* target, Point* point
) noexcept nogil:
    """Look for a single change of the person that certainly wins."""
    cdef const Budget* budget = problem.budget
    cdef const Domain* mine
    cdef int64_t domain, rest, least, member
    for domain in range(problem.n_domains):
        if point.start[domain] == point.start[domain + 1]:
            continue
        mine = &problem.domains[domain]
        rest = _weigh(problem, point, domain)
        least = target.certain - rest
        if budget == NULL:
            member = _nearest(mine, point.gain, least)
        else:
            member = _cheapest(
                mine, point.gain, budget.block + mine.block_start, least, budget.most
            )
        if member >= 0:
            _move(problem, point, domain, member, rest + point.gain[member])
            return True
    return False


cdef void pull_back(const Problem* problem, Point* point, int64_t least) noexcept nogil:
    """Bring the point back to the person, as far as the margin stays at `least`.

    With a budget nothing may cost more than before.
    """
    cdef const Budget* budget = problem.budget
    cdef const int64_t* each
    cdef const Domain* mine
    cdef int64_t domain, own, now, rest, member
    cdef bint moved = True, is_cheaper
    while moved:
        moved = False
        for domain in range(problem.n_domains):
            mine = &problem.domains[domain]
            own, now = mine.own, point.block[domain]
            if now == own:
                continue
            rest = _weigh(problem, point, domain)
            if budget == NULL:
                member = _nearest(mine, point.gain, least - rest)
                is_cheaper = False
            else:
                each = budget.block + mine.block_start
                member = _cheapest(mine, point.gain, each, least - rest, each[now])
                is_cheaper = member >= 0 and each[member] < each[now]
            if is_cheaper or (
                member >= 0 and absolute(member - own) < absolute(now - own)
            ):
                _move(problem, point, domain, member, rest + point.gain[member])
                moved = True


cdef void leaves_at(
    const Problem* problem, const int64_t* block, int64_t* chosen
) noexcept nogil:
    """Note for each tree the reached leaf in which a point is."""
    cdef const Leaf* leaves = problem.leaves
    cdef const Constraint* constraint
    cdef int64_t tree, leaf, number
    for tree in range(problem.n_trees):
        leaf = problem.tree_start[tree]
        number = leaves[leaf].start
        while number < leaves[leaf + 1].start:
            constraint = &problem.constraints[number]
            if has(problem.masks, constraint.place, block[constraint.domain]):
                number += 1
            else:
                leaf += 1
                number = leaves[leaf].start
        chosen[tree] = leaf
