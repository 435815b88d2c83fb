"""Budgets: points cost the sum of their blocks, and may not cost more than the budget.

What cannot be paid is dropped, as propagation drops what cannot win. And prices: what a
tree gains beyond what it has for free must be bought by domains that move. Each leaf's
gain is split among the domains that it needs to move, so that all trees together gain
at most what the moved domains gain (`cover`). That sum is bounded at every price of a
step of cost (a Lagrangian of the budget), and least at the best price: what it gains is
convex in the price, so that bisection finds it.
"""

from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.records cimport (
    FAR,
    LEAST,
    Budget,
    Constraint,
    Domain,
    Leaf,
    Part,
    Problem,
    Target,
    bit_of,
    first_from,
    has,
    remove,
)


cdef int64_t cost_of(const Problem* problem, const int64_t* block) noexcept nogil:
    """Return what a point costs."""
    cdef int64_t number, total = 0
    for number in range(problem.n_domains):
        total += problem.budget.block[
            problem.domains[number].block_start + block[number]
        ]
    return total


# ---- What can be paid.

cdef bint spend(
    const Problem* problem, uint64_t* box, uint64_t* changed
) noexcept nogil:
    """Drop the blocks that cannot be paid; False if the part cannot.

    `changed` receives the domains that became smaller. The budget then knows what each
    domain costs in this part, and what is left.
    """
    cdef Budget* budget = problem.budget
    cdef const Domain* domain
    cdef const int64_t* cost
    cdef int64_t number, member, least, total = 0
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        cost = budget.block + domain.block_start
        least = 0
        if budget.dearest[number] > 0 and not (
            cost[domain.own] == 0 and has(box, domain.word_start, domain.own)
        ):
            least = budget.most + 1
            member = first_from(box, domain.word_start, domain.width, 0)
            while member >= 0 and least > 0:
                least = min(least, cost[member])
                member = first_from(box, domain.word_start, domain.width, member + 1)
        budget.cheapest[number] = least
        total += least
        if total > budget.most:
            return False
    budget.left = budget.most - total
    for number in range(problem.n_domains):
        least = budget.cheapest[number]
        if budget.dearest[number] - least <= budget.left:
            continue
        domain = &problem.domains[number]
        cost = budget.block + domain.block_start
        member = first_from(box, domain.word_start, domain.width, 0)
        while member >= 0:
            if cost[member] - least > budget.left:
                remove(box, domain.word_start, member)
                changed[0] |= bit_of(number)
            member = first_from(box, domain.word_start, domain.width, member + 1)
    return True


cdef inline bint _must_move(
    const Problem* problem, int64_t constraint
) noexcept nogil:
    """Tell whether a constraint asks for more than its domain costs in the part."""
    cdef const Budget* budget = problem.budget
    return (
        budget.asked[constraint]
        > budget.cheapest[problem.constraints[constraint].domain]
    )


cdef bint can_pay(const Problem* problem, int64_t leaf) noexcept nogil:
    """Tell whether a leaf can be paid in the part that was looked at last."""
    cdef const Budget* budget = problem.budget
    cdef int64_t place, total = 0
    if budget.leaf[leaf] <= budget.left:
        return True
    for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
        if _must_move(problem, place):
            total += budget.asked[place]
            total -= budget.cheapest[problem.constraints[place].domain]
    return total <= budget.left


# ---- Prices.

cdef int64_t _worth(
    const Problem* problem,
    const uint64_t* box,
    const int64_t* gain,
    int64_t number,
    int64_t price,
    int64_t* steps,
) noexcept nogil:
    """Return the most that a domain gains at a price, and in how many steps of cost."""
    cdef const Domain* domain = &problem.domains[number]
    cdef const int64_t* mine = gain + domain.block_start
    cdef int64_t best = LEAST, member, value, over
    member = first_from(box, domain.word_start, domain.width, 0)
    while member >= 0:
        over = steps_over(problem, number, member)
        value = mine[member] - price * over
        if value > best or (value == best and over < steps[0]):
            best, steps[0] = value, over
        member = first_from(box, domain.word_start, domain.width, member + 1)
    return best


