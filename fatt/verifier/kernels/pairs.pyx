"""Pairs of similar people: a problem whose leaves are pairs of leaves.

Each tree is walked by two people at once. What they share is narrowed for both, what
may differ for each alone, and a pair of leaves is kept if two similar people reach it.
A variable that may differ becomes one domain whose blocks are *pairs* of blocks that
two similar people have: so similarity lies in the domains, and the search needs to know
nothing of it.

Most pairs of leaves say nothing, and are joined on the way. Where both people are at
the same node, and nothing below asks what may differ, their difference is zero. Where
all leaves below two nodes say the same, they are one.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from fatt.ensemble.arrays cimport data_of
from fatt.verifier.kernels.arena cimport (
    Arena,
    close_arena,
    filled,
    integers,
    more,
    open_arena,
    take,
    words,
    zeros,
)
from fatt.verifier.kernels.boundary cimport read_arithmetic, read_forest
from fatt.verifier.kernels.records cimport (
    NOW,
    ORDERED,
    STOP,
    Arithmetic,
    Constraint,
    Domain,
    Entry,
    Forest,
    Kin,
    Leaf,
    Node,
    Range,
    Variable,
    add,
    bit_of,
    copy_words,
    first_from,
    has,
    meets,
)

from fatt.verifier.kernels import records

_INTEGER = np.dtype(np.int64)
_WORD = np.dtype(np.uint64)
_FLAG = np.dtype(np.bool_)

cdef enum:
    # Whose blocks a domain has: one for both people, pairs of blocks, or those of one
    # of the two.
    OF_BOTH = 0
    OF_PAIR = 1
    OF_FIRST = 2
    OF_SECOND = 3

cdef enum:
    # Where a set of blocks would begin that is all of its domain.
    WHOLE = -2

cdef Leaf _leaf
cdef Constraint _constraint
cdef Domain _domain
cdef Entry _entry

LEAF = np.asarray(<Leaf[:1]>&_leaf).dtype
CONSTRAINT = np.asarray(<Constraint[:1]>&_constraint).dtype
DOMAIN = np.asarray(<Domain[:1]>&_domain).dtype
ENTRY = np.asarray(<Entry[:1]>&_entry).dtype


# A variable that a pair of leaves asks for, and the cells of either person.
cdef struct Asked:
    int64_t variable
    Range cells[2]

# A pair of leaves: where what it asks for begins, where the sets of that begin, and
# the rows of both leaves; -1 where both are the same, whichever that is.
cdef struct PairLeaf:
    int64_t start
    int64_t set_start
    int32_t row[2]

# What one person's cells of a variable were before they were narrowed.
cdef struct Before:
    int64_t variable
    int64_t person
    Range cells

# The walk of two people through the trees. `ranges` and `cells` have those of both, of
# each variable side by side; `moving` tells below which nodes something is asked that
# may differ.
cdef struct Walk:
    const Forest* forest
    const Arithmetic* arithmetic
    const Kin* kin
    const int64_t* low
    const int64_t* high
    const uint64_t* rows
    const volatile int64_t* clock
    int64_t time
    bint is_exact
    uint8_t* moving
    Range* ranges
    uint64_t* cells
    Before* trail
    uint64_t* trail_cells
    int64_t* seen
    int64_t widest
    int64_t depth
    int64_t stamp
    Arena* arena
    PairLeaf* leaves
    Asked* asked
    uint64_t* sets
    int64_t n_leaves
    int64_t n_asked
    int64_t n_sets
    int64_t most_leaves
    int64_t most_asked
    int64_t most_sets
    bint is_over


# ---- Who is similar in one variable.

cdef inline uint64_t* _set(
    const Walk* walk, int64_t index, int64_t person
) noexcept nogil:
    """Return the set of cells that a person may have."""
    cdef const Variable* variable = &walk.forest.variables[index]
    return walk.cells + 2 * variable.set_start + person * variable.width


cdef bint _ranges_meet(
    const Walk* walk, int64_t index, const Range* one, const Range* two
) noexcept nogil:
    """Tell whether two ranges of a moving variable hold a similar pair."""
    cdef const Kin* kin = &walk.kin[index]
    cdef int64_t missing = kin.start + walk.forest.variables[index].n_cells
    cdef bint has_one = one.first <= one.last, has_two = two.first <= two.last
    if kin.is_free != 0:
        return (has_one or one.missing != 0) and (has_two or two.missing != 0)
    if one.missing != 0:
        if two.missing != 0 and kin.may_miss != 0:
            return True
        if has_two and max(two.first, walk.low[missing]) <= min(
            two.last, walk.high[missing]
        ):
            return True
    if not has_one:
        return False
    if two.missing != 0 and kin.may_lose != 0:
        return True
    # Neighbouring cells have neighbours that meet, so that the ends tell all.
    return has_two and max(two.first, walk.low[kin.start + one.first]) <= min(
        two.last, walk.high[kin.start + one.last]
    )


cdef bint _sets_meet(
    const Walk* walk, int64_t index, const uint64_t* one, const uint64_t* two
) noexcept nogil:
    """Tell whether two sets of cells of a moving variable hold a similar pair."""
    cdef const Kin* kin = &walk.kin[index]
    cdef int64_t width = walk.forest.variables[index].width
    cdef int64_t cell = first_from(one, 0, width, 0)
    if kin.is_free != 0:
        return cell >= 0 and first_from(two, 0, width, 0) >= 0
    while cell >= 0:
        if meets(walk.rows, kin.start + cell * width, two, 0, width):
            return True
        cell = first_from(one, 0, width, cell + 1)
    return False


cdef bint _is_some(const Walk* walk, int64_t index) noexcept nogil:
    """Tell whether a similar pair is left in one variable."""
    cdef const Range* one = &walk.ranges[2 * index]
    cdef const Range* two = &walk.ranges[2 * index + 1]
    cdef int64_t width = walk.forest.variables[index].width
    if walk.forest.variables[index].kind == ORDERED:
        if walk.kin[index].moves == 0:
            return one.first <= one.last or one.missing != 0
        return _ranges_meet(walk, index, one, two)
    if walk.kin[index].moves == 0:
        return first_from(_set(walk, index, 0), 0, width, 0) >= 0
    return _sets_meet(walk, index, _set(walk, index, 0), _set(walk, index, 1))


# ---- The walk.

cdef bint _cut(
    Walk* walk, const Node* node, int64_t person, bint is_left
) noexcept nogil:
    """Narrow what one person may have to a side of a node; tell if a pair is left."""
    cdef int64_t index = node.feature, offset
    cdef const Variable* variable = &walk.forest.variables[index]
    cdef Range* mine = &walk.ranges[2 * index + person]
    cdef Before* old = &walk.trail[walk.depth]
    cdef uint64_t* cells = _set(walk, index, person)
    cdef uint64_t* old_cells = walk.trail_cells + walk.depth * walk.widest
    cdef uint64_t left
    walk.depth += 1
    old.variable, old.person = index, person
    if variable.kind == ORDERED:
        old.cells.first, old.cells.last = mine.first, mine.last
        old.cells.missing = mine.missing
        if is_left:
            mine.last = min(mine.last, <int64_t>node.split)
        else:
            mine.first = max(mine.first, <int64_t>node.split + 1)
        if (node.missing_left != 0) != is_left:
            mine.missing = 0
        return _is_some(walk, index)
    for offset in range(variable.width):
        left = walk.forest.masks[node.split + offset]
        old_cells[offset] = cells[offset]
        cells[offset] &= left if is_left else ~left
    return _is_some(walk, index)


cdef void _undo(Walk* walk) noexcept nogil:
    """Give back what was narrowed last."""
    cdef const Before* old
    cdef Range* mine
    walk.depth -= 1
    old = &walk.trail[walk.depth]
    if walk.forest.variables[old.variable].kind == ORDERED:
        mine = &walk.ranges[2 * old.variable + old.person]
        mine.first, mine.last = old.cells.first, old.cells.last
        mine.missing = old.cells.missing
        return
    copy_words(
        walk.trail_cells + walk.depth * walk.widest,
        _set(walk, old.variable, old.person),
        walk.forest.variables[old.variable].width,
    )


cdef int _emit(Walk* walk, int32_t one, int32_t two) except -1 nogil:
    """Note a pair of leaves, and what the walk asks for where it stands."""
    cdef Arena* arena = walk.arena
    cdef PairLeaf* leaf
    cdef Asked* asked
    cdef int64_t level, index, person, room, width
    if walk.n_leaves + 2 > walk.most_leaves:
        walk.most_leaves *= 2
        walk.leaves = <PairLeaf*>more(
            arena, walk.leaves, walk.n_leaves, walk.most_leaves, sizeof(PairLeaf)
        )
    room = walk.n_asked + walk.depth
    if room > walk.most_asked:
        walk.most_asked = 2 * room
        walk.asked = <Asked*>more(
            arena, walk.asked, walk.n_asked, walk.most_asked, sizeof(Asked)
        )
    room = walk.n_sets + 2 * walk.widest * walk.depth
    if room > walk.most_sets:
        walk.most_sets = 2 * room
        walk.sets = <uint64_t*>more(
            arena, walk.sets, walk.n_sets, walk.most_sets, sizeof(uint64_t)
        )
    leaf = &walk.leaves[walk.n_leaves]
    leaf.start, leaf.set_start = walk.n_asked, walk.n_sets
    leaf.row[0], leaf.row[1] = one, two
    walk.stamp += 1
    for level in range(walk.depth):
        index = walk.trail[level].variable
        if walk.seen[index] == walk.stamp:
            continue
        walk.seen[index] = walk.stamp
        asked = &walk.asked[walk.n_asked]
        walk.n_asked += 1
        asked.variable = index
        width = walk.forest.variables[index].width
        for person in range(2):
            asked.cells[person].first = walk.ranges[2 * index + person].first
            asked.cells[person].last = walk.ranges[2 * index + person].last
            asked.cells[person].missing = walk.ranges[2 * index + person].missing
            if walk.forest.variables[index].kind != ORDERED:
                asked.cells[person].first = walk.n_sets
                copy_words(_set(walk, index, person), walk.sets + walk.n_sets, width)
                walk.n_sets += width
    walk.n_leaves += 1
    walk.leaves[walk.n_leaves].start = walk.n_asked
    return 0


cdef bint _say_same(
    const Walk* walk, const PairLeaf* one, const PairLeaf* two
) noexcept nogil:
    """Tell whether two pairs of leaves say the same."""
    cdef const Arithmetic* arithmetic = walk.arithmetic
    cdef int64_t n_columns = arithmetic.n_columns, person, column, mine, other
    cdef int64_t differences[2]
    cdef const PairLeaf* leaf
    if not walk.is_exact:
        for person in range(2):
            leaf = one if person == 0 else two
            differences[person] = 0
            if leaf.row[0] >= 0:
                differences[person] = (
                    arithmetic.scaled[leaf.row[1]] - arithmetic.scaled[leaf.row[0]]
                )
        return differences[0] == differences[1]
    for person in range(2):
        mine, other = one.row[person] * n_columns, two.row[person] * n_columns
        for column in range(n_columns):
            if arithmetic.values[mine + column] != arithmetic.values[other + column]:
                return False
    return True


cdef int _join(Walk* walk, int64_t first) except -1 nogil:
    """Make one leaf of those from `first` on, if all of them say the same."""
    cdef const PairLeaf* leaves = walk.leaves
    cdef int64_t place
    cdef int32_t one, two
    if walk.n_leaves - first < 2:
        return 0
    for place in range(first + 1, walk.n_leaves):
        if not _say_same(walk, &leaves[first], &leaves[place]):
            return 0
    one, two = leaves[first].row[0], leaves[first].row[1]
    walk.n_leaves = first
    walk.n_asked, walk.n_sets = leaves[first].start, leaves[first].set_start
    return _emit(walk, one, two)


cdef int _descend(Walk* walk, int64_t one, int64_t two) except -1 nogil:
    """Collect the pairs of leaves below two nodes of a tree.

    Who stands at a node of a moving variable goes both ways, as does the other; at any
    other both take the same way.
    """
    cdef const Node* nodes = walk.forest.nodes
    cdef const Node* here = &nodes[one]
    cdef int64_t before = walk.n_leaves, side, other, person = 0
    if one == two and not walk.is_exact and walk.moving[one] == 0:
        return _emit(walk, -1, -1)
    if here.feature < 0:
        here = &nodes[two]
        if here.feature < 0:
            return _emit(walk, nodes[one].leaf, here.leaf)
        # What both share is kept with the first.
        person = walk.kin[here.feature].moves
    elif one == two:
        for side in range(2):
            if _cut(walk, here, 0, side == 0):
                if walk.kin[here.feature].moves == 0:
                    _descend(walk, here.left + side, here.left + side)
                else:
                    for other in range(2):
                        if _cut(walk, here, 1, other == 0):
                            _descend(walk, here.left + side, here.left + other)
                        _undo(walk)
            _undo(walk)
        return _join(walk, before)
    for side in range(2):
        if _cut(walk, here, person, side == 0):
            if here == &nodes[one]:
                _descend(walk, here.left + side, two)
            else:
                _descend(walk, one, here.left + side)
        _undo(walk)
    return _join(walk, before)


cdef int _prepare(
    Walk* walk,
    const int64_t* first,
    const int64_t* last,
    const uint8_t* missing,
    const uint64_t* codes,
    int64_t n_nodes,
) except -1 nogil:
    """Take room for the walk, and let both people have all that is allowed."""
    cdef Arena* arena = walk.arena
    cdef const Forest* forest = walk.forest
    cdef const Node* node
    cdef int64_t n = forest.n_variables, index, person, n_words = 0, place
    cdef int64_t depth = 2 * walk.arithmetic.rule.depth + 2
    walk.widest = 1
    for index in range(n):
        n_words += forest.variables[index].width
        walk.widest = max(walk.widest, forest.variables[index].width)
    walk.ranges = <Range*>zeros(arena, 2 * n, sizeof(Range))
    walk.cells = words(arena, 2 * n_words)
    walk.trail = <Before*>zeros(arena, depth, sizeof(Before))
    walk.trail_cells = words(arena, depth * walk.widest)
    walk.seen = filled(arena, n, -1)
    walk.depth = walk.stamp = walk.n_leaves = walk.n_asked = walk.n_sets = 0
    walk.most_leaves, walk.most_asked, walk.most_sets = 1024, 4096, 4096
    walk.leaves = <PairLeaf*>take(arena, walk.most_leaves, sizeof(PairLeaf))
    walk.asked = <Asked*>take(arena, walk.most_asked, sizeof(Asked))
    walk.sets = words(arena, walk.most_sets)
    walk.moving = <uint8_t*>zeros(arena, n_nodes, 1)
    # Children stand behind their parents.
    for place in range(n_nodes - 1, -1, -1):
        node = &forest.nodes[place]
        if node.feature >= 0:
            walk.moving[place] = (
                walk.kin[node.feature].moves != 0
                or walk.moving[node.left] != 0
                or walk.moving[node.left + 1] != 0
            )
    for index in range(n):
        for person in range(2):
            place = person * n + index
            walk.ranges[2 * index + person].first = first[place]
            walk.ranges[2 * index + person].last = last[place]
            walk.ranges[2 * index + person].missing = missing[place]
            copy_words(
                codes + person * n_words + forest.variables[index].set_start,
                _set(walk, index, person),
                forest.variables[index].width,
            )
    return 0


# ---- Domains.

# The blocks of a variable, for either person, and the domains that have them. `border`
# tells where blocks begin.
cdef struct Known:
    int64_t domain[2]
    int64_t n_blocks[2]
    int64_t* block_of[2]
    Range* blocks[2]
    int64_t* border[2]

# The blocks of all domains: the cells of both people, and the numbers of their blocks.
cdef struct Members:
    int64_t* cells
    int64_t* numbers
    int64_t* kind
    int64_t count
    int64_t room


cdef void _mark_borders(
    const Walk* walk, const Asked* asked, Known* known
) noexcept nogil:
    """Mark the cells at which something that is asked for begins or has ended."""
    cdef int64_t person
    for person in range(2):
        if asked.cells[person].first <= asked.cells[person].last:
            known.border[person][asked.cells[person].first] = 1
            known.border[person][asked.cells[person].last + 1] = 1


cdef int _number_blocks(
    Walk* walk, int64_t index, int64_t person, Known* known
) except -1 nogil:
    """Give numbers to the blocks that a person may have."""
    cdef const Variable* variable = &walk.forest.variables[index]
    cdef const Range* mine = &walk.ranges[2 * index + person]
    cdef int64_t size = variable.n_cells + 1, cell, count = 0
    cdef int64_t* block_of = filled(walk.arena, size, -1)
    cdef Range* blocks = <Range*>zeros(walk.arena, size, sizeof(Range))
    if variable.kind == ORDERED:
        for cell in range(mine.first, mine.last + 1):
            if cell == mine.first or known.border[person][cell] != 0:
                blocks[count].first = cell
                count += 1
            blocks[count - 1].last = cell
            block_of[cell] = count - 1
        if mine.missing != 0:
            block_of[variable.n_cells] = count
            blocks[count].first, blocks[count].last = 0, -1
            blocks[count].missing = 1
            count += 1
    else:
        for cell in range(size):
            if has(_set(walk, index, person), 0, cell):
                block_of[cell] = count
                blocks[count].first = blocks[count].last = cell
                count += 1
    known.block_of[person], known.blocks[person] = block_of, blocks
    known.n_blocks[person] = count
    return 0


cdef bint _are_similar(
    const Walk* walk, int64_t index, const Range* one, const Range* two
) noexcept nogil:
    """Tell whether two blocks hold a similar pair."""
    cdef const Kin* kin = &walk.kin[index]
    cdef int64_t width = walk.forest.variables[index].width
    if walk.forest.variables[index].kind == ORDERED:
        return _ranges_meet(walk, index, one, two)
    return kin.is_free != 0 or has(
        walk.rows, kin.start + one.first * width, two.first
    )


cdef void _write_cells(
    const Walk* walk, int64_t index, const Range* block, int64_t* cells
) noexcept nogil:
    """Write the first and the last cell of a block; missing is the cell behind all."""
    cells[0], cells[1] = block.first, block.last
    if block.missing != 0:
        cells[0] = cells[1] = walk.forest.variables[index].n_cells


cdef int _add_member(
    Walk* walk, Members* members, int64_t index, const Known* known, int64_t one,
    int64_t two,
) except -1 nogil:
    """Add a block to the last domain: that of either person, -1 for none."""
    cdef int64_t place = members.count
    if members.count == members.room:
        members.cells = <int64_t*>more(
            walk.arena, members.cells, 4 * place, 8 * place, sizeof(int64_t)
        )
        members.numbers = <int64_t*>more(
            walk.arena, members.numbers, 2 * place, 4 * place, sizeof(int64_t)
        )
        members.room *= 2
    members.cells[4 * place] = members.cells[4 * place + 1] = -1
    members.cells[4 * place + 2] = members.cells[4 * place + 3] = -1
    if one >= 0:
        _write_cells(walk, index, &known.blocks[0][one], members.cells + 4 * place)
    if two >= 0:
        _write_cells(walk, index, &known.blocks[1][two], members.cells + 4 * place + 2)
    members.numbers[2 * place], members.numbers[2 * place + 1] = one, two
    members.count += 1
    return 0


cdef int64_t _add_domains(
    Walk* walk,
    int64_t index,
    Known* known,
    int64_t joint_limit,
    Domain* domains,
    int64_t count,
    Members* members,
) except -1 nogil:
    """Add the domains of a variable that is asked for; return how many there are."""
    cdef int64_t person, one, two, kind
    cdef Domain* domain
    cdef bint moves = walk.kin[index].moves != 0
    for person in range(2):
        _number_blocks(walk, index, person, known)
    # Sets of pairs grow with both; where all pairs are similar, two domains will do.
    if moves and (
        walk.kin[index].is_free == 0
        or known.n_blocks[0] * known.n_blocks[1] <= joint_limit
    ):
        kind = OF_PAIR
    else:
        kind = OF_FIRST if moves else OF_BOTH
    for person in range(1 + (kind == OF_FIRST)):
        domain = &domains[count]
        domain.variable, domain.block_start = index, members.count
        domain.is_ordered = walk.forest.variables[index].kind == ORDERED
        domain.own = 0
        known.domain[person] = count
        if person == 0:
            known.domain[1] = count
        members.kind[count] = kind + person
        if kind != OF_PAIR:
            for one in range(known.n_blocks[person]):
                _add_member(
                    walk,
                    members,
                    index,
                    known,
                    one if person == 0 else -1,
                    -1 if person == 0 else one,
                )
        else:
            for one in range(known.n_blocks[0]):
                for two in range(known.n_blocks[1]):
                    if _are_similar(
                        walk, index, &known.blocks[0][one], &known.blocks[1][two]
                    ):
                        _add_member(walk, members, index, known, one, two)
        domain.n_blocks = members.count - domain.block_start
        domain.width = (domain.n_blocks + 63) >> 6
        count += 1
    return count


# ---- Constraints: the same sets of blocks are kept once.

# Sets that are known already: a hash table of constraints, and for each of them what
# was asked for. A place of -1 allows all of the domain.
cdef struct Shared:
    int64_t* table
    int64_t size
    Asked* asked
    Constraint* made
    int64_t n_made
    uint64_t* masks
    int64_t n_masks
    int64_t most_masks
    uint8_t* allowed


cdef uint64_t _hash_of(
    const Walk* walk, const Asked* asked, int64_t domain
) noexcept nogil:
    cdef int64_t width = walk.forest.variables[asked.variable].width
    cdef int64_t person, offset
    cdef uint64_t found = <uint64_t>domain
    for person in range(2):
        if width == 0:
            found = found * 1000003 + <uint64_t>asked.cells[person].first
            found = found * 1000003 + <uint64_t>asked.cells[person].last
            found = found * 1000003 + <uint64_t>asked.cells[person].missing
        for offset in range(width):
            found = found * 1000003 + (
                walk.sets[asked.cells[person].first + offset]
            )
            found ^= found >> 29
    return found ^ (found >> 32)


cdef bint _ask_same(
    const Walk* walk, const Asked* one, const Asked* two
) noexcept nogil:
    cdef int64_t width = walk.forest.variables[one.variable].width
    cdef int64_t person, offset
    for person in range(2):
        if width == 0:
            if (
                one.cells[person].first != two.cells[person].first
                or one.cells[person].last != two.cells[person].last
                or one.cells[person].missing != two.cells[person].missing
            ):
                return False
        for offset in range(width):
            if (
                walk.sets[one.cells[person].first + offset]
                != walk.sets[two.cells[person].first + offset]
            ):
                return False
    return True


cdef int _find_allowed(
    const Walk* walk,
    const Asked* asked,
    const Known* known,
    int64_t person,
    uint8_t* allowed,
) noexcept nogil:
    """Tell for each of a person's blocks whether it is what is asked for."""
    cdef const Range* cells = &asked.cells[person]
    cdef const Range* block
    cdef int64_t number
    for number in range(known.n_blocks[person]):
        block = &known.blocks[person][number]
        if walk.forest.variables[asked.variable].kind != ORDERED:
            allowed[number] = has(walk.sets, cells.first, block.first)
        elif block.missing != 0:
            allowed[number] = cells.missing != 0
        else:
            allowed[number] = cells.first <= block.first and block.last <= cells.last
    return 0


