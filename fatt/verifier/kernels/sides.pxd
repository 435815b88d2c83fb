from libc.stdint cimport int32_t, int64_t

from fatt.verifier.kernels.records cimport Leaf, Part, Point, Problem, Sides, Target


cdef int32_t narrow(Sides* sides, const Part* part) noexcept nogil
cdef int32_t decide_pair(
    const void* asked, const Leaf* leaves, const int64_t* chosen
) noexcept nogil
cdef int64_t gap_at(const Sides* sides, int64_t low, int64_t high) noexcept nogil
cdef int64_t climb_on(
    const Sides* sides,
    const Problem* problem,
    const Target* target,
    Point* point,
    int64_t* gains,
    int64_t* totals,
    int64_t sweeps,
) noexcept nogil
