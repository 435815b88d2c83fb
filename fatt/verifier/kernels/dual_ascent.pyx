"""Dual decomposition: tighter bounds, for the few searches that are long.

The sum of the best leaves is a weak bound when every tree prefers another block of a
variable. So each tree may pay the others for a block, and be paid by them: multipliers
per tree, domain and block whose sum over the trees is zero. A point then has the same
margin as before, but a leaf is worth its value plus, for each domain, the best
multiplier among the blocks that it allows. Sweeps over the domains make the trees
agree: each gets the same profile, the average of the max-marginals of all of them
(block coordinate ascent on the dual, as in max-sum diffusion: Werner, A Linear
Programming Approach to Max-sum Problem, 2007; Sontag, Globerson and Jaakkola,
Introduction to Dual Decomposition, 2011). The bound never grows, and since all
multipliers are integers it stays rigorous.

A tree tells only few of a domain's blocks apart: blocks side by side that each of its
leaves allows or rules out together are a run, and leaves are compared run by run.

A budget takes part as a tree does: it pays and is paid for blocks, and is worth what
they gain within the budget, at the best price of a step of cost. It gets a quarter of
what the blocks are worth to all, and the trees share the rest.
"""

from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena, filled, integers, more, take, words
from fatt.verifier.kernels.records cimport (
    FAR,
    NO_MARGIN,
    Budget,
    Domain,
    Edge,
    Leaf,
    Limits,
    Multipliers,
    Part,
    Problem,
    Search,
    Target,
    add,
    bit_of,
    copy_words,
    first_from,
    has,
    largest,
    lowest,
    remove,
)
from fatt.verifier.kernels.spending cimport best_price, cover, steps_over


cdef int make_multipliers(Search* search) except -1 nogil:
    """Take room for multipliers, and let all be zero.

    An edge is a pair of a tree and a domain that some of its leaves constrain. No
    multiplier and no max-marginal goes beyond the limit, so that sums over all trees,
    or over all domains of a tree, fit.
    """
    cdef Arena* arena = search.arena
    cdef const Problem* problem = &search.problem
    cdef Multipliers* multipliers = &search.multipliers
    cdef const Leaf* leaves = problem.leaves
    cdef int64_t n_trees = problem.n_active_trees, n_domains = problem.n_domains
    cdef int64_t* edge_of = filled(arena, problem.n_constraints, -1)
    cdef Edge* edges = <Edge*>take(arena, problem.n_constraints, sizeof(Edge))
    cdef int64_t* tree_start = filled(arena, n_trees + 1, 0)
    cdef int64_t* domain_start = filled(arena, n_domains + 1, 0)
    cdef int64_t* latest = filled(arena, n_domains, -1)
    cdef int64_t* by_domain
    cdef int64_t* free
    cdef int64_t count = 0, size = 0, most = 1, divisor = max(n_trees, n_domains)
    cdef int64_t tree, place, leaf, constraint, domain, edge
    for tree in range(n_trees):
        for place in range(problem.active_start[tree], problem.active_start[tree + 1]):
            leaf = problem.active[place]
            for constraint in range(leaves[leaf].start, leaves[leaf + 1].start):
                domain = problem.constraints[constraint].domain
                if latest[domain] < tree_start[tree]:
                    latest[domain] = count
                    edges[count].tree, edges[count].domain = tree, domain
                    edges[count].place, edges[count].best = size, 0
                    size += problem.domains[domain].n_blocks
                    most = max(most, problem.domains[domain].n_blocks)
                    domain_start[domain + 1] += 1
                    count += 1
                edge_of[constraint] = latest[domain]
        tree_start[tree + 1] = count
    for domain in range(n_domains):
        domain_start[domain + 1] += domain_start[domain]
    free = <int64_t*>more(
        arena, domain_start, n_domains + 1, n_domains + 1, sizeof(int64_t)
    )
    by_domain = integers(arena, count)
    for edge in range(count):
        domain = edges[edge].domain
        by_domain[free[domain]] = edge
        free[domain] += 1
    multipliers.edge_of, multipliers.edges = edge_of, edges
    multipliers.by_domain, multipliers.domain_start = by_domain, domain_start
    multipliers.tree_start = tree_start
    _join_blocks(problem, multipliers, count, size, arena)
    multipliers.multiplier = filled(arena, size, 0)
    multipliers.marginal = filled(arena, size, 0)
    multipliers.part = filled(arena, problem.n_constraints, 0)
    multipliers.value = filled(arena, problem.n_leaves + 1, 0)
    multipliers.shared = filled(arena, most, 0)
    multipliers.limit = (FAR >> 1) // max(divisor, <int64_t>1)
    multipliers.n_priced = multipliers.price = 0
    if problem.budget != NULL:
        multipliers.paid = filled(arena, problem.n_blocks, 0)
        multipliers.priced = integers(arena, n_domains)
        for domain in range(n_domains):
            if (
                problem.budget.dearest[domain] > 0
                and domain_start[domain] < domain_start[domain + 1]
            ):
                multipliers.priced[multipliers.n_priced] = domain
                multipliers.n_priced += 1
    return 0


