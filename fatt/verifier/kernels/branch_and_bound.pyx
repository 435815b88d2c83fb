"""Branch and bound: part the box until every part is closed or holds a win.

Each part of the box is propagated, and then cut in two where that costs both sides
most. For each block of a domain, a tree's best leaf that allows the block says what the
tree loses there. Added up over the trees, this also tells which blocks cannot win.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena, filled, integers, more, take, words
from fatt.verifier.kernels.dual_ascent cimport Ascent, ascend_dual, make_multipliers
from fatt.verifier.kernels.local_search cimport (
    ascend,
    ascend_within,
    evaluate,
    leaves_at,
)
from fatt.verifier.kernels.propagation cimport propagate
from fatt.verifier.kernels.records cimport (
    ALL,
    CLOSED,
    FAR,
    FOUND,
    LEAST,
    MOST,
    NOW,
    STOP,
    STOPPED,
    TIED,
    WINS,
    Budget,
    Constraint,
    Domain,
    Frontier,
    Leaf,
    Limits,
    Loss,
    Multipliers,
    Part,
    Point,
    Problem,
    Search,
    Tally,
    Target,
    add,
    add_range,
    bit_of,
    copy_integers,
    copy_words,
    first_from,
    has,
    lowest,
    remove,
    within,
)
from fatt.verifier.kernels.sides cimport narrow
from fatt.verifier.kernels.spending cimport Quote, cost_of, quote, steps_over

cdef enum:
    # With a budget local search starts from what the multipliers would buy: at each of
    # so many nodes of dual ascent, then at every so many.
    BOUGHT_UNTIL = 64
    BOUGHT_EVERY = 8


# ---- Where to branch.

# Blocks of a domain in the box for which a tree has the same best leaf: all from
# `first` to `last`. `best` is the value of that leaf.
cdef struct Run:
    int64_t first
    int64_t last
    int64_t best


cdef uint64_t _mask_of(
    const Problem* problem, int64_t leaf, int64_t number, int64_t offset
) noexcept nogil:
    """Return the blocks of a domain that a leaf allows, one word of them."""
    cdef const Constraint* constraint
    cdef int64_t place
    for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
        constraint = &problem.constraints[place]
        if constraint.domain == number:
            return problem.masks[constraint.place + offset]
    return ~<uint64_t>0


cdef int64_t _find_runs(
    const Problem* problem,
    const int64_t* alive,
    int64_t count,
    int64_t number,
    const uint64_t* box,
    Run* runs,
) noexcept nogil:
    """Part the blocks of a domain in the box by a tree's best leaf; count the runs.

    They come in order. Where no leaf allows a block, the best is `LEAST`.
    """
    cdef const Domain* domain = &problem.domains[number]
    # The values by the first block of each run, until all of a word are known.
    cdef int64_t best[64]
    cdef int64_t offset, position, value, n_runs = 0
    cdef uint64_t rest, mine, begins, firsts, lasts
    for offset in range(domain.width):
        rest = box[domain.word_start + offset]
        firsts = lasts = 0
        position = 0
        while rest != 0:
            mine, value = rest, LEAST
            if position < count:
                mine = rest & _mask_of(problem, alive[position], number, offset)
                value = problem.leaves[alive[position]].value
            position += 1
            rest &= ~mine
            begins = mine & ~(mine << 1)
            firsts |= begins
            lasts |= mine & ~(mine >> 1)
            while begins != 0:
                best[lowest(begins)] = value
                begins &= begins - 1
        while firsts != 0:
            runs[n_runs].first = 64 * offset + lowest(firsts)
            runs[n_runs].last = 64 * offset + lowest(lasts)
            runs[n_runs].best = best[lowest(firsts)]
            n_runs += 1
            firsts &= firsts - 1
            lasts &= lasts - 1
    return n_runs


cdef inline int64_t _loss(int64_t top, int64_t value, int64_t huge) noexcept nogil:
    return huge if value == LEAST else top - value


cdef void _add_losses(
    Loss* losses, const Run* runs, int64_t n_runs, int64_t top, int64_t huge
) noexcept nogil:
    """Add what one tree loses in one domain, at the blocks where that changes.

    `top` is the value of the tree's best leaf, which allows some of the blocks.
    """
    cdef int64_t highest = LEAST, behind = LEAST, second = LEAST
    cdef int64_t at = 0, up_to = 0, beyond = huge, loss, place, n_top = 0, alone = 0
    cdef const Run* run
    for place in range(n_runs):
        run = &runs[place]
        highest = max(highest, run.best)
        loss = _loss(top, run.best, huge)
        losses[run.first].at += loss - at
        at = loss
        loss = _loss(top, highest, huge)
        losses[run.first].up_to += loss - up_to
        up_to = loss
        if run.best == top:
            n_top += 1 + (run.last - run.first)
            alone = run.first
        else:
            second = max(second, run.best)
    for place in range(n_runs - 1, -1, -1):
        run = &runs[place]
        behind = max(behind, run.best)
        loss = _loss(top, behind, huge)
        losses[run.last].beyond += beyond - loss
        beyond = loss
    if n_top == 1:
        # The best leaf has this block alone: all others cost the tree something.
        losses[alone].without += _loss(top, second, huge)


cdef void _sum_up(const Problem* problem, Loss* losses) noexcept nogil:
    """Add up changes from block to block."""
    cdef Loss* loss
    cdef int64_t number, member
    for number in range(problem.n_domains):
        loss = &losses[problem.domains[number].block_start]
        for member in range(1, problem.domains[number].n_blocks):
            loss[member].at += loss[member - 1].at
            loss[member].up_to += loss[member - 1].up_to
            loss[member].beyond += loss[member - 1].beyond


cdef void _fill_losses(
    const Problem* problem, const Part* part, Loss* losses, Run* runs, int64_t huge
) noexcept nogil:
    """Add up what all trees lose, for every block in the box.

    Each living leaf has a point in the box. `runs` is scratch, one entry per block.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef const Domain* domain
    cdef int64_t member, tree, first, count, leaf, constraint, number, n_runs
    for member in range(problem.n_blocks):
        losses[member].at = losses[member].up_to = 0
        losses[member].beyond = losses[member].without = 0
    for tree in range(part.n_trees):
        first = part.start[tree]
        count = part.start[tree + 1] - first
        if count == 1:
            continue
        leaf = part.alive[first]
        # A domain costs this tree nothing if its best leaf does not ask for it, or
        # allows all of it that is in the box.
        for constraint in range(leaves[leaf].start, leaves[leaf + 1].start):
            number = problem.constraints[constraint].domain
            domain = &problem.domains[number]
            if within(
                part.box,
                domain.word_start,
                problem.masks,
                problem.constraints[constraint].place,
                domain.width,
            ):
                continue
            n_runs = _find_runs(
                problem, part.alive + first, count, number, part.box, runs
            )
            _add_losses(
                losses + domain.block_start, runs, n_runs, leaves[leaf].value, huge
            )
    _sum_up(problem, losses)


