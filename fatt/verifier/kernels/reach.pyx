"""The leaves that a box reaches, as constraints on the few variables that matter.

Each tree is walked once more, from where the first look saw the box part. On the way
down the box is narrowed to the side taken, and widened again on the way back, so that
exactly the reachable leaves are found, with what each asks of the variables that are
free. Cells that no reached leaf tells apart are then joined to blocks: every variable
that matters has a few of them, the box is a bit set per variable, and so is every leaf.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fatt.verifier.kernels.arena cimport (
    Arena,
    filled,
    integers,
    more,
    take,
    words,
    zeros,
)
from fatt.verifier.kernels.records cimport (
    BOTH,
    CODES,
    FREE,
    HIGHER,
    LEFT,
    LOWER,
    ORDERED,
    RIGHT,
    Arithmetic,
    Block,
    Condition,
    Constraint,
    Domain,
    Forest,
    Leaf,
    Node,
    Open,
    Problem,
    Range,
    Regions,
    Search,
    Tariff,
    Trail,
    Variable,
    Visit,
    Walk,
    add,
    add_range,
    bit_of,
    first_from,
    has,
    rank_of,
    remove,
    side_of,
)
from fatt.verifier.kernels.tariff cimport (
    affordable,
    cost_of_range,
    cost_of_set,
    measure,
)


# ---- The walk.

cdef int make_walk(
    Walk* walk, const Forest* forest, int64_t depth, Arena* arena
) except -1 nogil:
    """Take room for walks through trees of at most so many levels."""
    cdef int64_t index, n_words = 0
    walk.widest = 1
    for index in range(forest.n_variables):
        n_words += forest.variables[index].width
        walk.widest = max(walk.widest, forest.variables[index].width)
    walk.ranges = <Range*>zeros(arena, forest.n_variables, sizeof(Range))
    walk.cells = words(arena, n_words)
    walk.trail = <Trail*>zeros(arena, depth + 1, sizeof(Trail))
    walk.trail_cells = words(arena, (depth + 1) * walk.widest)
    walk.opened = <Open*>zeros(arena, depth + 1, sizeof(Open))
    walk.seen = filled(arena, forest.n_variables, -1)
    walk.depth = walk.n_open = 0
    walk.tariff = NULL
    return 0


cdef void enter(
    const Forest* forest, const Regions* regions, int64_t box, Walk* walk
) noexcept nogil:
    """Bring a box into rank space."""
    cdef const double* lower = regions.lower + box * regions.n_variables
    cdef const double* upper = regions.upper + box * regions.n_variables
    cdef const uint8_t* missing = regions.missing + box * regions.n_variables
    cdef const uint64_t* codes = regions.codes + box * regions.n_words
    cdef uint64_t* cells = walk.cells
    cdef const Variable* variable
    cdef Range* mine
    cdef int64_t index, first, last, begin, end, start, word, code, cell, beyond
    cdef bint is_missing
    for index in range(forest.n_variables):
        variable = &forest.variables[index]
        mine = &walk.ranges[index]
        first, last = 0, -1
        if variable.kind != CODES and lower[index] <= upper[index]:
            begin, end = variable.cut_start, variable.cut_end
            first = rank_of(forest.cuts, begin, end, lower[index])
            last = rank_of(forest.cuts, begin, end, upper[index])
        is_missing = missing[index] != 0
        if variable.kind == ORDERED:
            mine.first, mine.last, mine.missing = first, last, is_missing
            continue
        start = variable.set_start
        for word in range(start, start + variable.width):
            cells[word] = 0
        if variable.kind == CODES:
            for code in range(variable.n_cells):
                if has(codes, variable.code_start, code):
                    add(cells, start, code)
        else:
            add_range(cells, start, first, last)
            for cell in range(variable.hole_first, variable.hole_last + 1):
                if has(cells, start, cell):
                    remove(cells, start, cell)
                    is_missing = True
        if is_missing:
            add(cells, start, variable.n_cells)
        # Where a set has one member only, splits need not look at all of it.
        mine.first = first_from(cells, start, variable.width, 0)
        beyond = first_from(cells, start, variable.width, mine.first + 1)
        mine.last = mine.first if beyond < 0 else -1


cdef inline int32_t _sides(
    const Node* node,
    const Variable* variable,
    const Range* mine,
    const uint64_t* cells,
    const uint64_t* masks,
) noexcept nogil:
    """Tell to which sides of a node the box may go."""
    cdef int32_t found = 0
    cdef int64_t offset, split = node.split
    cdef uint64_t here, left
    if variable.kind == ORDERED:
        # Where only missing is left, the range is crossed, and neither holds.
        if mine.first <= min(split, mine.last):
            found = LEFT
        if max(mine.first, split + 1) <= mine.last:
            found |= RIGHT
        if mine.missing != 0:
            found |= LEFT if node.missing_left != 0 else RIGHT
        return found
    if mine.first == mine.last and mine.first < variable.n_cells:
        return side_of(node, masks, mine.first)
    for offset in range(variable.width):
        here = cells[variable.set_start + offset]
        left = masks[split + offset]
        if here & left != 0:
            found |= LEFT
        if here & ~left != 0:
            found |= RIGHT
    return found


cdef inline void _narrow(
    const Forest* forest, const Node* node, Walk* walk, bint is_left
) noexcept nogil:
    """Cut the box to one side of a node, and remember what it was."""
    cdef const Variable* variable = &forest.variables[node.feature]
    cdef Range* mine = &walk.ranges[node.feature]
    cdef Trail* old = &walk.trail[walk.depth]
    cdef uint64_t* old_cells = walk.trail_cells + walk.depth * walk.widest
    cdef uint64_t* cells = walk.cells + variable.set_start
    cdef int64_t offset, split = node.split
    cdef uint64_t here, left
    walk.depth += 1
    old.variable = node.feature
    if variable.kind == ORDERED:
        old.first, old.last, old.missing = mine.first, mine.last, mine.missing
        if is_left:
            mine.last = min(mine.last, split)
        else:
            mine.first = max(mine.first, split + 1)
        if (node.missing_left != 0) != is_left:
            mine.missing = 0
        if walk.tariff != NULL:
            _pay(forest, walk, old)
        return
    for offset in range(variable.width):
        here = cells[offset]
        left = forest.masks[split + offset]
        old_cells[offset] = here
        cells[offset] = here & (left if is_left else ~left)
    if walk.tariff != NULL:
        _pay(forest, walk, old)


cdef void _pay(const Forest* forest, Walk* walk, Trail* old) noexcept nogil:
    """Count what the variable that was narrowed costs now."""
    cdef Tariff* tariff = walk.tariff
    cdef int64_t index = old.variable, cost
    cdef const Range* mine = &walk.ranges[index]
    if forest.variables[index].kind == ORDERED:
        cost = cost_of_range(
            forest, tariff, index, mine.first, mine.last, mine.missing != 0
        )
    else:
        cost = cost_of_set(
            forest, tariff, index, walk.cells + forest.variables[index].set_start
        )
    old.cost = tariff.now[index]
    tariff.spent += cost - old.cost
    tariff.now[index] = cost


cdef inline void _undo(const Forest* forest, Walk* walk) noexcept nogil:
    """Give the variable that was narrowed last back what it was."""
    cdef const Variable* variable
    cdef const Trail* old
    cdef const uint64_t* old_cells
    cdef Range* mine
    cdef int64_t offset
    walk.depth -= 1
    old = &walk.trail[walk.depth]
    variable = &forest.variables[old.variable]
    if walk.tariff != NULL:
        walk.tariff.spent += old.cost - walk.tariff.now[old.variable]
        walk.tariff.now[old.variable] = old.cost
    if variable.kind == ORDERED:
        mine = &walk.ranges[old.variable]
        mine.first, mine.last, mine.missing = old.first, old.last, old.missing
        return
    old_cells = walk.trail_cells + walk.depth * walk.widest
    for offset in range(variable.width):
        walk.cells[variable.set_start + offset] = old_cells[offset]


cdef int64_t to_leaf(const Forest* forest, Walk* walk, int64_t node) noexcept nogil:
    """Go down to a leaf, left first, and narrow the box on the way; return the leaf.

    Where the box reaches both sides, the node stays open. -1 if neither side can be
    paid, which cannot be if the person is in the box.
    """
    cdef const Node* here = &forest.nodes[node]
    cdef int32_t found, paid
    while here.feature >= 0:
        found = _sides(
            here,
            &forest.variables[here.feature],
            &walk.ranges[here.feature],
            walk.cells,
            forest.masks,
        )
        if found == BOTH and walk.tariff != NULL:
            paid = affordable(
                forest, walk.tariff, here, &walk.ranges[here.feature], walk.cells
            )
            if paid == 0:
                return -1
            if paid != BOTH:
                # What cannot be paid is no part of the leaf's box.
                _narrow(forest, here, walk, paid == LEFT)
                found = paid
        if found == BOTH:
            walk.opened[walk.n_open].node = node
            walk.opened[walk.n_open].mark = walk.depth
            walk.n_open += 1
            _narrow(forest, here, walk, True)
        node = here.left + (found == RIGHT)
        here = &forest.nodes[node]
    return node


cdef int64_t turn(const Forest* forest, Walk* walk) noexcept nogil:
    """Go back to the last open node and take its right side; -1 if none is open."""
    cdef int64_t stop = walk.opened[walk.n_open - 1].mark if walk.n_open > 0 else 0
    cdef const Node* node
    while walk.depth > stop:
        _undo(forest, walk)
    if walk.n_open == 0:
        return -1
    walk.n_open -= 1
    node = &forest.nodes[walk.opened[walk.n_open].node]
    _narrow(forest, node, walk, False)
    return node.left + 1


# ---- One tree alone: its reachable leaves say all, and which of them is nearest.

cdef int64_t _nearest_cell(
    const Variable* variable, const Range* mine, const uint64_t* cells, int64_t own
) noexcept nogil:
    """Return the cell of a narrowed variable that is nearest to the person's."""
    if variable.kind == ORDERED:
        if own == variable.n_cells or mine.first > mine.last:
            return variable.n_cells if mine.missing != 0 else mine.first
        return min(max(own, mine.first), mine.last)
    if has(cells, variable.set_start, own):
        return own
    return first_from(cells, variable.set_start, variable.width, 0)


