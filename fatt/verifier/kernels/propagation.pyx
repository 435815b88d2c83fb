"""Propagation: drop leaves that cannot be part of a win, and shrink the domains.

A part of the box is a bit set per domain. Each tree keeps the leaves that are still
alive, the best first. Dropping and shrinking take turns until neither changes anything.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.verifier.kernels.records cimport (
    EMPTY,
    SAME,
    SMALLER,
    Constraint,
    Domain,
    Leaf,
    Part,
    Problem,
    meets,
)


cdef inline bint _fits(
    const Problem* problem, int64_t leaf, const uint64_t* box
) noexcept nogil:
    """Tell whether a leaf has a point in the box."""
    cdef const Constraint* constraint
    cdef const Domain* domain
    cdef int64_t number
    for number in range(problem.leaves[leaf].start, problem.leaves[leaf + 1].start):
        constraint = &problem.constraints[number]
        domain = &problem.domains[constraint.domain]
        if not meets(
            box, domain.word_start, problem.masks, constraint.place, domain.width
        ):
            return False
    return True


cdef int64_t _bound(
    const Problem* problem, const Part* part, int64_t constant
) noexcept nogil:
    """Add up the best leaf of each tree."""
    cdef int64_t tree, total = constant
    for tree in range(part.n_trees):
        total += problem.leaves[part.alive[part.start[tree]]].value
    return total


cdef bint _drop_leaves(
    const Problem* problem, const Part* part, int64_t slack
) noexcept nogil:
    """Keep the leaves that fit the box and lose at most `slack`; False if none does."""
    cdef const Leaf* leaves = problem.leaves
    cdef int64_t* alive = part.alive
    cdef int64_t* start = part.start
    cdef int64_t write = start[0], following = start[0]
    cdef int64_t tree, first, last, top, begin, place, leaf
    for tree in range(part.n_trees):
        first, last = following, start[tree + 1]
        following = last
        top = leaves[alive[first]].value
        begin = write
        for place in range(first, last):
            leaf = alive[place]
            if top - leaves[leaf].value > slack:
                break
            if _fits(problem, leaf, part.box):
                alive[write] = leaf
                write += 1
        if write == begin:
            return False
        start[tree + 1] = write
    return True


cdef int32_t _shrink(
    const Problem* problem,
    const int64_t* alive,
    int64_t count,
    uint64_t* box,
    int64_t* counted,
    uint64_t* joined,
) noexcept nogil:
    """Cut the box to what the living leaves of one tree allow.

    Returns `SAME`, `SMALLER`, or `EMPTY`.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef const uint64_t* masks = problem.masks
    cdef const Constraint* constraint
    cdef const Domain* domain
    cdef int64_t top = alive[0], number, offset, position, leaf, word
    cdef uint64_t some, kept
    cdef int32_t result = SAME
    for number in range(leaves[top].start, leaves[top + 1].start):
        constraint = &problem.constraints[number]
        domain = &problem.domains[constraint.domain]
        counted[constraint.domain] = 1
        for offset in range(domain.width):
            joined[domain.word_start + offset] = masks[constraint.place + offset]
    for position in range(1, count):
        leaf = alive[position]
        for number in range(leaves[leaf].start, leaves[leaf + 1].start):
            constraint = &problem.constraints[number]
            # Only what all leaves ask for can shrink; others have fallen behind.
            if counted[constraint.domain] == position:
                counted[constraint.domain] += 1
                domain = &problem.domains[constraint.domain]
                for offset in range(domain.width):
                    joined[domain.word_start + offset] |= masks[
                        constraint.place + offset
                    ]
    for number in range(leaves[top].start, leaves[top + 1].start):
        constraint = &problem.constraints[number]
        if counted[constraint.domain] == count:
            domain = &problem.domains[constraint.domain]
            some = 0
            for word in range(domain.word_start, domain.word_start + domain.width):
                kept = box[word] & joined[word]
                if kept != box[word]:
                    result = max(result, <int32_t>SMALLER)
                    box[word] = kept
                some |= kept
            if some == 0:
                result = EMPTY
        counted[constraint.domain] = 0
    return result


cdef int64_t propagate(
    const Problem* problem,
    int64_t constant,
    int64_t possible,
    const Part* part,
    int64_t* counted,
    uint64_t* joined,
) noexcept nogil:
    """Repeat dropping and shrinking until nothing changes.

    `constant` is what all margins have in common, `possible` the margin that must be
    reached. The part has fewer leaves and blocks afterwards. `counted`, all zero, and
    `joined` are scratch, one entry per domain, and as large as a box.

    Returns the bound on the margin, or less than `possible` if the rival cannot win
    here.
    """
    cdef int64_t dead = possible - 1, bound = _bound(problem, part, constant)
    cdef int64_t tree, first, now
    cdef int32_t result
    cdef bint changed
    while True:
        if bound < possible:
            return dead
        if not _drop_leaves(problem, part, bound - possible):
            return dead
        changed = False
        for tree in range(part.n_trees):
            first = part.start[tree]
            result = _shrink(
                problem,
                part.alive + first,
                part.start[tree + 1] - first,
                part.box,
                counted,
                joined,
            )
            if result == EMPTY:
                return dead
            changed = changed or result == SMALLER
        now = _bound(problem, part, constant)
        if not changed and now == bound:
            return bound
        bound = now