cdef bint _drop_blocks(
    const Problem* problem,
    const Loss* losses,
    uint64_t* box,
    int64_t slack,
    uint64_t* changed,
) noexcept nogil:
    """Remove blocks that lose more than `slack`; False if a domain has none left.

    `changed` receives the domains that became smaller.
    """
    cdef const Domain* domain
    cdef int64_t number, left, member
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        left = 0
        member = first_from(box, domain.word_start, domain.width, 0)
        while member >= 0:
            if losses[domain.block_start + member].at > slack:
                remove(box, domain.word_start, member)
                changed[0] |= bit_of(number)
            else:
                left += 1
            member = first_from(box, domain.word_start, domain.width, member + 1)
        if left == 0:
            return False
    return True


cdef inline double _score(int64_t one, int64_t other, double most) noexcept nogil:
    # A loss beyond the slack closes the side at once; more than that is worth nothing.
    return (min(<double>one, most) + 1.0) * (min(<double>other, most) + 1.0)


cdef void _add_prices(
    const Problem* problem, const uint64_t* box, Loss* losses
) noexcept nogil:
    """Add what each side of a cut takes from the budget, at the last price."""
    cdef const Budget* budget = problem.budget
    cdef const Domain* domain
    cdef Loss* loss
    cdef int64_t number, member, paid, price = budget.price
    cdef int64_t least, second, behind
    if price == 0:
        return
    for number in range(problem.n_domains):
        if budget.dearest[number] == 0:
            continue
        domain = &problem.domains[number]
        loss = losses + domain.block_start
        least = second = MOST
        member = first_from(box, domain.word_start, domain.width, 0)
        while member >= 0:
            paid = price * steps_over(problem, number, member)
            if paid < least:
                least, second = paid, least
            elif paid < second:
                second = paid
            loss[member].up_to += least
            loss[member].at += paid
            member = first_from(box, domain.word_start, domain.width, member + 1)
        behind = MOST
        for member in range(domain.n_blocks - 1, -1, -1):
            if not has(box, domain.word_start, member):
                continue
            if behind != MOST:
                loss[member].beyond += behind
            paid = price * steps_over(problem, number, member)
            behind = min(behind, paid)
            # Only without the cheapest block something else must be paid.
            if paid == 0 and second != MOST:
                loss[member].without += second


