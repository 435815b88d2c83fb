"""Propagation: drop leaves that cannot be part of a win, and shrink the domains.

A part of the box is a bit set per domain. Each tree keeps the leaves that are still
alive, the best first. Dropping and shrinking take turns until neither changes anything:
tree by tree, and only where something changed since the tree was looked at last.
"""

from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.records cimport (
    ALL,
    Constraint,
    Domain,
    Leaf,
    Part,
    Problem,
    Target,
    bit_of,
    meets,
)
from fatt.verifier.kernels.spending cimport can_pay, spend


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


cdef bint _shrink(
    const Problem* problem,
    const int64_t* alive,
    int64_t count,
    uint64_t* box,
    int64_t* counted,
    uint64_t* joined,
    uint64_t* changed,
) noexcept nogil:
    """Cut the box to what a tree's living leaves allow; False if nothing is left.

    `changed` receives the domains that became smaller.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef const uint64_t* masks = problem.masks
    cdef const Constraint* constraint
    cdef const Domain* domain
    cdef int64_t top = alive[0], number, offset, position, leaf, word
    cdef uint64_t some, kept
    cdef bint is_left = True
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
                    changed[0] |= bit_of(constraint.domain)
                    box[word] = kept
                some |= kept
            is_left = is_left and some != 0
        counted[constraint.domain] = 0
    return is_left


cdef int64_t propagate(
    const Problem* problem,
    const Target* target,
    const Part* part,
    uint64_t changed,
    int64_t* counted,
    uint64_t* joined,
) noexcept nogil:
    """Drop leaves and shrink domains until nothing changes.

    `changed` has the domains that became smaller since nothing changed any more; it is
    `ALL` if leaves were dropped as well. The part has fewer leaves and blocks
    afterwards. `counted`, all zero, and `joined` are scratch, one entry per
    domain, and as large as a box.

    Returns the bound on the margin; it is less than what is possible if no point wins.
    """
    cdef const Leaf* leaves = problem.leaves
    cdef int64_t* alive = part.alive
    cdef int64_t possible = target.possible, dead = possible - 1
    cdef int64_t bound = _bound(problem, part, target.constant)
    cdef int64_t tree, first, last, top, begin, place, leaf, write, following, before
    cdef uint64_t now
    cdef bint is_paid = problem.budget != NULL
    while bound >= possible:
        if is_paid and changed != 0 and not spend(problem, part.box, &changed):
            return dead
        before, now = bound, 0
        write = following = part.start[0]
        for tree in range(part.n_trees):
            first, last = following, part.start[tree + 1]
            following, begin = last, write
            top = leaves[alive[first]].value
            for place in range(first, last):
                leaf = alive[place]
                if top - leaves[leaf].value > bound - possible:
                    break
                # What this sweep changed before this tree, the next would be told of.
                if (
                    leaves[leaf].domains & (changed | now) == 0
                    or _fits(problem, leaf, part.box)
                ) and (not is_paid or can_pay(problem, leaf)):
                    alive[write] = leaf
                    write += 1
            if write == begin:
                return dead
            part.start[tree + 1] = write
            # A tree that keeps its leaves allows what it did.
            if write - begin == last - first and changed != ALL:
                continue
            bound -= top - leaves[alive[begin]].value
            if not _shrink(
                problem, alive + begin, write - begin, part.box, counted, joined, &now
            ):
                return dead
        if now == 0 and bound == before:
            return bound
        changed = now
    return dead
