from libc.stdint cimport int64_t, uint64_t

from fatt.verifier.kernels.records cimport Part, Problem, Target


cdef int64_t propagate(
    const Problem* problem,
    const Target* target,
    const Part* part,
    uint64_t changed,
    int64_t* counted,
    uint64_t* joined,
) noexcept nogil