cdef int64_t _cheapest_cell(
    const Forest* forest, const Walk* walk, int64_t index, int64_t own
) noexcept nogil:
    """Return the cell of a narrowed variable that costs least, or is nearest."""
    cdef const Variable* variable = &forest.variables[index]
    cdef const Range* mine = &walk.ranges[index]
    cdef const Tariff* tariff = walk.tariff
    cdef const int64_t* cost
    cdef int64_t cell, best = _nearest_cell(variable, mine, walk.cells, own)
    if tariff == NULL or best == own:
        return best
    if variable.kind == ORDERED:
        if mine.missing != 0 and best != variable.n_cells:
            if cost_of_range(forest, tariff, index, best, best, False) > cost_of_range(
                forest, tariff, index, 0, -1, True
            ):
                return variable.n_cells
        return best
    cost = tariff.cell + 64 * variable.set_start
    cell = best
    while cell >= 0 and tariff.each[index].kind != FREE:
        if cost[cell] < cost[best]:
            best = cell
        cell = first_from(walk.cells, variable.set_start, variable.width, cell + 1)
    return best


cdef int64_t _take_if_nearer(
    const Forest* forest,
    Visit* visit,
    int64_t leaf,
    int64_t least,
    int32_t* first,
) noexcept nogil:
    """Write the cells of the leaf where the walk stands, if few enough differ.

    Returns how many variables differ; `least` if not fewer than that.
    """
    cdef Walk* walk = &visit.walk
    cdef const int64_t* own_cell = visit.own_cell
    cdef int64_t level, index, cell, changed = 0
    for level in range(walk.depth):
        index = walk.trail[level].variable
        if walk.seen[index] == leaf:
            continue
        walk.seen[index] = leaf
        cell = _cheapest_cell(forest, walk, index, own_cell[index])
        changed += cell != own_cell[index]
    if changed >= least:
        return least
    for index in range(forest.n_variables):
        first[index] = -1
    for level in range(walk.depth):
        index = walk.trail[level].variable
        cell = _cheapest_cell(forest, walk, index, own_cell[index])
        if cell != own_cell[index]:
            first[index] = <int32_t>cell
    return changed


