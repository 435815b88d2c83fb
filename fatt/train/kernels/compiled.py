"""How these kernels are compiled: by numba, without the GIL, kept if possible."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def digest_of(package: Path) -> str:
    """Return a name for the text of all kernels of this package."""
    digest = hashlib.sha256()
    for path in sorted(package.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


#: Names the text of all kernels. Numba looks only at the file of the kernel itself to
#: tell whether what it keeps on disk is out of date, so this becomes part of the name.
SOURCES = digest_of(Path(__file__).parent)


def read_only(dtype: numba.types.Type, ndim: int = 1) -> numba.types.Array:
    """Return the type of arrays that a kernel only reads."""
    return numba.types.Array(dtype, ndim, "C", readonly=True)


def compiled(signature: numba.types.Type) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one signature, and keep the result on disk if possible."""

    def compile_now(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"-{SOURCES}"
        try:
            return numba.njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:
            # Neither the package nor the user has a folder that can be written to.
            return numba.njit(signature, nogil=True)(function)

    return compile_now
