"""What cells cost: the least that a person pays in them, and which leaves that allows.

A person who may spend so much on differing pays for each variable, as
`fatt.region.costs` says. Costs never fall away from the person's own value, so a cell
costs what its member nearest to the person costs. A box of cells costs the sum over its
variables, and that is exact: integers, of variables that do not depend on each other.
"""

from libc.math cimport fabs, floor
from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena, filled, integers
from fatt.verifier.kernels.records cimport (
    CODES,
    COUNT,
    FREE,
    LEFT,
    ORDERED,
    RIGHT,
    SQUARE,
    STEPS,
    TABLE,
    Block,
    Budget,
    Constraint,
    Cost,
    Domain,
    Forest,
    Node,
    Problem,
    Range,
    Regions,
    Search,
    Spending,
    Tariff,
    Variable,
    Visit,
    first_from,
    has,
    largest_of,
    smallest_of,
)


cdef int make_tariff(
    Tariff* tariff, const Forest* forest, Arena* arena
) except -1 nogil:
    """Take room for the costs of any box."""
    cdef int64_t index, n_words = 0
    for index in range(forest.n_variables):
        n_words += forest.variables[index].width
    tariff.now = filled(arena, forest.n_variables, 0)
    tariff.cell = filled(arena, 64 * n_words, 0)
    return 0


# ---- The cost of a value.

cdef int64_t cost_of_number(
    const Cost* cost, double own, double number, int64_t most
) noexcept nogil:
    """Return what a number costs, or one more than the budget."""
    cdef double size
    if cost.kind == FREE or number == own:
        return 0
    if own != own:
        return min(cost.missing, most + 1)
    if cost.kind == COUNT:
        return min(cost.missing, most + 1)
    size = cost.scale * fabs(number - own)
    if cost.kind == SQUARE:
        size = size * size
    # Before it becomes an integer: it may be infinite, or none at all.
    if not size <= <double>most + 1.0:
        return most + 1
    return <int64_t>floor(size)


cdef int64_t cost_of_missing(
    const Cost* cost, double own, int64_t most
) noexcept nogil:
    """Return what it costs to become missing."""
    return 0 if cost.kind == FREE or own != own else min(cost.missing, most + 1)


# ---- The least cost of cells.

cdef int64_t _missing(const Tariff* tariff, int64_t index) noexcept nogil:
    return cost_of_missing(&tariff.each[index], tariff.people[index], tariff.most)


cdef int64_t _between(
    const Forest* forest,
    const Tariff* tariff,
    int64_t index,
    int64_t first,
    int64_t last,
) noexcept nogil:
    """Return the cost of the nearest number in cells of the box."""
    cdef const Variable* variable = &forest.variables[index]
    cdef const Cost* cost = &tariff.each[index]
    cdef double own = tariff.people[index], low, high
    low = max(smallest_of(forest.cuts, variable, first), tariff.lower[index])
    high = min(largest_of(forest.cuts, variable, last), tariff.upper[index])
    if low > high:
        return tariff.most + 1
    if own == own:
        low = min(max(own, low), high)
    return cost_of_number(cost, own, low, tariff.most)


cdef int64_t cost_of_range(
    const Forest* forest,
    const Tariff* tariff,
    int64_t index,
    int64_t first,
    int64_t last,
    bint is_missing,
) noexcept nogil:
    """Return the least cost of an ordered variable in cells from `first` to `last`."""
    cdef int64_t best = tariff.most + 1
    if tariff.each[index].kind == FREE or first <= tariff.own_cell[index] <= last:
        return 0
    if first <= last:
        best = _between(forest, tariff, index, first, last)
    if is_missing:
        best = min(best, _missing(tariff, index))
    return best


cdef int64_t _of_cell(
    const Forest* forest, const Tariff* tariff, int64_t index, int64_t cell
) noexcept nogil:
    """Return the cost of one cell of a variable that is split by sets."""
    cdef const Variable* variable = &forest.variables[index]
    cdef const Cost* cost = &tariff.each[index]
    cdef int64_t own = tariff.own_cell[index], best = tariff.most + 1
    if cost.kind == FREE or cell == own:
        return 0
    if cell < variable.n_cells:
        if variable.kind != CODES:
            return _between(forest, tariff, index, cell, cell)
        if own != variable.n_cells and cost.kind == TABLE:
            return min(tariff.tables[cost.table + own * variable.n_cells + cell], best)
        return min(cost.missing, best)
    if tariff.missing[index] != 0:
        best = _missing(tariff, index)
    if variable.hole_first <= variable.hole_last:
        # Some number that is read as missing may be cheaper.
        best = min(
            best,
            _between(forest, tariff, index, variable.hole_first, variable.hole_last),
        )
    return best


cdef int64_t cost_of_set(
    const Forest* forest, const Tariff* tariff, int64_t index, const uint64_t* cells
) noexcept nogil:
    """Return the least cost of a set of cells, which begins where `cells` does."""
    cdef const Variable* variable = &forest.variables[index]
    cdef const int64_t* costs = tariff.cell + 64 * variable.set_start
    cdef int64_t best = tariff.most + 1, cell
    if tariff.each[index].kind == FREE:
        return 0
    cell = first_from(cells, 0, variable.width, 0)
    while cell >= 0 and best > 0:
        best = min(best, costs[cell])
        cell = first_from(cells, 0, variable.width, cell + 1)
    return best