cdef inline int64_t _rival_at(
    const Arithmetic* arithmetic, const Regions* regions, int64_t person, int64_t leaf
) noexcept nogil:
    """Return which rival wins at a leaf of the only tree, -1 if none."""
    cdef int64_t label
    cdef double score
    if arithmetic.rule.one_score != 0:
        score = arithmetic.scores[leaf]
        if score < regions.below[person]:
            return LOWER
        return HIGHER if score >= regions.above[person] else -1
    label = arithmetic.labels[leaf]
    return -1 if label == regions.label[person] else label


cdef int32_t decide_tree(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t person,
    Visit* visit,
    uint8_t* possible,
    int32_t* first,
) except -1 nogil:
    """Walk the only tree in a box, narrowing it, and look at each leaf's answer.

    The visit holds the box in rank space and the person's cells. `possible`
    receives the rivals that occur, `first` the cells in which the nearest person with
    another answer differs. Returns whether there is such a person.
    """
    cdef Walk* walk = &visit.walk
    cdef int64_t none = forest.n_variables + 1, least = none
    cdef int64_t node = forest.roots[0], index, leaf, rival
    for index in range(forest.n_variables):
        walk.seen[index] = -1
    while node >= 0:
        node = to_leaf(forest, walk, node)
        if node < 0:
            _refuse()
        leaf = forest.nodes[node].leaf
        rival = _rival_at(arithmetic, regions, person, leaf)
        if rival >= 0:
            possible[rival] = True
            least = _take_if_nearer(forest, visit, leaf, least, first)
        node = turn(forest, walk)
    return least < none


