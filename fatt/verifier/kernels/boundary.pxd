from libc.stdint cimport int64_t

from fatt.verifier.kernels.records cimport (
    Answers,
    Arithmetic,
    Forest,
    Regions,
    Spending,
)


cdef int read_forest(object given, Forest* forest) except -1
cdef int read_arithmetic(
    object given, const Forest* forest, Arithmetic* arithmetic
) except -1
cdef int read_regions(
    object given, const Forest* forest, Regions* regions, int64_t n_classes,
    int64_t begin, int64_t end,
) except -1
cdef int read_spending(
    object given,
    const Forest* forest,
    int64_t n_people,
    int64_t n_boxes,
    Spending* spending,
) except -1
cdef int check_budget(
    const Spending* spending, int64_t box, int64_t n_variables
) except -1
cdef int read_answers(object given, int64_t n_variables, Answers* answers) except -1