cdef int _join_blocks(
    const Problem* problem,
    Multipliers* multipliers,
    int64_t n_edges,
    int64_t size,
    Arena* arena,
) except -1 nogil:
    """Find the runs of each edge, and write the constraints as sets of them.

    `size` is how many blocks all edges have together.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef const Domain* domain
    cdef Edge* edge
    cdef int64_t* run_of = filled(arena, size, 0)
    cdef int64_t* runs_at = filled(arena, problem.n_constraints, 0)
    # Where a run begins that is not the first: a word holds 64 blocks.
    cdef int64_t* border_at = integers(arena, n_edges)
    cdef uint64_t* borders
    cdef uint64_t* runs
    cdef int64_t place, leaf, number, member, offset, mine, n_runs = 0, n_words = 0
    cdef uint64_t word, carry
    for number in range(n_edges):
        border_at[number] = n_words
        n_words += problem.domains[multipliers.edges[number].domain].width
    borders = words(arena, n_words)
    for place in range(problem.n_active_leaves):
        leaf = problem.active[place]
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            domain = &problem.domains[problem.constraints[number].domain]
            mine, carry = border_at[multipliers.edge_of[number]], 0
            for offset in range(domain.width):
                word = problem.masks[problem.constraints[number].place + offset]
                borders[mine + offset] |= word ^ ((word << 1) | carry)
                carry = word >> 63
    for number in range(n_edges):
        edge = &multipliers.edges[number]
        edge.first_run, mine = n_runs, 0
        for member in range(problem.domains[edge.domain].n_blocks):
            if member > 0 and has(borders, border_at[number], member):
                mine += 1
            run_of[edge.place + member] = mine
        edge.n_runs = mine + 1
        n_runs += edge.n_runs
    n_words = 0
    for place in range(problem.n_active_leaves):
        leaf = problem.active[place]
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            runs_at[number] = n_words
            n_words += (multipliers.edges[multipliers.edge_of[number]].n_runs + 63) >> 6
    runs = words(arena, n_words)
    for place in range(problem.n_active_leaves):
        leaf = problem.active[place]
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            edge = &multipliers.edges[multipliers.edge_of[number]]
            domain = &problem.domains[edge.domain]
            mine = problem.constraints[number].place
            member = first_from(problem.masks, mine, domain.width, 0)
            while member >= 0:
                add(runs, runs_at[number], run_of[edge.place + member])
                member = first_from(problem.masks, mine, domain.width, member + 1)
    multipliers.run_of, multipliers.runs_at, multipliers.runs = run_of, runs_at, runs
    multipliers.run_best = filled(arena, n_runs, 0)
    multipliers.run_rest = filled(arena, n_runs, 0)
    return 0


cdef int64_t _fill_runs(
    const Problem* problem,
    const Multipliers* multipliers,
    const Part* part,
    const Edge* edge,
) noexcept nogil:
    """Note the best multiplier of each run in the box; return the best of all."""
    cdef const Domain* domain = &problem.domains[edge.domain]
    cdef const int64_t* multiplier = multipliers.multiplier + edge.place
    cdef const int64_t* run_of = multipliers.run_of + edge.place
    cdef int64_t* run_best = multipliers.run_best + edge.first_run
    cdef int64_t best = NO_MARGIN, member
    for member in range(edge.n_runs):
        run_best[member] = NO_MARGIN
    member = first_from(part.box, domain.word_start, domain.width, 0)
    while member >= 0:
        run_best[run_of[member]] = max(run_best[run_of[member]], multiplier[member])
        best = max(best, multiplier[member])
        member = first_from(part.box, domain.word_start, domain.width, member + 1)
    return best


cdef inline int64_t _best(
    const Multipliers* multipliers, const Edge* edge, int64_t constraint
) noexcept nogil:
    """Return the best multiplier among a constraint's blocks that lie in the box."""
    cdef const uint64_t* runs = multipliers.runs + multipliers.runs_at[constraint]
    cdef const int64_t* run_best = multipliers.run_best + edge.first_run
    cdef int64_t best = NO_MARGIN, offset
    cdef uint64_t word
    for offset in range((edge.n_runs + 63) >> 6):
        word = runs[offset]
        while word != 0:
            best = max(best, run_best[64 * offset + lowest(word)])
            word &= word - 1
    return best


