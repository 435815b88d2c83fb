from libc.stdint cimport int32_t, int64_t

from fatt.train.kernels.records cimport Ranks


cdef void count_inside(
    const Ranks* ranks,
    const int32_t* here,
    int64_t n_here,
    int64_t* sums,
    int64_t* inside,
) noexcept nogil