cdef int64_t _choose(
    const Problem* problem,
    const Loss* losses,
    const uint64_t* box,
    int64_t slack,
    uint64_t* side,
) noexcept nogil:
    """Choose a domain and the blocks of the side to look at first.

    Returns the domain, or -1 if no cut costs anything; `side` receives the set.
    """
    cdef const Domain* domain
    cdef const Loss* loss
    cdef int64_t chosen = -1, taken = 0
    cdef int64_t number, at, width, member, following, one, other, offset
    cdef bint is_single = False, inside
    cdef double highest = 1.0, most = <double>slack + 1.0, score
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        at, width = domain.word_start, domain.width
        member = first_from(box, at, width, 0)
        following = first_from(box, at, width, member + 1)
        if following < 0:
            continue
        while member >= 0:
            loss = &losses[domain.block_start + member]
            if following >= 0:
                score = _score(loss.up_to, loss.beyond, most)
                if score > highest:
                    chosen, taken, is_single, highest = number, member, False, score
            if domain.is_ordered == 0:
                score = _score(loss.at, loss.without, most)
                if score > highest:
                    chosen, taken, is_single, highest = number, member, True, score
            member = following
            if member >= 0:
                following = first_from(box, at, width, member + 1)
    if chosen < 0:
        return -1
    domain = &problem.domains[chosen]
    loss = &losses[domain.block_start + taken]
    one = loss.at if is_single else loss.up_to
    other = loss.without if is_single else loss.beyond
    for offset in range(domain.width):
        side[offset] = 0
    member = first_from(box, domain.word_start, domain.width, 0)
    while member >= 0:
        inside = member == taken if is_single else member <= taken
        if inside == (one <= other):
            add(side, 0, member)
        member = first_from(box, domain.word_start, domain.width, member + 1)
    return chosen


cdef int64_t _choose_any(
    const Problem* problem, const Part* part, uint64_t* side
) noexcept nogil:
    """Choose a cut that parts the leaves of some tree; -1 if there is none."""
    cdef const Leaf* leaves = problem.leaves
    cdef const Constraint* constraint
    cdef const Domain* domain
    cdef int64_t tree, leaf, number, offset
    cdef uint64_t here
    cdef bint differs
    for tree in range(part.n_trees):
        if part.start[tree + 1] - part.start[tree] == 1:
            continue
        leaf = part.alive[part.start[tree]]
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            constraint = &problem.constraints[number]
            domain = &problem.domains[constraint.domain]
            differs = False
            for offset in range(domain.width):
                here = part.box[domain.word_start + offset]
                side[offset] = here & problem.masks[constraint.place + offset]
                differs = differs or side[offset] != here
            if differs:
                return constraint.domain
    return -1