cdef void _appraise(
    const Problem* problem, const Multipliers* multipliers, const Part* part
) noexcept nogil:
    """Work out what every living leaf is worth in this box, multipliers included."""
    cdef const Leaf* leaves = problem.leaves
    cdef Edge* edge
    cdef int64_t tree, number, position, leaf, common, total
    for tree in range(part.n_trees):
        common = 0
        for number in range(
            multipliers.tree_start[tree], multipliers.tree_start[tree + 1]
        ):
            edge = &multipliers.edges[number]
            edge.best = _fill_runs(problem, multipliers, part, edge)
            common += edge.best
        for position in range(part.start[tree], part.start[tree + 1]):
            leaf = part.alive[position]
            total = leaves[leaf].value + common
            for number in range(leaves[leaf].start, leaves[leaf + 1].start):
                edge = &multipliers.edges[multipliers.edge_of[number]]
                multipliers.part[number] = _best(multipliers, edge, number)
                total += multipliers.part[number] - edge.best
            multipliers.value[leaf] = total


cdef inline int64_t _constraint_of(
    const Problem* problem, const Multipliers* multipliers, int64_t leaf, int64_t edge
) noexcept nogil:
    """Return the constraint of a leaf that belongs to an edge; -1 if there is none."""
    cdef const Leaf* leaves = problem.leaves
    cdef int64_t number
    if leaves[leaf].domains & bit_of(multipliers.edges[edge].domain) != 0:
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            if multipliers.edge_of[number] == edge:
                return number
    return -1


# ---- What the budget pays.

cdef int64_t _sell(
    const Problem* problem, Multipliers* multipliers, const Part* part
) noexcept nogil:
    """Set the best price of a step of cost; return what the budget is worth then."""
    cdef int64_t worth = 0
    multipliers.price = best_price(
        problem,
        part.box,
        multipliers.paid,
        multipliers.priced,
        multipliers.n_priced,
        &worth,
    )
    return worth


cdef void _start_with_cover(
    const Problem* problem, const Multipliers* multipliers, const Part* part
) noexcept nogil:
    """Let the budget pay each tree what its leaves gain by moving domains.

    The multipliers of before are forgotten.
    """
    cdef int64_t* paid = multipliers.paid
    cdef int64_t* mine = problem.budget.mine
    cdef const Edge* edge
    cdef const Domain* domain
    cdef int64_t tree, number, member, place
    for member in range(problem.n_blocks):
        paid[member] = 0
    for tree in range(part.n_trees):
        cover(problem, part, tree)
        for number in range(
            multipliers.tree_start[tree], multipliers.tree_start[tree + 1]
        ):
            edge = &multipliers.edges[number]
            domain = &problem.domains[edge.domain]
            for member in range(domain.n_blocks):
                place = domain.block_start + member
                multipliers.multiplier[edge.place + member] = -mine[place]
                paid[place] += mine[place]
                mine[place] = 0


