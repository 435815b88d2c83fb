from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.records cimport (
    Limits,
    Multipliers,
    Part,
    Problem,
    Workspace,
)

# The bound on the margin, less than what must be reached if the rival cannot win here;
# and whether leaves or blocks were dropped, so that propagation may find more.
cdef struct Ascent:
    int64_t bound
    bint dropped


cdef int make_multipliers(Workspace* workspace) except -1 nogil
cdef Ascent ascend_dual(
    const Problem* problem,
    int64_t constant,
    int64_t possible,
    const Multipliers* multipliers,
    const Part* part,
    uint64_t* kept,
    const Limits* limits,
) noexcept nogil