cdef int _refuse() except -1 nogil:
    with gil:
        raise RuntimeError("a tree has no leaf that the person of a box can pay")


# ---- The leaves that a box reaches.

cdef int _collect(
    const Forest* forest, Visit* visit, Search* search
) except -1 nogil:
    """Collect the leaves that the box of the walk reaches, and their constraints.

    There is one leaf more than there are, where the last constraints end.
    """
    cdef Arena* arena = search.arena
    cdef Walk* walk = &visit.walk
    cdef Problem* problem = &search.problem
    # Above the node where the first look saw the box part, nothing is narrowed. Without
    # the gear of the first look, every tree is walked from its root.
    cdef const int32_t* parts_at = (
        visit.look.parts_at if search.limits.screen != 0 else NULL
    )
    cdef int64_t* tree_start = integers(arena, forest.n_trees + 1)
    # All of it grows where it must; little room at first is a gear of the search.
    cdef int64_t room = search.limits.room
    cdef int64_t most_leaves = (room >> 2) * forest.n_trees + room
    cdef int64_t most_constraints = (room >> 2) * most_leaves, most_words = 4 * room
    cdef Leaf* leaves = <Leaf*>take(arena, most_leaves, sizeof(Leaf))
    cdef Condition* conditions = <Condition*>take(
        arena, most_constraints, sizeof(Condition)
    )
    cdef uint64_t* cells = <uint64_t*>take(arena, most_words, sizeof(uint64_t))
    cdef int64_t n_leaves = 0, n_constraints = 0, n_words = 0
    cdef int64_t tree, node, index, level, offset
    cdef bint is_open
    cdef const Variable* variable
    cdef Condition* condition
    for index in range(forest.n_variables):
        walk.seen[index] = -1
    tree_start[0] = 0
    for tree in range(forest.n_trees):
        node = forest.roots[tree] if parts_at == NULL else parts_at[tree]
        is_open = True
        while is_open:
            if node >= 0:
                node = to_leaf(forest, walk, node)
                if node < 0:
                    _refuse()
                node = -1 - forest.nodes[node].leaf
            if n_leaves + 1 >= most_leaves:
                most_leaves = 2 * most_leaves + 2
                leaves = <Leaf*>more(arena, leaves, n_leaves, most_leaves, sizeof(Leaf))
            if n_constraints + walk.depth > most_constraints:
                most_constraints = max(2 * most_constraints, n_constraints + walk.depth)
                conditions = <Condition*>more(
                    arena,
                    conditions,
                    n_constraints,
                    most_constraints,
                    sizeof(Condition),
                )
            if n_words + walk.depth * walk.widest > most_words:
                most_words = max(2 * most_words, n_words + walk.depth * walk.widest)
                cells = <uint64_t*>more(
                    arena, cells, n_words, most_words, sizeof(uint64_t)
                )
            leaves[n_leaves].row = <int32_t>(-1 - node)
            leaves[n_leaves].start = n_constraints
            for level in range(walk.depth):
                index = walk.trail[level].variable
                if walk.seen[index] == n_leaves:
                    continue
                walk.seen[index] = n_leaves
                variable = &forest.variables[index]
                condition = &conditions[n_constraints]
                n_constraints += 1
                condition.variable = index
                condition.first = walk.ranges[index].first
                condition.last = walk.ranges[index].last
                condition.missing = walk.ranges[index].missing
                if variable.kind != ORDERED:
                    condition.first = n_words
                    for offset in range(variable.width):
                        cells[n_words] = walk.cells[variable.set_start + offset]
                        n_words += 1
            n_leaves += 1
            node = turn(forest, walk)
            is_open = node >= 0
        tree_start[tree + 1] = n_leaves
    leaves[n_leaves].start = n_constraints
    problem.tree_start = tree_start
    problem.leaves = leaves
    problem.conditions = conditions
    problem.cells = cells
    problem.n_trees = forest.n_trees
    problem.n_leaves = n_leaves
    problem.n_constraints = n_constraints
    return 0