cdef void set_tariff(
    const Forest* forest,
    const Regions* regions,
    int64_t person,
    int64_t box,
    Visit* visit,
) noexcept nogil:
    """Note what a person pays in a box; the walk stands at the whole of it."""
    cdef Tariff* tariff = &visit.tariff
    cdef const Spending* spending = &regions.spending
    cdef const Variable* variable
    cdef const uint64_t* cells
    cdef int64_t n_variables = regions.n_variables, index, cell
    visit.walk.tariff = NULL
    if spending.rule == NULL or spending.rule[box] < 0:
        return
    tariff.each = spending.each + spending.rule[box] * n_variables
    tariff.tables = spending.tables
    tariff.people = spending.people + person * n_variables
    tariff.lower = spending.lower + box * n_variables
    tariff.upper = spending.upper + box * n_variables
    tariff.missing = spending.missing + box * n_variables
    tariff.own_cell = visit.own_cell
    tariff.most = spending.most[box]
    # The person is in the box, and costs nothing.
    tariff.spent = 0
    for index in range(n_variables):
        tariff.now[index] = 0
        variable = &forest.variables[index]
        if variable.kind == ORDERED or tariff.each[index].kind == FREE:
            continue
        cells = visit.walk.cells + variable.set_start
        cell = first_from(cells, 0, variable.width, 0)
        while cell >= 0:
            tariff.cell[64 * variable.set_start + cell] = _of_cell(
                forest, tariff, index, cell
            )
            cell = first_from(cells, 0, variable.width, cell + 1)
    visit.walk.tariff = tariff


cdef int32_t affordable(
    const Forest* forest,
    const Tariff* tariff,
    const Node* node,
    const Range* mine,
    const uint64_t* cells,
) noexcept nogil:
    """Tell which sides of a node can be paid; the box has points on both."""
    cdef const Variable* variable = &forest.variables[node.feature]
    cdef int64_t index = node.feature, split = node.split, left, right, cell, here
    cdef int64_t room = tariff.most - tariff.spent + tariff.now[index]
    cdef bint is_left_missing = mine.missing != 0 and node.missing_left != 0
    cdef bint is_right_missing = mine.missing != 0 and node.missing_left == 0
    if tariff.each[index].kind == FREE:
        return LEFT + RIGHT
    if variable.kind == ORDERED:
        left = cost_of_range(
            forest, tariff, index, mine.first, min(mine.last, split), is_left_missing
        )
        right = cost_of_range(
            forest,
            tariff,
            index,
            max(mine.first, split + 1),
            mine.last,
            is_right_missing,
        )
    else:
        left = right = tariff.most + 1
        cell = first_from(cells, variable.set_start, variable.width, 0)
        while cell >= 0:
            here = tariff.cell[64 * variable.set_start + cell]
            if has(forest.masks, split, cell):
                left = min(left, here)
            else:
                right = min(right, here)
            cell = first_from(cells, variable.set_start, variable.width, cell + 1)
    return (LEFT if left <= room else 0) + (RIGHT if right <= room else 0)


# ---- The costs of blocks, constraints and leaves.

cdef int64_t _of_block(
    const Forest* forest, const Tariff* tariff, int64_t index, const Block* block
) noexcept nogil:
    """Return the least cost of a block of a variable."""
    cdef const Variable* variable = &forest.variables[index]
    if tariff.each[index].kind == FREE:
        return 0
    if variable.kind != ORDERED:
        return tariff.cell[64 * variable.set_start + block.first]
    if block.first == variable.n_cells:
        return _missing(tariff, index)
    return cost_of_range(forest, tariff, index, block.first, block.last, False)


cdef int measure(
    const Forest* forest, const Tariff* tariff, Search* search
) except -1 nogil:
    """Give the problem a budget: what its blocks cost, and what its leaves ask for."""
    cdef Arena* arena = search.arena
    cdef Problem* problem = &search.problem
    cdef Budget* budget = &search.budget
    cdef const Domain* domain
    cdef const Constraint* constraint
    cdef int64_t number, member, leaf, place, cost, least
    problem.budget = budget
    budget.block = integers(arena, problem.n_blocks)
    budget.asked = integers(arena, problem.n_constraints)
    budget.leaf = filled(arena, problem.n_leaves, 0)
    budget.dearest = filled(arena, problem.n_domains, 0)
    budget.cheapest = filled(arena, problem.n_domains, 0)
    budget.gain = filled(arena, problem.n_blocks, 0)
    budget.mine = filled(arena, problem.n_blocks, 0)
    budget.moved = integers(arena, problem.n_domains)
    budget.most = budget.left = tariff.most
    budget.price = budget.shift = 0
    while (budget.most >> budget.shift) > STEPS:
        budget.shift += 1
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        for member in range(domain.block_start, domain.block_start + domain.n_blocks):
            cost = _of_block(forest, tariff, domain.variable, &problem.blocks[member])
            budget.block[member] = cost
            budget.dearest[number] = max(budget.dearest[number], cost)
    for leaf in range(problem.n_leaves):
        for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
            constraint = &problem.constraints[place]
            domain = &problem.domains[constraint.domain]
            least = budget.most + 1
            member = first_from(problem.masks, constraint.place, domain.width, 0)
            while member >= 0 and least > 0:
                least = min(least, budget.block[domain.block_start + member])
                member = first_from(
                    problem.masks, constraint.place, domain.width, member + 1
                )
            budget.asked[place] = least
            budget.leaf[leaf] += least
    return 0
