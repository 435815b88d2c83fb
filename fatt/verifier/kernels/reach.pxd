from libc.stdint cimport int32_t, int64_t, uint8_t

from fatt.verifier.kernels.arena cimport Arena
from fatt.verifier.kernels.records cimport (
    Arithmetic,
    Forest,
    Regions,
    Search,
    Visit,
    Walk,
)


cdef int make_walk(
    Walk* walk, const Forest* forest, int64_t depth, Arena* arena
) except -1 nogil
cdef void enter(
    const Forest* forest, const Regions* regions, int64_t box, Walk* walk
) noexcept nogil
cdef int64_t to_leaf(const Forest* forest, Walk* walk, int64_t node) noexcept nogil
cdef int64_t turn(const Forest* forest, Walk* walk) noexcept nogil
cdef int reach(const Forest* forest, Visit* visit, Search* search) except -1 nogil
cdef int32_t decide_tree(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t person,
    Visit* visit,
    uint8_t* possible,
    int32_t* first,
) except -1 nogil
