from libc.stdint cimport int64_t, uint8_t, uint64_t

from fatt.train.kernels.records cimport Ranks, Rows, Tree
from fatt.verifier.kernels.arena cimport Arena


cdef const int64_t* numbers_of(object array, tuple shape, str name) except? NULL
cdef int64_t* results_of(object array, tuple shape, str name) except? NULL
cdef uint8_t* flags_of(
    object array, tuple shape, bint is_written, str name
) except? NULL
cdef uint64_t* sets_of(
    object array, tuple shape, bint is_written, str name
) except? NULL
cdef int read_ranks(object ranks, Ranks* mine) except -1
cdef int read_rows(object given, const Ranks* ranks, Rows* mine) except -1
cdef int read_tree(
    object tree, int64_t n_splits, int64_t n_classes, Arena* arena, Tree* mine
) except -1
cdef int check_places(const int64_t* places, int64_t count, int64_t size) except -1
