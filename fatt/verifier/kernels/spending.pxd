from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.records cimport Budget, Part, Problem, Target

# What a price makes of a part: a bound on the margin; whether blocks were dropped, and
# whether a domain has none left.
cdef struct Quote:
    int64_t bound
    bint is_smaller
    bint is_empty


cdef inline int64_t steps_over(
    const Problem* problem, int64_t number, int64_t member
) noexcept nogil:
    """Return how many steps a block costs more than its domain's cheapest one.

    The cheapest in the part that was looked at last, which may have fewer blocks now.
    """
    cdef const Budget* budget = problem.budget
    cdef int64_t cost = budget.block[problem.domains[number].block_start + member]
    return (cost >> budget.shift) - (budget.cheapest[number] >> budget.shift)


cdef int64_t cost_of(const Problem* problem, const int64_t* block) noexcept nogil
cdef bint spend(
    const Problem* problem, uint64_t* box, uint64_t* changed
) noexcept nogil
cdef bint can_pay(const Problem* problem, int64_t leaf) noexcept nogil
cdef int64_t best_price(
    const Problem* problem,
    const uint64_t* box,
    const int64_t* gain,
    const int64_t* chosen,
    int64_t count,
    int64_t* worth,
) noexcept nogil
cdef int64_t cover(
    const Problem* problem, const Part* part, int64_t tree
) noexcept nogil
cdef Quote quote(
    const Problem* problem, const Target* target, const Part* part, uint64_t* changed
) noexcept nogil