# ---- Only the cells that the reached leaves tell apart.

cdef int64_t _number_variables(
    const Forest* forest,
    const Range* ranges,
    const Problem* problem,
    int64_t* number,
    int64_t* begin,
) noexcept nogil:
    """Give numbers to the variables that some leaf constrains, and count their cells.

    `number` receives the number of each variable, -1 if nobody asks for it, `begin`
    where its cells begin in one array over all of them. An ordered variable counts from
    the first cell of its range, and missing comes last.
    """
    cdef int64_t place, index, size, count = 0
    for index in range(forest.n_variables):
        number[index] = -1
    for place in range(problem.n_constraints):
        number[problem.conditions[place].variable] = 0
    begin[0] = 0
    for index in range(forest.n_variables):
        size = 0
        if number[index] == 0:
            number[index] = count
            count += 1
            size = forest.variables[index].n_cells + 1
            if forest.variables[index].kind == ORDERED:
                size = max(ranges[index].last - ranges[index].first + 1, 0) + 1
        begin[index + 1] = begin[index] + size
    return count


cdef void _mark_borders(
    const Forest* forest,
    const Range* ranges,
    const Problem* problem,
    const int64_t* begin,
    int64_t* block_of,
) noexcept nogil:
    """Mark the cells of ordered variables at which some leaf begins or has ended."""
    cdef const Condition* condition
    cdef const Range* mine
    cdef int64_t place, index, at
    for place in range(problem.n_constraints):
        condition = &problem.conditions[place]
        index = condition.variable
        if (
            forest.variables[index].kind != ORDERED
            or condition.first > condition.last
        ):
            continue
        mine = &ranges[index]
        at = begin[index] - mine.first
        if condition.first > mine.first:
            block_of[at + condition.first] = 1
        if condition.last < mine.last:
            block_of[at + condition.last + 1] = 1


cdef int64_t _number_blocks(
    const Variable* variable,
    const Range* mine,
    const uint64_t* cells,
    int64_t* block_of,
    int64_t size,
    Block* blocks,
) noexcept nogil:
    """Give numbers to the blocks of one variable; return how many there are.

    `block_of` receives the block of each cell, `blocks` the cells of each block.
    """
    cdef int64_t rank, place, count = 0
    if variable.kind == ORDERED:
        for rank in range(mine.first, mine.last + 1):
            place = rank - mine.first
            if rank == mine.first or block_of[place] == 1:
                blocks[count].first = rank
                count += 1
            blocks[count - 1].last = rank
            block_of[place] = count - 1
        if mine.missing != 0:
            block_of[size - 1] = count
            blocks[count].first = blocks[count].last = variable.n_cells
            count += 1
        return count
    for rank in range(variable.n_cells + 1):
        if has(cells, variable.set_start, rank):
            blocks[count].first = blocks[count].last = rank
            block_of[rank] = count
            count += 1
    return count


cdef void _fill_mask(
    const Problem* problem,
    const Condition* condition,
    const Constraint* constraint,
    const Variable* variable,
    const Range* mine,
    const int64_t* block_of,
    int64_t size,
) noexcept nogil:
    """Write the set of blocks that a constraint allows."""
    cdef const Domain* domain = &problem.domains[constraint.domain]
    cdef int64_t first, last, member
    if variable.kind == ORDERED:
        if condition.first <= condition.last:
            first = block_of[condition.first - mine.first]
            last = block_of[condition.last - mine.first]
            add_range(problem.masks, constraint.place, first, last)
        if condition.missing != 0:
            add(problem.masks, constraint.place, block_of[size - 1])
        return
    for member in range(domain.n_blocks):
        first = problem.blocks[domain.block_start + member].first
        if has(problem.cells, condition.first, first):
            add(problem.masks, constraint.place, member)