cdef bint _may_be_added(
    const Problem* problem,
    const Multipliers* multipliers,
    const uint64_t* box,
    int64_t number,
) noexcept nogil:
    """Tell whether what the blocks are worth to the budget can be added up."""
    cdef const Domain* domain = &problem.domains[number]
    cdef const int64_t* paid = multipliers.paid + domain.block_start
    cdef int64_t member = first_from(box, domain.word_start, domain.width, 0), worth
    while member >= 0:
        worth = paid[member] - multipliers.price * steps_over(problem, number, member)
        if largest(worth, paid[member]) > multipliers.limit:
            return False
        member = first_from(box, domain.word_start, domain.width, member + 1)
    return True


cdef int64_t _take_quarter(
    const Problem* problem,
    const Multipliers* multipliers,
    const uint64_t* box,
    int64_t number,
) noexcept nogil:
    """Give the budget a quarter of what the blocks of a domain are worth to all.

    What the trees think of them is in `shared`, which receives what is left for them.
    Returns by how much the budget is worth less now.
    """
    cdef const Domain* domain = &problem.domains[number]
    cdef int64_t* paid = multipliers.paid + domain.block_start
    cdef int64_t* shared = multipliers.shared
    cdef int64_t before = NO_MARGIN, after = NO_MARGIN, member, worth, cost
    member = first_from(box, domain.word_start, domain.width, 0)
    while member >= 0:
        cost = multipliers.price * steps_over(problem, number, member)
        worth = paid[member] - cost
        before = max(before, worth)
        shared[member] += worth
        worth = shared[member] >> 2
        after = max(after, worth)
        paid[member] = worth + cost
        shared[member] -= worth
        member = first_from(box, domain.word_start, domain.width, member + 1)
    return before - after


cdef void _add_paid(
    const Problem* problem,
    const Multipliers* multipliers,
    const uint64_t* box,
    int64_t number,
) noexcept nogil:
    """Add what the blocks are worth to the budget to what they are worth to trees."""
    cdef const Domain* domain = &problem.domains[number]
    cdef const int64_t* paid = multipliers.paid + domain.block_start
    cdef int64_t member = first_from(box, domain.word_start, domain.width, 0)
    while member >= 0:
        multipliers.shared[member] += paid[member]
        multipliers.shared[member] -= multipliers.price * steps_over(
            problem, number, member
        )
        member = first_from(box, domain.word_start, domain.width, member + 1)


# ---- Sweeps.

# The least and the largest max-marginal of an edge.
cdef struct Spread:
    int64_t least
    int64_t most


cdef Spread _fill_marginals(
    const Problem* problem,
    const Multipliers* multipliers,
    const Part* part,
    int64_t number,
) noexcept nogil:
    """Work out the max-marginals of an edge: what each block is worth to its tree.

    The least of them is `NO_MARGIN` if the tree cannot reach some block, or if the
    numbers become too large to be added up.
    """
    cdef const Edge* edge = &multipliers.edges[number]
    cdef const Domain* domain = &problem.domains[edge.domain]
    cdef const int64_t* multiplier = multipliers.multiplier + edge.place
    cdef int64_t* marginal = multipliers.marginal + edge.place
    cdef const int64_t* run_of = multipliers.run_of + edge.place
    cdef int64_t* run_rest = multipliers.run_rest + edge.first_run
    cdef const uint64_t* runs
    cdef int64_t at = domain.word_start, width = domain.width
    cdef int64_t anywhere = NO_MARGIN
    cdef int64_t member, position, leaf, constraint, offset, run, rest, best
    cdef uint64_t word
    cdef Spread spread
    for run in range(edge.n_runs):
        run_rest[run] = NO_MARGIN
    for position in range(part.start[edge.tree], part.start[edge.tree + 1]):
        leaf = part.alive[position]
        constraint = _constraint_of(problem, multipliers, leaf, number)
        if constraint < 0:
            anywhere = max(anywhere, multipliers.value[leaf] - edge.best)
            continue
        rest = multipliers.value[leaf] - multipliers.part[constraint]
        runs = multipliers.runs + multipliers.runs_at[constraint]
        for offset in range((edge.n_runs + 63) >> 6):
            word = runs[offset]
            while word != 0:
                run = 64 * offset + lowest(word)
                run_rest[run] = max(run_rest[run], rest)
                word &= word - 1
    spread.least, spread.most = -NO_MARGIN, NO_MARGIN
    member = first_from(part.box, at, width, 0)
    while member >= 0:
        best = max(run_rest[run_of[member]], anywhere)
        if best != NO_MARGIN:
            best += multiplier[member]
        if largest(best, multiplier[member]) > multipliers.limit:
            best = NO_MARGIN
        marginal[member] = best
        spread.least = min(spread.least, best)
        spread.most = max(spread.most, best)
        member = first_from(part.box, at, width, member + 1)
    return spread