# ---- Points that may win.

cdef bint _wins(Search* search) noexcept nogil:
    """Tell whether the point wins.

    A point at which this cannot be said is kept among the ties if there is room.
    """
    cdef const Problem* problem = &search.problem
    cdef const Target* target = &search.target
    cdef const Point* point = &search.point
    cdef int32_t outcome
    if point.margin >= target.certain:
        return True
    if point.margin < target.possible:
        return False
    leaves_at(problem, point.block, search.chosen)
    outcome = target.decide(target.asked, problem.leaves, search.chosen)
    if outcome == TIED:
        if search.n_ties < search.limits.ties:
            copy_integers(
                point.block,
                search.tied + search.n_ties * search.most_domains,
                problem.n_domains,
            )
        search.n_ties += 1
    return outcome == WINS


cdef void _start_where_least_is_lost(
    const Problem* problem, const Loss* losses, const uint64_t* box, int64_t* block
) noexcept nogil:
    """Put each variable into the block that, alone, costs least."""
    cdef const Domain* domain
    cdef const Loss* mine
    cdef int64_t number, best, member
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        mine = losses + domain.block_start
        best = member = first_from(box, domain.word_start, domain.width, 0)
        while member >= 0:
            if mine[member].at < mine[best].at:
                best = member
            member = first_from(box, domain.word_start, domain.width, member + 1)
        block[number] = best


cdef bint _meet_tops(
    const Problem* problem, const Part* part, uint64_t* meet
) noexcept nogil:
    """Intersect the box with the best leaf of each tree; tell if something is left."""
    cdef const Leaf* leaves = problem.leaves
    cdef const Constraint* constraint
    cdef const Domain* domain
    cdef int64_t tree, leaf, number, offset
    cdef uint64_t some
    copy_words(part.box, meet, problem.n_words)
    for tree in range(part.n_trees):
        leaf = part.alive[part.start[tree]]
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            constraint = &problem.constraints[number]
            domain = &problem.domains[constraint.domain]
            some = 0
            for offset in range(domain.width):
                meet[domain.word_start + offset] &= problem.masks[
                    constraint.place + offset
                ]
                some |= meet[domain.word_start + offset]
            if some == 0:
                return False
    return True


cdef void _stand_near(
    const Problem* problem, const uint64_t* box, int64_t* block
) noexcept nogil:
    """Put each variable into the block of a box that is nearest to the person's."""
    cdef const Domain* domain
    cdef int64_t number, distance, below, above
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        for distance in range(domain.n_blocks):
            below, above = domain.own - distance, domain.own + distance
            if below >= 0 and has(box, domain.word_start, below):
                block[number] = below
                break
            if above < domain.n_blocks and has(box, domain.word_start, above):
                block[number] = above
                break


cdef bint _stand_cheap(
    const Problem* problem, const uint64_t* box, int64_t* block
) noexcept nogil:
    """Put each variable into the cheapest block of a box; tell if all can be paid."""
    cdef const Budget* budget = problem.budget
    cdef const Domain* domain
    cdef const int64_t* cost
    cdef int64_t number, member, best, total = 0
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        cost = budget.block + domain.block_start
        best = member = first_from(box, domain.word_start, domain.width, 0)
        if member < 0:
            # Dual ascent may drop the last block of a domain.
            return False
        if has(box, domain.word_start, domain.own):
            best = domain.own
        while member >= 0 and cost[best] > 0:
            if cost[member] < cost[best]:
                best = member
            member = first_from(box, domain.word_start, domain.width, member + 1)
        block[number] = best
        total += cost[best]
    return total <= budget.most


