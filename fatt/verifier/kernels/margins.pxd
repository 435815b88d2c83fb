from libc.stdint cimport int32_t, int64_t

from fatt.verifier.kernels.records cimport (
    Contest,
    Leaf,
    Rule,
    Search,
    Total,
)

# The margins from which a rival possibly wins, and from which it certainly wins.
cdef struct Thresholds:
    int64_t possible
    int64_t certain


cdef double score_error(
    const Rule* rule, const Total* total, int64_t trailing
) noexcept nogil
cdef Thresholds thresholds(
    const Rule* rule,
    const Total* totals,
    int64_t own,
    int64_t rival,
    double at,
    int64_t trailing,
) noexcept nogil
cdef int aim(
    const Contest* contest, Thresholds needed, int64_t step, Search* search
) except -1 nogil
cdef int32_t decide_exactly(
    const void* asked, const Leaf* leaves, const int64_t* chosen
) noexcept nogil