cdef int64_t _average(
    const Problem* problem,
    const Multipliers* multipliers,
    const Part* part,
    int64_t number,
    int64_t rank,
    int64_t count,
) noexcept nogil:
    """Give the tree of an edge its part of what the blocks are worth to all.

    It is the `rank`-th of `count` trees. Returns its largest max-marginal now.
    """
    cdef Edge* edge = &multipliers.edges[number]
    cdef const Domain* domain = &problem.domains[edge.domain]
    cdef int64_t* multiplier = multipliers.multiplier + edge.place
    cdef const int64_t* marginal = multipliers.marginal + edge.place
    cdef int64_t at = domain.word_start, width = domain.width
    cdef int64_t most = NO_MARGIN, before = edge.best
    cdef int64_t member, total, share, position, leaf, constraint, here
    member = first_from(part.box, at, width, 0)
    while member >= 0:
        total = multipliers.shared[member]
        # Rounded down; the remainder goes to the first trees, one unit each.
        share = total // count
        share += rank < total - share * count
        multiplier[member] += share - marginal[member]
        most = max(most, share)
        member = first_from(part.box, at, width, member + 1)
    edge.best = _fill_runs(problem, multipliers, part, edge)
    for position in range(part.start[edge.tree], part.start[edge.tree + 1]):
        leaf = part.alive[position]
        constraint = _constraint_of(problem, multipliers, leaf, number)
        if constraint < 0:
            multipliers.value[leaf] += edge.best - before
            continue
        here = _best(multipliers, edge, constraint)
        multipliers.value[leaf] += here - multipliers.part[constraint]
        multipliers.part[constraint] = here
    return most


cdef int64_t _agree(
    const Problem* problem,
    const Multipliers* multipliers,
    const Part* part,
    int64_t number,
) noexcept nogil:
    """Make all trees, and the budget, agree on one domain.

    `shared` receives what the blocks are worth to all. Returns by how much the bound
    falls; -1 if some tree cannot reach some block, so that propagation must come first.
    """
    cdef const Domain* domain = &problem.domains[number]
    cdef int64_t first = multipliers.domain_start[number]
    cdef int64_t last = multipliers.domain_start[number + 1]
    cdef int64_t* shared = multipliers.shared
    cdef const int64_t* marginal
    cdef int64_t member, place, edge, gain = 0
    cdef bint is_priced = (
        problem.budget != NULL and problem.budget.dearest[number] > 0
    )
    cdef Spread spread
    if is_priced and not _may_be_added(problem, multipliers, part.box, number):
        return -1
    for member in range(domain.n_blocks):
        shared[member] = 0
    for place in range(first, last):
        edge = multipliers.by_domain[place]
        spread = _fill_marginals(problem, multipliers, part, edge)
        if spread.least == NO_MARGIN:
            return -1
        gain += spread.most
        marginal = multipliers.marginal + multipliers.edges[edge].place
        member = first_from(part.box, domain.word_start, domain.width, 0)
        while member >= 0:
            shared[member] += marginal[member]
            member = first_from(part.box, domain.word_start, domain.width, member + 1)
    if is_priced:
        gain += _take_quarter(problem, multipliers, part.box, number)
    for place in range(first, last):
        edge = multipliers.by_domain[place]
        gain -= _average(problem, multipliers, part, edge, place - first, last - first)
    if is_priced:
        _add_paid(problem, multipliers, part.box, number)
    return gain


cdef int64_t _bound(
    const Multipliers* multipliers, const Part* part, int64_t constant
) noexcept nogil:
    cdef int64_t tree, position, best, total = constant
    for tree in range(part.n_trees):
        best = NO_MARGIN
        for position in range(part.start[tree], part.start[tree + 1]):
            best = max(best, multipliers.value[part.alive[position]])
        total += best
    return total


