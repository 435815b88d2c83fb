from libc.stdint cimport int32_t, int64_t

from fatt.verifier.kernels.records cimport Search

# `CLOSED` if no point wins, `FOUND` if the point stands at one that does, or `STOPPED`;
# and a bound on the margin.
cdef struct Outcome:
    int32_t what
    int64_t bound


cdef int branch_and_bound(Search* search, Outcome* outcome) except -1 nogil
