from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena
from fatt.verifier.kernels.records cimport (
    Cost,
    Forest,
    Node,
    Range,
    Regions,
    Search,
    Tariff,
    Visit,
)


cdef int make_tariff(Tariff* tariff, const Forest* forest, Arena* arena) except -1 nogil
cdef int64_t cost_of_number(
    const Cost* cost, double own, double number, int64_t most
) noexcept nogil
cdef int64_t cost_of_missing(const Cost* cost, double own, int64_t most) noexcept nogil
cdef int64_t cost_of_range(
    const Forest* forest,
    const Tariff* tariff,
    int64_t index,
    int64_t first,
    int64_t last,
    bint is_missing,
) noexcept nogil
cdef int64_t cost_of_set(
    const Forest* forest, const Tariff* tariff, int64_t index, const uint64_t* cells
) noexcept nogil
cdef void set_tariff(
    const Forest* forest,
    const Regions* regions,
    int64_t person,
    int64_t box,
    Visit* visit,
) noexcept nogil
cdef int32_t affordable(
    const Forest* forest,
    const Tariff* tariff,
    const Node* node,
    const Range* mine,
    const uint64_t* cells,
) noexcept nogil
cdef int measure(
    const Forest* forest, const Tariff* tariff, Search* search
) except -1 nogil