cdef int _compact(
    const Forest* forest, const Visit* visit, Search* search
) except -1 nogil:
    """Join cells to blocks, and write the constraints as sets of them."""
    cdef Arena* arena = search.arena
    cdef const Range* ranges = visit.walk.ranges
    cdef Problem* problem = &search.problem
    cdef int64_t* number = integers(arena, forest.n_variables)
    cdef int64_t* begin = integers(arena, forest.n_variables + 1)
    cdef int64_t count = _number_variables(forest, ranges, problem, number, begin)
    cdef int64_t n_cells = begin[forest.n_variables] + 1
    cdef int64_t* block_of = filled(arena, n_cells, 0)
    cdef Domain* domains = <Domain*>take(arena, count, sizeof(Domain))
    cdef Block* blocks = <Block*>take(arena, n_cells, sizeof(Block))
    cdef int64_t n_blocks = 0, n_words = 0, size = 0, index, member, place, leaf
    cdef uint64_t asked
    cdef Domain* domain
    cdef Constraint* constraint
    _mark_borders(forest, ranges, problem, begin, block_of)
    for index in range(forest.n_variables):
        if number[index] < 0:
            continue
        domain = &domains[number[index]]
        domain.variable = index
        domain.block_start, domain.word_start = n_blocks, n_words
        domain.is_ordered = forest.variables[index].kind != CODES
        domain.n_blocks = _number_blocks(
            &forest.variables[index],
            &ranges[index],
            visit.walk.cells,
            block_of + begin[index],
            begin[index + 1] - begin[index],
            blocks + n_blocks,
        )
        domain.width = (domain.n_blocks + 63) >> 6
        domain.own = 0
        for member in range(domain.n_blocks):
            if (
                blocks[n_blocks + member].first
                <= visit.own_cell[index]
                <= blocks[n_blocks + member].last
            ):
                domain.own = member
        n_blocks += domain.n_blocks
        n_words += domain.width
    problem.constraints = <Constraint*>take(
        arena, problem.n_constraints, sizeof(Constraint)
    )
    for place in range(problem.n_constraints):
        constraint = &problem.constraints[place]
        constraint.domain = number[problem.conditions[place].variable]
        constraint.place = size
        size += domains[constraint.domain].width
    for leaf in range(problem.n_leaves):
        asked = 0
        for place in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
            asked |= bit_of(problem.constraints[place].domain)
        problem.leaves[leaf].domains = asked
    problem.masks = words(arena, size)
    problem.domains, problem.blocks = domains, blocks
    problem.n_domains, problem.n_blocks, problem.n_words = count, n_blocks, n_words
    for place in range(problem.n_constraints):
        index = problem.conditions[place].variable
        _fill_mask(
            problem,
            &problem.conditions[place],
            &problem.constraints[place],
            &forest.variables[index],
            &ranges[index],
            block_of + begin[index],
            begin[index + 1] - begin[index],
        )
    return 0


cdef int reach(const Forest* forest, Visit* visit, Search* search) except -1 nogil:
    """Collect the leaves that the box of the walk reaches, over blocks of cells.

    The problem of the search receives them; the box is the same afterwards.
    """
    _collect(forest, visit, search)
    _compact(forest, visit, search)
    search.problem.budget = NULL
    if visit.walk.tariff != NULL:
        measure(forest, visit.walk.tariff, search)
    return 0


# ---- Where the nodes of trees lie in memory.

def depth_first(const int32_t[::1] left, const int64_t[::1] roots):
    """Return a new place for each node, such that those of a path are neighbours.

    Siblings stay side by side, and behind a pair comes what is below its left node. Of
    large forests it is the memory that the walks wait for.

    Parameters
    ----------
    left : ndarray of int32
        The left child of each node, -1 for leaves; the right one is behind it.
    roots : ndarray of int64
        The root of each tree.
    """
    made = np.empty(len(left), dtype=np.int64)
    cdef int64_t[::1] place = made
    cdef int64_t[::1] stack = np.empty(len(left) + 1, dtype=np.int64)
    cdef int64_t n_nodes = left.shape[0], free = 0, size, child, tree
    for tree in range(roots.shape[0]):
        if not 0 <= roots[tree] < n_nodes or free == n_nodes:
            raise ValueError(f"tree {tree} has no root among the {n_nodes} nodes")
        place[roots[tree]] = free
        free += 1
        stack[0] = roots[tree]
        size = 1
        while size > 0:
            size -= 1
            child = left[stack[size]]
            if child >= 0:
                if child + 1 >= n_nodes or free + 2 > n_nodes:
                    raise ValueError(f"tree {tree} has children that are no nodes")
                place[child] = free
                place[child + 1] = free + 1
                free += 2
                stack[size] = child + 1
                stack[size + 1] = child
                size += 2
    return made