cdef int64_t _total(
    const Problem* problem,
    const uint64_t* box,
    const int64_t* gain,
    const int64_t* chosen,
    int64_t count,
    int64_t price,
    int64_t* taken,
) noexcept nogil:
    """Return the most that some domains gain at a price, and in how many steps."""
    cdef int64_t place, steps = 0, total = 0
    taken[0] = 0
    for place in range(count):
        total += _worth(problem, box, gain, chosen[place], price, &steps)
        taken[0] += steps
        if total > FAR >> 1:
            return FAR >> 1
    return total


cdef int64_t best_price(
    const Problem* problem,
    const uint64_t* box,
    const int64_t* gain,
    const int64_t* chosen,
    int64_t count,
    int64_t* worth,
) noexcept nogil:
    """Find the price of a step of cost at which some domains gain least together.

    `gain` is what each block gains, in a part that `spend` has looked at. `worth`
    receives the most that they gain, what is left of the budget sold at that price.
    """
    cdef const Budget* budget = problem.budget
    cdef int64_t left = budget.most >> budget.shift
    cdef int64_t low = 0, high, middle, number, taken = 0, total, price = 0
    for number in range(problem.n_domains):
        left -= budget.cheapest[number] >> budget.shift
    total = _total(problem, box, gain, chosen, count, 0, &taken)
    worth[0] = total
    if taken <= left or total >= FAR >> 1:
        return 0
    # At this price nothing that costs is worth it: the best is not beyond.
    high = total // max(left, <int64_t>1) + 1
    middle = high
    while True:
        total = _total(problem, box, gain, chosen, count, middle, &taken)
        total += middle * left
        if total < worth[0]:
            worth[0], price = total, middle
        if taken == left:
            break
        if taken > left:
            low = middle
        else:
            high = middle
        if high - low <= 1:
            break
        middle = low + ((high - low) >> 1)
    return price


cdef int64_t _least_mine(
    const Problem* problem, const uint64_t* box, const Constraint* constraint
) noexcept nogil:
    """Return the least that a constraint's blocks are worth to the tree as yet."""
    cdef const Domain* domain = &problem.domains[constraint.domain]
    cdef const int64_t* mine = problem.budget.mine + domain.block_start
    cdef int64_t least = -1, member
    member = first_from(problem.masks, constraint.place, domain.width, 0)
    while member >= 0:
        if has(box, domain.word_start, member):
            least = mine[member] if least < 0 else min(least, mine[member])
        member = first_from(problem.masks, constraint.place, domain.width, member + 1)
    return max(least, <int64_t>0)


cdef void _split(
    const Problem* problem,
    const uint64_t* box,
    int64_t leaf,
    int64_t rest,
    int64_t count,
) noexcept nogil:
    """Split what a leaf gains evenly among the domains that it must move.

    There are `count` of them, and what they have already counts.
    """
    cdef const Constraint* constraint
    cdef const Domain* domain
    cdef int64_t* mine
    cdef int64_t place, share, least, member, needed = count
    for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
        if needed > 1 and _must_move(problem, place):
            rest -= _least_mine(problem, box, &problem.constraints[place])
    if rest <= 0:
        return
    for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
        if not _must_move(problem, place):
            continue
        constraint = &problem.constraints[place]
        domain = &problem.domains[constraint.domain]
        mine = problem.budget.mine + domain.block_start
        # Rounded up for the first of them.
        share = (rest + needed - 1) // needed
        rest -= share
        needed -= 1
        least = share
        if count > 1:
            least += _least_mine(problem, box, constraint)
        member = first_from(problem.masks, constraint.place, domain.width, 0)
        while member >= 0:
            mine[member] = max(mine[member], least)
            member = first_from(
                problem.masks, constraint.place, domain.width, member + 1
            )


