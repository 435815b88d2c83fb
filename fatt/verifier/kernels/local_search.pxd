from libc.stdint cimport int64_t

from fatt.verifier.kernels.records cimport Point, Problem, Search, Target


cdef int make_point(Search* search) except -1 nogil
cdef void evaluate(
    const Problem* problem, const Target* target, Point* point
) noexcept nogil
cdef void ascend(const Problem* problem, Point* point, int64_t sweeps) noexcept nogil
cdef void ascend_within(
    const Problem* problem, Point* point, int64_t sweeps
) noexcept nogil
cdef void start_at_person(
    const Problem* problem, const Target* target, Point* point
) noexcept nogil
cdef bint move_once(
    const Problem* problem, const Target* target, Point* point
) noexcept nogil
cdef void pull_back(const Problem* problem, Point* point, int64_t least) noexcept nogil
cdef void leaves_at(
    const Problem* problem, const int64_t* block, int64_t* chosen
) noexcept nogil