cdef bint _stand_bought(
    const Problem* problem,
    const Multipliers* multipliers,
    const uint64_t* box,
    int64_t* block,
) noexcept nogil:
    """Spend the budget on what the multipliers say is worth most, step by step.

    Returns whether the point can be paid: the box may have shrunk since `spend` saw it.
    """
    cdef const Budget* budget = problem.budget
    cdef const Domain* domain
    cdef const int64_t* cost
    cdef const int64_t* paid
    cdef int64_t place, number, member, now, left, value, highest, chosen, bought
    if not _stand_cheap(problem, box, block):
        return False
    left = budget.most - cost_of(problem, block)
    while True:
        chosen, bought, highest = -1, -1, 0
        for place in range(multipliers.n_priced):
            number = multipliers.priced[place]
            domain = &problem.domains[number]
            cost = budget.block + domain.block_start
            paid = multipliers.paid + domain.block_start
            now = block[number]
            member = first_from(box, domain.word_start, domain.width, 0)
            while member >= 0:
                value = (cost[member] >> budget.shift) - (cost[now] >> budget.shift)
                value = paid[member] - paid[now] - multipliers.price * value
                if value > highest and 0 < cost[member] - cost[now] <= left:
                    chosen, bought, highest = number, member, value
                member = first_from(box, domain.word_start, domain.width, member + 1)
        if chosen < 0:
            return True
        cost = budget.block + problem.domains[chosen].block_start
        left -= cost[bought] - cost[block[chosen]]
        block[chosen] = bought


cdef bint _stand_in(
    const Problem* problem, const uint64_t* box, int64_t* block
) noexcept nogil:
    """Put each variable into a block of a box, near the person; tell if that is paid.

    If not, no point of the box can be paid.
    """
    if problem.budget != NULL:
        return _stand_cheap(problem, box, block)
    _stand_near(problem, box, block)
    return True


cdef bint _restart(
    Search* search, const Loss* losses, const uint64_t* box
) noexcept nogil:
    """Start a local search anew; tell whether it wins.

    It starts where least is lost; with a budget, at what costs least.
    """
    cdef const Problem* problem = &search.problem
    cdef Point* point = &search.point
    if problem.budget == NULL:
        _start_where_least_is_lost(problem, losses, box, point.block)
        evaluate(problem, &search.target, point)
        ascend(problem, point, search.limits.local_sweeps)
    elif _stand_cheap(problem, box, point.block):
        evaluate(problem, &search.target, point)
        ascend_within(problem, point, search.limits.local_sweeps)
    else:
        return False
    return _wins(search)


# ---- The search.

# One row per open cut: the box, where the trees' leaves begin, and the side of the cut
# that is looked at first; then the domain of the cut, -1 once both sides were seen, and
# the bound there. Behind a row's leaves stand those of the next row.
cdef struct Rows:
    uint64_t* boxes
    int64_t* starts
    uint64_t* sides
    int64_t* cut
    int64_t* bounds
    int64_t* alive
    int64_t n_rows
    int64_t n_alive
    int64_t n_words
    int64_t n_starts


cdef int _make_rows(Rows* rows, Search* search) except -1 nogil:
    """Take room for a few rows, the first of which is the whole box."""
    cdef Arena* arena = search.arena
    cdef const Problem* problem = &search.problem
    cdef const Domain* domain
    cdef int64_t room = search.limits.room, number
    rows.n_rows, rows.n_words = room, problem.n_words
    rows.n_starts = problem.n_active_trees + 1
    rows.n_alive = max(room >> 2, <int64_t>1) * problem.n_active_leaves + room
    rows.boxes = words(arena, room * rows.n_words)
    rows.starts = filled(arena, room * rows.n_starts, 0)
    rows.sides = words(arena, room * rows.n_words)
    rows.cut = filled(arena, room, -1)
    rows.bounds = filled(arena, room, 0)
    rows.alive = integers(arena, rows.n_alive)
    copy_integers(problem.active, rows.alive, problem.n_active_leaves)
    copy_integers(problem.active_start, rows.starts, rows.n_starts)
    if search.frontier != NULL:
        copy_words(search.frontier.box, rows.boxes, problem.n_words)
        return 0
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        add_range(rows.boxes, domain.word_start, 0, domain.n_blocks - 1)
    return 0