cdef int64_t _n_moved(const Problem* problem, int64_t leaf) noexcept nogil:
    """Return how many domains a leaf must move."""
    cdef int64_t place, needed = 0
    if problem.budget.leaf[leaf] > 0:
        for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
            needed += _must_move(problem, place)
    return needed


cdef int64_t cover(
    const Problem* problem, const Part* part, int64_t tree
) noexcept nogil:
    """Split what a tree's leaves gain among the domains that they need to move.

    Returns what the tree has for free. `mine` of the budget, zero before, receives what
    each block is worth to the tree: no leaf is worth more than all its blocks and that.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef const int64_t* alive = part.alive
    cdef int64_t first = part.start[tree], last = part.start[tree + 1], free = first
    cdef int64_t place, leaf, needed, base, turn
    while free < last and _n_moved(problem, alive[free]) > 0:
        free += 1
    base = leaves[alive[min(free, last - 1)]].value
    # First the leaves that must move one domain, then those that must move several.
    for turn in range(2):
        for place in range(first, free):
            leaf = alive[place]
            if leaves[leaf].value <= base:
                break
            needed = _n_moved(problem, leaf)
            if (needed == 1) == (turn == 0):
                _split(problem, part.box, leaf, leaves[leaf].value - base, needed)
    return base


cdef Quote quote(
    const Problem* problem, const Target* target, const Part* part, uint64_t* changed
) noexcept nogil:
    """Bound the margin in a part by what the budget can buy; drop what it cannot.

    `spend` has looked at the part, and each living leaf has a point in its box.
    `changed` receives the domains that became smaller.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef Budget* budget = problem.budget
    cdef int64_t* gain = budget.gain
    cdef const Domain* domain
    cdef int64_t tree, place, leaf, number, member, base, most, price, kept
    cdef int64_t count = 0, worth = 0, steps = 0
    cdef Quote made
    made.bound, made.is_smaller, made.is_empty = target.constant, False, False
    for member in range(problem.n_blocks):
        gain[member] = 0
    for tree in range(part.n_trees):
        base = cover(problem, part, tree)
        made.bound += base
        for place in range(part.start[tree], part.start[tree + 1]):
            leaf = part.alive[place]
            if leaves[leaf].value <= base:
                break
            for number in range(leaves[leaf].start, leaves[leaf + 1].start):
                if _must_move(problem, number):
                    _move_into(problem, problem.constraints[number].domain, gain)
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        for member in range(domain.block_start, domain.block_start + domain.n_blocks):
            if gain[member] > 0:
                budget.moved[count] = number
                count += 1
                break
    price = best_price(problem, part.box, gain, budget.moved, count, &worth)
    budget.price = price
    made.bound += worth
    if made.bound < target.possible:
        return made
    for number in range(problem.n_domains):
        if budget.dearest[number] == 0:
            continue
        domain = &problem.domains[number]
        most = _worth(problem, part.box, gain, number, price, &steps)
        kept = 0
        member = first_from(part.box, domain.word_start, domain.width, 0)
        while member >= 0:
            worth = gain[domain.block_start + member]
            worth -= price * steps_over(problem, number, member)
            if made.bound - most + worth < target.possible:
                remove(part.box, domain.word_start, member)
                changed[0] |= bit_of(number)
                made.is_smaller = True
            else:
                kept += 1
            member = first_from(part.box, domain.word_start, domain.width, member + 1)
        if kept == 0:
            made.is_empty = True
            return made
    return made


cdef void _move_into(
    const Problem* problem, int64_t number, int64_t* gain
) noexcept nogil:
    """Add what a domain's blocks are worth to a tree, and forget it."""
    cdef const Domain* domain = &problem.domains[number]
    cdef int64_t* mine = problem.budget.mine
    cdef int64_t member
    for member in range(domain.block_start, domain.block_start + domain.n_blocks):
        gain[member] += mine[member]
        mine[member] = 0
