"""What all kernels share: the types of their arrays, and counting bits."""

from __future__ import annotations

import numba
from numba.extending import intrinsic

from fatt.ensemble.trees import NODE
from fatt.train.kernels.compiled import read_only

NODES = read_only(numba.from_dtype(NODE))
WORDS = read_only(numba.uint64)
SETS = read_only(numba.uint64, 2)
PLANES = read_only(numba.uint64, 3)
FLOATS = read_only(numba.float64)
FLOAT_TABLE = read_only(numba.float64, 2)
FLAGS = read_only(numba.boolean)
FLAG_TABLE = read_only(numba.boolean, 2)
INTEGERS = read_only(numba.int64)
TREE = read_only(numba.int32)
OUT_TREES = numba.int32[::1]
OUT_SETS = numba.uint64[:, ::1]
OUT_FLOATS = numba.float64[::1]
OUT_TABLE = numba.float64[:, ::1]
OUT_INTEGERS = numba.int64[::1]

#: Compiled as a part of other kernels only: the rest takes long to compile.
part = numba.njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@intrinsic
def bit_count(typing, word):
    """Return the number of ones in a word, by the processor's own instruction."""

    def generate(context, builder, signature, arguments):
        count = builder.ctpop(arguments[0])
        return builder.bitcast(count, context.get_value_type(numba.int64))

    return numba.int64(numba.uint64), generate