cdef Part _part_of(const Rows* rows, int64_t row) noexcept nogil:
    cdef Part part
    part.box = rows.boxes + row * rows.n_words
    part.alive = rows.alive
    part.start = rows.starts + row * rows.n_starts
    part.n_trees = rows.n_starts - 1
    return part


cdef int _double_rows(Rows* rows, Arena* arena) except -1 nogil:
    cdef int64_t count = rows.n_rows
    cdef int64_t n_words = count * rows.n_words, n_starts = count * rows.n_starts
    rows.boxes = <uint64_t*>more(
        arena, rows.boxes, n_words, 2 * n_words, sizeof(uint64_t)
    )
    rows.sides = <uint64_t*>more(
        arena, rows.sides, n_words, 2 * n_words, sizeof(uint64_t)
    )
    rows.starts = <int64_t*>more(
        arena, rows.starts, n_starts, 2 * n_starts, sizeof(int64_t)
    )
    rows.cut = <int64_t*>more(arena, rows.cut, count, 2 * count, sizeof(int64_t))
    rows.bounds = <int64_t*>more(arena, rows.bounds, count, 2 * count, sizeof(int64_t))
    rows.n_rows *= 2
    return 0


cdef int _cut(
    Rows* rows, int64_t row, const Domain* domain, Search* search
) except -1 nogil:
    """Make the next row: the side of the row's cut that is looked at first."""
    cdef Arena* arena = search.arena
    cdef int64_t n_words = rows.n_words, n_starts = rows.n_starts
    cdef int64_t first, last, size, place, tree, offset
    cdef int64_t* start
    cdef uint64_t* box
    if row + 1 == rows.n_rows:
        search.tally.grew += 1
        _double_rows(rows, arena)
    start = rows.starts + row * n_starts
    first, last = start[0], start[n_starts - 1]
    if 2 * last - first > rows.n_alive:
        size = rows.n_alive
        while 2 * last - first > size:
            size *= 2
        rows.alive = <int64_t*>more(arena, rows.alive, last, size, sizeof(int64_t))
        rows.n_alive = size
    for place in range(first, last):
        rows.alive[place + last - first] = rows.alive[place]
    for tree in range(n_starts):
        start[n_starts + tree] = start[tree] + (last - first)
    box = rows.boxes + (row + 1) * n_words
    copy_words(box - n_words, box, n_words)
    for offset in range(domain.width):
        box[domain.word_start + offset] &= rows.sides[row * n_words + offset]
    rows.cut[row + 1] = -1
    return 0


cdef int64_t _other_side(
    const Problem* problem, Rows* rows, int64_t row, uint64_t* changed
) noexcept nogil:
    """Go on with the other side of the last cut that has one; -1 if none has.

    `changed` receives the domain of the cut.
    """
    cdef const Domain* domain
    cdef int64_t offset
    row -= 1
    while row >= 0 and rows.cut[row] < 0:
        row -= 1
    if row < 0:
        return -1
    domain = &problem.domains[rows.cut[row]]
    for offset in range(domain.width):
        rows.boxes[row * rows.n_words + domain.word_start + offset] &= ~rows.sides[
            row * rows.n_words + offset
        ]
    changed[0] = bit_of(rows.cut[row])
    rows.cut[row] = -1
    return row