cdef int64_t _constrain(
    Walk* walk,
    Shared* shared,
    const Asked* asked,
    const Known* known,
    const Domain* domain,
    int64_t number,
    const Members* members,
) except -1 nogil:
    """Return where the set of blocks begins that is asked for; or `WHOLE`."""
    cdef uint64_t slot = _hash_of(walk, asked, number) & <uint64_t>(shared.size - 1)
    cdef int64_t found, member, one, two, most = known.n_blocks[0], place, count = 0
    cdef uint8_t* other
    while shared.table[slot] >= 0:
        found = shared.table[slot]
        if shared.made[found].domain == number and _ask_same(
            walk, asked, &shared.asked[found]
        ):
            return shared.made[found].place
        slot = (slot + 1) & <uint64_t>(shared.size - 1)
    if shared.n_masks + domain.width > shared.most_masks:
        place = 2 * (shared.n_masks + domain.width)
        shared.masks = <uint64_t*>more(
            walk.arena, shared.masks, shared.n_masks, place, sizeof(uint64_t)
        )
        shared.most_masks = place
    for place in range(domain.width):
        shared.masks[shared.n_masks + place] = 0
    other = shared.allowed + most
    _find_allowed(walk, asked, known, 0, shared.allowed)
    _find_allowed(walk, asked, known, 1, other)
    for member in range(domain.n_blocks):
        place = domain.block_start + member
        one, two = members.numbers[2 * place], members.numbers[2 * place + 1]
        if (one < 0 or shared.allowed[one] != 0) and (two < 0 or other[two] != 0):
            add(shared.masks, shared.n_masks, member)
            count += 1
    found = shared.n_made
    shared.table[slot] = found
    memcpy(&shared.asked[found], asked, sizeof(Asked))
    shared.made[found].domain = number
    shared.made[found].place = WHOLE if count == domain.n_blocks else shared.n_masks
    shared.n_made += 1
    if count < domain.n_blocks:
        shared.n_masks += domain.width
    return shared.made[found].place


