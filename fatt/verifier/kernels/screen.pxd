from libc.stdint cimport int64_t

from fatt.verifier.kernels.records cimport (
    Answers,
    Arithmetic,
    Forest,
    Regions,
    Workspace,
)


cdef void screen(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t box,
    int64_t own,
    Workspace* workspace,
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