cdef int64_t _open_bound(const Rows* rows, int64_t row, int64_t bound) noexcept nogil:
    """Return the largest margin that the parts that are still open may hold."""
    cdef int64_t above
    for above in range(row):
        if rows.cut[above] >= 0:
            bound = max(bound, rows.bounds[above])
    return bound


cdef int _leave_open(
    Search* search, const Rows* rows, int64_t row, int64_t bound
) except -1 nogil:
    """Leave the parts that are still open to a later search, if there will be one."""
    cdef const Problem* problem = &search.problem
    cdef Frontier* frontier = search.frontier
    cdef const Domain* domain
    cdef uint64_t* box
    cdef int64_t above, offset, place
    if frontier == NULL:
        return 0
    frontier.boxes = words(search.arena, (row + 1) * rows.n_words)
    frontier.bounds = integers(search.arena, row + 1)
    copy_words(rows.boxes + row * rows.n_words, frontier.boxes, rows.n_words)
    frontier.bounds[0], frontier.n_open = bound, 1
    for above in range(row):
        if rows.cut[above] < 0:
            continue
        box = frontier.boxes + frontier.n_open * rows.n_words
        copy_words(rows.boxes + above * rows.n_words, box, rows.n_words)
        domain = &problem.domains[rows.cut[above]]
        for offset in range(domain.width):
            place = domain.word_start + offset
            box[place] &= ~rows.sides[above * rows.n_words + offset]
        frontier.bounds[frontier.n_open] = rows.bounds[above]
        frontier.n_open += 1
    return 0


