from libc.stdint cimport int64_t

from fatt.verifier.kernels.records cimport (
    Answers,
    Arithmetic,
    Forest,
    Look,
    Regions,
)


cdef void screen(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    Look* looks,
    int64_t count,
    int64_t* stack,
) noexcept nogil
cdef void screen_tree(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t* stack,
    int64_t begin,
    int64_t end,
) noexcept nogil
