"""The C library's own ``exp`` and ``log``, which the tree libraries call.

NumPy ships vectorised versions that differ in the last bit on a third of all float32
values, and a last bit decides ties. Python's `math` calls the C library for float64;
for float32 the C functions are called directly.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Callable

import numpy as np


@functools.cache
def _float32_function(name: str) -> Callable[[float], float]:
    library = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
    function = getattr(library, name)
    function.argtypes = [ctypes.c_float]
    function.restype = ctypes.c_float
    return function  # type: ignore[no-any-return]


def exp(x: float, *, single: bool) -> float:
    """Return ``exp(x)`` as C computes it, in float32 if `single`."""
    if single:
        return _float32_function("expf")(x)
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log_float32(x: float) -> float:
    """Return ``logf(x)`` as C computes it."""
    return _float32_function("logf")(x)


def round_to(x: float, *, single: bool) -> float:
    """Round to float32 if `single`, else return `x` as it is."""
    return float(np.float32(x)) if single else x