# All that `collect` hands back.
cdef struct Made:
    int64_t* tree_start
    Leaf* leaves
    int32_t* rows
    Constraint* constraints
    uint64_t* masks
    Domain* domains
    Members members
    int64_t* entry_start
    Entry* entries
    int64_t n_leaves
    int64_t n_constraints
    int64_t n_masks
    int64_t n_domains


cdef int _compact(Walk* walk, int64_t joint_limit, Made* made) except -1 nogil:
    """Join cells to blocks, pair them, and write what is asked as sets of these."""
    cdef Arena* arena = walk.arena
    cdef int64_t n = walk.forest.n_variables, index, place, leaf, person, turn, size
    cdef int64_t count = 0, n_words = 0, most = 1, number, n_constraints = 0, found
    cdef Known* known = <Known*>zeros(arena, n, sizeof(Known))
    cdef Shared shared
    cdef const Asked* asked
    cdef const Domain* domain
    cdef Constraint* constraint
    cdef int64_t* free
    made.domains = <Domain*>zeros(arena, 2 * n, sizeof(Domain))
    made.members.room, made.members.count = 256, 0
    made.members.cells = integers(arena, 4 * made.members.room)
    made.members.numbers = integers(arena, 2 * made.members.room)
    made.members.kind = integers(arena, 2 * n)
    for place in range(walk.n_asked):
        asked = &walk.asked[place]
        index = asked.variable
        if known[index].border[0] == NULL:
            for person in range(2):
                size = walk.forest.variables[index].n_cells + 2
                known[index].border[person] = filled(arena, size, 0)
        if walk.forest.variables[index].kind == ORDERED:
            _mark_borders(walk, asked, &known[index])
    for index in range(n):
        if known[index].border[0] != NULL:
            count = _add_domains(
                walk,
                index,
                &known[index],
                joint_limit,
                made.domains,
                count,
                &made.members,
            )
            most = max(most, known[index].n_blocks[0] + known[index].n_blocks[1])
    for number in range(count):
        made.domains[number].word_start = n_words
        n_words += made.domains[number].width
    shared.size = 1024
    while shared.size < 4 * walk.n_asked:
        shared.size *= 2
    shared.table = filled(arena, shared.size, -1)
    shared.asked = <Asked*>take(arena, 2 * walk.n_asked, sizeof(Asked))
    shared.made = <Constraint*>take(arena, 2 * walk.n_asked, sizeof(Constraint))
    shared.n_made = shared.n_masks = 0
    shared.most_masks = 1024
    shared.masks = words(arena, shared.most_masks)
    shared.allowed = <uint8_t*>zeros(arena, most, 1)
    made.constraints = <Constraint*>take(arena, 2 * walk.n_asked, sizeof(Constraint))
    made.leaves = <Leaf*>zeros(arena, walk.n_leaves + 1, sizeof(Leaf))
    made.rows = <int32_t*>zeros(arena, 2 * walk.n_leaves, sizeof(int32_t))
    made.entry_start = filled(arena, count + 1, 0)
    for leaf in range(walk.n_leaves):
        made.leaves[leaf].start = n_constraints
        made.leaves[leaf].row = <int32_t>leaf
        made.rows[2 * leaf] = walk.leaves[leaf].row[0]
        made.rows[2 * leaf + 1] = walk.leaves[leaf].row[1]
        for place in range(walk.leaves[leaf].start, walk.leaves[leaf + 1].start):
            asked = &walk.asked[place]
            index = asked.variable
            for turn in range(2):
                number = known[index].domain[turn]
                if turn == 1 and number == known[index].domain[0]:
                    break
                domain = &made.domains[number]
                found = _constrain(
                    walk, &shared, asked, &known[index], domain, number, &made.members
                )
                if found != WHOLE:
                    constraint = &made.constraints[n_constraints]
                    constraint.domain, constraint.place = number, found
                    made.leaves[leaf].domains |= bit_of(number)
                    made.entry_start[number + 1] += 1
                    n_constraints += 1
    made.leaves[walk.n_leaves].start = n_constraints
    for number in range(count):
        made.entry_start[number + 1] += made.entry_start[number]
    made.entries = <Entry*>take(arena, n_constraints, sizeof(Entry))
    free = <int64_t*>more(arena, made.entry_start, count, count, sizeof(int64_t))
    for leaf in range(walk.n_leaves):
        for place in range(made.leaves[leaf].start, made.leaves[leaf + 1].start):
            constraint = &made.constraints[place]
            made.entries[free[constraint.domain]].place = constraint.place
            made.entries[free[constraint.domain]].leaf = leaf
            free[constraint.domain] += 1
    made.masks, made.n_masks = shared.masks, shared.n_masks
    made.n_leaves, made.n_domains = walk.n_leaves, count
    made.n_constraints = n_constraints
    return 0


