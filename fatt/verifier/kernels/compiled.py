"""How the kernels are compiled: without the GIL, and kept on disk where possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from fatt.ensemble.kernels import SOURCES

# What turns Python objects into arrays takes long to compile, and is not needed.
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


# Neither is a count of who holds an array, for functions that make none and return
# none: to count costs more than most of them do.
_NO_COUNTS = {"_nrt": False}


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that makes no arrays together with what calls it."""
    return numba.njit(nogil=True, **_NO_WRAPPERS, **_NO_COUNTS)(function)


def maker(function: Callable[..., Any]) -> Any:
    """Compile a function that makes arrays together with what calls it."""
    return numba.njit(nogil=True, **_NO_WRAPPERS)(function)


def once(function: Callable[..., Any]) -> Any:
    """Compile a function as a part of its caller.

    What a compiled function calls is optimised again with it, so that deep chains of
    calls take long to compile.
    """
    return numba.njit(nogil=True, inline="always", **_NO_WRAPPERS)(function)


def small(function: Callable[..., Any]) -> Any:
    """Compile a function that makes no arrays into its callers."""
    return numba.njit(nogil=True, forceinline=True, **_NO_WRAPPERS, **_NO_COUNTS)(
        function
    )


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that is called from Python, and keep the result on disk."""
    function.__qualname__ += f"-{SOURCES}"
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # Neither the package nor the user has a folder that can be written to.
        return numba.njit(nogil=True)(function)