cdef bint _drop_blocks(
    const Domain* domain,
    const int64_t* shared,
    const uint64_t* box,
    uint64_t* kept,
    int64_t slack,
) noexcept nogil:
    """Take the blocks that are worth too little to all trees together out of `kept`.

    Returns whether there were any that had not gone before.
    """
    cdef int64_t at = domain.word_start, width = domain.width
    cdef int64_t best = NO_MARGIN, member = first_from(box, at, width, 0)
    cdef bint dropped = False
    while member >= 0:
        best = max(best, shared[member])
        member = first_from(box, at, width, member + 1)
    member = first_from(kept, at, width, 0)
    while member >= 0:
        if best - shared[member] > slack:
            remove(kept, at, member)
            dropped = True
        member = first_from(kept, at, width, member + 1)
    return dropped


cdef bint _drop_leaves(
    const Multipliers* multipliers, const Part* part, int64_t slack
) noexcept nogil:
    """Drop the leaves that are worth too little; tell whether there were any."""
    cdef int64_t write = part.start[0], following = part.start[0]
    cdef int64_t tree, first, last, best, position, leaf
    for tree in range(part.n_trees):
        first, last = following, part.start[tree + 1]
        following = last
        best = NO_MARGIN
        for position in range(first, last):
            best = max(best, multipliers.value[part.alive[position]])
        for position in range(first, last):
            leaf = part.alive[position]
            if best - multipliers.value[leaf] <= slack:
                part.alive[write] = leaf
                write += 1
        part.start[tree + 1] = write
    return write < following


cdef int64_t _reappraise(
    const Problem* problem,
    const Target* target,
    Multipliers* multipliers,
    const Part* part,
) noexcept nogil:
    """Work out what all leaves, and the budget, are worth; return the bound."""
    cdef int64_t bound
    _appraise(problem, multipliers, part)
    bound = _bound(multipliers, part, target.constant)
    if problem.budget != NULL:
        bound += _sell(problem, multipliers, part)
    return bound


cdef Ascent ascend_dual(
    const Problem* problem,
    const Target* target,
    Multipliers* multipliers,
    const Part* part,
    uint64_t* kept,
    const Limits* limits,
    int64_t known,
) noexcept nogil:
    """Sweep over the domains until the multipliers are worth no more sweeps.

    The multipliers are better ones afterwards, and hold for any part of the
    box; the part may be smaller. `kept` is scratch, as large as a box. With a budget,
    whose `spend` has looked at the part, `known` is the bound of its `quote`: where the
    multipliers are worse, they start from there.
    """
    cdef Budget* budget = problem.budget
    cdef int64_t n_sweeps = limits.dual_sweeps
    cdef Ascent reached
    cdef int64_t possible = target.possible, before, _sweep, domain, gain
    reached.dropped = False
    reached.bound = _reappraise(problem, target, multipliers, part)
    if budget != NULL:
        n_sweeps = limits.priced_sweeps
        if reached.bound > known:
            _start_with_cover(problem, multipliers, part)
            reached.bound = _reappraise(problem, target, multipliers, part)
        if reached.bound < possible:
            return reached
    # Blocks go only when the sweeps are over: until then the books rest on the box.
    copy_words(part.box, kept, problem.n_words)
    for _sweep in range(n_sweeps):
        before = reached.bound
        for domain in range(problem.n_domains):
            if multipliers.domain_start[domain] == multipliers.domain_start[domain + 1]:
                continue
            gain = _agree(problem, multipliers, part, domain)
            if gain < 0:
                continue
            reached.bound -= gain
            if reached.bound < possible:
                reached.dropped = False
                return reached
            if _drop_blocks(
                &problem.domains[domain],
                multipliers.shared,
                part.box,
                kept,
                reached.bound - possible,
            ):
                reached.dropped = True
        if budget != NULL:
            # The price, too, is that of the new multipliers.
            reached.bound = _bound(multipliers, part, target.constant)
            reached.bound += _sell(problem, multipliers, part)
            budget.price = multipliers.price
            if reached.bound < possible:
                reached.dropped = False
                return reached
        if (before - reached.bound) * limits.dual_gain < reached.bound - possible:
            break
    copy_words(kept, part.box, problem.n_words)
    if _drop_leaves(multipliers, part, reached.bound - possible):
        reached.dropped = True
    return reached