cdef int _fill(object made, const void* source) except -1:
    """Copy an array out of the arena into one of Python's."""
    cdef uint8_t[::1] target
    if made.nbytes > 0:
        target = made.reshape(-1).view(np.uint8)
        memcpy(&target[0], source, made.nbytes)
    return 0


def collect(
    forest, arithmetic, kin, relation, allowed, bint is_exact, int64_t joint_limit,
    clock, int64_t time
):
    """Collect the pairs of leaves that two similar people reach, over pairs of blocks.

    Parameters
    ----------
    forest, arithmetic
        The ensemble.
    kin, relation
        How people may differ: `KIN` for each variable, and then low, high and rows.
    allowed
        First and last cell, missing, and sets of cells, that either person may have.
    is_exact
        Whether the values of both leaves matter; else only how much they differ.
    joint_limit
        Pairs of blocks for which a variable in which all are similar has one domain.
    clock, time
        Milliseconds since the start, and when to give up.

    Returns
    -------
    Pairs or None
        None if there was no time.
    """
    cdef Forest my_forest
    cdef Arithmetic my_arithmetic
    cdef Walk walk
    cdef Made made
    cdef Arena arena
    cdef int64_t tree, n_nodes = len(forest.nodes), n_words = 0, index
    cdef const int64_t* first
    cdef const int64_t* last
    cdef const uint8_t* missing
    cdef const uint64_t* codes
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &my_arithmetic)
    n = my_forest.n_variables
    for index in range(n):
        n_words += my_forest.variables[index].width
    walk.forest, walk.arithmetic, walk.arena = &my_forest, &my_arithmetic, &arena
    walk.kin = <const Kin*>data_of(kin, records.KIN, (n,), False, "kin")
    low, high, rows = relation
    walk.low = <const int64_t*>data_of(low, _INTEGER, (len(low),), False, "low")
    walk.high = <const int64_t*>data_of(high, _INTEGER, (len(low),), False, "high")
    walk.rows = <const uint64_t*>data_of(rows, _WORD, (len(rows),), False, "rows")
    for index in range(n):
        _check_kin(&my_forest.variables[index], &walk.kin[index], len(low), len(rows))
    first_, last_, missing_, codes_ = allowed
    first = <const int64_t*>data_of(first_, _INTEGER, (2, n), False, "first")
    last = <const int64_t*>data_of(last_, _INTEGER, (2, n), False, "last")
    missing = <const uint8_t*>data_of(missing_, _FLAG, (2, n), False, "missing")
    codes = <const uint64_t*>data_of(codes_, _WORD, (2, n_words), False, "codes")
    for tree in range(2 * n):
        index = tree % n
        if my_forest.variables[index].kind == ORDERED and not (
            0 <= first[tree] and last[tree] < my_forest.variables[index].n_cells
        ):
            raise ValueError(f"variable {index} has no such cells")
    if not is_exact and my_arithmetic.n_columns != 1:
        raise ValueError("differences are those of one score")
    walk.clock = <const volatile int64_t*>data_of(clock, _INTEGER, (2,), False, "clock")
    walk.time, walk.is_exact, walk.is_over = time, is_exact, False
    open_arena(&arena)
    try:
        with nogil:
            _prepare(&walk, first, last, missing, codes, n_nodes)
            made.tree_start = integers(&arena, my_forest.n_trees + 1)
            made.tree_start[0] = 0
            for tree in range(my_forest.n_trees):
                if walk.clock[STOP] != 0 or walk.clock[NOW] >= time:
                    walk.is_over = True
                    break
                _descend(&walk, my_forest.roots[tree], my_forest.roots[tree])
                made.tree_start[tree + 1] = walk.n_leaves
            if not walk.is_over:
                _compact(&walk, joint_limit, &made)
        if walk.is_over:
            return None
        n_domains, n_blocks = made.n_domains, made.members.count
        n_leaves, n_constraints = made.n_leaves, made.n_constraints
        pairs = records.Pairs(
            np.empty(my_forest.n_trees + 1, dtype=np.int64),
            np.empty(n_leaves + 1, dtype=LEAF),
            np.empty((n_leaves, 2), dtype=np.int32),
            np.empty(n_constraints, dtype=CONSTRAINT),
            np.empty(made.n_masks, dtype=np.uint64),
            np.empty(n_domains, dtype=DOMAIN),
            np.empty(n_domains, dtype=np.int64),
            np.empty((n_blocks, 4), dtype=np.int64),
            np.empty(n_domains + 1, dtype=np.int64),
            np.empty(n_constraints, dtype=ENTRY),
        )
        _fill(pairs.tree_start, made.tree_start)
        _fill(pairs.leaves, made.leaves)
        _fill(pairs.rows, made.rows)
        _fill(pairs.constraints, made.constraints)
        _fill(pairs.masks, made.masks)
        _fill(pairs.domains, made.domains)
        _fill(pairs.kind, made.members.kind)
        _fill(pairs.cells, made.members.cells)
        _fill(pairs.entry_start, made.entry_start)
        _fill(pairs.entries, made.entries)
        return pairs
    finally:
        close_arena(&arena)


cdef int _check_kin(
    const Variable* variable, const Kin* kin, int64_t n_ends, int64_t n_rows
) except -1:
    """Refuse a relation that points anywhere that is not there."""
    cdef int64_t size = variable.n_cells + 1
    if kin.moves not in (0, 1):
        raise ValueError("a variable moves, or does not")
    if kin.moves == 0 or kin.is_free != 0:
        return 0
    if variable.kind != ORDERED:
        size, n_ends = size * variable.width, n_rows
    if not 0 <= kin.start <= n_ends - size:
        raise ValueError("the relation of a variable is not among all")
    return 0
