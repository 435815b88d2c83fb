from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.records cimport (
    Limits,
    Multipliers,
    Part,
    Problem,
    Search,
    Target,
)

# The bound on the margin, less than what must be reached if no point wins here; and
# whether leaves or blocks were dropped, so that propagation may find more.
cdef struct Ascent:
    int64_t bound
    bint dropped


cdef int make_multipliers(Search* search) except -1 nogil
cdef Ascent ascend_dual(
    const Problem* problem,
    const Target* target,
    Multipliers* multipliers,
    const Part* part,
    uint64_t* kept,
    const Limits* limits,
    int64_t known,
) noexcept nogil
