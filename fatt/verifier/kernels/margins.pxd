from libc.stdint cimport int32_t, int64_t

from fatt.verifier.kernels.records cimport (
    Arithmetic,
    Leaf,
    Margin,
    Rule,
    Total,
    Workspace,
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
cdef int margin_of(
    const Arithmetic* arithmetic,
    Workspace* workspace,
    int64_t own,
    int64_t rival,
    double at,
    Thresholds needed,
) except -1 nogil
cdef int32_t decide_exactly(
    const Arithmetic* arithmetic,
    const Leaf* leaves,
    const int64_t* chosen,
    const Margin* margin,
) noexcept nogil