cdef int branch_and_bound(Search* search, Outcome* outcome) except -1 nogil:
    """Search the whole box, or one part of it, for a point that wins.

    In the whole box a local search from where the point stands comes first. If the
    largest margin is asked for, the point stands at the best one afterwards, and the
    outcome tells whether there is a larger margin than that. The target moves on the
    way.

    Every point of the box that wins, or beats the best so far, lies in the row that is
    looked at, in the other side of an open cut, or has been found.
    """
    cdef Arena* arena = search.arena
    cdef const Problem* problem = &search.problem
    cdef Target* target = &search.target
    cdef Point* point = &search.point
    cdef const Limits* limits = &search.limits
    cdef Tally* tally = search.tally
    cdef const volatile int64_t* clock = search.clock
    cdef int64_t n_domains = problem.n_domains, first_node = tally.nodes
    cdef int64_t row = 0, next_restart = limits.restart_at, bound = 0, worth = 0
    cdef int64_t possible, slack, number
    cdef int64_t* counted = filled(arena, n_domains, 0)
    cdef int64_t* best = <int64_t*>more(
        arena, point.block, n_domains, n_domains, sizeof(int64_t)
    )
    cdef uint64_t* joined = words(arena, problem.n_words)
    cdef uint64_t* meet = words(arena, problem.n_words)
    cdef uint64_t* side
    cdef Loss* losses = <Loss*>take(arena, problem.n_blocks, sizeof(Loss))
    cdef Run* runs = <Run*>take(arena, problem.n_blocks, sizeof(Run))
    cdef bint has_multipliers = False, is_closed = False, is_won, is_left
    cdef bint is_paid = problem.budget != NULL
    cdef int64_t dual_after = limits.priced_after if is_paid else limits.dual_after
    # The whole box allows all leaves, and they allow all of it; a budget may not.
    cdef bint is_part = search.frontier != NULL
    cdef uint64_t changed = ALL if is_paid or is_part else 0
    cdef int32_t narrowed
    cdef Quote made
    cdef Ascent reached
    cdef Rows rows
    cdef Part part
    _make_rows(&rows, search)
    is_won = False
    if is_part:
        search.frontier.n_open = 0
    else:
        if is_paid:
            ascend_within(problem, point, limits.local_sweeps)
        else:
            ascend(problem, point, limits.local_sweeps)
        is_won = _wins(search)
    while True:
        if is_won:
            if target.largest == 0:
                _leave_open(search, &rows, row, worth)
                outcome.what, outcome.bound = FOUND, bound
                return 0
            # The best point so far: from now on only larger margins count.
            copy_integers(point.block, best, n_domains)
            target.possible = target.certain = point.margin + target.largest
            is_won = False
        if target.ordered == 0 and search.n_ties > 0:
            # One tie rules out a proof: from now on only certain wins count.
            target.possible = target.certain
        possible = target.possible
        if is_closed:
            row = _other_side(problem, &rows, row, &changed)
            if row < 0:
                copy_integers(best, point.block, n_domains)
                outcome.what, outcome.bound = CLOSED, possible - 1
                return 0
        part = _part_of(&rows, row)
        is_closed = True
        bound = propagate(
            problem, target, &part, changed, counted, joined
        )
        changed = 0
        worth = bound
        if bound < possible:
            continue
        if search.sides != NULL:
            narrowed = narrow(search.sides, &part)
            if narrowed != 0:
                is_closed, changed = narrowed < 0, ALL
                continue
            worth = search.sides.bound
        if _meet_tops(problem, &part, meet) and _stand_in(problem, meet, point.block):
            point.margin = bound
            is_won = _wins(search)
            if is_won:
                # The best leaves of all trees meet: this part holds nothing better.
                evaluate(problem, target, point)
                continue
        if tally.nodes >= limits.nodes or clock[NOW] >= limits.time or clock[STOP] != 0:
            copy_integers(best, point.block, n_domains)
            outcome.what, outcome.bound = STOPPED, _open_bound(&rows, row, worth)
            _leave_open(search, &rows, row, worth)
            return 0
        tally.nodes += 1
        made.bound = bound
        if is_paid and limits.quotes != 0:
            made = quote(problem, target, &part, &changed)
            if made.bound < possible or made.is_empty:
                changed = 0
                continue
            if made.is_smaller:
                is_closed = False
                continue
        # With a band without end there is nothing that multipliers could close.
        if tally.nodes - first_node >= dual_after and possible > -FAR:
            if not has_multipliers:
                make_multipliers(search)
                has_multipliers = True
            tally.dual_ascents += 1
            reached = ascend_dual(
                problem,
                target,
                &search.multipliers,
                &part,
                meet,
                limits,
                made.bound,
            )
            if reached.bound < possible:
                tally.dual_closed += 1
                continue
            if is_paid and (
                tally.nodes - first_node < BOUGHT_UNTIL
                or tally.nodes % BOUGHT_EVERY == 0
            ):
                if _stand_bought(problem, &search.multipliers, part.box, point.block):
                    evaluate(problem, target, point)
                    ascend_within(problem, point, limits.local_sweeps)
                    is_won = _wins(search)
            if reached.dropped:
                is_closed, changed = False, ALL
                continue
            if is_won:
                is_closed = False
                continue
        number = -1
        side = rows.sides + row * rows.n_words
        if limits.score_cuts != 0:
            slack = bound - possible
            _fill_losses(problem, &part, losses, runs, slack + 1)
            is_left = _drop_blocks(problem, losses, part.box, slack, &changed)
            if changed != 0:
                tally.filtered += 1
                is_closed = not is_left
                continue
            if tally.nodes >= next_restart:
                next_restart *= 2
                tally.restarted += 1
                is_won = _restart(search, losses, part.box)
                if is_won:
                    is_closed = False
                    continue
            if is_paid:
                _add_prices(problem, part.box, losses)
            number = _choose(problem, losses, part.box, slack, side)
        if number < 0:
            number = _choose_any(problem, &part, side)
            tally.unscored += number >= 0
        if number < 0:
            continue
        is_closed, changed = False, bit_of(number)
        rows.cut[row], rows.bounds[row] = number, worth
        _cut(&rows, row, &problem.domains[number], search)
        row += 1
