from fatt.verifier.kernels.records cimport Forest


cdef int read_forest(object given, Forest* forest) except -1
