# The border between Python and the kernels: arrays are checked here, and below are only
# pointers.
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stdint cimport int64_t


cdef inline void* data_of(
    object array, object dtype, tuple shape, bint is_written, str name
) except? NULL:
    """Return where an array begins, if it is exactly what a kernel takes it for.

    The caller keeps the array alive as long as the pointer is used.

    Raises
    ------
    TypeError
        If the array holds something else.
    ValueError
        If it has another shape, lies in another order, or may not be written to.
    """
    cdef Py_buffer view
    cdef void* data
    if array.dtype != dtype:
        raise TypeError(f"{name} holds {array.dtype}, and the kernel reads {dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} has the shape {array.shape}, and {shape} is needed")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} does not lie row by row in one piece of memory")
    if is_written and not array.flags.writeable:
        raise ValueError(f"{name} is read-only, and the kernel writes into it")
    PyObject_GetBuffer(
        array, &view, PyBUF_C_CONTIGUOUS | (PyBUF_WRITABLE if is_written else 0)
    )
    data = view.buf
    PyBuffer_Release(&view)
    return data


cdef inline int64_t n_columns_of(object array, str name) except -1:
    """Return how many columns a table has."""
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} axes, and two are needed")
    return array.shape[1]
