from libc.stdint cimport int32_t, int64_t, uint64_t

from fatt.train.kernels.records cimport Ranks, Tree
from fatt.verifier.kernels.arena cimport Arena


cdef int send(
    const Ranks* ranks,
    const Tree* tree,
    int64_t node,
    const int32_t* chosen,
    int64_t count,
    int64_t* leaf,
    uint64_t* reached,
    Arena* arena,
) except -1 nogil
